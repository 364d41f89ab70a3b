//! References to what no call returned: a file of the host, or a resource of a server (`specs/references.md#inputs`).

use super::{FILE, RESOURCE, Sentinel};
use crate::CallId;
use std::{fmt, sync::Arc};

/// The longest path or URI that is accepted, in bytes: as long as a path may be on most systems.
const MAX_NAME_BYTES: usize = 4096;

/// The bytes of a name in the id that stands for it in messages.
const MAX_SHOWN_BYTES: usize = 200;

/// What a reference names in place of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(
    clippy::exhaustive_enums,
    reason = "the grammar has these and no other"
)]
pub enum InputKind {
    /// `$file`: a path.
    File,
    /// `$resource`: a URI.
    Resource,
}

impl InputKind {
    pub(super) const ALL: [(Self, Sentinel); 2] = [(Self::File, FILE), (Self::Resource, RESOURCE)];

    /// Its key without a sign: `file` or `resource`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Resource => "resource",
        }
    }
}

/// Why a text is not the name of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NameError {
    /// The text is empty: `{"$file": ""}`.
    #[error("it must not be empty")]
    Empty,
    /// The text is longer than 4096 bytes.
    #[error("it has at most {MAX_NAME_BYTES} bytes, this one has {bytes}")]
    TooLong {
        /// Length of the text that was given, in bytes.
        bytes: usize,
    },
    /// The text holds a control character: `{"$file": "a\u0000b"}`.
    #[error("it must not hold control characters")]
    ControlCharacter,
}

/// A file or a resource that a reference names.
///
/// # Invariants
///
/// The name has 1 to 4096 bytes of UTF-8 without control characters. Whether it names something, and may be read, is
/// the host's to judge. Cloning shares the text.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Input {
    kind: InputKind,
    name: Arc<str>,
}

impl Input {
    /// Checks and takes a name.
    ///
    /// # Errors
    ///
    /// [`NameError`] when the text is empty, longer than 4096 bytes or holds a control character.
    pub fn parse(kind: InputKind, name: &str) -> Result<Self, NameError> {
        if name.is_empty() {
            return Err(NameError::Empty);
        }
        if name.len() > MAX_NAME_BYTES {
            return Err(NameError::TooLong { bytes: name.len() });
        }
        if name.chars().any(char::is_control) {
            return Err(NameError::ControlCharacter);
        }
        let name = name.into();
        Ok(Self { kind, name })
    }

    /// What it is.
    pub fn kind(&self) -> InputKind {
        self.kind
    }

    /// The path or URI, as it was written.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// An id for messages, where that of a call stands otherwise: `$file:notes.txt`. It names no call.
    pub(super) fn shown_id(&self) -> Option<CallId> {
        CallId::parse(&format!("${}:{}", self.kind.as_str(), self.shown())).ok()
    }

    /// The beginning of the name.
    fn shown(&self) -> &str {
        let ends = (0..=MAX_SHOWN_BYTES.min(self.name.len())).rev();
        let mut starts = ends.filter_map(|end| self.name.get(..end));
        starts.next().unwrap_or_default()
    }
}

/// As a message names it: ``file `notes.txt` ``.
impl fmt::Display for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.shown();
        let more = if shown.len() < self.name.len() {
            "…"
        } else {
            ""
        };
        write!(f, "{} `{shown}{more}`", self.kind.as_str())
    }
}
