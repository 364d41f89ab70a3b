//! What a store makes of a server that drops tables, is full, or keeps what a later version wrote.

use crate::{
    blobs::Blobs,
    faults::{artifact, call, holds, keys, missing, open, options, scope, text},
};
use crossfeed_redis_servers::{Server, is_installed};
use crossfeed_store::{
    Acquired, BlobStore, CallWait, LeaseOwner, Leased, Lookup, MemoryLimits, Missing, Recorded,
    ResultStore as _, StoreError, Tombstone,
};
use crossfeed_store_redis::RedisStore;
use crossfeed_wire::ArtifactId;
use std::{sync::Arc, time::Duration};

/// A store with room for a few results, all of whose keys begin so.
async fn narrow(server: &Server, prefix: &str) -> RedisStore {
    let limits = MemoryLimits::default()
        .with_session_bytes(1000)
        .with_session_tombstones(2);
    let options = options(&server.url()).with_cache_bytes(0);
    RedisStore::connect(options.with_limits(limits).with_prefix(prefix))
        .await
        .unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_goes_on_whatever_table_the_server_dropped() {
    if !is_installed() {
        return;
    }
    let server = Server::start(&[]).await.unwrap();
    for table in ["h", "u", "x", "m", "t", "z", "f"] {
        for reads in [false, true] {
            let prefix = format!("{table}{reads}");
            let store = narrow(&server, &prefix).await;
            let (leases, owner) = (store.leases().unwrap(), LeaseOwner::new(1));
            let about = Tombstone::default();
            for id in 0..8 {
                let id = format!("c{id}");
                store
                    .put(&scope(), &call(&id), text("x".repeat(300)))
                    .await
                    .unwrap();
            }
            leases
                .acquire(owner, &scope(), &call("running"), &about)
                .await
                .unwrap();
            let dropped = keys(&server, &format!("{prefix}:*:{table}")).await;
            server.ask(&["DEL", &dropped[0]]).await.unwrap();
            if reads {
                // Makes a part of the table anew.
                store.get(&scope(), &call("c6")).await.unwrap();
                leases
                    .acquire(owner, &scope(), &call("other"), &about)
                    .await
                    .unwrap();
            }
            for id in ["d1", "d2", "d3", "d4", "d5"] {
                let put = store.put(&scope(), &call(id), text("x".repeat(300))).await;
                assert_eq!(put.unwrap(), Recorded::New, "{prefix}");
            }
            assert_eq!(store.list(&scope()).await.unwrap().len(), 3, "{prefix}");
            for key in keys(&server, &format!("{prefix}:*")).await {
                let time = server.ask(&["PTTL", &key]).await.unwrap();
                assert_ne!(time.text(), "-1", "`{key}` would stay for ever");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_table_that_is_made_anew_by_a_read_has_an_end() {
    if !is_installed() {
        return;
    }
    let server = Server::start(&[]).await.unwrap();
    let store = narrow(&server, "p").await;
    store.put(&scope(), &call("c1"), text("1")).await.unwrap();
    let uses = keys(&server, "*:u").await;
    server.ask(&["DEL", &uses[0]]).await.unwrap();
    holds(&store, "c1", "1").await;
    let time = server.ask(&["PTTL", &uses[0]]).await.unwrap();
    assert!(
        time.text().parse::<u64>().is_ok_and(|time| time > 0),
        "{time:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_data_can_be_recorded_where_the_server_dropped_some() {
    if !is_installed() {
        return;
    }
    let server = Server::start(&[]).await.unwrap();
    let store = open(&server.url()).await;
    store.put(&scope(), &call("c1"), text("1")).await.unwrap();
    store
        .put_artifact(&scope(), artifact("a1", "1"))
        .await
        .unwrap();
    for key in keys(&server, "*b:*").await {
        server.ask(&["DEL", &key]).await.unwrap();
    }
    let put = store.put(&scope(), &call("c1"), text("2")).await;
    assert_eq!(put.unwrap(), Recorded::New);
    holds(&store, "c1", "2").await;
    let put = store.put_artifact(&scope(), artifact("a1", "2")).await;
    assert!(matches!(put, Err(StoreError::Damaged { .. })), "{put:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn running_calls_stay_so_while_the_server_is_full() {
    if !is_installed() {
        return;
    }
    let server = Server::start(&[]).await.unwrap();
    let store = open(&server.url()).await;
    let (leases, owner) = (store.leases().unwrap(), LeaseOwner::new(1));
    let about = Tombstone::default();
    let begun = leases.acquire(owner, &scope(), &call("c1"), &about).await;
    assert_eq!(begun.unwrap(), Acquired::New);
    server
        .ask(&["CONFIG", "SET", "maxmemory", "1"])
        .await
        .unwrap();
    let lost = leases
        .renew(owner, &[Leased::new(scope(), call("c1"), about.clone())])
        .await
        .unwrap();
    assert!(lost.is_empty());
    let wait = CallWait {
        of: call("c2"),
        on: call("c1"),
    };
    let flights = leases
        .flights(&scope(), &[call("c1")], &[wait])
        .await
        .unwrap();
    assert_eq!((flights.running.len(), flights.waits.len()), (1, 1));
    let put = store.put(&scope(), &call("c2"), text("1")).await;
    assert!(matches!(put, Err(StoreError::NoSpace { .. })), "{put:?}");
    let begun = leases.acquire(owner, &scope(), &call("c3"), &about).await;
    assert!(
        matches!(begun, Err(StoreError::NoSpace { .. })),
        "{begun:?}"
    );
    let state = store.state().unwrap();
    state.remove("key").await.unwrap();
    leases.release(owner, &scope(), &call("c1")).await.unwrap();
    store.remove_session(&scope()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_whose_disk_is_full_says_so_and_loses_nothing() {
    if !is_installed() {
        return;
    }
    let server = Server::start(&["--save", "3600 1", "--dbfilename", "taken.rdb"])
        .await
        .unwrap();
    let store = open(&server.url()).await;
    store.put(&scope(), &call("c1"), text("1")).await.unwrap();
    // A directory where the snapshot is to be.
    std::fs::create_dir(server.folder().join("taken.rdb")).unwrap();
    server.ask(&["BGSAVE"]).await.unwrap();
    crossfeed_redis_servers::eventually("a snapshot fails", || async {
        Ok(server.info("persistence", "rdb_last_bgsave_status").await? == "err")
    })
    .await
    .unwrap();
    let put = store.put(&scope(), &call("c2"), text("2")).await;
    assert!(matches!(put, Err(StoreError::NoSpace { .. })), "{put:?}");
    for id in ["c1", "c2"] {
        let got = store.get(&scope(), &call(id)).await;
        assert!(matches!(got, Err(StoreError::NoSpace { .. })), "{got:?}");
    }
    let off = ["CONFIG", "SET", "stop-writes-on-bgsave-error", "no"];
    server.ask(&off).await.unwrap();
    holds(&store, "c1", "1").await;
    assert_eq!(missing(&store, "c2").await, Missing::Unknown);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_list_leaves_out_what_a_later_version_wrote() {
    if !is_installed() {
        return;
    }
    let server = Server::start(&[]).await.unwrap();
    let limits = MemoryLimits::default().with_session_results(2);
    let options = options(&server.url())
        .with_cache_bytes(0)
        .with_limits(limits);
    let store = RedisStore::connect(options).await.unwrap();
    for id in ["1", "2"] {
        store
            .put(&scope(), &call(&format!("c{id}")), text(id))
            .await
            .unwrap();
        store
            .put_artifact(&scope(), artifact(&format!("a{id}"), id))
            .await
            .unwrap();
    }
    for (table, field) in [("*:h", "c1"), ("*:a", "a1\nc1")] {
        let table = keys(&server, table).await.remove(0);
        let header = server.ask(&["HGET", &table, field]).await.unwrap();
        let line = header.text().lines().next().unwrap();
        // A place that this version does not know.
        let newer = format!("2{}\nnot JSON", &line[1..].replace(" k ", " q "));
        server.ask(&["HSET", &table, field, &newer]).await.unwrap();
    }
    assert_eq!(store.list(&scope()).await.unwrap().len(), 1);
    assert_eq!(store.list_artifacts(&scope()).await.unwrap().len(), 1);
    let put = store.put(&scope(), &call("c3"), text("3")).await;
    assert_eq!(put.unwrap(), Recorded::New, "it made room");
    let ids: Vec<_> = store.list(&scope()).await.unwrap();
    assert_eq!(ids.len(), 2);
    store.remove_session(&scope()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn artifacts_that_have_ended_leave_nothing() {
    if !is_installed() {
        return;
    }
    let (server, blobs) = (Server::start(&[]).await.unwrap(), Arc::<Blobs>::default());
    let limits =
        MemoryLimits::default().with_artifact_time_to_live(Some(Duration::from_millis(200)));
    let options = options(&server.url())
        .with_limits(limits)
        .with_blobs(Arc::clone(&blobs) as Arc<dyn BlobStore>)
        .with_blob_bytes(1000);
    let store = RedisStore::connect(options).await.unwrap();
    for (id, bytes) in [("small", 10), ("large", 2000)] {
        store
            .put_artifact(&scope(), artifact(id, &"x".repeat(bytes)))
            .await
            .unwrap();
    }
    store.sweep().await.unwrap();
    assert_eq!(blobs.len(), 1);
    tokio::time::sleep(Duration::from_millis(250)).await;
    store.sweep().await.unwrap();
    assert_eq!(blobs.len(), 0, "nobody has asked for it since");
    let id = ArtifactId::parse("small").unwrap();
    let got = store
        .get_artifact(&scope(), &id, &call("c1"))
        .await
        .unwrap();
    assert!(matches!(got, Lookup::Missing(_)));
    let all = keys(&server, "*").await;
    assert!(!all.is_empty());
    for key in all {
        let time = server.ask(&["PTTL", &key]).await.unwrap();
        assert_ne!(time.text(), "-1", "`{key}` would stay for ever");
    }
    // Those without an end keep theirs company.
    let for_ever = open(&server.url()).await;
    for_ever
        .put_artifact(&scope(), artifact("a1", "1"))
        .await
        .unwrap();
    store
        .put_artifact(&scope(), artifact("a2", "2"))
        .await
        .unwrap();
    let table = keys(&server, "*:a").await;
    assert_eq!(server.ask(&["PTTL", &table[0]]).await.unwrap().text(), "-1");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_server_says_of_what_it_has_that_it_has_it() {
    if !is_installed() {
        return;
    }
    let server = Server::start(&[]).await.unwrap();
    let store = open(&server.url()).await;
    let put = async || {
        let put = store.put(&scope(), &call("c1"), text("1")).await.unwrap();
        let artifact = store.put_artifact(&scope(), artifact("a1", "1")).await;
        [put, artifact.unwrap()]
    };
    assert_eq!(put().await, [Recorded::New; 2]);
    server
        .ask(&["CONFIG", "SET", "maxmemory", "1"])
        .await
        .unwrap();
    assert_eq!(put().await, [Recorded::Unchanged; 2]);
    let other = store.put(&scope(), &call("c1"), text("2")).await;
    assert!(
        matches!(other, Err(StoreError::Duplicate { .. })),
        "{other:?}"
    );
}
