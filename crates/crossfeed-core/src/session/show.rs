//! What a session shows a model of its results: renderings and hints.
//!
//! What comes in: a call id, and how much may be shown. What goes out: what is shown, noted in the
//! session's account. Deliberately not here: how a preview is made.

use super::{
    Session,
    size::{SMALL_BYTES, run},
    succeeded,
};
use crate::{
    account::{Extent, Showable},
    canonical::{Stored, ViewError, Views},
    engine::Inner,
    error::{Error, Failure},
    hint::{HintDetail, StructureHints},
    paths::Keys,
    render::{Known, RenderOptions, Rendered, Shown, Trouble, show},
    resolve::LimitError,
    select::{SelectError, Selection, Selector},
};
use crossfeed_jmespath::{Arena, Budget, View};
use crossfeed_json::Cursor;
use crossfeed_wire::{CallId, Pointer};
use std::{cell::Cell, sync::Arc};

/// The most tokens of a rendering with which the work stays on the async thread.
const SMALL_TOKENS: usize = 4000;

impl Session {
    /// What the model is shown of a result: whole if it is small, else a preview that is never longer
    /// than its budget, says that it is one, and how to reach the rest. A call that failed is shown
    /// like any other.
    ///
    /// # Errors
    ///
    /// [`Failure`] when there is no such result, it nests too deep to be read, or the budget does not
    /// hold even the call id ([`RenderError`](crate::RenderError)).
    ///
    /// ```
    /// use crossfeed_core::{Engine, EngineOptions, RenderOptions, ToolResult};
    /// use crossfeed_wire::{CallId, Scope};
    ///
    /// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
    /// let engine = Engine::in_memory(EngineOptions::default());
    /// let session = engine.session(Scope::parse("acme", "support", "conversation-42")?);
    /// let call = CallId::parse("call_1")?;
    /// session.record(&call, ToolResult::json(r#"{"total": 2, "items": ["a", "b"]}"#)).await?;
    ///
    /// let shown = session.render(&call, &RenderOptions::default()).await;
    /// let shown = shown.map_err(|failure| failure.to_string())?;
    /// assert_eq!(shown.json, r#"{"total":2,"items":["a", "b"],"_toolCallId":"call_1"}"#);
    /// assert!(shown.whole);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub async fn render(
        &self,
        call_id: &CallId,
        options: &RenderOptions,
    ) -> Result<Rendered, Failure> {
        let stored = self.found(call_id).await?;
        let small =
            stored.document().raw().len() <= SMALL_BYTES && options.preview_tokens <= SMALL_TOKENS;
        let grows = !stored.document().is_indexed();
        let (inner, wanted, options) = (Arc::clone(self.inner()), call_id.clone(), options.clone());
        let shown = run(small, move || inner.show(&wanted, &stored, &options)).await;
        if grows {
            self.measure(std::slice::from_ref(call_id)).await;
        }
        let Shown { rendered, complete } = shown.map_err(|error| failure(call_id, error))?;
        let extent = if complete {
            Extent::Whole
        } else {
            Extent::Part
        };
        let what = Showable::Result(call_id.clone());
        let account = self.inner().accounts.of(&self.scope);
        account.show(what, extent, rendered.tokens, rendered.whole_tokens);
        Ok(rendered)
    }

    /// What a model is told of a result's structure: selectors that work on it.
    ///
    /// # Errors
    ///
    /// [`Failure`] when there is no such result, the call failed, or it cannot be read.
    pub async fn hints(
        &self,
        call_id: &CallId,
        detail: HintDetail,
    ) -> Result<StructureHints, Failure> {
        let stored = self.found(call_id).await?;
        let grows = !stored.document().is_indexed();
        let small = stored.document().raw().len() <= SMALL_BYTES;
        let (inner, wanted) = (Arc::clone(self.inner()), call_id.clone());
        let hinted = run(small, move || inner.hints(&wanted, &stored, detail)).await;
        if grows {
            self.measure(std::slice::from_ref(call_id)).await;
        }
        let (hints, tokens, whole) = hinted.map_err(|error| failure(call_id, error))?;
        let what = Showable::Result(call_id.clone());
        let account = self.inner().accounts.of(&self.scope);
        account.show(what, Extent::Part, tokens, whole);
        Ok(hints)
    }

    async fn found(&self, call_id: &CallId) -> Result<Stored, Failure> {
        let found = self.get(call_id).await.map(Stored::Result);
        found.map_err(|error| failure(call_id, error.into()))
    }
}

pub(super) fn failure(call_id: &CallId, error: Error) -> Failure {
    let mut failure = Failure::new(Pointer::root(), error);
    failure.call_id = Some(call_id.clone());
    failure
}

impl Inner {
    fn show(
        &self,
        call_id: &CallId,
        stored: &Stored,
        options: &RenderOptions,
    ) -> Result<Shown, Error> {
        let arena = Arena::new();
        let budget = self.fill_limits().budget(stored, &arena);
        let views = match stored.views(&arena, &budget) {
            Ok(views) => Some(views),
            Err(error @ ViewError::Limit(_)) => return Err(LimitError::from(error).into()),
            // It is shown all the same, but nothing that would have to be evaluated.
            Err(ViewError::Cost(_)) => None,
        };
        let open = |cursor| arena.open(cursor, &budget).ok().flatten();
        let reaches = |select: &str, place: Option<Cursor<'_>>| {
            views.as_ref().is_some_and(|views| {
                self.select_in(views, &arena, &budget, select)
                    .is_ok_and(|found| found.report.repairs.is_empty() && is_at(&found.view, place))
            })
        };
        let known = Known {
            call_id,
            referable: stored.failure().is_none(),
            spelling: options.spelling,
            strip: options.strip,
            open: &open,
            reaches: &reaches,
        };
        let hints = |detail| {
            let view = &views.as_ref()?.canonical;
            let select = &self.options.select;
            let hints = StructureHints::of(view, detail, select, &arena, &budget);
            let mut hints = hints.to_value();
            if let Some(fitting) = &options.fitting {
                hints["fittingSelectors"] = fitting.as_slice().into();
            }
            Some(hints.to_string())
        };
        let tokens = &self.options.context.tokens;
        show(stored, &known, options, tokens, &hints).map_err(|trouble| match trouble {
            Trouble::View(error) => LimitError::from(error).into(),
            Trouble::Render(error) => error.into(),
        })
    }

    /// Hints, what they take, and what all that is stored takes.
    fn hints(
        &self,
        call_id: &CallId,
        stored: &Stored,
        detail: HintDetail,
    ) -> Result<(StructureHints, usize, usize), Error> {
        succeeded(call_id, stored)?;
        let arena = Arena::new();
        let budget = self.fill_limits().budget(stored, &arena);
        let views = stored.views(&arena, &budget).map_err(LimitError::from)?;
        let select = &self.options.select;
        let hints = StructureHints::of(&views.canonical, detail, select, &arena, &budget);
        let counter = &self.options.context.tokens;
        let tokens = counter.count(&hints.to_value().to_string());
        Ok((hints, tokens, counter.count_bytes(stored.document().raw())))
    }

    pub(super) fn select_in<'a>(
        &self,
        views: &Views<'a>,
        arena: &'a Arena,
        budget: &Budget,
        select: &'a str,
    ) -> Result<Selection<'a>, SelectError> {
        let selector = Selector {
            options: &self.options.select,
            compiled: &self.selectors,
            views,
            keys: &Keys::default(),
            arena,
            budget,
            explanations: &Cell::new(1),
        };
        selector.select(select)
    }
}

/// Whether a view is a place in a document, or, in place of binary data, an object that holds it.
fn is_at(view: &View<'_>, place: Option<Cursor<'_>>) -> bool {
    let Some(place) = place else {
        return true;
    };
    let is_same = |view: &View<'_>| {
        view.as_cursor()
            .is_some_and(|cursor| std::ptr::eq(cursor.raw(), place.raw()))
    };
    let blob = || view.get("resource")?.get("blob");
    is_same(view)
        || view.get("data").is_some_and(|data| is_same(&data))
        || blob().is_some_and(|blob| is_same(&blob))
}
