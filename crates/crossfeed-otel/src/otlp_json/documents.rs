//! Splits a stream of bytes into JSON documents, each returned as soon as it is complete, and the blanks between.
//!
//! The stream may hold one document, one a line, or several one behind the other. Bytes that cannot become
//! JSON are returned as soon as that is known, up to the byte at fault, so that parsing them reports the error.

use bytes::{Bytes, BytesMut};
use crossfeed_json::MAX_DEPTH;
use memchr::memchr3;

/// The byte order mark that a stream may begin with.
const MARK: &[u8] = "\u{feff}".as_bytes();

/// Finds the documents in bytes that come in pieces. It holds the bytes of one document.
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
    scan: Scan,
    /// Where the buffer begins.
    place: StreamPosition,
    is_ended: bool,
    is_too_large: bool,
}

/// How far a document was read.
#[derive(Debug, Default)]
struct Scan {
    at: usize,
    /// The open lists and objects, a bit each: whether it is an object.
    open: u128,
    depth: usize,
    /// A value or key stood last, but for blanks: a sign must follow.
    is_after_value: bool,
    in_string: bool,
    is_escaped: bool,
}

/// Where a document begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StreamPosition {
    /// Which document it is, from 1.
    pub number: usize,
    /// On which line, from 1.
    pub line: usize,
    /// At which byte, from 0.
    pub offset: usize,
}

/// A piece of the stream. All pieces, concatenated, are the stream.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a program that passes a stream on must know all of its parts"
)]
pub enum JsonPiece {
    /// The blanks between documents.
    Blanks(Bytes),
    /// A document, or bytes that cannot become one.
    Document(Bytes, StreamPosition),
    /// The document that begins here is larger than allowed. Nothing follows.
    TooLarge(StreamPosition),
}

impl JsonDocuments {
    /// A stream of which nothing was read; a document may have at most `max_bytes`.
    pub fn new(max_bytes: usize) -> Self {
        Self {
            buffer: BytesMut::new(),
            max_bytes,
            scan: Scan::default(),
            place: StreamPosition {
                number: 1,
                line: 1,
                offset: 0,
            },
            is_ended: false,
            is_too_large: false,
        }
    }

    /// Adds the bytes that were read next.
    pub fn push(&mut self, bytes: &[u8]) {
        if !self.is_too_large {
            self.buffer.extend_from_slice(bytes);
        }
    }

    /// Ends the stream: what is left is the last document, complete or not.
    pub fn end(&mut self) {
        self.is_ended = true;
    }

    /// Where the next piece begins.
    pub fn place(&self) -> StreamPosition {
        self.place
    }

    /// The next piece; `None` until more bytes are pushed, and at the end.
    #[expect(
        clippy::should_implement_trait,
        reason = "after `None` more may follow, once more bytes are pushed"
    )]
    pub fn next(&mut self) -> Option<JsonPiece> {
        let blanks = self.blanks()?;
        if blanks > 0 {
            return Some(JsonPiece::Blanks(self.take(blanks)));
        }
        let found = self.scan.find_end(&self.buffer);
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

    /// How many bytes stand before the next document; `None` if that is not known yet.
    fn blanks(&self) -> Option<usize> {
        if self.scan.at > 0 {
            return Some(0);
        }
        let is_start = self.place.offset == 0;
        let may_be_mark = self.buffer.len() < MARK.len() && MARK.starts_with(&self.buffer);
        if is_start && may_be_mark && !self.is_ended {
            return None;
        }
        let has_mark = is_start && self.buffer.starts_with(MARK);
        let from = if has_mark { MARK.len() } else { 0 };
        let rest = self.buffer[from..].iter();
        Some(from + rest.take_while(|byte| is_blank(**byte)).count())
    }

    /// Takes the first bytes of the buffer.
    fn take(&mut self, count: usize) -> Bytes {
        let taken = self.buffer.split_to(count).freeze();
        self.place.offset += count;
        self.place.line += memchr::memchr_iter(b'\n', &taken).count();
        self.scan = Scan::default();
        taken
    }
}

impl Scan {
    /// Where the document ends with which the buffer begins, or can no longer become one.
    fn find_end(&mut self, buffer: &[u8]) -> Option<usize> {
        while let Some(&byte) = buffer.get(self.at) {
            if self.is_escaped {
                self.is_escaped = false;
                self.at += 1;
                continue;
            }
            if self.in_string {
                if let Some(end) = self.string(buffer) {
                    return Some(end);
                }
                continue;
            }
            self.at += 1;
            let is_after_value = self.is_after_value;
            self.is_after_value = !matches!(byte, b'{' | b'[' | b',' | b':');
            match byte {
                _ if is_blank(byte) => {
                    // The end of a word or a number that stands alone.
                    if self.depth == 0 {
                        return Some(self.at - 1);
                    }
                    self.is_after_value = is_after_value;
                }
                b'"' if is_after_value => return Some(self.at),
                b'"' => self.in_string = true,
                b'{' | b'[' => {
                    if is_after_value || self.depth == MAX_DEPTH {
                        return Some(self.at);
                    }
                    self.depth += 1;
                    self.open = self.open << 1 | u128::from(byte == b'{');
                }
                b'}' | b']' => {
                    let is_matching = self.open & 1 == u128::from(byte == b'}');
                    if self.depth <= 1 || !is_matching {
                        return Some(self.at);
                    }
                    self.depth -= 1;
                    self.open >>= 1;
                }
                _ => {}
            }
        }
        None
    }

    /// Continues in a string, to its end or the end of the buffer. Returns the place at which a document
    /// ends. A string cannot span lines, so a truncated line does not swallow the next one.
    fn string(&mut self, buffer: &[u8]) -> Option<usize> {
        let rest = &buffer[self.at..];
        let Some(found) = memchr3(b'"', b'\\', b'\n', rest) else {
            self.at = buffer.len();
            return None;
        };
        self.at += found + 1;
        match rest[found] {
            b'"' => {
                self.in_string = false;
                // A string that stands alone is a document.
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
