//! The laws as properties over generated schemas: every keyword beside every other, with instances that some of them accept.

use super::laws::Pair;
use crossfeed_schema::SchemaError;
use crossfeed_tools::{Style, rewrite};
use proptest::{
    collection::vec,
    prelude::*,
    sample::select,
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};
use serde_json::{Map, Value, json};

const CASES: u32 = 400;
const SEED: u8 = 1;

const DIALECTS: [&str; 2] = [
    "https://json-schema.org/draft/2020-12/schema",
    "http://json-schema.org/draft-07/schema#",
];

/// Keys that patterns and names of the grammar meet.
fn key() -> impl Strategy<Value = String> {
    select(vec!["a", "b", "_c", "a/b", "_select"]).prop_map(str::to_owned)
}

fn value() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::from),
        (-1i64..4).prop_map(Value::from),
        select(vec!["", "a", "text"]).prop_map(Value::from),
    ];
    scalar.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Value::from),
            vec((key(), inner), 0..3).prop_map(object),
        ]
    })
}

fn object(members: Vec<(String, Value)>) -> Value {
    Value::Object(members.into_iter().collect())
}

/// One or more keywords with their values, from `schema` where they take schemas.
fn keyword(schema: BoxedStrategy<Value>) -> impl Strategy<Value = Vec<(&'static str, Value)>> {
    let one = |word: &'static str| move |value: Value| vec![(word, value)];
    let map = || vec((key(), schema.clone()), 1..3).prop_map(object);
    let list = || vec(schema.clone(), 1..3).prop_map(Value::from);
    let number = || (0u64..3).prop_map(Value::from);
    let words = || {
        vec(key(), 0..2).prop_map(|mut keys| {
            keys.dedup();
            json!(keys)
        })
    };
    let kinds = vec![
        "string", "number", "integer", "boolean", "object", "array", "null",
    ];
    prop_oneof![
        3 => map().prop_map(one("properties")),
        1 => words().prop_map(one("required")),
        1 => schema.clone().prop_map(one("additionalProperties")),
        1 => (select(vec!["^_", "a", "."]), schema.clone()).prop_map(|(pattern, schema)| vec![("patternProperties", json!({pattern: schema}))]),
        1 => select(vec![json!({"pattern": "^[ab]"}), json!({"maxLength": 1}), json!({"enum": ["a", "b"]}), json!(true)]).prop_map(one("propertyNames")),
        1 => number().prop_map(one("minProperties")),
        1 => number().prop_map(one("maxProperties")),
        1 => (key(), words()).prop_map(|(key, words)| vec![("dependentRequired", json!({key: words}))]),
        1 => map().prop_map(one("dependentSchemas")),
        1 => map().prop_map(one("dependencies")),
        1 => schema.clone().prop_map(one("unevaluatedProperties")),
        2 => schema.clone().prop_map(one("items")),
        1 => list().prop_map(one("prefixItems")),
        1 => (list(), schema.clone()).prop_map(|(list, rest)| vec![("items", list), ("additionalItems", rest)]),
        1 => schema.clone().prop_map(one("unevaluatedItems")),
        1 => schema.clone().prop_map(one("contains")),
        1 => (schema.clone(), number(), number()).prop_map(|(schema, least, most)| vec![("contains", schema), ("minContains", least), ("maxContains", most)]),
        1 => Just(vec![("uniqueItems", json!(true))]),
        1 => number().prop_map(one("minItems")),
        1 => number().prop_map(one("maxItems")),
        1 => list().prop_map(one("allOf")),
        1 => list().prop_map(one("anyOf")),
        1 => list().prop_map(one("oneOf")),
        1 => schema.clone().prop_map(one("not")),
        1 => (schema.clone(), schema.clone(), schema.clone()).prop_map(|(condition, then, other)| vec![("if", condition), ("then", then), ("else", other)]),
        2 => select(kinds.clone()).prop_map(|kind| vec![("type", json!(kind))]),
        1 => vec(select(kinds), 1..3).prop_map(|mut kinds| {
            kinds.dedup();
            vec![("type", json!(kinds))]
        }),
        1 => vec(value(), 1..3).prop_map(|mut values| {
            values.dedup();
            vec![("enum", json!(values))]
        }),
        1 => value().prop_map(one("const")),
        1 => Just(vec![("minimum", json!(1))]),
        1 => Just(vec![("minLength", json!(2))]),
        1 => Just(vec![("description", json!("what it is"))]),
        1 => Just(vec![("default", json!(null))]),
    ]
}

/// A schema, of keywords that may contradict each other.
fn schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        1 => any::<bool>().prop_map(Value::from),
        1 => Just(json!({})),
        2 => select(vec!["string", "integer", "object", "array", "null"]).prop_map(|kind| json!({"type": kind})),
        1 => select(vec!["#/$defs/d", "#/properties/a", "#/$defs/e/properties/a"]).prop_map(|to| json!({"$ref": to})),
        1 => select(vec!["#/$defs/d", "#/properties/a"]).prop_map(|to| json!({"$ref": to, "description": "beside it", "maxProperties": 2})),
    ];
    leaf.prop_recursive(3, 16, 3, |inner| {
        let keyword = keyword(inner.boxed());
        vec(keyword, 1..4).prop_map(|keywords| {
            let keywords = keywords.into_iter().flatten();
            object(
                keywords
                    .map(|(word, value)| (word.to_owned(), value))
                    .collect(),
            )
        })
    })
}

/// The list form of `items` as 2020-12 spells it.
fn renewed(value: Value) -> Value {
    match value {
        Value::Array(items) => items.into_iter().map(renewed).collect(),
        Value::Object(mut members) => {
            if members.get("items").is_some_and(Value::is_array) {
                let list = members.shift_remove("items");
                let rest = members.shift_remove("additionalItems");
                members.extend(list.map(|list| ("prefixItems".to_owned(), list)));
                members.extend(rest.map(|rest| ("items".to_owned(), rest)));
            }
            members
                .into_iter()
                .map(|(key, value)| (key, renewed(value)))
                .collect()
        }
        scalar => scalar,
    }
}

/// A root with what the references above lead to.
fn root() -> impl Strategy<Value = Value> {
    (
        select(DIALECTS.to_vec()),
        schema(),
        schema(),
        schema(),
        any::<bool>(),
    )
        .prop_map(|(dialect, root, d, a, typed)| {
            let mut members = Map::from_iter([("$schema".to_owned(), json!(dialect))]);
            if typed {
                members.insert("type".to_owned(), json!("object"));
            }
            if let Value::Object(root) = root {
                members.extend(root);
            }
            let properties = members.entry("properties").or_insert_with(|| json!({}));
            if let Some(properties) = properties.as_object_mut() {
                properties.entry("a").or_insert_with(|| a.clone());
            }
            members.insert(
                "$defs".to_owned(),
                json!({"d": d, "e": {"properties": {"a": a}}}),
            );
            if dialect == DIALECTS[0] {
                renewed(Value::Object(members))
            } else {
                Value::Object(members)
            }
        })
}

/// Valid ones are found among many, since most schemas refuse most.
fn check(schema: &Value, instances: &[Value]) -> Result<(), String> {
    for style in Style::ALL {
        if let Err(SchemaError::Cyclic { .. }) = rewrite(schema, style, style.spelling()) {
            return Ok(());
        }
        let Some(pair) = Pair::new(schema, style).map_err(|law| format!("{style}: {law}"))? else {
            continue;
        };
        for instance in instances {
            if pair.own.is_valid(instance) {
                pair.admits(instance)
                    .map_err(|law| format!("{style}: {law}\n  original: {schema}"))?;
            }
        }
    }
    Ok(())
}

#[test]
fn rewriting_keeps_its_laws_over_generated_schemas() {
    let config = Config {
        failure_persistence: None,
        max_shrink_iters: 20_000,
        ..Config::with_cases(CASES)
    };
    // The same schemas on every run.
    let random = TestRng::from_seed(RngAlgorithm::ChaCha, &[SEED; 32]);
    let members = vec((key(), value()), 0..4).prop_map(object);
    let outcome = TestRunner::new_with_rng(config, random)
        .run(&(root(), vec(members, 1..24)), |(schema, instances)| {
            check(&schema, &instances).map_err(TestCaseError::fail)
        });
    if let Err(error) = outcome {
        panic!("{error}");
    }
}
