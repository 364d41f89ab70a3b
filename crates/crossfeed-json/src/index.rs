//! The structural index: one pass over the bytes, two flat tables.
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

use crate::document::{JsonError, JsonErrorKind, MAX_DEPTH};
use crate::string;
use bytes::Bytes;
use std::collections::HashMap;

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

/// Up to this many members are compared pair by pair for duplicate keys.
const PAIRWISE: usize = 12;

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

/// A container that is still open.
#[derive(Clone, Copy)]
struct Frame {
    slot: u32,
    span: u32,
    count: u32,
    last: u32,
    /// One bit for each hash of a key seen so far.
    seen: u64,
    object: bool,
    /// Two keys share a bit, or a key is escaped: the keys must be compared when the object ends.
    suspicious: bool,
}

struct Builder<'a> {
    bytes: &'a [u8],
    at: usize,
    tape: Tape,
    stack: Vec<Frame>,
    /// The key of the value that comes next.
    key: (u32, u16, u8),
}

type Step = Result<(), JsonErrorKind>;

/// Reads all bytes once.
pub(crate) fn build(raw: Bytes) -> Result<Tape, JsonError> {
    if raw.len() >= u32::MAX as usize {
        return Err(JsonError {
            kind: JsonErrorKind::TooLarge,
            offset: u32::MAX as usize,
        });
    }
    if let Err(error) = std::str::from_utf8(&raw) {
        return Err(JsonError {
            kind: JsonErrorKind::NotUtf8,
            offset: error.valid_up_to(),
        });
    }
    let bytes = raw.clone();
    let mut builder = Builder {
        bytes: &bytes,
        at: 0,
        tape: Tape {
            slots: Vec::with_capacity(raw.len() / 32 + 8),
            spans: Vec::new(),
            duplicates: HashMap::new(),
            raw,
        },
        stack: Vec::new(),
        key: (0, 0, 0),
    };
    match builder.document() {
        Ok(()) => {
            let mut tape = builder.tape;
            tape.slots.shrink_to_fit();
            tape.spans.shrink_to_fit();
            Ok(tape)
        }
        Err(kind) => Err(JsonError {
            kind,
            offset: builder.at,
        }),
    }
}

impl Builder<'_> {
    fn document(&mut self) -> Step {
        loop {
            self.value()?;
            if !self.advance()? {
                break;
            }
        }
        self.blanks();
        if self.at < self.bytes.len() {
            return Err(JsonErrorKind::Syntax);
        }
        Ok(())
    }

    #[inline]
    fn blanks(&mut self) {
        while let Some(&byte) = self.bytes.get(self.at) {
            if byte > b' ' || !matches!(byte, b' ' | b'\n' | b'\t' | b'\r') {
                break;
            }
            self.at += 1;
        }
    }

    #[inline]
    fn peek(&self) -> Result<u8, JsonErrorKind> {
        self.bytes
            .get(self.at)
            .copied()
            .ok_or(JsonErrorKind::UnexpectedEnd)
    }

    /// Reads a scalar, or opens containers until a scalar or an empty container has been read.
    #[inline]
    fn value(&mut self) -> Step {
        loop {
            self.blanks();
            match self.peek()? {
                b'"' => {
                    let start = self.at;
                    self.at += 1;
                    let escaped = self.string()?;
                    let kind = kind::STRING | if escaped { kind::ESCAPED } else { 0 };
                    self.push(kind, start);
                }
                b'{' => {
                    self.open(kind::OBJECT)?;
                    self.blanks();
                    if self.peek()? != b'}' {
                        self.member()?;
                        continue;
                    }
                }
                b'[' => {
                    self.open(kind::ARRAY)?;
                    self.blanks();
                    if self.peek()? != b']' {
                        continue;
                    }
                }
                b'-' | b'0'..=b'9' => {
                    let start = self.at;
                    self.number()?;
                    self.push(kind::NUMBER, start);
                }
                b't' => self.word(b"true", kind::TRUE)?,
                b'f' => self.word(b"false", kind::FALSE)?,
                b'n' => self.word(b"null", kind::NULL)?,
                _ => return Err(JsonErrorKind::Syntax),
            }
            return Ok(());
        }
    }

    /// Behind a value: closes what ends here. True when another value must follow.
    #[inline]
    fn advance(&mut self) -> Result<bool, JsonErrorKind> {
        while let Some(frame) = self.stack.last() {
            let object = frame.object;
            self.blanks();
            match self.peek()? {
                b',' => {
                    self.at += 1;
                    if object {
                        self.blanks();
                        self.member()?;
                    }
                    return Ok(true);
                }
                b'}' if object => self.close(),
                b']' if !object => self.close(),
                _ => return Err(JsonErrorKind::Syntax),
            }
        }
        Ok(false)
    }

    /// Reads `"key" :`.
    #[inline]
    fn member(&mut self) -> Step {
        if self.peek()? != b'"' {
            return Err(JsonErrorKind::Syntax);
        }
        self.at += 1;
        let start = self.at;
        let escaped = self.string()?;
        let key = &self.bytes[start..self.at - 1];
        let bit = 1_u64 << (hash(key) & 63);
        if let Some(frame) = self.stack.last_mut() {
            frame.suspicious |= escaped || frame.seen & bit != 0;
            frame.seen |= bit;
        }
        let len = u16::try_from(key.len()).unwrap_or(LONG_KEY);
        let flag = if escaped { kind::KEY_ESCAPED } else { 0 };
        self.key = (offset(start), len, flag);
        self.blanks();
        if self.peek()? != b':' {
            return Err(JsonErrorKind::Syntax);
        }
        self.at += 1;
        Ok(())
    }

    /// Adds the slot of a scalar that ends here.
    #[inline]
    fn push(&mut self, kind: u8, start: usize) {
        let end = offset(self.at);
        self.push_slot(kind, start, end);
    }

    #[inline]
    fn push_slot(&mut self, kind: u8, start: usize, end_or_span: u32) {
        let slot = offset(self.tape.slots.len());
        if let Some(frame) = self.stack.last_mut() {
            frame.count += 1;
            frame.last = slot;
        }
        let (key, key_len, flag) = self.key;
        self.tape.slots.push(Slot {
            start: offset(start),
            end_or_span,
            key,
            key_len,
            kind: kind | flag,
            // The stack holds at most MAX_DEPTH frames.
            depth: self.stack.len() as u8,
        });
    }

    fn open(&mut self, container: u8) -> Step {
        if self.stack.len() == MAX_DEPTH {
            return Err(JsonErrorKind::TooDeep);
        }
        let slot = offset(self.tape.slots.len());
        let span = offset(self.tape.spans.len());
        self.push_slot(container, self.at, span);
        self.tape.spans.push(Span::default());
        self.stack.push(Frame {
            slot,
            span,
            count: 0,
            last: slot,
            seen: 0,
            object: container == kind::OBJECT,
            suspicious: false,
        });
        self.key = (0, 0, 0);
        self.at += 1;
        Ok(())
    }

    #[inline]
    fn close(&mut self) {
        self.at += 1;
        let Some(frame) = self.stack.pop() else {
            return;
        };
        self.tape.spans[frame.span as usize] = Span {
            end: offset(self.at),
            next: offset(self.tape.slots.len()),
            count: frame.count,
            last: frame.last,
        };
        // Items of a list carry no key of an object that ended before them.
        self.key = (0, 0, 0);
        if frame.suspicious {
            self.find_duplicates(&frame);
        }
    }

    /// Compares the keys of an object that has just ended.
    #[cold]
    fn find_duplicates(&mut self, frame: &Frame) {
        let tape = &self.tape;
        let mut members = Vec::with_capacity(frame.count as usize);
        let mut slot = frame.slot + 1;
        for _ in 0..frame.count {
            members.push(slot);
            slot = tape.next(slot);
        }
        let escaped = |&m: &u32| tape.slots[m as usize].kind & kind::KEY_ESCAPED != 0;
        if !members.iter().any(escaped) && self.distinct(frame, &members) {
            return;
        }
        let mut first_place: HashMap<Box<[u8]>, usize> = HashMap::with_capacity(members.len());
        let mut list: Vec<u32> = Vec::with_capacity(members.len());
        for &member in &members {
            let slot = &tape.slots[member as usize];
            let key = string::decode(tape.raw_key(slot), slot.kind & kind::KEY_ESCAPED != 0);
            match first_place.entry(key.into_owned().into()) {
                std::collections::hash_map::Entry::Occupied(place) => list[*place.get()] = member,
                std::collections::hash_map::Entry::Vacant(place) => {
                    place.insert(list.len());
                    list.push(member);
                }
            }
        }
        if list.len() < members.len() {
            self.tape.slots[frame.slot as usize].kind |= kind::DUPLICATES;
            self.tape.duplicates.insert(frame.slot, list.into());
        }
    }

    /// Whether unescaped keys are certainly distinct. False may mean "not looked at".
    fn distinct(&self, frame: &Frame, members: &[u32]) -> bool {
        let tape = &self.tape;
        let key = |&member: &u32| tape.raw_key(&tape.slots[member as usize]);
        if members.len() <= PAIRWISE {
            return members
                .iter()
                .enumerate()
                .all(|(i, a)| members[..i].iter().all(|b| key(a) != key(b)));
        }
        // Lists hold objects of one shape more often than not: the item before, once checked,
        // vouches for an object with the same keys in the same order.
        if let Some(before) = self.item_before(frame)
            && tape.slots[before as usize].kind & (kind::MASK | kind::DUPLICATES) == kind::OBJECT
        {
            let span = &tape.spans[tape.slots[before as usize].end_or_span as usize];
            let mut theirs = before + 1;
            let same = span.count as usize >= members.len()
                && members.iter().all(|mine| {
                    let equal = key(mine) == key(&theirs);
                    theirs = tape.next(theirs);
                    equal
                });
            if same {
                return true;
            }
        }
        let mut keys: Vec<&[u8]> = members.iter().map(key).collect();
        keys.sort_unstable();
        keys.windows(2).all(|pair| pair[0] != pair[1])
    }

    /// The sibling before the object that has just ended, where the parent is a list and the
    /// sibling's slots are as many as the object's own.
    fn item_before(&self, frame: &Frame) -> Option<u32> {
        let parent = self.stack.last()?;
        let own = offset(self.tape.slots.len()) - frame.slot;
        let before = frame.slot.checked_sub(own)?;
        (!parent.object
            && before > parent.slot
            && self.tape.slots[before as usize].depth == self.tape.slots[frame.slot as usize].depth)
            .then_some(before)
    }

    fn word(&mut self, word: &[u8], kind: u8) -> Step {
        let start = self.at;
        let rest = &self.bytes[start..];
        if !rest.starts_with(word) {
            return Err(if word.starts_with(rest) {
                JsonErrorKind::UnexpectedEnd
            } else {
                JsonErrorKind::Syntax
            });
        }
        self.at += word.len();
        self.push(kind, start);
        Ok(())
    }

    /// Reads a string up to and with its closing quote; true when it holds escapes.
    #[inline]
    fn string(&mut self) -> Result<bool, JsonErrorKind> {
        let mut escaped = false;
        loop {
            self.at += string::plain_len(&self.bytes[self.at..]);
            match self.peek()? {
                b'"' => {
                    self.at += 1;
                    return Ok(escaped);
                }
                b'\\' => {
                    escaped = true;
                    self.escape()?;
                }
                _ => return Err(JsonErrorKind::InvalidString),
            }
        }
    }

    fn escape(&mut self) -> Step {
        self.at += 1;
        match self.peek()? {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => self.at += 1,
            b'u' => {
                for _ in 0..4 {
                    self.at += 1;
                    if !self.peek()?.is_ascii_hexdigit() {
                        return Err(JsonErrorKind::InvalidString);
                    }
                }
                self.at += 1;
            }
            _ => return Err(JsonErrorKind::InvalidString),
        }
        Ok(())
    }

    #[inline]
    fn digits(&mut self) -> Step {
        if !self.peek()?.is_ascii_digit() {
            return Err(JsonErrorKind::Syntax);
        }
        while self.bytes.get(self.at).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
        Ok(())
    }

    #[inline]
    fn number(&mut self) -> Step {
        if self.peek()? == b'-' {
            self.at += 1;
        }
        if self.peek()? == b'0' {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.bytes.get(self.at) == Some(&b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.bytes.get(self.at), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.bytes.get(self.at), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(())
    }
}

/// Offsets and slot numbers fit: `build` refuses 4 GiB, and no value is shorter than a byte.
#[inline]
fn offset(n: usize) -> u32 {
    n as u32
}

/// A cheap hash of a key: its length and its ends.
#[inline]
fn hash(key: &[u8]) -> u32 {
    let (Some(&first), Some(&last)) = (key.first(), key.last()) else {
        return 0;
    };
    let middle = key[key.len() / 2];
    let mixed = (key.len() as u32)
        .wrapping_add(u32::from(first) << 8)
        .wrapping_add(u32::from(last) << 16)
        .wrapping_add(u32::from(middle) << 24);
    mixed.wrapping_mul(0x9E37_79B1) >> 26
}
