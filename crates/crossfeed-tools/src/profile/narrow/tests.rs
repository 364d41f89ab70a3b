use super::{
    encode::encode,
    laws::{SUBSETS, judge},
    narrow,
};
use crate::Profile;
use serde_json::{Map, Value, json};

fn check(profile: Profile, schema: &Value, shown: &Value) {
    let narrowed = narrow(schema, profile).schema;
    assert_eq!(&narrowed, shown, "{profile}: {narrowed}");
    assert_eq!(narrowed.to_string(), shown.to_string(), "{profile}");
    judge(schema, profile).unwrap();
}

#[test]
fn openai_strict() {
    let strict = Profile::OpenAiStrict;
    check(
        strict,
        &json!({
            "$schema": "http://json-schema.org/draft-07/schema#",
            "type": "object",
            "properties": {
                "url": {"type": "string", "format": "uri", "minLength": 1, "description": "  d\u{e9} "},
                "sort": {"enum": ["up", "down"], "default": "up"},
                "any": {"description": "any"},
                "tags": {"type": "object", "additionalProperties": {"type": "string"}, "description": "t"},
                "pair": {"type": "array", "items": [{"type": "string"}, {"type": "integer"}], "additionalItems": false},
                "kind": {"const": "k"},
            },
            "required": ["url"],
        }),
        &json!({
            "$schema": "http://json-schema.org/draft-07/schema#",
            "type": "object",
            "properties": {
                "url": {"type": "string", "description": "  d\u{e9} "},
                "sort": {"enum": ["up", "down", null], "type": ["string", "null"]},
                "any": {"anyOf": [{"type": "string", "description": "the value as JSON text"}, {"type": "null"}], "description": "any"},
                "tags": {"anyOf": [{"type": "string", "description": "the value as JSON text"}, {"type": "null"}], "description": "t"},
                "pair": {"type": ["array", "null"], "items": {"anyOf": [{"type": "string"}, {"type": "integer"}]}},
                "kind": {"enum": ["k", null], "type": ["string", "null"]},
            },
            "required": ["url", "sort", "any", "tags", "pair", "kind"],
            "additionalProperties": false,
        }),
    );
    // References stay, and stand alone.
    check(
        strict,
        &json!({
            "type": "object",
            "properties": {"node": {"$ref": "#/definitions/node", "description": "the first"}},
            "required": ["node"],
            "definitions": {
                "node": {"type": "object", "properties": {"next": {"$ref": "#/definitions/node"}}},
                "unused": {"type": "string"},
            },
        }),
        &json!({
            "type": "object",
            "properties": {"node": {"anyOf": [{"$ref": "#/$defs/node"}], "description": "the first"}},
            "required": ["node"],
            "additionalProperties": false,
            "$defs": {
                "node": {
                    "type": "object",
                    "properties": {"next": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]}},
                    "required": ["next"],
                    "additionalProperties": false,
                },
            },
        }),
    );
}

#[test]
fn openai_strict_keeps_its_limits() {
    let mut deep = json!({"type": "string"});
    for _ in 0..20 {
        deep = json!({"type": "object", "properties": {"a": deep}, "required": ["a"], "description": "level"});
    }
    let narrowed = narrow(&deep, Profile::OpenAiStrict);
    assert_eq!(narrowed.folded, 1);
    judge(&deep, Profile::OpenAiStrict).unwrap();

    let many: Vec<String> = (0..900).map(|n| format!("value {n}")).collect();
    let few: Vec<String> = (0..200).map(|n| format!("value {n}")).collect();
    let long: Vec<String> = (0..300).map(|n| format!("{n:0>60}")).collect();
    let schema = json!({"type": "object", "properties": {
        "many": {"type": "string", "enum": many},
        "few": {"type": "string", "enum": few},
        "long": {"type": "string", "enum": long},
    }, "required": ["many", "few", "long"]});
    let shown = narrow(&schema, Profile::OpenAiStrict).schema;
    assert_eq!(shown["properties"]["many"], json!({"type": "string"}));
    assert_eq!(shown["properties"]["few"], schema["properties"]["few"]);
    assert_eq!(shown["properties"]["long"], json!({"type": "string"}));
    judge(&schema, Profile::OpenAiStrict).unwrap();
}

#[test]
fn anthropic_strict() {
    // A property that may be null is required, another stays optional; recursion is folded.
    check(
        Profile::AnthropicStrict,
        &json!({
            "type": "object",
            "properties": {
                "n": {"type": ["integer", "null"], "minimum": 1},
                "list": {"type": "array", "items": {"$ref": "#/$defs/node"}, "minItems": 3},
            },
            "$defs": {"node": {"type": "object", "properties": {"inner": {"$ref": "#/$defs/node"}}}},
        }),
        &json!({
            "type": "object",
            "properties": {
                "n": {"type": ["integer", "null"]},
                "list": {"type": "array", "items": {"$ref": "#/$defs/node"}},
            },
            "required": ["n"],
            "additionalProperties": false,
            "$defs": {
                "node": {
                    "type": "object",
                    "properties": {"inner": {"type": "string", "description": "the value as JSON text"}},
                    "additionalProperties": false,
                },
            },
        }),
    );
}

#[test]
fn gemini() {
    check(
        Profile::Gemini,
        &json!({
            "$schema": "http://json-schema.org/draft-07/schema#",
            "type": "object",
            "properties": {
                "a": {"type": ["string", "null"], "enum": ["x", null], "description": "d"},
                "b": {"type": ["string", "integer"], "description": "both"},
                "c": {"type": "integer", "enum": [1, 2]},
                "d": {"anyOf": [{"$ref": "#/$defs/d"}, {"type": "null"}], "description": "one"},
                "e": {"type": "object"},
                "f": {"type": "array"},
            },
            "additionalProperties": false,
            "$defs": {"d": {"type": "object", "properties": {"k": {"const": "v"}, "self": {"$ref": "#/$defs/d"}}}},
        }),
        &json!({
            "type": "object",
            "properties": {
                "a": {"type": "string", "enum": ["x"], "description": "d", "nullable": true},
                "b": {"anyOf": [{"type": "string"}, {"type": "integer"}], "description": "both"},
                "c": {"type": "integer"},
                "d": {
                    "type": "object",
                    "properties": {
                        "k": {"type": "string", "enum": ["v"]},
                        "self": {"type": "string", "description": "the value as JSON text"},
                    },
                    "description": "one",
                    "nullable": true,
                },
                "e": {"type": "string", "description": "the value as JSON text"},
                "f": {"type": "array", "items": {"type": "string", "description": "the value as JSON text"}},
            },
        }),
    );
}

#[test]
fn branches_are_told_whole() {
    check(
        Profile::OpenAiStrict,
        &json!({
            "type": "object",
            "properties": {"shape": {
                "type": "object",
                "properties": {"name": {"type": "string"}},
                "required": ["name"],
                "oneOf": [{"properties": {"r": {"type": "number"}}, "required": ["r"]}, {"properties": {"w": {"type": "number"}}}],
            }},
            "required": ["shape"],
            "anyOf": [{"required": ["shape"]}, {"properties": {"other": {"type": "string"}}}],
        }),
        &json!({
            "type": "object",
            "properties": {
                "shape": {"anyOf": [
                    {"properties": {"r": {"type": "number"}, "name": {"type": "string"}}, "required": ["r", "name"], "type": "object", "additionalProperties": false},
                    {"properties": {"w": {"type": ["number", "null"]}, "name": {"type": "string"}}, "type": "object", "required": ["w", "name"], "additionalProperties": false},
                ]},
                "other": {"type": ["string", "null"]},
            },
            "required": ["shape", "other"],
            "additionalProperties": false,
        }),
    );
}

#[test]
fn plain_profiles_are_repaired_only() {
    let schema = json!({
        "properties": {"a": {"type": ["array", "string"]}, "b": {"type": "array", "items": [{"type": "string"}]}},
        "oneOf": [{"properties": {"c": {"type": "string"}}, "required": ["c"]}, {"required": ["a"]}],
    });
    check(
        Profile::OpenAi,
        &schema,
        &json!({
            "properties": {
                "a": {"type": ["array", "string"], "items": {"description": "any value"}},
                "b": {"type": "array", "items": {"anyOf": [{"type": "string"}, {"description": "any value"}]}},
                "c": {"type": "string"},
            },
            "type": "object",
        }),
    );
    let mcp = json!({
        "properties": {"a": {"type": ["array", "string"]}, "b": {"type": "array", "items": [{"type": "string"}]}, "c": {"type": "string"}},
        "type": "object",
    });
    check(Profile::Mcp, &schema, &mcp);
    let fine =
        json!({"type": "object", "properties": {"a": {"oneOf": [{"const": 1}]}}, "x-own": 1});
    for profile in [Profile::Mcp, Profile::Anthropic, Profile::OpenAi] {
        check(profile, &fine, &fine);
    }
}

#[test]
fn anything_becomes_an_object() {
    for profile in Profile::ALL {
        for schema in [
            json!(true),
            json!(null),
            json!("x"),
            json!({}),
            json!([1]),
            json!({"$ref": "#"}),
        ] {
            let shown = narrow(&schema, profile).schema;
            assert_eq!(shown["type"], json!("object"), "{profile} {schema}");
        }
    }
    // What fans out is bounded, and what nests is folded.
    let mut definitions = Map::new();
    for level in 0..60 {
        let next = json!({"$ref": format!("#/$defs/d{}", level + 1)});
        let three = json!({"type": "object", "properties": {"a": next, "b": next, "c": next}});
        definitions.insert(format!("d{level}"), three);
    }
    definitions.insert("d60".to_owned(), json!({"type": "string"}));
    let fans_out = json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": definitions});
    let mut nests = json!({"type": "string"});
    for _ in 0..120 {
        nests = json!({"type": "array", "items": nests});
    }
    let nests = json!({"type": "object", "properties": {"a": nests}});
    for profile in SUBSETS {
        for schema in [&fans_out, &nests] {
            judge(schema, profile).unwrap();
            assert!(narrow(schema, profile).schema.to_string().len() < 400_000);
        }
    }
}

#[test]
fn the_largest_enum_goes_first_and_of_equals_the_last() {
    let values = |count: usize| (0..count).map(|n| format!("v{n}")).collect::<Vec<_>>();
    let left = |sizes: [usize; 3]| {
        let [a, b, c] = sizes.map(|size| json!({"type": "string", "enum": values(size)}));
        let schema = json!({"type": "object", "properties": {"a": a, "b": b, "c": c}, "required": ["a", "b", "c"]});
        let shown = narrow(&schema, Profile::OpenAiStrict).schema;
        ["a", "b", "c"].map(|name| shown["properties"][name].get("enum").is_some())
    };
    assert_eq!(left([300, 300, 300]), [true, true, true]);
    assert_eq!(left([300, 600, 300]), [true, false, true]);
    assert_eq!(left([600, 300, 300]), [false, true, true]);
    assert_eq!(left([400, 400, 400]), [true, true, false]);
    assert_eq!(left([200, 600, 600]), [true, true, false]);
}

#[test]
fn chains_of_references_are_followed_in_time() {
    let count = 4_000;
    let link = |n: usize| json!({"$ref": format!("#/$defs/d{n}")});
    let mut definitions: Map<_, _> = (0..count).map(|n| (format!("d{n}"), link(n + 1))).collect();
    definitions.insert(format!("d{count}"), json!({"type": "string"}));
    let properties: Map<_, _> = (0..count).map(|n| (format!("p{n}"), link(n))).collect();
    let schema = json!({"type": "object", "properties": properties, "$defs": definitions});
    for profile in SUBSETS {
        let shown = narrow(&schema, profile).schema;
        assert!(shown["properties"]["p3999"].is_object(), "{profile}");
    }
}

#[test]
fn definitions_with_one_last_word_are_numbered() {
    let branch =
        |n: usize| json!({"anyOf": [{"type": "string"}, {"type": "integer", "minimum": n}]});
    let count = 2_000;
    let mut properties: Map<_, _> = (0..count).map(|n| (format!("p{n}"), branch(n))).collect();
    for n in 0..count {
        let reference = json!({"$ref": format!("#/properties/p{n}/anyOf/1")});
        properties.insert(format!("q{n}"), reference);
    }
    let schema = json!({"type": "object", "properties": properties});
    let shown = narrow(&schema, Profile::OpenAiStrict).schema;
    let names: Vec<_> = shown["$defs"].as_object().unwrap().keys().collect();
    assert_eq!((names.len(), names[0].as_str()), (count, "1"));
    assert_eq!(
        (names[1].as_str(), names[count - 1].as_str()),
        ("1_2", "1_2000")
    );
}

#[test]
fn a_constant_that_is_no_scalar_is_left_out() {
    let constant = json!({"type": "object", "properties": {"a": {"const": {"k": 1}}, "b": {"const": []}, "c": {"const": "s"}}, "required": ["a", "b", "c"]});
    for profile in [Profile::OpenAiStrict, Profile::AnthropicStrict] {
        let shown = narrow(&constant, profile).schema;
        let kept = ["a", "b", "c"].map(|name| shown["properties"][name].get("const").is_some());
        assert_eq!(kept, [false, false, true], "{profile}: {shown}");
        judge(&constant, profile).unwrap();
    }
}

#[test]
fn a_value_is_encoded_by_the_normalisation() {
    let schema = json!({"type": "object", "properties": {"labels": {"type": "object"}, "n": {"type": "integer"}}});
    let shown = narrow(&schema, Profile::OpenAiStrict).schema;
    let told = encode(&json!({"labels": {"a": 1}}), &shown);
    assert_eq!(told, json!({"labels": "{\"a\":1}", "n": null}));
}

#[test]
fn a_value_is_encoded_in_bounded_time() {
    let mut definitions = Map::new();
    for level in 0..60 {
        let next = json!({"$ref": format!("#/$defs/d{}", level + 1)});
        definitions.insert(format!("d{level}"), json!({"anyOf": [next, next, next]}));
    }
    definitions.insert("d60".to_owned(), json!({"type": "string"}));
    let schema = json!({"$ref": "#/$defs/d0", "$defs": definitions});
    assert_eq!(encode(&json!(7), &schema), json!(7));
}
