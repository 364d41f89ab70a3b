//! Schemas that are made to cost.

use super::markers_work;
use crate::support::within;
use crossfeed_output_schema::{InspectRequest, OutputSchema, Summary};
use serde_json::{Map, Value, json};

/// What cannot be read in full is read in time, and its markers work all the same.
fn bounded(raw: Value) -> Summary {
    within(60, || {
        let schema = OutputSchema::new(raw);
        let summary = markers_work("T", &schema);
        let request = InspectRequest::default()
            .with_max_depth(1000)
            .with_max_fields(100_000);
        let answer = schema.inspect(&request).unwrap();
        assert!(answer.flattened_fields.len() <= 1000);
        assert!(schema.top_level_keys().len() <= 10_000);
        summary
    })
}

#[test]
fn hostile_schemas_are_read_in_bounds() {
    let wide = |count: usize| -> Value {
        let fields: Map<_, _> = (0..count)
            .map(|n| (format!("f{n}"), json!({"type": "string"})))
            .collect();
        json!({"type": "object", "properties": fields})
    };
    let summary = bounded(wide(10_000));
    assert_eq!(
        summary.output_fields.last().unwrap(),
        r#"* (+9971 more fields; inspect_tool_output(tool_id="T", field_path=""))"#
    );
    bounded(json!({"properties": {"a": wide(10_000), "b": {"items": wide(10_000)}}}));
    let mut shared: Map<_, _> = (0..300)
        .map(|n| (format!("f{n}"), json!({"$ref": "#/$defs/w"})))
        .collect();
    shared.insert("id".to_owned(), json!({}));
    bounded(json!({"properties": {"a": {"properties": shared}}, "$defs": {"w": wide(3_000)}}));

    let mut deep = json!({"type": "string"});
    for _ in 0..60 {
        deep = json!({"properties": {"id": {"type": "string"}, "a": deep}});
    }
    assert!(bounded(deep.clone()).output_fields.len() > 20);
    for _ in 0..300 {
        deep = json!({"properties": {"a": deep}});
    }
    bounded(deep);

    // Each level doubles: by fields, by `allOf`, by `anyOf`, and through lists.
    for double in [
        |next: &Value| json!({"properties": {"l": next, "r": next}}),
        |next: &Value| json!({"allOf": [next, next]}),
        |next: &Value| json!({"allOf": [{"allOf": [next]}, {"allOf": [next]}]}),
        |next: &Value| json!({"anyOf": [next, next]}),
        |next: &Value| json!({"anyOf": [{"allOf": [next], "type": "object"}, {"allOf": [next]}]}),
        |next: &Value| json!({"items": {"anyOf": [{"items": next}, next]}}),
        |next: &Value| json!({"properties": {"a": {"anyOf": [next, {"allOf": [next], "properties": {"b": next}}]}}}),
    ] {
        let mut defs = Map::new();
        for level in 0..60 {
            let next = json!({"$ref": format!("#/$defs/d{}", level + 1)});
            defs.insert(format!("d{level}"), double(&next));
        }
        defs.insert(
            "d60".to_owned(),
            json!({"properties": {"id": {"type": "string"}}}),
        );
        bounded(json!({"$ref": "#/$defs/d0", "$defs": defs}));
        // The same, without an end.
        defs.insert("d60".to_owned(), json!({"$ref": "#/$defs/d0"}));
        bounded(json!({"properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": defs}));
    }

    let cycle = json!({"a": {"allOf": [{"$ref": "#/$defs/b"}]}, "b": {"allOf": [{"$ref": "#/$defs/a"}], "properties": {"x": {"$ref": "#/$defs/a"}}}});
    bounded(json!({"properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": cycle}));
    bounded(json!({"items": {"$ref": "#"}}));
    bounded(json!({"additionalProperties": {"$ref": "#"}}));
    bounded(
        json!({"anyOf": [{"$ref": "#"}, {"items": {"$ref": "#"}}, {"properties": {"a": {"$ref": "#"}}}]}),
    );
    bounded(json!({"properties": {"a": {"$ref": "#/$defs/gone"}}}));
}
