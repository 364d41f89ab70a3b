//! Proves that the keys of an object are distinct, by hashes or by earlier proofs. Different hashes prove
//! different keys, so correctness does not depend on a good hash; a bad one only costs time.
//!
//! Objects in a list mostly have one of a few shapes. [`Shapes`] remembers lists of keys that were
//! proven distinct, as a tree: a key that follows the keys before it as it did in some object before
//! is read by comparing bytes, without looking for its end and without hashing. [`DistinctKeys`] checks
//! lists of hashes, for objects of other shapes. Keys that ascend need neither.

use crate::{index::MAX_OPEN, scan};

/// Up to this many hashes are compared pair by pair.
const PAIRWISE: usize = 16;

/// Up to this many keys of an object are remembered as a shape: a new one is compared with each
/// before it.
const SHAPE: u8 = 32;

/// From this many keys on, ascending order is tried: very many keys are mostly in order, for example
/// numbered.
pub(crate) const TRY_ORDER: u8 = 16;

/// Up to this many hashes of a list are kept, to know them again.
const LIST: usize = 256;

/// The most keys that are remembered. A document of more shapes is read without.
const MOST_NODES: usize = 4096;

/// The most keys that are remembered after the same keys.
const MOST_CHILDREN: u8 = 8;

/// Longer keys are not remembered.
const MOST_BYTES: usize = 64;

/// The most steps of probing: keys crafted for one slot of the table get the slow check instead of slow
/// probing.
const PROBES: usize = 32;

/// An odd number without pattern; multiplying by it spreads bits upwards.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// A key of an open object.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct HashedKey {
    pub(crate) hash: u64,
    /// Offset of the first byte after the quote.
    pub(crate) start: u32,
    /// Offset of the closing quote.
    pub(crate) end: u32,
}

/// The number of a node; 0 for none.
pub(crate) type Node = u32;

/// A key after certain others.
#[derive(Clone, Copy, Debug, Default)]
struct KnownKey {
    /// The first eight bytes of the key with its quotes and a colon, shifted up so that following bytes drop
    /// out.
    first: u64,
    /// The last eight bytes, if there are more than eight.
    last: u64,
    /// Number of bytes with quotes and colon.
    len: u8,
    /// The shift of `first`.
    shift: u8,
    escaped: bool,
    /// Number of keys up to here.
    place: u8,
    children: u8,
    /// The key that was remembered last after this one.
    child: Node,
    /// Another one after the same keys.
    sibling: Node,
    /// The key before this one.
    parent: Node,
    key: HashedKey,
}

impl KnownKey {
    /// Whether this key is at `at`; returns the offset after its colon.
    #[inline(always)]
    fn behind(&self, bytes: &[u8], at: usize) -> Option<usize> {
        let len = usize::from(self.len);
        if scan::word(bytes, at)? << self.shift != self.first {
            return None;
        }
        if len > 8 && scan::word(bytes, at + len - 8)? != self.last {
            return None;
        }
        if len > 16 {
            let known = self.key.start as usize - 1;
            if bytes[at..at + len] != bytes[known..known + len] {
                return None;
            }
        }
        Some(at + len)
    }
}

/// Lists of distinct keys, as a tree for each depth.
#[derive(Debug)]
pub(crate) struct Shapes {
    nodes: Vec<KnownKey>,
    /// For each depth the node before all keys, once there is one.
    roots: [Node; MAX_OPEN],
}

impl Default for Shapes {
    fn default() -> Self {
        let mut nodes = Vec::with_capacity(32);
        nodes.push(KnownKey::default());
        Self {
            nodes,
            roots: [0; MAX_OPEN],
        }
    }
}

impl Shapes {
    /// Where an object begins.
    #[inline(always)]
    pub(crate) fn root(&mut self, depth: usize) -> Node {
        match self.roots[depth % MAX_OPEN] {
            0 => self.add_root(depth),
            root => root,
        }
    }

    #[cold]
    #[inline(never)]
    fn add_root(&mut self, depth: usize) -> Node {
        let root = self.nodes.len() as Node;
        self.nodes.push(KnownKey::default());
        self.roots[depth % MAX_OPEN] = root;
        root
    }

    /// The node of the key at `at`, if it is known after `node`, and the offset after its colon.
    #[inline(always)]
    pub(crate) fn step(&self, node: Node, bytes: &[u8], at: usize) -> Option<(Node, usize)> {
        let mut next = self.nodes[node as usize].child;
        while next != 0 {
            let known = &self.nodes[next as usize];
            if let Some(behind) = known.behind(bytes, at) {
                return Some((next, behind));
            }
            next = known.sibling;
        }
        None
    }

    #[inline(always)]
    pub(crate) fn is_escaped(&self, node: Node) -> bool {
        self.nodes[node as usize].escaped
    }

    /// Remembers a key that differs from those before it; `None` if it is not certain that it does,
    /// or if there is no room.
    #[inline(never)]
    pub(crate) fn add(
        &mut self,
        node: Node,
        bytes: &[u8],
        key: HashedKey,
        escaped: bool,
    ) -> Option<Node> {
        let before = self.nodes[node as usize];
        let (start, end) = (key.start as usize, key.end as usize);
        if before.place == SHAPE
            || before.children == MOST_CHILDREN
            || self.nodes.len() >= MOST_NODES
            || end - start > MOST_BYTES
            || bytes.get(end + 1) != Some(&b':')
            || self.before(node).any(|other| other.hash == key.hash)
        {
            return None;
        }
        let len = end + 3 - start;
        let shift = 64 - 8 * len.min(8);
        let new = self.nodes.len() as Node;
        self.nodes.push(KnownKey {
            first: scan::word(bytes, start - 1)? << shift,
            last: match len {
                ..=8 => 0,
                _ => scan::word(bytes, end + 2 - 8)?,
            },
            len: len as u8,
            shift: shift as u8,
            escaped,
            place: before.place + 1,
            children: 0,
            child: 0,
            sibling: before.child,
            parent: node,
            key,
        });
        let before = &mut self.nodes[node as usize];
        before.child = new;
        before.children += 1;
        Some(new)
    }

    /// Number of keys up to `node`.
    pub(crate) fn place(&self, node: Node) -> u8 {
        self.nodes[node as usize].place
    }

    /// The keys up to `node`, the last first.
    pub(crate) fn before(&self, node: Node) -> impl Iterator<Item = HashedKey> {
        let mut node = &self.nodes[node as usize];
        std::iter::from_fn(move || {
            let key = (node.place > 0).then_some(node.key)?;
            node = &self.nodes[node.parent as usize];
            Some(key)
        })
    }
}

/// Of very many keys this many are checked first: short keys that repeat mostly do so by then.
const BEGINNING: usize = 1024;

/// Checks lists of hashes.
#[derive(Default)]
pub(crate) struct DistinctKeys {
    /// For each depth the last long list that was found distinct.
    lists: Vec<Vec<u64>>,
    /// The hash table for long lists: parts of hashes, 0 for free places.
    table: Vec<u32>,
}

impl DistinctKeys {
    /// Whether all hashes of an object's keys differ; false may also mean "too hard to tell".
    #[inline(never)]
    pub(crate) fn check(&mut self, depth: usize, keys: &[HashedKey]) -> bool {
        if keys.len() > PAIRWISE {
            let beginning = keys.get(..BEGINNING).filter(|_| keys.len() > 8 * BEGINNING);
            return self.is_known(depth, keys)
                || beginning.is_none_or(|keys| self.fill_table(keys))
                    && self.check_long(depth, keys);
        }
        let mut rest = keys;
        while let Some((key, after)) = rest.split_first() {
            if after.iter().any(|other| other.hash == key.hash) {
                return false;
            }
            rest = after;
        }
        true
    }

    fn is_known(&self, depth: usize, keys: &[HashedKey]) -> bool {
        self.lists.get(depth).is_some_and(|list| {
            list.len() == keys.len() && list.iter().zip(keys).all(|(hash, key)| *hash == key.hash)
        })
    }

    fn check_long(&mut self, depth: usize, keys: &[HashedKey]) -> bool {
        if !self.fill_table(keys) {
            return false;
        }
        if keys.len() <= LIST {
            if self.lists.len() <= depth {
                self.lists.resize(depth + 1, Vec::new());
            }
            let list = &mut self.lists[depth];
            list.clear();
            list.extend(keys.iter().map(|key| key.hash));
        }
        true
    }

    /// Whether all hashes differ; false may also mean "too hard to tell".
    fn fill_table(&mut self, keys: &[HashedKey]) -> bool {
        let places = (keys.len() * 2).next_power_of_two();
        self.table.clear();
        self.table.resize(places, 0);
        let shift = 64 - places.trailing_zeros();
        for &HashedKey { hash, .. } in keys {
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
    // Bytes after the key are shifted out.
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
    use super::{DistinctKeys, HashedKey, SPREAD, hash};
    use proptest::{collection::vec, prelude::*};
    use std::collections::HashSet;

    fn hash_of(key: &str) -> u64 {
        hash(key.as_bytes(), 0, key.len())
    }

    /// Keys of no text, with these hashes.
    fn check(distinct: &mut DistinctKeys, hashes: &[u64]) -> bool {
        let key = |&hash: &u64| HashedKey {
            hash,
            start: 1,
            end: 1,
        };
        let keys: Vec<_> = hashes.iter().map(key).collect();
        distinct.check(1, &keys)
    }

    #[test]
    fn finds_one_repeated_hash_among_many() {
        for count in [2, 3, 12, 13, 16, 17, 100, 256, 257, 70_000] {
            let mut hashes: Vec<u64> = (0..count).map(|n: u64| hash_of(&n.to_string())).collect();
            let mut distinct = DistinctKeys::default();
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
        assert!(!check(&mut DistinctKeys::default(), &crowd));
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
