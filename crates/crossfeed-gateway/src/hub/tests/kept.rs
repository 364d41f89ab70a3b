//! Sessions that another process goes on with.

use super::fake::{ConnectionSet, SOON, Server, World};
use crate::{
    config::{GatewayConfig, ListenConfig, Prefix},
    port::{Hub as _, KeptSession, RecallError, SessionPlace},
    principal::Principal,
    records::fake::LastingStore,
};
use crossfeed_store::StoreError;
use futures_util::future::join_all;
use serde_json::Value;
use std::{sync::Arc, sync::atomic::Ordering, time::Duration};

const ALL: &str = r#"{"tools":{"listChanged":true},"resources":{"subscribe":true},"logging":{}}"#;
const TOOLS: &str = r#"{"tools":[{"name":"t","inputSchema":{"type":"object","properties":{"q":{"type":"string"}}}}]}"#;

/// A new process over the store.
async fn process(store: &Arc<LastingStore>) -> World {
    World::over(&["a"], store.clone()).await
}

/// The same as one of several replicas.
async fn replica(store: &Arc<LastingStore>, address: &str) -> World {
    let change = |config: &mut GatewayConfig| {
        let mut listen = ListenConfig::new(ListenConfig::ADDRESS);
        listen.advertise = Some(address.to_owned());
        config.listen = Some(listen);
    };
    let world = World::over_with(&["a"], change, store.clone()).await;
    world.gateway.join().await.unwrap();
    world
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
    match world.gateway.recall(session, &named(holder)).await.unwrap() {
        SessionPlace::Here(kept) => Some(*kept),
        SessionPlace::Nowhere => None,
        SessionPlace::There(peer) => panic!("{peer:?}"),
    }
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
    assert!(matches!(anonymous.unwrap(), SessionPlace::Nowhere));
    let (client, _server) = resumed(&after, "s1", "alice").await;
    client.client.close().await;
    assert!(recalled(&after, "s1", "alice").await.is_none());
    assert_eq!(store.keys("ids"), Vec::<String>::new());
    // One that only one process ever had leaves nothing.
    let (client, _server) = begun(&before, "s3", "alice").await;
    client.client.close().await;
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert_eq!(store.keys("session").len(), 1, "that of s1, with its end");
}

#[tokio::test]
async fn a_session_is_removed_only_where_it_is() {
    let store = LastingStore::new();
    let a = process(&store).await;
    let (stale, mut server) = begun(&a, "s1", "alice").await;
    call(&stale, &mut server, "{}", "one").await;
    let b = process(&store).await;
    let (client, mut server) = resumed(&b, "s1", "alice").await;
    server.expect("notifications/initialized").await;
    // Where it was, nothing is written or removed any more.
    let key = &store.keys("session")[0];
    let before = store.bytes(key);
    assert!(!stale.client.has_moved());
    assert!(stale.client.renew().await);
    assert!(stale.client.has_moved() && !client.client.has_moved());
    stale.client.close().await;
    assert_eq!(store.bytes(key), before);
    let answer = call(&client, &mut server, r#"{"q":{"$tool":"call_1"}}"#, "two").await;
    assert!(answer.contains("one for"), "{answer}");
    assert!(client.client.renew().await && !client.client.has_moved());
    // The same where the session is closed without having found out.
    let c = process(&store).await;
    let (last, mut server) = resumed(&c, "s1", "alice").await;
    server.expect("notifications/initialized").await;
    assert!(!client.client.end_kept().await.unwrap(), "not its own");
    client.client.close().await;
    let answer = call(&last, &mut server, r#"{"q":{"$tool":"call_1"}}"#, "three").await;
    assert!(answer.contains("one for"), "{answer}");
    // It may go back, and forth again.
    let (back, _server) = resumed(&a, "s1", "alice").await;
    assert!(last.client.renew().await && last.client.has_moved());
    // What ended stays so for those who had it.
    back.client.close().await;
    assert!(recalled(&b, "s1", "alice").await.is_none());
    let (ended, _server) = begun(&b, "s2", "alice").await;
    let (taken, _server) = resumed(&c, "s2", "alice").await;
    taken.client.close().await;
    assert!(ended.client.renew().await && ended.client.has_moved());
    assert!(recalled(&c, "s2", "alice").await.is_none());
}

#[tokio::test]
async fn a_session_is_taken_up_only_with_room_for_its_servers() {
    let store = LastingStore::new();
    let a = process(&store).await;
    let (first, _server) = begun(&a, "s1", "alice").await;
    let (_second, _server) = begun(&a, "s2", "alice").await;
    let with_one = |config: &mut GatewayConfig| config.limits.processes = 1;
    let b = World::over_with(&["a"], with_one, store.clone()).await;
    // The client reads its stream, and gives nothing back.
    let (_other, _server) = resumed(&b, "s2", "alice").await;
    let refused = b.gateway.recall("s1", &named("alice")).await.err();
    assert!(
        matches!(refused, Some(RecallError::Crowded(_))),
        "{refused:?}"
    );
    // It is still where it was.
    assert!(first.client.renew().await && !first.client.has_moved());
}

#[tokio::test]
async fn a_name_of_before_means_nothing_until_it_is_listed_again() {
    const NONE: &str = r#"{"tools":[]}"#;
    let store = LastingStore::new();
    let collisions = |config: &mut GatewayConfig| config.prefix = Prefix::Collisions;
    let new = async || World::over_with(&["a", "b"], collisions, store.clone()).await;
    let before = new().await;
    let client = before.session_of(Some("alice"));
    client.client.keep_as("s1");
    let (client, mut servers) = before.begin(client, ALL).await;
    let list = async |client: &ConnectionSet, servers: &mut [Server], lists: [&str; 2]| {
        client.request("tools/list", "{}").await;
        for (server, list) in servers.iter_mut().zip(lists) {
            let request = server.expect("tools/list").await;
            server.answer(&request, list).await;
        }
        client.answer().await
    };
    let answer = list(&client, &mut servers, [TOOLS, NONE]).await;
    assert!(answer.contains(r#""name":"t""#), "{answer}");
    // It was the tool of `a`; now only `b` has one of that name.
    let after = new().await;
    let kept = recalled(&after, "s1", "alice").await.unwrap();
    let gateway = Arc::clone(&after.gateway);
    let client = after.client_of(|outlet| gateway.resume(kept, named("alice"), outlet));
    let mut servers = Vec::new();
    for number in 0..2 {
        let mut server = after.server(number).await;
        server.begin(ALL).await;
        server.expect("notifications/initialized").await;
        servers.push(server);
    }
    client.request("tools/call", r#"{"name":"t"}"#).await;
    for (server, list) in servers.iter_mut().zip([NONE, TOOLS]) {
        let request = server.expect("tools/list").await;
        server.answer(&request, list).await;
    }
    let answer = client.answer().await;
    assert!(answer.contains("tool.unknown"), "{answer}");
    let answer = list(&client, &mut servers, [NONE, TOOLS]).await;
    assert!(answer.contains(r#""name":"t""#), "{answer}");
    let answer = call(&client, &mut servers[1], "{}", "of b").await;
    assert!(answer.contains("of b"), "{answer}");
}

#[tokio::test]
async fn a_session_that_moved_acknowledges_no_change() {
    let store = LastingStore::new();
    let a = process(&store).await;
    let (stale, mut server) = begun(&a, "s1", "alice").await;
    let b = process(&store).await;
    let (_client, _server) = resumed(&b, "s1", "alice").await;
    let level = r#"{"level":"debug"}"#;
    stale.request("logging/setLevel", level).await;
    let request = server.expect("logging/setLevel").await;
    server.answer(&request, "{}").await;
    let answer = stale.answer().await;
    assert!(answer.contains("another process"), "{answer}");
}

#[tokio::test]
async fn a_fault_of_the_gateway_ends_the_request_alone() {
    let store = LastingStore::new();
    let world = process(&store).await;
    let (client, mut server) = begun(&world, "s1", "alice").await;
    call(&client, &mut server, "{}", "first").await;
    store.panics.store(true, Ordering::Relaxed);
    let reference = r#"{"name":"t","arguments":{"q":{"$tool":"call_1"}}}"#;
    client.request("tools/call", reference).await;
    let answer = client.answer().await;
    assert!(answer.contains("a fault of the gateway"), "{answer}");
    store.panics.store(false, Ordering::Relaxed);
    let shown = call(&client, &mut server, r#"{"q":{"$tool":"call_1"}}"#, "then").await;
    assert!(shown.contains("first"), "{shown}");
}

#[tokio::test]
async fn a_store_that_loses_records_or_answers_ends_no_session() {
    let store = LastingStore::new();
    let a = process(&store).await;
    let (first, _server) = begun(&a, "s1", "alice").await;
    let of_first = store.snapshot();
    store.loses_answers.store(true, Ordering::Relaxed);
    assert!(!first.client.renew().await && first.client.is_to_be_kept());
    store.loses_answers.store(false, Ordering::Relaxed);
    assert!(first.client.renew().await && !first.client.is_to_be_kept());
    store.lose_records();
    assert!(first.client.renew().await && !first.client.has_moved());
    assert_eq!(store.keys("session").len(), 1);
    // Of two that have it, the later one stays, whatever the store has lost.
    let b = process(&store).await;
    let (second, _server) = resumed(&b, "s1", "alice").await;
    for first_writes in [true, false] {
        store.go_back(of_first.clone());
        if first_writes {
            assert!(first.client.renew().await && !first.client.has_moved());
        }
        assert!(second.client.renew().await && !second.client.has_moved());
    }
    assert!(first.client.renew().await && first.client.has_moved());
}

#[tokio::test]
async fn an_end_that_cannot_be_kept_removes_nothing() {
    let store = LastingStore::new();
    let a = process(&store).await;
    let (client, mut server) = begun(&a, "s1", "alice").await;
    call(&client, &mut server, "{}", "one").await;
    store.is_away.store(true, Ordering::Relaxed);
    assert!(client.client.end_kept().await.is_err());
    client.client.close().await;
    store.is_away.store(false, Ordering::Relaxed);
    let (client, mut server) = resumed(&a, "s1", "alice").await;
    server.expect("notifications/initialized").await;
    let answer = call(&client, &mut server, r#"{"q":{"$tool":"call_1"}}"#, "two").await;
    assert!(answer.contains("one for"), "{answer}");
    // Once it is said it is so.
    assert!(client.client.end_kept().await.unwrap());
    assert!(client.client.renew().await);
    assert!(recalled(&a, "s1", "alice").await.is_none());
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
async fn the_record_of_another_session_is_damage() {
    let store = LastingStore::new();
    let world = process(&store).await;
    let (_client, _server) = begun(&world, "s1", "alice").await;
    let [of_first] = &store.keys("session")[..] else {
        panic!("one session")
    };
    let (_client, _server) = begun(&world, "s2", "alice").await;
    let keys = store.keys("session");
    let of_second = keys.iter().find(|key| *key != of_first).unwrap();
    store.copy(of_first, of_second);
    assert!(recalled(&world, "s1", "alice").await.is_some());
    let error = world.gateway.recall("s2", &named("alice")).await.err();
    let error = error.unwrap().to_string();
    assert!(error.contains(&format!("`{of_second}`")), "{error}");
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

#[tokio::test(start_paused = true)]
async fn a_session_stays_with_its_replica_while_that_lives() {
    let store = LastingStore::new();
    let one = replica(&store, "http://one").await;
    let other = replica(&store, "http://other").await;
    let (client, mut server) = begun(&one, "s1", "alice").await;
    call(&client, &mut server, "{}", "one").await;
    let there = async || match other.gateway.recall("s1", &named("alice")).await {
        Ok(SessionPlace::There(peer)) => Some(peer),
        Ok(SessionPlace::Nowhere) => None,
        Ok(SessionPlace::Here(_)) => panic!("taken"),
        Err(error) => panic!("{error}"),
    };
    let peer = there().await.unwrap();
    assert_eq!(peer.address, "http://one");
    tokio::select! {
        never = one.gateway.stay() => match never {},
        () = tokio::time::sleep(Duration::from_secs(60)) => {}
    }
    assert_eq!(there().await.as_ref(), Some(&peer));
    assert!(client.client.is_own().await.unwrap());
    // Another principal learns nothing of it.
    let anothers = other.gateway.recall("s1", &named("bob")).await;
    assert!(matches!(anothers, Ok(SessionPlace::Nowhere)));
    // It was paused for longer than others wait, and finds out before it serves.
    tokio::time::sleep(Duration::from_secs(7)).await;
    assert_eq!(other.gateway.peer(&peer.name).await.unwrap(), None);
    // So was the other: it says that it lives before it takes anything up.
    let (moved, mut server) = resumed(&other, "s1", "alice").await;
    assert!(!client.client.is_own().await.unwrap());
    assert!(client.client.has_moved());
    server.expect("notifications/initialized").await;
    let answer = call(&moved, &mut server, r#"{"q":{"$tool":"call_1"}}"#, "two").await;
    assert!(answer.contains("one for"), "{answer}");
    let back = one.gateway.recall("s1", &named("alice")).await;
    assert!(matches!(back, Ok(SessionPlace::There(peer)) if peer.address == "http://other"));
    // One that ends lets it go at once, and takes part in nothing more.
    other.gateway.leave().await;
    assert!(matches!(
        one.gateway.recall("s1", &named("alice")).await,
        Ok(SessionPlace::Here(_))
    ));
    assert!(!moved.client.is_own().await.unwrap());
}

/// What a client would be told that it is over goes on where its replica writes it again.
#[tokio::test(start_paused = true)]
async fn a_session_is_not_over_because_the_store_lost_its_data() {
    let store = LastingStore::new();
    let one = replica(&store, "http://one").await;
    let other = replica(&store, "http://other").await;
    let (client, _server) = begun(&one, "s1", "alice").await;
    let nowhere = async || match other.gateway.recall("s1", &named("alice")).await {
        Err(RecallError::Store(StoreError::Unavailable { retry: true, .. })) => false,
        Ok(SessionPlace::Nowhere) => true,
        _ => panic!("found"),
    };
    store.lose_records();
    assert!(!nowhere().await);
    let both = async {
        tokio::join!(one.gateway.stay(), other.gateway.stay());
    };
    tokio::select! {
        () = both => {}
        () = tokio::time::sleep(Duration::from_secs(4)) => {}
    }
    assert!(!nowhere().await);
    assert!(client.client.is_to_be_kept());
    assert!(client.client.renew().await);
    let there = other.gateway.recall("s1", &named("alice")).await;
    assert!(matches!(there, Ok(SessionPlace::There(peer)) if peer.address == "http://one"));
    // One that no replica has is over, once all had the time to write.
    store.lose_records();
    let stay = async {
        tokio::join!(one.gateway.stay(), other.gateway.stay());
    };
    tokio::select! {
        () = stay => {}
        () = tokio::time::sleep(Duration::from_secs(10)) => {}
    }
    assert!(nowhere().await);
}

#[tokio::test(start_paused = true)]
async fn of_a_replica_that_comes_back_and_another_one_has_the_session() {
    let store = LastingStore::new();
    let one = replica(&store, "http://one").await;
    let other = replica(&store, "http://other").await;
    let (client, _server) = begun(&one, "s1", "alice").await;
    // Paused, and back before another asked: it stays its own, and what another read meanwhile is of the past.
    tokio::time::sleep(Duration::from_secs(7)).await;
    assert!(client.client.is_own().await.unwrap());
    let recalled = other.gateway.recall("s1", &named("alice")).await;
    assert!(matches!(recalled, Ok(SessionPlace::There(_))));
    // The store is away: it is not known.
    tokio::time::sleep(Duration::from_secs(7)).await;
    store.is_away.store(true, Ordering::Relaxed);
    assert!(client.client.is_own().await.is_err());
    assert!(!client.client.has_moved());
}

#[tokio::test(start_paused = true)]
async fn a_session_that_no_replica_took_is_looked_at_again() {
    let store = LastingStore::new();
    let one = replica(&store, "http://one").await;
    let (client, _server) = begun(&one, "s1", "alice").await;
    // A version of before knows of no replica, and takes the session up; another replica goes on with it.
    let before = process(&store).await;
    let (_old, _server) = resumed(&before, "s1", "alice").await;
    let other = replica(&store, "http://other").await;
    let (_taken, _server) = resumed(&other, "s1", "alice").await;
    stay(&one).await;
    assert!(!client.client.is_own().await.unwrap());
    assert!(client.client.has_moved());
}

#[tokio::test(start_paused = true)]
async fn a_session_in_use_is_looked_at_once_in_the_time_of_a_lease() {
    let store = LastingStore::new();
    let one = replica(&store, "http://one").await;
    let (client, _server) = begun(&one, "s1", "alice").await;
    for _ in 0..3 {
        let key = &store.keys("session")[0];
        let before = (store.reads.load(Ordering::Relaxed), store.bytes(key));
        for _ in 0..2 {
            let asked = (0..20).map(|_| client.client.is_own());
            for is_own in join_all(asked).await {
                assert!(is_own.unwrap());
            }
        }
        let reads = store.reads.load(Ordering::Relaxed) - before.0;
        assert!(reads <= 1, "{reads}");
        assert_eq!(store.bytes(key), before.1);
        stay(&one).await;
        let before = store.reads.load(Ordering::Relaxed);
        assert!(client.client.is_own().await.unwrap());
        assert_eq!(store.reads.load(Ordering::Relaxed), before + 1);
    }
    // What the store has lost is written again.
    store.lose_records();
    stay(&one).await;
    assert!(client.client.is_own().await.unwrap());
    assert_eq!(store.keys("session").len(), 1);
}

/// Those who ask while it hangs do not wait for each other, whether it is only looked at or to be written again.
#[tokio::test(start_paused = true)]
async fn a_store_that_hangs_is_waited_for_once() {
    let hang = Duration::from_secs(2);
    for is_lost in [false, true] {
        let store = LastingStore::new();
        let one = replica(&store, "http://one").await;
        let (client, _server) = begun(&one, "s1", "alice").await;
        if is_lost {
            // Another term.
            store.lose_records();
        }
        stay(&one).await;
        store.hangs.store(true, Ordering::Relaxed);
        let begun = tokio::time::Instant::now();
        let asked = (0..20).map(|_| client.client.is_own());
        for is_own in join_all(asked).await {
            assert!(is_own.is_err());
        }
        assert!(begun.elapsed() < 2 * hang, "{:?}", begun.elapsed());
        store.hangs.store(false, Ordering::Relaxed);
        assert!(client.client.is_own().await.unwrap());
    }
}

/// What was written in a term that is over says nothing of the next.
#[tokio::test(start_paused = true)]
async fn a_replica_whose_time_is_over_before_its_turn_says_first_that_it_lives() {
    let store = LastingStore::new();
    let one = replica(&store, "http://one").await;
    let (client, _server) = begun(&one, "s1", "alice").await;
    store.lose_records();
    stay(&one).await;
    // The lease ends while a write hangs.
    tokio::time::sleep(Duration::from_millis(3_900)).await;
    store.hangs.store(true, Ordering::Relaxed);
    let back = async {
        tokio::time::sleep(Duration::from_millis(1_950)).await;
        store.hangs.store(false, Ordering::Relaxed);
    };
    let asked = async {
        tokio::time::sleep(Duration::from_millis(1)).await;
        client.client.is_own().await
    };
    let (_, is_own, ()) = tokio::join!(client.client.renew(), asked, back);
    assert!(is_own.unwrap());
    let reads = store.reads.load(Ordering::Relaxed);
    assert!(client.client.is_own().await.unwrap());
    assert_eq!(
        store.reads.load(Ordering::Relaxed),
        reads,
        "seen in this term"
    );
}

#[tokio::test(start_paused = true)]
async fn a_session_without_a_place_here_is_free_for_other_replicas() {
    let store = LastingStore::new();
    let one = replica(&store, "http://one").await;
    let other = replica(&store, "http://other").await;
    let (client, mut server) = begun(&one, "s1", "alice").await;
    call(&client, &mut server, "{}", "one").await;
    // It makes room for another.
    client.client.leave();
    client.client.close().await;
    // Where it is taken up, there is no place.
    let kept = recalled(&other, "s1", "alice").await.unwrap();
    other.gateway.let_go(kept).await;
    let (client, mut server) = resumed(&one, "s1", "alice").await;
    server.expect("notifications/initialized").await;
    let answer = call(&client, &mut server, r#"{"q":{"$tool":"call_1"}}"#, "two").await;
    assert!(answer.contains("one for"), "{answer}");
    let there = other.gateway.recall("s1", &named("alice")).await;
    assert!(matches!(there, Ok(SessionPlace::There(_))));
}

/// The replica lives on for longer than others count it as alive.
async fn stay(world: &World) {
    tokio::select! {
        never = world.gateway.stay() => match never {},
        () = tokio::time::sleep(Duration::from_secs(7)) => {}
    }
}

#[tokio::test(start_paused = true)]
async fn who_has_a_session_is_known_while_it_is_there_and_ends() {
    let store = LastingStore::new();
    let one = replica(&store, "http://one").await;
    let other = replica(&store, "http://other").await;
    let holder = async |world: &World| world.gateway.holder("s1").await.unwrap();
    assert_eq!(holder(&other).await, None);
    let (client, mut server) = begun(&one, "s1", "alice").await;
    call(&client, &mut server, "{}", "one").await;
    assert_eq!(holder(&one).await, None);
    let (first, peer) = holder(&other).await.unwrap();
    assert_eq!((first, &*peer.address), (0, "http://one"));
    assert!(other.gateway.stays(&peer.name).await.unwrap());
    assert!(!one.gateway.stays(&peer.name).await.unwrap());
    one.gateway.leave().await;
    assert!(!other.gateway.stays(&peer.name).await.unwrap());
    assert_eq!(holder(&other).await, Some((0, peer)));
    let kept = recalled(&other, "s1", "alice").await.unwrap();
    let (first, peer) = holder(&one).await.unwrap();
    assert_eq!(first, kept.first_number());
    assert_eq!(peer.address, "http://other");
    tokio::time::sleep(Duration::from_secs(7)).await;
    assert_eq!(holder(&one).await, None);
}
