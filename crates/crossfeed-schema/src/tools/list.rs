//! A list of tools in the document in which a host holds it.

use super::{
    CHAIN_MARK, STRICT_MARK, Shape,
    find::{self, Entry, GEMINI_SCHEMAS},
    gemini,
};
use crossfeed_json::{MAX_DEPTH, is_deeper};
use crossfeed_wire::{Pointer, reference::type_name};
use serde_json::{Map, Value, json};
use std::{borrow::Cow, collections::HashMap};

/// Levels of a document around the schemas in it.
const AROUND: usize = 8;

/// A document that holds tools, and where they are in it.
///
/// ```
/// use crossfeed_schema::{Shape, ToolList};
/// use serde_json::json;
///
/// let reply = json!({"jsonrpc": "2.0", "id": 1, "result": {"tools": [
///     {"name": "fetch", "inputSchema": {"type": "object", "properties": {"url": {"type": "string"}}}},
/// ]}});
/// let list = ToolList::parse(&reply)?;
/// let tool = list.tools().next().expect("a tool");
/// assert_eq!((tool.name(), tool.shape()), ("fetch", Shape::Mcp));
/// # Ok::<(), crossfeed_schema::ToolListError>(())
/// ```
#[derive(Clone, Debug)]
pub struct ToolList {
    pub(super) document: Value,
    tools: Vec<(Pointer, Shape)>,
    passed: Vec<Passed>,
}

/// Why a document is no tool list.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ToolListError {
    /// Neither a list nor an object with tools: `7`, `{"a": 1}`.
    #[error("this is no tool list but {found}: there are neither tools in it nor is it one")]
    NoTools {
        /// The kind of what came.
        found: &'static str,
    },
    /// It nests too deep to be written anywhere.
    #[error("the tool list nests deeper than {limit}", limit = MAX_DEPTH + AROUND)]
    TooDeep,
}

/// An entry of a list that is no tool of the host's, and stays as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Passed {
    /// Where it stands in the document.
    pub at: Pointer,
    /// What a provider calls it: its `name`, its `type`, or its first key.
    pub name: String,
    /// Why it is no tool that can be rewritten.
    pub why: &'static str,
    /// Whether the provider runs it itself, as far as can be seen.
    pub is_hosted: bool,
}

/// What is put into a list for one tool; what is `None` stays.
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
        let found = type_name(document);
        if is_deeper(document, MAX_DEPTH + AROUND) {
            return Err(ToolListError::TooDeep);
        }
        let entries = find::entries(document).ok_or(ToolListError::NoTools { found })?;
        Ok(Self::of(document.clone(), entries))
    }

    /// A document that was built here, from `tools` in one shape.
    pub(super) fn of(document: Value, entries: Vec<Entry>) -> Self {
        let mut tools = Vec::new();
        let mut passed = Vec::new();
        for Entry { at, shape } in entries {
            match shape {
                Some(shape) => tools.push((at, shape)),
                None => passed.push(Passed::of(&document, at)),
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
    #[must_use]
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

    /// What is no tool of the host's: tools that the provider runs, and what is none at all.
    #[must_use]
    pub fn passed(&self) -> &[Passed] {
        &self.passed
    }

    /// The document as it came.
    #[must_use]
    pub fn to_value(&self) -> Value {
        self.document.clone()
    }

    /// The same document with a change for each tool, in the order of [`Self::tools`]; all else
    /// stays as it came, in its place.
    #[must_use]
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

impl Passed {
    fn of(document: &Value, at: Pointer) -> Self {
        let item = document.pointer(at.as_str()).unwrap_or(&Value::Null);
        let text = |key: &str| item.get(key).and_then(Value::as_str).map(str::to_owned);
        let first = || Some(item.as_object()?.keys().next()?.clone());
        let has_schema = item.get("inputSchema").or_else(|| item.get("input_schema"));
        let (why, is_hosted) = match item {
            Value::Object(_) if has_schema.is_some() || item.get("parameters").is_some() => {
                ("it has no name", false)
            }
            Value::Object(_) => ("the provider runs it itself", true),
            _ => ("it is no object", false),
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
        let key = schema_key(tool, shape);
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

fn schema_key(tool: &Map<String, Value>, shape: Shape) -> &'static str {
    let known = GEMINI_SCHEMAS
        .into_iter()
        .find(|key| tool.contains_key(*key));
    match shape {
        Shape::Gemini => known.unwrap_or(shape.schema_key()),
        _ => shape.schema_key(),
    }
}

/// One tool of a list.
#[derive(Clone, Copy, Debug)]
pub struct Tool<'l> {
    shape: Shape,
    declaration: &'l Value,
    at: &'l Pointer,
}

impl<'l> Tool<'l> {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &'l str {
        self.text("name").unwrap_or_default()
    }

    /// What it says of itself: its description, or its title where it has none.
    #[must_use]
    pub fn description(&self) -> Option<&'l str> {
        let annotated = || self.declaration.pointer("/annotations/title")?.as_str();
        let title = || self.text("title").or_else(annotated);
        self.text("description").or_else(title)
    }

    /// The schema of its arguments as JSON Schema; one of an object without properties where it
    /// has none.
    #[must_use]
    pub fn input_schema(&self) -> Cow<'l, Value> {
        self.schema(false)
    }

    /// The schema as its provider reads it, to be judged by what that takes: Gemini's `nullable` is
    /// no list of types.
    #[must_use]
    pub fn sent_schema(&self) -> Cow<'l, Value> {
        self.schema(true)
    }

    fn schema(&self, as_sent: bool) -> Cow<'l, Value> {
        let key = match self.declaration {
            Value::Object(tool) => schema_key(tool, self.shape),
            _ => self.shape.schema_key(),
        };
        match self.declaration.get(key).filter(|schema| !schema.is_null()) {
            Some(schema) if self.shape == Shape::Gemini && key == "parameters" => {
                gemini::to_json_schema(schema, as_sent)
            }
            Some(schema) => Cow::Borrowed(schema),
            None => Cow::Owned(json!({"type": "object", "properties": {}})),
        }
    }

    /// How it is written.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Where in the document the object with its name and schema is.
    #[must_use]
    pub fn at(&self) -> &'l Pointer {
        self.at
    }

    /// Whether it is strict, where it says so.
    #[must_use]
    pub fn strict(&self) -> Option<bool> {
        match self.shape.has_strict() {
            true => self.declaration.get("strict")?.as_bool(),
            false => self.meta(STRICT_MARK)?.as_bool(),
        }
    }

    /// A member of its `_meta`.
    #[must_use]
    pub fn meta(&self, key: &str) -> Option<&'l Value> {
        self.declaration.get("_meta")?.get(key)
    }

    /// Whether references may be offered: not where it is marked as never chained.
    #[must_use]
    pub fn is_chained(&self) -> bool {
        self.meta(CHAIN_MARK) != Some(&Value::Bool(false))
    }

    /// Its members, in their order.
    pub(super) fn members(&self) -> impl Iterator<Item = (&'l String, &'l Value)> {
        self.declaration.as_object().into_iter().flatten()
    }

    fn text(&self, key: &str) -> Option<&'l str> {
        self.declaration.get(key)?.as_str()
    }
}
