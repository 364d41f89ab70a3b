//! Changing some bytes of a document and keeping all others.

use crossfeed_json::{Cursor, Kind, quoted};
use std::borrow::Cow;

/// Changes to a document. Of changes that overlap the one that begins first counts, of those that begin
/// together the longest.
pub(super) struct Edits<'d> {
    raw: &'d [u8],
    edits: Vec<(usize, usize, Vec<u8>)>,
}

fn end(value: Cursor<'_>) -> usize {
    value.offset() + value.raw().len()
}

impl<'d> Edits<'d> {
    pub(super) fn new(raw: &'d [u8]) -> Self {
        Self {
            raw,
            edits: Vec::new(),
        }
    }

    /// Another value in a value's place.
    pub(super) fn replace(&mut self, value: Cursor<'_>, with: Vec<u8>) {
        if with != value.raw() {
            self.edits.push((value.offset(), end(value), with));
        }
    }

    /// Takes an item out of its list, with the comma before it.
    pub(super) fn remove_behind(&mut self, before: Cursor<'_>, item: Cursor<'_>) {
        self.edits.push((end(before), end(item), Vec::new()));
    }

    /// Sets a member of an object that has each key once.
    pub(super) fn put(&mut self, object: Cursor<'_>, key: &str, json: &[u8]) {
        if let Some(value) = object.get(key) {
            self.replace(value, json.to_vec());
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
        self.edits.push((at, at, member));
    }

    /// The bytes as they are now: borrowed if nothing changed.
    pub(super) fn done(mut self) -> Cow<'d, [u8]> {
        if self.edits.is_empty() {
            return Cow::Borrowed(self.raw);
        }
        // Stable: what is put at one place stays in the order in which it was put, before what is
        // changed there.
        let order = |(start, end, _): &(usize, usize, Vec<u8>)| {
            (*start, end != start, std::cmp::Reverse(*end))
        };
        self.edits.sort_by_key(order);
        let more: usize = self.edits.iter().map(|(_, _, with)| with.len()).sum();
        let mut out = Vec::with_capacity(self.raw.len() + more);
        let mut at = 0;
        for (start, end, with) in self.edits {
            if start < at {
                continue;
            }
            out.extend_from_slice(self.raw.get(at..start).unwrap_or_default());
            out.extend_from_slice(&with);
            at = end;
        }
        out.extend_from_slice(self.raw.get(at..).unwrap_or_default());
        Cow::Owned(out)
    }
}

/// An object of one member.
pub(super) fn object_of(key: &str, json: &[u8]) -> Vec<u8> {
    let mut object = format!("{{{}:", quoted(key)).into_bytes();
    object.extend_from_slice(json);
    object.push(b'}');
    object
}

/// Whether members can be put into a value.
pub(super) fn is_object(value: Cursor<'_>) -> bool {
    value.kind() == Kind::Object
}

#[cfg(test)]
mod tests {
    use super::Edits;
    use crossfeed_json::{Cursor, Document};

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
        let new = || b"9".to_vec();
        check(|_, _, _| (), "[1, [2, 3], 4]");
        check(
            |edits, _, list| edits.replace(list, b"[2, 3]".to_vec()),
            "[1, [2, 3], 4]",
        );
        check(
            |edits, root, list| {
                edits.replace(list.at(0).unwrap(), new());
                edits.remove_behind(root.at(0).unwrap(), list);
                edits.replace(list, new());
                edits.replace(root.at(2).unwrap(), new());
            },
            "[1, 9]",
        );
        check(
            |edits, root, list| {
                edits.replace(root, b"[]".to_vec());
                edits.replace(list, new());
            },
            "[]",
        );
    }
}
