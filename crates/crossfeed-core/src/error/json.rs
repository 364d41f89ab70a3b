//! Arguments that are not valid JSON.

use crossfeed_json::JsonError;
use crossfeed_wire::ErrorCode;

/// Arguments that are not valid JSON: `{url: 1}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the arguments are not valid JSON: {error}")]
#[non_exhaustive]
pub struct NotJson {
    /// What is wrong, and at which byte.
    pub error: JsonError,
}

impl NotJson {
    /// The stable code.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        ErrorCode::ArgumentsInvalid
    }

    /// One next step.
    #[must_use]
    pub fn advice(&self) -> &'static str {
        "write the arguments as one JSON value"
    }
}
