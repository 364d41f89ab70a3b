//! Limits of tenants.

use crate::faults::{call, keys, text};
use crossfeed_redis_servers::{Server, is_installed};
use crossfeed_store::{
    Budget, Lookup, MemoryLimits, Recorded, ResultStore as _, StoreError, StoredResult,
};
use crossfeed_store_redis::{RedisOptions, RedisStore};
use crossfeed_wire::Scope;
use std::sync::Arc;

fn scope(tenant: &str, session: &str) -> Scope {
    Scope::parse(tenant, "project", session).unwrap()
}

fn third() -> StoredResult {
    text("x".repeat(300))
}

async fn open(server: &Server) -> RedisStore {
    let options = RedisOptions::from_url(&server.url()).unwrap();
    RedisStore::connect(options.with_tenant_bytes(Some(1000)))
        .await
        .unwrap()
}

async fn found(store: &RedisStore, scope: &Scope) -> Option<Arc<StoredResult>> {
    match store.get(scope, &call("c1")).await.unwrap() {
        Lookup::Found(found) => Some(found),
        Lookup::Missing(_) => None,
    }
}

/// A number of the only account there is.
async fn account(server: &Server, field: &str) -> String {
    let tables = keys(server, "*:n").await;
    assert_eq!(tables.len(), 1);
    let said = server.ask(&["HGET", &tables[0], field]).await.unwrap();
    said.text().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_in_use_stays_and_nothing_goes_in_vain() {
    if !is_installed() {
        return;
    }
    let server = Server::start(&[]).await.unwrap();
    let store = open(&server).await;
    let sessions = ["a", "b", "c"].map(|session| scope("tenant", session));
    let mut held = Vec::new();
    for session in &sessions {
        store.put(session, &call("c1"), third()).await.unwrap();
        held.extend(found(&store, session).await);
    }
    let more = scope("tenant", "d");
    let put = store.put(&more, &call("c1"), third()).await;
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
    // What is there already needs no room, and another tenant has its own.
    assert_eq!(
        store.put(&sessions[0], &call("c1"), third()).await.unwrap(),
        Recorded::Unchanged
    );
    assert_eq!(
        store
            .put(&scope("other", "a"), &call("c1"), third())
            .await
            .unwrap(),
        Recorded::New
    );
    held.remove(1);
    // It does not fit its own session beside what is in use there, so nothing of others goes.
    let limits = MemoryLimits::default().with_session_bytes(500);
    let options = RedisOptions::from_url(&server.url())
        .unwrap()
        .with_tenant_bytes(Some(1000));
    let narrow = RedisStore::connect(options.with_limits(limits))
        .await
        .unwrap();
    let used = found(&narrow, &sessions[0]).await;
    let put = narrow.put(&sessions[0], &call("c2"), third()).await;
    let is_full = |error: &StoreError| {
        matches!(
            error,
            StoreError::Full {
                budget: Budget::SessionBytes,
                ..
            }
        )
    };
    assert!(
        used.is_some() && put.as_ref().is_err_and(is_full),
        "{put:?}"
    );
    assert!(found(&store, &sessions[1]).await.is_some());
    assert_eq!(
        store.put(&more, &call("c1"), third()).await.unwrap(),
        Recorded::New
    );
    for (session, is_there) in sessions.iter().zip([true, false, true]) {
        assert_eq!(
            found(&store, session).await.is_some(),
            is_there,
            "{session:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_account_says_what_sessions_hold_whatever_happened() {
    if !is_installed() {
        return;
    }
    let server = Server::start(&[]).await.unwrap();
    let store = open(&server).await;
    let (a, b) = (scope("tenant", "a"), scope("tenant", "b"));
    for session in [&a, &b] {
        store.put(session, &call("c1"), third()).await.unwrap();
        store.put(session, &call("c1"), third()).await.unwrap();
        store
            .put(session, &call("c1"), text("other"))
            .await
            .unwrap_err();
    }
    let sums = async || (account(&server, "b").await, account(&server, "n").await);
    assert_eq!(sums().await, ("600".to_owned(), "2".to_owned()));
    store.remove_session(&a).await.unwrap();
    assert_eq!(sums().await, ("300".to_owned(), "1".to_owned()));

    // A process reserved and died long ago.
    let key = keys(&server, "*:s").await;
    let told = server.ask(&["HGETALL", &key[0]]).await.unwrap().texts();
    let (session, project) = (&told[0], told[1].split(' ').nth(1).unwrap());
    let base = key[0].strip_suffix('s').unwrap();
    let reservation = format!("{session} {project} 500 1");
    server
        .ask(&[
            "HSET",
            &format!("{base}r"),
            "0123456789abcdef",
            &reservation,
        ])
        .await
        .unwrap();
    server
        .ask(&["HINCRBY", &format!("{base}n"), "b", "500"])
        .await
        .unwrap();
    server
        .ask(&["HINCRBY", &format!("{base}n"), "n", "1"])
        .await
        .unwrap();
    server
        .ask(&["ZINCRBY", &format!("{base}o"), "500", project])
        .await
        .unwrap();
    store.put(&b, &call("c2"), text("x")).await.unwrap();
    assert_eq!(sums().await, ("301".to_owned(), "2".to_owned()));
}
