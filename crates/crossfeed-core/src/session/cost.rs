//! What reading written arguments takes in memory, counted from their bytes before anything is built.
//!
//! What comes in: the bytes of arguments. What goes out: an upper bound of the memory that resolving and
//! judging them takes beside what references bring in. Deliberately not here: what references bring in, which
//! has limits of its own.

use crate::resolve::LimitError;
use crossfeed_json::{Quoted, TokenVisitor, read_tokens};

/// What one value takes at most: its words in two indexes, its place in the value that is read, in what the
/// tool's schema judges, and in a copy of either while names are read back.
const VALUE: usize = 640;
/// What a member takes beside its value: keys, and places in hash tables.
const MEMBER: usize = 384;
/// How often the bytes of a string or key are there at most.
const COPIES: usize = 3;
/// No byte costs more: `0,` is a value, `"":0,` is a member.
const MOST_PER_BYTE: usize = VALUE / 2;
/// How much reading arguments may take, as a multiple of their length, whatever the limit is.
const FACTOR: usize = 6;

/// Refuses arguments that take more than `limit` bytes and more than six times their length to read.
/// `texts_are_read`: whether the tool was listed with parameters that are JSON as text.
pub(super) fn check(
    arguments: &[u8],
    limit: usize,
    texts_are_read: bool,
) -> Result<(), LimitError> {
    if arguments.len().saturating_mul(MOST_PER_BYTE) <= limit {
        return Ok(());
    }
    let limit = limit.max(arguments.len().saturating_mul(FACTOR));
    let needed = count(arguments, texts_are_read);
    if needed > limit {
        return Err(LimitError::ArgumentsTooLarge { needed, limit });
    }
    Ok(())
}

/// The bytes of memory that resolving arguments takes at most, beside what references bring in.
///
/// ```
/// // Each of these is a value of its own.
/// assert!(crossfeed_core::arguments_cost(b"[0,0,0,0]") > crossfeed_core::arguments_cost(b"[1234567]"));
/// ```
#[must_use]
pub fn arguments_cost(arguments: &[u8]) -> usize {
    count(arguments, true)
}

fn count(arguments: &[u8], texts_are_read: bool) -> usize {
    let mut count = Count {
        bytes: 0,
        texts_are_read,
    };
    // What is not JSON is refused later, and costs no more than what was read of it.
    if let Ok(text) = std::str::from_utf8(arguments) {
        let _ = read_tokens(text, &mut count);
    }
    count.bytes
}

struct Count {
    bytes: usize,
    texts_are_read: bool,
}

impl TokenVisitor for Count {
    fn key(&mut self, key: Quoted<'_>) {
        self.bytes += MEMBER + COPIES * key.raw().len();
    }

    fn string(&mut self, string: Quoted<'_>) {
        let text = string.raw();
        self.bytes += COPIES * text.len();
        let begins = text.trim_start().as_bytes().first();
        let is_read = match begins {
            // A reference may be written as a text, and any sign as an escape.
            Some(b'{') => self.texts_are_read || text.contains("tool"),
            Some(b'\\') => true,
            Some(b'[') => self.texts_are_read,
            _ => false,
        };
        if is_read {
            let is_structure = |byte: &u8| matches!(byte, b',' | b'[' | b'{' | b':');
            let values = text.bytes().filter(is_structure).count();
            self.bytes += values * (VALUE + MEMBER);
        }
    }

    fn value_end(&mut self, _: usize) {
        self.bytes += VALUE;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_refused(arguments: &str, limit: usize) -> bool {
        check(arguments.as_bytes(), limit, false).is_err()
    }

    #[test]
    fn many_values_are_refused_and_long_texts_are_not() {
        let zeros = format!("[{}0]", "0,".repeat(100_000));
        assert!(is_refused(&zeros, 1 << 20));
        assert!(!is_refused(&zeros, 64 << 20));
        let text = format!("[\"{}\"]", "a, b: [c] ".repeat(1_000_000));
        assert!(!is_refused(&text, 1 << 20));
        let members = format!("{{{}\"\":0}}", "\"\":0,".repeat(100_000));
        assert!(is_refused(&members, 1 << 20));
    }

    #[test]
    fn what_a_text_holds_counts_where_it_is_read() {
        let inner = "0,".repeat(100_000);
        let text = |begin: &str| format!(r#"["{begin}{inner}"]"#);
        assert!(is_refused(&text("{tool [["), 1 << 20));
        assert!(is_refused(&text(r"\u007b"), 1 << 20));
        assert!(!is_refused(&text("{"), 1 << 20));
        assert!(check(text("[").as_bytes(), 1 << 20, true).is_err());
    }

    #[test]
    fn what_is_small_is_not_counted() {
        assert!(!is_refused(&"0,".repeat(1000), 1 << 20));
    }
}
