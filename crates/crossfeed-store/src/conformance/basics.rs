//! Behaviours that need neither limits nor time.

use super::{
    RACERS, TestSession, artifact, call, holds, is_duplicate, session, sure, sweep, text, trace,
    winner,
};
use crate::{Lookup, Missing, Recorded, ResultKind, ResultStore, StoredResult};
use crossfeed_json::Document;
use crossfeed_wire::Scope;
use futures_util::future::join_all;
use std::{
    future::{Future, poll_fn},
    task::Poll,
};

/// Ids and sessions that were never seen are unknown, not errors.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn the_unknown_is_unknown(store: &dyn ResultStore) {
    let a = session(store, "a");
    a.unknown("c1", "in an empty store").await;
    a.unknown_artifact("a1", "c1", "an empty store has no artifact")
        .await;
    a.lists([], "an empty store lists nothing").await;
    a.measure("c1").await;
    a.remove().await;
    sweep(store).await;
    a.put("c2", text("x")).await;
    a.unknown("c1", "beside another result").await;
}

/// Every byte and everything said about a record comes back.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn a_record_is_found_as_it_was(store: &dyn ResultStore) {
    let a = session(store, "a");
    let json: &[u8] = b" {\"b\": 1.50, \"a\": [1e400, \"\\u00e9\"]}\n";
    let described = || {
        StoredResult::new(Document::new(json), ResultKind::Json)
            .with_tool("search")
            .with_arguments(r#"{"q" : 1}"#)
            .with_trace(trace())
            .with_sources("web/search,\nfiles/é")
    };
    a.puts("c1", described(), Recorded::New, "a first record is new")
        .await;
    assert_same(&*a.found("c1", "just recorded").await, &described());

    let failed = || {
        StoredResult::new(Document::new(&[0xff, 0, b'\n'][..]), ResultKind::Bytes)
            .with_media_type("image/png")
            .with_failed(true)
    };
    a.put("c2", failed()).await;
    assert_same(&*a.found("c2", "just recorded").await, &failed());

    for (id, kind, body) in [
        ("mcp", ResultKind::Mcp, "{}"),
        ("text", ResultKind::Text, "{}"),
        ("empty", ResultKind::Text, ""),
    ] {
        let bare = || StoredResult::new(Document::new(body), kind);
        a.put(id, bare()).await;
        assert_same(&*a.found(id, "just recorded").await, &bare());
    }
}

/// Fails unless a result is there as it was recorded.
fn assert_same(found: &StoredResult, recorded: &StoredResult) {
    let raw = |result: &StoredResult| result.document().raw().clone();
    assert_eq!(raw(found), raw(recorded), "bytes come back untouched");
    assert_eq!(found.kind(), recorded.kind(), "the kind comes back");
    assert_eq!(found.failed(), recorded.failed(), "the failure comes back");
    assert_eq!(found.tool(), recorded.tool(), "the tool comes back");
    assert_eq!(
        found.arguments(),
        recorded.arguments(),
        "the arguments come back"
    );
    assert_eq!(
        found.media_type(),
        recorded.media_type(),
        "the media type comes back"
    );
    assert_eq!(
        found.trace(),
        recorded.trace(),
        "the place in a trace comes back"
    );
    assert_eq!(found.sources(), recorded.sources(), "the sources come back");
}

/// The same record again is not an error and changes nothing.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn the_same_again_is_unchanged(store: &dyn ResultStore) {
    let a = session(store, "a");
    let first = text("x").with_tool("first").with_sources("web");
    a.put("c1", first).await;
    let again = text("x").with_tool("second").with_sources("files");
    a.puts(
        "c1",
        again,
        Recorded::Unchanged,
        "the same bytes, kind and failure change nothing",
    )
    .await;
    let result = a.found("c1", "after it was recorded twice").await;
    assert_eq!(result.tool(), Some("first"), "the first record stays");
    assert_eq!(
        result.sources().map(|own| &**own),
        Some("web"),
        "with its sources"
    );
}

/// Another record under the same id is refused, and the first one stays.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn nothing_is_overwritten(store: &dyn ResultStore) {
    let a = session(store, "a");
    a.put("c1", text("1")).await;
    for (what, other) in [
        ("other bytes", text("2")),
        (
            "another kind",
            StoredResult::new(Document::new("1"), ResultKind::Json),
        ),
        ("a failure", text("1").with_failed(true)),
    ] {
        let why = format!("{what} under a taken id must be a duplicate");
        a.refuses("c1", other, is_duplicate, &why).await;
        let result = a.found("c1", "after a refused record").await;
        assert!(
            result.document().raw()[..] == *b"1"
                && result.kind() == ResultKind::Text
                && !result.failed(),
            "{what} must not overwrite the first record"
        );
    }
}

/// Of two records whose bytes differ in one place only, the second is refused, however large they are and wherever they lie.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn every_byte_decides_whether_it_is_the_same(store: &dyn ResultStore) {
    let a = session(store, "a");
    for length in SIZES {
        let id = format!("c{length}");
        let data = "x".repeat(length);
        a.put(&id, text(data.clone())).await;
        let again = text(data.clone()).with_unsaid(None, None, Some("{}".into()));
        let when = format!("the same {length} bytes, with arguments that were not said");
        a.puts(&id, again, Recorded::Unchanged, &when).await;
        for (what, other) in others(length) {
            let why = format!("{length} bytes, but for {what}, are a duplicate");
            a.refuses(&id, text(other), is_duplicate, &why).await;
        }
        let why = format!("{length} bytes as a failure are a duplicate");
        let failed = text(data.clone()).with_failed(true);
        a.refuses(&id, failed, is_duplicate, &why).await;
        let result = a.found(&id, "after refused records").await;
        let is_first = result.document().raw()[..] == *data.as_bytes();
        assert!(is_first, "the first record of {length} bytes stays");
    }
}

/// Lengths of data that stores may treat in different ways.
pub(super) const SIZES: [usize; 4] = [1, 3000, 70_000, 400_000];

/// Texts that differ from so many times `x` in one place.
pub(super) fn others(length: usize) -> Vec<(&'static str, String)> {
    let with = |at: usize| {
        let mut text = "x".repeat(length);
        text.replace_range(at..=at, "y");
        text
    };
    vec![
        ("the first byte", with(0)),
        ("one in the middle", with(length / 2)),
        ("the last", with(length - 1)),
        ("one more", "x".repeat(length + 1)),
    ]
}

/// Ids of other sessions, projects and tenants do not exist.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn no_scope_reaches_another(store: &dyn ResultStore) {
    let scope = sure(Scope::parse("t", "p", "s"), "making a test scope");
    let own = TestSession { store, scope };
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
    own.put("c1", text("own")).await;
    own.put_artifact(artifact("a1", "c1", "1")).await;
    for (tenant, project, session) in others {
        let Ok(scope) = Scope::parse(tenant, project, session) else {
            continue;
        };
        let when = format!("from scope {scope:?}");
        let other = TestSession { store, scope };
        other.unknown("c1", &when).await;
        other.unknown_artifact("a1", "c1", &when).await;
        other
            .lists(
                [],
                &format!("{when}: another scope's results must not be listed"),
            )
            .await;
        other.put("c1", text("other")).await;
        other.remove().await;
        let result = own.found("c1", "after others used the same id").await;
        holds(
            result.document(),
            b"own",
            &format!("{when}: the same id must name another result"),
        );
    }
    own.found_artifact("a1", "c1", "after other scopes were removed")
        .await;
}

/// A session's results are listed, the most recently used last.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn listing_is_by_use(store: &dyn ResultStore) {
    let a = session(store, "a");
    a.put_each(["c1", "c2", "c3"], |id| text(id).with_tool("search"))
        .await;
    a.lists(["c1", "c2", "c3"], "in the order of recording")
        .await;
    a.get("c1").await;
    a.measure("c2").await;
    a.lists(["c2", "c3", "c1"], "a look-up is a use, measuring is not")
        .await;
    a.put("c2", text("c2")).await;
    let lines = store.list(&a.scope).await.unwrap_or_default();
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
    let (removed, kept) = (session(store, "a"), session(store, "b"));
    removed.put("c1", text("1")).await;
    kept.put("c1", text("1")).await;
    removed.put_artifact(artifact("a1", "c1", "1")).await;
    let held = removed.found("c1", "before its session is removed").await;
    removed.remove().await;
    removed.unknown("c1", "after its session was removed").await;
    removed
        .unknown_artifact("a1", "c1", "artifacts go with their session")
        .await;
    removed.lists([], "a removed session lists nothing").await;
    holds(held.document(), b"1", "a held result stays valid");
    kept.found("c1", "after another session was removed").await;
    removed.put("c1", text("2")).await;
    removed.found("c1", "recorded again after a removal").await;
}

/// Of several different results under one id at once, exactly one is recorded.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn of_several_puts_one_is_new(store: &dyn ResultStore) {
    let (a, id) = (session(store, "a"), call("c1"));
    let puts = RACERS.map(|raw| store.put(&a.scope, &id, text(raw)));
    let winner = winner(&join_all(puts).await, is_duplicate);
    let result = a.found("c1", "after a race").await;
    holds(result.document(), winner, "what is new is what is there");
}

/// A future that is dropped has done all or nothing, and the store goes on.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn a_dropped_future_leaves_nothing_half_done(store: &dyn ResultStore) {
    let a = session(store, "a");
    let scope = &a.scope;
    for polls in 0..8 {
        let id = format!("c{polls}");
        let call = call(&id);
        drop_after(polls, store.put(scope, &call, text("all of it"))).await;
        match a.get(&id).await {
            Lookup::Found(result) => holds(
                result.document(),
                b"all of it",
                "a dropped `put` must not leave a part of a result",
            ),
            Lookup::Missing(missing) => assert_eq!(missing, Missing::Unknown),
        }
        a.put(&id, text("all of it")).await;
        drop_after(polls, store.get(scope, &call)).await;
        drop_after(polls, store.list(scope)).await;
        drop_after(polls, store.measure(scope, &call)).await;
        drop_after(polls, store.sweep()).await;
        a.found(&id, "after dropped futures").await;
    }
    drop_after(1, store.remove_session(scope)).await;
    a.remove().await;
    a.missing("c0", "after a removal").await;
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
