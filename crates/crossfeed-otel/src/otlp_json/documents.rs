//! The documents in a stream of bytes.
//!
//! Gives each JSON document as soon as its last byte is there, and the blanks between. The stream
//! may hold one document, one a line, or one behind the other. What cannot become JSON is given as
//! soon as that is known, up to the byte at fault, so that reading it reports the error.

use bytes::{Bytes, BytesMut};
use crossfeed_json::MAX_DEPTH;
use memchr::memchr3;

/// What may stand at the very beginning.
const MARK: &[u8] = "\u{feff}".as_bytes();

/// Finds the documents in bytes that come in pieces. It keeps the bytes of one document.
///
/// ```
/// use crossfeed_otel::{JsonDocuments, JsonPiece};
///
/// let mut documents = JsonDocuments::new(1 << 20);
/// documents.push(b"{\"a\": 1}\n{\"a\"");
/// let Some(JsonPiece::Document(first, place)) = documents.next() else { panic!() };
/// assert_eq!((&first[..], place.number), (&b"{\"a\": 1}"[..], 1));
/// assert!(matches!(documents.next(), Some(JsonPiece::Blanks(_))));
/// // The second is not there yet.
/// assert!(documents.next().is_none());
/// documents.push(b": 2}");
/// assert!(matches!(documents.next(), Some(JsonPiece::Document(..))));
/// ```
#[derive(Debug)]
pub struct JsonDocuments {
    buffer: BytesMut,
    max_bytes: usize,
    /// How much of the document was read.
    at: usize,
    /// The lists and objects that are open, a bit each: whether it is an object.
    open: u128,
    depth: usize,
    last: Last,
    in_string: bool,
    is_escaped: bool,
    /// Where the buffer begins.
    place: Place,
    is_ended: bool,
    is_too_large: bool,
}

/// Where a document begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Place {
    /// Which document it is, from 1.
    pub number: usize,
    /// On which line, from 1.
    pub line: usize,
    /// At which byte, from 0.
    pub offset: usize,
}

/// A piece of the stream. All of them, one behind the other, are the stream.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a program that passes a stream on must know all of its parts"
)]
pub enum JsonPiece {
    /// What stands between documents.
    Blanks(Bytes),
    /// What is a document, or cannot become one.
    Document(Bytes, Place),
    /// The document that begins here is larger than allowed. Nothing follows.
    TooLarge(Place),
}

/// What stood last in a document, but for blanks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Last {
    /// A bracket, comma or colon: a value or a key may follow.
    Sign,
    Value,
}

impl JsonDocuments {
    /// Nothing read yet; of a document at most `max_bytes` are kept.
    #[must_use]
    pub fn new(max_bytes: usize) -> Self {
        Self {
            buffer: BytesMut::new(),
            max_bytes,
            at: 0,
            open: 0,
            depth: 0,
            last: Last::Sign,
            in_string: false,
            is_escaped: false,
            place: Place {
                number: 1,
                line: 1,
                offset: 0,
            },
            is_ended: false,
            is_too_large: false,
        }
    }

    /// Takes what was read next.
    pub fn push(&mut self, bytes: &[u8]) {
        if !self.is_too_large {
            self.buffer.extend_from_slice(bytes);
        }
    }

    /// Says that nothing more comes: what is left is the last document, whole or not.
    pub fn end(&mut self) {
        self.is_ended = true;
    }

    /// Where the next piece begins.
    #[must_use]
    pub fn place(&self) -> Place {
        self.place
    }

    /// The next piece; `None` until more was read, and at the end.
    #[expect(
        clippy::should_implement_trait,
        reason = "what gives `None` may give more once more was read"
    )]
    pub fn next(&mut self) -> Option<JsonPiece> {
        let blanks = self.blanks()?;
        if blanks > 0 {
            let blanks = self.take(blanks);
            return Some(JsonPiece::Blanks(blanks));
        }
        let found = self.find();
        if found.unwrap_or(self.buffer.len()) > self.max_bytes {
            self.is_too_large = true;
            self.buffer.clear();
            return Some(JsonPiece::TooLarge(self.place));
        }
        let whole = self.is_ended && !self.buffer.is_empty();
        let end = found.or_else(|| whole.then_some(self.buffer.len()))?;
        let place = self.place;
        let document = self.take(end);
        self.place.number += 1;
        Some(JsonPiece::Document(document, place))
    }

    /// How many bytes at the beginning stand before a document; `None` where that is not known yet.
    fn blanks(&self) -> Option<usize> {
        if self.at > 0 {
            return Some(0);
        }
        let mut from = 0;
        if self.place.offset == 0 {
            let here = self.buffer.len().min(MARK.len());
            if self.buffer[..here] == MARK[..here] {
                if here < MARK.len() && !self.is_ended {
                    return None;
                }
                from = if here == MARK.len() { here } else { 0 };
            }
        }
        let rest = self.buffer[from..].iter();
        Some(from + rest.take_while(|byte| is_blank(**byte)).count())
    }

    /// The first bytes of the buffer, which are given out.
    fn take(&mut self, count: usize) -> Bytes {
        let taken = self.buffer.split_to(count).freeze();
        self.place.offset += count;
        self.place.line += memchr::memchr_iter(b'\n', &taken).count();
        (self.at, self.open, self.depth) = (0, 0, 0);
        (self.last, self.in_string, self.is_escaped) = (Last::Sign, false, false);
        taken
    }

    /// Where the document ends that the buffer begins with, or can no longer become one.
    fn find(&mut self) -> Option<usize> {
        while let Some(&byte) = self.buffer.get(self.at) {
            if self.is_escaped {
                self.is_escaped = false;
                self.at += 1;
                continue;
            }
            if self.in_string {
                if let Some(end) = self.string() {
                    return Some(end);
                }
                continue;
            }
            self.at += 1;
            let is_value = self.last == Last::Value;
            match byte {
                _ if is_blank(byte) => {
                    // A word or a number that stands alone.
                    if self.depth == 0 {
                        return Some(self.at - 1);
                    }
                }
                b'"' => {
                    if is_value {
                        return Some(self.at);
                    }
                    self.in_string = true;
                    self.last = Last::Value;
                }
                b'{' | b'[' => {
                    if is_value || self.depth == MAX_DEPTH {
                        return Some(self.at);
                    }
                    self.depth += 1;
                    self.open = self.open << 1 | u128::from(byte == b'{');
                    self.last = Last::Sign;
                }
                b'}' | b']' => {
                    let is_its = self.open & 1 == u128::from(byte == b'}');
                    if self.depth <= 1 || !is_its {
                        return Some(self.at);
                    }
                    self.depth -= 1;
                    self.open >>= 1;
                    self.last = Last::Value;
                }
                b',' | b':' => self.last = Last::Sign,
                _ => self.last = Last::Value,
            }
        }
        None
    }

    /// Goes on in a string, to its end or the end of the buffer; where no string goes on, gives that
    /// place. A line may end in no string: so a line that was cut off takes no other along.
    fn string(&mut self) -> Option<usize> {
        let rest = &self.buffer[self.at..];
        let Some(found) = memchr3(b'"', b'\\', b'\n', rest) else {
            self.at = self.buffer.len();
            return None;
        };
        self.at += found + 1;
        match rest[found] {
            b'"' => {
                self.in_string = false;
                // Behind a text that stands alone nothing is expected.
                (self.depth == 0).then_some(self.at)
            }
            b'\\' => {
                self.is_escaped = true;
                None
            }
            _ => Some(self.at),
        }
    }
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}
