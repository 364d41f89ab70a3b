//! One value of the index in eight bytes. Data without room in them is in a list of the [`Tape`].

#[cfg(doc)]
use crate::index::{LargeContainer, Tape};

/// Kinds of values.
pub(crate) mod kind {
    pub(crate) const NULL: u8 = 0;
    pub(crate) const FALSE: u8 = 1;
    pub(crate) const TRUE: u8 = 2;
    pub(crate) const NUMBER: u8 = 3;
    pub(crate) const STRING: u8 = 4;
    pub(crate) const ARRAY: u8 = 5;
    pub(crate) const OBJECT: u8 = 6;
}

/// One value, from the lowest bit on:
///
/// | bits | |
/// |---|---|
/// | 32 | offset of the value's first byte |
/// | 3 | [`kind`] |
/// | 1 | string: it holds a backslash; object: it holds a key twice, see [`Tape::duplicates`] |
/// | 1 | its key is listed, see [`Tape::keys`] |
/// | 7 | number of containers around it |
/// | 20 | scalar: number of bytes, or [`Word::FULL`]; container: below |
///
/// A container with few children and descendants has 6 bits with the number of children and 13 with
/// the distance to the next word that is not its own; the highest bit is 0. Others have that bit set
/// and the number of their [`LargeContainer`], or [`Word::FULL`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Word(u64);

impl Word {
    /// The number does not fit into the last field: it is in a list beside the tape.
    pub(crate) const FULL: u32 = (1 << 20) - 1;
    const FIELD: u32 = 44;
    const FLAG: u64 = 1 << 35;
    pub(crate) const KEY_LISTED: u64 = 1 << 36;
    const DEPTH: u32 = 37;
    const LARGE: u32 = 1 << 19;
    /// A container with more children is a large one.
    pub(crate) const MOST_CHILDREN: u32 = (1 << 6) - 1;
    /// A container that is farther from the next word is a large one.
    pub(crate) const MOST_DISTANCE: u32 = (1 << 13) - 1;

    /// Numbers of large containers from this one on do not fit.
    pub(crate) const MOST_LARGES: u32 = Self::LARGE - 1;

    /// The bits of the depth. `depth` is at most 127.
    #[inline(always)]
    pub(crate) fn level(depth: usize) -> u64 {
        (depth as u64) << Self::DEPTH
    }

    /// A value without its last field; `bits` are those of the key and the depth.
    #[inline(always)]
    pub(crate) fn new(start: u32, kind: u8, flag: bool, bits: u64) -> Self {
        Self(u64::from(start) | u64::from(kind) << 32 | u64::from(flag) << 35 | bits)
    }

    /// With the last field, of which nothing was set before.
    #[inline(always)]
    pub(crate) fn with_field(self, field: u32) -> Self {
        Self(self.0 | u64::from(field) << Self::FIELD)
    }

    /// With the last field of a small container.
    #[inline(always)]
    pub(crate) fn with_small(self, children: u32, distance: u32) -> Self {
        self.with_field(children | distance << 6)
    }

    /// With the last field of a large container.
    pub(crate) fn with_large(self, number: u32) -> Self {
        self.with_field(Self::LARGE | number)
    }

    pub(crate) fn with_flag(self) -> Self {
        Self(self.0 | Self::FLAG)
    }

    #[inline(always)]
    pub(crate) fn start(self) -> usize {
        (self.0 as u32) as usize
    }

    #[inline(always)]
    pub(crate) fn kind(self) -> u8 {
        (self.0 >> 32) as u8 & 7
    }

    #[inline(always)]
    pub(crate) fn is_container(self) -> bool {
        self.kind() >= kind::ARRAY
    }

    /// Of a string: it holds a backslash. Of an object: it holds a key twice.
    #[inline(always)]
    pub(crate) fn flag(self) -> bool {
        self.0 & Self::FLAG != 0
    }

    #[inline(always)]
    pub(crate) fn key_listed(self) -> bool {
        self.0 & Self::KEY_LISTED != 0
    }

    #[inline(always)]
    pub(crate) fn depth(self) -> u8 {
        (self.0 >> Self::DEPTH) as u8 & 127
    }

    #[inline(always)]
    pub(crate) fn field(self) -> u32 {
        (self.0 >> Self::FIELD) as u32
    }

    /// The number of a large container's [`LargeContainer`], unless it is beside the tape.
    #[inline(always)]
    pub(crate) fn large(self) -> Option<u32> {
        (self.field() != Self::FULL).then(|| self.field() - Self::LARGE)
    }

    /// Number of children and distance to the next word, of a small container.
    #[inline(always)]
    pub(crate) fn small(self) -> Option<(u32, u32)> {
        let field = self.field();
        (field < Self::LARGE).then_some((field & Self::MOST_CHILDREN, field >> 6))
    }
}
