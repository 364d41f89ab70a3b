//! Why a store did not do what it was asked.

use crossfeed_wire::{ArtifactId, CallId, ErrorCode, Fault};
use std::{error::Error, fmt};

/// Which limit stands in the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Budget {
    /// Bytes of results in one session.
    SessionBytes,
    /// Number of results in one session.
    SessionResults,
    /// Bytes of results in the whole store.
    TotalBytes,
    /// Bytes of artifacts in one session.
    ArtifactBytes,
    /// Number of artifacts in one session.
    SessionArtifacts,
}

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::SessionBytes => "bytes of results in a session",
            Self::SessionResults => "results in a session",
            Self::TotalBytes => "bytes of results in all",
            Self::ArtifactBytes => "bytes of artifacts in a session",
            Self::SessionArtifacts => "artifacts in a session",
        })
    }
}

/// Why a store did not do what it was asked. A result that is not there is no error, see
/// [`Missing`](crate::Missing).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The call was recorded before with other bytes, another kind, or as failed when this one is
    /// not: `put(call_1, [1])`, then `put(call_1, [2])`. The first record stays.
    #[error("call `{call_id}` was recorded before with another result")]
    Duplicate {
        /// The call that is recorded already.
        call_id: CallId,
    },
    /// The artifact was recorded before with other data. The first one stays.
    #[error("artifact `{artifact_id}` of call `{call_id}` was recorded before with other data")]
    DuplicateArtifact {
        /// The artifact that is recorded already.
        artifact_id: ArtifactId,
        /// The call it belongs to.
        call_id: CallId,
    },
    /// It would not fit even if nothing else were there: 300 MiB where a session may hold 256.
    #[error("{bytes} bytes are more than may be stored at once ({limit})")]
    TooLarge {
        /// What was to be stored.
        bytes: usize,
        /// The most that can be.
        limit: usize,
    },
    /// There is no room, and what takes the room may not go: it is in use by running calls, or it
    /// is an artifact.
    #[error("no room for {bytes} bytes more: the limit of {limit} {budget} is taken")]
    Full {
        /// What was to be stored.
        bytes: usize,
        /// Which limit.
        budget: Budget,
        /// How much it allows.
        limit: usize,
    },
    /// The backend did not answer, or not sensibly: its server is away, its disk is full.
    #[error("the store cannot answer")]
    Unavailable {
        /// What the backend said.
        source: Box<dyn Error + Send + Sync>,
        /// Whether the same request may succeed when it is made again.
        retry: bool,
    },
}

impl StoreError {
    /// The stable word for this kind of error.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Duplicate { .. } | Self::DuplicateArtifact { .. } => ErrorCode::RecordDuplicate,
            Self::TooLarge { .. } | Self::Full { .. } => ErrorCode::LimitExceeded,
            Self::Unavailable { .. } => ErrorCode::StoreUnavailable,
        }
    }

    /// Who can act on it. Ids are given and limits are set by the host, so only a backend's
    /// trouble is not the host's.
    #[must_use]
    pub fn fault(&self) -> Fault {
        match self {
            Self::Duplicate { .. }
            | Self::DuplicateArtifact { .. }
            | Self::TooLarge { .. }
            | Self::Full { .. } => Fault::Host,
            Self::Unavailable { .. } => Fault::Backend,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Budget, StoreError};
    use crossfeed_wire::{ArtifactId, CallId, ErrorCode, Fault};

    fn check(error: &StoreError, message: &str, code: ErrorCode, fault: Fault) {
        assert_eq!(error.to_string(), message);
        assert_eq!((error.code(), error.fault()), (code, fault));
    }

    #[test]
    fn each_error_has_its_words() {
        let call_id = CallId::parse("call_1").unwrap();
        let artifact_id = ArtifactId::parse("report").unwrap();
        check(
            &StoreError::Duplicate {
                call_id: call_id.clone(),
            },
            "call `call_1` was recorded before with another result",
            ErrorCode::RecordDuplicate,
            Fault::Host,
        );
        check(
            &StoreError::DuplicateArtifact {
                artifact_id,
                call_id,
            },
            "artifact `report` of call `call_1` was recorded before with other data",
            ErrorCode::RecordDuplicate,
            Fault::Host,
        );
        check(
            &StoreError::TooLarge {
                bytes: 2000,
                limit: 1000,
            },
            "2000 bytes are more than may be stored at once (1000)",
            ErrorCode::LimitExceeded,
            Fault::Host,
        );
        check(
            &StoreError::Full {
                bytes: 300,
                budget: Budget::SessionBytes,
                limit: 1000,
            },
            "no room for 300 bytes more: the limit of 1000 bytes of results in a session is taken",
            ErrorCode::LimitExceeded,
            Fault::Host,
        );
        check(
            &StoreError::Unavailable {
                source: "connection refused".into(),
                retry: true,
            },
            "the store cannot answer",
            ErrorCode::StoreUnavailable,
            Fault::Backend,
        );
    }
}
