//! The laws of every store, on each kind of servers.

use crate::{
    blobs::Blobs,
    faults::{call, holds, scope, text},
};
use async_trait::async_trait;
use crossfeed_redis_servers::{Cluster, Replicated, Server, eventually, is_installed};
use crossfeed_store::{
    BlobStore, Clock, Lookup, ManualClock, MemoryLimits, Missing, Recorded, ResultStore,
    conformance::{DurableHarness, Harness, SharedHarness, run_all, run_durable, run_shared},
};
use crossfeed_store_redis::{RedisDurability, RedisOptions, RedisStore};
use crossfeed_wire::Scope;
use futures_util::future::{join, join_all};
use parking_lot::Mutex;
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    time::Duration,
};

/// A clock that is moved by tests, and never shows the same time twice.
#[derive(Default)]
pub(crate) struct TickingClock(pub(crate) ManualClock);

impl Clock for TickingClock {
    fn now(&self) -> Duration {
        self.0.advance(Duration::from_micros(1));
        self.0.now()
    }
}

/// Stores on servers, each with keys of its own.
pub(crate) struct Servers {
    url: String,
    clock: Arc<TickingClock>,
    stores: AtomicU32,
    last: Mutex<Option<RedisOptions>>,
    change: Box<dyn Fn(RedisOptions) -> RedisOptions + Send + Sync>,
}

impl Servers {
    pub(crate) fn new(url: String) -> Self {
        Self {
            url,
            clock: Arc::default(),
            stores: AtomicU32::new(0),
            last: Mutex::default(),
            change: Box::new(|options| options),
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
        self.clock.0.advance(by);
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
    let server = Server::start(&[]).await.unwrap();
    keeps_all_laws(&Servers::new(server.url())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_keeps_all_laws() {
    if !is_installed() {
        return;
    }
    let cluster = Cluster::start(3, &[]).await.unwrap();
    keeps_all_laws(&Servers::new(cluster.url())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_primary_whose_replica_confirms_keeps_all_laws() {
    if !is_installed() {
        return;
    }
    let group = Replicated::start(1, &[]).await.unwrap();
    let mut servers = Servers::new(group.url());
    servers.change = Box::new(|options| {
        options.with_durability(RedisDurability::Replicas {
            number: 1,
            within: Duration::from_secs(1),
        })
    });
    keeps_all_laws(&servers).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_with_blobs_keeps_all_laws() {
    if !is_installed() {
        return;
    }
    let server = Server::start(&[]).await.unwrap();
    let mut servers = Servers::new(server.url());
    let blobs = Arc::<Blobs>::default() as Arc<dyn BlobStore>;
    servers.change =
        Box::new(move |options| options.with_blobs(Arc::clone(&blobs)).with_blob_bytes(100));
    keeps_all_laws(&servers).await;
}

/// Time is the server's, and what it keeps goes by itself.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_clock_of_its_own_a_store_goes_by_the_servers() {
    if !is_installed() {
        return;
    }
    let server = Server::start(&[]).await.unwrap();
    let limits = MemoryLimits::default().with_time_to_live(Duration::from_millis(300));
    let options = RedisOptions::from_url(&server.url())
        .unwrap()
        .with_limits(limits);
    let store = RedisStore::connect(options).await.unwrap();
    store.put(&scope(), &call("c1"), text("1")).await.unwrap();
    for _ in 0..4 {
        tokio::time::sleep(Duration::from_millis(100)).await;
        holds(&store, "c1", "1").await;
    }
    tokio::time::sleep(Duration::from_millis(350)).await;
    let got = store.get(&scope(), &call("c1")).await.unwrap();
    assert!(
        matches!(got, Lookup::Missing(Missing::Expired(_))),
        "{got:?}"
    );
    store.put(&scope(), &call("c2"), text("2")).await.unwrap();
    eventually("the data goes without a request", || async {
        Ok(server.ask(&["KEYS", "*b:*"]).await?.texts().is_empty())
    })
    .await
    .unwrap();
}

/// However many record at once, what a tenant holds is never beyond its limit.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tenant_never_holds_more_than_its_limit() {
    if !is_installed() {
        return;
    }
    let server = Server::start(&[]).await.unwrap();
    let mut stores = Vec::new();
    for _ in 0..2 {
        let options = RedisOptions::from_url(&server.url())
            .unwrap()
            .with_tenant_bytes(Some(3000))
            .with_tenant_results(Some(20));
        stores.push(RedisStore::connect(options).await.unwrap());
    }
    let scopes: Vec<Scope> = (0..4)
        .map(|number| {
            Scope::parse("tenant", &format!("p{}", number % 2), &format!("s{number}")).unwrap()
        })
        .collect();
    let (done, stores, scopes) = (AtomicBool::new(false), &stores, &scopes);
    let held = async || {
        let (mut bytes, mut results) = (0, 0);
        for scope in scopes {
            let lines = stores[0].list(scope).await.unwrap();
            bytes += lines.iter().map(|line| line.bytes).sum::<usize>();
            results += lines.len();
        }
        (bytes, results)
    };
    let writers = (0..4).map(|writer: usize| async move {
        for number in 0..40 {
            let id = call(&format!("c{writer}-{number}"));
            let result = text("x".repeat(50 + 37 * (number % 10)));
            let put = stores[writer % 2]
                .put(&scopes[(writer + number) % 4], &id, result)
                .await;
            assert_eq!(put.unwrap(), Recorded::New);
        }
    });
    let watch = async {
        let mut most = (0, 0);
        while !done.load(Ordering::Relaxed) {
            let (bytes, results) = held().await;
            most = (most.0.max(bytes), most.1.max(results));
        }
        most
    };
    let writers = async {
        join_all(writers).await;
        done.store(true, Ordering::Relaxed);
    };
    let ((), (bytes, results)) = join(writers, watch).await;
    // A list of several sessions is not of one moment, so that this may see a few results twice.
    assert!(
        bytes <= 3000 + 4 * 383 && results <= 24,
        "{bytes} bytes, {results} results"
    );
    let (bytes, results) = held().await;
    assert!(
        bytes <= 3000 && results <= 20,
        "{bytes} bytes, {results} results"
    );
    assert!(
        bytes > 2000 || results > 15,
        "no more went than had to: {bytes} bytes, {results} results"
    );
}
