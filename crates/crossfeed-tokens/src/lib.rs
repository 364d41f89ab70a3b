//! Counts tokens: the share of a model's context that a text takes.
//!
//! By default the number is an estimate, a quarter of the characters. The feature `o200k` adds an exact
//! counter that needs no network. Limits on tokens are the callers' concern.

use std::{fmt, sync::Arc};

/// The most bytes of a text that an exact counter reads: a tokenizer takes some seconds for 100 MB, and
/// longer texts exceed any limit, however they are counted.
const EXACT_BYTES: usize = 1 << 20;

/// The characters of a token in an estimate: the usual average of English text.
const CHARS_A_TOKEN: usize = 4;

/// A host's function that counts tokens.
type Count = dyn Fn(&str) -> usize + Send + Sync;

/// Counts the tokens of a text.
///
/// ```
/// use crossfeed_tokens::TokenCounter;
///
/// assert_eq!(TokenCounter::default().count("crossfeed"), 3);
/// let words = TokenCounter::new("words", |text| text.split_whitespace().count());
/// assert_eq!(words.count("two words"), 2);
/// ```
#[derive(Clone)]
pub struct TokenCounter {
    name: Arc<str>,
    /// `None` for an estimate.
    exact: Option<Arc<Count>>,
}

impl TokenCounter {
    /// A counter of the host's own: its name in reports, and its function. It counts texts of up to 1 MiB;
    /// longer ones are estimated.
    pub fn new(
        name: impl Into<Arc<str>>,
        count: impl Fn(&str) -> usize + Send + Sync + 'static,
    ) -> Self {
        Self {
            name: name.into(),
            exact: Some(Arc::new(count)),
        }
    }

    /// Estimates: a quarter of the characters, rounded up.
    pub fn estimate() -> Self {
        Self {
            name: "characters / 4".into(),
            exact: None,
        }
    }

    /// Counts with the tokenizer o200k, which OpenAI's models since GPT-4o use. Other providers publish none;
    /// their counts differ by some percent.
    #[cfg(feature = "o200k")]
    pub fn o200k() -> Self {
        Self::new("o200k", |text| bpe_openai::o200k_base().count(text))
    }

    /// The name of the counter in reports.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The tokens of a text.
    pub fn count(&self, text: &str) -> usize {
        match &self.exact {
            Some(count) if text.len() <= EXACT_BYTES => count(text),
            _ => estimated_tokens(text),
        }
    }

    /// The tokens of a text, from its bytes. An estimate does not check UTF-8, so that a large text takes one
    /// fast pass.
    pub fn count_bytes(&self, text: &[u8]) -> usize {
        if self.is_exact_for(text.len())
            && let Ok(text) = std::str::from_utf8(text)
        {
            return self.count(text);
        }
        tokens_of_chars(count_chars(text))
    }

    /// Whether a text of this many bytes is counted exactly, rather than estimated.
    pub fn is_exact_for(&self, bytes: usize) -> bool {
        self.exact.is_some() && bytes <= EXACT_BYTES
    }
}

impl Default for TokenCounter {
    fn default() -> Self {
        Self::estimate()
    }
}

impl fmt::Debug for TokenCounter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TokenCounter").field(&self.name).finish()
    }
}

/// The estimated tokens of a text: a quarter of its characters, rounded up.
pub fn estimated_tokens(text: &str) -> usize {
    tokens_of_chars(text.chars().count())
}

/// The number of characters in UTF-8, without checking the encoding.
///
/// ```
/// assert_eq!(crossfeed_tokens::count_chars("é…x".as_bytes()), 3);
/// ```
pub fn count_chars(text: &[u8]) -> usize {
    bytecount::num_chars(text)
}

/// The estimated tokens of this many characters.
pub fn tokens_of_chars(chars: usize) -> usize {
    chars.div_ceil(CHARS_A_TOKEN)
}

#[cfg(test)]
mod tests {
    use super::{EXACT_BYTES, TokenCounter, count_chars, estimated_tokens};

    #[test]
    fn an_estimate_is_a_quarter_of_the_characters() {
        for (text, tokens) in [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("ééééé", 2)] {
            assert_eq!(estimated_tokens(text), tokens, "{text}");
        }
    }

    #[test]
    fn what_is_long_is_estimated() {
        let counter = TokenCounter::new("bytes", str::len);
        assert_eq!(counter.count("abc"), 3);
        let long = "x".repeat(EXACT_BYTES + 1);
        assert_eq!(counter.count(&long), estimated_tokens(&long));
        assert!(counter.is_exact_for(EXACT_BYTES) && !counter.is_exact_for(long.len()));
        assert!(!TokenCounter::default().is_exact_for(1));
    }

    #[test]
    fn bytes_count_as_their_text() {
        for text in ["", "a", "é…\u{1f600}x", &"aé".repeat(1000)] {
            assert_eq!(count_chars(text.as_bytes()), text.chars().count(), "{text}");
            for counter in [
                TokenCounter::default(),
                TokenCounter::new("bytes", str::len),
            ] {
                assert_eq!(counter.count_bytes(text.as_bytes()), counter.count(text));
            }
        }
        assert_eq!(
            TokenCounter::new("bytes", str::len).count_bytes(b"\xff\xff"),
            1
        );
    }

    /// Known counts of the published tokenizer.
    #[cfg(feature = "o200k")]
    #[test]
    fn o200k_counts_exactly() {
        let counter = TokenCounter::o200k();
        for (text, tokens) in [("", 0), ("hello world", 2), ("tiktoken is great!", 6)] {
            assert_eq!(counter.count(text), tokens, "{text}");
        }
    }
}
