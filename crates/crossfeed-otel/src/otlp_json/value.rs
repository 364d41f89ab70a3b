//! `AnyValue`, as [`crate::value`] sees it, and the changes that leave of it what may leave.
//!
//! An `AnyValue` has one member, of a kind that is known. One that is odd, within another or by itself,
//! is not known, and takes its attribute along: readers would not agree on what it holds.

use super::walk::Walk;
use crate::{
    Reader,
    value::{Form, New, Node, Stripped, strip_value},
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
/// Protobuf's JSON is read from both alphabets, with padding or without.
const ALPHABETS: [GeneralPurpose; 2] = [
    GeneralPurpose::new(&alphabet::STANDARD, LENIENT),
    GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT),
];

/// An `AnyValue`, if there is one where it is expected.
#[derive(Clone, Copy)]
pub(super) struct Any<'d>(Option<Cursor<'d>>);

impl<'d> Node<'d> for Any<'d> {
    fn form(self) -> Form<'d, Self> {
        let known = match held(self.0) {
            Ok(Some((key, value))) => known(&key, value),
            Ok(None) => Some(Form::Empty),
            Err(Odd) => None,
        };
        known.unwrap_or(Form::Unknown)
    }
}

/// What is not as it should be.
struct Odd;

/// The one member that a value has.
fn held(any: Option<Cursor<'_>>) -> Result<Option<(Cow<'_, str>, Cursor<'_>)>, Odd> {
    let Some(any) = any.filter(|any| any.kind() != Kind::Null) else {
        return Ok(None);
    };
    if any.kind() != Kind::Object {
        return Err(Odd);
    }
    let mut members = any.written_members();
    let member = members.next();
    match members.next() {
        None => Ok(member.map(|member| (member.key.text(), member.value))),
        Some(_) => Err(Odd),
    }
}

/// What a member of a value holds, if that is known.
fn known<'d>(key: &str, value: Cursor<'d>) -> Option<Form<'d, Any<'d>>> {
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
        // Large integers are written as strings, and so is what is not a number in JSON.
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

/// A number as every account of it spells it.
fn number(word: &str, is_int: bool) -> Option<String> {
    match word.parse::<i64>() {
        Ok(number) if is_int => Some(number.to_string()),
        _ => Some(word.parse::<f64>().ok()?.to_string()),
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
    if entry.kind() != Kind::Object {
        return None;
    }
    let (mut name, mut held) = (None, None);
    for member in entry.written_members() {
        let place = match &*member.key.text() {
            "key" => &mut name,
            "value" => &mut held,
            _ => return None,
        };
        if place.replace(member.value).is_some() {
            return None;
        }
    }
    let name = match name.filter(|name| name.kind() != Kind::Null) {
        Some(name) => name.as_str()?,
        None => Cow::Borrowed(""),
    };
    Some((name, Any(held)))
}

/// The text of an `AnyValue` that is one.
pub(super) fn text_of(any: Cursor<'_>) -> Option<Cursor<'_>> {
    let (key, value) = held(Some(any)).ok()??;
    let is_text = matches!(&*key, "stringValue" | "string_value");
    (is_text && value.kind() == Kind::String).then_some(value)
}

/// The text that base64 stands for, if it is any. What is not UTF-8 may still be read as JSON by someone
/// lenient.
fn decoded(written: &str) -> Option<String> {
    let bytes = ALPHABETS
        .iter()
        .find_map(|base64| base64.decode(written).ok());
    Some(String::from_utf8_lossy(&bytes?).into_owned())
}

impl<'d> Walk<'d, '_> {
    /// The value of the attribute that is known by this name; whether it stays.
    pub(super) fn value(&mut self, name: &str, any: Cursor<'d>, reader: &Reader<'_>) -> bool {
        match strip_value(reader, name, Any(Some(any))) {
            Stripped::Unchanged => true,
            Stripped::Changed(new) => {
                self.renew(any, new);
                true
            }
            Stripped::Dropped => false,
        }
    }

    /// Puts another value in a value's place, with as few bytes as do. It is as deep as the document.
    fn renew(&mut self, any: Cursor<'d>, new: New<Any<'d>>) {
        let was = held(Some(any)).ok().flatten().map(|(_, value)| value);
        let form = Any(Some(any)).form();
        match (new, form, was) {
            (New::Same(_), ..) => {}
            (New::Text(text), Form::Text(_), Some(was)) => {
                self.replace(was, quoted(&text).into_bytes());
            }
            (New::Bytes(text), Form::Bytes(_), Some(was)) => {
                self.replace(was, quoted(&STANDARD.encode(text)).into_bytes());
            }
            (
                New::List {
                    items,
                    is_cut: false,
                },
                Form::List(was),
                _,
            ) => {
                for (Any(was), new) in was.into_iter().zip(items) {
                    if let Some(was) = was {
                        self.renew(was, new);
                    }
                }
            }
            (new, ..) => {
                let mut out = String::new();
                write(new, &mut out);
                self.replace(any, out.into_bytes());
            }
        }
    }
}

/// Writes a value as an `AnyValue`.
fn write(new: New<Any<'_>>, out: &mut String) {
    match new {
        New::Same(Any(Some(any))) => out.push_str(&String::from_utf8_lossy(any.raw())),
        New::Same(Any(None)) | New::Empty => out.push_str("{}"),
        New::Text(text) => out.push_str(&format!("{{\"stringValue\":{}}}", quoted(&text))),
        New::Bytes(text) => {
            out.push_str(&format!("{{\"bytesValue\":\"{}\"}}", STANDARD.encode(text)));
        }
        New::Scalar(word) if matches!(&*word, "true" | "false") => {
            out.push_str(&format!("{{\"boolValue\":{word}}}"));
        }
        New::Scalar(word) if word.parse::<i64>().is_ok() => {
            out.push_str(&format!("{{\"intValue\":\"{word}\"}}"));
        }
        New::Scalar(word) => out.push_str(&format!("{{\"doubleValue\":{word}}}")),
        New::List { items, .. } => {
            out.push_str("{\"arrayValue\":{\"values\":[");
            for (index, item) in items.into_iter().enumerate() {
                out.push_str(if index > 0 { "," } else { "" });
                write(item, out);
            }
            out.push_str("]}}");
        }
        New::Map(members) => {
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
