//! A store of your own: `cargo run -p crossfeed --example custom_store`.
//!
//! This one notes each result that it records, and leaves the rest to the store in memory. It forwards every
//! method: one that is left out would hide what the inner store does. A store that keeps data itself must
//! fulfil the whole contract of [`ResultStore`]; the feature `conformance` of `crossfeed-store` tests that.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use async_trait::async_trait;
use crossfeed::{
    CallId, Engine, EngineOptions, Scope, ToolResult,
    artifact::{ArtifactId, ListedArtifact, StoredArtifact},
    store::{
        ArtifactLookup, CallLeases, Listed, Lookup, MemoryLimits, MemoryStore, Recorded,
        ResultStore, StateStore, StoreError, StoreMetrics, StoredResult, Usage,
    },
};
use parking_lot::Mutex;
use std::{error::Error, sync::Arc};

/// Notes what the inner store records.
struct AuditedStore {
    inner: MemoryStore,
    log: Mutex<Vec<String>>,
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl ResultStore for AuditedStore {
    async fn put(
        &self,
        scope: &Scope,
        call: &CallId,
        result: StoredResult,
    ) -> Result<Recorded, StoreError> {
        let bytes = result.document().raw().len();
        let recorded = self.inner.put(scope, call, result).await?;
        let line = format!("{call}: {bytes} bytes, {recorded:?}");
        self.log.lock().push(line);
        Ok(recorded)
    }

    async fn get(&self, scope: &Scope, call: &CallId) -> Result<Lookup, StoreError> {
        self.inner.get(scope, call).await
    }

    async fn measure(&self, scope: &Scope, call: &CallId) -> Result<(), StoreError> {
        self.inner.measure(scope, call).await
    }

    async fn put_artifact(
        &self,
        scope: &Scope,
        artifact: StoredArtifact,
    ) -> Result<Recorded, StoreError> {
        self.inner.put_artifact(scope, artifact).await
    }

    async fn get_artifact(
        &self,
        scope: &Scope,
        artifact: &ArtifactId,
        call: &CallId,
    ) -> Result<ArtifactLookup, StoreError> {
        self.inner.get_artifact(scope, artifact, call).await
    }

    async fn list_artifacts(&self, scope: &Scope) -> Result<Vec<ListedArtifact>, StoreError> {
        self.inner.list_artifacts(scope).await
    }

    async fn list(&self, scope: &Scope) -> Result<Vec<Listed>, StoreError> {
        self.inner.list(scope).await
    }

    async fn remove_session(&self, scope: &Scope) -> Result<(), StoreError> {
        self.inner.remove_session(scope).await
    }

    fn held(&self) -> Option<Usage> {
        self.inner.held()
    }

    fn metrics(&self) -> Option<StoreMetrics> {
        self.inner.metrics()
    }

    fn leases(&self) -> Option<&dyn CallLeases> {
        self.inner.leases()
    }

    fn state(&self) -> Option<&dyn StateStore> {
        self.inner.state()
    }

    async fn sweep(&self) -> Result<(), StoreError> {
        self.inner.sweep().await
    }
}

async fn run() -> Result<(), Box<dyn Error>> {
    let store = Arc::new(AuditedStore {
        inner: MemoryStore::new(MemoryLimits::default()),
        log: Mutex::default(),
    });
    let engine = Engine::new(EngineOptions::default(), Arc::clone(&store) as _);
    let session = engine.session(Scope::parse("acme", "support", "conversation-42")?);
    let call = CallId::parse("call_1")?;
    session.record(&call, ToolResult::json("[1, 2]")).await?;
    session.record(&call, ToolResult::json("[1, 2]")).await?;
    let log = store.log.lock();
    println!("{}", log.join("\n"));
    assert_eq!(
        log[..],
        ["call_1: 6 bytes, New", "call_1: 6 bytes, Unchanged"]
    );
    Ok(())
}

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    runtime.block_on(run())
}
