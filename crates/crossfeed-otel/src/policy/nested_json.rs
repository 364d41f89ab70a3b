//! JSON within strings of JSON: opened level by level, and cut in place.
//!
//! Finds which bytes of a text are removed or replaced. An edit within a string is traced back to the bytes
//! that spell it, so no other byte changes and nothing is escaped again.
//!
//! # Bounds
//!
//! A backslash that is written as `\\` makes each level twice as long as its content, but `\u005c` does
//! not: thousands of levels fit into a megabyte. So levels and bytes are bounded, and strings beyond the
//! bounds are withheld.

use crossfeed_json::{JsonError, Origins, RawString};
use crossfeed_projection::WITHHELD;
use std::ops::Range;

/// The most levels of strings that are opened. Quotes that are escaped by backslashes would take gigabytes.
const MAX_LEVELS: usize = 32;
/// The most bytes that are unescaped: for each byte of the text, and in any case.
const MAX_OPENED_BYTES: (usize, usize) = (8, 64 * 1024);

/// Some bytes of a text, and their replacement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Edit {
    pub(crate) range: Range<usize>,
    pub(crate) with: &'static str,
}

/// A string that may hold JSON.
pub(crate) struct NestedString<C> {
    /// Where it stands, without its quotes.
    pub(crate) range: Range<usize>,
    /// State carried into the string before it is read.
    pub(crate) carry: C,
}

/// The parts to remove, open and replace at one level.
pub(crate) struct Level<C> {
    pub(crate) cuts: Vec<Range<usize>>,
    /// Strings to be opened.
    pub(crate) nested: Vec<NestedString<C>>,
    /// Strings to be replaced as a whole.
    pub(crate) withheld: Vec<Range<usize>>,
}

/// Reads one level of a text, given the state carried into it.
pub(crate) type ReadLevel<'r, C> = dyn Fn(&str, C) -> Result<Level<C>, JsonError> + 'r;

/// Whether a string could be JSON worth opening: an object, a list, or a string of one.
#[inline]
pub(crate) fn could_be_json(string: RawString<'_>) -> bool {
    let raw = string
        .raw()
        .trim_start_matches([' ', '\t', '\n', '\r', '\u{feff}']);
    // An escape can spell any of them, or a blank before them.
    matches!(raw.as_bytes().first(), Some(b'{' | b'[' | b'\\'))
}

/// The edits of a text at all levels, in their order. `withholds` says whether a string that turned out not to be
/// JSON is withheld.
pub(crate) fn edits<C>(
    text: &str,
    carry: C,
    read: &ReadLevel<'_, C>,
    withholds: &dyn Fn(&str) -> bool,
) -> Result<Vec<Edit>, JsonError> {
    let (each, any) = MAX_OPENED_BYTES;
    let mut opener = Opener {
        read,
        withholds,
        left: text.len().saturating_mul(each).saturating_add(any),
    };
    opener.edits(text, carry, 0)
}

struct Opener<'s, C> {
    read: &'s ReadLevel<'s, C>,
    withholds: &'s dyn Fn(&str) -> bool,
    /// Bytes that may still be unescaped.
    left: usize,
}

impl<C> Opener<'_, C> {
    /// The edits of a text that stands at a level; recursion ends at [`MAX_LEVELS`].
    fn edits(&mut self, text: &str, carry: C, level: usize) -> Result<Vec<Edit>, JsonError> {
        let found = (self.read)(text, carry)?;
        let cut = |range| Edit { range, with: "" };
        let withheld = |range| Edit {
            range,
            with: WITHHELD,
        };
        let mut edits: Vec<Edit> = found.cuts.into_iter().map(cut).collect();
        edits.extend(found.withheld.into_iter().map(withheld));
        for NestedString { range, carry } in found.nested {
            let raw = text.get(range.clone()).unwrap_or_default();
            if level == MAX_LEVELS || self.left < raw.len() {
                edits.push(withheld(range));
                continue;
            }
            self.left -= raw.len();
            let inner = crossfeed_json::unescape(raw);
            match self.edits(&inner, carry, level + 1) {
                Ok(within) => {
                    let mut origins = Origins::new(raw);
                    let mut origin = |at| range.start + origins.raw_offset(at);
                    edits.extend(within.into_iter().map(|edit| Edit {
                        range: origin(edit.range.start)..origin(edit.range.end),
                        ..edit
                    }));
                }
                Err(_) if (self.withholds)(&inner) => edits.push(withheld(range)),
                Err(_) => {}
            }
        }
        edits.sort_unstable_by_key(|edit| edit.range.start);
        Ok(edits)
    }
}

/// The text with its edits; `None` if there are none.
pub(crate) fn apply(text: &str, edits: &[Edit]) -> Option<String> {
    if edits.is_empty() {
        return None;
    }
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for edit in edits {
        out.push_str(text.get(at..edit.range.start).unwrap_or_default());
        out.push_str(edit.with);
        at = edit.range.end;
    }
    out.push_str(text.get(at..).unwrap_or_default());
    Some(out)
}
