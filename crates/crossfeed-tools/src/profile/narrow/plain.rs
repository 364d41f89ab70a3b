//! Repairs schemas for providers that take nearly any schema.

use super::{Dropped, MAX_DROPPED, merge};
use crate::profile::facts::Facts;
use crossfeed_schema::keywords::{self, Holds};
use crossfeed_wire::Pointer;
use serde_json::{Map, Value, json};

/// Deeper schemas are not repaired.
const MAX_NESTED: usize = 128;

pub(super) fn narrow(schema: &Value, facts: &Facts) -> (Value, Vec<Dropped>) {
    let mut dropped = Vec::new();
    let mut root = schema.as_object().cloned().unwrap_or_default();
    let mut refused = facts.root_refused.iter();
    if refused.any(|keyword| root.contains_key(*keyword)) {
        admit_parts(&mut root);
        if root.contains_key("anyOf") || root.contains_key("oneOf") {
            let mut admitted = root.clone();
            merge::admit_branches(&mut admitted, |to| {
                schema.pointer(Pointer::parse(to.strip_prefix('#')?)?.as_str())
            });
            if let Some(properties) = admitted.shift_remove("properties") {
                root.insert("properties".to_owned(), properties);
            }
        }
        for keyword in facts.root_refused {
            if root.shift_remove(*keyword).is_some() {
                dropped.push(Dropped {
                    at: Pointer::root(),
                    keyword: (*keyword).to_owned(),
                });
            }
        }
    }
    if root.get("type").is_none_or(|word| word != "object") {
        root.insert("type".to_owned(), Value::from("object"));
    }
    let mut root = Value::Object(root);
    if facts.items_required || facts.only_2020_12 {
        let pointed = refers_into_lists(&root, 0);
        let repair = Repair {
            facts,
            lists: !pointed,
        };
        repair.schema(&mut root, 0);
    }
    dropped.truncate(MAX_DROPPED);
    (root, dropped)
}

/// Moves declarations of the members of a root `allOf` to the root.
fn admit_parts(root: &mut Map<String, Value>) {
    let mut open = vec![root.get("allOf").cloned()];
    let mut looked_at = 0;
    while let Some(Some(Value::Array(parts))) = open.pop() {
        for part in parts {
            let Value::Object(mut part) = part else {
                continue;
            };
            looked_at += 1;
            if looked_at > MAX_NESTED {
                return;
            }
            open.push(part.shift_remove("allOf"));
            // What closes a part does not close the whole.
            part.retain(|key, _| {
                matches!(key.as_str(), "properties" | "required" | "anyOf" | "oneOf")
            });
            merge::add(root, part);
        }
    }
}

/// Whether a reference leads into a list form of `items`, which must then stay where it is.
fn refers_into_lists(schema: &Value, nested: usize) -> bool {
    if nested > MAX_NESTED {
        return true;
    }
    match schema {
        Value::Object(map) => map.iter().any(|(key, value)| {
            let leads = || value.as_str().is_some_and(|to| to.contains("/items/"));
            key == "$ref" && leads() || refers_into_lists(value, nested + 1)
        }),
        Value::Array(several) => several.iter().any(|one| refers_into_lists(one, nested + 1)),
        _ => false,
    }
}

struct Repair<'f> {
    facts: &'f Facts,
    /// Whether list forms of `items` may become one schema.
    lists: bool,
}

impl Repair<'_> {
    fn schema(&self, schema: &mut Value, nested: usize) {
        let Value::Object(map) = schema else { return };
        if nested > MAX_NESTED {
            return;
        }
        if self.lists && map.get("items").is_some_and(Value::is_array) {
            one_schema_for_items(map);
        }
        let listed = keywords::says_type(map.get("type"), "array");
        if self.facts.items_required && listed && !map.contains_key("items") {
            map.insert("items".to_owned(), json!({"description": "any value"}));
        }
        for (keyword, value) in map.iter_mut() {
            match (keywords::subschemas(keyword).map(|(holds, _)| holds), value) {
                (Some(Holds::Map | Holds::MapOrNames), Value::Object(named)) => {
                    for (_, schema) in named.iter_mut() {
                        self.schema(schema, nested + 1);
                    }
                }
                (Some(Holds::List | Holds::OneOrList), Value::Array(several)) => {
                    for schema in several {
                        self.schema(schema, nested + 1);
                    }
                }
                (Some(Holds::One | Holds::OneOrList), schema) => self.schema(schema, nested + 1),
                _ => {}
            }
        }
    }
}

/// Writes the list form of `items`, which 2020-12 no longer has, as one schema for all items.
fn one_schema_for_items(map: &mut Map<String, Value>) {
    let Some(Value::Array(places)) = map.get("items").cloned() else {
        return;
    };
    let rest = map.shift_remove("additionalItems");
    let rest = match rest {
        Some(Value::Bool(false)) => None,
        Some(Value::Object(rest)) if !rest.is_empty() => Some(Value::Object(rest)),
        _ => Some(json!({"description": "any value"})),
    };
    let mut told: Vec<Value> = Vec::new();
    for place in places.into_iter().chain(rest) {
        if !told.contains(&place) {
            told.push(place);
        }
    }
    map.insert("items".to_owned(), json!({"anyOf": told}));
}
