//! The crate against other readers of JSON: serde_json, a naive model, a public test suite.

mod grammar;
mod look_ups;
mod packing;
mod suite;
mod tables;

use proptest::{collection::vec, prelude::*, sample::select};

/// A JSON value as it is written.
#[derive(Clone, Debug)]
pub(crate) enum Json {
    /// A scalar.
    Atom(String),
    Array(Vec<Json>),
    /// Keys are as written, without quotes.
    Object(Vec<(String, Json)>),
}

/// Keys with every kind of escape, and several spellings of the same ones.
fn keys() -> impl Strategy<Value = String> {
    let few = [
        "a",
        r"\u0061",
        "b",
        "",
        "é",
        r"\u00e9",
        r"\n",
        r"\\",
        "\u{1f600}",
        r"\ud83d\ude00",
        "a_key_of_17_bytes",
        r"a_key_of_17_byte\u0073",
        "eightbyt",
        "a_rather_long_key_of_33_bytes____",
    ];
    prop_oneof![
        select(few.to_vec()).prop_map(str::to_owned),
        (0..30).prop_map(|n| format!("k{n}")),
        "[a-z]{0,40}",
    ]
}

pub(crate) fn json() -> impl Strategy<Value = Json> {
    let atom = prop_oneof![
        select(
            [
                "null",
                "true",
                "false",
                "0",
                "-0",
                "1e5",
                "-12.50e-3",
                "18446744073709551616"
            ]
            .as_slice()
        )
        .prop_map(str::to_owned),
        any::<i64>().prop_map(|n| n.to_string()),
        // Exact in binary: serde_json's default reader can be off by one in the last digit.
        any::<i32>().prop_map(|n| (f64::from(n) / 8.0).to_string()),
        any::<String>().prop_map(|text| crate::quoted(&text)),
        keys().prop_map(|key| format!("\"{key}\"")),
    ];
    atom.prop_map(Json::Atom)
        .prop_recursive(5, 80, 20, |inner| {
            let members = vec((keys(), inner.clone()), 0..20);
            prop_oneof![
                vec(inner.clone(), 0..8).prop_map(Json::Array),
                members.prop_map(Json::Object),
                // Objects of one shape, with an odd one among them now and then.
                (
                    vec((keys(), inner.clone()), 0..20),
                    vec(inner, 1..6),
                    any::<proptest::sample::Index>()
                )
                    .prop_map(|(members, values, odd)| {
                        let mut objects: Vec<_> = values
                            .iter()
                            .map(|value| {
                                members
                                    .iter()
                                    .map(|(key, _)| (key.clone(), value.clone()))
                                    .collect::<Vec<_>>()
                            })
                            .collect();
                        let odd = odd.index(objects.len());
                        if let Some(first) = objects[odd].first().cloned() {
                            objects[odd].push(first);
                        }
                        Json::Array(objects.into_iter().map(Json::Object).collect())
                    }),
            ]
        })
}

impl Json {
    /// The text, with blanks between all tokens.
    pub(crate) fn text(&self, blanks: &str) -> String {
        let mut out = blanks.to_owned();
        self.write(blanks, &mut out);
        out.push_str(blanks);
        out
    }

    fn write(&self, blanks: &str, out: &mut String) {
        let list =
            |out: &mut String, open: char, close: char, items: Vec<(Option<&String>, &Self)>| {
                out.push(open);
                out.push_str(blanks);
                for (index, (key, value)) in items.into_iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                        out.push_str(blanks);
                    }
                    if let Some(key) = key {
                        out.push_str(&format!("\"{key}\"{blanks}:{blanks}"));
                    }
                    value.write(blanks, out);
                    out.push_str(blanks);
                }
                out.push(close);
            };
        match self {
            Self::Atom(text) => out.push_str(text),
            Self::Array(items) => list(
                out,
                '[',
                ']',
                items.iter().map(|item| (None, item)).collect(),
            ),
            Self::Object(members) => {
                list(
                    out,
                    '{',
                    '}',
                    members
                        .iter()
                        .map(|(key, value)| (Some(key), value))
                        .collect(),
                );
            }
        }
    }

    /// The same without earlier values of keys that occur again, each key at its first place.
    fn deduplicated(&self) -> Self {
        match self {
            Self::Atom(_) => self.clone(),
            Self::Array(items) => Self::Array(items.iter().map(Self::deduplicated).collect()),
            Self::Object(members) => {
                let mut list: Vec<(String, Self)> = Vec::new();
                for (key, value) in members {
                    let member = (key.clone(), value.deduplicated());
                    match list
                        .iter_mut()
                        .find(|(known, _)| decoded(known) == decoded(key))
                    {
                        Some(place) => *place = member,
                        None => list.push(member),
                    }
                }
                Self::Object(list)
            }
        }
    }
}

fn decoded(key: &str) -> String {
    // What it refuses are the lone surrogates, which are whole keys here.
    serde_json::from_str(&format!("\"{key}\"")).unwrap_or_else(|_| "\u{fffd}".to_owned())
}

pub(crate) fn blanks() -> impl Strategy<Value = &'static str> {
    select(["", "", " ", "\n    ", "\t\r\n", "\n            "].as_slice())
}
