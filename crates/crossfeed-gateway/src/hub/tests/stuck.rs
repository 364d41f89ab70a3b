//! Servers that do not read what they are sent.

use super::fake::{Server, World, message};
use crate::upstream::{Event, UpstreamError};
use std::{sync::atomic::Ordering, time::Duration};

const ALL: &str = r#"{"tools":{},"resources":{"subscribe":true}}"#;
const LONG: Duration = Duration::from_secs(36_000);

fn over() -> Event {
    Event::Closed(UpstreamError::Ended("exit status: 3".to_owned()))
}

/// What came to a server in this time.
async fn came(server: &mut Server) -> usize {
    tokio::time::sleep(Duration::from_secs(1)).await;
    std::iter::from_fn(|| server.inbox.try_recv().ok()).count()
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_read_holds_nobody_up_and_is_started_again() {
    let world = World::new(&["a", "b"]);
    let (client, mut servers) = world.begun(ALL).await;
    world.fakes[0].is_stuck.store(true, Ordering::Relaxed);
    let said = async {
        for n in 0..5000 {
            client
                .send(&format!(
                    r#"{{"jsonrpc":"2.0","method":"notifications/{n}"}}"#
                ))
                .await;
        }
    };
    tokio::time::timeout(LONG, said).await.unwrap();
    world.fakes[0].is_stuck.store(false, Ordering::Relaxed);
    assert_eq!(came(&mut servers[1]).await, 5000);
    // The other is over, and comes back with nothing of what it missed.
    let mut again = world.server(0).await;
    again.begin(ALL).await;
    again.expect("notifications/initialized").await;
    client
        .send(r#"{"jsonrpc":"2.0","method":"notifications/last"}"#)
        .await;
    again.expect("notifications/last").await;
}

#[tokio::test(start_paused = true)]
async fn requests_to_a_server_that_does_not_read_are_given_up() {
    let world = World::with(&["a"], |config| {
        config.limits.message_bytes = 1 << 20;
        config.servers[0].timeout = Some(Duration::from_secs(5));
    });
    let (client, _servers) = world.begun(ALL).await;
    world.fakes[0].is_stuck.store(true, Ordering::Relaxed);
    let pad = "x".repeat(600 << 10);
    for id in 1..=4 {
        client
            .send(&format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"m","params":"{pad}"}}"#
            ))
            .await;
    }
    let refused = client.next().await;
    assert!(refused.contains(r#""id":4"#) && refused.contains("does not read"));
    tokio::time::sleep(Duration::from_secs(6)).await;
    for id in 1..=3 {
        let answer = client.next().await;
        assert!(answer.contains(&format!(r#""id":{id}"#)), "{answer}");
        assert!(answer.contains("did not answer within 5 s"), "{answer}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_asks_and_does_not_read_is_over() {
    let world = World::with(&["a"], |config| {
        config.servers[0].timeout = Some(Duration::from_secs(5));
    });
    let client = world.client();
    client
        .send(r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#)
        .await;
    let mut server = world.server(0).await;
    let probe = server.expect("server/discover").await;
    server.answer(&probe, r#"{"capabilities":{}}"#).await;
    server.expect("m").await;
    world.fakes[0].is_stuck.store(true, Ordering::Relaxed);
    let asks = async {
        while server
            .events
            .send(Event::Message {
                message: message(r#"{"jsonrpc":"2.0","id":1,"method":"roots/list"}"#),
                related: None,
            })
            .await
            .is_ok()
        {}
    };
    tokio::time::timeout(LONG, asks).await.unwrap();
    assert!(client.next().await.contains("does not read"));
}

#[tokio::test(start_paused = true)]
async fn subscriptions_leave_room_when_they_are_said_again() {
    let world = World::new(&["a"]);
    let (client, mut servers) = world.begun(ALL).await;
    let mut server = servers.remove(0);
    for id in 0..3000 {
        client
            .send(&format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"resources/subscribe","params":{{"uri":"a:{id}"}}}}"#
            ))
            .await;
        let subscribe = server.expect("resources/subscribe").await;
        server.answer(&subscribe, "{}").await;
        client.next().await;
    }
    server.events.send(over()).await.unwrap();
    let mut server = world.server(0).await;
    server.begin(ALL).await;
    server.expect("notifications/initialized").await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    client
        .send(r#"{"jsonrpc":"2.0","id":1,"method":"m"}"#)
        .await;
    let mut again = 0;
    let mut before = None;
    loop {
        let next = tokio::time::timeout(Duration::from_secs(1), server.inbox.recv()).await;
        let Ok(Some(next)) = next else { break };
        if next.method() == Some("m") {
            before = Some(again);
        } else {
            again += 1;
            server.answer(&next, "{}").await;
        }
    }
    assert_eq!(again, 3000);
    assert!(before.is_some_and(|before| before < 100), "{before:?}");
}

#[tokio::test(start_paused = true)]
async fn what_is_kept_of_a_subscription_is_its_address_and_only_if_it_is_one() {
    let world = World::new(&["a"]);
    let (client, mut servers) = world.begun(ALL).await;
    let pad = "x".repeat(10_000);
    let server = &mut servers[0];
    for (id, uri, is_refused) in [(1, "a:1", true), (2, "a:2", false), (3, &pad, false)] {
        client
            .send(&format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"resources/subscribe","params":{{"uri":"{uri}","p":"{pad}"}}}}"#
            ))
            .await;
        let subscribe = server.expect("resources/subscribe").await;
        if is_refused {
            server.refuse(&subscribe, -32602).await;
        } else {
            server.answer(&subscribe, "{}").await;
        }
        client.next().await;
    }
    let link = world.gateway.every_client()[0].links()[0].clone();
    let kept: Vec<String> = link.state.lock().subscriptions.keys().cloned().collect();
    assert_eq!(kept, ["a:2"]);
}

#[tokio::test(start_paused = true)]
async fn deadlines_of_what_was_answered_are_not_kept() {
    let world = World::with(&["a"], |config| {
        config.servers[0].timeout = Some(Duration::from_secs(3600));
    });
    let (client, mut servers) = world.begun(ALL).await;
    client
        .send(r#"{"jsonrpc":"2.0","id":"long","method":"long"}"#)
        .await;
    servers[0].expect("long").await;
    for id in 0..1000 {
        client
            .send(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m"}}"#))
            .await;
        let request = servers[0].expect("m").await;
        servers[0].answer(&request, "1").await;
        client.next().await;
    }
    let link = world.gateway.every_client()[0].links()[0].clone();
    assert!(link.deadlines() < 100, "{}", link.deadlines());
}

#[tokio::test(start_paused = true)]
async fn connections_end_at_the_same_time() {
    let world = World::new(&["a", "b", "c"]);
    let (client, _servers) = world.begun(ALL).await;
    for fake in &world.fakes {
        fake.is_stuck.store(true, Ordering::Relaxed);
    }
    let start = tokio::time::Instant::now();
    client.client.close().await;
    assert!(start.elapsed() < Duration::from_secs(5));
}
