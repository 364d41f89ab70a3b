//! The schemas of references. They mark rewritten schemas, so each is one exact value.

use crate::{Spelling, Style};
use crossfeed_schema::keywords;
use serde_json::{Map, Value, json};

/// Where the schema of a reference stands in `$defs`, unless the tool has one of that name.
pub(crate) const NAME: &str = "tool_reference";

/// A schema that accepts everything. It is not empty, because one client turns the arguments of an empty schema
/// into strings.
pub(crate) fn anything() -> Value {
    json!({"type": ["string", "number", "boolean", "object", "array", "null"]})
}

/// A reference object, in its two shapes.
pub(crate) fn reference(spelling: Spelling) -> Value {
    variants(spelling, false)
}

fn variants(spelling: Spelling, closed: bool) -> Value {
    let variant = |words: &[&str], required: &[&str]| {
        let string = |word: &&str| (spelling.key(word), json!({"type": "string"}));
        let properties: Map<_, _> = words.iter().map(string).collect();
        let required: Vec<_> = required.iter().map(|word| spelling.key(word)).collect();
        let mut schema = json!({"type": "object", "properties": properties, "required": required});
        if closed {
            schema["additionalProperties"] = Value::Bool(false);
        }
        schema
    };
    json!({"anyOf": [
        variant(&["artifact", "tool", "select"], &["artifact", "tool"]),
        variant(&["tool", "select"], &["tool"]),
    ]})
}

/// The property that holds all references of a call, in the styles that have one.
pub(crate) fn references(style: Style, spelling: Spelling) -> Option<Value> {
    match style {
        Style::Inline => None,
        Style::Refs => Some(json!({
            "type": "object",
            "additionalProperties": variants(spelling, true),
        })),
        Style::RefsList => Some(json!({
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "to": {"type": "string"},
                    "tool": {"type": "string"},
                    "artifact": {"type": "string"},
                    "select": {"type": "string"},
                },
                "required": ["to", "tool"],
                "additionalProperties": false,
            },
        })),
    }
}

/// The keywords that may hold the schema of a reference, the first that can.
pub(crate) const DEFINITIONS: [&str; 2] = ["$defs", "definitions"];

/// Whether the definitions of a schema hold exactly the schema of a reference.
pub(crate) fn is_defined(resource: Option<&Value>) -> bool {
    let mut definitions = DEFINITIONS
        .iter()
        .flat_map(|keyword| keywords::members(resource.and_then(|own| own.get(keyword))));
    definitions.any(|(_, schema)| {
        // Only a glance at most of them: the exact schema has one keyword.
        let is_alike = schema
            .as_object()
            .is_some_and(|own| own.len() == 1 && own.contains_key("anyOf"));
        let mut spellings = [Spelling::Dollar, Spelling::Underscore].into_iter();
        is_alike && spellings.any(|spelling| *schema == reference(spelling))
    })
}

/// The key of the references map or list that a schema has at its root, if it is exactly ours.
pub(crate) fn listed(root: &Value) -> Option<String> {
    let properties = root.get("properties")?.as_object()?;
    let mut spellings = [Spelling::Underscore, Spelling::Dollar].into_iter();
    spellings.find_map(|spelling| {
        let key = spelling.key("refs");
        let property = properties.get(&key)?;
        let exact = [Style::Refs, Style::RefsList].map(|style| references(style, spelling));
        exact
            .iter()
            .flatten()
            .any(|exact| exact == property)
            .then_some(key)
    })
}
