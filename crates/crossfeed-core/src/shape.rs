//! The shape of a value: one bounded line that an error may show, such as
//! `{items: [{title: string(24), url: string(41)}](len=12), total: number}`. It never holds a value.

use crossfeed_jmespath::{Kind, View};
use crossfeed_json::quoted;
use crossfeed_wire::internal::is_internal;
use serde_json::Value;
use std::{borrow::Cow, fmt};

/// How many levels of lists and objects are opened.
const MAX_DEPTH: usize = 3;
/// How many keys of an object are shown.
const MAX_KEYS: usize = 10;
/// How many characters of a key are shown.
const MAX_KEY_CHARS: usize = 64;

/// The shape of a value, as text.
///
/// It shows three levels, the first item and the length of lists, at most 10 keys and then `...`, and the
/// length of strings in characters. Internal fields are left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape(String);

impl Shape {
    /// The shape of a view.
    pub fn new(view: &View<'_>) -> Self {
        Self::build(view)
    }

    /// The shape of a `serde_json::Value`.
    pub fn from_value(value: &Value) -> Self {
        Self::build(&value)
    }

    /// Whether it is the shape of a string.
    pub(crate) fn is_text(&self) -> bool {
        self.0.starts_with("string(")
    }

    /// Whether it is the shape of `null`.
    pub(crate) fn is_null(&self) -> bool {
        self.0 == "null"
    }

    fn build(value: &impl HasShape) -> Self {
        let mut out = String::new();
        write(value, MAX_DEPTH, &mut out);
        Self(out)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One level of a shape.
enum Level<'v, T> {
    /// The number of characters.
    Text(usize),
    /// The number of items, and the first one.
    List(usize, Option<T>),
    /// The number of members, and the first that are not internal fields.
    Object(usize, Vec<(Cow<'v, str>, T)>),
    Scalar(Kind),
}

trait HasShape: Sized {
    fn level(&self) -> Level<'_, Self>;
}

impl HasShape for View<'_> {
    fn level(&self) -> Level<'_, Self> {
        let len = self.len().unwrap_or_default();
        match self.kind() {
            Kind::String => Level::Text(self.as_str().unwrap_or_default().chars().count()),
            Kind::Array => Level::List(len, self.at(0)),
            Kind::Object => {
                let own = self.members().filter(|(key, _)| !is_internal(key));
                Level::Object(len, own.take(MAX_KEYS + 1).collect())
            }
            scalar => Level::Scalar(scalar),
        }
    }
}

/// The kind of a value.
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

impl HasShape for &Value {
    fn level(&self) -> Level<'_, Self> {
        match self {
            Value::String(text) => Level::Text(text.chars().count()),
            Value::Array(items) => Level::List(items.len(), items.first()),
            Value::Object(members) => {
                let own = members.iter().filter(|(key, _)| !is_internal(key));
                let own = own.map(|(key, value)| (Cow::Borrowed(key.as_str()), value));
                Level::Object(members.len(), own.take(MAX_KEYS + 1).collect())
            }
            scalar => Level::Scalar(kind_of(scalar)),
        }
    }
}

fn write<T: HasShape>(value: &T, depth: usize, out: &mut String) {
    match value.level() {
        Level::Text(chars) => out.push_str(&format!("string({chars})")),
        Level::List(count, first) => {
            match first {
                None => out.push_str("[]"),
                Some(_) if depth == 0 => out.push_str("[...]"),
                Some(first) => {
                    out.push('[');
                    write(&first, depth - 1, out);
                    out.push(']');
                }
            }
            out.push_str(&format!("(len={count})"));
        }
        Level::Object(0, _) => out.push_str("{}"),
        Level::Object(..) if depth == 0 => out.push_str("{...}"),
        Level::Object(_, members) => {
            out.push('{');
            for (index, (key, value)) in members.iter().take(MAX_KEYS).enumerate() {
                out.push_str(if index > 0 { ", " } else { "" });
                out.push_str(&key_text(key, MAX_KEY_CHARS, ""));
                out.push_str(": ");
                write(value, depth - 1, out);
            }
            if members.len() > MAX_KEYS {
                out.push_str(", ...");
            }
            out.push('}');
        }
        Level::Scalar(scalar) => out.push_str(scalar.as_str()),
    }
}

/// The first `most` characters of a key, quoted if they could be mistaken for the syntax around them.
/// Characters of `also` need no quotes.
pub(crate) fn key_text(key: &str, most: usize, also: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "_-$@/".contains(c) || also.contains(c);
    let short: String = key.chars().take(most).collect();
    let more = if short.len() < key.len() { "…" } else { "" };
    if !short.is_empty() && short.chars().all(plain) {
        short + more
    } else {
        quoted(&short) + more
    }
}

#[cfg(test)]
mod tests {
    use super::Shape;
    use crossfeed_jmespath::View;
    use crossfeed_json::Document;

    fn check(json: &str, expected: &str) {
        let document = Document::new(json.to_owned());
        let shape = Shape::new(&View::from(document.root().unwrap()));
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
