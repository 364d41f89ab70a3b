//! Stores that are not as they were written: never a wrong answer, and nothing is changed but a file
//! that can be made whole again.

use super::{
    Directory, artifact, assert_results_work, assert_says, assert_whole, call, get, id, options,
    put, run, scope,
};
use crate::SqliteStore;
use crossfeed_store::{
    ArtifactLookup, Damage, ListedArtifact, ManualClock, MemoryLimits, Recorded, ResultStore,
    StoreError,
};
use proptest::prelude::*;
use std::{fs, sync::Arc, time::Duration};

/// That a file in the database's place is refused, and left as it is.
fn check_refused(content: &[u8], expected: fn(&StoreError) -> bool) {
    let directory = Directory::new();
    fs::write(directory.database(), content).unwrap();
    for read_only in [false, true] {
        let options = options().with_read_only(read_only);
        let error = SqliteStore::open(&directory, options).unwrap_err();
        assert!(expected(&error), "{error:?}");
        assert!(!error.to_string().is_empty() && !error.advice().is_empty());
    }
    assert_eq!(fs::read(directory.database()).unwrap(), content);
}

/// The bytes of a database that somebody changed.
fn changed(statement: &str) -> Vec<u8> {
    let directory = Directory::new();
    let store = directory.open();
    put(&store, "a", 500).unwrap();
    drop(store);
    let connection = directory.connection();
    connection.execute_batch(statement).unwrap();
    drop(connection);
    fs::read(directory.database()).unwrap()
}

#[test]
fn what_is_no_store_is_refused_and_left_alone() {
    let is_damaged = |error: &StoreError| {
        matches!(
            error,
            StoreError::Damaged {
                damage: Damage::Database,
                ..
            }
        )
    };
    check_refused(
        &b"not a database, but long enough to be one".repeat(50),
        is_damaged,
    );
    check_refused(&[0; 4096], is_damaged);
    let whole = changed("");
    let mut headless = whole.clone();
    headless[..16].fill(b'x');
    check_refused(&headless, is_damaged);
    check_refused(&changed("PRAGMA user_version = 2"), |error| {
        matches!(error, StoreError::Newer { found: 2, known: 1 })
    });
    check_refused(&changed("PRAGMA user_version = 0"), is_damaged);
    check_refused(&changed("PRAGMA application_id = 7"), |error| {
        matches!(error, StoreError::Foreign)
    });
    check_refused(&changed("PRAGMA application_id = 0"), |error| {
        matches!(error, StoreError::Foreign)
    });
    // The half of a database opens, as far as it goes, and does not pass for a whole one.
    let directory = Directory::new();
    fs::write(directory.database(), &whole[..whole.len() / 2]).unwrap();
    let outcome = SqliteStore::open(&directory, options());
    let error = outcome.and_then(|store| get(&store, "a")).unwrap_err();
    assert!(is_damaged(&error), "{error:?}");
}

#[test]
fn an_empty_file_is_a_new_store() {
    let directory = Directory::new();
    fs::write(directory.database(), "").unwrap();
    let store = directory.open();
    put(&store, "a", 20).unwrap();
    assert_whole(&store, "a", 20);
}

fn assert_damaged(error: &StoreError, name: &str) {
    let StoreError::Damaged {
        damage: Damage::Artifact { artifact_id, .. },
        ..
    } = error
    else {
        panic!("{error:?}");
    };
    assert_eq!(*artifact_id, id(name));
    assert_says(error, &format!("artifact `{name}`"), "check the disk");
}

#[test]
fn a_row_that_was_changed_is_noticed() {
    for change in [
        "recorded_at = recorded_at + 1",
        "expires_at = 9000000000000",
        "expires_at = 1",
        "kept_bytes = kept_bytes + 1",
        "blocked = 1",
        "tool = 'fetch'",
        "tool = NULL",
        "base = 'items[1]'",
        "details = '[]'",
        "details = 'none'",
        "expires_at = 1, details = 'none'",
        "kept_bytes = -1, expires_at = 1",
        "digest = zeroblob(7)",
        "data_bytes = data_bytes - 1",
        "data_digest = zeroblob(32)",
        "in_file = 1",
        "summary = NULL",
        "summary = CAST('{}' AS BLOB)",
        "data = CAST('other' AS BLOB)",
        "data = NULL",
        "artifact_id = 'b'",
        "session = 'other'",
    ] {
        let directory = Directory::new();
        let store = directory.open();
        put(&store, "a", 20).unwrap();
        put(&store, "whole", 20).unwrap();
        let changed = directory
            .connection()
            .execute(
                &format!("UPDATE artifacts SET {change} WHERE artifact_id = 'a'"),
                [],
            )
            .unwrap();
        assert_eq!(changed, 1);
        let (session, name) = match change {
            "session = 'other'" => ("other", "a"),
            "artifact_id = 'b'" => ("s", "b"),
            _ => ("s", "a"),
        };
        let error = run(store.get_artifact(&scope(session), &id(name), &call())).unwrap_err();
        assert_damaged(&error, name);
        // A list is not about data, and what is whole is listed in any case.
        let listed = run(store.list_artifacts(&scope(session))).unwrap();
        let line = |name: &str| listed.iter().find(|line| line.artifact_id == id(name));
        let is_marked = line(name).unwrap().damaged;
        assert_eq!(is_marked, !change.starts_with("data = "), "{change}");
        if session == "s" {
            let whole = ListedArtifact::from_artifact(&artifact("whole", 20));
            assert_eq!(line("whole"), Some(&whole));
        }
        // It is neither mistaken for one that has expired, nor overwritten.
        run(store.sweep()).unwrap();
        assert_damaged(
            &run(store.get_artifact(&scope(session), &id(name), &call())).unwrap_err(),
            name,
        );
        if session == "s" {
            assert_damaged(&put(&store, name, 20).unwrap_err(), name);
        }
        assert_whole(&store, "whole", 20);
        put(&store, "new", 20).unwrap();
        assert_whole(&store, "new", 20);
        assert_results_work(&store);
    }
}

#[test]
fn a_file_that_was_changed_is_noticed_and_can_be_given_again() {
    type Change = fn(&std::path::Path);
    let changes: [Change; 3] = [
        |path| fs::remove_file(path).unwrap(),
        |path| fs::write(path, "x".repeat(2000)).unwrap(),
        |path| fs::write(path, "short").unwrap(),
    ];
    for change in changes {
        let directory = Directory::new();
        let store = directory.open();
        put(&store, "a", 2000).unwrap();
        put(&store, "whole", 2001).unwrap();
        let digest = crossfeed_store::Digest::of(artifact("a", 2000).document().raw());
        change(&directory.0.join("data").join(digest.to_hex()));
        assert_damaged(&get(&store, "a").unwrap_err(), "a");
        assert_whole(&store, "whole", 2001);
        // Who may not write cannot say that it is there.
        let reader = SqliteStore::open(&directory, options().with_read_only(true)).unwrap();
        assert_damaged(&put(&reader, "a", 2000).unwrap_err(), "a");
        assert_eq!(put(&store, "a", 2000).unwrap(), Recorded::Unchanged);
        assert_whole(&store, "a", 2000);
        assert_eq!(put(&reader, "a", 2000).unwrap(), Recorded::Unchanged);
    }
}

#[test]
fn ids_that_cannot_be_read_keep_no_other_from_being_listed() {
    let directory = Directory::new();
    let store = directory.open();
    put(&store, "a", 20).unwrap();
    put(&store, "whole", 20).unwrap();
    let other = directory.connection();
    other
        .execute("UPDATE artifacts SET call_id = '' WHERE number = 1", [])
        .unwrap();
    let listed = run(store.list_artifacts(&scope("s"))).unwrap();
    assert_eq!(
        listed,
        [ListedArtifact::from_artifact(&artifact("whole", 20))]
    );
}

/// The bytes of a database with six artifacts.
fn six() -> Vec<u8> {
    let directory = Directory::new();
    let store = directory.open();
    for n in 0..6 {
        put(&store, &format!("a{n}"), 150 * n).unwrap();
    }
    drop(store);
    fs::read(directory.database()).unwrap()
}

/// That a damaged database of [`six`] gives what was written, or says that it is not, or does not
/// find it: the last where the damage hides a row.
fn check_no_wrong_answer(bytes: &[u8]) {
    let directory = Directory::new();
    fs::write(directory.database(), bytes).unwrap();
    let Ok(store) = SqliteStore::open(&directory, options()) else {
        return;
    };
    for n in 0..6 {
        let name = format!("a{n}");
        if let Ok(ArtifactLookup::Found(found)) = get(&store, &name) {
            assert!(found.is_same_record(&artifact(&name, 150 * n)), "{name}");
        }
    }
    for line in run(store.list_artifacts(&scope("s"))).unwrap_or_default() {
        let made = (0..6).map(|n| artifact(&format!("a{n}"), 150 * n));
        let made: Vec<_> = made
            .map(|made| ListedArtifact::from_artifact(&made))
            .collect();
        assert!(line.damaged || made.contains(&line), "{line:?}");
    }
    assert_results_work(&store);
}

#[test]
fn an_index_that_leads_to_another_row_is_noticed() {
    let whole = six();
    let key = "tenantprojectsa";
    let keys: Vec<_> = (0..whole.len())
        .filter(|at| whole[*at..].starts_with(key.as_bytes()))
        .collect();
    // Each stands in the table and in the index of names.
    assert!(keys.len() >= 12, "{keys:?}");
    for at in keys {
        for byte in at..at + key.len() + 4 {
            let mut bytes = whole.clone();
            bytes[byte] += 1;
            check_no_wrong_answer(&bytes);
        }
    }
}

/// Makes an index that has something else in the place of a column.
fn mislead(directory: &Directory, index: &str, column: &str, other: &str) {
    let connection = directory.connection();
    let query = format!("SELECT sql FROM sqlite_schema WHERE name = '{index}'");
    let sql: String = connection.query_row(&query, [], |row| row.get(0)).unwrap();
    let wrong = sql.replacen(column, other, 1);
    assert_ne!(sql, wrong);
    connection
        .execute_batch(&format!(
            "DROP INDEX {index}; {wrong}; PRAGMA writable_schema = ON; \
             UPDATE sqlite_schema SET sql = '{sql}' WHERE name = '{index}'"
        ))
        .unwrap();
}

#[test]
fn an_index_cannot_make_anything_expire() {
    let directory = Directory::new();
    let limits = MemoryLimits::default().with_artifact_time_to_live(Some(Duration::from_secs(60)));
    let clock = Arc::new(ManualClock::new());
    let open = || {
        let options = options().with_limits(limits.clone());
        SqliteStore::open_with_clock(&directory, options, clock.clone()).unwrap()
    };
    put(&open(), "a", 20).unwrap();
    mislead(
        &directory,
        "artifacts_expiring",
        "expires_at",
        "recorded_at",
    );
    clock.advance(Duration::from_secs(30));
    let store = open();
    run(store.sweep()).unwrap();
    put(&store, "b", 20).unwrap();
    assert_whole(&store, "a", 20);
}

#[test]
fn an_index_cannot_list_what_is_of_another_session() {
    let directory = Directory::new();
    put(&directory.open(), "a", 20).unwrap();
    mislead(&directory, "artifacts_kept", "session", "artifact_id");
    let listed = run(directory.open().list_artifacts(&scope("a"))).unwrap();
    assert_eq!(listed, []);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn damage_is_never_a_wrong_answer(
        places in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let mut bytes = six();
        for (place, byte) in places {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        check_no_wrong_answer(&bytes);
    }
}
