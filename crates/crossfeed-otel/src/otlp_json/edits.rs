//! Changing some bytes of a document and keeping all others.

use crossfeed_json::Cursor;
use std::{borrow::Cow, cmp::Reverse};

/// Changes to a document. Of changes that overlap the one that begins first counts, so that what goes
/// takes along whatever had changed in it.
pub(super) struct Edits<'d> {
    raw: &'d [u8],
    edits: Vec<(usize, usize, Vec<u8>)>,
}

/// Offset behind a value.
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
        self.edits.push((value.offset(), end(value), with));
    }

    /// Something behind a value.
    pub(super) fn insert_behind(&mut self, value: Cursor<'_>, what: Vec<u8>) {
        self.edits.push((end(value), end(value), what));
    }

    /// The document with the changes: borrowed if there are none.
    pub(super) fn done(mut self) -> Cow<'d, [u8]> {
        if self.edits.is_empty() {
            return Cow::Borrowed(self.raw);
        }
        // What is put at a place stands before what is taken away there.
        self.edits
            .sort_unstable_by_key(|(start, end, _)| (*start, end != start, Reverse(*end)));
        let more: usize = self.edits.iter().map(|(_, _, with)| with.len()).sum();
        let mut out = Vec::with_capacity(self.raw.len() + more);
        let mut at = 0;
        for (start, end, with) in self.edits {
            if start < at {
                continue;
            }
            out.extend_from_slice(&self.raw[at..start]);
            out.extend(with);
            at = end;
        }
        out.extend_from_slice(&self.raw[at..]);
        Cow::Owned(out)
    }
}

/// A walk over the items of a list, or the members of an object, of which some go.
pub(super) struct Siblings {
    /// Behind the bracket or the value before the next one.
    before: usize,
    /// Behind the bracket or the comma before the next one.
    from: usize,
    has_kept: bool,
}

impl Siblings {
    pub(super) fn of(container: Cursor<'_>) -> Self {
        let open = container.offset() + 1;
        Self {
            before: open,
            from: open,
            has_kept: false,
        }
    }

    /// Goes on behind the next one, which ends at `end`.
    pub(super) fn next(&mut self, end: usize, goes: bool, edits: &mut Edits<'_>) {
        let rest = &edits.raw[end..];
        let blanks = rest
            .iter()
            .take_while(|byte| byte.is_ascii_whitespace())
            .count();
        let is_last = rest.get(blanks) != Some(&b',');
        let behind = if is_last { end } else { end + blanks + 1 };
        if goes {
            // With the comma before it, or with that behind it where nothing stands before.
            let range = match self.has_kept {
                true => (self.before, end),
                false => (self.from, behind),
            };
            edits.edits.push((range.0, range.1, Vec::new()));
        }
        self.has_kept |= !goes;
        (self.before, self.from) = (end, behind);
    }
}
