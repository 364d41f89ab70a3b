//! Time and room on the disk: rows that have expired are in nobody's way.

use super::{Directory, artifact, call, id, options, run, scope};
use crate::SqliteStore;
use crossfeed_store::{
    ArtifactLookup, ArtifactMissing, Budget, ManualClock, MemoryLimits, Recorded, ResultStore,
    StoreError,
};
use std::{
    fs::{self, File},
    sync::{Arc, Barrier},
    thread,
    time::{Duration, SystemTime},
};

const MINUTE: Duration = Duration::from_secs(60);

/// A store in which artifacts live for a minute, up to so many in a session.
fn minute(directory: &Directory, artifacts: usize, clock: &Arc<ManualClock>) -> SqliteStore {
    let limits = MemoryLimits::default()
        .with_artifact_time_to_live(Some(MINUTE))
        .with_session_artifacts(artifacts);
    let options = options().with_limits(limits);
    SqliteStore::open_with_clock(directory, options, clock.clone()).unwrap()
}

fn put(store: &SqliteStore, session: &str, name: &str, bytes: usize) -> Recorded {
    run(store.put_artifact(&scope(session), artifact(name, bytes))).unwrap()
}

fn get(store: &SqliteStore, session: &str, name: &str) -> ArtifactLookup {
    run(store.get_artifact(&scope(session), &id(name), &call())).unwrap()
}

/// How many rows there are, and of how many it is noted that they have expired.
fn rows(directory: &Directory) -> [i64; 2] {
    ["artifacts", "expired"].map(|table| {
        let query = format!("SELECT count(*) FROM {table}");
        directory
            .connection()
            .query_row(&query, [], |row| row.get(0))
            .unwrap()
    })
}

#[test]
fn expired_ids_are_free_however_many_there_are() {
    let (directory, clock) = (Directory::new(), Arc::default());
    let store = minute(&directory, 40, &clock);
    for n in 0..40 {
        put(&store, "s", &format!("a{n}"), 20);
    }
    clock.advance(MINUTE);
    // The last to be noted as expired, and in a session that is full of such.
    assert_eq!(put(&store, "s", "a39", 30), Recorded::New);
    let found = get(&store, "s", "a39").found().unwrap();
    assert_eq!(found.document().raw().len(), 30);
    assert!(get(&store, "s", "a38").found().is_none());
}

#[test]
fn damaged_rows_do_not_keep_later_ones_from_being_noted() {
    for by_sweep in [false, true] {
        let (directory, clock) = (Directory::new(), Arc::default());
        let store = minute(&directory, 1000, &clock);
        for n in 0..50 {
            put(&store, "s", &format!("a{n}"), 20);
        }
        let other = directory.connection();
        let changes = ["kept_bytes = 1", "details = 'none'", "tenant = ''"];
        for (n, change) in changes.iter().enumerate() {
            let query =
                format!("UPDATE artifacts SET {change} WHERE number <= 40 AND number % 3 = {n}");
            assert!(other.execute(&query, []).unwrap() >= 13);
        }
        clock.advance(MINUTE);
        if by_sweep {
            run(store.sweep()).unwrap();
        } else {
            for n in 0..5 {
                put(&store, "other", &format!("b{n}"), 20);
            }
        }
        let lookup = get(&store, "s", "a49");
        assert!(matches!(
            lookup,
            ArtifactLookup::Missing(ArtifactMissing::Expired(_))
        ));
        let [kept, noted] = rows(&directory);
        let new = if by_sweep { 0 } else { 5 };
        assert_eq!(kept + noted, 50 + new);
        let left: i64 = other
            .query_row(
                "SELECT count(*) FROM artifacts WHERE number > 40 AND number <= 50",
                [],
                |row| row.get(0),
            )
            .unwrap();
        assert_eq!(left, 0, "by a sweep: {by_sweep}");
    }
}

#[test]
fn limits_hold_among_those_that_wait_to_write() {
    let (directory, clock) = (Directory::new(), Arc::default());
    drop(minute(&directory, 2, &clock));
    let stores: Vec<_> = (0..4)
        .map(|_| {
            let limits = MemoryLimits::default().with_session_artifacts(2);
            let options = options().with_limits(limits).with_busy_timeout(30 * MINUTE);
            SqliteStore::open(&directory, options).unwrap()
        })
        .collect();
    let other = directory.connection();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let begun = Barrier::new(9);
    let recorded = thread::scope(|threads| {
        let (begun, stores) = (&begun, &stores);
        let puts: Vec<_> = (0..8)
            .map(|n| {
                threads.spawn(move || {
                    begun.wait();
                    let made = artifact(&format!("a{n}"), 20);
                    run(stores[n % 4].put_artifact(&scope("s"), made))
                })
            })
            .collect();
        begun.wait();
        // By then most of them have seen that there is room.
        thread::sleep(Duration::from_millis(50));
        other.execute_batch("COMMIT").unwrap();
        let outcomes = puts.into_iter().map(|put| put.join().unwrap());
        outcomes
            .filter(|outcome| match outcome {
                Ok(_) => true,
                Err(StoreError::Full {
                    budget: Budget::SessionArtifacts,
                    ..
                }) => false,
                Err(error) => panic!("{error:?}"),
            })
            .count()
    });
    assert_eq!(recorded, 2);
    assert_eq!(rows(&directory), [2, 0]);
}

#[test]
fn a_file_that_is_used_again_looks_new() {
    let directory = Directory::new();
    let store = directory.open();
    put(&store, "s", "a", 2000);
    let [path] = &directory.files()[..] else {
        panic!("one file");
    };
    let old = SystemTime::now() - 48 * 60 * MINUTE;
    File::options()
        .write(true)
        .open(path)
        .unwrap()
        .set_modified(old)
        .unwrap();
    put(&store, "other", "a", 2000);
    let modified = fs::metadata(path).unwrap().modified().unwrap();
    assert!(modified > old + 24 * 60 * MINUTE);
}
