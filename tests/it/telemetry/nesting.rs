//! JSON in which internal fields stand everywhere, and an account of them that knows nothing of the
//! policy: `serde_json` reads, and strings that hold JSON are opened.

use crossfeed_wire::internal;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue, any_value::Value as Held};
use proptest::{prelude::*, sample::select};
use serde_json::{Map, Value};

/// Keys as tools have them, internal ones among them.
fn key() -> impl Strategy<Value = String> {
    prop_oneof![
        2 => select(internal::FIELDS.to_vec()).prop_map(str::to_owned),
        2 => select(vec!["_id", "_secret", "_toolcallid", "toolCallId", "", "a\"b", "é", "_"]).prop_map(str::to_owned),
        3 => "[a-c]{1,2}",
    ]
}

fn leaf() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<i32>().prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        Just(Value::Null),
        "[a-z\"\\\\é ]{0,6}".prop_map(Value::from),
        // Text and not JSON: it stays, whatever it speaks of.
        Just(Value::from("see _toolCallId, or {\"_toolCallId\": ")),
    ]
}

/// An object or a list, with others inside, some of them in strings.
pub(super) fn nesting() -> impl Strategy<Value = Value> {
    let any = leaf().prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            2 => object(inner.clone()),
            1 => prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            1 => object(inner.clone()).prop_map(|value| Value::from(value.to_string())),
            1 => prop::collection::vec(inner, 0..4).prop_map(|values| Value::from(Value::from(values).to_string())),
        ]
    });
    object(any)
}

fn object(member: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    let members = prop::collection::vec((key(), member), 0..4);
    members.prop_map(|members| Value::from(members.into_iter().collect::<Map<_, _>>()))
}

/// The text of a nesting, with blanks or without, its keys spelled in one of several ways.
pub(super) fn text(value: &Value, spelling: u8) -> String {
    let text = match spelling % 2 {
        0 => value.to_string(),
        _ => serde_json::to_string_pretty(value).unwrap(),
    };
    match spelling / 2 % 3 {
        0 => text,
        1 => text.replace("_toolCallId", "\\u005ftoolCallId"),
        _ => text.replace("_toolCallId", "_tool\\u0043allId"),
    }
}

/// The value with every string that is a JSON object or list in the place of what it holds.
pub(super) fn opened(value: &Value) -> Value {
    match value {
        Value::String(text) if text.trim_start().starts_with(['{', '[']) => {
            match serde_json::from_str(text) {
                Ok(value) => opened(&value),
                Err(_) => value.clone(),
            }
        }
        Value::Array(values) => values.iter().map(opened).collect(),
        Value::Object(members) => members
            .iter()
            .map(|(key, value)| (key.clone(), opened(value)))
            .collect::<Map<_, _>>()
            .into(),
        _ => value.clone(),
    }
}

/// An opened value without internal fields.
pub(super) fn clean(opened: &Value) -> Value {
    match opened {
        Value::Array(values) => values.iter().map(clean).collect(),
        Value::Object(members) => members
            .iter()
            .filter(|(key, _)| !internal::is_internal(key))
            .map(|(key, value)| (key.clone(), clean(value)))
            .collect::<Map<_, _>>()
            .into(),
        _ => opened.clone(),
    }
}

/// The same without top-level keys that begin with `_`, as of a tool's result.
pub(super) fn clean_result(opened: &Value) -> Value {
    let mut value = clean(opened);
    if let Value::Object(members) = &mut value {
        members.retain(|key, _| !key.starts_with('_'));
    }
    value
}

/// What an attribute or a body holds, as JSON; the strings in it are not opened.
pub(super) fn value_of(value: &AnyValue) -> Value {
    match value.value.as_ref().unwrap() {
        Held::StringValue(text) => Value::from(text.as_str()),
        Held::BoolValue(flag) => Value::from(*flag),
        Held::IntValue(number) => Value::from(*number),
        Held::DoubleValue(number) => Value::from(*number),
        Held::BytesValue(bytes) => Value::from(String::from_utf8_lossy(bytes)),
        Held::ArrayValue(list) => list.values.iter().map(value_of).collect(),
        Held::KvlistValue(list) => members_of(&list.values).into(),
        other => panic!("no exporter sends {other:?}"),
    }
}

fn members_of(attributes: &[KeyValue]) -> Map<String, Value> {
    attributes
        .iter()
        .map(|attribute| {
            let value = attribute.value.as_ref().unwrap();
            (attribute.key.clone(), value_of(value))
        })
        .collect()
}

/// What attribute `name` holds, opened.
pub(super) fn held(attributes: &[KeyValue], name: &str) -> Value {
    let mut named = attributes.iter().filter(|attribute| attribute.key == name);
    let attribute = named.next().unwrap_or_else(|| panic!("`{name}` is gone"));
    opened(&value_of(attribute.value.as_ref().unwrap()))
}

/// Fails if an internal field is a key anywhere in what these hold.
pub(super) fn assert_clean(attributes: &[KeyValue]) {
    let opened = opened(&members_of(attributes).into());
    assert_eq!(clean(&opened), opened);
}
