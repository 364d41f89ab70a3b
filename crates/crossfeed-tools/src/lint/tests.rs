use super::lint;
use crate::{Profile, Severity, ToLint};
use serde_json::{Value, json};

/// The lines of the findings for one tool must hold these texts, in this order.
fn check(profile: Profile, schema: &Value, expected: &[&str]) {
    let tool = ToLint {
        name: "tool",
        description: None,
        input_schema: schema,
        strict: None,
    };
    let lines: Vec<_> = lint(&[tool], profile)
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        lines.len(),
        expected.len(),
        "{profile} {schema}: {lines:#?}"
    );
    for (line, expected) in lines.iter().zip(expected) {
        assert!(line.contains(expected), "{line} has no {expected}");
    }
}

fn with(property: Value) -> Value {
    json!({"type": "object", "properties": {"a": property}, "required": ["a"], "additionalProperties": false})
}

#[test]
fn roots() {
    for profile in Profile::ALL {
        check(
            profile,
            &json!({"type": 7}),
            &["tool /type: the schema is not valid"],
        );
    }
    check(
        Profile::Mcp,
        &json!({}),
        &["does not say `\"type\": \"object\"`"],
    );
    check(Profile::Mcp, &json!(true), &["the schema is `true`"]);
    check(
        Profile::Anthropic,
        &json!({"type": "object", "oneOf": [{}], "allOf": [{}]}),
        &["`oneOf` at the root", "`allOf` at the root"],
    );
    check(
        Profile::OpenAi,
        &json!({"type": "object", "not": {}}),
        &["`not` at the root"],
    );
}

#[test]
fn schemas_that_are_none() {
    let dangling = with(json!({"$ref": "#/$defs/gone"}));
    let remote = with(json!({"$ref": "https://example.com/schema"}));
    for profile in [Profile::Mcp, Profile::OpenAiStrict, Profile::Anthropic] {
        check(profile, &dangling, &["leads nowhere"]);
        check(profile, &remote, &["in another document"]);
    }
    let old = with(json!({"type": "array", "items": [{"type": "string"}]}));
    check(Profile::Mcp, &old, &[]);
    check(Profile::Anthropic, &old, &["older draft"]);
    check(
        Profile::OpenAi,
        &old,
        &["tool /properties/a: `items` is a list"],
    );
}

#[test]
fn strict_subsets() {
    let strict = Profile::OpenAiStrict;
    check(strict, &with(json!({"type": "string"})), &[]);
    check(
        strict,
        &with(json!({"type": "string", "format": "uri"})),
        &["the format `uri`"],
    );
    check(
        strict,
        &with(json!({"type": "object", "properties": {}})),
        &["not closed"],
    );
    check(
        strict,
        &with(json!({"description": "any"})),
        &["without a type"],
    );
    check(strict, &with(json!(true)), &["the schema `true`"]);
    check(
        strict,
        &with(json!({"type": "string", "minLength": 1})),
        &["warning: `minLength`"],
    );
    check(
        strict,
        &with(json!({"oneOf": [{"type": "string"}], "type": "string"})),
        &["`oneOf`; the keyword is not taken"],
    );
    check(
        strict,
        &json!({"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": false}),
        &["/properties/a: an optional property"],
    );
    check(
        strict,
        &json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/d", "description": "x"}}, "required": ["a", "b"],
            "additionalProperties": false, "$defs": {"d": {"type": "string", "enum": ["a"]}}}),
        &["`b` is required and not declared", "keywords beside `$ref`"],
    );
    let anthropic = Profile::AnthropicStrict;
    check(
        anthropic,
        &with(json!({"type": "array", "items": {"type": "string"}, "minItems": 2})),
        &["`minItems` of 2"],
    );
    check(
        anthropic,
        &with(json!({"enum": [["a"]]})),
        &["objects or lists"],
    );
    check(
        anthropic,
        &with(json!({"type": "integer", "minimum": 1})),
        &["`minimum`"],
    );
    let recursive = json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/d"}}, "required": ["a"], "additionalProperties": false,
        "$defs": {"d": {"type": "object", "properties": {"x": {"$ref": "#/$defs/d"}}, "additionalProperties": false}}});
    check(
        anthropic,
        &recursive,
        &["/$defs/d: a schema that refers to itself"],
    );
}

#[test]
fn recursion_is_found_however_it_is_written() {
    let recursive = |reference: &str, anchor: Option<&str>| {
        let mut inner = json!({"type": "object", "properties": {"x": {"$ref": reference}}, "additionalProperties": false});
        if let Some(anchor) = anchor {
            inner["$anchor"] = json!(anchor);
        }
        json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/ab"}}, "required": ["a"], "additionalProperties": false, "$defs": {"ab": inner}})
    };
    let anthropic = Profile::AnthropicStrict;
    let itself = "tool /$defs/ab: a schema that refers to itself";
    check(anthropic, &recursive("#/$defs/ab", None), &[itself]);
    check(anthropic, &recursive("#/$defs/a%62", None), &[itself]);
    check(
        anthropic,
        &recursive("#n", Some("n")),
        &["warning: `$anchor`", itself],
    );
    check(
        anthropic,
        &recursive("#", None),
        &["tool: a schema that refers to itself"],
    );
    check(
        anthropic,
        &with(json!({"$ref": "#"})),
        &["tool: a schema that refers to itself"],
    );
    // Two ways to one place are none back.
    check(
        anthropic,
        &json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/d"}, "b": {"$ref": "#/$defs/d"}}, "additionalProperties": false,
            "$defs": {"d": {"type": "object", "properties": {"x": {"$ref": "#/$defs/e"}, "y": {"$ref": "#/$defs/e"}}, "additionalProperties": false}, "e": {"type": "string"}}}),
        &[],
    );
    for profile in [Profile::OpenAiStrict, Profile::Anthropic] {
        let schema = with(json!({"$ref": "#"}));
        check(profile, &schema, &[]);
    }
}

#[test]
fn constants_are_scalars() {
    let constant = |value: Value| with(json!({"const": value}));
    let nested = "a constant that is an object or a list";
    for value in [json!({"a": 1}), json!([])] {
        check(
            Profile::AnthropicStrict,
            &constant(value.clone()),
            &[&format!("/properties/a: {nested}")],
        );
        check(
            Profile::OpenAiStrict,
            &constant(value.clone()),
            &[&format!("/properties/a: warning: {nested}")],
        );
        check(Profile::Anthropic, &constant(value), &[]);
    }
    check(Profile::AnthropicStrict, &constant(json!("x")), &[]);
}

#[test]
fn large_schemas_are_judged_in_time() {
    let names: Vec<_> = (0..60_000).map(|n| format!("p{n}")).collect();
    let properties: serde_json::Map<_, _> = names
        .iter()
        .map(|name| (name.clone(), json!({"type": "string"})))
        .collect();
    let schema = json!({"type": "object", "properties": properties, "required": names, "additionalProperties": false});
    check(
        Profile::OpenAiStrict,
        &schema,
        &["60000 properties", "characters of names"],
    );
}

#[test]
fn gemini() {
    let gemini = Profile::Gemini;
    let plain = |schema| json!({"type": "object", "properties": {"a": schema}});
    check(
        gemini,
        &plain(json!({"type": "string", "nullable": true})),
        &[],
    );
    check(
        gemini,
        &plain(json!({"type": ["string", "null"]})),
        &["a list of types"],
    );
    check(
        gemini,
        &plain(json!({"type": "integer", "enum": [1]})),
        &["other than strings"],
    );
    check(
        gemini,
        &plain(json!({"type": "object"})),
        &["without properties"],
    );
    check(
        gemini,
        &plain(json!({"type": "string", "const": "x"})),
        &["`const`"],
    );
    check(
        gemini,
        &json!({"type": "object"}),
        &["warning: an object without properties"],
    );
    check(
        gemini,
        &json!({"type": "object", "properties": {"$top": {"type": "integer"}}}),
        &["/properties/$top: the property's name"],
    );
}

#[test]
fn limits() {
    let mut deep = json!({"type": "string"});
    for _ in 0..11 {
        deep = with(deep);
    }
    check(Profile::OpenAiStrict, &deep, &["11 levels of nesting"]);
    let values: Vec<_> = (0..1001).collect();
    check(
        Profile::OpenAiStrict,
        &with(json!({"type": "integer", "enum": values})),
        &["1001 enum values"],
    );
    let long = with(json!({"type": "string", "enum": ["x".repeat(120_000)]}));
    check(Profile::OpenAiStrict, &long, &["120001 characters"]);
    let many = json!({"type": "object", "properties": (0..30).map(|n| (format!("p{n}"), json!({"type": "string", "format": "x"}))).collect::<serde_json::Map<_, _>>()});
    let tool = ToLint {
        name: "t",
        description: None,
        input_schema: &many,
        strict: None,
    };
    let found = lint(&[tool], Profile::OpenAiStrict);
    assert_eq!(found.len(), 21);
    assert_eq!(found[20].what, "and 41 more");
    assert_eq!(found[20].severity, Severity::Refused);
}

#[test]
fn lists() {
    let union = with(json!({"type": ["string", "null"]}));
    let tool = |strict, name| ToLint {
        name,
        description: None,
        input_schema: &union,
        strict,
    };
    let names: Vec<_> = (0..21).map(|n| format!("t{n}")).collect();
    let all: Vec<_> = names.iter().map(|name| tool(None, name.as_str())).collect();
    let found = lint(&all, Profile::AnthropicStrict);
    let lines: Vec<_> = found.iter().map(|finding| finding.what.as_str()).collect();
    assert_eq!(
        lines,
        [
            "21 strict tools",
            "21 union-typed parameters in strict tools"
        ]
    );
    assert_eq!(found[0].tool, "(list)");
    let plain: Vec<_> = names
        .iter()
        .map(|name| tool(Some(false), name.as_str()))
        .collect();
    assert!(lint(&plain, Profile::AnthropicStrict).is_empty());

    let twice = [
        tool(None, "a"),
        tool(None, "a"),
        tool(None, "a"),
        tool(None, "b c"),
    ];
    let found = lint(&twice, Profile::Anthropic);
    let lines: Vec<_> = found.iter().map(|finding| finding.what.as_str()).collect();
    assert_eq!(lines, ["another tool has the same name", "the tool's name"]);
    let found = lint(&twice[3..], Profile::Mcp);
    assert_eq!(found[0].severity, Severity::Warning);
}
