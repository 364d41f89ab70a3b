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
        in_vain: 0,
    };
    let mut counted = places.clone();
    let most = if edit.all { usize::MAX } else { 2 };
    let count = counted.by_ref().take(most).count();
    if count == 0 || count > 1 && !edit.all || counted.has_given_up() {
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
    /// The bytes that were compared where it begins within an escape.
    in_vain: usize,
}

impl Places<'_> {
    /// Whether it ended because more was compared in vain than the string has bytes. The searches of a text do not begin
    /// anew at each such place, so that they take time in proportion to it.
    fn has_given_up(&self) -> bool {
        self.in_vain > self.raw.len()
    }
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
            self.in_vain += self.finder.needle().len();
            if self.has_given_up() {
                return None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::EditedText;
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn edit(old: &str, new: &str, all: bool) -> TextEdit {
        TextEdit {
            old: old.to_owned(),
            new: new.to_owned(),
            all,
        }
    }

    /// The same edits, made on the text.
    fn of_the_text(quoted: &str, edits: &[TextEdit], limits: &EditLimits) -> Option<Vec<u8>> {
        let mut budget = Budget::new(limits);
        let mut text = EditedText::new(&quoted[1..quoted.len() - 1]);
        for edit in edits {
            text.edit(edit, &mut budget).ok()?;
        }
        text.written(&budget).ok()
    }

    proptest! {
        /// What is made on the string is what is made on the text, under the same limits.
        #[test]
        fn it_is_the_edit_of_the_text(
            text in "[an\\\\\"\n]{0,30}",
            edits in prop::collection::vec(("[an\\\\\"\n]{1,3}", "[an\\\\\"\u{1}]{0,3}", any::<bool>()), 1..4),
            bytes in 0..60usize,
            steps in 0..40u64,
        ) {
            let edits: Vec<_> = edits.iter().map(|(old, new, all)| edit(old, new, *all)).collect();
            let quoted = json!(text).to_string();
            let limits = EditLimits::default().with_bytes(bytes).with_steps(steps);
            if let Some(made) = edited(quoted.as_bytes(), &edits, &limits) {
                prop_assert_eq!(Some(made), of_the_text(&quoted, &edits, &limits));
            }
        }
    }

    #[test]
    fn plain_strings_are_edited_as_they_are() {
        let check = |raw: &str, edits: &[TextEdit], expected: Option<&str>| {
            let made = edited(raw.as_bytes(), edits, &EditLimits::default());
            assert_eq!(made.as_deref(), expected.map(str::as_bytes), "{raw}");
        };
        check(r#""n\nbn""#, &[edit("n", "m", true)], Some(r#""m\nbm""#));
        check(r#""a\nb""#, &[edit("\\n", "", false)], None);
        check(r#""a\nb""#, &[edit("\nb", "", false)], Some(r#""a""#));
        check(r#""a\nb""#, &[edit("n", "m", false)], None);
        check(r#""a\nb""#, &[edit("\n", " ", false)], Some(r#""a b""#));
        check(
            r#""é\"x\"""#,
            &[edit("x", "é\"", false)],
            Some(r#""é\"é\"\"""#),
        );
        // Another spelling, or one that an edit would bring.
        for raw in [r#""a\u0062""#, r#""a\/""#, r#""a\\u""#] {
            check(raw, &[edit("a", "b", false)], None);
        }
        check(r#""a""#, &[edit("a", "\u{1}", false)], None);
    }

    #[test]
    fn places_within_escapes_take_no_longer_than_the_string() {
        let raw = "\\n".repeat(1000);
        let needle = format!("n{}", "\\n".repeat(400));
        let mut places = Places {
            raw: raw.as_bytes(),
            finder: &Finder::new(&needle),
            at: 0,
            in_vain: 0,
        };
        assert_eq!(places.next(), None);
        assert!(places.has_given_up());
        assert!(places.in_vain <= raw.len() + needle.len());
    }
}
