//! The readings of an expression: on which views it is tried, with and without its prefix.
//!
//! The order is normative in `specs/select.md`.

use super::{AnsweringView, Selection, Selector};
use crate::error::SelectError;
use crossfeed_jmespath::{Kind, View};
use std::borrow::Cow;

/// One way to read an expression: its text, and the view it is read on.
pub(super) struct Reading<'a, 'v> {
    pub(super) text: &'a str,
    pub(super) view: &'v View<'a>,
    pub(super) answered: AnsweringView,
    pub(super) stripped: bool,
}

impl Reading<'_, '_> {
    /// Whether what is left of the text is a subscript of what was stripped, not a list of texts: `result['name']`.
    pub(super) fn is_subscript(&self) -> bool {
        let inside = self.text.strip_prefix('[').filter(|_| self.stripped);
        inside.is_some_and(|inside| inside.trim_start().starts_with(['\'', '`']))
    }
}

impl<'a, 'v> Selector<'a, 'v> {
    /// The readings in the order in which they are tried.
    pub(super) fn readings(
        &self,
        text: &'a str,
        stripped: Option<&'a str>,
    ) -> Vec<Reading<'a, 'v>> {
        let canonical = (AnsweringView::Canonical, &self.views.canonical);
        let envelope = self.views.envelope.as_ref();
        let envelope = envelope.map(|view| (AnsweringView::Envelope, view));
        let views = std::iter::once(canonical).chain(envelope);
        views
            .flat_map(|(answered, view)| readings_on(view, answered, text, stripped))
            .collect()
    }

    /// Evaluates the expression on the object that the model was shown, if that differs from the value:
    /// `value[0].title` of a list, `text` of a text, `content[1].text` of a tool result of MCP whose parts
    /// follow one with our fields. `None` if it gives nothing there either, or reads anything but the member
    /// of that name: `keys(@)` is an error, whatever was shown.
    pub(super) fn as_shown(
        &self,
        written: &str,
        text: &'a str,
        stripped: Option<&'a str>,
    ) -> Result<Option<Selection<'a>>, SelectError> {
        let Some(expression) = self.understood(stripped.unwrap_or(text)) else {
            return Ok(None);
        };
        let reads_only = |name: &str| expression.reads_only(name);
        let view = match &self.views.envelope {
            Some(envelope) => shown_envelope(envelope, &reads_only),
            None => self.shown_value(&reads_only),
        };
        let Some(view) = view else {
            return Ok(None);
        };
        let readings = readings_on(&view, AnsweringView::Shown, text, stripped);
        match self.first(written, text, &readings.collect::<Vec<_>>()) {
            Err(error @ SelectError::NoMemory { .. }) => Err(error),
            outcome => Ok(outcome.ok().and_then(Result::ok)),
        }
    }

    /// The object that a model is shown in place of another value, if the selector reads its member.
    fn shown_value(&self, reads_only: &dyn Fn(&str) -> bool) -> Option<View<'a>> {
        let canonical = &self.views.canonical;
        if canonical.kind() == Kind::Object {
            return None;
        }
        let is_text = self.views.bare.kind() == Kind::String;
        let is_opened = canonical.kind() != Kind::String;
        let names = [("value", is_opened), ("text", is_text)].into_iter();
        let names = names.filter(|(name, is_shown)| *is_shown && reads_only(name));
        let members = names.map(|(name, _)| (Cow::Borrowed(name), canonical.clone()));
        let members: Vec<_> = members.collect();
        (!members.is_empty()).then(|| View::object(members))
    }
}

/// The readings of an expression on one view, in the order in which they are tried.
pub(super) fn readings_on<'a, 'v>(
    view: &'v View<'a>,
    answered: AnsweringView,
    text: &'a str,
    stripped: Option<&'a str>,
) -> impl Iterator<Item = Reading<'a, 'v>> {
    let reading = |text, stripped| Reading {
        text,
        view,
        answered,
        stripped,
    };
    let is_read_whole = stripped.is_none() || view.get("result").is_some();
    let whole = is_read_whole.then(|| reading(text, false));
    let rest = stripped.map(|rest| reading(rest, true));
    whole.into_iter().chain(rest)
}

/// An envelope as a model is shown it, if the selector reads its content.
fn shown_envelope<'a>(envelope: &View<'a>, reads_only: &dyn Fn(&str) -> bool) -> Option<View<'a>> {
    let content = envelope.get("content").filter(|_| reads_only("content"))?;
    if content.kind() != Kind::Array {
        return None;
    }
    let parts = std::iter::once(View::null()).chain(content.items());
    let parts = View::list(parts.collect());
    Some(View::object(vec![(Cow::Borrowed("content"), parts)]))
}

/// How many leading characters of `text` a reading removed. The bare `result` reads as `@`, which is never an
/// error.
pub(super) fn prefix_chars(text: &str, reading: &Reading<'_, '_>) -> usize {
    let prefix = text.strip_suffix(reading.text).filter(|_| reading.stripped);
    prefix.map_or(0, |prefix| prefix.chars().count())
}

/// The expression without a leading `result.`, `result[` or a whole `result`.
pub(super) fn strip_prefix(text: &str) -> Option<&str> {
    let rest = text.strip_prefix("result")?;
    match rest.trim_start().as_bytes().first() {
        None => Some("@"),
        Some(b'.') => Some(rest.trim_start()[1..].trim_start()),
        Some(b'[') => Some(rest.trim_start()),
        _ => None,
    }
}
