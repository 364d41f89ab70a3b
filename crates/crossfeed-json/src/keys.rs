//! Are the keys of an object distinct? Answered from hashes, without looking at the keys again.
//!
//! What comes in: one hash for each key, in order. What goes out: "certainly distinct", or "look
//! at the keys". Different hashes prove different keys, so the answer never rests on a hash being
//! good; a bad one only costs time. That also makes a known list of hashes proof for every object
//! that repeats it: objects in a list mostly have one shape, and checking another of them is one
//! comparison of slices.

use crate::scan;

/// Up to this many hashes are compared pair by pair.
const PAIRWISE: usize = 16;

/// Up to this many hashes are kept as a shape.
const SHAPE: usize = 256;

/// A key may be this far from its place in the table; someone who makes keys for one place gets
/// the slow answer instead of slow probing.
const PROBES: usize = 32;

/// An odd number without pattern; multiplying by it spreads bits upwards.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// Checks lists of hashes.
#[derive(Default)]
pub(crate) struct Distinct {
    /// For each depth the last list that was found distinct.
    shapes: Vec<Vec<u64>>,
    /// The hash table for long lists: parts of hashes, 0 for free places.
    table: Vec<u32>,
}

impl Distinct {
    /// Whether all hashes of an object's keys differ; false may also mean "too hard to tell".
    #[inline]
    pub(crate) fn check(&mut self, depth: usize, hashes: &[u64]) -> bool {
        match hashes {
            [] | [_] => true,
            [a, b] => a != b,
            _ => {
                self.shapes.get(depth).is_some_and(|shape| shape == hashes)
                    || self.check_new(depth, hashes)
            }
        }
    }

    #[inline(never)]
    fn check_new(&mut self, depth: usize, hashes: &[u64]) -> bool {
        let distinct = if hashes.len() <= PAIRWISE {
            let mut rest = hashes;
            loop {
                let Some((hash, after)) = rest.split_first() else {
                    break true;
                };
                if after.contains(hash) {
                    break false;
                }
                rest = after;
            }
        } else {
            self.check_long(hashes)
        };
        if distinct && hashes.len() <= SHAPE {
            if self.shapes.len() <= depth {
                self.shapes.resize(depth + 1, Vec::new());
            }
            self.shapes[depth].clear();
            self.shapes[depth].extend_from_slice(hashes);
        }
        distinct
    }

    fn check_long(&mut self, hashes: &[u64]) -> bool {
        let places = (hashes.len() * 2).next_power_of_two();
        self.table.clear();
        self.table.resize(places, 0);
        let shift = 64 - places.trailing_zeros();
        for &hash in hashes {
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
    use super::{Distinct, SPREAD, hash};
    use proptest::{collection::vec, prelude::*};
    use std::collections::HashSet;

    fn hash_of(key: &str) -> u64 {
        hash(key.as_bytes(), 0, key.len())
    }

    #[test]
    fn finds_one_repeated_hash_among_many() {
        for count in [2, 3, 12, 13, 16, 17, 100, 256, 257, 70_000] {
            let mut hashes: Vec<u64> = (0..count).map(|n: u64| hash_of(&n.to_string())).collect();
            let mut distinct = Distinct::default();
            assert!(distinct.check(1, &hashes), "{count}");
            let last = hashes.len() - 1;
            for (from, to) in [(0, last), (last, 0), (last / 2, last), (0, 1)] {
                let kept = hashes[to];
                hashes[to] = hashes[from];
                assert_eq!(
                    distinct.check(1, &hashes),
                    from == to,
                    "{count} {from} {to}"
                );
                hashes[to] = kept;
            }
            assert!(distinct.check(1, &hashes), "{count}");
        }
    }

    #[test]
    fn gives_up_on_hashes_made_for_one_place() {
        // The inverse of the spreading: all of them belong to the first places.
        let inverse = (0..6).fold(1_u64, |x, _| {
            x.wrapping_mul(2_u64.wrapping_sub(SPREAD.wrapping_mul(x)))
        });
        let crowd: Vec<u64> = (1..1000).map(|n: u64| inverse.wrapping_mul(n)).collect();
        assert!(!Distinct::default().check(0, &crowd));
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
