//! What is a component, and what is asked for by one.

use super::{Component, check, check_refused, wanted};
use crossfeed_wire::ErrorCode;
use serde_json::{Value, json};

#[test]
fn a_component_is_the_schema_of_an_object() {
    let check = |schema: Value, fields: &[&str], preview: &[&str]| {
        let component = Component::parse(&schema).unwrap();
        assert_eq!(component.fields().collect::<Vec<_>>(), fields, "{schema}");
        assert_eq!(
            component.preview_fields().collect::<Vec<_>>(),
            preview,
            "{schema}"
        );
    };
    let properties = json!({
        "a": true, "never": false, "b": {"inPreview": true}, "d": {"inPreview": false},
    });
    check(json!({"properties": properties}), &["a", "b", "d"], &["b"]);
    // The root may refer to what describes the object.
    check(
        json!({
            "$ref": "#/$defs/card",
            "$defs": {"card": {"$ref": "#/$defs/a%20b"}, "a b": {"properties": properties}},
        }),
        &["a", "b", "d"],
        &["b"],
    );
}

fn check_no_component(schema: Value, message: &str, advice: &str) {
    let error = Component::parse(&schema).unwrap_err();
    assert_eq!(error.code(), ErrorCode::SchemaInvalid);
    assert_eq!(error.to_string(), message, "{schema}");
    assert!(error.advice().contains(advice), "{}", error.advice());
}

#[test]
fn a_component_has_properties_of_its_own() {
    for schema in [
        json!(true),
        json!({}),
        json!({"type": "object"}),
        json!({"properties": {}}),
        json!({"properties": {"a": false}}),
        json!({"allOf": [{"properties": {"a": true}}]}),
        json!({"$ref": "#/$defs/a", "$defs": {"a": {"type": "object"}}}),
    ] {
        check_no_component(
            schema,
            "a component needs `properties` of its own, at least one, and this schema has none",
            "under `properties` at the root",
        );
    }
}

#[test]
fn a_schema_that_is_none_or_badly_marked_is_no_component() {
    for (mark, found) in [
        (json!("yes"), "a string"),
        (json!(1), "a number"),
        (json!(null), "null"),
    ] {
        let schema = json!({"$ref": "#/$defs/a", "$defs": {"a": {"properties": {"x/y": {"inPreview": mark}}}}});
        let error = Component::parse(&schema).unwrap_err().to_string();
        let expected =
            "`inPreview` is true or false, at `/$defs/a/properties/x~1y/inPreview` it is ";
        let shape = error.strip_prefix(expected).unwrap();
        assert!(
            !shape.is_empty() && !shape.contains("yes"),
            "{found}: {shape}"
        );
    }
    let error = Component::parse(&json!({"type": "objekt", "properties": {}})).unwrap_err();
    assert!(error.to_string().contains("`/type`"), "{error}");
    let error = Component::parse(&json!({"$ref": "#/$defs/gone"})).unwrap_err();
    assert!(error.to_string().contains("leads nowhere"), "{error}");
}

#[test]
fn what_a_component_refers_to_is_what_is_asked_for() {
    let schema = json!({
        "$ref": "#/$defs/card",
        "$defs": {"card": {
            "type": "object",
            "properties": {"title": {"type": "string"}, "pages": {"type": "integer"}},
            "required": ["title"],
        }},
    });
    let card = || Component::parse(&schema).unwrap();
    check(
        r#"{"title": "One", "pages": 3, "more": 1}"#,
        wanted().with_component(card()),
        r#"{"title":"One","pages":3}"#,
        "{}",
    );
    check_refused(
        r#"{"name": "One", "pages": 3}"#,
        wanted().with_component(card()),
        "the data does not fit the component: `/title` is missing, expected string\n\
         found: {name: string(3), pages: number}\n\
         try: for the detail `title`: name",
    );
}
