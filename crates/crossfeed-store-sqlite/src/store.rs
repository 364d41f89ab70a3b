//! The store: artifacts on the disk, results in memory.

use crate::{
    artifacts::Artifacts,
    blocking::run,
    clock::CalendarClock,
    open,
    options::SqliteOptions,
    probe::{self, KeptResult, SqliteProbe},
    results::{Results, SharedResults},
};
use async_trait::async_trait;
use crossfeed_store::{
    ArtifactLookup, CallLeases, Clock, Listed, ListedArtifact, Lookup, MemoryStore, PathsOf,
    Recorded, ResultStore, StateStore, StoreError, StoreMeter, StoreMetrics, StoreOperation,
    StoredArtifact, StoredResult, Usage,
};
use crossfeed_wire::{ArtifactId, CallId, Scope};
use std::{
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
};

/// Keeps artifacts in a directory, and results in memory or [there, too](SqliteOptions::keep_results).
///
/// Any number of processes may use one directory at once. What one has acknowledged, all others
/// find; results in memory are each process's own. The directory must be on a local file system: locks and
/// flushes of network file systems cannot be relied on.
///
/// # Durability
///
/// An artifact is on the disk when [`put_artifact`](ResultStore::put_artifact) has answered: it is
/// there after a crash of the process, and after a loss of power as far as the disk keeps what it
/// has confirmed. A crash before leaves nothing of it but perhaps a file that the next
/// [`sweep`](ResultStore::sweep) removes.
///
/// When the directory is removed or replaced while it is open, every request about what it holds is
/// [`StoreError::Unavailable`] until it is put back: what was written then would be lost.
///
/// A result that is kept is as safe as its [`SqliteDurability`](crate::SqliteDurability) says. So are its last use, tombstones and leases against a
/// crash of the process. [Records of the host](ResultStore::state) are as safe as artifacts. Removing a session removes
/// its artifacts first: a crash in between leaves results, until it is removed again.
///
/// Every read is checked against a digest. A damaged artifact is [`StoreError::Damaged`]; others can be read. A
/// damaged row is left as it is; a damaged file is replaced when the same data is recorded again. If a damaged
/// page hides a row, the store cannot notice it, and the artifact reads as unknown. The same holds for results, except
/// that a damaged row goes when it has expired or makes room, like any other.
///
/// # Threads
///
/// Everything that waits for the disk leaves the async threads where there is a tokio runtime; without one it is done
/// at once. While somebody waits for a call in flight, one thread keeps the time.
///
/// A `get` of a kept result writes when it was used. If others write for more than 250 ms, or the disk is full, it
/// answers without that.
///
/// ```
/// use crossfeed_json::Document;
/// use crossfeed_store::{ResultStore, StoredArtifact};
/// use crossfeed_store_sqlite::{SqliteOptions, SqliteStore};
/// use crossfeed_wire::{ArtifactId, CallId, Scope};
///
/// # let directory = std::env::temp_dir().join(format!("crossfeed-doc-{}", std::process::id()));
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let scope = Scope::parse("acme", "web", "s1")?;
/// let (id, call) = (ArtifactId::parse("report")?, CallId::parse("call_1")?);
///
/// let store = SqliteStore::open(&directory, SqliteOptions::default())?;
/// let artifact = StoredArtifact::new(id.clone(), call.clone(), Document::new("[1, 2]"));
/// store.put_artifact(&scope, artifact).await?;
/// drop(store);
///
/// let store = SqliteStore::open(&directory, SqliteOptions::default())?;
/// let artifact = store.get_artifact(&scope, &id, &call).await?.found();
/// assert_eq!(&artifact.expect("it was kept").document().raw()[..], b"[1, 2]");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # std::fs::remove_dir_all(&directory)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct SqliteStore(Arc<Inner>);

struct Inner {
    directory: PathBuf,
    artifacts: Artifacts,
    results: Kept,
    meter: Arc<StoreMeter>,
}

/// Where results are kept.
enum Kept {
    InMemory(MemoryStore),
    OnDisk(SharedResults),
}

impl SqliteStore {
    /// Opens a directory, and makes it a store if there is nothing in it yet. Waits for the disk.
    ///
    /// A store that may not be written is opened for reading: recording an artifact then is
    /// [`StoreError::ReadOnly`].
    ///
    /// # Errors
    ///
    /// - [`StoreError::Damaged`], [`StoreError::Newer`] and [`StoreError::Foreign`] when the directory holds
    ///   something other than a readable store; it is left unchanged.
    /// - [`StoreError::Absent`] when there is none, and none [is to be
    ///   made](SqliteOptions::must_exist) or may be written.
    /// - [`StoreError::ReadOnly`] and [`StoreError::NoSpace`] when there is none yet and it cannot be
    ///   made.
    /// - [`StoreError::Locked`] when another process is in the way for too long, and
    ///   [`StoreError::Unavailable`] for anything else.
    pub fn open(directory: impl AsRef<Path>, options: SqliteOptions) -> Result<Self, StoreError> {
        let results = MemoryStore::new(options.limits.clone());
        let clock = Arc::new(CalendarClock::new());
        Self::assemble(directory.as_ref(), options, results, clock)
    }

    /// As [`Self::open`], by a clock that also goes on while no process runs.
    ///
    /// # Errors
    ///
    /// As for [`Self::open`].
    pub fn open_with_clock(
        directory: impl AsRef<Path>,
        options: SqliteOptions,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, StoreError> {
        let results = MemoryStore::with_clock(options.limits.clone(), clock.clone());
        Self::assemble(directory.as_ref(), options, results, clock)
    }

    fn assemble(
        directory: &Path,
        options: SqliteOptions,
        in_memory: MemoryStore,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, StoreError> {
        let meter = Arc::<StoreMeter>::default();
        let artifacts = Artifacts::open(directory, options.clone(), clock.clone(), meter.clone())?;
        let results = if options.keep_results {
            let results = Results::open(directory, options, clock, meter.clone())?;
            Kept::OnDisk(SharedResults(Arc::new(results)))
        } else {
            Kept::InMemory(in_memory)
        };
        let directory = directory.to_owned();
        Ok(Self(Arc::new(Inner {
            directory,
            artifacts,
            results,
            meter,
        })))
    }

    /// Looks whether a directory can be written, also one that [`open`](Self::open) would make: writes a file of 64 KiB
    /// there, or where the first new name would stand, and removes it. Waits for the disk.
    ///
    /// # Errors
    ///
    /// [`StoreError::ReadOnly`], [`StoreError::NoSpace`] and [`StoreError::Unavailable`] when it could not.
    pub fn check_writable(directory: impl AsRef<Path>) -> Result<(), StoreError> {
        open::can_write(directory.as_ref())
    }

    /// Asks the disk what is there. Waits for it.
    ///
    /// # Errors
    ///
    /// [`StoreError::Damaged`] and [`StoreError::Unavailable`] when it cannot be read.
    pub fn probe(&self) -> Result<SqliteProbe, StoreError> {
        let Inner {
            directory,
            artifacts,
            results,
            ..
        } = &*self.0;
        let (artifacts_number, artifact_bytes) = artifacts.total()?;
        let [can_write, keeps_results] = match results {
            Kept::InMemory(_) => [true, false],
            // What is not there can be made where artifacts can be written.
            Kept::OnDisk(SharedResults(results)) => {
                let database = results.database();
                [database.can_write() || database.is_absent(), true]
            }
        };
        let (results, result_bytes) = match results {
            Kept::InMemory(results) => {
                let held = results.usage();
                (held.results, held.result_bytes)
            }
            Kept::OnDisk(SharedResults(results)) => results.total()?,
        };
        Ok(SqliteProbe {
            directory: directory.clone(),
            can_write: can_write && artifacts.database().can_write(),
            artifacts: artifacts_number,
            artifact_bytes,
            keeps_results,
            results,
            result_bytes,
            free_bytes: probe::free_bytes(directory),
        })
    }

    /// The results of all sessions that are [kept](SqliteOptions::keep_results) and have not expired, the latest first. A
    /// row that is damaged is left out. It is no use of them. Waits for the disk.
    ///
    /// # Errors
    ///
    /// [`StoreError::Damaged`] and [`StoreError::Unavailable`] when they cannot be read.
    pub fn kept_results(&self) -> Result<Vec<KeptResult>, StoreError> {
        match &self.0.results {
            Kept::InMemory(_) => Ok(Vec::new()),
            Kept::OnDisk(SharedResults(results)) => results.all(),
        }
    }

    #[cfg(test)]
    pub(crate) fn artifacts(&self) -> &Artifacts {
        &self.0.artifacts
    }

    #[cfg(test)]
    pub(crate) fn results(&self) -> Option<&Results> {
        match &self.0.results {
            Kept::InMemory(_) => None,
            Kept::OnDisk(SharedResults(results)) => Some(results),
        }
    }
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteStore")
            .field("options", self.0.artifacts.options())
            .field("can_write", &self.0.artifacts.database().can_write())
            .finish_non_exhaustive()
    }
}

impl Inner {
    /// What processes share beside results and artifacts, where this one may write it.
    fn shared(&self) -> Option<&SharedResults> {
        match &self.results {
            Kept::OnDisk(shared) if shared.0.database().can_write() => Some(shared),
            Kept::OnDisk(_) | Kept::InMemory(_) => None,
        }
    }
}

/// Work on another thread runs to its end even if its future is dropped, so that nothing is ever half done.
#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl ResultStore for SqliteStore {
    async fn put(
        &self,
        scope: &Scope,
        call: &CallId,
        result: StoredResult,
    ) -> Result<Recorded, StoreError> {
        let results = match &self.0.results {
            Kept::InMemory(results) => return results.put(scope, call, result).await,
            Kept::OnDisk(SharedResults(results)) => results.clone(),
        };
        let (scope, call) = (scope.clone(), call.clone());
        let put = run(move || results.put(&scope, &call, result));
        self.0.meter.time(StoreOperation::Put, put).await
    }

    async fn get(&self, scope: &Scope, call: &CallId) -> Result<Lookup, StoreError> {
        let results = match &self.0.results {
            Kept::InMemory(results) => return results.get(scope, call).await,
            Kept::OnDisk(SharedResults(results)) => results.clone(),
        };
        let (scope, call) = (scope.clone(), call.clone());
        let get = run(move || results.get(&scope, &call));
        self.0.meter.time(StoreOperation::Get, get).await
    }

    /// The whole: its file is read at once.
    async fn get_part(
        &self,
        scope: &Scope,
        call: &CallId,
        _paths: &PathsOf<'_>,
    ) -> Result<Lookup, StoreError> {
        self.get(scope, call).await
    }

    async fn measure(&self, scope: &Scope, call: &CallId) -> Result<(), StoreError> {
        match &self.0.results {
            Kept::InMemory(results) => results.measure(scope, call).await,
            Kept::OnDisk(SharedResults(results)) => {
                results.measure(scope, call);
                Ok(())
            }
        }
    }

    async fn put_artifact(
        &self,
        scope: &Scope,
        artifact: StoredArtifact,
    ) -> Result<Recorded, StoreError> {
        let (inner, scope) = (self.0.clone(), scope.clone());
        let put = run(move || inner.artifacts.put(&scope, &artifact));
        self.0.meter.time(StoreOperation::PutArtifact, put).await
    }

    async fn get_artifact(
        &self,
        scope: &Scope,
        artifact: &ArtifactId,
        call: &CallId,
    ) -> Result<ArtifactLookup, StoreError> {
        let inner = self.0.clone();
        let name = (scope.clone(), artifact.clone(), call.clone());
        let get = run(move || inner.artifacts.get(&name));
        self.0.meter.time(StoreOperation::GetArtifact, get).await
    }

    async fn list_artifacts(&self, scope: &Scope) -> Result<Vec<ListedArtifact>, StoreError> {
        let (inner, scope) = (self.0.clone(), scope.clone());
        let list = run(move || inner.artifacts.list(&scope));
        self.0.meter.time(StoreOperation::List, list).await
    }

    async fn list(&self, scope: &Scope) -> Result<Vec<Listed>, StoreError> {
        let results = match &self.0.results {
            Kept::InMemory(results) => return results.list(scope).await,
            Kept::OnDisk(SharedResults(results)) => results.clone(),
        };
        let scope = scope.clone();
        let list = run(move || results.list(&scope));
        self.0.meter.time(StoreOperation::List, list).await
    }

    async fn remove_session(&self, scope: &Scope) -> Result<(), StoreError> {
        let inner = self.0.clone();
        let of = scope.clone();
        let remove = run(move || {
            inner.artifacts.remove_session(&of)?;
            match &inner.results {
                Kept::InMemory(_) => Ok(()),
                Kept::OnDisk(SharedResults(results)) => results.remove_session(&of),
            }
        });
        let meter = &self.0.meter;
        meter.time(StoreOperation::RemoveSession, remove).await?;
        match &self.0.results {
            Kept::InMemory(results) => results.remove_session(scope).await,
            Kept::OnDisk(_) => Ok(()),
        }
    }

    /// Of results in memory. What lies in the directory, other processes may write, see [`SqliteStore::probe`].
    fn held(&self) -> Option<Usage> {
        match &self.0.results {
            Kept::InMemory(results) => results.held(),
            Kept::OnDisk(_) => None,
        }
    }

    /// Of results in memory, only what has left it.
    fn metrics(&self) -> Option<StoreMetrics> {
        let mut metrics = self.0.meter.snapshot();
        if let Kept::InMemory(results) = &self.0.results
            && let Some(of_results) = results.metrics()
        {
            metrics.evicted = of_results.evicted;
            metrics.expired = of_results.expired;
        }
        Some(metrics)
    }

    fn leases(&self) -> Option<&dyn CallLeases> {
        Some(self.0.shared()?)
    }

    fn state(&self) -> Option<&dyn StateStore> {
        Some(self.0.shared()?)
    }

    async fn sweep(&self) -> Result<(), StoreError> {
        if let Kept::InMemory(results) = &self.0.results {
            results.sweep().await?;
        }
        let inner = self.0.clone();
        run(move || {
            if let Kept::OnDisk(SharedResults(results)) = &inner.results {
                results.sweep()?;
            }
            inner.artifacts.sweep()
        })
        .await
    }
}
