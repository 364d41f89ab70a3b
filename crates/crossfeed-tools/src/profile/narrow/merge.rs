//! Merges the parts of a schema into a flat one.

use super::Narrowing;
use crossfeed_schema::keywords::{self, Applies};
use serde_json::{Map, Value, json};

/// How many schemas are merged into one.
const MAX_MERGED: usize = 64;

/// The keywords that only describe.
fn is_annotation(keyword: &str) -> bool {
    matches!(
        keyword,
        "title"
            | "description"
            | "default"
            | "examples"
            | "example"
            | "$comment"
            | "deprecated"
            | "readOnly"
            | "writeOnly"
            | "nullable"
            | "$schema"
            | "$id"
            | "$defs"
            | "definitions"
    ) || keyword.starts_with("x-")
}

/// Whether a keyword says what a value looks like, so that a branch with it is more than a
/// condition on its neighbours.
fn is_structure(keyword: &str) -> bool {
    matches!(
        keyword,
        "type"
            | "properties"
            | "additionalProperties"
            | "patternProperties"
            | "items"
            | "prefixItems"
            | "enum"
            | "const"
            | "$ref"
            | "anyOf"
            | "oneOf"
            | "allOf"
    )
}

/// Whether a branch is more than a condition; a boolean is not.
pub(super) fn is_structured(schema: &Value) -> bool {
    let map = schema.as_object();
    map.is_some_and(|map| map.keys().any(|keyword| is_structure(keyword)))
}

/// The reference that a schema is, alone or as the only member of `allOf`, with the annotations
/// beside it; `None` where there is more to the schema.
pub(super) fn lone_reference(
    map: &Map<String, Value>,
    siblings: bool,
) -> Option<(String, Map<String, Value>)> {
    let (reference, rest) = match map.get("$ref").and_then(Value::as_str) {
        Some(reference) => (reference, "$ref"),
        None => {
            let [Value::Object(only)] = map.get("allOf")?.as_array()?.as_slice() else {
                return None;
            };
            let reference = only.get("$ref").and_then(Value::as_str);
            (reference.filter(|_| only.len() == 1)?, "allOf")
        }
    };
    let ignored = rest == "$ref" && !siblings;
    let beside = map.iter().filter(|(key, _)| *key != rest);
    let lone = ignored || beside.clone().all(|(key, _)| !is_structure(key));
    lone.then(|| {
        let beside = beside.filter(|(key, _)| is_annotation(key));
        let beside = beside.map(|(key, value)| (key.clone(), value.clone()));
        (reference.to_owned(), beside.collect())
    })
}

impl Narrowing<'_> {
    /// A schema with `$ref` and `allOf` merged in; `None` where that cannot be done.
    ///
    /// The pointers that were followed are pushed to `opened`.
    pub(super) fn merged(
        &self,
        map: &Map<String, Value>,
        opened: &mut Vec<String>,
    ) -> Option<Map<String, Value>> {
        let mut flat = Map::new();
        let mut open = vec![map.clone()];
        let mut merged = 0;
        while let Some(mut part) = open.pop() {
            merged += 1;
            if merged > MAX_MERGED {
                return None;
            }
            let all = part.shift_remove("allOf");
            if let Some(Value::String(reference)) = part.get("$ref") {
                let (pointer, target) = self.target(reference)?;
                if self.is_open(&pointer).is_some() || opened.contains(&pointer) {
                    return None;
                }
                opened.push(pointer);
                let target = target.as_object()?.clone();
                part.shift_remove("$ref");
                if !self.siblings {
                    part.retain(|key, _| is_annotation(key));
                }
                open.push(target);
            }
            if let Some(Value::Array(parts)) = all {
                // Nothing satisfies `false`; to leave it out only widens.
                open.extend(parts.iter().rev().filter_map(Value::as_object).cloned());
            }
            add(&mut flat, part);
        }
        Some(flat)
    }
}

/// Adds the keywords of a part. If two cannot be merged, the first stays: leaving one out only widens.
pub(super) fn add(into: &mut Map<String, Value>, part: Map<String, Value>) {
    for (keyword, value) in part {
        match (keyword.as_str(), into.get_mut(&keyword), value) {
            (_, None, value) => {
                into.insert(keyword, value);
            }
            ("properties", Some(Value::Object(known)), Value::Object(more)) => {
                for (name, schema) in more {
                    known.entry(name).or_insert(schema);
                }
            }
            ("required", Some(Value::Array(known)), Value::Array(more)) => {
                known.extend(more);
            }
            ("type", Some(known), other) => {
                let other = words(&other);
                let both: Vec<_> = words(known)
                    .into_iter()
                    .filter_map(|word| common(&word, &other))
                    .map(Value::from)
                    .collect();
                if let [only] = both.as_slice() {
                    *known = only.clone();
                } else if !both.is_empty() {
                    *known = Value::Array(both);
                }
            }
            ("additionalProperties", Some(known), Value::Bool(false)) => {
                *known = Value::Bool(false);
            }
            _ => {}
        }
    }
}

fn words(types: &Value) -> Vec<String> {
    let word = types.as_str().into_iter();
    let words = word.chain(keywords::strings(Some(types)));
    words.map(str::to_owned).collect()
}

/// The type that two have in common: an integer is a number.
fn common(word: &str, others: &[String]) -> Option<String> {
    let has = |other: &str| others.iter().any(|known| known == other);
    match word {
        _ if has(word) => Some(word.to_owned()),
        "number" if has("integer") => Some("integer".to_owned()),
        "integer" if has("number") => Some(word.to_owned()),
        _ => None,
    }
}

/// The branches of an object that may bring properties of their own.
fn branches(map: &Map<String, Value>) -> Vec<Value> {
    let listed = ["anyOf", "oneOf", "allOf"]
        .into_iter()
        .flat_map(|keyword| keywords::items(map.get(keyword)));
    let single = ["then", "else"]
        .into_iter()
        .filter_map(|keyword| map.get(keyword));
    let named = ["dependentSchemas", "dependencies"]
        .into_iter()
        .flat_map(|keyword| keywords::members(map.get(keyword)));
    listed
        .chain(single)
        .chain(named.map(|(_, schema)| schema))
        .cloned()
        .collect()
}

/// Whether a keyword holds branches, or the condition of some.
pub(super) fn is_branch(keyword: &str) -> bool {
    let applies = keywords::subschemas(keyword).map(|(_, applies)| applies);
    applies == Some(Applies::Here) && !matches!(keyword, "allOf" | "not")
}

/// Whether a schema has branches.
pub(super) fn has_branches(map: &Map<String, Value>) -> bool {
    map.keys().any(|keyword| is_branch(keyword))
}

/// Declares the properties that only a branch declares, as optional ones.
///
/// Where branches disagree about one, any value may stand there.
/// A branch that is a reference declares the properties of its target.
pub(super) fn admit_branches<'s>(
    flat: &mut Map<String, Value>,
    target: impl Fn(&str) -> Option<&'s Value>,
) {
    let mut admitted: Map<String, Value> = Map::new();
    let mut open = branches(flat);
    open.reverse();
    let mut looked_at = 0;
    while let Some(Value::Object(branch)) = open.pop() {
        looked_at += 1;
        if looked_at > MAX_MERGED {
            break;
        }
        let referred = branch.get("$ref").and_then(Value::as_str);
        open.extend(
            referred
                .and_then(&target)
                .filter(|target| target.is_object())
                .cloned(),
        );
        for (name, schema) in keywords::members(branch.get("properties")) {
            match admitted.get_mut(name) {
                Some(known) if known != schema => *known = Value::Bool(true),
                Some(_) => {}
                None => {
                    admitted.insert(name.clone(), schema.clone());
                }
            }
        }
        let mut inner = branches(&branch);
        inner.reverse();
        open.extend(inner.into_iter().filter(Value::is_object));
    }
    flat.retain(|keyword, _| !is_branch(keyword));
    if admitted.is_empty() {
        return;
    }
    let known = flat.entry("properties").or_insert_with(|| json!({}));
    if let Value::Object(known) = known {
        for (name, schema) in admitted {
            known.entry(name).or_insert(schema);
        }
    }
}
