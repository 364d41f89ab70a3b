//! What is withheld is absent to an edit, and keeps its bytes and its place.

use crate::{code, oracle, oracle::Draws, text_of};
use crossfeed_edit::{EditError, EditLimits, Merge, Patch};
use crossfeed_json::{Cursor, Document, Kind};
use proptest::{collection::vec, prelude::*};
use serde_json::{Value, json};

/// Members whose key begins with an `s`, and items (and members) that are the text `hidden`.
fn is_withheld(value: Cursor<'_>) -> bool {
    value.key().text().starts_with('s') || value.raw() == b"\"hidden\""
}

fn patched(json: &str, patch: &Value) -> Result<String, EditError> {
    let limits = EditLimits::default();
    let document = Document::new(json.to_owned());
    let patch = Patch::read(patch, &limits).unwrap();
    let outcome = patch.apply(document.root().unwrap(), Some(&is_withheld), &limits)?;
    Ok(text_of(&outcome))
}

fn merged(json: &str, merge: &Value) -> Result<String, EditError> {
    let limits = EditLimits::default();
    let document = Document::new(json.to_owned());
    let merge = Merge::read(merge, &limits).unwrap();
    let outcome = merge.apply(document.root().unwrap(), Some(&is_withheld), &limits)?;
    Ok(text_of(&outcome))
}

#[test]
fn an_edit_neither_reads_nor_moves_nor_deletes_it() {
    let json = r#"{"a": 1, "s1": {"x": 1}, "o": {"k": 1, "s": 2}, "l": [1, "hidden", 2, {"s": 1}, 3], "p": {"q": [{"s": 1}]}}"#;
    let cases = [
        // Absent.
        (
            json!({"op": "test", "path": "/s1", "value": {"x": 1}}),
            "NotFound",
        ),
        (
            json!({"op": "test", "path": "/s1/x", "value": 1}),
            "NotFound",
        ),
        (json!({"op": "remove", "path": "/s1"}), "NotFound"),
        (json!({"op": "remove", "path": "/s1/x"}), "NotFound"),
        (
            json!({"op": "copy", "from": "/s1", "path": "/b"}),
            "NotFound",
        ),
        (
            json!({"op": "move", "from": "/s1", "path": "/b"}),
            "NotFound",
        ),
        (
            json!({"op": "replace", "path": "/s1", "value": 1}),
            "NotFound",
        ),
        (
            json!({"op": "add", "path": "/s1/y", "value": 1}),
            "NotFound",
        ),
        (
            json!({"op": "test", "path": "/l/4", "value": 3}),
            "IndexOutOfRange",
        ),
        // The key is taken.
        (
            json!({"op": "add", "path": "/s1", "value": 1}),
            "NotAllowed",
        ),
        (
            json!({"op": "copy", "from": "/a", "path": "/s1"}),
            "NotAllowed",
        ),
        (
            json!({"op": "move", "from": "/a", "path": "/s1"}),
            "NotAllowed",
        ),
        // It is in there.
        (
            json!({"op": "replace", "path": "/o", "value": 1}),
            "NotAllowed",
        ),
        (json!({"op": "add", "path": "/o", "value": 1}), "NotAllowed"),
        (json!({"op": "remove", "path": "/o"}), "NotAllowed"),
        (
            json!({"op": "copy", "from": "/o", "path": "/b"}),
            "NotAllowed",
        ),
        (
            json!({"op": "move", "from": "/p/q", "path": "/b"}),
            "NotAllowed",
        ),
        (
            json!({"op": "copy", "from": "", "path": "/b"}),
            "NotAllowed",
        ),
        (
            json!({"op": "replace", "path": "", "value": 1}),
            "NotAllowed",
        ),
        (json!({"op": "remove", "path": "/l/2"}), "NotAllowed"),
        (
            json!({"op": "replace", "path": "/l", "value": []}),
            "NotAllowed",
        ),
        // It would have another index.
        (
            json!({"op": "add", "path": "/l/0", "value": 1}),
            "NotAllowed",
        ),
        (
            json!({"op": "add", "path": "/l/2", "value": 1}),
            "NotAllowed",
        ),
        (json!({"op": "remove", "path": "/l/1"}), "NotAllowed"),
        (
            json!({"op": "add", "path": "/p/q/0", "value": 1}),
            "NotAllowed",
        ),
    ];
    for (operation, expected) in cases {
        // Once as it came, once in what was changed.
        for before in [
            json!([]),
            json!([{"op": "add", "path": "/o/n", "value": 1}, {"op": "replace", "path": "/l/0", "value": 1}, {"op": "add", "path": "/p/n", "value": 1}]),
        ] {
            let mut patch = before.clone();
            patch.as_array_mut().unwrap().push(operation.clone());
            let error = patched(json, &patch).unwrap_err();
            assert_eq!(code(&error.kind), expected, "{operation} {error}");
            assert!(!error.advice().contains("s1"));
        }
    }
}

#[test]
fn what_is_beside_it_can_be_edited() {
    let json = r#"{"a": 1, "s1": 2, "l": [1, "hidden", 2], "o": {"k": 1, "s": 2}}"#;
    let patch = json!([
        {"op": "test", "path": "/o", "value": {"k": 1}},
        {"op": "test", "path": "/l", "value": [1, 2]},
        {"op": "replace", "path": "/l/1", "value": 3},
        {"op": "add", "path": "/l/2", "value": 4},
        {"op": "test", "path": "/l", "value": [1, 3, 4]},
        {"op": "remove", "path": "/o/k"},
        {"op": "add", "path": "/o/z", "value": 1},
        {"op": "test", "path": "/o", "value": {"z": 1}},
        {"op": "remove", "path": "/a"},
    ]);
    assert_eq!(
        patched(json, &patch).unwrap(),
        r#"{"s1": 2, "l": [1, "hidden", 3, 4], "o": {"s": 2, "z": 1}}"#
    );
}

#[test]
fn a_merge_leaves_it_alone() {
    let json = r#"{"a": 1, "s": 2, "o": {"k": 1, "s": 2}, "l": ["hidden"]}"#;
    assert_eq!(
        merged(json, &json!({"s": null, "o": {"s": null, "k": 2}})).unwrap(),
        r#"{"a": 1, "s": 2, "o": {"k": 2, "s": 2}, "l": ["hidden"]}"#
    );
    for (merge, at) in [
        (json!({"s": 1}), "/s"),
        (json!({"s": {}}), "/s"),
        (json!({"o": 1}), "/o"),
        (json!({"o": null}), "/o"),
        (json!({"o": {"s": {"t": null}}}), "/o/s"),
        (json!({"l": {}}), "/l"),
        (json!({"l": []}), "/l"),
        (json!(5), ""),
    ] {
        let error = merged(json, &merge).unwrap_err();
        assert_eq!(
            (code(&error.kind).as_str(), error.pointer.unwrap().as_str()),
            ("NotAllowed", at),
            "{merge}"
        );
    }
}

#[test]
fn of_duplicate_keys_each_may_hide_the_others() {
    let json = r#"{"a": {"s": 1}, "a": 2, "b": 1, "b": "hidden", "b": 2}"#;
    for operation in [
        json!({"op": "remove", "path": "/a"}),
        json!({"op": "move", "from": "/a", "path": "/c"}),
        json!({"op": "add", "path": "/b", "value": 1}),
        json!({"op": "copy", "from": "", "path": "/c"}),
    ] {
        assert_eq!(
            code(&patched(json, &json!([operation])).unwrap_err().kind),
            "NotAllowed",
            "{operation}"
        );
    }
    assert_eq!(
        code(
            &patched(json, &json!([{"op": "test", "path": "/b", "value": 2}]))
                .unwrap_err()
                .kind
        ),
        "NotFound"
    );
    assert_eq!(
        patched(json, &json!([{"op": "replace", "path": "/a", "value": 3}])).unwrap(),
        r#"{"a": {"s": 1}, "a": 3, "b": 1, "b": "hidden", "b": 2}"#
    );
}

/// A value without what is withheld.
fn visible(value: &Value) -> Value {
    let is_seen = |key: &str, value: &Value| !key.starts_with('s') && value != "hidden";
    match value {
        Value::Object(map) => {
            let members = map.iter().filter(|(key, value)| is_seen(key, value));
            members
                .map(|(key, value)| (key.clone(), visible(value)))
                .collect()
        }
        Value::Array(items) => items
            .iter()
            .filter(|item| is_seen("", item))
            .map(visible)
            .collect(),
        other => other.clone(),
    }
}

/// What is withheld, with its pointer and its bytes.
fn withheld(value: Cursor<'_>, at: &str, out: &mut Vec<(String, String)>) {
    for (index, child) in value.items().enumerate() {
        let token = match value.kind() {
            Kind::Object => child.key().text().into_owned(),
            _ => index.to_string(),
        };
        let at = format!("{at}/{token}");
        if is_withheld(child) {
            out.push((at, text_of(child.raw())));
        } else {
            withheld(child, &at, out);
        }
    }
}

fn all_withheld(json: &str) -> Vec<(String, String)> {
    let mut out = Vec::new();
    withheld(Document::new(json.to_owned()).root().unwrap(), "", &mut out);
    out.sort();
    out
}

const KEYS: [&str; 5] = ["a", "b", "s", "\\u0073t", "c"];
const LEAVES: [&str; 6] = ["1", "1.50", "\"x\"", "\"hidden\"", "null", "[ ]"];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    /// An edit that is made does to what can be seen what it does to a document without the rest, and what is
    /// withheld is where it was, byte for byte. An edit that such a document refuses is refused.
    #[test]
    fn an_edit_sees_the_document_without_it(
        json in oracle::document(&KEYS, &LEAVES),
        new in vec(oracle::any_value(), 0..8),
        merge in oracle::any_value(),
        seed in any::<u64>(),
    ) {
        let document = Document::new(json.clone());
        // Duplicates of which one is withheld have a test of their own.
        prop_assume!(!document.root().unwrap().document_has_duplicates());
        let seen = visible(&serde_json::from_str(&json).unwrap());
        let patch = Draws(seed).patch(&seen, &new);
        let outcomes = [
            (patched(&json, &patch), oracle::patch(seen.clone(), &patch)),
            (merged(&json, &merge), Some(oracle::merge_patch(seen, &merge))),
        ];
        for (found, expected) in outcomes {
            match found {
                Ok(found) => {
                    let value: Value = serde_json::from_str(&found).unwrap();
                    prop_assert_eq!(Some(visible(&value)), expected, "{} {}", json, patch);
                    prop_assert_eq!(all_withheld(&found), all_withheld(&json), "{} {}", json, patch);
                    prop_assert!(!Document::new(found).root().unwrap().document_has_duplicates());
                }
                Err(error) => {
                    prop_assert!(expected.is_none() || code(&error.kind) == "NotAllowed", "{} {} {}", json, patch, error);
                }
            }
        }
    }
}
