//! An upper bound of the memory that reading arguments takes, counted from their bytes before anything is built.

use crossfeed_json::{RawString, TokenVisitor, read_tokens};

/// The most bytes of one value: its words in two indexes, its place in the value that is read, in the one that is
/// validated, and in a copy of either while names are read back.
const VALUE_BYTES: usize = 640;
/// The most bytes of a member beside its value: keys, and places in hash tables.
const MEMBER_BYTES: usize = 384;
/// The most copies of a string or a key.
const MAX_COPIES: usize = 3;
/// The bytes of a value in the index.
const WORD_BYTES: usize = 8;
/// Building values may always take this multiple of the bytes of the arguments.
const MIN_FACTOR: usize = 6;

/// The most memory that values built from arguments may take.
pub(super) fn max_built_bytes(limit: usize, bytes: usize) -> usize {
    limit.max(bytes.saturating_mul(MIN_FACTOR))
}

/// The most bytes of memory that resolving arguments takes, apart from what references bring in: their index, a
/// copy of their bytes, and the values built from them, which take no more than
/// [`EngineOptions::max_argument_bytes`](crate::EngineOptions::max_argument_bytes), here `limit`.
///
/// ```
/// use crossfeed_core::arguments_cost;
///
/// // Each of these is a value of its own.
/// assert!(arguments_cost(b"[0,0,0,0]", usize::MAX) > arguments_cost(b"[1234567]", usize::MAX));
/// ```
pub fn arguments_cost(arguments: &[u8], limit: usize) -> usize {
    let mut count = CostCounter::default();
    // Invalid JSON is refused later, and costs no more than what was read of it.
    if let Ok(text) = std::str::from_utf8(arguments) {
        let _ = read_tokens(text, &mut count);
    }
    let built = count.bytes.min(max_built_bytes(limit, arguments.len()));
    count.values * WORD_BYTES + arguments.len() + built
}

#[derive(Default)]
struct CostCounter {
    values: usize,
    bytes: usize,
}

impl TokenVisitor for CostCounter {
    fn key(&mut self, key: RawString<'_>) {
        self.bytes += MEMBER_BYTES + MAX_COPIES * key.raw().len();
    }

    fn string(&mut self, string: RawString<'_>) {
        let text = string.raw();
        self.bytes += MAX_COPIES * text.len();
        // It may be the JSON of a reference or of a parameter; any sign may be an escape.
        let begins = text.trim_start().as_bytes().first();
        if matches!(begins, Some(b'{' | b'[' | b'\\')) {
            let is_structure = |byte: &u8| matches!(byte, b',' | b'[' | b'{' | b':');
            let values = text.bytes().filter(is_structure).count();
            self.bytes += values * (VALUE_BYTES + MEMBER_BYTES);
        }
    }

    fn value_end(&mut self, _: usize) {
        self.values += 1;
        self.bytes += VALUE_BYTES;
    }
}
