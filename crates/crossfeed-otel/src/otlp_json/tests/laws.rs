//! Whatever a document holds: nothing internal is left in it, and nothing else is gone.

use super::by;
use crate::Policy;
use crossfeed_json::Document;
use crossfeed_wire::internal::{FIELDS, is_internal};
use proptest::{collection::vec, prelude::*, sample::select};
use serde_json::{Map, Value, json};

/// A key of data, or an internal one.
fn key() -> impl Strategy<Value = String> {
    let internal = select(FIELDS.to_vec()).prop_map(str::to_owned);
    prop_oneof![3 => "[a-c_]{1,3}", 1 => internal, 1 => Just("a._toolCallId".to_owned())]
}

/// JSON as it stands in texts; some of its strings are JSON again.
fn data() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<i32>().prop_map(Value::from),
        "[a-z\"\\\\é{\\[]{0,4}".prop_map(Value::from),
        Just(Value::Null),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Value::from),
            vec((key(), inner.clone()), 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect::<Map<_, _>>())),
            inner.prop_map(|inner| Value::String(inner.to_string())),
        ]
    })
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![data().prop_map(|data| data.to_string()), "[a-z{\"]{0,8}"]
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        4 => text().prop_map(|text| json!({"stringValue": text})),
        1 => text().prop_map(|text| json!({"string_value": text})),
        1 => any::<i64>().prop_map(|number| json!({"intValue": number.to_string()})),
        1 => any::<bool>().prop_map(|flag| json!({"boolValue": flag})),
        1 => Just(json!({})),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(|values| json!({"arrayValue": {"values": values}})),
            vec((key(), inner), 0..3).prop_map(|entries| {
                let entry = |(key, value)| json!({"key": key, "value": value});
                let values: Vec<_> = entries.into_iter().map(entry).collect();
                json!({"kvlistValue": {"values": values}})
            }),
        ]
    })
}

fn attributes() -> impl Strategy<Value = Value> {
    let name = prop_oneof![2 => key(), 1 => Just("gen_ai.input.messages".to_owned())];
    let attribute =
        (name, any_value()).prop_map(|(key, value)| json!({"key": key, "value": value}));
    vec(attribute, 0..4).prop_map(Value::from)
}

fn document() -> impl Strategy<Value = Value> {
    let event = || {
        (text(), attributes())
            .prop_map(|(name, attributes)| json!({"name": name, "attributes": attributes}))
    };
    let span = (
        text(),
        attributes(),
        vec(event(), 0..2),
        text(),
        (key(), data()),
    );
    let span = span.prop_map(|(name, attributes, events, message, (key, unknown))| {
        let mut span = json!({
            "name": name, "attributes": attributes, "events": events, "links": events,
            "status": {"message": message, "code": 2},
        });
        span[key] = unknown;
        span
    });
    let record = (any_value(), attributes())
        .prop_map(|(body, attributes)| json!({"body": body, "attributes": attributes}));
    (attributes(), vec(span, 0..2), vec(record, 0..2)).prop_map(|(resource, spans, records)| {
        json!({
            "resourceSpans": [{"resource": {"attributes": resource}, "scopeSpans": [{"spans": spans}]}],
            "resource_logs": [{"scope_logs": [{"log_records": records}]}],
        })
    })
}

/// The value with the JSON that its strings are.
fn opened(value: &Value) -> Value {
    match value {
        Value::String(text) => match serde_json::from_str(text) {
            Ok(inner @ (Value::Object(_) | Value::Array(_) | Value::String(_))) => {
                json!([opened(&inner)])
            }
            _ => value.clone(),
        },
        Value::Array(items) => items.iter().map(opened).collect(),
        Value::Object(members) => {
            let members = members
                .iter()
                .map(|(key, value)| (key.clone(), opened(value)));
            Value::Object(members.collect())
        }
        _ => value.clone(),
    }
}

/// The same without what is internal.
fn cleaned(value: &Value) -> Value {
    match value {
        Value::Array(items) => items
            .iter()
            .filter(|item| {
                let key = item.get("key").and_then(Value::as_str);
                !key.is_some_and(|key| Policy::default().drops_key(key))
            })
            .map(cleaned)
            .collect(),
        Value::Object(members) => {
            let stay = members
                .iter()
                .filter(|(key, _)| !is_internal(key) && *key != "droppedAttributesCount");
            Value::Object(
                stay.map(|(key, value)| (key.clone(), cleaned(value)))
                    .collect(),
            )
        }
        _ => value.clone(),
    }
}

/// The forms in which a value may be written anew.
fn spelled_alike(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(spelled_alike).collect(),
        Value::Object(members) => {
            let spelled = |key: &String| match key.as_str() {
                "string_value" => "stringValue".to_owned(),
                _ => key.clone(),
            };
            let members = members
                .iter()
                .map(|(key, value)| (spelled(key), spelled_alike(value)));
            Value::Object(members.collect())
        }
        _ => value.clone(),
    }
}

fn value(json: &str) -> Value {
    serde_json::from_str(json).unwrap()
}

proptest! {
    #[test]
    fn nothing_internal_is_left_and_nothing_else_is_gone(document in document(), pretty in any::<bool>()) {
        let given = if pretty { serde_json::to_string_pretty(&document).unwrap() } else { document.to_string() };
        let sanitized = by(&Policy::default(), &given);
        let left = opened(&value(&sanitized));
        let without = |value: &Value| spelled_alike(&cleaned(value));
        prop_assert_eq!(without(&left), spelled_alike(&{
            // The count of what was dropped is ours.
            let mut left = left.clone();
            remove_counts(&mut left);
            left
        }));
        prop_assert_eq!(without(&left), without(&opened(&document)));
        prop_assert_eq!(by(&Policy::default(), &sanitized), sanitized.clone());
    }

    #[test]
    fn what_holds_nothing_internal_stays_byte_for_byte(document in document(), pretty in any::<bool>()) {
        let clean = cleaned(&document).to_string();
        // Texts, too: what is in them is no more than its own name.
        let clean = FIELDS.iter().fold(clean, |text, field| text.replace(field, "field"));
        let given = if pretty { serde_json::to_string_pretty(&value(&clean)).unwrap() } else { clean };
        let document = Document::new(given.clone());
        let sanitized = crate::sanitize_json(&document, &Policy::default()).unwrap();
        prop_assert!(matches!(sanitized.json, std::borrow::Cow::Borrowed(_)));
        prop_assert_eq!((sanitized.changed, sanitized.dropped), (0, 0));
    }
}

fn remove_counts(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(remove_counts),
        Value::Object(members) => {
            members.remove("droppedAttributesCount");
            members.values_mut().for_each(remove_counts);
        }
        _ => {}
    }
}
