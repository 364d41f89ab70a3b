//! What a store says while its server is away, full, slow, or has forgotten something.

use crossfeed_json::Document;
use crossfeed_redis_servers::{Proxy, Server, Weather, is_installed};
use crossfeed_store::{
    Acquired, LeaseOwner, Lookup, MemoryLimits, Missing, Recorded, ResultKind, ResultStore,
    StoreError, StoredArtifact, StoredResult, Tombstone,
};
use crossfeed_store_redis::{RedisOptions, RedisStore};
use crossfeed_wire::{ArtifactId, CallId, Scope};
use std::time::{Duration, Instant};

pub(crate) fn scope() -> Scope {
    Scope::parse("tenant", "project", "session").unwrap()
}

pub(crate) fn call(id: &str) -> CallId {
    CallId::parse(id).unwrap()
}

pub(crate) fn text(text: impl Into<String>) -> StoredResult {
    StoredResult::new(Document::new(text.into()), ResultKind::Text)
}

fn artifact(id: &str, data: &str) -> StoredArtifact {
    let id = ArtifactId::parse(id).unwrap();
    StoredArtifact::new(id, call("c1"), Document::new(data.to_owned()))
}

fn options(url: &str) -> RedisOptions {
    RedisOptions::from_url(url)
        .unwrap()
        .with_timeout(Duration::from_millis(500))
}

/// A store that keeps nothing in this process, so that every byte comes from the server.
async fn open(url: &str) -> RedisStore {
    RedisStore::connect(options(url).with_cache_bytes(0))
        .await
        .unwrap()
}

fn is_away<T>(outcome: &Result<T, StoreError>) -> bool {
    matches!(outcome, Err(StoreError::Unavailable { retry: true, .. }))
}

pub(crate) async fn holds(store: &RedisStore, id: &str, expected: &str) {
    match store.get(&scope(), &call(id)).await.unwrap() {
        Lookup::Found(found) => assert!(found.document().raw()[..] == *expected.as_bytes(), "{id}"),
        Lookup::Missing(missing) => panic!("`{id}` is {missing:?}"),
    }
}

async fn missing(store: &RedisStore, id: &str) -> Missing {
    match store.get(&scope(), &call(id)).await.unwrap() {
        Lookup::Found(_) => panic!("`{id}` is there"),
        Lookup::Missing(missing) => missing,
    }
}

/// The names of keys like this.
pub(crate) async fn keys(server: &Server, pattern: &str) -> Vec<String> {
    server.ask(&["KEYS", pattern]).await.unwrap().texts()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_paused_server_is_unavailable_in_time_and_goes_on() {
    if !is_installed() {
        return;
    }
    let server = Server::start(&[]).await.unwrap();
    let store = open(&server.url()).await;
    store.put(&scope(), &call("c1"), text("1")).await.unwrap();
    server.pause();
    for _ in 0..2 {
        let start = Instant::now();
        let got = store.get(&scope(), &call("c1")).await;
        assert!(is_away(&got), "{got:?}");
        assert!(
            start.elapsed() < Duration::from_millis(900),
            "{:?}",
            start.elapsed()
        );
    }
    let put = store.put(&scope(), &call("c2"), text("2")).await;
    assert!(is_away(&put), "{put:?}");
    server.resume();
    holds(&store, "c1", "1").await;
    // Whether it was recorded is not known, so it is made again.
    store.put(&scope(), &call("c2"), text("2")).await.unwrap();
    holds(&store, "c2", "2").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_writes_to_the_disk_keeps_what_it_acknowledged_through_a_crash() {
    if !is_installed() {
        return;
    }
    let logged = ["--appendonly", "yes", "--appendfsync", "always"];
    let mut server = Server::start(&logged).await.unwrap();
    let store = open(&server.url()).await;
    let large = "x".repeat(300_000);
    for id in 0..20 {
        store
            .put(&scope(), &call(&format!("c{id}")), text(format!("{id}")))
            .await
            .unwrap();
    }
    store
        .put(&scope(), &call("large"), text(large.clone()))
        .await
        .unwrap();
    store
        .put_artifact(&scope(), artifact("a1", &large))
        .await
        .unwrap();
    server.kill();
    assert!(is_away(&store.get(&scope(), &call("c1")).await));
    server.restart().await.unwrap();
    for id in 0..20 {
        holds(&store, &format!("c{id}"), &format!("{id}")).await;
    }
    holds(&store, "large", &large).await;
    let again = store
        .put_artifact(&scope(), artifact("a1", &large))
        .await
        .unwrap();
    assert_eq!(again, Recorded::Unchanged);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_server_refuses_writes_and_answers_reads() {
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
    server
        .ask(&["CONFIG", "SET", "maxmemory", "1"])
        .await
        .unwrap();
    for bytes in [10, 100_000] {
        let put = store
            .put(&scope(), &call("c2"), text("x".repeat(bytes)))
            .await;
        assert!(matches!(put, Err(StoreError::NoSpace { .. })), "{put:?}");
        let put = store
            .put_artifact(&scope(), artifact("a2", &"x".repeat(bytes)))
            .await;
        assert!(matches!(put, Err(StoreError::NoSpace { .. })), "{put:?}");
    }
    holds(&store, "c1", "1").await;
    assert_eq!(missing(&store, "c2").await, Missing::Unknown);
    assert_eq!(store.list(&scope()).await.unwrap().len(), 1);
    assert_eq!(store.list_artifacts(&scope()).await.unwrap().len(), 1);
    server
        .ask(&["CONFIG", "SET", "maxmemory", "0"])
        .await
        .unwrap();
    store.put(&scope(), &call("c2"), text("2")).await.unwrap();
    holds(&store, "c2", "2").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_has_forgotten_its_scripts_is_given_them_again() {
    if !is_installed() {
        return;
    }
    let server = Server::start(&[]).await.unwrap();
    let store = open(&server.url()).await;
    store.put(&scope(), &call("c1"), text("1")).await.unwrap();
    server.ask(&["SCRIPT", "FLUSH"]).await.unwrap();
    holds(&store, "c1", "1").await;
    assert_eq!(
        store.put(&scope(), &call("c2"), text("2")).await.unwrap(),
        Recorded::New
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cut_connection_changes_no_answer() {
    if !is_installed() {
        return;
    }
    let server = Server::start(&[]).await.unwrap();
    let proxy = Proxy::start(server.port()).await.unwrap();
    let store = open(&proxy.url()).await;
    let large = "x".repeat(100_000);
    store
        .put(&scope(), &call("large"), text(large.clone()))
        .await
        .unwrap();
    for bytes in 0..20 {
        let id = format!("c{bytes}");
        proxy.cut_after(bytes);
        let put = store
            .put(&scope(), &call(&id), text(id.clone()))
            .await
            .unwrap();
        assert_eq!(put, Recorded::New, "cut after {bytes} bytes");
        holds(&store, &id, &id).await;
        proxy.cut_after(bytes * 4999);
        holds(&store, "large", &large).await;
        proxy.cut_after(bytes);
        let put = store
            .put_artifact(&scope(), artifact(&id, &id))
            .await
            .unwrap();
        assert_eq!(put, Recorded::New, "cut after {bytes} bytes");
    }
    assert!(proxy.cuts() >= 50, "{}", proxy.cuts());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_that_are_held_up_are_not_mistaken_for_others() {
    if !is_installed() {
        return;
    }
    let server = Server::start(&[]).await.unwrap();
    let proxy = Proxy::start(server.port()).await.unwrap();
    let store = open(&proxy.url()).await;
    for id in ["c1", "c2"] {
        store.put(&scope(), &call(id), text(id)).await.unwrap();
    }
    for _ in 0..2 {
        proxy.set(Weather::Unanswered);
        assert!(is_away(&store.get(&scope(), &call("c1")).await));
        proxy.set(Weather::Fair);
        holds(&store, "c2", "c2").await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_server_dropped_reads_as_evicted_and_can_be_recorded_again() {
    if !is_installed() {
        return;
    }
    let server = Server::start(&[]).await.unwrap();
    let store = open(&server.url()).await;
    for id in ["c1", "c2"] {
        store
            .put(&scope(), &call(id), text("1").with_tool("search"))
            .await
            .unwrap();
    }
    store
        .put_artifact(&scope(), artifact("a1", "1"))
        .await
        .unwrap();
    let bodies = keys(&server, "*b:*").await;
    assert_eq!(bodies.len(), 3);
    for key in &bodies {
        server.ask(&["DEL", key]).await.unwrap();
    }
    match missing(&store, "c1").await {
        Missing::Evicted(tombstone) => assert_eq!(tombstone.tool(), Some("search")),
        other => panic!("{other:?}"),
    }
    for (id, data) in [("c1", "2"), ("c2", "1")] {
        assert_eq!(
            store.put(&scope(), &call(id), text(data)).await.unwrap(),
            Recorded::New
        );
        holds(&store, id, data).await;
    }
    let id = ArtifactId::parse("a1").unwrap();
    let got = store.get_artifact(&scope(), &id, &call("c1")).await;
    assert!(matches!(got, Err(StoreError::Damaged { .. })), "{got:?}");
    assert!(store.list_artifacts(&scope()).await.unwrap()[0].damaged);
    let put = store
        .put_artifact(&scope(), artifact("a1", "1"))
        .await
        .unwrap();
    assert_eq!(put, Recorded::Unchanged, "the same again repairs it");
    let got = store
        .get_artifact(&scope(), &id, &call("c1"))
        .await
        .unwrap();
    assert!(got.found().is_some());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_of_which_the_server_dropped_a_part_agrees_with_itself_again() {
    if !is_installed() {
        return;
    }
    let server = Server::start(&[]).await.unwrap();
    let limits = MemoryLimits::default().with_session_bytes(1000);
    for table in ["h", "u", "x", "m"] {
        let options = options(&server.url())
            .with_cache_bytes(0)
            .with_prefix(table);
        let store = RedisStore::connect(options.with_limits(limits.clone()))
            .await
            .unwrap();
        for id in ["c1", "c2", "c3"] {
            store
                .put(&scope(), &call(id), text("x".repeat(300)))
                .await
                .unwrap();
        }
        let dropped = keys(&server, &format!("{table}:*:{table}")).await;
        assert_eq!(dropped.len(), 1);
        server.ask(&["DEL", &dropped[0]]).await.unwrap();
        store
            .put(&scope(), &call("c4"), text("x".repeat(300)))
            .await
            .unwrap();
        let left = store.list(&scope()).await.unwrap();
        let expected = if table == "h" { 1 } else { 3 };
        assert_eq!(left.len(), expected, "{table}: {left:?}");
        for id in ["c5", "c6", "c7"] {
            store
                .put(&scope(), &call(id), text("x".repeat(300)))
                .await
                .unwrap();
        }
        assert_eq!(store.list(&scope()).await.unwrap().len(), 3, "{table}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_later_version_wrote_is_not_misread_and_makes_room() {
    if !is_installed() {
        return;
    }
    let server = Server::start(&[]).await.unwrap();
    let limits = MemoryLimits::default().with_session_results(2);
    let options = options(&server.url())
        .with_cache_bytes(0)
        .with_limits(limits);
    let store = RedisStore::connect(options).await.unwrap();
    store.put(&scope(), &call("c1"), text("1")).await.unwrap();
    let table = keys(&server, "*:h").await;
    let header = server.ask(&["HGET", &table[0], "c1"]).await.unwrap();
    let line = header.text().lines().next().unwrap();
    // A member and a word more than this version knows.
    let more = format!("{line} word\n{{\"tool\":\"search\",\"new\":1}}");
    server.ask(&["HSET", &table[0], "c1", &more]).await.unwrap();
    holds(&store, "c1", "1").await;
    let newer = format!("2{}\nnot JSON", &line[1..]);
    server
        .ask(&["HSET", &table[0], "c1", &newer])
        .await
        .unwrap();
    let got = store.get(&scope(), &call("c1")).await;
    assert!(
        matches!(got, Err(StoreError::Newer { found: 2, known: 1 })),
        "{got:?}"
    );
    for id in ["c2", "c3"] {
        store.put(&scope(), &call(id), text("2")).await.unwrap();
    }
    assert_eq!(store.list(&scope()).await.unwrap().len(), 2, "it made room");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_stays_of_a_session_that_was_removed_and_all_else_has_an_end() {
    if !is_installed() {
        return;
    }
    let server = Server::start(&[]).await.unwrap();
    let store = open(&server.url()).await;
    store.put(&scope(), &call("c1"), text("1")).await.unwrap();
    store
        .put(&scope(), &call("c2"), text("x".repeat(100_000)))
        .await
        .unwrap();
    let all = keys(&server, "*").await;
    assert_eq!(all.len(), 6, "{all:?}");
    for key in &all {
        let time = server.ask(&["PTTL", key]).await.unwrap();
        assert!(
            time.text().parse::<u64>().is_ok_and(|time| time > 0),
            "`{key}` would stay for ever"
        );
    }
    store
        .put_artifact(&scope(), artifact("a1", "1"))
        .await
        .unwrap();
    store.remove_session(&scope()).await.unwrap();
    let all = keys(&server, "*").await;
    assert!(all.is_empty(), "{all:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn secrets_are_not_shown() {
    if !is_installed() {
        return;
    }
    let server = Server::start(&[]).await.unwrap();
    let secret = ["CONFIG", "SET", "requirepass", "hunter2"];
    server.ask(&secret).await.unwrap();
    let port = server.port();
    let wrong = RedisStore::connect(options(&format!("redis://:sesame@127.0.0.1:{port}"))).await;
    let error = wrong.unwrap_err();
    assert!(
        matches!(error, StoreError::Unavailable { retry: false, .. }),
        "{error:?}"
    );
    let right = RedisStore::connect(options(&format!("redis://:hunter2@127.0.0.1:{port}")))
        .await
        .unwrap();
    let shown = format!("{error:?} {right:?}");
    assert!(
        !shown.contains("sesame") && !shown.contains("hunter2"),
        "{shown}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_needs_no_more_than_is_said() {
    if !is_installed() {
        return;
    }
    let server = Server::start(&[]).await.unwrap();
    let rights = [
        "ACL",
        "SETUSER",
        "feeder",
        "on",
        ">secret",
        "~crossfeed:*",
        "&crossfeed:*",
        "+@read",
        "+@write",
        "+@scripting",
        "+@connection",
        "+@pubsub",
        "+wait",
        "+time",
        "+info",
    ];
    server.ask(&rights).await.unwrap();
    let store = open(&format!(
        "redis://feeder:secret@127.0.0.1:{}",
        server.port()
    ))
    .await;
    let large = "x".repeat(300_000);
    store
        .put(&scope(), &call("c1"), text(large.clone()))
        .await
        .unwrap();
    holds(&store, "c1", &large).await;
    store
        .put_artifact(&scope(), artifact("a1", &large))
        .await
        .unwrap();
    let leases = store.leases().unwrap();
    let owner = LeaseOwner::new(1);
    let about = Tombstone::default();
    assert_eq!(
        leases
            .acquire(owner, &scope(), &call("c2"), &about)
            .await
            .unwrap(),
        Acquired::New
    );
    leases.release(owner, &scope(), &call("c2")).await.unwrap();
    let report = store.probe().await.unwrap();
    assert_eq!(report.persistence.snapshots, None);
    store.remove_session(&scope()).await.unwrap();
    let denied = RedisOptions::from_url(&format!(
        "redis://feeder:secret@127.0.0.1:{}",
        server.port()
    ));
    let denied = RedisStore::connect(denied.unwrap().with_prefix("other"))
        .await
        .unwrap();
    let put = denied.put(&scope(), &call("c1"), text("1")).await;
    assert!(
        matches!(put, Err(StoreError::Unavailable { retry: false, .. })),
        "{put:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_that_is_made_again_leaves_nothing_behind() {
    if !is_installed() {
        return;
    }
    let server = Server::start(&[]).await.unwrap();
    let proxy = Proxy::start(server.port()).await.unwrap();
    let store = open(&proxy.url()).await;
    for (id, bytes) in [("c1", 100), ("c2", 100_000), ("c3", 1_000_000)] {
        proxy.cut_after(1);
        let (scope, data) = (scope(), "x".repeat(bytes));
        let put = store.put(&scope, &call(id), text(data.clone())).await;
        assert_eq!(put.unwrap(), Recorded::New);
        proxy.cut_after(1);
        let put = store.put_artifact(&scope, artifact(id, &data)).await;
        assert_eq!(put.unwrap(), Recorded::New);
    }
    assert_eq!(proxy.cuts(), 6);
    let staged = keys(&server, "*:s:*").await;
    assert!(staged.is_empty(), "{staged:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn limits_of_no_time_keep_nothing_and_fail_nothing() {
    if !is_installed() {
        return;
    }
    let server = Server::start(&[]).await.unwrap();
    for limits in [
        MemoryLimits::default().with_time_to_live(Duration::ZERO),
        MemoryLimits::default().with_max_age(Duration::ZERO),
        MemoryLimits::default()
            .with_time_to_live(Duration::MAX)
            .with_max_age(Duration::MAX),
    ] {
        let is_kept = limits.max_age == Duration::MAX;
        let store = RedisStore::connect(options(&server.url()).with_limits(limits))
            .await
            .unwrap();
        assert_eq!(
            store.put(&scope(), &call("c1"), text("1")).await.unwrap(),
            Recorded::New
        );
        let got = store.get(&scope(), &call("c1")).await.unwrap();
        assert_eq!(got.found().is_some(), is_kept);
        assert_eq!(
            store.list(&scope()).await.unwrap().len(),
            usize::from(is_kept)
        );
        store.remove_session(&scope()).await.unwrap();
    }
}
