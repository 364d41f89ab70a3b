//! Examples, each with an instance that a schema which was cut less would refuse. The laws are with
//! the integration tests.

use super::{NoProjectedSchema, flat_schema, projected_schema};
use crate::compile;
use crossfeed_json::Document;
use crossfeed_projection::{Path, PathTree, Projection, RevealRules};
use serde_json::{Value, json};

fn projection(include: &str, exclude: &str, never: &str) -> Projection {
    let tree = |paths: &str| PathTree::of(Path::parse_list(paths).unwrap());
    let rules = RevealRules::new([], Path::parse_list(never).unwrap());
    Projection::new()
        .with_include(tree(include))
        .with_exclude(tree(exclude))
        .with_rules(rules)
}

/// What is left of a schema, and of an instance, which is valid before and after.
fn check(schema: Value, projection: &Projection, instance: Value, expected: Value) {
    let own = compile(&schema).unwrap();
    assert!(own.is_valid(&instance), "{instance} by {schema}");
    let outcome = projected_schema(&schema, projection).unwrap();
    assert_eq!(outcome, expected, "{schema}");
    let document = Document::new(instance.to_string());
    let mut left = Vec::new();
    projection.write(document.root().unwrap(), &mut left);
    let left: Value = serde_json::from_slice(&left).unwrap();
    let validator = compile(&outcome).unwrap();
    assert!(validator.is_valid(&left), "{left} by {outcome}");
}

#[test]
fn members_are_cut() {
    let schema = json!({
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": "integer"}},
        "required": ["a", "b"],
        "minProperties": 2,
        "additionalProperties": {"type": "null"},
    });
    check(
        schema.clone(),
        &projection("a,z", "", ""),
        json!({"a": "x", "b": 1, "z": null}),
        json!({
            "type": "object",
            "properties": {"a": {"type": "string"}, "z": {"type": "null"}},
            "required": ["a"],
            "additionalProperties": false,
        }),
    );
    check(
        schema,
        &projection("", "a", ""),
        json!({"a": "x", "b": 1}),
        json!({
            "type": "object",
            "properties": {"b": {"type": "integer"}},
            "required": ["b"],
            "additionalProperties": {"type": "null"},
        }),
    );
}

#[test]
fn lists_are_crossed_cut_and_closed_up() {
    let item = json!({"type": "object", "properties": {"a": {}, "b": {}}, "required": ["a", "b"]});
    let schema = json!({"type": "array", "items": item, "minItems": 2, "uniqueItems": true});
    let cut = json!({"type": "object", "properties": {"a": {}}, "required": ["a"]});
    let instance = json!([{"a": 1, "b": 1}, {"a": 1, "b": 2}]);
    check(
        schema.clone(),
        &projection("a", "", ""),
        instance.clone(),
        json!({"type": "array", "items": cut, "minItems": 2}),
    );
    check(
        schema,
        &projection("[1].a", "", ""),
        instance,
        json!({"type": "array", "items": cut}),
    );
    check(
        json!({"contains": {"required": ["a", "b"]}, "maxContains": 1}),
        &projection("a", "", ""),
        json!([{"a": 1, "b": 1}, {"a": 1}]),
        json!({"contains": {"required": ["a"]}}),
    );
}

#[test]
fn what_cannot_be_told_of_the_rest_goes() {
    let only_a = projection("a", "", "");
    check(
        json!({"oneOf": [{"required": ["b"]}, {"required": ["a"]}]}),
        &only_a,
        json!({"b": 1}),
        json!({}),
    );
    check(
        json!({"not": {"required": ["b", "a"]}}),
        &only_a,
        json!({"a": 1}),
        json!({}),
    );
    check(
        json!({"not": {"required": ["a"]}}),
        &only_a,
        json!({"b": 1}),
        json!({"not": {"required": ["a"]}}),
    );
    check(
        json!({
            "if": {"required": ["b"]},
            "then": {"required": ["a"]},
            "else": {"properties": {"a": {"type": "null"}}},
        }),
        &only_a,
        json!({"a": 1, "b": 1}),
        json!({"allOf": [{"anyOf": [{"required": ["a"]}, {"properties": {"a": {"type": "null"}}}]}]}),
    );
    check(
        json!({"dependentSchemas": {"b": {"required": ["a"]}, "a": {"required": ["b"]}},
               "dependentRequired": {"a": ["b", "a"]}}),
        &only_a,
        json!({"a": 1, "b": 2}),
        json!({"dependentSchemas": {"a": {}}, "dependentRequired": {"a": ["a"]}}),
    );
    check(
        json!({
            "properties": {"b": {"const": 1}},
            "if": {"properties": {"b": {"const": 1}}, "required": ["b"]},
            "then": {"properties": {"a": {}}},
            "unevaluatedProperties": false,
        }),
        &only_a,
        json!({"a": 1, "b": 1}),
        json!({"properties": {}}),
    );
    check(
        json!({"enum": [{"a": 1, "b": 1}, {"a": 1, "b": 2}, 3]}),
        &only_a,
        json!({"a": 1, "b": 2}),
        json!({"enum": [{"a": 1}, 3]}),
    );
}

#[test]
fn references_are_made_for_what_happens_there() {
    check(
        json!({
            "$schema": "http://json-schema.org/draft-07/schema#",
            "$ref": "#/definitions/node",
            "definitions": {"node": {
                "type": "object",
                "properties": {"id": {"type": "integer"}, "x": {}, "next": {"$ref": "#/definitions/node"}},
                "required": ["id", "x"],
            }},
        }),
        &projection("id,next.next", "", ""),
        json!({"id": 1, "x": 0, "next": {"id": 2, "x": 0, "next": {"id": 3, "x": 0}}}),
        json!({
            "$schema": "http://json-schema.org/draft-07/schema#",
            "$ref": "#/definitions/node",
            "definitions": {
                "node_2": {"type": "object", "properties": {"next": {"$ref": "#/definitions/node_3"}}},
                "node": {
                    "type": "object",
                    "properties": {"id": {"type": "integer"}, "next": {"$ref": "#/definitions/node_2"}},
                    "required": ["id"],
                },
                "node_3": {
                    "type": "object",
                    "properties": {"id": {"type": "integer"}, "x": {}, "next": {"$ref": "#/definitions/node_3"}},
                    "required": ["id", "x"],
                },
            },
        }),
    );
}

#[test]
fn what_is_never_shown_is_in_no_schema() {
    check(
        json!({
            "type": "object",
            "description": "with a secret",
            "properties": {
                "secret": {"type": "string"},
                "log": {"type": "string", "minLength": 12},
                "again": {"$ref": "#"},
            },
            "required": ["secret", "log"],
            "default": {"secret": "x", "log": "y"},
        }),
        &projection("", "", "secret"),
        json!({"secret": "x", "log": "{\"secret\":1}", "again": {"secret": "", "log": "long enough, this"}}),
        json!({
            "type": "object",
            "properties": {"log": {"type": "string"}, "again": {"$ref": "#"}},
            "required": ["log"],
            "default": {"log": "y"},
        }),
    );
}

#[test]
fn what_is_too_large_or_none_is_refused() {
    let paths: Vec<String> = (0..2000).map(|n| format!("k{n}.a")).collect();
    let wide = projection(&paths.join(","), "", "");
    let member =
        json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {}, "c": {}}});
    let error = projected_schema(&json!({"additionalProperties": member}), &wide).unwrap_err();
    assert!(
        matches!(error, NoProjectedSchema::TooLarge { .. }),
        "{error:?}"
    );
    let error = projected_schema(&json!({"type": "objekt"}), &wide).unwrap_err();
    assert!(matches!(error, NoProjectedSchema::Invalid(_)), "{error:?}");
}

#[test]
fn a_flat_schema_refers_to_definitions_only() {
    let schema = json!({
        "$id": "https://example.com/root",
        "properties": {"a": {"$ref": "item#x"}, "b": {"$ref": "#"}},
        "$defs": {"i": {"$id": "item", "$anchor": "x", "type": "string"}},
    });
    let flat = flat_schema(&schema).unwrap();
    assert_eq!(
        flat,
        json!({
            "properties": {"a": {"$ref": "#/$defs/i"}, "b": {"$ref": "#/$defs/schema"}},
            "$defs": {
                "i": {"type": "string"},
                "schema": {"properties": {"a": {"$ref": "#/$defs/i"}, "b": {"$ref": "#/$defs/schema"}}},
            },
        })
    );
}
