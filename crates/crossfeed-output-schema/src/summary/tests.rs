//! The lines, exactly.

use crate::OutputSchema;
use serde_json::{Value, json};

/// The lines of a schema; `…` at a line's end stands for what a marker asks, with the path that is
/// the line's own.
fn check(schema: Value, lines: &[&str], hidden: bool) {
    let shown = schema.to_string();
    let summary = OutputSchema::new(schema).summary("T");
    let lines: Vec<_> = lines.iter().map(|line| unfolded(line)).collect();
    assert_eq!(summary.output_fields, lines, "{shown}");
    assert_eq!(summary.has_hidden_fields, hidden, "{shown}");
}

fn unfolded(line: &str) -> String {
    let Some(line) = line.strip_suffix('…') else {
        return line.to_owned();
    };
    let path = line.split([':', ' ']).next().unwrap();
    let path = path
        .strip_suffix('*')
        .map_or(path, |path| path.trim_end_matches('.'));
    marker(line, path)
}

fn marker(line: &str, path: &str) -> String {
    format!("{line}inspect_tool_output(tool_id=\"T\", field_path=\"{path}\"))")
}

fn object(fields: &[(&str, Value)]) -> Value {
    let fields: serde_json::Map<_, _> = fields
        .iter()
        .map(|(name, schema)| ((*name).to_owned(), schema.clone()))
        .collect();
    json!({"type": "object", "properties": fields})
}

fn wide(count: usize) -> Value {
    let fields: Vec<_> = (0..count).map(|n| format!("f{n}")).collect();
    let fields: Vec<_> = fields
        .iter()
        .map(|name| (name.as_str(), json!({"type": "number"})))
        .collect();
    object(&fields)
}

fn text() -> Value {
    json!({"type": "string"})
}

#[test]
fn few_and_near_leaves_are_all_there_is() {
    check(json!({}), &[], false);
    check(json!(true), &[], false);
    check(json!(7), &[], false);
    check(text(), &[], false);
    check(
        json!({"type": "object", "additionalProperties": false}),
        &[],
        false,
    );
    check(json!({"type": "object"}), &[], true);
    check(
        object(&[
            ("z", text()),
            (
                "user",
                object(&[("b", text()), ("id", json!({"type": ["integer", "null"]}))]),
            ),
            ("tags", json!({"items": text()})),
            ("rows", json!({"items": {"items": {"type": "number"}}})),
            ("list", json!({"type": "array"})),
            ("kind", json!({"enum": ["a"]})),
            ("any", json!({})),
            (
                "closed",
                json!({"type": "object", "additionalProperties": false}),
            ),
            ("a", object(&[("b", object(&[("c", text())]))])),
        ]),
        &[
            "z: string",
            "user.b: string",
            "user.id: integer",
            "tags[]: string",
            "rows[][]: number",
            "list[]: unknown",
            "kind: enum",
            "any: unknown",
            "closed: object",
            "a.b.c: string",
        ],
        false,
    );
    check(
        wide(30),
        &(0..30)
            .map(|n| format!("f{n}: number"))
            .collect::<Vec<_>>()
            .iter()
            .map(String::as_str)
            .collect::<Vec<_>>(),
        false,
    );
}

#[test]
fn open_objects_and_unions_are_hidden() {
    check(
        object(&[
            ("metadata", json!({"type": "object"})),
            (
                "prices",
                json!({"additionalProperties": {"type": "number"}}),
            ),
            ("all", json!({"items": {"type": "object"}})),
            (
                "one",
                json!({"anyOf": [object(&[("a", text())]), object(&[("b", text())])]}),
            ),
            ("two", json!({"anyOf": [{"type": "object"}, text()]})),
            ("three", json!({"type": ["string", "number"]})),
        ]),
        &[
            "metadata: object (unknown keys; …",
            "prices: object (unknown keys; …",
            "all[]: object (unknown keys; …",
            "one: union (contains 2 sub-fields; …",
            "two: union (unknown keys; …",
            "three: union",
        ],
        true,
    );
}

#[test]
fn roots_without_a_name() {
    let one = json!({"anyOf": [object(&[("a", text())]), object(&[("b", text())])]});
    check(
        json!({"items": {"type": "integer"}}),
        &["[]: integer"],
        false,
    );
    check(json!({"type": "array"}), &["[]: unknown"], false);
    check(
        json!({"items": {"type": "object"}}),
        &["[]: object (unknown keys; …"],
        true,
    );
    check(
        json!({"items": one}),
        &["[]: union (contains 2 sub-fields; …"],
        true,
    );
    check(
        json!({"items": object(&[("id", text()), ("a", object(&[("b", text())]))])}),
        &["[].id: string", "[].a.b: string"],
        false,
    );
    check(one, &["* (+2 more fields; …"], true);
    let mut lines: Vec<_> = (0..29).map(|n| format!("[].f{n}: number")).collect();
    lines.push("[].* (+2 more fields; …".to_owned());
    check(
        json!({"items": wide(31)}),
        &lines.iter().map(String::as_str).collect::<Vec<_>>(),
        true,
    );
}

#[test]
fn envelopes_are_opened() {
    let beside = |data: Value, key: &str| object(&[("data", data), (key, text())]);
    for key in [
        "success",
        "successful",
        "ok",
        "error",
        "errors",
        "message",
        "meta",
        "pagination",
    ] {
        check(
            beside(object(&[("id", text())]), key),
            &["id: string"],
            false,
        );
    }
    check(
        object(&[("data", json!({"items": object(&[("id", text())])}))]),
        &["[].id: string"],
        false,
    );
    check(
        beside(
            json!({"anyOf": [object(&[("id", text())]), {"type": "null"}]}),
            "ok",
        ),
        &["id: string"],
        false,
    );
    check(
        beside(json!({"type": "object"}), "ok"),
        &[&marker("data: object (unknown keys; ", "")],
        true,
    );
    check(
        beside(json!({"anyOf": [object(&[("id", text())]), text()]}), "ok"),
        &[&marker("data: union (contains 1 sub-fields; ", "")],
        true,
    );
    check(beside(text(), "ok"), &["data: string"], false);
    // What else stands there is a field as any other.
    check(
        beside(object(&[("id", text())]), "total"),
        &["data.id: string", "total: string"],
        false,
    );
    check(object(&[("ok", text())]), &["ok: string"], false);
    // It is opened once.
    check(
        object(&[("data", object(&[("data", object(&[("id", text())]))]))]),
        &["data.id: string"],
        false,
    );
}

#[test]
fn the_root_comes_first_then_what_is_well_known() {
    let deep = object(&[(
        "x",
        object(&[(
            "y",
            object(&[("z", object(&[("owner_id", text()), ("w", text())]))]),
        )]),
    )]);
    check(
        object(&[
            ("body", {
                let mut body = wide(40);
                body["properties"]["status"] = text();
                body
            }),
            ("deep", deep),
            ("total", json!({"type": "integer"})),
        ]),
        &[
            "body.* (+15 more fields; …",
            "total: integer",
            "body.status: string",
            "deep.x.y.z.* (+1 more fields; …",
            "deep.x.y.z.owner_id: string",
        ]
        .into_iter()
        .chain((0..25).map(|n| &*format!("body.f{n}: number").leak()))
        .collect::<Vec<_>>(),
        true,
    );
}

#[test]
fn fields_of_what_is_not_declared_are_listed() {
    let string = || json!({"type": "string"});
    let entry = || object(&[("k", string())]);
    let beside = |keyword: &str, rest: Value| {
        json!({"type": "object", "properties": {"p": {
            "type": "object", "properties": {"id": string()}, keyword: rest,
        }}})
    };
    let lines = &["p.id: string", "p.*.k: string"];
    check(beside("additionalProperties", entry()), lines, false);
    check(
        beside("patternProperties", json!({"^x": entry()})),
        lines,
        false,
    );
    let list = json!({"type": "array", "items": entry()});
    check(
        beside("additionalProperties", list),
        &["p.id: string", "p.*[].k: string"],
        false,
    );
    for rest in [json!(true), string(), json!({"type": "object"}), json!({})] {
        check(
            beside("additionalProperties", rest),
            &["p.id: string"],
            false,
        );
    }
    // Within itself it is folded.
    let again = json!({"type": "object", "properties": {"id": string()}, "additionalProperties": {"$ref": "#"}});
    let schema = OutputSchema::new(again);
    let summary = schema.summary("T");
    assert!(summary.has_hidden_fields);
    assert_eq!(summary.output_fields[0], "id: string");
    assert_eq!(schema.top_level_keys(), ["id"]);
}
