//! What is only known of the whole schema: depth, the largest enums, unused definitions.

use crate::profile::{
    count::{Levels, Step, for_each_subschema},
    facts::{Facts, Limits},
    fold_schema, is_fold,
};
use crossfeed_wire::Pointer;
use serde_json::{Map, Value, json};
use std::collections::{HashMap, HashSet};

/// How often places beyond the depth are looked for: folding one may show no other.
const ROUNDS: usize = 8;

/// Deeper than this nothing is counted.
const FOLLOWED: usize = 128;

/// Applies them, and says whether a schema was folded or changed by it.
pub(super) fn finish(schema: Value, facts: &Facts) -> (Value, bool) {
    let mut schema = schema;
    let mut changed = false;
    if let Some(limit) = facts.limits.depth {
        for _ in 0..ROUNDS {
            let beyond = Levels::of(&schema, limit).beyond;
            if beyond.is_empty() {
                break;
            }
            changed = true;
            for at in beyond {
                fold_at(&mut schema, &at);
            }
        }
    }
    if facts.limits.enum_values.is_some() {
        changed |= drop_enums(&mut schema, &facts.limits);
    }
    let (schema, followed) = collect(schema);
    (schema, changed || followed)
}

/// Folds one place; its description and whether it may be null stay.
fn fold_at(schema: &mut Value, at: &Pointer) {
    let Some(place) = schema.pointer_mut(at.as_str()) else {
        return;
    };
    let Value::Object(map) = place else { return };
    let nullable = map
        .get("type")
        .and_then(Value::as_array)
        .is_some_and(|words| words.iter().any(|word| word == "null"));
    let mut branches = vec![fold_schema()];
    if nullable {
        branches.push(json!({"type": "null"}));
    }
    let mut told = Map::new();
    told.insert("anyOf".to_owned(), Value::Array(branches));
    for key in ["title", "description"] {
        if let Some(text) = map.get(key) {
            told.insert(key.to_owned(), text.clone());
        }
    }
    *place = if told.len() == 1 && !nullable {
        fold_schema()
    } else {
        Value::Object(told)
    };
}

/// Leaves out enums until those that are left keep the limits, the largest first.
fn drop_enums(schema: &mut Value, limits: &Limits) -> bool {
    let mut changed = false;
    let mut found = Vec::new();
    enums(schema, &Pointer::root(), 0, &mut found);
    let mut all: usize = found.iter().map(|(_, values, _)| values).sum();
    // Sorting is stable: of equal ones the last goes first.
    found.reverse();
    found.sort_by_key(|(_, values, _)| std::cmp::Reverse(*values));
    for (at, values, characters) in found {
        let long = limits.enum_characters.is_some_and(|most| characters > most);
        let many = limits.enum_values.is_some_and(|most| all > most);
        if !(many || long && values > Limits::LARGE_ENUM) {
            continue;
        }
        all -= values;
        if let Some(Value::Object(map)) = schema.pointer_mut(at.as_str()) {
            map.shift_remove("enum");
        }
        changed = true;
    }
    changed
}

fn enums(schema: &Value, at: &Pointer, nested: usize, found: &mut Vec<(Pointer, usize, usize)>) {
    let Value::Object(map) = schema else { return };
    if nested > FOLLOWED {
        return;
    }
    if let Some(values) = map.get("enum").and_then(Value::as_array) {
        let length = |value: &Value| value.as_str().map_or(0, |text| text.chars().count());
        let characters = values.iter().map(length).sum();
        found.push((at.clone(), values.len(), characters));
    }
    for_each_subschema(map, |step, schema| {
        enums(schema, &step.from(at), nested + 1, found);
    });
}

/// Keeps the definitions that something refers to, in the order in which they are referred to.
fn collect(schema: Value) -> (Value, bool) {
    let mut schema = schema;
    let Some(Value::Object(definitions)) = schema
        .as_object_mut()
        .and_then(|map| map.shift_remove("$defs"))
    else {
        return (schema, false);
    };
    let aliases = aliases(&definitions);
    let mut definitions = definitions;
    if !aliases.is_empty() {
        for (_, definition) in &mut definitions {
            follow_aliases(definition, &aliases, 0);
        }
        follow_aliases(&mut schema, &aliases, 0);
    }
    let mut used = Used::default();
    references(&schema, 0, &mut used);
    let mut next = 0;
    while let Some(name) = used.names.get(next).cloned() {
        if let Some(definition) = definitions.get(&name) {
            references(definition, 0, &mut used);
        }
        next += 1;
    }
    let kept: Map<_, _> = used
        .names
        .into_iter()
        .filter_map(|name| {
            definitions
                .get(&name)
                .map(|made| (name.clone(), made.clone()))
        })
        .collect();
    if let (Value::Object(map), false) = (&mut schema, kept.is_empty()) {
        map.insert("$defs".to_owned(), Value::Object(kept));
    }
    (schema, !aliases.is_empty())
}

/// The definitions that something refers to, in that order.
#[derive(Default)]
struct Used {
    names: Vec<String>,
    known: HashSet<String>,
}

/// Definitions that are nothing but a reference or folded, each with what stands for it.
fn aliases(definitions: &Map<String, Value>) -> HashMap<String, Value> {
    let next = |name: &str| {
        let only = definitions
            .get(name)?
            .as_object()
            .filter(|map| map.len() == 1)?;
        only.get("$ref")?.as_str()?.strip_prefix("#/$defs/")
    };
    // The end of each chain, found once for all names on it; a circle ends where it was entered.
    let mut ends: HashMap<&str, &str> = HashMap::new();
    for name in definitions.keys() {
        let mut chain = Vec::new();
        let mut on_chain = HashSet::new();
        let mut last = name.as_str();
        while !ends.contains_key(last) && on_chain.insert(last) {
            chain.push(last);
            match next(last) {
                Some(target) => last = target,
                None => break,
            }
        }
        let end = ends.get(last).copied().unwrap_or(last);
        ends.extend(chain.into_iter().map(|name| (name, end)));
    }
    let mut found = HashMap::new();
    for name in definitions.keys() {
        let last = ends.get(name.as_str()).copied().unwrap_or(name);
        if definitions.get(last).is_some_and(is_fold) {
            found.insert(name.clone(), fold_schema());
        } else if last != name {
            found.insert(name.clone(), json!({"$ref": format!("#/$defs/{last}")}));
        }
    }
    found
}

fn follow_aliases(schema: &mut Value, aliases: &HashMap<String, Value>, nested: usize) {
    if nested > 2 * FOLLOWED {
        return;
    }
    let reference = schema.get("$ref").and_then(Value::as_str);
    let name = reference.and_then(|reference| reference.strip_prefix("#/$defs/"));
    if let Some(target) = name.and_then(|name| aliases.get(name)) {
        *schema = target.clone();
        return;
    }
    match schema {
        Value::Object(map) => {
            for (keyword, value) in map.iter_mut() {
                if !matches!(keyword.as_str(), "enum" | "const" | "default") {
                    follow_aliases(value, aliases, nested + 1);
                }
            }
        }
        Value::Array(several) => {
            for schema in several {
                follow_aliases(schema, aliases, nested + 1);
            }
        }
        _ => {}
    }
}

fn references(schema: &Value, nested: usize, used: &mut Used) {
    let Value::Object(map) = schema else { return };
    if nested > FOLLOWED {
        return;
    }
    let name = map.get("$ref").and_then(Value::as_str);
    if let Some(name) = name.and_then(|name| name.strip_prefix("#/$defs/"))
        && used.known.insert(name.to_owned())
    {
        used.names.push(name.to_owned());
    }
    for_each_subschema(map, |_, schema| references(schema, nested + 1, used));
}

/// How many places are folded.
pub(super) fn folds(schema: &Value, nested: usize) -> usize {
    let Value::Object(map) = schema else { return 0 };
    if is_fold(schema) {
        return 1;
    }
    if nested > FOLLOWED {
        return 0;
    }
    let mut count = 0;
    for_each_subschema(map, |_, schema| count += folds(schema, nested + 1));
    count
}

/// How many schemas a schema is made of.
pub(super) fn size(schema: &Value, nested: usize) -> usize {
    let Value::Object(map) = schema else { return 1 };
    if nested > FOLLOWED {
        return 1;
    }
    let mut count = 1;
    for_each_subschema(map, |_: Step<'_>, schema| count += size(schema, nested + 1));
    count
}
