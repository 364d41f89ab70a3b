//! Lists of tools: which are in them, and what is put into them.

use super::schema;
use crate::{Change, Shape, ToolList, ToolListError};
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
            ("/tools/0", "", "it is not an object"),
            ("/tools/1", "web_search", "the provider runs it itself"),
            ("/tools/2", "inputSchema", "it has no name"),
            ("/tools/4", "", "it has no name"),
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

/// The entries of a list that are not tools, each with why, and whether the provider runs it.
fn passed(document: Value, expected: &[(&str, &str, bool)]) {
    let list = ToolList::parse(&document).unwrap();
    assert_eq!(list.tools().len(), 0, "{document}");
    let found: Vec<_> = list
        .passed()
        .iter()
        .map(|passed| (passed.at.as_str(), passed.why, passed.is_hosted))
        .collect();
    assert_eq!(found, expected, "{document}");
}

#[test]
fn who_runs_what_is_no_tool() {
    let (hosted, nameless, none) = (
        "the provider runs it itself",
        "it has no name",
        "it is not an object",
    );
    passed(
        json!([1, null]),
        &[("/0", none, false), ("/1", none, false)],
    );
    passed(
        json!([{"inputSchema": {}}, {"name": 5, "input_schema": {}}, {"parameters": {}}, {"name": 5}, {"type": "function"}]),
        &["/0", "/1", "/2", "/3", "/4"].map(|at| (at, nameless, false)),
    );
    passed(
        json!([{"functionDeclarations": [{"parameters": {}}, {"description": "d"}, 7]}]),
        &[
            ("/0/functionDeclarations/0", nameless, false),
            ("/0/functionDeclarations/1", nameless, false),
            ("/0/functionDeclarations/2", none, false),
        ],
    );
    passed(
        json!([{"type": "bash_20250124", "name": "bash"}, {"googleSearch": {}}, {"type": "web_search"}]),
        &["/0", "/1", "/2"].map(|at| (at, hosted, true)),
    );
    passed(
        json!([{"type": "custom", "name": "nos"}, {"type": "custom", "custom": {"name": "c"}}]),
        &["/0", "/1"].map(|at| (at, "it has no schema", false)),
    );
}

#[test]
fn a_tool_says_whether_it_has_a_schema() {
    let lacks = |tool: Value| {
        let list = ToolList::parse(&json!([tool])).unwrap();
        list.tools().all(|tool| tool.lacks_schema())
    };
    assert!(lacks(json!({"name": "a"})));
    assert!(lacks(json!({"name": "a", "inputSchema": null})));
    assert!(lacks(json!({"type": "function", "name": "a"})));
    assert!(!lacks(json!({"name": "a", "inputSchema": {}})));
    assert!(!lacks(json!({"name": "a", "input_schema": true})));
}

#[test]
fn a_type_that_is_not_said_is_none() {
    let list = json!([{"functionDeclarations": [{"name": "a", "parameters": {"type": "OBJECT", "properties": {
        "u": {"type": "TYPE_UNSPECIFIED", "description": "d"},
    }}}]}]);
    let list = ToolList::parse(&list).unwrap();
    assert_eq!(
        *list.tools().next().unwrap().input_schema(),
        json!({"type": "object", "properties": {"u": {"description": "d"}}})
    );
}

/// Where a schema goes in a declaration whose own is JSON Schema.
fn moved(schema: Value, key: &str) {
    let list = ToolList::parse(&json!([{"name": "a", "parametersJsonSchema": {}, "response": 1}]));
    let change = Change {
        input_schema: Some(schema.clone()),
        ..Change::default()
    };
    let shown = list.unwrap().to_value_with([change]);
    assert_eq!(
        shown.to_string(),
        json!([{"name": "a", key: schema, "response": 1}]).to_string()
    );
}

#[test]
fn what_only_gemini_reads_stands_where_it_is_read() {
    let with = |a: Value| json!({"type": "object", "properties": {"a": a}});
    moved(
        with(json!({"type": "string", "nullable": true})),
        "parameters",
    );
    moved(with(json!({"type": "string"})), "parametersJsonSchema");
    moved(
        with(json!({"$ref": "#", "nullable": true})),
        "parametersJsonSchema",
    );
    moved(
        with(json!({"type": ["string", "null"], "nullable": true})),
        "parametersJsonSchema",
    );
}
