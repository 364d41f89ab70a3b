//! Attributes of spans, events, links, scopes and resources.

use crate::{
    Reader,
    event::Event,
    value::{Form, New, Node, Stripped, strip_value},
};
use opentelemetry::{Array, KeyValue, StringValue, Value};
use std::borrow::Cow;

/// Strips attributes in place, each of those that share a key; says how many went as a whole.
pub(crate) fn strip_attributes(
    reader: &Reader<'_>,
    event: &Event<'_>,
    attributes: &mut Vec<KeyValue>,
) -> u32 {
    let mut dropped = 0u32;
    attributes.retain_mut(|attribute| {
        let name = event.attribute(attribute.key.as_str());
        let name = name.filter(|_| !reader.drops_key(attribute.key.as_str()));
        let stays = name.is_some_and(|name| strip_attribute(reader, &name, &mut attribute.value));
        dropped = dropped.saturating_add(u32::from(!stays));
        stays
    });
    dropped
}

/// Strips one value; says whether it stays.
fn strip_attribute(reader: &Reader<'_>, name: &str, value: &mut Value) -> bool {
    let new = match strip_value(reader, name, Part::Whole(value)) {
        Stripped::Unchanged => return true,
        Stripped::Dropped => return false,
        Stripped::Changed(new) => new,
    };
    *value = match new {
        New::Same(_) => return true,
        New::List { items, .. } => {
            let texts: Option<_> = items.into_iter().map(new_text).collect();
            match texts {
                Some(texts) => Value::Array(Array::String(texts)),
                None => return false,
            }
        }
        one => match new_text(one) {
            Some(text) => Value::String(text),
            None => return false,
        },
    };
    true
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
        let list = |items| Form::List(items);
        match self {
            Part::Whole(Value::String(text)) | Part::Text(text) => {
                Form::Text(Cow::Borrowed(text.as_str()))
            }
            Part::Whole(Value::Bool(flag)) => Part::Bool(*flag).form(),
            Part::Whole(Value::I64(number)) => Part::I64(*number).form(),
            Part::Whole(Value::F64(number)) => Part::F64(*number).form(),
            Part::Bool(flag) => Form::Scalar(flag.to_string().into()),
            Part::I64(number) => Form::Scalar(number.to_string().into()),
            Part::F64(number) => Form::Scalar(number.to_string().into()),
            Part::Whole(Value::Array(Array::String(texts))) => {
                list(texts.iter().map(Part::Text).collect())
            }
            Part::Whole(Value::Array(Array::Bool(flags))) => {
                list(flags.iter().copied().map(Part::Bool).collect())
            }
            Part::Whole(Value::Array(Array::I64(numbers))) => {
                list(numbers.iter().copied().map(Part::I64).collect())
            }
            Part::Whole(Value::Array(Array::F64(numbers))) => {
                list(numbers.iter().copied().map(Part::F64).collect())
            }
            Part::Whole(_) => Form::Unknown,
        }
    }
}

/// The text that leaves; a span has nothing else in its lists that could change.
fn new_text(new: New<Part<'_>>) -> Option<StringValue> {
    match new {
        New::Text(text) => Some(text.into()),
        New::Same(Part::Text(text)) => Some(text.clone()),
        _ => None,
    }
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
