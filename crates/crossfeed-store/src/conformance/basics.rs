//! Behaviours that need neither limits nor time.

use super::{
    RACERS, artifact, call, found, get, has_artifact, is_duplicate, listed, missing, put, scope,
    sure, text, trace, unknown, winner,
};
use crate::{Lookup, Missing, Recorded, ResultKind, ResultStore, StoreError, StoredResult};
use crossfeed_json::Document;
use crossfeed_wire::Scope;
use std::{
    future::{Future, poll_fn},
    pin::Pin,
    task::Poll,
};

/// Ids and sessions that were never seen are unknown, not errors.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn the_unknown_is_unknown(store: &dyn ResultStore) {
    let scope = scope("a");
    unknown(store, &scope, "c1", "in an empty store").await;
    assert!(
        !has_artifact(store, &scope, "a1", "c1").await,
        "an empty store has no artifact"
    );
    assert!(
        listed(store, &scope).await.is_empty(),
        "an empty store lists nothing"
    );
    sure(
        store.measure(&scope, &call("c1")).await,
        "measuring the unknown",
    );
    sure(
        store.remove_session(&scope).await,
        "removing an unknown session",
    );
    sure(store.sweep().await, "sweeping an empty store");
    put(store, &scope, "c2", text("x")).await;
    unknown(store, &scope, "c1", "beside another result").await;
}

/// Every byte and everything said about a record comes back.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn a_record_is_found_as_it_was(store: &dyn ResultStore) {
    let scope = scope("a");
    let raw: &[u8] = b" {\"b\": 1.50, \"a\": [1e400, \"\\u00e9\"]}\n";
    let recorded = StoredResult::new(Document::new(raw), ResultKind::Json)
        .with_tool("search")
        .with_arguments(r#"{"q" : 1}"#)
        .with_trace(trace());
    assert_eq!(
        sure(store.put(&scope, &call("c1"), recorded).await, "recording"),
        Recorded::New,
        "a first record is new"
    );
    let result = found(store, &scope, "c1", "after it was recorded").await;
    assert_eq!(
        result.document().raw()[..],
        *raw,
        "bytes come back untouched"
    );
    assert_eq!(result.kind(), ResultKind::Json, "the kind comes back");
    assert!(!result.failed(), "a success comes back as one");
    assert_eq!(result.tool(), Some("search"), "the tool comes back");
    assert_eq!(
        result.arguments().map(|bytes| &bytes[..]),
        Some(&br#"{"q" : 1}"#[..]),
        "the arguments come back"
    );
    assert_eq!(
        result.trace(),
        Some(&trace()),
        "the place in a trace comes back"
    );
    assert_eq!(result.media_type(), None, "no media type is made up");

    for (id, kind) in [("mcp", ResultKind::Mcp), ("text", ResultKind::Text)] {
        put(
            store,
            &scope,
            id,
            StoredResult::new(Document::new("{}"), kind),
        )
        .await;
        let result = found(store, &scope, id, "after it was recorded").await;
        assert_eq!(result.kind(), kind, "the kind comes back");
        assert_eq!(
            (result.tool(), result.arguments()),
            (None, None),
            "nothing is made up"
        );
    }

    let raw: &[u8] = &[0xff, 0, b'\n'];
    let recorded = StoredResult::new(Document::new(raw), ResultKind::Bytes)
        .with_media_type("image/png")
        .with_failed(true);
    put(store, &scope, "c2", recorded).await;
    let result = found(store, &scope, "c2", "after it was recorded").await;
    assert_eq!(result.document().raw()[..], *raw, "any bytes are kept");
    assert_eq!(result.kind(), ResultKind::Bytes, "the kind comes back");
    assert_eq!(
        result.media_type(),
        Some("image/png"),
        "the media type comes back"
    );
    assert!(result.failed(), "a failure comes back as one");

    put(store, &scope, "empty", text("")).await;
    let result = found(store, &scope, "empty", "after it was recorded").await;
    assert!(
        result.document().raw().is_empty(),
        "an empty result is a result"
    );
}

/// The same record again is not an error and changes nothing.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn the_same_again_is_unchanged(store: &dyn ResultStore) {
    let scope = scope("a");
    put(store, &scope, "c1", text("x").with_tool("first")).await;
    let id = call("c1");
    let again = store.put(&scope, &id, text("x").with_tool("second"));
    assert_eq!(
        sure(again.await, "recording the same again"),
        Recorded::Unchanged,
        "the same bytes, kind and failure change nothing"
    );
    let result = found(store, &scope, "c1", "after it was recorded twice").await;
    assert_eq!(result.tool(), Some("first"), "the first record stays");
}

/// Another record under the same id is refused, and the first one stays.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn nothing_is_overwritten(store: &dyn ResultStore) {
    let scope = scope("a");
    put(store, &scope, "c1", text("1")).await;
    for (what, other) in [
        ("other bytes", text("2")),
        (
            "another kind",
            StoredResult::new(Document::new("1"), ResultKind::Json),
        ),
        ("a failure", text("1").with_failed(true)),
    ] {
        let outcome = store.put(&scope, &call("c1"), other).await;
        assert!(
            is_duplicate(&outcome),
            "{what} under a taken id must be a duplicate, it was {outcome:?}"
        );
        let result = found(store, &scope, "c1", "after a refused record").await;
        assert!(
            result.document().raw()[..] == *b"1"
                && result.kind() == ResultKind::Text
                && !result.failed(),
            "{what} must not overwrite the first record"
        );
    }
}

/// Ids of other sessions, projects and tenants do not exist.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn no_scope_reaches_another(store: &dyn ResultStore) {
    let own = sure(Scope::parse("t", "p", "s"), "making a test scope");
    let others = [
        ("t", "p", "s2"),
        ("t", "p2", "s"),
        ("t2", "p", "s"),
        // Parts that give the same text when they are joined carelessly.
        ("t", "ps", ""),
        ("tp", "s", "s"),
        ("t:p", "s", "s"),
        ("t", "p:s", "s"),
        ("t/p", "s", "s"),
        ("T", "P", "S"),
        ("t", "p", "s "),
    ];
    put(store, &own, "c1", text("own")).await;
    sure(
        store.put_artifact(&own, artifact("a1", "c1", "1")).await,
        "recording an artifact",
    );
    for (tenant, project, session) in others {
        let Ok(other) = Scope::parse(tenant, project, session) else {
            continue;
        };
        let when = format!("from scope {other:?}");
        unknown(store, &other, "c1", &when).await;
        assert!(
            !has_artifact(store, &other, "a1", "c1").await,
            "{when}: an artifact of another scope must not be found"
        );
        assert!(
            listed(store, &other).await.is_empty(),
            "{when}: another scope's results must not be listed"
        );
        put(store, &other, "c1", text("other")).await;
        sure(store.remove_session(&other).await, "removing a session");
        let result = found(store, &own, "c1", "after others used the same id").await;
        assert!(
            result.document().raw()[..] == *b"own",
            "{when}: the same id must name another result"
        );
    }
    assert!(
        has_artifact(store, &own, "a1", "c1").await,
        "removing other scopes must not remove an artifact"
    );
}

/// A session's results are listed, the most recently used last.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn listing_is_by_use(store: &dyn ResultStore) {
    let scope = scope("a");
    for id in ["c1", "c2", "c3"] {
        put(store, &scope, id, text(id).with_tool("search")).await;
    }
    assert_eq!(
        listed(store, &scope).await,
        ["c1", "c2", "c3"],
        "in the order of recording"
    );
    get(store, &scope, "c1").await;
    sure(store.measure(&scope, &call("c2")).await, "measuring");
    assert_eq!(
        listed(store, &scope).await,
        ["c2", "c3", "c1"],
        "a look-up is a use, measuring is none"
    );
    put(store, &scope, "c2", text("c2")).await;
    let lines = sure(store.list(&scope).await, "listing");
    assert!(
        lines.last().is_some_and(|line| line.call_id == call("c2")
            && line.tool.as_deref() == Some("search")
            && line.kind == ResultKind::Text
            && !line.failed
            && line.bytes == 2),
        "recording the same again is a use, and a line describes its result: {lines:?}"
    );
}

/// A removed session is like one that never was, and can be used again.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn a_removed_session_is_unknown(store: &dyn ResultStore) {
    let (removed, kept) = (scope("a"), scope("b"));
    put(store, &removed, "c1", text("1")).await;
    put(store, &kept, "c1", text("1")).await;
    sure(
        store
            .put_artifact(&removed, artifact("a1", "c1", "1"))
            .await,
        "recording an artifact",
    );
    let held = found(store, &removed, "c1", "before its session is removed").await;
    sure(store.remove_session(&removed).await, "removing a session");
    unknown(store, &removed, "c1", "after its session was removed").await;
    assert!(
        !has_artifact(store, &removed, "a1", "c1").await,
        "artifacts go with their session"
    );
    assert!(
        listed(store, &removed).await.is_empty(),
        "a removed session lists nothing"
    );
    assert!(
        held.document().raw()[..] == *b"1",
        "a held result stays valid"
    );
    found(store, &kept, "c1", "after another session was removed").await;
    put(store, &removed, "c1", text("2")).await;
    found(store, &removed, "c1", "recorded again after a removal").await;
}

/// Of several different results under one id at once, exactly one is recorded.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn of_several_puts_one_is_new(store: &dyn ResultStore) {
    let (scope, id) = (scope("a"), call("c1"));
    let puts = RACERS.map(|raw| store.put(&scope, &id, text(raw)));
    let winner = winner(&all(puts.into()).await, |error| {
        matches!(error, StoreError::Duplicate { .. })
    });
    let result = found(store, &scope, "c1", "after a race").await;
    assert!(
        result.document().raw()[..] == *winner.as_bytes(),
        "what was reported as new is what is there"
    );
}

/// A future that is dropped has done all or nothing, and the store goes on.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn a_dropped_future_leaves_nothing_half_done(store: &dyn ResultStore) {
    let scope = scope("a");
    for polls in 0..8 {
        let id = format!("c{polls}");
        let call = call(&id);
        drop_after(polls, store.put(&scope, &call, text("all of it"))).await;
        match get(store, &scope, &id).await {
            Lookup::Found(result) => assert!(
                result.document().raw()[..] == *b"all of it",
                "a dropped `put` must not leave a part of a result"
            ),
            Lookup::Missing(missing) => assert!(
                matches!(missing, Missing::Unknown),
                "a dropped `put` must leave nothing else: {missing:?}"
            ),
        }
        put(store, &scope, &id, text("all of it")).await;
        drop_after(polls, store.get(&scope, &call)).await;
        drop_after(polls, store.list(&scope)).await;
        drop_after(polls, store.measure(&scope, &call)).await;
        drop_after(polls, store.sweep()).await;
        found(store, &scope, &id, "after dropped futures").await;
    }
    drop_after(1, store.remove_session(&scope)).await;
    sure(store.remove_session(&scope).await, "removing a session");
    missing(store, &scope, "c0", "after a removal").await;
}

/// Polls a future up to so many times, then drops it.
pub(super) async fn drop_after<F: Future>(polls: usize, future: F) {
    let mut future = Box::pin(future);
    for _ in 0..polls {
        let is_done = poll_fn(|context| Poll::Ready(future.as_mut().poll(context).is_ready()));
        if is_done.await {
            break;
        }
    }
}

/// Runs futures at the same time, on one task.
pub(super) async fn all<T>(futures: Vec<Pin<Box<dyn Future<Output = T> + Send + '_>>>) -> Vec<T> {
    let mut futures: Vec<_> = futures.into_iter().map(Some).collect();
    let mut outputs: Vec<Option<T>> = futures.iter().map(|_| None).collect();
    poll_fn(|context| {
        for (future, output) in futures.iter_mut().zip(&mut outputs) {
            if let Some(running) = future
                && let Poll::Ready(done) = running.as_mut().poll(context)
            {
                *output = Some(done);
                *future = None;
            }
        }
        if futures.iter().all(Option::is_none) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    })
    .await;
    outputs.into_iter().flatten().collect()
}
