//! Why an edit is refused: which operation, where, and what to do instead.

use crate::text::{NearestPassage, Occurrence};
use crossfeed_json::Kind;
use crossfeed_wire::Pointer;
use std::fmt;

/// Why an edit was not made; the document is as it was.
///
/// ```
/// use crossfeed_edit::{EditLimits, Patch};
/// use crossfeed_json::Document;
/// use serde_json::json;
///
/// let limits = EditLimits::default();
/// let patch = Patch::read(&json!([{"op": "remove", "path": "/titel"}]), &limits)?;
/// let document = Document::new(r#"{"title": "x"}"#);
/// let error = patch.apply(document.root()?, None, &limits).unwrap_err();
/// assert_eq!(error.to_string(), "operation 0 at `/titel`: there is no such value");
/// assert_eq!(error.advice(), "keys there that are alike: `title`");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EditError {
    /// The operation of the patch, or the text edit, counted from 0; `None` for a merge, and where the edit as
    /// a whole is wrong.
    pub operation: Option<usize>,
    /// The place in the document that the operation, or the merge, names.
    pub pointer: Option<Pointer>,
    /// What is wrong.
    pub kind: EditErrorKind,
}

impl EditError {
    /// One next step.
    pub fn advice(&self) -> String {
        self.kind.advice()
    }
}

impl fmt::Display for EditError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(operation) = self.operation {
            write!(f, "operation {operation}")?;
        }
        if let Some(pointer) = &self.pointer {
            let text = pointer.as_str();
            let shown: String = text.chars().take(MAX_POINTER_CHARS).collect();
            let more = if shown.len() < text.len() { "…" } else { "" };
            let space = if self.operation.is_some() { " " } else { "" };
            write!(f, "{space}at `{shown}{more}`")?;
        }
        if self.operation.is_some() || self.pointer.is_some() {
            f.write_str(": ")?;
        }
        self.kind.fmt(f)
    }
}

impl std::error::Error for EditError {}

/// Of an edit as a whole.
impl From<EditErrorKind> for EditError {
    fn from(kind: EditErrorKind) -> Self {
        Self {
            operation: None,
            pointer: None,
            kind,
        }
    }
}

/// A message shows at most so much of a pointer.
const MAX_POINTER_CHARS: usize = 200;

/// What is wrong with an edit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EditErrorKind {
    /// The edit as a whole, an operation of it, or a member of an operation has the wrong type:
    /// `{"op": "remove", "path": 5}`.
    #[error("{} must be {}, not {}", part, expected, name(*found))]
    WrongType {
        /// What has the wrong type.
        part: &'static str,
        /// What it must be.
        expected: &'static str,
        /// The type that it has.
        found: Kind,
    },
    /// An operation lacks a member that it must have: `{"op": "add", "path": "/a"}`.
    #[error("`{member}` is missing")]
    MissingMember {
        /// The member.
        member: &'static str,
    },
    /// A text edit has a member that it does not know: `{"old": "a", "new": "b", "each": true}`.
    #[error("unknown member `{member}`")]
    UnknownMember {
        /// The member, shortened.
        member: String,
    },
    /// `op` names none of the six operations: `{"op": "set", "path": "/a"}`.
    #[error("unknown operation `{op}`")]
    UnknownOperation {
        /// The name, shortened.
        op: String,
    },
    /// `path` or `from` is not a JSON Pointer: `a/b`, `/a~2`.
    #[error("`{member}` is not a JSON Pointer")]
    InvalidPointer {
        /// `path` or `from`.
        member: &'static str,
    },
    /// `old` is empty.
    #[error("`old` is empty")]
    EmptyOld,
    /// `old` and `new` are the same text.
    #[error("`old` and `new` are the same")]
    SameText,
    /// Nothing is at the pointer. What is withheld is not there, either.
    #[error("there is no such value")]
    NotFound {
        /// Keys of the innermost object on the way that are like the one that it lacks.
        nearest: Vec<String>,
    },
    /// The pointer leads on through a value that is neither an object nor a list.
    #[error("the pointer leads into {}", name(*found))]
    NotAContainer {
        /// The type of that value.
        found: Kind,
    },
    /// A list is addressed by something that is not an index: `/items/01`, `/items/first`.
    #[error("`{token}` is not an index of a list")]
    InvalidIndex {
        /// The part of the pointer, shortened.
        token: String,
    },
    /// A list has fewer items: `/items/7`.
    #[error("the list has {len} items only")]
    IndexOutOfRange {
        /// The items that it has.
        len: usize,
    },
    /// A `test` found another value.
    #[error("the test found another value, {}", name(*found))]
    TestFailed {
        /// The type of the value that is there.
        found: Kind,
    },
    /// A value is moved into itself: from `/a` to `/a/b`.
    #[error("a value cannot be moved into itself")]
    IntoItself,
    /// `remove` of the whole value: its pointer is empty.
    #[error("the whole value cannot be removed")]
    WholeValue,
    /// The operation would replace, remove, copy or move something that the edit may not touch. Whether that
    /// is the value itself or something in it is not said.
    #[error("this change is not allowed here")]
    NotAllowed,
    /// A text edit of a value that is not a string.
    #[error("text edits need a string, not {}", name(*found))]
    NotText {
        /// The type of the value.
        found: Kind,
    },
    /// `old` does not occur in the text.
    #[error("`old` does not occur in the text")]
    NoOccurrence {
        /// The passage that is most like it, if any is like enough.
        nearest: Option<NearestPassage>,
    },
    /// `old` occurs more than once, and `all` is not set.
    #[error("`old` occurs {count} times in the text")]
    ManyOccurrences {
        /// How often.
        count: usize,
        /// The first of them.
        first: Vec<Occurrence>,
    },
    /// A limit is exceeded.
    #[error("the edit exceeds the limit of {most} {what}")]
    LimitExceeded {
        /// What is limited.
        what: Limit,
        /// The limit.
        most: u64,
    },
}

/// What an edit is limited in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::Display)]
#[strum(serialize_all = "lowercase")]
#[non_exhaustive]
pub enum Limit {
    /// [`EditLimits::operations`](crate::EditLimits::operations).
    Operations,
    /// [`EditLimits::depth`](crate::EditLimits::depth).
    #[strum(serialize = "nested lists and objects")]
    Depth,
    /// [`EditLimits::bytes`](crate::EditLimits::bytes).
    Bytes,
    /// [`EditLimits::steps`](crate::EditLimits::steps).
    Steps,
}

impl Limit {
    pub(crate) fn exceeded(self, most: u64) -> EditErrorKind {
        EditErrorKind::LimitExceeded { what: self, most }
    }
}

impl EditErrorKind {
    /// At an operation, without a place.
    pub(crate) fn of(self, operation: usize) -> EditError {
        EditError {
            operation: Some(operation),
            pointer: None,
            kind: self,
        }
    }

    pub(crate) fn at(self, operation: Option<usize>, pointer: &Pointer) -> EditError {
        EditError {
            operation,
            pointer: Some(pointer.clone()),
            kind: self,
        }
    }

    fn advice(&self) -> String {
        let text = match self {
            Self::WrongType { expected, .. } => return format!("write {expected} there"),
            Self::MissingMember { member } => return format!("add `{member}`"),
            Self::UnknownMember { .. } => "a text edit has `old`, `new` and, if wanted, `all`",
            Self::UnknownOperation { .. } => {
                "`op` is one of `add`, `remove`, `replace`, `move`, `copy`, `test`"
            }
            Self::InvalidPointer { .. } => {
                "begin it with `/`, or leave it empty for the whole value; write `~1` for `/` and `~0` for `~` in a key"
            }
            Self::EmptyOld => "`old` must quote the passage that changes",
            Self::SameText => "`new` must differ from `old`; leave out edits that change nothing",
            Self::NotFound { nearest } if nearest.is_empty() => {
                "name a value that is there; `add` sets a member that is absent"
            }
            Self::NotFound { nearest } => {
                let keys: Vec<_> = nearest.iter().map(|key| format!("`{key}`")).collect();
                return format!("keys there that are alike: {}", keys.join(", "));
            }
            Self::NotAContainer { .. } => "name that value itself, or replace it first",
            Self::InvalidIndex { .. } => {
                "address an item by its index from 0, without leading zeros, or with `add` by `-` for the end"
            }
            Self::IndexOutOfRange { len: 0 } => {
                "the list is empty: `add` at `-` puts the first item in"
            }
            Self::IndexOutOfRange { len } => {
                return format!("the last item is {}; `add` at `-` appends", len - 1);
            }
            Self::TestFailed { .. } => "look at the value as it is now, then write the edit anew",
            Self::IntoItself => "move it to a place outside itself, or copy it",
            Self::WholeValue => "replace it, or name a part of it",
            Self::NotAllowed => "change the members that you see, one by one",
            Self::NotText { .. } => "select a string, or use a patch or a merge",
            Self::NoOccurrence { nearest: None } => {
                "quote the passage exactly as it is in the text"
            }
            Self::NoOccurrence {
                nearest: Some(nearest),
            } => {
                return format!(
                    "the nearest passage is in line {}: {:?}; quote it exactly",
                    nearest.line, nearest.passage
                );
            }
            Self::ManyOccurrences { first, .. } => {
                let places: Vec<_> = first.iter().map(ToString::to_string).collect();
                return format!(
                    "make `old` longer until it occurs once, or set `all`; it occurs in {}",
                    places.join("; ")
                );
            }
            Self::LimitExceeded { .. } => "make fewer or smaller changes at once",
        };
        text.to_owned()
    }
}

/// The name of a type in a sentence.
fn name(kind: Kind) -> &'static str {
    match kind {
        Kind::Null => "null",
        Kind::Boolean => "a boolean",
        Kind::Number => "a number",
        Kind::String => "a string",
        Kind::Array => "a list",
        Kind::Object => "an object",
    }
}

/// A name that a model wrote, as far as a message shows it.
pub(crate) fn shortened(text: &str) -> String {
    const MOST: usize = 64;
    let mut shown: String = text.chars().take(MOST).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}
