//! What clients are told of requests without an answer: that they were not sent, or that they may have run.

use super::fake::{ConnectionSet, Server, World};
use crate::upstream::{Event, UpstreamError};
use serde_json::{Value, json};
use std::{sync::atomic::Ordering, time::Duration};

const TOOLS: &str = r#"{"tools":{}}"#;
const UNAVAILABLE: &str = "upstream.unavailable";
const UNKNOWN: &str = "upstream.outcome_unknown";

fn ended() -> UpstreamError {
    UpstreamError::Ended("exit status: 3".to_owned())
}

/// A client and its server, whose tools were listed: one that changes things, one that only reads.
async fn listed(world: &World) -> (ConnectionSet, Server) {
    let (client, mut servers) = world.begun(TOOLS).await;
    let mut server = servers.remove(0);
    client
        .send(r#"{"jsonrpc":"2.0","id":"l","method":"tools/list"}"#)
        .await;
    let list = server.expect("tools/list").await;
    let tools = json!({"tools": [
        {"name": "pay", "inputSchema": {"type": "object"}},
        {"name": "look", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": true}},
    ]});
    server.answer(&list, &tools.to_string()).await;
    client.next().await;
    (client, server)
}

async fn call(client: &ConnectionSet, id: u64, name: &str) {
    client
        .send(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{name}","arguments":{{}}}}}}"#
        ))
        .await;
}

/// What a call was answered: its id, the code, and the text.
async fn told(client: &ConnectionSet) -> (u64, String, String) {
    let answer: Value = serde_json::from_str(&client.next().await).unwrap();
    let result = &answer["result"];
    assert_eq!(result["isError"], json!(true), "{answer}");
    let text = result["content"][0]["text"].as_str().unwrap().to_owned();
    let error = &result["_meta"]["dev.crossfeed/error"]["error"];
    let code = error["code"].as_str().unwrap().to_owned();
    assert!(text.starts_with(&format!("{code}: server `a`: ")), "{text}");
    assert_eq!(text.contains("may have run"), code == UNKNOWN, "{text}");
    (answer["id"].as_u64().unwrap(), code, text)
}

#[tokio::test(start_paused = true)]
async fn a_call_that_was_sent_when_its_server_ended_may_have_run() {
    let world = World::new(&["a"]);
    let (client, mut server) = listed(&world).await;
    call(&client, 1, "pay").await;
    call(&client, 2, "look").await;
    client
        .send(r#"{"jsonrpc":"2.0","id":3,"method":"other"}"#)
        .await;
    server.expect("tools/call").await;
    server.expect("tools/call").await;
    server.expect("other").await;
    server.events.send(Event::Closed(ended())).await.unwrap();
    let (id, code, text) = told(&client).await;
    assert_eq!((id, code.as_str()), (1, UNKNOWN));
    assert_eq!(
        text,
        "upstream.outcome_unknown: server `a`: the request may have run: the server has ended: exit status: 3\n\
         find out whether the call took effect; do not make it again before you know"
    );
    let (id, code, text) = told(&client).await;
    assert_eq!((id, code.as_str()), (2, UNKNOWN));
    assert!(
        text.contains("making the call again does no harm"),
        "{text}"
    );
    let other: Value = serde_json::from_str(&client.next().await).unwrap();
    assert_eq!(other["error"]["data"]["code"], json!(UNKNOWN));
    // What comes behind is not sent.
    call(&client, 4, "pay").await;
    let (id, code, text) = told(&client).await;
    assert_eq!((id, code.as_str()), (4, UNAVAILABLE));
    assert!(
        text.ends_with("\nthe call was not made: it can be made again"),
        "{text}"
    );
}

#[tokio::test(start_paused = true)]
async fn what_its_server_did_not_take_was_not_sent() {
    let world = World::new(&["a"]);
    let (client, mut server) = listed(&world).await;
    call(&client, 1, "pay").await;
    server.expect("tools/call").await;
    // One is being handed over, one is in the queue.
    world.fakes[0].is_stuck.store(true, Ordering::Relaxed);
    call(&client, 2, "pay").await;
    call(&client, 3, "pay").await;
    server.events.send(Event::Closed(ended())).await.unwrap();
    let mut codes = Vec::new();
    for _ in 0..3 {
        let (id, code, _) = told(&client).await;
        codes.push((id, code));
    }
    codes.sort();
    let codes: Vec<_> = codes
        .iter()
        .map(|(id, code)| (*id, code.as_str()))
        .collect();
    assert_eq!(codes, [(1, UNKNOWN), (2, UNAVAILABLE), (3, UNAVAILABLE)]);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_runs_when_the_gateway_ends_may_have_run() {
    let world = World::new(&["a"]);
    let (client, mut server) = listed(&world).await;
    call(&client, 1, "pay").await;
    server.expect("tools/call").await;
    client
        .send(r#"{"jsonrpc":"2.0","id":2,"method":"other"}"#)
        .await;
    server.expect("other").await;
    // One is being handed over, one is in the queue.
    world.fakes[0].is_stuck.store(true, Ordering::Relaxed);
    call(&client, 3, "pay").await;
    call(&client, 4, "pay").await;
    client.client.close().await;
    let (id, code, text) = told(&client).await;
    assert_eq!((id, code.as_str()), (1, UNKNOWN));
    assert!(text.contains("the gateway closes the connection"), "{text}");
    let other: Value = serde_json::from_str(&client.next().await).unwrap();
    assert_eq!(other["error"]["data"]["code"], json!(UNKNOWN));
    for (id, code) in [(3, UNKNOWN), (4, UNAVAILABLE)] {
        let told = told(&client).await;
        assert_eq!((told.0, told.1.as_str()), (id, code));
    }
}

#[tokio::test(start_paused = true)]
async fn requests_without_an_id_reach_no_server() {
    let world = World::new(&["a"]);
    let (client, mut server) = listed(&world).await;
    for method in [
        "tools/call",
        "tasks/cancel",
        "tasks/update",
        "resources/read",
        "other",
    ] {
        for id in ["", r#""id":null,"#] {
            let params = r#"{"taskId":"t","uri":"file:///a","name":"pay"}"#;
            client
                .send(&format!(
                    r#"{{"jsonrpc":"2.0",{id}"method":"{method}","params":{params}}}"#
                ))
                .await;
        }
    }
    client
        .send(r#"{"jsonrpc":"2.0","method":"notifications/other"}"#)
        .await;
    server.expect("notifications/other").await;
    assert!(server.is_quiet());
}

#[tokio::test(start_paused = true)]
async fn a_call_that_took_too_long_may_have_run_if_it_left_the_queue() {
    let world = World::with(&["a"], |config| {
        config.servers[0].timeout = Some(Duration::from_secs(3));
    });
    let (client, mut server) = listed(&world).await;
    call(&client, 1, "pay").await;
    server.expect("tools/call").await;
    world.fakes[0].is_stuck.store(true, Ordering::Relaxed);
    call(&client, 2, "pay").await;
    call(&client, 3, "pay").await;
    for (id, code) in [(1, UNKNOWN), (2, UNKNOWN), (3, UNAVAILABLE)] {
        let told = told(&client).await;
        assert_eq!((told.0, told.1.as_str()), (id, code));
        assert!(told.2.contains("did not answer within 3 s"), "{}", told.2);
    }
}

#[tokio::test(start_paused = true)]
async fn a_transport_says_whether_a_call_that_failed_was_sent() {
    let world = World::new(&["a"]);
    let (client, mut server) = listed(&world).await;
    for (id, error, code) in [
        (1, ended(), UNAVAILABLE),
        (2, ended().after_sending(), UNKNOWN),
    ] {
        call(&client, id, "pay").await;
        let sent = server.expect("tools/call").await;
        let id_there = sent.id().unwrap().clone();
        let event = Event::Failed {
            id: id_there,
            error,
        };
        server.events.send(event).await.unwrap();
        let told = told(&client).await;
        assert_eq!((told.0, told.1.as_str()), (id, code));
    }
}

/// Before a call is sent its tool is looked up: that this has no answer says nothing of the call.
#[tokio::test(start_paused = true)]
async fn a_call_whose_tool_cannot_be_listed_was_not_sent() {
    let world = World::new(&["a"]);
    let (client, mut servers) = world.begun(TOOLS).await;
    call(&client, 1, "pay").await;
    servers[0].expect("tools/list").await;
    let event = Event::Closed(ended());
    servers[0].events.send(event).await.unwrap();
    let (id, code, _) = told(&client).await;
    assert_eq!((id, code.as_str()), (1, UNAVAILABLE));
}
