//! The structural index: a flat tape of 8-byte words beside the bytes. [`crate::build`] fills it.
//!
//! Each value has one [`Word`], in document order: its slot is its number. The children of a container are
//! the words after its own, reached sibling by sibling. Data without room in a word is in small lists beside
//! the tape, or is recomputed from the bytes.
//!
//! # Invariants
//!
//! - A slot within `(container, next)` whose depth is one more than the container's is a direct child of it;
//!   look-ups that guess a slot rely on this.
//! - The last word before `next` is the container's own or that of its last descendant, a scalar or
//!   an empty container: ends of containers are found from it.
//! - Every span of a string or key lies on UTF-8 boundaries, quotes excluded for keys and included
//!   for values.

use crate::{
    document::MAX_DEPTH,
    scan::{skip_blanks, skip_blanks_back},
    string, tables,
    word::Word,
};
use bytes::Bytes;
use std::{ops::Range, sync::OnceLock};

/// More than the lists and objects that may be open at once; a power of two, so that a remainder replaces a
/// check.
pub(crate) const MAX_OPEN: usize = 128;
const _: () = assert!(MAX_DEPTH < MAX_OPEN);

/// The numbers of a list or object that its word has no room for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LargeContainer {
    /// The offset after the closing bracket.
    pub(crate) end: u32,
    /// The first slot after the container's last descendant.
    pub(crate) next: u32,
    /// Number of items, or of members with duplicates counted.
    pub(crate) count: u32,
    /// The slot of the last child.
    pub(crate) last: u32,
}

/// A key with escapes, which cannot be read backwards, or one too far from its value to be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ListedKey {
    /// The slot of the value.
    pub(crate) slot: u32,
    /// Offset of the first byte after the quote.
    pub(crate) start: u32,
    /// Offset of the closing quote.
    pub(crate) end: u32,
}

/// An object with duplicate keys.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UniqueMembers {
    pub(crate) slot: u32,
    /// The index of its first member in [`Tape::distinct_members`].
    pub(crate) start: u32,
    /// Number of distinct members.
    pub(crate) count: u32,
}

/// A key that begins more bytes before its value is listed.
pub(crate) const NEAR: usize = 128;

/// Numbers by slot, in ascending order of slots.
pub(crate) type BySlot = Vec<(u32, u32)>;

/// The index of one document.
#[derive(Debug, Default)]
pub(crate) struct Tape {
    pub(crate) raw: Bytes,
    pub(crate) words: Vec<Word>,
    pub(crate) larges: Vec<LargeContainer>,
    /// The numbers of large containers that have no room for them.
    pub(crate) far_larges: BySlot,
    /// The offsets after scalars that are too long for their words.
    pub(crate) long_ends: BySlot,
    /// Keys that are not found by reading backwards from their values, in ascending order of slots.
    pub(crate) keys: Vec<ListedKey>,
    /// Objects with duplicate keys, in ascending order of slots.
    pub(crate) duplicates: Vec<UniqueMembers>,
    /// The members of these, of each the last occurrence of each key at the place of the first.
    pub(crate) distinct_members: Vec<u32>,
    /// The most objects and lists that are open at once.
    pub(crate) depth: u8,
    /// Whether every byte is ASCII and no string or key holds an escape.
    pub(crate) plain: bool,
    /// Whether a key of the whole object may begin with `_`, once a caller has asked.
    pub(crate) root_underscored: OnceLock<bool>,
    /// The side tables that paid so far.
    pub(crate) built: tables::SideTables,
    /// The characters of all of it, each escape as one, once a caller has asked.
    pub(crate) root_chars: OnceLock<usize>,
}

#[cold]
#[inline(never)]
fn find(list: &BySlot, slot: u32) -> u32 {
    let place = list.partition_point(|&(known, _)| known < slot);
    let found = list.get(place);
    debug_assert!(found.is_some_and(|&(known, _)| known == slot));
    found.map_or(0, |&(_, number)| number)
}

impl Tape {
    pub(crate) fn resident_bytes(&self) -> usize {
        let lists = [&self.far_larges, &self.long_ends];
        self.words.capacity() * size_of::<Word>()
            + self.larges.capacity() * size_of::<LargeContainer>()
            + lists
                .map(|list| list.capacity() * size_of::<(u32, u32)>())
                .iter()
                .sum::<usize>()
            + self.keys.capacity() * size_of::<ListedKey>()
            + self.duplicates.capacity() * size_of::<UniqueMembers>()
            + self.distinct_members.capacity() * size_of::<u32>()
            + self.built.resident_bytes()
    }

    #[inline(always)]
    pub(crate) fn word(&self, slot: u32) -> Word {
        self.words[slot as usize]
    }

    /// The numbers of the large container `word` at `slot`.
    #[inline]
    fn large(&self, slot: u32, word: Word) -> &LargeContainer {
        let number = match word.large() {
            Some(number) => number,
            None => find(&self.far_larges, slot),
        };
        &self.larges[number as usize]
    }

    /// The members of an object with duplicate keys.
    #[cold]
    #[inline(never)]
    pub(crate) fn distinct_members(&self, slot: u32) -> Option<&[u32]> {
        let place = self.duplicates.partition_point(|object| object.slot < slot);
        let object = self.duplicates.get(place)?;
        let start = object.start as usize;
        self.distinct_members
            .get(start..start + object.count as usize)
    }

    /// Whether the value at `slot`, or one in it, is an object with duplicate keys.
    pub(crate) fn holds_duplicates(&self, slot: u32) -> bool {
        let place = self.duplicates.partition_point(|object| object.slot < slot);
        let first = self.duplicates.get(place);
        first.is_some_and(|object| object.slot < self.next(slot))
    }

    /// The slot after `slot` and all of its descendants.
    #[inline]
    pub(crate) fn next(&self, slot: u32) -> u32 {
        let word = self.word(slot);
        if word.is_container() {
            self.behind(slot, word)
        } else {
            slot + 1
        }
    }

    /// The same for the container `word` at `slot`.
    #[inline]
    pub(crate) fn behind(&self, slot: u32, word: Word) -> u32 {
        match word.small() {
            Some((_, distance)) => slot + distance,
            None => self.large(slot, word).next,
        }
    }

    /// Number of children of a container, duplicates counted; 0 for scalars.
    #[inline]
    pub(crate) fn count(&self, slot: u32) -> u32 {
        let word = self.word(slot);
        if !word.is_container() {
            return 0;
        }
        match word.small() {
            Some((count, _)) => count,
            None => self.large(slot, word).count,
        }
    }

    /// The last child of a container that has some.
    pub(crate) fn last(&self, slot: u32) -> u32 {
        let word = self.word(slot);
        match word.small() {
            Some((count, _)) => (1..count).fold(slot + 1, |child, _| self.next(child)),
            None => self.large(slot, word).last,
        }
    }

    /// The offset after a value.
    #[inline]
    pub(crate) fn end(&self, slot: u32) -> usize {
        let word = self.word(slot);
        if !word.is_container() {
            return self.scalar_end(slot, word);
        }
        match word.small() {
            Some((_, distance)) => self.small_end(slot, word, distance),
            None => self.large(slot, word).end as usize,
        }
    }

    #[inline]
    pub(crate) fn scalar_end(&self, slot: u32, word: Word) -> usize {
        match word.field() {
            Word::FULL => find(&self.long_ends, slot) as usize,
            len => word.start() + len as usize,
        }
    }

    /// The end of a small container: after its last descendant come the brackets of all containers that end
    /// with it.
    #[inline]
    fn small_end(&self, slot: u32, word: Word, distance: u32) -> usize {
        let last_slot = slot + distance - 1;
        let last = self.word(last_slot);
        let mut brackets = last.depth() - word.depth();
        let mut end = if last.is_container() {
            brackets += 1;
            last.start() + 1
        } else {
            self.scalar_end(last_slot, last)
        };
        let raw: &[u8] = &self.raw;
        while brackets > 0 {
            if raw[end] <= b' ' {
                end = skip_blanks(raw, end);
            }
            end += 1;
            brackets -= 1;
        }
        end
    }

    /// The offset of the quote after the key of the value at `start`; `None` outside objects.
    #[inline]
    pub(crate) fn key_end(&self, start: usize) -> Option<usize> {
        let raw: &[u8] = &self.raw;
        match raw[..start].last_chunk() {
            Some([_, b'"', b':']) => Some(start - 2),
            Some([b'"', b':', b' ']) => Some(start - 3),
            _ => self.key_end_behind_blanks(start),
        }
    }

    #[inline(never)]
    fn key_end_behind_blanks(&self, start: usize) -> Option<usize> {
        // A key that is not listed begins within these bytes.
        let from = start.saturating_sub(NEAR);
        let before = &self.raw[from..start];
        let colon = skip_blanks_back(before, before.len()).checked_sub(1)?;
        if before[colon] != b':' {
            return None;
        }
        Some(from + skip_blanks_back(before, colon).checked_sub(1)?)
    }

    /// The key of a member as it is written, without quotes; empty outside objects.
    #[inline]
    pub(crate) fn raw_key(&self, slot: u32, word: Word) -> &[u8] {
        if !word.key_listed()
            && let Some(end) = self.key_end(word.start())
        {
            return string::before_closing_quote(&self.raw[..end]);
        }
        self.far_key(slot)
    }

    /// A key that is listed, or the empty one of a value outside objects.
    #[inline(never)]
    fn far_key(&self, slot: u32) -> &[u8] {
        &self.raw[self.key_place(slot)]
    }

    /// The position of a member's key.
    pub(crate) fn key_place(&self, slot: u32) -> Range<usize> {
        let word = self.word(slot);
        if word.key_listed() {
            return self.listed_key(slot);
        }
        match self.key_end(word.start()) {
            Some(end) => end - string::before_closing_quote(&self.raw[..end]).len()..end,
            None => 0..0,
        }
    }

    #[cold]
    #[inline(never)]
    fn listed_key(&self, slot: u32) -> Range<usize> {
        let place = self.keys.partition_point(|key| key.slot < slot);
        match self.keys.get(place) {
            Some(key) => key.start as usize..key.end as usize,
            None => 0..0,
        }
    }

    /// [`Self::has_key`] where the key is listed.
    #[cold]
    fn has_listed_key(&self, slot: u32, key: &[u8]) -> bool {
        let written = self.far_key(slot);
        // An escape takes at most six bytes for one, so a longer key is not read.
        let may_be = key.len() <= written.len() && written.len() <= key.len().saturating_mul(6);
        may_be && string::is_key(written, key)
    }

    /// Whether the value at `slot` is a member with this key. The cost depends on `key`, not on the length of
    /// the value's own key; a listed key takes a binary search as well.
    #[inline]
    pub(crate) fn has_key(&self, slot: u32, key: &[u8]) -> bool {
        let word = self.word(slot);
        if word.key_listed() {
            return self.has_listed_key(slot, key);
        }
        let Some(end) = self.key_end(word.start()) else {
            return false;
        };
        let Some(quote) = end.checked_sub(key.len() + 1) else {
            return false;
        };
        // The start of the key is unknown: a text that ends like it, begins with a quote and holds no other
        // quote is the whole key.
        self.raw[quote] == b'"' && string::is_unquoted(&self.raw[quote + 1..end], key)
    }
}
