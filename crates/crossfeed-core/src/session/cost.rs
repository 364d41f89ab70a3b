//! An upper bound of the memory that reading arguments takes, counted from their bytes before anything is built.

use crossfeed_json::{Quoted, TokenVisitor, read_tokens};

/// What one value takes at most: its words in two indexes, its place in the value that is read, in what the
/// tool's schema judges, and in a copy of either while names are read back.
const VALUE: usize = 640;
/// What a member takes beside its value: keys, and places in hash tables.
const MEMBER: usize = 384;
/// How often the bytes of a string or key are there at most.
const COPIES: usize = 3;
/// The index has a word for each value.
const WORD: usize = 8;
/// How much building values may take, as a multiple of the bytes that they are written in, whatever the limit
/// is.
const FACTOR: usize = 6;

/// How much memory may be taken to build values of arguments.
pub(super) fn most(limit: usize, bytes: usize) -> usize {
    limit.max(bytes.saturating_mul(FACTOR))
}

/// The bytes of memory that resolving arguments takes at most, beside what references bring in: their index, a
/// copy of their bytes, and values that are built of them, which take no more than
/// [`EngineOptions::max_argument_bytes`](crate::EngineOptions::max_argument_bytes), here `limit`.
///
/// ```
/// use crossfeed_core::arguments_cost;
///
/// // Each of these is a value of its own.
/// assert!(arguments_cost(b"[0,0,0,0]", usize::MAX) > arguments_cost(b"[1234567]", usize::MAX));
/// ```
#[must_use]
pub fn arguments_cost(arguments: &[u8], limit: usize) -> usize {
    let Count { bytes, values } = count(arguments);
    let built = bytes.min(most(limit, arguments.len()));
    values * WORD + arguments.len() + built
}

fn count(arguments: &[u8]) -> Count {
    let mut count = Count::default();
    // What is not JSON is refused later, and costs no more than what was read of it.
    if let Ok(text) = std::str::from_utf8(arguments) {
        let _ = read_tokens(text, &mut count);
    }
    count
}

#[derive(Default)]
struct Count {
    values: usize,
    bytes: usize,
}

impl TokenVisitor for Count {
    fn key(&mut self, key: Quoted<'_>) {
        self.bytes += MEMBER + COPIES * key.raw().len();
    }

    fn string(&mut self, string: Quoted<'_>) {
        let text = string.raw();
        self.bytes += COPIES * text.len();
        // It may be the JSON of a reference, or of what a parameter stands for; any sign may be an escape.
        let begins = text.trim_start().as_bytes().first();
        if matches!(begins, Some(b'{' | b'[' | b'\\')) {
            let is_structure = |byte: &u8| matches!(byte, b',' | b'[' | b'{' | b':');
            let values = text.bytes().filter(is_structure).count();
            self.bytes += values * (VALUE + MEMBER);
        }
    }

    fn value_end(&mut self, _: usize) {
        self.values += 1;
        self.bytes += VALUE;
    }
}
