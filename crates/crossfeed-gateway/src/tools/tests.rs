//! Calls and results, from what a client writes to what it sees.

use super::{Call, Caller, ClientTools, Forward, ServerList, Tools};
use crate::{
    Revision,
    config::{FlowRule, GatewayConfig, ServerConfig, TransportConfig},
    downstream::Principal,
};
use bytes::Bytes;
use crossfeed_core::{Engine, EngineOptions};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::{collections::BTreeMap, sync::Arc};

pub(super) fn server(name: &str) -> ServerConfig {
    let transport = TransportConfig::Stdio {
        command: "none".to_owned(),
        args: Vec::new(),
        env: BTreeMap::new(),
        cwd: None,
    };
    ServerConfig::new(name, transport)
}

/// A gateway to servers that list these tools.
pub(super) struct World {
    tools: Tools,
    lists: Vec<ServerList>,
}

impl World {
    pub(super) fn new(servers: Vec<(ServerConfig, Value)>, flows: Vec<FlowRule>) -> Self {
        let lists = servers.iter().enumerate().map(|(index, (_, tools))| {
            let page = json!({ "tools": tools }).to_string();
            ServerList::new(index, vec![page.into()])
        });
        let lists = lists.collect();
        let config = GatewayConfig {
            servers: servers.into_iter().map(|(server, _)| server).collect(),
            flows,
            ..GatewayConfig::default()
        };
        let engine = Engine::in_memory(EngineOptions::default());
        Self {
            tools: Tools::new(engine, Arc::new(config)),
            lists,
        }
    }

    pub(super) async fn client(&self, caller: Caller) -> ClientTools {
        let client = self.tools.of(caller);
        client.list(&self.lists).await;
        client
    }
}

pub(super) fn local() -> Caller {
    Caller::new(
        Principal::Local,
        Some("s".to_owned()),
        Revision::V2025_11_25,
    )
}

/// Two tools: one whose output has a schema, one that takes anything.
pub(super) fn tools() -> Value {
    json!([
        {"name": "search", "inputSchema": {"type": "object", "properties": {"q": {"type": "string"}}}},
        {"name": "fetch", "inputSchema": {"type": "object", "properties": {
            "url": {"type": "string"}, "region": {"type": "string", "x-mcp-header": "Region"}, "any": {},
        }, "required": ["url"], "additionalProperties": false}},
        {"name": "typed", "inputSchema": {"type": "object"}, "outputSchema": {
            "type": "object",
            "properties": {"items": {"type": "array", "items": {"type": "object"}}, "n": {"type": "integer"}},
            "required": ["items"],
            "additionalProperties": false,
        }},
        {"name": "page", "inputSchema": {"type": "object"}, "_meta": {"ui": {"resourceUri": "ui://x"}}},
        {"name": "secret", "inputSchema": {"type": "object"}, "_meta": {"dev.crossfeed/chain": false}},
    ])
}

pub(super) async fn one() -> ClientTools {
    let world = World::new(vec![(server("a"), tools())], Vec::new());
    world.client(local()).await
}

pub(super) fn params(name: &str, arguments: Value) -> Bytes {
    json!({"name": name, "arguments": arguments})
        .to_string()
        .into()
}

pub(super) async fn forward(client: &ClientTools, params: Bytes) -> Forward {
    match client.call(params).await {
        Call::Forward(forward) => forward,
        Call::Answered(answer) => panic!("{}", String::from_utf8_lossy(&answer)),
        Call::Refused(error) => panic!("{error:?}"),
    }
}

pub(super) async fn answered(client: &ClientTools, params: Bytes) -> Value {
    match client.call(params).await {
        Call::Answered(answer) => serde_json::from_slice(&answer).unwrap(),
        Call::Forward(forward) => panic!("{}", String::from_utf8_lossy(&forward.params)),
        Call::Refused(error) => panic!("{error:?}"),
    }
}

/// Calls a tool that gives `result`, and what the client sees.
pub(super) async fn returned(client: &ClientTools, name: &str, result: Value) -> Value {
    let forward = forward(client, params(name, json!({}))).await;
    let shown = forward.pending.finish(result.to_string().into()).await;
    serde_json::from_slice(&shown).unwrap()
}

/// The text of an answer that is an error.
pub(super) fn error(answer: &Value) -> &str {
    assert_eq!(answer["isError"], json!(true), "{answer}");
    answer["content"][0]["text"].as_str().unwrap()
}

fn id_part(id: &str) -> Value {
    json!({"type": "text", "text": format!("{{\"_toolCallId\":\"{id}\"}}")})
}

#[tokio::test]
async fn without_references_the_bytes_stay() {
    let client = one().await;
    for arguments in [
        r#"{"arguments" : {"url": 1e400, "x":"y" } ,"name":"fetch","_meta":{"progressToken":1}}"#,
        r#"{"name":"search"}"#,
        r#"{"name":"search","arguments":{"q":  "a \\u0041"}}"#,
        r#"{"name":"search","arguments":{"q":  7}}"#,
        r#"{"name":"secret","arguments":{"q":  7}}"#,
    ] {
        let forward = forward(&client, Bytes::from(arguments)).await;
        assert_eq!(String::from_utf8_lossy(&forward.params), arguments);
    }
    // What stands for nothing is left out, where the tool does not take null.
    let forward = forward(&client, params("search", json!({"q": null, "_refs": null}))).await;
    assert_eq!(forward.params, params("search", json!({})));
}

#[tokio::test]
async fn unknown_tools_are_refused() {
    let client = one().await;
    for params in [r#"{"name":"no"}"#, "{}", "[]", r#"{"name":7}"#] {
        let Call::Refused(error) = client.call(Bytes::from(params)).await else {
            panic!("{params}");
        };
        assert_eq!(error.code, -32602);
    }
}

#[tokio::test]
async fn references_are_resolved() {
    let client = one().await;
    let found = json!({"content": [{"type": "text", "text": "{\"items\":[{\"url\":\"u\"}]}"}]});
    let shown = returned(&client, "search", found).await;
    assert_eq!(shown["content"][1], id_part("call_1"));
    let arguments = json!({"url": null, "region": "eu", "_refs": {"url": {"_tool": "call_1", "_select": "items[0].url"}}});
    let forward = forward(&client, params("fetch", arguments)).await;
    let sent: Value = serde_json::from_slice(&forward.params).unwrap();
    assert_eq!(
        sent,
        json!({"name": "fetch", "arguments": {"url": "u", "region": "eu"}})
    );
    assert_eq!(forward.headers.len(), 1);
    assert_eq!(forward.headers[0].value, "eu");

    for (arguments, code) in [
        (
            json!({"url": null, "_refs": {"url": {"_tool": "call_9"}}}),
            "result.unknown",
        ),
        (
            json!({"url": null, "_refs": {"url": {"_tool": "call_1", "_select": "none"}}}),
            "select.matched_nothing",
        ),
        (
            json!({"url": null, "_refs": {"url": {"_tool": "call_1", "_select": "items"}}}),
            "arguments.invalid",
        ),
        (json!({"url": {"$tool": 7}}), "reference.malformed"),
    ] {
        let answer = answered(&client, params("fetch", arguments.clone())).await;
        assert!(error(&answer).starts_with(code), "{arguments} {answer}");
        assert_eq!(
            answer["_meta"]["dev.crossfeed/error"]["error"]["code"],
            json!(code)
        );
    }
    let arguments = json!({"a": {"$tool": "call_1"}});
    let answer = answered(&client, params("secret", arguments)).await;
    assert!(error(&answer).starts_with("flow.refused"));
}

#[tokio::test]
async fn a_reference_waits_for_a_call_in_flight() {
    let client = Arc::new(one().await);
    let first = forward(&client, params("search", json!({}))).await;
    let waiting = tokio::spawn({
        let client = Arc::clone(&client);
        let arguments = json!({"url": null, "_refs": {"url": {"_tool": "call_1"}}});
        async move { forward(&client, params("fetch", arguments)).await.params }
    });
    tokio::task::yield_now().await;
    let result = json!({"content": [{"type": "text", "text": "u"}]});
    first.pending.finish(result.to_string().into()).await;
    let sent: Value = serde_json::from_slice(&waiting.await.unwrap()).unwrap();
    assert_eq!(sent["arguments"], json!({"url": "u"}));
}

/// What a client sees of a result of `name`.
async fn check(name: &str, result: Value, expected: Value) {
    let client = one().await;
    assert_eq!(
        returned(&client, name, result.clone()).await,
        expected,
        "{result}"
    );
}

#[tokio::test]
async fn the_call_id_is_in_every_copy() {
    let text = json!({"type": "text", "text": "t"});
    let id = id_part("call_1");
    check(
        "search",
        json!({"content": [text]}),
        json!({"content": [text, id]}),
    )
    .await;
    check("search", json!({"content": []}), json!({"content": [id]})).await;
    check("search", json!({}), json!({"content": [id]})).await;
    let (said, structured) = (
        json!({"type": "text", "text": "{\"n\":1}"}),
        json!({"n": 1}),
    );
    check(
        "search",
        json!({"structuredContent": structured}),
        json!({"structuredContent": {"n": 1, "_toolCallId": "call_1"}, "content": [said, id]}),
    )
    .await;
    check(
        "search",
        json!({"content": [text], "structuredContent": structured, "own": 1}),
        json!({"content": [text, id], "structuredContent": {"n": 1, "_toolCallId": "call_1"}, "own": 1}),
    )
    .await;
    // A page of the tool's own reads what it reads without us.
    check(
        "page",
        json!({"content": [text], "structuredContent": structured}),
        json!({"content": [text, id], "structuredContent": structured}),
    )
    .await;
    let parts = json!({"type": "text", "text": "{\"_toolCallId\":\"call_1\",\"_crossfeedParts\":\"refer to the parts above as [0], [1], …\"}"});
    let image = json!({"type": "image", "data": "AAAA", "mimeType": "image/png"});
    check(
        "search",
        json!({"content": [text, image]}),
        json!({"content": [text, image, parts]}),
    )
    .await;
}

#[tokio::test]
async fn what_clients_refuse_is_not_sent() {
    let id = id_part("call_1");
    let said = |text: &str| json!({"type": "text", "text": text});
    check(
        "search",
        json!({"structuredContent": null}),
        json!({"content": [id]}),
    )
    .await;
    check(
        "search",
        json!({"structuredContent": [1, 2]}),
        json!({"content": [said("[1,2]"), id]}),
    )
    .await;
    check(
        "search",
        json!({"structuredContent": [1], "content": [said("[1]")]}),
        json!({"content": [said("[1]"), id]}),
    )
    .await;
    // A tool with an output schema gives what conforms to it.
    let ours = json!({"_toolCallId": "call_1"});
    check(
        "typed",
        json!({"content": [said("x")]}),
        json!({"content": [said("x"), id], "structuredContent": ours}),
    )
    .await;
    check(
        "typed",
        json!({"structuredContent": {"n": "no"}}),
        json!({"structuredContent": ours, "content": [said("{\"n\":\"no\"}"), id]}),
    )
    .await;
    check(
        "typed",
        json!({"structuredContent": {"items": [{}], "n": 1}, "content": []}),
        json!({"structuredContent": {"items": [{}], "n": 1, "_toolCallId": "call_1"}, "content": [said("{\"items\":[{}],\"n\":1}"), id]}),
    )
    .await;
    // What another says under our keys is not passed on.
    check(
        "search",
        json!({"_meta": {"dev.crossfeed/x": 1, "y": 2}, "content": []}),
        json!({"_meta": {"y": 2}, "content": [id]}),
    )
    .await;
}

#[tokio::test]
async fn failures_stay_as_they_came() {
    let client = one().await;
    for (number, result) in [
        r#"{ "isError":true,"content":[{"type":"text","text":"no \u0061"}] , "structuredContent":[1]}"#,
        r#"{"isError":true}"#,
    ]
    .into_iter()
    .enumerate()
    {
        let forward = forward(&client, params("typed", json!({}))).await;
        let shown = forward.pending.finish(Bytes::from(result)).await;
        assert_eq!(String::from_utf8_lossy(&shown), result);
        let id = format!("call_{}", 2 * number + 1);
        let arguments = json!({"url": null, "_refs": {"url": {"_tool": id}}});
        let answer = answered(&client, params("fetch", arguments)).await;
        assert!(error(&answer).starts_with("result.failed"), "{answer}");
    }
    let forward = forward(&client, params("typed", json!({}))).await;
    forward.pending.fail("the server has ended").await;
    let arguments = json!({"url": null, "_refs": {"url": {"_tool": "call_5"}}});
    let answer = answered(&client, params("fetch", arguments)).await;
    assert!(error(&answer).contains("the server has ended"), "{answer}");
}

#[tokio::test]
async fn what_is_no_result_passes() {
    let client = one().await;
    for result in [
        "7",
        "[]",
        "{",
        r#"{"resultType":"other"}"#,
        r#"{"resultType":"input_required","inputRequests":{}}"#,
    ] {
        let forward = forward(&client, params("search", json!({}))).await;
        let shown = forward.pending.finish(Bytes::from(result)).await;
        assert_eq!(String::from_utf8_lossy(&shown), result);
    }
}

#[tokio::test]
async fn large_results_are_previews() {
    let client = one().await;
    let items: Vec<_> = (0..2000)
        .map(|n| json!({"url": format!("https://a.example/{n}")}))
        .collect();
    let structured = json!({"items": items, "n": 1});
    let image = json!({"type": "image", "data": "AAAA", "mimeType": "image/png"});
    let text = json!({"type": "text", "text": structured.to_string()});
    let result =
        json!({"content": [text, image], "structuredContent": structured, "_meta": {"own": 1}});
    let shown = returned(&client, "typed", result.clone()).await;
    assert!(shown.to_string().len() < 6000, "{shown}");
    assert_eq!(shown["_meta"], json!({"own": 1}));
    assert_eq!(shown["structuredContent"]["_toolCallId"], "call_1");
    assert!(
        shown["structuredContent"]["_crossfeedPreview"].is_object(),
        "{shown}"
    );
    let content = shown["content"].as_array().unwrap();
    assert!(content.contains(&image), "{shown}");
    assert!(
        content[0]["text"]
            .as_str()
            .unwrap()
            .contains("_crossfeedPreview")
    );
    let arguments =
        json!({"url": null, "_refs": {"url": {"_tool": "call_1", "_select": "items[1999].url"}}});
    let forward = forward(&client, params("fetch", arguments)).await;
    assert!(String::from_utf8_lossy(&forward.params).contains("https://a.example/1999"));
    // A page gets all of it.
    let shown = returned(&client, "page", result).await;
    assert_eq!(shown["structuredContent"], structured);
}

#[tokio::test]
async fn sessions_do_not_reach_across() {
    let world = World::new(vec![(server("a"), tools())], Vec::new());
    let caller = |principal, session: Option<&str>| {
        Caller::new(principal, session.map(str::to_owned), Revision::V2026_07_28)
    };
    let named = |name: &str| Principal::Named(name.to_owned());
    let callers = [
        caller(Principal::Anonymous, Some("a")),
        caller(Principal::Anonymous, Some("b")),
        caller(Principal::Anonymous, None),
        caller(named("a"), None),
        caller(named("b"), None),
        caller(named("b"), Some("a")),
    ];
    let result = json!({"content": [{"type": "text", "text": "u"}]});
    let mut ids = Vec::new();
    let mut clients = Vec::new();
    for caller in callers {
        let client = world.client(caller).await;
        let shown = returned(&client, "search", result.clone()).await;
        let text = shown["content"][1]["text"].as_str().unwrap();
        let said: Value = serde_json::from_str(text).unwrap();
        ids.push(said["_toolCallId"].as_str().unwrap().to_owned());
        clients.push(client);
    }
    for (owner, id) in ids.iter().enumerate() {
        for (other, client) in clients.iter().enumerate() {
            let arguments = json!({"url": null, "_refs": {"url": {"_tool": id}}});
            match client.call(params("fetch", arguments)).await {
                Call::Forward(_) => assert!(owner == other || id == &ids[other]),
                Call::Answered(answer) => {
                    assert_ne!(owner, other);
                    let answer: Value = serde_json::from_slice(&answer).unwrap();
                    let text = error(&answer);
                    assert!(text.starts_with("result.unknown"), "{text}");
                    // Whoever shares a session learns of no other id in it.
                    let own = clients[other].shared.privacy().is_shared;
                    assert!(!own || !text.contains(&ids[other]), "{text}");
                }
                Call::Refused(error) => panic!("{error:?}"),
            }
        }
    }
}

#[tokio::test]
async fn flows_are_checked_before_anything_is_forwarded() {
    let rule = |name: &str, from: &str, to: &str, allow| FlowRule::new(name, from, to, allow);
    let flows = vec![
        rule("mail may", "a/search", "b/fetch", true),
        rule("no mail", "a/*", "b/*", false),
    ];
    let world = World::new(vec![(server("a"), tools()), (server("b"), tools())], flows);
    let client = world.client(local()).await;
    let text = json!({"content": [{"type": "text", "text": "u"}]});
    for name in ["a__search", "a__typed", "b__search"] {
        returned(&client, name, text.clone()).await;
    }
    let fetch = |name: &str, call: &str| {
        params(
            name,
            json!({"url": null, "_refs": {"url": {"_tool": call, "_select": "@"}}}),
        )
    };
    // What goes from where to where, and whether it may.
    for (to, from, may) in [
        ("b__fetch", "call_1", true),
        ("b__fetch", "call_2", false),
        ("b__fetch", "call_3", true),
        ("a__fetch", "call_2", true),
    ] {
        match client.call(fetch(to, from)).await {
            Call::Forward(_) => assert!(may, "{from} {to}"),
            Call::Answered(answer) => {
                let answer: Value = serde_json::from_slice(&answer).unwrap();
                assert!(!may, "{answer}");
                let text = error(&answer);
                assert!(text.starts_with("flow.refused: rule `no mail` forbids that results of `a/typed` go to `b/fetch`"), "{text}");
            }
            Call::Refused(error) => panic!("{error:?}"),
        }
    }
    // By way of another tool it is still the same data.
    let by_way = forward(&client, fetch("a__fetch", "call_2")).await;
    let shown = by_way.pending.finish(text.to_string().into()).await;
    let shown = String::from_utf8_lossy(&shown).into_owned();
    let id = shown
        .split("call_")
        .nth(1)
        .unwrap()
        .split('\\')
        .next()
        .unwrap()
        .to_owned();
    let answer = answered(&client, fetch("b__fetch", &format!("call_{id}"))).await;
    let text = error(&answer);
    assert!(
        text.contains("results of `a/fetch`, `a/typed` go to"),
        "{text}"
    );
}

#[tokio::test]
async fn binary_results_are_passed_on_as_parameters_want_them() {
    let listed = json!([
        {"name": "draw", "inputSchema": {"type": "object"}},
        {"name": "show", "inputSchema": {"type": "object", "properties": {
            "raw": {"type": "string"},
            "url": {"type": "string", "format": "uri"},
            "any": {},
            "list": {"type": "array", "items": {"type": "string"}},
        }}},
    ]);
    let mut config = server("a");
    config.profile = Some("inline".to_owned());
    let client = World::new(vec![(config, listed)], Vec::new())
        .client(local())
        .await;
    let image = json!({"type": "image", "data": "AAAA", "mimeType": "image/png"});
    returned(&client, "draw", json!({"content": [image]})).await;
    let text = json!({"type": "text", "text": "t"});
    returned(&client, "draw", json!({"content": [text, image]})).await;
    let one = json!({"_tool": "call_1"});
    let second = json!({"_tool": "call_2", "_select": "[1]"});
    let arguments = json!({"raw": one, "url": second, "any": one, "list": [second], "n": 12345});
    let forward = forward(&client, params("show", arguments)).await;
    let sent: Value = serde_json::from_slice(&forward.params).unwrap();
    assert_eq!(
        sent["arguments"],
        json!({
            "raw": "AAAA",
            "url": "data:image/png;base64,AAAA",
            "any": {"data": "AAAA", "encoding": "base64", "mimeType": "image/png"},
            "list": ["AAAA"],
            "n": 12345,
        })
    );
    // What fits is not looked at; what is no binary result stays an error.
    let answer = answered(&client, params("show", json!({"raw": {"_tool": "call_2"}}))).await;
    assert!(error(&answer).starts_with("arguments.invalid"), "{answer}");
}

#[tokio::test]
async fn a_retry_gets_the_same_values() {
    let client = one().await;
    let text = |text: &str| json!({"content": [{"type": "text", "text": text}]});
    returned(&client, "search", text("u")).await;
    let arguments = json!({"url": null, "_refs": {"url": {"_tool": "call_1"}}});
    let first = forward(&client, params("fetch", arguments.clone())).await;
    let asks =
        json!({"resultType": "input_required", "requestState": "s1", "inputRequests": {"a": {}}});
    let shown = first.pending.finish(asks.to_string().into()).await;
    assert_eq!(shown, asks.to_string());
    // The result that was referred to is gone.
    client.shared.session().close().await.unwrap();
    let retry = |state: &str, arguments: &Value| -> Bytes {
        json!({"name": "fetch", "arguments": arguments, "requestState": state, "inputResponses": {"a": 1}})
            .to_string()
            .into()
    };
    let again = forward(&client, retry("s1", &arguments)).await;
    let sent: Value = serde_json::from_slice(&again.params).unwrap();
    assert_eq!(sent["arguments"], json!({"url": "u"}));
    assert_eq!(sent["requestState"], "s1");
    for (state, arguments) in [
        ("s2", arguments.clone()),
        (
            "s1",
            json!({"url": null, "region": "x", "_refs": {"url": {"_tool": "call_1"}}}),
        ),
    ] {
        let answer = answered(&client, retry(state, &arguments)).await;
        assert!(error(&answer).starts_with("result.unknown"), "{answer}");
    }
}

#[tokio::test]
async fn a_task_is_in_flight_until_it_has_a_result() {
    let client = one().await;
    let result = json!({"content": [{"type": "text", "text": "u"}]});
    for (number, created, done) in [
        (
            1,
            json!({"task": {"taskId": "t1", "status": "working"}}),
            result.clone(),
        ),
        (
            2,
            json!({"resultType": "task", "taskId": "t2"}),
            json!({"taskId": "t2", "status": "completed", "result": result, "own": 1}),
        ),
    ] {
        let task = format!("t{number}");
        let forward = forward(&client, params("search", json!({}))).await;
        let shown = forward.pending.finish(created.to_string().into()).await;
        assert_eq!(shown, created.to_string());
        let working = Bytes::from(r#"{"taskId":"t","status":"working"}"#);
        assert_eq!(client.task_result(0, &task, working.clone()).await, working);
        let done = Bytes::from(done.to_string());
        // Of another server, or another task.
        assert_eq!(client.task_result(1, &task, done.clone()).await, done);
        assert_eq!(client.task_result(0, "t9", done.clone()).await, done);
        let shown = client.task_result(0, &task, done.clone()).await;
        assert!(String::from_utf8_lossy(&shown).contains("_toolCallId"));
        assert_eq!(client.task_result(0, &task, done).await, shown);
        let own: Value = serde_json::from_slice(&shown).unwrap();
        assert_eq!(own.get("own").is_some(), number == 2);
    }
    let forward = forward(&client, params("search", json!({}))).await;
    let created = json!({"task": {"taskId": "t3"}}).to_string();
    forward.pending.finish(created.into()).await;
    let failed = Bytes::from(r#"{"taskId":"t3","status":"cancelled"}"#);
    assert_eq!(client.task_result(0, "t3", failed.clone()).await, failed);
    let arguments = json!({"url": null, "_refs": {"url": {"_tool": "call_3"}}});
    let answer = answered(&client, params("fetch", arguments)).await;
    assert!(
        error(&answer).contains("the task was cancelled"),
        "{answer}"
    );
}

#[tokio::test]
async fn what_cannot_be_kept_is_passed_on_and_says_so() {
    let limits = crossfeed_store::MemoryLimits::default().with_session_bytes(1000);
    let store = crossfeed_store::MemoryStore::new(limits);
    let options = EngineOptions::default().with_max_in_flight(1);
    let mut world = World::new(vec![(server("a"), tools())], Vec::new());
    let config = Arc::clone(&world.tools.config);
    world.tools = Tools::new(Engine::new(options, Arc::new(store)), config);
    let client = world.client(local()).await;
    let text = "x".repeat(30_000);
    let shown = returned(
        &client,
        "search",
        json!({"content": [{"type": "text", "text": text}]}),
    )
    .await;
    assert_eq!(shown["content"][0]["text"], text);
    let note = shown["content"][1]["text"].as_str().unwrap();
    assert!(
        note.contains("cannot be referred to") && !note.contains("_toolCallId"),
        "{note}"
    );
    // More calls at once than are kept.
    let first = forward(&client, params("search", json!({}))).await;
    let second = forward(&client, params("search", json!({}))).await;
    let result = json!({"content": []}).to_string();
    assert_eq!(second.pending.finish(result.clone().into()).await, result);
    let answer = answered(&client, params("search", json!({"q": {"$tool": "call_1"}}))).await;
    assert!(error(&answer).starts_with("limit.exceeded"), "{answer}");
    drop(first);
}

#[tokio::test]
async fn parts_of_a_result_can_be_asked_for() {
    let mut config = server("a");
    config.projection = true;
    let client = World::new(vec![(config, tools())], Vec::new())
        .client(local())
        .await;
    let result = json!({"structuredContent": {"items": [{"id": 1}], "n": 2}});
    let asked = forward(&client, params("typed", json!({"_select": ["n"]}))).await;
    assert_eq!(asked.params, params("typed", json!({})));
    let shown = asked.pending.finish(result.to_string().into()).await;
    let shown: Value = serde_json::from_slice(&shown).unwrap();
    assert_eq!(
        shown["structuredContent"],
        json!({"n": 2, "_toolCallId": "call_1"})
    );
    assert_eq!(shown["content"][0]["text"], "{\"n\":2}");
    let asked = json!({"name": "typed", "_meta": {"projection": {"mode": "include", "fields": ["items[].id"]}}});
    let asked = forward(&client, asked.to_string().into()).await;
    let shown = asked.pending.finish(result.to_string().into()).await;
    let shown: Value = serde_json::from_slice(&shown).unwrap();
    assert_eq!(
        shown["structuredContent"],
        json!({"items": [{"id": 1}], "_toolCallId": "call_2"})
    );
    assert_eq!(shown["_meta"][crossfeed_mcp::KEY]["applied"], json!(true));
}

/// What one of the gateway's own tools says.
async fn said(client: &ClientTools, name: &str, arguments: Value) -> Value {
    let answer = answered(client, params(name, arguments.clone())).await;
    assert!(answer.get("isError").is_none(), "{arguments} {answer}");
    serde_json::from_str(answer["content"][0]["text"].as_str().unwrap()).unwrap()
}

#[tokio::test]
async fn stored_results_can_be_read() {
    let client = one().await;
    let items: Vec<_> = (0..2000)
        .map(|n| json!({"id": n, "t": "x".repeat(20)}))
        .collect();
    let text = json!({"items": items}).to_string();
    returned(
        &client,
        "search",
        json!({"content": [{"type": "text", "text": text}]}),
    )
    .await;
    returned(
        &client,
        "search",
        json!({"content": [{"type": "text", "text": "é\n".repeat(9000)}]}),
    )
    .await;
    let read = async |arguments| said(&client, "read_result", arguments).await;
    assert_eq!(
        read(json!({"call_id": "call_1", "select": "items[3].id"})).await,
        json!({"value": 3})
    );
    let page = read(json!({"call_id": "call_1", "select": "items[*].id", "max_tokens": 100})).await;
    assert_eq!(
        (&page["value"][1], &page["total"]),
        (&json!(1), &json!(2000))
    );
    let page =
        read(json!({"call_id": "call_1", "select": "items[*].id", "offset": page["next_offset"]}))
            .await;
    assert_eq!(page["value"][0], page["offset"]);
    let page =
        read(json!({"call_id": "call_1", "fields": ["items[].id"], "select": "items[:2]"})).await;
    assert_eq!(page["value"], json!([{}, {}]));
    let page = read(json!({"call_id": "call_1", "fields": ["id"], "select": "items[:2]"})).await;
    assert_eq!(page, json!({"value": [{"id": 0}, {"id": 1}]}));
    let page = read(json!({"call_id": "call_2", "offset": 17998})).await;
    assert_eq!(
        page,
        json!({"text": "é\n", "offset": 17998, "total": 18000, "unit": "characters"})
    );
    for (arguments, code) in [
        (json!({}), "result.unknown"),
        (json!({"call_id": "call_9"}), "result.unknown"),
        (json!({"call_id": 7}), "arguments.invalid"),
        (
            json!({"call_id": "call_1", "offset": -1}),
            "arguments.invalid",
        ),
        (
            json!({"call_id": "call_1", "select": "none"}),
            "select.matched_nothing",
        ),
        (
            json!({"call_id": "call_1", "fields": [7]}),
            "arguments.invalid",
        ),
    ] {
        let answer = answered(&client, params("read_result", arguments.clone())).await;
        assert!(error(&answer).starts_with(code), "{arguments} {answer}");
    }
    let list = said(&client, "list_results", json!({})).await;
    assert_eq!(list["total"], 2);
    // Learning uses results, too, so that either may be the latest.
    let results = list["results"].as_array().unwrap();
    assert!(
        results.iter().any(|result| result["call_id"] == "call_2"),
        "{list}"
    );
    assert_eq!(results[0]["tool"], "search");
    let list = said(&client, "list_results", json!({"limit": 1})).await;
    assert_eq!(list["next_offset"], 1);
    client.close().await;
    let list = client.shared.session().results().await.unwrap();
    assert!(list.is_empty());
}

#[tokio::test]
async fn outputs_can_be_inspected() {
    let client = one().await;
    let told = said(
        &client,
        "inspect_tool_output",
        json!({"tool_id": "typed", "field_path": ""}),
    )
    .await;
    assert_eq!(
        told["children"][0],
        json!({"name": "items", "type": "array"})
    );
    let unknown = json!({"tool_id": "search", "field_path": ""});
    let answer = answered(&client, params("inspect_tool_output", unknown.clone())).await;
    assert!(error(&answer).contains("nothing is known"), "{answer}");
    returned(&client, "search", json!({"structuredContent": {"id": 1}})).await;
    // Learning goes on beside the answer.
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    let told = said(&client, "inspect_tool_output", unknown).await;
    assert_eq!(told["flattened_fields"], json!(["id: integer"]));
    let answer = answered(
        &client,
        params("inspect_tool_output", json!({"tool_id": "serch"})),
    )
    .await;
    assert!(error(&answer).ends_with("try: search"), "{answer}");
    let answer = answered(
        &client,
        params(
            "inspect_tool_output",
            json!({"tool_id": "typed", "field_path": "no"}),
        ),
    )
    .await;
    assert!(error(&answer).starts_with("projection.invalid"), "{answer}");
}

/// Whatever a server may return.
fn any_result() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a-z\"{}]{0,12}".prop_map(Value::from),
        Just(Value::from("long ".repeat(3000))),
    ];
    let value = leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::hash_map("items|n|_toolCallId|[a-c]", inner, 0..4)
                .prop_map(|members| members.into_iter().collect()),
        ]
    });
    let part = prop_oneof![
        value
            .clone()
            .prop_map(|value| json!({"type": "text", "text": value.to_string()})),
        Just(json!({"type": "image", "data": "AAAA", "mimeType": "image/png"})),
        Just(json!({"type": "resource", "resource": {"uri": "a:b", "blob": "AAAA"}})),
        Just(json!({"type": "resource_link", "uri": "a:b", "name": "n"})),
    ];
    let content = prop::option::of(prop::collection::vec(part, 0..4));
    (content, prop::option::of(value)).prop_map(|(content, structured)| {
        let mut result = json!({});
        if let Some(content) = content {
            result["content"] = Value::from(content);
        }
        if let Some(structured) = structured {
            result["structuredContent"] = structured;
        }
        result
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Whatever a server returns, a client that validates takes it, and one that reads only one copy
    /// knows how to refer to it.
    #[test]
    fn what_is_shown_is_accepted(result in any_result(), name in "typed|search") {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let shown = runtime.block_on(async {
            let client = one().await;
            returned(&client, &name, result.clone()).await
        });
        let id = |value: &Value| value.get("_toolCallId").cloned();
        let content = shown["content"].as_array().unwrap();
        let in_parts = content.iter().any(|part| {
            let text = part.get("text").and_then(Value::as_str).unwrap_or_default();
            serde_json::from_str::<Value>(text).is_ok_and(|told| id(&told) == Some(json!("call_1")))
        });
        prop_assert!(in_parts, "{}", shown);
        match shown.get("structuredContent") {
            Some(structured) => {
                prop_assert!(structured.is_object(), "{}", shown);
                prop_assert_eq!(id(structured), Some(json!("call_1")));
                if name == "typed" {
                    let listed = json!({"type": "object", "properties": {
                        "items": {"type": "array", "items": {"type": "object"}}, "n": {"type": "integer"}}});
                    let judge = crossfeed_schema::compile(&listed).unwrap();
                    prop_assert!(judge.is_valid(structured), "{}", shown);
                }
                let is_cut = |value: &Value| value.get("_crossfeedPreview").is_some();
                let told = content.iter().any(|part| {
                    let text = part.get("text").and_then(Value::as_str).unwrap_or_default();
                    serde_json::from_str::<Value>(text).is_ok_and(|told| is_cut(&told) && id(&told).is_some())
                });
                prop_assert_eq!(is_cut(structured), told, "{}", shown);
            }
            None => prop_assert!(name != "typed"),
        }
    }
}
