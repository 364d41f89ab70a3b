//! Type words, fields and items of all the ways in which schemas say them.

use super::{OutputSchema, Reader};
use crossfeed_projection::RevealRules;
use serde_json::{Value, json};

/// A schema's type word, and its fields with theirs.
fn check(schema: Value, word: &str, fields: &[&str]) {
    let shown = schema.to_string();
    let schema = OutputSchema::new(schema);
    let reader = Reader::new(&schema);
    let node = reader.whole();
    let found = reader.fields(&node).named;
    let found: Vec<_> = found
        .iter()
        .map(|field| format!("{}: {}", field.name, reader.field(field).word()))
        .collect();
    assert_eq!(
        (node.word(), found),
        (word, fields.iter().map(|f| (*f).to_owned()).collect()),
        "{shown}"
    );
}

/// A schema's type word.
fn word(schema: Value, word: &str) {
    check(schema, word, &[]);
}

#[test]
fn scalars_have_words() {
    for name in [
        "string", "number", "integer", "boolean", "null", "object", "array",
    ] {
        word(json!({"type": name}), name);
        word(json!({"type": [name]}), name);
    }
    word(json!({}), "unknown");
    word(json!(true), "unknown");
    word(json!({"type": "any"}), "unknown");
    word(json!({"description": "anything"}), "unknown");
    word(json!({"const": "a"}), "string");
    word(json!({"const": 1}), "integer");
    word(json!({"const": null}), "null");
    word(json!({"minLength": 1}), "string");
    word(json!({"format": "uri"}), "string");
    word(json!({"minimum": 1}), "number");
    word(json!({"required": ["a"]}), "object");
    word(json!({"minItems": 1}), "array");
    word(json!({"items": {"type": "string"}}), "array");
    word(json!({"prefixItems": [{}]}), "array");
    word(json!({"additionalProperties": true}), "object");
}

#[test]
fn an_enum_is_one_wherever_it_stands() {
    word(json!({"enum": [1, "a"]}), "enum");
    word(json!({"type": "string", "enum": ["a"]}), "enum");
    word(
        json!({"anyOf": [{"enum": ["a"]}, {"type": "null"}]}),
        "enum",
    );
    word(
        json!({"type": ["string", "null"], "enum": ["a", null]}),
        "enum",
    );
    word(
        json!({"$ref": "#/$defs/e", "$defs": {"e": {"enum": ["a"]}}}),
        "enum",
    );
    word(
        json!({"allOf": [{"type": "string"}, {"enum": ["a"]}]}),
        "enum",
    );
    word(json!({"anyOf": [{"enum": ["a"]}, {"enum": [1]}]}), "enum");
    word(json!({"anyOf": [{"const": "a"}, {"const": "b"}]}), "string");
}

#[test]
fn null_beside_a_type_does_not_count() {
    let user = json!({"type": "object", "properties": {"id": {"type": "integer"}}});
    word(json!({"type": ["string", "null"]}), "string");
    word(json!({"type": ["null", "integer"]}), "integer");
    check(
        json!({"anyOf": [user, {"type": "null"}]}),
        "object",
        &["id: integer"],
    );
    check(
        json!({"oneOf": [{"const": null}, user]}),
        "object",
        &["id: integer"],
    );
    check(
        json!({"oneOf": [{"enum": [null]}, user]}),
        "object",
        &["id: integer"],
    );
    let defs = json!({"user": user, "none": {"type": "null"}});
    check(
        json!({"anyOf": [{"$ref": "#/$defs/user"}, {"$ref": "#/$defs/none"}], "$defs": defs}),
        "object",
        &["id: integer"],
    );
    check(
        json!({"type": ["object", "null"], "properties": {"id": {"type": "integer"}}}),
        "object",
        &["id: integer"],
    );
    word(
        json!({"anyOf": [{"type": "null"}, {"type": "null"}]}),
        "unknown",
    );
}

#[test]
fn unions_are_several_types() {
    word(json!({"type": ["string", "integer"]}), "union");
    word(json!({"type": ["string", "integer", "null"]}), "union");
    word(
        json!({"anyOf": [{"type": "string"}, {"type": "integer"}]}),
        "union",
    );
    word(json!({"anyOf": [{"type": "string"}, {}]}), "union");
    word(
        json!({"anyOf": [{"type": "string"}, {"type": "string", "format": "uri"}]}),
        "string",
    );
    word(
        json!({"anyOf": [{"type": "integer"}, {"type": "number"}]}),
        "number",
    );
    word(
        json!({"type": "string", "anyOf": [{"format": "uri"}, {"format": "date"}]}),
        "string",
    );
    word(
        json!({"anyOf": [{"anyOf": [{"type": "string"}, {"type": "null"}]}, {"type": "string"}]}),
        "string",
    );
    let one = |name: &str| json!({"type": "object", "properties": {name: {"type": "string"}, "t": {"const": name}}});
    check(
        json!({"oneOf": [one("a"), one("b")]}),
        "union",
        &["a: string", "t: string", "b: string"],
    );
    check(
        json!({"oneOf": [one("a"), {"type": "string"}]}),
        "union",
        &["a: string", "t: string"],
    );
    check(
        json!({"type": ["object", "string"], "properties": {"a": {}}}),
        "union",
        &["a: unknown"],
    );
    // With a type of its own it is that.
    check(
        json!({"type": "object", "properties": {"id": {"type": "integer"}}, "oneOf": [one("a"), one("b")]}),
        "object",
        &["id: integer", "a: string", "t: string", "b: string"],
    );
    check(
        json!({"properties": {"a": {"type": "string"}}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}),
        "object",
        &["a: string"],
    );
    check(
        json!({"anyOf": [{"properties": {"a": {"type": "string"}}}, {"properties": {"a": {"type": "integer"}}}]}),
        "union",
        &["a: union"],
    );
}

#[test]
fn everything_that_holds_is_one_schema() {
    check(
        json!({
            "allOf": [{"$ref": "#/definitions/base"}, {"properties": {"b": {"type": "string"}}}],
            "properties": {"c": {"$ref": "#/definitions/word", "description": "beside"}},
            "definitions": {
                "base": {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"maxLength": 3}}},
                "word": {"type": "string"},
            },
        }),
        "object",
        &["c: string", "b: string", "a: integer"],
    );
    check(
        json!({
            "properties": {"kind": {"type": "string"}},
            "if": {"properties": {"kind": {"const": "a"}}},
            "then": {"properties": {"a": {"type": "string"}}},
            "else": {"properties": {"b": {"type": "string"}}},
            "dependentSchemas": {"a": {"properties": {"c": {"type": "string"}}}},
        }),
        "object",
        &["kind: string", "c: string", "a: string", "b: string"],
    );
}

#[test]
fn lists_have_the_fields_of_their_items() {
    let item = json!({"properties": {"id": {"type": "integer"}}});
    let other = json!({"properties": {"name": {"type": "string"}}});
    check(json!({"items": item}), "array", &["id: integer"]);
    check(json!({"items": {"items": item}}), "array", &["id: integer"]);
    check(
        json!({"prefixItems": [item], "items": other}),
        "array",
        &["id: integer", "name: string"],
    );
    check(
        json!({"items": [item, other]}),
        "array",
        &["id: integer", "name: string"],
    );
    check(
        json!({"items": [item], "additionalItems": other}),
        "array",
        &["id: integer", "name: string"],
    );
    check(
        json!({"items": [item], "additionalItems": false}),
        "array",
        &["id: integer"],
    );
    check(
        json!({"anyOf": [{"items": item}, {"items": other}]}),
        "array",
        &["id: integer", "name: string"],
    );
    check(
        json!({"anyOf": [{"items": item}, {"type": "string"}]}),
        "union",
        &["id: integer"],
    );
    word(
        json!({"type": "array", "items": {"type": "string"}}),
        "array",
    );
    word(json!({"type": "array", "items": true}), "array");
}

#[test]
fn dirty_schemas_say_what_they_can() {
    word(json!("string"), "unknown");
    word(json!(null), "unknown");
    word(json!([{"type": "object"}]), "unknown");
    word(json!(false), "unknown");
    word(json!({"properties": 3}), "object");
    word(json!({"$ref": "#/$defs/gone"}), "unknown");
    word(json!({"$ref": "https://example.com/a.json"}), "unknown");
    word(json!({"$ref": 3, "type": "string"}), "string");
    word(json!({"$ref": "#"}), "unknown");
    word(
        json!({"allOf": [{"$ref": "#"}], "type": "string"}),
        "string",
    );
    word(json!({"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}), "unknown");
    check(
        json!({"properties": {"a": "string", "b": null, "c": false, "d": true}}),
        "object",
        &["a: unknown", "b: unknown", "d: unknown"],
    );
    // One reference that leads nowhere does not hide what the others lead to.
    check(
        json!({
            "properties": {"a": {"$ref": "#/$defs/a"}, "b": {"$ref": "#/$defs/gone"}},
            "$defs": {"a": {"type": "string"}},
        }),
        "object",
        &["a: string", "b: unknown"],
    );
    // No value is both: the first word stands.
    word(
        json!({"type": "string", "allOf": [{"type": "integer"}]}),
        "string",
    );
    word(
        json!({"anyOf": "string", "allOf": {}, "enum": 3, "items": 7}),
        "enum",
    );
}

#[test]
fn top_level_keys_are_sorted_and_reach_through_wrappers() {
    let keys = |schema: Value| OutputSchema::new(schema).top_level_keys().join(",");
    let item = json!({"properties": {"b": {}, "a": {}, "ä": {}, "_x": {}}});
    assert_eq!(keys(item.clone()), "_x,a,b,ä");
    assert_eq!(keys(json!({"anyOf": [item, {"type": "null"}]})), "_x,a,b,ä");
    assert_eq!(keys(json!({"items": item})), "_x,a,b,ä");
    assert_eq!(
        keys(json!({"$ref": "#/$defs/i", "$defs": {"i": item}})),
        "_x,a,b,ä"
    );
    assert_eq!(
        keys(json!({"anyOf": [item, {"properties": {"c": {}}}]})),
        "_x,a,b,c,ä"
    );
    assert_eq!(
        keys(json!({"properties": {"data": item, "success": {}}})),
        "data,success"
    );
    assert_eq!(keys(json!({"type": "object"})), "");
    assert_eq!(keys(json!("none")), "");
}

#[test]
fn what_is_never_shown_is_not_there() {
    let rules = RevealRules::parse([""; 0], ["secret", "users.mail"]).unwrap();
    let schema = json!({"properties": {
        "secret": {"type": "string"},
        "mail": {"type": "string"},
        "users": {"items": {"properties": {"mail": {}, "id": {"type": "integer"}, "secret": {}}}},
        "inner": {"properties": {"secret": {}}},
    }});
    let schema = OutputSchema::new(schema).without(&rules);
    assert_eq!(schema.top_level_keys(), ["inner", "mail", "users"]);
    let summary = schema.summary("T");
    assert_eq!(
        summary.output_fields,
        ["mail: string", "users[].id: integer", "inner: object"]
    );
    assert!(!summary.has_hidden_fields);
    let error = |path: &str| {
        schema
            .inspect(&crate::InspectRequest::new(path))
            .unwrap_err()
    };
    assert!(error("secret").to_string().contains("no field `secret`"));
    assert!(!error("users[].secre").advice().contains("secret"));
    // What stands for several places withholds what any of them does.
    let user = json!({"properties": {"mail": {}, "id": {"type": "integer"}}});
    let schema = json!({"properties": {"users": user, "admins": user}});
    let schema = OutputSchema::new(schema).without(&rules);
    let all = schema.inspect(&crate::InspectRequest::new("*")).unwrap();
    assert_eq!(all.flattened_fields, ["id: integer"]);
    let admins = schema
        .inspect(&crate::InspectRequest::new("admins"))
        .unwrap();
    assert_eq!(admins.total_child_fields, 2);
}
