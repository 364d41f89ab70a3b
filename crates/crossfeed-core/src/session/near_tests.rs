//! What is meant as a reference is resolved or refused, never passed on; and what is data is passed on unchanged.

use crate::{
    Engine, EngineOptions, Session, ToolResult, failure::ResolveError, lineage::LineageEntry,
};
use crossfeed_tools::{ListOptions, Style, ToolList, rewrite_tools};
use crossfeed_wire::{CallId, Scope};
use proptest::prelude::*;
use serde_json::{Value, json};

async fn session() -> Session {
    let engine = Engine::in_memory(EngineOptions::default());
    let session = engine.session(Scope::parse("t", "p", "s").unwrap());
    let record = async |id: &str, result: Value| {
        let result = ToolResult::json(result.to_string());
        session
            .record(&CallId::parse(id).unwrap(), result)
            .await
            .unwrap();
    };
    record(
        "call_1",
        json!({"items": [{"url": "u", "n": 1.5}, {"url": "v", "n": 2}], "none": null}),
    )
    .await;
    record("toolu_01AbC", json!({"a-b": "x"})).await;
    record("search", json!({"query": "q", "items": [1]})).await;
    record("1", json!({"x": "one"})).await;
    session
}

/// The outcome as a value, the same for values and for bytes.
async fn resolve(
    session: &Session,
    arguments: &Value,
    schema: Option<Value>,
) -> Result<(Value, Vec<LineageEntry>), ResolveError> {
    let schema = schema.map(|schema| session.engine.input_schema(&schema).unwrap());
    let values = session.resolve(arguments.clone(), schema.as_ref()).await;
    let bytes = session
        .resolve_json(arguments.to_string(), schema.as_ref())
        .await;
    match (values, bytes) {
        (Ok(values), Ok(bytes)) => {
            let parsed: Value = serde_json::from_slice(&bytes.arguments.into_bytes()).unwrap();
            assert_eq!(values.arguments, parsed);
            assert_eq!(values.lineage, bytes.lineage);
            Ok((parsed, values.lineage))
        }
        (Err(values), Err(bytes)) => {
            assert_eq!(values.to_string(), bytes.to_string());
            Err(values)
        }
        (values, bytes) => panic!("{arguments}: {values:?}\n{bytes:?}"),
    }
}

async fn gives(argument: Value, expected: Value) {
    let arguments = json!({"x": argument});
    let (resolved, lineage) = resolve(&session().await, &arguments, None).await.unwrap();
    assert_eq!(resolved["x"], expected, "{arguments}");
    assert!(!lineage.is_empty(), "{arguments}");
    assert!(
        lineage.iter().all(|link| link.repair.is_some()),
        "{lineage:?}"
    );
}

async fn refused(argument: Value, schema: Option<Value>, parts: &[&str]) {
    let arguments = json!({"x": argument});
    let error = resolve(&session().await, &arguments, schema)
        .await
        .unwrap_err()
        .to_string();
    for part in parts {
        assert!(error.contains(part), "{arguments}: {error}");
    }
}

#[tokio::test]
async fn what_is_meant_is_resolved() {
    for text in [
        "{{call_1.items[0].url}}",
        "${call_1.items[0].url}",
        "$call_1.items[0].url",
        "<call_1.items[0].url>",
        "call_1.items[0].url",
        "{{Call_1.items[0].url}}",
        "{{call-1.items[0].url}}",
        "{{functions.call_1.items[0].url}}",
        "{{call_1_result.items[0].url}}",
        "{{steps.call_1.output.items[0].url}}",
        "{{call_1.result.items.0.url}}",
        "{'$tool': 'call_1', '$select': 'items[0].url'}",
        "```json\n{\"$tool\": \"call_1\", \"$select\": \"items[0].url\"}\n```",
        "{\"tool\": \"call_1\", \"select\": \"items[0].url\"}",
    ] {
        gives(json!(text), json!("u")).await;
    }
    for object in [
        json!({"$tool": "call_1", "select": "items[0].url"}),
        json!({"$tool": "call_1", "$path": "items[0].url"}),
        json!({"tool": "call_1", "select": "items[0].url"}),
        json!({"$call": "call_1", "query": "items[0].url"}),
        json!({"$ref": "call_1#/items/0/url"}),
        json!({"_toolCallId": "call_1", "_select": "items[0].url"}),
        json!({"$call_1": "items[0].url"}),
        json!({"$tool": "call_1.items[0].url"}),
        json!({"$tool": "{{call_1}}", "$select": "items[0].url"}),
    ] {
        gives(object, json!("u")).await;
    }
    gives(json!("{{toolu_01AbC.a-b}}"), json!("x")).await;
    gives(json!("{{toolu_01AbC}}"), json!({"a-b": "x"})).await;
    gives(
        json!(
            "See {{call_1.items[0].url}} ({{call_1.items[0].n}}, {{x_1.y}}): {{call_1.items[1]}}."
        ),
        json!("See u (1.5, {{x_1.y}}): {\"url\":\"v\",\"n\":2}."),
    )
    .await;
}

#[tokio::test]
async fn what_cannot_be_read_is_refused_with_the_right_form() {
    let right = r#"try: {"$tool":"call_1","$select":"items[0].url"}"#;
    let literal = r#"{"$literal": …}"#;
    refused(json!("{{call_1.items[0].urll}}"), None, &["urll", literal]).await;
    refused(json!("see ${call_1.nothing.here} there"), None, &[literal]).await;
    refused(
        json!({"$tool": "call_1", "limit": 0}),
        None,
        &["`limit` beside `$tool`"],
    )
    .await;
    refused(
        json!({"$tool": "call_1", "index": 0}),
        None,
        &["`{\"$tool\":\"call_1\",\"index\":0}` is not a valid reference"],
    )
    .await;
    refused(
        json!({"tool": "call_1", "select": {"x": "items"}}),
        None,
        &["call_1"],
    )
    .await;
    let number = json!({"properties": {"x": {"type": "string", "maxLength": 3}}});
    refused(json!("{{call_1.items}}"), Some(number), &[right, literal]).await;
}

/// What a value holds could end a text of JSON and add members.
#[tokio::test]
async fn no_value_is_put_into_json() {
    let schema = json!({"properties": {"x": {"type": "object"}}});
    for text in [
        r#"{"a":"{{call_1.items[0].url}}"}"#,
        r#"["{{call_1.items[0].url}}", 1]"#,
    ] {
        refused(json!(text), None, &["call_1.items[0].url"]).await;
        refused(json!(text), Some(schema.clone()), &["call_1.items[0].url"]).await;
    }
    let template = json!({"$template": "{{\"a\":\"{u}\"}}",
        "$with": {"u": {"$tool": "call_1", "$select": "items[0].url"}}});
    let (resolved, _) = resolve(&session().await, &json!({"x": template}), None)
        .await
        .unwrap();
    assert_eq!(resolved, json!({"x": "{\"a\":\"u\"}"}));
    refused(template, Some(schema), &["expected object"]).await;
}

#[tokio::test]
async fn parts_beyond_the_most_are_not_passed_on() {
    let (known, unknown) = ("{{call_1.items[0].url}}", "{{step_7.items[0].url}} ");
    let many = |number| format!("{known} {}", unknown.repeat(number));
    let session = session().await;
    for last in [
        json!(known),
        json!(["$tool", "call_1", "$select", "items[0].url"]),
        json!({"tool": "call_1", "select": "items[0].url"}),
    ] {
        let right = json!({"x": many(9_990), "y": last});
        let resolved = session.resolve(right, None).await.unwrap();
        assert_eq!(resolved.arguments["y"], "u", "{last}");
        let beyond = json!({"x": many(10_000), "y": last});
        let error = session.resolve(beyond, None).await.unwrap_err();
        assert_eq!(
            error.failures()[0].error.code().as_str(),
            "limit.exceeded",
            "{last}"
        );
        let beyond = json!({"x": format!("{} {known}", many(10_000)), "y": 1});
        let error = session.resolve(beyond, None).await.unwrap_err();
        assert_eq!(error.failures()[0].error.code().as_str(), "limit.exceeded");
        let unknown = json!({"x": unknown.repeat(10_010), "y": 1});
        session.resolve(unknown, None).await.unwrap();
    }
}

#[tokio::test]
async fn a_map_under_a_near_key_fills_what_is_null() {
    let tools = json!([{"name": "fetch", "inputSchema": {
        "type": "object", "properties": {"url": {"type": "string"}}, "required": ["url"],
    }}]);
    let listed = rewrite_tools(
        &ToolList::parse(&tools).unwrap(),
        &ListOptions::style(Style::Refs),
    );
    let session = session().await;
    let fetch = session
        .engine
        .prepare(listed.find("fetch").unwrap().clone());
    for key in ["_refs", "refs", "references"] {
        let map = json!({"url": {"_tool": "call_1", "_select": "items[0].url"}});
        let arguments = json!({"url": null, key: map});
        let resolved = session
            .resolve_call(&fetch, arguments.clone())
            .await
            .unwrap();
        assert_eq!(resolved.arguments, json!({"url": "u"}), "{key}");
        let json = session
            .resolve_call_json(&fetch, arguments.to_string())
            .await
            .unwrap();
        assert_eq!(json.arguments.to_vec(), br#"{"url":"u"}"#, "{key}");
    }
}

#[tokio::test]
async fn errors_are_spelled_as_the_tool_is_listed() {
    let tools = json!([{"name": "fetch", "inputSchema": {
        "type": "object", "properties": {"url": {"type": "string"}}, "required": ["url"],
    }}]);
    let tools = ToolList::parse(&tools).unwrap();
    let session = session().await;
    for (style, arguments, right) in [
        (
            Style::Refs,
            json!({"url": "{{call_1.items[0].urll}}"}),
            r#""_refs": {"url": {"_tool":"call_1","_select":"items[0].url"}}"#,
        ),
        (
            Style::Refs,
            json!({"url": null, "_refs": {"url": {"tool": "call_1", "select": "items[0].urll"}}}),
            r#"try: {"_tool":"call_1","_select":"items[0].url"}"#,
        ),
        (
            Style::RefsList,
            json!({"url": "{{call_1.items[0].urll}}"}),
            r#""_refs": [{"to":"url","tool":"call_1","select":"items[0].url"}]"#,
        ),
        (
            Style::Inline,
            json!({"url": "{{call_1.items[0].urll}}"}),
            r#"try: {"$tool":"call_1","$select":"items[0].url"}"#,
        ),
    ] {
        let listed = rewrite_tools(&tools, &ListOptions::style(style));
        let fetch = session
            .engine
            .prepare(listed.find("fetch").unwrap().clone());
        let values = session
            .resolve_call(&fetch, arguments.clone())
            .await
            .unwrap_err();
        let bytes = session
            .resolve_call_json(&fetch, arguments.to_string())
            .await
            .unwrap_err();
        assert_eq!(values.to_string(), bytes.to_string());
        assert!(values.to_string().contains(right), "{style}: {values}");
    }
}

#[tokio::test]
async fn data_passes_unchanged() {
    let session = session().await;
    for data in [
        json!("call_1"),
        json!("see call_1"),
        json!("{{search.items[0]}}"),
        json!("{{call_9.items}} and {{user.name}}"),
        json!("${1} costs $1.50, {{1.x}}, $search.query, {search.query}"),
        json!("const q = `${search.query}`;"),
        json!("call_1.json"),
        json!("a@call_1.com"),
        json!({"tool": "search", "query": "x"}),
        json!({"tool_call_id": "call_1", "role": "tool", "content": "x"}),
        json!({"$ref": "#/definitions/x"}),
        json!([{"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]),
        json!({"tool": "call_9", "select": "x"}),
    ] {
        let arguments = json!({"x": data});
        let (resolved, lineage) = resolve(&session, &arguments, None).await.unwrap();
        assert_eq!(resolved, arguments);
        assert!(lineage.is_empty());
    }
    // The tool's own names, and the arguments themselves.
    let schema = json!({"properties": {"x": {"type": "object", "properties": {"tool": {}}}}});
    let own = json!({"x": {"tool": "call_1"}});
    assert_eq!(resolve(&session, &own, Some(schema)).await.unwrap().0, own);
    let root = json!({"call_id": "call_1", "select": "items"});
    assert_eq!(resolve(&session, &root, None).await.unwrap().0, root);
}

#[tokio::test]
async fn in_programs_only_exact_references_count() {
    let session = session().await.with_exact_references();
    for data in [
        json!("{{call_1.items}}"),
        json!({"tool": "call_1"}),
        json!("call_1.items[0]"),
    ] {
        let arguments = json!({"x": data});
        assert_eq!(
            resolve(&session, &arguments, None).await.unwrap().0,
            arguments
        );
    }
    let exact = json!({"x": {"$tool": "call_1", "$select": "items[0].url"}});
    assert_eq!(
        resolve(&session, &exact, None).await.unwrap().0,
        json!({"x": "u"})
    );
}

#[tokio::test]
async fn another_sessions_call_is_data() {
    let session = session().await;
    let other = session
        .engine
        .session(Scope::parse("t", "p", "other").unwrap());
    let arguments = json!({"x": "{{call_1.items}}"});
    assert_eq!(
        resolve(&other, &arguments, None).await.unwrap().0,
        arguments
    );
}

#[tokio::test]
async fn texts_hold_values() {
    let session = session().await;
    let with = |select: &str| json!({"$tool": "call_1", "$select": select});
    let template = json!({"x": {"$template": "{a} {{b}} {c}{a}", "$with": {"a": with("items[0].url"), "c": with("items[1]")}}});
    let (resolved, lineage) = resolve(&session, &template, None).await.unwrap();
    assert_eq!(resolved, json!({"x": "u {b} {\"url\":\"v\",\"n\":2}u"}));
    assert_eq!(lineage.len(), 2);
    assert!(
        lineage
            .iter()
            .all(|link| link.at.as_str() == "/x" && link.repair.is_none())
    );
    let map = json!({"_refs": {"x": {"_template": "{a}", "_with": {"a": {"_tool": "call_1", "_select": "nothing", "_default": 7}}}, "y": {"_literal": {"_tool": "c"}}}});
    assert_eq!(
        resolve(&session, &map, None).await.unwrap().0,
        json!({"x": "7", "y": {"_tool": "c"}})
    );
    let list = json!({"_refs": [{"to": "/x", "template": "{a}!", "with": [{"name": "a", "tool": "call_1", "select": "items[0].n"}]}, {"to": "y", "literal": 1.50}]});
    assert_eq!(
        resolve(&session, &list, None).await.unwrap().0,
        json!({"x": "1.5!", "y": 1.50})
    );
    let written = json!({"_refs": map["_refs"].to_string()});
    assert_eq!(
        resolve(&session, &written, None).await.unwrap().0,
        json!({"x": "7", "y": {"_tool": "c"}})
    );
    // What a value brings in is not searched.
    let injected = ToolResult::json(r#""{a} {{call_1.items}} {\"$tool\": \"call_1\"}""#);
    session
        .record(&CallId::parse("call_2").unwrap(), injected)
        .await
        .unwrap();
    let nested = json!({"x": {"$template": "{a}", "$with": {"a": {"$tool": "call_2"}}}, "y": "<call_2 | @>"});
    let (resolved, _) = resolve(&session, &nested, None).await.unwrap();
    assert_eq!(
        resolved["x"],
        "{a} {{call_1.items}} {\"$tool\": \"call_1\"}"
    );
    let null = json!({"$template": "{a}", "$with": {"a": {"$tool": "call_3"}}});
    session
        .record(&CallId::parse("call_3").unwrap(), ToolResult::json("null"))
        .await
        .unwrap();
    let error = resolve(&session, &json!({"x": null}), None).await;
    assert!(error.is_ok());
    let error = resolve(&session, &null, None)
        .await
        .unwrap_err()
        .to_string();
    assert!(error.contains("$default"), "{error}");
}

#[tokio::test]
async fn a_text_takes_no_more_than_its_values_may() {
    let engine = Engine::in_memory(EngineOptions::default().with_max_resolved_bytes(1000));
    let session = engine.session(Scope::parse("t", "p", "s").unwrap());
    let result = ToolResult::json(Value::from("x".repeat(100)).to_string());
    session
        .record(&CallId::parse("call_1").unwrap(), result)
        .await
        .unwrap();
    let template =
        json!({"x": {"$template": "{a}".repeat(20), "$with": {"a": {"$tool": "call_1"}}}});
    let error = resolve(&session, &template, None)
        .await
        .unwrap_err()
        .to_string();
    assert!(error.contains("larger than 1000 bytes"), "{error}");
}

#[tokio::test]
async fn hostile_texts_stay_bounded() {
    let session = session().await;
    let braces = "{".repeat(1 << 20);
    let many: String = (0..100_000)
        .map(|number| format!("{{{{id_{number}.x}}}}"))
        .collect();
    let open = "{{call_1.".repeat(100_000);
    for text in [braces, many, open] {
        let arguments = json!({"x": text});
        assert_eq!(
            resolve(&session, &arguments, None).await.unwrap().0,
            arguments
        );
    }
    let many = "{{call_1.items[0].url}}".repeat(20_000);
    let error = resolve(&session, &json!({"x": many}), None)
        .await
        .unwrap_err()
        .to_string();
    assert!(error.contains("hold 10001 references"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_template_is_its_text_with_each_value_in_place(
        pieces in prop::collection::vec(prop_oneof!["[a-z{} $é\"]{0,8}".prop_map(Ok), (0_usize..3).prop_map(Err)], 0..12),
        values in prop::array::uniform3(prop_oneof![
            "[a-z{}$\"é]{0,8}".prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<bool>().prop_map(Value::from),
            prop::collection::vec(any::<i8>(), 0..3).prop_map(Value::from),
        ]),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let engine = Engine::in_memory(EngineOptions::default());
            let session = engine.session(Scope::parse("t", "p", "s").unwrap());
            for (number, value) in values.iter().enumerate() {
                let id = CallId::parse(&format!("c{number}")).unwrap();
                session.record(&id, ToolResult::json(value.to_string())).await.unwrap();
            }
            let mut with = serde_json::Map::new();
            let (mut template, mut expected) = (String::new(), String::new());
            for piece in &pieces {
                match piece {
                    Ok(text) => {
                        template.push_str(&text.replace('{', "{{").replace('}', "}}"));
                        expected.push_str(text);
                    }
                    Err(number) => {
                        template.push_str(&format!("{{n{number}}}"));
                        with.insert(format!("n{number}"), json!({"$tool": format!("c{number}")}));
                        match &values[*number] {
                            Value::String(text) => expected.push_str(text),
                            other => expected.push_str(&other.to_string()),
                        }
                    }
                }
            }
            let arguments = json!({"x": {"$template": template, "$with": with}});
            let (resolved, _) = resolve(&session, &arguments, None).await.unwrap();
            assert_eq!(resolved, json!({"x": expected}));
        });
    }
}

#[tokio::test]
async fn plain_ids_of_records_are_data() {
    let session = session().await;
    for data in [
        json!({"_id": "1", "name": "x"}),
        json!({"id": "1", "name": "x"}),
        json!({"_id": "search"}),
        json!({"_source": "search", "_id": "1"}),
        json!({"_value": "1", "n": 2}),
    ] {
        let arguments = json!({"x": data});
        let (resolved, _) = resolve(&session, &arguments, None).await.unwrap();
        assert_eq!(resolved, arguments);
    }
}

/// Memory that is used up.
#[derive(Debug)]
struct NoMemory;

impl crossfeed_jmespath::Memory for NoMemory {
    fn take(&self, _: usize, _: usize) -> Option<usize> {
        None
    }

    fn give_back(&self, _: usize) {}
}

#[tokio::test]
async fn a_limit_that_a_reading_exceeds_is_told_as_that() {
    let engine = Engine::in_memory(EngineOptions::default());
    let session = engine.session(Scope::parse("t", "p", "s").unwrap());
    let session = session.with_memory(std::sync::Arc::new(NoMemory));
    let items: Vec<_> = (0..20_000).collect();
    let result = ToolResult::json(json!({"items": items}).to_string());
    session
        .record(&CallId::parse("call_1").unwrap(), result)
        .await
        .unwrap();
    let arguments = json!({"x": {"tool": "call_1", "select": "items[*].[@, @]"}});
    let error = session.resolve(arguments, None).await.unwrap_err();
    let [failure] = error.failures() else {
        panic!("{error}");
    };
    assert_eq!(
        failure.error.code(),
        crossfeed_wire::ErrorCode::LimitExceeded,
        "{error}"
    );
}

#[tokio::test]
async fn a_path_in_doubled_braces_of_a_template_is_refused_with_the_right_form() {
    let right = r#"{"$template":"See {value1}.","$with":{"value1":{"$tool":"call_1","$select":"items[0].url"}}}"#;
    let written = json!({"$template": "See {{call_1.items[0].url}}.", "$with": {}});
    refused(written, None, &[right]).await;
    let other = json!({"x": {"$template": "{{call_9.url}}, {{name}}", "$with": {}}});
    let (resolved, _) = resolve(&session().await, &other, None).await.unwrap();
    assert_eq!(resolved["x"], "{call_9.url}, {name}");
}

#[tokio::test]
async fn a_default_in_a_template_keeps_its_digits() {
    let arguments = r#"{"x": {"$template": "{a} EUR", "$with":
        {"a": {"$tool": "call_1", "$select": "gone", "$default": 1.50}}}}"#;
    let resolved = session().await.resolve_json(arguments, None).await.unwrap();
    assert_eq!(resolved.arguments.into_bytes(), br#"{"x":"1.50 EUR"}"#[..]);
}

/// Other forms of what is meant as a reference: of expressions, of objects, of lists.
#[tokio::test]
async fn other_forms_are_resolved() {
    for text in [
        "{{ call_1.items | [0].url }}",
        "{{ first(call_1.items).url }}",
        "<%= call_1.items[0].url %>",
        "[call_1](items[0].url)",
        "<call_1>items[0].url</call_1>",
        "{{ ti.xcom_pull(task_ids='call_1')['items'][0]['url'] }}",
        "{\"$tool\": \"call_1\" \"$select\": \"items[0].url\"}",
        "${\"$tool\": \"call_1\", \"$select\": \"items[0].url\"}",
    ] {
        gives(json!(text), json!("u")).await;
    }
    for object in [
        json!({"$tool": "call_1", "$select": ["items", 0, "url"]}),
        json!({"$tool": "call_1", "$path": ["items", 0, "url"]}),
        json!({"$tool": {"id": "call_1", "select": "items[0].url"}}),
        json!({"$ref": {"$tool": "call_1", "$select": "items[0].url"}}),
        json!({"$tool": "call_1", "$select": "items[*].url", "index": 0}),
    ] {
        gives(object, json!("u")).await;
    }
    for text in [
        "{{tool_call_1.items[0].url}}",
        "{{ index .call_1.items 0 \"url\" }}",
    ] {
        gives(json!(text), json!("u")).await;
    }
    gives(json!("length(call_1.items)"), json!(2)).await;
    gives(json!("{{length(call_1.items)}}"), json!(2)).await;
    gives(json!("$toolu_01AbC"), json!({"a-b": "x"})).await;
    gives(
        json!("There are {{length(call_1.items)}}."),
        json!("There are 2."),
    )
    .await;
    let session = session().await;
    let string = json!({"properties": {"x": {"type": "string"}, "y": {"type": "array", "items": {"type": "string"}}}});
    for (arguments, right) in [
        (
            json!({"x": null, "_refs": {"x": ["call_1", "items", 0, "url"]}}),
            json!({"x": "u"}),
        ),
        (json!({"x": ["{{call_1.items[0].url}}"]}), json!({"x": "u"})),
        (
            json!({"y": [{"$tool": "call_1", "$select": "items[*].url"}]}),
            json!({"y": ["u", "v"]}),
        ),
        (
            json!({"y": [{"$tool": "call_1", "$select": "items[0].url"}]}),
            json!({"y": ["u"]}),
        ),
        (
            json!({"x": null, "_refs": {"to": "x", "tool": "call_1", "select": "items[0].url"}}),
            json!({"x": "u"}),
        ),
        (
            json!({"x": null, "_refs": {"x": [{"_tool": "call_1", "_select": "items[0].url"}]}}),
            json!({"x": "u"}),
        ),
        (
            json!({"x": {"template": "See {a}", "with": {"a": {"$tool": "call_1", "$select": "items[0].url"}}}}),
            json!({"x": "See u"}),
        ),
        (
            json!({"x": {"$literal": "{{call_1.x}}", "note": "as it is"}}),
            json!({"x": "{{call_1.x}}"}),
        ),
    ] {
        let resolved = resolve(&session, &arguments, Some(string.clone())).await;
        assert_eq!(resolved.unwrap().0, right, "{arguments}");
    }
}

/// What is unclear is refused, with what it may mean.
#[tokio::test]
async fn what_is_unclear_is_refused_with_what_it_may_mean() {
    let right = r#"try: {"$tool":"call_1","$select":"items"}"#;
    for text in [
        "%7B%7Bcall_1.items%7D%7D",
        "{{ index .call_1.items x }}",
        "{{ format \"%s\" call_1.items }}",
    ] {
        refused(json!(text), None, &[right, r#"{"$literal": …}"#]).await;
    }
    for text in [
        "{{#each call_1.items}}{{url}}{{/each}}",
        "{% for x in call_1.items %}{{x.url}}{% endfor %}",
        "{{ call_1.items + search_1.items }}",
        "docs {{call_1.items.map(x, y}}",
        "see JSON.parse(call_1.items).y there",
    ] {
        refused(json!(text), None, &["call_1", r#"{"$literal": …}"#]).await;
    }
    refused(
        json!({"$literal": 1, "x": 2}),
        None,
        &["`$literal` stands alone"],
    )
    .await;
}

#[tokio::test]
async fn what_is_in_no_known_notation_is_refused_with_the_reference() {
    let right = r#"try: {"$tool":"call_1","$select":"items[0].url"}"#;
    for written in [
        json!(["call_1", "items", 0, "url"]),
        json!("@{body('call_1').items[0].url}"),
        json!("`jq -r .items[0].url call_1`"),
        json!("call_1 > items > 0 > url"),
        json!("from call_1: items[0].url"),
        json!("<value-of select=\"call_1.items[0].url\"/>"),
        json!("root.call_1.items[0].url"),
        json!({"Fn::GetAtt": ["call_1", "items[0].url"]}),
    ] {
        refused(written, None, &[right, r#"{"$literal": …}"#]).await;
    }
}

#[tokio::test]
async fn the_parts_of_a_reference_may_be_arranged_in_any_way() {
    for written in [
        json!(["$tool", "call_1", "$select", "items[0].url"]),
        json!({"call_1": {"$select": "items[0].url"}}),
        json!("<$tool>call_1</$tool><$select>items[0].url</$select>"),
        json!("$tool=call_1 $select=items[0].url"),
        json!("{\"$tool\": \"call_1\", // the selector\n \"$select\": \"items[0].url\"}"),
        json!("{{call_1__items__0__url}}"),
        json!("{{ task_instance.xcom_pull('call_1').items[0].url }}"),
    ] {
        gives(written, json!("u")).await;
    }
    let entry = json!({"_tool": "call_1", "_select": "items[0].url"});
    let maps = [
        json!({"x": null, "_refs": [{"to": {"name": "x"}, "tool": "call_1", "select": "items[0].url"}]}),
        json!({"x": null, "_refs": [{"tool": "call_1", "select": "items[0].url"}]}),
        json!({"x": null, "_refs": [{"x": entry}]}),
        json!({"x": null, "_refs": {"call_1": {"to": "x", "select": "items[0].url"}}}),
        json!({"x": null, "_refs": {"_refs": {"x": entry}}}),
        json!({"x": null, "_refs": {"$.x": entry}}),
        json!({"x": null, "@refs": {"x": entry}}),
        json!({"x": null, "_refs": "{'x': {'_tool': 'call_1', '_select': 'items[0].url'}}"}),
    ];
    for arguments in maps {
        let (resolved, _) = resolve(&session().await, &arguments, None).await.unwrap();
        assert_eq!(resolved, json!({"x": "u"}), "{arguments}");
    }
    let schema = json!({"properties": {"x": {"type": "string"}}});
    for arguments in [
        json!({"x": null, "_tool": "call_1", "_select": "items[0].url"}),
        json!({"x": "call_1", "_select": "items[0].url"}),
        json!({"x": {"x": {"x": {"$tool": "call_1", "$select": "items[0].url"}}}}),
    ] {
        let (resolved, _) = resolve(&session().await, &arguments, Some(schema.clone()))
            .await
            .unwrap();
        assert_eq!(resolved, json!({"x": "u"}), "{arguments}");
    }
}

/// Amid text the advice is the whole text as it is meant.
#[tokio::test]
async fn amid_text_the_whole_text_is_offered() {
    refused(
        json!("See {{call_1.items[0].urll}} and {{call_1.items[1].url}}!"),
        None,
        &[
            r#"try: {"$template":"See {a} and {b}!","$with":{"a":{"$tool":"call_1","$select":"items[0].url"},"b":{"$tool":"call_1","$select":"items[1].url"}}}"#,
            r#"{"$literal": …}"#,
        ],
    )
    .await;
    let long = "a ".repeat(1000);
    refused(
        json!(format!("{long}{{{{call_1.items[0].urll}}}}")),
        None,
        &["try: `{{call_1.items[0].url}}` in place of `{{call_1.items[0].urll}}`"],
    )
    .await;
    let tools = json!([{"name": "fetch", "inputSchema": {
        "type": "object", "properties": {"url": {"type": "string"}}, "required": ["url"],
    }}]);
    let tools = ToolList::parse(&tools).unwrap();
    let session = session().await;
    for (style, templates, right) in [
        (
            Style::Inline,
            false,
            r#"try: "See {{call_1.items[0].url}}.""#,
        ),
        (
            Style::Inline,
            true,
            r#"try: {"$template":"See {a}.","$with":{"a":{"$tool":"call_1","$select":"items[0].url"}}}"#,
        ),
        (
            Style::Refs,
            true,
            r#"try: "_refs": {"url": {"_template":"See {a}.","_with":{"a":{"_tool":"call_1","_select":"items[0].url"}}}}"#,
        ),
        (
            Style::RefsList,
            true,
            r#"try: "_refs": [{"to":"url","template":"See {a}.","with":[{"name":"a","tool":"call_1","select":"items[0].url"}]}]"#,
        ),
    ] {
        let mut options = ListOptions::style(style);
        options.offers.templates = templates;
        let listed = rewrite_tools(&tools, &options);
        let fetch = session
            .engine
            .prepare(listed.find("fetch").unwrap().clone());
        let arguments = json!({"url": "See {{call_1.items[0].urll}}."});
        let error = session.resolve_call(&fetch, arguments).await.unwrap_err();
        assert!(error.to_string().contains(right), "{style}: {error}");
    }
}

/// A name of a file is one unless it selects something.
#[tokio::test]
async fn names_of_files_are_references_only_if_they_select_something() {
    let session = session().await;
    let result = ToolResult::json(json!({"md": "text"}).to_string());
    let call = CallId::parse("call_2").unwrap();
    session.record(&call, result).await.unwrap();
    for (argument, right) in [
        (json!("call_2.md"), json!("text")),
        (json!("call_1.md"), json!("call_1.md")),
        (json!("call_1.tar.gz"), json!("call_1.tar.gz")),
        (
            json!({"$ref": "call_1.json"}),
            json!({"$ref": "call_1.json"}),
        ),
        (json!("\\{{call_1.total}}"), json!("\\{{call_1.total}}")),
        (json!("\\${call_1.total}"), json!("\\${call_1.total}")),
    ] {
        let arguments = json!({"x": argument});
        let (resolved, _) = resolve(&session, &arguments, None).await.unwrap();
        assert_eq!(resolved["x"], right, "{arguments}");
    }
}

async fn of_an_issue() -> Session {
    let engine = Engine::in_memory(EngineOptions::default());
    let session = engine.session(Scope::parse("t", "p", "s").unwrap());
    let result = json!({
        "items": [{"url": "https://e.example/7", "id": 7}], "total": 2, "id": 42, "body": "hello",
        "user": {"name": "Ada", "email": "ada@e.example"},
    });
    let call = CallId::parse("call_1").unwrap();
    let result = ToolResult::json(result.to_string());
    session.record(&call, result).await.unwrap();
    session
}

/// Asserts what each text gives; `None` is that the call is refused.
async fn assert_gives(cases: &[(&str, Option<Value>)]) {
    let session = of_an_issue().await;
    let mut wrong = Vec::new();
    for (text, right) in cases {
        let resolved = resolve(&session, &json!({"x": text}), None).await;
        let resolved = resolved.ok().map(|(resolved, _)| resolved["x"].clone());
        if resolved != *right {
            wrong.push(format!("{text:?} gives {resolved:?}"));
        }
    }
    assert!(wrong.is_empty(), "wrong:\n{}", wrong.join("\n"));
}

#[tokio::test]
async fn what_stands_around_a_placeholder_stays() {
    let stays = |text: &'static str, right: &str| (text, Some(json!(right)));
    assert_gives(&[
        stays("return {{call_1.id}};", "return 42;"),
        stays("print {{call_1.body}}", "print hello"),
        stays("echo ${call_1.total}", "echo 2"),
        stays("@{{call_1.user.name}}", "@Ada"),
        stays("Ping @{{call_1.user.name}} please", "Ping @Ada please"),
        stays("#{{call_1.id}}", "#42"),
        stays("**{{call_1.body}}**", "**hello**"),
        stays("# {{call_1.body}}", "# hello"),
        stays("<{{call_1.user.email}}>", "<ada@e.example>"),
        ("({{call_1.body}})", None),
        stays("${call_1.total}%", "2%"),
        stays("!{{call_1.total}}", "!2"),
        stays("result: {{call_1.body}}", "result: hello"),
        stays("ref <%= call_1.body %>", "ref hello"),
        stays("> {{call_1.body}}", "> hello"),
        stays("~{{call_1.id}}~", "~42~"),
        ("={{call_1.total}}", None),
        ("{{call_1.id}};", None),
        ("\"{{call_1.body}}\"", None),
        ("echo call_1.total", None),
        ("return call_1.total", None),
        ("return call_1.total;", None),
        ("!call_1.total", None),
        ("Fixes #call_1.id", None),
        ("{{call_1.id}}", Some(json!(42))),
        ("```\n{{call_1.id}}\n```", Some(json!(42))),
        ("`${call_1.id}`", Some(json!(42))),
    ])
    .await;
}

#[tokio::test]
async fn no_selector_amid_text_is_read_in_part() {
    assert_gives(&[
        ("Body: call_1.items | length(@)", None),
        ("Body: {{call_1.items}} | length(@)", None),
        ("Body: call_1.items[*].url | [0] now", None),
        ("Body: call_1.items[?id==`7`].url | [0]", None),
        ("Body: {{call_1}}[items[0].url]", None),
        ("Body: [call_1][items[0].url]", None),
        ("Body: {{call_1}}[total] now", Some(json!("Body: 2 now"))),
        ("Body: \\u007bcall_1.items[0].url\\u007d now", None),
    ])
    .await;
}

#[tokio::test]
async fn a_bare_path_amid_text_is_filled_only_with_a_scalar() {
    let passes = |text: &'static str| (text, Some(json!(text)));
    assert_gives(&[
        ("Note: call_1.items is the list", None),
        ("See call_1.items[0].", None),
        (
            "See call_1.items[0].url.",
            Some(json!("See https://e.example/7.")),
        ),
        passes("import call_1.items"),
        passes("from call_1.items import url"),
        passes("const call_1 = f(); call_1.total"),
        passes("def f(call_1): return call_1.total"),
        passes("SELECT call_1.total FROM t AS call_1"),
        passes("call_1.total += 1"),
        passes("call_1.user.name = \"x\""),
        passes("delete call_1.items"),
        passes("mailto:call_1.user@x.com"),
        ("/call_1/items", None),
        ("./call_1/body", None),
        ("use `call_1.items[0].url` to refer", None),
    ])
    .await;
}

#[tokio::test]
async fn a_text_with_a_sign_is_no_data_if_it_selects_nothing() {
    let passes = |text: &'static str| (text, Some(json!(text)));
    assert_gives(&[
        ("$call_1.items[0].nope", None),
        ("$call_1.nope", None),
        passes("see $call_1.nope"),
        passes("$call_1.txt"),
    ])
    .await;
}

#[tokio::test]
async fn several_fields_are_offered() {
    let several = r#""$select":"{total: total, id: id}""#;
    for object in [
        json!({"$tool": "call_1", "fields": ["total", "id"]}),
        json!({"$tool": "call_1", "$select": ["total", "id"]}),
        json!({"tool": "call_1", "select": ["total", "id"]}),
        json!({"$call": "call_1", "keys": ["total", "id"]}),
    ] {
        refused_of_an_issue(object, several).await;
    }
    let one = r#""$select":"{url: items[0].url}""#;
    refused_of_an_issue(
        json!({"$tool": "call_1", "$select": {"url": "items[0].url"}}),
        one,
    )
    .await;
    refused_of_an_issue(
        json!({"tool": "call_1", "select": {"url": "items[0].url"}}),
        one,
    )
    .await;
    gives(
        json!({"$tool": "call_1", "path": ["items", 0, "url"]}),
        json!("u"),
    )
    .await;
}

async fn refused_of_an_issue(argument: Value, right: &str) {
    let arguments = json!({"x": argument});
    let resolved = resolve(&of_an_issue().await, &arguments, None).await;
    let error = resolved
        .map(|(resolved, _)| resolved)
        .unwrap_err()
        .to_string();
    assert!(error.contains(right), "{arguments}: {error}");
}
