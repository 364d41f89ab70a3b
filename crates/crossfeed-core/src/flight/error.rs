//! Why a call does not begin.

use crossfeed_store::StoreError;
use crossfeed_wire::{CallId, ErrorCode, Fault};

/// Why a call does not begin.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BeginError {
    /// The id is taken by a call that is in flight or has a result.
    #[error("call `{call_id}` was begun or recorded before")]
    Duplicate {
        /// The call.
        call_id: CallId,
    },
    /// Too many calls of the session are in flight.
    #[error("{limit} calls of this session are in flight, which is the limit")]
    TooMany {
        /// How many there may be.
        limit: usize,
    },
    /// The store failed to tell whether the id is taken.
    #[error("the call cannot begin, because the store does not answer")]
    Store(#[from] StoreError),
}

impl BeginError {
    pub(super) fn duplicate(call_id: &CallId) -> Self {
        Self::Duplicate {
            call_id: call_id.clone(),
        }
    }

    /// The stable code.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Duplicate { .. } => ErrorCode::RecordDuplicate,
            Self::TooMany { .. } => ErrorCode::LimitExceeded,
            Self::Store(error) => error.code(),
        }
    }

    /// Who can act.
    pub fn fault(&self) -> Fault {
        match self {
            Self::Duplicate { .. } | Self::TooMany { .. } => Fault::Host,
            Self::Store(error) => error.fault(),
        }
    }

    /// One next step.
    pub fn advice(&self) -> String {
        match self {
            Self::Duplicate { .. } => "give each call an id of its own".to_owned(),
            Self::TooMany { limit: 0 } => "raise the limit: with 0 no call can begin".to_owned(),
            Self::TooMany { .. } => {
                "begin it when other calls have returned or were given up, or raise the limit"
                    .to_owned()
            }
            Self::Store(error) => error.advice(),
        }
    }
}
