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
    lex::{Text, fail},
    scan::{Scanner, skip_blanks},
    string,
};
use bytes::Bytes;
use std::{
    collections::{HashMap, hash_map::Entry},
    sync::OnceLock,
};

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

struct Builder {
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
    let mut builder = Builder {
        tape: Tape {
            slots: Vec::with_capacity((raw.len() / 16).min(SAMPLE) + 8),
            spans: Vec::with_capacity((raw.len() / 128).min(SAMPLE / 8) + 8),
            duplicates: HashMap::new(),
            depth: 0,
            plain: false,
            root_underscored: OnceLock::new(),
            root_chars: OnceLock::new(),
            raw: raw.clone(),
        },
        stack: Vec::with_capacity(16),
        hashes: Vec::with_capacity(64),
        distinct: Distinct::default(),
    };
    let outcome = builder.document();
    if !matches!(outcome, Ok(Encoding::Ascii))
        && simdutf8::basic::from_utf8(&raw).is_err()
        && let Err(error) = std::str::from_utf8(&raw)
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
/// the part before `at`. Tables are so moved a few times, not again and again.
#[cold]
#[inline(never)]
fn grow<T>(table: &mut Vec<T>, at: usize, len: usize) {
    let used = table.len() as u64;
    let left = (len - at) as u64;
    // Both factors are below 2^32.
    let guess = used * left / (at.max(1) as u64);
    // The beginning may mislead: a dense one must not ask for gigabytes, a sparse one not move the
    // table at every step.
    let more = (guess + guess / 16).clamp(used / 4, used * 7);
    table.reserve_exact(more as usize + 8);
}

/// Offsets and slot numbers fit: [`build`] refuses 4 GiB, and no value is shorter than a byte.
#[inline(always)]
fn offset(n: usize) -> u32 {
    n as u32
}

impl Builder {
    fn document(&mut self) -> Result<Encoding, JsonError> {
        let raw = self.tape.raw.clone();
        let text = Text(&raw);
        let mut scanner = Scanner::new(&raw);
        let mut frame = Frame {
            slot: 0,
            count: 0,
            last: 0,
            hashes: 0,
            shape: Shape::Outside,
        };
        let mut key = Key::NONE;
        let (mut byte, mut at) = text.token(0)?;
        'value: loop {
            // A value begins with `byte` at `at`: a scalar, or a container that is opened.
            'read: {
                let start = at;
                let kind = match byte {
                    b'"' => {
                        let escaped;
                        (at, escaped) = text.string(&mut scanner, at + 1)?;
                        kind::STRING | if escaped { kind::ESCAPED } else { 0 }
                    }
                    b'{' => {
                        self.open(&mut frame, key, at, Shape::Object)?;
                        (byte, at) = text.token(at + 1)?;
                        if byte == b'}' {
                            break 'read;
                        }
                        (byte, at, key) = self.member(text, &mut scanner, byte, at)?;
                        continue 'value;
                    }
                    b'[' => {
                        self.open(&mut frame, key, at, Shape::Array)?;
                        (byte, at) = text.token(at + 1)?;
                        if byte == b']' {
                            break 'read;
                        }
                        key = Key::NONE;
                        continue 'value;
                    }
                    b'-' | b'0'..=b'9' => {
                        at = text.number(byte, at)?;
                        kind::NUMBER
                    }
                    b't' => {
                        at = text.word(at, b"true")?;
                        kind::TRUE
                    }
                    b'f' => {
                        at = text.word(at, b"false")?;
                        kind::FALSE
                    }
                    b'n' => {
                        at = text.word(at, b"null")?;
                        kind::NULL
                    }
                    _ => return fail(JsonErrorKind::Syntax, at),
                };
                self.push(&mut frame, key, kind, start, offset(at));
            }
            // Behind a value: a comma, or the ends of containers.
            loop {
                if frame.shape == Shape::Outside {
                    at = skip_blanks(&raw, at);
                    if at < raw.len() {
                        return fail(JsonErrorKind::Syntax, at);
                    }
                    self.tape.plain = scanner.is_plain();
                    return Ok(if scanner.saw_non_ascii() {
                        Encoding::Unknown
                    } else {
                        Encoding::Ascii
                    });
                }
                (byte, at) = text.token(at)?;
                if byte == b',' {
                    (byte, at) = text.token(at + 1)?;
                    if frame.shape == Shape::Object {
                        (byte, at, key) = self.member(text, &mut scanner, byte, at)?;
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

    /// Reads `"key" :` where `byte` at `at` is the first; gives the first byte of the value, its
    /// offset and the key.
    #[inline(always)]
    fn member(
        &mut self,
        text: Text<'_>,
        scanner: &mut Scanner,
        byte: u8,
        at: usize,
    ) -> Result<(u8, usize, Key), JsonError> {
        if byte != b'"' {
            return fail(JsonErrorKind::Syntax, at);
        }
        let start = at + 1;
        let (behind, escaped) = text.string(scanner, start)?;
        let end = behind - 1;
        self.hashes.push(if escaped {
            let key = string::decode(&text.0[start..end], true);
            keys::hash(&key, 0, key.len())
        } else {
            keys::hash(text.0, start, end)
        });
        let flags = if escaped { kind::KEY_ESCAPED } else { 0 };
        let key = Key::new(start, end - start, flags);
        let (colon, at) = text.token(behind)?;
        if colon != b':' {
            return fail(JsonErrorKind::Syntax, at);
        }
        let (byte, at) = text.token(at + 1)?;
        Ok((byte, at, key))
    }

    #[inline(always)]
    fn push(&mut self, frame: &mut Frame, key: Key, kind: u8, start: usize, end_or_span: u32) {
        frame.count += 1;
        frame.last = offset(self.tape.slots.len());
        if self.tape.slots.len() == self.tape.slots.capacity() {
            grow(&mut self.tape.slots, start, self.tape.raw.len());
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
        self.tape.depth = self.tape.depth.max(self.stack.len() as u8);
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
            grow(&mut self.tape.spans, end, self.tape.raw.len());
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
}

#[cfg(test)]
mod tests {
    use super::grow;

    #[test]
    fn a_misleading_beginning_costs_little() {
        for (at, len, more) in [
            (2048, 4096, 1024 + 64),
            (2048, 4_000_000_000, 7 * 1024),
            (4096, 4096, 256),
        ] {
            let mut table = vec![0_u64; 1024];
            grow(&mut table, at, len);
            assert_eq!(table.capacity(), 1024 + more + 8);
        }
    }
}
