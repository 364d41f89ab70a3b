use super::{asked, tool};
use crate::{Capability, Projector, Reply};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use crossfeed_json::Document;
use crossfeed_projection::RevealRules;
use proptest::{collection::vec, prelude::*};
use serde_json::{Map, Value, json};

const NAMES: [&str; 5] = ["id", "body", "pw", "items", "text"];

fn name() -> impl Strategy<Value = String> {
    proptest::sample::select(&NAMES[..]).prop_map(str::to_owned)
}

fn value() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        (0..9).prop_map(Value::from),
        Just(Value::Null),
        name().prop_map(Value::from)
    ];
    scalar.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Value::from),
            vec((name(), inner), 0..4)
                .prop_map(|m| Value::Object(m.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

fn part() -> impl Strategy<Value = Value> {
    prop_oneof![
        value().prop_map(|value| json!({"type": "text", "text": value.to_string()})),
        Just(json!({"type": "text", "text": "the pw is pw"})),
        Just(json!({"type": "text", "text": "hello"})),
        Just(json!({"type": "image", "data": "aa"})),
        value()
            .prop_map(|value| json!({"type": "resource", "resource": {"text": value.to_string()}})),
    ]
}

fn result() -> impl Strategy<Value = Value> {
    let own = prop_oneof![2 => value().prop_map(Some), 1 => Just(None)];
    let error = prop_oneof![3 => Just(None), 1 => any::<bool>().prop_map(Some)];
    let meta = prop_oneof![2 => Just(None), 1 => value().prop_map(Some)];
    (vec(part(), 0..4), own, error, meta).prop_map(|(content, own, error, meta)| {
        let mut result = json!({"content": content});
        if let Some(own) = own {
            result["structuredContent"] = own;
        }
        if let Some(error) = error {
            result["isError"] = error.into();
        }
        if let Some(meta) = meta {
            result["_meta"] = meta;
        }
        result
    })
}

fn request() -> impl Strategy<Value = Value> {
    let fields = vec(
        prop_oneof![
            name(),
            Just("items[].id".to_owned()),
            Just("a..b".to_owned())
        ],
        0..3,
    );
    prop_oneof![
        Just(Value::Null),
        (any::<bool>(), fields).prop_map(|(keep, fields)| {
            json!({"mode": if keep { "include" } else { "exclude" }, "fields": fields})
        }),
        Just(json!({"mode": "view", "view": "brief"})),
    ]
}

const SECRET: &str = "S3CR3T";

/// A value that holds the secret where it is hidden, and nowhere else.
fn secret() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!({"pw": SECRET})),
        Just(json!({"pw": {"n": [SECRET]}, "id": 1})),
        Just(json!(format!("{{\"pw\":\"{SECRET}\"}}"))),
        Just(json!({"id": 1, "body": "b"})),
    ];
    leaf.prop_recursive(2, 6, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Value::from),
            (inner.clone(), inner).prop_map(|(a, b)| json!({"items": a, "text": b})),
        ]
    })
}

/// A part that holds it, or repeats it.
fn planted_part() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        2 => secret().prop_map(|value| value.to_string()),
        1 => Just(format!("the pw is {SECRET}")),
        1 => Just(format!("it is {SECRET}")),
    ];
    let made = (0..8, text, secret()).prop_map(|(kind, text, value)| {
        let blob = STANDARD.encode(&text);
        match kind {
            0 | 1 => json!({"type": "text", "text": text, "_meta": value}),
            2 => json!({"type": "resource", "resource": {"uri": "u", "text": text, "_meta": value}}),
            3 => json!({"type": "resource", "resource": {"uri": "u", "blob": blob, "x": value}}),
            4 => json!({"type": "resource_link", "uri": "u", "name": "n", "description": text, "x": value}),
            5 => json!({"type": "image", "mimeType": "text/plain", "data": blob, "annotations": value}),
            6 => json!({"type": "data", "data": value}),
            _ => json!(text),
        }
    });
    (made, any::<bool>()).prop_map(|(mut part, named)| {
        if let (true, Some(part)) = (named, part.as_object_mut()) {
            part.insert("pw".to_owned(), json!(SECRET));
        }
        part
    })
}

/// A result with a hidden field, which its texts may repeat.
fn planted() -> impl Strategy<Value = Value> {
    let place = proptest::sample::select(&["structuredContent", "_meta", "x", "isError"][..]);
    let content = prop_oneof![4 => vec(planted_part(), 0..4).prop_map(Value::from), 1 => secret()];
    (content, place, secret(), proptest::option::of(secret())).prop_map(
        |(content, place, value, own)| {
            let mut result = json!({"content": content, place: {"pw": SECRET, "items": value}});
            if let Some(own) = own {
                result["structuredContent"] = json!({"items": own, "pw": SECRET});
            }
            result
        },
    )
}

/// Whether something is told: by name, by value, in bytes.
fn tells(value: &Value, what: &str) -> bool {
    match value {
        Value::Object(members) => members.iter().any(|(key, v)| key == what || tells(v, what)),
        Value::Array(items) => items.iter().any(|item| tells(item, what)),
        Value::String(text) => {
            let bytes = STANDARD.decode(text).unwrap_or_default();
            text.contains(what) || String::from_utf8_lossy(&bytes).contains(what)
        }
        _ => false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn what_is_claimed_is_so(result in result(), request in request()) {
        let raw = result.to_string();
        let document = Document::new(raw.clone());
        let projector = Projector::new(Capability::default());
        let projected = projector.project(&tool(), &asked(request.clone()), &document).unwrap();
        let mut written: Value = serde_json::from_slice(&projected.json).unwrap();
        let is_error = result.get("isError") == Some(&json!(true));
        let Some(reply) = projected.reply else {
            prop_assert!(request.is_null() || is_error);
            prop_assert_eq!(&*projected.json, raw.as_bytes());
            return Ok(());
        };
        prop_assert_eq!(reply.applied, Reply::is_applied(&written));
        prop_assert_eq!(reply.applied, reply.reason.is_none());
        if !reply.applied {
            prop_assert!(reply.fields.is_none() && reply.projected_schema.is_none());
            let was = result.get("_meta").filter(|meta| meta.is_object()).cloned();
            let meta = written.as_object_mut().unwrap().shift_remove("_meta").unwrap();
            let mut meta = meta.as_object().unwrap().clone();
            meta.shift_remove(crate::KEY);
            prop_assert_eq!(Value::Object(meta), was.unwrap_or(json!({})));
            let mut rest = result.clone();
            rest.as_object_mut().unwrap().shift_remove("_meta");
            prop_assert_eq!(written, rest);
            return Ok(());
        }
        // Content and structured content agree.
        let texts: Vec<&str> = written["content"].as_array().unwrap().iter()
            .filter(|part| part["type"] == "text").filter_map(|part| part["text"].as_str()).collect();
        prop_assert!(texts.len() <= 1);
        if let (Some(text), Some(own)) = (texts.first(), written.get("structuredContent").filter(|own| !own.is_null())) {
            prop_assert_eq!(&serde_json::from_str::<Value>(text).unwrap(), own);
        }
        if let Some(schema) = &reply.projected_schema {
            let validator = crossfeed_schema::compile(schema).unwrap();
            prop_assert!(validator.is_valid(&written["structuredContent"]));
        }
    }

    #[test]
    fn what_is_hidden_is_nowhere(result in planted(), request in request()) {
        let document = Document::new(result.to_string());
        let rules = || RevealRules::parse([""; 0], ["pw"]).unwrap();
        let projector = Projector::new(Capability::default()).with_rules(rules());
        let projected = projector.project(&tool(), &asked(request.clone()), &document).unwrap();
        let mut written: Value = serde_json::from_slice(&projected.json).unwrap();
        prop_assert!(!tells(&written, SECRET), "{} of {}", written, result);
        // What the request names itself is said back to it.
        let is_named = tells(&request, "pw");
        if is_named && let Some(meta) = written.get_mut("_meta").and_then(Value::as_object_mut) {
            meta.shift_remove(crate::KEY);
        }
        prop_assert!(!tells(&written, "pw"), "{} of {}", written, result);
        // It is cut of what the rules leave, and of nothing else.
        let shown = rules().redact_result(document.root().unwrap());
        let shown = shown.map_or_else(|| result.to_string(), |shown| String::from_utf8(shown.json).unwrap());
        let shown = Document::new(shown);
        let again = Projector::new(Capability::default()).project(&tool(), &asked(request), &shown).unwrap();
        let mut again: Value = serde_json::from_slice(&again.json).unwrap();
        for result in [&mut written, &mut again] {
            result.as_object_mut().unwrap().shift_remove("_meta");
            result.as_object_mut().unwrap().shift_remove("content");
        }
        prop_assert_eq!(written, again);
    }
}
