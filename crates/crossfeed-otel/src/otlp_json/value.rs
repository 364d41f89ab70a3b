//! The value of an attribute, `AnyValue`: a text, or texts in a structure.
//!
//! Texts are asked about one by one, also in a list. A map is asked about as a whole, as the JSON that
//! it stands for: so what is said of keys, paths and sizes is said of it, too. Where it changes its
//! structure is written anew, with the leaves that stay as they were; what is no JSON any more, such as a
//! hash, is a text then.

use super::walk::Walk;
use crate::{Outcome, Reader};
use base64::{
    Engine as _, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig, general_purpose::STANDARD},
};
use crossfeed_json::{Cursor, Document, Kind, is_number, quoted};
use crossfeed_wire::internal::is_internal;
use std::borrow::Cow;

const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_padding_mode(DecodePaddingMode::Indifferent)
    .with_decode_allow_trailing_bits(true);
/// Protobuf's JSON is read from both alphabets, with padding or without.
const ALPHABETS: [GeneralPurpose; 2] = [
    GeneralPurpose::new(&alphabet::STANDARD, LENIENT),
    GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT),
];

/// What a member of an `AnyValue` holds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Text,
    Bytes,
    List,
    Map,
    Scalar,
}

fn form(key: &str) -> Option<Form> {
    Some(match key {
        "stringValue" | "string_value" => Form::Text,
        "bytesValue" | "bytes_value" => Form::Bytes,
        "arrayValue" | "array_value" => Form::List,
        "kvlistValue" | "kvlist_value" => Form::Map,
        "intValue" | "int_value" | "doubleValue" | "double_value" | "boolValue" | "bool_value" => {
            Form::Scalar
        }
        _ => return None,
    })
}

impl<'d> Walk<'d, '_> {
    /// The value of the attribute of these names, of which there is one unless the document is odd;
    /// whether it stays.
    pub(super) fn value(
        &mut self,
        names: &[impl AsRef<str>],
        any: Cursor<'d>,
        reader: &Reader<'_>,
    ) -> bool {
        if any.kind() != Kind::Object {
            self.any(any, "", reader);
            return true;
        }
        for member in any.written_members() {
            let (key, value) = (member.key.text(), member.value);
            let stays = match (form(&key), value.kind()) {
                (Some(Form::Text), Kind::String) => self.text(names, value, reader),
                (Some(Form::Bytes), Kind::String) => self.bytes(names, value, reader),
                (Some(Form::List), Kind::Object) => self.each(names, value, reader),
                (Some(Form::Map), Kind::Object) => self.map(names, any, reader),
                (Some(Form::Scalar), _) => self.scalar(names, any, value, reader),
                // What is not known, or not what it should be.
                _ => {
                    let hides = is_internal(&key);
                    if hides {
                        self.replace(any, b"{}".to_vec());
                    } else {
                        self.any(value, &key, reader);
                    }
                    true
                }
            };
            if !stays {
                return false;
            }
        }
        true
    }

    fn each(&mut self, names: &[impl AsRef<str>], list: Cursor<'d>, reader: &Reader<'_>) -> bool {
        for member in list.written_members() {
            let key = member.key.text();
            if key != "values" || member.value.kind() != Kind::Array {
                self.any(member.value, &key, reader);
                continue;
            }
            for item in member.value.items() {
                if !self.value(names, item, reader) {
                    return false;
                }
            }
        }
        true
    }

    fn text(&mut self, names: &[impl AsRef<str>], value: Cursor<'d>, reader: &Reader<'_>) -> bool {
        let text = value.as_str().unwrap_or_default();
        match ask(names, &text, reader) {
            Outcome::Unchanged => true,
            Outcome::Text(text) => {
                self.replace(value, quoted(&text).into_bytes());
                true
            }
            Outcome::Dropped => false,
        }
    }

    /// Bytes, as base64. Those of a text are asked about as the text.
    fn bytes(&mut self, names: &[impl AsRef<str>], value: Cursor<'d>, reader: &Reader<'_>) -> bool {
        let written = value.as_str().unwrap_or_default();
        let Some(text) = decoded(&written) else {
            return self.text(names, value, reader);
        };
        match ask(names, &text, reader) {
            Outcome::Unchanged => true,
            Outcome::Text(text) => {
                self.replace(value, quoted(&STANDARD.encode(text)).into_bytes());
                true
            }
            Outcome::Dropped => false,
        }
    }

    /// A number or a boolean: nothing is in it that could be stripped, but it may be payload.
    fn scalar(
        &mut self,
        names: &[impl AsRef<str>],
        any: Cursor<'d>,
        value: Cursor<'d>,
        reader: &Reader<'_>,
    ) -> bool {
        let text = match value.as_str() {
            Some(text) => text,
            None => String::from_utf8_lossy(value.raw()),
        };
        match ask(names, &text, reader) {
            Outcome::Unchanged => true,
            Outcome::Text(text) => {
                self.replace(any, text_value(&text));
                true
            }
            Outcome::Dropped => false,
        }
    }

    fn map(&mut self, names: &[impl AsRef<str>], any: Cursor<'d>, reader: &Reader<'_>) -> bool {
        let mut json = Json {
            out: String::new(),
            differs: false,
            reader,
        };
        json.write(any);
        let Json { out, differs, .. } = json;
        let text = match ask(names, &out, reader) {
            Outcome::Unchanged if !differs => return true,
            Outcome::Unchanged => out,
            Outcome::Text(text) => text,
            Outcome::Dropped => return false,
        };
        let document = Document::new(text);
        let with = match document.root() {
            Ok(root) if matches!(root.kind(), Kind::Object | Kind::Array) => {
                let mut out = String::new();
                write_any(root, Some(any), &mut out);
                out.into_bytes()
            }
            _ => text_value(&String::from_utf8_lossy(document.raw())),
        };
        self.replace(any, with);
        true
    }
}

/// What becomes of the text of an attribute by each of its names in turn.
fn ask(names: &[impl AsRef<str>], text: &str, reader: &Reader<'_>) -> Outcome {
    let mut now = Outcome::Unchanged;
    for name in names {
        let text = match &now {
            Outcome::Text(text) => text.as_str(),
            _ => text,
        };
        match reader.strip(name.as_ref(), text) {
            Outcome::Unchanged => {}
            Outcome::Dropped => return Outcome::Dropped,
            changed => now = changed,
        }
    }
    now
}

/// The text that base64 stands for, if it is any. What is no UTF-8 may still be read as JSON by someone
/// lenient.
fn decoded(written: &str) -> Option<String> {
    let bytes = ALPHABETS
        .iter()
        .find_map(|base64| base64.decode(written).ok());
    Some(String::from_utf8_lossy(&bytes?).into_owned())
}

/// The items of an `ArrayValue`, or the entries of a `KeyValueList`.
fn values(list: Cursor<'_>) -> impl Iterator<Item = Cursor<'_>> {
    let lists = list
        .written_members()
        .filter(|member| member.key.text() == "values");
    lists.flat_map(|list| list.value.items())
}

fn text_value(text: &str) -> Vec<u8> {
    format!("{{\"stringValue\":{}}}", quoted(text)).into_bytes()
}

/// The JSON that an `AnyValue` stands for. The document bounds its depth.
struct Json<'r> {
    out: String,
    /// Whether an entry was left out, since its key is internal; or something that is no part of the
    /// structure, since nobody looked at it.
    differs: bool,
    reader: &'r Reader<'r>,
}

impl Json<'_> {
    fn write(&mut self, any: Cursor<'_>) {
        self.differs |= !is_regular(any);
        match held(any) {
            Some((Form::List, value)) => {
                self.out.push('[');
                for (index, item) in values(value).enumerate() {
                    self.separate(index);
                    self.write(item);
                }
                self.out.push(']');
            }
            Some((Form::Map, value)) => {
                self.out.push('{');
                let mut written = 0;
                for (key, value) in entries(value) {
                    if self.reader.drops_key(&key) {
                        self.differs = true;
                        continue;
                    }
                    self.separate(written);
                    written += 1;
                    self.out.push_str(&quoted(&key));
                    self.out.push(':');
                    match value {
                        Some(value) => self.write(value),
                        None => self.out.push_str("null"),
                    }
                }
                self.out.push('}');
            }
            _ => self.out.push_str(&leaf(any)),
        }
    }

    fn separate(&mut self, index: usize) {
        if index > 0 {
            self.out.push(',');
        }
    }
}

/// What an `AnyValue` holds. Of several members that are read by most: the last.
fn held(any: Cursor<'_>) -> Option<(Form, Cursor<'_>)> {
    let forms = any
        .written_members()
        .filter_map(|member| Some((form(&member.key.text())?, member.value)));
    forms.last()
}

/// Whether an `AnyValue`, but for the values within it, has nothing besides what is read of it.
fn is_regular(any: Cursor<'_>) -> bool {
    let is = |of: Cursor<'_>, keys: &[&str]| {
        let mut left = keys.to_vec();
        of.written_members().all(|member| {
            let at = left.iter().position(|key| *key == member.key.text());
            at.map(|at| left.swap_remove(at)).is_some()
        })
    };
    let are_entries = |list| values(list).all(|entry| is(entry, &["key", "value"]));
    let is_list = |list| is(list, &["values"]);
    match held(any) {
        None => any.kind() == Kind::Object && any.is_empty(),
        Some(_) if any.written_members().count() > 1 => false,
        Some((Form::List, list)) => is_list(list),
        Some((Form::Map, list)) => is_list(list) && are_entries(list),
        Some((_, value)) => !matches!(value.kind(), Kind::Array | Kind::Object),
    }
}

/// The entries of a `KeyValueList`.
fn entries(list: Cursor<'_>) -> impl Iterator<Item = (Cow<'_, str>, Option<Cursor<'_>>)> {
    values(list).map(|entry| {
        let key = entry.get("key").and_then(Cursor::as_str);
        (key.unwrap_or_default(), entry.get("value"))
    })
}

/// The JSON of an `AnyValue` that is no list and no map.
fn leaf(any: Cursor<'_>) -> Cow<'_, str> {
    let Some((form, value)) = held(any) else {
        return Cow::Borrowed("null");
    };
    match (form, value.as_str()) {
        (Form::Bytes, Some(written)) => {
            Cow::Owned(quoted(&decoded(&written).unwrap_or(written.into_owned())))
        }
        // Large integers are written as strings.
        (Form::Scalar, Some(written)) if is_number(&written) => written,
        (_, Some(text)) => Cow::Owned(quoted(&text)),
        (_, None) => Cow::Owned(String::from_utf8_lossy(value.raw()).into_owned()),
    }
}

/// Writes a value as an `AnyValue`. A leaf that is as it was in `original` is taken from that, so that
/// it keeps its type.
fn write_any(value: Cursor<'_>, original: Option<Cursor<'_>>, out: &mut String) {
    let raw = || String::from_utf8_lossy(value.raw());
    let held = original.and_then(held);
    match value.kind() {
        Kind::Array => {
            out.push_str("{\"arrayValue\":{\"values\":[");
            let was = held.filter(|(form, _)| *form == Form::List);
            let mut was = was.into_iter().flat_map(|(_, list)| values(list));
            for (index, item) in value.items().enumerate() {
                out.push_str(if index > 0 { "," } else { "" });
                write_any(item, was.next(), out);
            }
            out.push_str("]}}");
        }
        Kind::Object => {
            out.push_str("{\"kvlistValue\":{\"values\":[");
            let was = held.filter(|(form, _)| *form == Form::Map);
            // What is left stands in the order in which it was.
            let mut was = was.into_iter().flat_map(|(_, list)| entries(list));
            // A map may have a key twice.
            for (index, member) in value.written_members().enumerate() {
                let (key, item) = (member.key.text(), member.value);
                out.push_str(if index > 0 { "," } else { "" });
                out.push_str(&format!("{{\"key\":{},\"value\":", quoted(&key)));
                let was = was.find(|(before, _)| *before == key);
                write_any(item, was.and_then(|(_, value)| value), out);
                out.push('}');
            }
            out.push_str("]}}");
        }
        _ if original.is_some_and(|was| is_regular(was) && leaf(was) == raw()) => {
            let as_it_was = original.map_or(&[][..], Cursor::raw);
            out.push_str(&String::from_utf8_lossy(as_it_was));
        }
        Kind::Null => out.push_str("{}"),
        Kind::Boolean => out.push_str(&format!("{{\"boolValue\":{}}}", raw())),
        Kind::Number if raw().parse::<i64>().is_ok() => {
            out.push_str(&format!("{{\"intValue\":\"{}\"}}", raw()));
        }
        Kind::Number => out.push_str(&format!("{{\"doubleValue\":{}}}", raw())),
        Kind::String => match (held, value.as_str()) {
            (Some((Form::Bytes, _)), Some(text)) => {
                out.push_str(&format!(
                    "{{\"bytesValue\":\"{}\"}}",
                    STANDARD.encode(&*text)
                ));
            }
            _ => out.push_str(&format!("{{\"stringValue\":{}}}", raw())),
        },
    }
}
