//! The servers start, answer, fail as they are told to, and end.

use crossfeed_redis_servers::{
    Cluster, Group, Proxy, Replicated, Server, Weather, eventually, faketime, free_port,
    is_installed,
};
use std::{collections::BTreeSet, time::Duration};
use tokio::time::timeout;

#[tokio::test]
async fn a_server_keeps_what_it_was_told_to() {
    if !is_installed() {
        return;
    }
    let mut server = Server::start(&["--appendonly", "yes"]).await.unwrap();
    server.ask(&["SET", "a", "1"]).await.unwrap();
    server.kill();
    assert!(server.ask(&["GET", "a"]).await.is_err());
    server.restart().await.unwrap();
    assert_eq!(server.ask(&["GET", "a"]).await.unwrap().text(), "1");
    server.pause();
    let asked = timeout(Duration::from_millis(200), server.ask(&["GET", "a"])).await;
    assert!(asked.is_err());
    server.resume();
    assert_eq!(server.ask(&["GET", "a"]).await.unwrap().text(), "1");
    let folder = server.folder().to_owned();
    drop(server);
    assert!(!folder.exists());
}

#[tokio::test]
async fn a_server_that_cannot_start_says_why() {
    if !is_installed() {
        return;
    }
    let first = Server::start(&[]).await.unwrap();
    let taken = first.port().to_string();
    let second = Server::start(&["--port", &taken]).await;
    let problem = second.unwrap_err();
    assert!(problem.contains("Address already in use"), "{problem}");
}

#[tokio::test]
async fn a_server_says_what_it_is_and_holds() {
    if !is_installed() {
        return;
    }
    let server = Server::start(&[]).await.unwrap();
    let mode = server.info("server", "redis_mode").await.unwrap();
    assert_eq!(mode, "standalone");
    assert_eq!(server.info("server", "redis_").await.unwrap(), "");
    server.ask(&["SADD", "set", "a"]).await.unwrap();
    assert_eq!(server.ask(&["KEYS", "*"]).await.unwrap().texts(), ["set"]);
}

#[tokio::test]
async fn nothing_stays_of_a_test_that_fails() {
    if !is_installed() {
        return;
    }
    let (tell, told) = tokio::sync::oneshot::channel();
    let test = tokio::spawn(async {
        let server = Server::start(&["--appendonly", "yes"]).await.unwrap();
        server.pause();
        tell.send((server.port(), server.folder().to_owned()))
            .unwrap();
        panic!("a test that fails");
    });
    let (port, folder) = told.await.unwrap();
    assert!(test.await.is_err());
    assert!(!folder.exists());
    let asked = crossfeed_redis_servers::ask(port, &["PING"]).await;
    assert!(asked.is_err(), "{asked:?}");
}

#[tokio::test]
async fn a_replica_is_promoted() {
    if !is_installed() {
        return;
    }
    let mut group = Replicated::start(2, &["--min-replicas-to-write", "1"])
        .await
        .unwrap();
    assert_eq!(group.primary().await.unwrap(), 0);
    group.servers[0].ask(&["SET", "a", "1"]).await.unwrap();
    let confirmed = group.servers[0].ask(&["WAIT", "2", "1000"]).await.unwrap();
    assert_eq!(confirmed.text(), "2");
    group.servers[0].kill();
    group.is_promoted(0).await.unwrap();
    let primary = &group.servers[group.primary().await.unwrap()];
    assert_eq!(primary.ask(&["GET", "a"]).await.unwrap().text(), "1");
    group.servers[0].restart().await.unwrap();
    group.is_whole().await.unwrap();
    let option = ["CONFIG", "GET", "min-replicas-to-write"];
    let option = group.servers[0].ask(&option).await.unwrap();
    assert_eq!(option.texts()[1], "1");
}

#[tokio::test]
async fn a_cluster_agrees() {
    if !is_installed() {
        return;
    }
    let cluster = Cluster::start(3, &[]).await.unwrap();
    assert_eq!(cluster.nodes.len(), 3);
    assert!(cluster.url().starts_with("redis+cluster://127.0.0.1:"));
}

#[tokio::test]
async fn a_proxy_makes_the_weather() {
    if !is_installed() {
        return;
    }
    let server = Server::start(&[]).await.unwrap();
    let proxy = Proxy::start(server.port()).await.unwrap();
    let ask = || crossfeed_redis_servers::ask(proxy.port(), &["PING"]);
    assert_eq!(ask().await.unwrap().text(), "PONG");
    proxy.set(Weather::Silent);
    assert!(timeout(Duration::from_millis(100), ask()).await.is_err());
    proxy.set(Weather::Cut);
    assert!(ask().await.is_err());
    proxy.set(Weather::Slow);
    assert_eq!(ask().await.unwrap().text(), "PONG");
}

#[tokio::test]
async fn a_proxy_keeps_answers_back_and_lets_requests_pass() {
    if !is_installed() {
        return;
    }
    let server = Server::start(&[]).await.unwrap();
    let proxy = Proxy::start(server.port()).await.unwrap();
    assert_eq!(proxy.url(), format!("redis://127.0.0.1:{}", proxy.port()));
    proxy.set(Weather::Unanswered);
    let set = crossfeed_redis_servers::ask(proxy.port(), &["SET", "a", "1"]);
    assert!(timeout(Duration::from_millis(300), set).await.is_err());
    assert_eq!(server.ask(&["GET", "a"]).await.unwrap().text(), "1");
}

#[tokio::test]
async fn a_proxy_cuts_once_after_so_many_bytes() {
    if !is_installed() {
        return;
    }
    let server = Server::start(&[]).await.unwrap();
    let proxy = Proxy::start(server.port()).await.unwrap();
    let ask = || crossfeed_redis_servers::ask(proxy.port(), &["PING"]);
    // An answer is `+PONG` and the end of its line.
    for (bytes, answers) in [(0, 0), (3, 0), (6, 0), (8, 1), (13, 1), (20, 2)] {
        proxy.cut_after(bytes);
        for _ in 0..answers {
            assert_eq!(ask().await.unwrap().text(), "PONG");
        }
        let cut = ask().await;
        assert!(cut.is_err(), "after {bytes} bytes: {cut:?}");
        assert_eq!(ask().await.unwrap().text(), "PONG");
    }
    assert_eq!(proxy.cuts(), 6);
}

#[test]
fn no_port_is_given_twice() {
    let ports = [(); 200].map(|()| free_port().unwrap());
    assert_eq!(BTreeSet::from(ports).len(), ports.len());
}

#[tokio::test]
async fn a_server_whose_disk_is_full_says_so_until_there_is_room() {
    if !is_installed() {
        return;
    }
    let server = Server::start(&["--appendonly", "yes", "--appendfsync", "everysec"])
        .await
        .unwrap();
    let set = || server.ask(&["SET", "a", "1"]);
    set().await.unwrap();
    server.fill_disk(true).unwrap();
    eventually("the disk is full", || async {
        Ok(set()
            .await
            .is_err_and(|problem| problem.starts_with("MISCONF")))
    })
    .await
    .unwrap();
    server.fill_disk(false).unwrap();
    eventually("there is room", || async { Ok(set().await.is_ok()) })
        .await
        .unwrap();
}

#[tokio::test]
async fn a_server_may_have_another_clock() {
    if !is_installed() || faketime().is_none() {
        return;
    }
    let mut group = Group::new(1, &[]).with_clock(1, 300).start().await.unwrap();
    let time = async |server: &Server| {
        let time = server.ask(&["TIME"]).await.unwrap().texts();
        time[0].parse::<i64>().unwrap()
    };
    let ahead = time(&group.servers[1]).await - time(&group.servers[0]).await;
    assert!((299..=301).contains(&ahead), "{ahead}");
    group.servers[0].kill();
    group.is_promoted(0).await.unwrap();
}

#[tokio::test]
async fn servers_are_cut_off_from_each_other_and_not_from_clients() {
    if !is_installed() {
        return;
    }
    let group = Group::new(1, &[]).with_proxies().start().await.unwrap();
    assert_eq!(group.primary().await.unwrap(), 0);
    let ask = |words| crossfeed_redis_servers::ask(group.proxies[0].port(), words);
    group.proxies[0].set_for_servers(Weather::Silent);
    assert_eq!(ask(&["SET", "a", "1"]).await.unwrap().text(), "OK");
    group.is_promoted(0).await.unwrap();
    assert_eq!(ask(&["GET", "a"]).await.unwrap().text(), "1");
    let other = group.servers[1].ask(&["GET", "a"]).await.unwrap();
    assert_eq!(other.text(), "");
    group.proxies[0].set_for_servers(Weather::Fair);
    group.is_whole().await.unwrap();
    assert_eq!(group.primary().await.unwrap(), 1);
    assert_eq!(ask(&["GET", "a"]).await.unwrap().text(), "");
}

#[tokio::test]
async fn a_replica_of_a_cluster_takes_over_and_slots_move() {
    if !is_installed() {
        return;
    }
    let mut cluster = Cluster::start_with_replicas(3, 1, &[]).await.unwrap();
    assert_eq!(cluster.primaries().await.unwrap(), [0, 1, 2]);
    // `b` is of the first node's slots.
    cluster.nodes[0].ask(&["SET", "b", "1"]).await.unwrap();
    cluster.move_slot("b", 0, 1).await.unwrap();
    let got = cluster.nodes[1].ask(&["GET", "b"]).await.unwrap();
    assert_eq!(got.text(), "1");
    let replica = &cluster.nodes[4];
    let has_it = || async { Ok(replica.ask(&["DBSIZE"]).await?.text() == "1") };
    eventually("the replica has what was moved", has_it)
        .await
        .unwrap();
    cluster.nodes[1].kill();
    cluster.is_replaced(1).await.unwrap();
    cluster.nodes[1].restart().await.unwrap();
    cluster.is_whole().await.unwrap();
    assert_eq!(cluster.primaries().await.unwrap(), [0, 2, 4]);
    let got = cluster.nodes[4].ask(&["GET", "b"]).await.unwrap();
    assert_eq!(got.text(), "1");
}
