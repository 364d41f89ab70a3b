//! Many threads on one store.

use super::{Bench, MINUTE, call, check, list, run, scope, text};
use crate::{
    Lookup, ManualClock, MemoryLimits, MemoryStore, Recorded, ResultStore, StoreError,
    memory::SWEPT_AT_ONCE,
};
use std::{
    sync::{Arc, Barrier},
    task::{Context, Waker},
    thread,
    time::Duration,
};

/// A generator of test choices, the same on each run.
struct Choices(u64);

impl Choices {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) % n
    }
}

#[test]
fn counters_are_right_after_a_storm() {
    let limits = MemoryLimits::default()
        .with_session_bytes(20_000)
        .with_total_bytes(30_000)
        .with_session_results(20);
    let clock = Arc::new(ManualClock::new());
    let store = MemoryStore::with_clock(limits, clock.clone());
    thread::scope(|threads| {
        for seed in 0..4 {
            let (store, clock) = (&store, &clock);
            threads.spawn(move || storm(store, clock, seed));
        }
    });
    // Brings the counters up to indexes that were built and not measured.
    run(store.sweep()).unwrap();
    check(&store);
    let usage = store.usage();
    assert!(usage.result_bytes <= 30_000, "{usage:?}");
}

fn storm(store: &MemoryStore, clock: &ManualClock, seed: u64) {
    let mut choices = Choices(seed);
    let mut held = Vec::new();
    for _ in 0..20_000 {
        // The same ids in each scope, and more scopes than fit.
        let (scope, id) = (
            scope(&format!("s{}", choices.below(3))),
            call(&format!("c{}", choices.below(40))),
        );
        match choices.below(20) {
            0..8 => {
                // What an id holds follows from the id, so that another result is never recorded.
                let items = 100 + 10 * id.as_str().len();
                match run(store.put(&scope, &id, list(items))) {
                    Ok(_) | Err(StoreError::Full { .. }) => {}
                    Err(error) => panic!("{error}"),
                }
            }
            8..16 => {
                if let Lookup::Found(result) = run(store.get(&scope, &id)).unwrap() {
                    assert!(result.document().root().is_ok());
                    if choices.below(4) == 0 {
                        held.push(result);
                    }
                    run(store.measure(&scope, &id)).unwrap();
                }
            }
            16 => held.clear(),
            17 => clock.advance(Duration::from_secs(choices.below(60))),
            18 => {
                run(store.list(&scope)).unwrap();
            }
            _ => match choices.below(20) {
                0 => run(store.sweep()).unwrap(),
                1 => run(store.remove_session(&scope)).unwrap(),
                _ => {}
            },
        }
        if held.len() > 5 {
            held.remove(0);
        }
    }
}

#[test]
fn one_of_many_different_results_is_new() {
    const THREADS: usize = 8;
    for round in 0..50 {
        let store = MemoryStore::new(MemoryLimits::default());
        let barrier = Barrier::new(THREADS);
        let outcomes: Vec<(usize, Result<Recorded, StoreError>)> = thread::scope(|threads| {
            let (store, barrier) = (&store, &barrier);
            let running: Vec<_> = (0..THREADS)
                .map(|n| {
                    threads.spawn(move || {
                        // Two threads each bring the same bytes.
                        let result = text(1 + n / 2);
                        barrier.wait();
                        (n, run(store.put(&scope("a"), &call("c1"), result)))
                    })
                })
                .collect();
            running.into_iter().map(|one| one.join().unwrap()).collect()
        });
        let new: Vec<usize> = outcomes
            .iter()
            .filter(|(_, outcome)| matches!(outcome, Ok(Recorded::New)))
            .map(|(n, _)| *n)
            .collect();
        assert_eq!(new.len(), 1, "round {round}: {outcomes:?}");
        for (n, outcome) in &outcomes {
            assert_eq!(
                outcome.is_ok(),
                n / 2 == new[0] / 2,
                "round {round}: {outcomes:?}"
            );
        }
        let there = run(store.get(&scope("a"), &call("c1")))
            .unwrap()
            .found()
            .unwrap();
        assert_eq!(there.document().raw().len(), 1 + new[0] / 2);
        check(&store);
    }
}

#[test]
fn what_is_found_stays_while_others_press() {
    let store = MemoryStore::new(MemoryLimits::default().with_total_bytes(10_000));
    run(store.put(&scope("a"), &call("held"), text(1000))).unwrap();
    let held = run(store.get(&scope("a"), &call("held")))
        .unwrap()
        .found()
        .unwrap();
    thread::scope(|threads| {
        for n in 0..2 {
            let store = &store;
            threads.spawn(move || {
                for m in 0..5000 {
                    let id = call(&format!("c{m}"));
                    run(store.put(&scope(&format!("s{n}")), &id, text(1000))).unwrap();
                }
            });
        }
        for _ in 0..5000 {
            let found = run(store.get(&scope("a"), &call("held"))).unwrap();
            assert!(
                found
                    .found()
                    .is_some_and(|found| Arc::ptr_eq(&found, &held))
            );
        }
    });
    check(&store);
    assert_eq!(store.usage().result_bytes, 10_000);
}

#[test]
fn a_session_that_is_removed_during_a_sweep_is_forgotten_once() {
    let bench = Bench::new(MemoryLimits::default());
    let sessions: Vec<String> = (0..2 * SWEPT_AT_ONCE).map(|n| format!("s{n}")).collect();
    for session in &sessions {
        bench.put(session, "c1", text(10)).unwrap();
    }
    let mut sweep = bench.store.sweep();
    let mut context = Context::from_waker(Waker::noop());
    assert!(sweep.as_mut().poll(&mut context).is_pending());
    for session in &sessions[1..] {
        run(bench.store.remove_session(&scope(session))).unwrap();
    }
    run(sweep).unwrap();
    bench.put(&sessions[0], "c2", text(10)).unwrap();
    bench.check();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn futures_may_be_sent_and_dropped() {
    let bench = Arc::new(Bench::new(MemoryLimits::default()));
    let tasks: Vec<_> = ["a", "b"]
        .into_iter()
        .map(|session| {
            let bench = bench.clone();
            tokio::spawn(async move {
                for n in 0..1000 {
                    let id = call(&format!("c{n}"));
                    let scope = scope(session);
                    drop(bench.store.put(&scope, &id, text(10)));
                    let put = bench.store.put(&scope, &id, text(10));
                    assert_eq!(put.await.unwrap(), Recorded::New);
                    bench.store.sweep().await.unwrap();
                }
            })
        })
        .collect();
    // Stopped in the middle of what they do.
    let sweeper = {
        let bench = bench.clone();
        tokio::spawn(async move {
            loop {
                bench.store.sweep().await.unwrap();
            }
        })
    };
    for task in tasks {
        task.await.unwrap();
    }
    sweeper.abort();
    assert!(sweeper.await.unwrap_err().is_cancelled());
    check(&bench.store);
    assert_eq!(bench.store.usage().result_bytes, 20_000);
    bench.clock.advance(6 * MINUTE);
    bench.store.sweep().await.unwrap();
    assert_eq!(bench.store.usage().results, 0);
}
