//! Where the value of a reference comes from, and how deep it nests.

use crossfeed_jmespath::{OutputTooLarge, View};
use crossfeed_json::{Kind, is_deeper};
use serde_json::Value;
use std::borrow::Cow;

/// Where the value of a reference comes from.
pub(super) enum Origin<'a> {
    /// A result, or what a selector built of it.
    Result(View<'a>),
    /// The default of the reference.
    Default(&'a Value),
}

impl Origin<'_> {
    /// Whether it is neither a list nor an object.
    pub(super) fn is_scalar(&self) -> bool {
        match self {
            Self::Result(view) => !matches!(view.kind(), Kind::Array | Kind::Object),
            Self::Default(value) => !value.is_array() && !value.is_object(),
        }
    }

    /// The value in a text of at most `limit` bytes: a text as it is, anything else as JSON without blanks. `None` for
    /// null. A default is written with its own digits where they are known.
    pub(super) fn to_text<'t>(
        &'t self,
        written: Option<&'t View<'_>>,
        limit: usize,
    ) -> Result<Option<Cow<'t, str>>, OutputTooLarge> {
        let view = match (self, written) {
            (Self::Default(Value::String(text)), _) => return Ok(Some(Cow::Borrowed(text))),
            (Self::Default(_), Some(written)) => written,
            (Self::Default(value), None) => return Ok(Some(Cow::Owned(value.to_string()))),
            (Self::Result(view), _) if view.is_null() => return Ok(None),
            (Self::Result(view), _) => view,
        };
        if let Some(text) = view.as_str() {
            return Ok(Some(text));
        }
        let mut json = Vec::new();
        match view.as_cursor() {
            Some(cursor) if cursor.raw().len() <= limit => cursor.write_compact(&mut json),
            _ => view.write(&mut json, limit)?,
        }
        Ok(Some(Cow::Owned(
            String::from_utf8_lossy(&json).into_owned(),
        )))
    }

    /// Whether lists and objects nest deeper than `limit` within each other.
    pub(super) fn is_deeper(&self, limit: usize) -> bool {
        match self {
            Self::Result(view) => is_view_deeper(view, limit),
            Self::Default(value) => is_deeper(value, limit),
        }
    }
}

/// Depth is bounded by the expression and by the data.
fn is_view_deeper(view: &View<'_>, limit: usize) -> bool {
    if let Some(cursor) = view.as_cursor() {
        return cursor.is_deeper(limit);
    }
    let members = || view.members().map(|(_, value)| value);
    view.len().is_some()
        && limit.checked_sub(1).is_none_or(|limit| {
            let mut children = view.items().chain(members());
            children.any(|child| is_view_deeper(&child, limit))
        })
}
