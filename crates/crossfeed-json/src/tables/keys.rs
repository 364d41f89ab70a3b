//! The members of a wide object by the hashes of their keys.

use super::{Pace, Tables};
use crate::cursor::{Cursor, Kind};
use std::hash::{BuildHasher, RandomState};

/// Members on average that share a bucket.
const PER_BUCKET: usize = 4;

/// The slots of all members, bucket by bucket.
#[derive(Debug)]
pub(super) struct Members {
    /// Seeded at random, so that keys cannot be made for one bucket.
    state: RandomState,
    /// Where each bucket begins in `slots`, and where the last one ends.
    begins: Box<[u32]>,
    slots: Box<[u32]>,
    /// Some bits of each member's hash, so that few other keys are read.
    marks: Box<[u8]>,
}

impl Members {
    /// `None` if building it is stopped.
    fn build(object: Cursor<'_>, go_on: impl FnMut() -> bool) -> Option<Self> {
        let mut pace = Pace::new(go_on);
        let state = RandomState::new();
        let len = object.len().unwrap_or_default();
        let count = len / PER_BUCKET + 1;
        let mut begins = vec![0_u32; count + 1];
        let mut hashes = Vec::with_capacity(len);
        for member in object.items() {
            let key = member.key();
            if !pace.go_on(member.key_work() + key.raw().len() / HASHED) {
                return None;
            }
            let hash = short_hash(&state, &key.bytes());
            begins[bucket(hash, count) + 1] += 1;
            hashes.push((hash, member.ordinal()));
        }
        for at in 1..begins.len() {
            begins[at] += begins[at - 1];
        }
        let mut free = begins.clone();
        let mut slots = vec![0; hashes.len()];
        let mut marks = vec![0; hashes.len()];
        for (hash, slot) in hashes {
            if !pace.go_on(1) {
                return None;
            }
            let place = &mut free[bucket(hash, count)];
            slots[*place as usize] = slot;
            marks[*place as usize] = hash as u8;
            *place += 1;
        }
        Some(Self {
            state,
            begins: begins.into(),
            slots: slots.into(),
            marks: marks.into(),
        })
    }

    fn resident_bytes(&self) -> usize {
        size_of_val(&*self.begins) + size_of_val(&*self.slots) + self.marks.len()
    }

    fn find<'a>(&self, object: Cursor<'a>, key: &str) -> Option<Cursor<'a>> {
        let hash = short_hash(&self.state, key.as_bytes());
        let bucket = bucket(hash, self.begins.len() - 1);
        let range = self.begins[bucket] as usize..self.begins[bucket + 1] as usize;
        range
            .filter(|&at| self.marks[at] == hash as u8)
            .map(|at| object.with(self.slots[at]))
            .find(|member| member.has_key(key))
    }
}

/// Half of a hash: its upper bits tell the bucket, its lower ones the mark.
fn short_hash(state: &RandomState, key: &[u8]) -> u32 {
    (state.hash_one(key) >> 32) as u32
}

/// The bucket of a hash, by its upper bits.
fn bucket(hash: u32, count: usize) -> usize {
    ((u64::from(hash) * count as u64) >> 32) as usize
}

/// Members from which on an object is wide.
const WIDE: usize = 256;

/// Members beyond which a table would take too long to build, and too much memory.
const WIDEST: usize = 1 << 22;

/// Bytes of a key that are hashed in the time of a look at a short one.
const HASHED: usize = 16;

impl<'a> Cursor<'a> {
    /// Whether the value is an object with enough members for a table to pay.
    #[inline]
    pub fn is_wide(self) -> bool {
        self.kind() == Kind::Object && self.len().is_some_and(|len| len >= WIDE)
    }

    /// The member `key` of an object by a table of its keys, which is built at the second call; the outer
    /// `None` says that there is no table (yet), and nothing of the member. Building calls `go_on` now and
    /// then: if that returns false, there is no table from then on.
    ///
    /// ```
    /// use crossfeed_json::{Document, Tables};
    ///
    /// let document = Document::new(r#"{"a": 1, "b": 2}"#);
    /// let root = document.root()?;
    /// assert!(root.get_in_table("b", Tables::WherePaying, || true).is_none());
    /// let found = root.get_in_table("b", Tables::WherePaying, || true).flatten();
    /// assert_eq!(found.map(|member| member.raw()), Some(&b"2"[..]));
    /// # Ok::<(), crossfeed_json::JsonError>(())
    /// ```
    pub fn get_in_table(
        self,
        key: &str,
        tables: Tables,
        go_on: impl FnMut() -> bool,
    ) -> Option<Option<Self>> {
        let len = self.len().unwrap_or_default();
        if self.kind() != Kind::Object || tables == Tables::Never || len > WIDEST {
            return None;
        }
        let built = &self.tape.built;
        let (members, known) = built.place(&built.keys, self.ordinal());
        if !known && tables != Tables::Always {
            return None;
        }
        let members = members.get_or_make(|| {
            let members = Members::build(self, go_on)?;
            built.add(members.resident_bytes());
            Some(members)
        })?;
        Some(members.find(self, key))
    }
}
