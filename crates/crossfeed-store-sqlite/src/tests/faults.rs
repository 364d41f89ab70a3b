//! Stores that are locked, full, or not to be written: each says so, and nothing is lost.

use super::{
    Directory, assert_results_work, assert_says, assert_whole, get, options, put, run, scope,
};
use crate::{SqliteStore, fault, open};
use crossfeed_store::{ResultStore, StoreError};
use std::{fs, io};

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
        let writer = store.artifacts().writer().unwrap();
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
                assert_says(&error, "disk is full", "free space");
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

#[test]
fn a_file_system_says_what_a_database_says() {
    let fault = |kind: io::ErrorKind| fault::io(io::Error::from(kind));
    for (kind, expected) in [
        (io::ErrorKind::StorageFull, "its disk is full"),
        (io::ErrorKind::QuotaExceeded, "its disk is full"),
        (io::ErrorKind::PermissionDenied, "it can only be read"),
        (io::ErrorKind::ReadOnlyFilesystem, "it can only be read"),
        (io::ErrorKind::TimedOut, "cannot answer"),
    ] {
        assert_says(&fault(kind), expected, "");
    }
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
    assert!(matches!(error, StoreError::ReadOnly { .. }), "{error:?}");
    assert_eq!(fs::read_dir(&directory).unwrap().count(), 0);
    let file = directory.0.join("file");
    fs::write(&file, "").unwrap();
    let error = SqliteStore::open(&file, options()).unwrap_err();
    assert!(matches!(error, StoreError::Unavailable { .. }), "{error:?}");
}

#[test]
fn a_store_on_a_medium_that_cannot_be_written_can_be_read() {
    let directory = Directory::new();
    let store = directory.open();
    put(&store, "a", 20).unwrap();
    drop(store);
    // What is done where not even a lock can be written.
    let connection = open::connect_immutable(&directory.database(), &options()).unwrap();
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
        for path in [
            directory.0.join("data"),
            directory.database(),
            directory.0.clone(),
        ] {
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
    set(0o755);
    assert!(matches!(error, StoreError::ReadOnly { .. }), "{error:?}");
}
