//! Lists, decisions, and arguments read back.

use super::{ListOptions, Listed, TokenCounter, rewrite_tools};
use crate::{Profile, Shape, Spelling, Style, ToLint, ToolList, lint};
use proptest::prelude::*;
use serde_json::{Value, json};

fn list(document: &Value, options: &ListOptions) -> Listed {
    let list = ToolList::parse(document).unwrap();
    let listed = rewrite_tools(&list, options);
    // The same again, byte for byte.
    let again = rewrite_tools(&list, options);
    assert_eq!(again.value.to_string(), listed.value.to_string());
    assert!(again.decisions().eq(listed.decisions()));
    listed
}

fn object(properties: Value, required: Value) -> Value {
    json!({"type": "object", "properties": properties, "required": required})
}

fn tool(name: &str, schema: Value) -> Value {
    json!({"name": name, "description": "d", "inputSchema": schema})
}

/// A tool with so many optional parameters.
fn optionals(name: &str, count: usize) -> Value {
    let properties: serde_json::Map<_, _> = (0..count)
        .map(|n| (format!("p{n}"), json!({"type": "string"})))
        .collect();
    tool(name, object(Value::Object(properties), json!([])))
}

fn decisions(listed: &Listed) -> Vec<(&str, Option<&str>, Option<bool>, &str)> {
    listed
        .decisions()
        .map(|d| {
            (
                d.tool.as_str(),
                d.style.map(Style::as_str),
                d.strict,
                d.why.as_str(),
            )
        })
        .collect()
}

#[test]
fn a_style_asked_for_is_always_applied() {
    let document = json!({"jsonrpc": "2.0", "id": 1, "result": {"tools": [
        tool("a", object(json!({"url": {"type": "string"}}), json!(["url"]))),
        tool("none", json!({"type": "object"})),
        {"name": "bare"},
        tool("bad", json!({"type": "objekt"})),
        {"name": "marked", "inputSchema": object(json!({"x": {}}), json!([])), "_meta": {"dev.crossfeed/chain": false}},
        tool("never", object(json!({"x": {}}), json!([]))),
    ], "nextCursor": "c"}});
    for style in Style::ALL {
        let options = ListOptions::style(style)
            .with_never("never")
            .with_max_added_tokens(0);
        let listed = list(&document, &options);
        let word = Some(style.as_str());
        let found = decisions(&listed);
        assert_eq!(
            found[..3],
            [
                ("a", word, None, "the style was asked for"),
                ("none", None, None, "it has no parameters"),
                ("bare", None, None, "it has no parameters"),
            ]
        );
        assert!(
            found[3]
                .3
                .starts_with("its schema cannot be used: the schema is not valid at")
        );
        assert_eq!(found[4].3, "it is marked as never chained");
        assert_eq!(found[5].3, "it is never chained by option");
        // Only the one schema is another.
        let mut value = listed.value.clone();
        value["result"]["tools"][0]["inputSchema"] =
            document["result"]["tools"][0]["inputSchema"].clone();
        assert_eq!(value.to_string(), document.to_string());
        assert_ne!(listed.value, document);
        assert!(listed.tools[3].error().is_some() && listed.tools[0].error().is_none());
        assert_eq!(
            listed.tools[0].references().is_some(),
            style != Style::Inline
        );
    }
}

#[test]
fn a_schema_that_is_none_spoils_nothing() {
    for bad in [
        json!("string"),
        json!(7),
        json!([]),
        json!({"properties": 7}),
        json!({"properties": {"a": {"$ref": "#/$defs/gone"}}}),
        json!({"properties": {"a": {"$ref": "https://example.com/s.json"}}}),
    ] {
        let fine = tool("fine", object(json!({"a": {"type": "string"}}), json!([])));
        let document = json!([tool("bad", bad), fine]);
        for options in [ListOptions::style(Style::Refs)]
            .into_iter()
            .chain(Profile::ALL.map(ListOptions::profile))
        {
            let listed = list(&document, &options);
            assert_eq!(listed.value[0], document[0]);
            assert!(listed.tools[0].error().is_some(), "{document}");
            assert!(listed.tools[1].style().is_some(), "{document}");
            let arguments = json!({"a": null});
            assert_eq!(listed.tools[0].read(arguments.clone()), Ok(arguments));
        }
    }
}

#[test]
fn strict_tools_are_counted() {
    let tools: Vec<_> = (0..25)
        .map(|n| {
            tool(
                &format!("t{n}"),
                object(json!({"a": {"type": "string"}}), json!(["a"])),
            )
        })
        .collect();
    let options = ListOptions::profile(Profile::AnthropicStrict).with_shape(Shape::Anthropic);
    let listed = list(&json!(tools), &options);
    let strict: Vec<_> = listed.tools.iter().map(|tool| tool.strict()).collect();
    let count = strict
        .iter()
        .filter(|strict| **strict == Some(true))
        .count();
    assert!((1..=20).contains(&count), "{:?}", decisions(&listed));
    // The first come first, and nobody goes without.
    assert!(strict[..count].iter().all(|strict| *strict == Some(true)));
    assert!(listed.tools.iter().all(|tool| tool.style().is_some()));
    for (tool, listed) in listed.value.as_array().unwrap().iter().zip(&listed.tools) {
        assert_eq!(tool["strict"].as_bool(), listed.strict());
        let style = if listed.strict() == Some(true) {
            Style::RefsList
        } else {
            Style::Refs
        };
        assert_eq!(listed.style(), Some(style));
    }
    let last = listed.tools[24].decision();
    assert!(
        last.why.starts_with("refs-list (strict) would make"),
        "{}",
        last.why
    );
}

#[test]
fn what_the_strict_tools_share_is_summed() {
    let document = json!([
        optionals("small", 3),
        optionals("large", 40),
        optionals("small_too", 2),
        tool("none", json!({"type": "object", "properties": {}})),
    ]);
    let listed = list(&document, &ListOptions::profile(Profile::AnthropicStrict));
    let strict: Vec<_> = listed.tools.iter().map(|tool| tool.strict()).collect();
    assert_eq!(
        strict,
        [Some(true), Some(false), Some(true), Some(true)],
        "{:?}",
        decisions(&listed)
    );
    assert_eq!(listed.value[1]["_meta"]["dev.crossfeed/strict"], false);
    assert_eq!(listed.value[0].get("_meta"), None);
    // A list that was written so is read so.
    let again = list(
        &listed.value,
        &ListOptions::profile(Profile::AnthropicStrict),
    );
    assert_eq!(again.tools[1].strict(), Some(false));
}

#[test]
fn tokens_are_a_limit_for_a_profile_only() {
    let document = json!([optionals("a", 2), optionals("b", 2), optionals("c", 2)]);
    let free = list(&document, &ListOptions::profile(Profile::Anthropic));
    assert!(
        free.tools
            .iter()
            .all(|tool| tool.style() == Some(Style::Inline))
    );
    let counted = TokenCounter::new(str::len);
    let grown = |index: usize| {
        let tool = &free.tools[index];
        tool.shown_schema().to_string().len() - tool.input_schema().to_string().len()
    };
    let options = ListOptions::profile(Profile::Anthropic).with_tokens(counted);
    let limited = list(&document, &options.clone().with_max_added_tokens(grown(0)));
    let styles: Vec<_> = limited.tools.iter().map(|tool| tool.style()).collect();
    assert_eq!(
        styles,
        [Some(Style::Inline), None, None],
        "{:?}",
        decisions(&limited)
    );
    assert!(
        limited.tools[1]
            .decision()
            .why
            .contains("added tokens where")
    );
    let none = list(&document, &options.with_max_added_tokens(0));
    assert!(none.tools.iter().all(|tool| tool.style().is_none()));
}

#[test]
fn names_that_a_provider_refuses_are_shown_otherwise() {
    let document = json!({"tools": [tool("files.read", object(json!({"$path": {"type": "string"}}), json!(["$path"])))]});
    let options = ListOptions::profile(Profile::OpenAi).with_shape(Shape::OpenAiChat);
    let listed = list(&document, &options);
    assert_eq!(listed.value[0]["function"]["name"], "files_read");
    let tool = listed.find("files_read").unwrap();
    assert_eq!(
        (tool.name(), tool.shown_name()),
        ("files.read", "files_read")
    );
    assert!(listed.find("files.read").is_none());

    let listed = list(&document, &ListOptions::profile(Profile::Anthropic));
    let tool = listed.find("files_read").unwrap();
    assert!(tool.shown_schema()["properties"].get("path").is_some());
    assert_eq!(tool.read(json!({"path": "x"})), Ok(json!({"$path": "x"})));
    let reference = json!({"path": {"_tool": "c"}});
    assert_eq!(tool.read(reference), Ok(json!({"$path": {"_tool": "c"}})));
}

#[test]
fn guidance_says_what_the_list_uses() {
    let document = json!([optionals("large", 40), optionals("small", 1)]);
    let listed = list(&document, &ListOptions::profile(Profile::AnthropicStrict));
    let text = listed.guidance();
    assert!(
        text.contains("`to`") && text.contains("name it in `_refs`"),
        "{text}"
    );
    let none = list(&json!([{"name": "now"}]), &ListOptions::default());
    assert_eq!(none.guidance(), "");
}

/// Reads arguments back in a style, or under a profile.
fn read(schema: &Value, options: &ListOptions, arguments: Value) -> Result<Value, Vec<String>> {
    let listed = list(&json!([tool("t", schema.clone())]), options);
    let tool = &listed.tools[0];
    assert!(
        tool.error().is_none() && tool.style().is_some(),
        "{:?}",
        tool.decision()
    );
    tool.read(arguments)
        .map_err(|errors| errors.iter().map(|e| format!("{} {e}", e.at())).collect())
}

fn check(
    schema: &Value,
    options: &ListOptions,
    arguments: Value,
    expected: Result<Value, &[&str]>,
) {
    let read = read(schema, options, arguments.clone());
    let expected = expected.map_err(|errors| errors.iter().map(ToString::to_string).collect());
    assert_eq!(read, expected, "{arguments}");
}

#[test]
fn nulls_that_stand_for_nothing_go() {
    let schema = json!({"type": "object", "additionalProperties": false, "required": ["url", "maybe"], "properties": {
        "url": {"type": "string"}, "limit": {"type": "integer"}, "maybe": {"type": ["string", "null"]},
        "any": {}, "deep": {"type": "object", "properties": {"x": {"type": "string"}}}}});
    let reference = json!({"_tool": "c", "_select": "a"});
    let refs = ListOptions::style(Style::Refs);
    check(
        &schema,
        &refs,
        json!({"url": "u", "limit": null, "maybe": null, "any": null, "deep": {"x": null}, "_refs": null}),
        Ok(json!({"url": "u", "maybe": null, "any": null, "deep": {"x": null}})),
    );
    check(
        &schema,
        &refs,
        json!({"url": null, "limit": null, "maybe": null, "_refs": {"url": reference, "limit": reference}}),
        Ok(
            json!({"url": null, "limit": null, "maybe": null, "_refs": {"url": reference, "limit": reference}}),
        ),
    );
    check(
        &schema,
        &refs,
        json!({"url": null, "maybe": null, "_refs": {}}),
        Err(&["/url nothing fills `url`"]),
    );
    let entries = json!([{"to": "/url", "tool": "c"}, {"to": "limit", "tool": "c"}]);
    check(
        &schema,
        &ListOptions::style(Style::RefsList),
        json!({"url": null, "limit": null, "deep": null, "_refs": entries}),
        Ok(json!({"url": null, "limit": null, "_refs": entries})),
    );
    // Nothing was made nullable: what the model wrote is judged as it is.
    let inline = ListOptions::style(Style::Inline);
    check(
        &schema,
        &inline,
        json!({"limit": null}),
        Ok(json!({"limit": null})),
    );
    check(&schema, &refs, json!([null]), Ok(json!([null])));
    check(&schema, &refs, json!(null), Ok(json!(null)));
}

#[test]
fn an_entry_for_no_parameter_names_the_nearest() {
    let reference = json!({"_tool": "c"});
    let properties = json!({"url": {"type": "string"}, "limit": {"type": "integer"}});
    let refs = ListOptions::style(Style::Refs);
    let wrong: &[&str] = &["/_refs/urll the tool has no parameter `urll`"];
    for closed in [
        json!({"type": "object", "properties": properties, "additionalProperties": false}),
        json!({"type": "object", "properties": properties}),
    ] {
        check(
            &closed,
            &refs,
            json!({"_refs": {"urll": reference}}),
            Err(wrong),
        );
        check(
            &closed,
            &ListOptions::style(Style::RefsList),
            json!({"_refs": [{"to": "url", "tool": "c"}, {"to": "/lmit/x", "tool": "c"}]}),
            Err(&["/_refs/1 the tool has no parameter `lmit`"]),
        );
    }
    let listed = list(
        &json!([tool(
            "t",
            json!({"type": "object", "properties": properties})
        )]),
        &refs,
    );
    let errors = listed.tools[0]
        .read(json!({"_refs": {"lmit": reference}}))
        .unwrap_err();
    assert_eq!(errors[0].advice(), "try: limit");
    assert_eq!(errors[0].code().as_str(), "reference.malformed");
    for open in [
        json!({"type": "object", "properties": properties, "additionalProperties": {"type": "string"}}),
        json!({"type": "object", "properties": properties, "additionalProperties": true}),
        json!({"type": "object", "properties": properties, "patternProperties": {"^urll$": {}}, "additionalProperties": false}),
    ] {
        let arguments = json!({"_refs": {"urll": reference}});
        check(&open, &refs, arguments.clone(), Ok(arguments));
    }
    // All that is wrong is said at once.
    let schema = json!({"type": "object", "properties": properties, "required": ["url", "limit"]});
    check(
        &schema,
        &refs,
        json!({"url": null, "limit": null, "_refs": {"urll": reference}}),
        Err(&[
            "/_refs/urll the tool has no parameter `urll`",
            "/url nothing fills `url`",
            "/limit nothing fills `limit`",
        ]),
    );
}

#[test]
fn strict_arguments_are_read_at_every_depth() {
    let schema = json!({"type": "object", "required": ["filter", "labels"], "properties": {
        "filter": {"type": "object", "required": ["field"], "properties": {
            "field": {"type": "string"}, "value": {"type": "string"}, "none": {"type": ["string", "null"]}}},
        "list": {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "integer"}}}},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "any": {},
    }});
    for profile in [Profile::OpenAiStrict, Profile::AnthropicStrict] {
        let options = ListOptions::profile(profile);
        check(
            &schema,
            &options,
            json!({"filter": {"field": "f", "value": null, "none": null}, "list": [{"a": null}, {"a": 1}],
                   "labels": "{\"k\": \"v\"}", "any": null, "_refs": []}),
            Ok(
                json!({"filter": {"field": "f", "none": null}, "list": [{}, {"a": 1}], "labels": {"k": "v"}, "any": null, "_refs": []}),
            ),
        );
        let entries =
            json!([{"to": "/filter/field", "tool": "c", "select": null, "artifact": null}]);
        check(
            &schema,
            &options,
            json!({"filter": {"field": null}, "labels": "{}", "list": null, "_refs": entries}),
            Ok(json!({"filter": {"field": null}, "labels": {}, "_refs": entries})),
        );
        check(
            &schema,
            &options,
            json!({"filter": {"field": null}, "labels": "not JSON"}),
            Err(&["/filter/field nothing fills `field`"]),
        );
        check(
            &schema,
            &options,
            json!({"filter": {"field": "{}"}, "labels": "not JSON"}),
            Ok(json!({"filter": {"field": "{}"}, "labels": "not JSON"})),
        );
    }
}

#[test]
fn arguments_of_any_depth_end() {
    let mut deep = json!(1);
    for _ in 0..100_000 {
        deep = Value::Array(vec![deep]);
    }
    let schema = object(json!({"a": {}}), json!([]));
    let listed = list(
        &json!([tool("t", schema)]),
        &ListOptions::style(Style::Refs),
    );
    let errors = listed.tools[0].read(deep).unwrap_err();
    assert_eq!(errors[0].code().as_str(), "limit.exceeded");
}

#[test]
fn a_parameter_of_the_tool_s_own_is_no_map() {
    let schema = object(
        json!({"_refs": {"type": "object"}, "a": {"type": "string"}}),
        json!([]),
    );
    let refs = ListOptions::style(Style::Refs);
    let arguments = json!({"_refs": {"x": {"_tool": "c"}}, "a": "b", "$refs": {}});
    check(&schema, &refs, arguments.clone(), Ok(arguments));
    check(
        &schema,
        &refs,
        json!({"a": null, "_refs": {"a": {"$tool": "c"}}}),
        Ok(json!({"_refs": {"a": {"$tool": "c"}}})),
    );
}

#[test]
fn hostile_schemas_end() {
    let mut defs = serde_json::Map::new();
    for level in 0..20 {
        let next = json!({"$ref": format!("#/$defs/d{}", level + 1)});
        defs.insert(
            format!("d{level}"),
            json!({"anyOf": [next, next], "properties": {"a": next, "b": next}}),
        );
    }
    defs.insert("d20".to_owned(), json!({"type": "object"}));
    let schema =
        json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": defs});
    let mut arguments = json!(null);
    for _ in 0..25 {
        arguments = json!({"a": arguments, "b": null});
    }
    for options in Profile::ALL.map(ListOptions::profile) {
        let listed = list(&json!([tool("t", schema.clone())]), &options);
        let _ = listed.tools[0].read(arguments.clone());
    }
}

fn property() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!({"type": "string", "description": "said"})),
        Just(json!({"type": ["integer", "null"]})),
        Just(json!({})),
        Just(json!({"type": "object"})),
        Just(json!({"enum": ["a", "b", null]})),
        Just(json!({"type": "object", "additionalProperties": {"type": "string"}})),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            inner
                .clone()
                .prop_map(|items| json!({"type": "array", "items": items})),
            proptest::collection::vec(("[a-c$.]{1,2}", inner), 1..3).prop_map(|members| {
                let properties: serde_json::Map<_, _> = members.into_iter().collect();
                json!({"type": "object", "properties": properties})
            }),
        ]
    })
}

/// A schema, a value that it accepts, and whether that is there.
fn sample() -> impl Strategy<Value = (Value, Value)> {
    let leaf = prop_oneof![
        "[a-z]{0,3}".prop_map(|text| (
            json!({"type": "string", "description": "said"}),
            json!(text)
        )),
        Just((json!({"type": "string"}), json!("{\"a\": 1}"))),
        any::<i32>().prop_map(|n| (json!({"type": ["integer", "null"]}), json!(n))),
        Just((json!({"type": ["integer", "null"]}), json!(null))),
        Just((json!({}), json!({"b": [null, "x"]}))),
        Just((json!({"description": "any"}), json!("text"))),
        Just((json!(true), json!(7))),
        Just((json!({"type": "object"}), json!({"k": null}))),
        Just((
            json!({"type": "object", "additionalProperties": {"type": "string"}}),
            json!({"k": "v"})
        )),
        Just((json!({"enum": ["a", "b"]}), json!("b"))),
        Just((
            json!({"anyOf": [{"type": "string"}, {"type": "object"}]}),
            json!({"o": 1})
        )),
    ];
    leaf.prop_recursive(3, 16, 3, |inner| {
        prop_oneof![
            (inner.clone(), 0..3_usize).prop_map(|((schema, value), count)| {
                (
                    json!({"type": "array", "items": schema}),
                    json!(vec![value; count]),
                )
            }),
            members(inner),
        ]
    })
}

fn members(inner: impl Strategy<Value = (Value, Value)>) -> impl Strategy<Value = (Value, Value)> {
    let member = ("[a-c$.]{1,2}", inner, any::<bool>(), any::<bool>());
    proptest::collection::vec(member, 1..4).prop_map(|members| {
        let members: std::collections::BTreeMap<_, _> = members
            .into_iter()
            .map(|(name, sample, required, there)| (name, (sample, required, required || there)))
            .collect();
        let mut properties = serde_json::Map::new();
        let mut value = serde_json::Map::new();
        let mut needed = Vec::new();
        for (name, ((schema, inner), required, there)) in members {
            properties.insert(name.clone(), schema);
            if there {
                value.insert(name.clone(), inner);
            }
            if required {
                needed.push(name);
            }
        }
        (
            json!({"type": "object", "properties": properties, "required": needed}),
            Value::Object(value),
        )
    })
}

/// Whether a shown schema asks for text that is no JSON.
fn takes_text(shown: &Value) -> bool {
    let branches = shown.get("anyOf").and_then(Value::as_array);
    !crate::is_fold(shown)
        && (shown.get("type") == Some(&json!("string"))
            || branches.is_some_and(|all| all.iter().any(takes_text)))
}

/// A value as a model writes it that keeps to the shown schema: null for what is left out, JSON
/// text where it is asked for. Names are as they are shown.
fn written(value: &Value, shown: &Value, names: &crate::Names) -> Value {
    let branches = shown.get("anyOf").and_then(Value::as_array);
    if crate::is_fold(shown) || branches.is_some_and(|all| all.iter().any(crate::is_fold)) {
        // Null is written as it is where the schema admits it, and a scalar where text is told of.
        return match value {
            Value::Null if branches.is_some() => Value::Null,
            Value::Object(_) | Value::Array(_) => Value::String(value.to_string()),
            value if takes_text(shown) => value.clone(),
            value => Value::String(value.to_string()),
        };
    }
    let shown = branches.and_then(|all| all.first()).unwrap_or(shown);
    match value {
        Value::Object(members) => {
            let mut out: serde_json::Map<_, _> = members
                .iter()
                .map(|(name, value)| {
                    let name = names.shown(name);
                    let inner = shown["properties"].get(name).unwrap_or(&Value::Null);
                    (name.to_owned(), written(value, inner, names))
                })
                .collect();
            for name in shown["required"].as_array().into_iter().flatten() {
                let name = name.as_str().unwrap();
                out.entry(name).or_insert(Value::Null);
            }
            Value::Object(out)
        }
        Value::Array(items) => items
            .iter()
            .map(|item| written(item, &shown["items"], names))
            .collect(),
        other => other.clone(),
    }
}

fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(members) => members
            .iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(name, value)| (name.clone(), without_nulls(value)))
            .collect(),
        Value::Array(items) => items.iter().map(without_nulls).collect(),
        other => other.clone(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// What a model writes for the shown schema is read as what was meant.
    #[test]
    fn what_is_written_is_read_as_meant((schema, value) in members(sample())) {
        for profile in [Profile::OpenAiStrict, Profile::AnthropicStrict, Profile::Gemini, Profile::Mcp] {
            let document = json!([tool("t", schema.clone())]);
            let listed = rewrite_tools(&ToolList::parse(&document).unwrap(), &ListOptions::profile(profile));
            let tool = &listed.tools[0];
            let written = written(&value, tool.shown_schema(), tool.names());
            let read = tool.read(written.clone()).unwrap();
            // Where the tool's own schema takes null, an absent optional is null.
            prop_assert_eq!(without_nulls(&read), without_nulls(&value), "{}: {} for {}", profile, written, tool.shown_schema());
            prop_assert!(jsonschema::is_valid(&schema, &read), "{}: {} is no {}", profile, read, schema);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// What a profile gives, its lint takes; and arguments that hold no null, no text of JSON and
    /// no map come back as they were.
    #[test]
    fn what_is_listed_is_legal(
        tools in proptest::collection::vec(proptest::collection::vec(("[a-d$]{1,3}", property(), any::<bool>()), 0..5), 1..5),
    ) {
        let tools: Vec<_> = tools.into_iter().enumerate().map(|(index, parameters)| {
            let required: Vec<_> = parameters.iter().filter(|p| p.2).map(|p| p.0.clone()).collect::<std::collections::BTreeSet<_>>().into_iter().collect();
            let properties: serde_json::Map<_, _> = parameters.into_iter().map(|(name, schema, _)| (name, schema)).collect();
            tool(&format!("t{index}"), json!({"type": "object", "properties": properties, "required": required}))
        }).collect();
        let document = json!({ "tools": tools });
        for profile in Profile::ALL {
            let listed = list(&document, &ListOptions::profile(profile));
            let shown = ToolList::parse(&listed.value).unwrap();
            let schemas: Vec<_> = shown.tools().map(|tool| (tool, tool.input_schema().into_owned())).collect();
            let to_lint: Vec<_> = schemas.iter().map(|(tool, schema)| ToLint {
                name: tool.name(), description: tool.description(), input_schema: schema, strict: tool.strict(),
            }).collect();
            let refused: Vec<_> = lint(&to_lint, profile).into_iter()
                .filter(|finding| finding.severity == crate::Severity::Refused).collect();
            prop_assert!(refused.is_empty(), "{}: {:?} in {}", profile, refused, listed.value);
            prop_assert_eq!(&list(&listed.value, &ListOptions::profile(profile)).value, &listed.value);
            for tool in &listed.tools {
                prop_assert!(tool.error().is_none());
                prop_assert_eq!(tool.read(json!({})), Ok(json!({})));
            }
        }
    }
}

#[test]
fn the_spelling_of_a_style_is_free() {
    let document = json!([optionals("a", 1)]);
    let options = ListOptions::style(Style::Refs).with_spelling(Spelling::Dollar);
    let listed = list(&document, &options);
    assert_eq!(listed.tools[0].references(), Some("$refs"));
}
