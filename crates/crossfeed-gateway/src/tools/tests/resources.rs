//! Results as resources: what is listed and read, and what reads like nothing.

use super::*;
use crate::{members::EMPTY, message::RpcError, protocol::method};
use crossfeed_core::{NewArtifact, ToolResult};
use crossfeed_wire::{ArtifactId, CallId};

fn world(change: impl Fn(&mut GatewayConfig)) -> World {
    let mut world = World::new(vec![(server("a"), tools())], Vec::new());
    let mut config = GatewayConfig {
        result_resources: true,
        ..(*world.tools.config).clone()
    };
    change(&mut config);
    let engine = Engine::in_memory(EngineOptions::default());
    world.tools = Tools::new(engine, Arc::new(config));
    world
}

async fn page(client: &ClientTools, cursor: Option<&str>) -> (Vec<String>, Option<String>) {
    let page = client.resource_page(method::LIST_RESOURCES, &EMPTY, cursor);
    let page: Value = serde_json::from_slice(&page.await.unwrap()).unwrap();
    let items = page["resources"].as_array().unwrap();
    let uris = items
        .iter()
        .map(|item| item["uri"].as_str().unwrap().to_owned());
    let next = page
        .get("nextCursor")
        .map(|next| next.as_str().unwrap().to_owned());
    (uris.collect(), next)
}

async fn read(client: &ClientTools, uri: &str) -> Result<Value, RpcError> {
    let read = client.read_resource(uri, &EMPTY).await?;
    Ok(serde_json::from_slice(&read).unwrap())
}

async fn assert_unknown(client: &ClientTools, uri: &str) {
    let error = read(client, uri).await.unwrap_err();
    let expected = "resource not found: no result or artifact of this session has the address, or it has expired";
    assert_eq!(error.message, expected, "{uri}");
    assert_eq!(error.data, Some(json!({"uri": uri})));
    let code = if client.shared.is_stateless() {
        -32602
    } else {
        -32002
    };
    assert_eq!(error.code, code);
}

async fn record(client: &ClientTools, id: &str, result: ToolResult) {
    let id = CallId::parse(id).unwrap();
    client.shared.session().record(&id, result).await.unwrap();
}

#[tokio::test]
async fn results_are_read_as_what_they_are() {
    let client = world(|_| ()).client(local()).await;
    for result in [
        json!({"content": [{"type": "text", "text": "Ä\n"}]}),
        json!({"content": [{"type": "text", "text": "{\"a\": [1.50]}\n"}]}),
        json!({"content": [], "structuredContent": {"a": 1}}),
        json!({"content": [{"type": "image", "data": "aGk=", "mimeType": "image/png"}]}),
        json!({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}),
    ] {
        returned(&client, "search", result).await;
    }
    for (address, media_type, member, expected) in [
        ("call_1", "text/plain", "text", "Ä\n"),
        ("call_2", "application/json", "text", "{\"a\": [1.50]}\n"),
        ("call_2?select=a%5B0%5D", "application/json", "text", "1.50"),
        ("call_3", "application/json", "text", "{\"a\":1}"),
        ("call_4", "image/png", "blob", "aGk="),
        ("call_5", "application/json", "text", "[\"a\",\"b\"]"),
        ("call_5?select=[1]", "text/plain", "text", "b"),
    ] {
        let uri = format!("crossfeed://results/{address}");
        let read = read(&client, &uri).await.unwrap();
        let contents = json!([{"uri": uri, "mimeType": media_type, member: expected}]);
        assert_eq!(read, json!({ "contents": contents }));
    }
}

#[tokio::test]
async fn pages_have_each_result_once_whatever_happens_between_them() {
    let client = world(|_| ()).client(local()).await;
    for number in 1..=250 {
        record(&client, &format!("call_{number}"), ToolResult::text("x")).await;
    }
    record(&client, "call_0", ToolResult::text("no").failed()).await;
    let artifact = NewArtifact::new(
        ArtifactId::parse("kept/ä").unwrap(),
        CallId::parse("call_7").unwrap(),
    );
    client
        .shared
        .session()
        .create_artifact(artifact)
        .await
        .unwrap();
    let (mut all, mut next) = page(&client, None).await;
    assert_eq!(all[0], "crossfeed://results/call_250");
    let mut more = 250;
    while let Some(cursor) = next {
        // Neither use nor new results move the rest.
        read(&client, &all[all.len() / 2]).await.unwrap();
        more += 1;
        record(&client, &format!("call_{more}"), ToolResult::text("y")).await;
        let (uris, after) = page(&client, Some(&cursor)).await;
        all.extend(uris);
        next = after;
    }
    let results = (1..=250)
        .rev()
        .map(|number| format!("crossfeed://results/call_{number}"));
    let artifact = "crossfeed://artifacts/kept%2F%C3%A4/call_7".to_owned();
    assert_eq!(all, results.chain([artifact.clone()]).collect::<Vec<_>>());
    let read = read(&client, &artifact).await.unwrap();
    assert_eq!(read["contents"][0]["text"], "x");
    for wrong in ["", "x", "crossfeed://results/", "0"] {
        let page = client.resource_page(method::LIST_RESOURCES, &EMPTY, Some(wrong));
        assert_eq!(page.await.unwrap_err().message, "unknown cursor");
    }
}

#[tokio::test]
async fn what_is_not_there_and_what_is_anothers_read_alike() {
    let world = world(|_| ());
    let one = world.client(local()).await;
    let other = Caller::new(
        Principal::Local,
        Some("t".to_owned()),
        Revision::V2025_11_25,
    );
    let other = world.client(other).await;
    record(&one, "call_1", ToolResult::text("mine")).await;
    for uri in [
        "crossfeed://results/call_1",
        "crossfeed://results/call_9",
        "crossfeed://artifacts/a/call_1",
    ] {
        assert_unknown(&other, uri).await;
    }
    assert!(read(&one, "crossfeed://results/call_1").await.is_ok());
    for uri in [
        "crossfeed://results/",
        "crossfeed://results/../results/call_1",
        "crossfeed://results/%2e%2e/results/call_1",
        "crossfeed://results/call_1/../call_1",
        "crossfeed://results/call%5F1",
        "crossfeed://results/CALL_1",
        "crossfeed://results/call_1%00",
        "crossfeed://results/call_1#x",
        "crossfeed://RESULTS/call_1",
        "CROSSFEED://results/call_1",
        " crossfeed://results/call_1",
        "crossfeed://results//call_1",
        "crossfeed://artifacts/call_1",
        "crossfeed://etc/passwd",
        "crossfeed:/results/call_1",
    ] {
        assert_unknown(&one, uri).await;
    }
    one.close().await;
    assert_unknown(&one, "crossfeed://results/call_1").await;
}

#[tokio::test]
async fn without_sessions_an_id_leads_to_its_holder_alone() {
    let world = world(|_| ());
    let caller = |principal| Caller::new(principal, None, Revision::V2026_07_28);
    let named = |name: &str| caller(Principal::Named(name.to_owned()));
    let (ann, bob) = (
        world.client(named("ann")).await,
        world.client(named("bob")).await,
    );
    let anyone = world.client(caller(Principal::Anonymous)).await;
    let result = json!({"content": [{"type": "text", "text": "x"}]});
    for client in [&ann, &anyone] {
        let shown = returned(client, "search", result.clone()).await;
        let part = shown["content"].as_array().unwrap().last().unwrap()["text"]
            .as_str()
            .unwrap();
        let id: Value = serde_json::from_str(part).unwrap();
        let uri = format!(
            "crossfeed://results/{}",
            id["_toolCallId"].as_str().unwrap()
        );
        let read = read(client, &uri).await.unwrap();
        assert_eq!(read["resultType"], "complete");
        assert_eq!(read["cacheScope"], "private");
        assert_unknown(&bob, &uri).await;
        let listed = page(client, None).await.0;
        if client.shared.place.is_shared {
            // They cannot be told apart.
            assert!(listed.is_empty());
        } else {
            assert_eq!(listed, [uri]);
        }
    }
    assert!(page(&bob, None).await.0.is_empty());
}

#[tokio::test]
async fn what_is_too_large_is_read_in_parts() {
    let client = world(|config| config.limits.message_bytes = 3000)
        .client(local())
        .await;
    record(
        &client,
        "call_1",
        ToolResult::json(json!(["x".repeat(4000), "y"]).to_string()),
    )
    .await;
    // Each of these takes two bytes in JSON, and four in the text of that.
    let quotes = json!(["\"".repeat(800)]).to_string();
    record(&client, "call_2", ToolResult::json(quotes)).await;
    for (id, message) in [
        ("call_1", "the result has 4008 bytes; the limit is 3000"),
        ("call_2", "the result takes "),
    ] {
        let uri = format!("crossfeed://results/{id}");
        let error = read(&client, &uri).await.unwrap_err();
        assert!(error.message.starts_with(message), "{}", error.message);
        let data = error.data.unwrap();
        assert_eq!(data["code"], "limit.exceeded");
        assert_eq!(
            data["advice"],
            format!(
                "read a part of it: `crossfeed://results/{id}?select=EXPRESSION`, with a JMESPath expression"
            )
        );
    }
    let part = read(&client, "crossfeed://results/call_1?select=[1]")
        .await
        .unwrap();
    assert_eq!(part["contents"][0]["text"], "y");
    let missed = read(&client, "crossfeed://results/call_1?select=none")
        .await
        .unwrap_err();
    assert_eq!(missed.code, -32602);
    let data = missed.data.unwrap();
    assert_eq!(data["code"], "select.matched_nothing");
    assert!(data["advice"].as_str().unwrap().starts_with("found: "));
}

#[tokio::test]
async fn a_conversation_has_resources_of_its_own() {
    let world = world(|_| ());
    let client = world.client(local()).await;
    let params = json!({
        "name": "search",
        "arguments": {},
        "_meta": {"openai/session": "c"},
    });
    let forward = forward(&client, params.to_string().into()).await;
    let result = json!({"content": [{"type": "text", "text": "x"}]});
    forward.pending.finish(result.to_string().into()).await;
    let uri = "crossfeed://results/call_1";
    assert_unknown(&client, uri).await;
    let of_conversation = Bytes::from(r#"{"_meta":{"openai/session":"c"}}"#);
    assert!(client.read_resource(uri, &of_conversation).await.is_ok());
    let listed = client
        .resource_page(method::LIST_RESOURCES, &of_conversation, None)
        .await;
    assert!(String::from_utf8_lossy(&listed.unwrap()).contains(uri));
}
