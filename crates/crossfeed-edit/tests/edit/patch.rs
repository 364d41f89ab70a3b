//! JSON Patch: against another implementation, and what errors say.

use crate::{code, oracle, oracle::Draws, patched};
use crossfeed_edit::{EditErrorKind, EditLimits, Patch};
use crossfeed_json::Document;
use proptest::{collection::vec, prelude::*};
use serde_json::{Value, json};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    /// The bytes that come out have the value, and the order of keys, that the RFC's operations give; or both
    /// fail.
    #[test]
    fn a_patch_does_what_the_rfc_says(
        json in oracle::any_document(),
        new in vec(oracle::any_value(), 0..12),
        seed in any::<u64>(),
    ) {
        let value: Value = serde_json::from_str(&json).unwrap();
        let patch = Draws(seed).patch(&value, &new);
        let expected = oracle::patch(value, &patch).map(|value| value.to_string());
        let found = patched(&json, &patch);
        let value = found.as_ref().ok().map(|json| {
            serde_json::from_str::<Value>(json).unwrap().to_string()
        });
        prop_assert_eq!(value, expected, "{} {} {:?}", json, patch, found);
    }

    /// A change and its reverse give the value as it was.
    #[test]
    fn a_reversed_edit_gives_the_value_back(
        json in oracle::any_document(),
        new in oracle::any_value(),
        seed in any::<u64>(),
    ) {
        let value: Value = serde_json::from_str(&json).unwrap();
        let mut draws = Draws(seed);
        let (path, from) = (draws.pointer(&value), draws.pointer(&value));
        let old = value.pointer(&path);
        let is_item = path.rsplit_once('/').is_some_and(|(list, _)| {
            value.pointer(list).is_some_and(Value::is_array)
        });
        let (operation, reverse) = match (draws.below(4), old) {
            (0, Some(old)) => (
                json!({"op": "replace", "path": path, "value": new}),
                json!({"op": "replace", "path": path, "value": old}),
            ),
            (1, Some(old)) if !path.is_empty() => (
                json!({"op": "remove", "path": path}),
                json!({"op": "add", "path": path, "value": old}),
            ),
            (2, old) if !path.is_empty() && (is_item || old.is_none()) && !path.ends_with('-') => (
                json!({"op": "add", "path": path, "value": new}),
                json!({"op": "remove", "path": path}),
            ),
            (3, None) if !from.is_empty() && !path.ends_with('-') => (
                json!({"op": "move", "path": path, "from": from}),
                json!({"op": "move", "path": from, "from": path}),
            ),
            _ => return Ok(()),
        };
        let Ok(there) = patched(&json, &json!([operation])) else {
            return Ok(());
        };
        let Ok(back) = patched(&there, &json!([reverse])) else {
            // A move out of a list changes the indexes of what comes after it.
            prop_assert_eq!(&operation["op"], "move");
            return Ok(());
        };
        if operation["op"] != "move" || from.split('/').count() == path.split('/').count() {
            prop_assert_eq!(serde_json::from_str::<Value>(&back).unwrap(), value, "{} {}", json, operation);
        }
    }

    /// What is neither a patch nor a pointer is an error, never a panic.
    #[test]
    fn any_value_can_be_read(patch in oracle::any_value(), op in "[a-z]{0,6}|add|move", path in "[/~01a-]{0,6}") {
        let _ = patched("[[0]]", &patch);
        let _ = patched("[[0]]", &json!([patch]));
        let _ = patched("[[0]]", &json!([{"op": op, "path": path, "from": path, "value": 1}]));
    }
}

/// An operation on a document is refused with this error and message.
fn refuse(json: &str, operation: Value, kind: &str, message: &str) {
    let error = patched(json, &json!([{"op": "test", "path": "", "value": serde_json::from_str::<Value>(json).unwrap()}, operation]))
        .unwrap_err();
    assert_eq!(code(&error.kind), kind, "{operation}");
    assert_eq!(error.operation, Some(1));
    assert_eq!(format!("{error} | {}", error.advice()), message);
}

#[test]
fn errors_name_the_operation_and_the_place() {
    let json = r#"{"items": [1, {"name": "x"}], "title": "t"}"#;
    let cases = [
        (
            json!(5),
            "WrongType",
            "operation 1: an operation must be an object, not a number | write an object there",
        ),
        (
            json!({"path": "/a"}),
            "MissingMember",
            "operation 1: `op` is missing | add `op`",
        ),
        (
            json!({"op": "add", "path": "/a"}),
            "MissingMember",
            "operation 1: `value` is missing | add `value`",
        ),
        (
            json!({"op": "copy", "path": "/a"}),
            "MissingMember",
            "operation 1: `from` is missing | add `from`",
        ),
        (
            json!({"op": "add", "path": 5, "value": 1}),
            "WrongType",
            "operation 1: path must be a string, not a number | write a string there",
        ),
        (
            json!({"op": "set", "path": "/a"}),
            "UnknownOperation",
            "operation 1: unknown operation `set` | `op` is one of `add`, `remove`, `replace`, `move`, `copy`, `test`",
        ),
        (
            json!({"op": "remove", "path": "/a~2"}),
            "InvalidPointer",
            "operation 1: `path` is not a JSON Pointer | begin it with `/`, or leave it empty for the whole value; write `~1` for `/` and `~0` for `~` in a key",
        ),
        (
            json!({"op": "move", "path": "", "from": "a"}),
            "InvalidPointer",
            "operation 1: `from` is not a JSON Pointer | begin it with `/`, or leave it empty for the whole value; write `~1` for `/` and `~0` for `~` in a key",
        ),
        (
            json!({"op": "remove", "path": "/titel"}),
            "NotFound",
            "operation 1 at `/titel`: there is no such value | keys there that are alike: `title`",
        ),
        (
            json!({"op": "replace", "path": "/x/y", "value": 1}),
            "NotFound",
            "operation 1 at `/x/y`: there is no such value | name a value that is there; `add` sets a member that is absent",
        ),
        (
            json!({"op": "add", "path": "/title/x", "value": 1}),
            "NotAContainer",
            "operation 1 at `/title/x`: the pointer leads into a string | name that value itself, or replace it first",
        ),
        (
            json!({"op": "remove", "path": "/items/-"}),
            "InvalidIndex",
            "operation 1 at `/items/-`: `-` is not an index of a list | address an item by its index from 0, without leading zeros, or with `add` by `-` for the end",
        ),
        (
            json!({"op": "remove", "path": "/items/01"}),
            "InvalidIndex",
            "operation 1 at `/items/01`: `01` is not an index of a list | address an item by its index from 0, without leading zeros, or with `add` by `-` for the end",
        ),
        (
            json!({"op": "test", "path": "/items/2", "value": 1}),
            "IndexOutOfRange",
            "operation 1 at `/items/2`: the list has 2 items only | the last item is 1; `add` at `-` appends",
        ),
        (
            json!({"op": "add", "path": "/items/3", "value": 1}),
            "IndexOutOfRange",
            "operation 1 at `/items/3`: the list has 2 items only | the last item is 1; `add` at `-` appends",
        ),
        (
            json!({"op": "add", "path": "/items/99999999999999999999999", "value": 1}),
            "IndexOutOfRange",
            "operation 1 at `/items/99999999999999999999999`: the list has 2 items only | the last item is 1; `add` at `-` appends",
        ),
        (
            json!({"op": "test", "path": "/title", "value": "u"}),
            "TestFailed",
            "operation 1 at `/title`: the test found another value, a string | look at the value as it is now, then write the edit anew",
        ),
        (
            json!({"op": "move", "from": "/items", "path": "/items/1/a"}),
            "IntoItself",
            "operation 1 at `/items`: a value cannot be moved into itself | move it to a place outside itself, or copy it",
        ),
        (
            json!({"op": "move", "from": "", "path": "/a"}),
            "IntoItself",
            "operation 1 at ``: a value cannot be moved into itself | move it to a place outside itself, or copy it",
        ),
        (
            json!({"op": "remove", "path": ""}),
            "WholeValue",
            "operation 1 at ``: the whole value cannot be removed | replace it, or name a part of it",
        ),
        (
            json!({"op": "copy", "from": "/b", "path": "/c"}),
            "NotFound",
            "operation 1 at `/b`: there is no such value | name a value that is there; `add` sets a member that is absent",
        ),
    ];
    for (operation, kind, message) in cases {
        refuse(json, operation, kind, message);
    }
    let error = patched("1", &json!({"op": "remove"})).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the patch must be a list of operations, not an object"
    );
}

#[test]
fn a_test_compares_numbers_exactly_and_strings_by_characters() {
    let nines = "9".repeat(400);
    let json = format!(
        r#"{{"n": 9007199254740993, "d": 1.50, "big": {nines}, "s": "\u00e9\/", "half": "\ud800", "o": {{"x": 1, "y": [1e0]}}}}"#
    );
    let cases = [
        ("/n", "9007199254740993", true),
        ("/n", "9007199254740992", false),
        ("/n", "9007199254740993.0", true),
        ("/d", "15e-1", true),
        ("/d", "1.5000000000000000000000000001", false),
        ("/big", &nines, true),
        ("/big", &format!("{nines}.0"), true),
        ("/big", &format!("{}8", &nines[1..]), false),
        ("/s", r#""é/""#, true),
        ("/s", r#""e\u0301/""#, false),
        ("/half", r#""\ud800""#, true),
        ("/half", r#""\ud801""#, false),
        ("/half", r#""\ufffd""#, false),
        ("/o", r#"{"y": [1], "x": 1.0}"#, true),
        ("/o", r#"{"y": [1], "x": 1.0, "z": 1}"#, false),
        ("/o", r#"{"y": [1]}"#, false),
        ("/o/y", r#"{"0": 1}"#, false),
        ("/d", r#""1.50""#, false),
    ];
    let limits = EditLimits::default();
    let document = Document::new(json);
    for (path, value, expected) in cases {
        // Once as it came, once in an object that was changed.
        for change in [
            "",
            r#"{"op": "add", "path": "/o/x", "value": 1}, {"op": "copy", "from": "/d", "path": "/e"}, "#,
        ] {
            let patch =
                format!(r#"[{change}{{"op": "test", "path": "{path}", "value": {value}}}]"#);
            let patch = Document::new(patch);
            let patch = Patch::read_json(patch.root().unwrap(), &limits).unwrap();
            let outcome = patch.apply(document.root().unwrap(), None, &limits);
            assert_eq!(outcome.is_ok(), expected, "{path} {value}: {outcome:?}");
        }
    }
}

#[test]
fn a_patch_that_changes_nothing_shares_the_bytes() {
    let document = Document::new(r#" {"a" : 1} "#);
    let limits = EditLimits::default();
    let patch = Patch::read(&json!([{"op": "test", "path": "/a", "value": 1}]), &limits).unwrap();
    let outcome = patch
        .apply(document.root().unwrap(), None, &limits)
        .unwrap();
    assert_eq!(outcome, r#"{"a" : 1}"#);
    assert_eq!(outcome.as_ptr(), document.raw()[1..].as_ptr());
    let within = document.root().unwrap().get("a").unwrap();
    let patch = Patch::read(
        &json!([{"op": "replace", "path": "", "value": [1]}]),
        &limits,
    )
    .unwrap();
    assert_eq!(patch.apply(within, None, &limits).unwrap(), "[1]");
}

#[test]
fn an_error_is_of_the_step_that_fails() {
    let error = patched("[1]", &json!([{"op": "add", "path": "/-", "value": 2}, {"op": "remove", "path": "/0"}, {"op": "remove", "path": "/1"}]))
        .unwrap_err();
    assert_eq!(error.operation, Some(2));
    assert_eq!(error.kind, EditErrorKind::IndexOutOfRange { len: 1 });
}
