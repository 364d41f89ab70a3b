//! Values as they are written under a narrowed schema.

use super::shape::fits;
use crate::profile::is_fold;
use serde_json::{Map, Value};

/// Deeper than this a value is not looked into.
const ENCODED: usize = 128;

/// Writes a value as it would be written under a narrowed schema: the normalisation, applied.
///
/// A folded place holds JSON text, and a property that must be sent and is absent is null. Of
/// several branches it is the first that admits the value. What the schema has no place for stays
/// as it is.
///
/// ```
/// use crossfeed_schema::{Profile, encode, narrow};
/// use serde_json::json;
///
/// let schema = json!({"type": "object", "properties": {"labels": {"type": "object"}, "n": {"type": "integer"}}});
/// let shown = narrow(&schema, Profile::OpenAiStrict).schema;
/// let told = encode(&json!({"labels": {"a": 1}}), &shown);
/// assert_eq!(told, json!({"labels": "{\"a\":1}", "n": null}));
/// ```
#[must_use]
pub fn encode(value: &Value, schema: &Value) -> Value {
    encoded(value, schema, schema, 0)
}

fn encoded(value: &Value, schema: &Value, root: &Value, nested: usize) -> Value {
    if nested > ENCODED {
        return value.clone();
    }
    if is_fold(schema) {
        return Value::String(value.to_string());
    }
    if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
        let target = reference.strip_prefix('#').and_then(|at| root.pointer(at));
        return target.map_or_else(
            || value.clone(),
            |target| encoded(value, target, root, nested + 1),
        );
    }
    if let Some(branches) = schema.get("anyOf").and_then(Value::as_array) {
        // Null as itself, not as text.
        if value.is_null() && admits(value, schema, root, nested + 1) {
            return Value::Null;
        }
        let told = branches
            .iter()
            .map(|branch| (branch, encoded(value, branch, root, nested + 1)));
        let mut fitting = told.filter(|(branch, told)| admits(told, branch, root, nested + 1));
        return fitting
            .next()
            .map_or_else(|| value.clone(), |(_, told)| told);
    }
    match value {
        Value::Object(members) => {
            let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
                return value.clone();
            };
            let mut told = Map::new();
            for (name, member) in members {
                let schema = properties.get(name);
                let member = schema.map_or_else(
                    || member.clone(),
                    |schema| encoded(member, schema, root, nested + 1),
                );
                told.insert(name.clone(), member);
            }
            let required = schema.get("required").and_then(Value::as_array);
            for name in required.into_iter().flatten().filter_map(Value::as_str) {
                told.entry(name).or_insert(Value::Null);
            }
            Value::Object(told)
        }
        Value::Array(items) => {
            let Some(schema) = schema.get("items") else {
                return value.clone();
            };
            let told = items
                .iter()
                .map(|item| encoded(item, schema, root, nested + 1));
            told.collect()
        }
        scalar => scalar.clone(),
    }
}

/// Whether a narrowed schema admits an encoded value, as far as the choice of a branch needs it.
fn admits(value: &Value, schema: &Value, root: &Value, nested: usize) -> bool {
    if nested > ENCODED {
        return true;
    }
    if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
        let target = reference.strip_prefix('#').and_then(|at| root.pointer(at));
        return target.is_some_and(|target| admits(value, target, root, nested + 1));
    }
    if value.is_null() && schema.get("nullable") == Some(&Value::Bool(true)) {
        return true;
    }
    if let Some(branches) = schema.get("anyOf").and_then(Value::as_array) {
        return branches
            .iter()
            .any(|branch| admits(value, branch, root, nested + 1));
    }
    let words: Vec<_> = match schema.get("type") {
        Some(Value::Array(words)) => words.iter().filter_map(Value::as_str).collect(),
        Some(word) => word.as_str().into_iter().collect(),
        None => return true,
    };
    let listed = schema.get("enum").and_then(Value::as_array);
    if !fits(value, &words)
        || listed.is_some_and(|values| !values.contains(value))
        || schema
            .get("const")
            .is_some_and(|constant| constant != value)
    {
        return false;
    }
    match value {
        Value::Object(members) => {
            let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
                return true;
            };
            let closed = schema.get("additionalProperties") == Some(&Value::Bool(false));
            let required = schema.get("required").and_then(Value::as_array);
            let mut required = required.into_iter().flatten().filter_map(Value::as_str);
            required.all(|name| members.contains_key(name))
                && members
                    .iter()
                    .all(|(name, member)| match properties.get(name) {
                        Some(schema) => admits(member, schema, root, nested + 1),
                        None => !closed,
                    })
        }
        Value::Array(items) => {
            let all = schema.get("items").is_none_or(|schema| {
                items
                    .iter()
                    .all(|item| admits(item, schema, root, nested + 1))
            });
            all && is_within_bounds(value, schema)
        }
        scalar => is_within_bounds(scalar, schema),
    }
}

/// Whether a value keeps the bounds that stand beside its type.
fn is_within_bounds(value: &Value, schema: &Value) -> bool {
    const BOUNDS: [&str; 11] = [
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "multipleOf",
        "minLength",
        "maxLength",
        "pattern",
        "minItems",
        "maxItems",
        "maxProperties",
    ];
    let told = |bound: &&str| Some(((*bound).to_owned(), schema.get(*bound)?.clone()));
    let bounds: Map<_, _> = BOUNDS.iter().filter_map(told).collect();
    bounds.is_empty()
        || jsonschema::validator_for(&Value::Object(bounds))
            .is_ok_and(|bounds| bounds.is_valid(value))
}
