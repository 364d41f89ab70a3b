//! A replica whose clock differs takes over.

use crate::faults::{artifact, call, holds, missing, scope, text};
use bytes::Bytes;
use crossfeed_redis_servers::{Group, Replicated, eventually, faketime, is_installed};
use crossfeed_store::{
    Acquired, Expected, LeaseOwner, Missing, Recorded, ResultStore as _, Tombstone,
};
use crossfeed_store_redis::{RedisDurability, RedisOptions, RedisStore};
use std::time::Duration;

/// As long as results are kept by default.
const AHEAD: i64 = 5 * 60;
/// What restarts is not empty: a sentinel may take it for the primary.
const LOGGED: [&str; 2] = ["--appendonly", "yes"];
const LEASE: Duration = Duration::from_millis(500);
const MINUTE: Duration = Duration::from_secs(60);

async fn fail_over(group: &mut Replicated, store: &RedisStore) {
    let before = group.primary().await.unwrap();
    group.servers[before].kill();
    group.is_promoted(before).await.unwrap();
    group.servers[before].restart().await.unwrap();
    group.is_whole().await.unwrap();
    let state = store.state().unwrap();
    eventually("the new primary's writes are confirmed", || async {
        let written = state.write("probe", Bytes::new(), Expected::Any, MINUTE);
        Ok(written.await.is_ok())
    })
    .await
    .unwrap();
}

async fn begin(store: &RedisStore, id: &str) -> Acquired {
    let (leases, about) = (store.leases().unwrap(), Tombstone::default());
    let owner = LeaseOwner::new(1);
    leases
        .acquire(owner, &scope(), &call(id), &about)
        .await
        .unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn times_end_earlier_or_later_by_the_difference_and_nothing_comes_back() {
    if !is_installed() || faketime().is_none() {
        return;
    }
    let group = Group::new(1, &LOGGED).with_clock(1, AHEAD);
    let mut group = group.with_down_after(1500).start().await.unwrap();
    let options = RedisOptions::from_url(&group.url())
        .unwrap()
        .with_timeout(Duration::from_millis(500))
        .with_durability(RedisDurability::Replicas {
            number: 1,
            within: Duration::from_millis(500),
        })
        .with_lease_time(LEASE)
        .with_cache_bytes(0);
    let store = RedisStore::connect(options).await.unwrap();
    let state = store.state().unwrap();
    let put = async |id: &str, data: &str| store.put(&scope(), &call(id), text(data)).await;
    let write = async |key: &str, time| {
        let written = state
            .write(key, Bytes::from("1"), Expected::Any, time)
            .await;
        assert!(written.unwrap().is_some());
    };
    for id in ["c1", "c2"] {
        assert_eq!(put(id, "old").await.unwrap(), Recorded::New);
    }
    store
        .put_artifact(&scope(), artifact("a1", "kept"))
        .await
        .unwrap();
    write("short", MINUTE).await;
    write("long", 60 * MINUTE).await;

    // To a clock that is ahead: what is kept for five minutes is over, and what is kept for longer is there.
    fail_over(&mut group, &store).await;
    for id in ["c1", "c2"] {
        let missing = missing(&store, id).await;
        assert!(matches!(missing, Missing::Expired(_)), "{id}: {missing:?}");
    }
    let kept = store.list_artifacts(&scope()).await.unwrap();
    assert_eq!(kept.len(), 1);
    assert!(state.read("short").await.unwrap().is_none());
    assert!(state.read("long").await.unwrap().is_some());
    assert_eq!(put("c2", "new").await.unwrap(), Recorded::New);
    write("short", MINUTE).await;
    assert_eq!(begin(&store, "running").await, Acquired::New);

    // To one that is behind: what has expired does not come back, and times end later.
    fail_over(&mut group, &store).await;
    let gone = missing(&store, "c1").await;
    assert!(matches!(gone, Missing::Expired(_)), "{gone:?}");
    holds(&store, "c2", "new").await;
    assert!(state.read("short").await.unwrap().is_some());
    tokio::time::sleep(LEASE * 2).await;
    let running = missing(&store, "running").await;
    assert!(matches!(running, Missing::InFlight(_)), "{running:?}");
    // Its result is recorded all the same, and others have times of the new clock.
    assert_eq!(put("running", "1").await.unwrap(), Recorded::New);
    holds(&store, "running", "1").await;
    assert_eq!(begin(&store, "next").await, Acquired::New);
    tokio::time::sleep(LEASE * 2).await;
    assert_eq!(missing(&store, "next").await, Missing::Unknown);
}
