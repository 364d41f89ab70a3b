//! What a model asks of a result, in the arguments of a call.

use super::{World, answered, error, forward, local, params, server};
use serde_json::{Value, json};

const WORDS: [&str; 4] = ["_select", "$select", "_fields", "$fields"];

fn tools() -> Value {
    json!([
        {"name": "closed", "inputSchema": {"type": "object", "properties": {"q": {"type": "string"}}}},
        {"name": "none", "inputSchema": {"type": "object", "properties": {}}},
        {"name": "open", "inputSchema": {
            "type": "object", "properties": {"q": {"type": "string"}}, "additionalProperties": true,
        }},
        {"name": "own", "inputSchema": {
            "type": "object", "properties": {"_select": {}, "$select": {}, "_fields": {}, "$fields": {}},
        }},
        {"name": "apart", "inputSchema": {"type": "object", "properties": {"q": {}}},
            "_meta": {"dev.crossfeed/chain": false}},
        {"name": "typed", "inputSchema": {"type": "object", "properties": {}},
            "outputSchema": {"type": "object", "properties": {"n": {}}}},
    ])
}

#[tokio::test]
async fn a_choice_of_fields_that_is_not_offered_is_refused() {
    for projection in [false, true] {
        let mut config = server("a");
        config.projection = projection;
        let client = World::new(vec![(config, tools())], Vec::new());
        let client = client.client(local()).await;
        for (tool, word) in ["closed", "none"]
            .into_iter()
            .flat_map(|tool| WORDS.map(|word| (tool, word)))
        {
            for written in [json!(["id"]), json!("id"), json!(null)] {
                let answer = answered(&client, params(tool, json!({word: written}))).await;
                let text = error(&answer);
                let says = format!("arguments.invalid: the tool does not offer `{word}`");
                assert!(text.starts_with(&says), "{text}");
                let how = "`projection = true` in the configuration of the gateway";
                assert_eq!(text.contains(how), !projection, "{text}");
                assert_eq!(text.contains("declare the fields"), projection, "{text}");
                assert!(!text.contains("ListOptions"), "{text}");
                let part = "write a reference as the value of a parameter";
                assert!(text.contains(part), "{text}");
            }
        }
        if projection {
            let sent = forward(&client, params("typed", json!({"_select": ["n"]}))).await;
            assert_eq!(sent.params, params("typed", json!({})));
            let answer = answered(&client, params("typed", json!({"_fields": ["n"]}))).await;
            assert!(error(&answer).contains("try: `_select`"), "{answer}");
        }
    }
}

#[tokio::test]
async fn what_a_tool_takes_itself_is_sent_as_it_came() {
    let client = World::new(vec![(server("a"), tools())], Vec::new());
    let client = client.client(local()).await;
    for (tool, word) in ["open", "own", "apart"]
        .into_iter()
        .flat_map(|tool| WORDS.map(|word| (tool, word)))
    {
        let sent = params(tool, json!({"q": "x", word: ["id"]}));
        assert_eq!(forward(&client, sent.clone()).await.params, sent);
    }
    // Below the root it is data of the tool's.
    let sent = params(
        "closed",
        json!({"q": "x", "filter": {"_select": ["id"], "a": 1}}),
    );
    assert_eq!(forward(&client, sent.clone()).await.params, sent);
}

/// What is asked of the result is heard where the arguments go to the server unjudged, too.
#[tokio::test]
async fn a_choice_of_fields_is_heard_beside_arguments_that_do_not_fit() {
    let mut config = server("a");
    config.projection = true;
    let tools = json!([{"name": "t", "inputSchema": {"type": "object", "properties": {"q": {"type": "string"}}},
        "outputSchema": {"type": "object", "properties": {"n": {}, "m": {}}}}]);
    let client = World::new(vec![(config, tools)], Vec::new());
    let client = client.client(local()).await;
    let sent = forward(&client, params("t", json!({"q": 7, "_select": ["n"]}))).await;
    assert_eq!(sent.params, params("t", json!({"q": 7})));
    let result = json!({"content": [], "structuredContent": {"n": 1, "m": 2}});
    let shown = sent.pending.finish(result.to_string().into()).await;
    let shown: Value = serde_json::from_slice(&shown).unwrap();
    assert_eq!(
        shown["structuredContent"],
        json!({"n": 1, "_toolCallId": "call_1"})
    );
}

/// What a model asked of the result and did not get, it hears beside the result, within the budget of its call.
#[tokio::test]
async fn a_choice_of_fields_that_is_ignored_is_said() {
    let mut config = server("a");
    config.projection = true;
    let tools = json!([{"name": "t", "inputSchema": {"type": "object", "properties": {"q": {"type": "string"}}},
        "outputSchema": {"type": "object", "properties": {"n": {}, "m": {}}}}]);
    let client = World::new(vec![(config, tools)], Vec::new());
    let client = client.client(local()).await;
    for (arguments, expected) in [
        (json!({"_select": 7}), "fields: `_select` "),
        (json!({"q": 7, "_select": 7}), "fields: `_select` "),
        (
            json!({"_select": ["n", "name"]}),
            "fields: no object has `name`",
        ),
    ] {
        let sent = forward(&client, params("t", arguments.clone())).await;
        let result = json!({"content": [], "structuredContent": {"n": 1, "m": 2}});
        let shown = sent.pending.finish(result.to_string().into()).await;
        let shown: Value = serde_json::from_slice(&shown).unwrap();
        let said = &shown["_meta"]["dev.crossfeed/notices"];
        let first = said[0].as_str().unwrap_or_default();
        assert!(first.starts_with(expected), "{arguments}: {shown}");
        assert_eq!(shown["structuredContent"]["_crossfeedNotices"], *said);
    }
}
