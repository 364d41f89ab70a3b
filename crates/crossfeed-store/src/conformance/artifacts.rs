//! Behaviours of artifacts.

use super::{
    Harness, RACERS, TestLimits, artifact, artifact_id,
    basics::{all, drop_after},
    call, expired_artifact, found_artifact, has_artifact, listed, put, scope, sure, text, unknown,
    unknown_artifact, winner,
};
use crate::{
    ArtifactLookup, ArtifactMissing, Budget, Recorded, ResultStore, StoreError, StoredArtifact,
};
use crossfeed_json::Document;
use crossfeed_wire::Scope;
use std::time::Duration;

const MINUTE: Duration = Duration::from_secs(60);

async fn put_artifact(store: &dyn ResultStore, scope: &Scope, artifact: StoredArtifact) {
    sure(
        store.put_artifact(scope, artifact).await,
        "recording an artifact",
    );
}

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

/// Says whether `found` is [`full_artifact`] of the same.
pub(super) fn assert_full(found: &StoredArtifact, id: &str, of: &str, bytes: usize) {
    let made = full_artifact(id, of, bytes);
    let raw = |document: Option<&Document>| document.map(|document| document.raw().clone());
    assert!(
        found.document().raw() == made.document().raw(),
        "the bytes of artifact `{id}` come back untouched"
    );
    assert_eq!(
        raw(found.summary()),
        raw(made.summary()),
        "the summary comes back"
    );
    assert_eq!(
        (found.artifact_id(), found.call_id()),
        (made.artifact_id(), made.call_id()),
        "the ids come back"
    );
    assert_eq!(found.tool(), made.tool(), "the tool comes back");
    assert_eq!(found.base(), made.base(), "the base selector comes back");
    assert_eq!(found.details(), made.details(), "the details come back");
}

/// Artifacts are found by both ids, and not overwritten.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn artifacts_are_found(store: &dyn ResultStore) {
    let scope = scope("a");
    let made = || {
        artifact("a1", "c1", "[1.0]")
            .with_retrieval_blocked(true)
            .with_summary(Document::new("{}"))
    };
    assert_eq!(
        sure(
            store.put_artifact(&scope, made()).await,
            "recording an artifact"
        ),
        Recorded::New,
        "a first artifact is new"
    );
    let again = made().with_tool("other").with_base("@");
    assert_eq!(
        sure(
            store.put_artifact(&scope, again).await,
            "recording the same artifact again"
        ),
        Recorded::Unchanged,
        "the same artifact changes nothing"
    );
    let blocked = |data| artifact("a1", "c1", data).with_retrieval_blocked(true);
    for other in [
        blocked("[2]").with_summary(Document::new("{}")),
        blocked("[1.0]").with_summary(Document::new("{ }")),
        blocked("[1.0]"),
        artifact("a1", "c1", "[1.0]").with_summary(Document::new("{}")),
    ] {
        let outcome = store.put_artifact(&scope, other).await;
        assert!(
            matches!(outcome, Err(StoreError::DuplicateArtifact { .. })),
            "another artifact under the same ids must be a duplicate, it was {outcome:?}"
        );
    }
    let found = found_artifact(store, &scope, "a1", "c1", "after it was recorded").await;
    assert!(
        found.document().raw()[..] == *b"[1.0]" && found.retrieval_blocked(),
        "the first artifact stays"
    );
    assert_eq!(found.tool(), None, "the first artifact's tool stays");
    unknown_artifact(store, &scope, "a1", "c2", "with another call").await;
    unknown_artifact(store, &scope, "a2", "c1", "with another id").await;
    unknown(store, &scope, "c1", "with an artifact of its id only").await;
    put_artifact(store, &scope, artifact("a1", "c2", "2")).await;
    let found = found_artifact(store, &scope, "a1", "c2", "of another call").await;
    assert!(
        found.document().raw()[..] == *b"2",
        "both ids together name an artifact"
    );
}

/// Every byte and everything said about an artifact comes back, be it small or large.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn an_artifact_is_found_as_it_was(store: &dyn ResultStore) {
    let scope = scope("a");
    for (id, bytes) in [("small", 0), ("large", 300_000)] {
        put_artifact(store, &scope, full_artifact(id, "c1", bytes)).await;
        for when in ["the first time", "once more"] {
            let found = found_artifact(store, &scope, id, "c1", when).await;
            assert_full(&found, id, "c1", bytes);
            assert!(!found.retrieval_blocked(), "no block is made up");
        }
    }
    put_artifact(store, &scope, artifact("bare", "c1", "")).await;
    let found = found_artifact(store, &scope, "bare", "c1", "after it was recorded").await;
    assert!(
        found.document().raw().is_empty()
            && found.summary().is_none()
            && found.tool().is_none()
            && found.base().is_none()
            && found.details().is_empty(),
        "nothing is made up: {found:?}"
    );
    put_artifact(
        store,
        &scope,
        artifact(
            "twin",
            "c1",
            full_artifact("large", "c1", 300_000)
                .document()
                .raw()
                .clone(),
        ),
    )
    .await;
    sure(store.remove_session(&scope).await, "removing a session");
    unknown_artifact(
        store,
        &scope,
        "large",
        "c1",
        "after its session was removed",
    )
    .await;
}

/// A session's artifacts are listed in the order in which they were recorded.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn artifacts_are_listed_oldest_first(store: &dyn ResultStore) {
    let scope = scope("a");
    let listed = sure(store.list_artifacts(&scope).await, "listing artifacts");
    assert!(listed.is_empty(), "an empty store lists no artifacts");
    let second = artifact("a", "c1", "[22]")
        .with_retrieval_blocked(true)
        .with_tool("search")
        .with_summary(Document::new(r#"{"n":  1}"#));
    put_artifact(store, &scope, artifact("b", "c1", "1")).await;
    put_artifact(store, &scope, second).await;
    put_artifact(store, &scope, artifact("b", "c0", "3")).await;
    put_artifact(store, &scope, artifact("b", "c1", "1")).await;
    found_artifact(store, &scope, "b", "c1", "before listing").await;
    let listed = sure(store.list_artifacts(&scope).await, "listing artifacts");
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

/// Of several different artifacts under the same ids at once, exactly one is recorded.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn of_several_artifacts_one_is_new(store: &dyn ResultStore) {
    let scope = scope("a");
    let puts = RACERS.map(|raw| store.put_artifact(&scope, artifact("a1", "c1", raw)));
    let winner = winner(&all(puts.into()).await, |error| {
        matches!(error, StoreError::DuplicateArtifact { .. })
    });
    let found = found_artifact(store, &scope, "a1", "c1", "after a race").await;
    assert!(
        found.document().raw()[..] == *winner.as_bytes(),
        "what was reported as new is what is there"
    );
}

/// A future that is dropped has recorded an artifact as a whole or not at all.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn a_dropped_artifact_leaves_nothing_half_done(store: &dyn ResultStore) {
    let scope = scope("a");
    let (id, of) = (artifact_id("x"), call("c1"));
    for polls in 0..4 {
        let name = format!("a{polls}");
        let made = || full_artifact(&name, "c1", 1000);
        drop_after(polls, store.put_artifact(&scope, made())).await;
        // An answer that was not waited for may still come, but whole.
        let lookup = store.get_artifact(&scope, &artifact_id(&name), &of).await;
        match sure(lookup, "looking up an artifact") {
            ArtifactLookup::Found(found) => assert_full(&found, &name, "c1", 1000),
            ArtifactLookup::Missing(missing) => assert_eq!(
                missing,
                ArtifactMissing::Unknown,
                "a dropped `put_artifact` must leave nothing else"
            ),
        }
        put_artifact(store, &scope, made()).await;
        drop_after(polls, store.get_artifact(&scope, &id, &of)).await;
        drop_after(polls, store.list_artifacts(&scope)).await;
        drop_after(polls, store.sweep()).await;
        let found = found_artifact(store, &scope, &name, "c1", "after dropped futures").await;
        assert_full(&found, &name, "c1", 1000);
    }
}

/// Artifacts stay when the results of their session have gone.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn artifacts_outlive_results(harness: &dyn Harness) {
    let store = &*harness.store(&TestLimits::default()).await;
    let scope = scope("a");
    put(store, &scope, "c1", text("1")).await;
    put_artifact(store, &scope, artifact("a1", "c1", "1")).await;
    harness.advance(3 * 60 * MINUTE).await;
    sure(store.sweep().await, "sweeping");
    assert!(
        listed(store, &scope).await.is_empty(),
        "the result has expired"
    );
    assert!(
        has_artifact(store, &scope, "a1", "c1").await,
        "the artifact must still be there"
    );
}

/// A session's artifacts have limits of their own, for which nothing makes room.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn artifacts_have_limits(harness: &dyn Harness) {
    let limits = TestLimits {
        artifact_bytes: 1000,
        session_artifacts: 3,
        ..TestLimits::default()
    };
    let store = &*harness.store(&limits).await;
    let (own, other) = (scope("a"), scope("b"));
    let sized = |id: &str, bytes: usize| artifact(id, "c1", "x".repeat(bytes));
    let outcome = store.put_artifact(&own, sized("a0", 1001)).await;
    assert!(
        matches!(outcome, Err(StoreError::TooLarge { .. })),
        "an artifact beyond the limit is too large, it was {outcome:?}"
    );
    put_artifact(store, &own, sized("a1", 600)).await;
    let outcome = store.put_artifact(&own, sized("a2", 500)).await;
    assert!(
        matches!(
            outcome,
            Err(StoreError::Full {
                budget: Budget::ArtifactBytes,
                ..
            })
        ),
        "nothing makes room for an artifact, it was {outcome:?}"
    );
    put_artifact(store, &other, sized("a1", 600)).await;
    put_artifact(store, &own, sized("a2", 10)).await;
    put_artifact(store, &own, sized("a3", 10)).await;
    let outcome = store.put_artifact(&own, sized("a4", 10)).await;
    assert!(
        matches!(
            outcome,
            Err(StoreError::Full {
                budget: Budget::SessionArtifacts,
                ..
            })
        ),
        "the number of artifacts is limited, it was {outcome:?}"
    );
    assert_eq!(
        sure(
            store.put_artifact(&own, sized("a1", 600)).await,
            "recording the same artifact in a full session"
        ),
        Recorded::Unchanged,
        "what is there needs no room"
    );
    unknown_artifact(store, &own, "a4", "c1", "after it was refused").await;
    found_artifact(store, &own, "a1", "c1", "in a full session").await;
}

/// Artifacts expire at the end of their time to live where there is one; their ids are then free.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn artifacts_expire_only_if_told_to(harness: &dyn Harness) {
    let limits = TestLimits {
        session_artifacts: 2,
        artifact_time_to_live: Some(10 * MINUTE),
        ..TestLimits::default()
    };
    let store = &*harness.store(&limits).await;
    let (own, other) = (scope("a"), scope("b"));
    put_artifact(store, &own, artifact("a1", "c1", "1").with_tool("search")).await;
    harness.advance(4 * MINUTE).await;
    put_artifact(store, &own, artifact("a2", "c1", "2")).await;
    let held = found_artifact(store, &own, "a1", "c1", "after 4 of 10 minutes").await;
    harness.advance(5 * MINUTE).await;
    found_artifact(store, &own, "a1", "c1", "after 9 of 10 minutes").await;
    assert_eq!(
        sure(
            store
                .put_artifact(&own, artifact("a1", "c1", "1").with_tool("search"))
                .await,
            "recording the same artifact again"
        ),
        Recorded::Unchanged,
        "what is there is unchanged"
    );
    harness.advance(2 * MINUTE).await;
    let lookup = store
        .get_artifact(&own, &artifact_id("a1"), &call("c1"))
        .await;
    match sure(lookup, "looking up an artifact") {
        ArtifactLookup::Missing(ArtifactMissing::Expired(tombstone)) => assert_eq!(
            tombstone.tool(),
            Some("search"),
            "what has expired names its tool"
        ),
        lookup => assert!(
            matches!(lookup, ArtifactLookup::Missing(ArtifactMissing::Expired(_))),
            "after 11 of 10 minutes an artifact should be expired, used and held or not: {lookup:?}"
        ),
    }
    assert!(
        held.document().raw()[..] == *b"1",
        "a held artifact stays valid"
    );
    found_artifact(store, &own, "a2", "c1", "after 7 of 10 minutes").await;
    let lines = sure(store.list_artifacts(&own).await, "listing artifacts");
    assert!(
        lines.len() == 1,
        "what has expired is not listed: {lines:?}"
    );
    unknown_artifact(store, &other, "a1", "c1", "in another scope").await;
    sure(store.sweep().await, "sweeping");
    expired_artifact(store, &own, "a1", "c1", "after a sweep").await;

    assert_eq!(
        sure(
            store.put_artifact(&own, artifact("a1", "c1", "3")).await,
            "recording what has expired, where it takes no room any more"
        ),
        Recorded::New,
        "an expired artifact's ids are free"
    );
    let found = found_artifact(store, &own, "a1", "c1", "recorded again").await;
    assert!(
        found.document().raw()[..] == *b"3",
        "the new artifact is what is there"
    );
    harness.advance(9 * MINUTE).await;
    expired_artifact(store, &own, "a2", "c1", "after its time").await;
    found_artifact(store, &own, "a1", "c1", "within its own time").await;
    sure(store.remove_session(&own).await, "removing a session");
    unknown_artifact(store, &own, "a2", "c1", "after its session was removed").await;
}
