//! Attributes of spans, events, links, scopes and resources.

use crate::{
    Reader,
    event::Event,
    value::{Form, NewValue, Node, StripResult, strip_value},
};
use opentelemetry::{Array, KeyValue, StringValue, Value};
use std::borrow::Cow;

/// Strips attributes in place, duplicates of a key included; returns how many were dropped.
pub(crate) fn strip_attributes(
    reader: &Reader<'_>,
    event: &Event<'_>,
    attributes: &mut Vec<KeyValue>,
) -> u32 {
    let before = attributes.len();
    attributes.retain_mut(|attribute| {
        let key = attribute.key.as_str();
        let name = event.attribute(key).filter(|_| !reader.drops_key(key));
        name.is_some_and(|name| strip_attribute(reader, &name, &mut attribute.value))
    });
    u32::try_from(before - attributes.len()).unwrap_or(u32::MAX)
}

/// Strips one value; returns whether it stays.
fn strip_attribute(reader: &Reader<'_>, name: &str, value: &mut Value) -> bool {
    let new = match strip_value(reader, name, Part::Whole(value)) {
        StripResult::Unchanged | StripResult::Changed(NewValue::Same(_)) => return true,
        StripResult::Dropped => return false,
        StripResult::Changed(NewValue::List { items, .. }) => {
            let texts: Option<_> = items.into_iter().map(new_text).collect();
            texts.map(|texts| Value::Array(Array::String(texts)))
        }
        StripResult::Changed(one) => new_text(one).map(Value::String),
    };
    match new {
        Some(new) => {
            *value = new;
            true
        }
        None => false,
    }
}

/// A value, or an item of a list.
#[derive(Clone, Copy)]
enum Part<'v> {
    Whole(&'v Value),
    Text(&'v StringValue),
    Bool(bool),
    I64(i64),
    F64(f64),
}

impl<'v> Node<'v> for Part<'v> {
    fn form(self) -> Form<'v, Self> {
        let value = match self {
            Part::Text(text) => return Form::Text(Cow::Borrowed(text.as_str())),
            Part::Bool(flag) => return Form::Scalar(flag.to_string().into()),
            Part::I64(number) => return Form::Scalar(number.to_string().into()),
            Part::F64(number) => return Form::Scalar(number.to_string().into()),
            Part::Whole(value) => value,
        };
        match value {
            Value::String(text) => Part::Text(text).form(),
            Value::Bool(flag) => Part::Bool(*flag).form(),
            Value::I64(number) => Part::I64(*number).form(),
            Value::F64(number) => Part::F64(*number).form(),
            Value::Array(Array::String(texts)) => list(texts, Part::Text),
            Value::Array(Array::Bool(flags)) => list(flags, |flag| Part::Bool(*flag)),
            Value::Array(Array::I64(numbers)) => list(numbers, |number| Part::I64(*number)),
            Value::Array(Array::F64(numbers)) => list(numbers, |number| Part::F64(*number)),
            _ => Form::Unknown,
        }
    }
}

fn list<'v, T>(items: &'v [T], part: fn(&'v T) -> Part<'v>) -> Form<'v, Part<'v>> {
    Form::List(items.iter().map(part).collect())
}

/// The text that leaves; nothing else in the lists of a span can change.
fn new_text(new: NewValue<Part<'_>>) -> Option<StringValue> {
    match new {
        NewValue::Text(text) => Some(text.into()),
        NewValue::Same(Part::Text(text)) => Some(text.clone()),
        _ => None,
    }
}

/// The string attributes, which determine the kind of a span or record.
pub(crate) fn hints(attributes: &[KeyValue]) -> impl Iterator<Item = (&str, &str)> {
    attributes
        .iter()
        .filter_map(|attribute| match &attribute.value {
            Value::String(text) => Some((attribute.key.as_str(), text.as_str())),
            _ => None,
        })
}
