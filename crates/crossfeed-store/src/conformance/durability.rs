//! Behaviours of stores that keep artifacts through a restart.

use super::{
    Harness, MINUTE, artifact,
    artifacts::{assert_same, full_artifact, is_full},
    is_duplicate_artifact, session, sweep, text,
};
use crate::{Budget, MemoryLimits, Recorded, ResultStore};
use async_trait::async_trait;
use std::sync::Arc;

/// What a backend provides to be tested for durability.
#[async_trait]
pub trait DurableHarness: Harness {
    /// Opens once more what the store that [`Harness::store`] made last keeps, with these limits,
    /// as another process would. The first store may still be open.
    async fn reopen(&self, limits: &MemoryLimits) -> Arc<dyn ResultStore>;
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
    let limits = MemoryLimits::default();
    let store = harness.store(&limits).await;
    let a = session(&*store, "a");
    let made = |id, bytes| full_artifact(id, "c1", bytes).with_retrieval_blocked(bytes > 0);
    let sizes = [("small", 0), ("middle", 10_000), ("large", 300_000)];
    for (id, bytes) in sizes {
        a.put_artifact(made(id, bytes)).await;
    }
    a.put("c1", text("1")).await;
    let before = a.list_artifacts().await;
    drop(store);
    for when in ["after reopening", "after reopening again"] {
        let store = harness.reopen(&limits).await;
        let a = session(&*store, "a");
        for (id, bytes) in sizes {
            let found = a.found_artifact(id, "c1", when).await;
            assert_same(&found, &made(id, bytes));
        }
        assert_eq!(a.list_artifacts().await, before, "{when}");
        a.puts_artifact(made("large", 300_000), Recorded::Unchanged, when)
            .await;
        let why = format!("{when}: another artifact under the same ids must be a duplicate");
        a.refuses_artifact(artifact("small", "c1", "2"), is_duplicate_artifact, &why)
            .await;
    }
}

/// What was removed does not come back.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn removed_sessions_stay_removed(harness: &dyn DurableHarness) {
    let limits = MemoryLimits::default();
    let store = harness.store(&limits).await;
    for name in ["a", "b"] {
        let made = full_artifact("a1", "c1", 300_000);
        session(&*store, name).put_artifact(made).await;
    }
    session(&*store, "a").remove().await;
    drop(store);
    let store = harness.reopen(&limits).await;
    let (removed, kept) = (session(&*store, "a"), session(&*store, "b"));
    removed
        .unknown_artifact("a1", "c1", "after reopening")
        .await;
    let found = kept.found_artifact("a1", "c1", "with the same data").await;
    assert_same(&found, &full_artifact("a1", "c1", 300_000));
}

/// What was there before a restart takes its room.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn limits_hold_after_reopening(harness: &dyn DurableHarness) {
    let limits = MemoryLimits::default()
        .with_artifact_bytes(1000)
        .with_session_artifacts(3);
    let sized = |id: &str, bytes: usize| artifact(id, "c1", "x".repeat(bytes));
    let store = harness.store(&limits).await;
    let a = session(&*store, "a");
    a.put_artifact(sized("a1", 600)).await;
    drop(store);
    let store = harness.reopen(&limits).await;
    let a = session(&*store, "a");
    let why = "artifacts from before a restart count";
    a.refuses_artifact(sized("a2", 500), is_full(Budget::ArtifactBytes), why)
        .await;
    a.put_artifact(sized("a2", 10)).await;
    a.put_artifact(sized("a3", 10)).await;
    a.refuses_artifact(sized("a4", 10), is_full(Budget::SessionArtifacts), why)
        .await;
}

/// Time goes on while a store is closed.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn an_expired_artifact_stays_expired(harness: &dyn DurableHarness) {
    let limits = MemoryLimits::default().with_artifact_time_to_live(Some(10 * MINUTE));
    let store = harness.store(&limits).await;
    let a = session(&*store, "a");
    for id in ["a1", "a2"] {
        a.put_artifact(artifact(id, "c1", "1")).await;
        harness.advance(5 * MINUTE).await;
    }
    drop(store);
    harness.advance(MINUTE).await;
    let store = harness.reopen(&limits).await;
    let a = session(&*store, "a");
    a.expired_artifact("a1", "c1", "after reopening").await;
    a.found_artifact("a2", "c1", "within its time").await;
    sweep(&*store).await;
    drop(store);
    let store = harness.reopen(&limits).await;
    let a = session(&*store, "a");
    a.expired_artifact("a1", "c1", "after a sweep").await;
    a.found_artifact("a2", "c1", "after a sweep").await;
}

/// What one has acknowledged, another that is open at the same time finds, and what one has
/// removed, the other does not find any more.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn two_that_are_open_see_each_other(harness: &dyn DurableHarness) {
    let limits = MemoryLimits::default();
    let (one, two) = (harness.store(&limits).await, harness.reopen(&limits).await);
    let (one, two) = (session(&*one, "a"), session(&*two, "a"));
    for round in 0..2 {
        let bytes = 300_000 * round;
        let when = "recorded by one, read by the other";
        let made = || full_artifact("a1", "c1", bytes);
        one.put_artifact(made()).await;
        for session in [&two, &one] {
            let found = session.found_artifact("a1", "c1", when).await;
            assert_same(&found, &full_artifact("a1", "c1", bytes));
        }
        two.puts_artifact(made(), Recorded::Unchanged, when).await;
        two.remove().await;
        for session in [&one, &two] {
            session
                .unknown_artifact("a1", "c1", "removed by the other")
                .await;
        }
    }
}
