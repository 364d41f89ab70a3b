//! Texts with values of references in them: `{"$template": "See {a}", "$with": {"a": {"$tool": "c"}}}`.

use super::{
    Filling, Malformed, NearReference, Reading, Reference, map::read_listed, read_object,
    read_string, shortened, type_name,
};
use crate::Pointer;
use serde_json::{Map, Value};
use std::collections::{HashMap, HashSet};

/// A text with values of references in it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Template {
    /// The text in its pieces.
    pub pieces: Vec<Piece>,
    /// Its references, and the place of each, relative to the object that holds the text.
    pub references: Vec<(Pointer, Reference)>,
}

/// A piece of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a piece is a text or a value")]
pub enum Piece {
    /// A text as it is.
    Text(String),
    /// The value of the reference with this number.
    Value(usize),
}

impl Piece {
    /// The number of the reference whose value it is.
    fn value(&self) -> Option<usize> {
        match self {
            Self::Text(_) => None,
            Self::Value(number) => Some(*number),
        }
    }
}

impl Template {
    /// Reads the text of a template, and its references, which stand under `with_key` at `at`: an object, or a list
    /// of entries with their names.
    pub(super) fn read(
        text: &str,
        with_key: &'static str,
        with: &Value,
        at: &Pointer,
    ) -> Result<Self, Malformed> {
        let mut names = Vec::new();
        let mut references = Vec::new();
        match with {
            Value::Object(members) => {
                for (name, value) in members {
                    names.push(name.as_str());
                    references.push((at.key(name), read_value(value)?));
                }
            }
            Value::Array(entries) => {
                for (index, entry) in entries.iter().enumerate() {
                    let (name, reference) = read_entry(entry)?;
                    names.push(name);
                    references.push((at.index(index), reference));
                }
            }
            other => {
                let found = type_name(other);
                return Err(Malformed::NoMap {
                    key: with_key,
                    found,
                });
            }
        }
        let pieces = read_text(text, &names)?;
        let used: HashSet<usize> = pieces.iter().filter_map(Piece::value).collect();
        let mut unused = (0..)
            .zip(&names)
            .filter(|(number, _)| !used.contains(number));
        match unused.next() {
            Some((_, name)) => Err(Malformed::UnusedName {
                name: shortened(name),
            }),
            None => Ok(Self { pieces, references }),
        }
    }
}

fn read_value(value: &Value) -> Result<Reference, Malformed> {
    let wrong = || Malformed::NoEntry {
        expected: "a reference such as {\"$tool\": \"call_1\"}",
        found: type_name(value),
    };
    match value {
        Value::Object(object) => match read_object(object, &|_| false)? {
            Reading::Reference(reference) => Ok(reference),
            Reading::Data => Err(Malformed::NoTool),
            Reading::Literal(_) | Reading::Template(_) => Err(wrong()),
        },
        Value::String(text) => match read_string(text, &|_| false)? {
            Some(Filling::Reference(reference)) => Ok(reference),
            Some(_) => Err(wrong()),
            // `call_1.items[0].url`
            None => NearReference::from_entry(text)
                .filter(NearReference::is_distinctive)
                .map(NearReference::certain)
                .and_then(NearReference::into_reference)
                .ok_or_else(wrong),
        },
        _ => Err(wrong()),
    }
}

/// An entry of the list form: `{"name": "a", "tool": "c"}`.
fn read_entry(entry: &Value) -> Result<(&str, Reference), Malformed> {
    let Value::Object(object) = entry else {
        return Err(Malformed::NoEntry {
            expected: "an object such as {\"name\": \"a\", \"tool\": \"call_1\"}",
            found: type_name(entry),
        });
    };
    let name = object.get("name").unwrap_or(&Value::Null);
    let name = super::string("name", name)?;
    Ok((name, read_listed(object, &["name"])?))
}

/// The pieces of a text. `{name}` is a value, `{{` and `}}` are braces.
fn read_text(text: &str, names: &[&str]) -> Result<Vec<Piece>, Malformed> {
    let numbers: HashMap<&str, usize> = names.iter().copied().zip(0..).collect();
    let mut pieces = Vec::new();
    let mut open = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        open.push_str(&rest[..at]);
        let brace = &rest[at..at + 1];
        rest = &rest[at + 1..];
        if let Some(behind) = rest.strip_prefix(brace) {
            open.push_str(brace);
            rest = behind;
            continue;
        }
        let end = rest.find(['{', '}']).filter(|_| brace == "{");
        let end = end.filter(|end| rest[*end..].starts_with('}'));
        let end = end.ok_or(Malformed::UnpairedBrace)?;
        let name = rest[..end].trim();
        let number = numbers
            .get(name)
            .copied()
            .ok_or_else(|| Malformed::NoSuchName {
                name: shortened(name),
                nearest: nearest(name, names).map(shortened),
            })?;
        if !open.is_empty() {
            pieces.push(Piece::Text(std::mem::take(&mut open)));
        }
        pieces.push(Piece::Value(number));
        rest = &rest[end + 1..];
    }
    open.push_str(rest);
    if !open.is_empty() {
        pieces.push(Piece::Text(open));
    }
    Ok(pieces)
}

/// The name that is meant: the same but for case, the longest with the same beginning, or the only one.
fn nearest<'n>(name: &str, names: &[&'n str]) -> Option<&'n str> {
    let same = |known: &&&str| known.eq_ignore_ascii_case(name);
    let common = |known: &str| {
        let both = known.chars().zip(name.chars());
        both.take_while(|(a, b)| a == b).count()
    };
    let alike = names.iter().filter(|known| common(known) > 0);
    let nearest = names.iter().find(same);
    let nearest = nearest.or_else(|| alike.max_by_key(|known| common(known)));
    nearest
        .or_else(|| names.first().filter(|_| names.len() == 1))
        .copied()
}

/// Whether a `{name}` of a text is a member of its object: the place of the references was forgotten.
pub(super) fn names_a_member(object: &Map<String, Value>, key: &str) -> bool {
    let text = object.get(key).and_then(Value::as_str).unwrap_or_default();
    let pieces = text.split('{').skip(1);
    let names: HashSet<&str> = pieces
        .filter_map(|piece| Some(piece.split_once('}')?.0))
        .collect();
    let mut members = object.iter().filter(|(_, value)| value.is_object());
    members.any(|(name, _)| names.contains(name.as_str()))
}
