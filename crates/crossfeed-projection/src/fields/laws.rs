//! What holds of every request on every value.

use crate::{
    Applied, Operation, Path, PathTree, Plan, Projection, ProjectionError, ProjectionRequest,
    ResourceType, ResourceTypes, RevealRules, Views,
};
use crossfeed_json::{Cursor, Document};
use proptest::{collection::vec, prelude::*, sample::select};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// Names that are fields, envelopes, pagination, and traps.
const NAMES: [&str; 12] = [
    "id",
    "a",
    "b",
    "items",
    "data",
    "next",
    "node",
    "edges",
    "",
    "__proto__",
    "_computed",
    "a.b",
];

fn name() -> impl Strategy<Value = String> {
    select(NAMES.to_vec()).prop_map(str::to_owned)
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a-c]{0,3}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec((name(), inner), 0..5)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn object() -> impl Strategy<Value = Map<String, Value>> {
    vec((name(), value()), 0..5).prop_map(|members| members.into_iter().collect())
}

/// The text of a path that may be asked for.
fn path() -> impl Strategy<Value = String> {
    vec(
        select(vec![
            "id",
            "a",
            "b",
            "items",
            "data",
            "node",
            "*",
            "_computed",
        ]),
        1..4,
    )
    .prop_map(|names| names.join("."))
}

fn paths() -> impl Strategy<Value = Vec<String>> {
    vec(path(), 0..6)
}

/// What a model may write in place of a request.
fn request() -> impl Strategy<Value = Value> {
    let names = vec(
        "include|exclude|view|_select|select|fields|_fields|preset",
        0..5,
    );
    let written = prop_oneof![
        value(),
        path().prop_map(Value::from),
        paths().prop_map(|paths| json!(paths)),
        select(vec!["minimal", "full", "p", "[", "a..b", ""]).prop_map(Value::from),
    ];
    let members = vec(written, 5);
    let request = (names, members)
        .prop_map(|(names, members)| Value::Object(names.into_iter().zip(members).collect()));
    prop_oneof![9 => request, 1 => value()]
}

fn kind(minimal: &[String]) -> ResourceType {
    ResourceType::new("kind")
        .with_preset("minimal", minimal)
        .unwrap()
}

fn plan(request: &ProjectionRequest, kind: &ResourceType) -> Result<Plan, ProjectionError> {
    request.plan(&Views::new(), Some(kind), None, &Arc::default())
}

fn project(plan: &Plan, value: &str) -> Result<(String, Applied), ProjectionError> {
    let document = Document::new(value.to_owned());
    let mut out = Vec::new();
    let applied = plan.project(document.root().unwrap(), &mut out)?;
    Ok((String::from_utf8(out).unwrap(), applied))
}

fn written(value: Cursor<'_>) -> String {
    let mut out = Vec::new();
    value.write(&mut out);
    String::from_utf8(out).unwrap()
}

fn check(request: &ProjectionRequest, kind: &ResourceType, value: &Value) -> String {
    let plan = plan(request, kind).unwrap();
    project(&plan, &value.to_string()).unwrap().0
}

proptest! {
    #[test]
    fn no_request_and_no_value_is_too_bad(request in request(), value in value(), op in 0..4_usize) {
        let (request, _) = ProjectionRequest::from_value(&request);
        let kind = kind(&["id".to_owned()]);
        let operation = Operation::ALL.get(op).copied();
        let plan = request.plan(&Views::new(), Some(&kind), operation, &Arc::default());
        match plan.and_then(|plan| project(&plan, &value.to_string())) {
            Ok((projected, _)) => {
                let read: Value = serde_json::from_str(&projected).unwrap();
                prop_assert_eq!(read.is_object(), value.is_object());
                prop_assert_eq!(read.is_array(), value.is_array());
                if !value.is_object() && !value.is_array() {
                    prop_assert_eq!(read, value);
                }
            }
            Err(error) => {
                prop_assert!(!error.to_string().contains('\n'));
                prop_assert!(!error.advice().is_empty());
            }
        }
    }

    #[test]
    fn a_request_that_is_right_is_read_alike_by_both(request in request()) {
        let (lenient, ignored) = ProjectionRequest::from_value(&request);
        match ProjectionRequest::parse(&request) {
            Ok(strict) => {
                prop_assert_eq!(strict, lenient);
                prop_assert!(ignored.is_empty());
            }
            Err(_) => prop_assert!(!ignored.is_empty() || request.is_null()),
        }
    }

    #[test]
    fn a_request_is_read_back_as_it_was(request in request()) {
        let (request, _) = ProjectionRequest::from_value(&request);
        prop_assert_eq!(ProjectionRequest::parse(&request.to_value()), Ok(request));
    }

    #[test]
    fn the_order_of_spellings_does_not_count(
        minimal in paths(), fields in paths(), include in paths(), value in value(),
    ) {
        let asked = |minimal: &[String], fields: &[String], include: &[String]| {
            let request = ProjectionRequest::new()
                .with_preset("minimal")
                .with_fields(fields.to_vec())
                .with_include(include);
            // All that is asked of resources shows whether it is a collection.
            check(&request, &kind(minimal), &value)
        };
        let there = asked(&minimal, &fields, &include);
        prop_assert_eq!(&there, &asked(&fields, &minimal, &include));
        let back = |paths: &[String]| paths.iter().rev().cloned().collect::<Vec<_>>();
        prop_assert_eq!(&there, &asked(&back(&minimal), &back(&fields), &back(&include)));
        let joined = [minimal.join(","), fields.join(",")].join(",");
        let joined = vec![joined.trim_matches(',').to_owned()];
        if !joined[0].is_empty() {
            prop_assert_eq!(&there, &asked(&joined, &[], &include));
        }
    }

    #[test]
    fn everything_is_everything(fields in paths(), value in value()) {
        let whole = value.to_string();
        let request = ProjectionRequest::new().with_preset("full").with_fields(fields.clone());
        prop_assert_eq!(check(&request, &kind(&[]), &value), whole.clone());
        let request = ProjectionRequest::new().with_view("full").with_include(fields);
        prop_assert_eq!(check(&request, &kind(&[]), &value), whole.clone());
        let empty: [&str; 0] = [];
        let request = ProjectionRequest::new().with_include(empty).with_select(empty);
        prop_assert_eq!(check(&request, &kind(&[]), &value), whole);
    }

    #[test]
    fn envelopes_keep_all_but_their_items(
        rest in object(), items in vec(value(), 0..5), fields in vec(path(), 1..5), at in 0..3_usize,
    ) {
        let (key, inner) = [("items", None), ("edges", Some("node")), ("nodes", None)][at];
        let mut page = rest;
        // Nothing else in it is an envelope.
        for other in ["items", "data", "edges"] {
            page.shift_remove(other);
        }
        let wrapped = |item: &Value| match inner {
            Some(inner) => json!({"cursor": 1, inner: item}),
            None => item.clone(),
        };
        page.insert(key.to_owned(), items.iter().map(wrapped).collect());
        page.insert("digits".to_owned(), json!(null));
        let text = Value::Object(page).to_string().replace("\"digits\":null", "\"digits\":[1.50, 1e400]");
        let request = ProjectionRequest::new().with_fields(fields.clone());
        let plan = request
            .plan(&Views::new(), None, Some(Operation::Collection), &Arc::default())
            .unwrap();
        let (projected, _) = project(&plan, &text).unwrap();
        let is_page = |page: Document| plan.resolve(page.root().unwrap()).unwrap().1.is_some();
        prop_assert!(is_page(Document::new(text.clone())));
        let (before, after) = (Document::new(text), Document::new(projected));
        let (before, after) = (before.root().unwrap(), after.root().unwrap());
        prop_assert_eq!(before.len(), after.len());
        for (key_of, value) in before.members().filter(|(own, _)| own.text() != key) {
            let kept = after.get(&key_of.text()).unwrap();
            prop_assert_eq!(written(kept), written(value));
        }
        // Each item is what it is alone.
        let tree = PathTree::new(fields.iter().map(|text| Path::parse(text).unwrap()));
        let alone = Projection::new().with_include(tree);
        let (before, after) = (before.get(key).unwrap(), after.get(key).unwrap());
        prop_assert_eq!(before.len(), after.len());
        for (before, after) in before.items().zip(after.items()) {
            let (before, after) = match inner {
                Some(inner) => {
                    prop_assert_eq!(after.get("cursor").unwrap().raw(), b"1");
                    (before.get(inner).unwrap(), after.get(inner).unwrap())
                }
                None => (before, after),
            };
            let mut out = Vec::new();
            alone.write(before, &mut out);
            prop_assert_eq!(String::from_utf8(out).unwrap(), written(after));
        }
    }

    #[test]
    fn what_is_resolved_is_what_is_written(request in request(), value in value()) {
        let (request, _) = ProjectionRequest::from_value(&request);
        let kind = kind(&["id".to_owned(), "a.b".to_owned()]);
        if let Ok(plan) = plan(&request, &kind) {
            let text = value.to_string();
            let document = Document::new(text.clone());
            let root = document.root().unwrap();
            if let (Ok((projection, _)), Ok((projected, _))) = (plan.resolve(root), project(&plan, &text)) {
                let mut out = Vec::new();
                projection.write(root, &mut out);
                prop_assert_eq!(String::from_utf8(out).unwrap(), projected.clone());
                // Asking once more takes nothing more, where the value is still read alike.
                let again = Document::new(projected.clone());
                let mut out = Vec::new();
                projection.write(again.root().unwrap(), &mut out);
                prop_assert_eq!(String::from_utf8(out).unwrap(), projected);
            }
        }
    }

    #[test]
    fn never_rules_beat_every_request(request in request(), value in value()) {
        let rules = Arc::new(RevealRules::parse([""; 0], ["a", "items.b"]).unwrap());
        let (request, _) = ProjectionRequest::from_value(&request);
        let plan = request.plan(&Views::new(), None, None, &rules);
        if let Ok((projected, _)) = plan.and_then(|plan| project(&plan, &value.to_string())) {
            let hidden = projected.contains("\"a\":");
            prop_assert!(!hidden, "{}", projected);
        }
    }

    #[test]
    fn kinds_are_read_back_as_they_are_told(
        minimal in paths(), fields in paths(), names in vec("[a-z]{1,4}", 0..3),
    ) {
        let mut kind = kind(&minimal).with_fields(&fields).unwrap();
        for name in names {
            kind = kind.with_everything(name);
        }
        let told = ResourceTypes::new().with(kind).introspect();
        let read = ResourceTypes::parse(&told).unwrap();
        prop_assert_eq!(read.introspect().to_string(), told.to_string());
    }
}
