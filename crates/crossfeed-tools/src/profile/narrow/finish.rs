//! Applies limits that depend on the whole schema: depth, the largest enums, unused definitions.

use crate::profile::{
    count::Levels,
    facts::{Facts, Limits},
    fold_schema, is_fold, is_fold_object,
};
use crossfeed_schema::keywords;
use crossfeed_wire::Pointer;
use serde_json::{Map, Value, json};
use std::collections::{HashMap, HashSet};

/// How often places beyond the depth are looked for: folding one may show no other.
const MAX_ROUNDS: usize = 8;

/// How deep aliases are looked for.
const MAX_NESTED: usize = 256;

/// Applies them, and says whether a schema was folded or changed by it.
pub(super) fn finish(mut schema: Value, facts: &Facts) -> (Value, bool) {
    let mut changed = false;
    if let Some(limit) = facts.limits.depth {
        for _ in 0..MAX_ROUNDS {
            let beyond = Levels::new(&schema, limit).beyond;
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
    let nullable = keywords::says_type(map.get("type"), "null");
    let mut branches = vec![fold_schema()];
    if nullable {
        branches.push(json!({"type": "null"}));
    }
    let mut told = Map::from_iter([("anyOf".to_owned(), Value::Array(branches))]);
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
    keywords::visit(schema, "", &mut |map, at| {
        if let Some(values) = map.get("enum").and_then(Value::as_array) {
            let texts = values.iter().filter_map(Value::as_str);
            let characters: usize = texts.map(|text| text.chars().count()).sum();
            found.push((at.to_owned(), values.len(), characters));
        }
    });
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
        if let Some(Value::Object(map)) = schema.pointer_mut(&at) {
            map.shift_remove("enum");
        }
        changed = true;
    }
    changed
}

/// Keeps the definitions that something refers to, in the order in which they are referred to.
fn collect(mut schema: Value) -> (Value, bool) {
    let Some(Value::Object(mut definitions)) = schema
        .as_object_mut()
        .and_then(|map| map.shift_remove("$defs"))
    else {
        return (schema, false);
    };
    let aliases = aliases(&definitions);
    if !aliases.is_empty() {
        for (_, definition) in &mut definitions {
            follow_aliases(definition, &aliases, 0);
        }
        follow_aliases(&mut schema, &aliases, 0);
    }
    let mut names = Vec::new();
    let mut known = HashSet::new();
    let mut note = |schema: &Value, names: &mut Vec<String>| {
        keywords::visit(schema, "", &mut |map, _| {
            if let Some(name) = definition_name(map.get("$ref"))
                && known.insert(name.to_owned())
            {
                names.push(name.to_owned());
            }
        });
    };
    note(&schema, &mut names);
    let mut kept = Map::new();
    let mut next = 0;
    while let Some(name) = names.get(next).cloned() {
        if let Some(definition) = definitions.get(&name) {
            note(definition, &mut names);
            kept.insert(name, definition.clone());
        }
        next += 1;
    }
    if let (Value::Object(map), false) = (&mut schema, kept.is_empty()) {
        map.insert("$defs".to_owned(), Value::Object(kept));
    }
    (schema, !aliases.is_empty())
}

/// The definition that a reference names.
fn definition_name(reference: Option<&Value>) -> Option<&str> {
    reference?.as_str()?.strip_prefix("#/$defs/")
}

/// Definitions that are nothing but a reference or folded, each with what stands for it.
fn aliases(definitions: &Map<String, Value>) -> HashMap<String, Value> {
    let next = |name: &str| {
        let only = definitions
            .get(name)?
            .as_object()
            .filter(|map| map.len() == 1)?;
        definition_name(only.get("$ref"))
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
    if nested > MAX_NESTED {
        return;
    }
    let name = definition_name(schema.get("$ref"));
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

/// How many places are folded.
pub(super) fn folds(schema: &Value) -> usize {
    let mut count = 0;
    keywords::visit(schema, "", &mut |map, _| {
        count += usize::from(is_fold_object(map));
    });
    count
}

/// How many schemas a schema is made of.
pub(super) fn size(schema: &Value) -> usize {
    let mut count = 1;
    keywords::visit(schema, "", &mut |map, _| {
        count += keywords::subschemas_of(map).count();
    });
    count
}
