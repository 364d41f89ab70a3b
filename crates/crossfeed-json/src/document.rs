//! A document: raw bytes, and the index over them once it is needed.

use crate::{build, cursor::Cursor, index::Tape};
use bytes::Bytes;
use std::sync::OnceLock;

/// How deeply data may nest, in open objects and lists. It is the limit of serde_json, so that accepted
/// documents can be parsed wherever they are sent.
pub const MAX_DEPTH: usize = 127;

/// Why bytes are not a valid document, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind} at byte {offset}")]
pub struct JsonError {
    /// The kind of the error.
    pub kind: JsonErrorKind,
    /// Offset of the first byte at fault.
    pub offset: usize,
}

impl JsonError {
    /// Whether the bytes read so far are JSON, but exceed a limit: such bytes must not be taken for text.
    pub fn is_limit(&self) -> bool {
        matches!(self.kind, JsonErrorKind::TooDeep | JsonErrorKind::TooLarge)
    }
}

/// Why bytes are not a valid document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JsonErrorKind {
    /// Not UTF-8: a lone `0xff`.
    #[error("not UTF-8")]
    NotUtf8,
    /// Nothing but blanks, or the text ends within a value: `[1,`.
    #[error("unexpected end")]
    UnexpectedEnd,
    /// Not JSON's grammar: `{a: 1}`, `01`, `[1,]`.
    #[error("not JSON")]
    Syntax,
    /// A control character or an unknown escape within a string.
    #[error("invalid string")]
    InvalidString,
    /// More than [`MAX_DEPTH`] open objects and lists.
    #[error("nested deeper than {MAX_DEPTH}")]
    TooDeep,
    /// 4 GiB or more.
    #[error("document of 4 GiB or more")]
    TooLarge,
}

/// Raw bytes with a structural index that is built on first use, at most once, and shared by all
/// readers.
///
/// ```
/// use crossfeed_json::Document;
///
/// let document = Document::new(r#"{"items": [{"n": 1.50}]}"#);
/// let root = document.root()?;
/// let item = root.get("items").and_then(|list| list.at(0)).expect("an item");
/// assert_eq!(item.get("n").expect("a number").raw(), b"1.50");
/// # Ok::<(), crossfeed_json::JsonError>(())
/// ```
#[derive(Debug)]
pub struct Document {
    raw: Bytes,
    /// In a box: most documents of a session are not indexed.
    tape: OnceLock<Result<Box<Tape>, JsonError>>,
}

impl Document {
    /// Takes bytes as they are; nothing is read yet.
    pub fn new(raw: impl Into<Bytes>) -> Self {
        Self {
            raw: raw.into(),
            tape: OnceLock::new(),
        }
    }

    /// The bytes as they came.
    pub fn raw(&self) -> &Bytes {
        &self.raw
    }

    /// The document's value. The first call reads all bytes once; the outcome is kept.
    ///
    /// # Errors
    ///
    /// [`JsonError`] when the bytes are not strict JSON, nest deeper than [`MAX_DEPTH`] or are
    /// 4 GiB or more.
    pub fn root(&self) -> Result<Cursor<'_>, JsonError> {
        let build = || build::build(self.raw.clone()).map(Box::new);
        match self.tape.get_or_init(build) {
            Ok(tape) => Ok(Cursor::root(tape)),
            Err(error) => Err(*error),
        }
    }

    /// The bytes in memory: the raw ones, and the index if there is one.
    pub fn resident_bytes(&self) -> usize {
        let index = match self.tape.get() {
            Some(Ok(tape)) => tape.resident_bytes(),
            Some(Err(_)) | None => 0,
        };
        self.raw.len() + index
    }
}
