//! `AnyValue` as a value of [`crate::value`], and the edits that strip it.
//!
//! An `AnyValue` has one member, of a known kind. An attribute with a malformed one, at any level, is dropped,
//! because readers would disagree on its content.

use super::walk::Walk;
use crate::{
    Reader,
    value::{Form, NewValue, Node, StripResult, strip_value},
};
use base64::{
    Engine as _, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig, general_purpose::STANDARD},
};
use crossfeed_json::{Cursor, Kind, quoted};
use std::borrow::Cow;

const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_padding_mode(DecodePaddingMode::Indifferent)
    .with_decode_allow_trailing_bits(true);
/// Protobuf's JSON may use either alphabet, with or without padding.
const ALPHABETS: [GeneralPurpose; 2] = [
    GeneralPurpose::new(&alphabet::STANDARD, LENIENT),
    GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT),
];

/// An `AnyValue`, if there is one where it is expected.
#[derive(Clone, Copy)]
pub(super) struct Any<'d>(Option<Cursor<'d>>);

impl<'d> Node<'d> for Any<'d> {
    fn form(self) -> Form<'d, Self> {
        match self.0.filter(|any| !is_empty(*any)).map(member) {
            None => Form::Empty,
            Some(member) => member
                .and_then(|(key, value)| form(&key, value))
                .unwrap_or(Form::Unknown),
        }
    }
}

fn is_empty(any: Cursor<'_>) -> bool {
    any.kind() == Kind::Null || any.kind() == Kind::Object && any.is_empty()
}

/// The member of a value that has exactly one.
fn member(any: Cursor<'_>) -> Option<(Cow<'_, str>, Cursor<'_>)> {
    let mut members = any.written_members();
    let member = members.next()?;
    members
        .next()
        .is_none()
        .then(|| (member.key.text(), member.value))
}

/// What a member of a value holds, if its kind is known.
fn form<'d>(key: &str, value: Cursor<'d>) -> Option<Form<'d, Any<'d>>> {
    let text = value.as_str();
    let form = match key {
        "stringValue" | "string_value" => text.map(Form::Text),
        "bytesValue" | "bytes_value" => {
            text.map(|text| Form::Bytes(decoded(&text).map_or(text, Cow::Owned)))
        }
        "arrayValue" | "array_value" => {
            values(value).map(|items| Form::List(items.map(|item| Any(Some(item))).collect()))
        }
        "kvlistValue" | "kvlist_value" => values(value)
            .and_then(|entries| entries.map(entry).collect())
            .map(Form::Map),
        "boolValue" | "bool_value" => value
            .as_bool()
            .map(|flag| Form::Scalar(flag.to_string().into())),
        // Large integers, infinities and NaN are written as strings.
        "intValue" | "int_value" | "doubleValue" | "double_value" => {
            let word = text.as_deref().or(value.as_number());
            word.and_then(|word| number(word, key.starts_with("int")))
                .map(|word| Form::Scalar(word.into()))
        }
        _ => return None,
    };
    match value.kind() {
        Kind::Null => Some(Form::Empty),
        _ => form,
    }
}

/// A number, spelled as spans and log records spell it.
fn number(word: &str, is_int: bool) -> Option<String> {
    match word.parse::<i64>() {
        Ok(number) if is_int => Some(number.to_string()),
        _ => word.parse::<f64>().ok().map(|number| number.to_string()),
    }
}

/// The items of an `ArrayValue`, or the entries of a `KeyValueList`.
fn values(list: Cursor<'_>) -> Option<impl Iterator<Item = Cursor<'_>>> {
    if list.kind() != Kind::Object {
        return None;
    }
    let mut members = list.written_members();
    let values = members.next();
    let is_known = values.as_ref().is_none_or(|member| {
        member.key.text() == "values" && matches!(member.value.kind(), Kind::Array | Kind::Null)
    });
    let is_one = is_known && members.next().is_none();
    is_one.then(|| values.into_iter().flat_map(|values| values.value.items()))
}

/// An entry of a `KeyValueList`.
fn entry(entry: Cursor<'_>) -> Option<(Cow<'_, str>, Any<'_>)> {
    let [name, value, None] = unique_members(entry)? else {
        return None;
    };
    let name = match name.filter(|name| name.kind() != Kind::Null) {
        Some(name) => name.as_str()?,
        None => Cow::Borrowed(""),
    };
    Some((name, Any(value)))
}

/// The values of an object's `key`, of its `value` and of another member, if it has the first two once at most.
pub(super) fn unique_members(object: Cursor<'_>) -> Option<[Option<Cursor<'_>>; 3]> {
    if object.kind() != Kind::Object {
        return None;
    }
    let mut found = [None; 3];
    for member in object.written_members() {
        let place = match &*member.key.text() {
            "key" => 0,
            "value" => 1,
            _ => 2,
        };
        if found[place].replace(member.value).is_some() && place < 2 {
            return None;
        }
    }
    Some(found)
}

/// The text of an `AnyValue` that holds one.
pub(super) fn text_of(any: Cursor<'_>) -> Option<Cursor<'_>> {
    let (key, value) = member(any)?;
    let is_text = matches!(&*key, "stringValue" | "string_value");
    (is_text && value.kind() == Kind::String).then_some(value)
}

/// The text that is written as base64. A lenient reader may take even invalid UTF-8 for JSON.
fn decoded(written: &str) -> Option<String> {
    let bytes = ALPHABETS
        .iter()
        .find_map(|base64| base64.decode(written).ok());
    Some(String::from_utf8_lossy(&bytes?).into_owned())
}

impl<'d> Walk<'d, '_> {
    /// Strips the value of the attribute with this name; returns whether the attribute stays.
    pub(super) fn value(&mut self, name: &str, any: Cursor<'d>, reader: &Reader<'_>) -> bool {
        match strip_value(reader, name, Any(Some(any))) {
            StripResult::Unchanged => true,
            StripResult::Changed(new) => {
                self.renew(any, new);
                true
            }
            StripResult::Dropped => false,
        }
    }

    /// Replaces a value, changing as few bytes as possible. Recurses as deep as the document.
    fn renew(&mut self, any: Cursor<'d>, new: NewValue<Any<'d>>) {
        let content = member(any).map(|(_, value)| value);
        match (new, Any(Some(any)).form(), content) {
            (NewValue::Same(_), ..) => {}
            (NewValue::Text(text), Form::Text(_), Some(content)) => {
                self.replace(content, quoted(&text));
            }
            (NewValue::Bytes(text), Form::Bytes(_), Some(content)) => {
                self.replace(content, quoted(&STANDARD.encode(text)));
            }
            (
                NewValue::List {
                    items,
                    is_cut: false,
                },
                Form::List(originals),
                _,
            ) => {
                for (original, new) in originals.into_iter().zip(items) {
                    if let Any(Some(original)) = original {
                        self.renew(original, new);
                    }
                }
            }
            (new, ..) => {
                let mut out = String::new();
                write(new, &mut out);
                self.replace(any, out);
            }
        }
    }
}

/// Writes a value as an `AnyValue`.
fn write(new: NewValue<Any<'_>>, out: &mut String) {
    match new {
        NewValue::Same(Any(Some(any))) => out.push_str(&String::from_utf8_lossy(any.raw())),
        NewValue::Same(Any(None)) | NewValue::Empty => out.push_str("{}"),
        NewValue::Text(text) => out.push_str(&format!("{{\"stringValue\":{}}}", quoted(&text))),
        NewValue::Bytes(text) => {
            out.push_str(&format!("{{\"bytesValue\":\"{}\"}}", STANDARD.encode(text)));
        }
        NewValue::Scalar(word) if matches!(&*word, "true" | "false") => {
            out.push_str(&format!("{{\"boolValue\":{word}}}"));
        }
        NewValue::Scalar(word) if word.parse::<i64>().is_ok() => {
            out.push_str(&format!("{{\"intValue\":\"{word}\"}}"));
        }
        NewValue::Scalar(word) => out.push_str(&format!("{{\"doubleValue\":{word}}}")),
        NewValue::List { items, .. } => {
            out.push_str("{\"arrayValue\":{\"values\":[");
            for (index, item) in items.into_iter().enumerate() {
                out.push_str(if index > 0 { "," } else { "" });
                write(item, out);
            }
            out.push_str("]}}");
        }
        NewValue::Map(members) => {
            out.push_str("{\"kvlistValue\":{\"values\":[");
            for (index, (key, value)) in members.into_iter().enumerate() {
                out.push_str(if index > 0 { "," } else { "" });
                out.push_str(&format!("{{\"key\":{},\"value\":", quoted(&key)));
                write(value, out);
                out.push('}');
            }
            out.push_str("]}}");
        }
    }
}
