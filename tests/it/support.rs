//! What the themes share: runtimes, stacks, ids, stores that watch or fail, and equality of JSON by value.

use async_trait::async_trait;
use crossfeed_core::{Engine, EngineOptions, Failure, ResolveError, Session};
use crossfeed_json::{Cursor, Document, Kind, compare_numbers};
use crossfeed_store::{
    ArtifactLookup, Listed, ListedArtifact, Lookup, MemoryLimits, MemoryStore, Recorded,
    ResultStore, StoreError, StoredArtifact, StoredResult, Usage,
};
use crossfeed_tests::workspace_root;
use crossfeed_wire::{ArtifactId, CallId, Scope};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::{
    future::Future,
    io::{self, Write as _},
    process::{Command, Stdio},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};
use tokio::sync::Semaphore;

/// Runs a future to its end on a runtime of its own.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    runtime.block_on(future)
}

/// Runs work on a thread with a stack of this many KiB; what it panics with is passed on.
pub(crate) fn on_stack<T: Send + 'static>(
    kib: usize,
    work: impl FnOnce() -> T + Send + 'static,
) -> T {
    let thread = thread::Builder::new().stack_size(kib << 10).spawn(work);
    match thread.unwrap().join() {
        Ok(done) => done,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

/// Runs work and fails if it takes longer than a test may wait.
pub(crate) fn within<T>(seconds: u64, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let done = work();
    let took = start.elapsed();
    assert!(took < Duration::from_secs(seconds), "took {took:?}");
    done
}

/// What a script under `tests/oracles` answers to lines of JSON, a line for each; `None` without the program that runs it,
/// unless `CROSSFEED_REQUIRE_NODE` says that oracles must be there.
#[expect(
    clippy::disallowed_methods,
    reason = "the oracle is a program of its own, and CI says that it must be there"
)]
pub(crate) fn ask<T: DeserializeOwned>(
    program: &str,
    script: &str,
    questions: impl Iterator<Item = Value>,
) -> Option<Vec<T>> {
    let child = Command::new(program)
        .arg(workspace_root().join("tests/oracles").join(script))
        // Python would keep what it compiles beside the oracle.
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let mut child = match child {
        Ok(child) => child,
        Err(error) => {
            assert!(
                std::env::var_os("CROSSFEED_REQUIRE_NODE").is_none(),
                "CROSSFEED_REQUIRE_NODE is set, but {program} cannot be run: {error}"
            );
            return None;
        }
    };
    let mut input = child.stdin.take().unwrap();
    let lines: String = questions.map(|asked| format!("{asked}\n")).collect();
    let writer = thread::spawn(move || input.write_all(lines.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    let answers = text.lines().map(|line| serde_json::from_str(line).unwrap());
    Some(answers.collect())
}

/// Prints a line past the test harness, which shows what a test prints only when it fails.
pub(crate) fn say(line: &str) {
    let mut stderr = io::stderr();
    writeln!(stderr, "{line}").unwrap();
}

pub(crate) fn call(id: &str) -> CallId {
    CallId::parse(id).unwrap()
}

pub(crate) fn artifact(id: &str) -> ArtifactId {
    ArtifactId::parse(id).unwrap()
}

pub(crate) fn scope(session: &str) -> Scope {
    Scope::parse("tenant", "project", session).unwrap()
}

/// A session in memory with the default options.
pub(crate) fn session() -> Session {
    Engine::in_memory(EngineOptions::default()).session(scope("session"))
}

/// Code and place of each failure.
pub(crate) fn codes(error: &ResolveError) -> Vec<(&'static str, String)> {
    let code = |failure: &Failure| (failure.error.code().as_str(), failure.at.to_string());
    error.failures().iter().map(code).collect()
}

/// The report of an error as JSON text.
pub(crate) fn report(error: &ResolveError) -> String {
    serde_json::to_string(&error.report()).unwrap()
}

/// Whether two values are the same: numbers by value, objects whatever the order of their keys.
pub(crate) fn same(a: Cursor<'_>, b: Cursor<'_>) -> bool {
    if a.kind() != b.kind() || a.len() != b.len() {
        return false;
    }
    match a.kind() {
        Kind::Null => true,
        Kind::Boolean => a.as_bool() == b.as_bool(),
        Kind::Number => {
            let digits = |cursor: Cursor<'_>| cursor.as_number().unwrap_or_default().to_owned();
            compare_numbers(&digits(a), &digits(b)).is_eq()
        }
        Kind::String => a.string_bytes() == b.string_bytes(),
        Kind::Array => a.items().zip(b.items()).all(|(a, b)| same(a, b)),
        Kind::Object => a
            .members()
            .all(|(key, a)| b.get(&key.text()).is_some_and(|b| same(a, b))),
    }
}

/// Whether two texts are the same JSON by value.
pub(crate) fn same_json(a: &str, b: &str) -> bool {
    let (a, b) = (Document::new(a.to_owned()), Document::new(b.to_owned()));
    match (a.root(), b.root()) {
        (Ok(a), Ok(b)) => same(a, b),
        _ => false,
    }
}

/// A store in memory that counts what it is asked, and can be told to stall or to fail.
pub(crate) struct WatchedStore {
    pub(crate) inner: MemoryStore,
    pub(crate) asked: AtomicUsize,
    pub(crate) fails: AtomicBool,
    /// Whether an error may be tried again.
    pub(crate) retry: AtomicBool,
    /// `get` takes a permit; with none there it waits.
    pub(crate) gate: Semaphore,
    /// What it does when it is asked what it holds.
    when_held: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

impl WatchedStore {
    pub(crate) fn new(inner: MemoryStore) -> Arc<Self> {
        Arc::new(Self {
            inner,
            asked: AtomicUsize::new(0),
            fails: AtomicBool::new(false),
            retry: AtomicBool::new(true),
            gate: Semaphore::new(Semaphore::MAX_PERMITS),
            when_held: OnceLock::new(),
        })
    }

    pub(crate) fn in_memory() -> Arc<Self> {
        Self::new(MemoryStore::new(MemoryLimits::default()))
    }

    pub(crate) fn session(self: &Arc<Self>, options: EngineOptions) -> Session {
        Engine::new(options, Arc::clone(self) as Arc<dyn ResultStore>).session(scope("session"))
    }

    pub(crate) fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }

    /// Has it do this whenever it is asked what it holds.
    pub(crate) fn when_held(&self, then: impl Fn() + Send + Sync + 'static) {
        assert!(self.when_held.set(Box::new(then)).is_ok());
    }

    fn ask(&self) -> Result<(), StoreError> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        if self.fails.load(Ordering::SeqCst) {
            return Err(StoreError::Unavailable {
                source: "password=hunter2 at db.internal:5432 refused".into(),
                retry: self.retry.load(Ordering::SeqCst),
            });
        }
        Ok(())
    }
}

#[async_trait]
impl ResultStore for WatchedStore {
    async fn put(
        &self,
        scope: &Scope,
        call: &CallId,
        result: StoredResult,
    ) -> Result<Recorded, StoreError> {
        self.ask()?;
        self.inner.put(scope, call, result).await
    }

    async fn get(&self, scope: &Scope, call: &CallId) -> Result<Lookup, StoreError> {
        self.ask()?;
        let _permit = self.gate.acquire().await.unwrap();
        self.inner.get(scope, call).await
    }

    async fn measure(&self, scope: &Scope, call: &CallId) -> Result<(), StoreError> {
        self.ask()?;
        self.inner.measure(scope, call).await
    }

    async fn put_artifact(
        &self,
        scope: &Scope,
        artifact: StoredArtifact,
    ) -> Result<Recorded, StoreError> {
        self.ask()?;
        self.inner.put_artifact(scope, artifact).await
    }

    async fn get_artifact(
        &self,
        scope: &Scope,
        artifact: &ArtifactId,
        call: &CallId,
    ) -> Result<ArtifactLookup, StoreError> {
        self.ask()?;
        self.inner.get_artifact(scope, artifact, call).await
    }

    async fn list_artifacts(&self, scope: &Scope) -> Result<Vec<ListedArtifact>, StoreError> {
        self.ask()?;
        self.inner.list_artifacts(scope).await
    }

    async fn list(&self, scope: &Scope) -> Result<Vec<Listed>, StoreError> {
        self.ask()?;
        self.inner.list(scope).await
    }

    async fn remove_session(&self, scope: &Scope) -> Result<(), StoreError> {
        self.ask()?;
        self.inner.remove_session(scope).await
    }

    fn held(&self) -> Option<Usage> {
        if let Some(then) = self.when_held.get() {
            then();
        }
        self.inner.held()
    }

    async fn sweep(&self) -> Result<(), StoreError> {
        self.ask()?;
        self.inner.sweep().await
    }
}
