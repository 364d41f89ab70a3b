//! Examples, one line each, judged by evaluating as well.

use super::infer_schema;
use crossfeed_jmespath::{Arena, Budget, Expression, Limits, View, evaluate};
use crossfeed_json::Document;
use crossfeed_schema::compile;
use serde_json::{Value, json};

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "id": {"type": "integer"},
            "name": {"type": ["string", "null"]},
            "items": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/item"}},
            "mixed": {"type": "array", "items": {"anyOf": [
                {"type": "array", "items": {"type": "integer"}}, {"type": "boolean"},
            ]}},
            "pair": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "items": false},
            "open": {},
        },
        "required": ["id", "name", "items"],
        "$defs": {"item": {
            "type": "object",
            "properties": {
                "title": {"type": "string"},
                "score": {"type": "number"},
                "next": {"$ref": "#/$defs/item"},
            },
            "required": ["title"],
            "additionalProperties": false,
        }},
    })
}

fn instances() -> Vec<Value> {
    vec![
        json!({"id": 1, "name": null, "items": [{"title": "a"}]}),
        json!({"id": 1, "name": "n", "open": null, "pair": ["x"], "mixed": [[1, 2], true, []],
               "items": [{"title": "a", "score": 1.5, "next": {"title": "b"}}, {"title": "c", "score": 2}]}),
        json!({"id": 0, "name": "", "open": "{\"a\": [1]}", "pair": [], "mixed": [],
               "items": [{"title": "", "score": -1, "next": {"title": "b", "next": {"title": "d"}}}]}),
    ]
}

/// What an expression gives, as the engine sees it: nothing, or a value.
fn given(expression: &Expression, instance: &Value) -> Option<Value> {
    let document = Document::new(instance.to_string());
    let (arena, budget) = (Arena::new(), Budget::new(&Limits::default(), 1000));
    let view = View::from(document.root().unwrap());
    let given = evaluate(expression, &view, &arena, &budget).ok()??;
    given.to_value(&mut 1_000_000).ok()
}

fn check(expression: &str, expected: Option<Value>) {
    let parsed = Expression::parse(expression).unwrap();
    let inferred = infer_schema(&schema(), &parsed);
    assert_eq!(inferred, expected, "{expression}");
    let Some(inferred) = inferred else { return };
    let validator = compile(&inferred).unwrap();
    let own = compile(&schema()).unwrap();
    for instance in instances() {
        assert!(own.is_valid(&instance), "{instance}");
        if let Some(given) = given(&parsed, &instance) {
            assert!(
                validator.is_valid(&given),
                "{expression} gives {given}: {inferred}"
            );
        }
    }
}

/// The schema of an expression whose outcome may hold items.
fn with_item(schema: Value) -> Option<Value> {
    let mut schema = schema;
    schema["$defs"] = json!({"item": super::tests::schema()["$defs"]["item"]});
    Some(schema)
}

#[test]
fn paths_lead_to_schemas() {
    check("id", Some(json!({"type": "integer"})));
    check("name", Some(json!({"type": ["string", "null"]})));
    check("items[0]", with_item(json!({"$ref": "#/$defs/item"})));
    check("items[0].next.score", Some(json!({"type": "number"})));
    check("items[-1].title", Some(json!({"type": "string"})));
    check("pair[1]", Some(json!({"type": "integer"})));
    check("pair[2]", None);
    check("open", None);
    check("open.a", None);
    check("id.x", None);
    check("items[0].gone", None);
    check(
        "@",
        Some({
            let mut whole = schema();
            let item = whole["$defs"]["item"].clone();
            whole.as_object_mut().unwrap().shift_remove("$defs");
            whole["$defs"] = json!({"item": item});
            whole
        }),
    );
}

#[test]
fn projections_lead_to_lists() {
    let strings = || Some(json!({"type": "array", "items": {"type": "string"}}));
    check("items[*].title", strings());
    check("items[?score > `1`].title", strings());
    check("items[1:].title", strings());
    check("items[].title", strings());
    check(
        "items[*]",
        with_item(json!({"type": "array", "items": {"$ref": "#/$defs/item"}})),
    );
    check(
        "items[*].gone",
        Some(json!({"type": "array", "maxItems": 0})),
    );
    check("id[*]", None);
    check("open[*].a", Some(json!({"type": "array"})));
    check(
        "mixed[]",
        Some(
            json!({"type": "array", "items": {"anyOf": [{"type": "integer"}, {"allOf": [
                {"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "boolean"}]},
                {"not": {"type": "array"}},
            ]}]}}),
        ),
    );
    check(
        "items[*].*",
        with_item(
            json!({"type": "array", "items": {"type": "array", "items": {"anyOf": [
                {"type": "string"}, {"type": "number"}, {"$ref": "#/$defs/item"},
            ]}}}),
        ),
    );
}

#[test]
fn what_is_built_holds_null_where_a_member_may_be_absent() {
    check(
        "[id, items[0].score, name]",
        Some(json!({
            "type": "array",
            "prefixItems": [
                {"type": "integer"},
                {"anyOf": [{"type": "number"}, {"type": "null"}]},
                {"type": ["string", "null"]},
            ],
            "minItems": 3,
            "maxItems": 3,
        })),
    );
    check(
        "{a: id, b: items[0].title, c: gone}",
        Some(json!({
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "string"}, "c": true},
            "required": ["a", "b", "c"],
            "additionalProperties": false,
        })),
    );
    check(
        "name || 'none'",
        Some(json!({"anyOf": [{"type": "string"}, {"const": "none"}]})),
    );
    check(
        "name && id",
        Some(json!({"anyOf": [{"type": "string"}, {"type": "integer"}]})),
    );
    check("name", Some(json!({"type": ["string", "null"]})));
    check("@ | name", Some(json!({"type": ["string", "null"]})));
    check(
        "not_null(name, 'x')",
        Some(json!({"anyOf": [{"type": "string"}, {"const": "x"}]})),
    );
}

#[test]
fn functions_say_what_they_give() {
    check(
        "length(items)",
        Some(json!({"type": "integer", "minimum": 0})),
    );
    check(
        "keys(@)",
        Some(json!({"type": "array", "items": {"type": "string"}})),
    );
    check("sum(items[*].score)", Some(json!({"type": "number"})));
    check("max(items[*].title)", Some(json!({"type": "string"})));
    check(
        "max_by(items, &title).title",
        Some(json!({"type": "string"})),
    );
    check(
        "sort_by(items, &title)[*].score",
        Some(json!({"type": "array", "items": {"type": "number"}})),
    );
    check(
        "map(&score, items)",
        Some(json!({"type": "array", "items": {"anyOf": [{"type": "number"}, {"type": "null"}]}})),
    );
    check(
        "contains(items[*].title, 'a')",
        Some(json!({"type": "boolean"})),
    );
    check(
        "to_array(id)",
        Some(json!({"type": "array", "items": {"type": "integer"}})),
    );
    check(
        "reverse(items[*].title)",
        Some(json!({"type": "array", "items": {"type": "string"}})),
    );
    check("merge(@, {a: id})", Some(json!({"type": "object"})));
    check("`5`", Some(json!({"const": 5})));
    check(
        "type(@)",
        Some(json!({"type": "string", "enum":
        ["array", "boolean", "null", "number", "object", "string"]})),
    );
}

#[test]
fn what_may_be_no_object_may_have_no_member() {
    let schema = json!({"anyOf": [
        {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
        {"type": "object", "properties": {"a": false}},
    ]});
    let expression = Expression::parse("{x: a}").unwrap();
    let inferred = infer_schema(&schema, &expression).unwrap();
    let given = given(&expression, &json!({})).unwrap();
    assert!(
        compile(&inferred).unwrap().is_valid(&given),
        "{given}: {inferred}"
    );
}

#[test]
fn what_doubles_is_not_told() {
    let expression = vec!["[@,@]"; 40].join("|");
    check(&expression, None);
}

#[test]
fn what_is_no_schema_says_nothing() {
    let expression = Expression::parse("a").unwrap();
    assert_eq!(infer_schema(&json!({"type": "objekt"}), &expression), None);
    let draft4 = json!({"$schema": "http://json-schema.org/draft-04/schema#",
        "type": "object", "properties": {"a": {"type": "string"}}});
    let expression = Expression::parse("[a, `1`]").unwrap();
    assert_eq!(
        infer_schema(&draft4, &expression),
        Some(
            json!({"$schema": "http://json-schema.org/draft-04/schema#", "type": "array",
            "items": [{"anyOf": [{"type": "string"}, {"type": "null"}]}, {"enum": [1]}],
            "minItems": 2, "maxItems": 2})
        )
    );
}
