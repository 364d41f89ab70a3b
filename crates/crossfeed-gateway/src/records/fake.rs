//! A store that outlives the gateways of a test.

use async_trait::async_trait;
use bytes::Bytes;
use crossfeed_store::{
    ArtifactLookup, Expected, Listed, ListedArtifact, Lookup, MemoryLimits, MemoryStore, Recorded,
    ResultStore, StateRecord, StateStore, StoreError, StoredArtifact, StoredResult, Usage,
};
use crossfeed_wire::{ArtifactId, CallId, Scope};
use parking_lot::Mutex;
use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::time::Instant;

/// Results in memory, and records that are over in the time of the test's runtime.
pub(crate) struct LastingStore {
    results: MemoryStore,
    records: Mutex<BTreeMap<String, (StateRecord, Instant)>>,
    versions: AtomicU64,
    /// How often a record was asked for.
    pub(crate) reads: AtomicU64,
    /// It answers no request.
    pub(crate) is_away: AtomicBool,
    /// It has room for nothing more.
    pub(crate) is_full: AtomicBool,
    /// It writes records, and its answers are lost.
    pub(crate) loses_answers: AtomicBool,
    /// What is asked of its records it neither does nor answers, which is known after two seconds.
    pub(crate) hangs: AtomicBool,
    /// It panics when it is asked for a result.
    pub(crate) panics: AtomicBool,
}

impl LastingStore {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            results: MemoryStore::new(MemoryLimits::default()),
            records: Mutex::default(),
            versions: AtomicU64::new(1),
            reads: AtomicU64::new(0),
            is_away: AtomicBool::new(false),
            is_full: AtomicBool::new(false),
            loses_answers: AtomicBool::new(false),
            hangs: AtomicBool::new(false),
            panics: AtomicBool::new(false),
        })
    }

    /// The keys of the records of a kind.
    pub(crate) fn keys(&self, kind: &str) -> Vec<String> {
        let start = format!("gateway/{kind}/");
        let mut records = self.records.lock();
        records.retain(|_, (_, end)| *end > Instant::now());
        let keys = records.keys().filter(|key| key.starts_with(&start));
        keys.cloned().collect()
    }

    /// The bytes of a record.
    pub(crate) fn bytes(&self, key: &str) -> Bytes {
        self.records.lock()[key].0.value.clone()
    }

    /// Drops all records, as a server that restarts without its data does.
    pub(crate) fn lose_records(&self) {
        self.records.lock().clear();
    }

    /// Copies a record under the key of another.
    pub(crate) fn copy(&self, from: &str, to: &str) {
        let mut records = self.records.lock();
        let bytes = records[from].0.value.clone();
        records.get_mut(to).unwrap().0.value = bytes;
    }

    /// Replaces the bytes of a record.
    pub(crate) fn overwrite(&self, key: &str, bytes: &str) {
        let mut records = self.records.lock();
        records.get_mut(key).unwrap().0.value = Bytes::copy_from_slice(bytes.as_bytes());
    }

    /// The records as they are now.
    pub(crate) fn snapshot(&self) -> BTreeMap<String, (StateRecord, Instant)> {
        self.records.lock().clone()
    }

    /// Goes back to what was there before, as a failover does to a replica that is behind.
    pub(crate) fn go_back(&self, before: BTreeMap<String, (StateRecord, Instant)>) {
        *self.records.lock() = before;
    }

    fn answers(&self) -> Result<(), StoreError> {
        fails_if(&self.is_away)
    }

    async fn hang(&self) -> Result<(), StoreError> {
        if self.hangs.load(Ordering::Relaxed) {
            tokio::time::sleep(Duration::from_secs(2)).await;
            return fails_if(&AtomicBool::new(true));
        }
        Ok(())
    }

    fn writes(&self) -> Result<(), StoreError> {
        self.answers()?;
        if self.is_full.load(Ordering::Relaxed) {
            let source = "full".into();
            return Err(StoreError::NoSpace { source });
        }
        Ok(())
    }
}

fn fails_if(fault: &AtomicBool) -> Result<(), StoreError> {
    if fault.load(Ordering::Relaxed) {
        let (source, retry) = ("away".into(), true);
        return Err(StoreError::Unavailable { source, retry });
    }
    Ok(())
}

#[async_trait]
impl StateStore for LastingStore {
    async fn read(&self, key: &str) -> Result<Option<StateRecord>, StoreError> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.hang().await?;
        self.answers()?;
        let records = self.records.lock();
        let found = records.get(key).filter(|(_, end)| *end > Instant::now());
        Ok(found.map(|(record, _)| record.clone()))
    }

    async fn write(
        &self,
        key: &str,
        value: Bytes,
        expected: Expected,
        time: Duration,
    ) -> Result<Option<u64>, StoreError> {
        self.hang().await?;
        self.writes()?;
        let mut records = self.records.lock();
        let found = records.get(key).filter(|(_, end)| *end > Instant::now());
        let found = found.map(|(record, _)| record.version);
        let is_expected = match expected {
            Expected::Any => true,
            Expected::Absent => found.is_none(),
            Expected::Version(version) => found == Some(version),
        };
        if !is_expected {
            return Ok(None);
        }
        let version = self.versions.fetch_add(1, Ordering::Relaxed);
        let record = StateRecord::new(value, version);
        records.insert(key.to_owned(), (record, Instant::now() + time));
        fails_if(&self.loses_answers)?;
        Ok(Some(version))
    }

    async fn remove(&self, key: &str) -> Result<(), StoreError> {
        self.answers()?;
        self.records.lock().remove(key);
        Ok(())
    }
}

#[async_trait]
impl ResultStore for LastingStore {
    async fn put(
        &self,
        scope: &Scope,
        call: &CallId,
        result: StoredResult,
    ) -> Result<Recorded, StoreError> {
        self.writes()?;
        self.results.put(scope, call, result).await
    }

    async fn get(&self, scope: &Scope, call: &CallId) -> Result<Lookup, StoreError> {
        self.answers()?;
        assert!(!self.panics.load(Ordering::Relaxed));
        self.results.get(scope, call).await
    }

    async fn measure(&self, scope: &Scope, call: &CallId) -> Result<(), StoreError> {
        self.results.measure(scope, call).await
    }

    async fn put_artifact(
        &self,
        scope: &Scope,
        artifact: StoredArtifact,
    ) -> Result<Recorded, StoreError> {
        self.writes()?;
        self.results.put_artifact(scope, artifact).await
    }

    async fn get_artifact(
        &self,
        scope: &Scope,
        artifact: &ArtifactId,
        call: &CallId,
    ) -> Result<ArtifactLookup, StoreError> {
        self.answers()?;
        self.results.get_artifact(scope, artifact, call).await
    }

    async fn list_artifacts(&self, scope: &Scope) -> Result<Vec<ListedArtifact>, StoreError> {
        self.answers()?;
        self.results.list_artifacts(scope).await
    }

    async fn list(&self, scope: &Scope) -> Result<Vec<Listed>, StoreError> {
        self.answers()?;
        self.results.list(scope).await
    }

    async fn remove_session(&self, scope: &Scope) -> Result<(), StoreError> {
        self.answers()?;
        self.results.remove_session(scope).await
    }

    fn held(&self) -> Option<Usage> {
        self.results.held()
    }

    fn state(&self) -> Option<&dyn StateStore> {
        Some(self)
    }

    async fn sweep(&self) -> Result<(), StoreError> {
        self.results.sweep().await
    }
}
