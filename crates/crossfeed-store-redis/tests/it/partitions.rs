//! What a store says where a server cannot know what is true: a primary that was replaced, a slot that moves.

use crate::faults::{artifact, call, holds, is_away, open, scope, text};
use bytes::Bytes;
use crossfeed_redis_servers::{Cluster, Server, eventually, is_installed};
use crossfeed_store::{
    Acquired, CallWait, Expected, LeaseOwner, Leased, Recorded, ResultStore as _, Tombstone,
};
use crossfeed_store_redis::RedisStore;
use crossfeed_wire::ArtifactId;
use std::time::Duration;

const TIME: Duration = Duration::from_secs(60);

async fn begin(
    store: &RedisStore,
    owner: u128,
    id: &str,
) -> Result<Acquired, crossfeed_store::StoreError> {
    let (leases, about) = (store.leases().unwrap(), Tombstone::default());
    leases
        .acquire(LeaseOwner::new(owner), &scope(), &call(id), &about)
        .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_primary_that_lost_its_replicas_answers_nothing() {
    if !is_installed() {
        return;
    }
    let server = Server::start(&[]).await.unwrap();
    let store = open(&server.url()).await;
    let (leases, state) = (store.leases().unwrap(), store.state().unwrap());
    store.put(&scope(), &call("c1"), text("1")).await.unwrap();
    store
        .put_artifact(&scope(), artifact("a1", "1"))
        .await
        .unwrap();
    assert_eq!(begin(&store, 1, "running").await.unwrap(), Acquired::New);
    state
        .write("known", Bytes::from("1"), Expected::Any, TIME)
        .await
        .unwrap();
    server
        .ask(&["CONFIG", "SET", "min-replicas-to-write", "1"])
        .await
        .unwrap();

    for id in ["c1", "running", "unknown"] {
        let got = store.get(&scope(), &call(id)).await;
        assert!(is_away(&got), "{id}: {got:?}");
        let begun = begin(&store, 2, id).await;
        assert!(is_away(&begun), "{id}: {begun:?}");
        for data in ["1", "2"] {
            let put = store.put(&scope(), &call(id), text(data)).await;
            assert!(is_away(&put), "{id}: {put:?}");
        }
        let flights = leases.flights(&scope(), &[call(id)], &[]).await;
        assert!(is_away(&flights), "{id}: {flights:?}");
        let wait = CallWait {
            of: call("c9"),
            on: call(id),
        };
        let flights = leases.flights(&scope(), &[], &[wait]).await;
        assert!(is_away(&flights), "{id}: {flights:?}");
        let leased = Leased::new(scope(), call(id), Tombstone::default());
        let renewed = leases.renew(LeaseOwner::new(1), &[leased]).await;
        assert!(is_away(&renewed), "{id}: {renewed:?}");
    }
    assert!(is_away(&store.list(&scope()).await));
    assert!(is_away(&store.list_artifacts(&scope()).await));
    for id in ["a1", "unknown"] {
        let artifact_id = ArtifactId::parse(id).unwrap();
        let got = store
            .get_artifact(&scope(), &artifact_id, &call("c1"))
            .await;
        assert!(is_away(&got), "{id}: {got:?}");
        for data in ["1", "2"] {
            let put = store.put_artifact(&scope(), artifact(id, data)).await;
            assert!(is_away(&put), "{id}: {put:?}");
        }
    }
    for key in ["known", "unknown"] {
        assert!(is_away(&state.read(key).await), "{key}");
        for expected in [Expected::Any, Expected::Absent, Expected::Version(1)] {
            let written = state.write(key, Bytes::from("2"), expected, TIME).await;
            assert!(is_away(&written), "{key}: {written:?}");
        }
        assert!(is_away(&state.remove(key).await), "{key}");
    }
    assert!(is_away(&store.remove_session(&scope()).await));

    server
        .ask(&["CONFIG", "SET", "min-replicas-to-write", "0"])
        .await
        .unwrap();
    holds(&store, "c1", "1").await;
    assert_eq!(
        state.read("known").await.unwrap().unwrap().value,
        Bytes::from("1")
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_a_slot_moves_its_sessions_are_away_and_not_unknown() {
    if !is_installed() {
        return;
    }
    let cluster = Cluster::start(2, &[]).await.unwrap();
    let store = open(&cluster.url()).await;
    store.put(&scope(), &call("c1"), text("1")).await.unwrap();
    store
        .put_artifact(&scope(), artifact("a1", "1"))
        .await
        .unwrap();
    assert_eq!(begin(&store, 1, "running").await.unwrap(), Acquired::New);
    let mut held = Vec::new();
    for node in &cluster.nodes {
        held.push(node.ask(&["KEYS", "*"]).await.unwrap().texts());
    }
    let [from, to] = if held[0].is_empty() { [1, 0] } else { [0, 1] };
    let keys = &held[from];
    let (from, to) = (&cluster.nodes[from], &cluster.nodes[to]);
    let slot = from.ask(&["CLUSTER", "KEYSLOT", &keys[0]]).await.unwrap();
    let slot = slot.text();
    let ids = [from, to].map(|node| node.ask(&["CLUSTER", "MYID"]));
    let ids = futures_util::future::try_join_all(ids).await.unwrap();
    let [from_id, to_id] = [ids[0].text(), ids[1].text()];
    to.ask(&["CLUSTER", "SETSLOT", slot, "IMPORTING", from_id])
        .await
        .unwrap();
    from.ask(&["CLUSTER", "SETSLOT", slot, "MIGRATING", to_id])
        .await
        .unwrap();

    let port = to.port().to_string();
    // Nothing has moved yet, then a part of it, then all.
    for moved in [0, 1, keys.len() / 2, keys.len()] {
        for key in &keys[..moved] {
            let moves = ["MIGRATE", "127.0.0.1", &port, key, "0", "5000"];
            from.ask(&moves).await.unwrap();
        }
        let got = store.get(&scope(), &call("c1")).await;
        assert!(is_away(&got), "{moved}: {got:?}");
        let begun = begin(&store, 2, "running").await;
        assert!(is_away(&begun), "{moved}: {begun:?}");
        let listed = store.list_artifacts(&scope()).await;
        assert!(is_away(&listed), "{moved}: {listed:?}");
        let put = store.put(&scope(), &call("c1"), text("2")).await;
        assert!(is_away(&put), "{moved}: {put:?}");
    }
    for node in [to, from] {
        node.ask(&["CLUSTER", "SETSLOT", slot, "NODE", to_id])
            .await
            .unwrap();
    }
    eventually("the slot has moved", || async {
        Ok(store.get(&scope(), &call("c1")).await.is_ok())
    })
    .await
    .unwrap();
    holds(&store, "c1", "1").await;
    assert_eq!(
        begin(&store, 2, "running").await.unwrap(),
        Acquired::InFlight
    );
    let put = store.put_artifact(&scope(), artifact("a1", "1")).await;
    assert_eq!(put.unwrap(), Recorded::Unchanged);
}
