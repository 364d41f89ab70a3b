//! Nulls and references maps, read back.

use super::{check, list, object, tool};
use crate::{ListOptions, Profile, Style};
use serde_json::{Value, json};

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

#[test]
fn a_branch_that_is_not_meant_keeps_no_null() {
    let branches = json!({"anyOf": [
        {"type": "object", "properties": {"kind": {"const": "a"}, "v": {"type": "string"}}, "required": ["kind"]},
        {"type": "object", "properties": {"kind": {"const": "b"}, "v": {"type": ["string", "null"]}}, "required": ["kind"]},
    ]});
    let strict = ListOptions::profile(Profile::OpenAiStrict);
    let nested = json!({"type": "object", "properties": {"f": branches}, "required": ["f"]});
    let refs = ListOptions::style(Style::Refs);
    let root = json!({"type": "object", "anyOf": branches["anyOf"]});
    for (kind, kept) in [("a", false), ("b", true)] {
        let written = json!({"kind": kind, "v": null});
        let meant = if kept {
            written.clone()
        } else {
            json!({"kind": kind})
        };
        check(
            &nested,
            &strict,
            json!({"f": written}),
            Ok(json!({"f": meant})),
        );
        check(&root, &refs, written, Ok(meant));
    }
    // What a reference fills says nothing; then the null goes where it may.
    let reference = json!({"kind": {"_tool": "c"}});
    check(
        &root,
        &refs,
        json!({"kind": null, "v": null, "_refs": reference}),
        Ok(json!({"kind": null, "_refs": reference})),
    );
}

#[test]
fn siblings_say_which_branch_is_meant() {
    let refs = ListOptions::style(Style::Refs);
    let one = |first: Value, second: Value| json!({"type": "object", "anyOf": [first, second]});
    let text = json!({"type": "string"});
    let maybe = json!({"type": ["string", "null"]});
    for (schema, arguments) in [
        // By the names that are there.
        (
            one(
                json!({"properties": {"v": text, "x": {}}, "additionalProperties": false}),
                json!({"properties": {"v": maybe, "y": {}}, "required": ["v"], "additionalProperties": false}),
            ),
            json!({"x": 1, "v": null, "y": null}),
        ),
        // By those that are not.
        (
            one(
                json!({"properties": {"v": text, "x": {}}}),
                json!({"properties": {"v": maybe, "y": {}}, "required": ["v", "y"]}),
            ),
            json!({"x": 1, "v": null}),
        ),
        // By types.
        (
            one(
                json!({"properties": {"v": text, "x": {"type": "integer"}}}),
                json!({"properties": {"v": maybe, "x": {"type": "boolean"}}, "required": ["v"]}),
            ),
            json!({"x": 1, "v": null}),
        ),
    ] {
        check(&schema, &refs, arguments.clone(), Ok(json!({"x": 1})));
    }
}

#[test]
fn nulls_of_undeclared_parameters_go_too() {
    let reference = json!({"x_b": {"_tool": "c"}});
    for rest in [
        json!({"patternProperties": {"^x_": {"type": "string"}}}),
        json!({"additionalProperties": {"type": "string"}}),
        json!({"unevaluatedProperties": {"type": "string"}}),
    ] {
        let mut schema =
            json!({"type": "object", "properties": {"n": {"type": ["integer", "null"]}}});
        schema
            .as_object_mut()
            .unwrap()
            .extend(rest.as_object().unwrap().clone());
        check(
            &schema,
            &ListOptions::style(Style::Refs),
            json!({"n": null, "x_a": null, "x_b": null, "_refs": reference}),
            Ok(json!({"n": null, "x_b": null, "_refs": reference})),
        );
    }
    // A name that the tool refuses is not a slip of ours.
    check(
        &object(json!({"n": {}}), json!([])),
        &ListOptions::style(Style::Refs),
        json!({"other": null}),
        Ok(json!({"other": null})),
    );
    let inner = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    let map = json!({"type": "object", "additionalProperties": inner});
    check(
        &object(json!({"m": map}), json!([])),
        &ListOptions::profile(Profile::OpenAiStrict),
        json!({"m": "{\"k\": {\"a\": null}}"}),
        Ok(json!({"m": {"k": {}}})),
    );
}

#[test]
fn what_references_build_is_no_null() {
    let ids = json!({"type": "object", "properties": {"ids": {"type": "array"}}});
    let schema = object(
        json!({"f": ids, "l": {"type": "array"}, "g": {"type": "object", "properties": {"f": ids}}}),
        json!(["f", "l", "g"]),
    );
    let list = ListOptions::style(Style::RefsList);
    let entries = json!([{"to": "/f/ids", "tool": "c"}, {"to": "/g/f/ids", "tool": "c"}]);
    check(
        &schema,
        &list,
        json!({"f": null, "l": [], "g": null, "_refs": entries}),
        Ok(json!({"f": {}, "l": [], "g": {}, "_refs": entries})),
    );
    check(
        &schema,
        &list,
        json!({"f": {}, "l": null, "g": {}, "_refs": [{"to": "/l/0", "tool": "c"}]}),
        Err(&["/l nothing fills `l`"]),
    );
}

#[test]
fn a_name_that_is_only_required_comes_back() {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}, "m": {"type": "object"}}, "required": ["z$"],
                        "dependentRequired": {"n": ["y$"]}});
    check(
        &schema,
        &ListOptions::profile(Profile::Anthropic),
        json!({"n": 1, "z": 2, "y": 3, "m": {"z": 4}}),
        Ok(json!({"n": 1, "z$": 2, "y$": 3, "m": {"z": 4}})),
    );
}
