//! A value of a log record: a text, or maps and lists of values.
//!
//! Maps and lists are JSON to a policy: they are written as such, stripped as a text is, and what is left
//! is read back. So a rule, a hash, a cap or a hidden path means the same for them as for a text that
//! holds the same, and there is one account of what is internal.
//!
//! # What holds
//!
//! - What was not stripped stays of its kind: bytes stay bytes, and a number the number it was.
//! - No more than [`MAX_DEPTH`] levels are looked at. What lies deeper is withheld: no receiver of OTLP
//!   reads that far, and to write it would take a stack without bounds.

use crate::{Outcome, Reader, text::WITHHELD};
use crossfeed_json::{Cursor, Document, Kind, MAX_DEPTH, escape_into};
use opentelemetry::{Key, logs::AnyValue};
use std::{collections::HashMap, fmt::Display};

/// What became of a value.
pub(super) enum Stripped {
    Unchanged,
    Changed(AnyValue),
    Dropped,
}

impl Stripped {
    pub(super) const fn is_unchanged(&self) -> bool {
        matches!(self, Self::Unchanged)
    }

    /// What leaves in place of `original`.
    pub(super) fn value(self, original: &AnyValue) -> Option<AnyValue> {
        match self {
            Self::Unchanged => Some(original.clone()),
            Self::Changed(value) => Some(value),
            Self::Dropped => None,
        }
    }
}

/// Strips the value of an attribute, or of a body.
pub(super) fn strip_value(reader: &Reader<'_>, attribute: &str, value: &AnyValue) -> Stripped {
    let text = |text: &str| match reader.strip(attribute, text) {
        Outcome::Unchanged => Stripped::Unchanged,
        Outcome::Text(text) => Stripped::Changed(text.into()),
        Outcome::Dropped => Stripped::Dropped,
    };
    match value {
        AnyValue::String(string) => text(string.as_str()),
        // Nothing can be stripped from these, but a policy may withhold whatever bears a name.
        AnyValue::Int(number) => text(&number.to_string()),
        AnyValue::Double(number) => text(&number.to_string()),
        AnyValue::Boolean(flag) => text(&flag.to_string()),
        // What is no UTF-8 may still be read as JSON by someone lenient.
        AnyValue::Bytes(bytes) => match text(&String::from_utf8_lossy(bytes)) {
            Stripped::Changed(AnyValue::String(text)) => Stripped::Changed(bytes_of(text.as_str())),
            other => other,
        },
        AnyValue::ListAny(_) | AnyValue::Map(_) => strip_nested(reader, attribute, value),
        // What later versions add may hold anything.
        _ => Stripped::Dropped,
    }
}

fn strip_nested(reader: &Reader<'_>, attribute: &str, value: &AnyValue) -> Stripped {
    let mut writer = Writer {
        reader,
        json: Vec::new(),
        dropped: false,
    };
    writer.write(value, 0);
    let dropped = writer.dropped;
    // It was written from texts.
    let Ok(json) = String::from_utf8(writer.json) else {
        return Stripped::Dropped;
    };
    let left = match reader.strip(attribute, &json) {
        Outcome::Unchanged if !dropped => return Stripped::Unchanged,
        Outcome::Unchanged => json,
        Outcome::Text(text) => text,
        Outcome::Dropped => return Stripped::Dropped,
    };
    let document = Document::new(left);
    Stripped::Changed(match document.root() {
        Ok(root) => read(root, Some(value)),
        Err(_) => String::from_utf8_lossy(document.raw()).into_owned().into(),
    })
}

/// Writes a value as JSON, without the members whose very names are internal.
struct Writer<'r, 'p> {
    reader: &'r Reader<'p>,
    json: Vec<u8>,
    /// Whether something was left out, or withheld.
    dropped: bool,
}

impl Writer<'_, '_> {
    /// Goes down [`MAX_DEPTH`] levels at most.
    fn write(&mut self, value: &AnyValue, level: usize) {
        match value {
            AnyValue::ListAny(_) | AnyValue::Map(_) if level == MAX_DEPTH => {
                self.dropped = true;
                write_string(&mut self.json, WITHHELD);
            }
            AnyValue::ListAny(values) => {
                self.json.push(b'[');
                for (index, value) in values.iter().enumerate() {
                    self.comma(index);
                    self.write(value, level + 1);
                }
                self.json.push(b']');
            }
            AnyValue::Map(members) => {
                let mut members: Vec<_> = members.iter().collect();
                let all = members.len();
                members.retain(|(key, _)| !self.reader.drops_key(key.as_str()));
                self.dropped |= members.len() < all;
                // A map has no order of its own; what is hashed or cut must have one.
                members.sort_unstable_by_key(|(key, _)| *key);
                self.json.push(b'{');
                for (index, (key, value)) in members.into_iter().enumerate() {
                    self.comma(index);
                    write_string(&mut self.json, key.as_str());
                    self.json.push(b':');
                    self.write(value, level + 1);
                }
                self.json.push(b'}');
            }
            leaf => self.dropped |= !write_leaf(&mut self.json, leaf),
        }
    }

    fn comma(&mut self, index: usize) {
        if index > 0 {
            self.json.push(b',');
        }
    }
}

/// Writes what is no list and no map; says whether its kind is known.
fn write_leaf(json: &mut Vec<u8>, leaf: &AnyValue) -> bool {
    match leaf {
        AnyValue::String(text) => write_string(json, text.as_str()),
        AnyValue::Bytes(bytes) => write_string(json, &String::from_utf8_lossy(bytes)),
        AnyValue::Int(number) => write_word(json, number),
        // As OTLP/JSON has what is no number in JSON.
        AnyValue::Double(number) if !number.is_finite() => write_string(json, &number.to_string()),
        AnyValue::Double(number) => write_word(json, number),
        AnyValue::Boolean(flag) => write_word(json, flag),
        _ => {
            write_string(json, WITHHELD);
            return false;
        }
    }
    true
}

fn write_string(json: &mut Vec<u8>, text: &str) {
    json.push(b'"');
    escape_into(json, text);
    json.push(b'"');
}

fn write_word(json: &mut Vec<u8>, word: &impl Display) {
    json.extend_from_slice(word.to_string().as_bytes());
}

/// The value that `json` spells. What is there as it was in `original` is taken from that.
///
/// A document has [`MAX_DEPTH`] levels at most.
fn read(json: Cursor<'_>, original: Option<&AnyValue>) -> AnyValue {
    match json.kind() {
        Kind::Object => {
            let original = match original {
                Some(AnyValue::Map(members)) => Some(members),
                _ => None,
            };
            let members = json.members().map(|(key, value)| {
                let key = key.text();
                let was = original.and_then(|members| members.get(&*key));
                (Key::new(key.into_owned()), read(value, was))
            });
            AnyValue::Map(Box::new(members.collect::<HashMap<_, _>>()))
        }
        Kind::Array => {
            let original = match original {
                Some(AnyValue::ListAny(values)) => &values[..],
                _ => &[],
            };
            let values = json.items().enumerate();
            let values = values.map(|(index, value)| read(value, original.get(index)));
            AnyValue::ListAny(Box::new(values.collect()))
        }
        _ => read_leaf(json, original),
    }
}

fn read_leaf(json: Cursor<'_>, original: Option<&AnyValue>) -> AnyValue {
    if let Some(original) = original {
        let mut spelled = Vec::new();
        // A list or map is none of the leaves: it is not taken whole.
        if write_leaf(&mut spelled, original) && spelled == json.raw() {
            return original.clone();
        }
    }
    if let Some(text) = json.as_str() {
        return match original {
            Some(AnyValue::Bytes(_)) => bytes_of(&text),
            _ => text.into_owned().into(),
        };
    }
    if let Some(flag) = json.as_bool() {
        return AnyValue::Boolean(flag);
    }
    let word = String::from_utf8_lossy(json.raw()).into_owned();
    if let Ok(number) = word.parse::<i64>() {
        return AnyValue::Int(number);
    }
    match word.parse::<f64>() {
        Ok(number) => AnyValue::Double(number),
        Err(_) => word.into(),
    }
}

fn bytes_of(text: &str) -> AnyValue {
    AnyValue::Bytes(Box::new(text.as_bytes().to_vec()))
}
