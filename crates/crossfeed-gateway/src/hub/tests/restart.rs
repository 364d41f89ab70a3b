//! Servers that end, and come back.

use super::fake::{INITIALIZE, World, message};
use crate::{
    message::Message,
    port::Hub,
    upstream::{Event, UpstreamError},
};
use std::{sync::atomic::Ordering, time::Duration};

const ALL: &str = r#"{"tools":{},"prompts":{},"resources":{"subscribe":true},"logging":{}}"#;

fn over() -> Event {
    Event::Closed(UpstreamError::Ended("exit status: 3".to_owned()))
}

#[tokio::test(start_paused = true)]
async fn a_server_that_ended_is_told_everything_again() {
    let world = World::new(&["a"]);
    let (client, mut servers) = world.begun(ALL).await;
    let mut server = servers.remove(0);
    for (id, text) in [
        (
            1,
            r#""method":"logging/setLevel","params":{"level":"info"}"#,
        ),
        (
            2,
            r#""method":"resources/subscribe","params":{"uri":"a:1"}"#,
        ),
        (
            3,
            r#""method":"resources/subscribe","params":{"uri":"a:2"}"#,
        ),
        (
            4,
            r#""method":"resources/unsubscribe","params":{"uri":"a:1"}"#,
        ),
    ] {
        client
            .send(&format!(r#"{{"jsonrpc":"2.0","id":{id},{text}}}"#))
            .await;
        let request = server.next().await;
        server.answer(&request, "{}").await;
        client.next().await;
    }
    client
        .send(r#"{"jsonrpc":"2.0","id":5,"method":"slow"}"#)
        .await;
    server.expect("slow").await;
    server
        .say(message(
            r#"{"jsonrpc":"2.0","id":"s","method":"roots/list"}"#,
        ))
        .await;
    client.next().await;
    server.events.send(over()).await.unwrap();
    let failed = client.next().await;
    assert!(
        failed.contains(r#""id":5"#)
            && failed.contains("upstream.outcome_unknown")
            && failed.contains("may have run"),
        "{failed}"
    );
    assert!(client.next().await.contains("notifications/cancelled"));
    // Until it is back, what is asked fails at once.
    client
        .send(r#"{"jsonrpc":"2.0","id":6,"method":"m"}"#)
        .await;
    assert!(client.next().await.contains("exit status: 3"));
    client
        .send(r#"{"jsonrpc":"2.0","id":7,"method":"tools/list"}"#)
        .await;
    assert!(client.next().await.contains("upstream.unavailable"));

    let mut server = world.server(0).await;
    server.begin(ALL).await;
    server.expect("notifications/initialized").await;
    server.expect("logging/setLevel").await;
    let subscribed = server.expect("resources/subscribe").await;
    assert_eq!(subscribed.params().unwrap(), &br#"{"uri":"a:2"}"#[..]);
    for list in ["tools", "prompts", "resources"] {
        assert_eq!(
            client.next().await,
            format!(r#"{{"jsonrpc":"2.0","method":"notifications/{list}/list_changed"}}"#)
        );
    }
    assert!(server.is_quiet());
    client
        .send(r#"{"jsonrpc":"2.0","id":8,"method":"m"}"#)
        .await;
    server.expect("m").await;
    let health = world.gateway.health().remove(0);
    assert_eq!((health.open, health.down), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_down_does_not_take_others_down() {
    let world = World::new(&["a", "b"]);
    world.fakes[0].is_down.store(true, Ordering::Relaxed);
    let client = world.client();
    client.send(INITIALIZE).await;
    let mut b = world.server(1).await;
    b.begin(ALL).await;
    assert!(client.next().await.contains(r#""id":"init""#));
    client
        .send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
        .await;
    b.expect("notifications/initialized").await;
    client
        .send(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#)
        .await;
    let list = b.expect("tools/list").await;
    b.answer(
        &list,
        r#"{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}"#,
    )
    .await;
    assert!(client.next().await.contains(r#""b__t""#));
    let health = world.gateway.health();
    assert_eq!((health[0].down, health[1].open), (1, 1));
    assert!(health[0].error.as_ref().unwrap().contains("down"));
    // There at last: the client is told, and the server that the client is initialized.
    world.fakes[0].is_down.store(false, Ordering::Relaxed);
    let mut a = world.server(0).await;
    a.begin(r#"{"tools":{}}"#).await;
    a.expect("notifications/initialized").await;
    assert!(
        client
            .next()
            .await
            .contains("notifications/tools/list_changed")
    );
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_slow_is_waited_for_no_longer_than_ten_seconds() {
    let world = World::new(&["a", "b"]);
    let client = world.client();
    client.send(INITIALIZE).await;
    let mut slow = world.server(0).await;
    let mut quick = world.server(1).await;
    quick.begin(ALL).await;
    // Time goes by by itself while nobody does anything.
    let mut inbox = client.inbox.lock().await;
    let answer = tokio::time::timeout(Duration::from_secs(11), inbox.recv()).await;
    drop(inbox);
    assert!(answer.unwrap().unwrap().result().is_some());
    // Only once: what comes next does not wait for it again.
    let began = tokio::time::Instant::now();
    client
        .send(r#"{"jsonrpc":"2.0","id":2,"method":"prompts/list"}"#)
        .await;
    let asked = quick.expect("prompts/list").await;
    quick.answer(&asked, r#"{"prompts":[]}"#).await;
    assert!(client.next().await.contains(r#""prompts":[]"#));
    assert!(began.elapsed() < Duration::from_secs(1));
    slow.begin(r#"{"prompts":{}}"#).await;
    assert!(
        client
            .next()
            .await
            .contains("notifications/prompts/list_changed")
    );
}

#[tokio::test(start_paused = true)]
async fn a_server_that_never_says_what_it_is_fails_at_starting() {
    let world = World::new(&["a"]);
    let client = world.client();
    client.send(INITIALIZE).await;
    let _silent = world.server(0).await;
    let mut inbox = client.inbox.lock().await;
    let answer = tokio::time::timeout(Duration::from_secs(61), inbox.recv()).await;
    let answer = answer.unwrap().unwrap().to_bytes();
    assert!(String::from_utf8_lossy(&answer).contains("did not answer within 60 s"));
}

#[tokio::test(start_paused = true)]
async fn requests_that_take_too_long_are_given_up() {
    let world = World::with(&["a"], |config| {
        config.servers[0].timeout = Some(Duration::from_secs(3));
    });
    let (client, mut servers) = world.begun("{}").await;
    client
        .send(r#"{"jsonrpc":"2.0","id":1,"method":"slow"}"#)
        .await;
    let slow = servers[0].expect("slow").await;
    let answer = client.next().await;
    assert!(answer.contains("did not answer within 3 s"), "{answer}");
    let cancelled = servers[0].expect("notifications/cancelled").await;
    let id = slow.id().unwrap().to_string();
    assert!(String::from_utf8_lossy(&cancelled.to_bytes()).contains(&id));
}

#[tokio::test]
async fn calls_that_run_finish_before_the_gateway_ends() {
    let world = World::new(&["a"]);
    let (client, mut servers) = world.begun("{}").await;
    client
        .send(r#"{"jsonrpc":"2.0","id":1,"method":"slow"}"#)
        .await;
    let slow = servers[0].expect("slow").await;
    let gateway = std::sync::Arc::clone(&world.gateway);
    let ends = tokio::spawn(async move { gateway.shut_down().await });
    tokio::task::yield_now().await;
    client
        .send(r#"{"jsonrpc":"2.0","id":2,"method":"late"}"#)
        .await;
    assert!(client.next().await.contains("shutting down"));
    servers[0].answer(&slow, "1").await;
    assert_eq!(
        client.next().await,
        r#"{"jsonrpc":"2.0","id":1,"result":1}"#
    );
    ends.await.unwrap();
    assert_eq!(world.gateway.health()[0].open, 0);
}

#[tokio::test(start_paused = true)]
async fn who_asks_for_the_era_is_answered_without_servers() {
    let world = World::new(&["a", "b"]);
    let client = world.client();
    client
        .send(r#"{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{}}"#)
        .await;
    let mut inbox = client.inbox.lock().await;
    let answer = tokio::time::timeout(Duration::from_secs(6), inbox.recv()).await;
    let answer = answer.unwrap().unwrap().to_bytes();
    // Sessions can do everything: they are offered as long as nothing else is known.
    let answer = String::from_utf8_lossy(&answer).into_owned();
    assert!(
        answer.contains("-32022") && answer.contains(r#""supported":["2024-11-05","#),
        "{answer}"
    );
}

fn returned(message: Message) -> Event {
    let headers = Vec::new();
    Event::Returned { message, headers }
}

/// A server over HTTP that was restarted while nobody called does not know the session, and says so before it does
/// anything.
#[tokio::test(start_paused = true)]
async fn what_a_server_does_not_take_for_its_session_is_sent_again_at_once() {
    let world = World::new(&["a"]);
    let (client, mut servers) = world.begun("{}").await;
    for id in 1..=3 {
        client
            .send(&format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"m{id}"}}"#
            ))
            .await;
    }
    let first = servers[0].expect("m1").await;
    servers[0].expect("m2").await;
    let third = servers[0].expect("m3").await;
    let since = tokio::time::Instant::now();
    // In whatever order they come back.
    for message in [&third, &first] {
        let event = returned(message.clone());
        servers[0].events.send(event).await.unwrap();
    }
    tokio::task::yield_now().await;
    // What comes meanwhile waits.
    client
        .send(r#"{"jsonrpc":"2.0","id":4,"method":"m4"}"#)
        .await;
    let over = || Event::Closed(UpstreamError::SessionOver);
    servers[0].events.send(over()).await.unwrap();
    let mut server = world.server(0).await;
    server.begin("{}").await;
    server.expect("notifications/initialized").await;
    let first = server.expect("m1").await;
    for method in ["m3", "m4"] {
        server.expect(method).await;
    }
    assert!(since.elapsed() < Duration::from_millis(100));
    let failed = client.next().await;
    assert!(
        failed.contains(r#""id":2"#) && failed.contains("upstream.outcome_unknown"),
        "{failed}"
    );
    server.answer(&first, "1").await;
    assert_eq!(
        client.answer().await,
        r#"{"jsonrpc":"2.0","id":1,"result":1}"#
    );
    // One that knows no session at all is not asked for ever.
    client
        .send(r#"{"jsonrpc":"2.0","id":5,"method":"m5"}"#)
        .await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    let mut server = Some(server);
    for _ in 0..2 {
        let mut now = match server.take() {
            Some(server) => server,
            None => {
                let mut next = world.server(0).await;
                next.begin("{}").await;
                next.expect("notifications/initialized").await;
                next
            }
        };
        let fifth = now.expect("m5").await;
        now.events.send(returned(fifth)).await.unwrap();
        now.events.send(over()).await.unwrap();
    }
    loop {
        let failed = client.answer().await;
        if failed.contains(r#""id":5"#) {
            assert!(
                failed.contains("upstream.outcome_unknown")
                    && failed.contains("its session is over"),
                "{failed}"
            );
            break;
        }
    }
}

/// Servers number what they ask anew in each session.
#[tokio::test(start_paused = true)]
async fn an_answer_goes_to_the_session_that_asked_or_to_none() {
    let world = World::new(&["a"]);
    let (client, mut servers) = world.begun("{}").await;
    for method in ["asks", "gone"] {
        client.request(method, "{}").await;
    }
    servers[0].expect("asks").await;
    let gone = servers[0].expect("gone").await;
    let asks = |of: &str| {
        message(&format!(
            r#"{{"jsonrpc":"2.0","id":0,"method":"elicitation/create","params":{{"message":"{of}"}}}}"#
        ))
    };
    let accepts = |asked: &str, of: &str| {
        let asked = message(asked);
        let id = String::from_utf8_lossy(asked.id().unwrap().raw()).into_owned();
        format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"of":"{of}"}}}}"#)
    };
    servers[0].say(asks("first")).await;
    let first = client.next().await;
    assert!(first.contains("elicitation/create"), "{first}");
    servers[0].events.send(returned(gone)).await.unwrap();
    tokio::task::yield_now().await;
    // It waits: the session is known to be over.
    client.send(&accepts(&first, "first")).await;
    let over = Event::Closed(UpstreamError::SessionOver);
    servers[0].events.send(over).await.unwrap();
    let mut server = world.server(0).await;
    server.begin("{}").await;
    server.expect("notifications/initialized").await;
    server.expect("gone").await;
    assert!(client.next().await.contains("upstream.outcome_unknown"));
    server.say(asks("second")).await;
    let second = client.next().await;
    assert!(second.contains("second"), "{second}");
    client.send(&accepts(&first, "first")).await;
    client.send(&accepts(&second, "second")).await;
    let answer = server.next().await;
    assert_eq!(answer.result().unwrap(), &br#"{"of":"second"}"#[..]);
    assert!(server.is_quiet());
}
