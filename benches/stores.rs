//! Stores that outlive a process: what recording and finding a result costs against the least that the backend can be
//! asked, and selecting from a large result that is elsewhere. Needs `redis-server`, and says so where it is not.
#![expect(clippy::unwrap_used, reason = "what cannot run need not be measured")]

use bytes::Bytes;
use crossfeed_benches::{Contender, Run, Work, data};
use crossfeed_core::{Engine, EngineOptions, ToolResult};
use crossfeed_json::{Document, quoted};
use crossfeed_redis_servers::{Server, is_installed};
use crossfeed_store::{
    BlobStore, Lookup, MemoryLimits, MemoryStore, ResultKind, ResultStore, StoredResult,
};
use crossfeed_store_object::{ObjectBlobs, ObjectOptions};
use crossfeed_store_redis::{RedisOptions, RedisStore};
use crossfeed_store_sqlite::{SqliteDurability, SqliteOptions, SqliteStore};
use crossfeed_wire::{CallId, Scope};
use redis::{AsyncCommands as _, aio::MultiplexedConnection};
use std::{
    cell::Cell,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::runtime::{Builder, Runtime};

const SIZES: [(&str, usize); 3] = [("1 KB", 1_000), ("100 KB", 100_000), ("1 MB", 1_000_000)];
const LARGE: usize = 10_000_000;

fn main() {
    let run = Run::from_arguments(3.0);
    // The server has the other core.
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let folder = std::env::temp_dir().join(format!("crossfeed-bench-{}", std::process::id()));
    in_sqlite(&run, &runtime, &folder);
    if is_installed() {
        let server = runtime.block_on(Server::start(&[])).unwrap();
        in_redis(&run, &runtime, &server);
        selecting(&run, &runtime, &server, &folder);
        from_blobs(&run, &runtime, &server, &folder);
    }
    let _ = std::fs::remove_dir_all(&folder);
}

fn scope() -> Scope {
    Scope::parse("tenant", "project", "session").unwrap()
}

fn result(data: &Bytes) -> StoredResult {
    StoredResult::new(Document::new(data.clone()), ResultKind::Json).with_tool("search")
}

/// Ids that were never used.
struct Ids(Cell<u64>);

impl Ids {
    fn next(&self) -> CallId {
        self.0.set(self.0.get() + 1);
        CallId::parse(&format!("call_{}", self.0.get())).unwrap()
    }
}

/// Records so many new results, then forgets them, which is not measured.
fn putting<'a>(runtime: &'a Runtime, store: &'a dyn ResultStore, data: &'a Bytes) -> Contender<'a> {
    let (ids, scope) = (Ids(Cell::new(0)), scope());
    Contender::timed(move |n| {
        let calls: Vec<CallId> = (0..n).map(|_| ids.next()).collect();
        let start = Instant::now();
        runtime.block_on(async {
            for call in &calls {
                store.put(&scope, call, result(data)).await.unwrap();
            }
        });
        let took = start.elapsed();
        runtime.block_on(store.remove_session(&scope)).unwrap();
        took
    })
}

/// Finds one result again and again.
fn getting<'a>(runtime: &'a Runtime, store: &'a dyn ResultStore, data: &Bytes) -> Contender<'a> {
    let scope = Scope::parse("tenant", "project", "read").unwrap();
    let call = CallId::parse("call_1").unwrap();
    runtime.block_on(store.remove_session(&scope)).unwrap();
    runtime
        .block_on(store.put(&scope, &call, result(data)))
        .unwrap();
    Contender::timed(move |n| {
        let start = Instant::now();
        runtime.block_on(async {
            for _ in 0..n {
                assert!(matches!(
                    store.get(&scope, &call).await.unwrap(),
                    Lookup::Found(_)
                ));
            }
        });
        start.elapsed()
    })
}

fn in_redis(run: &Run, runtime: &Runtime, server: &Server) {
    let plain = redis::Client::open(server.url()).unwrap();
    let info = plain.get_connection_info().clone();
    let settings = redis::io::tcp::TcpSettings::default().set_nodelay(true);
    let plain = redis::Client::open(info.set_tcp_settings(settings)).unwrap();
    let plain = runtime
        .block_on(plain.get_multiplexed_async_connection())
        .unwrap();
    let store = connect(runtime, server, 64 << 20);
    let forgetful = connect(runtime, server, 0);
    if let Some(table) = run.table("Recording in Redis", "time", &["SET", "put"]) {
        for (size, bytes) in SIZES {
            let data = data::records(bytes);
            let rows = vec![
                setting(runtime, &plain, &data),
                putting(runtime, &forgetful, &data),
            ];
            table.line(size, Work::Once, rows);
        }
    }
    if let Some(table) = run.table("Finding in Redis", "time", &["GET", "get", "get, at hand"]) {
        for (size, bytes) in SIZES {
            let data = data::records(bytes);
            let rows = vec![
                reading(runtime, &plain, &data),
                getting(runtime, &forgetful, &data),
                getting(runtime, &store, &data),
            ];
            table.line(size, Work::Once, rows);
        }
    }
}

fn connect(runtime: &Runtime, server: &Server, cache: usize) -> RedisStore {
    let options = RedisOptions::from_url(&server.url()).unwrap();
    connect_with(runtime, options, cache)
}

fn connect_with(runtime: &Runtime, options: RedisOptions, cache: usize) -> RedisStore {
    let options = options
        .with_cache_bytes(cache)
        .with_timeout(Duration::from_secs(20))
        .with_limits(
            MemoryLimits::default()
                .with_session_bytes(4 << 30)
                .with_session_results(10_000_000),
        );
    runtime.block_on(RedisStore::connect(options)).unwrap()
}

fn setting<'a>(
    runtime: &'a Runtime,
    plain: &MultiplexedConnection,
    data: &'a Bytes,
) -> Contender<'a> {
    let mut plain = plain.clone();
    let number = Cell::new(0u64);
    Contender::timed(move |n| {
        let first = number.get();
        let start = Instant::now();
        runtime.block_on(async {
            for key in first..first + n {
                let _: () = plain
                    .pset_ex(format!("plain:{key}"), &data[..], 300_000)
                    .await
                    .unwrap();
            }
        });
        let took = start.elapsed();
        runtime.block_on(async {
            for key in first..first + n {
                let _: () = plain.unlink(format!("plain:{key}")).await.unwrap();
            }
        });
        number.set(first + n);
        took
    })
}

fn reading<'a>(runtime: &'a Runtime, plain: &MultiplexedConnection, data: &Bytes) -> Contender<'a> {
    let mut plain = plain.clone();
    let _: () = runtime.block_on(plain.set("read", &data[..])).unwrap();
    let length = data.len();
    Contender::timed(move |n| {
        let start = Instant::now();
        runtime.block_on(async {
            for _ in 0..n {
                let found: Vec<u8> = plain.get("read").await.unwrap();
                assert_eq!(found.len(), length);
            }
        });
        start.elapsed()
    })
}

fn in_sqlite(run: &Run, runtime: &Runtime, folder: &Path) {
    let rows = ["put", "put, flushed", "get, at hand"];
    let Some(table) = run.table("One result in SQLite", "time", &rows) else {
        return;
    };
    let open = |name: &str, durability| {
        let options = SqliteOptions::default()
            .with_keep_results(true)
            .with_durability(durability)
            .with_limits(MemoryLimits::default().with_session_results(10_000_000));
        SqliteStore::open(folder.join(name), options).unwrap()
    };
    let store = open("process", SqliteDurability::Process);
    let flushed = open("flushed", SqliteDurability::Flushed);
    for (size, bytes) in SIZES {
        let data = data::records(bytes);
        let rows = vec![
            putting(runtime, &store, &data),
            putting(runtime, &flushed, &data),
            getting(runtime, &store, &data),
        ];
        table.line(size, Work::Once, rows);
    }
}

/// A part of a result of 10 MB: from memory, from what is at hand of another place, and from there.
fn selecting(run: &Run, runtime: &Runtime, server: &Server, folder: &Path) {
    let rows = [
        "memory",
        "Redis, at hand",
        "SQLite, at hand",
        "Redis",
        "of memory, indexed anew",
    ];
    let Some(table) = run.table("A part of a result of 10 MB", "time", &rows) else {
        return;
    };
    let data = data::records(LARGE);
    let limits = || MemoryLimits::default();
    let sqlite = SqliteOptions::default().with_keep_results(true);
    let sqlite = SqliteStore::open(folder.join("large"), sqlite).unwrap();
    let stores: Vec<Arc<dyn ResultStore>> = vec![
        Arc::new(MemoryStore::new(limits())),
        Arc::new(connect(runtime, server, 64 << 20)),
        Arc::new(sqlite),
        Arc::new(connect(runtime, server, 0)),
    ];
    let call = CallId::parse("call_1").unwrap();
    let mut rows: Vec<Contender<'_>> = Vec::new();
    for (number, store) in stores.into_iter().enumerate() {
        let scope = Scope::parse("tenant", "project", &format!("select {number}")).unwrap();
        let session = Engine::new(EngineOptions::default(), store).session(scope);
        let recorded = session.record(&call, ToolResult::json(data.clone()));
        runtime.block_on(recorded).unwrap();
        let call = call.clone();
        rows.push(Contender::new(move || {
            runtime
                .block_on(session.select(&call, "items[1000].title"))
                .unwrap()
        }));
    }
    rows.push(Contender::new(|| {
        let document = Document::new(data.clone());
        document.root().unwrap().raw().len()
    }));
    table.line("`items[1000].title`", Work::Once, rows);
}

/// A part of a large result whose data lies in a directory, for a process that has nothing of it: by a path, which reads
/// an excerpt, and by a selector that reads all of it.
fn from_blobs(run: &Run, runtime: &Runtime, server: &Server, folder: &Path) {
    let rows = ["a path", "all read"];
    let Some(table) = run.table("A part of a large result in a directory", "time", &rows) else {
        return;
    };
    let url = format!("file://{}", folder.join("blobs").display());
    let blobs: Arc<dyn BlobStore> =
        Arc::new(ObjectBlobs::from_url(&url, ObjectOptions::default()).unwrap());
    let connect = || {
        let options = RedisOptions::from_url(&server.url()).unwrap();
        connect_with(runtime, options.with_blobs(Arc::clone(&blobs)), 256 << 20)
    };
    let connect = &connect;
    let call = CallId::parse("call_1").unwrap();
    for (size, bytes, is_text) in [
        ("1 MB", 1_000_000, false),
        ("10 MB", LARGE, false),
        ("10 MB, JSON in a text", LARGE, true),
        ("50 MB", 5 * LARGE, false),
    ] {
        let data = data::records(bytes);
        let recorded = if is_text {
            let text = quoted(str::from_utf8(&data).unwrap());
            ToolResult::mcp(format!(
                r#"{{"content":[{{"type":"text","text":{text}}}]}}"#
            ))
        } else {
            ToolResult::json(data)
        };
        let scope = Scope::parse("tenant", "project", &format!("blobs {size}")).unwrap();
        let session = Engine::new(EngineOptions::default(), Arc::new(connect()));
        let session = session.session(scope.clone());
        runtime.block_on(session.record(&call, recorded)).unwrap();
        let selecting = |selector: &'static str| {
            let (call, scope) = (call.clone(), scope.clone());
            Contender::timed(move |n| {
                let mut took = Duration::ZERO;
                for _ in 0..n {
                    // A process that has read nothing yet.
                    let engine = Engine::new(EngineOptions::default(), Arc::new(connect()));
                    let session = engine.session(scope.clone());
                    let start = Instant::now();
                    runtime.block_on(session.select(&call, selector)).unwrap();
                    took += start.elapsed();
                }
                took
            })
        };
        let rows = vec![
            selecting("items[1000].title"),
            selecting("items[1000].[title]"),
        ];
        table.line(size, Work::Once, rows);
    }
}
