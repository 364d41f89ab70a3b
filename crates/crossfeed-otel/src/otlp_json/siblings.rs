//! Taking items and members out of an OTLP/JSON document, with one comma each.

use crossfeed_json::{Cursor, Edits};

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
        let rest = edits.raw().get(end..).unwrap_or_default();
        let blanks = rest
            .iter()
            .take_while(|byte| byte.is_ascii_whitespace())
            .count();
        let is_last = rest.get(blanks) != Some(&b',');
        let behind = if is_last { end } else { end + blanks + 1 };
        if goes {
            // With the comma before it, or with that behind it where nothing stands before.
            let range = if self.has_kept {
                self.before..end
            } else {
                self.from..behind
            };
            edits.remove(range);
        }
        self.has_kept |= !goes;
        (self.before, self.from) = (end, behind);
    }
}
