//! Behaviours of stores whose data can be damaged behind their back.

use super::{Harness, MINUTE, call, session, text};
use crate::{Damage, MemoryLimits, Missing, Recorded, StoreError};
use async_trait::async_trait;
use crossfeed_wire::{CallId, Scope};

/// What a backend provides to be tested for damage.
#[async_trait]
pub trait DamageHarness: Harness {
    /// Damages the header of a result in the store that [`Harness::store`] made last, so that nothing of it can be
    /// relied on.
    async fn damage(&self, scope: &Scope, call: &CallId);
}

/// A result whose header is damaged is named by who asks for it, and harms no other: those are listed, found
/// and recorded, and it goes when its time is over, when there has to be room, and with its session.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn a_damaged_result_harms_no_other(harness: &dyn DamageHarness) {
    let limits = MemoryLimits::default()
        .with_session_bytes(100)
        .with_session_results(3)
        .with_time_to_live(MINUTE)
        .with_max_age(10 * MINUTE);
    let store = harness.store(&limits).await;
    let a = session(&*store, "a");
    let bad = call("bad");
    let is_named = |error: &StoreError| {
        let damage = error.damaged_record();
        matches!(damage, Some(Damage::Result { call_id, .. }) if *call_id == bad)
    };
    a.put_each(["c1", "bad", "c2"], |id| text(id)).await;
    harness.damage(&a.scope, &bad).await;
    for _ in 0..2 {
        let got = store.get(&a.scope, &bad).await;
        let is_right = got.as_ref().is_err_and(is_named);
        assert!(is_right, "what is damaged must be named, it was {got:?}");
        a.lists(["c1", "c2"], "what is damaged is left out").await;
    }
    let why = "nothing is recorded in the place of what is damaged";
    a.refuses("bad", text("bad"), is_named, why).await;
    a.found("c1", "beside a damaged one").await;
    a.found("c2", "beside a damaged one").await;

    let why = "a damaged result must make room, like any other";
    a.puts("c3", text("c3"), Recorded::New, why).await;
    a.puts("c4", text("c4"), Recorded::New, why).await;
    a.lists(["c2", "c3", "c4"], why).await;
    a.puts("bad", text("bad"), Recorded::New, "it has gone")
        .await;
    a.found("bad", "after it was recorded again").await;

    // Of the bytes that it took none are held once it has gone.
    a.remove().await;
    let long = |length: usize| text("x".repeat(length));
    a.puts("c1", long(10), Recorded::New, "beside what will be damaged")
        .await;
    a.puts("bad", long(60), Recorded::New, "its id is free")
        .await;
    harness.damage(&a.scope, &bad).await;
    let why = "what is damaged makes room";
    a.puts("c2", long(50), Recorded::New, why).await;
    a.found("c2", why).await;
    a.puts("bad", text("bad"), Recorded::New, "it has gone")
        .await;

    harness.damage(&a.scope, &bad).await;
    harness.advance(MINUTE).await;
    a.puts(
        "c5",
        text("c5"),
        Recorded::New,
        "the time of all others is over",
    )
    .await;
    let missing = a.missing("bad", "after its time is over").await;
    let is_gone = matches!(missing, Missing::Unknown | Missing::Expired(_));
    assert!(
        is_gone,
        "a damaged result must go with its time, it is {missing:?}"
    );

    a.puts("bad", text("bad"), Recorded::New, "its id is free")
        .await;
    harness.damage(&a.scope, &bad).await;
    a.remove().await;
    for id in ["bad", "c5"] {
        a.unknown(id, "after its session was removed").await;
    }
    a.puts(
        "bad",
        text("bad"),
        Recorded::New,
        "after its session was removed",
    )
    .await;
}
