//! Hostile edits and documents end early, with an error, in bounded memory.

use crate::{code, merged, patched, patched_within, text_of};
use crossfeed_edit::{EditError, EditErrorKind, EditLimits, Limit, Merge, Patch, TextEdits};
use crossfeed_json::{Document, dismantle};
use serde_json::{Value, json};

fn limit(outcome: Result<impl std::fmt::Debug, EditError>) -> Limit {
    match outcome.unwrap_err().kind {
        EditErrorKind::LimitExceeded { what, .. } => what,
        other => panic!("{other:?}"),
    }
}

fn nested(depth: usize) -> Value {
    (0..depth).fold(json!(1), |value, _| Value::Array(vec![value]))
}

#[test]
fn copies_that_double_end_at_the_limit_of_bytes() {
    let copy = |n: usize| json!({"op": "copy", "from": "", "path": format!("/a{n}")});
    let patch: Vec<_> = (0..100).map(copy).collect();
    let error = patched(r#"{"x": 1}"#, &json!(patch)).unwrap_err();
    assert_eq!(error.operation, Some(20));
    assert_eq!(code(&error.kind), "LimitExceeded");
    // The same with a list, and with copies into themselves.
    let list: Vec<_> = (0..100)
        .map(|_| json!({"op": "copy", "from": "", "path": "/-"}))
        .collect();
    assert_eq!(limit(patched("[1]", &json!(list))), Limit::Bytes);
    let chain: Vec<_> = (0..200)
        .map(|_| json!({"op": "copy", "from": "", "path": "/a"}))
        .collect();
    assert_eq!(limit(patched(r#"{"a": 1}"#, &json!(chain))), Limit::Depth);
    // Many copies of a large value.
    let large = format!("{{\"big\": \"{}\"}}", "x".repeat(1 << 20));
    let many: Vec<_> = (0..9000)
        .map(|n| json!({"op": "copy", "from": "/big", "path": format!("/a{n}")}))
        .collect();
    let error = patched(&large, &json!(many)).unwrap_err();
    assert_eq!(
        (error.operation, code(&error.kind).as_str()),
        (Some(14), "LimitExceeded")
    );
}

#[test]
fn what_comes_out_nests_as_deep_as_a_document_may() {
    let deepest = nested(127).to_string();
    assert_eq!(
        patched(
            "1",
            &json!([{"op": "replace", "path": "", "value": nested(127)}])
        )
        .unwrap(),
        deepest
    );
    assert_eq!(merged("1", &nested(127)).unwrap(), deepest);
    for patch in [
        json!([{"op": "replace", "path": "", "value": nested(128)}]),
        json!([{"op": "add", "path": "/0", "value": nested(127)}]),
    ] {
        assert_eq!(limit(patched("[]", &patch)), Limit::Depth);
    }
    let mut patch = json!([{"op": "add", "path": "/0"}]);
    patch[0]["value"] = nested(100_000);
    assert_eq!(limit(patched("[]", &patch)), Limit::Depth);
    assert_eq!(limit(merged("[]", &patch)), Limit::Depth);
    assert_eq!(
        code(&patched("[]", &patch[0]["value"]).unwrap_err().kind),
        "WrongType"
    );
    dismantle(patch);
    assert_eq!(limit(merged("1", &nested(128))), Limit::Depth);
    // A step deeper by each move.
    let mut patch = Vec::new();
    for _ in 0..200 {
        patch.push(json!({"op": "copy", "from": "/a", "path": "/b"}));
        patch.push(json!({"op": "replace", "path": "/a", "value": {}}));
        patch.push(json!({"op": "move", "from": "/b", "path": "/a/b"}));
    }
    let error = patched(r#"{"a": {}}"#, &json!(patch)).unwrap_err();
    assert_eq!(error.operation, Some(3 * 125 + 2));
    assert_eq!(code(&error.kind), "LimitExceeded");
    // A value that is deep enough as it is, in a document that is.
    let json = format!("[{deep}, {{\"k\": 1}}]", deep = nested(126));
    assert!(patched(&json, &json!([{"op": "copy", "from": "/0", "path": "/-"}, {"op": "copy", "from": "/1", "path": "/1/k"}])).is_ok());
    assert_eq!(
        limit(patched(
            &json,
            &json!([{"op": "copy", "from": "/0", "path": "/1/k"}])
        )),
        Limit::Depth
    );
    assert_eq!(
        limit(patched(
            &json,
            &json!([{"op": "add", "path": "/-", "value": 1}, {"op": "copy", "from": "", "path": "/-"}])
        )),
        Limit::Depth
    );
    let limits = EditLimits::default().with_depth(3);
    assert_eq!(
        limit(patched_within(
            "[[]]",
            &json!([{"op": "add", "path": "/0/0", "value": [[]]}]),
            &limits
        )),
        Limit::Depth
    );
    let limits = EditLimits::default().with_depth(usize::MAX);
    assert_eq!(
        limit(patched_within(
            "[[]]",
            &json!([{"op": "add", "path": "/0/0", "value": nested(126)}]),
            &limits
        )),
        Limit::Depth
    );
}

#[test]
fn operations_are_counted() {
    let patch: Vec<_> = (0..10_001)
        .map(|_| json!({"op": "test", "path": "", "value": 1}))
        .collect();
    assert_eq!(limit(patched("1", &json!(patch))), Limit::Operations);
    let members: serde_json::Map<_, _> = (0..10_001).map(|n| (n.to_string(), json!(1))).collect();
    assert_eq!(
        limit(merged("{}", &Value::Object(members))),
        Limit::Operations
    );
    // A value that a merge adds as a whole is one member.
    let members: serde_json::Map<_, _> = (0..10_001).map(|n| (n.to_string(), json!(1))).collect();
    assert!(merged("{}", &json!({"a": members})).is_ok());
    let limits = EditLimits::default();
    let edits: Vec<_> = (0..10_001)
        .map(|_| json!({"old": "a", "new": "b"}))
        .collect();
    assert_eq!(
        limit(TextEdits::read(&json!(edits), &limits)),
        Limit::Operations
    );
}

#[test]
fn ten_thousand_operations_on_a_large_list_and_a_large_object() {
    let items: Vec<_> = (0..200_000).map(|n| n.to_string()).collect();
    let list = format!("[{}]", items.join(", "));
    let replace = |n: usize| json!({"op": "replace", "path": format!("/{}", n * 7919 % 200_000), "value": "x"});
    let patch: Vec<_> = (0..10_000).map(replace).collect();
    let outcome = patched(&list, &json!(patch)).unwrap();
    assert_eq!(outcome.matches("\"x\"").count(), 10_000);
    let remove: Vec<_> = (0..10_000)
        .map(|n: usize| json!({"op": "remove", "path": format!("/{}", n * 7919 % 190_000)}))
        .collect();
    let outcome: Vec<u32> = serde_json::from_str(&patched(&list, &json!(remove)).unwrap()).unwrap();
    let mut expected: Vec<u32> = (0..200_000).collect();
    for n in 0..10_000 {
        expected.remove(n * 7919 % 190_000);
    }
    assert_eq!(outcome, expected);
    let members: Vec<_> = (0..100_000).map(|n| format!("\"k{n}\": {n}")).collect();
    let object = format!("{{{}}}", members.join(", "));
    let change = |n: usize| match n % 3 {
        0 => json!({"op": "remove", "path": format!("/k{n}")}),
        1 => json!({"op": "replace", "path": format!("/k{}", 100_000 - n), "value": "x"}),
        _ => json!({"op": "add", "path": format!("/new{n}"), "value": "x"}),
    };
    let patch: Vec<_> = (0..10_000).map(change).collect();
    let outcome = patched(&object, &json!(patch)).unwrap();
    assert_eq!(outcome.matches("\"x\"").count(), 6666);
    let outcome: Value = serde_json::from_str(&outcome).unwrap();
    assert_eq!(outcome.as_object().unwrap().len(), 100_000 - 3334 + 3333);
}

#[test]
fn one_change_in_a_large_document_costs_a_look_up() {
    let items = vec!["{\"id\": 1.50}"; 200_000].join(", ");
    let json = format!("{{\"items\": [{items}]}}");
    // The last item is found at once; nothing else is looked at.
    let limits = EditLimits::default().with_steps(50);
    let patch = json!([{"op": "replace", "path": "/items/199999/id", "value": 2}]);
    let outcome = patched_within(&json, &patch, &limits).unwrap();
    assert!(outcome.ends_with("{\"id\": 1.50}, {\"id\": 2}]}"));
    assert_eq!(outcome.len(), json.len() - 3);
    let patch = json!([{"op": "replace", "path": "/items/100000/id", "value": 2}]);
    assert_eq!(limit(patched_within(&json, &patch, &limits)), Limit::Steps);
    assert!(patched_within(&json, &patch, &limits.with_steps(200_000)).is_ok());
}

#[test]
fn comparisons_that_are_repeated_end_at_the_limit_of_steps() {
    let value: Vec<_> = (0..200_000).collect();
    let test = json!({"op": "test", "path": "", "value": value});
    let limits = EditLimits::default();
    let mut operations = vec![test; 2];
    for n in 0..500 {
        operations.push(json!({"op": "test", "path": format!("/{n}"), "value": n}));
    }
    let document = Document::new(json!(value).to_string());
    let root = document.root().unwrap();
    let patch = Patch::read(&json!(operations), &limits).unwrap();
    assert!(patch.apply(root, None, &limits).is_ok());
    let steps = limits.with_steps(500_000);
    assert_eq!(limit(patch.apply(root, None, &steps)), Limit::Steps);
}

#[test]
fn copies_of_many_parts_end_at_the_limit_of_steps() {
    let add = |n: usize| json!({"op": "add", "path": format!("/a/{n}"), "value": n});
    let mut patch: Vec<_> = (0..3000).map(add).collect();
    for n in 0..3000 {
        patch.push(json!({"op": "copy", "from": "/a", "path": "/b"}));
        patch.push(json!({"op": "add", "path": "/b/x", "value": n}));
    }
    assert_eq!(limit(patched(r#"{"a": {}}"#, &json!(patch))), Limit::Steps);
}

#[test]
fn a_predicate_is_asked_within_the_budget() {
    let items = vec!["[1]"; 100_000].join(",");
    let document = Document::new(format!("[{items}]"));
    let limits = EditLimits::default();
    let never = |_: crossfeed_json::Cursor<'_>| false;
    let copies: Vec<_> = (0..1000)
        .map(|_| json!({"op": "test", "path": "/5", "value": [1]}))
        .collect();
    let patch = Patch::read(&json!(copies), &limits).unwrap();
    assert!(
        patch
            .apply(document.root().unwrap(), Some(&never), &limits)
            .is_ok()
    );
    let replace: Vec<_> = (0..1000)
        .map(|_| json!({"op": "copy", "from": "", "path": ""}))
        .collect();
    let patch = Patch::read(&json!(replace), &limits).unwrap();
    assert_eq!(
        limit(patch.apply(document.root().unwrap(), Some(&never), &limits)),
        Limit::Steps
    );
}

fn edited(text: &str, edits: &Value) -> Result<String, EditError> {
    let limits = EditLimits::default();
    let document = Document::new(json!(text).to_string());
    let edits = TextEdits::read(edits, &limits)?;
    Ok(text_of(&edits.apply(document.root().unwrap(), &limits)?))
}

#[test]
fn a_miss_in_ten_megabytes_has_its_nearest_place() {
    let line = |n: usize| {
        format!(
            "{n} The weather in town number {} was fine, “they” said.\n",
            n * 7919 % 104_729
        )
    };
    let text: String = (0..180_000).map(line).collect();
    assert!(text.len() > 10_000_000);
    let at = 123_456;
    let passage = line(at);
    for old in [
        passage.replace(['“', '”'], "\""),
        passage.replace("weather", "wether"),
        passage.replace("fine", "very fine"),
    ] {
        let error = edited(&text, &json!([{"old": old, "new": "x"}])).unwrap_err();
        let EditErrorKind::NoOccurrence {
            nearest: Some(nearest),
        } = error.kind
        else {
            panic!("{error}");
        };
        assert_eq!(
            (nearest.line, nearest.passage.as_str()),
            (at + 1, passage.trim_end())
        );
    }
}

#[test]
fn patterns_that_make_naive_searches_quadratic() {
    let text = "a".repeat(1_000_000);
    for old in [
        format!("{}b", "a".repeat(100_000)),
        format!("b{}", "a".repeat(100_000)),
        format!("{0}b{0}", "a".repeat(50_000)),
        "ab".repeat(50_000),
    ] {
        let error = edited(&text, &json!([{"old": old, "new": "x"}])).unwrap_err();
        assert_eq!(code(&error.kind), "NoOccurrence");
    }
    let error = edited(&text, &json!([{"old": "aa", "new": "x"}])).unwrap_err();
    assert!(matches!(
        error.kind,
        EditErrorKind::ManyOccurrences { count: 500_000, .. }
    ));
    // Growth ends before memory is taken.
    let error = edited(
        &text,
        &json!([{"old": "a", "new": "x".repeat(1000), "all": true}]),
    )
    .unwrap_err();
    assert_eq!(limit(Err::<(), _>(error)), Limit::Bytes);
    let double = vec![json!({"old": "a", "new": "aa", "all": true}); 100];
    assert_eq!(limit(edited("a", &json!(double))), Limit::Bytes);
    // So does a text that needs six bytes for each of its own.
    assert_eq!(
        limit(edited(
            &text,
            &json!([{"old": "a", "new": "\u{1}\u{1}\u{1}", "all": true}])
        )),
        Limit::Bytes
    );
    // Many edits of a long text.
    let flip: Vec<_> = (0..4_000)
        .map(|n: usize| {
            if n.is_multiple_of(2) {
                json!({"old": "b", "new": "c"})
            } else {
                json!({"old": "c", "new": "b"})
            }
        })
        .collect();
    assert_eq!(
        limit(edited(&format!("{text}b"), &json!(flip))),
        Limit::Steps
    );
}

#[test]
fn a_wide_merge_of_many_members() {
    let members: Vec<_> = (0..50_000).map(|n| format!("\"k{n}\": {n}")).collect();
    let json = format!("{{{}}}", members.join(", "));
    let merge: serde_json::Map<_, _> = (0..9999)
        .map(|n| {
            (
                format!("k{}", n * 5),
                if n % 2 == 0 { json!("x") } else { Value::Null },
            )
        })
        .collect();
    let limits = EditLimits::default();
    let document = Document::new(json);
    let outcome = Merge::read(&Value::Object(merge), &limits)
        .unwrap()
        .apply(document.root().unwrap(), None, &limits)
        .unwrap();
    let outcome: Value = serde_json::from_slice(&outcome).unwrap();
    assert_eq!(outcome.as_object().unwrap().len(), 50_000 - 4999);
    assert_eq!(outcome["k10"], "x");
    assert_eq!(outcome.get("k5"), None);
}
