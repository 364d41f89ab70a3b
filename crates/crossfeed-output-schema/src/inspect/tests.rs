//! Answers and errors, exactly.

use super::{InspectError, InspectRequest, inspector};
use crate::OutputSchema;
use crossfeed_wire::ErrorCode;
use serde_json::{Map, Value, json};

/// The inspector's answer about a place: type, children, lines, and whether something was cut.
fn check(schema: &Value, request: InspectRequest, expected: (&str, &[&str], &[&str], bool)) {
    let answer = OutputSchema::new(schema.clone()).inspect(&request).unwrap();
    let children: Vec<_> = answer
        .children
        .iter()
        .map(|c| format!("{}: {}", c.name, c.kind))
        .collect();
    let lines: Vec<_> = answer.flattened_fields.iter().map(String::as_str).collect();
    let found = (
        answer.node_type,
        children.iter().map(String::as_str).collect::<Vec<_>>(),
        lines,
        answer.truncated,
    );
    let (word, children, lines, truncated) = expected;
    assert_eq!(
        found,
        (word, children.to_vec(), lines.to_vec(), truncated),
        "{request:?}"
    );
}

fn at(path: &str) -> InspectRequest {
    InspectRequest::new(path)
}

/// What is said of a path that is not there.
fn refused(schema: &Value, path: &str, message: &str, advice: &str) {
    let error = OutputSchema::new(schema.clone())
        .inspect(&at(path))
        .unwrap_err();
    assert_eq!((&*error.to_string(), &*error.advice()), (message, advice));
    assert_eq!(error.code(), ErrorCode::ProjectionInvalid);
}

fn shop() -> Value {
    json!({"type": "object", "properties": {
        "id": {"type": "integer"},
        "items": {"items": {"$ref": "#/$defs/item"}},
        "meta": {"type": "object"},
        "prices": {"additionalProperties": {"properties": {"net": {"type": "number"}}}},
        "rows": {"items": {"items": {"type": "string"}}},
        "pair": {"prefixItems": [{"type": "string"}, {"properties": {"x": {"type": "integer"}}}]},
        "one": {"anyOf": [{"$ref": "#/$defs/item"}, {"type": "string"}]},
    }, "$defs": {"item": {"properties": {
        "odd name": {"enum": ["a"]},
        "next": {"anyOf": [{"$ref": "#/$defs/item"}, {"type": "null"}]},
    }}}})
}

#[test]
fn places_are_named_by_paths() {
    let shop = shop();
    let item = ["odd name: enum", "next: object"];
    let lines = [r#""odd name": enum"#, "next: object"];
    let listed = [r#"[]."odd name": enum"#, "[].next: object"];
    check(&shop, at("items"), ("array", &item, &listed, true));
    for path in [
        "items[]",
        "items[*]",
        " items[7] ",
        "items.next",
        "items[].next.next",
        "one.next",
    ] {
        check(&shop, at(path), ("object", &item, &lines, true));
    }
    // The union is not the item, which stands in it once more.
    let unfolded = [
        r#""odd name": enum"#,
        r#"next."odd name": enum"#,
        "next.next: object",
    ];
    check(&shop, at("one"), ("union", &item, &unfolded, true));
    check(&shop, at(r#"items."odd name""#), ("enum", &[], &[], false));
    check(&shop, at("id"), ("integer", &[], &[], false));
    check(&shop, at("meta"), ("object", &[], &[], false));
    check(&shop, at("rows"), ("array", &[], &["[][]: string"], false));
    check(&shop, at("rows[]"), ("array", &[], &["[]: string"], false));
    check(&shop, at("rows[][]"), ("string", &[], &[], false));
    check(
        &shop,
        at("prices"),
        ("object", &[], &["*.net: number"], false),
    );
    check(
        &shop,
        at("prices.*"),
        ("object", &["net: number"], &["net: number"], false),
    );
    check(
        &shop,
        at("pair"),
        ("array", &["x: integer"], &["[].x: integer"], false),
    );
    check(&shop, at("pair[0]"), ("string", &[], &[], false));
    check(
        &shop,
        at("pair[1]"),
        ("object", &["x: integer"], &["x: integer"], false),
    );
}

#[test]
fn lines_go_as_deep_and_far_as_they_may() {
    let schema = json!({"properties": {
        "a": {"properties": {"b": {"properties": {"c": {"type": "string"}, "d": {"type": "string"}}}}},
        "e": {"type": "integer"},
        "open": {"type": "object"},
        "map": {"additionalProperties": {"type": "string"}},
        "one": {"anyOf": [{"type": "string"}, {"properties": {"x": {"type": "integer"}}}]},
    }});
    let children = [
        "a: object",
        "e: integer",
        "open: object",
        "map: object",
        "one: union",
    ];
    let all = [
        "a.b.c: string",
        "a.b.d: string",
        "e: integer",
        "open: object",
        "map.*: string",
        "one: union",
        "one.x: integer",
    ];
    check(&schema, at(""), ("object", &children, &all, false));
    for (depth, fields) in [(usize::MAX, usize::MAX), (3, 7)] {
        let request = at("").with_max_depth(depth).with_max_fields(fields);
        check(&schema, request, ("object", &children, &all, false));
    }
    let two = [
        "a.b: object",
        "e: integer",
        "open: object",
        "map.*: string",
        "one: union",
        "one.x: integer",
    ];
    check(
        &schema,
        at("").with_max_depth(2),
        ("object", &children, &two, true),
    );
    check(
        &schema,
        at("").with_max_fields(6),
        ("object", &children, &two, true),
    );
    check(
        &schema,
        at("").with_max_depth(1),
        ("object", &children, &children, true),
    );
    check(
        &schema,
        at("").with_max_fields(2),
        ("object", &children, &["a.b: object", "e: integer"], true),
    );
    check(
        &schema,
        at("").with_max_fields(0),
        ("object", &children, &[], true),
    );
    check(
        &schema,
        at("").with_max_depth(0),
        ("object", &children, &[], true),
    );
    check(
        &schema,
        at("e").with_max_depth(0),
        ("integer", &[], &[], false),
    );
}

#[test]
fn beside_declared_fields_others_are_not_told() {
    let schema = json!({
        "properties": {"id": {"type": "integer"}},
        "additionalProperties": {"type": "string"},
    });
    check(
        &schema,
        at(""),
        ("object", &["id: integer"], &["id: integer"], false),
    );
}

#[test]
fn pages_follow_each_other() {
    let fields: Map<_, _> = (0..200)
        .map(|n| (format!("f{n}"), json!({"type": "string"})))
        .collect();
    let schema = OutputSchema::new(json!({"properties": fields}));
    for (offset, first, length, next) in [
        (0, "f0", 80, Some(80)),
        (80, "f80", 80, Some(160)),
        (160, "f160", 40, None),
        (199, "f199", 1, None),
    ] {
        let answer = schema.inspect(&at("").with_offset(offset)).unwrap();
        assert_eq!(
            (answer.children.len(), answer.children[0].name.as_str()),
            (length, first)
        );
        assert_eq!(
            (answer.next_offset, answer.truncated),
            (next, next.is_some())
        );
        assert_eq!(answer.flattened_fields.len(), length);
        assert_eq!(answer.flattened_fields[0], format!("{first}: string"));
        assert_eq!(answer.total_child_fields, 200);
        assert_eq!(
            answer.to_value().get("next_offset"),
            next.map(Value::from).as_ref()
        );
    }
    let beyond = schema.inspect(&at("").with_offset(usize::MAX)).unwrap();
    assert!(beyond.children.is_empty() && !beyond.truncated);
}

#[test]
fn what_is_not_there_is_refused() {
    let shop = shop();
    refused(
        &shop,
        "itmes",
        "`itmes` is unknown: the object at the root has no field `itmes`",
        "try: items",
    );
    refused(
        &shop,
        "items[].nxt",
        "`items[].nxt` is unknown: the object `items[]` has no field `nxt`",
        "try: items[].next",
    );
    // The path is quoted as it was asked for.
    let error = OutputSchema::new(shop.clone()).inspect(&at("items[*].nxt"));
    assert!(error.unwrap_err().to_string().contains("items[*].nxt"));
    refused(
        &shop,
        "items.xyz",
        "`items.xyz` is unknown: the array `items` has no field `xyz`",
        "it has: odd name, next",
    );
    refused(
        &shop,
        "id[]",
        "`id[]` is unknown: the integer `id` is not a list",
        "try: id",
    );
    refused(
        &shop,
        "[]",
        "`[]` is unknown: the object at the root is not a list",
        "try the empty path, which is the whole value",
    );
    refused(
        &shop,
        "id.x",
        "`id.x` is unknown: the integer `id` has no field `x`",
        "inspect a place above it",
    );
    refused(
        &shop,
        "meta.x",
        "`meta.x` is unknown: the object `meta` has no field `x`",
        "inspect a place above it",
    );
    let error = crossfeed_projection::Path::parse("a..b").unwrap_err();
    refused(&shop, "a..b", &error.to_string(), error.advice());
    refused(
        &shop,
        "__proto__",
        "`__proto__` is unknown: the object at the root has no field `__proto__`",
        "it has: id, items, meta, prices, rows, pair, one",
    );
}

#[test]
fn an_opened_envelope_has_no_name() {
    let inner = json!({"properties": {"id": {"type": "integer"}}});
    let schema = json!({"properties": {"data": inner, "ok": {"type": "boolean"}}});
    check(
        &schema,
        at(""),
        ("object", &["id: integer"], &["id: integer"], false),
    );
    check(&schema, at("id"), ("integer", &[], &[], false));
    let message =
        |path: &str| format!("`{path}` is unknown: paths begin inside the envelope's `data`");
    refused(
        &schema,
        "data",
        &message("data"),
        "try the empty path, which is the whole value",
    );
    refused(&schema, "data.id", &message("data.id"), "try: id");
    let list = json!({"properties": {"data": {"items": inner}}});
    check(
        &list,
        at(""),
        ("array", &["id: integer"], &["[].id: integer"], false),
    );
    check(
        &list,
        at("[]"),
        ("object", &["id: integer"], &["id: integer"], false),
    );
    refused(&list, "data[].id", &message("data[].id"), "try: [].id");
    // A field of that name inside is one as any other.
    let twice = json!({"properties": {"data": {"properties": {"data": inner}}}});
    check(
        &twice,
        at("data"),
        ("object", &["id: integer"], &["id: integer"], false),
    );
}

#[test]
fn arguments_are_read() {
    let read = |arguments: Value| InspectRequest::parse(&arguments);
    assert_eq!(read(json!({})), Ok(InspectRequest::default()));
    assert_eq!(read(json!(null)), Ok(InspectRequest::default()));
    let all = json!({"tool_id": "t", "field_path": "a", "max_depth": 2.0, "max_fields": "7", "offset": null});
    assert_eq!(read(all), Ok(at("a").with_max_depth(2).with_max_fields(7)));
    assert_eq!(
        read(json!({"max_fields": 1e30})),
        Ok(at("").with_max_fields(usize::MAX))
    );
    for (arguments, parameter) in [
        (json!([]), "arguments"),
        (json!({"field_path": 3}), "field_path"),
        (json!({"max_depth": -1}), "max_depth"),
        (json!({"max_fields": 1.5}), "max_fields"),
        (json!({"offset": "x"}), "offset"),
    ] {
        let error = read(arguments).unwrap_err();
        assert_eq!(error.code(), ErrorCode::ArgumentsInvalid);
        assert!(matches!(error, InspectError::Arguments { parameter: p, .. } if p == parameter));
        assert!(error.to_string().starts_with(&format!("`{parameter}` is ")));
        assert_eq!(error.body().code, "arguments.invalid");
    }
}

#[test]
fn the_inspector_is_a_tool() {
    let tool = inspector();
    for key in ["inputSchema", "outputSchema"] {
        jsonschema::meta::validate(&tool[key]).unwrap();
    }
    let answer = OutputSchema::new(shop())
        .inspect(&at(""))
        .unwrap()
        .to_value();
    assert!(
        jsonschema::is_valid(&tool["outputSchema"], &answer),
        "{answer}"
    );
    assert!(jsonschema::is_valid(
        &tool["inputSchema"],
        &json!({"tool_id": "t", "field_path": ""})
    ));
}

#[test]
fn fields_of_what_is_not_declared_are_told() {
    let entry = json!({"type": "object", "properties": {"k": {"type": "string"}}});
    let schema = json!({"type": "object", "properties": {"id": {"type": "string"}, "*": {"type": "null"}}, "additionalProperties": entry});
    let children: &[&str] = &["id: string", "*: null", "*: object"];
    let lines: &[&str] = &["id: string", "\"*\": null", "*.k: string"];
    check(&schema, at(""), ("object", children, lines, false));
    let answer = OutputSchema::new(schema.clone())
        .inspect(&at("*.k"))
        .unwrap();
    assert_eq!(answer.node_type, "string");
    let answer = OutputSchema::new(schema).inspect(&at("\"*\"")).unwrap();
    assert_eq!(answer.node_type, "null");
}

#[test]
fn what_no_path_can_name_is_counted() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "null"}, "n".repeat(1001): {"type": "null"}}});
    let answer = OutputSchema::new(schema.clone()).inspect(&at("")).unwrap();
    assert_eq!(answer.total_child_fields, 2);
    check(
        &schema,
        at(""),
        ("object", &["a: null"], &["a: null"], true),
    );
}

#[test]
fn what_takes_too_much_work_is_not_told() {
    let refs = || (0..60).map(|n| json!({"$ref": format!("#/$defs/d{n}")}));
    let definitions = (0..60).map(|n| {
        let next = json!({"$ref": format!("#/$defs/d{}", (n + 1) % 60)});
        let branches: Vec<_> = refs().collect();
        (
            format!("d{n}"),
            json!({"anyOf": branches, "properties": {format!("p{n}"): next}}),
        )
    });
    let definitions: Map<_, _> = definitions.collect();
    let schema = json!({"properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": definitions});
    let names = (1..60).map(|n| format!("p{n}"));
    let way = names.fold("a".to_owned(), |way, name| format!("{way}.{name}"));
    refused(
        &schema,
        &way,
        &format!("cannot describe `{way}`: its schema takes too many steps to read"),
        "inspect a place above it",
    );
    let answer = OutputSchema::new(schema).inspect(&at("")).unwrap();
    assert!(answer.truncated);
}

#[test]
fn near_names_are_offered_the_nearest_first() {
    let schema = json!({"properties": {"tile": {}, "title": {}, "total": {}}});
    let message = "`titlee` is unknown: the object at the root has no field `titlee`";
    refused(&schema, "titlee", message, "try: title, tile");
}
