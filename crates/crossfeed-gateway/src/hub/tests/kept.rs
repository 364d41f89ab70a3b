//! Sessions that another process goes on with.

use super::fake::{ConnectionSet, SOON, Server, World};
use crate::{
    port::{Hub as _, KeptSession},
    principal::Principal,
    records::fake::LastingStore,
};
use serde_json::Value;
use std::{sync::Arc, sync::atomic::Ordering, time::Duration};

const ALL: &str = r#"{"tools":{"listChanged":true},"resources":{"subscribe":true},"logging":{}}"#;
const TOOLS: &str = r#"{"tools":[{"name":"t","inputSchema":{"type":"object","properties":{"q":{"type":"string"}}}}]}"#;

/// A new process over the store.
async fn process(store: &Arc<LastingStore>) -> World {
    World::over(&["a"], store.clone()).await
}

fn named(name: &str) -> Principal {
    Principal::Named(name.to_owned())
}

/// A session of this id that has begun.
async fn begun(world: &World, session: &str, holder: &str) -> (ConnectionSet, Server) {
    let client = world.session_of(Some(holder));
    client.client.keep_as(session);
    let (client, mut servers) = world.begin(client, ALL).await;
    (client, servers.remove(0))
}

async fn recalled(world: &World, session: &str, holder: &str) -> Option<KeptSession> {
    world.gateway.recall(session, &named(holder)).await.unwrap()
}

async fn resumed(world: &World, session: &str, holder: &str) -> (ConnectionSet, Server) {
    let kept = recalled(world, session, holder).await.unwrap();
    let gateway = Arc::clone(&world.gateway);
    let client = world.client_of(|outlet| gateway.resume(kept, named(holder), outlet));
    let mut server = world.server(0).await;
    server.begin(ALL).await;
    (client, server)
}

/// Calls the tool, which gives this text; what the client gets.
async fn call(client: &ConnectionSet, server: &mut Server, arguments: &str, text: &str) -> String {
    client
        .request(
            "tools/call",
            &format!(r#"{{"name":"t","arguments":{arguments}}}"#),
        )
        .await;
    loop {
        let request = server.next().await;
        match request.method() {
            Some("tools/list") => server.answer(&request, TOOLS).await,
            Some("tools/call") => {
                let sent = request.params().unwrap();
                let text = format!("{text} for {}", String::from_utf8_lossy(&sent));
                let text = crossfeed_json::quoted(&text);
                let result = format!(r#"{{"content":[{{"type":"text","text":{text}}}]}}"#);
                server.answer(&request, &result).await;
                return client.answer().await;
            }
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn a_session_goes_on_in_another_process() {
    let store = LastingStore::new();
    let before = process(&store).await;
    let (client, mut server) = begun(&before, "s1", "alice").await;
    let answer = call(&client, &mut server, "{}", "one").await;
    assert!(answer.contains("call_1"), "{answer}");
    client
        .request("logging/setLevel", r#"{"level":"debug"}"#)
        .await;
    let request = server.expect("logging/setLevel").await;
    server.answer(&request, "{}").await;
    client.answer().await;
    for uri in ["a:1", "a:2"] {
        client
            .request("resources/subscribe", &format!(r#"{{"uri":"{uri}"}}"#))
            .await;
        let request = server.expect("resources/subscribe").await;
        server.answer(&request, "{}").await;
        client.answer().await;
    }
    // It is not asked: the process was killed.
    let after = process(&store).await;
    let (client, mut server) = resumed(&after, "s1", "alice").await;
    server.expect("notifications/initialized").await;
    let level = server.expect("logging/setLevel").await;
    assert_eq!(&level.params().unwrap()[..], br#"{"level":"debug"}"#);
    server.answer(&level, "{}").await;
    for uri in ["a:1", "a:2"] {
        let subscribed = server.expect("resources/subscribe").await;
        let params = subscribed.params().unwrap();
        assert_eq!(params, format!(r#"{{"uri":"{uri}"}}"#));
        server.answer(&subscribed, "{}").await;
    }
    // What was recorded before is there, and no id is given again.
    let answer = call(&client, &mut server, r#"{"q":{"$tool":"call_1"}}"#, "two").await;
    assert!(answer.contains("one for"), "{answer}");
    let answer: Value = serde_json::from_str(&answer).unwrap();
    let last = answer["result"]["content"].as_array().unwrap().last();
    let last: Value = serde_json::from_str(last.unwrap()["text"].as_str().unwrap()).unwrap();
    let number = last["_toolCallId"].as_str().unwrap();
    let number: u64 = number.strip_prefix("call_").unwrap().parse().unwrap();
    assert!(number > 1, "{number}");
    // Requests of servers have numbers of their own.
    let ask = super::fake::message(r#"{"jsonrpc":"2.0","id":"x","method":"roots/list"}"#);
    server.say(ask).await;
    loop {
        let asked = client.next().await;
        if asked.contains("roots/list") {
            assert!(asked.contains(r#""id":4294967297"#), "{asked}");
            break;
        }
    }
}

#[tokio::test]
async fn a_session_is_its_principals_alone_and_ends_for_good() {
    let store = LastingStore::new();
    let before = process(&store).await;
    let (client, mut server) = begun(&before, "s1", "alice").await;
    call(&client, &mut server, "{}", "one").await;
    let after = process(&store).await;
    assert!(recalled(&after, "s1", "bob").await.is_none());
    assert!(recalled(&after, "s2", "alice").await.is_none());
    let anonymous = after.gateway.recall("s1", &Principal::Anonymous).await;
    assert!(anonymous.unwrap().is_none());
    let (client, _server) = resumed(&after, "s1", "alice").await;
    client.client.close().await;
    assert!(recalled(&after, "s1", "alice").await.is_none());
    assert_eq!(store.keys("session"), Vec::<String>::new());
    assert_eq!(store.keys("ids"), Vec::<String>::new());
}

#[tokio::test]
async fn an_orderly_end_keeps_what_a_kill_keeps() {
    let store = LastingStore::new();
    let before = process(&store).await;
    let (client, mut server) = begun(&before, "s1", "alice").await;
    call(&client, &mut server, "{}", "one").await;
    before.gateway.shut_down().await;
    before.gateway.shut_down().await;
    let after = process(&store).await;
    let (client, mut server) = resumed(&after, "s1", "alice").await;
    server.expect("notifications/initialized").await;
    let answer = call(&client, &mut server, r#"{"q":{"$tool":"call_1"}}"#, "two").await;
    assert!(answer.contains("one for"), "{answer}");
}

#[tokio::test]
async fn what_cannot_be_kept_is_not_acknowledged() {
    let store = LastingStore::new();
    let world = process(&store).await;
    let (client, mut server) = begun(&world, "s1", "alice").await;
    store.is_away.store(true, Ordering::Relaxed);
    client
        .request("resources/subscribe", r#"{"uri":"a:1"}"#)
        .await;
    let request = server.expect("resources/subscribe").await;
    server.answer(&request, "{}").await;
    let answer = client.answer().await;
    assert!(answer.contains("store.unavailable"), "{answer}");
    // Neither is a session.
    let other = world.session_of(Some("alice"));
    other.client.keep_as("s2");
    other.send(super::fake::INITIALIZE).await;
    let mut server = world.server(0).await;
    server.begin(ALL).await;
    let answer = other.answer().await;
    assert!(answer.contains("store.unavailable"), "{answer}");
    // It is unknown whether there is one.
    assert!(world.gateway.recall("s1", &named("alice")).await.is_err());
    store.is_away.store(false, Ordering::Relaxed);
    assert!(recalled(&world, "s2", "alice").await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_record_lasts_as_long_as_the_session_may_be_idle() {
    let store = LastingStore::new();
    let world = process(&store).await;
    let (client, _server) = begun(&world, "s1", "alice").await;
    let idle = world.gateway.config().limits.session_idle;
    tokio::time::sleep(idle - SOON).await;
    client.client.renew().await;
    tokio::time::sleep(idle).await;
    assert!(recalled(&world, "s1", "alice").await.is_some());
    tokio::time::sleep(idle * 2 + Duration::from_secs(1)).await;
    assert!(recalled(&world, "s1", "alice").await.is_none());
}

#[tokio::test]
async fn records_of_other_versions_are_read_as_far_as_they_are_known() {
    let store = LastingStore::new();
    let world = process(&store).await;
    let (_client, _server) = begun(&world, "s1", "alice").await;
    let [key] = &store.keys("session")[..] else {
        panic!("one session")
    };
    let record = String::from_utf8(store.bytes(key).to_vec()).unwrap();
    assert!(record.starts_with(r#"{"format":1,"#), "{record}");
    store.overwrite(key, &record.replacen('{', r#"{"later":[1],"#, 1));
    assert!(recalled(&world, "s1", "alice").await.is_some());
    store.overwrite(key, &record.replace("2025-11-25", "2031-01-01"));
    assert!(recalled(&world, "s1", "alice").await.is_none());
    for (bad, message) in [
        (
            record.replacen(r#""format":1"#, r#""format":2"#, 1),
            "format 2",
        ),
        ("{}".to_owned(), "damaged"),
        ("x".to_owned(), "damaged"),
    ] {
        store.overwrite(key, &bad);
        let error = world.gateway.recall("s1", &named("alice")).await.err();
        let error = error.unwrap().to_string();
        assert!(error.contains(message), "{error}");
    }
}
