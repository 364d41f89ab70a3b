//! References within the schema, and what they lead to.

use super::shown;
use crate::Style;
use serde_json::json;

#[test]
fn references_lead_to_what_they_meant() {
    let own = json!({
        "type": "object",
        "properties": {
            "a": {"type": "string"},
            "b": {"$ref": "#/properties/a"},
            "c": {"type": "object", "properties": {"$and": {"items": {"type": "number"}}}},
            "d": {"$ref": "#/properties/c/properties/$and/items"},
            "e": {"$ref": "#/$defs/node"},
        },
        "$defs": {"node": {"properties": {"next": {"$ref": "#/$defs/node"}}}},
    });
    let found = shown(&own, Style::Inline);
    assert_eq!(
        found["properties"]["b"]["anyOf"][0],
        json!({"$ref": "#/properties/a/anyOf/0"})
    );
    assert_eq!(
        found["properties"]["d"]["anyOf"][0],
        json!({"$ref": "#/properties/c/anyOf/0/properties/$and/anyOf/0/items/anyOf/0"})
    );
    assert_eq!(
        found["properties"]["e"]["anyOf"][0],
        json!({"$ref": "#/$defs/node"})
    );
    let found = shown(&own, Style::Refs);
    assert_eq!(found["$defs"], own["$defs"]);
    assert_eq!(
        found["properties"]["a"],
        json!({"anyOf": [{"type": "string"}, {"type": "null"}]})
    );
    assert_eq!(
        found["properties"]["b"],
        json!({"anyOf": [{"$ref": "#/properties/a/anyOf/0"}, {"type": "null"}]})
    );
    assert_eq!(
        found["properties"]["d"]["anyOf"][0],
        json!({"$ref": "#/properties/c/properties/$and/items"})
    );
}

#[test]
fn what_went_is_kept_for_what_refers_to_it() {
    let own = json!({
        "type": "object",
        "properties": {
            "a": {"not": {"properties": {"x": {"type": "string"}}}},
            "b": {"$ref": "#/properties/a/not"},
        },
    });
    let found = shown(&own, Style::Inline);
    assert_eq!(
        found["properties"]["b"]["anyOf"][0],
        json!({"$ref": "#/$defs/tool_part"})
    );
    assert_eq!(
        found["$defs"]["tool_part"]["properties"]["x"]["anyOf"][0],
        json!({"type": "string"})
    );
}

#[test]
fn the_root_may_be_referred_to() {
    let own = json!({"properties": {"a": {"$ref": "#"}}, "additionalProperties": false});
    for style in Style::ALL {
        let found = shown(&own, style);
        let judge = jsonschema::validator_for(&found).unwrap();
        assert!(judge.is_valid(&json!({"a": {"a": false}})), "{found}");
        assert!(!judge.is_valid(&json!({"a": {"b": false}})), "{found}");
    }
}

#[test]
fn embedded_schemas_have_references_of_their_own() {
    let own = json!({
        "type": "object",
        "properties": {"p": {"$id": "urn:example:p", "properties": {"a": {"$ref": "#/$defs/t"}}, "$defs": {"t": {"type": "string"}}}},
    });
    let found = shown(&own, Style::Inline);
    let judge = jsonschema::validator_for(&found).unwrap();
    let reference = json!({"$tool": "c"});
    for fine in [
        json!({"p": {"a": "x"}}),
        json!({"p": {"a": reference}}),
        json!({"p": reference}),
    ] {
        assert!(judge.is_valid(&fine), "{fine}: {found}");
    }
    assert!(!judge.is_valid(&json!({"p": {"a": 1}})), "{found}");
}
