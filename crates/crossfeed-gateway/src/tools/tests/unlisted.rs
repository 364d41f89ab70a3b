//! Calls of tools that the client was not listed.

use super::*;
use crate::{config::TokenConfig, message::Message};

/// Two servers with a tool each, of which these are listed.
async fn several(prefix: Prefix, listed: &[usize]) -> ClientTools {
    let tool = |name: &str| json!([{"name": name, "inputSchema": {"type": "object"}}]);
    let servers = vec![
        (server("a"), tool("read_file")),
        (server("b"), tool("delete")),
    ];
    let mut world = World::new(servers, Vec::new());
    let config = Arc::make_mut(&mut world.tools.config);
    config.prefix = prefix;
    world.tools.naming = Arc::new(super::super::Naming::from_config(config));
    world.lists.retain(|list| listed.contains(&list.server));
    world.client(local()).await
}

#[tokio::test]
async fn the_only_server_judges_what_it_did_not_list() {
    let client = one().await;
    let came = r#"{ "arguments" : {"a" : null, "_select": "x"}, "name":"hidden" }"#;
    let forward = forward(&client, came.into()).await;
    assert_eq!((forward.server, &forward.params[..]), (0, came.as_bytes()));
    // What it answers is passed on, and not kept.
    let result = r#"{"content":[{"type":"text","text":"Unknown tool: hidden"}],"isError":true}"#;
    assert_eq!(
        forward.pending.finish(result.into()).await,
        result.as_bytes()
    );
    let result = returned(&client, "hidden", json!({"content": []})).await;
    assert_eq!(result, json!({"content": []}));
}

/// What the only server refuses by itself names the nearest tools, and stays what it is.
#[tokio::test]
async fn what_the_only_server_does_not_know_leads_to_what_it_has() {
    let client = one().await;
    let note = r#"{"_crossfeedNote":"\"serch\" is not listed: did you mean `search`, `fetch`, `secret`?"}"#;
    let said = json!({"type": "text", "text": "Unknown tool: serch"});
    let result = json!({"content": [said], "isError": true});
    let shown = returned(&client, "serch", result).await;
    let advised = json!({"type": "text", "text": note});
    assert_eq!(shown, json!({"content": [said, advised], "isError": true}));
    // It has the tool all the same.
    let result = json!({"content": [said]});
    assert_eq!(returned(&client, "serch", result.clone()).await, result);

    for (name, expected) in [
        (
            "serch",
            "Unknown tool; \"serch\" is not listed: did you mean `search`, `fetch`, `secret`?",
        ),
        ("x", "Unknown tool"),
    ] {
        let forward = forward(&client, params(name, json!({}))).await;
        let error = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Unknown tool","data":[1.50]}}"#;
        let message = Message::parse(Bytes::from(error)).unwrap();
        let answer = forward.pending.answer(message).await;
        let expected = error.replace("\"Unknown tool\"", &json!(expected).to_string());
        assert_eq!(answer.to_bytes(), Bytes::from(expected));
    }
}

#[tokio::test]
async fn what_is_not_listed_takes_no_references() {
    let client = one().await;
    returned(
        &client,
        "search",
        json!({"content": [{"type": "text", "text": "1"}]}),
    )
    .await;
    let answer = answered(&client, params("hidden", json!({"a": {"$tool": "call_1"}}))).await;
    assert!(error(&answer).starts_with("flow.refused"), "{answer}");
}

#[tokio::test]
async fn a_call_goes_to_the_only_server_though_it_cannot_list() {
    let world = World::new(vec![(server("a"), tools())], Vec::new());
    let client = world.tools.for_caller(local());
    let forward = forward(&client, params("search", json!({}))).await;
    assert_eq!(forward.server, 0);
}

#[tokio::test]
async fn where_rules_say_what_may_be_called_nothing_else_is() {
    for (allow, deny) in [("search", None), ("*", Some("fetch"))] {
        let mut config = server("a");
        config.allow = vec![allow.to_owned()];
        config.deny = deny.into_iter().map(str::to_owned).collect();
        let world = World::new(vec![(config, tools())], Vec::new());
        let client = world.client(local()).await;
        for name in ["fetch", "Fetch", "hidden"] {
            let answer = answered(&client, params(name, json!({}))).await;
            assert!(
                error(&answer).starts_with("tool.unknown: there is no tool"),
                "{answer}"
            );
        }
        // Nor where the server cannot say what it has.
        let client = world.tools.for_caller(local());
        let answer = answered(&client, params("search", json!({}))).await;
        let unavailable = "upstream.unavailable: server `a`: its tool list is not available";
        assert!(error(&answer).starts_with(unavailable), "{answer}");
    }
}

#[tokio::test]
async fn an_unknown_tool_is_told_to_the_model_with_the_nearest() {
    let client = several(Prefix::Always, &[0, 1]).await;
    for (name, near) in [
        ("read_fiel", "did you mean `a__read_file`"),
        ("a__readfile", "did you mean `a__read_file`"),
        ("read_resutl", "did you mean `read_result`"),
        ("b__remove_everything", "use a tool that is listed"),
    ] {
        let answer = answered(&client, params(name, json!({}))).await;
        let said = format!("tool.unknown: there is no tool \"{name}\"\n{near}");
        assert!(error(&answer).starts_with(&said), "{answer}");
        assert_eq!(
            answer["_meta"]["dev.crossfeed/error"]["error"]["code"],
            "tool.unknown"
        );
    }
    let long = "x".repeat(100_000);
    let answer = answered(&client, params(&long, json!({}))).await;
    assert!(answer.to_string().len() < 1_000);
}

#[tokio::test]
async fn a_tool_of_a_server_that_is_away_is_not_unknown() {
    for prefix in [Prefix::Always, Prefix::Collisions] {
        let client = several(prefix, &[1]).await;
        // Its connection says why it is away.
        let forward = forward(&client, params("a__read_file", json!({}))).await;
        let sent: Value = serde_json::from_slice(&forward.params).unwrap();
        assert_eq!((forward.server, &sent["name"]), (0, &json!("read_file")));
    }
}

/// Without a prefix nobody knows whose tool it is: it may be one of the server that is away.
#[tokio::test]
async fn a_name_without_a_prefix_may_be_of_a_server_that_is_away() {
    let client = several(Prefix::Collisions, &[1]).await;
    let away = "upstream.unavailable: server `a`: its tool list is not available at the moment, and no other has";
    let again = "the call was not made: it can be made again";
    for (name, near) in [
        ("read_file", ""),
        ("delet", "; similar listed tools: `delete`"),
    ] {
        let answer = answered(&client, params(name, json!({}))).await;
        let said = format!("{away} \"{name}\"\n{again}{near}");
        assert!(error(&answer).starts_with(&said), "{answer}");
    }
    let answer = answered(&client, params("b__read", json!({}))).await;
    assert!(error(&answer).starts_with("tool.unknown"), "{answer}");
    // With the server's prefix, the name says whose it would be.
    let client = several(Prefix::Always, &[1]).await;
    let answer = answered(&client, params("read_file", json!({}))).await;
    assert!(error(&answer).starts_with("tool.unknown"), "{answer}");
}

#[tokio::test]
async fn a_server_without_tools_is_not_away() {
    let tool = json!([{"name": "t", "inputSchema": {"type": "object"}}]);
    let mut world = World::new(
        vec![(server("a"), tool.clone()), (server("b"), tool)],
        Vec::new(),
    );
    world.lists[0].pages.clear();
    let client = world.client(local()).await;
    let answer = answered(&client, params("a__t", json!({}))).await;
    assert!(error(&answer).starts_with("tool.unknown"), "{answer}");
}

#[tokio::test]
async fn who_may_not_use_a_server_is_not_told_of_it() {
    let tool = json!([{"name": "t", "inputSchema": {"type": "object"}}]);
    let mut world = World::new(
        vec![(server("a"), tool.clone()), (server("b"), tool)],
        Vec::new(),
    );
    let mut holder = TokenConfig::new("bob", "token-of-bob-1234");
    holder.servers = vec!["b".to_owned()];
    Arc::make_mut(&mut world.tools.config).tokens = vec![holder];
    world.lists.remove(0);
    let bob = Principal::Named("bob".to_owned());
    let caller = Caller::new(bob, Some("s".to_owned()), Revision::V2025_11_25);
    let client = world.client(caller).await;
    let answer = answered(&client, params("a__t", json!({}))).await;
    assert!(error(&answer).starts_with("tool.unknown"), "{answer}");
}
