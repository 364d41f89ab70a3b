use super::reference::Reference;
use crate::{Path, PathTree, Projection, RevealRules, Step};
use crossfeed_json::{Cursor, Document, Kind};
use proptest::{collection::vec, prelude::*};
use serde_json::{Map, Value, json};

const NAMES: [&str; 7] = ["a", "b", "id", "pw", "x y", "", "ü"];

fn name() -> impl Strategy<Value = String> {
    proptest::sample::select(&NAMES[..]).prop_map(str::to_owned)
}

fn value() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (0..100).prop_map(Value::from),
        name().prop_map(Value::from),
        Just(json!("say \"pw\" aloud")),
    ];
    scalar.prop_recursive(5, 40, 5, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec((name(), inner.clone()), 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect::<Map<_, _>>())),
            // JSON within a string.
            inner.prop_map(|inner| Value::from(inner.to_string())),
        ]
    })
}

fn step(indexes: bool) -> impl Strategy<Value = Step> {
    let index = if indexes {
        (0..3_usize).prop_map(Step::Index).boxed()
    } else {
        Just(Step::EachItem).boxed()
    };
    prop_oneof![
        5 => name().prop_map(Step::Key),
        1 => Just(Step::EachKey),
        1 => Just(Step::EachItem),
        1 => index,
    ]
}

fn paths(indexes: bool, most: usize) -> impl Strategy<Value = Vec<Path>> {
    let path = vec(step(indexes), 1..4).prop_map(|steps| Path::from_steps(steps).unwrap());
    vec(path, 0..most)
}

/// Paths of names alone: what rules are mostly made of.
fn plain_paths(most: usize) -> impl Strategy<Value = Vec<Path>> {
    let path = vec(name().prop_map(Step::Key), 1..3);
    vec(
        path.prop_map(|steps| Path::from_steps(steps).unwrap()),
        0..most,
    )
}

fn asked(include: &[Path], exclude: &[Path], always: &[Path], never: &[Path]) -> Projection {
    let rules = RevealRules::new(always.iter().cloned(), never.iter().cloned());
    Projection::new()
        .with_include(PathTree::new(include.iter().cloned()))
        .with_exclude(PathTree::new(exclude.iter().cloned()))
        .with_rules(rules)
}

fn write(projection: &Projection, json: &str) -> String {
    super::run(projection, json).0
}

/// Whether a key of this name stands anywhere, JSON in strings included.
fn holds(value: &Value, name: &str) -> bool {
    match value {
        Value::Object(members) => {
            members.contains_key(name) || members.values().any(|value| holds(value, name))
        }
        Value::Array(items) => items.iter().any(|item| holds(item, name)),
        Value::String(text) => {
            serde_json::from_str::<Value>(text).is_ok_and(|inner| holds(&inner, name))
        }
        _ => false,
    }
}

/// The escaped form of a text: each character as `\u` and four digits.
fn escaped(value: &Value) -> String {
    let quote = |text: &str| {
        let units: String = text
            .encode_utf16()
            .map(|unit| format!("\\u{unit:04x}"))
            .collect();
        format!("\"{units}\"")
    };
    match value {
        Value::Object(members) => {
            let members: Vec<_> = members
                .iter()
                .map(|(key, value)| format!("{} : {}", quote(key), escaped(value)))
                .collect();
            format!("{{{}}}", members.join(" , "))
        }
        Value::Array(items) => {
            format!(
                "[{}]",
                items.iter().map(escaped).collect::<Vec<_>>().join(" , ")
            )
        }
        Value::String(text) => quote(text),
        scalar => scalar.to_string(),
    }
}

/// Scalars of `out` stand in `source` at the same place, byte for byte; keys in the same order.
fn stands_in(out: Cursor<'_>, source: Cursor<'_>) -> bool {
    if out.kind() != source.kind() {
        return false;
    }
    match out.kind() {
        Kind::Object => {
            let mut rest = source.members();
            let mut in_order = |key: &[u8]| rest.any(|(own, _)| own.raw() == key);
            out.members().all(|(key, value)| {
                in_order(key.raw())
                    && source
                        .get(&key.text())
                        .is_some_and(|own| stands_in(value, own))
            })
        }
        Kind::Array => {
            out.len() == source.len()
                && out
                    .items()
                    .zip(source.items())
                    .all(|(out, source)| stands_in(out, source))
        }
        _ => out.raw() == source.raw(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn it_is_what_the_rules_say(
        value in value(),
        include in paths(true, 5),
        exclude in paths(true, 4),
    ) {
        let json = value.to_string();
        let reference = Reference { include: include.clone(), exclude: exclude.clone(), always: Vec::new(), never: Vec::new() };
        let out = write(&asked(&include, &exclude, &[], &[]), &json);
        prop_assert_eq!(out, reference.project(&value).to_string());
    }

    #[test]
    fn it_is_what_the_rules_say_with_rules(
        value in value(),
        include in paths(false, 4),
        exclude in paths(false, 3),
        always in plain_paths(3),
        never in plain_paths(3),
    ) {
        let json = value.to_string();
        let projection = asked(&include, &exclude, &always, &never);
        let out = write(&projection, &json);
        let unescaped: Value = serde_json::from_str(&write(&projection, &escaped(&value))).unwrap();
        let reference = Reference { include, exclude, always, never };
        let expected = reference.project(&value);
        prop_assert_eq!(out, expected.to_string());
        // However its keys and strings are written.
        prop_assert_eq!(unescaped.to_string(), expected.to_string());
    }

    #[test]
    fn include_then_exclude_is_their_composition(
        value in value(),
        include in paths(true, 5),
        exclude in paths(true, 4),
        always in plain_paths(3),
    ) {
        let json = value.to_string();
        let at_once = write(&asked(&include, &exclude, &always, &[]), &json);
        let included = write(&asked(&include, &[], &always, &[]), &json);
        let then = write(&asked(&[], &exclude, &always, &[]), &included);
        prop_assert_eq!(at_once, then);
    }

    #[test]
    fn twice_is_once(
        value in value(),
        include in paths(false, 5),
        exclude in paths(false, 4),
        always in plain_paths(3),
        never in plain_paths(3),
    ) {
        let projection = asked(&include, &exclude, &always, &never);
        let once = write(&projection, &value.to_string());
        prop_assert_eq!(write(&projection, &once), once);
    }

    #[test]
    fn what_stays_stands_as_it_stood(
        value in value(),
        include in paths(false, 5),
        exclude in plain_paths(4),
    ) {
        let source = Document::new(value.to_string());
        let out = Document::new(write(&asked(&include, &exclude, &[], &[]), &value.to_string()));
        prop_assert!(stands_in(out.root().unwrap(), source.root().unwrap()));
    }

    #[test]
    fn never_is_nowhere_and_always_is_there(
        value in value(),
        include in paths(true, 4),
        exclude in paths(true, 4),
    ) {
        let projection = asked(&include, &exclude, &[Path::key("id")], &[Path::key("pw")]);
        for json in [value.to_string(), escaped(&value)] {
            let out: Value = serde_json::from_str(&write(&projection, &json)).unwrap();
            prop_assert!(!holds(&out, "pw"), "{}", out);
            if let Some(id) = value.get("id") {
                let kept = out.get("id").unwrap();
                prop_assert!(holds(id, "pw") || kept == id);
            }
        }
    }

    #[test]
    fn duplicate_keys_are_as_if_written_once(
        members in vec((name(), value()), 0..6),
        include in paths(true, 4),
        exclude in paths(true, 3),
        never in plain_paths(2),
    ) {
        let members: Vec<String> = members
            .iter()
            .map(|(name, value)| format!("{} :\n{value}", crossfeed_json::quoted(name)))
            .collect();
        let json = format!("[ {{{}}} ]", members.join(" , "));
        let document = Document::new(json.clone());
        let mut once = Vec::new();
        document.root().unwrap().write_compact(&mut once);
        let once = String::from_utf8(once).unwrap();
        let projection = asked(&include, &exclude, &[], &never);
        let compact = |json: &str| {
            let out = Document::new(write(&projection, json));
            let mut compact = Vec::new();
            out.root().unwrap().write_compact(&mut compact);
            compact
        };
        prop_assert_eq!(compact(&json), compact(&once));
    }

    #[test]
    fn redacting_is_projecting_with_nothing_asked(value in value(), never in plain_paths(4)) {
        let json = value.to_string();
        let document = Document::new(json.clone());
        let rules = RevealRules::new([], never.iter().cloned());
        let mut out = Vec::new();
        let redacted = rules.redact(document.root().unwrap(), &mut out);
        let out = String::from_utf8(out).unwrap();
        prop_assert_eq!(&out, &write(&asked(&[], &[], &[], &never), &json));
        prop_assert_eq!(redacted.any(), out != json);
    }

    #[test]
    fn a_place_says_what_the_engine_does(
        value in value(),
        include in paths(true, 5),
        exclude in paths(true, 4),
        always in plain_paths(3),
        never in plain_paths(3),
    ) {
        let projection = asked(&include, &exclude, &always, &never);
        let out: Value = serde_json::from_str(&write(&projection, &value.to_string())).unwrap();
        prop_assert!(agrees(&value, Some(&out), &projection.root()), "{} {}", value, out);
    }
}

/// Whether `out` is what `place` says of `value`; positions among kept items are tried out.
fn agrees(value: &Value, out: Option<&Value>, place: &crate::Place<'_>) -> bool {
    let Some(out) = out else {
        return place.is_gone();
    };
    if place.is_gone() {
        return false;
    }
    if place.is_whole() {
        return value == out;
    }
    match (value, out) {
        (Value::Object(source), Value::Object(members)) => {
            let named = place.named_keys();
            source.iter().all(|(key, value)| {
                let child = place.key(key);
                (named.contains(&key.as_str()) || child == place.other_key())
                    && agrees(value, members.get(key), &child)
            })
        }
        (Value::Array(source), Value::Array(items)) if !place.has_indexes() => {
            let each = place.each_item();
            if each.is_gone() {
                return items.is_empty();
            }
            place.item_places() == Some(vec![each.clone()])
                && source.len() == items.len()
                && source
                    .iter()
                    .zip(items)
                    .all(|(value, out)| agrees(value, Some(out), &each))
        }
        (Value::Array(source), Value::Array(items)) => {
            // Each item that stays fared in one of the ways that are named.
            let places = place.item_places().unwrap();
            items.len() <= source.len()
                && items.iter().all(|out| {
                    let mut fits = source
                        .iter()
                        .flat_map(|value| places.iter().map(move |place| (value, place)));
                    fits.any(|(value, place)| agrees(value, Some(out), place))
                })
        }
        (Value::String(_), Value::String(_)) => value == out || place.rewrites_strings(),
        _ => value == out,
    }
}
