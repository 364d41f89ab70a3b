//! The store against the contract, against faults, and against a kill.

mod crash;
mod damage;
mod faults;
mod lifetime;
mod results;
mod shared;

use crate::{SqliteDurability, SqliteOptions, SqliteStore};
use async_trait::async_trait;
use crossfeed_json::Document;
use crossfeed_store::{
    ArtifactLookup, ManualClock, MemoryLimits, Recorded, ResultKind, ResultStore, StoreError,
    StoredArtifact, StoredResult,
    conformance::{self, DamageHarness, DurableHarness, Harness, SharedHarness},
};
use crossfeed_wire::{ArtifactId, CallId, Scope};
use parking_lot::Mutex;
use rusqlite::Connection;
use std::{
    fs,
    path::{Path, PathBuf},
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll, Waker},
    time::Duration,
};

/// A directory that goes with its value.
struct Directory(PathBuf);

impl Directory {
    fn new() -> Self {
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let name = format!("crossfeed-sqlite-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn database(&self) -> PathBuf {
        self.0.join("artifacts.db")
    }

    /// The files of large data.
    fn files(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.0.join("data")).unwrap();
        let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
        files.sort();
        files
    }

    /// A connection of somebody else.
    fn connection(&self) -> Connection {
        Connection::open(self.database()).unwrap()
    }

    fn open(&self) -> SqliteStore {
        SqliteStore::open(&self.0, options()).unwrap()
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl AsRef<Path> for Directory {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}

/// Data beyond 1,000 bytes in files, and no patience.
fn options() -> SqliteOptions {
    SqliteOptions::default()
        .with_file_bytes(1000)
        .with_busy_timeout(Duration::from_millis(50))
}

/// Makes stores for the conformance functions: each in a directory of its own.
#[derive(Default)]
struct Places {
    clock: Arc<ManualClock>,
    directories: Mutex<Vec<(Directory, MemoryLimits)>>,
    keep_results: bool,
    durability: SqliteDurability,
}

impl Places {
    fn open(&self, directory: &Directory, limits: &MemoryLimits) -> Arc<dyn ResultStore> {
        let options = SqliteOptions::default()
            .with_limits(limits.clone())
            .with_file_bytes(4096)
            .with_keep_results(self.keep_results)
            .with_durability(self.durability);
        let store = SqliteStore::open_with_clock(directory, options, self.clock.clone());
        Arc::new(store.unwrap())
    }
}

#[async_trait]
impl Harness for Places {
    async fn store(&self, limits: &MemoryLimits) -> Arc<dyn ResultStore> {
        let directory = Directory::new();
        let store = self.open(&directory, limits);
        self.directories.lock().push((directory, limits.clone()));
        store
    }

    async fn advance(&self, by: Duration) {
        self.clock.advance(by);
    }
}

#[async_trait]
impl DurableHarness for Places {
    async fn reopen(&self, limits: &MemoryLimits) -> Arc<dyn ResultStore> {
        let directories = self.directories.lock();
        self.open(&directories.last().unwrap().0, limits)
    }
}

#[async_trait]
impl SharedHarness for Places {
    async fn peer(&self) -> Arc<dyn ResultStore> {
        let directories = self.directories.lock();
        let (directory, limits) = directories.last().unwrap();
        self.open(directory, limits)
    }
}

#[async_trait]
impl DamageHarness for Places {
    async fn damage(&self, _: &Scope, call: &CallId) {
        let directories = self.directories.lock();
        let database = directories.last().unwrap().0.0.join("results.db");
        let changed = Connection::open(database).unwrap().execute(
            "UPDATE results SET data_digest = zeroblob(7) WHERE call_id = ?1",
            [call.as_str()],
        );
        assert_eq!(changed.unwrap(), 1);
    }
}

/// Results on the disk, too.
fn keeping(durability: SqliteDurability) -> Places {
    Places {
        keep_results: true,
        durability,
        ..Places::default()
    }
}

#[test]
fn the_store_conforms_without_a_runtime() {
    run(conformance::run_all(&Places::default()));
    run(conformance::run_durable(&Places::default()));
    let keeping = keeping(SqliteDurability::Process);
    run(conformance::run_all(&keeping));
    run(conformance::run_durable(&keeping));
    run(conformance::run_shared(&keeping));
    run(conformance::a_damaged_result_harms_no_other(&keeping));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_store_conforms_in_a_runtime() {
    conformance::run_all(&Places::default()).await;
    conformance::run_durable(&Places::default()).await;
    let keeping = keeping(SqliteDurability::Flushed);
    conformance::run_all(&keeping).await;
    conformance::run_durable(&keeping).await;
    conformance::run_shared(&keeping).await;
}

/// Runs a future that never waits for anything but its turn.
fn run<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
    }
}

fn scope(session: &str) -> Scope {
    Scope::parse("tenant", "project", session).unwrap()
}

fn id(id: &str) -> ArtifactId {
    ArtifactId::parse(id).unwrap()
}

fn call() -> CallId {
    CallId::parse("c1").unwrap()
}

/// An artifact whose data is so many bytes that its id begins.
fn artifact(name: &str, bytes: usize) -> StoredArtifact {
    let data: String = name.chars().cycle().take(bytes).collect();
    StoredArtifact::new(id(name), call(), Document::new(data))
        .with_summary(Document::new(format!("{{\"bytes\": {bytes}}}")))
        .with_tool("search")
        .with_base("items[0]")
        .with_detail("bytes", "length(@)")
}

fn put(store: &SqliteStore, name: &str, bytes: usize) -> Result<Recorded, StoreError> {
    run(store.put_artifact(&scope("s"), artifact(name, bytes)))
}

fn get(store: &SqliteStore, name: &str) -> Result<ArtifactLookup, StoreError> {
    run(store.get_artifact(&scope("s"), &id(name), &call()))
}

/// That the artifact is there as [`artifact`] made it.
fn assert_whole(store: &SqliteStore, name: &str, bytes: usize) {
    let found = get(store, name).unwrap().found().unwrap();
    let made = artifact(name, bytes);
    assert!(found.is_same_record(&made), "{name}: {found:?}");
    assert_eq!(
        (found.tool(), found.base(), found.details()),
        (made.tool(), made.base(), made.details())
    );
}

/// That results are recorded and found whatever is the matter with artifacts.
fn assert_results_work(store: &SqliteStore) {
    let result = StoredResult::new(Document::new("1"), ResultKind::Json);
    run(store.put(&scope("s"), &call(), result)).unwrap();
    let found = run(store.get(&scope("s"), &call())).unwrap().found();
    assert_eq!(&found.unwrap().document().raw()[..], b"1");
}

/// That an error says in one line what is the matter, and what to do.
fn assert_says(error: &StoreError, message: &str, advice: &str) {
    assert!(error.to_string().contains(message), "{error}");
    assert!(error.advice().contains(advice), "{}", error.advice());
}
