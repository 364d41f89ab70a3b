//! The policy against a naive reader of JSON.

mod examples;
mod hostile;
mod laws;

use crossfeed_wire::internal::FIELDS;
use proptest::{collection::vec, prelude::*, sample::select};

/// A JSON value as it is to be written.
#[derive(Clone, Debug)]
pub(crate) enum Json {
    /// As written.
    Atom(String),
    Text(String),
    /// A string that holds JSON.
    Embedded(Box<Json>),
    List(Vec<Json>),
    /// Keys as written, between quotes.
    Object(Vec<(String, Json)>),
}

/// A generated text, and what it is of.
#[derive(Clone, Debug)]
pub(crate) struct Nesting {
    pub(crate) json: Json,
    pub(crate) blanks: &'static str,
    pub(crate) text: String,
}

/// How a string is escaped.
#[derive(Clone, Copy)]
enum Escapes {
    /// As most writers do.
    Few,
    /// Everything by its number.
    All,
}

fn escaped(text: &str, escapes: Escapes) -> String {
    match escapes {
        Escapes::Few => {
            let mut out = Vec::new();
            crossfeed_json::escape_into(&mut out, text);
            String::from_utf8(out).unwrap()
        }
        Escapes::All => text
            .encode_utf16()
            .map(|unit| match unit {
                // Letters and digits stand for themselves, so that it does not grow without need; but for
                // the `u` of other escapes.
                0x61..=0x74 | 0x76..=0x7a | 0x30..=0x39 => char::from(unit as u8).to_string(),
                _ => format!("\\u{unit:04x}"),
            })
            .collect(),
    }
}

impl Json {
    pub(crate) fn write(&self, blanks: &str, out: &mut String) {
        let separated = |out: &mut String, at: usize| {
            if at > 0 {
                out.push(',');
            }
            out.push_str(blanks);
        };
        match self {
            Self::Atom(text) => out.push_str(text),
            Self::Text(text) => *out += &format!("\"{}\"", escaped(text, Escapes::Few)),
            Self::Embedded(json) => {
                let mut text = blanks.to_owned();
                json.write(blanks, &mut text);
                // Which escapes are taken follows from the text.
                let escapes = match text.len() % 3 {
                    0 if text.len() < 300 => Escapes::All,
                    _ => Escapes::Few,
                };
                *out += &format!("\"{}\"", escaped(&text, escapes));
            }
            Self::List(items) => {
                out.push('[');
                for (at, item) in items.iter().enumerate() {
                    separated(out, at);
                    item.write(blanks, out);
                    out.push_str(blanks);
                }
                out.push(']');
            }
            Self::Object(members) => {
                out.push('{');
                for (at, (key, value)) in members.iter().enumerate() {
                    separated(out, at);
                    *out += &format!("\"{key}\"{blanks}:{blanks}");
                    value.write(blanks, out);
                    out.push_str(blanks);
                }
                out.push('}');
            }
        }
    }
}

/// A key that holds JSON.
pub(crate) const EMBEDDED_KEY: &str = r#"[{\"\u005ftoolCallId\":1}]"#;

fn keys() -> impl Strategy<Value = String> {
    let spelled = [
        r"\u005ftoolCallId",
        r"_tool\u0043allId",
        r"\u005FcrossfeedParts",
        "_id",
        "_toolCallIds",
        "_",
        r"\u005f",
        "a",
        "b_",
        "é",
        r"a\/\n",
        r"\ud83d",
        EMBEDDED_KEY,
        r#"{\"a\":{\"b_\":1}}"#,
        "a = 1",
    ];
    prop_oneof![
        select(FIELDS.to_vec()).prop_map(str::to_owned),
        select(spelled.to_vec()).prop_map(str::to_owned),
        "[a-z]{0,6}",
    ]
}

/// Nestings of objects, lists and strings that hold JSON, in which internal fields stand anywhere.
pub(crate) fn nesting() -> impl Strategy<Value = Nesting> {
    let texts = [
        "plain",
        "",
        "_toolCallId",
        "{\"_toolCallId\":1",
        "{ no json }",
        "he said \"_toolCallId\": 1",
        "[1,2",
        "a=12",
        "\"B_ is 34\"",
        "é\u{1f600}\u{1}\n",
    ];
    let leaf = prop_oneof![
        select(["null", "true", "-1.50e3", "18446744073709551616", "0"].as_slice())
            .prop_map(|text| Json::Atom(text.to_owned())),
        select(texts.to_vec()).prop_map(|text| Json::Text(text.to_owned())),
        any::<String>().prop_map(Json::Text),
    ];
    let json = leaf.prop_recursive(6, 40, 6, |inner| {
        prop_oneof![
            3 => vec((keys(), inner.clone()), 0..6).prop_map(Json::Object),
            1 => vec(inner.clone(), 0..4).prop_map(Json::List),
            2 => inner.prop_map(|json| Json::Embedded(Box::new(json))),
        ]
    });
    let blanks = select(["", "", " ", "\n  ", "\t\r"].as_slice());
    (json, blanks).prop_map(|(json, blanks)| {
        let mut text = blanks.to_owned();
        json.write(blanks, &mut text);
        text.push_str(blanks);
        Nesting { json, blanks, text }
    })
}

/// Every key of a text, at every level of JSON in strings, by a reader of its own.
pub(crate) fn keys_at_all_levels(text: &str) -> Vec<String> {
    let mut keys = Vec::new();
    let mut texts = vec![text.to_owned()];
    while let Some(text) = texts.pop() {
        let Ok(value) = read(&text) else { continue };
        let mut values = vec![value];
        while let Some(value) = values.pop() {
            match value {
                Read::Text(text) => texts.push(text),
                Read::List(items) => values.extend(items),
                Read::Object(members) => {
                    for (key, value) in members {
                        // A key may hold JSON.
                        texts.push(key.clone());
                        keys.push(key);
                        values.push(value);
                    }
                }
                Read::Other => {}
            }
        }
    }
    keys
}

/// What serde_json reads, with each occurrence of a key.
pub(crate) enum Read {
    Text(String),
    List(Vec<Read>),
    Object(Vec<(String, Read)>),
    Other,
}

/// What serde_json reads. It refuses lone surrogates, which are JSON: they are replaced before.
pub(crate) fn read(text: &str) -> Result<Read, serde_json::Error> {
    serde_json::from_str(&without_lone_surrogates(text))
}

fn without_lone_surrogates(text: &str) -> String {
    let unit = |rest: &str| {
        let digits = rest.strip_prefix(r"\u")?.get(..4)?;
        u16::from_str_radix(digits, 16).ok()
    };
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let next = rest.get(6..).and_then(unit);
        let len = match (unit(rest), next) {
            (Some(0xd800..0xdc00), Some(0xdc00..0xe000)) => 12,
            (Some(0xd800..0xe000), _) => {
                out.push_str(r"\ufffd");
                rest = &rest[6..];
                continue;
            }
            (Some(_), _) => 6,
            (None, _) => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
        };
        out.push_str(&rest[..len]);
        rest = &rest[len..];
    }
    out + rest
}

impl<'de> serde::Deserialize<'de> for Read {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = Read;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("JSON")
            }
            fn visit_bool<E>(self, _: bool) -> Result<Read, E> {
                Ok(Read::Other)
            }
            fn visit_i64<E>(self, _: i64) -> Result<Read, E> {
                Ok(Read::Other)
            }
            fn visit_u64<E>(self, _: u64) -> Result<Read, E> {
                Ok(Read::Other)
            }
            fn visit_f64<E>(self, _: f64) -> Result<Read, E> {
                Ok(Read::Other)
            }
            fn visit_unit<E>(self) -> Result<Read, E> {
                Ok(Read::Other)
            }
            fn visit_str<E>(self, text: &str) -> Result<Read, E> {
                Ok(Read::Text(text.to_owned()))
            }
            fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut seq: A) -> Result<Read, A::Error> {
                let mut items = Vec::new();
                while let Some(item) = seq.next_element()? {
                    items.push(item);
                }
                Ok(Read::List(items))
            }
            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Read, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Read::Object(members))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}
