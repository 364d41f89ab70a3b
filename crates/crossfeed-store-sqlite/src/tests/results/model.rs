//! Random work, compared step by step with the store in memory.

use super::{Directory, SqliteStore, call, keeping, run};
use crossfeed_json::Document;
use crossfeed_store::{
    Lookup, ManualClock, MemoryLimits, MemoryStore, Missing, ResultKind, ResultStore, StoreError,
    StoredResult,
};
use crossfeed_wire::Scope;
use proptest::{collection::vec, prelude::*};
use std::{sync::Arc, time::Duration};

/// The first two are one owner's.
const SESSIONS: [(&str, &str); 4] = [("p", "a"), ("p", "b"), ("q", "a"), ("r", "a")];
const CALLS: usize = 8;

#[derive(Clone, Debug)]
enum Op {
    Put(usize, usize),
    /// The same id with other bytes.
    PutOther(usize, usize),
    Get(usize, usize, bool),
    Release,
    Advance(u64),
    Sweep,
    Remove(usize),
    /// The store is closed, and opened once more.
    Reopen,
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let id = (0..SESSIONS.len(), 0..CALLS);
    let op = prop_oneof![
        8 => id.clone().prop_map(|(session, call)| Op::Put(session, call)),
        1 => id.clone().prop_map(|(session, call)| Op::PutOther(session, call)),
        5 => (id, prop::bool::weighted(0.3)).prop_map(|((s, c), hold)| Op::Get(s, c, hold)),
        2 => Just(Op::Release),
        3 => (1..80_u64).prop_map(Op::Advance),
        1 => Just(Op::Sweep),
        1 => (0..SESSIONS.len()).prop_map(Op::Remove),
        1 => Just(Op::Reopen),
    ];
    vec(op, 1..60)
}

fn scope(session: usize) -> Scope {
    let (project, session) = SESSIONS[session];
    Scope::parse("t", project, session).unwrap()
}

/// The same for each session, so that ids collide; some are files.
fn made(id: usize) -> StoredResult {
    let bytes = [3, 21, 41, 81, 121, 161, 241, 801][id];
    let result = StoredResult::new(Document::new("x".repeat(bytes)), ResultKind::Text)
        .with_repeatable(matches!(id, 0 | 4 | 6))
        .with_tool(format!("tool {id}"))
        .with_arguments("{}");
    match id {
        0 | 1 | 7 => result.with_server("s"),
        4 | 5 => result,
        _ => result.with_server("t"),
    }
}

fn limits() -> MemoryLimits {
    MemoryLimits::default()
        .with_session_bytes(900)
        .with_total_bytes(1300)
        .with_session_results(4)
        .with_time_to_live(Duration::from_secs(100))
}

/// What an answer says, without the bytes of errors' sources.
fn said(error: &StoreError) -> String {
    error.to_string()
}

/// The reason, or that it is not known: how long a reason is remembered is each store's choice.
fn same_missing(one: &Missing, other: &Missing, forgets: bool) -> bool {
    one == other || (forgets && [one, other].contains(&&Missing::Unknown))
}

fn compare(limits: &MemoryLimits, ops: &[Op], forgets: bool) {
    let (directory, clock) = (Directory::new(), Arc::new(ManualClock::new()));
    let open = || {
        let options = keeping()
            .with_limits(limits.clone())
            .with_file_bytes(200)
            .with_busy_timeout(Duration::from_secs(30));
        SqliteStore::open_with_clock(&directory, options, clock.clone()).unwrap()
    };
    let memory = MemoryStore::with_clock(limits.clone(), clock.clone());
    let mut store = open();
    let mut held = Vec::new();
    for op in ops {
        match *op {
            Op::Put(session, id) | Op::PutOther(session, id) => {
                let result = || match op {
                    Op::Put(..) => made(id),
                    _ => made(id).with_failed(true),
                };
                let (scope, id) = (scope(session), call(&id.to_string()));
                let one = run(store.put(&scope, &id, result()));
                let other = run(memory.put(&scope, &id, result()));
                let [one, other] = [one, other].map(|outcome| outcome.map_err(|e| said(&e)));
                assert_eq!(one, other, "{op:?}");
            }
            Op::Get(session, id, hold) => {
                let (scope, id) = (scope(session), call(&id.to_string()));
                let one = run(store.get(&scope, &id)).unwrap();
                let other = run(memory.get(&scope, &id)).unwrap();
                match (one, other) {
                    (Lookup::Found(one), Lookup::Found(other)) => {
                        assert!(one.is_same_record(&other), "{op:?}");
                        if hold {
                            held.push((one, other));
                        }
                    }
                    (Lookup::Missing(one), Lookup::Missing(other)) => {
                        assert!(
                            same_missing(&one, &other, forgets),
                            "{op:?}: {one:?} and {other:?}"
                        );
                    }
                    (one, other) => panic!("{op:?}: {one:?} and {other:?}"),
                }
            }
            Op::Release => held.clear(),
            Op::Advance(seconds) => clock.advance(Duration::from_secs(seconds)),
            Op::Sweep => {
                run(store.sweep()).unwrap();
                run(memory.sweep()).unwrap();
            }
            Op::Remove(session) => {
                run(store.remove_session(&scope(session))).unwrap();
                run(memory.remove_session(&scope(session))).unwrap();
            }
            Op::Reopen => {
                // What a process that has ended held is held no more.
                held.clear();
                store = open();
            }
        }
        for session in 0..SESSIONS.len() {
            let one = run(store.list(&scope(session))).unwrap();
            let other = run(memory.list(&scope(session))).unwrap();
            assert_eq!(one, other, "{op:?}, session {session}");
        }
    }
    let results = store.results().unwrap();
    let (number, bytes) = results.total().unwrap();
    run(memory.sweep()).unwrap();
    run(store.sweep()).unwrap();
    let (swept, swept_bytes) = results.total().unwrap();
    let usage = memory.usage();
    assert_eq!((swept, swept_bytes), (usage.results, usage.result_bytes));
    assert!(number >= swept && bytes >= swept_bytes && bytes <= limits.total_bytes);
    let other = directory.other();
    let count = |query: &str| -> usize { other.query_row(query, [], |row| row.get(0)).unwrap() };
    assert_eq!(count("SELECT count(*) FROM contents"), swept);
    let files = count("SELECT count(DISTINCT data_digest) FROM results WHERE in_file");
    assert_eq!(directory.result_files(), files);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_store_does_as_the_one_in_memory(ops in ops()) {
        let forever = Duration::from_secs(1_000_000);
        compare(&limits().with_max_age(forever), &ops, false);
    }

    #[test]
    fn it_does_so_with_a_maximum_age(ops in ops()) {
        compare(&limits().with_max_age(Duration::from_secs(300)), &ops, true);
    }
}
