//! The errors of schemas.

use crossfeed_json::MAX_DEPTH;
use crossfeed_wire::{ErrorCode, Fault, Pointer};

/// A tool's own schema is not a schema, or cannot be judged offline.
///
/// Such a tool is listed as it came, and a call of it that holds a reference never runs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// It is neither an object nor a boolean: `"string"`.
    #[error("a schema is an object or a boolean, this is {found}")]
    NoSchema {
        /// The kind of the value found.
        found: &'static str,
    },
    /// A keyword has a value that its dialect does not allow: `{"type": "objekt"}`.
    #[error("the schema is not valid at `{at}`: {message}")]
    Invalid {
        /// Where in the schema.
        at: Pointer,
        /// The fault there.
        message: String,
    },
    /// A `$ref` that leads nowhere: `{"$ref": "#/$defs/gone"}`.
    #[error("`{reference}` at `{at}` leads nowhere")]
    Dangling {
        /// Where in the schema.
        at: Pointer,
        /// The reference as it is written.
        reference: String,
    },
    /// A `$ref` that leads back to itself without a step into the value.
    #[error("`{reference}` at `{at}` leads back to itself")]
    Cyclic {
        /// Where in the schema.
        at: Pointer,
        /// The reference as it is written.
        reference: String,
    },
    /// A `$ref` to another document. Nothing is fetched.
    #[error("`{reference}` at `{at}` is in another document, and nothing is fetched")]
    Remote {
        /// Where in the schema.
        at: Pointer,
        /// The reference as it is written.
        reference: String,
    },
    /// It nests too deep: 1,000 levels of `properties`.
    #[error("the schema nests deeper than {MAX_DEPTH}")]
    TooDeep,
    /// The list that it came in holds more than is worked on: `ListOptions::stop`.
    #[error("its server's list takes more time or room than one list may")]
    Unjudged,
    /// A part that something refers to cannot keep its address.
    #[error("`{reference}` at `{at}` cannot be kept right when the schema is rewritten")]
    Unmovable {
        /// Where in the schema.
        at: Pointer,
        /// The reference as it is written.
        reference: String,
    },
}

impl SchemaError {
    /// The stable code.
    pub fn code(&self) -> ErrorCode {
        ErrorCode::SchemaInvalid
    }

    /// Who can act.
    pub fn fault(&self) -> Fault {
        Fault::Host
    }

    /// Where in the schema, where it is one place.
    pub fn at(&self) -> Option<&Pointer> {
        match self {
            Self::Invalid { at, .. }
            | Self::Dangling { at, .. }
            | Self::Cyclic { at, .. }
            | Self::Remote { at, .. }
            | Self::Unmovable { at, .. } => Some(at),
            Self::NoSchema { .. } | Self::TooDeep | Self::Unjudged => None,
        }
    }
}
