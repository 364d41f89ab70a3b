//! What a store loses when its primary is killed and a sentinel makes a replica the primary.

use crate::faults::{call, holds, scope, text};
use crossfeed_redis_servers::{Replicated, eventually, is_installed};
use crossfeed_store::{Lookup, Recorded, ResultStore as _};
use crossfeed_store_redis::{RedisDurability, RedisOptions, RedisStore};
use std::time::{Duration, Instant};

/// Writes until the primary has been killed and some writes after it have been acknowledged; returns how many were, each
/// under its number, and which of them came after.
async fn write_through_a_failover(
    group: &mut Replicated,
    store: &RedisStore,
) -> (Vec<usize>, usize) {
    let mut acknowledged = Vec::new();
    let mut killed: Option<(Instant, usize)> = None;
    for number in 0.. {
        let id = format!("c{number}");
        if store
            .put(&scope(), &call(&id), text(id.clone()))
            .await
            .is_ok()
        {
            acknowledged.push(number);
            tokio::time::sleep(Duration::from_millis(5)).await;
        } else {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        match killed {
            None if acknowledged.len() == 200 => {
                group.servers[0].kill();
                killed = Some((Instant::now(), number));
            }
            Some((at, first)) => {
                if acknowledged
                    .iter()
                    .filter(|number| **number > first)
                    .count()
                    >= 50
                {
                    return (acknowledged, first);
                }
                assert!(
                    at.elapsed() < Duration::from_secs(20),
                    "nothing was acknowledged after a failover"
                );
            }
            None => {}
        }
    }
    unreachable!("the numbers do not end")
}

async fn lost(store: &RedisStore, acknowledged: &[usize]) -> Vec<usize> {
    let mut lost = Vec::new();
    for number in acknowledged {
        let id = format!("c{number}");
        match store.get(&scope(), &call(&id)).await.unwrap() {
            Lookup::Found(_) => holds(store, &id, &id).await,
            Lookup::Missing(_) => lost.push(*number),
        }
    }
    lost
}

fn options(group: &Replicated) -> RedisOptions {
    RedisOptions::from_url(&group.url())
        .unwrap()
        .with_timeout(Duration::from_millis(500))
        .with_cache_bytes(0)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_replica_confirmed_survives_a_failover() {
    if !is_installed() {
        return;
    }
    let mut group = Replicated::start(2, &[]).await.unwrap();
    let durability = RedisDurability::Replicas {
        number: 1,
        within: Duration::from_millis(300),
    };
    let options = options(&group).with_durability(durability);
    let store = RedisStore::connect(options).await.unwrap();
    let (acknowledged, _) = write_through_a_failover(&mut group, &store).await;
    assert_eq!(lost(&store, &acknowledged).await, [] as [usize; 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failover_loses_at_most_the_last_that_the_primary_alone_had() {
    if !is_installed() {
        return;
    }
    let mut group = Replicated::start(1, &[]).await.unwrap();
    let store = RedisStore::connect(options(&group)).await.unwrap();
    let (acknowledged, last_before) = write_through_a_failover(&mut group, &store).await;
    let lost = lost(&store, &acknowledged).await;
    let before: Vec<usize> = acknowledged
        .into_iter()
        .filter(|number| *number <= last_before)
        .collect();
    assert!(
        before.ends_with(&lost),
        "what is lost are the last before the crash: {lost:?}"
    );
    assert!(
        lost.len() < before.len(),
        "the replica had received most: {lost:?} of {before:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_that_no_replica_confirms_is_not_acknowledged() {
    if !is_installed() {
        return;
    }
    let group = Replicated::start(1, &[]).await.unwrap();
    let durability = RedisDurability::Replicas {
        number: 1,
        within: Duration::from_millis(100),
    };
    let store = RedisStore::connect(options(&group).with_durability(durability))
        .await
        .unwrap();
    group.servers[1].pause();
    let put = store.put(&scope(), &call("c1"), text("1")).await;
    assert!(
        put.as_ref().is_err_and(|error| error.may_retry()),
        "{put:?}"
    );
    let again = store.put(&scope(), &call("c1"), text("1")).await;
    assert!(
        again.is_err(),
        "the same again is not confirmed either: {again:?}"
    );
    group.servers[1].resume();
    eventually("the replica follows", || async {
        let put = store.put(&scope(), &call("c1"), text("1")).await;
        Ok(put.is_ok_and(|put| put == Recorded::Unchanged))
    })
    .await
    .unwrap();
}
