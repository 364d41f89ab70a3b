//! Advice for a value too large for the context: a part that fits.

use crate::{error::SelectError, paths::member};
use crossfeed_jmespath::{Kind, ParseError, View};

/// The most members of an object that are examined for one that may enter the context.
const MAX_MEMBERS: usize = 1000;

/// Replaces the advice of an error that advises to pass the whole result on.
pub(super) fn in_place(error: &SelectError, next: impl FnOnce() -> String) -> Option<String> {
    match error {
        SelectError::Blank => Some(next()),
        SelectError::Invalid {
            source: ParseError::UnknownFunction {
                nearest: Some(_), ..
            },
            ..
        } => None,
        SelectError::Invalid { shape, nearest, .. }
        | SelectError::Mismatch { shape, nearest, .. }
        | SelectError::MatchedNothing { shape, nearest, .. }
            if nearest.is_empty() =>
        {
            Some(format!("found: {shape}\n{}", next()))
        }
        _ => None,
    }
}

/// A path to a part of a value that fits, along the largest parts, so that it leads to a record rather than to a
/// count beside the records.
pub(super) fn within<'a>(view: &View<'a>, fits: &dyn Fn(&View<'a>) -> bool) -> Option<String> {
    let mut path = String::new();
    let mut here = view.clone();
    // Ends at the deepest level of the value.
    loop {
        (path, here) = match here.kind() {
            Kind::Array => (format!("{path}[0]"), here.at(0)?),
            Kind::Object => {
                let size =
                    |view: &View<'a>| view.as_cursor().map_or(0, |cursor| cursor.raw().len());
                let is_open = |view: &View<'a>| matches!(view.kind(), Kind::Array | Kind::Object);
                let (key, value) = here
                    .members()
                    .take(MAX_MEMBERS)
                    .filter(|(_, value)| is_open(value) || fits(value))
                    .max_by_key(|(_, value)| (is_open(value), size(value)))?;
                (member(&path, &key), value)
            }
            _ => return None,
        };
        if fits(&here) {
            return Some(path);
        }
    }
}
