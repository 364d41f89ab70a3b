use super::{asked, tool};
use crate::{Capability, Projector, Reply};
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

/// Whether a field of this name is anywhere, JSON in strings included; of a text that is no JSON,
/// whether it has the word.
fn holds(value: &Value, name: &str) -> bool {
    match value {
        Value::Object(members) => {
            members.contains_key(name) || members.values().any(|v| holds(v, name))
        }
        Value::Array(items) => items.iter().any(|item| holds(item, name)),
        Value::String(text) => {
            serde_json::from_str::<Value>(text).is_ok_and(|inner| holds(&inner, name))
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
    fn what_is_hidden_is_nowhere(result in result(), request in request()) {
        let document = Document::new(result.to_string());
        let rules = RevealRules::parse([""; 0], ["pw"]).unwrap();
        let projector = Projector::new(Capability::default()).with_rules(rules);
        let projected = projector.project(&tool(), &asked(request), &document).unwrap();
        let mut written: Value = serde_json::from_slice(&projected.json).unwrap();
        // The schema that is announced may say of the field that it is not there.
        if let Some(meta) = written.get_mut("_meta").and_then(Value::as_object_mut) {
            meta.shift_remove(crate::KEY);
        }
        prop_assert!(!holds(&written, "pw"), "{}", written);
        prop_assert!(!written.to_string().contains("the pw is"), "{}", written);
    }
}
