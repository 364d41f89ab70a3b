//! What every store promises.

use crate::{ResultKind, StoreError, StoredArtifact, StoredResult};
use async_trait::async_trait;
use bytes::Bytes;
use crossfeed_wire::{ArtifactId, CallId, Scope};
use std::{fmt, sync::Arc};

/// Arguments beyond this length are not remembered of a result that has gone. Longer ones could not
/// be shown to a model anyway.
const MAX_REMEMBERED_ARGUMENTS: usize = 4096;

/// What became of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a record is new or it is not; anything else is an error"
)]
pub enum Recorded {
    /// It was not there and now is.
    New,
    /// The same was there already; it stays and counts as used.
    Unchanged,
}

/// What a store knows of a call id.
#[derive(Clone, Debug)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a result is there, or there is a reason why it is not"
)]
pub enum Lookup {
    /// The recorded result. It cannot go while this is held, see [pinning](ResultStore#pinning).
    Found(Arc<StoredResult>),
    /// Nothing, and why.
    Missing(Missing),
}

impl Lookup {
    /// The result, if it was found.
    #[must_use]
    pub fn found(self) -> Option<Arc<StoredResult>> {
        match self {
            Self::Found(result) => Some(result),
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
    /// It was kept for its time.
    Expired(Tombstone),
    /// It had to make room.
    Evicted(Tombstone),
}

/// What is remembered of a result that has gone: how to get it again.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Tombstone {
    tool: Option<Arc<str>>,
    arguments: Option<Bytes>,
}

impl Tombstone {
    /// What to remember of a call: its tool, and its arguments if they have at most 4 KiB.
    #[must_use]
    pub fn new(tool: Option<Arc<str>>, arguments: Option<&[u8]>) -> Self {
        Self {
            tool,
            // A copy, since a slice would keep the whole message alive that it was cut from.
            arguments: arguments
                .filter(|arguments| arguments.len() <= MAX_REMEMBERED_ARGUMENTS)
                .map(Bytes::copy_from_slice),
        }
    }

    /// What to remember of `result`.
    #[must_use]
    pub fn of(result: &StoredResult) -> Self {
        Self::new(
            result.shared_tool(),
            result.arguments().map(|arguments| &arguments[..]),
        )
    }

    /// The tool that was called, where it is known.
    #[must_use]
    pub fn tool(&self) -> Option<&str> {
        self.tool.as_deref()
    }

    /// The raw JSON of what it was called with, where it is known and short.
    #[must_use]
    pub fn arguments(&self) -> Option<&Bytes> {
        self.arguments.as_ref()
    }
}

/// Shapes only: arguments have no place in logs.
impl fmt::Debug for Tombstone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tombstone")
            .field("tool", &self.tool)
            .field("arguments", &self.arguments.as_ref().map(Bytes::len))
            .finish()
    }
}

/// What a store knows of an artifact.
#[derive(Clone, Debug)]
#[expect(
    clippy::exhaustive_enums,
    reason = "an artifact is there, or there is a reason why it is not"
)]
pub enum ArtifactLookup {
    /// The recorded artifact. It stays valid while it is held, also if it goes from the store.
    Found(Arc<StoredArtifact>),
    /// Nothing, and why.
    Missing(ArtifactMissing),
}

impl ArtifactLookup {
    /// The artifact, if it was found.
    #[must_use]
    pub fn found(self) -> Option<Arc<StoredArtifact>> {
        match self {
            Self::Found(artifact) => Some(artifact),
            Self::Missing(_) => None,
        }
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
    /// It was kept for its time. The tombstone names the tool, never its arguments.
    Expired(Tombstone),
}

/// One line of [`ResultStore::list_artifacts`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListedArtifact {
    /// The artifact's own id.
    pub artifact_id: ArtifactId,
    /// The call whose result it was made from.
    pub call_id: CallId,
    /// The tool that was called, where it is known.
    pub tool: Option<Arc<str>>,
    /// Length of the full data.
    pub bytes: usize,
    /// Whether it is too large to be brought into a model's context.
    pub retrieval_blocked: bool,
    /// The summary as JSON, where there is one.
    pub summary: Option<Bytes>,
}

impl ListedArtifact {
    /// The line for an artifact without a summary, of a tool that is not known.
    #[must_use]
    pub fn new(artifact_id: ArtifactId, call_id: CallId, bytes: usize) -> Self {
        Self {
            artifact_id,
            call_id,
            tool: None,
            bytes,
            retrieval_blocked: false,
            summary: None,
        }
    }

    /// Names the tool.
    #[must_use]
    pub fn with_tool(mut self, tool: Option<Arc<str>>) -> Self {
        self.tool = tool;
        self
    }

    /// Says whether it is too large to be brought into a model's context.
    #[must_use]
    pub fn with_retrieval_blocked(mut self, blocked: bool) -> Self {
        self.retrieval_blocked = blocked;
        self
    }

    /// Gives the summary as JSON.
    #[must_use]
    pub fn with_summary(mut self, summary: Option<Bytes>) -> Self {
        self.summary = summary;
        self
    }

    /// The line for `artifact`.
    #[must_use]
    pub fn of(artifact: &StoredArtifact) -> Self {
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

/// One line of [`ResultStore::list`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Listed {
    /// The call.
    pub call_id: CallId,
    /// The tool that was called, where it is known.
    pub tool: Option<Arc<str>>,
    /// What the bytes are.
    pub kind: ResultKind,
    /// Whether the call failed.
    pub failed: bool,
    /// Length of the raw bytes.
    pub bytes: usize,
}

impl Listed {
    /// The line for a call that succeeded, of a tool that is not known.
    #[must_use]
    pub fn new(call_id: CallId, kind: ResultKind, bytes: usize) -> Self {
        Self {
            call_id,
            tool: None,
            kind,
            failed: false,
            bytes,
        }
    }

    /// Names the tool.
    #[must_use]
    pub fn with_tool(mut self, tool: Option<Arc<str>>) -> Self {
        self.tool = tool;
        self
    }

    /// Says whether the call failed.
    #[must_use]
    pub fn with_failed(mut self, failed: bool) -> Self {
        self.failed = failed;
        self
    }

    /// The line for `result`.
    #[must_use]
    pub fn of(call_id: CallId, result: &StoredResult) -> Self {
        Self::new(call_id, result.kind(), result.document().raw().len())
            .with_tool(result.shared_tool())
            .with_failed(result.failed())
    }
}

/// A place for tool results and artifacts.
///
/// # Scopes
///
/// Every method works within one [`Scope`], all of whose parts count. An id of another scope reads
/// exactly like one that never existed: [`Missing::Unknown`], also when the other scope's result
/// has expired or was evicted.
///
/// # Lifetime of a result
///
/// A result is kept for a time since its last use, and for an absolute time since it was recorded.
/// [`put`](Self::put) and [`get`](Self::get) are uses; [`list`](Self::list) and
/// [`measure`](Self::measure) are not. Over a limit of bytes or of results the least recently used
/// ones go first: of the session for a session's limit, of the whole store for a limit in all.
/// Whatever goes leaves a [`Tombstone`] for a while; how long and how many is the store's choice,
/// and a forgotten one reads [`Missing::Unknown`].
///
/// # Lifetime of an artifact
///
/// An artifact outlives the result it was made from. It never makes room; it goes with
/// [`remove_session`](Self::remove_session), and at the end of a time to live since it was recorded
/// where the store was given one, used or not, held or not. From then on its ids read
/// [`ArtifactMissing::Expired`] until the store forgets them, and may be recorded again. A holder
/// keeps a valid artifact.
///
/// A store that calls itself durable has an artifact after a restart or a crash as soon as
/// [`put_artifact`](Self::put_artifact) has answered, with every field. A crash before the answer
/// leaves it there as a whole or not at all. Results are a cache: a store may lose them at a
/// restart, and their ids are then [`Missing::Unknown`].
///
/// # Pinning
///
/// A result whose [`Arc`] is held outside the store is in use by a running call. While it is, it is
/// neither evicted nor expired, and its id still resolves: evicting it would free nothing. (A store
/// knows by the reference count, under the same lock under which it hands out new references, so
/// nobody can begin to use a result while it is evicted.) Holding a result is not a new use: once
/// it is released, its age counts from the last `put` or `get`. A removed session is removed all
/// the same; the holder keeps a valid result.
///
/// # Concurrency
///
/// Each method is atomic: others see its effect as a whole or not at all. Of several `put`s of one
/// id at once, exactly one is [`Recorded::New`]. What `put` has recorded, every later `get` finds
/// until it goes for one of the reasons above. Limits hold between operations, except that an index
/// is built outside of the store, which learns of it at the next touch of that result or by
/// [`measure`](Self::measure); and what is in use stays even over a limit.
///
/// # Cancellation
///
/// A future may be dropped at any time. The operation has then happened as a whole or not at all;
/// asking again tells, since `put` of the same is [`Recorded::Unchanged`].
#[async_trait]
pub trait ResultStore: Send + Sync {
    /// Records the result of a call, making room for it if need be.
    ///
    /// The same bytes, kind and failure again change nothing and count as a use; the first record's
    /// tool, arguments and media type stay. An id whose result has expired or was evicted may be
    /// recorded again, with any bytes, and its tombstone goes.
    ///
    /// # Errors
    ///
    /// - [`StoreError::Duplicate`] when the id is taken by another result; nothing is overwritten.
    /// - [`StoreError::TooLarge`] when it could not fit an empty store, and [`StoreError::Full`]
    ///   when it does not fit beside what is in use; nothing is evicted in vain where that can be
    ///   known before.
    /// - [`StoreError::Unavailable`] when the backend fails.
    async fn put(
        &self,
        scope: &Scope,
        call: &CallId,
        result: StoredResult,
    ) -> Result<Recorded, StoreError>;

    /// Finds a result, or says why there is none.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`] when the backend fails; never because of what was asked.
    async fn get(&self, scope: &Scope, call: &CallId) -> Result<Lookup, StoreError>;

    /// Counts a result's bytes anew, and makes room if a limit is passed. To be called when its
    /// index may have been built, so that the limits follow. An unknown id is no error.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`] when the backend fails.
    async fn measure(&self, scope: &Scope, call: &CallId) -> Result<(), StoreError>;

    /// Records an artifact under its two ids. The same data, summary and block again change
    /// nothing, and the time to live goes on as it was.
    ///
    /// # Errors
    ///
    /// - [`StoreError::DuplicateArtifact`] when its ids are taken by other data.
    /// - [`StoreError::TooLarge`] and [`StoreError::Full`] beyond a session's limits for artifacts;
    ///   nothing makes room for an artifact.
    /// - [`StoreError::Unavailable`] when the backend fails.
    async fn put_artifact(
        &self,
        scope: &Scope,
        artifact: StoredArtifact,
    ) -> Result<Recorded, StoreError>;

    /// Finds an artifact, or says why there is none of these ids in this scope.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`] and its like when the backend fails, and
    /// [`StoreError::Damaged`] when what it has is not what was recorded: never a wrong answer.
    async fn get_artifact(
        &self,
        scope: &Scope,
        artifact: &ArtifactId,
        call: &CallId,
    ) -> Result<ArtifactLookup, StoreError>;

    /// The artifacts of a session that are there now, oldest first.
    ///
    /// # Errors
    ///
    /// As for [`get_artifact`](Self::get_artifact).
    async fn list_artifacts(&self, scope: &Scope) -> Result<Vec<ListedArtifact>, StoreError>;

    /// The results of a session that are there now, the most recently used last.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`] when the backend fails.
    async fn list(&self, scope: &Scope) -> Result<Vec<Listed>, StoreError>;

    /// Removes all of a session: results, tombstones, artifacts. Every id then reads
    /// [`Missing::Unknown`]. An unknown session is no error.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`] when the backend fails.
    async fn remove_session(&self, scope: &Scope) -> Result<(), StoreError>;

    /// Drops what has expired and forgets sessions that hold nothing any more. Results read as
    /// expired without it; it only frees what nobody asks for, so a host may call it on a timer.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`] when the backend fails.
    async fn sweep(&self) -> Result<(), StoreError>;
}
