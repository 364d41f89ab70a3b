//! Examples, each with an instance that a schema which was cut less would refuse. The laws are with
//! the integration tests.

use super::{NoProjectedSchema, flat_schema, projected_schema};
use crossfeed_json::Document;
use crossfeed_projection::{Path, PathTree, Projection, RevealRules};
use crossfeed_schema::compile;
use serde_json::{Value, json};

fn projection(include: &str, exclude: &str, never: &str) -> Projection {
    let tree = |paths: &str| PathTree::new(Path::parse_list(paths).unwrap());
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
            "minProperties": 1,
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
        json!({"type": "array", "items": cut, "minItems": 1}),
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

/// What is left of an instance, which is valid before, is valid after.
fn stays_true(schema: Value, projection: &Projection, instance: Value) {
    let outcome = projected_schema(&schema, projection).unwrap();
    check(schema, projection, instance, outcome);
}

#[test]
fn beside_an_old_reference_nothing_counts() {
    let of_objects = json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "array",
        "uniqueItems": true,
        "items": {"$ref": "#/definitions/o", "type": "string"},
        "definitions": {"o": {"type": "object"}},
    });
    let instance = json!([{"a": 1, "b": 1}, {"a": 1, "b": 2}]);
    stays_true(of_objects, &projection("a", "", ""), instance);
}

#[test]
fn what_is_not_told_exactly_is_not_negated() {
    for (refused, instance, include) in [
        (
            json!({"dependentRequired": {"a": ["b"]}}),
            json!({"a": 1}),
            "a",
        ),
        (
            json!({"dependentSchemas": {"b": {"required": ["zz"]}}}),
            json!({"b": 1}),
            "a",
        ),
        (
            json!({"dependentRequired": {"b": ["zz"]}}),
            json!({"b": 1}),
            "a",
        ),
        (
            json!({"propertyNames": {"maxLength": 1}}),
            json!({"aaa": 1}),
            "b",
        ),
        (json!({"minProperties": 2}), json!({"a": 1}), "b"),
        (json!({"maxProperties": 1}), json!({"a": 1, "b": 2}), "b"),
        (json!({"required": ["b"]}), json!({"a": 1}), "a"),
        (
            json!({"properties": {"b": {"type": "null"}}}),
            json!({"b": 1}),
            "a",
        ),
    ] {
        stays_true(
            json!({"not": refused}),
            &projection(include, "", ""),
            instance,
        );
    }
}

#[test]
fn how_much_is_left_is_told() {
    check(
        json!({"type": "array", "minItems": 5, "maxItems": 9}),
        &projection("[1]", "", ""),
        json!([1, 2, 3, 4, 5]),
        json!({"type": "array", "minItems": 1, "maxItems": 1}),
    );
    check(
        json!({"type": "array", "minItems": 1, "maxItems": 3}),
        &projection("", "[0],[7]", ""),
        json!([1]),
        json!({"type": "array", "maxItems": 2}),
    );
    check(
        json!({"minItems": 70, "maxItems": 80}),
        &projection("", "[0]", ""),
        json!(vec![0; 70]),
        json!({"maxItems": 79}),
    );
    check(
        json!({"minProperties": 4}),
        &projection("", "a,b", ""),
        json!({"a": 1, "b": 1, "c": 1, "d": 1}),
        json!({"minProperties": 2}),
    );
    check(
        json!({"minProperties": 2}),
        &projection("", "a,b", ""),
        json!({"a": 1, "b": 1}),
        json!({}),
    );
}

#[test]
fn what_nothing_refers_to_does_not_count() {
    let mut schema = json!({"properties": {"a": {"$ref": "#/$defs/a"}, "b": {}}, "$defs": {"a": {"type": "null"}}});
    let cut = json!({"properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"type": "null"}}});
    schema["$defs"]["loop"] = json!({"$ref": "#/$defs/loop"});
    let unused = projected_schema(&schema, &projection("a", "", "")).unwrap();
    assert_eq!(unused, cut);
    assert!(projected_schema(&schema, &Projection::new()).is_ok());
    assert!(flat_schema(&schema).is_ok());
    schema["properties"]["a"] = json!({"$ref": "#/$defs/loop"});
    let error = projected_schema(&schema, &projection("a", "", "")).unwrap_err();
    assert!(error.to_string().contains("#/$defs/loop"), "{error}");
    // Neither for how much may be made.
    let paths: Vec<String> = (0..2000).map(|n| format!("k{n}.a")).collect();
    let wide = projection(&paths.join(","), "", "");
    let member =
        json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {}, "c": {}}});
    let large = json!({"enum": vec![1; 100_000].into_iter().enumerate().map(|(n, _)| n).collect::<Vec<_>>()});
    let schema = json!({"additionalProperties": member, "$defs": {"large": large}});
    let error = projected_schema(&schema, &wide).unwrap_err();
    assert!(
        matches!(error, NoProjectedSchema::TooLarge { .. }),
        "{error:?}"
    );
}

#[test]
fn too_many_ways_to_cut_are_refused() {
    let paths =
        |name: &str| -> Vec<String> { (0..200).map(|n| format!("[{n}].{name}{n}")).collect() };
    let by_position = projection(&paths("a").join(","), &paths("b").join(","), "");
    let branch =
        |n: usize| json!({"items": {"properties": {format!("a{n}"): {"type": "integer"}}}});
    let branches: Vec<Value> = (0..50).map(branch).collect();
    let error = projected_schema(&json!({"anyOf": branches}), &by_position).unwrap_err();
    assert!(
        matches!(error, NoProjectedSchema::TooManyWays { .. }),
        "{error:?}"
    );
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
