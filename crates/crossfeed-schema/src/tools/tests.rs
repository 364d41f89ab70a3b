//! Every shape, in and out.

use crate::{Change, Shape, ToolCall, ToolList, ToolListError};
use serde_json::{Value, json};

fn change(list: &ToolList, schema: &Value) -> Value {
    let change = || Change {
        input_schema: Some(schema.clone()),
        ..Change::default()
    };
    list.to_value_with(list.tools().map(|_| change()))
}

/// Reads a list whose tools are these, and puts another schema at `schemas`, and nowhere else.
fn check(document: Value, tools: &[(&str, Shape)], schemas: &[&str]) {
    let list = ToolList::parse(&document).unwrap();
    let found: Vec<_> = list.tools().map(|t| (t.name(), t.shape())).collect();
    assert_eq!(found, tools, "{document}");
    assert_eq!(list.to_value(), document);
    let unchanged = list.to_value_with(list.tools().map(|_| Change::default()));
    assert_eq!(unchanged.to_string(), document.to_string());

    let schema = json!({"type": "object", "properties": {"z": {"type": "null"}}});
    let mut expected = document.clone();
    for at in schemas {
        *expected.pointer_mut(at).unwrap() = schema.clone();
    }
    assert_eq!(change(&list, &schema).to_string(), expected.to_string());
}

fn schema() -> Value {
    json!({"type": "object", "properties": {"url": {"type": "string"}}, "required": ["url"]})
}

#[test]
fn lists_of_mcp() {
    let tool = |name: &str| {
        json!({"name": name, "title": "T", "inputSchema": schema(), "outputSchema": {"type": "object"},
               "annotations": {"readOnlyHint": true}, "_meta": {"vendor/x": 1}, "unknown": [1]})
    };
    let found = [("a", Shape::Mcp), ("b", Shape::Mcp)];
    let schemas = ["/tools/0/inputSchema", "/tools/1/inputSchema"];
    let list = json!({"tools": [tool("a"), tool("b")], "nextCursor": "c", "ttlMs": 5});
    check(list.clone(), &found, &schemas);
    check(
        json!({"jsonrpc": "2.0", "id": 7, "result": list}),
        &found,
        &["/result/tools/0/inputSchema", "/result/tools/1/inputSchema"],
    );
    check(json!([tool("a")]), &found[..1], &["/0/inputSchema"]);
    check(tool("a"), &found[..1], &["/inputSchema"]);
    check(json!({"tools": []}), &[], &[]);
}

#[test]
fn a_tool_without_a_schema_takes_no_parameters() {
    let list = ToolList::parse(&json!({"tools": [{"name": "now"}]})).unwrap();
    let tool = list.tools().next().unwrap();
    assert_eq!(
        *tool.input_schema(),
        json!({"type": "object", "properties": {}})
    );
}

#[test]
fn lists_of_anthropic() {
    check(
        json!([
            {"name": "a", "description": "d", "input_schema": schema(), "cache_control": {"type": "ephemeral"}},
            {"type": "web_search_20250305", "name": "web_search", "max_uses": 3},
            {"type": "custom", "name": "b", "input_schema": schema(), "strict": true},
        ]),
        &[("a", Shape::Anthropic), ("b", Shape::Anthropic)],
        &["/0/input_schema", "/2/input_schema"],
    );
}

#[test]
fn lists_of_openai() {
    check(
        json!({"model": "m", "tools": [
            {"type": "function", "function": {"name": "a", "parameters": schema(), "strict": false}},
            {"type": "function", "name": "b", "parameters": schema(), "strict": true},
            {"type": "web_search"},
            {"type": "mcp", "server_label": "s"},
        ]}),
        &[("a", Shape::OpenAiChat), ("b", Shape::OpenAiResponses)],
        &["/tools/0/function/parameters", "/tools/1/parameters"],
    );
}

#[test]
fn lists_of_gemini() {
    let declaration =
        |name: &str| json!({"name": name, "description": "d", "parameters": schema()});
    let found = [("a", Shape::Gemini), ("b", Shape::Gemini)];
    for key in ["functionDeclarations", "function_declarations"] {
        check(
            json!([{"googleSearch": {}}, {key: [declaration("a"), declaration("b")]}]),
            &found,
            &[
                &format!("/1/{key}/0/parameters"),
                &format!("/1/{key}/1/parameters"),
            ],
        );
        check(
            json!({key: [declaration("a")]}),
            &found[..1],
            &[&format!("/{key}/0/parameters")],
        );
    }
    check(
        json!([{"name": "a", "parametersJsonSchema": schema()}]),
        &found[..1],
        &["/0/parametersJsonSchema"],
    );
}

#[test]
fn capitals_of_gemini_are_read_as_json_schema() {
    let list = json!([{"functionDeclarations": [{"name": "a", "parameters": {"type": "OBJECT", "properties": {
        "type": {"type": "STRING", "nullable": true, "enum": ["A"], "maxLength": "7"},
        "l": {"type": "ARRAY", "items": {"type": "INTEGER"}},
        "u": {"anyOf": [{"type": "NUMBER"}], "nullable": true},
    }}}]}]);
    let list = ToolList::parse(&list).unwrap();
    let expected = json!({"type": "object", "properties": {
        "type": {"type": ["string", "null"], "enum": ["A", null], "maxLength": 7},
        "l": {"type": "array", "items": {"type": "integer"}},
        "u": {"anyOf": [{"type": "number"}, {"type": "null"}]},
    }});
    assert_eq!(
        list.tools().next().unwrap().input_schema().to_string(),
        expected.to_string()
    );
}

#[test]
fn what_is_no_tool_stays_and_says_why() {
    let document = json!({"tools": [7, {"type": "web_search"}, {"inputSchema": {}}, {"name": "a", "inputSchema": {}}, {}]});
    check(
        document.clone(),
        &[("a", Shape::Mcp)],
        &["/tools/3/inputSchema"],
    );
    let list = ToolList::parse(&document).unwrap();
    let passed: Vec<_> = list
        .passed()
        .iter()
        .map(|passed| (passed.at.as_str(), passed.name.as_str(), passed.why))
        .collect();
    assert_eq!(
        passed,
        [
            ("/tools/0", "", "it is no object"),
            ("/tools/1", "web_search", "the provider runs it itself"),
            ("/tools/2", "inputSchema", "it has no name"),
            ("/tools/4", "", "the provider runs it itself"),
        ]
    );
}

#[test]
fn what_is_no_list_is_an_error() {
    for document in [json!(7), json!({"a": 1}), json!("x"), json!(null), schema()] {
        assert!(!ToolList::is_list(&document));
        assert!(matches!(
            ToolList::parse(&document),
            Err(ToolListError::NoTools { .. })
        ));
    }
    let mut deep = json!({});
    for _ in 0..200 {
        deep = json!({"properties": {"a": deep}});
    }
    let deep = json!([{"name": "a", "inputSchema": deep}]);
    assert_eq!(ToolList::parse(&deep).unwrap_err(), ToolListError::TooDeep);
}

#[test]
fn changes_go_where_the_shape_has_them() {
    let changed = |tool: Value, strict: bool| {
        let list = ToolList::parse(&tool).unwrap();
        list.to_value_with([Change {
            name: Some("b".to_owned()),
            strict: Some(strict),
            ..Change::default()
        }])
    };
    let mcp = changed(
        json!({"name": "a", "inputSchema": {}, "_meta": {"x": 1}}),
        false,
    );
    assert_eq!(
        mcp,
        json!({"name": "b", "inputSchema": {}, "_meta": {"x": 1, "dev.crossfeed/strict": false}})
    );
    assert_eq!(
        ToolList::parse(&mcp)
            .unwrap()
            .tools()
            .next()
            .unwrap()
            .strict(),
        Some(false)
    );
    assert_eq!(
        changed(mcp, true),
        json!({"name": "b", "inputSchema": {}, "_meta": {"x": 1}})
    );
    assert_eq!(
        changed(
            json!({"type": "function", "function": {"name": "a", "parameters": {}}}),
            true
        ),
        json!({"type": "function", "function": {"name": "b", "parameters": {}, "strict": true}})
    );
}

/// A list in one shape, in another.
fn converted(document: &Value, shape: Shape, expected: Value, lost: &[(&str, Option<&str>)]) {
    let converted = ToolList::parse(document).unwrap().to_shape(shape);
    assert_eq!(converted.list.to_value(), expected, "{shape}");
    let found: Vec<_> = converted
        .lost
        .iter()
        .map(|lost| (lost.tool.as_str(), lost.field.as_deref()))
        .collect();
    assert_eq!(found, lost, "{shape}");
    let names: Vec<_> = converted.list.tools().map(|tool| tool.shape()).collect();
    assert!(names.iter().all(|found| *found == shape), "{names:?}");
}

#[test]
fn a_list_becomes_that_of_another_provider() {
    let mcp = json!({"tools": [
        {"name": "a", "title": "A", "description": "d", "inputSchema": schema(), "outputSchema": {}},
        {"name": "b", "title": "B"},
    ], "nextCursor": "c"});
    let none = json!({"type": "object", "properties": {}});
    let lost = [
        ("", Some("nextCursor")),
        ("a", Some("title")),
        ("a", Some("outputSchema")),
    ];
    converted(
        &mcp,
        Shape::Anthropic,
        json!([
            {"name": "a", "description": "d", "input_schema": schema()},
            {"name": "b", "description": "B", "input_schema": none},
        ]),
        &lost,
    );
    converted(
        &mcp,
        Shape::OpenAiChat,
        json!([
            {"type": "function", "function": {"name": "a", "description": "d", "parameters": schema()}},
            {"type": "function", "function": {"name": "b", "description": "B", "parameters": none}},
        ]),
        &lost,
    );
    converted(
        &mcp,
        Shape::OpenAiResponses,
        json!([
            {"type": "function", "name": "a", "description": "d", "parameters": schema()},
            {"type": "function", "name": "b", "description": "B", "parameters": none},
        ]),
        &lost,
    );
    converted(
        &mcp,
        Shape::Gemini,
        json!([{"functionDeclarations": [
            {"name": "a", "description": "d", "parameters": schema()},
            {"name": "b", "description": "B"},
        ]}]),
        &lost,
    );
    converted(&mcp, Shape::Mcp, mcp.clone(), &[]);
    let anthropic = json!([
        {"name": "a", "input_schema": schema(), "strict": true, "cache_control": {}},
        {"type": "bash_20250124", "name": "bash"},
    ]);
    converted(
        &anthropic,
        Shape::OpenAiResponses,
        json!([{"type": "function", "name": "a", "parameters": schema(), "strict": true}]),
        &[("bash", None), ("a", Some("cache_control"))],
    );
    converted(
        &anthropic,
        Shape::Mcp,
        json!({"tools": [{"name": "a", "inputSchema": schema()}]}),
        &[
            ("bash", None),
            ("a", Some("strict")),
            ("a", Some("cache_control")),
        ],
    );
}

/// Reads a call and writes it again, with other arguments at `at`.
fn called(block: Value, id: Option<&str>, arguments: Value, at: &str) {
    let call = ToolCall::parse(&block).unwrap();
    assert_eq!((call.id(), call.name()), (id, "f"), "{block}");
    assert_eq!(*call.arguments(), arguments, "{block}");
    assert_eq!(call.to_value().to_string(), block.to_string());
    let same = call.clone().with_arguments(arguments);
    assert_eq!(same.to_value().to_string(), block.to_string());

    let other = json!({"z": [1.5, "\u{e9}"]});
    let mut expected = block.clone();
    *expected.pointer_mut(at).unwrap() = match expected.pointer(at) {
        Some(Value::String(_)) => Value::from(other.to_string()),
        _ => other.clone(),
    };
    assert_eq!(
        call.with_arguments(other).to_value().to_string(),
        expected.to_string()
    );
}

#[test]
fn calls_of_every_provider() {
    let arguments = json!({"b": 1, "a": {"$tool": "c"}});
    let text = r#"{"b": 1,  "a": {"$tool": "c"}}"#;
    called(
        json!({"type": "tool_use", "id": "t1", "name": "f", "input": arguments, "caller": {"type": "direct"}}),
        Some("t1"),
        arguments.clone(),
        "/input",
    );
    called(
        json!({"index": 0, "id": "t2", "type": "function", "function": {"name": "f", "arguments": text}}),
        Some("t2"),
        arguments.clone(),
        "/function/arguments",
    );
    called(
        json!({"type": "function_call", "id": "fc_1", "call_id": "t3", "name": "f", "arguments": text, "status": "completed"}),
        Some("t3"),
        arguments.clone(),
        "/arguments",
    );
    called(
        json!({"functionCall": {"name": "f", "args": arguments}, "thoughtSignature": "s"}),
        None,
        arguments.clone(),
        "/functionCall/args",
    );
    called(
        json!({"function_call": {"id": "t4", "name": "f", "args": arguments}}),
        Some("t4"),
        arguments.clone(),
        "/function_call/args",
    );
    called(
        json!({"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": {"name": "f", "arguments": arguments, "_meta": {"progressToken": 1}}}),
        Some("9"),
        arguments.clone(),
        "/params/arguments",
    );
    called(
        json!({"name": "f", "arguments": arguments, "_meta": {}}),
        None,
        arguments,
        "/arguments",
    );
    called(
        json!({"type": "function", "id": "t", "function": {"name": "f", "arguments": ""}}),
        Some("t"),
        json!({}),
        "/function/arguments",
    );
    for none in [json!({"name": "f"}), json!({"functionCall": {"name": "f"}})] {
        assert_eq!(*ToolCall::parse(&none).unwrap().arguments(), json!({}));
    }
}

fn refused(block: Value, says: &str) {
    let error = ToolCall::parse(&block).unwrap_err();
    assert_eq!(error.to_string(), says, "{block}");
}

#[test]
fn a_call_that_cannot_be_read_says_why() {
    let chat = |arguments: &str| json!({"id": "t", "type": "function", "function": {"name": "f", "arguments": arguments}});
    refused(
        chat("{\"a\": "),
        "call of `f`: the arguments are no JSON: unexpected end at byte 6",
    );
    refused(
        chat("plain"),
        "call of `f`: the arguments are no JSON: not JSON at byte 0",
    );
    refused(
        chat(&"[".repeat(1000)),
        "call of `f`: the arguments nest deeper than 127",
    );
    refused(
        json!({"type": "tool_use", "id": "t", "name": "f", "input": "x"}),
        "call of `f`: the arguments must be an object, not string",
    );
    refused(
        json!({"type": "function_call", "name": "f", "arguments": 7}),
        "call of `f`: the arguments must be a string of JSON, not number",
    );
    refused(
        json!({"type": "tool_use", "input": {}}),
        "the call names no tool",
    );
    refused(
        json!({"type": "text", "text": "x"}),
        "this is no tool call but object",
    );
    refused(json!(7), "this is no tool call but number");
    let error = ToolCall::parse(&chat("{")).unwrap_err();
    assert_eq!(
        (error.id.as_deref(), error.name.as_deref()),
        (Some("t"), Some("f"))
    );
}

/// The names and ids of all calls in an answer.
fn all(answer: Value, expected: &[&str]) {
    let found: Vec<_> = ToolCall::parse_all(&answer)
        .into_iter()
        .map(|call| match call {
            Ok(call) => format!("{} {}", call.id().unwrap_or("-"), call.name()),
            Err(error) => format!("{} !", error.id.unwrap_or_default()),
        })
        .collect();
    assert_eq!(found, expected, "{answer}");
}

#[test]
fn answers_hold_calls() {
    let use_ = |id: &str| json!({"type": "tool_use", "id": id, "name": "f", "input": {}});
    all(
        json!({"type": "message", "role": "assistant", "stop_reason": "tool_use",
               "content": [{"type": "text", "text": "I"}, use_("1"), {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}, use_("2")]}),
        &["1 f", "2 f"],
    );
    all(json!([use_("1"), use_("2")]), &["1 f", "2 f"]);
    let chat = |id: &str, text: &str| json!({"id": id, "type": "function", "function": {"name": "f", "arguments": text}});
    let message = json!({"role": "assistant", "content": null, "tool_calls": [chat("1", "{}"), chat("2", "{"), chat("3", "")]});
    all(message.clone(), &["1 f", "2 !", "3 f"]);
    all(
        json!({"object": "chat.completion", "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}),
        &["1 f", "2 !", "3 f"],
    );
    all(
        json!({"role": "assistant", "content": null, "function_call": {"name": "f", "arguments": "{\"a\": 1}"}}),
        &["- f"],
    );
    all(
        json!({"object": "response", "output": [
            {"type": "reasoning", "summary": []},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "x"}]},
            {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
        ]}),
        &["c f"],
    );
    all(
        json!({"candidates": [{"content": {"role": "model", "parts": [{"text": "x"}, {"functionCall": {"name": "f", "args": {}}}]}}]}),
        &["- f"],
    );
}

#[test]
fn what_a_tool_returned_is_not_searched_for_calls() {
    let call = json!({"type": "tool_use", "id": "1", "name": "f", "input": {}});
    all(json!({"role": "user", "content": [call]}), &[]);
    all(
        json!([{"type": "tool_result", "tool_use_id": "0", "content": [call]}]),
        &[],
    );
    all(json!({"role": "tool", "content": [call]}), &[]);
    all(
        json!([{"functionResponse": {"name": "f", "response": {"content": [call]}}}]),
        &[],
    );
    all(
        json!({"type": "function_call_output", "output": [call]}),
        &[],
    );
    all(json!("text"), &[]);
}
