//! A server that cannot write to its disk, because it is full.

use crate::faults::{call, holds, is_away, open, scope, text};
use crossfeed_redis_servers::{Server, eventually, is_installed};
use crossfeed_store::{ResultStore as _, StoreError};
use crossfeed_store_redis::RedisStore;
use std::time::Duration;

const EVERY_SECOND: [&str; 4] = ["--appendonly", "yes", "--appendfsync", "everysec"];
const ALWAYS: [&str; 4] = ["--appendonly", "yes", "--appendfsync", "always"];
/// A snapshot a second after a write, and a server that takes no writes when one has failed, as by default.
const SNAPSHOTS: [&str; 2] = ["--save", "1 1"];

fn is_full<T>(outcome: &Result<T, StoreError>) -> bool {
    matches!(outcome, Err(StoreError::NoSpace { .. }))
}

/// Fills the disk and writes until that is refused; gives the numbers of what was acknowledged before.
async fn write_until_refused(server: &Server, store: &RedisStore) -> Vec<usize> {
    holds(store, "c1", "1").await;
    server.fill_disk(true).unwrap();
    let mut acknowledged = Vec::new();
    for number in 0..400 {
        let id = format!("d{number}");
        match store.put(&scope(), &call(&id), text(id.clone())).await {
            Ok(_) => acknowledged.push(number),
            Err(StoreError::NoSpace { .. }) => return acknowledged,
            Err(error) => panic!("{error:?}"),
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("a server whose disk is full takes all writes");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_is_no_space_until_there_is_room_again() {
    if !is_installed() {
        return;
    }
    for options in [&EVERY_SECOND[..], &SNAPSHOTS] {
        let server = Server::start(options).await.unwrap();
        let store = open(&server.url()).await;
        store.put(&scope(), &call("c1"), text("1")).await.unwrap();
        // A server notices it with a delay: what it took before is in its memory.
        let acknowledged = write_until_refused(&server, &store).await;
        let got = store.get(&scope(), &call("c1")).await;
        assert!(is_full(&got), "{options:?}: {got:?}");
        assert!(is_full(&store.list(&scope()).await));

        server.fill_disk(false).unwrap();
        eventually("there is room", || async {
            Ok(store.put(&scope(), &call("c3"), text("3")).await.is_ok())
        })
        .await
        .unwrap();
        holds(&store, "c1", "1").await;
        for number in acknowledged {
            let id = format!("d{number}");
            holds(&store, &id, &id).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_flushes_each_write_ends_and_has_lost_nothing() {
    if !is_installed() {
        return;
    }
    let mut server = Server::start(&ALWAYS).await.unwrap();
    let store = open(&server.url()).await;
    store.put(&scope(), &call("c1"), text("1")).await.unwrap();
    server.fill_disk(true).unwrap();
    let put = store.put(&scope(), &call("c2"), text("2")).await;
    assert!(is_away(&put), "{put:?}");
    server.is_ended().await.unwrap();
    assert!(is_away(&store.get(&scope(), &call("c1")).await));
    server.restart().await.unwrap();
    holds(&store, "c1", "1").await;
    store.put(&scope(), &call("c2"), text("2")).await.unwrap();
    holds(&store, "c2", "2").await;
}
