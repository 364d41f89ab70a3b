//! JSON within strings of JSON: opened level by level, and cut where it stands.
//!
//! Finds which bytes of a text are removed or replaced. What is removed from a string within is
//! traced back to the bytes that it was written with, so that no other byte changes, and nothing is
//! escaped anew.
//!
//! # How much is opened
//!
//! A backslash that is written as `\\` makes each level twice as long as what it holds, but `\u005c` does
//! not: thousands of levels fit into a megabyte. So levels and bytes are bounded. What lies beyond is
//! withheld: its string is replaced.

use crossfeed_json::{JsonError, Origins, Quoted};
use crossfeed_projection::WITHHELD;
use std::ops::Range;

/// Levels of strings that are opened. Quotes that are escaped by backslashes would take gigabytes.
const MOST_LEVELS: usize = 32;
/// Bytes that are unescaped, for each byte of the text, and in any case.
const MOST_OPENED: (usize, usize) = (8, 64 * 1024);

/// Some bytes of a text, and what stands there instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Edit {
    pub(crate) range: Range<usize>,
    pub(crate) with: &'static str,
}

/// A string that may hold JSON.
pub(crate) struct Embedded<C> {
    /// Where it stands, without its quotes.
    pub(crate) range: Range<usize>,
    /// What is known of the place.
    pub(crate) carry: C,
}

/// What goes at one level.
pub(crate) struct Level<C> {
    pub(crate) cuts: Vec<Range<usize>>,
    /// Strings to be opened.
    pub(crate) embedded: Vec<Embedded<C>>,
    /// Strings to be replaced as they stand.
    pub(crate) withheld: Vec<Range<usize>>,
}

/// Says what goes at one level.
pub(crate) trait Stage {
    /// What is known of a place before what stands there is read.
    type Carry;

    /// Reads one level.
    fn read(&mut self, text: &str, carry: Self::Carry) -> Result<Level<Self::Carry>, JsonError>;

    /// A string whose text, as it stands here, turned out to be no JSON: whether it is withheld.
    fn withholds(&mut self, text: &str) -> bool {
        let _ = text;
        false
    }
}

/// Whether a string could be JSON that is worth opening: an object, a list, or a string of such.
#[inline]
pub(crate) fn could_be_json(string: Quoted<'_>) -> bool {
    let raw = string
        .raw()
        .trim_start_matches([' ', '\t', '\n', '\r', '\u{feff}']);
    // An escape can be any of them, or a blank before them.
    matches!(raw.as_bytes().first(), Some(b'{' | b'[' | b'\\'))
}

/// Which bytes of a text go, at all levels, in their order.
pub(crate) fn edits<S: Stage>(
    stage: &mut S,
    text: &str,
    carry: S::Carry,
) -> Result<Vec<Edit>, JsonError> {
    let (each, any) = MOST_OPENED;
    let mut left = text.len().saturating_mul(each).saturating_add(any);
    level_edits(stage, text, carry, 0, &mut left)
}

/// As [`edits`], at a level. It recurses by levels, of which there are few.
fn level_edits<S: Stage>(
    stage: &mut S,
    text: &str,
    carry: S::Carry,
    level: usize,
    left: &mut usize,
) -> Result<Vec<Edit>, JsonError> {
    let found = stage.read(text, carry)?;
    let cut = |range| Edit { range, with: "" };
    let withheld = |range| Edit {
        range,
        with: WITHHELD,
    };
    let mut edits: Vec<Edit> = found.cuts.into_iter().map(cut).collect();
    edits.extend(found.withheld.into_iter().map(withheld));
    for Embedded { range, carry } in found.embedded {
        let raw = text.get(range.clone()).unwrap_or_default();
        if level == MOST_LEVELS || *left < raw.len() {
            edits.push(withheld(range));
            continue;
        }
        *left -= raw.len();
        let inner = crossfeed_json::unescape(raw);
        match level_edits(stage, &inner, carry, level + 1, left) {
            Ok(within) => {
                let mut origins = Origins::new(raw);
                edits.extend(within.into_iter().map(|edit| {
                    let start = range.start + origins.of(edit.range.start);
                    let end = range.start + origins.of(edit.range.end);
                    Edit {
                        range: start..end,
                        with: edit.with,
                    }
                }));
            }
            Err(_) if stage.withholds(&inner) => edits.push(withheld(range)),
            Err(_) => {}
        }
    }
    edits.sort_unstable_by_key(|edit| edit.range.start);
    Ok(edits)
}

/// The text with what goes replaced; `None` if nothing goes.
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
