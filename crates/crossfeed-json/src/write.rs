//! Writing: a value is the copy of its bytes, unless its document holds a key twice.

use crate::cursor::{Cursor, Kind};

impl Cursor<'_> {
    /// Appends the value as it came; of a key that occurs twice only the last value, at the place
    /// of the first.
    pub fn write(self, out: &mut Vec<u8>) {
        if self.document_has_duplicates() {
            self.write_compact(out);
        } else {
            out.extend_from_slice(self.raw());
        }
    }

    /// Appends the value without blanks between tokens, each key once.
    pub fn write_compact(self, out: &mut Vec<u8>) {
        // Depth is bounded by MAX_DEPTH.
        match self.kind() {
            Kind::Array => {
                out.push(b'[');
                for (index, item) in self.items().enumerate() {
                    if index > 0 {
                        out.push(b',');
                    }
                    item.write_compact(out);
                }
                out.push(b']');
            }
            Kind::Object => self.write_members(out),
            _ => out.extend_from_slice(self.raw()),
        }
    }

    /// Number of bytes that [`Self::write`] appends at most.
    #[must_use]
    pub fn written_len(self) -> usize {
        self.raw().len()
    }

    fn write_members(self, out: &mut Vec<u8>) {
        out.push(b'{');
        for (index, (key, value)) in self.members().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            out.push(b'"');
            out.extend_from_slice(key.raw());
            out.extend_from_slice(b"\":");
            value.write_compact(out);
        }
        out.push(b'}');
    }
}
