//! Why there is no result to refer to.

use super::{Alternatives, InputError};
use crossfeed_store::{ArtifactMissing, Damage, Missing, StoreError, Tombstone};
use crossfeed_wire::{ArtifactId, CallId, ErrorCode, Fault, reference::Input};
use std::{borrow::Cow, sync::Arc, time::Duration};

/// Why there is no result to refer to.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LookupError {
    /// No such call in this session; a call of another session reads the same.
    #[error("no result of call `{call_id}` is known in this session")]
    Unknown {
        /// The call.
        call_id: CallId,
        /// The calls that have results.
        offer: Alternatives,
    },
    /// The result was kept for its time to live.
    #[error("the result of call `{call_id}` has expired")]
    Expired {
        /// The call.
        call_id: CallId,
        /// The call that returned it.
        tombstone: Tombstone,
    },
    /// The result had to make room.
    #[error("the result of call `{call_id}` had to make room for newer ones")]
    Evicted {
        /// The call.
        call_id: CallId,
        /// The call that returned it.
        tombstone: Tombstone,
    },
    /// The call failed.
    #[error("call `{call_id}` failed: {message}")]
    Failed {
        /// The call.
        call_id: CallId,
        /// The message of the failed call.
        message: String,
        /// The tool, where it is known.
        tool: Option<String>,
        /// Whether the call may be made again without harm.
        repeatable: bool,
    },
    /// The call is in flight: it was begun and has not returned.
    #[error("call `{call_id}` has not returned{}", after(*waited))]
    Pending {
        /// The call.
        call_id: CallId,
        /// How long the reference waited for it; `None` if it did not wait, because waiting is off or another
        /// reference failed.
        waited: Option<Duration>,
    },
    /// The call is in flight in another process.
    #[error("call `{call_id}` runs in another process and has not returned{}", after(*waited))]
    PendingElsewhere {
        /// The call.
        call_id: CallId,
        /// The call.
        tombstone: Tombstone,
        /// How long the reference waited for it, as for [`Self::Pending`].
        waited: Option<Duration>,
    },
    /// The call was in flight, and was given up while a reference waited for it.
    #[error("call `{call_id}` was given up before it returned")]
    GivenUp {
        /// The call.
        call_id: CallId,
        /// The call.
        tombstone: Tombstone,
    },
    /// The call waits for the one that refers to it, by itself or by others: nothing would ever
    /// return.
    #[error("{}", cycle(path))]
    Cycle {
        /// The call.
        call_id: CallId,
        /// The cycle: from the referring call back to itself.
        path: Vec<CallId>,
    },
    /// No such artifact in this session.
    #[error("no artifact `{artifact_id}` of call `{call_id}` is known in this session")]
    ArtifactUnknown {
        /// The artifact.
        artifact_id: ArtifactId,
        /// The call.
        call_id: CallId,
        /// The artifacts of the session.
        offer: Alternatives,
    },
    /// The artifact was kept for its time to live.
    #[error("artifact `{artifact_id}` of call `{call_id}` has expired")]
    ArtifactExpired {
        /// The artifact.
        artifact_id: ArtifactId,
        /// The call.
        call_id: CallId,
        /// The call whose result it was made from.
        tombstone: Tombstone,
    },
    /// A file or resource that a reference names in place of a call.
    #[error("{input} {error}")]
    Input {
        /// Which one.
        input: Input,
        /// Why it cannot be used.
        error: InputError,
    },
    /// The store did not answer, or what it has of this result or artifact is damaged.
    #[error("{}", not_read(.0))]
    Store(#[source] Arc<StoreError>),
}

impl LookupError {
    /// The error for an unknown result.
    pub(crate) fn unknown(call_id: CallId) -> Self {
        let offer = Alternatives::default();
        Self::Unknown { call_id, offer }
    }

    /// The error for a result that a store does not have.
    pub fn missing(call_id: CallId, missing: Missing) -> Self {
        match missing {
            Missing::Unknown => Self::unknown(call_id),
            Missing::Expired(tombstone) => Self::Expired { call_id, tombstone },
            Missing::Evicted(tombstone) => Self::Evicted { call_id, tombstone },
            Missing::InFlight(tombstone) => Self::PendingElsewhere {
                call_id,
                tombstone,
                waited: None,
            },
        }
    }

    /// The error for an artifact that a store does not have.
    pub fn artifact_missing(
        artifact_id: ArtifactId,
        call_id: CallId,
        missing: ArtifactMissing,
    ) -> Self {
        match missing {
            ArtifactMissing::Unknown => Self::ArtifactUnknown {
                artifact_id,
                call_id,
                offer: Alternatives::default(),
            },
            ArtifactMissing::Expired(tombstone) => Self::ArtifactExpired {
                artifact_id,
                call_id,
                tombstone,
            },
        }
    }

    /// Whether the store has no result. After a wait, an expired or evicted one is of an earlier call with this id.
    pub(crate) fn is_without_result(&self) -> bool {
        matches!(
            self,
            Self::Unknown { .. } | Self::Expired { .. } | Self::Evicted { .. }
        )
    }

    /// The stable code.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Unknown { .. } => ErrorCode::ResultUnknown,
            Self::Expired { .. } => ErrorCode::ResultExpired,
            Self::Evicted { .. } => ErrorCode::ResultEvicted,
            Self::Failed { .. } => ErrorCode::ResultFailed,
            Self::Pending { .. } | Self::PendingElsewhere { .. } | Self::GivenUp { .. } => {
                ErrorCode::ResultPending
            }
            Self::Cycle { .. } => ErrorCode::ResultCycle,
            Self::ArtifactUnknown { .. } => ErrorCode::ArtifactUnknown,
            Self::ArtifactExpired { .. } => ErrorCode::ArtifactExpired,
            Self::Input { error, .. } => error.code(),
            Self::Store(_) => ErrorCode::StoreUnavailable,
        }
    }

    /// Who can act.
    pub fn fault(&self) -> Fault {
        match self {
            // Its operator hears of damage by the log; only the model can do without one result.
            Self::Store(error) if error.damaged_record().is_none() => error.fault(),
            Self::Input { error, .. } => error.fault(),
            _ => Fault::Model,
        }
    }

    /// One next step.
    pub fn advice(&self) -> String {
        match self {
            Self::Unknown { offer, .. } => offer.advice(
                "results",
                "use the `_toolCallId` of a result of this session, exactly as it was shown",
            ),
            Self::Expired { tombstone, .. } | Self::Evicted { tombstone, .. } => {
                repeat(tombstone, "the call was made and only its result is gone")
            }
            Self::GivenUp { tombstone, .. } => repeat(tombstone, "the call may have run"),
            Self::ArtifactExpired { tombstone, .. } => {
                repeat(tombstone, "the call was made and only the artifact is gone")
            }
            Self::PendingElsewhere { waited: Some(_), .. } => {
                "refer to that call when it has returned; if it waits for this one, make the calls one after \
                 another"
                    .to_owned()
            }
            Self::Pending { .. } | Self::PendingElsewhere { .. } => {
                "refer to that call when it has returned".to_owned()
            }
            Self::Cycle { .. } => {
                "make these calls one after another, the first of them without a reference to the others"
                    .to_owned()
            }
            Self::Failed { tool, repeatable, .. } => {
                let call = call_again(tool.as_deref());
                if *repeatable {
                    format!("{call} with other arguments, then refer to that call")
                } else {
                    format!(
                        "a call that failed may have had effects: {call}, with other arguments, only if \
                         repeating it is intended"
                    )
                }
            }
            Self::ArtifactUnknown { offer, .. } => offer.advice(
                "artifacts",
                "use the artifact id and call id of an artifact of this session, exactly as they were shown",
            ),
            Self::Input { error, .. } => error.advice(),
            // The store's own advice is for its operator.
            Self::Store(error) => match error.damaged_record() {
                Some(Damage::Result { about, .. }) => {
                    repeat(about, "the call was made and only its result is damaged")
                }
                Some(Damage::Artifact { call_id, .. }) => format!(
                    "refer to the result of call `{call_id}`, or make the artifact again under another id"
                ),
                _ if error.may_retry() => "try again".to_owned(),
                _ => "trying again does not help: go on without stored results".to_owned(),
            },
        }
    }
}

/// Why the store has not given what was asked for, without details of the backend, which are for its operator.
fn not_read(error: &StoreError) -> Cow<'static, str> {
    match error.damaged_record() {
        Some(Damage::Result { call_id, .. }) => {
            format!("the stored result of call `{call_id}` is damaged; others can be read").into()
        }
        Some(Damage::Artifact {
            artifact_id,
            call_id,
        }) => {
            format!("artifact `{artifact_id}` of call `{call_id}` is damaged; others can be read")
                .into()
        }
        _ => "stored results cannot be read at the moment".into(),
    }
}

/// How long a call was waited for.
fn after(waited: Option<Duration>) -> String {
    let waited = waited.map(|waited| format!(" after {} ms", waited.as_millis()));
    waited.unwrap_or_default()
}

/// The most calls of a cycle that are listed.
const MAX_CYCLE_CALLS: usize = 8;

/// The calls of a cycle: `a` -> `b` -> `a`.
fn cycle(path: &[CallId]) -> String {
    let quoted = |id: &CallId| format!("`{id}`");
    match path {
        [one, same] if one == same => format!("call `{one}` refers to itself"),
        [ahead @ .., last] => {
            let listed = ahead.iter().take(MAX_CYCLE_CALLS).map(quoted);
            let more = ahead.len().saturating_sub(MAX_CYCLE_CALLS);
            let more = (more > 0).then(|| format!("{more} more"));
            let all: Vec<_> = listed.chain(more).chain([quoted(last)]).collect();
            format!("the calls wait for each other: {}", all.join(" -> "))
        }
        [] => "the calls wait for each other".to_owned(),
    }
}

/// The next step for a model: `call X again`.
fn call_again(tool: Option<&str>) -> String {
    match tool {
        Some(tool) => format!("call `{tool}` again"),
        None => "make the call again".to_owned(),
    }
}

/// The advice to repeat a call, or, of one that may do harm then, not to. The latter omits the arguments, which
/// would invite repeating it.
fn repeat(tombstone: &Tombstone, what_is_known: &str) -> String {
    let call = call_again(tombstone.tool());
    if !tombstone.repeatable() {
        return format!("{what_is_known}: do not {call} unless repeating it is intended");
    }
    let arguments = tombstone.arguments().filter(|_| tombstone.tool().is_some());
    let arguments = arguments.map(|json| format!(" with {}", String::from_utf8_lossy(json)));
    format!(
        "{call}{}, then refer to that call",
        arguments.unwrap_or_default()
    )
}
