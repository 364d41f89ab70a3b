//! Changing some bytes of a document and keeping all others.

use crossfeed_json::{Cursor, Kind, quoted};
use std::borrow::Cow;

/// Changes to a document, none of which overlap.
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
        // Stable: what is put at one place stays in the order in which it was put.
        self.edits.sort_by_key(|(start, end, _)| (*start, *end));
        let more: usize = self.edits.iter().map(|(_, _, with)| with.len()).sum();
        let mut out = Vec::with_capacity(self.raw.len() + more);
        let mut at = 0;
        for (start, end, with) in self.edits {
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
