//! What several stores, and several artifacts, share.

use super::{Directory, artifact, assert_whole, call, get, id, options, put, run, scope};
use crate::SqliteStore;
use crossfeed_store::{ArtifactLookup, ArtifactMissing, ResultStore};
use std::{fs, sync::Arc, thread, time::Duration};

fn is_unknown(store: &SqliteStore, name: &str) -> bool {
    matches!(
        get(store, name).unwrap(),
        ArtifactLookup::Missing(ArtifactMissing::Unknown)
    )
}

#[test]
fn an_artifact_is_read_and_indexed_once() {
    let directory = Directory::new();
    let store = directory.open();
    put(&store, "1", 2000).unwrap();
    let first = get(&store, "1").unwrap().found().unwrap();
    first.document().root().unwrap();
    let second = get(&store, "1").unwrap().found().unwrap();
    assert!(
        Arc::ptr_eq(&first, &second)
            && second.document().resident_bytes() > second.document().raw().len()
    );

    let other = directory.open();
    run(other.remove_session(&scope("s"))).unwrap();
    assert!(is_unknown(&store, "1"));
    put(&other, "1", 3000).unwrap();
    assert_whole(&store, "1", 3000);
    assert_eq!(first.document().raw().len(), 2000, "a holder keeps it");
}

#[test]
fn what_is_kept_in_memory_is_bounded() {
    let directory = Directory::new();
    let store = SqliteStore::open(&directory, options().with_loaded_bytes(5000)).unwrap();
    for name in ["a", "b", "c"] {
        put(&store, name, 2000).unwrap();
    }
    put(&store, "large", 6000).unwrap();
    let first = get(&store, "a").unwrap().found().unwrap();
    get(&store, "large").unwrap();
    assert!(Arc::ptr_eq(
        &first,
        &get(&store, "a").unwrap().found().unwrap()
    ));
    let kept = Arc::downgrade(&first);
    drop(first);
    get(&store, "b").unwrap();
    assert!(kept.upgrade().is_some());
    get(&store, "c").unwrap();
    assert!(kept.upgrade().is_none(), "the oldest goes");
    assert_whole(&store, "a", 2000);
}

#[test]
fn a_file_stays_while_any_artifact_has_its_content() {
    let directory = Directory::new();
    let store = directory.open();
    let other = scope("other");
    put(&store, "x", 2000).unwrap();
    run(store.put_artifact(&other, artifact("x", 2000))).unwrap();
    run(store.put_artifact(&other, artifact("xx", 2000))).unwrap();
    put(&store, "small", 1000).unwrap();
    assert_eq!(directory.files().len(), 1, "the same content is kept once");
    run(store.remove_session(&other)).unwrap();
    assert_eq!(directory.files().len(), 1);
    drop(store);
    let store = directory.open();
    assert_whole(&store, "x", 2000);
    run(store.remove_session(&scope("s"))).unwrap();
    assert_eq!(directory.files().len(), 0);
}

#[test]
fn what_a_crash_left_behind_goes_once_it_is_old() {
    let directory = Directory::new();
    let store = directory.open();
    put(&store, "x", 2000).unwrap();
    let left = ["0".repeat(64), "1.partial".to_owned()];
    for name in &left {
        fs::write(directory.0.join("data").join(name), "left").unwrap();
    }
    fs::write(directory.0.join("data").join("notes.txt"), "not ours").unwrap();
    run(store.sweep()).unwrap();
    assert_eq!(directory.files().len(), 4, "somebody may be writing it");
    let eager = options().with_orphan_age(Duration::ZERO);
    let store = SqliteStore::open(&directory, eager).unwrap();
    assert_eq!(directory.files().len(), 2);
    assert_whole(&store, "x", 2000);
}

#[test]
fn a_refused_artifact_leaves_no_file() {
    let directory = Directory::new();
    let store = directory.open();
    put(&store, "x", 10).unwrap();
    put(&store, "x", 2000).unwrap_err();
    put(&store, "large", 65 << 20).unwrap_err();
    assert_eq!(directory.files().len(), 0);
}

#[test]
fn several_make_the_same_store_at_once() {
    for _ in 0..8 {
        let directory = Directory::new();
        let patient = options()
            .with_keep_results(true)
            .with_busy_timeout(Duration::from_secs(30));
        thread::scope(|threads| {
            for n in 0..4 {
                let (directory, patient) = (&directory, patient.clone());
                threads.spawn(move || {
                    let store = SqliteStore::open(directory, patient).unwrap();
                    put(&store, &format!("a{n}"), 2000).unwrap();
                });
            }
        });
        let listed = run(directory.open().list_artifacts(&scope("s"))).unwrap();
        assert_eq!(listed.len(), 4);
    }
}

#[test]
fn several_stores_write_at_once() {
    let directory = Directory::new();
    let patient = options().with_busy_timeout(Duration::from_secs(30));
    thread::scope(|threads| {
        for writer in 0..4 {
            let (directory, patient) = (&directory, patient.clone());
            threads.spawn(move || {
                let store = SqliteStore::open(directory, patient).unwrap();
                for n in 0..8 {
                    // Every other one under a name that all of them use, with the same content.
                    let name = if n % 2 == 0 {
                        format!("shared-{n}")
                    } else {
                        format!("{writer}-{n}")
                    };
                    put(&store, &name, 900 + 200 * (n % 4)).unwrap();
                }
                if writer == 0 {
                    run(store.sweep()).unwrap();
                }
            });
        }
    });
    let store = directory.open();
    let listed = run(store.list_artifacts(&scope("s"))).unwrap();
    assert_eq!(listed.len(), 4 + 4 * 4);
    for line in listed {
        assert_whole(&store, line.artifact_id.as_str(), line.bytes);
    }
}

#[test]
fn a_file_that_goes_while_it_is_written_is_written_again() {
    // Two sessions share a content: one is removed over and over while the other is made.
    let directory = Directory::new();
    let patient = options().with_busy_timeout(Duration::from_secs(30));
    thread::scope(|threads| {
        for session in ["one", "two"] {
            let (directory, patient) = (&directory, patient.clone());
            threads.spawn(move || {
                let store = SqliteStore::open(directory, patient).unwrap();
                let scope = scope(session);
                for _ in 0..20 {
                    let made = artifact("x", 2000);
                    run(store.put_artifact(&scope, made)).unwrap();
                    let found = run(store.get_artifact(&scope, &id("x"), &call())).unwrap();
                    assert!(found.found().unwrap().is_same_record(&artifact("x", 2000)));
                    run(store.remove_session(&scope)).unwrap();
                }
            });
        }
    });
    assert_eq!(directory.files().len(), 0);
}
