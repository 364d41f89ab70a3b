//! What holds whatever a client writes and a server returns.

use super::*;
use proptest::prelude::*;

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

/// Arguments that hold nothing that is meant for the gateway.
fn plain_arguments() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::from),
        any::<f64>()
            .prop_map(Value::from)
            .prop_filter("null", |value| !value.is_null()),
        "[a-z_$ {}:\"]{0,8}".prop_map(Value::from),
    ];
    let value = leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::hash_map("[a-z_$]{1,4}", inner, 0..4)
                .prop_map(|members| members.into_iter().collect()),
        ]
    });
    prop::collection::hash_map("q|url|[a-z]{1,3}", value, 0..4)
        .prop_map(|members| members.into_iter().collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Without references a server gets the client's bytes, whether or not they fit its schema; and
    /// what it fails with comes back as its own.
    #[test]
    fn without_references_nothing_changes(
        arguments in plain_arguments(),
        more in "[a-z]{0,4}",
        name in "search|fetch|typed|secret",
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let params = format!("{{ \"arguments\": {arguments:#},\"{more}x\":1e999 ,\"name\":\"{name}\"}}");
        let failed = format!("{{\"content\": [{{\"type\":\"text\",\"text\":\"{more}\"}}], \"isError\" :true}}");
        let (sent, shown) = runtime.block_on(async {
            let client = one().await;
            let forward = forward(&client, Bytes::from(params.clone())).await;
            (forward.params, forward.pending.finish(Bytes::from(failed.clone())).await)
        });
        prop_assert_eq!(String::from_utf8_lossy(&sent), params);
        prop_assert_eq!(String::from_utf8_lossy(&shown), failed);
    }

    /// Whatever a server returns, a client that reads only one copy knows how to refer to it; and nothing that was
    /// cut can be parsed.
    #[test]
    fn what_is_shown_is_whole_or_no_data(result in any_result(), name in "typed|search") {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let shown = runtime.block_on(async {
            let client = one().await;
            returned(&client, &name, result.clone()).await
        });
        let content = shown["content"].as_array().unwrap();
        let texts = || content.iter().filter_map(|part| part.get("text")?.as_str());
        let parsed = || texts().filter_map(|text| serde_json::from_str::<Value>(text).ok());
        let id = |value: &Value| value.get("_toolCallId").cloned();
        if texts().next().is_some_and(|text| text.starts_with("[crossfeed preview of call_1")) {
            prop_assert!(shown.get("structuredContent").is_none(), "{}", shown);
            prop_assert!(parsed().next().is_none(), "{}", shown);
        } else {
            prop_assert!(parsed().any(|told| id(&told) == Some(json!("call_1"))), "{}", shown);
            let came = result["content"].as_array().cloned().unwrap_or_default();
            prop_assert!(came.iter().all(|part| content.contains(part) || part.to_string().contains("_toolCallId")), "{}", shown);
            if let Some(structured) = shown.get("structuredContent") {
                prop_assert_eq!(id(structured), Some(json!("call_1")));
            }
        }
    }
}
