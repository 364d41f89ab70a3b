//! Behaviours of stores that keep artifacts through a restart.

use super::{
    Harness, TestLimits, artifact,
    artifacts::{assert_full, full_artifact},
    expired_artifact, found_artifact, put, scope, sure, text, unknown_artifact,
};
use crate::{Budget, Recorded, ResultStore, StoreError};
use async_trait::async_trait;
use std::{sync::Arc, time::Duration};

const MINUTE: Duration = Duration::from_secs(60);

/// What a backend provides to be tested for durability.
#[async_trait]
pub trait DurableHarness: Harness {
    /// Opens once more what the store that [`Harness::store`] made last keeps, with these limits,
    /// as another process would. The first store may still be open.
    async fn reopen(&self, limits: &TestLimits) -> Arc<dyn ResultStore>;
}

/// Runs every function of this module, each on a store of its own.
///
/// # Panics
///
/// When the store breaks its contract; the message says how.
pub async fn run_durable(harness: &dyn DurableHarness) {
    what_was_acknowledged_is_there_after_reopening(harness).await;
    removed_sessions_stay_removed(harness).await;
    limits_hold_after_reopening(harness).await;
    an_expired_artifact_stays_expired(harness).await;
    two_that_are_open_see_each_other(harness).await;
}

/// Every artifact that was recorded is there after a restart, with every field and in order.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn what_was_acknowledged_is_there_after_reopening(harness: &dyn DurableHarness) {
    let limits = TestLimits::default();
    let store = harness.store(&limits).await;
    let scope = scope("a");
    let sizes = [("small", 0), ("middle", 10_000), ("large", 300_000)];
    for (id, bytes) in sizes {
        let made = full_artifact(id, "c1", bytes).with_retrieval_blocked(bytes > 0);
        sure(
            store.put_artifact(&scope, made).await,
            "recording an artifact",
        );
    }
    put(&*store, &scope, "c1", text("1")).await;
    let before = sure(store.list_artifacts(&scope).await, "listing artifacts");
    drop(store);
    for when in ["after reopening", "after reopening again"] {
        let store = harness.reopen(&limits).await;
        for (id, bytes) in sizes {
            let found = found_artifact(&*store, &scope, id, "c1", when).await;
            assert_full(&found, id, "c1", bytes);
            assert_eq!(found.retrieval_blocked(), bytes > 0, "the block comes back");
        }
        assert_eq!(
            sure(store.list_artifacts(&scope).await, "listing artifacts"),
            before,
            "{when}: the list is as it was"
        );
        let same = full_artifact("large", "c1", 300_000).with_retrieval_blocked(true);
        assert_eq!(
            sure(
                store.put_artifact(&scope, same).await,
                "recording the same artifact again"
            ),
            Recorded::Unchanged,
            "{when}: the same artifact changes nothing"
        );
        let outcome = store
            .put_artifact(&scope, artifact("small", "c1", "2"))
            .await;
        assert!(
            matches!(outcome, Err(StoreError::DuplicateArtifact { .. })),
            "{when}: another artifact under the same ids must be a duplicate, it was {outcome:?}"
        );
    }
}

/// What was removed does not come back.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn removed_sessions_stay_removed(harness: &dyn DurableHarness) {
    let limits = TestLimits::default();
    let store = harness.store(&limits).await;
    let (removed, kept) = (scope("a"), scope("b"));
    for scope in [&removed, &kept] {
        let made = full_artifact("a1", "c1", 300_000);
        sure(
            store.put_artifact(scope, made).await,
            "recording an artifact",
        );
    }
    sure(store.remove_session(&removed).await, "removing a session");
    drop(store);
    let store = harness.reopen(&limits).await;
    unknown_artifact(&*store, &removed, "a1", "c1", "after reopening").await;
    let found = found_artifact(&*store, &kept, "a1", "c1", "with the same data").await;
    assert_full(&found, "a1", "c1", 300_000);
}

/// What was there before a restart takes its room.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn limits_hold_after_reopening(harness: &dyn DurableHarness) {
    let limits = TestLimits {
        artifact_bytes: 1000,
        session_artifacts: 3,
        ..TestLimits::default()
    };
    let sized = |id: &str, bytes: usize| artifact(id, "c1", "x".repeat(bytes));
    let store = harness.store(&limits).await;
    let scope = scope("a");
    sure(
        store.put_artifact(&scope, sized("a1", 600)).await,
        "recording an artifact",
    );
    drop(store);
    let store = harness.reopen(&limits).await;
    for (made, expected) in [
        (sized("a2", 500), Some(Budget::ArtifactBytes)),
        (sized("a2", 10), None),
        (sized("a3", 10), None),
        (sized("a4", 10), Some(Budget::SessionArtifacts)),
    ] {
        let outcome = store.put_artifact(&scope, made).await;
        let budget = match &outcome {
            Err(StoreError::Full { budget, .. }) => Some(*budget),
            _ => None,
        };
        assert!(
            budget == expected && (budget.is_some() || outcome.is_ok()),
            "artifacts from before a restart count, it was {outcome:?}"
        );
    }
}

/// Time goes on while a store is closed.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn an_expired_artifact_stays_expired(harness: &dyn DurableHarness) {
    let limits = TestLimits {
        artifact_time_to_live: Some(10 * MINUTE),
        ..TestLimits::default()
    };
    let store = harness.store(&limits).await;
    let scope = scope("a");
    for id in ["a1", "a2"] {
        sure(
            store.put_artifact(&scope, artifact(id, "c1", "1")).await,
            "recording an artifact",
        );
        harness.advance(5 * MINUTE).await;
    }
    drop(store);
    harness.advance(MINUTE).await;
    let store = harness.reopen(&limits).await;
    expired_artifact(&*store, &scope, "a1", "c1", "after reopening").await;
    found_artifact(&*store, &scope, "a2", "c1", "within its time").await;
    sure(store.sweep().await, "sweeping");
    drop(store);
    let store = harness.reopen(&limits).await;
    expired_artifact(&*store, &scope, "a1", "c1", "after a sweep").await;
    found_artifact(&*store, &scope, "a2", "c1", "after a sweep").await;
}

/// What one has acknowledged, another that is open at the same time finds, and what one has
/// removed, the other does not find any more.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn two_that_are_open_see_each_other(harness: &dyn DurableHarness) {
    let limits = TestLimits::default();
    let one = harness.store(&limits).await;
    let two = harness.reopen(&limits).await;
    let scope = scope("a");
    for round in 0..2 {
        let bytes = 300_000 * round;
        let when = "recorded by one, read by the other";
        let made = || full_artifact("a1", "c1", bytes);
        sure(
            one.put_artifact(&scope, made()).await,
            "recording an artifact",
        );
        for store in [&two, &one] {
            let found = found_artifact(&**store, &scope, "a1", "c1", when).await;
            assert_full(&found, "a1", "c1", bytes);
        }
        assert_eq!(
            sure(
                two.put_artifact(&scope, made()).await,
                "recording the same artifact again"
            ),
            Recorded::Unchanged,
            "{when}: the same artifact changes nothing"
        );
        sure(two.remove_session(&scope).await, "removing a session");
        for store in [&one, &two] {
            let when = "removed by the other";
            unknown_artifact(&**store, &scope, "a1", "c1", when).await;
        }
    }
}
