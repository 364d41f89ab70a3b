use crate::RevealRules;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use crossfeed_json::Document;
use proptest::{collection::vec, prelude::*};
use serde_json::{Value, json};

const SECRET: &str = "S3CR3T";

/// A value that may hold what is hidden, and that under no other name.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!({"pw": SECRET})),
        Just(json!({"pw": {"n": [SECRET]}, "id": 1})),
        Just(json!(format!("{{\"pw\":\"{SECRET}\"}}"))),
        Just(json!({"id": 1})),
        Just(Value::Null),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Value::from),
            (inner.clone(), inner).prop_map(|(a, b)| json!({"a": a, "text": b})),
        ]
    })
}

/// A text: JSON, what names it, or what may repeat it without a name.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        value().prop_map(|value| value.to_string()),
        Just(format!("the pw is {SECRET}")),
        Just("hello".to_owned()),
        Just(format!("it is {SECRET}")),
    ]
}

fn part() -> impl Strategy<Value = Value> {
    let made = (0..8, text(), value()).prop_map(|(kind, text, value)| {
        let blob = STANDARD.encode(&text);
        match kind {
            0 => json!({"type": "text", "text": text, "_meta": value}),
            1 => json!({"type": "resource", "resource": {"uri": "u", "text": text, "_meta": value}}),
            2 => json!({"type": "resource", "resource": {"uri": "u", "blob": blob, "x": value}}),
            3 => json!({"type": "resource_link", "uri": "u", "name": "n", "description": text, "x": value}),
            4 => json!({"type": "image", "mimeType": "text/plain", "data": blob, "annotations": value}),
            5 => json!({"type": "data", "data": value}),
            6 => json!(text),
            _ => value,
        }
    });
    (made, any::<bool>()).prop_map(|(mut part, named)| {
        if let (true, Some(part)) = (named, part.as_object_mut()) {
            part.insert("pw".to_owned(), json!(SECRET));
        }
        part
    })
}

fn result() -> impl Strategy<Value = Value> {
    let content = prop_oneof![
        4 => vec(part(), 0..4).prop_map(Value::from),
        1 => value(),
        1 => text().prop_map(Value::from),
    ];
    (content, vec(value(), 3), 0..8).prop_map(|(content, own, which)| {
        let mut result = json!({"content": content});
        for (at, key) in ["structuredContent", "_meta", "isError"].iter().enumerate() {
            if which & (1 << at) != 0 {
                result[key] = own[at].clone();
            }
        }
        result
    })
}

/// Whether something is told: by name, by value, in bytes.
fn tells(value: &Value, what: &str) -> bool {
    match value {
        Value::Object(members) => members
            .iter()
            .any(|(key, value)| key == what || tells(value, what)),
        Value::Array(items) => items.iter().any(|item| tells(item, what)),
        Value::String(text) => {
            let bytes = STANDARD.decode(text).unwrap_or_default();
            text.contains(what) || String::from_utf8_lossy(&bytes).contains(what)
        }
        _ => false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn what_is_hidden_is_nowhere(result in result()) {
        let rules = RevealRules::parse([""; 0], ["pw"]).unwrap();
        let document = Document::new(result.to_string());
        let shown = rules.redact_result(document.root().unwrap());
        let names = tells(&result, "pw");
        prop_assert_eq!(shown.is_some(), names, "{}", result);
        let Some(shown) = shown else { return Ok(()) };
        prop_assert!(shown.is_cut);
        let left: Value = serde_json::from_slice(&shown.json).unwrap();
        prop_assert!(!tells(&left, "pw"), "{} of {}", left, result);
        // A text that repeats it beside a text that names it is no proof.
        let prose = tells(&result, &format!("the pw is {SECRET}"));
        prop_assert!(prose || !tells(&left, SECRET), "{} of {}", left, result);
        // What is left hides nothing more.
        let again = Document::new(shown.json.clone());
        prop_assert_eq!(rules.redact_result(again.root().unwrap()), None, "{}", left);
    }
}
