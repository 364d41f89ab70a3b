//! Values of log records as values of [`crate::value`].

use crate::value::{Form, NewValue, Node, StripResult};
use opentelemetry::{Key, logs::AnyValue};
use std::borrow::Cow;

impl<'v> Node<'v> for &'v AnyValue {
    fn form(self) -> Form<'v, Self> {
        match self {
            AnyValue::String(text) => Form::Text(Cow::Borrowed(text.as_str())),
            // A lenient reader may take even invalid UTF-8 for JSON.
            AnyValue::Bytes(bytes) => Form::Bytes(String::from_utf8_lossy(bytes)),
            AnyValue::Int(number) => Form::Scalar(number.to_string().into()),
            AnyValue::Double(number) => Form::Scalar(number.to_string().into()),
            AnyValue::Boolean(flag) => Form::Scalar(flag.to_string().into()),
            AnyValue::ListAny(values) => Form::List(values.iter().collect()),
            AnyValue::Map(members) => {
                let members = members.iter();
                let members = members.map(|(key, value)| (Cow::Borrowed(key.as_str()), value));
                Form::Map(members.collect())
            }
            _ => Form::Unknown,
        }
    }
}

/// The value that leaves in place of `original`.
pub(super) fn new_value(stripped: StripResult<&AnyValue>, original: &AnyValue) -> Option<AnyValue> {
    match stripped {
        StripResult::Unchanged => Some(original.clone()),
        StripResult::Changed(new) => Some(any_value(new)),
        StripResult::Dropped => None,
    }
}

/// Recurses as deep as the stripped value.
fn any_value(new: NewValue<&AnyValue>) -> AnyValue {
    match new {
        NewValue::Same(value) => value.clone(),
        NewValue::Text(text) => text.into(),
        NewValue::Bytes(text) => AnyValue::Bytes(Box::new(text.into_bytes())),
        NewValue::Scalar(word) => match (word.parse(), word.parse(), word.parse()) {
            (Ok(flag), ..) => AnyValue::Boolean(flag),
            (_, Ok(number), _) => AnyValue::Int(number),
            (.., Ok(number)) => AnyValue::Double(number),
            _ => word.into(),
        },
        // OpenTelemetry has no null.
        NewValue::Empty => "null".into(),
        NewValue::List { items, .. } => {
            AnyValue::ListAny(Box::new(items.into_iter().map(any_value).collect()))
        }
        NewValue::Map(members) => {
            let members = members.into_iter();
            let members = members.map(|(key, value)| (Key::new(key), any_value(value)));
            AnyValue::Map(Box::new(members.collect()))
        }
    }
}
