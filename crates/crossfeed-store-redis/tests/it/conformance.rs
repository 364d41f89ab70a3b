//! The laws of every store, on each kind of servers.

use crate::server::{Cluster, Server, Watched, is_installed};
use async_trait::async_trait;
use crossfeed_store::{
    Clock, ManualClock, MemoryLimits, ResultStore,
    conformance::{DurableHarness, Harness, SharedHarness, run_all, run_durable, run_shared},
};
use crossfeed_store_redis::{Durability, RedisOptions, RedisStore};
use parking_lot::Mutex;
use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

/// Stores on servers, each with keys of its own.
struct Servers {
    url: String,
    clock: Arc<ManualClock>,
    stores: AtomicU32,
    last: Mutex<Option<RedisOptions>>,
    change: fn(RedisOptions) -> RedisOptions,
}

impl Servers {
    fn new(url: String) -> Self {
        Self {
            url,
            clock: Arc::default(),
            stores: AtomicU32::new(0),
            last: Mutex::default(),
            change: |options| options,
        }
    }

    async fn open(&self, options: RedisOptions) -> Arc<dyn ResultStore> {
        let clock = Arc::clone(&self.clock) as Arc<dyn Clock>;
        Arc::new(
            RedisStore::connect_with_clock(options, clock)
                .await
                .unwrap(),
        )
    }

    async fn again(&self) -> Arc<dyn ResultStore> {
        let options = self.last.lock().clone().unwrap();
        self.open(options).await
    }
}

#[async_trait]
impl Harness for Servers {
    async fn store(&self, limits: &MemoryLimits) -> Arc<dyn ResultStore> {
        let number = self.stores.fetch_add(1, Ordering::Relaxed);
        let is_limited = limits.total_bytes != MemoryLimits::default().total_bytes;
        let options = RedisOptions::from_url(&self.url)
            .unwrap()
            .with_prefix(format!("store-{number}"))
            .with_poll_interval(Duration::from_millis(100))
            .with_tenant_bytes(is_limited.then_some(limits.total_bytes))
            .with_limits(limits.clone());
        let options = (self.change)(options);
        *self.last.lock() = Some(options.clone());
        self.open(options).await
    }

    async fn advance(&self, by: Duration) {
        self.clock.advance(by);
    }
}

#[async_trait]
impl SharedHarness for Servers {
    async fn peer(&self) -> Arc<dyn ResultStore> {
        self.again().await
    }
}

#[async_trait]
impl DurableHarness for Servers {
    async fn reopen(&self, limits: &MemoryLimits) -> Arc<dyn ResultStore> {
        let options = self.last.lock().clone().unwrap();
        self.open(options.with_limits(limits.clone())).await
    }
}

async fn keeps_all_laws(harness: &Servers) {
    run_durable(harness).await;
    run_shared(harness).await;
    run_all(harness).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_server_keeps_all_laws() {
    if !is_installed() {
        return;
    }
    let server = Server::plain().await;
    keeps_all_laws(&Servers::new(server.url())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_keeps_all_laws() {
    if !is_installed() {
        return;
    }
    let cluster = Cluster::start().await;
    keeps_all_laws(&Servers::new(cluster.url())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_primary_whose_replica_confirms_keeps_all_laws() {
    if !is_installed() {
        return;
    }
    let watched = Watched::start(1).await;
    let mut servers = Servers::new(watched.url());
    servers.change = |options| {
        options.with_durability(Durability::Replicas {
            number: 1,
            within: Duration::from_secs(1),
        })
    };
    keeps_all_laws(&servers).await;
}
