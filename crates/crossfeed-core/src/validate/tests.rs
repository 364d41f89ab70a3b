//! What schemas see, by example. That a skeleton gets the verdict of the whole is judged over the
//! official suite and real tools in `tests/it/bytes.rs`.

use super::footprint::{Footprint, MAX_STEPS};
use crate::arguments::{Node, Room};
use crossfeed_jmespath::View;
use crossfeed_json::Document;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Judges what `schema` sees of `value`.
fn check(schema: Value, value: &str, expected: Value) {
    let document = Document::new(value.to_owned());
    let node = Node::View(View::from(document.root().unwrap()));
    let skeleton = Footprint::new(&schema).skeleton(&node, None).unwrap();
    assert_eq!(skeleton, expected, "{schema}");
}

#[test]
fn a_type_sees_no_content() {
    check(json!({"type": "array"}), "[1, [2]]", json!([]));
    check(json!({"type": "object"}), r#"{"a": 1}"#, json!({}));
    check(json!({"type": "integer"}), "1.5", json!(1.5));
    let long = format!("\"{}\"", "x".repeat(100));
    check(json!({"type": "string"}), &long, json!(""));
    check(
        json!({"type": "string", "x-y": 1}),
        "\"short\"",
        json!("short"),
    );
    let text: Value = serde_json::from_str(&long).unwrap();
    check(json!({"maxLength": 9}), &long, text.clone());
    check(json!({"pattern": "^x"}), &long, text);
    check(json!(true), "[1]", json!([]));
    check(json!({"description": "d"}), "[1e400]", json!([]));
}

#[test]
fn what_reads_a_text_sees_it() {
    let text = "x".repeat(100);
    let long = format!("\"{text}\"");
    for (keyword, value) in [
        ("minLength", json!(9)),
        ("maxLength", json!(9)),
        ("pattern", json!("^x")),
        ("format", json!("date")),
        ("contentEncoding", json!("base64")),
        ("contentMediaType", json!("application/json")),
        ("contentSchema", json!({"type": "object"})),
    ] {
        check(json!({keyword: value}), &long, json!(text));
        // And nothing but the text.
        check(json!({keyword: value}), "[[1]]", json!([]));
    }
}

#[test]
fn each_keyword_sees_what_it_asks_of() {
    let value = r#"{"a": [1], "b": [2], "c": [[3]]}"#;
    let list = json!({"type": "array"});
    for (schema, expected) in [
        (
            json!({"if": {"properties": {"a": list}}, "then": {"properties": {"b": list}}, "else": {"properties": {"c": list}}}),
            json!({"a": [], "b": [], "c": []}),
        ),
        (
            json!({"minProperties": 1}),
            json!({"a": null, "b": null, "c": null}),
        ),
        (
            json!({"maxProperties": 1}),
            json!({"a": null, "b": null, "c": null}),
        ),
        (
            json!({"patternProperties": {"^b": {"items": {"type": "number"}}}}),
            json!({"a": [1], "b": [2], "c": [[]]}),
        ),
        (
            json!({"dependentSchemas": {"a": {"properties": {"b": list}}}}),
            json!({"a": null, "b": []}),
        ),
        (
            json!({"dependencies": {"a": {"properties": {"b": list}}}}),
            json!({"a": null, "b": []}),
        ),
        (
            json!({"dependentRequired": {"a": ["b"]}}),
            json!({"a": null, "b": null}),
        ),
        (
            json!({"dependencies": {"a": ["b"]}}),
            json!({"a": null, "b": null}),
        ),
    ] {
        check(schema, value, expected);
    }
    let value = "[[1], [2], [[3]]]";
    for (schema, expected) in [
        (json!({"minItems": 1}), json!([null, null, null])),
        (json!({"maxItems": 1}), json!([null, null, null])),
        (
            json!({"prefixItems": [{"items": {"type": "array"}}]}),
            json!([[1]]),
        ),
        (json!({"items": [{}, list]}), json!([null, []])),
        (
            json!({"items": [list], "additionalItems": {"minItems": 1}}),
            json!([[null], [null], [null]]),
        ),
        (
            json!({"prefixItems": [list], "contains": {"minItems": 1}}),
            json!([[null], [null], [null]]),
        ),
    ] {
        check(schema, value, expected);
    }
}

#[test]
fn a_place_sees_what_applies_to_it() {
    let value = r#"{"a": {"b": [1]}, "c": [1], "d": 1e400}"#;
    check(
        json!({"properties": {"a": {"type": "object"}}}),
        value,
        json!({"a": {}}),
    );
    check(
        json!({"properties": {"a": {}, "c": true}, "required": ["d"]}),
        value,
        json!({"a": null, "c": null, "d": null}),
    );
    check(
        json!({"additionalProperties": false, "properties": {"c": {"minItems": 1}}}),
        value,
        json!({"a": null, "c": [null], "d": null}),
    );
    check(
        json!({"properties": {"a": {"properties": {"b": {"enum": [[1]]}}}}}),
        value,
        json!({"a": {"b": [1]}}),
    );
    check(
        json!({"patternProperties": {"a": {"type": "object"}}, "propertyNames": {"maxLength": 1}}),
        r#"{"a": {"b": [1]}, "c": [1]}"#,
        json!({"a": {}, "c": []}),
    );
    let list = r#"[{"a": [1], "b": 2}, {"c": [3]}, "x"]"#;
    check(
        json!({"items": {"properties": {"a": {"type": "array"}}}}),
        list,
        json!([{"a": []}, {}, "x"]),
    );
    check(
        json!({"prefixItems": [{"type": "object"}]}),
        list,
        json!([{}]),
    );
    check(
        json!({"prefixItems": [{"type": "object"}, true], "items": {"type": "string"}}),
        list,
        json!([{}, {}, "x"]),
    );
    check(
        json!({"uniqueItems": true}),
        list,
        serde_json::from_str(list).unwrap(),
    );
    check(json!({"uniqueItems": false}), list, json!([]));
}

#[test]
fn branches_see_together() {
    let value = r#"{"a": [1], "b": [2], "c": [[3]]}"#;
    check(
        json!({"anyOf": [{"required": ["a"]}, {"properties": {"b": {"items": {"type": "number"}}}}]}),
        value,
        json!({"a": null, "b": [2]}),
    );
    check(
        json!({"not": {"properties": {"a": {"const": [1]}}}, "if": {"required": ["b"]}}),
        value,
        json!({"a": [1], "b": null}),
    );
    check(
        json!({"$ref": "#/$defs/x", "$defs": {"x": {"properties": {"c": {"$ref": "#/$defs/y"}}}, "y": {"type": "array"}}}),
        value,
        json!({"c": []}),
    );
    // It goes round in circles, and sees as deep as the value is.
    check(
        json!({"type": ["array", "number"], "items": {"$ref": "#"}}),
        "[[1, [2]], []]",
        json!([[1, [2]], []]),
    );
    check(
        json!({"dependentSchemas": {"a": {"required": ["b"]}}, "dependentRequired": {"c": ["d"]}}),
        value,
        json!({"a": null, "b": null, "c": null}),
    );
}

#[test]
fn what_is_not_understood_sees_everything() {
    let value = r#"{"a": [1]}"#;
    let whole: Value = serde_json::from_str(value).unwrap();
    for schema in [
        json!({"unevaluatedProperties": false}),
        json!({"$dynamicRef": "#x"}),
        json!({"$recursiveRef": "#"}),
        json!({"enum": [{"a": [1]}]}),
        json!({"unevaluatedItems": false}),
        json!({"uniqueItems": true}),
        // Decoded it leads elsewhere.
        json!({"$ref": "#/$defs/%61", "$defs": {"%61": {"type": "object"}, "a": {"enum": [1]}}}),
        json!({"$ref": "other.json"}),
        json!({"$ref": "#anchor"}),
        json!({"$ref": "#/none"}),
        json!({"$ref": "#/%64efs"}),
        json!({"$ref": "#/$defs/x", "$defs": {"x": {"type": "object"}, "y": {"$id": "y"}}}),
        json!({"extends": {}}),
        json!({"const": {"a": [1]}}),
        json!({"allOf": [3]}),
    ] {
        check(schema, value, whole.clone());
    }
    // So is what lies beyond the places that are told apart.
    let mut schema = json!({"type": "array"});
    for n in 0..3000 {
        schema["properties"][format!("p{n}")] = json!({"maxItems": n});
    }
    let last = r#"{"p0": [[1]], "p2999": [[1]]}"#;
    let document = Document::new(last.to_owned());
    let node = Node::View(View::from(document.root().unwrap()));
    let skeleton = Footprint::new(&schema).skeleton(&node, None).unwrap();
    let seen = [&skeleton["p0"], &skeleton["p2999"]];
    assert_eq!(skeleton.as_object().unwrap().len(), 2);
    assert!(seen.contains(&&json!([[1]])), "{skeleton}");
}

#[test]
fn looks_are_bounded() {
    let all = |of: &dyn Fn(usize) -> Value| (0..8000).map(of).collect::<Value>();
    let named = |n: usize| json!({"properties": {format!("p{n}"): {"minimum": n}}, "additionalProperties": {"maximum": n}});
    let schemas = [
        json!({"allOf": all(&named)}),
        json!({"allOf": all(&|n| json!({"items": {"minimum": n}})), "prefixItems": all(&|n| json!({"maximum": n}))}),
        json!({"allOf": all(&|n| json!({"patternProperties": {format!("^p{n}"): {"minLength": n}}, "required": [format!("p{n}")]}))}),
        json!({"allOf": all(&|n| json!({"prefixItems": vec![json!({"minItems": n}); n % 20]}))}),
        json!({"items": {"$ref": "#/$defs/0"}, "$defs": (0..200).map(|n| {
            let all: Vec<_> = (0..n + 2).map(|to| json!({"$ref": format!("#/$defs/{}", to % 200)})).collect();
            (n.to_string(), json!({"items": {"allOf": all}}))
        }).collect::<serde_json::Map<_, _>>()}),
        json!({"dependentRequired": {"a": all(&|n| format!("p{n}").into())}, "anyOf": all(&|_| json!({"$ref": "#/allOf/0"})),
            "allOf": [{"dependentRequired": {"a": all(&|n| format!("q{n}").into())}}]}),
    ];
    for schema in &schemas {
        let (_, looks) = Footprint::with_steps(schema);
        assert!(looks <= MAX_STEPS, "{looks}");
    }
    // What is too much to look at is seen as a whole, here and below.
    let value = r#"{"a": [[1]], "p3": [[1]]}"#;
    let whole: Value = serde_json::from_str(value).unwrap();
    check(schemas[0].clone(), value, whole);
    check(schemas[1].clone(), "[[[1]]]", json!([[[1]]]));
}

#[test]
fn members_are_looked_through_once_however_many_names_are_seen() {
    let seen = (0..1_900).map(|n| (format!("seen{n}"), json!({"type": "integer"})));
    let seen: serde_json::Map<_, _> = seen.collect();
    let sight = Footprint::new(&json!({ "properties": seen }));
    let members: Vec<_> = (0..1_000_000).map(|n| format!("\"{n}\":0")).collect();
    let document = Document::new(format!("{{{}}}", members.join(",")));
    let root = document.root().unwrap();
    let began = Instant::now();
    let mut room = Room::new(usize::MAX);
    sight.take(root, &mut room).unwrap();
    // Once is a fraction of a second; once for each name would be a minute.
    assert!(began.elapsed() < Duration::from_secs(10));
}
