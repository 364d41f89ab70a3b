//! The structural index: two flat tables beside the bytes. [`crate::build`] fills them.
//!
//! Each value has one [`Slot`], in document order; objects and lists have a [`Span`] beside it. The
//! children of a container are the slots after its own, reached sibling by sibling.
//!
//! # Invariants
//!
//! - A slot within `(container, next)` whose depth is one more than the container's is a direct
//!   child of it; look-ups that guess a slot rest on this.
//! - Every span of a string or key lies on UTF-8 boundaries, quotes excluded for keys and included
//!   for values.

use crate::string;
use bytes::Bytes;
use std::{collections::HashMap, sync::OnceLock};

/// Kinds of values, as the low bits of [`Slot::kind`].
pub(crate) mod kind {
    pub(crate) const NULL: u8 = 0;
    pub(crate) const FALSE: u8 = 1;
    pub(crate) const TRUE: u8 = 2;
    pub(crate) const NUMBER: u8 = 3;
    pub(crate) const STRING: u8 = 4;
    pub(crate) const ARRAY: u8 = 5;
    pub(crate) const OBJECT: u8 = 6;
    pub(crate) const MASK: u8 = 7;
    /// The string value holds a backslash.
    pub(crate) const ESCAPED: u8 = 8;
    /// The key holds a backslash.
    pub(crate) const KEY_ESCAPED: u8 = 16;
    /// The object holds a key twice; its members are listed in [`super::Tape::duplicates`].
    pub(crate) const DUPLICATES: u8 = 32;
}

/// A key of at least this many bytes: its length is found again from its closing quote.
pub(crate) const LONG_KEY: u16 = u16::MAX;

/// One value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot {
    /// Offset of the value's first byte.
    pub(crate) start: u32,
    /// Scalars: the offset behind the value. Containers: the number of its [`Span`].
    pub(crate) end_or_span: u32,
    /// Offset of the key's first byte behind the quote; unused in lists.
    pub(crate) key: u32,
    /// Length of the key as it is written, or [`LONG_KEY`].
    pub(crate) key_len: u16,
    pub(crate) kind: u8,
    /// Number of containers around the value.
    pub(crate) depth: u8,
}

/// What an object or list has beside its slot.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Span {
    /// The offset behind the closing bracket.
    pub(crate) end: u32,
    /// The first slot behind the container's last descendant.
    pub(crate) next: u32,
    /// Number of items, or of members with duplicates counted.
    pub(crate) count: u32,
    /// The slot of the last child.
    pub(crate) last: u32,
}

/// The index of one document.
#[derive(Debug)]
pub(crate) struct Tape {
    pub(crate) raw: Bytes,
    pub(crate) slots: Vec<Slot>,
    pub(crate) spans: Vec<Span>,
    /// For each object with duplicate keys: its members, the last occurrence of each key at the
    /// place of the first.
    pub(crate) duplicates: HashMap<u32, Box<[u32]>>,
    /// The most objects and lists that are open at once.
    pub(crate) depth: u8,
    /// Whether every byte is ASCII and no string or key holds an escape.
    pub(crate) plain: bool,
    /// Whether a key of the whole object may begin with `_`, once somebody asked.
    pub(crate) root_underscored: OnceLock<bool>,
    /// The characters of all of it, each escape as one, once somebody asked.
    pub(crate) root_chars: OnceLock<usize>,
}

impl Tape {
    pub(crate) fn resident_bytes(&self) -> usize {
        let duplicates: usize = self
            .duplicates
            .values()
            .map(|list| size_of_val::<[u32]>(list) + 48)
            .sum();
        self.slots.capacity() * size_of::<Slot>()
            + self.spans.capacity() * size_of::<Span>()
            + duplicates
    }

    /// The slot behind `slot` and all of its descendants.
    #[inline]
    pub(crate) fn next(&self, slot: u32) -> u32 {
        let s = &self.slots[slot as usize];
        if s.kind & kind::MASK >= kind::ARRAY {
            self.spans[s.end_or_span as usize].next
        } else {
            slot + 1
        }
    }

    /// The key of a member as it is written, without quotes.
    #[inline]
    pub(crate) fn raw_key(&self, slot: &Slot) -> &[u8] {
        let start = slot.key as usize;
        if slot.key_len != LONG_KEY {
            return &self.raw[start..start + slot.key_len as usize];
        }
        let rest = &self.raw[start..];
        &rest[..string::closing_quote(rest)]
    }
}
