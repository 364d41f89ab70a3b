//! Waits for calls that another process runs.

use crate::faults::{call, options, scope, text};
use crossfeed_redis_servers::{Cluster, Server, eventually, is_installed};
use crossfeed_store::{
    Acquired, CallLeases, LeaseOwner, Leased, Lookup, Missing, Recorded, ResultStore as _,
    Tombstone,
};
use crossfeed_store_redis::{RedisOptions, RedisStore};
use crossfeed_wire::Scope;
use std::time::{Duration, Instant};

async fn open(url: &str, poll: Duration) -> RedisStore {
    let options = RedisOptions::from_url(url).unwrap();
    RedisStore::connect(options.with_poll_interval(poll))
        .await
        .unwrap()
}

fn leases(store: &RedisStore) -> &dyn CallLeases {
    store.leases().unwrap()
}

async fn begin(store: &RedisStore, id: &str) {
    let owner = LeaseOwner::new(1);
    let begun = leases(store)
        .acquire(owner, &scope(), &call(id), &Tombstone::default())
        .await;
    assert_eq!(begun.unwrap(), Acquired::New);
}

/// Waits for a call as the engine does; returns how long that took.
async fn wait(store: &RedisStore, id: &str) -> Duration {
    let start = Instant::now();
    loop {
        let flights = leases(store)
            .flights(&scope(), &[call(id)], &[])
            .await
            .unwrap();
        if flights.running.is_empty() {
            return start.elapsed();
        }
        leases(store).changed(&scope()).await;
    }
}

/// Nothing of what ends a call waits for the poll interval.
async fn wakes(url: &str) {
    let poll = Duration::from_secs(20);
    let (one, two) = (open(url, poll).await, open(url, poll).await);
    for (number, id) in ["put", "release", "remove"].into_iter().enumerate() {
        begin(&one, id).await;
        let end = async {
            // Time for the first subscription; later ones find it there.
            tokio::time::sleep(Duration::from_millis(if number == 0 { 1500 } else { 100 })).await;
            match id {
                "put" => {
                    let put = one.put(&scope(), &call(id), text("1")).await;
                    assert_eq!(put.unwrap(), Recorded::New);
                }
                "release" => {
                    let owner = LeaseOwner::new(1);
                    leases(&one)
                        .release(owner, &scope(), &call(id))
                        .await
                        .unwrap();
                }
                _ => one.remove_session(&scope()).await.unwrap(),
            }
        };
        let (first, second, ()) = tokio::join!(wait(&two, id), wait(&one, id), end);
        for took in [first, second] {
            assert!(
                took < Duration::from_secs(10),
                "`{id}` was found by polling: {took:?}"
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_end_of_a_call_wakes_those_who_wait() {
    if !is_installed() {
        return;
    }
    let server = Server::start(&[]).await.unwrap();
    wakes(&server.url()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_end_of_a_call_wakes_those_who_wait_at_another_node() {
    if !is_installed() {
        return;
    }
    let cluster = Cluster::start(3, &[]).await.unwrap();
    wakes(&cluster.url()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_messages_those_who_wait_poll() {
    if !is_installed() {
        return;
    }
    let server = Server::start(&[]).await.unwrap();
    let poll = Duration::from_millis(100);
    let (one, two) = (
        open(&server.url(), poll).await,
        open(&server.url(), poll).await,
    );
    begin(&one, "c1").await;
    let cut = async {
        eventually("a subscription is cut", || async {
            let killed = server.ask(&["CLIENT", "KILL", "TYPE", "pubsub"]).await?;
            Ok(killed.text() != "0")
        })
        .await
        .unwrap();
        // Nobody hears anything from now on, not even who asks for it again.
        let mute = ["ACL", "SETUSER", "default", "resetchannels"];
        server.ask(&mute).await.unwrap();
        eventually("nobody listens", || async {
            Ok(server
                .ask(&["PUBSUB", "CHANNELS"])
                .await?
                .texts()
                .is_empty())
        })
        .await
        .unwrap();
        one.put(&scope(), &call("c1"), text("1")).await.unwrap();
    };
    let (took, ()) = tokio::join!(wait(&two, "c1"), cut);
    assert!(took < Duration::from_secs(10), "{took:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lease_whose_process_died_ends_by_the_servers_clock() {
    if !is_installed() {
        return;
    }
    let server = Server::start(&[]).await.unwrap();
    let options = RedisOptions::from_url(&server.url()).unwrap();
    let options = options.with_lease_time(Duration::from_millis(300));
    let (one, two) = (
        RedisStore::connect(options.clone()).await.unwrap(),
        RedisStore::connect(options).await.unwrap(),
    );
    begin(&one, "c1").await;
    let is_in_flight = async || {
        let got = two.get(&scope(), &call("c1")).await.unwrap();
        matches!(got, Lookup::Missing(Missing::InFlight(_)))
    };
    assert!(is_in_flight().await);
    drop(one);
    eventually("the lease lapses", || async { Ok(!is_in_flight().await) })
        .await
        .unwrap();
    begin(&two, "c1").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_cannot_be_renewed_costs_no_other_its_leases() {
    if !is_installed() {
        return;
    }
    let server = Server::start(&[]).await.unwrap();
    let options = options(&server.url()).with_lease_time(Duration::from_secs(3));
    let store = RedisStore::connect(options).await.unwrap();
    let leases = store.leases().unwrap();
    let (owner, a) = (LeaseOwner::new(1), call("a"));
    let of = |number: usize| Scope::parse("t", "p", &format!("s{number:02}")).unwrap();
    let acquire = async |number| {
        let acquired = leases
            .acquire(owner, &of(number), &a, &Tombstone::default())
            .await;
        assert_eq!(acquired.unwrap(), Acquired::New);
    };
    // More than are renewed at once.
    acquire(0).await;
    let keys = server.ask(&["KEYS", "*:f"]).await.unwrap().texts();
    let [broken] = &keys[..] else {
        panic!("{keys:?}");
    };
    for number in 1..40 {
        acquire(number).await;
    }
    server.ask(&["SET", broken, "x"]).await.unwrap();
    let lease = |number| Leased::new(of(number), a.clone(), Tombstone::default());
    let all: Vec<_> = (0..41).map(lease).collect();
    for _ in 0..5 {
        assert_eq!(leases.renew(owner, &all).await.unwrap(), all[40..]);
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    for number in 1..40 {
        let flights = leases
            .flights(&of(number), std::slice::from_ref(&a), &[])
            .await;
        assert_eq!(
            flights.unwrap().running,
            std::slice::from_ref(&a),
            "{number}"
        );
    }
    assert!(leases.renew(owner, &all[..1]).await.is_err());
}
