//! Finds the tools in a document, and the shape of each.

use crate::Shape;
use crossfeed_wire::Pointer;
use serde_json::Value;

/// The keys under which Gemini's declarations stand.
const DECLARATIONS: [&str; 2] = ["functionDeclarations", "function_declarations"];
/// The keys under which a Gemini declaration has its schema, the newest first.
pub(super) const GEMINI_SCHEMAS: [&str; 4] = [
    "parametersJsonSchema",
    "parameters_json_schema",
    "parameters",
    "inputSchema",
];

/// One entry of a list.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    /// The place of the object that holds name and schema.
    pub(super) at: Pointer,
    /// Its kind.
    pub(super) kind: EntryKind,
}

/// The kind of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EntryKind {
    /// A tool of the host's.
    Tool(Shape),
    /// A tool that the provider runs.
    Hosted,
    /// A tool of the host's that has no schema: Anthropic refuses it, OpenAI's takes a text.
    Custom,
    /// A tool that has no name.
    Nameless,
    /// Not an object.
    NoObject,
}

impl EntryKind {
    /// A tool in a shape, where it has a name.
    fn named(item: &Value, shape: Shape) -> Self {
        match item {
            _ if named(item) => Self::Tool(shape),
            Value::Object(_) => Self::Nameless,
            _ => Self::NoObject,
        }
    }

    /// An entry that no shape knows by its keys.
    fn other(item: &Value) -> Self {
        let Value::Object(members) = item else {
            return Self::NoObject;
        };
        match members.get("type").and_then(Value::as_str) {
            // A tool without a schema is one of MCP.
            None if named(item) && !members.contains_key("type") => Self::Tool(Shape::Mcp),
            Some("custom") if named(item) || members.contains_key("custom") => Self::Custom,
            Some("custom" | "function") => Self::Nameless,
            Some(_) => Self::Hosted,
            // Gemini names its own tools by their only key.
            None if members.values().all(Value::is_object)
                && !members.is_empty()
                && !GEMINI_SCHEMAS.iter().any(|key| members.contains_key(*key)) =>
            {
                Self::Hosted
            }
            None => Self::Nameless,
        }
    }
}

/// The entries of a document, in its order; `None` where it is not a tool list.
pub(super) fn entries(document: &Value) -> Option<Vec<Entry>> {
    let root = Pointer::root();
    let mut found = Vec::new();
    match document {
        Value::Array(items) => list(items, &root, &mut found),
        Value::Object(object) => {
            if let Some(Value::Array(items)) = object.get("tools") {
                list(items, &root.key("tools"), &mut found);
            } else if let Some(Value::Array(items)) = document.pointer("/result/tools") {
                list(items, &root.key("result").key("tools"), &mut found);
            } else if !one(document, &root, &mut found) {
                return None;
            }
        }
        _ => return None,
    }
    Some(found)
}

fn list(items: &[Value], at: &Pointer, found: &mut Vec<Entry>) {
    for (index, item) in items.iter().enumerate() {
        let at = at.index(index);
        if !one(item, &at, found) {
            let kind = EntryKind::other(item);
            found.push(Entry { at, kind });
        }
    }
}

/// Adds the tool, or the tools, that an object is; `false` where its keys are not those of a tool.
fn one(item: &Value, at: &Pointer, found: &mut Vec<Entry>) -> bool {
    for key in DECLARATIONS {
        if let Some(Value::Array(declarations)) = item.get(key) {
            let inside = at.key(key);
            found.extend(declarations.iter().enumerate().map(|(index, item)| Entry {
                at: inside.index(index),
                kind: EntryKind::named(item, Shape::Gemini),
            }));
            return true;
        }
    }
    if let Some(function) = item.get("function").filter(|f| f.is_object()) {
        let at = at.key("function");
        let kind = EntryKind::named(function, Shape::OpenAiChat);
        found.push(Entry { at, kind });
        return true;
    }
    let has = |key: &str| item.get(key).is_some();
    let is_function = item.get("type").and_then(Value::as_str) == Some("function");
    let shape = if has("inputSchema") {
        Shape::Mcp
    } else if has("input_schema") {
        Shape::Anthropic
    } else if is_function && named(item) {
        Shape::OpenAiResponses
    } else if named(item) && GEMINI_SCHEMAS.iter().any(|key| has(key)) && !has("type") {
        Shape::Gemini
    } else {
        return false;
    };
    found.push(Entry {
        at: at.clone(),
        kind: EntryKind::named(item, shape),
    });
    true
}

fn named(item: &Value) -> bool {
    item.get("name").is_some_and(Value::is_string)
}
