//! A configuration's document, TOML or JSON, as a tree whose parts know their place. Errors never quote it: it may
//! hold secrets.

use super::jsonc;
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
    /// What configurations have no use for: dates, integers beyond 64 bits.
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
    /// What it is, for messages.
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

/// Reads JSON; comments and a comma behind the last item are admitted.
pub(crate) fn json(text: &str) -> Result<Node, Vec<Malformed>> {
    jsonc::parse(text).map_err(|error| vec![error])
}

/// Reads TOML.
pub(crate) fn toml(text: &str) -> Result<Node, Vec<Malformed>> {
    let (table, errors) = toml::de::DeTable::parse_recoverable(text);
    if errors.is_empty() {
        let span = 0..text.len();
        let value = of_table(table.into_inner());
        return Ok(Node { value, span });
    }
    let malformed = |error: &toml::de::Error| Malformed {
        at: error.span().map_or(0, |span| span.start),
        // The message alone: the rest shows the line as it stands in the file.
        why: error.message().to_owned(),
    };
    Err(errors.iter().map(malformed).collect())
}

fn of_table(table: toml::de::DeTable<'_>) -> Value {
    let mut entries: Vec<Entry> = table
        .into_iter()
        .map(|(key, value)| {
            let key_span = key.span();
            let span = value.span();
            Entry {
                key: key.into_inner().into_owned(),
                key_span,
                node: Node {
                    value: of_value(value.into_inner()),
                    span,
                },
            }
        })
        .collect();
    // The parser sorts by name.
    entries.sort_by_key(|entry| entry.key_span.start);
    Value::Table(entries)
}

/// As deep as the parser reads, which is bounded.
fn of_value(value: toml::de::DeValue<'_>) -> Value {
    use toml::de::DeValue;
    match value {
        DeValue::String(text) => Value::Text(text.into_owned()),
        DeValue::Integer(integer) => i64::from_str_radix(integer.as_str(), integer.radix())
            .map_or(Value::Other("a number beyond 64 bits"), Value::Integer),
        DeValue::Float(float) => float
            .as_str()
            .parse()
            .map_or(Value::Other("a number"), Value::Float),
        DeValue::Boolean(truth) => Value::Bool(truth),
        DeValue::Datetime(_) => Value::Other("a date"),
        DeValue::Array(items) => Value::List(
            items
                .into_iter()
                .map(|item| {
                    let span = item.span();
                    let value = of_value(item.into_inner());
                    Node { value, span }
                })
                .collect(),
        ),
        DeValue::Table(table) => of_table(table),
    }
}
