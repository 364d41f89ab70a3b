//! What a session brings into a model's context: a result or artifact as it is, or a part of it.

mod advice;

use super::{Retrieved, Session, offload::is_plain_path, work::Work};
use crate::{
    canonical::Stored,
    context::{ALL_BY_REFERENCE, Outline, Oversized},
    failure::Failure,
    resolve::LookupKey,
    reveal::Unredacted,
    strip::{StripPolicy, strip},
    telemetry::{fail, number, stage},
    trace::staged,
};
use advice::{in_place, within};
use crossfeed_jmespath::{Budget, View};
use crossfeed_wire::{ArtifactId, CallId};
use tracing::Span;

/// The bytes that a token has at most, on average over a text: beyond, a text is too large however
/// it is counted.
const TOKEN_BYTES: usize = 16;

/// Notes what came of bringing something into the context.
fn note(span: &Span, retrieved: &Retrieved) {
    let outcome = match retrieved {
        Retrieved::Data { json, tokens } => {
            span.record("crossfeed.bytes.out", number(json.len()));
            span.record("crossfeed.tokens", number(*tokens));
            "data"
        }
        Retrieved::AlreadyShown => "already_shown",
        Retrieved::Oversized(_) => "oversized",
        Retrieved::Missing(error) => {
            fail(span, error.code().as_str());
            "missing"
        }
    };
    span.record("crossfeed.outcome", outcome);
}

impl Session {
    /// Brings a result's canonical value, or what a selector picks of it, into the context.
    ///
    /// # Errors
    ///
    /// [`Failure`] when the selector picks nothing or is refused, or the result cannot be read. That
    /// there is no result, that it is too large, or that all of it was shown before, is not an error but
    /// an [answer](Retrieved).
    ///
    /// ```
    /// use crossfeed_core::{Engine, EngineOptions, Retrieved, ToolResult};
    /// use crossfeed_wire::{CallId, Scope};
    ///
    /// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
    /// let engine = Engine::in_memory(EngineOptions::default());
    /// let session = engine.session(Scope::parse("acme", "support", "conversation-42")?);
    /// let call = CallId::parse("call_1")?;
    /// session.record(&call, ToolResult::json(r#"{"total": 2, "items": ["a", "b"]}"#)).await?;
    ///
    /// let retrieved = session.retrieve(&call, Some("items[1]")).await;
    /// let Retrieved::Data { json, tokens, .. } = retrieved? else {
    ///     return Err("it is there, and small".into());
    /// };
    /// assert_eq!((json.as_slice(), tokens), (&br#""b""#[..], 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub async fn retrieve(
        &self,
        call_id: &CallId,
        select: Option<&str>,
    ) -> Result<Retrieved, Failure> {
        self.retrieve_what(LookupKey::new(call_id, None), select, false)
            .await
    }

    /// Brings a result's canonical value into the context, also if all of it was shown before: for a
    /// host that has shortened the conversation since.
    ///
    /// # Errors
    ///
    /// As for [`Self::retrieve`].
    pub async fn retrieve_again(&self, call_id: &CallId) -> Result<Retrieved, Failure> {
        self.retrieve_what(LookupKey::new(call_id, None), None, true)
            .await
    }

    /// Brings an artifact's full data into the context, also if all of it was shown before: for a host
    /// that has shortened the conversation since.
    ///
    /// # Errors
    ///
    /// As for [`Self::retrieve_artifact`].
    pub async fn retrieve_artifact_again(
        &self,
        artifact_id: &ArtifactId,
        call_id: &CallId,
    ) -> Result<Retrieved, Failure> {
        let what = LookupKey::new(call_id, Some(artifact_id));
        self.retrieve_what(what, None, true).await
    }

    /// Brings something into the context if it is there; `again`, if that was done before.
    pub(super) async fn retrieve_what(
        &self,
        what: LookupKey,
        select: Option<&str>,
        again: bool,
    ) -> Result<Retrieved, Failure> {
        let LookupKey {
            call_id,
            artifact_id,
        } = &what;
        let span = stage!(
            "crossfeed::retrieve",
            "crossfeed.retrieve",
            "gen_ai.tool.call.id" = call_id.as_str(),
            "crossfeed.artifact.id" = artifact_id.as_ref().map(ArtifactId::as_str),
            "crossfeed.outcome" = tracing::field::Empty,
            "crossfeed.bytes.out" = tracing::field::Empty,
            "crossfeed.tokens" = tracing::field::Empty,
        );
        let retrieving = async {
            match self.look_up(&what).await {
                Ok(stored) => self.fetch_into_context(&what, stored, select, again).await,
                Err(error) => Ok(self.noted(Retrieved::Missing(error))),
            }
        };
        staged(span, retrieving, note).await
    }

    async fn fetch_into_context(
        &self,
        what: &LookupKey,
        stored: Unredacted,
        select: Option<&str>,
        again: bool,
    ) -> Result<Retrieved, Failure> {
        let text = select.map(str::to_owned);
        let books = (!again && select.is_none()).then(|| self.account());
        let small = select.is_none_or(is_plain_path);
        let fetching = self.show(what, stored, small, move |on| {
            let retrieved = if let Err(error) = on.succeeded() {
                Retrieved::Missing(error)
            } else if books
                .is_some_and(|books| books.was_shown_whole(on.key, books.mark(&on.shown)))
            {
                Retrieved::AlreadyShown
            } else {
                on.fetch(text.as_deref())?
            };
            let showing = match retrieved {
                Retrieved::Data { tokens, .. } => Some(on.showing(tokens, text.is_none())),
                _ => None,
            };
            Ok((retrieved, showing))
        });
        let retrieved = fetching.await.map_err(|failure| {
            let failure = failure.with_expression(select);
            self.note_failure(&failure);
            failure
        })?;
        Ok(self.noted(retrieved))
    }

    /// Notes what the model is told where nothing is brought.
    fn noted(&self, retrieved: Retrieved) -> Retrieved {
        if let Some(body) = retrieved.error_body() {
            let told = [Some(body.message), body.advice].into_iter().flatten();
            let counter = &self.inner().options.context.tokens;
            let tokens = told.fold(0, |sum: usize, text| {
                sum.saturating_add(counter.count(&text))
            });
            self.account().fail(tokens);
        }
        retrieved
    }
}

impl Work<'_> {
    fn fetch(&self, select: Option<&str>) -> Result<Retrieved, Box<Failure>> {
        let (views, budget) = self.views()?;
        let limit = self.inner.options.context.limit();
        let blocked = match &self.shown {
            Stored::Artifact(artifact) => artifact.retrieval_blocked(),
            Stored::Result(_) => false,
        };
        let allowed = if blocked {
            self.less_than_all(limit)
        } else {
            Some(limit)
        };
        let fits = |view: &View<'_>| allowed.is_some_and(|most| self.fits(view, most));
        let reaches = |select: &str| {
            let found = self.inner.select_in(&views, &self.arena, &budget, select);
            found.is_ok_and(|found| fits(&found.view))
        };
        let (view, evaluated) = match select {
            None => (views.canonical.clone(), None),
            Some(text) => match self.inner.select_in(&views, &self.arena, &budget, text) {
                Ok(selection) => (selection.view, Some(selection.report.evaluated)),
                Err(mut error) => {
                    if let Some(nearest) = error.nearest_mut() {
                        nearest.retain(|select| reaches(select));
                    }
                    let next = || {
                        if !blocked && fits(&views.canonical) {
                            return "try: no selector, to bring the whole result".to_owned();
                        }
                        let part = within(&views.canonical, &fits);
                        match part.filter(|path| reaches(path)) {
                            Some(path) => format!("try: {path}"),
                            None => ALL_BY_REFERENCE.to_owned(),
                        }
                    };
                    let advice = in_place(&error, next);
                    let failure: Box<Failure> = error.into();
                    return Err(Box::new(Failure { advice, ..*failure }));
                }
            },
        };
        let is_whole = select.is_none() && views.envelope.is_none();
        let (json, tokens) = self.written(&view, is_whole.then_some(&self.shown), &budget);
        let may_be = allowed.is_some_and(|most| tokens <= most) && !(blocked && select.is_none());
        if let Some(json) = json.filter(|_| may_be) {
            return Ok(Retrieved::Data { json, tokens });
        }
        let select = within(&view, &fits).map(|path| match &evaluated {
            None => path,
            Some(base) => format!("{base} | {path}"),
        });
        Ok(Retrieved::Oversized(Oversized {
            call_id: self.key.call_id.clone(),
            artifact_id: self.key.artifact_id.clone(),
            tokens,
            limit,
            outline: Outline::of(&view),
            blocked,
            select: select.filter(|select| reaches(select)),
        }))
    }

    /// The most tokens that a part of something may have that is not to be brought as a whole; `None`
    /// where no part is less. It is held against the whole without blanks, as a selection may be.
    fn less_than_all(&self, limit: usize) -> Option<usize> {
        let document = self.shown.document();
        if document.raw().len() > limit.saturating_mul(TOKEN_BYTES) {
            return Some(limit);
        }
        let mut all = Vec::new();
        match document.root() {
            Ok(root) => root.write_compact(&mut all),
            Err(_) => all.extend_from_slice(document.raw()),
        }
        Some(self.count(&all).checked_sub(1)?.min(limit))
    }

    /// A value as JSON and what it takes, in the bytes in which it came; or what it takes only, where
    /// that is far too much. `whole` is what is stored, if the value is that without internal fields.
    fn written(
        &self,
        view: &View<'_>,
        whole: Option<&Stored>,
        budget: &Budget,
    ) -> (Option<Vec<u8>>, usize) {
        let most = self
            .inner
            .options
            .context
            .limit()
            .saturating_mul(TOKEN_BYTES);
        if let Some(cursor) = view.as_cursor() {
            if cursor.raw().len() > most {
                return (None, self.count(cursor.raw()));
            }
        } else if let Some(whole) = whole.map(Stored::document) {
            if whole.raw().len() > most {
                return (None, self.count(whole.raw()));
            }
            // An object without its internal fields is what is left of its bytes.
            let is_own = whole
                .root()
                .is_ok_and(|root| !root.document_has_duplicates());
            let own = is_own
                .then(|| strip(whole, StripPolicy::Internal))
                .flatten();
            if let Some(own) = own {
                let tokens = self.count(&own);
                return (Some(own), tokens);
            }
        }
        let mut json = Vec::new();
        match view.write(&mut json, most.min(budget.output_bytes())) {
            Ok(()) => {
                let tokens = self.count(&json);
                (Some(json), tokens)
            }
            // It is larger than what was written of it.
            Err(_) => {
                json.clear();
                let tokens = match view.write(&mut json, budget.output_bytes()) {
                    Ok(()) => self.count(&json),
                    Err(_) => crossfeed_tokens::tokens_of_chars(budget.output_bytes()),
                };
                (
                    None,
                    tokens.max(self.inner.options.context.limit().saturating_add(1)),
                )
            }
        }
    }

    /// Whether a value may be brought into the context.
    fn fits(&self, view: &View<'_>, limit: usize) -> bool {
        let most = limit.saturating_mul(TOKEN_BYTES);
        match view.as_cursor() {
            Some(cursor) => cursor.raw().len() <= most && self.count(cursor.raw()) <= limit,
            None => {
                let mut json = Vec::new();
                view.write(&mut json, most).is_ok() && self.count(&json) <= limit
            }
        }
    }
}

#[cfg(test)]
mod tests;
