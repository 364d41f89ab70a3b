//! The members of a wide object by the hashes of their keys.

use super::{ENTRY, Tables, read, write};
use crate::cursor::{Cursor, Kind};
use std::{
    hash::{BuildHasher, RandomState},
    sync::Arc,
};

/// Members on average that share a bucket.
const PER_BUCKET: usize = 4;

/// The slots of all members, bucket by bucket.
#[derive(Debug)]
pub(super) struct Members {
    /// Seeded at random: nobody can make keys for one bucket.
    state: RandomState,
    /// Where each bucket begins in `slots`, and where the last one ends.
    begins: Box<[u32]>,
    slots: Box<[u32]>,
    /// Some bits of each member's hash, so that few other keys are looked at.
    marks: Box<[u8]>,
}

impl Members {
    fn of(object: Cursor<'_>) -> Self {
        let state = RandomState::new();
        let hashes: Vec<(u64, u32)> = object
            .items()
            .map(|member| (state.hash_one(&*member.key().bytes()), member.ordinal()))
            .collect();
        let count = hashes.len() / PER_BUCKET + 1;
        let mut begins = vec![0_u32; count + 1];
        for (hash, _) in &hashes {
            begins[bucket(*hash, count) + 1] += 1;
        }
        for at in 1..begins.len() {
            begins[at] += begins[at - 1];
        }
        let mut free = begins.clone();
        let mut slots = vec![0; hashes.len()];
        let mut marks = vec![0; hashes.len()];
        for (hash, slot) in hashes {
            let place = &mut free[bucket(hash, count)];
            slots[*place as usize] = slot;
            marks[*place as usize] = hash as u8;
            *place += 1;
        }
        Self {
            state,
            begins: begins.into(),
            slots: slots.into(),
            marks: marks.into(),
        }
    }

    fn resident_bytes(&self) -> usize {
        size_of_val(&*self.begins) + size_of_val(&*self.slots) + self.marks.len() + ENTRY
    }

    fn find<'a>(&self, object: Cursor<'a>, key: &str) -> Option<Cursor<'a>> {
        let hash = self.state.hash_one(key.as_bytes());
        let bucket = bucket(hash, self.begins.len() - 1);
        let range = self.begins[bucket] as usize..self.begins[bucket + 1] as usize;
        range
            .filter(|&at| self.marks[at] == hash as u8)
            .map(|at| object.with(self.slots[at]))
            .find(|member| member.has_key(key))
    }
}

/// The bucket of a hash, by its upper half.
fn bucket(hash: u64, count: usize) -> usize {
    ((hash >> 32) as usize * count) >> 32
}

/// Members from which on an object is wide.
const WIDE: usize = 256;

impl<'a> Cursor<'a> {
    /// Whether the value is an object of so many members that a look-up by a table pays.
    #[inline]
    #[must_use]
    pub fn is_wide(self) -> bool {
        self.kind() == Kind::Object && self.len().is_some_and(|len| len >= WIDE)
    }

    /// The member `key` of an object by a table of its keys, which is built at the second call;
    /// the outer `None` says that there is no table yet, and nothing of the member.
    ///
    /// ```
    /// use crossfeed_json::{Document, Tables};
    ///
    /// let document = Document::new(r#"{"a": 1, "b": 2}"#);
    /// let root = document.root()?;
    /// assert!(root.get_in_table("b", Tables::WherePaying).is_none());
    /// let found = root.get_in_table("b", Tables::WherePaying).flatten();
    /// assert_eq!(found.map(|member| member.raw()), Some(&b"2"[..]));
    /// # Ok::<(), crossfeed_json::JsonError>(())
    /// ```
    #[must_use]
    pub fn get_in_table(self, key: &str, tables: Tables) -> Option<Option<Self>> {
        if self.kind() != Kind::Object || tables == Tables::Never {
            return None;
        }
        let built = &self.tape.built;
        let known = read(&built.keys).get(&self.ordinal()).cloned();
        let members = match known {
            Some(Some(members)) => members,
            None if tables != Tables::Always => {
                write(&built.keys).entry(self.ordinal()).or_default();
                return None;
            }
            Some(None) | None => {
                let members = Arc::new(Members::of(self));
                let mut keys = write(&built.keys);
                let known = keys.entry(self.ordinal()).or_default();
                if known.is_none() {
                    built.add(members.resident_bytes());
                }
                Arc::clone(known.get_or_insert(members))
            }
        };
        Some(members.find(self, key))
    }
}
