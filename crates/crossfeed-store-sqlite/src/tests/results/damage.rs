//! Results that are not as they were written: never a wrong answer, and all others can be read.

use super::{
    Directory, MINUTE, SqliteStore, assert_says, assert_whole, call, get, keeping, listed, missing,
    put, result, run, scope,
};
use crossfeed_store::{
    Damage, Digest, Expected, LeaseOwner, Lookup, MemoryLimits, Missing, Recorded, ResultStore,
    StoreError, Tombstone,
};
use proptest::prelude::*;
use std::{fs, sync::LazyLock};

fn assert_damaged(error: &StoreError, name: &str) {
    let StoreError::Damaged {
        damage: Damage::Result { call_id, .. },
        ..
    } = error
    else {
        panic!("{error:?}");
    };
    assert_eq!(*call_id, call(name));
}

#[test]
fn a_row_that_was_changed_is_noticed() {
    for change in [
        "results SET recorded_at = recorded_at + 1",
        "results SET kept_bytes = kept_bytes + 1",
        "results SET kept_bytes = -1",
        "results SET kind = 'json'",
        "results SET kind = 'none'",
        "results SET failed = 1",
        "results SET repeatable = 1",
        "results SET media_type = 'text/html'",
        "results SET tool = NULL",
        "results SET server = 'other'",
        "results SET trace = zeroblob(25)",
        "results SET arguments_digest = NULL",
        "results SET arguments_digest = zeroblob(32)",
        "results SET data_bytes = data_bytes - 1",
        "results SET data_digest = zeroblob(32)",
        "results SET in_file = 1",
        "results SET digest = zeroblob(7)",
        "contents SET data = CAST('other' AS BLOB)",
        "contents SET data = NULL",
        "contents SET arguments = CAST('[]' AS BLOB)",
        "contents SET number = 7",
        "results SET call_id = 'b'",
    ] {
        let directory = Directory::new();
        let limits = MemoryLimits::default().with_session_results(3);
        let open = || SqliteStore::open(&directory, keeping().with_limits(limits.clone())).unwrap();
        put(&open(), "a", 20).unwrap();
        put(&open(), "whole", 20).unwrap();
        let statement = format!("UPDATE {change} WHERE number = 1");
        assert_eq!(directory.other().execute(&statement, []).unwrap(), 1);
        let name = if change.ends_with("'b'") { "b" } else { "a" };
        let store = open();
        assert_damaged(&get(&store, name).unwrap_err(), name);
        let is_listed = listed(&store).contains(&name.to_owned());
        assert_eq!(is_listed, change.starts_with("contents"), "{change}");
        if !change.starts_with("contents SET arguments") {
            assert_damaged(&put(&store, name, 20).unwrap_err(), name);
        }
        assert_whole(&store, "whole", 20);
        if change.contains("server") {
            // Of a server of its own, it is protected.
            continue;
        }
        // It makes room like any other.
        for new in ["n1", "n2", "n3"] {
            put(&store, new, 20).unwrap();
        }
        run(store.sweep()).unwrap();
        put(&store, "n4", 20).unwrap();
        assert_eq!(listed(&store), ["n2", "n3", "n4"], "{change}");
        assert_eq!(put(&store, name, 20).unwrap(), Recorded::New, "{change}");
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
        put(&directory.keep(), "a", 2000).unwrap();
        put(&directory.keep(), "whole", 2001).unwrap();
        let digest = Digest::of(result("a", 2000).document().raw());
        change(&directory.0.join("results").join(digest.to_hex()));
        let store = directory.keep();
        assert_damaged(&get(&store, "a").unwrap_err(), "a");
        assert_whole(&store, "whole", 2001);
        // Who may not write cannot say that it is there.
        let reader = SqliteStore::open(&directory, keeping().with_read_only(true)).unwrap();
        assert_damaged(&put(&reader, "a", 2000).unwrap_err(), "a");
        assert_eq!(put(&store, "a", 2000).unwrap(), Recorded::Unchanged);
        assert_whole(&store, "a", 2000);
    }
}

/// How to repeat a call is said as far as it can be relied on.
#[test]
fn what_is_damaged_says_how_to_get_it_again() {
    let whole = Tombstone::from_result(&result("a", 20)).with_repeatable(true);
    let without_arguments = Tombstone::new(Some("search".into()), None).with_repeatable(true);
    for (change, about, part) in [
        ("contents SET data = x'00'", &whole, "data"),
        ("contents SET data = NULL", &whole, "data"),
        ("contents SET number = 7", &without_arguments, "data"),
        (
            "contents SET arguments = x'00'",
            &without_arguments,
            "arguments",
        ),
        ("results SET tool = 'delete'", &Tombstone::default(), "row"),
        ("results SET failed = 1", &Tombstone::default(), "row"),
    ] {
        let directory = Directory::new();
        let made = result("a", 20).with_repeatable(true);
        run(directory.keep().put(&scope("s"), &call("a"), made)).unwrap();
        let statement = format!("UPDATE {change}");
        assert_eq!(directory.other().execute(&statement, []).unwrap(), 1);
        let error = get(&directory.keep(), "a").unwrap_err();
        let expected = Damage::Result {
            call_id: call("a"),
            about: about.clone(),
        };
        assert_eq!(error.damaged_record(), Some(&expected), "{change}");
        let source = std::error::Error::source(&error).unwrap().to_string();
        assert!(source.contains(part), "{change}: {source}");
    }
}

#[test]
fn what_is_kept_of_a_call_without_a_result_is_no_harm_to_others() {
    let directory = Directory::new();
    let limits = MemoryLimits::default().with_session_results(1);
    let store = SqliteStore::open(&directory, keeping().with_limits(limits)).unwrap();
    put(&store, "a", 20).unwrap();
    put(&store, "whole", 20).unwrap();
    let leases = store.leases().unwrap();
    let owner = LeaseOwner::new(1);
    let about = Tombstone::new(Some("search".into()), None);
    for name in ["b", "c"] {
        run(leases.acquire(owner, &scope("s"), &call(name), &about)).unwrap();
    }
    for table in ["gone WHERE call_id = 'a'", "leases WHERE call_id = 'b'"] {
        let (table, which) = table.split_once(' ').unwrap();
        let statement = format!("UPDATE {table} SET tool = CAST(x'ff' AS TEXT) {which}");
        assert_eq!(directory.other().execute(&statement, []).unwrap(), 1);
    }
    for name in ["a", "b"] {
        assert_damaged(&get(&store, name).unwrap_err(), name);
    }
    let flights = run(leases.flights(&scope("s"), &[call("b"), call("c")], &[])).unwrap();
    assert_eq!(flights.running, [call("c")]);
    assert_eq!(missing(&store, "c"), Missing::InFlight(about));
    assert_whole(&store, "whole", 20);
    assert_eq!(put(&store, "a", 20).unwrap(), Recorded::New);
}

#[test]
fn a_database_of_another_format_is_refused_and_left_alone() {
    for (statement, is_expected) in [
        (
            "PRAGMA user_version = 2",
            (|error| matches!(error, StoreError::Newer { found: 2, known: 1 }))
                as fn(&StoreError) -> bool,
        ),
        ("PRAGMA application_id = 7", |error| {
            matches!(error, StoreError::Foreign)
        }),
    ] {
        let directory = Directory::new();
        put(&directory.keep(), "a", 20).unwrap();
        directory.other().execute_batch(statement).unwrap();
        for read_only in [false, true] {
            let options = keeping().with_read_only(read_only);
            let error = SqliteStore::open(&directory, options).unwrap_err();
            assert!(is_expected(&error), "{error:?}");
        }
        // Who keeps no results is not concerned.
        drop(directory.open());
    }
}

#[test]
fn a_record_of_the_host_that_was_changed_is_noticed() {
    for change in [
        "key = 'j'",
        "value = CAST('other' AS BLOB)",
        "expires_at = expires_at + 1",
        "digest = zeroblob(32)",
        "digest = zeroblob(7)",
    ] {
        let directory = Directory::new();
        let store = directory.keep();
        let state = store.state().unwrap();
        run(state.write("k", "v".into(), Expected::Any, MINUTE)).unwrap();
        let statement = format!("UPDATE state SET {change}");
        assert_eq!(directory.other().execute(&statement, []).unwrap(), 1);
        let key = if change.starts_with("key") { "j" } else { "k" };
        let error = run(state.read(key)).unwrap_err();
        assert_says(&error, &format!("record `{key}`"), "remove the record");
        run(state.write(key, "new".into(), Expected::Any, MINUTE)).unwrap();
        assert_eq!(run(state.read(key)).unwrap().unwrap().value, "new");
    }
}

/// The bytes of a database with six results.
static SIX: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let directory = Directory::new();
    let store = directory.keep();
    for n in 0..6 {
        put(&store, &format!("a{n}"), 150 * n).unwrap();
    }
    drop(store);
    fs::read(directory.results()).unwrap()
});

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn damage_is_never_a_wrong_answer(
        places in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let mut bytes = SIX.clone();
        for (place, byte) in places {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        let directory = Directory::new();
        drop(directory.open());
        fs::write(directory.results(), bytes).unwrap();
        fs::create_dir(directory.0.join("results")).unwrap();
        let Ok(store) = SqliteStore::open(&directory, keeping()) else {
            return Ok(());
        };
        for n in 0..6 {
            let name = format!("a{n}");
            match get(&store, &name) {
                Ok(Lookup::Found(found)) => {
                    let made = result(&name, 150 * n);
                    prop_assert!(found.is_same_record(&made), "{}", name);
                    prop_assert_eq!(found.arguments(), made.arguments());
                }
                // Where the damage hides a row, or when it was used.
                Ok(Lookup::Missing(Missing::Unknown | Missing::Expired(_))) | Err(_) => {}
                Ok(Lookup::Missing(missing)) => panic!("{name}: {missing:?}"),
            }
        }
        let _ = put(&store, "new", 20);
        let _ = run(store.sweep());
        let _ = run(store.list(&scope("s")));
        let _ = run(store.remove_session(&scope("s")));
    }
}
