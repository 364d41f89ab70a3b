//! Why nothing of a result is shown, although it is there.

use crossfeed_json::JsonError;
use crossfeed_wire::{ErrorCode, Fault};

/// Why nothing of a result is shown, although it is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RevealError {
    /// JSON beyond a limit, of a tool some of whose fields are never revealed: 128 lists within each
    /// other.
    #[error("the result is withheld: cannot decide which parts may be revealed: {0}")]
    Unjudged(JsonError),
}

impl RevealError {
    /// The stable code.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        ErrorCode::LimitExceeded
    }

    /// Who can act.
    #[must_use]
    pub fn fault(&self) -> Fault {
        Fault::Model
    }

    /// One next step.
    #[must_use]
    pub fn advice(&self) -> &'static str {
        match self {
            Self::Unjudged(_) => "try: a call that returns less, or flatter, data",
        }
    }
}
