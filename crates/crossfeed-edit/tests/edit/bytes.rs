//! Every byte outside an edit stays.

use crate::{merged, oracle, oracle::Draws, patched, patched_within};
use crossfeed_edit::{EditError, EditLimits};
use crossfeed_json::Document;
use proptest::{collection::vec, prelude::*};
use serde_json::{Value, json};

fn check(json: &str, patch: Value, expected: &str) {
    assert_eq!(patched(json, &patch).unwrap(), expected, "{json} {patch}");
}

#[test]
fn additions_take_the_style_of_their_neighbours() {
    let pretty = "{\n  \"a\": 1,\n  \"b\": [\n    1,\n    2\n  ]\n}";
    check(
        pretty,
        json!([{"op": "add", "path": "/c", "value": {"x": [1, 2]}}]),
        "{\n  \"a\": 1,\n  \"b\": [\n    1,\n    2\n  ],\n  \"c\": {\"x\":[1,2]}\n}",
    );
    check(
        pretty,
        json!([{"op": "add", "path": "/b/-", "value": 3}]),
        "{\n  \"a\": 1,\n  \"b\": [\n    1,\n    2,\n    3\n  ]\n}",
    );
    check(
        pretty,
        json!([{"op": "add", "path": "/b/0", "value": 3}]),
        "{\n  \"a\": 1,\n  \"b\": [\n    3,\n    1,\n    2\n  ]\n}",
    );
    check(
        pretty,
        json!([{"op": "add", "path": "/b/1", "value": 3}]),
        "{\n  \"a\": 1,\n  \"b\": [\n    1,\n    3,\n    2\n  ]\n}",
    );
    check(
        pretty,
        json!([{"op": "remove", "path": "/b"}]),
        "{\n  \"a\": 1\n}",
    );
    check(
        pretty,
        json!([{"op": "remove", "path": "/a"}]),
        "{\n  \"b\": [\n    1,\n    2\n  ]\n}",
    );
    check(
        pretty,
        json!([{"op": "remove", "path": "/b/1"}, {"op": "remove", "path": "/b/0"}, {"op": "remove", "path": "/a"}]),
        "{\n  \"b\": []\n}",
    );
    check(
        pretty,
        json!([{"op": "remove", "path": "/b"}, {"op": "remove", "path": "/a"}, {"op": "add", "path": "/z", "value": 1}]),
        "{\n  \"z\": 1\n}",
    );
    check(
        r#"{"a":1}"#,
        json!([{"op": "add", "path": "/b", "value": 2}]),
        r#"{"a":1,"b":2}"#,
    );
    check(
        r#"{ "a" : 1 }"#,
        json!([{"op": "add", "path": "/b", "value": 2}]),
        r#"{ "a" : 1, "b" : 2 }"#,
    );
    check(
        r#"{"a":1 , "b":2}"#,
        json!([{"op": "add", "path": "/c", "value": 3}]),
        r#"{"a":1 , "b":2 , "c":3}"#,
    );
    check(
        "[1, 2]",
        json!([{"op": "add", "path": "/0", "value": 0}]),
        "[0, 1, 2]",
    );
    check("[1, 2]", json!([{"op": "remove", "path": "/0"}]), "[2]");
    check(
        "{ }",
        json!([{"op": "add", "path": "/c", "value": 3}]),
        r#"{"c":3}"#,
    );
    check(
        "[ ]",
        json!([{"op": "add", "path": "/0", "value": 3}, {"op": "add", "path": "/0", "value": 4}]),
        "[4,3]",
    );
    check(
        r#"{"a":1}"#,
        json!([{"op": "add", "path": "/q\"\n", "value": "\u{1}"}]),
        "{\"a\":1,\"q\\\"\\n\":\"\\u0001\"}",
    );
}

#[test]
fn values_that_move_keep_their_bytes() {
    check(
        r#"{"a": [1.50, {"x" :1e2}], "b": {}}"#,
        json!([{"op": "move", "from": "/a/1", "path": "/b/y"}]),
        r#"{"a": [1.50], "b": {"y":{"x" :1e2}}}"#,
    );
    check(
        r#"{"a": "\u00e9", "b": [ ]}"#,
        json!([{"op": "copy", "from": "/a", "path": "/b/0"}]),
        r#"{"a": "\u00e9", "b": ["\u00e9"]}"#,
    );
    check(
        r#"{"a":1,"b":2,"c":3}"#,
        json!([{"op": "move", "from": "/a", "path": "/a"}, {"op": "move", "from": "/a", "path": "/b"}]),
        r#"{"b":1,"c":3}"#,
    );
    // A copy of what was changed does not change with it.
    check(
        r#"{"a":{"x":1}}"#,
        json!([{"op": "replace", "path": "/a/x", "value": 2}, {"op": "copy", "from": "/a", "path": "/b"}, {"op": "replace", "path": "/a/x", "value": 3}, {"op": "add", "path": "/b/y", "value": 4}]),
        r#"{"a":{"x":3},"b":{"x":2,"y":4}}"#,
    );
}

#[test]
fn of_duplicate_keys_the_last_is_edited_and_all_are_removed() {
    let json = r#"{"a": 1, "b": {"x":1, "x":2}, "\u0061": 3}"#;
    check(
        json,
        json!([{"op": "test", "path": "/a", "value": 3}, {"op": "replace", "path": "/a", "value": 4}]),
        r#"{"a": 1, "b": {"x":1, "x":2}, "\u0061": 4}"#,
    );
    check(
        json,
        json!([{"op": "add", "path": "/a", "value": 4}]),
        r#"{"a": 1, "b": {"x":1, "x":2}, "\u0061": 4}"#,
    );
    check(
        json,
        json!([{"op": "remove", "path": "/a"}]),
        r#"{"b": {"x":1, "x":2}}"#,
    );
    check(
        json,
        json!([{"op": "replace", "path": "/a", "value": 4}, {"op": "remove", "path": "/a"}, {"op": "add", "path": "/a", "value": 5}]),
        r#"{"b": {"x":1, "x":2}, "a": 5}"#,
    );
    check(
        json,
        json!([{"op": "copy", "from": "/b", "path": "/c"}]),
        r#"{"a": 1, "b": {"x":1, "x":2}, "\u0061": 3, "c": {"x":1, "x":2}}"#,
    );
    assert_eq!(
        merged(json, &json!({"a": null, "b": {"x": 3}})).unwrap(),
        r#"{"b": {"x":1, "x":3}}"#
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Replacing a value changes its bytes only, by a patch as by a merge.
    #[test]
    fn a_replacement_touches_no_other_byte(json in oracle::any_document(), new in oracle::any_value(), seed in any::<u64>()) {
        let json = json.trim();
        let document = Document::new(json.to_owned());
        let root = document.root().unwrap();
        let mut draws = Draws(seed);
        let mut at = root;
        let mut pointer = crossfeed_wire::Pointer::root();
        while let Some(count) = at.len().filter(|count| *count > 0) {
            let index = draws.below(count);
            let child = at.items().nth(index).unwrap();
            pointer = if at.kind() == crossfeed_json::Kind::Object {
                pointer.key(&child.key().text())
            } else {
                pointer.index(index)
            };
            at = child;
        }
        let end = at.offset() + at.raw().len();
        let expected = format!("{}{new}{}", &json[..at.offset()], &json[end..]);
        let patch = json!([{"op": "replace", "path": pointer.as_str(), "value": new}]);
        prop_assert_eq!(patched(json, &patch).unwrap(), expected);
    }

    /// What is added and removed again leaves no trace, unless blanks in an empty object or list.
    #[test]
    fn additions_can_be_taken_back(json in oracle::any_document(), new in oracle::any_value(), seed in any::<u64>()) {
        let value: Value = serde_json::from_str(&json).unwrap();
        let mut path = Draws(seed).pointer(&value);
        path = match value.pointer(&path) {
            Some(Value::Object(map)) if !map.is_empty() => format!("{path}/new"),
            Some(Value::Array(items)) if !items.is_empty() => format!("{path}/{}", seed as usize % (items.len() + 1)),
            _ => return Ok(()),
        };
        let patch = json!([{"op": "add", "path": path, "value": new}, {"op": "remove", "path": path}]);
        let outcome = patched(&json, &patch).unwrap();
        if path.ends_with("/0") {
            // What stood first now has a comma's blanks before it while something else stands before it.
            prop_assert_eq!(serde_json::from_str::<Value>(&outcome).unwrap(), value);
        }
        prop_assert_eq!(outcome, json.trim());
    }
    /// The lengths that the limit is checked against are those of the bytes, to one.
    #[test]
    fn lengths_are_known_before_the_bytes(
        json in oracle::any_document(),
        new in vec(oracle::any_value(), 1..8),
        seed in any::<u64>(),
    ) {
        let patch = Draws(seed).patch(&serde_json::from_str(&json).unwrap(), &new);
        let operations = patch.as_array().unwrap();
        let prefixes = (0..=operations.len()).map(|count| patched(&json, &json!(operations[..count])));
        let Ok(lengths) = prefixes.map(|outcome| Ok(outcome?.len())).collect::<Result<Vec<_>, EditError>>() else {
            return Ok(());
        };
        let within = |bytes| patched_within(&json, &patch, &EditLimits::default().with_bytes(bytes));
        let longest = *lengths.iter().max().unwrap();
        prop_assert!(within(longest).is_ok());
        prop_assert!(within(lengths[operations.len()] - 1).is_err());
    }
}
