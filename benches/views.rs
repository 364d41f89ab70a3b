//! What a model is shown: hints and previews of results whose index is built, and artifacts put and
//! got.
#![expect(clippy::unwrap_used, reason = "what cannot run need not be measured")]

use crossfeed_benches::{Contender, Run, Work, data};
use crossfeed_core::{
    Engine, EngineOptions, HintDetail, RenderOptions, Session, ShownHints, ToolResult,
};
use crossfeed_json::Document;
use crossfeed_store::{MemoryLimits, MemoryStore, ResultStore, StoredArtifact};
use crossfeed_store_sqlite::{SqliteOptions, SqliteStore};
use crossfeed_wire::{ArtifactId, CallId, Scope};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::runtime::{Builder, Runtime};

const SIZES: [(&str, usize); 3] = [
    ("10 KB", 10_000),
    ("1 MB", 1_000_000),
    ("100 MB", 100_000_000),
];

fn main() {
    let run = Run::from_arguments(1.5);
    let runtime = Builder::new_current_thread().build().unwrap();
    shown(&run, &runtime);
    artifacts(&run, &runtime);
}

fn scope() -> Scope {
    Scope::parse("tenant", "project", "session").unwrap()
}

fn limits() -> MemoryLimits {
    MemoryLimits::default()
        .with_session_bytes(4 << 30)
        .with_total_bytes(4 << 30)
        .with_artifact_bytes(4 << 30)
        .with_session_artifacts(usize::MAX)
}

fn shown(run: &Run, runtime: &Runtime) {
    for (name, set) in data::SETS {
        let title = format!("What a model is shown of a result, index built: {name}");
        let rows = [
            "compact hints",
            "full hints",
            "preview to 500 tokens",
            "preview with hints",
        ];
        let Some(table) = run.table(&title, "result", &rows) else {
            continue;
        };
        for (size, bytes) in SIZES {
            let engine = Engine::new(
                EngineOptions::default(),
                Arc::new(MemoryStore::new(limits())),
            );
            let session = engine.session(scope());
            let call = CallId::parse("call_1").unwrap();
            let result = ToolResult::json(set(bytes));
            runtime.block_on(session.record(&call, result)).unwrap();
            // Builds the index.
            runtime.block_on(session.shape(&call)).unwrap();
            let rows = vec![
                hints(runtime, &session, &call, HintDetail::Compact),
                hints(runtime, &session, &call, HintDetail::Full),
                preview(runtime, &session, &call, ShownHints::Never),
                preview(runtime, &session, &call, ShownHints::WhenCut),
            ];
            table.line(size, Work::Once, rows);
        }
    }
}

fn hints<'a>(
    runtime: &'a Runtime,
    session: &'a Session,
    call: &'a CallId,
    detail: HintDetail,
) -> Contender<'a> {
    Contender::new(move || runtime.block_on(session.hints(call, detail)).unwrap())
}

fn preview<'a>(
    runtime: &'a Runtime,
    session: &'a Session,
    call: &'a CallId,
    hints: ShownHints,
) -> Contender<'a> {
    let options = RenderOptions::default().with_hints(hints);
    Contender::new(move || runtime.block_on(session.render(call, &options)).unwrap())
}

/// A new store each, and so many artifacts in it.
fn artifacts(run: &Run, runtime: &Runtime) {
    let rows = ["memory", "sqlite"];
    let Some(puts) = run.table("Artifacts put", "data", &rows) else {
        return;
    };
    let folder = std::env::temp_dir().join(format!("crossfeed-bench-{}", std::process::id()));
    let memory = MemoryStore::new(limits());
    let options = SqliteOptions::default().with_limits(limits());
    let sqlite = SqliteStore::open(&folder, options).unwrap();
    let stores: [&dyn ResultStore; 2] = [&memory, &sqlite];
    let sizes = [("1 KB", 1_000), ("100 KB", 100_000), ("1 MB", 1_000_000)];
    for (size, bytes) in sizes {
        let rows = stores.map(|store| put(runtime, store, bytes));
        puts.line(size, Work::Once, rows.into());
    }
    let Some(gets) = run.table("Artifacts got, from a store just opened", "data", &rows) else {
        return;
    };
    for (size, bytes) in sizes {
        for store in stores {
            runtime
                .block_on(store.put_artifact(&scope(), artifact(&format!("get {size}"), bytes)))
                .unwrap();
        }
        let id = ArtifactId::parse(&format!("get {size}")).unwrap();
        let call = CallId::parse("call_1").unwrap();
        let from_memory = {
            let id = id.clone();
            let call = call.clone();
            let memory = &memory;
            Contender::new(move || {
                runtime
                    .block_on(memory.get_artifact(&scope(), &id, &call))
                    .unwrap()
            })
        };
        let folder = folder.clone();
        let from_disk = Contender::timed(move |iterations| {
            let mut taken = Duration::ZERO;
            for _ in 0..iterations {
                let options = SqliteOptions::default().with_limits(limits());
                let store = SqliteStore::open(&folder, options).unwrap();
                let start = Instant::now();
                let got = runtime.block_on(store.get_artifact(&scope(), &id, &call));
                taken += start.elapsed();
                drop(got.unwrap());
            }
            taken
        });
        gets.line(size, Work::Once, vec![from_memory, from_disk]);
    }
    drop(sqlite);
    std::fs::remove_dir_all(&folder).unwrap();
}

fn artifact(id: &str, bytes: usize) -> StoredArtifact {
    StoredArtifact::new(
        ArtifactId::parse(id).unwrap(),
        CallId::parse("call_1").unwrap(),
        Document::new(data::records(bytes)),
    )
}

/// Puts one artifact after the other; making them is not measured.
fn put<'a>(runtime: &'a Runtime, store: &'a dyn ResultStore, bytes: usize) -> Contender<'a> {
    let raw = data::records(bytes);
    let mut number = 0;
    Contender::timed(move |iterations| {
        let mut taken = Duration::ZERO;
        for _ in 0..iterations {
            number += 1;
            // No two have the same content, which would be kept once.
            let content = format!("[{number},{}]", String::from_utf8_lossy(&raw));
            let made = StoredArtifact::new(
                ArtifactId::parse(&format!("{bytes} {number}")).unwrap(),
                CallId::parse("call_1").unwrap(),
                Document::new(content),
            );
            let start = Instant::now();
            runtime
                .block_on(store.put_artifact(&scope(), made))
                .unwrap();
            taken += start.elapsed();
            // So that neither memory nor disk fills.
            runtime.block_on(store.remove_session(&scope())).unwrap();
        }
        taken
    })
}
