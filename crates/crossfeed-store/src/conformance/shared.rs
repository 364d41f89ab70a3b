//! Behaviours of a store that several processes share.

use super::{
    MINUTE, RACERS, SharedHarness, TestSession, artifact, call, holds, is_duplicate,
    is_duplicate_artifact, session, session_of, sure, text, third, winner,
};
use crate::{
    Acquired, CallLeases, CallWait, Expected, Flights, LeaseOwner, Leased, Lookup, MemoryLimits,
    Missing, PathStep, Recorded, ResultKind, ResultStore, StateStore, StoreError, StoredResult,
    Tombstone,
};
use bytes::Bytes;
use crossfeed_json::Document;
use crossfeed_wire::CallId;
use futures_util::future::{join, join_all};
use std::{sync::Arc, time::Duration};

const SECOND: Duration = Duration::from_secs(1);

/// A store, and the same as another process has it.
async fn pair(harness: &dyn SharedHarness, limits: MemoryLimits) -> [Arc<dyn ResultStore>; 2] {
    let one = harness.store(&limits).await;
    [one, harness.peer().await]
}

async fn fresh(harness: &dyn SharedHarness) -> [Arc<dyn ResultStore>; 2] {
    pair(harness, MemoryLimits::default()).await
}

#[expect(clippy::panic, reason = "conformance functions panic on violation")]
fn leases(store: &dyn ResultStore) -> &dyn CallLeases {
    store
        .leases()
        .unwrap_or_else(|| panic!("a store that is shared has leases"))
}

#[expect(clippy::panic, reason = "conformance functions panic on violation")]
fn state(store: &dyn ResultStore) -> &dyn StateStore {
    store
        .state()
        .unwrap_or_else(|| panic!("a store that is shared keeps records of its host"))
}

fn owner(number: u128) -> LeaseOwner {
    LeaseOwner::new(number)
}

/// How to repeat a call of this tool.
fn about(tool: &str) -> Tombstone {
    Tombstone::new(Some(tool.into()), Some(br#"{"q": 1}"#)).with_repeatable(true)
}

impl TestSession<'_> {
    async fn acquire(&self, by: u128, id: &str) -> Acquired {
        let (call, about) = (call(id), about("search"));
        let acquired = leases(self.store).acquire(owner(by), &self.scope, &call, &about);
        sure(acquired.await, &format!("beginning `{id}`"))
    }

    async fn release(&self, by: u128, id: &str) {
        let call = call(id);
        let released = leases(self.store).release(owner(by), &self.scope, &call);
        sure(released.await, &format!("giving `{id}` up"));
    }

    /// Renews one lease; says whether it was kept.
    async fn renews(&self, by: u128, id: &str, about: Tombstone) -> bool {
        let leased = Leased::new(self.scope.clone(), call(id), about);
        let lost = leases(self.store).renew(owner(by), std::slice::from_ref(&leased));
        let lost = sure(lost.await, &format!("renewing `{id}`"));
        assert!(
            lost.is_empty() || lost == [leased],
            "what is lost is of what was to be renewed: {lost:?}"
        );
        lost.is_empty()
    }

    async fn flights(&self, on: &[&str], waits: &[(&str, &str)]) -> Flights {
        let on: Vec<CallId> = on.iter().map(|id| call(id)).collect();
        let waits: Vec<CallWait> = waits.iter().map(|(of, on)| wait(of, on)).collect();
        let flights = leases(self.store).flights(&self.scope, &on, &waits).await;
        let mut flights = sure(flights, "asking for calls in flight");
        flights.waits.sort();
        flights
    }

    async fn in_flight(&self, id: &str, expected: &Tombstone, when: &str) {
        let missing = self.missing(id, when).await;
        assert_eq!(
            missing,
            Missing::InFlight(expected.clone()),
            "{when}: `{id}`"
        );
    }

    /// Looks a call up each time when something may have changed, until it is there.
    #[expect(clippy::panic, reason = "conformance functions panic on violation")]
    async fn awaited(&self, id: &str) {
        // Each turn takes at most a poll interval.
        for _ in 0..100 {
            if let Lookup::Found(_) = self.get(id).await {
                return;
            }
            leases(self.store).changed(&self.scope).await;
        }
        panic!("`{id}` was recorded by another process and never seen");
    }
}

fn wait(of: &str, on: &str) -> CallWait {
    CallWait {
        of: call(of),
        on: call(on),
    }
}

/// Runs every function of this module, each on a store of its own.
///
/// # Panics
///
/// When the store breaks its contract; the message says how.
pub async fn run_shared(harness: &dyn SharedHarness) {
    what_one_records_all_find(harness).await;
    a_part_is_as_in_the_whole(harness).await;
    of_puts_of_several_processes_one_is_new(harness).await;
    nothing_comes_back_from_a_cache(harness).await;
    limits_hold_among_processes(harness).await;
    artifacts_are_found_by_all(harness).await;
    a_call_begins_once_among_processes(harness).await;
    a_recorded_call_is_no_longer_in_flight(harness).await;
    only_its_owner_gives_a_call_up(harness).await;
    a_lease_that_is_not_renewed_lapses(harness).await;
    a_removed_session_has_no_calls_in_flight(harness).await;
    what_another_process_records_ends_a_wait(harness).await;
    waits_are_seen_by_all_for_a_while(harness).await;
    state_is_kept_for_its_time(harness).await;
    of_several_writes_of_a_version_one_wins(harness).await;
}

/// A part of a result leads to what the whole leads to, and says the same of the call; and what has gone has no part.
///
/// # Panics
///
/// When the store breaks its contract.
#[expect(clippy::panic, reason = "conformance functions panic on violation")]
pub async fn a_part_is_as_in_the_whole(harness: &dyn SharedHarness) {
    let [one, two] = fresh(harness).await;
    let (a, b) = (session(&*one, "a"), session(&*two, "a"));
    let rows: Vec<String> = (0..20_000)
        .map(|id| format!("{{\"id\": {id}, \"text\": \"é{id}\\n\"}}"))
        .collect();
    let data = format!("{{\"rows\": [{}], \"total\": 20000}}", rows.join(", "));
    let result = || StoredResult::new(Document::new(data.clone()), ResultKind::Json);
    let key = |key: &str| PathStep::Key(key.into());
    let paths = || {
        vec![
            vec![key("rows"), PathStep::Index(7000)],
            vec![key("rows"), PathStep::Index(-1), key("id")],
            vec![key("total")],
        ]
    };
    let part = async |id: &str| {
        let found = b.store.get_part(&b.scope, &call(id), &paths).await;
        sure(found, "reading a part")
    };
    a.put("c1", result().with_tool("search").with_repeatable(true))
        .await;
    // Also after many parts were read, and when the whole is at hand.
    for turn in 0..20 {
        let Lookup::Found(found) = part("c1").await else {
            panic!("a part of what was recorded must be found");
        };
        let length = found.document().raw().len();
        assert_eq!(found.excerpt_of().unwrap_or(length), data.len());
        assert!(found.tool() == Some("search") && found.repeatable() && !found.failed());
        let root = sure(found.document().root(), "reading the JSON of a part");
        let raw = |path: &[&str], index: Option<usize>| {
            let value = path.iter().try_fold(root, |value, key| value.get(key))?;
            let value = index.map_or(Some(value), |index| value.at(index))?;
            Some(value.raw())
        };
        let length = root.get("rows").and_then(|rows| rows.len());
        assert_eq!(
            length,
            Some(rows.len()),
            "turn {turn}: all items are counted"
        );
        for index in [7000, 19_999] {
            let row = raw(&["rows"], Some(index));
            assert!(
                row == Some(rows[index].as_bytes()),
                "turn {turn}: row {index}"
            );
        }
        assert_eq!(raw(&["total"], None), Some(&b"20000"[..]));
        if turn == 10 {
            b.found("c1", "recorded by another process").await;
        }
    }
    let unknown = part("c2").await;
    assert!(
        matches!(unknown, Lookup::Missing(Missing::Unknown)),
        "{unknown:?}"
    );
    sure(a.store.remove_session(&a.scope).await, "removing a session");
    let gone = part("c1").await;
    assert!(
        matches!(gone, Lookup::Missing(Missing::Unknown)),
        "{gone:?}"
    );
}

/// What one process has recorded, every other finds as it was, in that scope only.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn what_one_records_all_find(harness: &dyn SharedHarness) {
    let [one, two] = fresh(harness).await;
    let (a, b) = (session(&*one, "a"), session(&*two, "a"));
    for (id, bytes) in [("empty", 0), ("small", 1000), ("large", 3_000_000)] {
        let result = || {
            text("é".repeat(bytes / 2))
                .with_tool("search")
                .with_server("web")
                .with_arguments("{\"q\": 1}")
                .with_media_type("text/plain")
                .with_repeatable(true)
                .with_sources("web/search")
        };
        a.put(id, result()).await;
        let found = b.found(id, "recorded by another process").await;
        let expected = result();
        assert!(found.is_same_record(&expected), "{id}: the same record");
        let facts = |result: &StoredResult| {
            (
                result.tool().map(str::to_owned),
                result.server().cloned(),
                result.arguments().cloned(),
                result.media_type().map(str::to_owned),
                result.repeatable(),
                result.sources().cloned(),
            )
        };
        assert_eq!(facts(&found), facts(&expected), "{id}: what is said of it");
        b.puts(id, result(), Recorded::Unchanged, "the same again")
            .await;
        b.refuses(
            id,
            text("other"),
            is_duplicate,
            "another process's id is taken",
        )
        .await;
    }
    b.lists(["empty", "small", "large"], "results of all processes")
        .await;
    session(&*two, "b")
        .unknown("small", "in another session")
        .await;
    session_of(&*two, "other", "a")
        .unknown("small", "in another project")
        .await;
}

/// Of several `put`s of one id by several processes exactly one is new.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn of_puts_of_several_processes_one_is_new(harness: &dyn SharedHarness) {
    let stores = fresh(harness).await;
    for round in 0..20 {
        let id = format!("call_{round}");
        let puts = RACERS.iter().enumerate().map(|(index, raw)| {
            let by = session(&*stores[index % 2], "a");
            let id = call(&id);
            async move { by.store.put(&by.scope, &id, text(*raw)).await }
        });
        let winner = winner(&join_all(puts).await, is_duplicate);
        for store in &stores {
            let found = session(&**store, "a").found(&id, "after a race").await;
            holds(
                found.document(),
                winner,
                "the winner's bytes are there for all",
            );
        }
    }
}

/// What has expired, was evicted or removed by one process is gone for another that had just read it, and a new
/// record of its id is not taken for the old one.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn nothing_comes_back_from_a_cache(harness: &dyn SharedHarness) {
    let limits = MemoryLimits::default().with_session_results(2);
    let [one, two] = pair(harness, limits).await;
    let (a, b) = (session(&*one, "a"), session(&*two, "a"));
    let read = |id: &'static str| {
        let (a, b) = (&a, &b);
        async move {
            drop(a.found(id, "just recorded").await);
            drop(b.found(id, "just recorded").await);
        }
    };
    a.put("c1", text("1")).await;
    read("c1").await;
    b.put_each(["c2", "c3"], |id| text(id)).await;
    a.evicted("c1", "another process needed its room").await;
    a.put("c1", text("again")).await;
    let again = b.found("c1", "recorded again with other bytes").await;
    holds(again.document(), "again", "the new bytes");
    drop(again);
    read("c1").await;
    harness.advance(5 * MINUTE + SECOND).await;
    a.expired("c1", "after its time").await;
    b.expired("c1", "after its time").await;
    a.put("c4", text("4")).await;
    read("c4").await;
    b.remove().await;
    a.unknown("c4", "another process removed its session").await;
    a.unknown("c1", "another process removed its session").await;
    a.put("c4", text("other")).await;
    let other = b.found("c4", "recorded in a new session").await;
    holds(other.document(), "other", "the new bytes");
}

/// A session's limits hold among processes that record at once, and what does not fit is evicted for all.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn limits_hold_among_processes(harness: &dyn SharedHarness) {
    let limits = MemoryLimits::default().with_session_bytes(1000);
    let stores = pair(harness, limits).await;
    const PUTS: usize = 40;
    let ids: Vec<String> = (0..PUTS).map(|number| format!("c{number}")).collect();
    let puts = ids.iter().enumerate().map(|(number, id)| {
        let by = session(&*stores[number % 2], "a");
        async move { by.put(id, third()).await }
    });
    for recorded in join_all(puts).await {
        assert_eq!(recorded, Recorded::New, "each id is recorded once");
    }
    let [a, b] = stores.each_ref().map(|store| session(&**store, "a"));
    let mut listed = Vec::new();
    for by in [&a, &b] {
        let of_one = sure(by.store.list(&by.scope).await, "listing");
        listed.push(
            of_one
                .into_iter()
                .map(|line| line.call_id)
                .collect::<Vec<_>>(),
        );
    }
    assert_eq!(listed[0], listed[1], "all processes list the same");
    assert_eq!(listed[0].len(), 3, "as many are kept as fit, and no fewer");
    for id in &ids {
        if listed[0].contains(&call(id)) {
            b.found(id, "listed").await;
        } else {
            a.evicted(id, "not listed").await;
            b.evicted(id, "not listed").await;
        }
    }
}

/// An artifact of one process is found and refused by all as if it were their own.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn artifacts_are_found_by_all(harness: &dyn SharedHarness) {
    let [one, two] = fresh(harness).await;
    let (a, b) = (session(&*one, "a"), session(&*two, "a"));
    for (id, bytes) in [("small", 10), ("large", 1_000_000)] {
        let kept = || artifact(id, "c1", "x".repeat(bytes));
        a.puts_artifact(kept(), Recorded::New, "the first").await;
        let found = b.found_artifact(id, "c1", "of another process").await;
        holds(found.document(), "x".repeat(bytes), "the same bytes");
        b.puts_artifact(kept(), Recorded::Unchanged, "the same again")
            .await;
        let other = artifact(id, "c1", "other");
        b.refuses_artifact(other, is_duplicate_artifact, "its ids are taken")
            .await;
    }
    assert_eq!(
        b.list_artifacts().await.len(),
        2,
        "artifacts of all processes"
    );
    b.remove().await;
    a.unknown_artifact("small", "c1", "another process removed its session")
        .await;
}

/// Of several processes that begin a call one does; all others see that it is in flight, in that scope only.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn a_call_begins_once_among_processes(harness: &dyn SharedHarness) {
    let stores = fresh(harness).await;
    let [a, b] = stores.each_ref().map(|store| session(&**store, "a"));
    let begun = (0..8).map(|by: u128| {
        let at = if by.is_multiple_of(2) { &a } else { &b };
        at.acquire(by, "c1")
    });
    let begun = join_all(begun).await;
    let new = begun.iter().filter(|it| **it == Acquired::New).count();
    assert_eq!(new, 1, "one begins: {begun:?}");
    let others = begun.iter().filter(|it| **it == Acquired::InFlight).count();
    assert_eq!(others, 7, "the others see it in flight: {begun:?}");
    for by in [&a, &b] {
        by.in_flight("c1", &about("search"), "begun").await;
        by.lists([], "a call in flight has no result").await;
    }
    let flights = b.flights(&["c1", "c2"], &[]).await;
    assert_eq!(
        flights,
        Flights::new(vec![call("c1")], Vec::new()),
        "in flight"
    );
    let other = session(&*stores[1], "b");
    other.unknown("c1", "in flight in another session").await;
    assert_eq!(
        other.flights(&["c1"], &[]).await,
        Flights::default(),
        "there"
    );
    assert_eq!(other.acquire(9, "c1").await, Acquired::New, "there");
}

/// A result ends the flight of its call, whoever recorded it; the id cannot begin again until the result has gone.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn a_recorded_call_is_no_longer_in_flight(harness: &dyn SharedHarness) {
    let [one, two] = fresh(harness).await;
    let (a, b) = (session(&*one, "a"), session(&*two, "a"));
    a.acquire(1, "c1").await;
    b.puts("c1", text("1"), Recorded::New, "of a call in flight")
        .await;
    a.found("c1", "recorded by another process").await;
    assert_eq!(
        a.flights(&["c1"], &[]).await,
        Flights::default(),
        "it has ended"
    );
    assert_eq!(
        a.acquire(1, "c1").await,
        Acquired::Recorded,
        "it has a result"
    );
    assert!(
        a.renews(1, "c1", about("search")).await,
        "a lease that a result has ended is not lost"
    );
    assert_eq!(
        a.flights(&["c1"], &[]).await,
        Flights::default(),
        "it does not begin again"
    );
    a.found("c1", "after it was to be renewed").await;
    harness.advance(5 * MINUTE + SECOND).await;
    a.expired("c1", "after its time").await;
    assert_eq!(
        b.acquire(2, "c1").await,
        Acquired::New,
        "its result has expired"
    );
    a.in_flight("c1", &about("search"), "begun again").await;
    b.release(2, "c1").await;
    a.expired(
        "c1",
        "the call was given up, and its earlier result had expired",
    )
    .await;
}

/// A call is given up by the one who began it; then its id is free.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn only_its_owner_gives_a_call_up(harness: &dyn SharedHarness) {
    let [one, two] = fresh(harness).await;
    let (a, b) = (session(&*one, "a"), session(&*two, "a"));
    a.acquire(1, "c1").await;
    b.release(2, "c1").await;
    b.in_flight("c1", &about("search"), "given up by another")
        .await;
    a.release(1, "c1").await;
    b.unknown("c1", "given up by its owner").await;
    a.release(1, "c1").await;
    assert_eq!(b.acquire(2, "c1").await, Acquired::New, "the id is free");
    a.release(1, "c1").await;
    a.in_flight("c1", &about("search"), "of its new owner")
        .await;
}

/// A lease lasts as long as it is renewed; one that is not ends with its time, and is then whoever's begins.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn a_lease_that_is_not_renewed_lapses(harness: &dyn SharedHarness) {
    let [one, two] = fresh(harness).await;
    let (a, b) = (session(&*one, "a"), session(&*two, "a"));
    let most = leases(&*one).duration() * 3 / 4;
    a.acquire(1, "c1").await;
    a.acquire(1, "c2").await;
    for _ in 0..3 {
        harness.advance(most).await;
        assert!(a.renews(1, "c1", about("fetch")).await, "in time");
        assert!(!b.renews(2, "c1", about("other")).await, "of another owner");
    }
    b.in_flight("c1", &about("fetch"), "renewed, with what is known by now")
        .await;
    b.unknown("c2", "never renewed").await;
    assert!(!a.renews(1, "c2", about("search")).await, "too late");
    b.unknown("c2", "renewed too late").await;
    assert_eq!(b.acquire(2, "c2").await, Acquired::New, "it has lapsed");
    assert!(
        !a.renews(1, "c2", about("search")).await,
        "another's by now"
    );
    // A paused process may still record, and the first record counts.
    a.puts("c2", text("1"), Recorded::New, "after its lease")
        .await;
    b.refuses("c2", text("2"), is_duplicate, "the first record counts")
        .await;
}

/// Removing a session ends its calls in flight.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn a_removed_session_has_no_calls_in_flight(harness: &dyn SharedHarness) {
    let [one, two] = fresh(harness).await;
    let (a, b) = (session(&*one, "a"), session(&*two, "a"));
    a.acquire(1, "c1").await;
    b.flights(&["c1"], &[("c2", "c1")]).await;
    b.remove().await;
    a.unknown("c1", "its session was removed").await;
    assert!(!a.renews(1, "c1", about("search")).await, "it has ended");
    assert_eq!(
        a.flights(&["c1"], &[("c3", "c4")]).await.waits,
        [wait("c3", "c4")]
    );
}

/// Who asks whenever something may have changed sees what another process records.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn what_another_process_records_ends_a_wait(harness: &dyn SharedHarness) {
    let [one, two] = fresh(harness).await;
    let (a, b) = (session(&*one, "a"), session(&*two, "a"));
    a.acquire(1, "c1").await;
    let recorded = async {
        leases(&*one).changed(&session(&*one, "other").scope).await;
        a.put("c1", text("1")).await;
    };
    join(b.awaited("c1"), recorded).await;
}

/// Who waits for whom is known to all processes for a while, and no longer, in that scope only.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn waits_are_seen_by_all_for_a_while(harness: &dyn SharedHarness) {
    let [one, two] = fresh(harness).await;
    let (a, b) = (session(&*one, "a"), session(&*two, "a"));
    for id in ["c1", "c2", "c3"] {
        a.acquire(1, id).await;
    }
    let seen = a.flights(&["c2"], &[("c1", "c2"), ("c3", "c1")]).await;
    let expected = [wait("c1", "c2"), wait("c3", "c1")];
    assert_eq!(seen.waits, expected, "one's own waits");
    let seen = b.flights(&["c1"], &[("c2", "c1")]).await;
    let expected = [wait("c1", "c2"), wait("c2", "c1"), wait("c3", "c1")];
    assert_eq!(seen.waits, expected, "waits of all processes");
    let seen = session(&*two, "b").flights(&["c1"], &[]).await;
    assert_eq!(seen, Flights::default(), "of another session");
    let kept = 4 * leases(&*one).poll_interval();
    harness.advance(kept / 2).await;
    a.flights(&["c2"], &[("c1", "c2")]).await;
    harness.advance(kept * 3 / 4).await;
    let seen = b.flights(&["c1"], &[]).await;
    assert_eq!(seen.waits, [wait("c1", "c2")], "named a while ago");
    harness.advance(kept).await;
    assert_eq!(b.flights(&["c1"], &[]).await.waits, [], "named long ago");
}

/// Records of a host are found by all processes, until they are replaced or removed, or their time is over.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn state_is_kept_for_its_time(harness: &dyn SharedHarness) {
    let [one, two] = fresh(harness).await;
    let (one, two) = (state(&*one), state(&*two));
    let read = async |key: &str| sure(two.read(key).await, "reading a record");
    let write = async |key: &str, value: &'static str, expected, time| {
        let written = one.write(key, Bytes::from_static(value.as_bytes()), expected, time);
        sure(written.await, "writing a record")
    };
    assert_eq!(read("a/1").await, None, "never written");
    let first = write("a/1", "1", Expected::Any, MINUTE).await;
    let found = read("a/1")
        .await
        .map(|record| (record.value, Some(record.version)));
    assert_eq!(found, Some((Bytes::from("1"), first)), "as it was written");
    assert_eq!(
        write("a/1", "2", Expected::Absent, MINUTE).await,
        None,
        "it is there"
    );
    let second = write("a/1", "2", Expected::Any, 3 * MINUTE).await;
    assert_ne!(first, second, "each write has a version of its own");
    if let Some(first) = first {
        let stale = write("a/1", "3", Expected::Version(first), MINUTE).await;
        assert_eq!(stale, None, "another write came first");
    }
    write("b é", "", Expected::Absent, 2 * MINUTE).await;
    harness.advance(MINUTE + SECOND).await;
    let value = read("a/1").await.map(|record| record.value);
    assert_eq!(
        value,
        Some(Bytes::from("2")),
        "its time begins with the last write"
    );
    let empty = read("b é").await.map(|record| record.value);
    assert_eq!(empty, Some(Bytes::new()), "an empty record is one");
    sure(one.remove("a/1").await, "removing a record");
    sure(
        one.remove("a/1").await,
        "removing a record that is not there",
    );
    assert_eq!(read("a/1").await, None, "removed");
    harness.advance(MINUTE).await;
    assert_eq!(read("b é").await, None, "after its time");
    assert!(
        write("b é", "new", Expected::Absent, MINUTE)
            .await
            .is_some(),
        "its time is over"
    );
    let is_too_large =
        |written: Result<_, StoreError>| matches!(written, Err(StoreError::TooLarge { .. }));
    let long = "k".repeat(513);
    let written = one.write(&long, Bytes::new(), Expected::Any, MINUTE).await;
    assert!(is_too_large(written), "a key has at most 512 bytes");
    let large = Bytes::from(vec![0; (1 << 20) + 1]);
    let written = one.write("c", large, Expected::Any, MINUTE).await;
    assert!(is_too_large(written), "a value has at most 1 MiB");
}

/// Of several writes that expect the same, by several processes, one wins.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn of_several_writes_of_a_version_one_wins(harness: &dyn SharedHarness) {
    let stores = fresh(harness).await;
    let mut expected = Expected::Absent;
    for round in 0..10 {
        let writes = (0..8).map(|number: usize| {
            let state = state(&*stores[number % 2]);
            let value = Bytes::from(format!("{round} {number}"));
            async move {
                let written = state.write("k", value.clone(), expected, MINUTE).await;
                sure(written, "writing a record").map(|version| (value, version))
            }
        });
        let written: Vec<_> = join_all(writes).await.into_iter().flatten().collect();
        assert_eq!(written.len(), 1, "one of them wins: {written:?}");
        let found = sure(
            state(&*stores[round % 2]).read("k").await,
            "reading a record",
        );
        let found = found.map(|record| (record.value, record.version));
        assert_eq!(found.as_ref(), written.first(), "what the winner wrote");
        if let Some((_, version)) = found {
            expected = Expected::Version(version);
        }
    }
}
