//! Which values a schema cannot hold, and which branches the members of an object contradict.
//!
//! What comes in: a schema and a value, or an object that holds references. What goes out: `true`
//! only where that is certain from types and listed values. Judging whole values is the validator's
//! work.

use crossfeed_schema::{Dialect, Document, Position};
use serde_json::{Map, Value};
use std::collections::HashSet;

/// How deep schemas that apply to the same value are looked into; what is deeper says nothing.
const DEPTH: usize = 16;
/// How many branches and references one question follows.
const ASKED: usize = 1_000;

/// The members of an object, as far as they say which branch is meant.
#[derive(Debug)]
pub(crate) struct Siblings<'m> {
    /// The names that are there: with a value, or filled by a reference.
    there: HashSet<&'m str>,
    /// Those with a null that stands for nothing: perhaps there, perhaps not.
    perhaps: HashSet<&'m str>,
    /// The values that no reference stands for.
    told: Vec<(&'m str, &'m Value)>,
}

impl<'m> Siblings<'m> {
    /// The members of an object: those that are no references map, and those that references fill.
    pub(super) fn of(
        members: &'m Map<String, Value>,
        is_map: impl Fn(&str) -> bool,
        filled: &'m HashSet<String>,
    ) -> Self {
        let mut siblings = Self {
            there: filled.iter().map(String::as_str).collect(),
            perhaps: HashSet::new(),
            told: Vec::new(),
        };
        let others = members.iter().filter(|(key, _)| !filled.contains(*key));
        for (key, value) in others.filter(|(key, _)| !is_map(key)) {
            // An object may be a reference, and so may its text.
            let may_refer = match value {
                Value::Null => {
                    siblings.perhaps.insert(key);
                    continue;
                }
                Value::Object(_) => true,
                Value::String(text) => text.trim_start().starts_with('{'),
                _ => false,
            };
            siblings.there.insert(key);
            if !may_refer {
                siblings.told.push((key, value));
            }
        }
        siblings
    }

    fn lacks(&self, name: &str) -> bool {
        !self.there.contains(name) && !self.perhaps.contains(name)
    }
}

/// Whether the object with these members cannot be what a schema asks for.
pub(super) fn contradicts<'s>(
    document: &Document<'s>,
    schema: &'s Value,
    siblings: &Siblings<'_>,
) -> bool {
    refuses(document, schema, siblings, 0, &mut ASKED.clone())
}

fn refuses<'s>(
    document: &Document<'s>,
    schema: &'s Value,
    siblings: &Siblings<'_>,
    depth: usize,
    left: &mut usize,
) -> bool {
    let Value::Object(object) = schema else {
        return schema == &Value::Bool(false);
    };
    *left = left.saturating_sub(1);
    if depth > DEPTH || *left == 0 || !document.spend(1) {
        return false;
    }
    if let Some(target) = document.target(schema) {
        if refuses(document, target, siblings, depth + 1, left) {
            return true;
        }
        if document.dialect() <= Dialect::Draft7 {
            return false; // its siblings mean nothing
        }
    }
    if object
        .get("type")
        .is_some_and(|types| !names(types, "object"))
    {
        return true;
    }
    let required = object.get("required").and_then(Value::as_array);
    let mut required = required.into_iter().flatten().filter_map(Value::as_str);
    if required.any(|name| siblings.lacks(name)) {
        return true;
    }
    let properties = object.get("properties").and_then(Value::as_object);
    let own = |name: &str| properties.and_then(|own| own.get(name));
    let mut told = siblings
        .told
        .iter()
        .filter_map(|(name, value)| Some((own(name)?, *value)));
    if told.any(|(schema, value)| !may_be(document, schema, value)) {
        return true;
    }
    if object.get("additionalProperties") == Some(&Value::Bool(false)) {
        let patterns = object.get("patternProperties").and_then(Value::as_object);
        let mut foreign = siblings.there.iter().filter(|name| own(name).is_none());
        if foreign.any(|name| {
            let mut patterns = patterns.into_iter().flat_map(Map::keys);
            !patterns.any(|pattern| document.matches(pattern, name))
        }) {
            return true;
        }
    }
    ["allOf", "anyOf", "oneOf"].iter().any(|keyword| {
        let Some(list) = object.get(*keyword).and_then(Value::as_array) else {
            return false;
        };
        let mut refused = list
            .iter()
            .map(|schema| refuses(document, schema, siblings, depth + 1, left));
        match *keyword {
            "allOf" => refused.any(|refused| refused),
            _ => refused.all(|refused| refused),
        }
    })
}

/// Whether a value that is not null may stand at a position, as far as kinds and listed values say it.
pub(super) fn may_hold(position: &Position<'_>, value: &Value) -> bool {
    position.may_fit(|schema| may_be(position.document(), schema, value))
}

/// Whether a schema may hold a value that is not null. Of lists and objects only the kind is
/// looked at.
fn may_be<'s>(document: &Document<'s>, schema: &'s Value, value: &Value) -> bool {
    holds(document, schema, value, 0, &mut ASKED.clone())
}

fn holds<'s>(
    document: &Document<'s>,
    schema: &'s Value,
    value: &Value,
    depth: usize,
    left: &mut usize,
) -> bool {
    let Value::Object(object) = schema else {
        return schema != &Value::Bool(false);
    };
    *left = left.saturating_sub(1);
    if depth > DEPTH || *left == 0 || !document.spend(1) {
        return true;
    }
    if let Some(target) = document.target(schema) {
        if !holds(document, target, value, depth + 1, left) {
            return false;
        }
        if document.dialect() <= Dialect::Draft7 {
            return true;
        }
    }
    if object.get("type").is_some_and(|types| !is_of(value, types)) {
        return false;
    }
    let listed = object.get("enum").and_then(Value::as_array);
    if listed.is_some_and(|values| !values.iter().any(|one| is_like(one, value)))
        || object.get("const").is_some_and(|one| !is_like(one, value))
    {
        return false;
    }
    ["allOf", "anyOf", "oneOf"].iter().all(|keyword| {
        let Some(list) = object.get(*keyword).and_then(Value::as_array) else {
            return true;
        };
        let mut held = list
            .iter()
            .map(|schema| holds(document, schema, value, depth + 1, left));
        match *keyword {
            "allOf" => held.all(|held| held),
            _ => held.any(|held| held),
        }
    })
}

/// Whether a schema by itself names a value: by its type, or in a list of values.
pub(super) fn tells(schema: &Value, value: &Value) -> bool {
    let typed = schema.get("type").is_some_and(|types| is_of(value, types));
    let listed = schema.get("enum").and_then(Value::as_array);
    let one = schema.get("const");
    let nullable = value.is_null() && schema.get("nullable") == Some(&Value::Bool(true));
    nullable
        || match (listed, one) {
            (None, None) => typed,
            (listed, one) => {
                let mut all = listed.into_iter().flatten().chain(one);
                all.any(|one| is_like(one, value))
            }
        }
}

fn names(types: &Value, word: &str) -> bool {
    match types {
        Value::String(name) => name == word,
        Value::Array(names) => names.iter().any(|name| name == word),
        _ => true,
    }
}

/// Whether a value is of one of these types.
fn is_of(value: &Value, types: &Value) -> bool {
    match value {
        Value::Null => names(types, "null"),
        Value::Bool(_) => names(types, "boolean"),
        Value::String(_) => names(types, "string"),
        Value::Array(_) => names(types, "array"),
        Value::Object(_) => names(types, "object"),
        Value::Number(number) => {
            let is_whole = number.as_f64().is_none_or(|number| number.fract() == 0.0);
            names(types, "number") || is_whole && names(types, "integer")
        }
    }
}

/// Whether two values are equal; lists and objects, whether they are of one kind.
fn is_like(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Array(_), Value::Array(_)) | (Value::Object(_), Value::Object(_)) => true,
        // `1` and `1.0` are equal.
        (Value::Number(one), Value::Number(other)) => {
            one == other || one.as_f64() == other.as_f64()
        }
        (one, other) => one == other,
    }
}
