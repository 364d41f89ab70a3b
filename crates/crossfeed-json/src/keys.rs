//! Are the keys of an object distinct? Answered from hashes, or from what was proven before.
//!
//! What comes in: the keys, in order. What goes out: "certainly distinct", or "look at the keys".
//! Different hashes prove different keys, so the answer never rests on a hash being good; a bad one
//! only costs time. That also makes a known list of keys proof for every object that repeats it or
//! its beginning: objects in a list mostly have one shape, and a key that is where it was in the
//! object before is read by comparing bytes, without looking for its end or hashing it.

use crate::scan;

/// Up to this many hashes are compared pair by pair.
const PAIRWISE: usize = 16;

/// Up to this many keys are kept as a shape.
const SHAPE: usize = 256;

/// A key may be this far from its place in the table; someone who makes keys for one place gets
/// the slow answer instead of slow probing.
const PROBES: usize = 32;

/// An odd number without pattern; multiplying by it spreads bits upwards.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// A key of an open object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Listed {
    pub(crate) hash: u64,
    /// Offset of the first byte behind the quote.
    pub(crate) start: u32,
    /// Offset of the closing quote.
    pub(crate) end: u32,
}

/// A key of a shape with its quotes and the colon behind them, as bytes to compare with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Expected {
    listed: Listed,
    /// The first eight bytes at most, moved up so that what follows them is no part of it.
    first: u64,
    shift: u8,
    /// Number of bytes; 0 if they are not compared.
    len: u8,
    /// The last eight bytes, if there are more than eight.
    last: u64,
}

impl Expected {
    fn new(bytes: &[u8], listed: Listed) -> Self {
        let none = Self {
            listed,
            first: 0,
            shift: 0,
            len: 0,
            last: 0,
        };
        let (start, end) = (listed.start as usize, listed.end as usize);
        // An escape is written as it is compared, but its key must be listed.
        if end - start > MOST_EXPECTED
            || bytes.get(end + 1) != Some(&b':')
            || bytes[start..end].contains(&b'\\')
        {
            return none;
        }
        let len = end + 3 - start;
        let (Some(first), Some(last)) = (
            scan::word(bytes, start - 1),
            scan::word(bytes, (end + 2).saturating_sub(8)),
        ) else {
            return none;
        };
        let shift = 64 - 8 * len.min(8);
        Self {
            listed,
            first: first << shift,
            shift: shift as u8,
            len: len as u8,
            last,
        }
    }

    /// Whether these bytes stand at `at`; gives the offset behind them.
    #[inline(always)]
    fn behind(&self, bytes: &[u8], at: usize) -> Option<usize> {
        let len = usize::from(self.len);
        let same = match len {
            0 => false,
            1..=8 => scan::word(bytes, at)? << self.shift == self.first,
            9..=16 => {
                scan::word(bytes, at)? == self.first
                    && scan::word(bytes, at + len - 8)? == self.last
            }
            _ => {
                let known = self.listed.start as usize - 1;
                scan::word(bytes, at)? == self.first
                    && bytes.get(at..at + len)? == &bytes[known..known + len]
            }
        };
        same.then_some(at + len)
    }
}

/// Longer keys are not compared with those before them.
const MOST_EXPECTED: usize = 64;

/// Checks lists of keys.
#[derive(Default)]
pub(crate) struct Distinct {
    /// For each depth the last list that was found distinct.
    shapes: Vec<Vec<Expected>>,
    /// The hash table for long lists: parts of hashes, 0 for free places.
    table: Vec<u32>,
}

impl Distinct {
    /// Whether the key at place `n` of the known list for `depth` stands at `at` with its quotes and
    /// a colon; gives the offset behind them.
    #[inline(always)]
    pub(crate) fn expected(
        &self,
        depth: usize,
        n: usize,
        bytes: &[u8],
        at: usize,
    ) -> Option<usize> {
        self.shapes.get(depth)?.get(n)?.behind(bytes, at)
    }

    /// The first `count` keys of the known list for `depth`.
    pub(crate) fn known(&self, depth: usize, count: usize) -> impl Iterator<Item = Listed> {
        let shape = self.shapes.get(depth).map_or(&[][..], Vec::as_slice);
        shape.iter().take(count).map(|expected| expected.listed)
    }

    /// Whether all hashes of an object's keys differ; false may also mean "too hard to tell".
    #[inline]
    pub(crate) fn check(&mut self, depth: usize, bytes: &[u8], keys: &[Listed]) -> bool {
        self.is_known(depth, keys) || self.check_new(depth, bytes, keys)
    }

    fn is_known(&self, depth: usize, keys: &[Listed]) -> bool {
        let shape = self.shapes.get(depth);
        shape.is_some_and(|shape| {
            shape.len() == keys.len()
                && shape.iter().zip(keys).all(|(a, b)| a.listed.hash == b.hash)
        })
    }

    #[inline(never)]
    fn check_new(&mut self, depth: usize, bytes: &[u8], keys: &[Listed]) -> bool {
        let distinct = if keys.len() <= PAIRWISE {
            let mut rest = keys;
            loop {
                let Some((key, after)) = rest.split_first() else {
                    break true;
                };
                if after.iter().any(|other| other.hash == key.hash) {
                    break false;
                }
                rest = after;
            }
        } else {
            self.check_long(keys)
        };
        if distinct && keys.len() <= SHAPE {
            if self.shapes.len() <= depth {
                self.shapes.resize(depth + 1, Vec::new());
            }
            let shape = &mut self.shapes[depth];
            shape.clear();
            shape.extend(keys.iter().map(|&key| Expected::new(bytes, key)));
        }
        distinct
    }

    fn check_long(&mut self, keys: &[Listed]) -> bool {
        let places = (keys.len() * 2).next_power_of_two();
        self.table.clear();
        self.table.resize(places, 0);
        let shift = 64 - places.trailing_zeros();
        for &Listed { hash, .. } in keys {
            let mark = (hash as u32).max(1);
            let place = (hash.wrapping_mul(SPREAD) >> shift) as usize;
            let found = (place..place + PROBES)
                .map(|place| place & (places - 1))
                .find(|&place| self.table[place] == 0 || self.table[place] == mark);
            match found {
                Some(place) if self.table[place] == 0 => self.table[place] = mark,
                _ => return false,
            }
        }
        true
    }
}

/// The hash of the key `bytes[start..end]`.
#[inline(always)]
pub(crate) fn hash(bytes: &[u8], start: usize, end: usize) -> u64 {
    let key = &bytes[start..end];
    let len = key.len() as u64;
    if let (Some(first), Some(last)) = (key.first_chunk(), key.last_chunk()) {
        // No branch on the length up to 24, which few keys exceed: bytes are read twice instead.
        let middle = key[(key.len() - 8).min(8)..].first_chunk();
        let middle = middle.map_or(0, |word| u64::from_le_bytes(*word));
        let last = u64::from_le_bytes(*last);
        let first = u64::from_le_bytes(*first).wrapping_add(middle.wrapping_mul(SPREAD));
        let mut hash = mix(first ^ len, last);
        let mut rest = key.get(16..).unwrap_or_default();
        while rest.len() > 8
            && let Some((word, after)) = rest.split_first_chunk()
        {
            hash = mix(hash ^ u64::from_le_bytes(*word), last);
            rest = after;
        }
        return hash;
    }
    if key.is_empty() {
        return 0;
    }
    // What stands behind the key is shifted out.
    let word = scan::word(bytes, start).unwrap_or_else(|| short_word(key));
    mix((word << (64 - 8 * len)) ^ len, 0)
}

/// At the end of the document there are no eight bytes to read.
#[cold]
fn short_word(key: &[u8]) -> u64 {
    key.iter()
        .rev()
        .fold(0, |word, &byte| word << 8 | u64::from(byte))
}

/// Multiplies to 128 bits and folds them, which spreads every bit over all others.
#[inline(always)]
fn mix(a: u64, b: u64) -> u64 {
    const B: u64 = 0xd1b5_4a32_d192_ed03;
    let product = u128::from(a ^ SPREAD) * u128::from(b ^ B);
    (product >> 64) as u64 ^ product as u64
}

#[cfg(test)]
mod tests {
    use super::{Distinct, Listed, SPREAD, hash};
    use proptest::{collection::vec, prelude::*};
    use std::collections::HashSet;

    fn hash_of(key: &str) -> u64 {
        hash(key.as_bytes(), 0, key.len())
    }

    /// Keys of no text, with these hashes.
    fn check(distinct: &mut Distinct, hashes: &[u64]) -> bool {
        let key = |&hash: &u64| Listed {
            hash,
            start: 1,
            end: 1,
        };
        let keys: Vec<_> = hashes.iter().map(key).collect();
        distinct.check(1, b"\"\"", &keys)
    }

    #[test]
    fn finds_one_repeated_hash_among_many() {
        for count in [2, 3, 12, 13, 16, 17, 100, 256, 257, 70_000] {
            let mut hashes: Vec<u64> = (0..count).map(|n: u64| hash_of(&n.to_string())).collect();
            let mut distinct = Distinct::default();
            assert!(check(&mut distinct, &hashes), "{count}");
            let last = hashes.len() - 1;
            for (from, to) in [(0, last), (last, 0), (last / 2, last), (0, 1)] {
                let kept = hashes[to];
                hashes[to] = hashes[from];
                assert_eq!(
                    check(&mut distinct, &hashes),
                    from == to,
                    "{count} {from} {to}"
                );
                hashes[to] = kept;
            }
            assert!(check(&mut distinct, &hashes), "{count}");
        }
    }

    #[test]
    fn gives_up_on_hashes_made_for_one_place() {
        // The inverse of the spreading: all of them belong to the first places.
        let inverse = (0..6).fold(1_u64, |x, _| {
            x.wrapping_mul(2_u64.wrapping_sub(SPREAD.wrapping_mul(x)))
        });
        let crowd: Vec<u64> = (1..1000).map(|n: u64| inverse.wrapping_mul(n)).collect();
        assert!(!check(&mut Distinct::default(), &crowd));
    }

    #[test]
    fn ordinary_keys_hash_apart() {
        let keys: Vec<String> = (0..200_000)
            .flat_map(|n| {
                [
                    n.to_string(),
                    format!("key_{n}"),
                    format!("a_rather_long_key_{n}_"),
                ]
            })
            .collect();
        let hashes: HashSet<u64> = keys.iter().map(|key| hash_of(key)).collect();
        assert_eq!(hashes.len(), keys.len());
    }

    proptest! {
        #[test]
        fn a_hash_depends_on_the_key_alone(
            key in vec(any::<u8>(), 0..40),
            before in vec(any::<u8>(), 0..9),
            after in vec(any::<u8>(), 0..17),
        ) {
            let bytes = [before.as_slice(), &key, &after].concat();
            let within = hash(&bytes, before.len(), before.len() + key.len());
            prop_assert_eq!(within, hash(&key, 0, key.len()));
        }
    }
}
