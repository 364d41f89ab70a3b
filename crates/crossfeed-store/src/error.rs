//! Why a request to a store failed.

use crate::Tombstone;
use crossfeed_wire::{ArtifactId, CallId, ErrorCode, Fault};
use std::{error::Error, iter::successors, time::Duration};

/// The limit that refuses a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, strum::Display)]
#[non_exhaustive]
pub enum Budget {
    /// Bytes of results in one session.
    #[strum(to_string = "bytes of results in a session")]
    SessionBytes,
    /// Number of results in one session.
    #[strum(to_string = "results in a session")]
    SessionResults,
    /// Bytes of results in the whole store.
    #[strum(to_string = "bytes of results in all")]
    TotalBytes,
    /// Number of results in the whole store.
    #[strum(to_string = "results in all")]
    TotalResults,
    /// Bytes of artifacts in one session.
    #[strum(to_string = "bytes of artifacts in a session")]
    ArtifactBytes,
    /// Number of artifacts in one session.
    #[strum(to_string = "artifacts in a session")]
    SessionArtifacts,
}

impl Budget {
    /// What to remove to make room: unused results, or sessions with their artifacts.
    fn advice(self) -> &'static str {
        match self {
            Self::SessionBytes | Self::SessionResults => {
                "try again when calls of this session that use its results have ended, or raise the limit"
            }
            Self::TotalBytes | Self::TotalResults => {
                "try again when running calls have ended, or raise the limit"
            }
            Self::ArtifactBytes => "store smaller artifacts, or raise the limit",
            Self::SessionArtifacts => {
                "use the artifacts that are there, begin another session, or raise the limit"
            }
        }
    }
}

/// Why a store failed. A missing result is not an error, see
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
        /// The bytes or number to be stored.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// There is no room, because the rest is in use by running calls, or is artifacts.
    #[error("no room for {bytes} bytes more: the limit of {limit} {budget} is taken")]
    Full {
        /// The bytes or number to be stored.
        bytes: usize,
        /// The kind of limit.
        budget: Budget,
        /// The limit.
        limit: usize,
    },
    /// Another process, or another request of this one, has been writing for too long.
    #[error("the store is locked: another process has been writing for more than {} ms", waited.as_millis())]
    Locked {
        /// How long this request waited.
        waited: Duration,
        /// The backend's error.
        source: Box<dyn Error + Send + Sync>,
    },
    /// The disk or memory of the backend is full, or its share of it. Stored data can still be read.
    #[error("the store cannot write: it has no space left")]
    NoSpace {
        /// The backend's error.
        source: Box<dyn Error + Send + Sync>,
    },
    /// The store can be read only: its directory is not to be written, or it was opened that way.
    #[error("the store cannot write: it can only be read")]
    ReadOnly {
        /// The backend's error, if any.
        source: Option<Box<dyn Error + Send + Sync>>,
    },
    /// The backend's data is damaged. It stays as it is, unless recording the same data again repairs it.
    #[error("the store is damaged: {damage}")]
    Damaged {
        /// The damaged part.
        damage: Damage,
        /// What of it is damaged, or the backend's error, if that is known.
        source: Option<Box<dyn Error + Send + Sync>>,
    },
    /// Bytes that a record names are not what was kept. Whoever reads the record says which.
    #[error("stored bytes are not as they were recorded")]
    DamagedBlob,
    /// There is no store, and none was to be made.
    #[error("there is no store in this directory")]
    Absent,
    /// A later version wrote the data.
    #[error("the store has format {found}, and this version knows formats up to {known}")]
    Newer {
        /// The format of the data.
        found: i64,
        /// The latest format that is known.
        known: i64,
    },
    /// The data belongs to another program. It is left as it is.
    #[error("the store's directory holds files that crossfeed did not write")]
    Foreign,
    /// The backend did not answer, or not sensibly: its server is away.
    #[error("the store cannot answer")]
    Unavailable {
        /// The backend's error.
        source: Box<dyn Error + Send + Sync>,
        /// Whether the same request may succeed when it is made again.
        retry: bool,
    },
}

impl StoreError {
    /// The stable word for this kind of error.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Duplicate { .. } | Self::DuplicateArtifact { .. } => ErrorCode::RecordDuplicate,
            Self::TooLarge { .. } | Self::Full { .. } => ErrorCode::LimitExceeded,
            _ => ErrorCode::StoreUnavailable,
        }
    }

    /// Who can act on it. Ids are given and limits are set by the host, so only a backend's
    /// trouble is not the host's.
    pub fn fault(&self) -> Fault {
        match self.code() {
            ErrorCode::StoreUnavailable => Fault::Backend,
            _ => Fault::Host,
        }
    }

    /// Whether the same request may succeed when it is made again, with nothing else changed.
    pub fn may_retry(&self) -> bool {
        match self {
            Self::Locked { .. } => true,
            Self::Unavailable { retry, .. } => *retry,
            _ => false,
        }
    }

    /// The result, artifact or record of the host that alone is damaged; all others can be read.
    pub fn damaged_record(&self) -> Option<&Damage> {
        match self {
            Self::Damaged {
                damage: Damage::Database,
                ..
            } => None,
            Self::Damaged { damage, .. } => Some(damage),
            _ => None,
        }
    }

    /// One next step for the operator of the store.
    pub fn advice(&self) -> String {
        let advice = match self {
            Self::Duplicate { .. } => "give each call an id of its own",
            Self::DuplicateArtifact { .. } => {
                "give the artifact another id, or use the one that is there"
            }
            Self::TooLarge { .. } => "store less of it, or raise the limit",
            Self::Full { budget, .. } => budget.advice(),
            Self::Locked { .. } => {
                "try again; if it stays locked, look for a process that hangs while it writes"
            }
            Self::NoSpace { .. } => "free space where the store keeps its data, then try again",
            Self::ReadOnly { .. } => {
                "open the store where it may write: make its directory writable, and do not open it for reading only"
            }
            Self::Damaged { damage, .. } => match damage {
                Damage::Artifact { .. } => {
                    "make the artifact again under another id, and check the disk"
                }
                Damage::Result { .. } => {
                    "make the call again if repeating it does no harm, and check where the store keeps its data"
                }
                Damage::Record { .. } => {
                    "remove the record where the store keeps its data, and what it is about begins anew; and check that place"
                }
                Damage::Database => {
                    "stop using the store's directory, keep a copy of it, and restore a backup or begin with an empty one"
                }
            },
            Self::DamagedBlob => "check the storage of large results",
            Self::Absent => "name the directory of a store, or record an artifact to make one",
            Self::Newer { .. } => {
                "use the version of crossfeed that wrote the store, or a later one"
            }
            Self::Foreign => "give the store a directory of its own",
            Self::Unavailable { retry: true, .. } => "try again",
            Self::Unavailable { retry: false, .. } => {
                "trying again does not help: repair the backend first"
            }
        };
        advice.to_owned()
    }
}

/// An error and what caused it, in one line, for an operator: [`StoreError`] itself does not say why a backend failed.
/// A cause that stands there already is left out.
///
/// ```
/// use crossfeed_store::{StoreError, with_causes};
///
/// let error = StoreError::Unavailable { source: "connection refused".into(), retry: true };
/// assert_eq!(with_causes(&error), "the store cannot answer: connection refused");
/// ```
pub fn with_causes(error: &dyn Error) -> String {
    let causes = successors(error.source(), |&cause| cause.source());
    causes.fold(error.to_string(), |line, cause| {
        let cause = cause.to_string();
        if line.ends_with(&cause) {
            line
        } else {
            format!("{line}: {cause}")
        }
    })
}

/// The damaged part of a store.
#[derive(Clone, Debug, PartialEq, Eq, strum::Display)]
#[non_exhaustive]
pub enum Damage {
    /// One artifact; the others can be read.
    #[strum(to_string = "artifact `{artifact_id}` of call `{call_id}` is not as it was recorded")]
    Artifact {
        /// The artifact.
        artifact_id: ArtifactId,
        /// The call it belongs to.
        call_id: CallId,
    },
    /// One result; the others can be read.
    #[strum(to_string = "the result of call `{call_id}` is not as it was recorded")]
    Result {
        /// The call.
        call_id: CallId,
        /// How to repeat it, as far as that can still be read and relied on.
        about: Tombstone,
    },
    /// One record of the host; the others can be read.
    #[strum(to_string = "the record `{key}` is not as it was written")]
    Record {
        /// The key of the record.
        key: String,
    },
    /// The tables of the store, so that nothing can be relied on.
    #[strum(to_string = "its database cannot be read")]
    Database,
}

#[cfg(test)]
mod tests {
    use super::{Budget, Damage, StoreError, with_causes};
    use crate::Tombstone;
    use crossfeed_wire::{ArtifactId, CallId, ErrorCode, Fault};
    use std::time::Duration;

    fn check(error: &StoreError, message: &str, code: ErrorCode, fault: Fault) {
        assert_eq!(error.to_string(), message);
        assert!(!error.advice().is_empty() && !error.advice().contains('\n'));
        assert_eq!((error.code(), error.fault()), (code, fault));
    }

    #[derive(Debug, thiserror::Error)]
    #[error("io: {source}")]
    struct Repeating {
        source: std::io::Error,
    }

    #[test]
    fn a_cause_is_said_once() {
        let source = std::io::Error::other("refused");
        let error = StoreError::NoSpace {
            source: Box::new(Repeating { source }),
        };
        let said = "the store cannot write: it has no space left: io: refused";
        assert_eq!(with_causes(&error), said);
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
        for (error, message) in [
            (
                StoreError::Locked {
                    waited: Duration::from_secs(5),
                    source: "busy".into(),
                },
                "the store is locked: another process has been writing for more than 5000 ms",
            ),
            (
                StoreError::NoSpace {
                    source: "full".into(),
                },
                "the store cannot write: it has no space left",
            ),
            (
                StoreError::ReadOnly { source: None },
                "the store cannot write: it can only be read",
            ),
            (
                StoreError::Damaged {
                    damage: Damage::Database,
                    source: None,
                },
                "the store is damaged: its database cannot be read",
            ),
            (
                StoreError::Damaged {
                    damage: Damage::Result {
                        call_id: CallId::parse("call_1").unwrap(),
                        about: Tombstone::default(),
                    },
                    source: None,
                },
                "the store is damaged: the result of call `call_1` is not as it was recorded",
            ),
            (
                StoreError::Damaged {
                    damage: Damage::Record {
                        key: "gateway/key/0".to_owned(),
                    },
                    source: None,
                },
                "the store is damaged: the record `gateway/key/0` is not as it was written",
            ),
            (StoreError::Absent, "there is no store in this directory"),
            (
                StoreError::Newer { found: 7, known: 1 },
                "the store has format 7, and this version knows formats up to 1",
            ),
            (
                StoreError::Foreign,
                "the store's directory holds files that crossfeed did not write",
            ),
        ] {
            assert_eq!(
                error.may_retry(),
                matches!(error, StoreError::Locked { .. })
            );
            check(&error, message, ErrorCode::StoreUnavailable, Fault::Backend);
        }
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
