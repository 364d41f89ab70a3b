//! The store, and what its parts share.

use crate::{
    answer::{Answer, Reason},
    connection::{Beside, Connection, Kind},
    fault::bad_answer,
    header::{Place, token_text},
    options::RedisOptions,
    script::Operation,
    tenant::KnownSessions,
    watch::Watch,
};
use async_trait::async_trait;
use bytes::{BufMut as _, Bytes};
use crossfeed_store::{
    ArtifactLookup, BlobName, CallLeases, Clock, Digest, Listed, ListedArtifact, Lookup,
    MemoryLimits, MeteredBlobs, ReadCache, Recorded, ResultStore, ScopeTag, StateStore, StoreError,
    StoreMeter, StoreMetrics, StoreOperation, StoredArtifact, StoredResult, Usage,
};
use crossfeed_wire::{ArtifactId, CallId, Scope};
use redis::{Cmd, RedisWrite as _, Value};
use std::{fmt, sync::Arc, time::Duration};

/// Data up to this many bytes is an argument of the script that records it. Scripts copy their arguments, so that larger
/// data is quicker as a command of its own, in the same request.
const INLINE_BYTES: usize = 4 << 10;

/// The digest of data beyond this many bytes is computed where it keeps no other task waiting.
const DIGESTED_AT_ONCE: usize = 64 << 10;

/// How long data may lie that no record names yet. A put takes at most a few time limits of a request.
const STAGED_TIME: Duration = Duration::from_secs(60);

/// Keeps results, artifacts, leases and state records in Redis or Valkey.
///
/// Any number of processes may use one server, cluster, or group of servers that sentinels watch. What one has
/// acknowledged, all others find. Whether something exists is always asked of the primary; its bytes and its index, once
/// read, stay in this process's memory within [`cache_bytes`](RedisOptions::cache_bytes).
///
/// ```no_run
/// use crossfeed_store::{Lookup, ResultKind, ResultStore, StoredResult};
/// use crossfeed_json::Document;
/// use crossfeed_store_redis::{RedisOptions, RedisStore};
/// use crossfeed_wire::{CallId, Scope};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let store = RedisStore::connect(RedisOptions::from_url("redis://localhost")?).await?;
/// let scope = Scope::parse("acme", "support", "conversation-42")?;
/// let call = CallId::parse("call_1")?;
/// store.put(&scope, &call, StoredResult::new(Document::new("[1, 2]"), ResultKind::Json)).await?;
/// assert!(matches!(store.get(&scope, &call).await?, Lookup::Found(_)));
/// # Ok(())
/// # }
/// ```
pub struct RedisStore {
    pub(crate) options: RedisOptions,
    pub(crate) connection: Connection,
    pub(crate) watch: Watch,
    pub(crate) meter: Arc<StoreMeter>,
    pub(crate) results: ReadCache<CallId, StoredResult>,
    pub(crate) artifacts: ReadCache<(ArtifactId, CallId), StoredArtifact>,
    pub(crate) sessions: KnownSessions,
    clock: Option<Arc<dyn Clock>>,
}

impl RedisStore {
    /// Connects to the servers. Time is theirs.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`] when they cannot be reached or refuse the user.
    pub async fn connect(options: RedisOptions) -> Result<Self, StoreError> {
        Self::open(options, None).await
    }

    /// As [`Self::connect`], with results, artifacts, leases and records of state that expire by this clock. All
    /// processes must go by the same.
    ///
    /// # Errors
    ///
    /// As for [`Self::connect`].
    pub async fn connect_with_clock(
        options: RedisOptions,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, StoreError> {
        Self::open(options, Some(clock)).await
    }

    async fn open(
        mut options: RedisOptions,
        clock: Option<Arc<dyn Clock>>,
    ) -> Result<Self, StoreError> {
        let meter = Arc::<StoreMeter>::default();
        options.blobs = options
            .blobs
            .map(|blobs| Arc::new(MeteredBlobs::new(blobs, Arc::clone(&meter))) as Arc<_>);
        Ok(Self {
            connection: Connection::open(&options).await?,
            watch: Watch::new(&options),
            meter,
            results: ReadCache::new(options.cache_bytes),
            artifacts: ReadCache::new(options.cache_bytes),
            sessions: KnownSessions::default(),
            options,
            clock,
        })
    }

    pub(crate) fn limits(&self) -> &MemoryLimits {
        &self.options.limits
    }

    /// The first argument of every script: the time, unless the server's counts.
    pub(crate) fn now(&self) -> String {
        let now = self.clock.as_ref().map(|clock| microseconds(clock.now()));
        now.map(|now| now.to_string()).unwrap_or_default()
    }

    /// What the names of all keys of a session begin with.
    pub(crate) fn session_key(&self, session: ScopeTag) -> String {
        format!("{}:{{{session}}}:", self.options.prefix)
    }

    /// Runs a script on a session, and sees to what has left it.
    pub(crate) async fn on_session(
        &self,
        operation: Operation,
        kind: Kind,
        scope: &Scope,
        arguments: &[&[u8]],
    ) -> Result<Answer, StoreError> {
        let (answer, _) = self
            .on_session_beside(operation, kind, scope, arguments, None)
            .await?;
        self.settle(scope, None, Some(&answer)).await?;
        Ok(answer)
    }

    /// The same with a command before or after it, and the answer to that.
    pub(crate) async fn on_session_beside(
        &self,
        operation: Operation,
        kind: Kind,
        scope: &Scope,
        arguments: &[&[u8]],
        beside: Option<Beside>,
    ) -> Result<(Answer, Option<Value>), StoreError> {
        let session = ScopeTag::of_session(scope);
        let key = self.session_key(session);
        let is_before = matches!(beside, Some(Beside::Before(_)));
        let answers = self
            .connection
            .run(operation, kind, &key, arguments, beside)
            .await?;
        let mut answers = answers.into_iter();
        let (first, second) = (answers.next(), answers.next());
        let (answer, beside) = if is_before {
            (second, first)
        } else {
            (first, second)
        };
        let answer = Answer::read(answer.ok_or_else(|| bad_answer("there is none"))?)?;
        if !answer.departed.is_empty() {
            self.see_off(ScopeTag::of_tenant(scope), session, &answer);
        }
        Ok((answer, beside))
    }

    /// Counts what has left, and removes its blobs, as far as that can be done now; a sweep finds the rest.
    pub(crate) fn see_off(&self, tenant: ScopeTag, session: ScopeTag, answer: &Answer) {
        for departed in &answer.departed {
            match departed.reason {
                Reason::Evicted => self.meter.evicted(1),
                Reason::Expired => self.meter.expired(1),
                Reason::Removed | Reason::Artifact => {}
            }
        }
        let blobs = answer
            .departed
            .iter()
            .filter_map(|departed| departed.blob(tenant, session));
        self.remove_blobs(blobs.collect());
    }

    /// The command that puts data, behind a prefix, under a key of its own for a while, until a record names it.
    fn stage(&self, scope: &Scope, token: u64, prefix: &str, data: &[u8]) -> Cmd {
        let key = self.session_key(ScopeTag::of_session(scope)) + "s:" + &token_text(token);
        let length = prefix.len() + data.len();
        let mut command = Cmd::with_capacity(5, length + key.len() + 64);
        command.arg("SET").arg(key);
        let mut argument = command.bufmut_for_next_arg(length);
        argument.put_slice(prefix.as_bytes());
        argument.put_slice(data);
        drop(argument);
        let milliseconds = u64::try_from(STAGED_TIME.as_millis()).unwrap_or(u64::MAX);
        command.arg("PX").arg(milliseconds);
        command
    }

    /// Puts data into a blob that is to be recorded.
    pub(crate) async fn prepare_blob(
        &self,
        scope: &Scope,
        data: &Bytes,
        token: u64,
        digest: Digest,
    ) -> Result<Prepared, StoreError> {
        let name = BlobName::new(scope, digest, token);
        self.blobs()?.put(scope, &name, data.clone()).await?;
        Ok(Prepared {
            blob: Some(name),
            ..Prepared::new("o")
        })
    }

    /// Data that the server is to keep behind a prefix, in the way in which it goes there.
    pub(crate) fn prepare_key(
        &self,
        scope: &Scope,
        data: &Bytes,
        token: u64,
        prefix: &str,
    ) -> Prepared {
        if data.len() <= INLINE_BYTES {
            return Prepared {
                inline: [prefix.as_bytes(), data].concat(),
                ..Prepared::new("i")
            };
        }
        Prepared {
            before: Some(Beside::Before(self.stage(scope, token, prefix, data))),
            ..Prepared::new("s")
        }
    }

    /// Where data of this length goes.
    pub(crate) fn place_for(&self, length: usize) -> Place {
        if self.options.blobs.is_some() && length > self.options.blob_bytes {
            Place::Blob
        } else {
            Place::Key
        }
    }
}

/// Data, on its way to be recorded.
pub(crate) struct Prepared {
    /// The argument of the script that says where it is: `i`, `s` or `o`.
    pub(crate) mode: &'static str,
    /// The argument of the script that is the data, if it goes there.
    pub(crate) inline: Vec<u8>,
    /// The command that goes before the script.
    pub(crate) before: Option<Beside>,
    /// Its blob, to be removed if nothing is recorded.
    pub(crate) blob: Option<BlobName>,
}

impl Prepared {
    fn new(mode: &'static str) -> Self {
        Self {
            mode,
            inline: Vec::new(),
            before: None,
            blob: None,
        }
    }
}

/// The digest of data.
pub(crate) async fn digest(data: &Bytes) -> Digest {
    if data.len() <= DIGESTED_AT_ONCE {
        return Digest::of(data);
    }
    let copy = data.clone();
    let computed = tokio::task::spawn_blocking(move || Digest::of(&copy));
    // The runtime gives no answer only while it shuts down.
    computed.await.unwrap_or_else(|_| Digest::of(data))
}

/// Microseconds, as scripts count them: at most some 35 years, so that sums stay exact.
pub(crate) fn microseconds(time: Duration) -> u64 {
    const MAX: u64 = 1 << 50;
    u64::try_from(time.as_micros()).unwrap_or(MAX).min(MAX)
}

impl fmt::Debug for RedisStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisStore")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl ResultStore for RedisStore {
    async fn put(
        &self,
        scope: &Scope,
        call: &CallId,
        result: StoredResult,
    ) -> Result<Recorded, StoreError> {
        let put = self.put_result(scope, call, result);
        self.meter.time(StoreOperation::Put, put).await
    }

    async fn get(&self, scope: &Scope, call: &CallId) -> Result<Lookup, StoreError> {
        let get = self.get_result(scope, call);
        self.meter.time(StoreOperation::Get, get).await
    }

    /// Does nothing: indexes are this process's memory, which the cache counts whenever it is asked.
    async fn measure(&self, _scope: &Scope, _call: &CallId) -> Result<(), StoreError> {
        Ok(())
    }

    async fn put_artifact(
        &self,
        scope: &Scope,
        artifact: StoredArtifact,
    ) -> Result<Recorded, StoreError> {
        let put = self.record_artifact(scope, artifact);
        self.meter.time(StoreOperation::PutArtifact, put).await
    }

    async fn get_artifact(
        &self,
        scope: &Scope,
        artifact: &ArtifactId,
        call: &CallId,
    ) -> Result<ArtifactLookup, StoreError> {
        let get = self.find_artifact(scope, artifact, call);
        self.meter.time(StoreOperation::GetArtifact, get).await
    }

    async fn list_artifacts(&self, scope: &Scope) -> Result<Vec<ListedArtifact>, StoreError> {
        let list = self.lines_of_artifacts(scope);
        self.meter.time(StoreOperation::List, list).await
    }

    async fn list(&self, scope: &Scope) -> Result<Vec<Listed>, StoreError> {
        let list = self.lines_of_results(scope);
        self.meter.time(StoreOperation::List, list).await
    }

    async fn remove_session(&self, scope: &Scope) -> Result<(), StoreError> {
        let remove = self.remove_all(scope);
        self.meter.time(StoreOperation::RemoveSession, remove).await
    }

    /// The servers know, whom this may not ask.
    fn held(&self) -> Option<Usage> {
        None
    }

    fn metrics(&self) -> Option<StoreMetrics> {
        Some(self.meter.snapshot())
    }

    fn leases(&self) -> Option<&dyn CallLeases> {
        Some(self)
    }

    fn state(&self) -> Option<&dyn StateStore> {
        Some(self)
    }

    async fn sweep(&self) -> Result<(), StoreError> {
        self.results.sweep();
        self.artifacts.sweep();
        self.sweep_blobs().await
    }
}
