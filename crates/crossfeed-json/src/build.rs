//! Builds the index ([`Tape`]) in one pass over the bytes, with strict grammar. The loop over values is
//! iterative and keeps its hottest state in local variables.
//!
//! UTF-8 is checked last, and only if the scanner met a byte beyond ASCII: the grammar admits such bytes only
//! in strings, where the scanner sees every byte.

mod members;

use crate::{
    document::{JsonError, JsonErrorKind, MAX_DEPTH},
    index::{LargeContainer, MAX_OPEN, Tape},
    keys::{DistinctKeys, HashedKey, Node, Shapes},
    lex::{Text, fail},
    scan::Scanner,
    word::{Word, kind},
};
use bytes::Bytes;

/// A container that is still open.
#[derive(Clone, Copy)]
struct Frame {
    slot: u32,
    count: u32,
    /// The last key of an object whose keys are all known, or how the keys are checked.
    node: Node,
}

/// Not a container: the frame around the document's value.
const OUTSIDE: Node = Node::MAX;

/// A list, which has no keys.
const ARRAY: Node = Node::MAX - 1;

/// The keys of an object are listed, to be checked when it ends.
const LISTED: Node = Node::MAX - 2;

/// Each key of an object is greater than the one before; the last one is listed.
const ASCENDING: Node = Node::MAX - 3;

const OUTER: Frame = Frame {
    slot: 0,
    count: 0,
    node: OUTSIDE,
};

struct Builder {
    tape: Tape,
    /// The containers around the innermost one, outermost first; `depth` of them.
    stack: [Frame; MAX_OPEN],
    depth: usize,
    /// The offset after the last scalar or opening bracket.
    leaf_end: usize,
    /// The slot of the container that ended last.
    closed: u32,
    /// Keys of open objects, see [`LISTED`] and [`ASCENDING`].
    keys: Vec<HashedKey>,
    /// For each open object with listed keys, how many belong to those around it.
    outer_keys: Vec<u32>,
    shapes: Shapes,
    distinct: DistinctKeys,
    /// The numbers of large containers from this one on are beside the tape.
    far_larges_from: u32,
}

/// The distance from the last scalar, blanks included, within which closing brackets are searched for.
const MOST_BLANKS: usize = 512;

/// Reads all bytes once.
pub(crate) fn build(raw: Bytes) -> Result<Tape, JsonError> {
    build_with(raw, Word::MOST_LARGES)
}

/// As [`build`], with fewer numbers of large containers in their words.
pub(crate) fn build_with(raw: Bytes, far_larges_from: u32) -> Result<Tape, JsonError> {
    if raw.len() >= u32::MAX as usize {
        return fail(JsonErrorKind::TooLarge, u32::MAX as usize);
    }
    let mut builder = Builder {
        tape: Tape {
            words: Vec::with_capacity((raw.len() / 16).min(SAMPLE) + 8),
            raw: raw.clone(),
            ..Tape::default()
        },
        stack: [OUTER; MAX_OPEN],
        depth: 0,
        leaf_end: 0,
        closed: 0,
        keys: Vec::with_capacity(32),
        outer_keys: Vec::new(),
        shapes: Shapes::default(),
        distinct: DistinctKeys::default(),
        far_larges_from,
    };
    let outcome = builder.document();
    let is_ascii = outcome == Ok(true);
    if !is_ascii
        && simdutf8::basic::from_utf8(&raw).is_err()
        && let Err(error) = std::str::from_utf8(&raw)
    {
        return fail(JsonErrorKind::NotUtf8, error.valid_up_to());
    }
    outcome?;
    let mut tape = builder.tape;
    fit(&mut tape.words);
    fit(&mut tape.larges);
    fit(&mut tape.long_ends);
    fit(&mut tape.keys);
    fit(&mut tape.duplicates);
    fit(&mut tape.distinct_members);
    fit(&mut tape.far_larges);
    Ok(tape)
}

/// Values that are read before [`grow`] estimates the document's total.
const SAMPLE: usize = 1024;

/// Up to this many bytes are allocated at once by an estimate, because a table that moves exists twice.
const SURE: usize = 64 << 20;

/// Gives memory back, if it is enough to matter: an allocator reuses freed memory for the next document only
/// if the sizes match.
fn fit<T>(table: &mut Vec<T>) {
    if table.capacity() - table.len() > table.len() / 8 {
        table.shrink_to_fit();
    }
}

/// Makes room for one more element, and for as many as the rest of the document needs if it is like the part
/// before `at`, so that tables move only a few times.
#[cold]
#[inline(never)]
fn grow<T>(table: &mut Vec<T>, at: usize, len: usize) {
    let used = table.len() as u64;
    let left = (len - at) as u64;
    // Both factors are below 2^32.
    let guess = used * left / (at.max(1) as u64);
    // The beginning may mislead: a dense one must not allocate gigabytes, and a sparse one must not move the
    // table at every step. Each value takes at least two bytes, one of them punctuation.
    let most = if len <= SURE { left / 2 } else { used * 7 };
    let more = (guess + guess / 16).min(most).max(used / 4);
    table.reserve_exact(more as usize + 8);
}

/// Offsets and slot numbers fit: [`build`] refuses 4 GiB, and no value is shorter than a byte.
#[inline(always)]
fn offset(n: usize) -> u32 {
    n as u32
}

impl Builder {
    /// Reads the whole document; whether each of its bytes is ASCII, so that UTF-8 need not be checked.
    fn document(&mut self) -> Result<bool, JsonError> {
        let raw = self.tape.raw.clone();
        let text = Text(&raw);
        let mut scanner = Scanner::new(&raw);
        let mut frame = OUTER;
        // The bits of the next word that describe its key.
        let mut key = 0;
        let (mut byte, mut at) = text.token(0)?;
        'value: loop {
            // A value begins with `byte` at `at`: a scalar, or a container that is opened.
            'read: {
                let start = at;
                let mut flag = false;
                let kind = match byte {
                    b'"' => {
                        (at, flag) = text.string(&mut scanner, at + 1)?;
                        kind::STRING
                    }
                    b'{' => {
                        self.open(&mut frame, key, at, kind::OBJECT)?;
                        (byte, at) = text.token(at + 1)?;
                        if byte == b'}' {
                            break 'read;
                        }
                        (byte, at, key) = self.member(text, &mut scanner, &mut frame, byte, at)?;
                        continue 'value;
                    }
                    b'[' => {
                        self.open(&mut frame, key, at, kind::ARRAY)?;
                        (byte, at) = text.token(at + 1)?;
                        if byte == b']' {
                            break 'read;
                        }
                        key = 0;
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
                let word = Word::new(offset(start), kind, flag, key | Word::level(self.depth));
                let word = word.with_field(self.scalar_len(start, at));
                self.push(&mut frame, word);
                self.leaf_end = at;
            }
            // After a value: a comma, or the ends of containers.
            loop {
                (byte, at) = match text.token(at) {
                    Ok(token) => token,
                    Err(_) if frame.node == OUTSIDE => {
                        let is_ascii = scanner.non_ascii == 0;
                        self.tape.plain = is_ascii && !scanner.escapes;
                        return Ok(is_ascii);
                    }
                    Err(error) => return Err(error),
                };
                if byte == b',' && frame.node != OUTSIDE {
                    (byte, at) = text.token(at + 1)?;
                    if frame.node < ARRAY {
                        (byte, at, key) = self.member(text, &mut scanner, &mut frame, byte, at)?;
                    }
                    continue 'value;
                }
                let fits = match byte {
                    b'}' => frame.node < ARRAY,
                    b']' => frame.node == ARRAY,
                    _ => false,
                };
                if !fits {
                    return fail(JsonErrorKind::Syntax, at);
                }
                at += 1;
                frame = self.close(frame, at);
                // Items of a list carry no key of an object that ended before them.
                key = 0;
            }
        }
    }

    /// The bits of the next scalar's word that hold its length.
    #[inline(always)]
    fn scalar_len(&mut self, start: usize, end: usize) -> u32 {
        let len = offset(end - start);
        if len < Word::FULL {
            return len;
        }
        let slot = offset(self.tape.words.len());
        self.tape.long_ends.push((slot, offset(end)));
        Word::FULL
    }

    #[inline(always)]
    fn push(&mut self, frame: &mut Frame, word: Word) {
        frame.count += 1;
        if self.tape.words.len() == self.tape.words.capacity() {
            grow(&mut self.tape.words, word.start(), self.tape.raw.len());
        }
        self.tape.words.push(word);
    }

    #[inline(always)]
    fn open(&mut self, frame: &mut Frame, key: u64, at: usize, kind: u8) -> Result<(), JsonError> {
        if self.depth == MAX_DEPTH {
            return fail(JsonErrorKind::TooDeep, at);
        }
        // The last field is known when the container ends.
        self.push(
            frame,
            Word::new(offset(at), kind, false, key | Word::level(self.depth)),
        );
        self.stack[self.depth % MAX_OPEN] = *frame;
        self.depth += 1;
        self.tape.depth = self.tape.depth.max(self.depth as u8);
        self.leaf_end = at + 1;
        *frame = Frame {
            slot: offset(self.tape.words.len()) - 1,
            count: 0,
            node: match kind {
                kind::OBJECT => self.shapes.root(self.depth),
                _ => ARRAY,
            },
        };
        Ok(())
    }

    /// Ends the container `frame`; returns the one around it.
    #[inline(always)]
    fn close(&mut self, frame: Frame, end: usize) -> Frame {
        let next = offset(self.tape.words.len());
        let slot = frame.slot as usize;
        let small = frame.count <= Word::MOST_CHILDREN
            && next - frame.slot <= Word::MOST_DISTANCE
            && end - self.leaf_end <= MOST_BLANKS;
        let word = self.tape.words[slot];
        self.tape.words[slot] = if small {
            word.with_small(frame.count, next - frame.slot)
        } else {
            self.large(word, &frame, next, end)
        };
        self.closed = frame.slot;
        if matches!(frame.node, LISTED | ASCENDING) {
            self.check_keys(&frame);
        }
        // Every open container has pushed the one around it.
        self.depth = self.depth.wrapping_sub(1);
        self.stack[self.depth % MAX_OPEN]
    }

    #[inline(never)]
    fn large(&mut self, word: Word, frame: &Frame, next: u32, end: usize) -> Word {
        let number = offset(self.tape.larges.len());
        // Either the child that ended last is the last word, or it is a container.
        let last = if frame.count > 0 && self.tape.next(self.closed) == next {
            self.closed
        } else {
            next - 1
        };
        self.tape.larges.push(LargeContainer {
            end: offset(end),
            next,
            count: frame.count,
            last,
        });
        if number < self.far_larges_from {
            return word.with_large(number);
        }
        // Containers end after those within them; look-ups go on while the index is built.
        let far = &mut self.tape.far_larges;
        let place = far.partition_point(|&(slot, _)| slot < frame.slot);
        far.insert(place, (frame.slot, number));
        word.with_field(Word::FULL)
    }
}

#[cfg(test)]
mod tests {
    use super::grow;

    #[test]
    fn a_misleading_beginning_costs_little() {
        for (at, len, more) in [
            (4096, 8192, 1024 + 64),
            (2048, 4096, 1024),
            (2048, 1 << 20, (1 << 19) - 1024),
            (2048, 4_000_000_000, 7 * 1024),
            (4096, 4096, 256),
        ] {
            let mut table = vec![0_u64; 1024];
            grow(&mut table, at, len);
            assert_eq!(table.capacity(), 1024 + more + 8);
        }
    }
}
