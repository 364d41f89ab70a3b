//! Reads a configuration, TOML or JSON, into a tree whose parts know their place. Errors never quote the document: it
//! may contain secrets.

use super::{Format, jsonc};
use std::ops::Range;

/// A value and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    pub(crate) value: Value,
    /// Its bytes in the document.
    pub(crate) span: Range<usize>,
}

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    Integer(i64),
    Float(f64),
    Text(String),
    List(Vec<Node>),
    Table(Vec<Entry>),
    /// A kind of value that no key takes: dates, integers beyond 64 bits.
    Other(&'static str),
}

/// A key of a table and its value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    pub(crate) key: String,
    /// The key's bytes in the document.
    pub(crate) key_span: Range<usize>,
    pub(crate) node: Node,
}

impl Value {
    /// Names the kind of value in messages.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Integer(_) | Self::Float(_) => "a number",
            Self::Text(_) => "a text",
            Self::List(_) => "a list",
            Self::Table(_) => "a table",
            Self::Other(kind) => kind,
        }
    }
}

impl Node {
    /// The entries of a table.
    pub(crate) fn entries(&self) -> Option<&[Entry]> {
        match &self.value {
            Value::Table(entries) => Some(entries),
            _ => None,
        }
    }

    /// The items of a list.
    pub(crate) fn items(&self) -> Option<&[Self]> {
        match &self.value {
            Value::List(items) => Some(items),
            _ => None,
        }
    }

    pub(crate) fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The value of a key of a table.
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        let entries = self.entries()?;
        let entry = entries.iter().find(|entry| entry.key == key)?;
        Some(&entry.node)
    }
}

/// What is wrong with a document, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Malformed {
    pub(crate) at: usize,
    pub(crate) why: String,
}

impl Malformed {
    pub(super) fn new(at: usize, why: impl Into<String>) -> Self {
        let why = why.into();
        Self { at, why }
    }
}

/// The line of a byte, from 1.
pub(crate) fn line(text: &str, at: usize) -> usize {
    let before = text.as_bytes().get(..at).unwrap_or_default();
    1 + before.iter().filter(|byte| **byte == b'\n').count()
}

/// Reads a document, or says what is wrong with it, with the name of its language.
pub(crate) fn parse(text: &str, format: Format) -> Result<Node, Vec<Malformed>> {
    let (read, language) = match format {
        Format::Toml => (toml(text), "TOML"),
        Format::Json => (jsonc::parse(text).map_err(|error| vec![error]), "JSON"),
    };
    read.map_err(|errors| {
        let named = |error: Malformed| {
            let why = format!("not valid {language}: {}", error.why);
            Malformed { why, ..error }
        };
        errors.into_iter().map(named).collect()
    })
}

/// Reads TOML.
pub(crate) fn toml(text: &str) -> Result<Node, Vec<Malformed>> {
    let (table, errors) = toml::de::DeTable::parse_recoverable(text);
    if errors.is_empty() {
        let span = 0..text.len();
        let value = toml_table(table.into_inner());
        return Ok(Node { value, span });
    }
    let malformed = |error: &toml::de::Error| {
        let at = error.span().map_or(0, |span| span.start);
        // The message alone: the rest quotes the line.
        Malformed::new(at, error.message())
    };
    Err(errors.iter().map(malformed).collect())
}

fn toml_table(table: toml::de::DeTable<'_>) -> Value {
    let mut entries: Vec<Entry> = table
        .into_iter()
        .map(|(key, value)| Entry {
            key_span: key.span(),
            key: key.into_inner().into_owned(),
            node: toml_node(value),
        })
        .collect();
    // The parser sorts by name.
    entries.sort_by_key(|entry| entry.key_span.start);
    Value::Table(entries)
}

/// Recurses as deep as the parser, which is bounded.
fn toml_node(value: toml::Spanned<toml::de::DeValue<'_>>) -> Node {
    use toml::de::DeValue;
    let span = value.span();
    let value = match value.into_inner() {
        DeValue::String(text) => Value::Text(text.into_owned()),
        DeValue::Integer(integer) => i64::from_str_radix(integer.as_str(), integer.radix())
            .map_or(Value::Other("a number beyond 64 bits"), Value::Integer),
        DeValue::Float(float) => float
            .as_str()
            .parse()
            .map_or(Value::Other("a number"), Value::Float),
        DeValue::Boolean(truth) => Value::Bool(truth),
        DeValue::Datetime(_) => Value::Other("a date"),
        DeValue::Array(items) => Value::List(items.into_iter().map(toml_node).collect()),
        DeValue::Table(table) => toml_table(table),
    };
    Node { value, span }
}
