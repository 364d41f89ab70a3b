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
        "{}",
        "[]",
        "{",
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
        let is_result = result.get("content").is_some() || result.get("structuredContent").is_some();
        if !is_result {
            prop_assert_eq!(shown, result);
            return Ok(());
        }
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
