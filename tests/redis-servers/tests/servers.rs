//! The servers start, answer, fail as they are told to, and end.

use crossfeed_redis_servers::{Cluster, Proxy, Replicated, Server, Weather, is_installed};
use std::time::Duration;
use tokio::time::timeout;

#[tokio::test]
async fn a_server_keeps_what_it_was_told_to() {
    if !is_installed() {
        return;
    }
    let mut server = Server::start(&["--appendonly", "yes"]).await.unwrap();
    server.ask(&["SET", "a", "1"]).await.unwrap();
    server.kill().await;
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
async fn a_replica_is_promoted() {
    if !is_installed() {
        return;
    }
    let mut servers = Replicated::start(&[]).await.unwrap();
    let primary = servers.primary().await.unwrap();
    servers.servers[primary]
        .ask(&["SET", "a", "1"])
        .await
        .unwrap();
    servers.servers[primary]
        .ask(&["WAIT", "1", "1000"])
        .await
        .unwrap();
    servers.servers[primary].kill().await;
    while servers.primary().await.unwrap() == primary {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let other = &servers.servers[1 - primary];
    assert_eq!(other.ask(&["GET", "a"]).await.unwrap().text(), "1");
    servers.servers[primary].restart().await.unwrap();
    servers.is_whole().await.unwrap();
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
