//! Paths through a value: found by bounded walks, written as selectors.

mod candidates;
mod outline;
mod text;
mod walk;
mod wanted;

pub(crate) use candidates::{Candidate, candidates};
pub(crate) use outline::Outline;
pub(crate) use text::{in_part, member, raw_string};
pub(crate) use walk::{Path, Step, Walk};
pub(crate) use wanted::{differ_by_plural, folded, relevance, synonymous, words};

/// How many values a walk looks at.
const WALK_VALUES: usize = 5000;
/// How many items of each list a walk enters: the first ones, because items are mostly alike.
const WALK_ITEMS: usize = 3;
/// The most characters of a selector: longer ones are not offered.
pub(crate) const SELECTOR_CHARS: usize = 200;
