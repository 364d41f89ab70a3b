//! Work on what is stored of a call, with what may be shown of it.

use super::{
    Session,
    offload::{SMALL_BYTES, run_or_spawn},
};
use crate::{
    account::Showing,
    canonical::{Stored, ViewError, Views},
    engine::Inner,
    error::{LimitError, LookupError},
    failure::Failure,
    render::whole_tokens,
    resolve::LookupKey,
    reveal::Unredacted,
};
use crossfeed_jmespath::{Arena, Budget, Memory};
use crossfeed_wire::CallId;
use std::sync::Arc;

/// What is worked on.
pub(super) struct Work<'w> {
    pub(super) inner: &'w Inner,
    pub(super) key: &'w LookupKey,
    pub(super) whole: &'w Unredacted,
    /// What may be shown of it.
    pub(super) shown: Stored,
    pub(super) arena: Arena,
}

impl Work<'_> {
    /// Its views, and the budget for what is selected from them.
    pub(super) fn views(&self) -> Result<(Views<'_>, Budget), LimitError> {
        let (budget, views) = self.try_views();
        Ok((views?, budget))
    }

    /// The same for who goes on without the views.
    pub(super) fn try_views(&self) -> (Budget, Result<Views<'_>, ViewError>) {
        let limits = self.inner.fill_limits();
        let budget = limits.budget(self.shown.document(), &self.arena);
        let views = self.shown.views(&self.arena, &budget);
        (budget, views)
    }

    /// Whether rules of the host hide some of it.
    pub(super) fn is_withheld(&self) -> bool {
        self.whole.hides_from(&self.shown)
    }

    /// Refuses the result of a call that failed.
    pub(super) fn succeeded(&self) -> Result<(), LookupError> {
        match self.shown.failure() {
            None => Ok(()),
            Some(message) => Err(LookupError::Failed {
                call_id: self.key.call_id.clone(),
                message,
                tool: self.shown.tool().map(str::to_owned),
                repeatable: self.shown.repeatable(),
            }),
        }
    }

    pub(super) fn count(&self, text: &[u8]) -> usize {
        self.inner.options.context.tokens.count_bytes(text)
    }

    /// A showing of so many tokens of it.
    pub(super) fn showing(&self, tokens: usize, is_whole: bool) -> Showing {
        Showing {
            tokens,
            whole: whole_tokens(&self.shown, &self.inner.options.context.tokens),
            is_whole,
        }
    }
}

impl Session {
    /// What is stored, to work on.
    pub(super) async fn found(&self, key: &LookupKey) -> Result<Unredacted, Failure> {
        let found = self.look_up(key).await;
        found.map_err(|error| Failure::of(&key.call_id, key.artifact_id.as_ref(), error))
    }

    /// Works on all that is stored, here if that is small and what is asked of it is, and lets the
    /// store count what was made on the way of a result: its index, and what may be shown. Artifacts
    /// count theirs themselves. What is built on the way is charged to the session's memory until the
    /// work is done.
    pub(super) async fn work_on<T: Send + 'static>(
        &self,
        key: &LookupKey,
        stored: Unredacted,
        small: bool,
        work: impl FnOnce(&Work<'_>) -> Result<T, Box<Failure>> + Send + 'static,
    ) -> Result<T, Failure> {
        let raw = stored.as_stored().document().raw();
        let small = small && raw.len() <= SMALL_BYTES;
        let is_result = matches!(stored.as_stored(), Stored::Result(_));
        let (inner, memory, own) = (Arc::clone(self.inner()), self.memory.clone(), key.clone());
        let (done, grows) = run_or_spawn(small, move || {
            let before = stored.as_stored().resident_bytes();
            let done = begun(&inner, &own, &stored, memory).and_then(|on| work(&on));
            (
                done,
                is_result && stored.as_stored().resident_bytes() != before,
            )
        })
        .await;
        if grows {
            self.measure(std::slice::from_ref(&key.call_id)).await;
        }
        done.map_err(|mut failure| {
            failure.call_id = Some(key.call_id.clone());
            let of_detail = failure.artifact_id.take();
            failure.artifact_id = of_detail.or_else(|| key.artifact_id.clone());
            *failure
        })
    }

    /// Works on what is found.
    pub(super) async fn work_on_found<T: Send + 'static>(
        &self,
        key: &LookupKey,
        small: bool,
        work: impl FnOnce(&Work<'_>) -> Result<T, Box<Failure>> + Send + 'static,
    ) -> Result<T, Failure> {
        let stored = self.found(key).await?;
        self.work_on(key, stored, small, work).await
    }

    /// The same, and counts what comes of it as shown to the model.
    pub(super) async fn show<T: Send + 'static>(
        &self,
        key: &LookupKey,
        stored: Unredacted,
        small: bool,
        work: impl FnOnce(&Work<'_>) -> Result<(T, Option<Showing>), Box<Failure>> + Send + 'static,
    ) -> Result<T, Failure> {
        let account = self.account();
        let books = Arc::clone(&account);
        let working = self.work_on(key, stored, small, move |on| {
            let (done, showing) = work(on)?;
            Ok((
                done,
                showing.map(|showing| (books.mark(&on.shown), showing)),
            ))
        });
        let (done, showing) = working.await?;
        if let Some((mark, showing)) = showing {
            account.show(key.clone(), mark, &showing);
        }
        Ok(done)
    }

    /// Lets the store count indexes that were built. That it cannot is not a fault of the call, which
    /// has its values; the store counts them at its next touch.
    pub(super) async fn measure(&self, grown: &[CallId]) {
        for call_id in grown {
            let _ = self.inner().store.measure(&self.scope, call_id).await;
        }
    }
}

fn begun<'w>(
    inner: &'w Inner,
    key: &'w LookupKey,
    whole: &'w Unredacted,
    memory: Option<Arc<dyn Memory>>,
) -> Result<Work<'w>, Box<Failure>> {
    Ok(Work {
        inner,
        key,
        whole,
        shown: whole.redacted(&inner.options.reveal)?,
        arena: Arena::with_memory(memory),
    })
}
