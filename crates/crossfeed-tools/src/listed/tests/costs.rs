//! What reading costs, and where it ends.

use super::{list, object, tool};
use crate::{ListOptions, Profile, Style};
use serde_json::{Value, json};

#[test]
fn many_wrong_entries_take_no_time() {
    let parameters: serde_json::Map<_, _> = (0..1_000)
        .map(|n| (format!("parameter_with_a_long_name_{n}"), json!({})))
        .collect();
    let listed = list(
        &json!([tool("t", object(Value::Object(parameters), json!([])))]),
        &ListOptions::style(Style::RefsList),
    );
    let entries: Vec<_> = (0..20_000)
        .map(|n| json!({"to": format!("unknown_{n}"), "tool": "c"}))
        .collect();
    let errors = listed.tools[0]
        .read(json!({ "_refs": entries }))
        .unwrap_err();
    assert_eq!(errors.len(), 100);
}

#[test]
fn long_lists_are_read_to_their_end() {
    let item = json!({"type": "object", "properties": {"a": {"type": "string"}, "m": {"type": "object"}}, "required": ["m"]});
    let branch = json!({"anyOf": [item, {"type": "object", "properties": {"b": {"type": "integer"}}, "required": ["b"]}]});
    for item in [item, branch] {
        let schema = object(json!({"l": {"type": "array", "items": item}}), json!(["l"]));
        let listed = list(
            &json!([tool("t", schema)]),
            &ListOptions::profile(Profile::OpenAiStrict),
        );
        let many = |item: Value| Value::Array(vec![item; 100_000]);
        let written = json!({"l": many(json!({"a": null, "m": "{}"}))});
        let read = listed.tools[0].read(written).unwrap();
        assert!(read == json!({"l": many(json!({"m": {}}))}));
    }
}

/// Whether null is admitted is found once for a schema, however many nulls ask.
#[test]
fn nulls_of_long_lists_are_judged_to_their_end() {
    let values: Vec<_> = (0..50).map(|n| json!({"const": n})).collect();
    let item = json!({"type": "object", "properties": {"a": {"anyOf": values}}});
    let schema = object(json!({"l": {"type": "array", "items": item}}), json!(["l"]));
    let listed = list(
        &json!([tool("t", schema)]),
        &ListOptions::profile(Profile::OpenAiStrict),
    );
    let written = json!({"l": vec![json!({"a": null}); 25_000]});
    let read = listed.tools[0].read(written).unwrap();
    assert!(read == json!({"l": vec![json!({}); 25_000]}));
}

#[test]
fn arguments_that_take_too_much_are_an_error() {
    let branches: Vec<_> = (0..900)
        .map(|n| json!({"type": "object", "properties": {"a": {"type": "string"}, "k": {"const": n}}, "required": ["k"]}))
        .collect();
    let schema = object(
        json!({"l": {"type": "array", "items": {"anyOf": branches}}}),
        json!(["l"]),
    );
    let listed = list(
        &json!([tool("t", schema)]),
        &ListOptions::profile(Profile::OpenAiStrict),
    );
    assert_eq!(listed.tools[0].strict(), Some(true));
    let item = |n: usize| json!({"a": null, "k": n % 900});
    let items: Vec<_> = (0..20_000).map(item).collect();
    let errors = listed.tools[0].read(json!({ "l": items })).unwrap_err();
    assert_eq!(errors[0].code().as_str(), "limit.exceeded");
    assert_eq!(errors.len(), 1);
}
