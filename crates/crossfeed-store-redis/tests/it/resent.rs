//! Requests that the server did, and whose answers were lost, so that they are sent again.

use crate::faults::{artifact, call, missing, scope, text};
use bytes::Bytes;
use crossfeed_redis_servers::{Proxy, Server, Weather, eventually, is_installed};
use crossfeed_store::{Expected, Lookup, MemoryLimits, Missing, Recorded, ResultStore as _};
use crossfeed_store_redis::{RedisOptions, RedisStore};
use std::time::Duration;

const TIME: Duration = Duration::from_secs(60);

/// Two ways to one server: the answers of the first are kept back.
struct Two {
    server: Server,
    proxy: Proxy,
    slow: RedisStore,
    other: RedisStore,
}

impl Two {
    async fn start() -> Self {
        let server = Server::start(&[]).await.unwrap();
        let proxy = Proxy::start(server.port()).await.unwrap();
        let limits = MemoryLimits::default().with_session_results(1);
        let options = |url: &str| {
            RedisOptions::from_url(url)
                .unwrap()
                .with_cache_bytes(0)
                .with_limits(limits.clone())
        };
        let slow = RedisStore::connect(options(&proxy.url())).await.unwrap();
        let other = RedisStore::connect(options(&server.url())).await.unwrap();
        // Scripts are known from now on, so that each operation is one request.
        for store in [&slow, &other] {
            store
                .put(&scope(), &call("first"), text("1"))
                .await
                .unwrap();
            store
                .put_artifact(&scope(), artifact("first", "1"))
                .await
                .unwrap();
            let state = store.state().unwrap();
            state
                .write("first", Bytes::new(), Expected::Any, TIME)
                .await
                .unwrap();
            state.remove("first").await.unwrap();
            store.remove_session(&scope()).await.unwrap();
        }
        server.ask(&["FLUSHDB"]).await.unwrap();
        Self {
            server,
            proxy,
            slow,
            other,
        }
    }

    /// Runs an operation whose answer is lost, and in between, once the server has done it, another.
    async fn between<T>(
        &self,
        first: impl Future<Output = T>,
        then: impl Future<Output = ()>,
    ) -> T {
        self.proxy.set(Weather::Unanswered);
        let before = self.commands().await;
        let cut = async {
            eventually("the server has run a script", || async {
                Ok(self.commands().await > before)
            })
            .await
            .unwrap();
            then.await;
            self.proxy.cut_after(0);
            self.proxy.set(Weather::Fair);
        };
        let (answer, ()) = tokio::join!(first, cut);
        assert!(self.proxy.cuts() > 0, "it was sent again");
        answer
    }

    /// How many scripts the server has run.
    async fn commands(&self) -> u64 {
        let stats = self.server.ask(&["INFO", "commandstats"]).await.unwrap();
        let line = stats
            .text()
            .lines()
            .find(|line| line.starts_with("cmdstat_evalsha:"));
        let calls = line.and_then(|line| line.split_once("calls=")?.1.split_once(','));
        calls
            .map(|(calls, _)| calls.parse().unwrap())
            .unwrap_or_default()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_recorded_and_has_gone_does_not_come_back() {
    if !is_installed() {
        return;
    }
    let two = Two::start().await;
    for bytes in [10, 100_000] {
        let remove = async { two.other.remove_session(&scope()).await.unwrap() };
        let put = async {
            two.slow
                .put(&scope(), &call("c1"), text("x".repeat(bytes)))
                .await
        };
        assert_eq!(
            Box::pin(two.between(put, remove)).await.unwrap(),
            Recorded::New
        );
        assert_eq!(missing(&two.other, "c1").await, Missing::Unknown, "{bytes}");
        let remove = async { two.other.remove_session(&scope()).await.unwrap() };
        let data = "x".repeat(bytes);
        let put = async { two.slow.put_artifact(&scope(), artifact("a1", &data)).await };
        assert_eq!(
            Box::pin(two.between(put, remove)).await.unwrap(),
            Recorded::New
        );
        assert_eq!(two.other.list_artifacts(&scope()).await.unwrap().len(), 0);
    }
    let evict = async {
        two.other
            .put(&scope(), &call("c2"), text("2"))
            .await
            .unwrap();
    };
    let put = async { two.slow.put(&scope(), &call("c1"), text("1")).await };
    assert_eq!(
        Box::pin(two.between(put, evict)).await.unwrap(),
        Recorded::New
    );
    assert!(matches!(
        missing(&two.other, "c1").await,
        Missing::Evicted(_)
    ));
    let staged = two.server.ask(&["KEYS", "*:s:*"]).await.unwrap().texts();
    assert!(staged.is_empty(), "{staged:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_others_recorded_after_a_removal_stays() {
    if !is_installed() {
        return;
    }
    let two = Two::start().await;
    let put = async {
        two.other
            .put(&scope(), &call("c1"), text("1"))
            .await
            .unwrap();
    };
    Box::pin(two.between(two.slow.remove_session(&scope()), put))
        .await
        .unwrap();
    let got = two.other.get(&scope(), &call("c1")).await.unwrap();
    assert!(matches!(got, Lookup::Found(_)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_record_of_state_is_written_and_removed_once() {
    if !is_installed() {
        return;
    }
    let two = Two::start().await;
    let (slow, other) = (two.slow.state().unwrap(), two.other.state().unwrap());
    let value = |text: &'static str| Bytes::from(text);
    let current = async || Some(other.read("key").await.unwrap()?.value);
    for expected in [Expected::Absent, Expected::Any] {
        // Others build upon what was written.
        let build = async {
            for text in ["2", "3"] {
                let version = other.read("key").await.unwrap().unwrap().version;
                let written = other.write("key", value(text), Expected::Version(version), TIME);
                assert!(written.await.unwrap().is_some());
            }
        };
        let write = slow.write("key", value("1"), expected, TIME);
        assert!(Box::pin(two.between(write, build)).await.unwrap().is_some());
        assert_eq!(current().await, Some(value("3")));
        other.remove("key").await.unwrap();
        assert_eq!(current().await, None);
        // Others remove it.
        let remove = async { other.remove("key").await.unwrap() };
        let write = slow.write("key", value("1"), expected, TIME);
        assert!(
            Box::pin(two.between(write, remove))
                .await
                .unwrap()
                .is_some()
        );
        assert_eq!(current().await, None);
    }
    let write = async {
        let written = other.write("key", value("4"), Expected::Absent, TIME);
        assert!(written.await.unwrap().is_some());
    };
    Box::pin(two.between(slow.remove("key"), write))
        .await
        .unwrap();
    assert_eq!(current().await, Some(value("4")));
    let all = two.server.ask(&["KEYS", "*"]).await.unwrap().texts();
    for key in &all {
        let time = two.server.ask(&["PTTL", key]).await.unwrap();
        assert_ne!(time.text(), "-1", "`{key}` would stay for ever");
    }
}
