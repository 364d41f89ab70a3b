//! A primary that is cut off from its replica and the sentinel, while clients still reach it: another one is promoted, and
//! there are two for a while.

use crate::faults::{call, holds, is_away, missing, scope, text};
use crossfeed_redis_servers::{Group, Replicated, Weather, eventually, is_installed};
use crossfeed_store::{Lookup, Missing, Recorded, ResultStore as _};
use crossfeed_store_redis::{RedisDurability, RedisOptions, RedisStore};
use std::{sync::Mutex, time::Duration};

/// How long it takes at most until a primary that has lost its replica refuses to answer, in milliseconds, with these
/// options: the lag, and what comes of looking after it once a second.
const REFUSES: u64 = 5000;
const CAREFUL: [&str; 4] = [
    "--min-replicas-to-write",
    "1",
    "--min-replicas-max-lag",
    "2",
];
const CONFIRMED: RedisDurability = RedisDurability::Replicas {
    number: 1,
    within: Duration::from_millis(300),
};

async fn open(group: &Replicated, durability: RedisDurability) -> RedisStore {
    let options = RedisOptions::from_url(&group.url())
        .unwrap()
        .with_timeout(Duration::from_millis(500))
        .with_durability(durability)
        .with_cache_bytes(0);
    let opened = Mutex::default();
    // A sentinel names nobody for a moment when it has promoted one.
    eventually("there is a primary", || async {
        *opened.lock().unwrap() = RedisStore::connect(options.clone()).await.ok();
        Ok(opened.lock().unwrap().is_some())
    })
    .await
    .unwrap();
    opened.into_inner().unwrap().unwrap()
}

/// A group, and a store that goes on using the primary which is cut off from the others.
async fn split(group: Group<'_>, durability: RedisDurability) -> (Replicated, RedisStore) {
    let group = group.with_proxies().start().await.unwrap();
    let store = open(&group, durability).await;
    store.put(&scope(), &call("c1"), text("1")).await.unwrap();
    group.proxies[0].set_for_servers(Weather::Silent);
    (group, store)
}

async fn heal(group: &Replicated) {
    group.proxies[0].set_for_servers(Weather::Fair);
    group.is_whole().await.unwrap();
    assert_eq!(group.primary().await.unwrap(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_only_the_old_primary_had_is_lost_where_one_is_enough() {
    if !is_installed() {
        return;
    }
    let (group, old) = split(Group::new(1, &[]), RedisDurability::Primary).await;
    group.is_promoted(0).await.unwrap();
    let put = old.put(&scope(), &call("c2"), text("old")).await.unwrap();
    assert_eq!(put, Recorded::New);
    holds(&old, "c2", "old").await;
    // Who comes now is sent to the new one, which may record another result under the id.
    let new = open(&group, RedisDurability::Primary).await;
    assert_eq!(missing(&new, "c2").await, Missing::Unknown);
    let put = new.put(&scope(), &call("c2"), text("new")).await.unwrap();
    assert_eq!(put, Recorded::New);

    heal(&group).await;
    eventually("all see the same", || async {
        let got = old.get(&scope(), &call("c2")).await;
        Ok(matches!(got, Ok(Lookup::Found(found)) if found.document().raw()[..] == *b"new"))
    })
    .await
    .unwrap();
    holds(&old, "c1", "1").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_acknowledged_by_the_old_primary_alone_where_a_replica_confirms() {
    if !is_installed() {
        return;
    }
    let (group, old) = split(Group::new(1, &[]), CONFIRMED).await;
    let new = {
        group.is_promoted(0).await.unwrap();
        open(&group, CONFIRMED).await
    };
    // Nothing confirms writes of the new one either, until the old one follows it.
    for store in [&old, &new] {
        let put = store.put(&scope(), &call("c2"), text("2")).await;
        assert!(is_away(&put), "{put:?}");
    }
    heal(&group).await;
    eventually("writes are confirmed", || async {
        Ok(old.put(&scope(), &call("c3"), text("3")).await.is_ok())
    })
    .await
    .unwrap();
    for store in [&old, &new] {
        holds(store, "c1", "1").await;
        holds(store, "c3", "3").await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_old_primary_refuses_before_another_is_promoted_if_that_takes_longer() {
    if !is_installed() {
        return;
    }
    let group = Group::new(2, &CAREFUL).with_down_after(REFUSES);
    let (group, old) = split(group, CONFIRMED).await;
    // While there is one primary, it answers or refuses.
    while group.primary().await.unwrap() == 0 {
        let got = old.get(&scope(), &call("c1")).await;
        assert!(
            matches!(got, Ok(Lookup::Found(_))) || is_away(&got),
            "{got:?}"
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    // From then on, what the new one acknowledges is found by all.
    let new = open(&group, CONFIRMED).await;
    eventually("the new one takes writes", || async {
        Ok(new.put(&scope(), &call("c2"), text("2")).await.is_ok())
    })
    .await
    .unwrap();
    eventually("the old one is left", || async {
        match old.get(&scope(), &call("c2")).await {
            Ok(Lookup::Missing(missing)) => panic!("the old primary answers: {missing:?}"),
            got => Ok(got.is_ok()),
        }
    })
    .await
    .unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_primary_that_was_paused_and_replaced_answers_nothing_from_the_past() {
    if !is_installed() {
        return;
    }
    let group = Group::new(2, &CAREFUL).start().await.unwrap();
    let old = open(&group, CONFIRMED).await;
    old.put(&scope(), &call("c1"), text("1")).await.unwrap();
    group.servers[0].pause();
    group.is_promoted(0).await.unwrap();
    let new = open(&group, CONFIRMED).await;
    eventually("the new primary takes writes", || async {
        Ok(new.put(&scope(), &call("c2"), text("2")).await.is_ok())
    })
    .await
    .unwrap();
    // What was asked of the old one just before it goes on.
    let (scope, id) = (scope(), call("c2"));
    let got = old.get(&scope, &id);
    let resumed = async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        group.servers[0].resume();
    };
    let (got, ()) = tokio::join!(got, resumed);
    assert!(
        is_away(&got) || matches!(got, Ok(Lookup::Found(_))),
        "{got:?}"
    );
}
