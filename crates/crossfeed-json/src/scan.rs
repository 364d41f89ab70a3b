//! Scans bytes many at a time, for the ends of strings, digits and blanks.
//!
//! The end of a string is looked up in a bit mask of 64 bytes, so that branches depend on no string's length:
//! strings share the mask of their block, and the processor seldom mispredicts.

use wide::u8x16;

const LOW: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;

/// Bytes in a block: one for each bit of a mask.
const BLOCK: usize = 64;

/// The masks of a block.
#[derive(Clone, Copy)]
struct Masks {
    /// A bit for each quote, backslash or control character, the first byte lowest.
    special: u64,
    /// Not 0 when a byte of the block is not ASCII.
    non_ascii: u64,
}

/// Finds the ends of strings; remembers the block it looked at last. The bytes are the same in
/// every call.
///
/// It is small and copied rather than pointed to, so that it can live in registers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Scanner {
    /// Where the block begins, a multiple of [`BLOCK`].
    block: usize,
    special: u64,
    /// The mask of the block after it: made before it is needed, so that nothing waits for it.
    ahead: u64,
    /// Not 0 when a scanned block holds a byte that is not ASCII.
    pub(crate) non_ascii: u64,
    /// Whether a string was found to hold an escape.
    pub(crate) escapes: bool,
}

impl Scanner {
    pub(crate) fn new(bytes: &[u8]) -> Self {
        let mut scanner = Self::default();
        scanner.special = scanner.read(bytes, 0);
        scanner.ahead = scanner.read(bytes, BLOCK);
        scanner
    }

    /// The mask of a block.
    #[inline(always)]
    fn read(&mut self, bytes: &[u8], block: usize) -> u64 {
        let masks = masks_at(bytes, block);
        self.non_ascii |= masks.non_ascii;
        masks.special
    }

    /// Offset of the first quote, backslash or control character from `at` on; the length of the
    /// bytes if there is none. `at` is at most that length.
    #[inline(always)]
    pub(crate) fn special(&mut self, bytes: &[u8], at: usize) -> usize {
        let mut at = at;
        loop {
            let block = at - at % BLOCK;
            if block != self.block {
                self.special = if block == self.block + BLOCK {
                    self.ahead
                } else {
                    self.read(bytes, block)
                };
                self.block = block;
                self.ahead = self.read(bytes, block + BLOCK);
            }
            let rest = self.special >> (at % BLOCK);
            if rest != 0 {
                return at + rest.trailing_zeros() as usize;
            }
            at = block + BLOCK;
        }
    }
}

#[inline(never)]
fn masks_at(bytes: &[u8], block: usize) -> Masks {
    match bytes.get(block..).and_then(|rest| rest.first_chunk()) {
        Some(bytes) => masks(bytes),
        None => last_masks(bytes, block),
    }
}

/// Bytes missing from the last block count as control characters, so that no string continues past the end.
#[cold]
#[inline(never)]
fn last_masks(bytes: &[u8], block: usize) -> Masks {
    let rest = bytes.get(block..).unwrap_or_default();
    let mut last = [0; BLOCK];
    last[..rest.len()].copy_from_slice(rest);
    masks(&last)
}

/// With explicit vectors: of plain loops, a build for size makes none.
#[inline(always)]
fn masks(bytes: &[u8; BLOCK]) -> Masks {
    const LAST_CONTROL: u8x16 = u8x16::splat(0x1f);
    const QUOTE: u8x16 = u8x16::splat(b'"');
    const BACKSLASH: u8x16 = u8x16::splat(b'\\');
    let mut masks = Masks {
        special: 0,
        non_ascii: 0,
    };
    for (index, lane) in bytes.as_chunks().0.iter().enumerate() {
        let lane = u8x16::new(*lane);
        let control = lane.min(LAST_CONTROL).simd_eq(lane);
        let special = control | lane.simd_eq(QUOTE) | lane.simd_eq(BACKSLASH);
        masks.special |= u64::from(special.to_bitmask()) << (16 * index);
        masks.non_ascii |= u64::from(lane.to_bitmask());
    }
    masks
}

/// The eight bytes at `at`, the first lowest; `None` where there are fewer.
#[inline(always)]
pub(crate) fn word(bytes: &[u8], at: usize) -> Option<u64> {
    let rest = bytes.get(at..)?;
    rest.first_chunk().copied().map(u64::from_le_bytes)
}

/// Offset of the first byte from `at` on that is not a digit.
#[inline(always)]
pub(crate) fn skip_digits(bytes: &[u8], mut at: usize) -> usize {
    // Most numbers are short, and many have one digit.
    if bytes.get(at).is_some_and(|byte| !byte.is_ascii_digit()) {
        return at;
    }
    while let Some(word) = word(bytes, at) {
        // A digit gives 0 to 9 here, and no more than 0x7f with 0x76 added. A carry can spoil only
        // bits above the lowest that is set.
        let digits = word ^ (LOW * u64::from(b'0'));
        let stop = (digits.wrapping_add(LOW * 0x76) | digits) & HIGH;
        if stop != 0 {
            return at + (stop.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    while bytes.get(at).is_some_and(u8::is_ascii_digit) {
        at += 1;
    }
    at
}

/// Offset of the first byte from `at` on that is not a blank.
#[inline(always)]
pub(crate) fn skip_blanks(bytes: &[u8], mut at: usize) -> usize {
    while matches!(bytes.get(at), Some(b' ' | b'\n' | b'\t' | b'\r')) {
        at += 1;
        // A single blank after a colon or a comma.
        if bytes.get(at).is_some_and(|&byte| byte > b' ') {
            break;
        }
        // Indentation: most blanks are spaces that follow each other.
        while let Some(word) = word(bytes, at) {
            let spaces = (word ^ (LOW * u64::from(b' '))).trailing_zeros() / 8;
            at += spaces as usize;
            if spaces < 8 {
                break;
            }
        }
    }
    at
}

/// Offset after the last byte before `at` that is not a blank.
#[inline]
pub(crate) fn skip_blanks_back(bytes: &[u8], mut at: usize) -> usize {
    while at > 0 && matches!(bytes[at - 1], b' ' | b'\n' | b'\t' | b'\r') {
        at -= 1;
    }
    at
}

/// Number of bytes before the first quote, backslash or control character.
#[inline]
pub(crate) fn plain_len(bytes: &[u8]) -> usize {
    let mut at = 0;
    while let Some(word) = word(bytes, at) {
        let quote = word ^ (LOW * u64::from(b'"'));
        let backslash = word ^ (LOW * u64::from(b'\\'));
        // The lowest set bit of each mask is exact; only bits above it may be wrong.
        let stop = (quote.wrapping_sub(LOW) & !quote)
            | (backslash.wrapping_sub(LOW) & !backslash)
            | (word.wrapping_sub(LOW * 0x20) & !word);
        let stop = stop & HIGH;
        if stop != 0 {
            return at + (stop.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    while bytes.get(at).is_some_and(|&byte| !is_special(byte)) {
        at += 1;
    }
    at
}

#[inline]
fn is_special(byte: u8) -> bool {
    byte == b'"' || byte == b'\\' || byte < 0x20
}

#[cfg(test)]
mod tests {
    use super::{BLOCK, Scanner, is_special, masks, plain_len, skip_blanks, skip_digits};
    use proptest::{collection::vec, prelude::*};

    /// Bytes in which every class of byte is frequent.
    fn bytes(len: impl Into<proptest::collection::SizeRange>) -> impl Strategy<Value = Vec<u8>> {
        let byte = prop_oneof![
            4 => any::<u8>(),
            4 => b'0'..=b'9',
            2 => Just(b' '),
            1 => proptest::sample::select(b"\"\\\n\t\r\x1f\x20\x21\x7f\x80\xff/:".as_slice()),
            8 => Just(b'a'),
        ];
        vec(byte, len)
    }

    fn first(bytes: &[u8], from: usize, stop: impl Fn(u8) -> bool) -> usize {
        let found = bytes[from..].iter().position(|&byte| stop(byte));
        found.map_or(bytes.len(), |n| from + n)
    }

    proptest! {
        #[test]
        fn masks_are_exact(bytes in bytes(BLOCK)) {
            let bytes: [u8; BLOCK] = bytes.try_into().unwrap();
            let masks = masks(&bytes);
            for (index, &byte) in bytes.iter().enumerate() {
                prop_assert_eq!(masks.special >> index & 1 == 1, is_special(byte));
            }
            prop_assert_eq!(masks.non_ascii != 0, !bytes.is_ascii());
        }

        #[test]
        fn scans_like_a_loop(bytes in bytes(0..300), from in any::<proptest::sample::Index>()) {
            let from = from.index(bytes.len() + 1);
            let blank = |byte| matches!(byte, b' ' | b'\n' | b'\t' | b'\r');
            let mut scanner = Scanner::new(&bytes);
            prop_assert_eq!(scanner.special(&bytes, from), first(&bytes, from, is_special));
            prop_assert_eq!(scanner.special(&bytes, 0), first(&bytes, 0, is_special));
            prop_assert_eq!(from + plain_len(&bytes[from..]), first(&bytes, from, is_special));
            let digits_end = first(&bytes, from, |byte| !byte.is_ascii_digit());
            prop_assert_eq!(skip_digits(&bytes, from), digits_end);
            prop_assert_eq!(skip_blanks(&bytes, from), first(&bytes, from, |byte| !blank(byte)));
        }

        #[test]
        fn runs_end_where_they_end(length in 0_usize..40, end in any::<u8>()) {
            for (byte, stops) in [(b'7', !end.is_ascii_digit()), (b' ', !matches!(end, b' ' | 9 | 10 | 13))] {
                let mut bytes = vec![byte; length];
                bytes.push(end);
                let skip = if byte == b' ' { skip_blanks } else { skip_digits };
                prop_assert_eq!(skip(&bytes, 0), if stops { length } else { length + 1 });
            }
        }
    }
}
