//! Questions about schemas as JSON.

use crossfeed_wire::fragment::decoded;
use serde_json::{Map, Value};
use std::collections::HashSet;

/// The keywords that hold definitions.
const DEFINITIONS: [&str; 2] = ["$defs", "definitions"];

/// Whether a keyword holds schemas that count only where something refers to them.
pub(super) fn is_definitions(keyword: &str) -> bool {
    DEFINITIONS.contains(&keyword)
}

/// Whether every instance is valid by a schema, as far as a look tells: `true` and `{}`.
pub fn is_anything(schema: &Value) -> bool {
    match schema {
        Value::Bool(valid) => *valid,
        Value::Object(keywords) => keywords.is_empty(),
        _ => false,
    }
}

/// These values, each once.
pub(super) fn distinct(mut values: Vec<Value>) -> Vec<Value> {
    let mut known = HashSet::new();
    values.retain(|value| known.insert(value.to_string()));
    values
}

/// How many values there are in one, itself included.
pub fn values_in(value: &Value) -> usize {
    1 + match value {
        Value::Object(members) => members.values().map(values_in).sum::<usize>(),
        Value::Array(items) => items.iter().map(values_in).sum(),
        _ => 0,
    }
}

/// Leaves out the definitions of a document (`$defs`, `definitions`) that nothing else of it refers
/// to by `#/$defs/NAME`. References by anchor or address are not followed: what only they lead to is
/// left out.
///
/// ```
/// use crossfeed_output_schema::without_unused_definitions;
/// use serde_json::json;
///
/// let schema = json!({
///     "items": {"$ref": "#/$defs/a"},
///     "$defs": {"a": {"$ref": "#/$defs/b/items"}, "b": {"items": {}}, "c": {"$ref": "#/$defs/c"}},
/// });
/// let kept = without_unused_definitions(schema);
/// assert_eq!(
///     kept["$defs"],
///     json!({"a": {"$ref": "#/$defs/b/items"}, "b": {"items": {}}})
/// );
/// ```
pub fn without_unused_definitions(mut schema: Value) -> Value {
    let Value::Object(members) = &mut schema else {
        return schema;
    };
    let mut used: HashSet<(&'static str, String)> = HashSet::new();
    let mut open = Vec::new();
    references(members, true, &mut open);
    while let Some((keyword, name)) = open.pop() {
        let definition = members.get(keyword).and_then(|known| known.get(&name));
        if let Some(definition) = definition
            && used.insert((keyword, name))
        {
            references_in(definition, &mut open);
        }
    }
    for keyword in DEFINITIONS {
        if let Some(Value::Object(known)) = members.get_mut(keyword) {
            let mut key = (keyword, String::new());
            known.retain(|name, _| {
                key.1.clone_from(name);
                used.contains(&key)
            });
            if known.is_empty() {
                members.shift_remove(keyword);
            }
        }
    }
    schema
}

/// Adds the definitions that something within a value refers to.
fn references_in(value: &Value, found: &mut Vec<(&'static str, String)>) {
    match value {
        Value::Object(members) => references(members, false, found),
        Value::Array(items) => items.iter().for_each(|item| references_in(item, found)),
        _ => {}
    }
}

fn references(
    members: &Map<String, Value>,
    is_root: bool,
    found: &mut Vec<(&'static str, String)>,
) {
    for keyword in ["$ref", "$dynamicRef"] {
        if let Some(Value::String(text)) = members.get(keyword) {
            found.extend(referred(text));
        }
    }
    for (key, value) in members {
        if !(is_root && is_definitions(key)) {
            references_in(value, found);
        }
    }
}

/// The definition within which a reference leads.
fn referred(text: &str) -> Option<(&'static str, String)> {
    let pointer = decoded(text.strip_prefix("#/")?)?;
    let (keyword, rest) = pointer.split_once('/')?;
    let keyword = DEFINITIONS.into_iter().find(|own| *own == keyword)?;
    let name = rest.split('/').next().unwrap_or_default();
    Some((keyword, name.replace("~1", "/").replace("~0", "~")))
}
