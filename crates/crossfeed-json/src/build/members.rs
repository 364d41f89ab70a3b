//! The members of objects: reads keys, and proves that they are distinct.
//!
//! [`crate::keys`] describes how keys are proven distinct; this module chooses the method for an object. It begins in
//! the tree of known shapes, and leaves it at a key that is unknown and cannot be added. Then keys are either in
//! ascending order, each greater than the last, or listed and checked when the object ends.

use super::{ASCENDING, Builder, Frame, LISTED, SAMPLE, grow, offset};
use crate::{
    document::{JsonError, JsonErrorKind},
    index::{ListedKey, MAX_OPEN, NEAR, UniqueMembers},
    keys::{self, HashedKey, Node},
    lex::{Text, fail},
    scan::Scanner,
    string,
    word::Word,
};

impl Builder {
    /// Reads `"key" :` where `byte` at `at` is the first; returns the first byte of the value, its
    /// offset and what its word tells of the key.
    #[inline(always)]
    pub(super) fn member(
        &mut self,
        text: Text<'_>,
        scanner: &mut Scanner,
        frame: &mut Frame,
        byte: u8,
        at: usize,
    ) -> Result<(u8, usize, u64), JsonError> {
        let start = at + 1;
        if frame.node < ASCENDING
            && let Some((node, behind)) = self.shapes.step(frame.node, text.0, at)
        {
            frame.node = node;
            let (byte, at) = text.token(behind)?;
            let bits = if self.shapes.is_escaped(node) || at - start > NEAR {
                self.list_key(start, behind - 2)
            } else {
                0
            };
            return Ok((byte, at, bits));
        }
        if byte != b'"' {
            return fail(JsonErrorKind::Syntax, at);
        }
        let (behind, escaped) = text.string(scanner, start)?;
        let end = behind - 1;
        self.check_key(frame, start, end, escaped);
        let (colon, at) = text.token(behind)?;
        if colon != b':' {
            return fail(JsonErrorKind::Syntax, at);
        }
        let (byte, at) = text.token(at + 1)?;
        let bits = if escaped || at - start > NEAR {
            self.list_key(start, end)
        } else {
            0
        };
        Ok((byte, at, bits))
    }

    /// Records the key, to check later that it differs from the object's others.
    #[inline(always)]
    fn check_key(&mut self, frame: &mut Frame, start: usize, end: usize, escaped: bool) {
        if frame.node == ASCENDING {
            if !escaped && let Some(last) = self.keys.last_mut() {
                let raw = &self.tape.raw;
                if raw[last.start as usize..last.end as usize] < raw[start..end] {
                    last.start = offset(start);
                    last.end = offset(end);
                    return;
                }
            }
            self.list_all(frame);
        }
        let key = self.hashed(start, end, escaped);
        if frame.node == LISTED {
            if self.keys.len() == self.keys.capacity() && self.keys.len() >= SAMPLE {
                grow(&mut self.keys, start, self.tape.raw.len());
            }
            self.keys.push(key);
        } else {
            self.new_key(frame, key, escaped);
        }
    }

    #[inline(always)]
    fn hashed(&self, start: usize, end: usize, escaped: bool) -> HashedKey {
        let raw: &[u8] = &self.tape.raw;
        HashedKey {
            hash: if escaped {
                let key = string::decode_key(&raw[start..end], true);
                keys::hash(&key, 0, key.len())
            } else {
                keys::hash(raw, start, end)
            },
            start: offset(start),
            end: offset(end),
        }
    }

    /// A key that does not follow known ones.
    #[inline(never)]
    fn new_key(&mut self, frame: &mut Frame, key: HashedKey, escaped: bool) {
        let raw = self.tape.raw.clone();
        let before = self.keys.len();
        if self.shapes.place(frame.node) == keys::TRY_ORDER {
            self.list_known(frame.node, key);
            let keys = &self.keys[before..];
            let text = |key: &HashedKey| &raw[key.start as usize..key.end as usize];
            let is_plain = |key: &HashedKey| !text(key).contains(&b'\\');
            let ascend = keys.is_sorted_by(|a, b| text(a) < text(b)) && keys.iter().all(is_plain);
            self.keys.truncate(before);
            if ascend {
                self.keys.push(key);
                self.outer_keys.push(offset(before));
                frame.node = ASCENDING;
                return;
            }
        }
        if let Some(node) = self.shapes.add(frame.node, &raw, key, escaped) {
            frame.node = node;
            return;
        }
        self.list_known(frame.node, key);
        self.outer_keys.push(offset(before));
        frame.node = LISTED;
    }

    /// Lists known keys and the one after them.
    fn list_known(&mut self, node: Node, key: HashedKey) {
        let before = self.keys.len();
        self.keys.extend(self.shapes.before(node));
        self.keys[before..].reverse();
        self.keys.push(key);
    }

    /// Lists the keys of an object that ascended until now.
    #[cold]
    #[inline(never)]
    fn list_all(&mut self, frame: &mut Frame) {
        let before = self.outer_keys.last().map_or(0, |&keys| keys as usize);
        self.keys.truncate(before);
        let behind = offset(self.tape.words.len());
        let mut member = frame.slot + 1;
        while member < behind {
            let key = self.tape.key_place(member);
            let key = self.hashed(key.start, key.end, false);
            self.keys.push(key);
            member = self.tape.next(member);
        }
        frame.node = LISTED;
    }

    /// Lists the key of the value that comes next.
    #[cold]
    #[inline(never)]
    fn list_key(&mut self, start: usize, end: usize) -> u64 {
        self.tape.keys.push(ListedKey {
            slot: offset(self.tape.words.len()),
            start: offset(start),
            end: offset(end),
        });
        Word::KEY_LISTED
    }

    /// Ends an object whose keys are listed.
    #[inline(never)]
    pub(super) fn check_keys(&mut self, frame: &Frame) {
        let outer = self.outer_keys.pop().map_or(0, |keys| keys as usize);
        let may_repeat =
            frame.node == LISTED && !self.distinct.check(self.depth, &self.keys[outer..]);
        self.keys.truncate(outer);
        if may_repeat {
            // The keys are read again, and the duplicates found take room themselves.
            self.keys.shrink_to(MAX_OPEN);
            self.find_duplicates(frame);
        }
    }

    /// Compares the keys of an object that has just ended.
    #[cold]
    fn find_duplicates(&mut self, frame: &Frame) {
        /// The part of a word that is a position; the rest is of a hash.
        const PLACE: u64 = u32::MAX as u64;
        let tape = &self.tape;
        let count = frame.count as usize;
        let mut list: Vec<u32> = Vec::with_capacity(count);
        let mut member = frame.slot + 1;
        for _ in 0..count {
            list.push(member);
            member = tape.next(member);
        }
        let key = |member: u32| {
            let word = tape.word(member);
            string::decode_key(tape.raw_key(member, word), word.key_listed())
        };
        let by_hash = list.iter().zip(0_u64..).map(|(&member, place)| {
            let key = key(member);
            keys::hash(&key, 0, key.len()) & !PLACE | place
        });
        let mut by_hash: Vec<u64> = by_hash.collect();
        by_hash.sort_unstable();
        // Keys are compared only if their hashes are equal.
        let alike = by_hash.chunk_by_mut(|a, b| a & !PLACE == b & !PLACE);
        for alike in alike.filter(|alike| alike.len() > 1) {
            let member = |word: u64| list[(word & PLACE) as usize];
            alike.sort_unstable_by(|&a, &b| {
                let (in_a, in_b) = (member(a), member(b));
                key(in_a).cmp(&key(in_b)).then(a.cmp(&b))
            });
            let mut before: Option<(usize, u32)> = None;
            for &mut word in alike {
                let place = (word & PLACE) as usize;
                let member = list[place];
                match before {
                    // The last occurrence takes the place of the first; no member has slot 0.
                    Some((first, last)) if key(last) == key(member) => {
                        list[place] = 0;
                        list[first] = member;
                        before = Some((first, member));
                    }
                    _ => before = Some((place, member)),
                }
            }
        }
        list.retain(|&member| member != 0);
        if list.len() < count {
            let word = &mut self.tape.words[frame.slot as usize];
            *word = word.with_flag();
            // Objects end after those within them.
            let objects = &mut self.tape.duplicates;
            let place = objects.partition_point(|object| object.slot < frame.slot);
            let object = UniqueMembers {
                slot: frame.slot,
                start: offset(self.tape.distinct_members.len()),
                count: offset(list.len()),
            };
            objects.insert(place, object);
            self.tape.distinct_members.extend(list);
        }
    }
}
