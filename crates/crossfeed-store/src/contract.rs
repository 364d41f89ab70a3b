//! The contract of every store.

use crate::{
    ArtifactLookup, CallLeases, Listed, ListedArtifact, Lookup, PathsOf, Recorded, StateStore,
    StoreError, StoreMetrics, StoredArtifact, StoredResult, Usage,
};
use async_trait::async_trait;
use crossfeed_wire::{ArtifactId, CallId, Scope};

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
/// [`measure`](Self::measure) are not. Over a limit of bytes or of results some are evicted: of the
/// session for a session's limit; for the limit in all of the tenant and project that hold the most bytes,
/// the result to be recorded included. Among these go first, the least recently used before others, those
/// of calls that may be made again ([`StoredResult::repeatable`]) and those of a
/// [server](StoredResult::server) whose other results are more than half of the bytes among which the
/// choice is; then the rest, the least recently used first. Whatever goes leaves a [`Tombstone`] for a while; how long and how many is the store's choice,
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
/// [`put_artifact`](Self::put_artifact) has answered, with every field but its place in a trace. A crash before the answer
/// leaves it there as a whole or not at all. Results are a cache: a store may lose them at a
/// restart, and their ids are then [`Missing::Unknown`]. One that calls its results durable has them, too, as soon as
/// [`put`](Self::put) has answered, as far as the durability that it states.
///
/// # Pinning
///
/// A result whose [`Arc`] is held outside the store is in use by a running call. While it is, it is
/// neither evicted nor expired, and its id still resolves: evicting it would free nothing. (A store
/// knows by the reference count, under the same lock under which it hands out new references, so
/// no caller can begin to use a result while it is evicted.) Holding a result is not a new use: once
/// it is released, its age counts from the last `put` or `get`. A removed session is removed all
/// the same; the holder keeps a valid result.
///
/// A store that several processes share knows only what its own process holds: another may evict it or find it
/// expired, and the holder then keeps a valid result whose id does not resolve any more.
///
/// # Several processes
///
/// Where several processes share a store, all that is said here holds among them, too. The limit in all may be one
/// for each tenant. Calls in flight are known to all by [leases](Self::leases).
///
/// # Concurrency
///
/// Each method is atomic: others see its effect as a whole or not at all. Of several `put`s of one
/// id at once, exactly one is [`Recorded::New`]. What `put` has recorded, every later `get` finds
/// until it goes for one of the reasons above. Limits hold between operations, except that an index
/// is built outside of the store, which learns of it at the next touch of that result or by
/// [`measure`](Self::measure); and results in use stay even over a limit.
///
/// # Cancellation
///
/// A future may be dropped at any time. The operation has then happened as a whole or not at all;
/// asking again tells, since `put` of the same is [`Recorded::Unchanged`].
///
/// [`Arc`]: std::sync::Arc
/// [`ArtifactMissing::Expired`]: crate::ArtifactMissing::Expired
/// [`Missing::Unknown`]: crate::Missing::Unknown
/// [`Tombstone`]: crate::Tombstone
///
/// ```
/// use crossfeed_json::Document;
/// use crossfeed_store::{Lookup, MemoryLimits, MemoryStore, Recorded, ResultKind, ResultStore, StoredResult};
/// use crossfeed_wire::{CallId, Scope};
///
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let store = MemoryStore::new(MemoryLimits::default());
/// let scope = Scope::parse("acme", "support", "conversation-42")?;
/// let call = CallId::parse("call_1")?;
/// let result = || StoredResult::new(Document::new("[1, 2]"), ResultKind::Json);
/// assert_eq!(store.put(&scope, &call, result()).await?, Recorded::New);
/// assert_eq!(store.put(&scope, &call, result()).await?, Recorded::Unchanged);
///
/// // Another session does not have it.
/// let other = Scope::parse("acme", "support", "conversation-43")?;
/// assert!(matches!(store.get(&scope, &call).await?, Lookup::Found(_)));
/// assert!(!matches!(store.get(&other, &call).await?, Lookup::Found(_)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[async_trait]
pub trait ResultStore: Send + Sync {
    /// Records the result of a call, making room for it if need be.
    ///
    /// The same bytes, kind and failure again change nothing and count as a use; the first record's
    /// tool, arguments, media type and place in a trace stay. An id whose result has expired or was evicted may be
    /// recorded again, with any bytes, and its tombstone goes. A new record ends the [lease](Self::leases) of its call,
    /// whoever holds it.
    ///
    /// # Errors
    ///
    /// - [`StoreError::Duplicate`] when the id is taken by another result; nothing is overwritten.
    /// - [`StoreError::TooLarge`] when it could not fit an empty store, and [`StoreError::Full`]
    ///   when it does not fit beside the results in use. Nothing is evicted in vain if that can be
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
    /// [`StoreError::Unavailable`] and its like when the backend fails, and [`StoreError::Damaged`] when this result is
    /// damaged, with how to repeat its call; never because of the id.
    async fn get(&self, scope: &Scope, call: &CallId) -> Result<Lookup, StoreError>;

    /// The same for someone who needs only what some paths lead to: the answer may be an
    /// [excerpt](StoredResult::excerpt_of) of a large result, in which every path leads to what it leads to in the
    /// whole. By default it is the whole, and it is where there are no paths.
    ///
    /// # Errors
    ///
    /// As for [`get`](Self::get).
    async fn get_part(
        &self,
        scope: &Scope,
        call: &CallId,
        _paths: &PathsOf<'_>,
    ) -> Result<Lookup, StoreError> {
        self.get(scope, call).await
    }

    /// Counts a result's bytes anew, and makes room if a limit is passed. To be called when its
    /// index may have been built, so that the limits follow. An unknown id is not an error.
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
    /// - [`StoreError::Damaged`] when its ids are taken by a damaged artifact that this does not repair.
    /// - [`StoreError::Unavailable`] and its like when the backend fails.
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
    /// [`StoreError::Damaged`] when the artifact is damaged: a store never gives a wrong answer.
    async fn get_artifact(
        &self,
        scope: &Scope,
        artifact: &ArtifactId,
        call: &CallId,
    ) -> Result<ArtifactLookup, StoreError>;

    /// The current artifacts of a session, oldest first. A damaged one is [marked](ListedArtifact::damaged), or
    /// left out if not even its ids can be read; it does not keep others from being listed.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`] and its like when the backend fails, and
    /// [`StoreError::Damaged`] when no artifact can be relied on.
    async fn list_artifacts(&self, scope: &Scope) -> Result<Vec<ListedArtifact>, StoreError>;

    /// The current results of a session, the most recently used last. One whose header is damaged is left out.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`] when the backend fails.
    async fn list(&self, scope: &Scope) -> Result<Vec<Listed>, StoreError>;

    /// Removes all of a session: results, tombstones, artifacts. Every id then reads
    /// [`Missing::Unknown`](crate::Missing::Unknown). An unknown session is not an error.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`] when the backend fails.
    async fn remove_session(&self, scope: &Scope) -> Result<(), StoreError>;

    /// How much the store holds, and how much has left it, over all scopes; `None` if it does not know. Metrics
    /// call this from any thread, and it answers at once, without its backend.
    fn held(&self) -> Option<Usage> {
        None
    }

    /// What the store counted of its own process's requests since it was opened; `None` if it does not count. It answers
    /// at once, without its backend, as [`held`](Self::held) does.
    fn metrics(&self) -> Option<StoreMetrics> {
        None
    }

    /// The leases of calls in flight, where several processes share the store; `None` where only one uses it.
    fn leases(&self) -> Option<&dyn CallLeases> {
        None
    }

    /// A place for the host's own records that lasts as long as the store; `None` if it has none.
    fn state(&self) -> Option<&dyn StateStore> {
        None
    }

    /// Drops what has expired and forgets sessions that hold nothing any more. Results read as
    /// expired without it; it only frees memory earlier, so a host may call it on a timer.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`] when the backend fails.
    async fn sweep(&self) -> Result<(), StoreError>;
}
