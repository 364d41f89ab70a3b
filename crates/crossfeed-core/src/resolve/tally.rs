//! Counts the tokens that values and references would take in a model's context: exactly up to a number of
//! bytes, then by an estimate.

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
    /// A tally that counts this many bytes exactly, if the counter can.
    pub(crate) fn new(counter: &'o TokenCounter, exact_bytes: usize) -> Self {
        Self {
            counter,
            left: Cell::new(exact_bytes),
        }
    }

    /// The tokens of a text.
    pub(crate) fn count_text(&self, text: &str) -> usize {
        if self.is_counted(text.len()) {
            self.counter.count(text)
        } else {
            tokens_of_chars(count_chars(text.as_bytes()))
        }
    }

    /// The tokens of a value of this many bytes of JSON if the model had written it, without the escapes in
    /// its source.
    pub(crate) fn count_view(&self, view: &View<'_>, bytes: usize) -> usize {
        let source = view.as_cursor();
        if self.is_counted(bytes) {
            let escaped =
                source.is_some_and(|source| memchr::memchr(b'\\', source.raw()).is_some());
            if escaped && let Ok((value, _)) = view.to_sized_value(usize::MAX) {
                return self.counter.count(&value.to_string());
            }
            let mut json = Vec::with_capacity(bytes);
            if view.write(&mut json, usize::MAX).is_ok() {
                return self.counter.count(&String::from_utf8_lossy(&json));
            }
        }
        // For a whole result that is passed on repeatedly, the characters are counted once.
        tokens_of_chars(match source {
            Some(source) => source.decoded_chars(),
            None => view.written_chars(),
        })
    }

    /// Whether a text of this many bytes is counted exactly; takes the bytes if so.
    fn is_counted(&self, bytes: usize) -> bool {
        let left = self.left.get().checked_sub(bytes);
        let left = left.filter(|_| bytes <= COUNTED_BYTES && self.counter.is_exact_for(bytes));
        if let Some(left) = left {
            self.left.set(left);
        }
        left.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::Tally;
    use crossfeed_jmespath::View;
    use crossfeed_json::Document;
    use crossfeed_tokens::TokenCounter;

    fn tokens(json: &str, counter: &TokenCounter) -> usize {
        let document = Document::new(json.to_owned());
        let view = View::from(document.root().unwrap());
        Tally::new(counter, 1000).count_view(&view, json.len())
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
    }

    #[test]
    fn only_so_much_is_counted_exactly() {
        let bytes = TokenCounter::new("bytes", str::len);
        let tally = Tally::new(&bytes, 10);
        assert_eq!(tally.count_text("12345678"), 8);
        assert_eq!(tally.count_text("1234"), 1);
        assert_eq!(tally.count_text("12"), 2);
        assert_eq!(tally.count_text("1"), 1);
        assert_eq!(tally.count_text("12345"), 2);
        let long = "x".repeat(65 << 10);
        assert_eq!(
            Tally::new(&bytes, usize::MAX).count_text(&long),
            long.len().div_ceil(4)
        );
    }
}
