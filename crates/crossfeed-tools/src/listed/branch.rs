//! Finds values that a schema cannot accept, and branches that the members of an object contradict, as far as
//! types and listed values make that certain. The validator checks whole values.

use crossfeed_schema::{Dialect, Document, Position, keywords};
use serde_json::{Map, Value};
use std::collections::HashSet;

/// How deep schemas that apply to the same value are read; deeper ones are ignored.
const MAX_DEPTH: usize = 16;
/// How many branches and references one query follows.
const MAX_STEPS: usize = 1_000;

/// The members of an object, as evidence for the branch that they belong to.
#[derive(Debug)]
pub(crate) struct Siblings<'m> {
    /// The names present: with a value, or filled by a reference.
    there: HashSet<&'m str>,
    /// The names with a null, which may mean that the member is absent.
    perhaps: HashSet<&'m str>,
    /// The values that are not references.
    told: Vec<(&'m str, &'m Value)>,
}

impl<'m> Siblings<'m> {
    /// The members of an object without its references maps, and those that references fill.
    pub(super) fn new(
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

/// Whether a schema cannot accept an object with these members.
pub(super) fn contradicts<'s>(
    document: &Document<'s>,
    schema: &'s Value,
    siblings: &Siblings<'_>,
) -> bool {
    let admits = |object: &'s Map<String, Value>| {
        let mut required = keywords::strings(object.get("required"));
        let own = |name: &str| object.get("properties")?.get(name);
        let mut told = siblings
            .told
            .iter()
            .filter_map(|(name, value)| Some((own(name)?, *value)));
        let closes = object.get("additionalProperties") == Some(&Value::Bool(false));
        let mut foreign = siblings.there.iter().filter(|name| own(name).is_none());
        let matches_pattern = |name: &&&str| {
            keywords::members(object.get("patternProperties"))
                .any(|(pattern, _)| document.matches(pattern, name))
        };
        keywords::admits_type(object.get("type"), "object")
            && !required.any(|name| siblings.lacks(name))
            && told.all(|(schema, value)| may_be(document, schema, value))
            && (!closes || foreign.all(|name| matches_pattern(&name)))
    };
    !may_admit(document, schema, &admits, 0, &mut MAX_STEPS.clone())
}

/// Whether a value that is not null may stand at a position, as far as kinds and listed values say it.
pub(super) fn may_hold(position: &Position<'_>, value: &Value) -> bool {
    position.may_fit(|schema| may_be(position.document(), schema, value))
}

/// Whether a schema may accept a value that is not null. Lists and objects are checked by kind only.
fn may_be<'s>(document: &Document<'s>, schema: &'s Value, value: &Value) -> bool {
    let admits = |object: &'s Map<String, Value>| {
        let listed = object.get("enum").and_then(Value::as_array);
        is_of(value, object.get("type"))
            && listed.is_none_or(|values| values.iter().any(|one| is_like(one, value)))
            && object.get("const").is_none_or(|one| is_like(one, value))
    };
    may_admit(document, schema, &admits, 0, &mut MAX_STEPS.clone())
}

/// Whether a schema, with all schemas that it applies to the same value, may admit a value; `admits` checks
/// one schema by itself. If that takes too many steps, the answer is yes.
fn may_admit<'s>(
    document: &Document<'s>,
    schema: &'s Value,
    admits: &impl Fn(&'s Map<String, Value>) -> bool,
    depth: usize,
    left: &mut usize,
) -> bool {
    let Value::Object(object) = schema else {
        return schema != &Value::Bool(false);
    };
    *left = left.saturating_sub(1);
    if depth > MAX_DEPTH || *left == 0 || !document.spend(1) {
        return true;
    }
    if let Some(target) = document.target(schema) {
        if !may_admit(document, target, admits, depth + 1, left) {
            return false;
        }
        if document.dialect() <= Dialect::Draft7 {
            return true; // its siblings mean nothing
        }
    }
    let mut branches = |keyword: &str| {
        let Some(Value::Array(list)) = object.get(keyword) else {
            return true;
        };
        let mut held = list
            .iter()
            .map(|schema| may_admit(document, schema, admits, depth + 1, left));
        match keyword {
            "allOf" => held.all(|held| held),
            _ => held.any(|held| held),
        }
    };
    admits(object) && ["allOf", "anyOf", "oneOf"].into_iter().all(&mut branches)
}

/// Whether a schema by itself names a value: by its type, or in a list of values.
pub(super) fn tells(schema: &Value, value: &Value) -> bool {
    let types = schema.get("type");
    let typed = types.is_some() && is_of(value, types);
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

/// Whether `type`, which may be missing, admits a value.
fn is_of(value: &Value, types: Option<&Value>) -> bool {
    keywords::is_of_type(value, |word| keywords::admits_type(types, word))
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
