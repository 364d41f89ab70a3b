//! Where in a document the tools are, and in which shape each is written.

use super::Shape;
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
    /// Its shape; `None` for what is no tool of the host's.
    pub(super) shape: Option<Shape>,
}

/// The entries of a document, in its order; `None` where it is no tool list.
pub(super) fn entries(document: &Value) -> Option<Vec<Entry>> {
    let root = Pointer::root();
    let mut found = Vec::new();
    match document {
        Value::Array(items) => list(items, &root, &mut found),
        Value::Object(object) => {
            let result = object.get("result");
            if let Some(Value::Array(items)) = object.get("tools") {
                list(items, &root.key("tools"), &mut found);
            } else if let Some(Value::Array(items)) = result.and_then(|result| result.get("tools"))
            {
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
            // A tool without a schema is one of MCP; what has no name either is the provider's own.
            let named = item.get("name").is_some_and(Value::is_string);
            let shape = (named && item.get("type").is_none()).then_some(Shape::Mcp);
            found.push(Entry { at, shape });
        }
    }
}

/// Adds the tool, or the tools, that an object is; `false` where it is none by its keys.
fn one(item: &Value, at: &Pointer, found: &mut Vec<Entry>) -> bool {
    for key in DECLARATIONS {
        if let Some(Value::Array(declarations)) = item.get(key) {
            let inside = at.key(key);
            found.extend(declarations.iter().enumerate().map(|(index, item)| Entry {
                at: inside.index(index),
                shape: named(item).then_some(Shape::Gemini),
            }));
            return true;
        }
    }
    if let Some(function) = item.get("function").filter(|f| f.is_object()) {
        found.push(Entry {
            at: at.key("function"),
            shape: named(function).then_some(Shape::OpenAiChat),
        });
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
        shape: named(item).then_some(shape),
    });
    true
}

fn named(item: &Value) -> bool {
    item.get("name").is_some_and(Value::is_string)
}
