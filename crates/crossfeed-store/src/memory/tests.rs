//! The in-memory store against the contract and against its own limits.

mod concurrent;
mod model;
mod wrong;

use super::{MemoryLimits, MemoryStore};
use crate::{
    ArtifactLookup, ArtifactMissing, Budget, Clock, Lookup, ManualClock, Missing, Recorded,
    ResultKind, ResultStore, StoreError, StoredArtifact, StoredResult, Usage,
    conformance::{self, Harness},
};
use async_trait::async_trait;
use crossfeed_json::Document;
use crossfeed_wire::{ArtifactId, CallId, Scope};
use std::{
    collections::HashMap,
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Waker},
    time::Duration,
};

const MINUTE: Duration = Duration::from_secs(60);

/// Makes memory stores for the conformance functions.
#[derive(Default)]
struct Memory {
    clock: Arc<ManualClock>,
}

#[async_trait]
impl Harness for Memory {
    async fn store(&self, limits: &MemoryLimits) -> Arc<dyn ResultStore> {
        Arc::new(MemoryStore::with_clock(limits.clone(), self.clock.clone()))
    }

    async fn advance(&self, by: Duration) {
        self.clock.advance(by);
    }
}

#[test]
fn the_memory_store_conforms() {
    run(conformance::run_all(&Memory::default()));
}

/// Runs a future that never waits for anything but its turn.
fn run<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
    }
}

/// A session of one project, or `project/session`.
fn scope(session: &str) -> Scope {
    let (project, session) = session.split_once('/').unwrap_or(("project", session));
    Scope::parse("tenant", project, session).unwrap()
}

fn call(id: &str) -> CallId {
    CallId::parse(id).unwrap()
}

fn text(bytes: usize) -> StoredResult {
    StoredResult::new(Document::new("x".repeat(bytes)), ResultKind::Text)
}

fn artifact(id: &str, bytes: usize) -> StoredArtifact {
    let document = Document::new("x".repeat(bytes));
    StoredArtifact::new(ArtifactId::parse(id).unwrap(), call("c1"), document)
}

/// A list of so many ones: its index is larger than its text.
fn list(items: usize) -> StoredResult {
    let text = format!("[{}]", vec!["1"; items].join(","));
    StoredResult::new(Document::new(text), ResultKind::Json)
}

/// Bytes of such a list with its index.
fn indexed(items: usize) -> usize {
    let list = list(items);
    list.document().root().unwrap();
    list.resident_bytes()
}

/// A store beside its clock, for a few lines of test.
struct Bench {
    store: MemoryStore,
    clock: Arc<ManualClock>,
}

impl Bench {
    fn new(limits: MemoryLimits) -> Self {
        let clock = Arc::new(ManualClock::new());
        let store = MemoryStore::with_clock(limits, clock.clone());
        Self { store, clock }
    }

    fn put(&self, session: &str, id: &str, result: StoredResult) -> Result<Recorded, StoreError> {
        run(self.store.put(&scope(session), &call(id), result))
    }

    fn get(&self, session: &str, id: &str) -> Lookup {
        run(self.store.get(&scope(session), &call(id))).unwrap()
    }

    fn found(&self, session: &str, id: &str) -> Arc<StoredResult> {
        self.get(session, id).found().unwrap()
    }

    fn put_artifact(
        &self,
        session: &str,
        artifact: StoredArtifact,
    ) -> Result<Recorded, StoreError> {
        run(self.store.put_artifact(&scope(session), artifact))
    }

    fn measure(&self, session: &str, id: &str) {
        run(self.store.measure(&scope(session), &call(id))).unwrap();
    }

    fn sweep(&self) {
        run(self.store.sweep()).unwrap();
    }

    fn listed(&self, session: &str) -> Vec<String> {
        let lines = run(self.store.list(&scope(session))).unwrap();
        lines
            .into_iter()
            .map(|line| line.call_id.as_str().to_owned())
            .collect()
    }

    /// What must hold whenever nothing runs.
    fn check(&self) {
        check(&self.store);
    }
}

/// Counters are the true sums, if every index was measured.
fn check(store: &MemoryStore) {
    let mut total = 0;
    let mut owners = HashMap::<_, usize>::new();
    for session in store.all_sessions() {
        let state = session.lock();
        let mut usage = Usage::default();
        state.add_to(&mut usage);
        let bytes = usage.result_bytes;
        assert_eq!(bytes, state.true_bytes());
        total += bytes;
        *owners.entry(session.owner.name.clone()).or_default() += bytes;
    }
    assert_eq!(store.shared.total(), total);
    let mut queue = store.queue.lock();
    queue.weigh(&store.shared);
    assert!(queue.len() <= store.sessions.len());
    assert_eq!(queue.weights(), owners);
}

#[test]
fn an_index_counts_once_it_is_measured() {
    let bench = Bench::new(MemoryLimits::default().with_session_bytes(5000));
    for id in ["c1", "c2", "c3"] {
        bench.put("a", id, text(1000)).unwrap();
    }
    bench.put("a", "list", list(100)).unwrap();
    let before = bench.store.usage().result_bytes;
    assert_eq!(before, 3201);
    let held = bench.found("a", "list");
    held.document().root().unwrap();
    let grown = held.resident_bytes();
    assert!(grown > 1000, "{grown}");
    assert_eq!(bench.store.usage().result_bytes, before);

    bench.measure("a", "list");
    let others = (5000 - grown) / 1000;
    assert_eq!(
        bench.store.usage().result_bytes,
        grown + others.min(3) * 1000
    );
    bench.check();
}

#[test]
fn growth_beyond_a_limit_evicts_others_first() {
    for measure in [true, false] {
        let bench = Bench::new(MemoryLimits::default().with_session_bytes(indexed(100) + 500));
        bench.put("a", "list", list(100)).unwrap();
        bench.put("a", "c1", text(1000)).unwrap();
        bench.found("a", "list").document().root().unwrap();
        if measure {
            bench.measure("a", "list");
        } else {
            bench.get("a", "list");
        }
        assert_eq!(bench.store.usage().results, 1, "measured: {measure}");
        assert!(matches!(
            bench.get("a", "c1"),
            Lookup::Missing(Missing::Evicted(_))
        ));
    }
}

#[test]
fn growth_counts_against_the_limit_in_all() {
    let bench = Bench::new(MemoryLimits::default().with_total_bytes(indexed(100) + 500));
    bench.put("b", "c1", text(1000)).unwrap();
    bench.put("a", "list", list(100)).unwrap();
    bench.found("a", "list").document().root().unwrap();
    bench.measure("a", "list");
    assert_eq!(bench.listed("b"), [""; 0]);
    assert_eq!(bench.listed("a"), ["list"]);
    bench.check();
}

#[test]
fn a_full_store_says_which_limit() {
    let limits = MemoryLimits::default()
        .with_session_bytes(1000)
        .with_total_bytes(1500)
        .with_session_results(2);
    let bench = Bench::new(limits);
    bench.put("a", "c1", text(600)).unwrap();
    bench.put("b", "c1", text(600)).unwrap();
    let held = [bench.found("a", "c1"), bench.found("b", "c1")];
    let refused = |outcome: Result<Recorded, StoreError>| match outcome.unwrap_err() {
        StoreError::Full { budget, .. } => budget,
        other => panic!("{other:?}"),
    };
    assert_eq!(
        refused(bench.put("a", "c2", text(500))),
        Budget::SessionBytes
    );
    assert_eq!(refused(bench.put("c", "c2", text(500))), Budget::TotalBytes);
    bench.put("a", "c2", text(10)).unwrap();
    let more = bench.found("a", "c2");
    assert_eq!(
        refused(bench.put("a", "c3", text(10))),
        Budget::SessionResults
    );
    assert_eq!(
        bench.store.usage().sessions,
        2,
        "a refusal leaves no session"
    );
    drop((held, more));
    bench.put("a", "c3", text(500)).unwrap();
    bench.check();
}

#[test]
fn the_limit_in_all_is_checked_before_anything_goes() {
    let limits = MemoryLimits::default().with_total_bytes(1000);
    let bench = Bench::new(limits);
    bench.put("a", "c1", text(300)).unwrap();
    bench.put("b", "c1", text(300)).unwrap();
    let held = bench.found("b", "c1");
    assert!(matches!(
        bench.put("c", "c1", text(800)),
        Err(StoreError::Full {
            budget: Budget::TotalBytes,
            limit: 1000,
            bytes: 800
        })
    ));
    assert_eq!(bench.listed("a"), ["c1"]);
    drop(held);
    bench.put("c", "c1", text(800)).unwrap();
    assert_eq!(bench.store.usage().results, 1);
}

#[test]
fn a_limit_of_zero_admits_nothing() {
    let bench = Bench::new(MemoryLimits::default().with_session_results(0));
    assert!(matches!(
        bench.put("a", "c1", text(1)),
        Err(StoreError::Full { .. })
    ));
    let bench = Bench::new(MemoryLimits::default().with_session_bytes(0));
    assert!(matches!(
        bench.put("a", "c1", text(1)),
        Err(StoreError::TooLarge { bytes: 1, limit: 0 })
    ));
    assert_eq!(bench.store.usage().sessions, 0);
}

#[test]
fn a_session_whose_artifacts_have_expired_is_forgotten() {
    let limits = MemoryLimits::default()
        .with_session_artifacts(2)
        .with_artifact_time_to_live(Some(MINUTE));
    let bench = Bench::new(limits);
    for id in ["a1", "a2"] {
        bench.put_artifact("a", artifact(id, 600)).unwrap();
    }
    bench.clock.advance(MINUTE);
    run(bench.store.sweep()).unwrap();
    let usage = bench.store.usage();
    assert_eq!((usage.sessions, usage.artifacts), (1, 0), "it remembers");
    // What is remembered is bounded, too: the latest stay.
    bench.put_artifact("a", artifact("a3", 600)).unwrap();
    bench.clock.advance(MINUTE);
    let get = |id: &str| {
        let id = ArtifactId::parse(id).unwrap();
        run(bench.store.get_artifact(&scope("a"), &id, &call("c1"))).unwrap()
    };
    assert!(matches!(
        get("a1"),
        ArtifactLookup::Missing(ArtifactMissing::Unknown)
    ));
    assert!(matches!(
        get("a3"),
        ArtifactLookup::Missing(ArtifactMissing::Expired(_))
    ));
    bench.clock.advance(60 * MINUTE);
    run(bench.store.sweep()).unwrap();
    assert_eq!(bench.store.usage().sessions, 0);
}

#[test]
fn artifacts_have_limits_of_their_own() {
    let limits = MemoryLimits::default()
        .with_artifact_bytes(1000)
        .with_session_artifacts(3);
    let bench = Bench::new(limits);
    bench.put("a", "c1", text(5000)).unwrap();
    bench.put_artifact("a", artifact("a1", 600)).unwrap();
    assert!(matches!(
        bench.put_artifact("a", artifact("a2", 600)),
        Err(StoreError::Full {
            budget: Budget::ArtifactBytes,
            ..
        })
    ));
    assert!(matches!(
        bench.put_artifact("a", artifact("a2", 1001)),
        Err(StoreError::TooLarge {
            bytes: 1001,
            limit: 1000
        })
    ));
    bench.put_artifact("b", artifact("a1", 600)).unwrap();
    bench.put_artifact("a", artifact("a2", 1)).unwrap();
    bench.put_artifact("a", artifact("a3", 1)).unwrap();
    assert!(matches!(
        bench.put_artifact("a", artifact("a4", 1)),
        Err(StoreError::Full {
            budget: Budget::SessionArtifacts,
            ..
        })
    ));
    assert_eq!(
        bench.put_artifact("a", artifact("a1", 600)).unwrap(),
        Recorded::Unchanged
    );
    let usage = bench.store.usage();
    assert_eq!((usage.artifacts, usage.artifact_bytes), (4, 1202));
    run(bench.store.remove_session(&scope("a"))).unwrap();
    assert_eq!(bench.store.usage().artifact_bytes, 600);
}

#[test]
fn tombstones_are_bounded_in_number_and_bytes() {
    let limits = MemoryLimits::default()
        .with_session_results(1)
        .with_session_tombstones(3)
        .with_tombstone_bytes(100);
    let bench = Bench::new(limits);
    for id in ["c1", "c2", "c3", "c4", "c5"] {
        bench.put("a", id, text(1)).unwrap();
    }
    let is_known = |id| !matches!(bench.get("a", id), Lookup::Missing(Missing::Unknown));
    assert_eq!(
        ["c1", "c2", "c3", "c4", "c5"].map(is_known),
        [false, true, true, true, true]
    );
    for id in ["c6", "c7", "c8"] {
        let long = text(1).with_arguments("x".repeat(60));
        bench.put("a", id, long).unwrap();
    }
    // `c6` and `c7` have gone, and only the later one's arguments fit.
    assert_eq!(
        ["c5", "c6", "c7", "c8"].map(is_known),
        [false, false, true, true]
    );
}

#[test]
fn a_put_tidies_up_for_idle_sessions() {
    let bench = Bench::new(MemoryLimits::default());
    bench.put("held", "c1", text(10)).unwrap();
    let held = bench.found("held", "c1");
    for n in 0..10 {
        bench.put(&format!("idle{n}"), "c1", text(10)).unwrap();
    }
    bench.clock.advance(4 * MINUTE);
    bench.put("busy", "c1", text(10)).unwrap();
    bench.clock.advance(2 * MINUTE);
    bench.put("busy", "c2", text(10)).unwrap();
    assert_eq!(bench.store.usage().results, 3, "held, and both busy ones");
    assert_eq!(
        bench.store.usage().sessions,
        12,
        "what has gone is remembered"
    );
    bench.clock.advance(60 * MINUTE);
    bench.put("busy", "c3", text(10)).unwrap();
    assert_eq!(bench.store.usage().sessions, 2, "but not for ever");
    drop(held);
    bench.check();
}

#[test]
fn many_sessions_come_and_go() {
    const SESSIONS: usize = 100_000;
    let bench = Bench::new(MemoryLimits::default());
    for n in 0..SESSIONS {
        bench.put(&format!("s{n}"), "c1", text(1)).unwrap();
    }
    bench.put_artifact("kept", artifact("a1", 1)).unwrap();
    assert_eq!(bench.store.usage().sessions, SESSIONS + 1);
    bench.clock.advance(6 * MINUTE);
    bench.sweep();
    assert_eq!(bench.store.usage().result_bytes, 0);
    assert_eq!(bench.store.queue.lock().len(), SESSIONS);
    bench.clock.advance(61 * MINUTE);
    bench.sweep();
    assert_eq!(
        bench.store.usage().sessions,
        1,
        "artifacts keep their session"
    );
    assert_eq!(bench.store.queue.lock().len(), 0);
    bench.check();
}

#[test]
fn sessions_come_and_go_without_a_sweep() {
    let bench = Bench::new(MemoryLimits::default());
    let mut most = 0;
    for n in 0..20_000 {
        bench.put(&format!("s{n}"), "c1", text(1)).unwrap();
        bench.clock.advance(Duration::from_secs(1));
        most = most.max(bench.store.sessions.len());
    }
    assert!(most <= 3600 + 300 + 2, "{most}");
}

#[test]
fn removed_sessions_leave_nothing() {
    let bench = Bench::new(MemoryLimits::default());
    bench.put("busy", "c1", text(1)).unwrap();
    for _ in 0..1000 {
        bench.put("a", "c1", text(1)).unwrap();
        run(bench.store.remove_session(&scope("a"))).unwrap();
    }
    assert_eq!(bench.store.sessions.len(), 1);
    assert_eq!(bench.store.queue.lock().len(), 1);
    bench.check();
}

#[test]
fn an_old_result_goes_though_younger_ones_were_used_before_it() {
    let bench = Bench::new(MemoryLimits::default());
    bench.put("a", "old", text(10)).unwrap();
    for _ in 0..14 {
        bench.clock.advance(4 * MINUTE);
        bench.get("a", "old");
    }
    bench.put("a", "young", text(10)).unwrap();
    bench.get("a", "old");
    bench.clock.advance(4 * MINUTE);
    assert_eq!(bench.listed("a"), ["young"]);
    bench.check();
}

#[test]
fn a_held_result_survives_pressure_of_other_sessions() {
    let bench = Bench::new(MemoryLimits::default().with_total_bytes(1000));
    bench.put("a", "held", text(300)).unwrap();
    bench.put("a", "loose", text(300)).unwrap();
    let held = bench.found("a", "held");
    for n in 0..50 {
        bench.put("b", &format!("c{n}"), text(300)).unwrap();
    }
    assert_eq!(bench.listed("a"), ["held"]);
    assert_eq!(bench.listed("b"), ["c48", "c49"]);
    bench.clock.advance(120 * MINUTE);
    bench.sweep();
    assert!(Arc::ptr_eq(&bench.found("a", "held"), &held));
    bench.check();
}

#[test]
fn the_system_clock_goes_on() {
    let clock = crate::SystemClock::new();
    let first = clock.now();
    assert!(clock.now() >= first);
}
