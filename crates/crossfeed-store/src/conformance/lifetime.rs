//! Behaviours that need limits and time.

use super::{
    Harness, MINUTE, holds, is_too_large, limited, session, session_of, sweep, text, third,
};
use crate::{MemoryLimits, Missing, Recorded, StoreError, Tombstone};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

/// A result expires when it was not used for the time to live; each use starts that time anew.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn results_expire_after_their_last_use(harness: &dyn Harness) {
    let store = &*harness.store(&MemoryLimits::default()).await;
    let a = session(store, "a");
    a.put_each(["idle", "read", "recorded"], |id| text(id))
        .await;
    harness.advance(4 * MINUTE).await;
    a.get("read").await;
    a.put("recorded", text("recorded")).await;
    // Neither listing nor measuring is a use.
    a.lists(["idle", "read", "recorded"], "it").await;
    a.measure("idle").await;
    harness.advance(MINUTE + SECOND).await;
    a.expired("idle", "unused for over 5 minutes").await;
    a.found("read", "read a minute ago").await;
    a.found("recorded", "recorded again a minute ago").await;
    harness.advance(5 * MINUTE + SECOND).await;
    a.lists([], "what has expired is not listed").await;
    for id in ["idle", "read", "recorded"] {
        a.expired(id, "unused for over 5 minutes").await;
    }
}

/// However often a result is used, it expires at its maximum age.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn results_expire_at_their_maximum_age(harness: &dyn Harness) {
    let store = &*harness.store(&MemoryLimits::default()).await;
    let a = session(store, "a");
    a.put("old", text("1")).await;
    for minute in 0..59 {
        harness.advance(MINUTE).await;
        if minute == 9 {
            a.put("younger", text("2")).await;
        }
        if minute >= 9 {
            a.found("younger", "used each minute").await;
        }
        a.found("old", "used each minute").await;
    }
    harness.advance(MINUTE + SECOND).await;
    a.expired("old", "over an hour old").await;
    a.found("younger", "50 minutes old").await;
}

/// Over a session's bytes, its least recently used results go, and no more of them than must.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn bytes_in_a_session_evict_the_least_recently_used(harness: &dyn Harness) {
    let store = &*limited(harness, |limits| limits.with_session_bytes(1000)).await;
    let (a, b) = (session(store, "a"), session(store, "b"));
    b.put("c1", third()).await;
    a.put_each(["c1", "c2", "c3"], |_| third()).await;
    a.get("c1").await;
    a.put("c4", third()).await;
    a.lists(
        ["c3", "c1", "c4"],
        "the least recently used result makes room",
    )
    .await;
    a.evicted("c2", "after the session's limit was passed")
        .await;
    a.put("large", text("x".repeat(600))).await;
    a.lists(["c4", "large"], "as many make room as must").await;
    b.found("c1", "in another session").await;
}

/// Over the bytes in all, the least recently used results of all sessions go.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn bytes_in_all_evict_the_least_recently_used(harness: &dyn Harness) {
    let store = &*limited(harness, |limits| limits.with_total_bytes(1000)).await;
    let (a, b, c) = (
        session(store, "a"),
        session(store, "b"),
        session(store, "c"),
    );
    a.put("c1", third()).await;
    b.put("c1", third()).await;
    a.put("c2", third()).await;
    a.get("c1").await;
    c.put("c1", third()).await;
    b.evicted("c1", "the least recently used of all").await;
    a.lists(["c2", "c1"], "used later than another session's")
        .await;
    c.put("c2", third()).await;
    a.lists(["c1"], "the next to go").await;
    c.lists(["c1", "c2"], "the newest stay, whatever their session")
        .await;
}

/// Over the bytes in all, results of the tenant and project that hold the most go, however lately they were
/// used: one cannot push out what others hold.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn bytes_in_all_evict_of_who_holds_the_most(harness: &dyn Harness) {
    let store = &*limited(harness, |limits| limits.with_total_bytes(1000)).await;
    let b = session_of(store, "other", "a");
    b.put("c1", third()).await;
    for name in ["a", "b", "c", "d"] {
        session(store, name).put("c1", third()).await;
    }
    b.found("c1", "while another project holds more").await;
    for name in ["a", "b"] {
        session(store, name)
            .evicted("c1", "the project's own least recently used")
            .await;
    }
    for name in ["c", "d"] {
        session(store, name).found("c1", "used lately").await;
    }
}

/// A result of a call that may not be made again goes after those of calls that may, while results like
/// it, of its server, are at most half of what the session holds.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn what_cannot_be_had_again_goes_last(harness: &dyn Harness) {
    let store = &*limited(harness, |limits| limits.with_session_bytes(1000)).await;
    let a = session(store, "a");
    a.put("paid", third().with_server("bank")).await;
    for id in ["c1", "c2", "c3"] {
        let again = third().with_server("search").with_repeatable(true);
        a.put(id, again).await;
    }
    a.lists(
        ["paid", "c2", "c3"],
        "calls that may be made again make room",
    )
    .await;
    // Two thirds are of one server: its results lose their protection.
    a.put("paid again", third().with_server("bank")).await;
    a.put("and again", third().with_server("bank")).await;
    a.lists(
        ["c3", "paid again", "and again"],
        "a server's results beyond half make room as others do",
    )
    .await;
}

/// Over the number of results in a session, its least recently used go.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn number_evicts_the_least_recently_used(harness: &dyn Harness) {
    let store = &*limited(harness, |limits| limits.with_session_results(3)).await;
    let a = session(store, "a");
    a.put_each(["c1", "c2", "c3"], |id| text(id)).await;
    a.put("c1", text("c1")).await;
    a.put("c4", text("c4")).await;
    a.lists(["c3", "c1", "c4"], "three may stay").await;
    a.evicted("c2", "after the number was passed").await;
}

/// A store that knows what it holds counts right, also what had to make room and whose time was over;
/// what a removed session held is neither.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn what_is_held_and_lost_is_counted(harness: &dyn Harness) {
    let store = &*limited(harness, |limits| limits.with_session_results(2)).await;
    let check = |expected: [u64; 3], when: &str| {
        if let Some(held) = store.held() {
            let counts = [held.results as u64, held.evicted, held.expired];
            assert_eq!(counts, expected, "{when}: results, evicted, expired");
            assert!(held.result_bytes >= held.results, "{when}: bytes");
        }
    };
    let (a, b) = (session(store, "a"), session(store, "b"));
    check([0, 0, 0], "at first");
    a.put_each(["c1", "c2", "c3"], |id| text(id)).await;
    b.put("c1", text("c1")).await;
    check([3, 1, 0], "after the number was passed");
    harness.advance(5 * MINUTE).await;
    for id in ["c2", "c3"] {
        a.expired(id, "after its time").await;
    }
    check([1, 1, 2], "after the time of two was over");
    b.remove().await;
    check([0, 1, 2], "after a session was removed");
    // A store may count what has expired when it drops it.
    sweep(store).await;
    if let Some(metrics) = store.metrics() {
        let counts = [metrics.evicted, metrics.expired];
        assert_eq!(counts, [1, 2], "in metrics: evicted, expired");
    }
}

/// A result that is held neither expires nor makes room, and its id still resolves.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn what_is_held_stays(harness: &dyn Harness) {
    let store = &*limited(harness, |limits| limits.with_session_bytes(1000)).await;
    let a = session(store, "a");
    a.put("held", third()).await;
    let held = a.found("held", "just recorded").await;
    a.put_each(["c1", "c2", "c3", "c4"], |_| third()).await;
    a.lists(["held", "c3", "c4"], "others make room for what is held")
        .await;
    harness.advance(2 * 60 * MINUTE).await;
    sweep(store).await;
    a.lists(["held"], "what is held does not expire").await;
    let again = a.found("held", "while it is held").await;
    assert!(
        again.is_same_record(&held),
        "the id still names what is held"
    );
    drop((held, again));
    a.expired("held", "released after its maximum age").await;
}

/// What cannot be made to fit is refused, and nothing is evicted for it.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn what_cannot_fit_evicts_nothing(harness: &dyn Harness) {
    let store = &*limited(harness, |limits| limits.with_session_bytes(1000)).await;
    let a = session(store, "a");
    a.put_each(["c1", "c2", "c3"], |_| third()).await;
    let why = "a result beyond the limit must be refused";
    a.refuses("large", text("x".repeat(1001)), is_too_large, why)
        .await;
    a.lists(["c1", "c2", "c3"], "nothing makes room in vain")
        .await;
    a.unknown("large", "after it was refused").await;

    let held = a.found("c2", "before it is held").await;
    let why = "a result that does not fit beside what is held must be refused";
    let is_full = |error: &StoreError| matches!(error, StoreError::Full { .. });
    a.refuses("large", text("x".repeat(900)), is_full, why)
        .await;
    a.lists(["c1", "c3", "c2"], "nothing makes room in vain")
        .await;
    drop(held);
    a.put("large", text("x".repeat(900))).await;
    a.lists(["large"], "it fits once the other is released")
        .await;
}

/// What has gone leaves its tool, whether its call may be repeated, and its arguments, unless they are
/// long.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn tombstones_say_how_to_run_again(harness: &dyn Harness) {
    let store = &*limited(harness, |limits| limits.with_session_results(3)).await;
    let a = session(store, "a");
    let longest = format!("\"{}\"", "x".repeat(4094));
    let too_long = format!("\"{}\"", "x".repeat(4095));
    let with = |arguments: &str| {
        text("x")
            .with_tool("search")
            .with_arguments(arguments.to_owned())
    };
    a.put("short", with(r#"{"q": 1}"#)).await;
    a.put("longest", with(&longest).with_repeatable(true)).await;
    a.put("long", with(&too_long)).await;
    a.put_each(["c1", "c2", "c3"], |id| text(id)).await;
    let expected = |arguments: &str, repeatable| {
        Missing::Evicted(Tombstone::from_result(&with(arguments)).with_repeatable(repeatable))
    };
    for (id, arguments, repeatable) in [
        ("short", r#"{"q": 1}"#, false),
        ("longest", &longest, true),
        ("long", &too_long, false),
    ] {
        let missing = a.missing(id, "after it was evicted").await;
        assert!(
            missing == expected(arguments, repeatable),
            "`{id}` should leave its tool, its short arguments and whether it may be repeated, it left {missing:?}"
        );
    }
    harness.advance(6 * MINUTE).await;
    assert_eq!(
        a.missing("c1", "after it expired").await,
        Missing::Expired(Tombstone::default()),
        "where nothing is known, nothing is made up"
    );
}

/// An id whose result has gone may be recorded again, with any bytes.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn what_has_gone_can_be_recorded_again(harness: &dyn Harness) {
    let store = &*limited(harness, |limits| limits.with_session_results(1)).await;
    let a = session(store, "a");
    a.put("c1", text("1")).await;
    harness.advance(6 * MINUTE).await;
    a.puts("c1", text("2"), Recorded::New, "an expired id is free")
        .await;
    a.put("c2", text("3")).await;
    a.evicted("c1", "after the number was passed").await;
    a.puts("c1", text("4"), Recorded::New, "an evicted id is free")
        .await;
    let result = a.found("c1", "recorded again").await;
    holds(result.document(), b"4", "the new record is what is there");
}

/// What has gone from one scope is unknown in another.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn scopes_share_no_tombstones(harness: &dyn Harness) {
    let store = &*limited(harness, |limits| limits.with_session_results(1)).await;
    let (a, b) = (session(store, "a"), session(store, "b"));
    a.put("evicted", text("1")).await;
    a.put("expired", text("2")).await;
    b.put("own", text("3")).await;
    harness.advance(6 * MINUTE).await;
    a.evicted("evicted", "in its own scope").await;
    a.expired("expired", "in its own scope").await;
    b.unknown("evicted", "in another scope").await;
    b.unknown("expired", "in another scope").await;
    a.remove().await;
    a.unknown("expired", "after its tombstone's session was removed")
        .await;
}

/// Sweeping takes nothing that is still there to be read.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn sweeping_keeps_what_lives(harness: &dyn Harness) {
    let store = &*harness.store(&MemoryLimits::default()).await;
    let (a, b) = (session(store, "a"), session(store, "b"));
    a.put("c1", text("1")).await;
    b.put("c1", text("1")).await;
    harness.advance(3 * MINUTE).await;
    a.put("c2", text("2")).await;
    sweep(store).await;
    a.lists(["c1", "c2"], "nothing has expired yet").await;
    harness.advance(3 * MINUTE).await;
    sweep(store).await;
    a.expired("c1", "after a sweep").await;
    b.expired("c1", "after a sweep").await;
    a.found("c2", "used 3 minutes ago").await;
}
