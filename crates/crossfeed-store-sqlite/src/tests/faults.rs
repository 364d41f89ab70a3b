//! Stores that are locked, full, or not to be written: each says so, and nothing is lost.

use super::{
    Directory, assert_results_work, assert_says, assert_whole, get, options, put, run, scope,
};
use crate::{SqliteDurability, SqliteStore, fault, open, rows};
use crossfeed_json::Document;
use crossfeed_store::{Expected, ResultKind, ResultStore, StoreError, StoredResult};
use crossfeed_wire::CallId;
use std::{fs, io, time::Duration};

#[test]
fn a_locked_store_can_be_read_and_asked_again() {
    let directory = Directory::new();
    let store = directory.open();
    put(&store, "before", 2000).unwrap();
    let other = directory.connection();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let error = put(&store, "locked", 2000).unwrap_err();
    assert!(matches!(error, StoreError::Locked { .. }) && error.may_retry());
    assert_says(&error, "more than 50 ms", "try again");
    assert!(run(store.remove_session(&scope("s"))).is_err());
    assert_whole(&store, "before", 2000);
    assert_whole(&directory.open(), "before", 2000);
    assert_results_work(&store);
    other.execute_batch("COMMIT").unwrap();
    put(&store, "locked", 2000).unwrap();
    assert_whole(&store, "locked", 2000);
}

#[test]
fn a_full_disk_keeps_what_is_there() {
    let directory = Directory::new();
    let store = directory.open();
    put(&store, "before", 900).unwrap();
    let limit = |pages: i64| {
        let writer = store.artifacts().database().writer().unwrap();
        let writer = writer.connection();
        writer
            .pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))
            .unwrap();
    };
    limit(1);
    let mut refused = Vec::new();
    for n in 0..100 {
        let name = format!("a{n}");
        match put(&store, &name, 900) {
            Ok(_) => assert!(refused.is_empty()),
            Err(error) => {
                assert!(matches!(error, StoreError::NoSpace { .. }), "{error:?}");
                assert_says(&error, "no space left", "free space");
                assert!(!error.may_retry());
                refused.push(name);
            }
        }
    }
    assert!(!refused.is_empty());
    for name in &refused {
        assert!(get(&store, name).unwrap().found().is_none());
    }
    assert_whole(&store, "before", 900);
    assert_results_work(&store);
    limit(1 << 20);
    for name in &refused {
        put(&store, name, 900).unwrap();
        assert_whole(&store, name, 900);
    }
}

#[cfg(unix)]
#[test]
fn a_directory_that_is_removed_or_replaced_is_noticed() {
    let directory = Directory::new();
    let place = directory.0.join("state");
    let keeping = || options().with_keep_results(true);
    let store = SqliteStore::open(&place, keeping()).unwrap();
    put(&store, "before", 20).unwrap();
    let call = CallId::parse("call_1").unwrap();
    let result = || StoredResult::new(Document::new("1"), ResultKind::Json);
    let key = "gateway/x";
    let outcomes = || {
        let state = store.state().unwrap();
        [
            put(&store, "after", 20).map(drop),
            put(&store, "after-in-a-file", 2000).map(drop),
            get(&store, "before").map(drop),
            run(store.put(&scope("s"), &call, result())).map(drop),
            run(store.get(&scope("s"), &call)).map(drop),
            run(store.list(&scope("s"))).map(drop),
            run(store.remove_session(&scope("other"))),
            run(state.write(key, "1".into(), Expected::Any, Duration::from_secs(60))).map(drop),
            run(state.read(key)).map(drop),
            run(store.sweep()),
            store.probe().map(drop),
        ]
    };
    let are_noticed = || {
        for (at, outcome) in outcomes().into_iter().enumerate() {
            let error = outcome.expect_err(&format!("the operation {at}"));
            assert!(
                matches!(error, StoreError::Unavailable { retry: false, .. }),
                "{error:?}"
            );
            assert_cause(&error, "removed or replaced");
        }
    };
    let aside = directory.0.join("aside");
    fs::rename(&place, &aside).unwrap();
    are_noticed();
    assert!(!place.exists());
    let other = SqliteStore::open(&place, keeping()).unwrap();
    are_noticed();
    put(&other, "before", 20).unwrap();
    drop(other);
    fs::remove_dir_all(&place).unwrap();
    fs::rename(&aside, &place).unwrap();
    for outcome in outcomes() {
        outcome.unwrap();
    }
    assert_whole(&store, "before", 20);
}

#[test]
fn a_file_system_says_what_a_database_says() {
    for (kind, expected) in [
        (io::ErrorKind::StorageFull, "it has no space left"),
        (io::ErrorKind::QuotaExceeded, "it has no space left"),
        (io::ErrorKind::PermissionDenied, "it can only be read"),
        (io::ErrorKind::ReadOnlyFilesystem, "it can only be read"),
        (io::ErrorKind::TimedOut, "cannot answer"),
    ] {
        assert_says(&fault::writing("data/x", kind.into()), expected, "");
        // What cannot be read is not one of those: it can not even be read.
        let error = fault::reading("data/x", kind.into());
        assert_says(&error, "cannot answer", "");
        assert_cause(&error, "data/x: ");
    }
}

/// That an error names what it is about.
fn assert_cause(error: &StoreError, expected: &str) {
    let cause = std::error::Error::source(error).unwrap().to_string();
    assert!(cause.contains(expected), "{cause}");
}

#[test]
fn one_deadline_is_for_all_waiting() {
    let directory = Directory::new();
    let store = directory.open();
    let mut turn = store.artifacts().database().writer().unwrap();
    // Another request of this process waits for as long as for another process, and no longer.
    let error = put(&store, "a", 20).unwrap_err();
    assert!(matches!(error, StoreError::Locked { .. }), "{error:?}");
    assert_says(&error, "more than 50 ms", "try again");
    // By now this one has none of its time left for others.
    let transaction = turn.begin(SqliteDurability::Flushed).unwrap();
    let left: i64 = transaction
        .pragma_query_value(None, "busy_timeout", |row| row.get(0))
        .unwrap();
    assert_eq!(left, 0);
    drop(transaction);
    drop(turn);
    put(&store, "a", 20).unwrap();
    assert_whole(&store, "a", 20);
}

#[test]
fn a_runtime_that_has_shut_down_is_an_answer() {
    let directory = Directory::new();
    let store = directory.open();
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.build().unwrap();
    let handle = runtime.handle().clone();
    runtime.shutdown_background();
    let _current = handle.enter();
    let error = get(&store, "a").unwrap_err();
    assert!(matches!(error, StoreError::Unavailable { .. }), "{error:?}");
    assert_results_work(&store);
}

#[test]
fn what_is_in_the_place_of_a_file_is_named() {
    for (file, is_directory, expected) in [
        ("", false, "the store's directory: it is not a directory"),
        ("artifacts.db", true, "artifacts.db: it is not a file"),
        ("data", false, "data: "),
    ] {
        let directory = Directory::new();
        let place = directory.0.join("place");
        let path = if file.is_empty() {
            place.clone()
        } else {
            fs::create_dir(&place).unwrap();
            place.join(file)
        };
        if is_directory {
            fs::create_dir(path).unwrap();
        } else {
            fs::write(path, "").unwrap();
        }
        let error = SqliteStore::open(&place, options()).unwrap_err();
        assert!(matches!(error, StoreError::Unavailable { .. }), "{error:?}");
        assert_cause(&error, expected);
    }
    // SQLite itself does not say why it cannot open a file; it is not because it may only be read.
    let directory = Directory::new();
    drop(directory.open());
    fs::create_dir(directory.0.join("artifacts.db-wal")).unwrap();
    let error = SqliteStore::open(&directory, options()).unwrap_err();
    assert!(matches!(error, StoreError::Unavailable { .. }), "{error:?}");
    assert_cause(&error, "artifacts.db: ");
}

#[test]
fn a_store_that_must_exist_is_not_made() {
    let directory = Directory::new();
    let place = directory.0.join("a/b");
    let only = || options().with_must_exist(true);
    let check_absent = || {
        for options in [only(), only().with_read_only(true)] {
            let error = SqliteStore::open(&place, options).unwrap_err();
            assert!(matches!(error, StoreError::Absent), "{error:?}");
            assert_says(&error, "no store", "directory of a store");
        }
    };
    check_absent();
    assert_eq!(fs::read_dir(&directory).unwrap().count(), 0);
    fs::create_dir_all(&place).unwrap();
    check_absent();
    assert_eq!(fs::read_dir(&place).unwrap().count(), 0);
    // Nothing is in it: somebody was stopped before the store was made.
    fs::write(place.join("artifacts.db"), "").unwrap();
    check_absent();
    assert_eq!(fs::metadata(place.join("artifacts.db")).unwrap().len(), 0);
    drop(SqliteStore::open(&place, options()).unwrap());
    let store = SqliteStore::open(&place, only()).unwrap();
    put(&store, "a", 2000).unwrap();
    assert_whole(&store, "a", 2000);
}

#[test]
fn each_new_directory_is_flushed_into_its_parent() {
    let directory = Directory::new();
    let changed = |path: &str| open::changed_by_making(&directory.0.join(path));
    let at = |path: &str| directory.0.join(path);
    assert_eq!(changed("a/b/c"), [at("a/b/c"), at("a/b"), at("a"), at("")]);
    fs::create_dir(at("a")).unwrap();
    assert_eq!(changed("a/b"), [at("a/b"), at("a")]);
    assert_eq!(changed("a"), [at("a"), at("")]);
    let relative = open::changed_by_making("crossfeed-none/b".as_ref());
    assert_eq!(
        relative,
        ["crossfeed-none/b", "crossfeed-none", "."].map(std::path::PathBuf::from)
    );
}

#[test]
fn what_is_committed_is_flushed() {
    let directory = Directory::new();
    let store = directory.open();
    put(&store, "a", 20).unwrap();
    let turn = store.artifacts().database().writer().unwrap();
    let level: i64 = turn
        .connection()
        .pragma_query_value(None, "synchronous", |row| row.get(0))
        .unwrap();
    assert_eq!(level, 2, "FULL");
}

#[cfg(unix)]
#[test]
fn nobody_else_can_look_into_the_files() {
    use std::os::unix::fs::PermissionsExt;
    let directory = Directory::new();
    fs::set_permissions(&directory.0, fs::Permissions::from_mode(0o755)).unwrap();
    let store = directory.open();
    put(&store, "small", 20).unwrap();
    put(&store, "large", 2000).unwrap();
    let mut paths = directory.files();
    let names = ["artifacts.db", "artifacts.db-wal", "artifacts.db-shm"];
    paths.extend(names.map(|name| directory.0.join(name)));
    for path in &paths {
        let mode = fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{path:?}");
    }
    assert_eq!(paths.len(), 4);
}

#[test]
fn a_store_that_is_opened_for_reading_is_not_written() {
    let directory = Directory::new();
    let store = directory.open();
    put(&store, "before", 2000).unwrap();
    let reader = SqliteStore::open(&directory, options().with_read_only(true)).unwrap();
    put(&store, "after", 20).unwrap();
    for name in ["before", "after"] {
        let bytes = if name == "before" { 2000 } else { 20 };
        assert_whole(&reader, name, bytes);
        assert_eq!(
            run(reader.list_artifacts(&scope("s"))).unwrap().len(),
            2,
            "what others write is seen"
        );
    }
    let error = put(&reader, "new", 2000).unwrap_err();
    assert!(matches!(error, StoreError::ReadOnly { .. }), "{error:?}");
    assert_says(&error, "only be read", "writable");
    // What is there already needs no writing.
    put(&reader, "before", 2000).unwrap();
    assert!(run(reader.remove_session(&scope("s"))).is_err());
    run(reader.sweep()).unwrap();
    assert_results_work(&reader);
    run(reader.remove_session(&scope("other"))).unwrap();
    assert_eq!(directory.files().len(), 1);
}

#[test]
fn nothing_is_made_where_nothing_may_be_written() {
    let directory = Directory::new();
    let error = SqliteStore::open(&directory, options().with_read_only(true)).unwrap_err();
    assert!(matches!(error, StoreError::Absent), "{error:?}");
    assert_eq!(fs::read_dir(&directory).unwrap().count(), 0);
}

#[test]
fn a_store_on_a_medium_that_cannot_be_written_can_be_read() {
    let directory = Directory::new();
    let store = directory.open();
    put(&store, "a", 20).unwrap();
    drop(store);
    // What is done where not even a lock can be written.
    let connection = open::Opening::new(&directory.0, &rows::LAYOUT, &options())
        .connect_immutable()
        .unwrap();
    let count: i64 = connection
        .query_row("SELECT count(*) FROM artifacts", [], |row| row.get(0))
        .unwrap();
    assert_eq!(count, 1);
    assert!(!directory.0.join("artifacts.db-wal").exists());
}

#[cfg(unix)]
#[test]
fn a_directory_without_permission_to_write_can_be_read() {
    use std::{io::Write, os::unix::fs::PermissionsExt};
    let directory = Directory::new();
    let store = directory.open();
    put(&store, "a", 2000).unwrap();
    drop(store);
    let set = |mode| {
        let mut paths = [
            directory.0.join("data"),
            directory.database(),
            directory.0.clone(),
        ];
        if mode == 0o755 {
            paths.reverse();
        }
        for path in paths {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        }
    };
    set(0o555);
    if fs::write(directory.0.join("probe"), "").is_ok() {
        // Permissions mean nothing to this user.
        let _ = writeln!(io::stderr(), "skipped: this user may write anywhere");
        set(0o755);
        return;
    }
    let store = SqliteStore::open(&directory, options()).unwrap();
    assert_whole(&store, "a", 2000);
    let error = put(&store, "b", 20).unwrap_err();
    let none = SqliteStore::open(directory.0.join("new"), options()).unwrap_err();
    drop(store);
    set(0);
    let closed = SqliteStore::open(&directory, options()).unwrap_err();
    set(0o755);
    assert!(matches!(error, StoreError::ReadOnly { .. }), "{error:?}");
    assert!(matches!(none, StoreError::ReadOnly { .. }), "{none:?}");
    assert!(
        matches!(closed, StoreError::Unavailable { .. }),
        "{closed:?}"
    );
    assert_cause(&closed, "artifacts.db: ");
    // A file that cannot be read is not damaged: nobody knows.
    let store = directory.open();
    put(&store, "c", 3000).unwrap();
    for path in directory.files() {
        fs::set_permissions(path, fs::Permissions::from_mode(0o000)).unwrap();
    }
    let error = get(&store, "c").unwrap_err();
    assert!(matches!(error, StoreError::Unavailable { .. }), "{error:?}");
    assert_cause(&error, "data/");
}
