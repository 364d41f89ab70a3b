use super::lint_list;
use crate::{Profile, ToolList};
use serde_json::{Value, json};

/// The lines of the findings must begin with these texts.
fn check(profile: Profile, document: Value, expected: &[&str]) {
    let list = ToolList::parse(&document).unwrap();
    let lines: Vec<_> = lint_list(&list, profile)
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        lines.len(),
        expected.len(),
        "{profile} {document}: {lines:#?}"
    );
    for (line, expected) in lines.iter().zip(expected) {
        assert!(line.starts_with(expected), "{line} is not {expected}");
    }
}

#[test]
fn a_schema_is_mandatory_for_some() {
    for tool in [
        json!({"name": "a"}),
        json!({"name": "a", "inputSchema": null}),
    ] {
        for profile in [Profile::Mcp, Profile::Anthropic, Profile::AnthropicStrict] {
            check(profile, json!([tool]), &["a: there is no schema; "]);
        }
    }
    check(
        Profile::OpenAi,
        json!([{"type": "function", "name": "a"}]),
        &[],
    );
    check(
        Profile::Gemini,
        json!([{"functionDeclarations": [{"name": "a"}]}]),
        &[],
    );
    check(
        Profile::Mcp,
        json!([{"name": "a", "inputSchema": {"type": "object"}}]),
        &[],
    );
}

#[test]
fn what_is_no_tool_is_refused() {
    let (mcp, anthropic) = (Profile::Mcp, Profile::Anthropic);
    check(
        mcp,
        json!([1, null]),
        &["/0: it is not an object; ", "/1: it is not an object; "],
    );
    check(
        mcp,
        json!({"tools": [{"inputSchema": {"type": "object"}}]}),
        &["/tools/0: it has no name; "],
    );
    check(
        anthropic,
        json!([{"name": 5, "input_schema": {"type": "object"}}]),
        &["/0: it has no name; "],
    );
    let custom = json!([{"type": "custom", "name": "nos"}]);
    check(anthropic, custom.clone(), &["/0: it has no schema; "]);
    check(Profile::OpenAi, custom, &[]);
    let hosted = json!([{"type": "web_search_20250305", "name": "web_search"}]);
    check(anthropic, hosted.clone(), &[]);
    check(mcp, hosted, &["/0: the provider runs it itself; "]);
}

#[test]
fn gemini_reads_json_schema_where_it_is_declared() {
    let schema = json!({"type": "object", "properties": {"a": {"type": ["string", "null"]}}, "additionalProperties": false});
    let list = |key: &str| json!([{"functionDeclarations": [{"name": "a", key: schema}]}]);
    check(Profile::Gemini, list("parametersJsonSchema"), &[]);
    check(
        Profile::Gemini,
        list("parameters"),
        &[
            "a: `additionalProperties`; ",
            "a /properties/a: a list of types; ",
        ],
    );
    check(
        Profile::Gemini,
        json!([{"name": "a b", "parametersJsonSchema": {"type": "string"}}]),
        &["a b: the tool's name; ", "a b: the root does not say "],
    );
}

#[test]
fn the_second_of_a_name_is_told_and_no_more() {
    let tool = json!({"name": "a", "inputSchema": {"type": "object"}});
    check(Profile::Mcp, json!([tool]), &[]);
    check(
        Profile::Mcp,
        json!([tool, tool]),
        &["a: another tool has the same name; "],
    );
    check(
        Profile::Mcp,
        json!([tool, tool, tool]),
        &["a: another tool has the same name; "],
    );
}
