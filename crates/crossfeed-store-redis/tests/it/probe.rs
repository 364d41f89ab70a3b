//! What a store says of its servers and of itself.

use crate::faults::{call, scope, text};
use crossfeed_redis_servers::{Cluster, Replicated, Server, is_installed};
use crossfeed_store::{MemoryLimits, ResultStore as _, StoreOperation};
use crossfeed_store_redis::{RedisDurability, RedisMode, RedisOptions, RedisReport, RedisStore};
use std::time::Duration;

async fn probe(options: RedisOptions) -> RedisReport {
    RedisStore::connect(options)
        .await
        .unwrap()
        .probe()
        .await
        .unwrap()
}

fn options(url: &str) -> RedisOptions {
    RedisOptions::from_url(url).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_probe_says_what_the_servers_are() {
    if !is_installed() {
        return;
    }
    let logged = ["--appendonly", "yes", "--maxmemory", "100mb"];
    let server = Server::start(&logged).await.unwrap();
    let report = probe(options(&server.url())).await;
    assert_eq!(report.mode, RedisMode::Single { replicas: 0 });
    assert_eq!(report.warnings, [""; 0]);
    let shown = report.to_string();
    assert!(
        shown.ends_with("single, append-only file, 100 MiB, noeviction"),
        "{shown}"
    );

    let cluster = Cluster::start(3, &[]).await.unwrap();
    let report = probe(options(&cluster.url())).await;
    assert_eq!(report.mode, RedisMode::Cluster { primaries: 3 });
    assert!(report.warnings[0].contains("appendonly yes"), "{report:?}");

    let group = Replicated::start(1, &[]).await.unwrap();
    let durability = RedisDurability::Replicas {
        number: 2,
        within: Duration::from_millis(50),
    };
    let report = probe(options(&group.url()).with_durability(durability)).await;
    let primary = "main".to_owned();
    assert_eq!(
        report.mode,
        RedisMode::Sentinel {
            primary,
            replicas: 1
        }
    );
    let warns =
        |report: &RedisReport, of: &str| report.warnings.iter().any(|warning| warning.contains(of));
    assert!(warns(&report, "min-replicas-to-write"), "{report:?}");
    group.servers[0]
        .ask(&["CONFIG", "SET", "min-replicas-to-write", "1"])
        .await
        .unwrap();
    let report = probe(options(&group.url())).await;
    assert!(!warns(&report, "min-replicas-to-write"), "{report:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_probe_says_what_a_failover_leaves_without_replicas() {
    if !is_installed() {
        return;
    }
    let group = Replicated::start(1, &[]).await.unwrap();
    let cluster = Cluster::start_with_replicas(3, 1, &[]).await.unwrap();
    let bare = Cluster::start(3, &[]).await.unwrap();
    for (url, number, expected) in [
        (group.url(), 1, "a write: 1, connected: 1; when one fails,"),
        (group.url(), 2, "a write: 2, connected: 1; no write"),
        (
            cluster.url(),
            1,
            "a write: 1, connected: 1; when one fails,",
        ),
        (bare.url(), 1, "a write: 1, connected: 0; no write"),
    ] {
        let within = Duration::from_millis(50);
        let durability = RedisDurability::Replicas { number, within };
        let report = probe(options(&url).with_durability(durability)).await;
        let has = |warning: &String| {
            warning.contains(expected) && warning.ends_with("one replica more than must confirm")
        };
        assert!(report.warnings.iter().any(has), "{report:?}");
    }
    let more = Replicated::start(2, &[]).await.unwrap();
    let durability = RedisDurability::Replicas {
        number: 1,
        within: Duration::from_millis(50),
    };
    for options in [
        options(&group.url()),
        options(&more.url()).with_durability(durability),
    ] {
        let report = probe(options).await;
        let has = |warning: &String| warning.contains("must confirm");
        assert!(!report.warnings.iter().any(has), "{report:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_policy_that_drops_keys_is_warned_of() {
    if !is_installed() {
        return;
    }
    for policy in ["allkeys-lru", "volatile-lru", "volatile-ttl"] {
        let server = Server::start(&["--maxmemory", "100mb", "--maxmemory-policy", policy])
            .await
            .unwrap();
        let report = probe(options(&server.url())).await;
        assert_eq!(report.eviction_policy, policy);
        let warning = &report.warnings[0];
        assert!(warning.contains(policy), "{warning}");
        // Leases end first, and records of sessions; so no such policy drops results only.
        assert!(warning.contains("leases"), "{warning}");
        assert!(warning.ends_with("to `noeviction`"), "{warning}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn metrics_count_what_was_done() {
    if !is_installed() {
        return;
    }
    let server = Server::start(&[]).await.unwrap();
    let limits = MemoryLimits::default().with_session_results(2);
    let one = RedisStore::connect(options(&server.url()).with_limits(limits.clone()))
        .await
        .unwrap();
    let two = RedisStore::connect(options(&server.url()).with_limits(limits))
        .await
        .unwrap();
    for id in ["c1", "c2", "c3"] {
        one.put(&scope(), &call(id), text(id)).await.unwrap();
    }
    for _ in 0..3 {
        two.get(&scope(), &call("c3")).await.unwrap();
    }
    two.get(&scope(), &call("c1")).await.unwrap();
    let metrics = one.metrics().unwrap();
    let put = metrics.operation(StoreOperation::Put).unwrap();
    assert_eq!((put.count, put.failed, metrics.evicted), (3, 0, 1));
    assert!(put.total > Duration::ZERO && put.histogram.iter().sum::<u64>() == 3);
    let metrics = two.metrics().unwrap();
    assert_eq!((metrics.cache_misses, metrics.cache_hits), (1, 2));
}
