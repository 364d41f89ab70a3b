//! Results that are kept: as in memory, and through a restart.

mod damage;
mod model;

use super::{Directory, assert_says, options, run, scope};
use crate::{KeptResult, SqliteDurability, SqliteOptions, SqliteStore};
use crossfeed_json::Document;
use crossfeed_store::{
    Acquired, Expected, LeaseOwner, Lookup, ManualClock, MemoryLimits, Missing, Recorded,
    ResultKind, ResultStore, StoreError, StoredResult, Tombstone,
};
use crossfeed_wire::{CallId, TraceContext};
use rusqlite::Connection;
use std::{
    fs,
    path::PathBuf,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

const MINUTE: Duration = Duration::from_secs(60);

fn keeping() -> SqliteOptions {
    options().with_keep_results(true)
}

impl Directory {
    fn keep(&self) -> SqliteStore {
        SqliteStore::open(&self.0, keeping()).unwrap()
    }

    fn results(&self) -> PathBuf {
        self.0.join("results.db")
    }

    /// A connection of somebody else.
    fn other(&self) -> Connection {
        Connection::open(self.results()).unwrap()
    }

    /// The files of large results.
    fn result_files(&self) -> usize {
        fs::read_dir(self.0.join("results")).unwrap().count()
    }
}

fn call(id: &str) -> CallId {
    CallId::parse(id).unwrap()
}

/// A result of so many bytes that its name begins.
pub(super) fn result(name: &str, bytes: usize) -> StoredResult {
    let text: String = name.chars().cycle().take(bytes).collect();
    StoredResult::new(Document::new(text), ResultKind::Text)
        .with_tool("search")
        .with_server("web")
        .with_arguments(format!("{{\"q\": \"{name}\"}}"))
}

fn put(store: &SqliteStore, name: &str, bytes: usize) -> Result<Recorded, StoreError> {
    run(store.put(&scope("s"), &call(name), result(name, bytes)))
}

fn get(store: &SqliteStore, name: &str) -> Result<Lookup, StoreError> {
    run(store.get(&scope("s"), &call(name)))
}

fn missing(store: &SqliteStore, name: &str) -> Missing {
    match get(store, name).unwrap() {
        Lookup::Missing(missing) => missing,
        Lookup::Found(_) => panic!("{name} is there"),
    }
}

fn assert_whole(store: &SqliteStore, name: &str, bytes: usize) {
    let found = get(store, name).unwrap().found().unwrap();
    let made = result(name, bytes);
    assert!(found.is_same_record(&made), "{name}: {found:?}");
    assert_eq!(
        (found.tool(), found.server(), found.arguments()),
        (made.tool(), made.server(), made.arguments())
    );
}

fn listed(store: &SqliteStore) -> Vec<String> {
    let lines = run(store.list(&scope("s"))).unwrap();
    lines.iter().map(|line| line.call_id.to_string()).collect()
}

/// The sources of a result.
fn sources(store: &SqliteStore, name: &str) -> Option<Arc<str>> {
    let found = get(store, name).unwrap().found().unwrap();
    found.sources().cloned()
}

/// All sessions are listed, also by one that only looks, and that is no use of them.
#[test]
fn the_results_of_all_sessions_are_listed() {
    let directory = Directory::new();
    let clock = Arc::new(ManualClock::new());
    let open = |options| SqliteStore::open_with_clock(&directory, options, clock.clone()).unwrap();
    let store = open(keeping());
    assert!(store.kept_results().unwrap().is_empty());
    for (session, name) in [("s", "a"), ("t", "a"), ("s", "b")] {
        run(store.put(&scope(session), &call(name), result(name, 3))).unwrap();
        clock.advance(Duration::from_secs(1));
    }
    let looking = open(keeping().with_read_only(true).with_must_exist(true));
    let seen = |store: &SqliteStore| {
        let kept = store.kept_results().unwrap().into_iter();
        let line = |kept: KeptResult| {
            let session = kept.scope.session().to_owned();
            (session, kept.listed.call_id.to_string(), kept.age.as_secs())
        };
        kept.map(line).collect::<Vec<_>>()
    };
    let line = |session: &str, name: &str, age| (session.to_owned(), name.to_owned(), age);
    let all = [line("s", "b", 1), line("t", "a", 2), line("s", "a", 3)];
    assert_eq!(seen(&looking), all);
    let first = looking.kept_results().unwrap().remove(0);
    assert_eq!(first.server.as_deref(), Some("web"));
    assert_eq!(
        (first.listed.bytes, first.listed.tool.as_deref()),
        (3, Some("search"))
    );
    // A damaged row is left out, and what has expired.
    let change = "UPDATE results SET tool = 'other' WHERE session = 't'";
    directory.other().execute(change, []).unwrap();
    assert_eq!(seen(&looking), [all[0].clone(), all[2].clone()]);
    clock.advance(MemoryLimits::default().time_to_live);
    assert!(seen(&looking).is_empty());
    // Without results on the disk there are none.
    assert!(open(options()).kept_results().unwrap().is_empty());
}

#[test]
fn a_directory_of_a_version_without_sources_goes_on() {
    let directory = Directory::new();
    let store = directory.keep();
    put(&store, "a", 3).unwrap();
    drop(store);
    let other = directory.other();
    let columns = "SELECT count(*) FROM pragma_table_info('results') WHERE name = 'sources'";
    let columns = |other: &Connection| other.query_row(columns, [], |row| row.get::<_, i64>(0));
    other
        .execute_batch("ALTER TABLE results DROP COLUMN sources")
        .unwrap();
    // One that cannot write does not miss them.
    let reader = SqliteStore::open(&directory.0, keeping().with_read_only(true)).unwrap();
    assert_whole(&reader, "a", 3);
    assert_eq!(sources(&reader, "a"), None);
    assert_eq!(columns(&other).unwrap(), 0);
    let store = directory.keep();
    assert_eq!(columns(&other).unwrap(), 1);
    assert_whole(&store, "a", 3);
    let with_sources = result("b", 3).with_sources("web/search");
    run(store.put(&scope("s"), &call("b"), with_sources)).unwrap();
    for store in [&store, &reader, &directory.keep()] {
        assert_whole(store, "b", 3);
        assert_eq!(sources(store, "b").as_deref(), Some("web/search"));
        assert_eq!(sources(store, "a"), None);
    }
    // A version without them goes by the rest of the row.
    other
        .execute("UPDATE results SET sources = NULL", [])
        .unwrap();
    let store = directory.keep();
    assert_whole(&store, "b", 3);
    assert_eq!(sources(&store, "b"), None);
}

#[test]
fn sources_of_another_row_are_damage() {
    let directory = Directory::new();
    let store = directory.keep();
    for name in ["a", "b"] {
        let result = result(name, 3).with_sources(format!("web/{name}"));
        run(store.put(&scope("s"), &call(name), result)).unwrap();
    }
    let other = directory.other();
    for sources in [
        "(SELECT sources FROM results WHERE call_id = 'b')",
        "x'00'",
        "CAST(substr(sources, 1, 32) || x'61' AS BLOB)",
    ] {
        let statement = format!("UPDATE results SET sources = {sources} WHERE call_id = 'a'");
        other.execute(&statement, []).unwrap();
        let error = get(&store, "a").unwrap_err();
        assert!(
            matches!(error, StoreError::Damaged { .. }),
            "{sources} {error}"
        );
    }
    assert_eq!(sources(&store, "b").as_deref(), Some("web/b"));
}

#[test]
fn results_are_there_after_a_restart_with_every_field() {
    let directory = Directory::new();
    let trace = TraceContext::new([1; 16], [2; 8], 3).unwrap();
    let made = |kind, bytes: usize| {
        StoredResult::new(Document::new("1".repeat(bytes)), kind)
            .with_media_type("image/png")
            .with_failed(true)
            .with_repeatable(true)
            .with_trace(trace.clone().with_tracestate("vendor=1"))
            .with_arguments("{}")
            .with_sources("web/search\n")
    };
    let kinds = [
        ResultKind::Undeclared,
        ResultKind::Json,
        ResultKind::Mcp,
        ResultKind::Text,
        ResultKind::Bytes,
    ];
    let sizes = [0, 10, 1000, 1001, 5000];
    let store = directory.keep();
    for (kind, bytes) in kinds.into_iter().zip(sizes) {
        let id = call(&format!("{kind:?}"));
        run(store.put(&scope("s"), &id, made(kind, bytes))).unwrap();
    }
    get(&store, "Undeclared").unwrap();
    let before = listed(&store);
    assert_eq!(before, ["Json", "Mcp", "Text", "Bytes", "Undeclared"]);
    assert_eq!(directory.result_files(), 2);
    drop(store);
    let store = directory.keep();
    assert_eq!(listed(&store), before);
    for (kind, bytes) in kinds.into_iter().zip(sizes) {
        let found = get(&store, &format!("{kind:?}")).unwrap().found().unwrap();
        let made = made(kind, bytes);
        assert!(found.is_same_record(&made), "{kind:?}");
        assert_eq!(found.media_type(), made.media_type());
        assert_eq!(found.trace(), made.trace());
        assert_eq!(found.arguments(), made.arguments());
        assert_eq!(found.sources(), made.sources());
        assert!(found.repeatable() && found.tool().is_none() && found.server().is_none());
    }
}

#[test]
fn a_result_is_read_and_indexed_once() {
    let directory = Directory::new();
    let store = directory.keep();
    put(&store, "a", 2000).unwrap();
    drop(store);
    let store = directory.keep();
    let first = get(&store, "a").unwrap().found().unwrap();
    let second = get(&store, "a").unwrap().found().unwrap();
    assert!(Arc::ptr_eq(&first, &second));
    run(directory.keep().remove_session(&scope("s"))).unwrap();
    assert_eq!(missing(&store, "a"), Missing::Unknown);
    assert_eq!(first.document().raw().len(), 2000, "a holder keeps it");
}

#[test]
fn time_goes_on_while_no_process_runs() {
    let (directory, clock) = (Directory::new(), Arc::new(ManualClock::new()));
    let open = || SqliteStore::open_with_clock(&directory, keeping(), clock.clone()).unwrap();
    put(&open(), "a", 20).unwrap();
    clock.advance(4 * MINUTE);
    assert_whole(&open(), "a", 20);
    clock.advance(5 * MINUTE);
    let store = open();
    let tombstone = Tombstone::from_result(&result("a", 20));
    assert_eq!(missing(&store, "a"), Missing::Expired(tombstone.clone()));
    run(store.sweep()).unwrap();
    assert_eq!(missing(&open(), "a"), Missing::Expired(tombstone));
    clock.advance(60 * MINUTE);
    run(open().sweep()).unwrap();
    assert_eq!(missing(&open(), "a"), Missing::Unknown, "long gone");
    assert_eq!(put(&store, "a", 30).unwrap(), Recorded::New);
}

#[test]
fn tombstones_are_bounded() {
    let limits = MemoryLimits::default()
        .with_session_results(1)
        .with_session_tombstones(3)
        .with_tombstone_bytes(2 * 8);
    let directory = Directory::new();
    let store = SqliteStore::open(&directory, keeping().with_limits(limits)).unwrap();
    let put = |id: &str, arguments: Option<&'static str>| {
        let result = StoredResult::new(Document::new("1"), ResultKind::Json);
        let result = match arguments {
            Some(arguments) => result.with_arguments(arguments),
            None => result,
        };
        run(store.put(&scope("s"), &call(id), result)).unwrap();
    };
    let known = |ids: &[&str]| -> Vec<bool> {
        let known = ids.iter().map(|id| missing(&store, id) != Missing::Unknown);
        known.collect()
    };
    for id in ["1", "2", "3", "4", "5"] {
        put(id, None);
    }
    assert_eq!(known(&["1", "2", "3", "4"]), [false, true, true, true]);
    for id in ["6", "7", "8", "9"] {
        put(id, Some("\"123456\""));
    }
    assert_eq!(known(&["5", "6", "7", "8"]), [false, false, true, true]);
}

#[test]
fn a_file_stays_while_any_result_has_its_content() {
    let limits = MemoryLimits::default().with_session_results(1);
    let directory = Directory::new();
    let store = SqliteStore::open(&directory, keeping().with_limits(limits)).unwrap();
    let large = || result("x", 2000);
    for session in ["s", "other"] {
        run(store.put(&scope(session), &call("c1"), large())).unwrap();
    }
    // An artifact of the same content has a file of its own.
    super::put(&store, "x", 2000).unwrap();
    assert_eq!((directory.result_files(), directory.files().len()), (1, 1));
    put(&store, "c2", 20).unwrap();
    assert_eq!(directory.result_files(), 1, "evicted in one session");
    let found = run(store.get(&scope("other"), &call("c1"))).unwrap();
    assert!(found.found().unwrap().is_same_record(&large()));
    run(store.remove_session(&scope("other"))).unwrap();
    assert_eq!((directory.result_files(), directory.files().len()), (0, 1));
}

#[test]
fn a_refused_result_leaves_no_file() {
    let limits = MemoryLimits::default().with_session_bytes(5000);
    let directory = Directory::new();
    let store = SqliteStore::open(&directory, keeping().with_limits(limits)).unwrap();
    put(&store, "held", 3000).unwrap();
    let held = get(&store, "held").unwrap().found().unwrap();
    let error = put(&store, "x", 3000).unwrap_err();
    assert!(matches!(error, StoreError::Full { .. }), "{error:?}");
    let error = put(&store, "x", 6000).unwrap_err();
    assert!(matches!(error, StoreError::TooLarge { .. }), "{error:?}");
    put(&store, "held", 2000).unwrap_err();
    assert_eq!(directory.result_files(), 1);
    drop(held);
    put(&store, "x", 3000).unwrap();
    assert_eq!(directory.result_files(), 1);
}

#[test]
fn room_comes_back() {
    let directory = Directory::new();
    let store = SqliteStore::open(&directory, keeping().with_file_bytes(1 << 20)).unwrap();
    for n in 0..40 {
        put(&store, &n.to_string(), 200_000).unwrap();
    }
    run(store.remove_session(&scope("s"))).unwrap();
    run(store.sweep()).unwrap();
    put(&store, "after", 20).unwrap();
    let pages = |name: &str| -> u64 {
        let other = directory.other();
        other
            .pragma_query_value(None, name, |row| row.get(0))
            .unwrap()
    };
    // 8 MB were there.
    assert!(pages("page_count") * pages("page_size") < 2 << 20);
    assert_whole(&store, "after", 20);
}

#[test]
fn sums_that_are_wrong_are_made_anew() {
    let limits = MemoryLimits::default().with_session_bytes(1000);
    let directory = Directory::new();
    let open = || SqliteStore::open(&directory, keeping().with_limits(limits.clone())).unwrap();
    let store = open();
    put(&store, "a", 400).unwrap();
    directory
        .other()
        .execute_batch("UPDATE sums SET bytes = -1")
        .unwrap();
    run(store.sweep()).unwrap();
    put(&store, "b", 400).unwrap();
    put(&store, "c", 400).unwrap();
    assert_eq!(listed(&store), ["b", "c"]);
}

#[test]
fn lower_limits_hold_after_a_sweep() {
    let directory = Directory::new();
    let store = directory.keep();
    for name in ["a", "b", "c"] {
        put(&store, name, 400).unwrap();
    }
    drop(store);
    let limits = MemoryLimits::default()
        .with_session_results(2)
        .with_total_bytes(500);
    let store = SqliteStore::open(&directory, keeping().with_limits(limits)).unwrap();
    run(store.sweep()).unwrap();
    assert_eq!(listed(&store), ["c"]);
}

#[test]
fn a_store_for_reading_finds_results_and_records_none() {
    let directory = Directory::new();
    let read_only = || SqliteStore::open(&directory, keeping().with_read_only(true)).unwrap();
    // A store that has kept none yet.
    drop(directory.open());
    let reader = read_only();
    assert_eq!(missing(&reader, "a"), Missing::Unknown);
    assert!(!directory.results().exists());
    let store = directory.keep();
    put(&store, "a", 20).unwrap();
    put(&store, "large", 2000).unwrap();
    let reader = read_only();
    assert_whole(&reader, "a", 20);
    assert_whole(&reader, "large", 2000);
    assert_eq!(listed(&reader), ["a", "large"], "reading is no use here");
    for (name, bytes) in [("b", 20), ("c", 2000)] {
        let error = put(&reader, name, bytes).unwrap_err();
        assert!(matches!(error, StoreError::ReadOnly { .. }), "{error:?}");
    }
    assert_eq!(put(&reader, "a", 20).unwrap(), Recorded::Unchanged);
    assert!(reader.leases().is_none() && reader.state().is_none());
    run(reader.sweep()).unwrap();
}

#[test]
fn a_locked_store_can_be_read() {
    let directory = Directory::new();
    let store = directory.keep();
    put(&store, "a", 2000).unwrap();
    drop(store);
    let store = directory.keep();
    let other = directory.other();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert_whole(&store, "a", 2000);
    let error = put(&store, "b", 20).unwrap_err();
    assert!(matches!(error, StoreError::Locked { .. }), "{error:?}");
    assert_says(&error, "more than 50 ms", "try again");
    other.execute_batch("COMMIT").unwrap();
    put(&store, "b", 20).unwrap();
}

#[test]
fn a_full_disk_keeps_what_is_there() {
    let directory = Directory::new();
    let store = directory.keep();
    put(&store, "before", 900).unwrap();
    let results = store.results().unwrap();
    let limit = |pages: i64| {
        let turn = results.database().writer().unwrap();
        let limit = turn.connection();
        limit
            .pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))
            .unwrap();
    };
    limit(1);
    let refused = (0..100).find(|n| match put(&store, &n.to_string(), 900) {
        Ok(_) => false,
        Err(StoreError::NoSpace { .. }) => true,
        Err(error) => panic!("{error:?}"),
    });
    let refused = refused.unwrap().to_string();
    assert_eq!(missing(&store, &refused), Missing::Unknown);
    assert_whole(&store, "before", 900);
    limit(1 << 20);
    put(&store, &refused, 900).unwrap();
}

#[cfg(unix)]
#[test]
fn nobody_else_can_look_into_the_files() {
    use std::os::unix::fs::PermissionsExt;
    let directory = Directory::new();
    let store = directory.keep();
    put(&store, "small", 20).unwrap();
    put(&store, "large", 2000).unwrap();
    let mode = |path: &PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let names = ["results.db", "results.db-wal", "results.db-shm"];
    let files = fs::read_dir(directory.0.join("results")).unwrap();
    let files = files.map(|entry| entry.unwrap().path());
    for path in names
        .map(|name| directory.0.join(name))
        .into_iter()
        .chain(files)
    {
        assert_eq!(mode(&path), 0o600, "{path:?}");
    }
    assert_eq!(mode(&directory.0.join("results")), 0o700);
}

#[test]
fn what_is_committed_is_flushed_as_far_as_was_asked_for() {
    for (durability, expected) in [
        (SqliteDurability::Process, 1),
        (SqliteDurability::Flushed, 2),
    ] {
        let directory = Directory::new();
        let store = SqliteStore::open(&directory, keeping().with_durability(durability)).unwrap();
        let level = || -> i64 {
            let turn = store.results().unwrap().database().writer().unwrap();
            let level = turn.connection();
            level
                .pragma_query_value(None, "synchronous", |row| row.get(0))
                .unwrap()
        };
        put(&store, "a", 20).unwrap();
        assert_eq!(level(), expected);
        get(&store, "a").unwrap();
        assert_eq!(level(), 1, "a use is not waited for");
        let state = store.state().unwrap();
        run(state.write("k", "v".into(), Expected::Any, MINUTE)).unwrap();
        assert_eq!(level(), 2, "a record of the host always is");
    }
}

#[test]
fn what_this_process_changes_wakes_at_once() {
    let directory = Directory::new();
    let options = keeping().with_poll_interval(60 * MINUTE);
    let store = SqliteStore::open(&directory, options).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let leases = store.leases().unwrap();
    let (owner, about) = (LeaseOwner::new(1), Tombstone::default());
    let begun = Instant::now();
    runtime.block_on(async {
        for ends in ["put", "release", "remove"] {
            let (scope, id) = (scope("s"), call(ends));
            let acquired = leases.acquire(owner, &scope, &id, &about).await.unwrap();
            assert_eq!(acquired, Acquired::New);
            let end = async {
                match ends {
                    "put" => drop(store.put(&scope, &id, result("a", 20)).await.unwrap()),
                    "release" => leases.release(owner, &scope, &id).await.unwrap(),
                    _ => store.remove_session(&scope).await.unwrap(),
                }
            };
            futures_util::future::join(leases.changed(&scope), end).await;
        }
    });
    assert!(begun.elapsed() < MINUTE);
}

#[test]
fn a_probe_says_what_is_there() {
    let directory = Directory::new();
    let store = directory.keep();
    put(&store, "a", 2000).unwrap();
    super::put(&store, "x", 10).unwrap();
    let probe = store.probe().unwrap();
    assert_eq!(probe.directory, directory.0);
    assert!(probe.can_write && probe.keeps_results);
    assert_eq!((probe.artifacts, probe.results), (1, 1));
    assert_eq!(probe.result_bytes, 2000 + r#"{"q": "a"}"#.len());
    assert!(probe.artifact_bytes > 10);
    assert_eq!(probe.free_bytes.is_some(), cfg!(unix));
    let reader = SqliteStore::open(&directory, options().with_read_only(true)).unwrap();
    let probe = reader.probe().unwrap();
    assert!(!probe.can_write && !probe.keeps_results);
    assert_eq!((probe.artifacts, probe.results), (1, 0));
}

#[test]
fn looking_for_results_makes_nothing() {
    let directory = Directory::new();
    super::put(&directory.open(), "x", 10).unwrap();
    let names = || {
        let entries = fs::read_dir(&directory).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name());
        names.collect::<std::collections::BTreeSet<_>>()
    };
    let before = names();
    let store = SqliteStore::open(&directory, keeping().with_must_exist(true)).unwrap();
    let probe = store.probe().unwrap();
    assert!(probe.can_write && probe.keeps_results);
    assert_eq!((probe.artifacts, probe.results), (1, 0));
    let error = put(&store, "a", 10).unwrap_err();
    assert!(matches!(error, StoreError::ReadOnly { .. }), "{error:?}");
    drop(store);
    assert_eq!(names(), before);
}

#[test]
fn a_place_is_tried_without_a_trace() {
    let directory = Directory::new();
    for place in ["", "a", "a/b"] {
        SqliteStore::check_writable(directory.0.join(place)).unwrap();
        assert_eq!(fs::read_dir(&directory).unwrap().count(), 0);
    }
    fs::write(directory.0.join("file"), "").unwrap();
    let error = SqliteStore::check_writable(directory.0.join("file/a")).unwrap_err();
    assert!(matches!(error, StoreError::Unavailable { .. }), "{error:?}");
    #[cfg(target_os = "linux")]
    SqliteStore::check_writable("/proc/crossfeed/a").unwrap_err();
}

#[test]
fn what_several_stores_record_and_evict_at_once_is_whole_or_gone() {
    let limits = MemoryLimits::default()
        .with_session_results(3)
        .with_total_bytes(15_000);
    let directory = Directory::new();
    let patient = keeping()
        .with_limits(limits)
        .with_orphan_age(Duration::ZERO)
        .with_busy_timeout(Duration::from_secs(30));
    let open = || SqliteStore::open(&directory, patient.clone()).unwrap();
    // Their contents are files, and the same in all sessions.
    let large = |n: usize| result(&(n % 4).to_string(), 2000 + n % 4);
    thread::scope(|threads| {
        for worker in 0..4 {
            let store = open();
            threads.spawn(move || {
                let scope = scope(["one", "two"][worker % 2]);
                for n in 0..30 {
                    let id = call(&format!("{worker}-{n}"));
                    let recorded = run(store.put(&scope, &id, large(n))).unwrap();
                    assert_eq!(recorded, Recorded::New);
                    match run(store.get(&scope, &id)).unwrap() {
                        Lookup::Found(found) => assert!(found.is_same_record(&large(n))),
                        Lookup::Missing(missing) => {
                            assert!(matches!(missing, Missing::Evicted(_)), "{missing:?}");
                        }
                    }
                    if n % 10 == worker {
                        run(store.sweep()).unwrap();
                    }
                }
            });
        }
    });
    let store = open();
    let other = directory.other();
    let names: i64 = other
        .query_row(
            "SELECT count(DISTINCT data_digest) FROM results",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(directory.result_files(), usize::try_from(names).unwrap());
    for session in ["one", "two"] {
        let listed = run(store.list(&scope(session))).unwrap();
        assert!(!listed.is_empty() && listed.len() <= 3);
        for line in listed {
            let (_, n) = line.call_id.as_str().split_once('-').unwrap();
            let found = run(store.get(&scope(session), &line.call_id)).unwrap();
            let made = large(n.parse().unwrap());
            assert!(found.found().unwrap().is_same_record(&made));
        }
    }
}
