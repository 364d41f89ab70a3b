//! The names of a tool's parameters, there and back.

use super::{Names, tool_names};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::HashSet;

fn plain(name: &str, _: bool) -> bool {
    let mut chars = name.chars();
    chars
        .next()
        .is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && name.len() <= 64
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn root_only(name: &str, at_root: bool) -> bool {
    !at_root || plain(name, true)
}

fn check(schema: Value, shown: Value, pairs: &[(&str, &str)]) {
    let names = Names::new(&schema, plain);
    assert_eq!(names.pairs().collect::<Vec<_>>(), pairs, "{schema}");
    assert_eq!(names.apply(&schema).to_string(), shown.to_string());
    assert!(Names::new(&shown, plain).is_empty());
}

#[test]
fn refused_names_become_like_ones() {
    check(
        json!({"properties": {"$a": {}, "b": {"properties": {"c-d": {}}}, "9x": {}, "$": {}}, "required": ["$a", "b"]}),
        json!({"properties": {"a": {}, "b": {"properties": {"c_d": {}}}, "_9x": {}, "parameter": {}}, "required": ["a", "b"]}),
        &[
            ("$a", "a"),
            ("9x", "_9x"),
            ("$", "parameter"),
            ("c-d", "c_d"),
        ],
    );
}

#[test]
fn names_never_meet() {
    check(
        json!({"properties": {"$a": {}, "a": {}, "@a": {}, "x": {"properties": {"a_2": {}}}}}),
        json!({"properties": {"a_3": {}, "a": {}, "a_4": {}, "x": {"properties": {"a_2": {}}}}}),
        &[("$a", "a_3"), ("@a", "a_4")],
    );
    let long = "é".repeat(100);
    let names = Names::new(&json!({"properties": {long.clone(): {}, "-": {}}}), plain);
    assert!(names.pairs().all(|(_, shown)| plain(shown, true)));
}

#[test]
fn every_mention_of_a_name_is_changed() {
    check(
        json!({
            "properties": {"$a": {"items": {"type": "string"}}, "b": {"$ref": "#/properties/$a/items"}},
            "dependentRequired": {"$a": ["b", "$a"]},
            "dependentSchemas": {"$a": {"required": ["$a"]}},
            "dependencies": {"b": ["$a"], "$a": {"required": ["$a"]}},
            "$defs": {"$a": {"$ref": "#/properties/%24a"}, "e": {"$ref": "#/$defs/$a"}},
            "patternProperties": {"$a": {"enum": ["$a"], "default": {"$a": 1}}},
        }),
        json!({
            "properties": {"a": {"items": {"type": "string"}}, "b": {"$ref": "#/properties/a/items"}},
            "dependentRequired": {"a": ["b", "a"]},
            "dependentSchemas": {"a": {"required": ["a"]}},
            "dependencies": {"b": ["a"], "a": {"required": ["a"]}},
            "$defs": {"$a": {"$ref": "#/properties/a"}, "e": {"$ref": "#/$defs/$a"}},
            "patternProperties": {"$a": {"enum": ["$a"], "default": {"$a": 1}}},
        }),
        &[("$a", "a")],
    );
}

#[test]
fn a_rule_for_the_root_leaves_the_rest() {
    let schema = json!({"allOf": [{"properties": {"$a": {}}}], "properties": {"b": {"properties": {"$c": {}}}},
                        "$defs": {"d": {"properties": {"$d": {}}}}});
    let names = Names::new(&schema, root_only);
    assert_eq!(names.pairs().collect::<Vec<_>>(), [("$a", "a")]);
    let schema = json!({"$ref": "#/$defs/d", "$defs": {"d": {"properties": {"$d": {}}}}});
    assert_eq!(Names::new(&schema, root_only).pairs().count(), 1);
}

fn restored(arguments: Value, expected: Value) {
    let schema = json!({
        "properties": {
            "$a": {"type": "object", "properties": {"$b": {}}},
            "l": {"items": {"properties": {"$b": {}}}},
            "m": {"additionalProperties": true},
        },
    });
    let names = Names::new(&schema, plain);
    assert_eq!(
        names.restore(arguments, &schema).to_string(),
        expected.to_string()
    );
}

#[test]
fn names_come_back_only_where_they_are_declared() {
    restored(
        json!({"a": {"b": 1, "a": 2}, "b": 3}),
        json!({"$a": {"$b": 1, "a": 2}, "b": 3}),
    );
    restored(
        json!({"l": [{"b": 1}], "m": {"a": 1}}),
        json!({"l": [{"$b": 1}], "m": {"a": 1}}),
    );
    restored(json!({"a": 1, "$a": 2}), json!({"a": 1, "$a": 2}));
    restored(json!({"$a": 2}), json!({"$a": 2}));
    restored(
        json!({"a": {"$literal": {"b": 1}}}),
        json!({"$a": {"$literal": {"$b": 1}}}),
    );
    restored(json!([{"a": 1}]), json!([{"a": 1}]));
}

#[test]
fn names_come_back_in_references_maps() {
    let reference = json!({"_tool": "c", "_select": "a"});
    restored(
        json!({"a": {"b": null, "_refs": {"b": reference}}, "_refs": {"a": reference, "z": reference}}),
        json!({"$a": {"$b": null, "_refs": {"$b": reference}}, "_refs": {"$a": reference, "z": reference}}),
    );
    restored(
        json!({"_refs": [{"to": "a", "tool": "c"}, {"to": "/a/b", "tool": "a"}, {"to": "/l/0/b", "tool": "c"}, {"to": "/m/a", "tool": "c"}, 7]}),
        json!({"_refs": [{"to": "$a", "tool": "c"}, {"to": "/$a/$b", "tool": "a"}, {"to": "/l/0/$b", "tool": "c"}, {"to": "/m/a", "tool": "c"}, 7]}),
    );
}

#[test]
fn thousands_of_like_names_take_no_time() {
    let properties: serde_json::Map<_, _> = (0..10_000)
        .map(|n| {
            (
                format!("{}a{}", "$".repeat(n % 90 + 1), "-".repeat(n / 90)),
                json!({}),
            )
        })
        .collect();
    let schema = json!({ "properties": properties });
    let names = Names::new(&schema, plain);
    assert_eq!(names.pairs().count(), 10_000);
    let shown: HashSet<_> = names.pairs().map(|(_, shown)| shown).collect();
    assert_eq!(shown.len(), 10_000);
}

#[test]
fn tools_are_renamed_where_they_must_be() {
    let admits = |name: &str| plain(name, true);
    let long = "x".repeat(80);
    let names = tool_names(&["a", "a.b", "a/b", "a", long.as_str()], admits);
    assert_eq!(names[..4], ["a", "a_b", "a_b_2", "a_2"]);
    assert_eq!(names[4].len(), 64);
}

/// A schema of objects, and arguments that name what it declares.
fn declared() -> impl Strategy<Value = (Value, Value)> {
    let leaf = Just((json!({}), json!(1)));
    leaf.prop_recursive(3, 24, 4, |inner| {
        let name = prop_oneof![
            "[a$@_-]{1,3}",
            "[a$]{1,2}b",
            Just("_tool".to_owned()),
            Just("$refs".to_owned())
        ];
        proptest::collection::vec((name, inner), 1..4).prop_map(|members| {
            let mut schema = serde_json::Map::new();
            let mut arguments = serde_json::Map::new();
            for (name, (inner, value)) in members {
                schema.insert(name.clone(), inner);
                arguments.insert(name, value);
            }
            (
                json!({"type": "object", "properties": schema}),
                Value::Object(arguments),
            )
        })
    })
}

/// The arguments as a model writes them that reads the shown names.
fn shown(names: &Names, arguments: &Value) -> Value {
    match arguments {
        Value::Object(members) => members
            .iter()
            .map(|(name, value)| (names.shown(name).to_owned(), shown(names, value)))
            .collect(),
        other => other.clone(),
    }
}

proptest! {
    #[test]
    fn what_is_shown_comes_back((schema, arguments) in declared()) {
        let names = Names::new(&schema, plain);
        let written = shown(&names, &arguments);
        prop_assert_eq!(names.restore(written.clone(), &schema).to_string(), arguments.to_string());
        // Nothing that is refused is left, and no two names became one.
        let applied = names.apply(&schema);
        prop_assert!(Names::new(&applied, plain).is_empty());
        let mut keys = HashSet::new();
        for (original, shown) in names.pairs() {
            prop_assert!(keys.insert(shown.to_owned()));
            prop_assert!(plain(shown, true) && !plain(original, true));
            prop_assert!(!crossfeed_wire::reference::is_sentinel(shown));
        }
        prop_assert!(jsonschema::is_valid(&applied, &written));
        prop_assert_eq!(Names::new(&schema, plain), names);
    }
}
