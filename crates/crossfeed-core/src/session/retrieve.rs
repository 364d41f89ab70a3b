//! What a session brings into a model's context: a result or artifact as it is, or a part of it.
//!
//! What comes in: what is wanted, and a selector. What goes out: its bytes, noted in the session's
//! account, or why it is not brought. Deliberately not here: what is shown of a result unasked.

use super::{
    Session,
    show::failure,
    size::{SMALL_BYTES, is_plain_path, run},
    succeeded,
};
use crate::{
    account::{Extent, Showable},
    canonical::Stored,
    context::{Outline, Oversized, Retrieved},
    engine::Inner,
    error::{Error, Failure},
    paths::member,
    resolve::LimitError,
    strip::{StripPolicy, strip},
};
use crossfeed_jmespath::{Arena, Budget, Kind, View};
use crossfeed_wire::{ArtifactId, CallId};
use std::sync::Arc;

/// The bytes that a token has at most, on average over a text: beyond, a text is too large however
/// it is counted.
const TOKEN_BYTES: usize = 16;
/// How many members of an object are looked at for one that may enter the context.
const LOOKED_AT: usize = 1000;

impl Session {
    /// Brings a result's canonical value, or what a selector picks of it, into the context.
    ///
    /// # Errors
    ///
    /// [`Failure`] when the selector picks nothing or is refused, or the result cannot be read. That
    /// there is no result, that it is too large, or that all of it was shown before, is no error but
    /// an [answer](Retrieved).
    pub async fn retrieve(
        &self,
        call_id: &CallId,
        select: Option<&str>,
    ) -> Result<Retrieved, Failure> {
        self.retrieve_result(call_id, select, false).await
    }

    /// Brings a result's canonical value into the context, also if all of it was shown before: for a
    /// host that has shortened the conversation since.
    ///
    /// # Errors
    ///
    /// As for [`Self::retrieve`].
    pub async fn retrieve_again(&self, call_id: &CallId) -> Result<Retrieved, Failure> {
        self.retrieve_result(call_id, None, true).await
    }

    async fn retrieve_result(
        &self,
        call_id: &CallId,
        select: Option<&str>,
        again: bool,
    ) -> Result<Retrieved, Failure> {
        match self.get(call_id).await {
            Ok(result) => {
                let what = Showable::Result(call_id.clone());
                let stored = Stored::Result(result);
                self.bring(what, stored, select, again).await
            }
            Err(error) => Ok(self.noted(Retrieved::Missing(error))),
        }
    }

    /// Brings something stored into the context; `again`, if that was done before.
    pub(super) async fn bring(
        &self,
        what: Showable,
        stored: Stored,
        select: Option<&str>,
        again: bool,
    ) -> Result<Retrieved, Failure> {
        let account = self.inner().accounts.of(&self.scope);
        let shown = select.is_none() && !again && account.was_shown_whole(&what);
        let grows = matches!(what, Showable::Result(_)) && !stored.document().is_indexed();
        let small =
            stored.document().raw().len() <= SMALL_BYTES && select.is_none_or(is_plain_path);
        let (inner, wanted) = (Arc::clone(self.inner()), what.clone());
        let text = select.map(str::to_owned);
        let brought = run(small, move || {
            let text = text.as_deref();
            inner.bring(&wanted, &stored, text, shown)
        });
        let brought = brought.await;
        let (call_id, artifact_id) = ids(&what);
        if grows {
            self.measure(std::slice::from_ref(call_id)).await;
        }
        let Brought { retrieved, whole } = brought.map_err(|error| {
            let mut failure = failure(call_id, error);
            failure.artifact_id = artifact_id.cloned();
            failure.expression = select.map(str::to_owned);
            self.note_failure(&failure);
            failure
        })?;
        if let Retrieved::Data { tokens, .. } = &retrieved {
            let extent = match select {
                None => Extent::Whole,
                Some(_) => Extent::Part,
            };
            account.show(what, extent, *tokens, whole);
        }
        Ok(self.noted(retrieved))
    }

    /// Notes what the model is told where nothing is brought.
    pub(super) fn noted(&self, retrieved: Retrieved) -> Retrieved {
        if let Some(body) = retrieved.error_body() {
            let told = [Some(body.message), body.advice].into_iter().flatten();
            let counter = &self.inner().options.context.tokens;
            let tokens = told.map(|text| counter.count(&text)).sum();
            self.inner().accounts.of(&self.scope).fail(tokens);
        }
        retrieved
    }
}

fn ids(what: &Showable) -> (&CallId, Option<&ArtifactId>) {
    match what {
        Showable::Result(call_id) => (call_id, None),
        Showable::Artifact(artifact_id, call_id) => (call_id, Some(artifact_id)),
    }
}

/// What came of it, and the tokens of all that is stored.
struct Brought {
    retrieved: Retrieved,
    whole: usize,
}

impl Inner {
    fn bring(
        &self,
        what: &Showable,
        stored: &Stored,
        select: Option<&str>,
        shown: bool,
    ) -> Result<Brought, Error> {
        let (call_id, artifact_id) = ids(what);
        let answer = |retrieved| {
            Ok(Brought {
                retrieved,
                whole: self.count(stored.document().raw()),
            })
        };
        if let Err(error) = succeeded(call_id, stored) {
            return answer(Retrieved::Missing(error));
        }
        if shown {
            return answer(Retrieved::AlreadyShown);
        }
        let arena = Arena::new();
        let budget = self.fill_limits().budget(stored, &arena);
        let views = stored.views(&arena, &budget).map_err(LimitError::from)?;
        let (view, evaluated) = match select {
            None => (views.canonical.clone(), None),
            Some(text) => {
                let selection = self.select_in(&views, &arena, &budget, text)?;
                (selection.view, Some(selection.report.evaluated))
            }
        };
        let limit = self.options.context.limit();
        let is_blocked = match stored {
            Stored::Artifact(artifact) => artifact.retrieval_blocked() && select.is_none(),
            Stored::Result(_) => false,
        };
        let is_whole = select.is_none() && views.envelope.is_none();
        let written = self.written(&view, is_whole.then_some(stored), &budget);
        let (json, tokens) = match written {
            Ok((json, tokens)) => (Some(json), tokens),
            Err(tokens) => (None, tokens),
        };
        if let Some(json) = json.filter(|_| tokens <= limit && !is_blocked) {
            return answer(Retrieved::Data { json, tokens });
        }
        let reaches = |path: &str| {
            let select = match &evaluated {
                None => path.to_owned(),
                Some(base) => format!("{base} | {path}"),
            };
            let found = self.select_in(&views, &arena, &budget, &select);
            let fits = found.is_ok_and(|found| self.fits(&found.view, limit));
            fits.then_some(select)
        };
        let select = within(&view, &|view| self.fits(view, limit)).and_then(|path| reaches(&path));
        answer(Retrieved::Oversized(Oversized {
            call_id: call_id.clone(),
            artifact_id: artifact_id.cloned(),
            tokens,
            limit,
            outline: Outline::of(&view),
            select,
        }))
    }

    fn count(&self, text: &[u8]) -> usize {
        self.options.context.tokens.count_bytes(text)
    }

    /// A value as JSON and what it takes, in the bytes in which it came; or what it takes only, where
    /// that is far too much. `whole` is what is stored, if the value is that without internal fields.
    fn written(
        &self,
        view: &View<'_>,
        whole: Option<&Stored>,
        budget: &Budget,
    ) -> Result<(Vec<u8>, usize), usize> {
        let most = self.options.context.limit().saturating_mul(TOKEN_BYTES);
        if let Some(cursor) = view.as_cursor() {
            if cursor.raw().len() > most {
                return Err(self.count(cursor.raw()));
            }
        } else if let Some(whole) = whole.map(Stored::document) {
            if whole.raw().len() > most {
                return Err(self.count(whole.raw()));
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
                return Ok((own, tokens));
            }
        }
        let mut json = Vec::new();
        match view.write(&mut json, most.min(budget.output_bytes())) {
            Ok(()) => {
                let tokens = self.count(&json);
                Ok((json, tokens))
            }
            // It is larger than what was written of it.
            Err(_) => {
                json.clear();
                let tokens = match view.write(&mut json, budget.output_bytes()) {
                    Ok(()) => self.count(&json),
                    Err(_) => crossfeed_tokens::tokens_of_chars(budget.output_bytes()),
                };
                Err(tokens.max(self.options.context.limit().saturating_add(1)))
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

/// A path to something within a value that fits: along what is largest, so that it is a record
/// rather than a count beside the records.
fn within<'a>(view: &View<'a>, fits: &dyn Fn(&View<'a>) -> bool) -> Option<String> {
    let mut path = String::new();
    let mut here = view.clone();
    // Ends with the nesting of the value.
    loop {
        let next = match here.kind() {
            Kind::Array => (format!("{path}[0]"), here.at(0)?),
            Kind::Object => {
                let size =
                    |view: &View<'a>| view.as_cursor().map_or(0, |cursor| cursor.raw().len());
                let is_open = |view: &View<'a>| matches!(view.kind(), Kind::Array | Kind::Object);
                let (key, value) = here
                    .members()
                    .take(LOOKED_AT)
                    .filter(|(_, value)| is_open(value) || fits(value))
                    .max_by_key(|(_, value)| (is_open(value), size(value)))?;
                (member(&path, &key), value)
            }
            _ => return None,
        };
        path = next.0;
        here = next.1;
        if fits(&here) {
            return Some(path);
        }
    }
}

#[cfg(test)]
mod tests;
