//! The answers of a store: the value, or why it is missing.

use crate::{ResultKind, StoredArtifact, StoredResult};
use bytes::Bytes;
use crossfeed_wire::{ArtifactId, CallId};
use derive_setters::Setters;
use std::{fmt, sync::Arc};

/// The outcome of recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a record is new or it is not; anything else is an error"
)]
pub enum Recorded {
    /// The record is new.
    New,
    /// The same record exists already; it stays and counts as used.
    Unchanged,
}

/// The outcome of a look-up: the value under an id, or why it is missing.
#[derive(Clone, Debug)]
#[expect(
    clippy::exhaustive_enums,
    reason = "it is there, or there is a reason why it is not"
)]
pub enum Lookup<T = StoredResult, M = Missing> {
    /// The value. It stays valid while it is held, even after it leaves the store. A result cannot leave while it
    /// is held, see [pinning](crate::ResultStore#pinning).
    Found(Arc<T>),
    /// It is missing, and why.
    Missing(M),
}

/// The outcome of a look-up of an artifact.
pub type ArtifactLookup = Lookup<StoredArtifact, ArtifactMissing>;

impl<T, M> Lookup<T, M> {
    /// The value, if it was found.
    pub fn found(self) -> Option<Arc<T>> {
        match self {
            Self::Found(stored) => Some(stored),
            Self::Missing(_) => None,
        }
    }
}

/// Why there is no result.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "each has an error code of its own, so a new one is a change for every reader"
)]
pub enum Missing {
    /// Nothing is known of this id in this scope.
    Unknown,
    /// It has expired.
    Expired(Tombstone),
    /// It was evicted to make room.
    Evicted(Tombstone),
    /// The call is [in flight](crate::CallLeases), in this process or another: how to repeat it, as far as it is
    /// known.
    InFlight(Tombstone),
}

/// The record of a missing result: its call, and whether the call may be repeated.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Tombstone {
    tool: Option<Arc<str>>,
    arguments: Option<Bytes>,
    repeatable: bool,
}

impl Tombstone {
    /// A tombstone keeps arguments up to this length. Longer ones could not be shown to a model anyway.
    pub const MAX_ARGUMENTS: usize = 4096;

    /// The tombstone of a call that is not repeatable: its tool, and its arguments if they have at most 4 KiB.
    pub fn new(tool: Option<Arc<str>>, arguments: Option<&[u8]>) -> Self {
        Self {
            tool,
            // A copy, since a slice would keep the whole message alive that it was cut from.
            arguments: arguments
                .filter(|arguments| arguments.len() <= Self::MAX_ARGUMENTS)
                .map(Bytes::copy_from_slice),
            repeatable: false,
        }
    }

    /// Says whether the call may be made again without harm, see [`StoredResult::with_repeatable`].
    pub fn with_repeatable(mut self, repeatable: bool) -> Self {
        self.repeatable = repeatable;
        self
    }

    /// The tombstone for `result`.
    pub fn from_result(result: &StoredResult) -> Self {
        Self::new(
            result.shared_tool(),
            result.arguments().map(|arguments| &arguments[..]),
        )
        .with_repeatable(result.repeatable())
    }

    /// The tool that was called, where it is known.
    pub fn tool(&self) -> Option<&str> {
        self.tool.as_deref()
    }

    /// The raw JSON of its arguments, if known and short.
    pub fn arguments(&self) -> Option<&Bytes> {
        self.arguments.as_ref()
    }

    /// Whether the call may be made again without harm.
    pub fn repeatable(&self) -> bool {
        self.repeatable
    }
}

/// Shapes only: arguments have no place in logs.
impl fmt::Debug for Tombstone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tombstone")
            .field("tool", &self.tool)
            .field("arguments", &self.arguments.as_ref().map(Bytes::len))
            .field("repeatable", &self.repeatable)
            .finish()
    }
}

/// Why there is no artifact.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "each has an error code of its own, so a new one is a change for every reader"
)]
pub enum ArtifactMissing {
    /// Nothing is known of these ids in this scope.
    Unknown,
    /// It has expired. The tombstone names the tool, never its arguments.
    Expired(Tombstone),
}

/// One line of [`list_artifacts`](crate::ResultStore::list_artifacts).
#[derive(Clone, PartialEq, Eq, Setters)]
#[setters(prefix = "with_")]
#[non_exhaustive]
pub struct ListedArtifact {
    /// The artifact's own id.
    #[setters(skip)]
    pub artifact_id: ArtifactId,
    /// The call whose result it was made from.
    #[setters(skip)]
    pub call_id: CallId,
    /// The tool that was called, where it is known.
    pub tool: Option<Arc<str>>,
    /// Length of the full data.
    #[setters(skip)]
    pub bytes: usize,
    /// Whether it is too large to be brought into a model's context.
    pub retrieval_blocked: bool,
    /// The summary as JSON, where there is one.
    pub summary: Option<Bytes>,
    /// Whether the stored artifact is damaged. Then only its ids are given, as they are now, and getting it is
    /// [`StoreError::Damaged`](crate::StoreError::Damaged).
    pub damaged: bool,
}

impl ListedArtifact {
    /// The line for an artifact without a summary, of a tool that is not known.
    pub fn new(artifact_id: ArtifactId, call_id: CallId, bytes: usize) -> Self {
        Self {
            artifact_id,
            call_id,
            tool: None,
            bytes,
            retrieval_blocked: false,
            summary: None,
            damaged: false,
        }
    }

    /// The line for `artifact`.
    pub fn from_artifact(artifact: &StoredArtifact) -> Self {
        Self::new(
            artifact.artifact_id().clone(),
            artifact.call_id().clone(),
            artifact.document().raw().len(),
        )
        .with_tool(artifact.shared_tool())
        .with_retrieval_blocked(artifact.retrieval_blocked())
        .with_summary(artifact.summary().map(|summary| summary.raw().clone()))
    }
}

/// Shapes only: a summary's values have no place in logs.
impl fmt::Debug for ListedArtifact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ListedArtifact")
            .field("artifact_id", &self.artifact_id)
            .field("call_id", &self.call_id)
            .field("tool", &self.tool)
            .field("bytes", &self.bytes)
            .field("retrieval_blocked", &self.retrieval_blocked)
            .field("summary_bytes", &self.summary.as_ref().map(Bytes::len))
            .field("damaged", &self.damaged)
            .finish()
    }
}

/// One line of [`list`](crate::ResultStore::list).
#[derive(Clone, Debug, PartialEq, Eq, Setters)]
#[setters(prefix = "with_")]
#[non_exhaustive]
pub struct Listed {
    /// The call.
    #[setters(skip)]
    pub call_id: CallId,
    /// The tool that was called, where it is known.
    pub tool: Option<Arc<str>>,
    /// The kind of the bytes.
    #[setters(skip)]
    pub kind: ResultKind,
    /// Whether the call failed.
    pub failed: bool,
    /// Length of the raw bytes.
    #[setters(skip)]
    pub bytes: usize,
}

impl Listed {
    /// The line for a call that succeeded, of a tool that is not known.
    pub fn new(call_id: CallId, kind: ResultKind, bytes: usize) -> Self {
        Self {
            call_id,
            tool: None,
            kind,
            failed: false,
            bytes,
        }
    }

    /// The line for `result`.
    pub fn from_result(call_id: CallId, result: &StoredResult) -> Self {
        Self::new(call_id, result.kind(), result.document().raw().len())
            .with_tool(result.shared_tool())
            .with_failed(result.failed())
    }
}

/// How much a store holds, as last measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Usage {
    /// Sessions of which anything is known.
    pub sessions: usize,
    /// Results, those included that have expired unseen.
    pub results: usize,
    /// Their bytes.
    pub result_bytes: usize,
    /// Artifacts.
    pub artifacts: usize,
    /// Their bytes.
    pub artifact_bytes: usize,
    /// Results evicted since the store was made.
    pub evicted: u64,
    /// Results expired since the store was made.
    pub expired: u64,
}
