//! Brings a result or artifact, or a part of it, into a model's context.

mod advice;

use super::{Retrieved, Session, offload::is_plain_path, work::Work};
use crate::{
    canonical::StoredItem,
    context::{ALL_BY_REFERENCE, Outline, Oversized},
    failure::Failure,
    resolve::LookupKey,
    strip::{StripPolicy, strip},
    telemetry::{fail, number, stage},
    trace::staged,
};
use advice::{in_place, within};
use crossfeed_jmespath::{Budget, View};
use crossfeed_wire::{ArtifactId, CallId};
use tracing::Span;

/// The most bytes of a token, on average over a text: a text with more is too large for any counter.
const MAX_TOKEN_BYTES: usize = 16;

/// Records the outcome in a span.
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

/// What a host brings into the context of a result or artifact: all of it, or what a selector picks.
///
/// Converts from a selector, and from an `Option` of one.
///
/// ```
/// use crossfeed_core::{Engine, EngineOptions, Retrieval, Retrieved, ToolResult};
/// use crossfeed_wire::{CallId, Scope};
///
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let engine = Engine::in_memory(EngineOptions::default());
/// let session = engine.session(Scope::parse("acme", "support", "conversation-42")?);
/// let call = CallId::parse("call_1")?;
/// session.record(&call, ToolResult::json("[1, 2]")).await?;
///
/// session.retrieve(&call, None).await?;
/// let again = session.retrieve(&call, None).await?;
/// assert!(matches!(again, Retrieved::AlreadyShown));
///
/// // The host has shortened the conversation since.
/// let again = session.retrieve(&call, Retrieval::again()).await?;
/// assert!(matches!(again, Retrieved::Data { .. }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retrieval<'s> {
    select: Option<&'s str>,
    again: bool,
}

impl Retrieval<'_> {
    /// All of it, even if all of it was shown before: for a host that has shortened the conversation since.
    pub fn again() -> Self {
        Self {
            select: None,
            again: true,
        }
    }
}

impl<'s> From<&'s str> for Retrieval<'s> {
    fn from(select: &'s str) -> Self {
        Some(select).into()
    }
}

impl<'s> From<Option<&'s str>> for Retrieval<'s> {
    fn from(select: Option<&'s str>) -> Self {
        Self {
            select,
            again: false,
        }
    }
}

impl Session {
    /// Brings a result's canonical value, or what a selector picks of it, into the context.
    ///
    /// # Errors
    ///
    /// [`Failure`] if the selector picks nothing or is refused, or the result cannot be read. A result that is
    /// missing, too large, or was shown whole before is not an error but an [answer](Retrieved).
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
        what: impl Into<Retrieval<'_>>,
    ) -> Result<Retrieved, Failure> {
        self.retrieve_from(LookupKey::new(call_id, None), what.into())
            .await
    }

    /// Brings a result or artifact into the context, if it exists.
    pub(super) async fn retrieve_from(
        &self,
        key: LookupKey,
        Retrieval { select, again }: Retrieval<'_>,
    ) -> Result<Retrieved, Failure> {
        let span = stage!(
            "crossfeed::retrieve",
            "crossfeed.retrieve",
            "gen_ai.tool.call.id" = key.call_id.as_str(),
            "crossfeed.artifact.id" = key.artifact_id.as_ref().map(ArtifactId::as_str),
            "crossfeed.outcome" = tracing::field::Empty,
            "crossfeed.bytes.out" = tracing::field::Empty,
            "crossfeed.tokens" = tracing::field::Empty,
        );
        let (text, small) = (select.map(str::to_owned), select.is_none_or(is_plain_path));
        let retrieving = async {
            let stored = match self.look_up(&key, None).await {
                Ok(stored) => stored,
                Err(error) => return Ok(Retrieved::Missing(error)),
            };
            let account = (!again && select.is_none()).then(|| self.account());
            let fetching = self.show(&key, stored, small, move |on| {
                if let Err(error) = on.succeeded() {
                    return Ok((Retrieved::Missing(error), None));
                }
                if account.is_some_and(|it| it.was_shown_whole(on.key, it.mark(&on.shown))) {
                    return Ok((Retrieved::AlreadyShown, None));
                }
                let retrieved = on.fetch(text.as_deref())?;
                let showing = match retrieved {
                    Retrieved::Data { tokens, .. } => Some(on.showing(tokens, text.is_none())),
                    _ => None,
                };
                Ok((retrieved, showing))
            });
            fetching
                .await
                .map_err(|failure| failure.with_expression(select))
        };
        let retrieved = staged(span, retrieving, note).await;
        match &retrieved {
            Ok(retrieved) => self.note_missing(retrieved),
            Err(failure) => self.note_failure(failure),
        }
        retrieved
    }

    /// Counts the error that the model sees if nothing is retrieved.
    fn note_missing(&self, retrieved: &Retrieved) {
        if let Some(body) = retrieved.error_body() {
            let texts = [Some(body.message), body.advice].into_iter().flatten();
            let counter = &self.inner().options.context.tokens;
            let tokens = texts.map(|text| counter.count(&text));
            self.account().fail(tokens.fold(0, usize::saturating_add));
        }
    }
}

impl Work<'_> {
    fn fetch(&self, select: Option<&str>) -> Result<Retrieved, Box<Failure>> {
        let (views, budget) = self.views()?;
        let limit = self.limit();
        let blocked =
            matches!(&self.shown, StoredItem::Artifact(artifact) if artifact.retrieval_blocked());
        let allowed = if blocked {
            self.less_than_all()
        } else {
            Some(limit)
        };
        let fits = |view: &View<'_>| allowed.is_some_and(|most| self.fits(view, most));
        let reaches = |select: &str| {
            let found = self.inner.try_in(&views, &self.arena, &budget, select);
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
                        let part = within(&views.canonical, &fits).filter(|path| reaches(path));
                        part.map_or(ALL_BY_REFERENCE.to_owned(), |path| format!("try: {path}"))
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
            outline: Outline::new(&view),
            blocked,
            select: select.filter(|select| reaches(select)),
        }))
    }

    fn limit(&self) -> usize {
        self.inner.options.context.limit()
    }

    /// The most bytes that can fit into the limit.
    fn max_bytes(&self) -> usize {
        self.limit().saturating_mul(MAX_TOKEN_BYTES)
    }

    /// The most tokens of a part of a blocked artifact; `None` if no part is smaller than the whole, which is
    /// measured without blanks, as a selection may be.
    fn less_than_all(&self) -> Option<usize> {
        let document = self.shown.document();
        if document.raw().len() > self.max_bytes() {
            return Some(self.limit());
        }
        let mut all = Vec::new();
        match document.root() {
            Ok(root) => root.write_compact(&mut all),
            Err(_) => all.extend_from_slice(document.raw()),
        }
        Some(self.count(&all).checked_sub(1)?.min(self.limit()))
    }

    /// A value as JSON, in its original bytes, and its tokens; only the tokens if they are far too many. `whole` is
    /// the stored item, if the value is all of it without internal fields.
    fn written(
        &self,
        view: &View<'_>,
        whole: Option<&StoredItem>,
        budget: &Budget,
    ) -> (Option<Vec<u8>>, usize) {
        let cursor = view.as_cursor();
        let whole = whole.map(StoredItem::document).filter(|_| cursor.is_none());
        let raw = cursor.map(|cursor| cursor.raw());
        let raw = raw.or_else(|| whole.map(|whole| &whole.raw()[..]));
        if let Some(raw) = raw.filter(|raw| raw.len() > self.max_bytes()) {
            return (None, self.count(raw));
        }
        // An object without its internal fields keeps the rest of its bytes.
        let distinct = whole.filter(|whole| {
            let root = whole.root();
            root.is_ok_and(|root| !root.document_has_duplicates())
        });
        let stripped = distinct.and_then(|whole| strip(whole, StripPolicy::Internal));
        let json = stripped.or_else(|| {
            let mut json = Vec::new();
            let limit = self.max_bytes().min(budget.output_bytes());
            view.write(&mut json, limit).ok().map(|()| json)
        });
        if let Some(json) = json {
            let tokens = self.count(&json);
            return (Some(json), tokens);
        }
        let mut json = Vec::new();
        let tokens = match view.write(&mut json, budget.output_bytes()) {
            Ok(()) => self.count(&json),
            Err(_) => crossfeed_tokens::tokens_of_chars(budget.output_bytes()),
        };
        (None, tokens.max(self.limit().saturating_add(1)))
    }

    /// Whether a value may be brought into the context.
    fn fits(&self, view: &View<'_>, limit: usize) -> bool {
        let most = limit.saturating_mul(MAX_TOKEN_BYTES);
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
