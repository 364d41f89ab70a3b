//! Writes values: by a copy of their bytes, unless their document holds a key twice.

use crate::{
    cursor::{Cursor, Kind},
    scan::skip_blanks,
};
use std::ops::Range;

impl Cursor<'_> {
    /// Appends the value's original bytes; for a duplicate key only the last value, at the place of the
    /// first.
    pub fn write(self, out: &mut Vec<u8>) {
        if self.document_has_duplicates() {
            self.write_compact(out);
        } else {
            out.extend_from_slice(self.raw());
        }
    }

    /// Appends the value without blanks between tokens, each key once.
    pub fn write_compact(self, out: &mut Vec<u8>) {
        if !self.tape.holds_duplicates(self.ordinal()) {
            return self.write_without_blanks(out);
        }
        // Depth is bounded by MAX_DEPTH.
        let brackets = match self.kind() {
            Kind::Array => b"[]",
            Kind::Object => b"{}",
            _ => return out.extend_from_slice(self.raw()),
        };
        out.push(brackets[0]);
        for (index, item) in self.items().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            if self.kind() == Kind::Object {
                out.push(b'"');
                out.extend_from_slice(item.key().raw());
                out.extend_from_slice(b"\":");
            }
            item.write_compact(out);
        }
        out.push(brackets[1]);
    }

    /// Number of bytes that [`Self::write`] appends at most.
    pub fn written_len(self) -> usize {
        self.raw().len()
    }

    /// Appends the value without blanks between tokens: its bytes in as few pieces as there are
    /// blanks.
    fn write_without_blanks(self, out: &mut Vec<u8>) {
        let raw: &[u8] = &self.tape.raw;
        let end = self.offset() + self.raw().len();
        // The part before is written.
        let mut from = self.offset();
        // Blanks are only searched for between values.
        let mut at = from;
        for slot in self.ordinal()..self.tape.next(self.ordinal()) {
            let word = self.tape.word(slot);
            from = write_until(raw, from, at..word.start(), out);
            at = if word.is_container() {
                word.start() + 1
            } else {
                self.tape.scalar_end(slot, word)
            };
        }
        from = write_until(raw, from, at..end, out);
        out.extend_from_slice(&raw[from..end]);
    }
}

/// Searches the text between two values, except a key, for blanks. If there are some, appends the part before
/// them, from `from` on; returns the offset up to which everything is written.
#[inline]
fn write_until(raw: &[u8], from: usize, between: Range<usize>, out: &mut Vec<u8>) -> usize {
    if raw[between.clone()].iter().any(|&byte| byte <= b' ') {
        write_until_slow(raw, from, between, out)
    } else {
        from
    }
}

#[inline(never)]
fn write_until_slow(
    raw: &[u8],
    mut from: usize,
    between: Range<usize>,
    out: &mut Vec<u8>,
) -> usize {
    let mut at = between.start;
    while at < between.end {
        match raw[at] {
            // There is at most one key, and no quote after it.
            b'"' => {
                let key = &raw[at + 1..between.end];
                let last = key.iter().rposition(|&byte| byte == b'"');
                at += last.map_or(1, |last| last + 2);
            }
            b' ' | b'\n' | b'\t' | b'\r' => {
                out.extend_from_slice(&raw[from..at]);
                from = skip_blanks(raw, at).min(between.end);
                at = from;
            }
            _ => at += 1,
        }
    }
    from
}
