//! Behaviours of artifacts.

use super::{
    Harness, MINUTE, RACERS, artifact, artifact_id,
    basics::{SIZES, drop_after, others},
    call, holds, is_duplicate_artifact, is_too_large, session, sweep, text, winner,
};
use crate::{
    ArtifactLookup, ArtifactMissing, Budget, MemoryLimits, Recorded, ResultStore, StoreError,
    StoredArtifact,
};
use crossfeed_json::Document;
use futures_util::future::join_all;

/// An artifact of about as many bytes, with everything that may be said of one.
pub(super) fn full_artifact(id: &str, of: &str, bytes: usize) -> StoredArtifact {
    let data = format!(
        " [1.50, {{\"b\": \"é\", \"a\": 1e400}}, {:?}]\n",
        id.repeat(bytes / id.len())
    );
    artifact(id, of, data)
        .with_summary(Document::new(r#"{"n": 1.50, "é":  null}"#))
        .with_tool("search")
        .with_base("items[?n > `1`]")
        .with_detail("n", "[0].n")
        .with_detail("é", "[0].\"é\"")
}

/// Fails unless an artifact is there as it was recorded.
pub(super) fn assert_same(found: &StoredArtifact, recorded: &StoredArtifact) {
    let raw = |artifact: &StoredArtifact| artifact.document().raw().clone();
    let is_same = raw(found) == raw(recorded);
    assert!(
        is_same,
        "the bytes of an artifact come back untouched: {found:?}"
    );
    let summary =
        |artifact: &StoredArtifact| artifact.summary().map(|summary| summary.raw().clone());
    assert_eq!(summary(found), summary(recorded), "the summary comes back");
    let ids =
        |artifact: &StoredArtifact| (artifact.artifact_id().clone(), artifact.call_id().clone());
    assert_eq!(ids(found), ids(recorded), "the ids come back");
    let blocked = recorded.retrieval_blocked();
    assert_eq!(found.retrieval_blocked(), blocked, "the block comes back");
    assert_eq!(found.tool(), recorded.tool(), "the tool comes back");
    assert_eq!(
        found.base(),
        recorded.base(),
        "the base selector comes back"
    );
    assert_eq!(found.details(), recorded.details(), "the details come back");
}

/// Artifacts are found by both ids, and not overwritten.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn artifacts_are_found(store: &dyn ResultStore) {
    let a = session(store, "a");
    let made = || {
        artifact("a1", "c1", "[1.0]")
            .with_retrieval_blocked(true)
            .with_summary(Document::new("{}"))
    };
    a.puts_artifact(made(), Recorded::New, "a first artifact is new")
        .await;
    let again = made().with_tool("other").with_base("@");
    a.puts_artifact(
        again,
        Recorded::Unchanged,
        "the same artifact changes nothing",
    )
    .await;
    let blocked = |data| artifact("a1", "c1", data).with_retrieval_blocked(true);
    for other in [
        blocked("[2]").with_summary(Document::new("{}")),
        blocked("[1.0]").with_summary(Document::new("{ }")),
        blocked("[1.0]"),
        artifact("a1", "c1", "[1.0]").with_summary(Document::new("{}")),
    ] {
        let why = "another artifact under the same ids must be a duplicate";
        a.refuses_artifact(other, is_duplicate_artifact, why).await;
    }
    let found = a.found_artifact("a1", "c1", "after it was recorded").await;
    assert!(
        found.document().raw()[..] == *b"[1.0]" && found.retrieval_blocked(),
        "the first artifact stays"
    );
    assert_eq!(found.tool(), None, "the first artifact's tool stays");
    a.unknown_artifact("a1", "c2", "with another call").await;
    a.unknown_artifact("a2", "c1", "with another id").await;
    a.unknown("c1", "with an artifact of its id only").await;
    a.put_artifact(artifact("a1", "c2", "2")).await;
    let found = a.found_artifact("a1", "c2", "of another call").await;
    holds(found.document(), b"2", "both ids together name an artifact");
}

/// Every byte and everything said about an artifact comes back, be it small or large.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn an_artifact_is_found_as_it_was(store: &dyn ResultStore) {
    let a = session(store, "a");
    for (id, bytes) in [("small", 0), ("large", 300_000)] {
        a.put_artifact(full_artifact(id, "c1", bytes)).await;
        for when in ["the first time", "once more"] {
            let found = a.found_artifact(id, "c1", when).await;
            assert_same(&found, &full_artifact(id, "c1", bytes));
        }
    }
    a.put_artifact(artifact("bare", "c1", "")).await;
    let found = a.found_artifact("bare", "c1", "just recorded").await;
    assert_same(&found, &artifact("bare", "c1", ""));
    let large = full_artifact("large", "c1", 300_000);
    let twin = artifact("twin", "c1", large.document().raw().clone());
    a.put_artifact(twin).await;
    a.remove().await;
    a.unknown_artifact("large", "c1", "after its session was removed")
        .await;
}

/// A session's artifacts are listed in the order in which they were recorded.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn artifacts_are_listed_oldest_first(store: &dyn ResultStore) {
    let a = session(store, "a");
    let listed = a.list_artifacts().await;
    assert!(listed.is_empty(), "an empty store lists no artifacts");
    let second = artifact("a", "c1", "[22]")
        .with_retrieval_blocked(true)
        .with_tool("search")
        .with_summary(Document::new(r#"{"n":  1}"#));
    a.put_artifact(artifact("b", "c1", "1")).await;
    a.put_artifact(second).await;
    a.put_artifact(artifact("b", "c0", "3")).await;
    a.put_artifact(artifact("b", "c1", "1")).await;
    a.found_artifact("b", "c1", "before listing").await;
    let listed = a.list_artifacts().await;
    let names: Vec<_> = listed
        .iter()
        .map(|line| (line.artifact_id.as_str(), line.call_id.as_str()))
        .collect();
    assert_eq!(
        names,
        [("b", "c1"), ("a", "c1"), ("b", "c0")],
        "artifacts are listed oldest first, whatever was done with them since"
    );
    assert!(
        listed.get(1).is_some_and(|line| line.bytes == 4
            && line.retrieval_blocked
            && line.tool.as_deref() == Some("search")
            && line.summary.as_deref() == Some(br#"{"n":  1}"#)),
        "a line describes its artifact: {listed:?}"
    );
    assert!(
        listed.first().is_some_and(|line| !line.retrieval_blocked
            && line.tool.is_none()
            && line.summary.is_none()),
        "nothing is made up: {listed:?}"
    );
}

/// Of two artifacts of one name whose bytes differ in one place only, the second is refused, however large they are.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn every_byte_of_an_artifact_decides_whether_it_is_the_same(store: &dyn ResultStore) {
    let a = session(store, "a");
    for length in SIZES {
        let id = format!("a{length}");
        let made = |data: String| artifact(&id, "c1", data);
        a.put_artifact(made("x".repeat(length))).await;
        let again = made("x".repeat(length));
        a.puts_artifact(again, Recorded::Unchanged, "the same bytes again")
            .await;
        for (what, other) in others(length) {
            let why = format!("{length} bytes, but for {what}, are a duplicate");
            a.refuses_artifact(made(other), is_duplicate_artifact, &why)
                .await;
        }
    }
}

/// Of several different artifacts under the same ids at once, exactly one is recorded.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn of_several_artifacts_one_is_new(store: &dyn ResultStore) {
    let a = session(store, "a");
    let puts = RACERS.map(|raw| store.put_artifact(&a.scope, artifact("a1", "c1", raw)));
    let winner = winner(&join_all(puts).await, is_duplicate_artifact);
    let found = a.found_artifact("a1", "c1", "after a race").await;
    holds(found.document(), winner, "what is new is what is there");
}

/// A future that is dropped has recorded an artifact as a whole or not at all.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn a_dropped_artifact_leaves_nothing_half_done(store: &dyn ResultStore) {
    let a = session(store, "a");
    let (scope, id, of) = (&a.scope, artifact_id("x"), call("c1"));
    for polls in 0..4 {
        let name = format!("a{polls}");
        let made = || full_artifact(&name, "c1", 1000);
        drop_after(polls, store.put_artifact(scope, made())).await;
        // An answer that was not waited for may still come, but whole.
        match a.artifact(&name, "c1").await {
            ArtifactLookup::Found(found) => assert_same(&found, &full_artifact(&name, "c1", 1000)),
            ArtifactLookup::Missing(missing) => assert_eq!(missing, ArtifactMissing::Unknown),
        }
        a.put_artifact(made()).await;
        drop_after(polls, store.get_artifact(scope, &id, &of)).await;
        drop_after(polls, store.list_artifacts(scope)).await;
        drop_after(polls, store.sweep()).await;
        let found = a.found_artifact(&name, "c1", "after dropped futures").await;
        assert_same(&found, &full_artifact(&name, "c1", 1000));
    }
}

/// Artifacts stay when the results of their session have gone.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn artifacts_outlive_results(harness: &dyn Harness) {
    let store = &*harness.store(&MemoryLimits::default()).await;
    let a = session(store, "a");
    a.put("c1", text("1")).await;
    a.put_artifact(artifact("a1", "c1", "1")).await;
    harness.advance(3 * 60 * MINUTE).await;
    sweep(store).await;
    a.lists([], "the result has expired").await;
    a.found_artifact("a1", "c1", "after its result has expired")
        .await;
}

/// A session's artifacts have limits of their own, for which nothing makes room.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn artifacts_have_limits(harness: &dyn Harness) {
    let limits = MemoryLimits::default()
        .with_artifact_bytes(1000)
        .with_session_artifacts(3);
    let store = &*harness.store(&limits).await;
    let (a, b) = (session(store, "a"), session(store, "b"));
    let sized = |id: &str, bytes: usize| artifact(id, "c1", "x".repeat(bytes));
    let why = "an artifact beyond the limit is too large";
    a.refuses_artifact(sized("a0", 1001), is_too_large, why)
        .await;
    a.put_artifact(sized("a1", 600)).await;
    let why = "nothing makes room for an artifact";
    a.refuses_artifact(sized("a2", 500), is_full(Budget::ArtifactBytes), why)
        .await;
    b.put_artifact(sized("a1", 600)).await;
    a.put_artifact(sized("a2", 10)).await;
    a.put_artifact(sized("a3", 10)).await;
    let why = "the number of artifacts is limited";
    a.refuses_artifact(sized("a4", 10), is_full(Budget::SessionArtifacts), why)
        .await;
    a.puts_artifact(
        sized("a1", 600),
        Recorded::Unchanged,
        "what is there needs no room",
    )
    .await;
    a.unknown_artifact("a4", "c1", "after it was refused").await;
    a.found_artifact("a1", "c1", "in a full session").await;
}

/// Artifacts expire at the end of their time to live where there is one; their ids are then free.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn artifacts_expire_only_if_told_to(harness: &dyn Harness) {
    let limits = MemoryLimits::default()
        .with_session_artifacts(2)
        .with_artifact_time_to_live(Some(10 * MINUTE));
    let store = &*harness.store(&limits).await;
    let (a, b) = (session(store, "a"), session(store, "b"));
    a.put_artifact(artifact("a1", "c1", "1").with_tool("search"))
        .await;
    harness.advance(4 * MINUTE).await;
    a.put_artifact(artifact("a2", "c1", "2")).await;
    let held = a.found_artifact("a1", "c1", "after 4 of 10 minutes").await;
    harness.advance(5 * MINUTE).await;
    a.found_artifact("a1", "c1", "after 9 of 10 minutes").await;
    a.puts_artifact(
        artifact("a1", "c1", "1").with_tool("search"),
        Recorded::Unchanged,
        "what is there is unchanged",
    )
    .await;
    harness.advance(2 * MINUTE).await;
    let when = "after 11 of 10 minutes, used and held or not";
    let tombstone = a.expired_artifact("a1", "c1", when).await;
    assert_eq!(tombstone.tool(), Some("search"), "it names its tool");
    holds(held.document(), b"1", "a held artifact stays valid");
    a.found_artifact("a2", "c1", "after 7 of 10 minutes").await;
    let lines = a.list_artifacts().await;
    assert_eq!(lines.len(), 1, "what has expired is not listed");
    b.unknown_artifact("a1", "c1", "in another scope").await;
    sweep(store).await;
    a.expired_artifact("a1", "c1", "after a sweep").await;

    a.puts_artifact(
        artifact("a1", "c1", "3"),
        Recorded::New,
        "an expired artifact's ids are free",
    )
    .await;
    let found = a.found_artifact("a1", "c1", "recorded again").await;
    holds(found.document(), b"3", "the new artifact is what is there");
    harness.advance(9 * MINUTE).await;
    a.expired_artifact("a2", "c1", "after its time").await;
    a.found_artifact("a1", "c1", "within its own time").await;
    a.remove().await;
    a.unknown_artifact("a2", "c1", "after its session was removed")
        .await;
}

pub(super) fn is_full(taken: Budget) -> impl Fn(&StoreError) -> bool {
    move |error| matches!(error, StoreError::Full { budget, .. } if *budget == taken)
}
