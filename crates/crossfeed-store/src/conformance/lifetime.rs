//! Behaviours that need limits and time.

use super::{
    Harness, TestLimits, call, evicted, expired, found, get, listed, missing, put, scope, sure,
    text, third, unknown,
};
use crate::{Missing, Recorded, StoreError, Tombstone};
use crossfeed_wire::Scope;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);

fn thousand_bytes_a_session() -> TestLimits {
    TestLimits {
        session_bytes: 1000,
        ..TestLimits::default()
    }
}

/// A result expires when it was not used for the time to live; each use starts that time anew.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn results_expire_after_their_last_use(harness: &dyn Harness) {
    let store = &*harness.store(&TestLimits::default()).await;
    let scope = scope("a");
    for id in ["idle", "read", "recorded"] {
        put(store, &scope, id, text(id)).await;
    }
    harness.advance(4 * MINUTE).await;
    get(store, &scope, "read").await;
    put(store, &scope, "recorded", text("recorded")).await;
    // Neither listing nor measuring is a use.
    assert_eq!(listed(store, &scope).await, ["idle", "read", "recorded"]);
    sure(store.measure(&scope, &call("idle")).await, "measuring");
    harness.advance(MINUTE + SECOND).await;
    expired(store, &scope, "idle", "unused for over 5 minutes").await;
    found(store, &scope, "read", "read a minute ago").await;
    found(store, &scope, "recorded", "recorded again a minute ago").await;
    harness.advance(5 * MINUTE + SECOND).await;
    assert!(
        listed(store, &scope).await.is_empty(),
        "what has expired is not listed"
    );
    for id in ["idle", "read", "recorded"] {
        expired(store, &scope, id, "unused for over 5 minutes").await;
    }
}

/// However often a result is used, it expires at its maximum age.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn results_expire_at_their_maximum_age(harness: &dyn Harness) {
    let store = &*harness.store(&TestLimits::default()).await;
    let scope = scope("a");
    put(store, &scope, "old", text("1")).await;
    for minute in 0..59 {
        harness.advance(MINUTE).await;
        if minute == 9 {
            put(store, &scope, "younger", text("2")).await;
        }
        if minute >= 9 {
            found(store, &scope, "younger", "used each minute").await;
        }
        found(store, &scope, "old", "used each minute").await;
    }
    harness.advance(MINUTE + SECOND).await;
    expired(store, &scope, "old", "over an hour old").await;
    found(store, &scope, "younger", "50 minutes old").await;
}

/// Over a session's bytes, its least recently used results go, and no more of them than must.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn bytes_in_a_session_evict_the_least_recently_used(harness: &dyn Harness) {
    let store = &*harness.store(&thousand_bytes_a_session()).await;
    let (own, other) = (scope("a"), scope("b"));
    put(store, &other, "c1", third()).await;
    for id in ["c1", "c2", "c3"] {
        put(store, &own, id, third()).await;
    }
    get(store, &own, "c1").await;
    put(store, &own, "c4", third()).await;
    assert_eq!(
        listed(store, &own).await,
        ["c3", "c1", "c4"],
        "the least recently used result makes room"
    );
    evicted(store, &own, "c2", "after the session's limit was passed").await;
    put(store, &own, "large", text("x".repeat(600))).await;
    assert_eq!(
        listed(store, &own).await,
        ["c4", "large"],
        "as many make room as must"
    );
    found(store, &other, "c1", "in another session").await;
}

/// Over the bytes in all, the least recently used results of all sessions go.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn bytes_in_all_evict_the_least_recently_used(harness: &dyn Harness) {
    let limits = TestLimits {
        total_bytes: 1000,
        ..TestLimits::default()
    };
    let store = &*harness.store(&limits).await;
    let (a, b, c) = (scope("a"), scope("b"), scope("c"));
    put(store, &a, "c1", third()).await;
    put(store, &b, "c1", third()).await;
    put(store, &a, "c2", third()).await;
    get(store, &a, "c1").await;
    put(store, &c, "c1", third()).await;
    evicted(store, &b, "c1", "the least recently used of all").await;
    assert_eq!(
        listed(store, &a).await,
        ["c2", "c1"],
        "used later than another session's"
    );
    put(store, &c, "c2", third()).await;
    assert_eq!(listed(store, &a).await, ["c1"], "the next to go");
    assert_eq!(
        listed(store, &c).await,
        ["c1", "c2"],
        "the newest stay, whatever their session"
    );
}

/// Over the bytes in all, results of the tenant and project that hold the most go, however lately they were
/// used: one cannot push out what others hold.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn bytes_in_all_evict_of_who_holds_the_most(harness: &dyn Harness) {
    let limits = TestLimits {
        total_bytes: 1000,
        ..TestLimits::default()
    };
    let store = &*harness.store(&limits).await;
    let other = sure(
        Scope::parse("tenant", "other", "a"),
        "making a test scope of another project",
    );
    put(store, &other, "c1", third()).await;
    for session in ["a", "b", "c", "d"] {
        put(store, &scope(session), "c1", third()).await;
    }
    found(store, &other, "c1", "while another project holds more").await;
    for session in ["a", "b"] {
        let scope = scope(session);
        evicted(store, &scope, "c1", "the project's own least recently used").await;
    }
    for session in ["c", "d"] {
        found(store, &scope(session), "c1", "used lately").await;
    }
}

/// A result of a call that may not be made again goes after those of calls that may, while results like
/// it, of its server, are at most half of what the session holds.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn what_cannot_be_had_again_goes_last(harness: &dyn Harness) {
    let store = &*harness.store(&thousand_bytes_a_session()).await;
    let scope = scope("a");
    put(store, &scope, "paid", third().with_server("bank")).await;
    for id in ["c1", "c2", "c3"] {
        let again = third().with_server("search").with_repeatable(true);
        put(store, &scope, id, again).await;
    }
    assert_eq!(
        listed(store, &scope).await,
        ["paid", "c2", "c3"],
        "calls that may be made again make room"
    );
    // Two thirds are of one server: its results are nobody's to wait for.
    put(store, &scope, "paid again", third().with_server("bank")).await;
    put(store, &scope, "and again", third().with_server("bank")).await;
    assert_eq!(
        listed(store, &scope).await,
        ["c3", "paid again", "and again"],
        "a server's results beyond half make room as others do"
    );
}

/// Over the number of results in a session, its least recently used go.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn number_evicts_the_least_recently_used(harness: &dyn Harness) {
    let limits = TestLimits {
        session_results: 3,
        ..TestLimits::default()
    };
    let store = &*harness.store(&limits).await;
    let scope = scope("a");
    for id in ["c1", "c2", "c3"] {
        put(store, &scope, id, text(id)).await;
    }
    put(store, &scope, "c1", text("c1")).await;
    put(store, &scope, "c4", text("c4")).await;
    assert_eq!(
        listed(store, &scope).await,
        ["c3", "c1", "c4"],
        "three may stay"
    );
    evicted(store, &scope, "c2", "after the number was passed").await;
}

/// A store that knows what it holds counts right, also what had to make room and whose time was over;
/// what a removed session held is neither.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn what_is_held_and_lost_is_counted(harness: &dyn Harness) {
    let limits = TestLimits {
        session_results: 2,
        ..TestLimits::default()
    };
    let store = &*harness.store(&limits).await;
    let counts = || {
        let held = store.held()?;
        Some((
            held.results,
            held.result_bytes >= held.results,
            held.evicted,
            held.expired,
        ))
    };
    let check = |expected: (usize, u64, u64), when: &str| {
        if let Some(counts) = counts() {
            let expected = (expected.0, true, expected.1, expected.2);
            assert_eq!(counts, expected, "{when}: results, bytes, evicted, expired");
        }
    };
    check((0, 0, 0), "at first");
    for id in ["c1", "c2", "c3"] {
        put(store, &scope("a"), id, text(id)).await;
    }
    put(store, &scope("b"), "c1", text("c1")).await;
    check((3, 1, 0), "after the number was passed");
    harness.advance(limits.time_to_live).await;
    for id in ["c2", "c3"] {
        expired(store, &scope("a"), id, "after its time").await;
    }
    check((1, 1, 2), "after the time of two was over");
    sure(store.remove_session(&scope("b")).await, "removing");
    check((0, 1, 2), "after a session was removed");
}

/// A result that is held neither expires nor makes room, and its id still resolves.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn what_is_held_stays(harness: &dyn Harness) {
    let store = &*harness.store(&thousand_bytes_a_session()).await;
    let scope = scope("a");
    put(store, &scope, "held", third()).await;
    let held = found(store, &scope, "held", "just recorded").await;
    for id in ["c1", "c2", "c3", "c4"] {
        put(store, &scope, id, third()).await;
    }
    assert_eq!(
        listed(store, &scope).await,
        ["held", "c3", "c4"],
        "others make room for what is held"
    );
    harness.advance(2 * 60 * MINUTE).await;
    sure(store.sweep().await, "sweeping");
    assert_eq!(
        listed(store, &scope).await,
        ["held"],
        "what is held does not expire"
    );
    let again = found(store, &scope, "held", "while it is held").await;
    assert!(
        again.is_same_record(&held),
        "the id still names what is held"
    );
    drop((held, again));
    expired(store, &scope, "held", "released after its maximum age").await;
}

/// What cannot be made to fit is refused, and nothing is evicted for it.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn what_cannot_fit_evicts_nothing(harness: &dyn Harness) {
    let store = &*harness.store(&thousand_bytes_a_session()).await;
    let scope = scope("a");
    for id in ["c1", "c2", "c3"] {
        put(store, &scope, id, third()).await;
    }
    let outcome = store
        .put(&scope, &call("large"), text("x".repeat(1001)))
        .await;
    assert!(
        matches!(outcome, Err(StoreError::TooLarge { .. })),
        "a result beyond the limit must be refused, it was {outcome:?}"
    );
    assert_eq!(
        listed(store, &scope).await,
        ["c1", "c2", "c3"],
        "nothing makes room in vain"
    );
    unknown(store, &scope, "large", "after it was refused").await;

    let held = found(store, &scope, "c2", "before it is held").await;
    let outcome = store
        .put(&scope, &call("large"), text("x".repeat(900)))
        .await;
    assert!(
        matches!(outcome, Err(StoreError::Full { .. })),
        "a result that does not fit beside what is held must be refused, it was {outcome:?}"
    );
    assert_eq!(
        listed(store, &scope).await,
        ["c1", "c3", "c2"],
        "nothing makes room in vain"
    );
    drop(held);
    put(store, &scope, "large", text("x".repeat(900))).await;
    assert_eq!(
        listed(store, &scope).await,
        ["large"],
        "it fits once the other is released"
    );
}

/// What has gone leaves its tool, whether its call may be repeated, and its arguments, unless they are
/// long.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn tombstones_say_how_to_run_again(harness: &dyn Harness) {
    let limits = TestLimits {
        session_results: 3,
        ..TestLimits::default()
    };
    let store = &*harness.store(&limits).await;
    let scope = scope("a");
    let longest = format!("\"{}\"", "x".repeat(4094));
    let too_long = format!("\"{}\"", "x".repeat(4095));
    let with = |arguments: &str| {
        text("x")
            .with_tool("search")
            .with_arguments(arguments.to_owned())
    };
    put(store, &scope, "short", with(r#"{"q": 1}"#)).await;
    put(
        store,
        &scope,
        "longest",
        with(&longest).with_repeatable(true),
    )
    .await;
    put(store, &scope, "long", with(&too_long)).await;
    for id in ["c1", "c2", "c3"] {
        put(store, &scope, id, text(id)).await;
    }
    let expected = |arguments: &str, repeatable| {
        Missing::Evicted(Tombstone::of(&with(arguments)).with_repeatable(repeatable))
    };
    for (id, arguments, repeatable) in [
        ("short", r#"{"q": 1}"#, false),
        ("longest", &longest, true),
        ("long", &too_long, false),
    ] {
        let missing = missing(store, &scope, id, "after it was evicted").await;
        assert!(
            missing == expected(arguments, repeatable),
            "`{id}` should leave its tool, its short arguments and whether it may be repeated, it left {missing:?}"
        );
    }
    harness.advance(6 * MINUTE).await;
    assert_eq!(
        missing(store, &scope, "c1", "after it expired").await,
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
    let limits = TestLimits {
        session_results: 1,
        ..TestLimits::default()
    };
    let store = &*harness.store(&limits).await;
    let scope = scope("a");
    put(store, &scope, "c1", text("1")).await;
    harness.advance(6 * MINUTE).await;
    let again = store.put(&scope, &call("c1"), text("2")).await;
    assert_eq!(
        sure(again, "recording what has expired"),
        Recorded::New,
        "an expired id is free"
    );
    put(store, &scope, "c2", text("3")).await;
    evicted(store, &scope, "c1", "after the number was passed").await;
    let again = store.put(&scope, &call("c1"), text("4")).await;
    assert_eq!(
        sure(again, "recording what was evicted"),
        Recorded::New,
        "an evicted id is free"
    );
    let result = found(store, &scope, "c1", "recorded again").await;
    assert!(
        result.document().raw()[..] == *b"4",
        "the new record is what is there"
    );
}

/// What has gone from one scope is unknown in another.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn scopes_share_no_tombstones(harness: &dyn Harness) {
    let limits = TestLimits {
        session_results: 1,
        ..TestLimits::default()
    };
    let store = &*harness.store(&limits).await;
    let (own, other) = (scope("a"), scope("b"));
    put(store, &own, "evicted", text("1")).await;
    put(store, &own, "expired", text("2")).await;
    put(store, &other, "own", text("3")).await;
    harness.advance(6 * MINUTE).await;
    evicted(store, &own, "evicted", "in its own scope").await;
    expired(store, &own, "expired", "in its own scope").await;
    unknown(store, &other, "evicted", "in another scope").await;
    unknown(store, &other, "expired", "in another scope").await;
    sure(store.remove_session(&own).await, "removing a session");
    unknown(
        store,
        &own,
        "expired",
        "after its tombstone's session was removed",
    )
    .await;
}

/// Sweeping takes nothing that is still there to be read.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn sweeping_keeps_what_lives(harness: &dyn Harness) {
    let store = &*harness.store(&TestLimits::default()).await;
    let (own, other) = (scope("a"), scope("b"));
    put(store, &own, "c1", text("1")).await;
    put(store, &other, "c1", text("1")).await;
    harness.advance(3 * MINUTE).await;
    put(store, &own, "c2", text("2")).await;
    sure(store.sweep().await, "sweeping");
    assert_eq!(
        listed(store, &own).await,
        ["c1", "c2"],
        "nothing has expired yet"
    );
    harness.advance(3 * MINUTE).await;
    sure(store.sweep().await, "sweeping");
    expired(store, &own, "c1", "after a sweep").await;
    expired(store, &other, "c1", "after a sweep").await;
    found(store, &own, "c2", "used 3 minutes ago").await;
}
