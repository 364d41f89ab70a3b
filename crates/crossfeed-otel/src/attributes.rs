//! Attributes of spans, events, links, scopes and resources.

use crate::{Outcome, Reader};
use opentelemetry::{Array, KeyValue, StringValue, Value};

/// Strips attributes in place, each of those that share a key; says how many went as a whole.
pub(crate) fn strip_attributes(reader: &Reader<'_>, attributes: &mut Vec<KeyValue>) -> u32 {
    let mut dropped = 0u32;
    attributes.retain_mut(|attribute| {
        let stays = strip_attribute(reader, attribute);
        dropped = dropped.saturating_add(u32::from(!stays));
        stays
    });
    dropped
}

/// Strips one attribute; says whether it stays.
fn strip_attribute(reader: &Reader<'_>, attribute: &mut KeyValue) -> bool {
    let name = attribute.key.as_str();
    if reader.drops_key(name) {
        return false;
    }
    match &mut attribute.value {
        Value::String(text) => match reader.strip(name, text.as_str()) {
            Outcome::Unchanged => {}
            Outcome::Text(stripped) => *text = stripped.into(),
            Outcome::Dropped => return false,
        },
        Value::Array(Array::String(texts)) => return strip_texts(reader, name, texts),
        // Nothing can be stripped from these, but a policy may withhold whatever bears a name.
        value @ (Value::Bool(_)
        | Value::I64(_)
        | Value::F64(_)
        | Value::Array(Array::Bool(_) | Array::I64(_) | Array::F64(_))) => {
            match reader.strip(name, &value.as_str()) {
                Outcome::Unchanged => {}
                Outcome::Text(instead) => *value = instead.into(),
                Outcome::Dropped => return false,
            }
        }
        // What later versions add may hold anything.
        _ => return false,
    }
    true
}

fn strip_texts(reader: &Reader<'_>, name: &str, texts: &mut [StringValue]) -> bool {
    for text in texts {
        match reader.strip(name, text.as_str()) {
            Outcome::Unchanged => {}
            Outcome::Text(stripped) => *text = stripped.into(),
            // What is withheld by its name is withheld whole.
            Outcome::Dropped => return false,
        }
    }
    true
}

/// The attributes that are strings, by which a policy knows what kind a span or record is of.
pub(crate) fn hints(attributes: &[KeyValue]) -> impl Iterator<Item = (&str, &str)> {
    attributes
        .iter()
        .filter_map(|attribute| match &attribute.value {
            Value::String(text) => Some((attribute.key.as_str(), text.as_str())),
            _ => None,
        })
}
