//! Edits on a JSON string itself, which need no copy of its text.
//!
//! They are made where the string has no `\u` and no `\/`. Each character is then written in the one way of
//! [`escape_into`], so that a text occurs where its own escapes do, at the beginning of a character. Whatever ends an edit
//! here, also an error, leaves it to the edits of the text, which say why.

use super::TextEdit;
use crate::limits::{Budget, EditLimits};
use crossfeed_json::escape_into;
use memchr::memmem::{self, Finder};
use std::borrow::Cow;

/// The escapes of characters that can be written in another way.
const OTHERS: [&[u8]; 2] = [b"\\u", b"\\/"];

/// The string, in its quotes, with the edits made; `None` if they are to be made on its text.
pub(super) fn edited(quoted: &[u8], edits: &[TextEdit], limits: &EditLimits) -> Option<Vec<u8>> {
    if has_others(quoted) {
        return None;
    }
    let mut budget = Budget::new(limits);
    let mut quoted = Cow::Borrowed(quoted);
    let mut parts = 1;
    for edit in edits {
        quoted = once(&quoted, edit, &mut budget, &mut parts)?.into();
    }
    match quoted {
        Cow::Owned(edited) => Some(edited),
        Cow::Borrowed(_) => None,
    }
}

fn has_others(escaped: &[u8]) -> bool {
    OTHERS
        .iter()
        .any(|other| memmem::find(escaped, other).is_some())
}

/// One edit, on the budget of the same edit of the text: a string is at least as long as its text.
fn once(quoted: &[u8], edit: &TextEdit, budget: &mut Budget, parts: &mut usize) -> Option<Vec<u8>> {
    let raw = quoted.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    let [old, new] = [&edit.old, &edit.new].map(|text| {
        let mut escaped = Vec::with_capacity(text.len());
        escape_into(&mut escaped, text);
        escaped
    });
    if has_others(&new) {
        return None;
    }
    budget.begin_operation().ok()?;
    budget.spend_bytes(raw.len()).ok()?;
    let finder = Finder::new(&old);
    let places = Places {
        raw,
        finder: &finder,
        at: 0,
    };
    let most = if edit.all { usize::MAX } else { 2 };
    let count = places.clone().take(most).count();
    if count == 0 || count > 1 && !edit.all {
        return None;
    }
    let added = count.saturating_mul(new.len());
    let len = (quoted.len() - count * old.len()).saturating_add(added);
    budget.check_bytes(len).ok()?;
    budget.spend(count + *parts / 8).ok()?;
    budget.spend_bytes(len).ok()?;
    *parts += count;
    let mut out = Vec::with_capacity(len);
    out.push(b'"');
    let mut at = 0;
    for place in places.take(count) {
        out.extend_from_slice(&raw[at..place]);
        out.extend_from_slice(&new);
        at = place + old.len();
    }
    out.extend_from_slice(&raw[at..]);
    out.push(b'"');
    Some(out)
}

/// Where a text occurs in a string, from left to right, without overlaps.
#[derive(Clone)]
struct Places<'s> {
    raw: &'s [u8],
    finder: &'s Finder<'s>,
    /// The beginning of a character; what is before it was looked at.
    at: usize,
}

impl Iterator for Places<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let mut from = self.at;
        loop {
            let place = from + self.finder.find(self.raw.get(from..)?)?;
            let before = &self.raw[self.at..place];
            let slashes = before.iter().rev().take_while(|byte| **byte == b'\\');
            if slashes.count() % 2 == 0 {
                self.at = place + self.finder.needle().len();
                return Some(place);
            }
            // It begins within an escape.
            from = place + 1;
        }
    }
}
