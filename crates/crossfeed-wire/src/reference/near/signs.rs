//! Looks at texts many bytes at a time for what an id can be told by.

use wide::u8x16;

/// Bytes in a vector.
pub(super) const LANE: usize = 16;
/// Bytes in a block: one for each bit of a mask.
const BLOCK: usize = 64;

/// Where a digit, `_`, `-`, `{` or `$` stands, or `[`, which takes no instruction of its own.
#[inline]
pub(super) fn signs_in(lane: &[u8; LANE]) -> u8x16 {
    let lane = u8x16::new(*lane);
    let is = |sign: u8| lane.simd_eq(u8x16::splat(sign));
    // `_`, `{` and `[` differ in these two bits.
    let bracket = (lane & u8x16::splat(!0x24)).simd_eq(u8x16::splat(b'['));
    within(lane, b'0', 10) | bracket | is(b'-') | is(b'$')
}

/// Whether a sign stands anywhere.
#[inline]
pub(super) fn any_sign(signs: u8x16) -> bool {
    signs.to_bitmask() != 0
}

/// Where one of `len` bytes from `first` on stands.
#[inline]
fn within(lane: u8x16, first: u8, len: u8) -> u8x16 {
    let from_first = lane - u8x16::splat(first);
    from_first.min(u8x16::splat(len - 1)).simd_eq(from_first)
}

/// What stands in a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Signs {
    /// `{` or `$`.
    pub(super) has_brace: bool,
    /// `<`.
    pub(super) has_angle: bool,
    /// A word with a digit and a letter, or with `_` or `-`, as ids have it.
    pub(super) has_word: bool,
    /// Such a word before `.`, `[` or `]`, or one that begins with `_`.
    pub(super) has_path: bool,
}

impl Signs {
    /// The signs of a text; those from the first brace on may be missing.
    #[inline]
    pub(super) fn new(text: &[u8]) -> Self {
        let mut signs = Self::default();
        let mut open = Open::default();
        let (blocks, rest) = text.as_chunks::<BLOCK>();
        for block in blocks {
            signs.add(Masks::new(block.as_chunks().0), &mut open);
            if signs.has_brace {
                return signs;
            }
        }
        let (lanes, last) = rest.as_chunks::<LANE>();
        let mut masks = Masks::new(lanes);
        match text.last_chunk() {
            // Without what was looked at.
            Some(lane) => masks.add(lanes.len(), lane, LANE - last.len()),
            // Missing bytes are 0, which ends a word.
            None => masks.add(lanes.len(), &padded(last), 0),
        }
        signs.add(masks, &mut open);
        signs
    }

    #[inline]
    fn add(&mut self, of: Masks, open: &mut Open) {
        let word = of.digit | of.letter | of.joint;
        let digits = open.digit.ends(of.digit, word);
        let letters = open.letter.ends(of.letter, word);
        let ends = digits & letters | open.joint.ends(of.joint, word);
        let begins = word & !(word << 1 | u64::from(open.is_word));
        open.is_word = word >> (BLOCK - 1) == 1;
        self.has_brace |= of.brace != 0;
        self.has_angle |= of.angle != 0;
        self.has_word |= ends != 0;
        self.has_path |= (ends & of.behind) | (begins & of.low_line) != 0;
    }
}

/// The word that a block ends within.
#[derive(Default)]
struct Open {
    is_word: bool,
    digit: Carry,
    letter: Carry,
    joint: Carry,
}

/// Whether a word that is not at its end yet has a byte of a kind.
#[derive(Default)]
struct Carry(bool);

impl Carry {
    /// The places just behind words that have a byte of a kind: added to its word, it is carried there.
    #[inline]
    fn ends(&mut self, kind: u64, word: u64) -> u64 {
        let (sum, is_open) = word.overflowing_add(kind);
        let (sum, is_carried) = sum.overflowing_add(u64::from(self.0));
        self.0 = is_open | is_carried;
        sum & !word
    }
}

/// A bit for each byte of a block, the first lowest.
#[derive(Default)]
struct Masks {
    digit: u64,
    letter: u64,
    /// `_` and `-`.
    joint: u64,
    low_line: u64,
    brace: u64,
    angle: u64,
    /// What may follow the id in a path or a link.
    behind: u64,
}

impl Masks {
    #[inline]
    fn new(lanes: &[[u8; LANE]]) -> Self {
        let mut masks = Self::default();
        for (index, lane) in lanes.iter().enumerate() {
            masks.add(index, lane, 0);
        }
        masks
    }

    #[inline]
    fn add(&mut self, index: usize, lane: &[u8; LANE], skipped: usize) {
        let lane = u8x16::new(*lane);
        let bits = |found: u8x16| u64::from(found.to_bitmask()) >> skipped << (LANE * index);
        let is = |sign: u8| lane.simd_eq(u8x16::splat(sign));
        self.digit |= bits(within(lane, b'0', 10));
        self.letter |= bits(within(lane | u8x16::splat(0x20), b'a', 26));
        let low_line = is(b'_');
        self.low_line |= bits(low_line);
        self.joint |= bits(low_line | is(b'-'));
        self.brace |= bits(is(b'{') | is(b'$'));
        self.angle |= bits(is(b'<'));
        self.behind |= bits(is(b'.') | is(b'[') | is(b']'));
    }
}

/// The last bytes of a text, fewer than a lane.
#[inline]
fn padded(last: &[u8]) -> [u8; LANE] {
    let mut lane = [0; LANE];
    lane[..last.len()].copy_from_slice(last);
    lane
}

#[cfg(test)]
mod tests {
    use super::Signs;
    use proptest::prelude::*;

    /// The same, word by word.
    fn plain(text: &str) -> Signs {
        let is_joint = |byte: u8| matches!(byte, b'_' | b'-');
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || is_joint(byte);
        let mut signs = Signs {
            has_brace: text.contains(['{', '$']),
            has_angle: text.contains('<'),
            ..Signs::default()
        };
        let bytes = text.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            let len = bytes[at..]
                .iter()
                .take_while(|byte| is_word(**byte))
                .count();
            let word = &bytes[at..at + len];
            let has = |is: fn(&u8) -> bool| word.iter().any(is);
            let is_sign = has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic)
                || word.iter().any(|byte| is_joint(*byte));
            let behind = bytes.get(at + len);
            signs.has_word |= is_sign;
            signs.has_path |= word.first() == Some(&b'_')
                || is_sign && matches!(behind, Some(b'.' | b'[' | b']'));
            at += len.max(1);
        }
        signs
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4096))]

        #[test]
        fn signs_are_those_of_words(
            text in prop::collection::vec("[a-z]{1,40}|[0-9]{1,30}|[-_.<\\[\\] é\0/]|[ -z]{0,8}|\\{", 0..24),
        ) {
            let text = text.concat();
            let (found, meant) = (Signs::new(text.as_bytes()), plain(&text));
            if meant.has_brace {
                prop_assert!(found.has_brace);
            } else {
                prop_assert_eq!(found, meant);
            }
        }
    }
}
