//! What a tenant's account makes of results that end, move on, or are in use.

use crate::{
    blobs::Blobs,
    faults::{call, keys, text},
};
use crossfeed_redis_servers::{Server, is_installed};
use crossfeed_store::{
    BlobStore, Budget, Lookup, MemoryLimits, Recorded, ResultStore as _, StoreError,
};
use crossfeed_store_redis::{RedisOptions, RedisStore};
use crossfeed_wire::Scope;
use std::{sync::Arc, time::Duration};

fn scope(session: impl AsRef<str>) -> Scope {
    Scope::parse("tenant", "project", session.as_ref()).unwrap()
}

fn options(server: &Server) -> RedisOptions {
    RedisOptions::from_url(&server.url())
        .unwrap()
        .with_tenant_bytes(Some(1000))
}

async fn open(options: RedisOptions) -> RedisStore {
    RedisStore::connect(options).await.unwrap()
}

/// Results end this long after their last use.
fn brief(milliseconds: u64) -> MemoryLimits {
    MemoryLimits::default().with_time_to_live(Duration::from_millis(milliseconds))
}

async fn held(server: &Server) -> usize {
    let account = keys(server, "*:n").await;
    let held = server.ask(&["HGET", &account[0], "b"]).await.unwrap();
    held.text().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_that_ended_do_not_hide_those_that_can_make_room() {
    if !is_installed() {
        return;
    }
    let server = Server::start(&[]).await.unwrap();
    let store = open(options(&server).with_limits(brief(500))).await;
    for number in 0..64 {
        let session = scope(format!("idle{number}"));
        store.put(&session, &call("c1"), text("x")).await.unwrap();
    }
    tokio::time::sleep(Duration::from_millis(600)).await;
    for number in 0..10 {
        let session = scope(format!("live{number}"));
        store
            .put(&session, &call("c1"), text("x".repeat(90)))
            .await
            .unwrap();
    }
    let put = store
        .put(&scope("new"), &call("c1"), text("x".repeat(200)))
        .await;
    assert_eq!(put.unwrap(), Recorded::New);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_result_that_ended_makes_no_way_around_the_limit() {
    if !is_installed() {
        return;
    }
    let server = Server::start(&[]).await.unwrap();
    let store = open(options(&server).with_limits(brief(500))).await;
    store
        .put(&scope("old"), &call("c1"), text("x"))
        .await
        .unwrap();
    tokio::time::sleep(Duration::from_millis(600)).await;
    for number in 0..11 {
        let session = scope(format!("live{number}"));
        store
            .put(&session, &call("c1"), text("x".repeat(90)))
            .await
            .unwrap();
    }
    let put = store
        .put(&scope("old"), &call("c1"), text("y".repeat(900)))
        .await;
    assert_eq!(put.unwrap(), Recorded::New);
    assert!(held(&server).await <= 1000, "{}", held(&server).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_only_read_is_in_use_as_well() {
    if !is_installed() {
        return;
    }
    let server = Server::start(&[]).await.unwrap();
    let (writer, reader) = (open(options(&server)).await, open(options(&server)).await);
    let data = || text("x".repeat(600));
    writer.put(&scope("a"), &call("c1"), data()).await.unwrap();
    let found = reader.get(&scope("a"), &call("c1")).await.unwrap();
    assert!(matches!(found, Lookup::Found(_)));
    let put = reader.put(&scope("b"), &call("c1"), data()).await;
    let is_full = |error: &StoreError| {
        matches!(
            error,
            StoreError::Full {
                budget: Budget::TotalBytes,
                ..
            }
        )
    };
    assert!(put.as_ref().is_err_and(is_full), "{put:?}");
    drop(found);
    let put = reader.put(&scope("b"), &call("c1"), data()).await;
    assert_eq!(put.unwrap(), Recorded::New);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_account_goes_on_where_a_clock_went_back() {
    if !is_installed() {
        return;
    }
    let server = Server::start(&[]).await.unwrap();
    let store = open(options(&server)).await;
    let put = async |id: &str| {
        store
            .put(&scope("a"), &call(id), text("x".repeat(100)))
            .await
    };
    put("c1").await.unwrap();
    let table = keys(&server, "*:s").await.remove(0);
    let sessions = server.ask(&["HGETALL", &table]).await.unwrap().texts();
    let (version, rest) = sessions[1].split_once(' ').unwrap();
    // An hour ahead of the server that took over.
    let ahead = version.parse::<u64>().unwrap() + 3_600_000_000;
    let ahead = format!("{ahead} {rest}");
    server
        .ask(&["HSET", &table, &sessions[0], &ahead])
        .await
        .unwrap();
    put("c2").await.unwrap();
    assert_eq!(held(&server).await, 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_account_has_an_end() {
    if !is_installed() {
        return;
    }
    let server = Server::start(&[]).await.unwrap();
    let store = open(options(&server)).await;
    for (session, id) in [("a", "c1"), ("b", "c1"), ("a", "c2"), ("c", "c1")] {
        store
            .put(&scope(session), &call(id), text("x".repeat(300)))
            .await
            .unwrap();
        let all = keys(&server, "*").await;
        assert!(all.len() >= 8, "{all:?}");
        for key in all {
            let time = server.ask(&["PTTL", &key]).await.unwrap();
            assert_ne!(time.text(), "-1", "`{key}` would stay for ever");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_refused_leaves_no_blob() {
    if !is_installed() {
        return;
    }
    let (server, blobs) = (Server::start(&[]).await.unwrap(), Arc::<Blobs>::default());
    let options = options(&server)
        .with_blobs(Arc::clone(&blobs) as Arc<dyn BlobStore>)
        .with_blob_bytes(100);
    let store = open(options).await;
    let put = store
        .put(&scope("a"), &call("c1"), text("x".repeat(1001)))
        .await;
    assert!(matches!(put, Err(StoreError::TooLarge { .. })), "{put:?}");
    assert_eq!(blobs.len(), 0);
    store
        .put(&scope("a"), &call("c1"), text("x".repeat(600)))
        .await
        .unwrap();
    let used = store.get(&scope("a"), &call("c1")).await.unwrap();
    let put = store
        .put(&scope("b"), &call("c1"), text("x".repeat(600)))
        .await;
    assert!(matches!(put, Err(StoreError::Full { .. })), "{put:?}");
    assert_eq!(blobs.len(), 1, "{used:?}");
}
