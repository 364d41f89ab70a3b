//! Detects texts of a tool result that repeat its structured content: servers send both, for clients that
//! read only one of them.

use super::subject::RenderContext;
use crossfeed_json::{Cursor, Kind, compare_numbers};
use std::cmp::Ordering;

/// The most values that are compared.
const MAX_VALUES: usize = 1 << 20;
/// The most members that are looked up because their order differs.
const MAX_LOOKED_UP: usize = 4096;

/// Whether the text of the part at `index` repeats the structured content: all of it, the value of its only
/// member, or the item of that list at the same index.
pub(super) fn is_copy<'a>(
    text: Cursor<'a>,
    structured: Cursor<'a>,
    index: usize,
    known: &RenderContext<'a, '_>,
) -> bool {
    let only = structured.items().next();
    let only = only.filter(|_| structured.kind() == Kind::Object && structured.len() == Some(1));
    let all = [Some(structured), only].into_iter().flatten();
    let mut opened = None;
    all.flat_map(|all| {
        let item = (all.kind() == Kind::Array).then(|| all.at(index)).flatten();
        [Some(all), item].into_iter().flatten()
    })
    .any(|value| match value.kind() {
        Kind::String => has_same_text(text, value),
        Kind::Array | Kind::Object => {
            let opened = *opened.get_or_insert_with(|| (known.open)(text));
            let mut comparison = Comparison {
                values: MAX_VALUES,
                looked_up: MAX_LOOKED_UP,
            };
            opened.is_some_and(|opened| comparison.is_same(opened, value))
        }
        _ => text
            .as_str()
            .is_some_and(|text| text.trim().as_bytes() == value.raw()),
    })
}

fn has_same_text(a: Cursor<'_>, b: Cursor<'_>) -> bool {
    a.raw() == b.raw() || (a.kind() == b.kind() && a.as_str() == b.as_str())
}

/// How many values may still be compared, and how many members looked up.
struct Comparison {
    values: usize,
    looked_up: usize,
}

impl Comparison {
    /// Whether two values are equal, in any order of members. Recursion is bounded by the nesting of data.
    fn is_same(&mut self, a: Cursor<'_>, b: Cursor<'_>) -> bool {
        let Some(left) = self.values.checked_sub(1) else {
            return false;
        };
        self.values = left;
        if a.kind() != b.kind() || a.len() != b.len() {
            return false;
        }
        match a.kind() {
            Kind::Array => a.items().zip(b.items()).all(|(a, b)| self.is_same(a, b)),
            Kind::Object => a
                .items()
                .zip(b.items())
                .all(|(own, other)| self.is_same_member(own, other, b)),
            Kind::String => has_same_text(a, b),
            Kind::Number => {
                let digits = a.as_number().zip(b.as_number());
                a.raw() == b.raw()
                    || digits.is_some_and(|(a, b)| compare_numbers(a, b) == Ordering::Equal)
            }
            _ => a.raw() == b.raw(),
        }
    }

    /// Whether `object` has the same member; `other` is its member at the same index.
    fn is_same_member(&mut self, own: Cursor<'_>, other: Cursor<'_>, object: Cursor<'_>) -> bool {
        let (key, at_same_place) = (own.key(), other.key());
        if key.raw() == at_same_place.raw() || key.text() == at_same_place.text() {
            return self.is_same(own, other);
        }
        let Some(left) = self.looked_up.checked_sub(1) else {
            return false;
        };
        self.looked_up = left;
        let member = object.get(&key.text());
        member.is_some_and(|member| self.is_same(own, member))
    }
}
