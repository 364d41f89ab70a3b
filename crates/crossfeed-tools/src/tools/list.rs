//! A list of tools in the document in which a host holds it.

use super::{
    STRICT_MARK, Tool,
    find::{self, Entry, EntryKind, GEMINI_SCHEMAS},
    gemini,
};
use crate::Shape;
use crossfeed_json::{MAX_DEPTH, is_deeper};
use crossfeed_wire::{Pointer, reference::type_name};
use serde_json::{Map, Value, json};
use std::collections::HashMap;

/// Levels of a document around the schemas in it.
const AROUND: usize = 8;

/// A document that holds tools, and where they are in it.
///
/// ```
/// use crossfeed_tools::{Shape, ToolList};
/// use serde_json::json;
///
/// let reply = json!({"jsonrpc": "2.0", "id": 1, "result": {"tools": [
///     {"name": "fetch", "inputSchema": {"type": "object", "properties": {"url": {"type": "string"}}}},
/// ]}});
/// let list = ToolList::parse(&reply)?;
/// let tool = list.tools().next().expect("a tool");
/// assert_eq!((tool.name(), tool.shape()), ("fetch", Shape::Mcp));
/// # Ok::<(), crossfeed_tools::ToolListError>(())
/// ```
#[derive(Clone, Debug)]
pub struct ToolList {
    pub(super) document: Value,
    tools: Vec<(Pointer, Shape)>,
    passed: Vec<PassedEntry>,
}

/// Why a document is not a tool list.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ToolListError {
    /// Neither a list nor an object with tools: `7`, `{"a": 1}`.
    #[error("expected a tool list, found {found}")]
    NoTools {
        /// The kind of what came.
        found: &'static str,
    },
    /// It nests too deep to be written anywhere.
    #[error("the tool list nests deeper than {limit}", limit = MAX_DEPTH + AROUND)]
    TooDeep,
}

/// An entry of a list that is not a tool of the host's, and stays as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PassedEntry {
    /// Where it stands in the document.
    pub at: Pointer,
    /// What a provider calls it: its `name`, its `type`, or its first key.
    pub name: String,
    /// Why it is not a tool that can be rewritten.
    pub why: &'static str,
    /// Whether the provider runs it itself, as far as can be seen.
    pub is_hosted: bool,
}

/// The change of one tool in a list; a member that is `None` stays.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Change {
    /// The name.
    pub name: Option<String>,
    /// The schema of its arguments.
    pub input_schema: Option<Value>,
    /// Whether it is strict.
    pub strict: Option<bool>,
}

impl ToolList {
    /// Finds the tools in what a host already sends: a list of them, `{"tools": […]}`, the reply
    /// to `tools/list`, Gemini's declarations, or one tool.
    ///
    /// # Errors
    ///
    /// [`ToolListError`] when there are none to find, or it nests too deep.
    pub fn parse(document: &Value) -> Result<Self, ToolListError> {
        let entries = entries(document)?;
        Ok(Self::from_entries(document.clone(), entries))
    }

    /// A document that was built here, from `tools` in one shape.
    pub(super) fn from_entries(document: Value, entries: Vec<Entry>) -> Self {
        let mut tools = Vec::new();
        let mut passed = Vec::new();
        for Entry { at, kind } in entries {
            match kind {
                EntryKind::Tool(shape) => tools.push((at, shape)),
                kind => passed.push(PassedEntry::new(&document, at, kind)),
            }
        }
        Self {
            document,
            tools,
            passed,
        }
    }

    /// Whether a document is a tool list rather than a schema: a list, or an object that holds
    /// tools or is one.
    pub fn is_list(document: &Value) -> bool {
        find::entries(document).is_some()
    }

    /// The tools, in the order in which they stand.
    pub fn tools(&self) -> impl ExactSizeIterator<Item = Tool<'_>> {
        self.tools.iter().map(|(at, shape)| Tool {
            shape: *shape,
            declaration: self.document.pointer(at.as_str()).unwrap_or(&Value::Null),
            at,
        })
    }

    /// The entries that are not tools of the host's: tools that the provider runs, and other values.
    pub fn passed(&self) -> &[PassedEntry] {
        &self.passed
    }

    /// Whether an entry is a tool of the host's that takes a text: OpenAI knows such.
    pub(crate) fn is_custom(&self, passed: &PassedEntry) -> bool {
        let entry = self.document.pointer(passed.at.as_str());
        entry.is_some_and(|entry| entry.get("type").is_some_and(|word| word == "custom"))
    }

    /// The document as it came.
    pub fn to_value(&self) -> Value {
        self.document.clone()
    }

    /// The same document with a change for each tool, in the order of [`Self::tools`]; all else
    /// stays as it came, in its place.
    pub fn to_value_with(&self, changes: impl IntoIterator<Item = Change>) -> Value {
        let changed: Vec<_> = self.tools.iter().zip(changes).collect();
        let without: HashMap<&str, &str> = changed
            .iter()
            .filter(|(_, change)| change.input_schema.is_some())
            .filter_map(|((at, shape), _)| {
                let tool = self.document.pointer(at.as_str())?.as_object()?;
                Some((at.as_str(), schema_key(tool, *shape)))
            })
            .collect();
        let levels = without.keys().map(|at| at.matches('/').count()).max();
        let mut document = copy(&self.document, &Pointer::root(), &without, levels);
        for ((at, shape), change) in changed {
            if let Some(Value::Object(tool)) = document.pointer_mut(at.as_str()) {
                put(tool, *shape, change);
            }
        }
        document
    }
}

/// As [`ToolList::parse`], without a copy of the document.
impl TryFrom<Value> for ToolList {
    type Error = ToolListError;

    fn try_from(document: Value) -> Result<Self, ToolListError> {
        let entries = entries(&document)?;
        Ok(Self::from_entries(document, entries))
    }
}

fn entries(document: &Value) -> Result<Vec<Entry>, ToolListError> {
    if is_deeper(document, MAX_DEPTH + AROUND) {
        return Err(ToolListError::TooDeep);
    }
    find::entries(document).ok_or_else(|| ToolListError::NoTools {
        found: type_name(document),
    })
}

impl PassedEntry {
    fn new(document: &Value, at: Pointer, kind: EntryKind) -> Self {
        let item = document.pointer(at.as_str()).unwrap_or(&Value::Null);
        let text = |key: &str| item.get(key).and_then(Value::as_str).map(str::to_owned);
        let first = || Some(item.as_object()?.keys().next()?.clone());
        let (why, is_hosted) = match kind {
            EntryKind::Hosted | EntryKind::Tool(_) => ("the provider runs it itself", true),
            EntryKind::Custom => ("it has no schema", false),
            EntryKind::Nameless => ("it has no name", false),
            EntryKind::NoObject => ("it is not an object", false),
        };
        Self {
            name: text("name")
                .or_else(|| text("type"))
                .or_else(first)
                .unwrap_or_default(),
            at,
            why,
            is_hosted,
        }
    }
}

/// A copy that has null for the schemas of the tools at these places, which get others: a list is
/// mostly schemas. Nothing is looked into deeper than these tools stand.
fn copy(
    value: &Value,
    at: &Pointer,
    without: &HashMap<&str, &str>,
    levels: Option<usize>,
) -> Value {
    let Some(levels) = levels else {
        return value.clone();
    };
    let inner = levels.checked_sub(1);
    match value {
        Value::Object(members) if without.contains_key(at.as_str()) => {
            let schema = without.get(at.as_str());
            let members = members.iter().map(|(key, value)| match schema {
                Some(schema) if schema == key => (key.clone(), Value::Null),
                _ => (key.clone(), value.clone()),
            });
            members.collect()
        }
        Value::Object(members) => members
            .iter()
            .map(|(key, value)| (key.clone(), copy(value, &at.key(key), without, inner)))
            .collect(),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .map(|(index, item)| copy(item, &at.index(index), without, inner))
            .collect(),
        other => other.clone(),
    }
}

fn put(tool: &mut Map<String, Value>, shape: Shape, change: Change) {
    if let Some(name) = change.name {
        tool.insert("name".to_owned(), Value::String(name));
    }
    if let Some(schema) = change.input_schema {
        let mut key = schema_key(tool, shape);
        if shape == Shape::Gemini && key != "parameters" && gemini::is_only_gemini(&schema) {
            key = rename(tool, key, "parameters");
        }
        // Gemini refuses an object without properties; a function without parameters has no schema.
        if shape != Shape::Gemini || tool.contains_key(key) || has_properties(&schema) {
            tool.insert(key.to_owned(), schema);
        }
    }
    match change.strict {
        Some(strict) if shape.has_strict() => {
            tool.insert("strict".to_owned(), Value::Bool(strict));
        }
        Some(strict) => mark(tool, strict),
        None => {}
    }
}

/// Gives a member another name, in its place; a member that had the name already goes.
fn rename(tool: &mut Map<String, Value>, old: &str, new: &'static str) -> &'static str {
    let members = std::mem::take(tool);
    for (key, value) in members {
        match key.as_str() {
            key if key == new => {}
            key if key == old => {
                tool.insert(new.to_owned(), value);
            }
            _ => {
                tool.insert(key, value);
            }
        }
    }
    new
}

/// Whether a schema declares properties.
pub(super) fn has_properties(schema: &Value) -> bool {
    let properties = schema.get("properties").and_then(Value::as_object);
    properties.is_some_and(|properties| !properties.is_empty())
}

/// Says in `_meta` that a tool is not strict; the mark goes where it is.
fn mark(tool: &mut Map<String, Value>, strict: bool) {
    if !strict {
        let meta = tool.entry("_meta").or_insert_with(|| json!({}));
        if let Value::Object(meta) = meta {
            meta.insert(STRICT_MARK.to_owned(), Value::Bool(false));
        }
    } else if let Some(Value::Object(meta)) = tool.get_mut("_meta") {
        meta.shift_remove(STRICT_MARK);
    }
}

pub(super) fn schema_key(tool: &Map<String, Value>, shape: Shape) -> &'static str {
    let known = GEMINI_SCHEMAS
        .into_iter()
        .find(|key| tool.contains_key(*key));
    match shape {
        Shape::Gemini => known.unwrap_or(shape.schema_key()),
        _ => shape.schema_key(),
    }
}
