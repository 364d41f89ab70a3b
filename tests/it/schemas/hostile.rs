//! Schemas that a broken or hostile server would send: each gives a typed error or a right output, soon.

use super::laws::Pair;
use crate::support::{on_stack, within};
use crossfeed_schema::SchemaError;
use crossfeed_tools::{Rewritten, Style, rewrite};
use serde_json::{Map, Value, json};

fn plain(schema: &Value, style: Style) -> Result<Rewritten, SchemaError> {
    rewrite(schema, style, style.spelling())
}

/// Every style refuses the schema, and in the same way.
fn refused(schema: &Value, is: impl Fn(&SchemaError) -> bool) {
    for style in Style::ALL {
        match plain(schema, style) {
            Ok(rewritten) => panic!("{style}: {schema} gives {}", rewritten.schema),
            Err(error) => assert!(is(&error), "{style}: {schema} gives {error:?}"),
        }
    }
}

/// Every style keeps its laws over the schema and these valid instances.
fn keeps(schema: &Value, instances: &[Value]) {
    for style in Style::ALL {
        let pair = match Pair::new(schema, style) {
            Ok(Some(pair)) => pair,
            Ok(None) => panic!("{style}: {schema} is refused"),
            Err(law) => panic!("{style}: {law}"),
        };
        for instance in instances {
            assert!(
                pair.own.is_valid(instance),
                "{instance} is not valid by {schema}"
            );
            if let Err(law) = pair.admits(instance) {
                panic!("{style}: {law}\n  original: {schema}");
            }
        }
    }
}

fn nested(levels: usize, wrap: impl Fn(Value) -> Value) -> Value {
    (0..levels).fold(json!({"type": "string"}), |inner, _| wrap(inner))
}

/// Not by `json!`, which copies what is put in, level by level.
fn under(key: &str, inner: Value) -> Value {
    Value::Object(Map::from_iter([(key.to_owned(), inner)]))
}

fn with_property(inner: Value) -> Value {
    let mut schema = under("properties", under("a", inner));
    schema["type"] = json!("object");
    schema
}

#[test]
fn what_is_no_schema_is_refused() {
    for none in [
        json!(null),
        json!(7),
        json!("object"),
        json!([]),
        json!([{}]),
    ] {
        refused(&none, |error| matches!(error, SchemaError::NoSchema { .. }));
    }
}

#[test]
fn invalid_keyword_values_are_refused_with_their_place() {
    let cases = [
        (json!({"type": "objekt"}), "/type"),
        (json!({"properties": 3}), "/properties"),
        (json!({"properties": {"a": 3}}), "/properties/a"),
        (json!({"required": "a"}), "/required"),
        (
            json!({"type": "object", "properties": {"a/b": {"items": {"minLength": -1}}}}),
            "/properties/a~1b/items/minLength",
        ),
        (
            json!({"properties": {"a": {"enum": 3}}}),
            "/properties/a/enum",
        ),
        (json!({"anyOf": []}), "/anyOf"),
        (json!({"definitions": {"a": []}}), "/definitions/a"),
    ];
    for (schema, place) in cases {
        refused(
            &schema,
            |error| matches!(error, SchemaError::Invalid { at, .. } if at.to_string() == place),
        );
    }
    for pattern in ["(", "[", "a{2,1}", "(?<n>a"] {
        let schema = json!({"properties": {"a": {"type": "string", "pattern": pattern}}});
        refused(&schema, |error| {
            matches!(error, SchemaError::Invalid { .. })
        });
        let schema = json!({"patternProperties": {pattern: {"type": "string"}}});
        refused(&schema, |error| {
            matches!(error, SchemaError::Invalid { .. })
        });
    }
}

#[test]
fn references_that_lead_nowhere_or_away_are_refused() {
    for gone in [
        "#/$defs/gone",
        "#gone",
        "#/properties/a/gone",
        "#/properties/0",
    ] {
        let schema = json!({"properties": {"a": {"$ref": gone}}});
        refused(
            &schema,
            |error| matches!(error, SchemaError::Dangling { reference, .. } if reference == gone),
        );
    }
    for away in [
        "https://schemas.example/a.json",
        "http://127.0.0.1:1/a#/b",
        "file:///etc/passwd",
        "other.json",
        "urn:other:schema",
    ] {
        let schema = json!({"properties": {"a": {"items": {"$ref": away}}}});
        refused(&schema, |error| {
            matches!(error, SchemaError::Remote { reference, at } if reference == away && at.to_string() == "/properties/a/items/$ref")
                || matches!(error, SchemaError::Remote { reference, at } if reference == away && at.to_string() == "/properties/a/items")
        });
    }
    let cycles = [
        json!({"$ref": "#"}),
        json!({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}),
        json!({"properties": {"x": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}),
        json!({"properties": {"x": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"allOf": [{"anyOf": [{"$ref": "#/$defs/a"}]}]}}}),
        json!({"properties": {"x": {"$ref": "#/properties/y"}, "y": {"not": {"$ref": "#/properties/x"}}}}),
    ];
    for schema in cycles {
        refused(&schema, |error| matches!(error, SchemaError::Cyclic { .. }));
    }
}

#[test]
fn recursion_through_values_is_kept() {
    let tree = json!({
        "type": "object",
        "properties": {"tree": {"$ref": "#/$defs/tree"}, "again": {"$ref": "#"}},
        "$defs": {"tree": {"type": "object", "properties": {
            "name": {"type": "string"},
            "children": {"type": "array", "items": {"$ref": "#/$defs/tree"}},
        }, "required": ["name"], "additionalProperties": false}},
    });
    keeps(
        &tree,
        &[
            json!({}),
            json!({"tree": {"name": "a", "children": [{"name": "b"}, {"name": "c", "children": []}]}}),
            json!({"again": {"again": {"tree": {"name": "a"}}}}),
        ],
    );
}

#[test]
fn roots_of_every_shape_become_plain_objects() {
    let accept_all = [json!({}), json!({"a": 1}), json!({"a": null, "b": [{}]})];
    keeps(&json!(true), &accept_all);
    keeps(&json!({}), &accept_all);
    keeps(&json!(false), &[]);
    keeps(&json!({"type": "array"}), &[]);
    keeps(&json!({"type": ["object", "null"]}), &accept_all);
    keeps(
        &json!({"properties": {"a": {"type": "integer"}}}),
        &[json!({}), json!({"a": 1})],
    );
    for combinator in ["anyOf", "oneOf"] {
        let schema = json!({"type": "object", combinator: [
            {"properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": false},
            {"properties": {"a": {"type": "integer"}, "b": {"type": "integer", "description": "a number"}}, "required": ["b"]},
        ]});
        keeps(
            &schema,
            &[json!({"a": "x"}), json!({"b": 1}), json!({"a": 1, "b": 2})],
        );
    }
    let schema = json!({"allOf": [
        {"properties": {"a": {"type": "string"}}, "required": ["a"]},
        {"properties": {"b": {"type": "integer"}, "a": {"minLength": 1}}, "maxProperties": 2},
        {"not": {"required": ["c"]}},
    ]});
    keeps(&schema, &[json!({"a": "x"}), json!({"a": "x", "b": 1})]);
    let schema = json!({"$ref": "#/$defs/arguments", "$defs": {"arguments": {
        "type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": false,
    }}});
    keeps(&schema, &[json!({"a": "x"})]);
    let schema = json!({"type": "object", "enum": [{"a": 1}, {"b": [1, 2]}]});
    keeps(&schema, &[json!({"a": 1}), json!({"b": [1, 2]})]);
    keeps(
        &json!({"const": {"a": {"b": 1}}}),
        &[json!({"a": {"b": 1}})],
    );
    let schema = json!({"if": {"properties": {"a": {"const": 1}}, "required": ["a"]}, "then": {"required": ["b"]}, "else": {"maxProperties": 1}});
    keeps(
        &schema,
        &[json!({}), json!({"a": 1, "b": 2}), json!({"c": 1})],
    );
}

#[test]
fn root_keywords_admit_the_references_map() {
    let one = json!({"a": "x"});
    for closed in [
        json!({"properties": {"a": {"type": "string"}}, "additionalProperties": false}),
        json!({"properties": {"a": {"type": "string"}}, "unevaluatedProperties": false}),
        json!({"additionalProperties": {"type": "string"}}),
        json!({"unevaluatedProperties": {"type": "string"}}),
        json!({"patternProperties": {"": {"type": "string"}}}),
        json!({"patternProperties": {"^[_$]": false}}),
        json!({"patternProperties": {"refs": {"type": "integer"}}}),
        json!({"propertyNames": {"pattern": "^[a-z]$"}}),
        json!({"propertyNames": {"enum": ["a"]}}),
        json!({"propertyNames": {"maxLength": 1}}),
        json!({"maxProperties": 1}),
        json!({"minProperties": 1, "maxProperties": 1, "required": ["a"]}),
        json!({"dependentRequired": {"b": ["c"]}}),
        json!({"dependentSchemas": {"a": {"maxProperties": 1, "properties": {"a": {"type": "string"}}, "additionalProperties": false}}}),
        json!({"allOf": [{"properties": {"a": {"type": "string"}}, "additionalProperties": false}]}),
        json!({"not": {"properties": {"a": {"type": "null"}}}}),
        json!({"not": {"minProperties": 2}}),
    ] {
        keeps(&closed, std::slice::from_ref(&one));
        let mut draft7 = Map::from_iter([(
            "$schema".to_owned(),
            json!("http://json-schema.org/draft-07/schema#"),
        )]);
        draft7.extend(closed.as_object().unwrap().clone());
        keeps(&Value::Object(draft7), std::slice::from_ref(&one));
    }
}

#[test]
fn every_kind_of_parameter_may_be_a_reference() {
    let cases = [
        (json!({}), json!(1)),
        (json!(true), json!([1])),
        (json!({"description": "anything"}), json!({"a": 1})),
        (json!({"type": "null"}), json!(null)),
        (json!({"type": ["string", "null"]}), json!(null)),
        (json!({"type": ["string", "integer"]}), json!(1)),
        (json!({"enum": ["a", "b"]}), json!("a")),
        (json!({"type": "string", "enum": ["a", "b"]}), json!("a")),
        (json!({"enum": [null, {"a": 1}]}), json!({"a": 1})),
        (json!({"const": "a"}), json!("a")),
        (json!({"const": {"a": [1]}}), json!({"a": [1]})),
        (json!({"$ref": "#/$defs/d"}), json!("a")),
        (
            json!({"$ref": "#/$defs/d", "description": "beside", "minLength": 1}),
            json!("a"),
        ),
        (
            json!({"allOf": [{"$ref": "#/$defs/d"}], "description": "beside"}),
            json!("a"),
        ),
        (
            json!({"allOf": [{"type": "string"}, {"enum": ["a"]}]}),
            json!("a"),
        ),
        (
            json!({"anyOf": [{"type": "string"}, {"type": "null"}]}),
            json!("a"),
        ),
        (
            json!({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}], "default": "a"}),
            json!(["a", "b"]),
        ),
        (
            json!({"oneOf": [{"type": "integer"}, {"type": "number", "minimum": 10}]}),
            json!(3),
        ),
        (json!({"type": "string", "not": {"const": "b"}}), json!("a")),
        (json!({"not": {"type": "object"}}), json!("a")),
        (
            json!({"type": "array", "uniqueItems": true, "items": {"type": "integer"}}),
            json!([1, 2]),
        ),
        (
            json!({"type": "array", "contains": {"const": 1}, "minItems": 2}),
            json!([1, 2]),
        ),
        (
            json!({"type": "array", "contains": {"type": "object"}, "maxContains": 0, "minContains": 0}),
            json!([1, 2]),
        ),
        (
            json!({"type": "array", "prefixItems": [{"type": "string"}, true, {}], "items": false}),
            json!(["a", 1, null]),
        ),
        (
            json!({"type": "array", "items": {"type": "array", "items": {"type": "number"}}}),
            json!([[1.5], []]),
        ),
        (
            json!({"type": "object", "additionalProperties": {"type": "array", "items": {"enum": [1]}}}),
            json!({"k": [1, 1]}),
        ),
        (
            json!({"type": "object", "patternProperties": {"^x-": {"type": "string"}}, "additionalProperties": false}),
            json!({"x-a": "b"}),
        ),
        (
            json!({"type": "object", "properties": {"k": {"const": "x"}}, "required": ["k"], "if": {"properties": {"k": {"const": "x"}}}, "then": {"required": ["v"], "properties": {"v": {"type": "string"}}}, "else": false}),
            json!({"k": "x", "v": "y"}),
        ),
        (
            json!({"type": "object", "properties": {"k": {"type": "string"}}, "unevaluatedProperties": false}),
            json!({"k": "x"}),
        ),
        (
            json!({"type": "object", "enum": [{"k": "x"}, {"k": "y"}]}),
            json!({"k": "x"}),
        ),
        (
            json!({"type": "object", "dependentSchemas": {"k": {"properties": {"k": {"minimum": 2}}}}}),
            json!({"k": 3}),
        ),
        (
            json!({"type": "string", "format": "date", "default": null, "x-own": {"any": [1]}}),
            json!("not a date"),
        ),
    ];
    for (parameter, value) in cases {
        let schema = |parameter: &Value| {
            json!({
                "type": "object",
                "properties": {"p": parameter},
                "required": ["p"],
                "additionalProperties": false,
                "$defs": {"d": {"type": "string", "description": "a definition"}},
            })
        };
        keeps(&schema(&parameter), &[json!({"p": value})]);
        let inner = json!({"type": "object", "properties": {"q": parameter}});
        keeps(&schema(&inner), &[json!({"p": {"q": value}})]);
        let item = json!({"type": "array", "items": {"anyOf": [parameter, {"type": "null"}]}});
        keeps(&schema(&item), &[json!({"p": [value]})]);
    }
}

#[test]
fn names_of_the_grammar_and_odd_names_stay_the_tools_own() {
    let names = [
        "$refs",
        "_refs",
        "$tool",
        "_tool",
        "$select",
        "_select",
        "$artifact",
        "_artifact",
        "$default",
        "_default",
        "$literal",
        "_literal",
        "$ref",
        "$defs",
        "$id",
        "type",
        "properties",
        "anyOf",
        "enum",
        "crossfeed_reference",
        "",
        " ",
        "a/b",
        "~",
        "a~1b",
        "%25",
        "é",
        "\u{0}",
        "__proto__",
    ];
    for name in names {
        let schema = json!({"type": "object", "properties": {name: {"type": "string", "description": "its own"}, "other": {"type": "integer"}}, "required": [name]});
        keeps(
            &schema,
            &[json!({name: "x"}), json!({name: "x", "other": 1})],
        );
        let schema = json!({"type": "object", "properties": {"o": {"type": "object", "properties": {name: {"type": "string"}}, "additionalProperties": false}}});
        keeps(&schema, &[json!({"o": {name: "x"}})]);
        for style in Style::ALL {
            let schema = json!({"type": "object", "properties": {name: {"type": "string"}}});
            let rewritten = plain(&schema, style).unwrap();
            assert_ne!(rewritten.references.as_deref(), Some(name));
            assert!(
                rewritten.schema["properties"].get(name).is_some(),
                "{style}: {}",
                rewritten.schema
            );
        }
    }
    for style in [Style::Refs, Style::RefsList] {
        let both = json!({"type": "object", "properties": {"$refs": {"type": "string"}, "_refs": {"type": "string"}}});
        if let Ok(rewritten) = plain(&both, style) {
            let key = rewritten.references.as_deref();
            assert!(
                !matches!(key, Some("$refs" | "_refs")),
                "{style} shadows {key:?}"
            );
            for own in ["$refs", "_refs"] {
                assert!(
                    rewritten.schema["properties"][own]
                        .to_string()
                        .contains("string")
                );
            }
        }
    }
    let defined = json!({
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/crossfeed_reference"}},
        "$defs": {"crossfeed_reference": {"type": "integer"}},
    });
    keeps(&defined, &[json!({"a": 1})]);
    let shown = plain(&defined, Style::Inline).unwrap().schema;
    let shown = jsonschema::validator_for(&shown).unwrap();
    assert!(
        !shown.is_valid(&json!({"a": "a string"})),
        "the tool's own definition is shadowed"
    );
}

#[test]
fn pointers_into_rewritten_places_lead_where_they_led() {
    let schema = json!({
        "type": "object",
        "properties": {
            "from": {"type": "object", "properties": {"at": {"type": "string", "minLength": 2}, "list": {"type": "array", "items": {"type": "integer"}}}},
            "to": {"$ref": "#/properties/from"},
            "at": {"$ref": "#/properties/from/properties/at"},
            "number": {"$ref": "#/properties/from/properties/list/items"},
            "either": {"anyOf": [{"$ref": "#/properties/at"}, {"type": "object", "properties": {"x": {"$ref": "#/properties/either/anyOf/0"}}}]},
            "odd/~ name": {"type": "boolean"},
            "odd": {"$ref": "#/properties/odd~1~0%20name"},
        },
        "additionalProperties": false,
    });
    keeps(
        &schema,
        &[json!({
            "from": {"at": "ab", "list": [1]}, "to": {"at": "ab", "list": []}, "at": "cd", "number": 7,
            "either": {"x": "ab"}, "odd/~ name": true, "odd": false,
        })],
    );
    for style in Style::ALL {
        let shown = plain(&schema, style).unwrap().schema;
        let shown = jsonschema::validator_for(&shown).unwrap();
        for wrong in [
            json!({"at": "a"}),
            json!({"number": "x"}),
            json!({"to": {"at": 1}}),
            json!({"odd": 1}),
            json!({"either": 3}),
        ] {
            assert!(
                !shown.is_valid(&wrong),
                "{style}: {wrong} is accepted: a pointer leads elsewhere"
            );
        }
    }
}

#[test]
fn parameters_that_travel_in_a_header_stay_reachable() {
    let schema = json!({
        "type": "object",
        "properties": {
            "region": {"type": "string", "description": "where", "x-mcp-header": "Region"},
            "auth": {"type": "object", "properties": {"tenant": {"type": "string", "x-mcp-header": "Tenant"}, "note": {"type": "string"}}},
            "free": {"type": "string"},
        },
        "required": ["region"],
    });
    keeps(
        &schema,
        &[json!({"region": "eu", "auth": {"tenant": "t", "note": "n"}, "free": "f"})],
    );
    for style in Style::ALL {
        let shown = plain(&schema, style).unwrap().schema;
        assert_eq!(
            shown["properties"]["region"], schema["properties"]["region"],
            "{style}"
        );
        let tenant = &shown["properties"]["auth"]["properties"]["tenant"];
        assert_eq!(
            *tenant, schema["properties"]["auth"]["properties"]["tenant"],
            "{style}"
        );
    }
    let shown = plain(&schema, Style::Inline).unwrap().schema;
    let shown = jsonschema::validator_for(&shown).unwrap();
    let reference = json!({"$tool": "c"});
    assert!(
        shown.is_valid(&json!({"region": "eu", "free": reference, "auth": {"note": reference}}))
    );
    assert!(!shown.is_valid(&json!({"region": reference})));
    assert!(!shown.is_valid(&json!({"region": "eu", "auth": {"tenant": reference}})));
}

#[test]
fn places_declared_false_take_no_reference() {
    let schema = json!({"type": "object", "properties": {"never": false, "list": {"type": "array", "prefixItems": [{"type": "string"}], "items": false}}});
    keeps(&schema, &[json!({"list": ["a"]})]);
    for style in Style::ALL {
        let shown = plain(&schema, style).unwrap().schema;
        assert_eq!(shown["properties"]["never"], json!(false), "{style}");
    }
    let shown = plain(&schema, Style::Inline).unwrap().schema;
    let shown = jsonschema::validator_for(&shown).unwrap();
    assert!(!shown.is_valid(&json!({"never": {"$tool": "c"}})));
    assert!(!shown.is_valid(&json!({"list": ["a", {"$tool": "c"}]})));
}

#[test]
fn other_dialects_are_kept_or_refused() {
    for dialect in [
        "http://json-schema.org/draft-04/schema#",
        "http://json-schema.org/draft-06/schema#",
        "https://json-schema.org/draft/2019-09/schema",
    ] {
        let schema = json!({
            "$schema": dialect,
            "type": "object",
            "properties": {"a": {"type": "array", "items": [{"type": "string"}], "additionalItems": {"type": "integer"}}, "b": {"$ref": "#/definitions/b"}},
            "definitions": {"b": {"type": "number", "minimum": 1}},
        });
        keeps(&schema, &[json!({"a": ["x", 1], "b": 2})]);
    }
    for dialect in [json!("https://schemas.example/own"), json!(7), json!(null)] {
        let schema =
            json!({"$schema": dialect, "type": "object", "properties": {"a": {"type": "string"}}});
        for style in Style::ALL {
            assert!(
                !matches!(Pair::new(&schema, style), Err(law) if !law.starts_with("refused")),
                "{style}: {dialect}"
            );
        }
    }
}

#[test]
fn large_deep_and_wide_schemas_end_soon() {
    let outcomes = on_stack(2048, || {
        within(60, || {
            let wide: Map<String, Value> = (0..10_000)
                .map(|n| {
                    (
                        format!("p{n}"),
                        json!({"type": "string", "description": "one of many"}),
                    )
                })
                .collect();
            let wide = json!({"type": "object", "properties": wide});
            for style in Style::ALL {
                let rewritten = plain(&wide, style).unwrap().schema;
                assert!(rewritten["properties"].as_object().unwrap().len() >= 10_000);
                assert_eq!(plain(&rewritten, style).unwrap().schema, rewritten);
            }
            for deep in [
                nested(1000, with_property),
                nested(1000, |inner| under("items", inner)),
                nested(1000, |inner| under("not", inner)),
                nested(5000, |inner| under("default", inner)),
            ] {
                refused(&deep, |error| matches!(error, SchemaError::TooDeep));
                let mut open = vec![deep];
                while let Some(Value::Object(members)) = open.pop() {
                    open.extend(members.into_iter().map(|(_, value)| value));
                }
            }
            // Deep, but a schema: what comes out may be too deep to be one, and then it is refused.
            for levels in [10, 20, 30, 40, 50, 60, 62] {
                for style in Style::ALL {
                    let schema = nested(levels, with_property);
                    match Pair::new(&schema, style) {
                        Ok(_) => {}
                        Err(law) => assert!(
                            (law.starts_with("refused") || law.starts_with("too deep"))
                                && levels > 20,
                            "{style}: {levels} levels: {law}"
                        ),
                    }
                }
            }
        });
        true
    });
    assert!(outcomes);
}

#[test]
fn references_that_fan_out_end_soon() {
    let fan = |levels: usize, level: fn(&Value) -> Value| {
        let mut definitions = Map::new();
        for number in 0..levels {
            let next = json!({"$ref": format!("#/$defs/d{}", number + 1)});
            definitions.insert(format!("d{number}"), level(&next));
        }
        definitions.insert(
            format!("d{levels}"),
            json!({"type": "object", "properties": {"end": {"type": "string"}}}),
        );
        json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": definitions})
    };
    within(60, || {
        let levels: [fn(&Value) -> Value; 4] = [
            |next| json!({"type": "object", "properties": {"l": next, "r": next}}),
            |next| json!({"type": "array", "items": {"anyOf": [next, {"type": "array", "items": next}]}}),
            |next| json!({"allOf": [next, next]}),
            |next| json!({"anyOf": [next, {"oneOf": [next, next]}]}),
        ];
        for level in levels {
            let schema = fan(100, level);
            for style in Style::ALL {
                let _ = plain(&schema, style);
            }
        }
        // At the root, where combinators are merged away.
        for combinator in ["allOf", "anyOf", "oneOf"] {
            let mut schema = fan(60, |next| json!({"allOf": [next, next]}));
            schema[combinator] = json!([{"$ref": "#/$defs/d0"}, {"$ref": "#/$defs/d1"}]);
            for style in Style::ALL {
                let _ = plain(&schema, style);
            }
        }
    });
}
