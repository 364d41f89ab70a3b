//! A value of a log record, as [`crate::value`] sees it, and what leaves in its place.

use crate::value::{Form, New, Node, Stripped};
use opentelemetry::{Key, logs::AnyValue};
use std::{borrow::Cow, collections::HashMap};

impl<'v> Node<'v> for &'v AnyValue {
    fn form(self) -> Form<'v, Self> {
        match self {
            AnyValue::String(text) => Form::Text(Cow::Borrowed(text.as_str())),
            // What is not UTF-8 may still be read as JSON by someone lenient.
            AnyValue::Bytes(bytes) => Form::Bytes(String::from_utf8_lossy(bytes)),
            AnyValue::Int(number) => Form::Scalar(number.to_string().into()),
            AnyValue::Double(number) => Form::Scalar(number.to_string().into()),
            AnyValue::Boolean(flag) => Form::Scalar(flag.to_string().into()),
            AnyValue::ListAny(values) => Form::List(values.iter().collect()),
            AnyValue::Map(members) => {
                let members = members.iter();
                Form::Map(
                    members
                        .map(|(key, value)| (Cow::Borrowed(key.as_str()), value))
                        .collect(),
                )
            }
            _ => Form::Unknown,
        }
    }
}

/// What leaves in place of `original`.
pub(super) fn new_value(stripped: Stripped<&AnyValue>, original: &AnyValue) -> Option<AnyValue> {
    match stripped {
        Stripped::Unchanged => Some(original.clone()),
        Stripped::Changed(new) => Some(any_of(new)),
        Stripped::Dropped => None,
    }
}

/// It is as deep as what was looked at.
fn any_of(new: New<&AnyValue>) -> AnyValue {
    match new {
        New::Same(value) => value.clone(),
        New::Text(text) => text.into(),
        New::Bytes(text) => AnyValue::Bytes(Box::new(text.into_bytes())),
        New::Scalar(word) => match (word.parse(), word.parse(), word.parse()) {
            (Ok(flag), ..) => AnyValue::Boolean(flag),
            (_, Ok(number), _) => AnyValue::Int(number),
            (.., Ok(number)) => AnyValue::Double(number),
            _ => word.into(),
        },
        // OpenTelemetry has no value for it.
        New::Empty => "null".into(),
        New::List { items, .. } => {
            AnyValue::ListAny(Box::new(items.into_iter().map(any_of).collect()))
        }
        New::Map(members) => {
            let members = members.into_iter();
            let members = members.map(|(key, value)| (Key::new(key), any_of(value)));
            AnyValue::Map(Box::new(members.collect::<HashMap<_, _>>()))
        }
    }
}
