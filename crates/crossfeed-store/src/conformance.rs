//! What every store must do, as code: one function per behaviour of the contract.
//!
//! Each takes a store, or a [`Harness`] that makes stores with small limits and moves their time, and
//! panics with what was broken. How a store counts its bytes, and faults of a backend, are not tested.
//!
//! A store passes if [`run_all`] returns. One that calls itself durable must pass
//! [`run_durable`], too, one that several processes share [`run_shared`], and one whose results can be damaged
//! [`a_damaged_result_harms_no_other`]. Functions that take a store expect it to be empty and to have room for a
//! few hundred kilobytes.

mod artifacts;
mod basics;
mod blobs;
mod damage;
mod durability;
mod lifetime;
mod shared;

pub use artifacts::*;
pub use basics::*;
pub use blobs::*;
pub use damage::*;
pub use durability::*;
pub use lifetime::*;
pub use shared::*;

use crate::{
    ArtifactLookup, ArtifactMissing, ListedArtifact, Lookup, MemoryLimits, Missing, Recorded,
    ResultKind, ResultStore, StoreError, StoredArtifact, StoredResult, Tombstone,
};
use async_trait::async_trait;
use bytes::Bytes;
use crossfeed_json::Document;
use crossfeed_wire::{ArtifactId, CallId, Scope, TraceContext};
use std::{fmt::Debug, sync::Arc, time::Duration};

const MINUTE: Duration = Duration::from_secs(60);

/// What a backend provides to be tested.
#[async_trait]
pub trait Harness: Send + Sync {
    /// A new, empty store with these limits, whose time is the harness's. Limits are such that a store may count
    /// up to 30 bytes for each result beside its raw bytes.
    async fn store(&self, limits: &MemoryLimits) -> Arc<dyn ResultStore>;

    /// Moves the time of all stores of this harness forward.
    async fn advance(&self, by: Duration);
}

/// What a backend that several processes share provides to be tested.
#[async_trait]
pub trait SharedHarness: Harness {
    /// The store that was made last, as another process has it: it shares nothing with the first but the backend.
    async fn peer(&self) -> Arc<dyn ResultStore>;
}

/// Runs every function of this module, each on a store of its own.
///
/// # Panics
///
/// When the store breaks its contract; the message says how.
pub async fn run_all(harness: &dyn Harness) {
    let limits = MemoryLimits::default();
    let fresh = || harness.store(&limits);
    the_unknown_is_unknown(&*fresh().await).await;
    a_record_is_found_as_it_was(&*fresh().await).await;
    the_same_again_is_unchanged(&*fresh().await).await;
    nothing_is_overwritten(&*fresh().await).await;
    every_byte_decides_whether_it_is_the_same(&*fresh().await).await;
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
    every_byte_of_an_artifact_decides_whether_it_is_the_same(&*fresh().await).await;
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

fn call(id: &str) -> CallId {
    sure(CallId::parse(id), "making a test call id")
}

fn artifact_id(id: &str) -> ArtifactId {
    sure(ArtifactId::parse(id), "making a test artifact id")
}

fn trace() -> TraceContext {
    let trace = TraceContext::new([1; 16], [2; 8], 1);
    sure(trace, "making a test place in a trace")
}

fn text(text: impl Into<String>) -> StoredResult {
    StoredResult::new(Document::new(text.into()), ResultKind::Text)
}

/// A result of which three fit into a limit of 1,000 bytes, and four do not.
fn third() -> StoredResult {
    text("x".repeat(300))
}

fn artifact(id: &str, of: &str, data: impl Into<Bytes>) -> StoredArtifact {
    StoredArtifact::new(artifact_id(id), call(of), Document::new(data))
}

/// An empty store whose limits differ from the default in what `change` sets.
async fn limited(
    harness: &dyn Harness,
    change: fn(MemoryLimits) -> MemoryLimits,
) -> Arc<dyn ResultStore> {
    harness.store(&change(MemoryLimits::default())).await
}

async fn sweep(store: &dyn ResultStore) {
    sure(store.sweep().await, "sweeping");
}

/// Fails unless the store refused what it was given with such an error.
fn must_fail(
    outcome: &Result<Recorded, StoreError>,
    is_expected: impl Fn(&StoreError) -> bool,
    why: &str,
) {
    let is_refused = outcome.as_ref().is_err_and(is_expected);
    assert!(is_refused, "{why}, it was {outcome:?}");
}

/// Fails unless a document has these bytes.
fn holds(document: &Document, bytes: impl AsRef<[u8]>, why: &str) {
    assert!(document.raw()[..] == *bytes.as_ref(), "{why}");
}

/// One session of the store under test. Each method but the look-ups fails when the store does not
/// answer as it must, and says what was expected.
struct TestSession<'s> {
    store: &'s dyn ResultStore,
    scope: Scope,
}

/// The session of this name.
fn session<'s>(store: &'s dyn ResultStore, session: &str) -> TestSession<'s> {
    session_of(store, "project", session)
}

fn session_of<'s>(store: &'s dyn ResultStore, project: &str, session: &str) -> TestSession<'s> {
    let scope = Scope::parse("tenant", project, session);
    let scope = sure(scope, "making a test scope");
    TestSession { store, scope }
}

impl TestSession<'_> {
    async fn put(&self, id: &str, result: StoredResult) -> Recorded {
        let outcome = self.store.put(&self.scope, &call(id), result).await;
        sure(outcome, &format!("recording `{id}`"))
    }

    /// Records a result under each of these ids.
    async fn put_each<const N: usize>(
        &self,
        ids: [&str; N],
        result: impl Fn(&str) -> StoredResult,
    ) {
        for id in ids {
            self.put(id, result(id)).await;
        }
    }

    /// Records a result; it must be new, or unchanged.
    async fn puts(&self, id: &str, result: StoredResult, expected: Recorded, why: &str) {
        assert_eq!(self.put(id, result).await, expected, "{why}");
    }

    /// Tries to record a result that the store must refuse.
    async fn refuses(
        &self,
        id: &str,
        result: StoredResult,
        expected: impl Fn(&StoreError) -> bool,
        why: &str,
    ) {
        let outcome = self.store.put(&self.scope, &call(id), result).await;
        must_fail(&outcome, expected, why);
    }

    async fn get(&self, id: &str) -> Lookup {
        let lookup = self.store.get(&self.scope, &call(id)).await;
        sure(lookup, &format!("looking up `{id}`"))
    }

    #[expect(clippy::panic, reason = "conformance functions panic on violation")]
    async fn found(&self, id: &str, when: &str) -> Arc<StoredResult> {
        match self.get(id).await {
            Lookup::Found(result) => result,
            Lookup::Missing(missing) => panic!("{when}: `{id}` should be there, it is {missing:?}"),
        }
    }

    #[expect(clippy::panic, reason = "conformance functions panic on violation")]
    async fn missing(&self, id: &str, when: &str) -> Missing {
        match self.get(id).await {
            Lookup::Found(_) => panic!("{when}: `{id}` should not be there"),
            Lookup::Missing(missing) => missing,
        }
    }

    async fn evicted(&self, id: &str, when: &str) {
        let missing = self.missing(id, when).await;
        let is_evicted = matches!(missing, Missing::Evicted(_));
        assert!(
            is_evicted,
            "{when}: `{id}` should be evicted, it is {missing:?}"
        );
    }

    async fn expired(&self, id: &str, when: &str) {
        let missing = self.missing(id, when).await;
        let is_expired = matches!(missing, Missing::Expired(_));
        assert!(
            is_expired,
            "{when}: `{id}` should be expired, it is {missing:?}"
        );
    }

    async fn unknown(&self, id: &str, when: &str) {
        let missing = self.missing(id, when).await;
        assert_eq!(missing, Missing::Unknown, "{when}: what is said of `{id}`");
    }

    async fn measure(&self, id: &str) {
        let measured = self.store.measure(&self.scope, &call(id)).await;
        sure(measured, &format!("measuring `{id}`"));
    }

    /// Lists the calls whose results are there; they must be these.
    async fn lists<const N: usize>(&self, expected: [&str; N], why: &str) {
        let listed = sure(self.store.list(&self.scope).await, "listing");
        let listed: Vec<_> = listed.iter().map(|line| line.call_id.as_str()).collect();
        assert_eq!(listed, expected, "{why}");
    }

    async fn remove(&self) {
        let removed = self.store.remove_session(&self.scope).await;
        sure(removed, "removing a session");
    }

    async fn put_artifact(&self, artifact: StoredArtifact) -> Recorded {
        let outcome = self.store.put_artifact(&self.scope, artifact).await;
        sure(outcome, "recording an artifact")
    }

    /// Records an artifact; it must be new, or unchanged.
    async fn puts_artifact(&self, artifact: StoredArtifact, expected: Recorded, why: &str) {
        assert_eq!(self.put_artifact(artifact).await, expected, "{why}");
    }

    /// Tries to record an artifact that the store must refuse.
    async fn refuses_artifact(
        &self,
        artifact: StoredArtifact,
        expected: impl Fn(&StoreError) -> bool,
        why: &str,
    ) {
        let outcome = self.store.put_artifact(&self.scope, artifact).await;
        must_fail(&outcome, expected, why);
    }

    async fn artifact(&self, id: &str, of: &str) -> ArtifactLookup {
        let (artifact, call) = (artifact_id(id), call(of));
        let lookup = self.store.get_artifact(&self.scope, &artifact, &call).await;
        sure(lookup, &format!("looking up artifact `{id}`"))
    }

    #[expect(clippy::panic, reason = "conformance functions panic on violation")]
    async fn found_artifact(&self, id: &str, of: &str, when: &str) -> Arc<StoredArtifact> {
        match self.artifact(id, of).await {
            ArtifactLookup::Found(artifact) => artifact,
            ArtifactLookup::Missing(missing) => {
                panic!("{when}: artifact `{id}` should be there, it is {missing:?}")
            }
        }
    }

    #[expect(clippy::panic, reason = "conformance functions panic on violation")]
    async fn missing_artifact(&self, id: &str, of: &str, when: &str) -> ArtifactMissing {
        match self.artifact(id, of).await {
            ArtifactLookup::Found(_) => panic!("{when}: artifact `{id}` should not be there"),
            ArtifactLookup::Missing(missing) => missing,
        }
    }

    async fn unknown_artifact(&self, id: &str, of: &str, when: &str) {
        let missing = self.missing_artifact(id, of, when).await;
        assert_eq!(missing, ArtifactMissing::Unknown, "{when}: artifact `{id}`");
    }

    #[expect(clippy::panic, reason = "conformance functions panic on violation")]
    async fn expired_artifact(&self, id: &str, of: &str, when: &str) -> Tombstone {
        match self.missing_artifact(id, of, when).await {
            ArtifactMissing::Expired(tombstone) => tombstone,
            ArtifactMissing::Unknown => panic!("{when}: artifact `{id}` should be expired"),
        }
    }

    async fn list_artifacts(&self) -> Vec<ListedArtifact> {
        let listed = self.store.list_artifacts(&self.scope).await;
        sure(listed, "listing artifacts")
    }
}

fn is_duplicate(error: &StoreError) -> bool {
    matches!(error, StoreError::Duplicate { .. })
}

fn is_duplicate_artifact(error: &StoreError) -> bool {
    matches!(error, StoreError::DuplicateArtifact { .. })
}

fn is_too_large(error: &StoreError) -> bool {
    matches!(error, StoreError::TooLarge { .. })
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
