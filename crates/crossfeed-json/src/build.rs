//! Building the index: one pass over the bytes, strict in grammar.
//!
//! What comes in: bytes. What goes out: their [`Tape`], or where they stop being JSON. The loop
//! over values is iterative and keeps what it needs most (the offset, the innermost open container,
//! the key at hand) in local variables.
//!
//! UTF-8 is checked last, and only if the scanner met a byte beyond ASCII: outside strings the
//! grammar admits none, and within them the scanner sees every byte.

use crate::{
    document::{JsonError, JsonErrorKind, MAX_DEPTH},
    index::{LONG_KEY, Slot, Span, Tape, kind},
    keys::{self, Distinct},
    scan::{Scanner, skip_blanks, skip_digits},
    string,
};
use bytes::Bytes;
use std::collections::{HashMap, hash_map::Entry};

/// A container that is still open.
#[derive(Clone, Copy)]
struct Frame {
    slot: u32,
    count: u32,
    /// The slot of the last child so far.
    last: u32,
    /// Number of hashes that belong to the containers around this one.
    hashes: u32,
    shape: Shape,
}

/// As wide as the other fields of a frame: no padding to copy.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
enum Shape {
    /// Not a container: what surrounds the document's value.
    Outside,
    Array,
    Object,
}

/// The key of the value that comes next, as one word: a structure with padding would go through
/// memory piece by piece. The start in the low half, the length above it, then the flags.
#[derive(Clone, Copy)]
struct Key(u64);

impl Key {
    /// What stands for a key outside objects.
    const NONE: Self = Self(0);

    #[inline(always)]
    fn new(start: usize, len: usize, flags: u8) -> Self {
        let len = len.min(LONG_KEY as usize) as u64;
        Self(u64::from(offset(start)) | len << 32 | u64::from(flags) << 48)
    }
}

struct Builder<'a> {
    bytes: &'a [u8],
    tape: Tape,
    /// The containers around the innermost one, outermost first.
    stack: Vec<Frame>,
    /// The hashes of the keys so far of all open objects.
    hashes: Vec<u64>,
    distinct: Distinct,
}

/// Reads all bytes once.
pub(crate) fn build(raw: Bytes) -> Result<Tape, JsonError> {
    if raw.len() >= u32::MAX as usize {
        return fail(JsonErrorKind::TooLarge, u32::MAX as usize);
    }
    let bytes = raw.clone();
    let mut builder = Builder {
        bytes: &bytes,
        tape: Tape {
            slots: Vec::with_capacity((raw.len() / 16).min(SAMPLE) + 8),
            spans: Vec::with_capacity((raw.len() / 128).min(SAMPLE / 8) + 8),
            duplicates: HashMap::new(),
            raw,
        },
        stack: Vec::with_capacity(16),
        hashes: Vec::with_capacity(64),
        distinct: Distinct::default(),
    };
    let outcome = builder.document();
    if !matches!(outcome, Ok(Encoding::Ascii))
        && simdutf8::basic::from_utf8(&bytes).is_err()
        && let Err(error) = std::str::from_utf8(&bytes)
    {
        return fail(JsonErrorKind::NotUtf8, error.valid_up_to());
    }
    outcome?;
    let mut tape = builder.tape;
    fit(&mut tape.slots);
    fit(&mut tape.spans);
    Ok(tape)
}

enum Encoding {
    Ascii,
    /// Some byte is beyond ASCII, so UTF-8 is still to be checked.
    Unknown,
}

/// Values to read before [`grow`] guesses how many a document holds.
const SAMPLE: usize = 1024;

/// Gives memory back, if it is enough to matter: an allocator serves the next document from what
/// this one frees only if both asked for as much.
fn fit<T>(table: &mut Vec<T>) {
    if table.capacity() - table.len() > table.len() / 8 {
        table.shrink_to_fit();
    }
}

/// Makes room for one element more: for as many as the rest of the document will need if it is like
/// the part before `at`. Large tables are so moved once or twice, not again and again.
#[cold]
#[inline(never)]
fn grow<T>(table: &mut Vec<T>, at: usize, len: usize) {
    let used = table.len() as u64;
    let left = (len - at) as u64;
    // Both factors are below 2^32.
    let guess = used * left / (at.max(1) as u64);
    // At least a quarter more, so that a bad guess does not move the table often.
    table.reserve_exact((guess + guess / 16).max(used / 4) as usize + 8);
}

#[cold]
fn fail<T>(kind: JsonErrorKind, offset: usize) -> Result<T, JsonError> {
    Err(JsonError { kind, offset })
}

/// Offsets and slot numbers fit: [`build`] refuses 4 GiB, and no value is shorter than a byte.
#[inline(always)]
fn offset(n: usize) -> u32 {
    n as u32
}

impl Builder<'_> {
    fn document(&mut self) -> Result<Encoding, JsonError> {
        let mut scanner = Scanner::new(self.bytes);
        let mut frame = Frame {
            slot: 0,
            count: 0,
            last: 0,
            hashes: 0,
            shape: Shape::Outside,
        };
        let mut key = Key::NONE;
        let (mut byte, mut at) = self.token(0)?;
        'value: loop {
            // A value begins with `byte` at `at`: a scalar, or a container that is opened.
            'read: {
                let start = at;
                let kind = match byte {
                    b'"' => {
                        let escaped;
                        (at, escaped) = self.string(&mut scanner, at + 1)?;
                        kind::STRING | if escaped { kind::ESCAPED } else { 0 }
                    }
                    b'{' => {
                        self.open(&mut frame, key, at, Shape::Object)?;
                        (byte, at) = self.token(at + 1)?;
                        if byte == b'}' {
                            break 'read;
                        }
                        (byte, at, key) = self.member(&mut scanner, byte, at)?;
                        continue 'value;
                    }
                    b'[' => {
                        self.open(&mut frame, key, at, Shape::Array)?;
                        (byte, at) = self.token(at + 1)?;
                        if byte == b']' {
                            break 'read;
                        }
                        key = Key::NONE;
                        continue 'value;
                    }
                    b'-' | b'0'..=b'9' => {
                        at = self.number(byte, at)?;
                        kind::NUMBER
                    }
                    b't' => {
                        at = self.word(at, b"true")?;
                        kind::TRUE
                    }
                    b'f' => {
                        at = self.word(at, b"false")?;
                        kind::FALSE
                    }
                    b'n' => {
                        at = self.word(at, b"null")?;
                        kind::NULL
                    }
                    _ => return fail(JsonErrorKind::Syntax, at),
                };
                self.push(&mut frame, key, kind, start, offset(at));
            }
            // Behind a value: a comma, or the ends of containers.
            loop {
                if frame.shape == Shape::Outside {
                    at = skip_blanks(self.bytes, at);
                    if at < self.bytes.len() {
                        return fail(JsonErrorKind::Syntax, at);
                    }
                    return Ok(if scanner.saw_non_ascii() {
                        Encoding::Unknown
                    } else {
                        Encoding::Ascii
                    });
                }
                (byte, at) = self.token(at)?;
                if byte == b',' {
                    (byte, at) = self.token(at + 1)?;
                    if frame.shape == Shape::Object {
                        (byte, at, key) = self.member(&mut scanner, byte, at)?;
                    }
                    continue 'value;
                }
                let closing = if frame.shape == Shape::Object {
                    b'}'
                } else {
                    b']'
                };
                if byte != closing {
                    return fail(JsonErrorKind::Syntax, at);
                }
                at += 1;
                frame = self.close(frame, at);
                // Items of a list carry no key of an object that ended before them.
                key = Key::NONE;
            }
        }
    }

    /// The first byte from `at` on that is no blank, and its offset.
    #[inline(always)]
    fn token(&self, at: usize) -> Result<(u8, usize), JsonError> {
        match self.bytes.get(at) {
            Some(&byte) if byte > b' ' => Ok((byte, at)),
            _ => self.token_behind_blanks(at),
        }
    }

    #[inline(never)]
    fn token_behind_blanks(&self, at: usize) -> Result<(u8, usize), JsonError> {
        let at = skip_blanks(self.bytes, at);
        Ok((self.byte(at)?, at))
    }

    #[inline(always)]
    fn byte(&self, at: usize) -> Result<u8, JsonError> {
        match self.bytes.get(at) {
            Some(&byte) => Ok(byte),
            None => fail(JsonErrorKind::UnexpectedEnd, at),
        }
    }

    /// Reads `"key" :` where `byte` at `at` is the first; gives the first byte of the value, its
    /// offset and the key.
    #[inline(always)]
    fn member(
        &mut self,
        scanner: &mut Scanner,
        byte: u8,
        at: usize,
    ) -> Result<(u8, usize, Key), JsonError> {
        if byte != b'"' {
            return fail(JsonErrorKind::Syntax, at);
        }
        let start = at + 1;
        let (behind, escaped) = self.string(scanner, start)?;
        let end = behind - 1;
        self.hashes.push(if escaped {
            let key = string::decode(&self.bytes[start..end], true);
            keys::hash(&key, 0, key.len())
        } else {
            keys::hash(self.bytes, start, end)
        });
        let flags = if escaped { kind::KEY_ESCAPED } else { 0 };
        let key = Key::new(start, end - start, flags);
        let (colon, at) = self.token(behind)?;
        if colon != b':' {
            return fail(JsonErrorKind::Syntax, at);
        }
        let (byte, at) = self.token(at + 1)?;
        Ok((byte, at, key))
    }

    #[inline(always)]
    fn push(&mut self, frame: &mut Frame, key: Key, kind: u8, start: usize, end_or_span: u32) {
        frame.count += 1;
        frame.last = offset(self.tape.slots.len());
        if self.tape.slots.len() == self.tape.slots.capacity() {
            grow(&mut self.tape.slots, start, self.bytes.len());
        }
        self.tape.slots.push(Slot {
            start: offset(start),
            end_or_span,
            key: key.0 as u32,
            key_len: (key.0 >> 32) as u16,
            kind: (key.0 >> 48) as u8 | kind,
            // The stack holds at most MAX_DEPTH frames.
            depth: self.stack.len() as u8,
        });
    }

    #[inline(always)]
    fn open(
        &mut self,
        frame: &mut Frame,
        key: Key,
        at: usize,
        shape: Shape,
    ) -> Result<(), JsonError> {
        if self.stack.len() == MAX_DEPTH {
            return fail(JsonErrorKind::TooDeep, at);
        }
        let kind = if shape == Shape::Object {
            kind::OBJECT
        } else {
            kind::ARRAY
        };
        // The number of the span is known when the container ends.
        self.push(frame, key, kind, at, 0);
        self.stack.push(*frame);
        let slot = frame.last;
        *frame = Frame {
            slot,
            count: 0,
            last: slot,
            hashes: offset(self.hashes.len()),
            shape,
        };
        Ok(())
    }

    /// Ends the container `frame`; gives the one around it.
    #[inline(always)]
    fn close(&mut self, frame: Frame, end: usize) -> Frame {
        self.tape.slots[frame.slot as usize].end_or_span = offset(self.tape.spans.len());
        if self.tape.spans.len() == self.tape.spans.capacity() {
            grow(&mut self.tape.spans, end, self.bytes.len());
        }
        self.tape.spans.push(Span {
            end: offset(end),
            next: offset(self.tape.slots.len()),
            count: frame.count,
            last: frame.last,
        });
        if frame.shape == Shape::Object {
            let hashes = &self.hashes[frame.hashes as usize..];
            if !self.distinct.check(self.stack.len(), hashes) {
                self.find_duplicates(&frame);
            }
            self.hashes.truncate(frame.hashes as usize);
        }
        // Every open container has pushed the one around it.
        self.stack.pop().unwrap_or(frame)
    }

    /// Compares the keys of an object that has just ended.
    #[cold]
    fn find_duplicates(&mut self, frame: &Frame) {
        let tape = &self.tape;
        let count = frame.count as usize;
        let mut first_place = HashMap::with_capacity(count);
        let mut list: Vec<u32> = Vec::with_capacity(count);
        let mut member = frame.slot + 1;
        for _ in 0..count {
            let slot = &tape.slots[member as usize];
            let key = string::decode(tape.raw_key(slot), slot.kind & kind::KEY_ESCAPED != 0);
            match first_place.entry(key) {
                Entry::Occupied(place) => list[*place.get()] = member,
                Entry::Vacant(place) => {
                    place.insert(list.len());
                    list.push(member);
                }
            }
            member = tape.next(member);
        }
        if list.len() < count {
            self.tape.slots[frame.slot as usize].kind |= kind::DUPLICATES;
            self.tape.duplicates.insert(frame.slot, list.into());
        }
    }

    /// Reads `true`, `false` or `null`; gives the offset behind it.
    #[inline(always)]
    fn word(&self, at: usize, word: &[u8]) -> Result<usize, JsonError> {
        let rest = &self.bytes[at..];
        if rest.starts_with(word) {
            return Ok(at + word.len());
        }
        if word.starts_with(rest) {
            return fail(JsonErrorKind::UnexpectedEnd, at);
        }
        fail(JsonErrorKind::Syntax, at)
    }

    /// Reads a string from behind its opening quote; gives the offset behind its closing quote, and
    /// whether it holds escapes.
    #[inline(always)]
    fn string(&self, scanner: &mut Scanner, at: usize) -> Result<(usize, bool), JsonError> {
        let mut end = scanner.special(self.bytes, at);
        let escaped = self.bytes.get(end) != Some(&b'"');
        if escaped {
            (end, *scanner) = self.escaped_string(*scanner, end)?;
        }
        Ok((end + 1, escaped))
    }

    /// Finds the closing quote of a string that has something else at `at`.
    #[inline(never)]
    fn escaped_string(
        &self,
        mut scanner: Scanner,
        mut at: usize,
    ) -> Result<(usize, Scanner), JsonError> {
        loop {
            match self.byte(at)? {
                b'"' => return Ok((at, scanner)),
                b'\\' => at = self.escape(at + 1)?,
                _ => return fail(JsonErrorKind::InvalidString, at),
            }
            at = scanner.special(self.bytes, at);
        }
    }

    /// Reads an escape from behind its backslash.
    #[inline(always)]
    fn escape(&self, at: usize) -> Result<usize, JsonError> {
        match self.byte(at)? {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Ok(at + 1),
            b'u' => {
                for digit in at + 1..at + 5 {
                    if !self.byte(digit)?.is_ascii_hexdigit() {
                        return fail(JsonErrorKind::InvalidString, digit);
                    }
                }
                Ok(at + 5)
            }
            _ => fail(JsonErrorKind::InvalidString, at),
        }
    }

    /// Reads a number; gives the offset behind it.
    #[inline(always)]
    fn number(&self, byte: u8, start: usize) -> Result<usize, JsonError> {
        let first = start + usize::from(byte == b'-');
        let end = self.digits(first)?;
        if end > first + 1 && self.bytes[first] == b'0' {
            return fail(JsonErrorKind::Syntax, first + 1);
        }
        match self.bytes.get(end) {
            Some(b'.' | b'e' | b'E') => self.fraction(end),
            _ => Ok(end),
        }
    }

    /// Reads what follows a number's integer digits.
    #[inline(never)]
    fn fraction(&self, mut at: usize) -> Result<usize, JsonError> {
        if self.bytes.get(at) == Some(&b'.') {
            at = self.digits(at + 1)?;
        }
        if matches!(self.bytes.get(at), Some(b'e' | b'E')) {
            at += 1;
            at += usize::from(matches!(self.bytes.get(at), Some(b'+' | b'-')));
            at = self.digits(at)?;
        }
        Ok(at)
    }

    /// Reads at least one digit.
    #[inline(always)]
    fn digits(&self, at: usize) -> Result<usize, JsonError> {
        match self.bytes.get(at) {
            Some(b'0'..=b'9') => Ok(skip_digits(self.bytes, at + 1)),
            Some(_) => fail(JsonErrorKind::Syntax, at),
            None => fail(JsonErrorKind::UnexpectedEnd, at),
        }
    }
}
