//! What values and references would take of a model's context.
//!
//! In: a value that a reference brought in, or a reference as the model wrote it. Out: its tokens,
//! counted exactly while there is room for that, else estimated. Deliberately not here: whose books
//! they go into.

use crossfeed_jmespath::View;
use crossfeed_tokens::{TokenCounter, count_chars, tokens_of_chars};
use std::cell::Cell;

/// The most bytes of one value that are counted exactly.
const COUNTED_BYTES: usize = 64 << 10;

/// Counts the tokens of one call.
pub(crate) struct Tally<'o> {
    counter: &'o TokenCounter,
    /// Bytes that may still be counted exactly.
    left: Cell<usize>,
}

impl<'o> Tally<'o> {
    /// Counts so many bytes exactly, if the counter can.
    pub(crate) fn new(counter: &'o TokenCounter, exact_bytes: usize) -> Self {
        Self {
            counter,
            left: Cell::new(exact_bytes),
        }
    }

    /// The tokens of a text.
    pub(crate) fn of_text(&self, text: &str) -> usize {
        if self.is_counted(text.len()) {
            self.counter.count(text)
        } else {
            tokens_of_chars(count_chars(text.as_bytes()))
        }
    }

    /// What a value that is so many bytes of JSON would take if the model had written it: without
    /// the escapes that its source has. Of a document that is plain nothing is read.
    pub(crate) fn of_view(&self, view: &View<'_>, bytes: usize) -> usize {
        let source = view.as_cursor();
        let is_plain = source.is_some_and(|cursor| cursor.document_is_plain());
        let raw = source.map(|cursor| cursor.raw());
        let escaped = !is_plain && raw.is_some_and(|raw| memchr::memchr(b'\\', raw).is_some());
        if self.is_counted(bytes) {
            if escaped && let Ok((value, _)) = view.to_sized_value(usize::MAX) {
                return self.counter.count(&value.to_string());
            }
            let mut json = Vec::with_capacity(bytes);
            if view.write(&mut json, usize::MAX).is_ok() {
                return self.counter.count(&String::from_utf8_lossy(&json));
            }
        }
        tokens_of_chars(match raw {
            Some(raw) if is_plain => raw.len(),
            Some(raw) if escaped => decoded_chars(raw),
            Some(raw) => count_chars(raw),
            None => view.written_chars(),
        })
    }

    /// Whether a text of so many bytes is counted exactly; it has its room then.
    fn is_counted(&self, bytes: usize) -> bool {
        let left = self.left.get().checked_sub(bytes);
        let left = left.filter(|_| bytes <= COUNTED_BYTES && self.counter.is_exact_for(bytes));
        if let Some(left) = left {
            self.left.set(left);
        }
        left.is_some()
    }
}

/// The characters of JSON, each escape as the one character that it stands for.
fn decoded_chars(json: &[u8]) -> usize {
    let mut chars = count_chars(json);
    let mut rest = json;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        let escape = rest.get(at..).unwrap_or_default();
        let (length, further) = match escape {
            [_, b'u', code @ ..] if is_low_surrogate(code) => (6, 6),
            [_, b'u', ..] => (6, 5),
            _ => (2, 1),
        };
        chars -= further.min(chars);
        rest = escape.get(length..).unwrap_or_default();
    }
    chars
}

/// Whether an escape's code is the second half of a character, whose first half counted for it.
fn is_low_surrogate(code: &[u8]) -> bool {
    matches!(code, [b'd' | b'D', b'c'..=b'f' | b'C'..=b'F', ..])
}

#[cfg(test)]
mod tests {
    use super::{Tally, decoded_chars};
    use crossfeed_jmespath::View;
    use crossfeed_json::Document;
    use crossfeed_tokens::TokenCounter;
    use proptest::prelude::*;
    use serde_json::Value;

    fn tokens(json: &str, counter: &TokenCounter) -> usize {
        let document = Document::new(json.to_owned());
        let view = View::from(document.root().unwrap());
        Tally::new(counter, 1000).of_view(&view, json.len())
    }

    #[test]
    fn escapes_count_as_what_they_stand_for() {
        let escaped = format!("\"{}\"", "\\u00e9".repeat(1000));
        let plain = format!("\"{}\"", "é".repeat(1000));
        let estimate = TokenCounter::default();
        assert_eq!(tokens(&escaped, &estimate), 251);
        assert_eq!(tokens(&plain, &estimate), 251);
        let bytes = TokenCounter::new("bytes", str::len);
        assert_eq!(tokens(r#"["\u00e9"]"#, &bytes), "[\"é\"]".len());
        assert_eq!(decoded_chars(br#""\ud83d\ude00""#), 3);
        assert_eq!(decoded_chars(br#""\\u00e9\n\"""#), 10);
    }

    #[test]
    fn only_so_much_is_counted_exactly() {
        let bytes = TokenCounter::new("bytes", str::len);
        let tally = Tally::new(&bytes, 10);
        assert_eq!(tally.of_text("12345678"), 8);
        assert_eq!(tally.of_text("1234"), 1);
        assert_eq!(tally.of_text("12"), 2);
        assert_eq!(tally.of_text("1"), 1);
        assert_eq!(tally.of_text("12345"), 2);
        let long = "x".repeat(65 << 10);
        assert_eq!(
            Tally::new(&bytes, usize::MAX).of_text(&long),
            long.len().div_ceil(4)
        );
    }

    proptest! {
        #[test]
        fn decoded_characters_are_those_of_the_strings(text in any::<String>()) {
            let spelled: String = text
                .encode_utf16()
                .map(|unit| format!("\\u{unit:04x}"))
                .collect();
            prop_assert_eq!(decoded_chars(spelled.as_bytes()), text.chars().count());
            let json = Value::from(text.as_str()).to_string();
            prop_assert_eq!(decoded_chars(json.as_bytes()), text.chars().count() + 2);
        }
    }
}
