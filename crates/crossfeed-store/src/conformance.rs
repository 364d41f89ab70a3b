//! What every store must do, as code: one function per behaviour of the contract.
//!
//! What comes in: a store, or a [`Harness`] that makes stores with small limits and moves their
//! time. What goes out: nothing, or a panic that says what was broken. Deliberately not here: how a
//! store keeps its books, and faults of a backend.
//!
//! A store passes if [`run_all`] returns. One that calls itself durable must pass
//! [`run_durable`], too. Functions that take a store expect it to be empty and to have room for a
//! few hundred kilobytes.

mod artifacts;
mod basics;
mod durability;
mod lifetime;

pub use artifacts::{
    a_dropped_artifact_leaves_nothing_half_done, an_artifact_is_found_as_it_was,
    artifacts_are_found, artifacts_are_listed_oldest_first, artifacts_expire_only_if_told_to,
    artifacts_have_limits, artifacts_outlive_results, of_several_artifacts_one_is_new,
};
pub use basics::{
    a_dropped_future_leaves_nothing_half_done, a_record_is_found_as_it_was,
    a_removed_session_is_unknown, listing_is_by_use, no_scope_reaches_another,
    nothing_is_overwritten, of_several_puts_one_is_new, the_same_again_is_unchanged,
    the_unknown_is_unknown,
};
pub use durability::{
    DurableHarness, an_expired_artifact_stays_expired, limits_hold_after_reopening,
    removed_sessions_stay_removed, run_durable, two_that_are_open_see_each_other,
    what_was_acknowledged_is_there_after_reopening,
};
pub use lifetime::{
    bytes_in_a_session_evict_the_least_recently_used, bytes_in_all_evict_of_who_holds_the_most,
    bytes_in_all_evict_the_least_recently_used, number_evicts_the_least_recently_used,
    results_expire_after_their_last_use, results_expire_at_their_maximum_age,
    scopes_share_no_tombstones, sweeping_keeps_what_lives, tombstones_say_how_to_run_again,
    what_cannot_be_had_again_goes_last, what_cannot_fit_evicts_nothing,
    what_has_gone_can_be_recorded_again, what_is_held_and_lost_is_counted, what_is_held_stays,
};

use crate::{
    ArtifactLookup, ArtifactMissing, Lookup, Missing, Recorded, ResultKind, ResultStore,
    StoreError, StoredArtifact, StoredResult,
};
use async_trait::async_trait;
use bytes::Bytes;
use crossfeed_json::Document;
use crossfeed_wire::{ArtifactId, CallId, Scope, TraceContext};
use std::{fmt::Debug, sync::Arc, time::Duration};

/// Limits that a behaviour is shown with. Sizes are such that a store may count up to 30 bytes for
/// each result beside its raw bytes.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TestLimits {
    /// How long a result is kept since its last use. 5 minutes, as is the memory store's default.
    pub time_to_live: Duration,
    /// How long a result is kept at most. 1 hour, likewise.
    pub max_age: Duration,
    /// Bytes of results in a session. 1 MiB: out of the way unless it is what is tested.
    pub session_bytes: usize,
    /// Bytes of results in all. 1 MiB, likewise.
    pub total_bytes: usize,
    /// Results in a session. 1,000, likewise.
    pub session_results: usize,
    /// Bytes of artifacts in a session. 1 MiB, likewise.
    pub artifact_bytes: usize,
    /// Artifacts in a session. 1,000, likewise.
    pub session_artifacts: usize,
    /// How long an artifact is kept. None, as is the memory store's default.
    pub artifact_time_to_live: Option<Duration>,
}

impl Default for TestLimits {
    fn default() -> Self {
        Self {
            time_to_live: Duration::from_secs(5 * 60),
            max_age: Duration::from_secs(60 * 60),
            session_bytes: 1 << 20,
            total_bytes: 1 << 20,
            session_results: 1000,
            artifact_bytes: 1 << 20,
            session_artifacts: 1000,
            artifact_time_to_live: None,
        }
    }
}

/// What a backend provides to be tested.
#[async_trait]
pub trait Harness: Send + Sync {
    /// A new, empty store with these limits, whose time is the harness's.
    async fn store(&self, limits: &TestLimits) -> Arc<dyn ResultStore>;

    /// Moves the time of all stores of this harness forward.
    async fn advance(&self, by: Duration);
}

/// Runs every function of this module, each on a store of its own.
///
/// # Panics
///
/// When the store breaks its contract; the message says how.
pub async fn run_all(harness: &dyn Harness) {
    let limits = TestLimits::default();
    let fresh = || harness.store(&limits);
    the_unknown_is_unknown(&*fresh().await).await;
    a_record_is_found_as_it_was(&*fresh().await).await;
    the_same_again_is_unchanged(&*fresh().await).await;
    nothing_is_overwritten(&*fresh().await).await;
    no_scope_reaches_another(&*fresh().await).await;
    listing_is_by_use(&*fresh().await).await;
    a_removed_session_is_unknown(&*fresh().await).await;
    of_several_puts_one_is_new(&*fresh().await).await;
    a_dropped_future_leaves_nothing_half_done(&*fresh().await).await;

    results_expire_after_their_last_use(harness).await;
    results_expire_at_their_maximum_age(harness).await;
    bytes_in_a_session_evict_the_least_recently_used(harness).await;
    bytes_in_all_evict_the_least_recently_used(harness).await;
    bytes_in_all_evict_of_who_holds_the_most(harness).await;
    what_cannot_be_had_again_goes_last(harness).await;
    number_evicts_the_least_recently_used(harness).await;
    what_is_held_and_lost_is_counted(harness).await;
    what_is_held_stays(harness).await;
    what_cannot_fit_evicts_nothing(harness).await;
    tombstones_say_how_to_run_again(harness).await;
    what_has_gone_can_be_recorded_again(harness).await;
    scopes_share_no_tombstones(harness).await;
    sweeping_keeps_what_lives(harness).await;

    artifacts_are_found(&*fresh().await).await;
    an_artifact_is_found_as_it_was(&*fresh().await).await;
    artifacts_are_listed_oldest_first(&*fresh().await).await;
    of_several_artifacts_one_is_new(&*fresh().await).await;
    a_dropped_artifact_leaves_nothing_half_done(&*fresh().await).await;
    artifacts_outlive_results(harness).await;
    artifacts_have_limits(harness).await;
    artifacts_expire_only_if_told_to(harness).await;
}

/// The value, or a panic that says what was being done.
#[expect(clippy::panic, reason = "conformance functions panic on violation")]
fn sure<T, E: Debug>(outcome: Result<T, E>, doing: &str) -> T {
    match outcome {
        Ok(value) => value,
        Err(error) => panic!("{doing} failed: {error:?}"),
    }
}

fn scope(session: &str) -> Scope {
    sure(
        Scope::parse("tenant", "project", session),
        "making a test scope",
    )
}

fn call(id: &str) -> CallId {
    sure(CallId::parse(id), "making a test call id")
}

fn trace() -> TraceContext {
    sure(
        TraceContext::new([1; 16], [2; 8], 1),
        "making a test place in a trace",
    )
}

fn text(text: impl Into<String>) -> StoredResult {
    StoredResult::new(Document::new(text.into()), ResultKind::Text)
}

fn artifact_id(id: &str) -> ArtifactId {
    sure(ArtifactId::parse(id), "making a test artifact id")
}

fn artifact(id: &str, of: &str, data: impl Into<Bytes>) -> StoredArtifact {
    StoredArtifact::new(artifact_id(id), call(of), Document::new(data))
}

async fn artifact_lookup(
    store: &dyn ResultStore,
    scope: &Scope,
    id: &str,
    of: &str,
) -> ArtifactLookup {
    let found = store.get_artifact(scope, &artifact_id(id), &call(of)).await;
    sure(found, &format!("looking up artifact `{id}`"))
}

async fn has_artifact(store: &dyn ResultStore, scope: &Scope, id: &str, of: &str) -> bool {
    let lookup = artifact_lookup(store, scope, id, of).await;
    matches!(lookup, ArtifactLookup::Found(_))
}

/// The artifact, which must be there.
#[expect(clippy::panic, reason = "conformance functions panic on violation")]
async fn found_artifact(
    store: &dyn ResultStore,
    scope: &Scope,
    id: &str,
    of: &str,
    when: &str,
) -> Arc<StoredArtifact> {
    match artifact_lookup(store, scope, id, of).await {
        ArtifactLookup::Found(artifact) => artifact,
        ArtifactLookup::Missing(missing) => {
            panic!("{when}: artifact `{id}` should be there, it is {missing:?}")
        }
    }
}

async fn unknown_artifact(store: &dyn ResultStore, scope: &Scope, id: &str, of: &str, when: &str) {
    let lookup = artifact_lookup(store, scope, id, of).await;
    assert!(
        matches!(lookup, ArtifactLookup::Missing(ArtifactMissing::Unknown)),
        "{when}: artifact `{id}` should be unknown, it is {lookup:?}"
    );
}

async fn expired_artifact(store: &dyn ResultStore, scope: &Scope, id: &str, of: &str, when: &str) {
    let lookup = artifact_lookup(store, scope, id, of).await;
    assert!(
        matches!(lookup, ArtifactLookup::Missing(ArtifactMissing::Expired(_))),
        "{when}: artifact `{id}` should be expired, it is {lookup:?}"
    );
}

/// A text of 300 bytes, three of which fit 1000.
fn third() -> StoredResult {
    text("x".repeat(300))
}

async fn put(store: &dyn ResultStore, scope: &Scope, id: &str, result: StoredResult) {
    sure(
        store.put(scope, &call(id), result).await,
        &format!("recording `{id}`"),
    );
}

async fn get(store: &dyn ResultStore, scope: &Scope, id: &str) -> Lookup {
    sure(
        store.get(scope, &call(id)).await,
        &format!("looking up `{id}`"),
    )
}

/// The result, which must be there.
#[expect(clippy::panic, reason = "conformance functions panic on violation")]
async fn found(store: &dyn ResultStore, scope: &Scope, id: &str, when: &str) -> Arc<StoredResult> {
    match get(store, scope, id).await {
        Lookup::Found(result) => result,
        Lookup::Missing(missing) => panic!("{when}: `{id}` should be there, it is {missing:?}"),
    }
}

/// Why the result is not there, which it must not be.
#[expect(clippy::panic, reason = "conformance functions panic on violation")]
async fn missing(store: &dyn ResultStore, scope: &Scope, id: &str, when: &str) -> Missing {
    match get(store, scope, id).await {
        Lookup::Found(_) => panic!("{when}: `{id}` should not be there"),
        Lookup::Missing(missing) => missing,
    }
}

async fn evicted(store: &dyn ResultStore, scope: &Scope, id: &str, when: &str) {
    let missing = missing(store, scope, id, when).await;
    assert!(
        matches!(missing, Missing::Evicted(_)),
        "{when}: `{id}` should be evicted, it is {missing:?}"
    );
}

async fn expired(store: &dyn ResultStore, scope: &Scope, id: &str, when: &str) {
    let missing = missing(store, scope, id, when).await;
    assert!(
        matches!(missing, Missing::Expired(_)),
        "{when}: `{id}` should be expired, it is {missing:?}"
    );
}

async fn unknown(store: &dyn ResultStore, scope: &Scope, id: &str, when: &str) {
    let missing = missing(store, scope, id, when).await;
    assert!(
        matches!(missing, Missing::Unknown),
        "{when}: `{id}` should be unknown, it is {missing:?}"
    );
}

/// The ids of a session's results, which does not count as a use of them.
async fn listed(store: &dyn ResultStore, scope: &Scope) -> Vec<String> {
    let listed = sure(store.list(scope).await, "listing");
    listed
        .into_iter()
        .map(|line| line.call_id.as_str().to_owned())
        .collect()
}

/// What is recorded under one id at once: several contents, each more than once.
const RACERS: [&str; 8] = ["0", "1", "2", "3", "0", "1", "2", "3"];

/// Which of the racers was recorded: exactly one is new, the same as that one is not an error, and any
/// other is a duplicate.
fn winner(
    outcomes: &[Result<Recorded, StoreError>],
    is_duplicate: impl Fn(&StoreError) -> bool,
) -> &'static str {
    let racers = || RACERS.into_iter().zip(outcomes);
    let winners: Vec<&str> = racers()
        .filter(|(_, outcome)| matches!(outcome, Ok(Recorded::New)))
        .map(|(raw, _)| raw)
        .collect();
    assert_eq!(winners.len(), 1, "exactly one must be new: {outcomes:?}");
    let winner = winners.first().copied().unwrap_or_default();
    for (raw, outcome) in racers() {
        assert!(
            match outcome {
                Ok(_) => raw == winner,
                Err(error) => raw != winner && is_duplicate(error),
            },
            "`{raw}` against the recorded `{winner}` came to {outcome:?}"
        );
    }
    winner
}

fn is_duplicate<T>(outcome: &Result<T, StoreError>) -> bool {
    matches!(outcome, Err(StoreError::Duplicate { .. }))
}
