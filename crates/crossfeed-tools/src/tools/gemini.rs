//! Gemini's `parameters` as JSON Schema.
//!
//! They are written in a dialect of OpenAPI: types in capitals, `nullable`, counts as strings. What
//! judges arguments reads JSON Schema.

use crate::Profile;
use serde_json::{Map, Value};
use std::borrow::Cow;

/// Counts, which the protocol's JSON writes as strings.
const COUNTS: [&str; 6] = [
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "minLength",
    "maxLength",
];

/// The schema as JSON Schema; borrowed where it is already. `nullable` stays where it is asked to:
/// then the words are JSON Schema's, and what they say is still Gemini's.
pub(super) fn to_json_schema(schema: &Value, keeps_nullable: bool) -> Cow<'_, Value> {
    if is_plain(schema) {
        return Cow::Borrowed(schema);
    }
    Cow::Owned(plain(schema, keeps_nullable))
}

fn is_plain(schema: &Value) -> bool {
    let Value::Object(schema) = schema else {
        return true;
    };
    let type_is_plain = schema
        .get("type")
        .and_then(Value::as_str)
        .is_none_or(|name| !name.starts_with(|c: char| c.is_ascii_uppercase()));
    type_is_plain
        && !schema.contains_key("nullable")
        && !COUNTS
            .iter()
            .any(|key| schema.get(*key).is_some_and(Value::is_string))
        && schema
            .iter()
            .all(|(key, value)| inner(key, value).all(is_plain))
}

/// Whether a schema is one of Gemini's subset and of no JSON Schema: it says `nullable`, and nothing
/// that `parameters` does not take.
pub(super) fn is_only_gemini(schema: &Value) -> bool {
    is_taken(schema) && says_nullable(schema)
}

fn is_taken(schema: &Value) -> bool {
    let Value::Object(schema) = schema else {
        return false;
    };
    let known = Profile::Gemini.facts().keywords.unwrap_or_default();
    schema.keys().all(|key| known.contains(&key.as_str()))
        && !schema.get("type").is_some_and(Value::is_array)
        && schema
            .iter()
            .all(|(key, value)| inner(key, value).all(is_taken))
}

fn says_nullable(schema: &Value) -> bool {
    let Value::Object(schema) = schema else {
        return false;
    };
    schema.contains_key("nullable")
        || schema
            .iter()
            .any(|(key, value)| inner(key, value).any(says_nullable))
}

/// The subschemas under a keyword. The depth is bounded where the list is read.
fn inner<'v>(key: &str, value: &'v Value) -> Box<dyn Iterator<Item = &'v Value> + 'v> {
    match (key, value) {
        ("properties", Value::Object(members)) => Box::new(members.values()),
        ("anyOf", Value::Array(branches)) => Box::new(branches.iter()),
        ("items" | "additionalProperties", schema) => Box::new(std::iter::once(schema)),
        _ => Box::new(std::iter::empty()),
    }
}

fn plain(schema: &Value, keeps_nullable: bool) -> Value {
    let plain = |schema: &Value| plain(schema, keeps_nullable);
    let Value::Object(schema) = schema else {
        return schema.clone();
    };
    let nullable = !keeps_nullable && schema.get("nullable") == Some(&Value::Bool(true));
    let mut out = Map::new();
    for (key, value) in schema {
        let value = match (key.as_str(), value) {
            ("nullable", _) if !keeps_nullable => continue,
            ("type", Value::String(name)) if name == "TYPE_UNSPECIFIED" => continue,
            ("type", Value::String(name)) => {
                let name = Value::from(name.to_ascii_lowercase());
                if nullable && name != "null" {
                    Value::from(vec![name, Value::from("null")])
                } else {
                    name
                }
            }
            ("enum", Value::Array(values)) if nullable && !values.contains(&Value::Null) => {
                let mut values = values.clone();
                values.push(Value::Null);
                Value::Array(values)
            }
            ("properties", Value::Object(members)) => members
                .iter()
                .map(|(name, schema)| (name.clone(), plain(schema)))
                .collect(),
            ("anyOf", Value::Array(branches)) => {
                let mut branches: Vec<_> = branches.iter().map(plain).collect();
                if nullable {
                    branches.push(serde_json::json!({"type": "null"}));
                }
                Value::Array(branches)
            }
            ("items" | "additionalProperties", schema) => plain(schema),
            (key, Value::String(digits)) if COUNTS.contains(&key) => digits
                .parse::<u64>()
                .map_or_else(|_| value.clone(), Value::from),
            _ => value.clone(),
        };
        out.insert(key.clone(), value);
    }
    Value::Object(out)
}
