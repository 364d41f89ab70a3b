//! What a store makes of values on its server that somebody else has changed.

use crate::{
    conformance::Servers,
    faults::{artifact, call, keys, missing, open, scope, text},
};
use async_trait::async_trait;
use crossfeed_redis_servers::{Server, is_installed};
use crossfeed_store::{
    Acquired, Damage, Expected, LeaseOwner, MemoryLimits, Missing, ResultStore, StoreError,
    Tombstone,
    conformance::{DamageHarness, Harness, a_damaged_result_harms_no_other},
};
use crossfeed_wire::{ArtifactId, CallId, Scope};
use std::{sync::Arc, time::Duration};

const MINUTE: Duration = Duration::from_secs(60);

/// Values that no version has written: the first three say nothing that can be relied on.
const DAMAGED: [&str; 5] = [
    "",
    "x",
    "1 5\n{}",
    "1 00000000000000ff 5 9999999999999999 s- u0 k",
    "1 00000000000000ff 5 9999999999999999 s- u0 k 5\n{\"tool",
];

/// Replaces headers by a damaged one.
struct Damaging<'s> {
    servers: Servers,
    server: &'s Server,
    header: &'static str,
}

#[async_trait]
impl Harness for Damaging<'_> {
    async fn store(&self, limits: &MemoryLimits) -> Arc<dyn ResultStore> {
        self.servers.store(limits).await
    }

    async fn advance(&self, by: Duration) {
        self.servers.advance(by).await;
    }
}

#[async_trait]
impl DamageHarness for Damaging<'_> {
    async fn damage(&self, _: &Scope, call: &CallId) {
        let table = &keys(self.server, "*:h").await[0];
        let set = ["HSET", table, call.as_str(), self.header];
        self.server.ask(&set).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_header_harms_no_other_result() {
    if !is_installed() {
        return;
    }
    for header in &DAMAGED[..3] {
        let server = Server::start(&[]).await.unwrap();
        let harness = Damaging {
            servers: Servers::new(server.url()),
            server: &server,
            header,
        };
        a_damaged_result_harms_no_other(&harness).await;
    }
    for header in DAMAGED {
        let server = Server::start(&[]).await.unwrap();
        let store = open(&server.url()).await;
        for id in ["c1", "c2"] {
            store.put(&scope(), &call(id), text("1")).await.unwrap();
        }
        let table = &keys(&server, "*:h").await[0];
        server.ask(&["HSET", table, "c1", header]).await.unwrap();
        let listed = store.list(&scope()).await.unwrap();
        let listed: Vec<_> = listed.iter().map(|line| line.call_id.as_str()).collect();
        assert_eq!(listed, ["c2"], "{header:?}");
        let error = store.get(&scope(), &call("c1")).await.unwrap_err();
        assert!(error.damaged_record().is_some(), "{header:?}: {error:?}");
        store.remove_session(&scope()).await.unwrap();
        assert_eq!(missing(&store, "c2").await, Missing::Unknown);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_result_of_other_data_says_how_to_get_it_again() {
    if !is_installed() {
        return;
    }
    let server = Server::start(&[]).await.unwrap();
    let store = open(&server.url()).await;
    let result = text("12345")
        .with_tool("search")
        .with_repeatable(true)
        .with_arguments("{}");
    let about = Tombstone::from_result(&result);
    store.put(&scope(), &call("c1"), result).await.unwrap();
    let data = &keys(&server, "*b:c1").await[0];
    server.ask(&["SETRANGE", data, "21", "6"]).await.unwrap();
    let error = store.get(&scope(), &call("c1")).await.unwrap_err();
    let call_id = call("c1");
    let expected = Damage::Result { call_id, about };
    assert_eq!(error.damaged_record(), Some(&expected));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_artifact_harms_no_other() {
    if !is_installed() {
        return;
    }
    for header in DAMAGED {
        let server = Server::start(&[]).await.unwrap();
        let store = open(&server.url()).await;
        for id in ["a1", "a2"] {
            let put = store.put_artifact(&scope(), artifact(id, "1")).await;
            put.unwrap();
        }
        let table = &keys(&server, "*:a").await[0];
        server
            .ask(&["HSET", table, "a1\nc1", header])
            .await
            .unwrap();
        let listed = store.list_artifacts(&scope()).await.unwrap();
        let damaged: Vec<_> = listed
            .iter()
            .map(|line| (line.artifact_id.as_str(), line.damaged))
            .collect();
        assert_eq!(damaged, [("a1", true), ("a2", false)], "{header:?}");
        let id = ArtifactId::parse("a1").unwrap();
        let got = store.get_artifact(&scope(), &id, &call("c1")).await;
        let error = got.unwrap_err();
        assert!(error.damaged_record().is_some(), "{header:?}: {error:?}");
        let put = store.put_artifact(&scope(), artifact("a3", "1")).await;
        put.unwrap();
        store.remove_session(&scope()).await.unwrap();
        assert_eq!(store.list_artifacts(&scope()).await.unwrap(), []);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_record_of_the_host_is_named_and_can_be_replaced() {
    if !is_installed() {
        return;
    }
    let server = Server::start(&[]).await.unwrap();
    let store = open(&server.url()).await;
    let state = store.state().unwrap();
    let write = |expected| state.write("gateway/k", "v".into(), expected, MINUTE);
    for value in ["", "x", "x\ny", "1\nv", "1 zz 99999999999999999\nv", "1 ff"] {
        let version = write(Expected::Any).await.unwrap().unwrap();
        let place = &keys(&server, "*:s:gateway/k").await[0];
        server.ask(&["SET", place, value]).await.unwrap();
        let error = state.read("gateway/k").await.unwrap_err();
        let key = "gateway/k".to_owned();
        let expected = Damage::Record { key };
        assert_eq!(error.damaged_record(), Some(&expected), "{value:?}");
        // It is not taken for one that is not there.
        for expected in [Expected::Absent, Expected::Version(version)] {
            assert_eq!(write(expected).await.unwrap(), None, "{value:?}");
        }
        write(Expected::Any).await.unwrap().unwrap();
        let read = state.read("gateway/k").await.unwrap().unwrap();
        assert_eq!(read.value, "v");
        server.ask(&["SET", place, value]).await.unwrap();
        state.remove("gateway/k").await.unwrap();
        assert_eq!(state.read("gateway/k").await.unwrap(), None);
    }
    let place = &keys(&server, "*:s:gateway/k").await[0];
    let later = "2 00000000000000ff 99999999999999999\nv";
    server.ask(&["SET", place, later]).await.unwrap();
    let read = state.read("gateway/k").await;
    assert!(
        matches!(read, Err(StoreError::Newer { found: 2, .. })),
        "{read:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_lease_is_over() {
    if !is_installed() {
        return;
    }
    let server = Server::start(&[]).await.unwrap();
    let store = open(&server.url()).await;
    let (leases, owner) = (store.leases().unwrap(), LeaseOwner::new(1));
    let about = Tombstone::default();
    let begin = || async {
        let begun = leases.acquire(owner, &scope(), &call("c1"), &about).await;
        assert_eq!(begun.unwrap(), Acquired::New);
    };
    begin().await;
    let table = &keys(&server, "*:f").await[0];
    server.ask(&["HSET", table, "c1", "x"]).await.unwrap();
    let flights = leases.flights(&scope(), &[call("c1")], &[]).await.unwrap();
    assert_eq!(flights.running, []);
    begin().await;
}
