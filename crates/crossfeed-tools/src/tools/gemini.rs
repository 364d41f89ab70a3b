//! Reads Gemini's `parameters` as JSON Schema.
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
    if any(schema, &needs_rewriting) {
        Cow::Owned(plain(schema, keeps_nullable))
    } else {
        Cow::Borrowed(schema)
    }
}

fn needs_rewriting(schema: &Map<String, Value>) -> bool {
    let word = schema.get("type").and_then(Value::as_str);
    word.is_some_and(|word| word.starts_with(|c: char| c.is_ascii_uppercase()))
        || schema.contains_key("nullable")
        || COUNTS
            .iter()
            .any(|key| schema.get(*key).is_some_and(Value::is_string))
}

/// Whether a schema is one of Gemini's subset and of no JSON Schema: it says `nullable`, and nothing
/// that `parameters` does not take.
pub(super) fn is_only_gemini(schema: &Value) -> bool {
    let facts = Profile::Gemini.facts();
    let is_refused = |schema: &Map<String, Value>| {
        schema.keys().any(|key| !facts.documents(key))
            || schema.get("type").is_some_and(Value::is_array)
            || schema
                .iter()
                .any(|(key, value)| inner(key, value).iter().any(|inner| !inner.is_object()))
    };
    schema.is_object()
        && !any(schema, &is_refused)
        && any(schema, &|schema| schema.contains_key("nullable"))
}

/// Whether something holds for a schema or one in it. The depth is bounded where the list is read.
fn any(schema: &Value, holds: &dyn Fn(&Map<String, Value>) -> bool) -> bool {
    let Value::Object(schema) = schema else {
        return false;
    };
    let mut parts = schema.iter().flat_map(|(key, value)| inner(key, value));
    holds(schema) || parts.any(|inner| any(inner, holds))
}

/// The subschemas under a keyword that Gemini has.
fn inner<'v>(keyword: &str, value: &'v Value) -> Vec<&'v Value> {
    match (keyword, value) {
        ("properties", Value::Object(members)) => members.values().collect(),
        ("anyOf", Value::Array(branches)) => branches.iter().collect(),
        ("items" | "additionalProperties", schema) => vec![schema],
        _ => Vec::new(),
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
