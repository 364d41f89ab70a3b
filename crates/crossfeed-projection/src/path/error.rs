//! Why a text is not a path.

use crossfeed_wire::ErrorCode;
use std::borrow::Cow;

/// Characters of a text that an error repeats.
const EXCERPT: usize = 120;

/// Why a text is not a path, and where.
///
/// ```
/// use crossfeed_projection::{Path, PathErrorKind};
///
/// let error = Path::parse("items[0.id").unwrap_err();
/// assert_eq!((error.kind, error.offset), (PathErrorKind::UnclosedBracket, 5));
/// assert_eq!(error.to_string(), "path `items[0.id` has a bracket that is not closed at byte 5");
/// assert_eq!(error.advice(), "close the bracket: `[]` for each item, `[0]` for one");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("path `{text}` {kind} at byte {offset}")]
#[non_exhaustive]
pub struct PathError {
    /// The kind of fault.
    pub kind: PathErrorKind,
    /// The text as it was written, its beginning where it is long.
    pub text: String,
    /// Offset of the first byte at fault.
    pub offset: usize,
}

/// The fault in a text that is not a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum PathErrorKind {
    /// Nothing but blanks, or an entry of a list that is: `a,,b`.
    #[error("is empty")]
    Empty,
    /// Nothing between two dots, or behind the last: `a..b`, `a.`, `.a`.
    #[error("has an empty segment")]
    EmptySegment,
    /// `"a.b`
    #[error("has a quote that is not closed")]
    UnclosedQuote,
    /// A quoted name that is not a JSON string: `"\x"`.
    #[error("has a quoted name that is not a JSON string")]
    InvalidQuotedName,
    /// `a[`, `a[0`
    #[error("has a bracket that is not closed")]
    UnclosedBracket,
    /// `a[-1]`
    #[error("has a negative index")]
    NegativeIndex,
    /// `a[99999999999]`
    #[error("has an index that no list reaches")]
    HugeIndex,
    /// Something else within brackets: `a[x]`, `a["x"]`, `a[01]`.
    #[error("has brackets around what is not an index")]
    InvalidIndex,
    /// A character that does not belong there: `a b`, `a]`, `a*`, `a[0]b`.
    #[error("has an unexpected character")]
    Unexpected,
    /// More characters than [`crate::MAX_PATH_CHARS`].
    #[error("is longer than 1000 characters")]
    TooLong,
    /// More steps than [`crate::MAX_PATH_STEPS`].
    #[error("has more than 127 segments")]
    TooManySteps,
    /// More paths than [`crate::MAX_PATHS`] in one list.
    #[error("belongs to a list of more than 10000 paths, which end")]
    TooManyPaths,
}

impl PathError {
    pub(crate) fn new(kind: PathErrorKind, text: &str, offset: usize) -> Self {
        let text = beginning(text, EXCERPT).into_owned();
        Self { kind, text, offset }
    }

    /// The stable word for this error.
    pub fn code(&self) -> ErrorCode {
        match self.kind {
            PathErrorKind::TooLong | PathErrorKind::TooManySteps | PathErrorKind::TooManyPaths => {
                ErrorCode::LimitExceeded
            }
            _ => ErrorCode::ProjectionInvalid,
        }
    }

    /// One next step.
    pub fn advice(&self) -> &'static str {
        match self.kind {
            PathErrorKind::Empty => "name a field: `items[].id`",
            PathErrorKind::EmptySegment => {
                "write a name between dots; a field whose name is empty is `\"\"`"
            }
            PathErrorKind::UnclosedQuote => "close the quote; a quote within a name is `\\\"`",
            PathErrorKind::InvalidQuotedName => {
                "write the quoted name as a JSON string, with JSON's escapes"
            }
            PathErrorKind::UnclosedBracket => {
                "close the bracket: `[]` for each item, `[0]` for one"
            }
            PathErrorKind::NegativeIndex => "count items from the first, which is `[0]`",
            PathErrorKind::HugeIndex => "use `[]` for each item, or a smaller index",
            PathErrorKind::InvalidIndex => {
                "write `[]` for each item, a number such as `[0]`, or a name behind a dot: `b.c`"
            }
            PathErrorKind::Unexpected => {
                "put dots between names, and quote a name with odd characters: `\"a b\".id`"
            }
            PathErrorKind::TooLong | PathErrorKind::TooManySteps => "ask for a field further up",
            PathErrorKind::TooManyPaths => "ask for fewer fields, or for their parents",
        }
    }
}

/// The beginning of a text, of so many characters, and a mark where there are more.
pub(crate) fn beginning(text: &str, chars: usize) -> Cow<'_, str> {
    match text.char_indices().nth(chars) {
        Some((end, _)) => format!("{}…", &text[..end]).into(),
        None => text.into(),
    }
}
