//! JSON text in folded places, read back.

use super::check;
use crate::{ListOptions, Profile};
use serde_json::{Value, json};

/// Reads one required parameter back, in each profile that folds.
fn read(parameter: Value, written: Value, expected: Value) {
    let schema = json!({"type": "object", "properties": {"p": parameter}, "required": ["p"]});
    for profile in [
        Profile::OpenAiStrict,
        Profile::AnthropicStrict,
        Profile::Gemini,
    ] {
        check(
            &schema,
            &ListOptions::profile(profile),
            json!({"p": written}),
            Ok(json!({"p": expected})),
        );
    }
}

fn same(parameter: Value, texts: &[&str]) {
    for text in texts {
        read(parameter.clone(), json!(text), json!(text));
    }
}

const SCALARS: [&str; 6] = ["5", "1e3", "true", "null", "007", "12345678901234567890123"];

#[test]
fn a_string_that_the_tool_takes_stays_a_string() {
    let any_of = json!({"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "object"}]});
    same(any_of.clone(), &SCALARS);
    same(any_of, &["[1,2]", "plain", ""]);
    let listed = json!({"type": ["string", "object"]});
    same(listed, &["2024", "true", "[1]", "1.50"]);
    same(json!({"type": ["string", "object", "null"]}), &SCALARS);
    let described = json!({"anyOf": [{"type": "string", "description": "d"}, {"type": "object"}]});
    same(described.clone(), &SCALARS);
    same(described, &["[1,2]"]);
    let items = json!({"type": "array", "items": {"type": ["string", "object"]}});
    read(items, json!(["007", "12"]), json!(["007", "12"]));
}

#[test]
fn text_is_taken_apart_where_the_tool_takes_what_it_holds() {
    let either = json!({"type": ["string", "object"]});
    read(either.clone(), json!("{\"a\": 1}"), json!({"a": 1}));
    read(either, json!("\"x\""), json!("x"));
    let list = json!({"anyOf": [{"type": "string"}, {"type": "array"}, {"type": "object"}]});
    read(list, json!("{\"a\": [1]}"), json!({"a": [1]}));
    // A number of any value is written as one, but for the items of a list of any.
    read(json!({}), json!("5"), json!("5"));
    read(json!({}), json!("\"5\""), json!("5"));
    read(json!({}), json!(["5", "\"5\""]), json!([5, "5"]));
    read(json!({}), json!("[null]"), json!([null]));
    read(
        json!({"type": "object"}),
        json!("{\"a\": \"5\"}"),
        json!({"a": "5"}),
    );
}

#[test]
fn no_digit_is_lost_where_text_may_stand() {
    same(
        json!({}),
        &[
            "12345678901234567890123",
            "0.1000000000000000055511151231257827",
        ],
    );
    same(
        json!({"type": ["string", "object"]}),
        &["{\"a\": 12345678901234567890123}"],
    );
}

#[test]
fn names_are_known_on_the_way() {
    let parameter = json!({"type": "object", "properties": {"$a": {"type": ["string", "object"]}}});
    let schema = json!({"type": "object", "properties": {"p": parameter}});
    check(
        &schema,
        &ListOptions::profile(Profile::Gemini),
        json!({"p": {"a": "[1]"}}),
        Ok(json!({"p": {"$a": "[1]"}})),
    );
}
