//! Advice where something is too large for the context: a part that fits.

use crate::{error::SelectError, paths::member};
use crossfeed_jmespath::{Kind, ParseError, View};

/// How many members of an object are looked at for one that may enter the context.
const LOOKED_AT: usize = 1000;

/// What is advised in place of passing the whole result on, if an error advises that.
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

/// A path to something within a value that fits: along what is largest, so that it is a record
/// rather than a count beside the records.
pub(super) fn within<'a>(view: &View<'a>, fits: &dyn Fn(&View<'a>) -> bool) -> Option<String> {
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
