//! Clients without sessions, whose requests any of several processes over one store answers.

use super::fake::{ConnectionSet, Server, World};
use crate::{config::Prefix, message::Message, records::fake::LastingStore};
use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}"#;
const DISCOVERED: &str = r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"prompts":{},"resources":{}},"serverInfo":{"name":"s","version":"1"},"ttlMs":0,"cacheScope":"private"}"#;

fn tools(names: &[&str]) -> String {
    let tools = names
        .iter()
        .map(|name| format!(r#"{{"name":"{name}","inputSchema":{{"type":"object"}}}}"#));
    format!(r#"{{"tools":[{}]}}"#, tools.collect::<Vec<_>>().join(","))
}

fn prompts(names: &[&str]) -> String {
    let prompts = names.iter().map(|name| format!(r#"{{"name":"{name}"}}"#));
    format!(
        r#"{{"prompts":[{}]}}"#,
        prompts.collect::<Vec<_>>().join(",")
    )
}

/// A process over the store, its shared client, and its servers; the first of these may be away.
async fn process(
    store: &Arc<LastingStore>,
    prefix: Prefix,
    has_first: bool,
) -> (World, ConnectionSet, Vec<Option<Server>>) {
    let change = |config: &mut crate::config::GatewayConfig| config.prefix = prefix;
    let world = World::over_with(&["a", "b"], change, store.clone()).await;
    world.fakes[0].is_down.store(!has_first, Ordering::Relaxed);
    let client = world.stateless();
    client.request("x/y", &format!("{{{META}}}")).await;
    let mut servers = Vec::new();
    for index in 0..2 {
        if index == 0 && !has_first {
            servers.push(None);
            continue;
        }
        let mut server = world.server(index).await;
        let probe = server.expect("server/discover").await;
        server.answer(&probe, DISCOVERED).await;
        servers.push(Some(server));
    }
    client.answer().await;
    (world, client, servers)
}

async fn asked(client: &ConnectionSet, method: &str, more: &str) {
    client.request(method, &format!("{{{more}{META}}}")).await;
}

/// What a client is listed, where each server lists this.
async fn listed(
    client: &ConnectionSet,
    servers: &mut [Option<Server>],
    method: &str,
    list: &str,
) -> String {
    asked(client, method, "").await;
    for server in servers.iter_mut().flatten() {
        let request = server.expect(method).await;
        server.answer(&request, list).await;
    }
    client.answer().await
}

/// The next request that is not for a list, and the server that it is for: lists are answered with this one.
async fn next(servers: &mut [Option<Server>], list: &str) -> Option<(usize, Message)> {
    for (at, server) in servers.iter_mut().enumerate() {
        while let Some(server) = server
            && let Ok(request) = server.inbox.try_recv()
        {
            if !request.method().is_some_and(|own| own.ends_with("/list")) {
                return Some((at, request));
            }
            server.answer(&request, list).await;
        }
    }
    None
}

/// Which server a request reaches, if any, after those for lists; and what the client is shown of its answer.
async fn reached_and_shown(
    servers: &mut [Option<Server>],
    client: &ConnectionSet,
    list: &str,
) -> Option<(usize, String)> {
    let (at, request) = loop {
        if let Some(next) = next(servers, list).await {
            break next;
        }
        if !client.is_quiet().await {
            return None;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    };
    let server = servers[at].as_ref().unwrap();
    let answer = r#"{"content":[],"messages":[]}"#;
    server.answer(&request, answer).await;
    let mut shown = Box::pin(client.answer());
    loop {
        if let Ok(shown) = tokio::time::timeout(Duration::from_millis(1), &mut shown).await {
            return Some((at, shown));
        }
        assert!(next(servers, list).await.is_none());
    }
}

/// Which server a request reaches, if any, after those for lists.
async fn reached(
    servers: &mut [Option<Server>],
    client: &ConnectionSet,
    list: &str,
) -> Option<usize> {
    let reached = reached_and_shown(servers, client, list).await;
    reached.map(|(at, _)| at)
}

/// One process lists while the first server is away, another with it: whatever name a list shows is the same everywhere.
#[tokio::test]
async fn a_name_means_the_same_in_every_process() {
    for (list, call, all) in [
        ("tools/list", "tools/call", tools(&["read"])),
        ("prompts/list", "prompts/get", prompts(&["read"])),
    ] {
        let store = LastingStore::new();
        let (_one, here, mut at_one) = process(&store, Prefix::Collisions, false).await;
        let (_other, there, mut at_other) = process(&store, Prefix::Collisions, true).await;
        let shown = listed(&here, &mut at_one, list, &all).await;
        listed(&there, &mut at_other, list, &all).await;
        for (name, server) in [("read", 1), ("b__read", 1)] {
            if !shown.contains(&format!(r#""name":"{name}""#)) {
                continue;
            }
            asked(
                &there,
                call,
                &format!(r#""name":"{name}","arguments":{{}},"#),
            )
            .await;
            let reached = reached(&mut at_other, &there, &all).await;
            assert_eq!(reached, Some(server), "{name} of {shown}");
        }
        assert!(shown.contains("b__read"), "{shown}");
    }
}

/// A client was listed a tool elsewhere, after this process had listed for the last time.
#[tokio::test]
async fn a_name_that_another_process_listed_is_known() {
    for (list, call, changed, before, after) in [
        (
            "tools/list",
            "tools/call",
            "notifications/tools/list_changed",
            tools(&["old"]),
            tools(&["old", "new"]),
        ),
        (
            "prompts/list",
            "prompts/get",
            "notifications/prompts/list_changed",
            prompts(&["old"]),
            prompts(&["old", "new"]),
        ),
    ] {
        let store = LastingStore::new();
        let (_world, client, mut servers) = process(&store, Prefix::Always, true).await;
        listed(&client, &mut servers, list, &before).await;
        let told = format!(r#"{{"jsonrpc":"2.0","method":"{changed}"}}"#);
        let first = servers[0].as_ref().unwrap();
        first.say(super::fake::message(&told)).await;
        tokio::time::sleep(Duration::from_millis(20)).await;
        asked(&client, call, r#""name":"a__new","arguments":{},"#).await;
        assert_eq!(
            reached(&mut servers, &client, &after).await,
            Some(0),
            "{call}"
        );
    }
}

#[tokio::test]
async fn clients_without_sessions_have_their_tasks_in_every_process() {
    let store = LastingStore::new();
    let (_one, here, mut at_one) = process(&store, Prefix::Always, true).await;
    let (_other, there, mut at_other) = process(&store, Prefix::Always, true).await;
    listed(&here, &mut at_one, "tools/list", &tools(&["job"])).await;
    asked(&here, "tools/call", r#""name":"b__job","arguments":{},"#).await;
    let server = at_one[1].as_mut().unwrap();
    let request = server.expect("tools/call").await;
    let task = r#"{"resultType":"task","taskId":"t1","status":"working","ttlMs":1000}"#;
    server.answer(&request, task).await;
    assert!(here.answer().await.contains("t1"));
    asked(&there, "tasks/get", r#""taskId":"t2","#).await;
    assert_eq!(reached(&mut at_other, &there, "{}").await, None);
    // What it returned is recorded there, though nothing was listed before.
    let mut before = None;
    for _ in 0..2 {
        asked(&there, "tasks/get", r#""taskId":"t1","#).await;
        let reached = reached_and_shown(&mut at_other, &there, &tools(&["job"])).await;
        let (at, shown) = reached.unwrap();
        assert_eq!(at, 1);
        assert!(shown.contains("_toolCallId"), "{shown}");
        assert_eq!(*before.get_or_insert_with(|| shown.clone()), shown);
    }
}
