//! Lists in another provider's shape.

use super::schema;
use crate::{Shape, ToolList};
use serde_json::{Value, json};

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
