//! Work on a stored result or artifact, in its redacted form.

use super::{
    Session,
    offload::{SMALL_BYTES, run_or_spawn},
};
use crate::{
    account::ShownItem,
    canonical::{StoredItem, Views},
    engine::Inner,
    error::{LimitError, LookupError},
    failure::Failure,
    render::whole_tokens,
    resolve::LookupKey,
    reveal::UnredactedItem,
};
use crossfeed_jmespath::{Arena, Budget};
use crossfeed_store::PathsOf;
use crossfeed_wire::CallId;
use std::sync::Arc;

/// A result or an artifact, and the context of work on it.
pub(super) struct Work<'w> {
    pub(super) inner: &'w Inner,
    pub(super) key: &'w LookupKey,
    pub(super) whole: &'w UnredactedItem,
    /// The redacted form.
    pub(super) shown: StoredItem,
    pub(super) arena: Arena,
}

impl Work<'_> {
    /// Its views, and a budget for selecting from them.
    pub(super) fn views(&self) -> Result<(Views<'_>, Budget), LimitError> {
        let (budget, views) = self.try_views();
        Ok((views?, budget))
    }

    /// The same, for work that continues without the views.
    pub(super) fn try_views(&self) -> (Budget, Result<Views<'_>, LimitError>) {
        let limits = self.inner.fill_limits();
        let budget = limits.budget(self.shown.document(), &self.arena);
        let views = self.shown.views(&self.arena, &budget);
        (budget, views)
    }

    /// Whether the host's rules hide some of it.
    pub(super) fn is_withheld(&self) -> bool {
        self.whole.hides_from(&self.shown)
    }

    /// Refuses the result of a call that failed.
    pub(super) fn succeeded(&self) -> Result<(), LookupError> {
        let failed = self.shown.failure().map(|message| LookupError::Failed {
            call_id: self.key.call_id.clone(),
            message,
            tool: self.shown.tool().map(str::to_owned),
            repeatable: self.shown.repeatable(),
        });
        failed.map_or(Ok(()), Err)
    }

    pub(super) fn count(&self, text: &[u8]) -> usize {
        self.inner.options.context.tokens.count_bytes(text)
    }

    /// The record that this many tokens of it were shown.
    pub(super) fn showing(&self, tokens: usize, is_whole: bool) -> ShownItem {
        ShownItem {
            tokens,
            whole: whole_tokens(&self.shown, &self.inner.options.context.tokens),
            is_whole,
        }
    }
}

impl Session {
    /// The stored result or artifact.
    pub(super) async fn found(&self, key: &LookupKey) -> Result<UnredactedItem, Failure> {
        self.found_part(key, None).await
    }

    /// The same, or an excerpt with what some paths lead to.
    pub(super) async fn found_part(
        &self,
        key: &LookupKey,
        paths: Option<&PathsOf<'_>>,
    ) -> Result<UnredactedItem, Failure> {
        let found = self.look_up(key, paths).await;
        found.map_err(|error| Failure::with_ids(&key.call_id, key.artifact_id.as_ref(), error))
    }

    /// Runs work on a stored item: here if both are `small`, else on a blocking thread. Then lets the store count
    /// the memory that the work added to a result: its index, and its redacted form; artifacts count theirs
    /// themselves. The session's memory is charged for what the work builds, until it is done.
    pub(super) async fn work_on<T: Send + 'static>(
        &self,
        key: &LookupKey,
        stored: UnredactedItem,
        small: bool,
        work: impl FnOnce(&Work<'_>) -> Result<T, Box<Failure>> + Send + 'static,
    ) -> Result<T, Failure> {
        let raw = stored.as_stored().document().raw();
        let small = small && raw.len() <= SMALL_BYTES;
        let is_result = matches!(stored.as_stored(), StoredItem::Result(_));
        let (inner, memory, own) = (Arc::clone(self.inner()), self.memory.clone(), key.clone());
        let (outcome, has_grown) = run_or_spawn(small, move || {
            let before = stored.as_stored().resident_bytes();
            let shown = stored.redacted(&inner.options.reveal);
            let outcome = shown.map_err(Box::from).and_then(|shown| {
                work(&Work {
                    inner: &inner,
                    key: &own,
                    whole: &stored,
                    shown,
                    arena: Arena::with_memory(memory),
                })
            });
            let has_grown = is_result && stored.as_stored().resident_bytes() != before;
            (outcome, has_grown)
        })
        .await;
        if has_grown {
            self.measure(std::slice::from_ref(&key.call_id)).await;
        }
        outcome.map_err(|mut failure| {
            failure.call_id = Some(key.call_id.clone());
            let of_detail = failure.artifact_id.take();
            failure.artifact_id = of_detail.or_else(|| key.artifact_id.clone());
            *failure
        })
    }

    /// Looks up a result or an artifact, and runs work on it.
    pub(super) async fn work_on_found<T: Send + 'static>(
        &self,
        key: &LookupKey,
        small: bool,
        work: impl FnOnce(&Work<'_>) -> Result<T, Box<Failure>> + Send + 'static,
    ) -> Result<T, Failure> {
        let stored = self.found(key).await?;
        self.work_on(key, stored, small, work).await
    }

    /// Runs work on a stored item, and counts the outcome as shown to the model.
    pub(super) async fn show<T: Send + 'static>(
        &self,
        key: &LookupKey,
        stored: UnredactedItem,
        small: bool,
        work: impl FnOnce(&Work<'_>) -> Result<(T, Option<ShownItem>), Box<Failure>> + Send + 'static,
    ) -> Result<T, Failure> {
        let account = self.account();
        let marking = Arc::clone(&account);
        let working = self.work_on(key, stored, small, move |on| {
            let (outcome, showing) = work(on)?;
            let showing = showing.map(|showing| (marking.mark(&on.shown), showing));
            Ok((outcome, showing))
        });
        let (outcome, showing) = working.await?;
        if let Some((mark, showing)) = showing {
            account.show(key.clone(), mark, &showing);
        }
        Ok(outcome)
    }

    /// Lets the store count indexes that were built. Errors are ignored: the call has its values, and the store
    /// counts the indexes when it is next used.
    pub(super) async fn measure(&self, grown: &[CallId]) {
        for call_id in grown {
            let _ = self.inner().store.measure(&self.scope, call_id).await;
        }
    }
}
