//! The shape of a value: one bounded line that an error may show, such as
//! `{items: [{title: string(24), url: string(41)}](len=12), total: number}`. Never a value.
//!
//! Never a value.

use crossfeed_jmespath::{Kind, View};
use crossfeed_json::quoted;
use crossfeed_wire::internal::is_internal;
use serde_json::Value;
use std::{borrow::Cow, fmt};

/// How many levels of lists and objects are opened.
const DEPTH: usize = 3;
/// How many keys of an object are shown.
const KEYS: usize = 10;
/// How many characters of a key are shown.
const KEY_CHARS: usize = 64;

/// The shape of a value, as text.
///
/// Depth 3, the first element and the length of lists, at most 10 keys and then `...`, strings by
/// their length in characters; internal fields are left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape(String);

impl Shape {
    /// The shape of a view.
    #[must_use]
    pub fn of(view: &View<'_>) -> Self {
        let mut out = String::new();
        write(view, DEPTH, &mut out);
        Self(out)
    }

    /// The shape of a `serde_json::Value`.
    #[must_use]
    pub fn of_value(value: &Value) -> Self {
        let mut out = String::new();
        write(&value, DEPTH, &mut out);
        Self(out)
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a shape is made of.
trait Shaped: Sized + Clone {
    fn kind(&self) -> Kind;
    /// Characters of a string.
    fn chars(&self) -> usize;
    /// Items or members.
    fn count(&self) -> usize;
    fn first(&self) -> Option<Self>;
    /// The first members that are not internal fields, at most `most`.
    fn own_members(&self, most: usize) -> Vec<(Cow<'_, str>, Self)>;
}

impl Shaped for View<'_> {
    fn kind(&self) -> Kind {
        self.kind()
    }

    fn chars(&self) -> usize {
        self.as_str().unwrap_or_default().chars().count()
    }

    fn count(&self) -> usize {
        self.len().unwrap_or_default()
    }

    fn first(&self) -> Option<Self> {
        self.at(0)
    }

    fn own_members(&self, most: usize) -> Vec<(Cow<'_, str>, Self)> {
        let own = self.members().filter(|(key, _)| !is_internal(key));
        own.take(most).collect()
    }
}

/// What kind of value it is.
pub(crate) fn kind_of(value: &Value) -> Kind {
    match value {
        Value::Null => Kind::Null,
        Value::Bool(_) => Kind::Boolean,
        Value::Number(_) => Kind::Number,
        Value::String(_) => Kind::String,
        Value::Array(_) => Kind::Array,
        Value::Object(_) => Kind::Object,
    }
}

impl Shaped for &Value {
    fn kind(&self) -> Kind {
        kind_of(self)
    }

    fn chars(&self) -> usize {
        self.as_str().unwrap_or_default().chars().count()
    }

    fn count(&self) -> usize {
        match self {
            Value::Array(items) => items.len(),
            Value::Object(members) => members.len(),
            _ => 0,
        }
    }

    fn first(&self) -> Option<Self> {
        self.as_array()?.first()
    }

    fn own_members(&self, most: usize) -> Vec<(Cow<'_, str>, Self)> {
        let members = self.as_object().into_iter().flatten();
        members
            .filter(|(key, _)| !is_internal(key))
            .map(|(key, value)| (Cow::Borrowed(key.as_str()), value))
            .take(most)
            .collect()
    }
}

fn write<T: Shaped>(value: &T, depth: usize, out: &mut String) {
    match value.kind() {
        Kind::String => {
            out.push_str(&format!("string({})", value.chars()));
        }
        Kind::Array => {
            match value.first() {
                None => out.push_str("[]"),
                Some(_) if depth == 0 => out.push_str("[...]"),
                Some(first) => {
                    out.push('[');
                    write(&first, depth - 1, out);
                    out.push(']');
                }
            }
            out.push_str(&format!("(len={})", value.count()));
        }
        Kind::Object if value.count() == 0 => out.push_str("{}"),
        Kind::Object if depth == 0 => out.push_str("{...}"),
        Kind::Object => {
            out.push('{');
            let members = value.own_members(KEYS + 1);
            for (index, (key, value)) in members.iter().take(KEYS).enumerate() {
                if index > 0 {
                    out.push_str(", ");
                }
                write_key(key, out);
                out.push_str(": ");
                write(value, depth - 1, out);
            }
            if members.len() > KEYS {
                out.push_str(", ...");
            }
            out.push('}');
        }
        scalar => out.push_str(scalar.as_str()),
    }
}

/// A key as it is, or quoted where it could be mistaken for the shape's own signs.
fn write_key(key: &str, out: &mut String) {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '$' | '@' | '/');
    let short: String = key.chars().take(KEY_CHARS).collect();
    if !key.is_empty() && short.chars().all(plain) {
        out.push_str(&short);
    } else {
        out.push_str(&quoted(&short));
    }
    if short.len() < key.len() {
        out.push('…');
    }
}

#[cfg(test)]
mod tests {
    use super::Shape;
    use crossfeed_jmespath::View;
    use crossfeed_json::Document;

    fn check(json: &str, expected: &str) {
        let document = Document::new(json.to_owned());
        let shape = Shape::of(&View::from(document.root().unwrap()));
        assert_eq!(shape.as_str(), expected, "{json}");
    }

    #[test]
    fn shows_types_and_sizes_only() {
        check(
            r#"{"items": [{"title": "abc", "url": "é"}, 1], "total": 7, "ok": true, "x": null}"#,
            "{items: [{title: string(3), url: string(1)}](len=2), total: number, ok: boolean, x: null}",
        );
        check("[]", "[](len=0)");
        check("{}", "{}");
        check(r#""text""#, "string(4)");
    }

    #[test]
    fn folds_what_is_deep_or_wide() {
        check(
            r#"{"a": {"b": {"c": {"d": 1}, "l": [1]}}}"#,
            "{a: {b: {c: {...}, l: [...](len=1)}}}",
        );
        check(
            r#"{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1,"j":1,"k":1}"#,
            "{a: number, b: number, c: number, d: number, e: number, f: number, g: number, \
             h: number, i: number, j: number, ...}",
        );
    }

    #[test]
    fn leaves_internal_fields_out_and_bounds_keys() {
        check(r#"{"_toolCallId": "c", "_id": 1}"#, "{_id: number}");
        check(r#"{"a b": 1, "": 2}"#, r#"{"a b": number, "": number}"#);
        let long = "k".repeat(100);
        check(
            &format!("{{\"{long}\": 1}}"),
            &format!("{{{}…: number}}", "k".repeat(64)),
        );
    }
}
