//! Attributes of spans, events, links, scopes and resources.

use crate::{Outcome, Reader};
use opentelemetry::{Array, KeyValue, StringValue, Value};
use std::borrow::Cow;

/// Strips attributes in place, each of those that share a key; says how many went as a whole.
///
/// `event` is the name of the event that they stand in, if any.
pub(crate) fn strip_attributes(
    reader: &Reader<'_>,
    event: &str,
    attributes: &mut Vec<KeyValue>,
) -> u32 {
    let event = known_event(reader, event);
    let mut dropped = 0u32;
    attributes.retain_mut(|attribute| {
        let name = known_as(event, attribute.key.as_str());
        let stays = !reader.drops_key(attribute.key.as_str())
            && strip_attribute(reader, &name, &mut attribute.value);
        dropped = dropped.saturating_add(u32::from(!stays));
        stays
    });
    dropped
}

/// The name of an event by which a policy knows what is in it.
pub(crate) fn known_event<'e>(reader: &Reader<'_>, event: &'e str) -> Option<&'e str> {
    (!event.is_empty() && reader.knows(event)).then_some(event)
}

/// The name by which a policy knows an attribute. One that has no namespace is its event's own: the
/// `content` of `gen_ai.tool.message`.
pub(crate) fn known_as<'n>(event: Option<&str>, name: &'n str) -> Cow<'n, str> {
    match event {
        Some(event) if !name.contains('.') => Cow::Owned(format!("{event}.{name}")),
        _ => Cow::Borrowed(name),
    }
}

/// Strips one value; says whether it stays.
fn strip_attribute(reader: &Reader<'_>, name: &str, value: &mut Value) -> bool {
    match value {
        Value::String(text) => match reader.strip(name, text.as_str()) {
            Outcome::Unchanged => {}
            Outcome::Text(stripped) => *text = stripped.into(),
            Outcome::Dropped => return false,
        },
        Value::Array(Array::String(texts)) => return strip_texts(reader, name, texts),
        // Nothing can be stripped from these, but a policy may withhold whatever bears a name.
        Value::Bool(_)
        | Value::I64(_)
        | Value::F64(_)
        | Value::Array(Array::Bool(_) | Array::I64(_) | Array::F64(_)) => {
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

fn strip_texts(reader: &Reader<'_>, name: &str, texts: &mut Vec<StringValue>) -> bool {
    for text in &mut *texts {
        match reader.strip(name, text.as_str()) {
            Outcome::Unchanged => {}
            Outcome::Text(stripped) => *text = stripped.into(),
            // What is withheld by its name is withheld whole.
            Outcome::Dropped => return false,
        }
    }
    if let Some(most) = reader.most() {
        cut_texts(texts, most);
    }
    true
}

/// Leaves the first texts that fit into `most` bytes, and says how many there were.
fn cut_texts(texts: &mut Vec<StringValue>, most: usize) {
    /// More than what says so takes.
    const NOTE: usize = 64;
    // An empty text takes room, too.
    let sizes = || texts.iter().map(|text| text.as_str().len().max(1));
    if sizes().fold(0, usize::saturating_add) <= most {
        return;
    }
    let mut room = most.saturating_sub(NOTE);
    let fitting = sizes().take_while(|size| {
        let fits = *size <= room;
        room = room.saturating_sub(*size);
        fits
    });
    let (kept, all) = (fitting.count(), texts.len());
    texts.truncate(kept);
    texts.push(format!("[cut: left out {} of {all} texts]", all - kept).into());
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
