//! Calls: what is sent, what is refused, what is resolved.

use super::*;

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
async fn calls_without_a_name_are_refused() {
    let client = one().await;
    for params in ["{}", "[]", r#"{"name":7}"#] {
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
    // Whoever shares a session learns of no other id in it, whatever is wrong.
    for client in clients
        .iter()
        .filter(|client| client.shared.privacy().is_shared)
    {
        for arguments in [
            json!({"url": null, "_refs": {"url": {"_select": "a"}}}),
            json!({"url": null, "_refs": {"url": {"_tool": "search", "_select": "a"}}}),
            json!({"url": {"$call": "search", "$select": "a"}}),
            json!({"url": null, "_refs": 7}),
        ] {
            if let Call::Answered(answer) = client.call(params("fetch", arguments)).await {
                let text = String::from_utf8_lossy(&answer);
                assert!(!ids.iter().any(|id| text.contains(id.as_str())), "{text}");
            }
        }
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
async fn binary_results_are_passed_on_as_parameters_want_them() {
    let listed = json!([
        {"name": "draw", "inputSchema": {"type": "object"}},
        {"name": "show", "inputSchema": {"type": "object", "properties": {
            "raw": {"type": "string"},
            "url": {"type": "string", "format": "uri"},
            "any": {},
            "list": {"type": "array", "items": {"type": "string"}},
            "map": {"type": "object", "additionalProperties": {"type": "string"}},
            "text": {"type": "string"},
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
    let arguments = json!({"raw": one, "url": second, "any": one, "list": [second], "map": {"a.png": one}, "text": one.to_string(), "n": 12345});
    let forward = forward(&client, params("show", arguments)).await;
    let sent: Value = serde_json::from_slice(&forward.params).unwrap();
    assert_eq!(
        sent["arguments"],
        json!({
            "raw": "AAAA",
            "url": "data:image/png;base64,AAAA",
            "any": {"data": "AAAA", "encoding": "base64", "mimeType": "image/png"},
            "list": ["AAAA"],
            "map": {"a.png": "AAAA"},
            "text": "AAAA",
            "n": 12345,
        })
    );
    // What fits is not looked at; what is not a binary result stays an error.
    let answer = answered(&client, params("show", json!({"raw": {"_tool": "call_2"}}))).await;
    assert!(error(&answer).starts_with("arguments.invalid"), "{answer}");
}

/// What is not offered cannot be called, by no name that it could have.
#[tokio::test]
async fn what_is_denied_cannot_be_called() {
    let mut a = server("a");
    a.deny = vec!["se*".to_owned()];
    let mut b = server("b");
    b.allow = vec!["fetch".to_owned()];
    let servers = vec![(a, tools()), (b, tools())];
    let client = World::new(servers, Vec::new()).client(local()).await;
    forward(&client, params("b__fetch", json!({}))).await;
    for name in [
        "search",
        "a__search",
        "a__secret",
        "b__typed",
        "b__page",
        "fetch",
        "Typed",
        "",
    ] {
        let answer = answered(&client, params(name, json!({}))).await;
        assert!(
            error(&answer).starts_with("tool.unknown"),
            "{name} {answer}"
        );
    }
}

#[tokio::test]
async fn a_retry_gets_the_same_values() {
    let caller = Caller::new(
        Principal::Local,
        Some("s".to_owned()),
        Revision::V2026_07_28,
    );
    let world = World::new(vec![(server("a"), tools())], Vec::new());
    let client = world.client(caller).await;
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
async fn what_may_be_read_in_two_ways_is_refused() {
    let client = one().await;
    for (params, key) in [
        (r#"{"name":"search","name":"fetch","arguments":{}}"#, "name"),
        (
            r#"{"name":"search","arguments":{"q":{"$tool":"call_1"}},"arguments":{"q":"x"}}"#,
            "arguments",
        ),
        (
            r#"{"name":"search","arguments":{},"Arguments":{}}"#,
            "arguments",
        ),
    ] {
        match client.call(Bytes::from(params)).await {
            Call::Refused(error) => assert!(error.message.contains(key), "{error:?}"),
            _ => panic!("{params}"),
        }
    }
    let text = params("search", json!("{\"q\":{\"$tool\":\"call_1\"}}"));
    let answer = answered(&client, text).await;
    assert!(error(&answer).starts_with("arguments.invalid"), "{answer}");
    // Without a reference it is the server's to refuse.
    forward(&client, params("search", json!("{}"))).await;
}

/// A tool that is never chained gets what a client writes, also where it has words of ours.
#[tokio::test]
async fn what_is_never_chained_gets_what_came() {
    let mut never = server("a");
    never.never_chain = vec!["*".to_owned()];
    let schema = json!({"type": "object", "properties": {
        "$select": {"type": "string"}, "x": {"type": ["string", "null"]}, "n": {"type": "number"}}});
    let tool = json!([{"name": "odata", "inputSchema": schema}]);
    let client = World::new(vec![(never, tool)], Vec::new())
        .client(local())
        .await;
    for arguments in [
        r#"{"$select":"id"}"#,
        r#"{"x":null,"n":1.10000000000000000000000001}"#,
    ] {
        let params = Bytes::from(format!(r#"{{"name":"odata","arguments":{arguments}}}"#));
        assert_eq!(forward(&client, params.clone()).await.params, params);
    }
    let answer = answered(&client, params("odata", json!({"x": {"$tool": "call_1"}}))).await;
    assert!(error(&answer).contains("takes no references"), "{answer}");
}

/// A reference that could be resolved goes nowhere in a call of which nothing is kept: whose data it is
/// would not be asked.
#[tokio::test]
async fn what_is_not_kept_takes_no_reference() {
    let mut never = server("b");
    never.never_chain = vec!["*".to_owned()];
    let sink = json!([{"name": "sink", "inputSchema": {"type": "object"}}]);
    let mut world = World::new(vec![(server("a"), tools()), (never, sink)], Vec::new());
    let options = EngineOptions::default().with_max_in_flight(1);
    world.tools = Tools::new(Engine::in_memory(options), Arc::clone(&world.tools.config));
    let client = world.client(local()).await;
    let result = json!({"content": [{"type": "text", "text": "u"}]});
    returned(&client, "search", result).await;
    let (one, text) = (json!({"$tool": "call_1"}), json!("{\"$tool\": \"call_1\"}"));
    let all = [
        json!({"q": one}),
        json!({"q": [one]}),
        json!({"q": text}),
        json!({"_refs": {"q": {"_tool": "call_1"}}}),
        one,
    ];
    for arguments in &all {
        let answer = answered(&client, params("sink", arguments.clone())).await;
        assert!(error(&answer).starts_with("flow.refused"), "{answer}");
    }
    let running = forward(&client, params("search", json!({}))).await;
    for arguments in &all {
        let answer = answered(&client, params("search", arguments.clone())).await;
        assert!(error(&answer).starts_with("limit.exceeded"), "{answer}");
    }
    drop(running);
}

#[tokio::test]
async fn what_is_sent_unjudged_keeps_its_digits() {
    let client = one().await;
    let params =
        r#"{"name":"fetch","arguments":{"region":null,"any":1.10000000000000000000000001}}"#;
    let sent = forward(&client, Bytes::from(params)).await.params;
    let expected = r#"{"name":"fetch","arguments":{"any":1.10000000000000000000000001}}"#;
    assert_eq!(String::from_utf8_lossy(&sent), expected);
}

/// Arguments may nest as deep as anything that is read; what stands around them in the message does not count.
#[tokio::test]
async fn arguments_nest_as_deep_as_the_limit_says() {
    let client = one().await;
    let nested = |lists: usize, pad: usize| {
        let (open, close) = ("[".repeat(lists), "]".repeat(lists));
        let pad = "x".repeat(pad);
        format!(r#"{{"name":"search","arguments":{{"q":"{pad}","x":{open}{close}}}}}"#)
    };
    for pad in [0, 10_000] {
        let most = nested(126, pad);
        let forwarded = forward(&client, most.clone().into()).await;
        assert_eq!(forwarded.params, most);
        let refused = answered(&client, nested(127, pad).into()).await;
        let text = error(&refused);
        assert!(text.starts_with("limit.exceeded: "), "{text}");
        assert!(text.contains("127"), "{text}");
    }
    let (open, close) = ("[".repeat(127), "]".repeat(127));
    let deep = format!(r#"{{"name":"search","_meta":{open}{close}}}"#);
    let Call::Refused(refused) = client.call(deep.into()).await else {
        panic!("it was taken");
    };
    assert!(refused.message.contains("127"), "{}", refused.message);
}

/// A tool whose arguments are read back cannot be called with more values than may be built of them.
#[tokio::test]
async fn more_values_than_can_be_read_back_are_refused_with_a_way_out() {
    let mut config = server("a");
    config.profile = Some("gemini".to_owned());
    let list = |key: &str| {
        let item = json!({"type": "object", "properties": {(key): {"type": "integer"}}});
        json!({"type": "array", "items": item})
    };
    let tools = json!([
        {"name": "renamed", "inputSchema": {"type": "object", "properties": {"x": list("c.d")}}},
        {"name": "plain", "inputSchema": {"type": "object", "properties": {"x": list("c")}}},
    ]);
    let client = World::new(vec![(config, tools)], Vec::new())
        .client(local())
        .await;
    let few = forward(&client, params("renamed", json!({"x": [{"c_d": 1}]}))).await;
    assert_eq!(few.params, params("renamed", json!({"x": [{"c.d": 1}]})));
    let many = |key: &str| json!({"x": vec![json!({(key): 1}); 10_000]});
    let refused = answered(&client, params("renamed", many("c_d"))).await;
    let text = error(&refused);
    assert!(text.starts_with("limit.exceeded: "), "{text}");
    assert!(text.contains("write fewer values"), "{text}");
    let passed = forward(&client, params("plain", many("c"))).await;
    assert_eq!(passed.params, params("plain", many("c")));
}

/// A number that no 64-bit float holds is for the server to judge, however a text beside it is spelled.
#[tokio::test]
async fn a_number_that_no_float_holds_is_passed_on() {
    let properties = json!({"n": {"type": "number"}, "t": {"type": "string"}});
    let tools = json!([{"name": "t", "inputSchema": {"type": "object", "properties": properties}}]);
    let client = World::new(vec![(server("a"), tools)], Vec::new())
        .client(local())
        .await;
    for text in ["\u{e9}", r"\u00e9", "null", "_tool"] {
        let params = format!(r#"{{"name":"t","arguments":{{"t":"{text}","n":1e400}}}}"#);
        let forwarded = forward(&client, params.clone().into()).await;
        assert_eq!(forwarded.params, params);
    }
}
