//! Generated schemas, clean and dirty.

use super::{Line, WORDS, all_children, inspect, markers_work, read};
use crossfeed_output_schema::{InspectRequest, OutputSchema};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// A schema with names that need no quotes, and every way of nesting.
fn schemas() -> impl Strategy<Value = Value> {
    let word = prop::sample::select(&WORDS[..6]);
    let leaf = prop_oneof![
        8 => word.prop_map(|word| json!({"type": word})),
        1 => Just(json!({"type": ["string", "integer", "null"]})),
        1 => Just(json!({"enum": ["a", 1]})),
        1 => Just(json!({})),
        1 => Just(json!({"type": "array"})),
        1 => Just(json!({"type": "object", "additionalProperties": false})),
        1 => Just(json!({"$ref": "#"})),
    ];
    leaf.prop_recursive(6, 150, 12, |inner| {
        let name = prop_oneof![
            1 => Just("id".to_owned()),
            1 => Just("data".to_owned()),
            1 => Just("error".to_owned()),
            1 => Just("owner_id".to_owned()),
            6 => "[a-h][a-z]?",
        ];
        let object = prop::collection::vec((name, inner.clone()), 1..12).prop_map(|fields| {
            let fields: Map<_, _> = fields.into_iter().collect();
            json!({"type": "object", "properties": fields})
        });
        prop_oneof![
            6 => object,
            2 => inner.clone().prop_map(|items| json!({"type": "array", "items": items})),
            1 => inner.clone().prop_map(|one| json!({"anyOf": [one, {"type": "null"}]})),
            1 => prop::collection::vec(inner.clone(), 2..4).prop_map(|any| json!({"anyOf": any})),
            1 => prop::collection::vec(inner, 1..3).prop_map(|all| json!({"allOf": all})),
        ]
    })
}

proptest! {
    #[test]
    fn every_marker_works_when_it_is_followed(raw in schemas()) {
        let schema = OutputSchema::new(raw);
        let summary = markers_work("T", &schema);
        let marked = summary.output_fields.iter().any(|line| line.contains("inspect_tool_output"));
        let is_open_root = summary.output_fields.is_empty();
        prop_assert!(marked || is_open_root || !summary.has_hidden_fields);
        prop_assert!(!marked || summary.has_hidden_fields);
    }

    #[test]
    fn pages_hold_every_child_once(count in 0_usize..500) {
        let fields: Map<_, _> = (0..count).map(|n| (format!("f{n}"), json!({"type": "string"}))).collect();
        let names: Vec<_> = fields.keys().cloned().collect();
        let schema = OutputSchema::new(json!({"properties": {"a": {"items": {"properties": fields}}}}));
        for path in ["a", "a[]", "a[3]"] {
            prop_assert_eq!(&all_children(&schema, path), &names);
        }
    }

    #[test]
    fn no_path_and_no_number_is_too_much(
        raw in schemas(),
        path in "[a-c.\\[\\]*\"0-9]{0,12}",
        depth in prop_oneof![0_usize..6, Just(usize::MAX)],
        fields in prop_oneof![0_usize..200, Just(usize::MAX)],
        offset in prop_oneof![0_usize..20, Just(usize::MAX)],
    ) {
        let request = InspectRequest::new(path.clone()).with_max_depth(depth).with_max_fields(fields).with_offset(offset);
        match OutputSchema::new(raw).inspect(&request) {
            Ok(answer) => {
                prop_assert!(answer.flattened_fields.len() <= fields.min(1000));
                prop_assert!(answer.children.len() <= 80);
            }
            Err(error) => prop_assert!(!error.to_string().contains('\n')),
        }
    }
}

/// What stands where schemas should, or next to it.
fn dirty() -> impl Strategy<Value = Value> {
    let words = [
        "object",
        "array",
        "string",
        "#",
        "#/properties/a",
        "#/$defs/a",
        "a..b",
        "*",
        "data",
        "id",
    ];
    let leaf = prop_oneof![
        prop::sample::select(words.to_vec()).prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        (-1_i32..3).prop_map(Value::from),
        Just(Value::Null),
    ];
    leaf.prop_recursive(7, 80, 5, |inner| {
        let keywords = [
            "type",
            "properties",
            "items",
            "prefixItems",
            "anyOf",
            "oneOf",
            "allOf",
            "$ref",
            "$id",
            "$defs",
            "enum",
            "const",
            "required",
            "additionalProperties",
            "patternProperties",
            "then",
            "dependentSchemas",
            "$anchor",
            "a",
            "id",
            "data",
            "ok",
            "a.b",
            "",
            "\u{0}",
            "*",
        ];
        let key = prop::sample::select(keywords.to_vec()).prop_map(str::to_owned);
        prop_oneof![
            1 => prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            5 => prop::collection::vec((key, inner), 0..5)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn whatever_a_schema_is_its_markers_can_be_followed(raw in dirty()) {
        let schema = OutputSchema::new(raw);
        let summary = schema.summary("a \"tool\"");
        prop_assert!(summary.output_fields.len() <= 30);
        for line in &summary.output_fields {
            if let Line::Contains { path, count } = read(line, "a \"tool\"") {
                prop_assert_eq!(inspect(&schema, &path).total_child_fields, count, "{}", line);
            }
        }
        let whole = inspect(&schema, "");
        let named = whole.flattened_fields.iter().map(|line| line.rsplit_once(": ").unwrap());
        for (path, word) in named {
            prop_assert_eq!(inspect(&schema, path).node_type, word, "{}", path);
        }
        let mut keys = schema.top_level_keys();
        keys.dedup();
        prop_assert_eq!(keys, schema.top_level_keys());
    }
}
