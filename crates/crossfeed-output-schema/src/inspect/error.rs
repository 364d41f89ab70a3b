//! The errors of the inspector.

use crossfeed_projection::PathError;
use crossfeed_wire::{ErrorBody, ErrorCode, Fault};

/// Why the inspector cannot answer. The model that asks can mend all of them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InspectError {
    /// A parameter of another type: `{"max_depth": "deep"}`.
    #[error("`{parameter}` is {expected}")]
    Arguments {
        /// Its name; `arguments` for all of them.
        parameter: &'static str,
        /// What it should be.
        expected: &'static str,
    },
    /// `field_path` is not a path: `a..b`.
    #[error(transparent)]
    Path(#[from] PathError),
    /// A place whose schema takes too much work to be read: unions of unions of unions.
    #[error("cannot describe `{path}`: its schema takes too many steps to read")]
    TooMuch {
        /// The path as it was asked for.
        path: String,
    },
    /// A field that is not there: `users[].mial`.
    #[error("`{path}` is unknown: {at} has no field `{name}`")]
    UnknownField {
        /// The path as it was asked for.
        path: String,
        /// What was reached, and where: ``the object `users[]` ``.
        at: String,
        /// The name that it does not have.
        name: String,
        /// Paths that are there and that look like it, up to three.
        nearest: Vec<String>,
        /// Fields that are there, up to ten.
        known: Vec<String>,
    },
    /// `[]` or `[0]` on a value that is not a list: `id[]`.
    #[error("`{path}` is unknown: {at} is not a list")]
    NotAList {
        /// The path as it was asked for.
        path: String,
        /// What was reached, and where.
        at: String,
        /// The path of what was reached.
        instead: String,
    },
    /// The key of the envelope that is opened already: `data.id`.
    #[error("`{path}` is unknown: paths begin inside the envelope's `{key}`")]
    Envelope {
        /// The path as it was asked for.
        path: String,
        /// The key of the envelope.
        key: &'static str,
        /// The same path from where paths begin.
        instead: String,
    },
}

impl InspectError {
    /// The stable code.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Arguments { .. } => ErrorCode::ArgumentsInvalid,
            _ => ErrorCode::ProjectionInvalid,
        }
    }

    /// Who can act.
    pub fn fault(&self) -> Fault {
        Fault::Model
    }

    /// The error as it is written in JSON.
    pub fn body(&self) -> ErrorBody {
        let mut body = ErrorBody::new(self.code(), self.to_string());
        body.advice = Some(self.advice());
        body
    }

    /// The fields that are there, and one next step.
    pub fn advice(&self) -> String {
        match self {
            Self::Arguments { parameter, .. } => format!("leave `{parameter}` out, or correct it"),
            Self::TooMuch { .. } => "inspect a place above it".to_owned(),
            Self::Path(error) => error.advice().to_string(),
            Self::UnknownField { nearest, known, .. } => {
                match (nearest.as_slice(), known.as_slice()) {
                    ([], []) => "inspect a place above it".to_owned(),
                    ([], known) => format!("it has: {}", known.join(", ")),
                    (nearest, _) => format!("try: {}", nearest.join(", ")),
                }
            }
            Self::NotAList { instead, .. } | Self::Envelope { instead, .. } => {
                if instead.is_empty() {
                    "try the empty path, which is the whole value".to_owned()
                } else {
                    format!("try: {instead}")
                }
            }
        }
    }
}
