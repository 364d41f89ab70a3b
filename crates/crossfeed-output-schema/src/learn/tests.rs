//! What is learned, exactly; and that whatever was observed is valid by it, however little is kept.

use super::{DriftKind, LearnOptions, LearnedSchema};
use crossfeed_json::Document;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

fn learned(options: LearnOptions, results: &[Value]) -> LearnedSchema {
    let mut learned = LearnedSchema::new(options);
    for result in results {
        learned.observe(Document::new(result.to_string()).root().unwrap());
    }
    learned
}

/// The schema of some results, by which they are valid.
fn check(results: &[Value], schema: Value) {
    let learned = learned(LearnOptions::default(), results);
    let found = learned.schema().unwrap();
    assert_eq!(found.to_string(), schema.to_string());
    let validator = jsonschema::validator_for(&found).unwrap();
    for result in results {
        assert!(validator.is_valid(result), "{found} refuses {result}");
    }
    assert_eq!(learned.observations(), results.len() as u64);
}

#[test]
fn types_are_united() {
    check(&[json!(1)], json!({"type": "integer"}));
    check(&[json!(-1), json!(1.5)], json!({"type": "number"}));
    check(&[json!(1.5), json!(2)], json!({"type": "number"}));
    check(
        &[json!("a"), json!(null)],
        json!({"type": ["null", "string"]}),
    );
    check(
        &[json!([]), json!({})],
        json!({"type": ["array", "object"]}),
    );
    check(
        &[json!([1, "a", null]), json!([[true]])],
        json!({"type": "array", "items": {"type": ["null", "integer", "string", "array"], "items": {"type": "boolean"}}}),
    );
    assert_eq!(LearnedSchema::default().schema(), None);
}

#[test]
fn keys_are_required_while_all_had_them() {
    check(
        &[
            json!([{"a": 1, "b": 2}, {"b": 3, "c": null}]),
            json!([{"b": 1}]),
        ],
        json!({"type": "array", "items": {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}, "c": {"type": "null"}},
            "required": ["b"],
        }}),
    );
}

#[test]
fn keys_that_are_data_are_none() {
    let count = json!({"type": "integer"});
    let map = json!({"type": "object", "additionalProperties": count});
    check(&[json!({"2024-01-01": 1, "2024-01-02": 2})], map.clone());
    check(&[json!({"17": 1, "4": 2})], map.clone());
    let uuid = |n: u32| format!("{n:08x}-0000-4000-8000-000000000000");
    check(&[json!({uuid(1): 1, uuid(2): 1})], map.clone());
    let many = |count: usize, value: &dyn Fn(usize) -> Value| {
        let fields: Map<_, _> = (0..count).map(|n| (format!("k{n}x"), value(n))).collect();
        Value::Object(fields)
    };
    check(&[many(65, &|n| json!(n))], map.clone());
    // Ever new ones.
    let steps: Vec<_> = (0..9)
        .map(|n| json!({format!("a{n}x"): 1, format!("b{n}x"): 2}))
        .collect();
    check(&steps, map);
    // Words are not.
    let mixed = |n: usize| {
        if n.is_multiple_of(2) {
            json!(n)
        } else {
            json!("a")
        }
    };
    let wide = learned(LearnOptions::default(), &[many(150, &mixed)])
        .schema()
        .unwrap();
    assert_eq!(wide["properties"].as_object().unwrap().len(), 150);
    let wider = learned(LearnOptions::default(), &[many(201, &mixed)])
        .schema()
        .unwrap();
    // More than are looked at.
    let any = json!({"anyOf": [{"type": ["integer", "string"]}, true]});
    assert!(
        wider["properties"].is_null() && wider["additionalProperties"].is_object(),
        "{wider}"
    );
    assert_eq!(wider["additionalProperties"]["anyOf"][1], any["anyOf"][1]);
}

#[test]
fn what_changes_is_noted() {
    let results = [
        json!({"id": 1, "list": [{"a": 1}], "maybe": null}),
        json!({"id": 1.5, "list": [{"a": 1, "b": 2}], "maybe": "a"}),
        json!({"id": "x", "list": [{"a": 1}, {"b": 1}], "maybe": null}),
        json!({"list": {"a": 1}, "maybe": 1}),
        json!("none"),
    ];
    let all = learned(LearnOptions::default(), &results);
    let found: Vec<_> = all
        .drift()
        .iter()
        .map(|d| (d.observation, &*d.path, &d.kind))
        .collect();
    let to = |from: &[&'static str], to| DriftKind::Type {
        from: from.to_vec(),
        to,
    };
    assert_eq!(
        found,
        [
            (2, "id", &to(&["integer"], "number")),
            (2, "list[].b", &DriftKind::New),
            (2, "maybe", &to(&["null"], "string")),
            (3, "id", &to(&["number"], "string")),
            (3, "list[].a", &DriftKind::Missing),
            (4, "list", &to(&["array"], "object")),
            (4, "maybe", &to(&["null", "string"], "integer")),
            (4, "id", &DriftKind::Missing),
            (5, "", &to(&["object"], "string")),
        ]
    );
    let few = learned(LearnOptions::default().with_max_drift(2), &results);
    assert_eq!(few.drift(), &all.drift()[..2]);
    assert_eq!(few.drift_dropped(), 7);
}

#[test]
fn keys_that_can_only_be_data_are_seen_at_once() {
    let any = |value: Value| json!({"type": "object", "additionalProperties": value});
    let integer = || json!({"type": "integer"});
    for key in [
        "a.b+c@example.com",
        "0f0e0d0c-0000-4000-8000-000000000000",
        "123456",
    ] {
        check(&[json!({key: 1})], any(integer()));
    }
    check(&[json!({"a@example.com": 1, "all": 2})], any(integer()));
    for key in [
        "@type",
        "@example.com",
        "a@b",
        "12345",
        "0f0e0d0c-0000-4000-8000-00000000000g",
    ] {
        let schema = json!({"type": "object", "properties": {key: integer()}, "required": [key]});
        check(&[json!({key: 1})], schema);
    }
    // Keys that vanish each time.
    let of = |name: &str| json!({"users": {name: {"age": 1}}});
    let age = json!({"type": "object", "properties": {"age": integer()}, "required": ["age"]});
    let users = json!({"type": "object", "properties": {"users": any(age)}, "required": ["users"]});
    check(&["ann", "bob", "cid", "dan"].map(of), users);
}

#[test]
fn what_changes_in_keys_that_are_data_names_none() {
    let mut results: Vec<_> = ["ann", "bob", "cid", "dan"]
        .map(|name| json!({"users": {name: {"age": 1}}}))
        .to_vec();
    results.push(json!({"users": {"eve": {"age": "x"}}}));
    results.push(json!({"users": {"fay": 1}}));
    let learned = learned(LearnOptions::default(), &results);
    let paths: Vec<_> = learned.drift().iter().map(|drift| &*drift.path).collect();
    assert_eq!(paths, ["users.*.age", "users.*"]);
}

#[test]
fn what_the_schema_before_refuses_is_noted() {
    let results = |first: Value, second: Value| {
        let before = learned(LearnOptions::default(), std::slice::from_ref(&first));
        let validator = jsonschema::validator_for(&before.schema().unwrap()).unwrap();
        let after = learned(LearnOptions::default(), &[first, second.clone()]);
        (validator.is_valid(&second), after.drift().is_empty())
    };
    for (first, second, expected) in [
        (json!({"a": null}), json!({"a": {"b": 1}}), false),
        (json!([1]), json!([1.5]), false),
        (json!([1.5]), json!([1]), true),
        (json!({"a": 1}), json!({}), false),
        (json!([]), json!([1]), true),
    ] {
        assert_eq!(results(first, second), (expected, expected));
    }
}

#[test]
fn values_are_never_kept() {
    let secret = "a-value-that-is-nowhere";
    let learned = learned(
        LearnOptions::default(),
        &[json!({"a": [secret], "b": {"c": secret}})],
    );
    assert!(!format!("{learned:?}{}", learned.schema().unwrap()).contains(secret));
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        any::<f32>().prop_filter_map("finite", |f| serde_json::Number::from_f64(f.into())
            .map(Value::Number)),
        "[a-c]{0,3}".prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 60, 8, |inner| {
        let key = prop_oneof![3 => "[a-d]", 1 => "[a-z]{1,3}", 1 => "[0-9]{1,2}", 1 => Just("k".repeat(300))];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(Value::from),
            prop::collection::vec((key, inner), 0..8)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

/// Options under which much is left aside.
fn options() -> impl Strategy<Value = LearnOptions> {
    let usual = LearnOptions::default();
    let tight = (
        0_usize..20,
        0_usize..5,
        0_usize..6,
        0_usize..4,
        0_usize..40,
        0_usize..3,
    );
    prop_oneof![
        1 => Just(usual),
        2 => tight.prop_map(|(places, depth, keys, items, values, drift)| {
            LearnOptions::default()
                .with_max_places(places)
                .with_max_depth(depth)
                .with_max_keys(keys)
                .with_max_items(items)
                .with_max_values(values)
                .with_max_drift(drift)
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]
    #[test]
    fn whatever_was_observed_is_valid(options in options(), results in prop::collection::vec(values(), 1..12)) {
        let learned_once = learned(options.clone(), &results);
        let schema = learned_once.schema().unwrap();
        let validator = jsonschema::validator_for(&schema).unwrap();
        for result in &results {
            prop_assert!(validator.is_valid(result), "{} refuses {}", schema, result);
        }
        prop_assert!(learned_once.places <= options.max_places);
        prop_assert_eq!(learned_once.places, learned_once.root.places_below());
        prop_assert!(learned_once.drift().len() <= options.max_drift);
        let again = learned(options, &results).schema().unwrap();
        prop_assert_eq!(again.to_string(), schema.to_string());
        // What was learned can be read.
        let summary = crate::OutputSchema::new(schema).summary("T");
        prop_assert!(summary.output_fields.len() <= 30);
    }
}

/// Objects whose keys are data beside others, small enough that all limits are met at once.
fn crowded() -> impl Strategy<Value = Value> {
    let leaf = || {
        let item = || prop_oneof![Just(json!(1)), Just(json!("x")), Just(json!([1]))];
        prop_oneof![
            Just(json!(1)),
            prop::collection::vec(item(), 0..3).prop_map(Value::from),
            prop::collection::vec(("[qr]", item()), 0..3)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    };
    let data = prop::collection::vec(("1[0-3]", leaf()), 0..3)
        .prop_map(|fields| Value::Object(fields.into_iter().collect()));
    let words = (0_usize..7).prop_map(|count| {
        let words = (0..count).map(|n| (format!("k{n}"), json!(n)));
        Value::Object(words.collect())
    });
    (words, data).prop_map(|(n, m)| json!({"n": n, "m": m}))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn what_was_left_aside_for_want_of_room_is_not_refused(
        places in 4_usize..14, keys in 1_usize..6, results in prop::collection::vec(crowded(), 1..5)
    ) {
        let options = LearnOptions::default().with_max_places(places).with_max_keys(keys);
        check_valid(options, &results);
    }
}

fn check_valid(options: LearnOptions, results: &[Value]) {
    let schema = learned(options, results).schema().unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    for result in results {
        assert!(validator.is_valid(result), "{schema} refuses {result}");
    }
}

#[test]
fn what_one_object_had_no_room_for_is_not_known_by_another() {
    let options = || LearnOptions::default().with_max_places(8).with_max_keys(5);
    let words = |count: usize| {
        let words = (0..count).map(|n| (format!("k{n}"), json!(1)));
        Value::Object(words.collect())
    };
    for (first, second) in [
        (json!({"10": ["x"]}), json!({"10": [], "11": [1]})),
        (json!({"10": {"q": "x"}}), json!({"10": {}, "11": {"q": 1}})),
    ] {
        let results = [
            json!({"n": words(5), "m": first}),
            json!({"n": words(6), "m": second}),
        ];
        check_valid(options(), &results);
    }
}

#[test]
fn what_is_left_aside_stays_so_where_keys_become_one() {
    let few = || LearnOptions::default().with_max_keys(2);
    for (options, first, second) in [
        (few().with_max_places(4), json!([1]), json!(["x"])),
        (few().with_max_places(4), json!({"q": 1}), json!({"q": "x"})),
        (few().with_max_items(3), json!([1, "x", 1, 1]), json!([1])),
        (few().with_max_items(3), json!([1]), json!([1, "x", 1, 1])),
    ] {
        let none = if first.is_array() {
            json!([])
        } else {
            json!({})
        };
        let results = [
            json!({"m": {"a": first, "b": second}}),
            json!({"m": {"a": none, "b": none, "c": none}}),
        ];
        check_valid(options, &results);
    }
}

#[test]
fn large_results_are_learned_of_in_bounds() {
    let item = json!({"id": 1, "owner": {"name": "a"}});
    let list = Value::from(vec![item; 50_000]);
    let learned = learned(LearnOptions::default(), &[json!({"items": list})]);
    let schema = learned.schema().unwrap();
    let summary = crate::OutputSchema::new(schema).summary("T");
    assert_eq!(
        summary.output_fields,
        ["items[].id: integer", "items[].owner.name: string"]
    );
}
