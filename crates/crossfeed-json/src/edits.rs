//! Changing some bytes of a document and keeping all others.
//!
//! What comes in: a document, and what is to stand instead of its values, behind them or nowhere. What
//! goes out: its bytes with these changes. Deliberately not here: what is to change.

use crate::{Cursor, WrittenMember, string::quoted};
use std::{borrow::Cow, cmp::Reverse, ops::Range};

/// Changes to a document. Of changes that overlap the one that begins first counts, of those that begin
/// together the longest; what is put at one place stands in the order in which it was put, before what
/// is changed there.
///
/// ```
/// use crossfeed_json::{Document, Edits};
///
/// let document = Document::new(r#"{ "a": [1, 2], "b": 1.50 }"#);
/// let root = document.root()?;
/// let mut edits = Edits::new(document.raw());
/// if let Some(list) = root.get("a") {
///     edits.replace(list, "null");
/// }
/// edits.put(root, "c", "true");
/// assert_eq!(&edits.done()[..], br#"{ "a": null, "b": 1.50,"c":true }"#);
/// # Ok::<(), crossfeed_json::JsonError>(())
/// ```
#[derive(Debug)]
pub struct Edits<'d> {
    raw: &'d [u8],
    edits: Vec<(Range<usize>, Vec<u8>)>,
}

/// Offset behind a value.
fn end(value: Cursor<'_>) -> usize {
    value.offset() + value.raw().len()
}

impl<'d> Edits<'d> {
    /// No changes of a document, which is given by its bytes.
    #[must_use]
    pub fn new(raw: &'d [u8]) -> Self {
        Self {
            raw,
            edits: Vec::new(),
        }
    }

    /// The bytes as they are.
    #[must_use]
    pub fn raw(&self) -> &'d [u8] {
        self.raw
    }

    /// Other bytes in a value's place; the same are no change.
    pub fn replace(&mut self, value: Cursor<'_>, with: impl Into<Vec<u8>>) {
        let with = with.into();
        if with != value.raw() {
            self.edits.push((value.offset()..end(value), with));
        }
    }

    /// Takes bytes out.
    pub fn remove(&mut self, range: Range<usize>) {
        self.edits.push((range, Vec::new()));
    }

    /// Takes an item out of its list, with the comma before it.
    pub fn remove_behind(&mut self, before: Cursor<'_>, item: Cursor<'_>) {
        self.remove(end(before)..end(item));
    }

    /// Bytes behind a value.
    pub fn insert_behind(&mut self, value: Cursor<'_>, what: impl Into<Vec<u8>>) {
        self.edits.push((end(value)..end(value), what.into()));
    }

    /// Bytes behind the key of a member, within its quotes.
    pub fn extend_key(&mut self, member: &WrittenMember<'_>, what: impl Into<Vec<u8>>) {
        // Both are parts of the document.
        let key = member.key.raw();
        let at = (key.as_ptr().addr() + key.len()).checked_sub(self.raw.as_ptr().addr());
        if let Some(at) = at.filter(|at| *at <= self.raw.len()) {
            self.edits.push((at..at, what.into()));
        }
    }

    /// Sets a member of an object that has each key once; of another one the last occurrence.
    pub fn put(&mut self, object: Cursor<'_>, key: &str, json: impl AsRef<[u8]>) {
        let json = json.as_ref();
        if let Some(value) = object.get(key) {
            self.replace(value, json);
            return;
        }
        let mut member = Vec::new();
        let at = match object.items().last() {
            Some(last) => {
                member.push(b',');
                end(last)
            }
            // Behind the opening bracket.
            None => object.offset() + 1,
        };
        member.extend_from_slice(quoted(key).as_bytes());
        member.push(b':');
        member.extend_from_slice(json);
        self.edits.push((at..at, member));
    }

    /// The bytes with the changes: borrowed if there are none.
    #[must_use]
    pub fn done(mut self) -> Cow<'d, [u8]> {
        if self.edits.is_empty() {
            return Cow::Borrowed(self.raw);
        }
        let order = |(range, _): &(Range<usize>, Vec<u8>)| {
            (range.start, range.end != range.start, Reverse(range.end))
        };
        if !self.edits.is_sorted_by_key(order) {
            self.edits.sort_by_key(order);
        }
        let more: usize = self.edits.iter().map(|(_, with)| with.len()).sum();
        let mut out = Vec::with_capacity(self.raw.len() + more);
        let mut at = 0;
        for (range, with) in self.edits {
            if range.start < at {
                continue;
            }
            out.extend_from_slice(self.raw.get(at..range.start).unwrap_or_default());
            out.extend_from_slice(&with);
            at = range.end;
        }
        out.extend_from_slice(self.raw.get(at..).unwrap_or_default());
        Cow::Owned(out)
    }
}

#[cfg(test)]
mod tests {
    use super::Edits;
    use crate::{Cursor, Document};

    /// What changes make of a list of lists.
    fn check(edit: impl Fn(&mut Edits<'_>, Cursor<'_>, Cursor<'_>), expected: &str) {
        let document = Document::new("[1, [2, 3], 4]");
        let root = document.root().unwrap();
        let mut edits = Edits::new(document.raw());
        edit(&mut edits, root, root.at(1).unwrap());
        assert_eq!(String::from_utf8_lossy(&edits.done()), expected);
    }

    #[test]
    fn what_overlaps_is_not_done_twice() {
        check(|_, _, _| (), "[1, [2, 3], 4]");
        check(
            |edits, _, list| edits.replace(list, "[2, 3]"),
            "[1, [2, 3], 4]",
        );
        check(
            |edits, root, list| {
                edits.replace(list.at(0).unwrap(), "9");
                edits.remove_behind(root.at(0).unwrap(), list);
                edits.replace(list, "9");
                edits.replace(root.at(2).unwrap(), "9");
            },
            "[1, 9]",
        );
        check(
            |edits, root, list| {
                edits.replace(root, "[]");
                edits.replace(list, "9");
            },
            "[]",
        );
    }

    #[test]
    fn keys_are_extended() {
        let document = Document::new(r#"{"a\u0062" : {"c":1}, "":2}"#);
        let mut edits = Edits::new(document.raw());
        for member in document.root().unwrap().written_members() {
            edits.extend_key(&member, "!");
        }
        assert_eq!(
            String::from_utf8_lossy(&edits.done()),
            r#"{"a\u0062!" : {"c":1}, "!":2}"#
        );
    }

    #[test]
    fn what_is_put_at_a_place_stands_in_order_before_what_is_changed_there() {
        check(
            |edits, root, list| {
                edits.remove(list.offset() - 2..list.offset() + 6);
                edits.insert_behind(root.at(0).unwrap(), ", 5");
                edits.insert_behind(root.at(0).unwrap(), ", 6");
            },
            "[1, 5, 6, 4]",
        );
    }
}
