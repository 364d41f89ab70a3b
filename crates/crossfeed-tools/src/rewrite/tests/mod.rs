use super::{Notice, rewrite, rewrite_with};
use crate::{Offers, Spelling, Style};
use crossfeed_schema::{SchemaError, check};
use serde_json::{Value, json};

mod corners;
mod references;

fn shown(schema: &Value, style: Style) -> Value {
    let rewritten = rewrite(schema, style, style.spelling()).unwrap();
    let again = rewrite(&rewritten.schema, style, style.spelling()).unwrap();
    assert_eq!(again.schema, rewritten.schema, "{schema} again");
    assert_eq!(again.references, rewritten.references);
    check(&rewritten.schema).unwrap();
    rewritten.schema
}

/// `schema` as the only parameter `p`, in the style `inline`; what is shown of `p`, where
/// `{"$ref": …}` stands for the reference.
fn inline(schema: Value, expected: Value) {
    let own = json!({"type": "object", "properties": {"p": schema}});
    let mut text = shown(&own, Style::Inline)["properties"]["p"].to_string();
    text = text.replace(r##"{"$ref":"#/$defs/tool_reference"}"##, r#""R""#);
    let found: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(found, expected, "{own}\nis shown as {text}");
}

fn refs(schema: Value, expected: Value) {
    let own = json!({"type": "object", "properties": {"p": schema}});
    let shown = shown(&own, Style::Refs);
    assert_eq!(shown["properties"]["p"], expected, "{own}");
}

#[test]
fn every_value_position_admits_a_reference() {
    let any = json!({"type": ["string", "number", "boolean", "object", "array", "null"]});
    inline(
        json!({"type": "string"}),
        json!({"anyOf": [{"type": "string"}, "R"]}),
    );
    inline(
        json!({"type": "string", "description": "d", "default": "x"}),
        json!({"anyOf": [{"type": "string", "default": "x"}, "R"], "description": "d"}),
    );
    inline(json!({}), json!({"anyOf": [any, "R"]}));
    inline(json!(true), json!({"anyOf": [any, "R"]}));
    inline(json!(false), json!(false));
    inline(
        json!({"description": "d"}),
        json!({"anyOf": [any, "R"], "description": "d"}),
    );
    inline(
        json!({"type": "array", "items": {"type": "string"}}),
        json!({"anyOf": [{"type": "array", "items": {"anyOf": [{"type": "string"}, "R"]}}, "R"]}),
    );
    inline(
        json!({"items": [{"type": "string"}, {"type": "number"}], "additionalItems": false}),
        json!({"anyOf": [{"items": [{"anyOf": [{"type": "string"}, "R"]}, {"anyOf": [{"type": "number"}, "R"]}], "additionalItems": false}, "R"]}),
    );
    inline(
        json!({"properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "number"}, "patternProperties": {"^x": {"type": "null"}}, "propertyNames": {"maxLength": 3}}),
        json!({"anyOf": [{
            "properties": {"a": {"anyOf": [{"type": "string"}, "R"]}},
            "additionalProperties": {"anyOf": [{"type": "number"}, "R"]},
            "patternProperties": {"^x": {"anyOf": [{"type": "null"}, "R"]}},
            "propertyNames": {"maxLength": 3},
        }, "R"]}),
    );
}

#[test]
fn what_reads_a_part_is_loosened() {
    let object = json!({"properties": {"a": {"type": "string"}}});
    let open = json!({"properties": {"a": {"anyOf": [{"type": "string"}, "R"]}}});
    inline(
        json!({"oneOf": [object, {"type": "null"}]}),
        json!({"anyOf": [{"anyOf": [open, {"type": "null"}]}, "R"]}),
    );
    // Nothing inside is read: it stays.
    let plain = json!({"oneOf": [{"type": "string"}, {"type": "object", "required": ["a"]}]});
    inline(plain.clone(), json!({"anyOf": [plain, "R"]}));
    inline(
        json!({"anyOf": [object], "oneOf": [object]}),
        json!({"anyOf": [{"anyOf": [open], "allOf": [{"anyOf": [open]}]}, "R"]}),
    );
    inline(
        json!({"if": object, "then": {"required": ["b"]}, "else": object}),
        json!({"anyOf": [{"anyOf": [{"required": ["b"]}, open]}, "R"]}),
    );
    let plain = json!({"if": {"required": ["a"]}, "then": {"required": ["b"]}});
    inline(plain.clone(), json!({"anyOf": [plain, "R"]}));
    inline(
        json!({"type": "object", "not": object}),
        json!({"anyOf": [{"type": "object"}, "R"]}),
    );
    let plain = json!({"not": {"required": ["a"]}});
    inline(plain.clone(), json!({"anyOf": [plain, "R"]}));
    inline(
        json!({"type": "array", "uniqueItems": true, "contains": {"type": "string"}}),
        json!({"anyOf": [{"type": "array"}, "R"]}),
    );
    inline(
        json!({"enum": ["a", {"b": 1}]}),
        json!({"anyOf": [{"examples": ["a", {"b": 1}], "type": ["string", "number", "boolean", "object", "array", "null"]}, "R"]}),
    );
    let plain = json!({"enum": ["a", 1, null, {}]});
    inline(plain.clone(), json!({"anyOf": [plain, "R"]}));
}

#[test]
fn a_parameter_becomes_nullable_with_the_least_change() {
    refs(
        json!({"type": "string", "description": "d"}),
        json!({"type": ["string", "null"], "description": "d"}),
    );
    refs(
        json!({"type": ["string", "number"]}),
        json!({"type": ["string", "number", "null"]}),
    );
    refs(
        json!({"type": ["string", "null"]}),
        json!({"type": ["string", "null"]}),
    );
    refs(json!({"type": "null"}), json!({"type": "null"}));
    refs(
        json!({"type": "string", "enum": ["a"]}),
        json!({"type": ["string", "null"], "enum": ["a", null]}),
    );
    refs(json!({"enum": ["a"]}), json!({"enum": ["a", null]}));
    refs(
        json!({"const": 1, "description": "d"}),
        json!({"anyOf": [{"const": 1}, {"type": "null"}], "description": "d"}),
    );
    refs(
        json!({"anyOf": [{"type": "string"}]}),
        json!({"anyOf": [{"type": "string"}, {"type": "null"}]}),
    );
    refs(
        json!({"oneOf": [{"type": "string"}]}),
        json!({"oneOf": [{"type": "string"}, {"type": "null"}]}),
    );
    refs(
        json!({"oneOf": [{}, true]}),
        json!({"anyOf": [{"oneOf": [{}, true]}, {"type": "null"}]}),
    );
    refs(
        json!({"allOf": [{"type": "string"}]}),
        json!({"anyOf": [{"allOf": [{"type": "string"}]}, {"type": "null"}]}),
    );
    refs(
        json!({}),
        json!({"type": ["string", "number", "boolean", "object", "array", "null"]}),
    );
    refs(json!(false), json!(false));
    refs(json!({"minLength": 2}), json!({"minLength": 2}));
    let nested = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    refs(
        nested,
        json!({"type": ["object", "null"], "properties": {"a": {"type": "string"}}}),
    );
}

#[test]
fn a_root_that_combines_is_shown_as_one_object() {
    let own = json!({
        "anyOf": [
            {"type": "object", "properties": {"kind": {"const": "a"}, "x": {"type": "string"}}, "required": ["kind", "x"], "additionalProperties": false},
            {"type": "object", "properties": {"kind": {"const": "b"}}, "required": ["kind"], "additionalProperties": false},
        ],
    });
    let rewritten = rewrite(&own, Style::Inline, Style::Inline.spelling()).unwrap();
    assert_eq!(rewritten.notices, [Notice::RootMerged]);
    let found = rewritten.schema;
    assert_eq!(found["type"], "object");
    assert_eq!(found["required"], json!(["kind"]));
    assert_eq!(found["additionalProperties"], false);
    assert_eq!(
        found["properties"]["kind"]["anyOf"][0],
        json!({"anyOf": [{"const": "a"}, {"const": "b"}]})
    );
    assert_eq!(
        found["properties"]["x"]["anyOf"][0],
        json!({"type": "string"})
    );
    assert!(found.get("anyOf").is_none());
    let found = shown(&own, Style::Refs);
    assert_eq!(
        found["properties"]["kind"],
        json!({"anyOf": [{"const": "a"}, {"const": "b"}, {"type": "null"}]})
    );

    let own = json!({"$ref": "#/$defs/args", "$defs": {"args": {"properties": {"a": {"type": "string"}}, "required": ["a"]}}});
    let found = shown(&own, Style::Refs);
    assert_eq!(
        found["properties"]["a"],
        json!({"type": ["string", "null"]})
    );
    assert_eq!(found["required"], json!(["a"]));
}

#[test]
fn names_of_the_tool_are_never_shadowed() {
    let own = json!({"type": "object", "properties": {"_refs": {"type": "string"}}});
    let rewritten = rewrite(&own, Style::Refs, Style::Refs.spelling()).unwrap();
    assert_eq!(rewritten.references.as_deref(), Some("$refs"));
    assert_eq!(
        rewritten.schema["properties"]["_refs"],
        json!({"type": ["string", "null"]})
    );

    let own = json!({"type": "object", "properties": {"_refs": {}, "$refs": {}}});
    let rewritten = rewrite(&own, Style::Refs, Style::Refs.spelling()).unwrap();
    assert_eq!(rewritten.references, None);
    assert!(matches!(
        rewritten.notices.as_slice(),
        [Notice::NamesTaken { .. }]
    ));

    let own = json!({"type": "object", "properties": {"p": {"type": "object", "properties": {"$select": {"type": "string"}}}}});
    let found = shown(&own, Style::Inline);
    let address = found["properties"]["p"]["anyOf"][1]["$ref"]
        .as_str()
        .unwrap();
    let reference = found.pointer(address.trim_start_matches('#')).unwrap();
    assert_eq!(reference["anyOf"][0]["required"], json!(["_tool"]));
}

#[test]
fn a_parameter_that_is_a_header_stays() {
    let header = json!({"type": "string", "x-mcp-header": "Region"});
    let own = json!({"type": "object", "properties": {"region": header, "deep": {"type": "object", "properties": {"region": header, "other": {"type": "string"}}}}});
    let found = shown(&own, Style::Inline);
    assert_eq!(found["properties"]["region"], header);
    assert_eq!(found["properties"]["deep"]["properties"]["region"], header);
    assert!(found["properties"]["deep"]["properties"]["other"]["anyOf"].is_array());
    let found = shown(&own, Style::Refs);
    assert_eq!(found["properties"]["region"], header);
    assert_eq!(found["properties"]["deep"], own["properties"]["deep"]);
}

#[test]
fn the_root_admits_our_property() {
    let own = json!({
        "type": "object",
        "properties": {"a": {"type": "string"}},
        "patternProperties": {"^_": {"type": "integer"}, "^x": {"type": "string"}},
        "propertyNames": {"maxLength": 1},
        "maxProperties": 1,
        "additionalProperties": false,
    });
    let found = shown(&own, Style::Refs);
    let judge = jsonschema::validator_for(&found).unwrap();
    let arguments = json!({"a": null, "_refs": {"a": {"_tool": "call_1"}}});
    assert!(judge.is_valid(&arguments), "{found}");
    assert!(!judge.is_valid(&json!({"a": "b", "c": 1})));
    for (entry, fits) in [
        (json!({"_tool": "call_1", "_default": 1}), true),
        (json!({"_literal": "call_1.a"}), true),
        (
            json!({"_template": "{a}", "_with": {"a": {"_tool": "call_1"}}}),
            true,
        ),
        (json!({"_tool": 7}), false),
        (json!("call_1"), false),
    ] {
        let arguments = json!({"a": null, "_refs": {"a": entry}});
        assert_eq!(judge.is_valid(&arguments), fits, "{arguments}");
    }
}

#[test]
fn what_nests_deep_can_be_read_by_others() {
    let mut own = json!({"type": "string"});
    for _ in 0..62 {
        own = json!({"type": "object", "properties": {"a": own}});
    }
    for style in Style::ALL {
        let text = shown(&own, style).to_string();
        assert!(serde_json::from_str::<Value>(&text).is_ok());
    }
    let rewritten = rewrite(&own, Style::Inline, Style::Inline.spelling()).unwrap();
    assert_eq!(rewritten.notices, [Notice::Deep]);
}

#[test]
fn a_parameter_may_be_called_like_a_keyword() {
    for name in ["$ref", "$id", "properties", "not", "$defs", "type", "enum"] {
        let own = json!({"type": "object", "properties": {name: {"type": "string"}}});
        let found = shown(&own, Style::Inline);
        assert_eq!(
            found["properties"][name]["anyOf"][0],
            json!({"type": "string"})
        );
        let found = shown(&own, Style::Refs);
        assert_eq!(
            found["properties"][name],
            json!({"type": ["string", "null"]})
        );
    }
}

#[test]
fn the_dialect_shown_is_the_one_it_is_read_in() {
    let own = json!({"type": "object", "properties": {"a": {"items": [{"type": "string"}]}}});
    let rewritten = rewrite(&own, Style::Refs, Style::Refs.spelling()).unwrap();
    assert_eq!(rewritten.notices, [Notice::ReadAsDraft7]);
    assert_eq!(
        rewritten.schema["$schema"],
        "http://json-schema.org/draft-07/schema#"
    );
    let own = json!({"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object"});
    assert_eq!(shown(&own, Style::Refs)["$schema"], own["$schema"]);
}

#[test]
fn what_is_no_schema_is_an_error() {
    let error = rewrite(
        &json!({"type": "objekt"}),
        Style::Inline,
        Style::Inline.spelling(),
    );
    assert!(matches!(error, Err(SchemaError::Invalid { .. })));
    let shown = shown(&json!(true), Style::Refs);
    assert_eq!(shown["type"], "object");
}

/// Whatever references offer, every style admits what it offers and literals, and knows its own forms again.
#[test]
fn what_is_offered_is_admitted() {
    let own = json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": false});
    for (style, offers) in Style::ALL
        .into_iter()
        .flat_map(|style| Offers::all().map(move |offers| (style, offers)))
    {
        let rewritten = rewrite_with(&own, style, Spelling::Underscore, offers).unwrap();
        for again in Offers::all() {
            let again = rewrite_with(&rewritten.schema, style, Spelling::Underscore, again);
            assert_eq!(again.unwrap().schema, rewritten.schema);
        }
        let text = rewritten.schema.to_string();
        assert_eq!(text.contains("artifact"), offers.artifacts, "{text}");
        assert_eq!(text.contains("template"), offers.templates, "{text}");
        assert_eq!(text.contains("patch"), offers.edits, "{text}");
        assert_eq!(text.contains("file\""), offers.files, "{text}");
        assert_eq!(text.contains("resource\""), offers.resources, "{text}");
        assert_eq!(text.matches("_toolCallId").count(), 1, "{text}");
        let judge = jsonschema::validator_for(&rewritten.schema).unwrap();
        let entry = |entry: Value| match style {
            Style::Inline => json!({"a": entry}),
            Style::Refs => json!({"a": null, "_refs": {"a": entry}}),
            Style::RefsList => {
                let members = entry.as_object().unwrap().iter();
                let own = members.map(|(key, value)| (key.replacen('_', "", 1), value.clone()));
                let mut own: serde_json::Map<_, _> = own.collect();
                own.insert("to".to_owned(), json!("a"));
                json!({"a": null, "_refs": [own]})
            }
        };
        let mut admitted = vec![
            json!({"_tool": "call_1"}),
            json!({"_tool": "call_1", "_select": "a"}),
            json!({"_literal": "call_1.a"}),
        ];
        if offers.artifacts {
            admitted.push(json!({"_tool": "call_1", "_artifact": "x", "_select": "a"}));
        }
        if offers.edits {
            let edit = json!([{"old": "a", "new": "b", "all": true}]);
            let patch = json!([{"op": "remove", "path": "/a"}]);
            let (patch, merge) = match style {
                Style::RefsList => (json!(patch.to_string()), json!("{\"a\":1}")),
                _ => (patch, json!({"a": 1})),
            };
            admitted.push(json!({"_tool": "call_1", "_select": "a", "_edit": edit}));
            admitted.push(json!({"_tool": "call_1", "_patch": patch, "_digest": "12ab"}));
            admitted.push(json!({"_tool": "call_1", "_merge": merge}));
        }
        if offers.files {
            admitted.push(json!({"_file": "notes/a.txt"}));
            admitted.push(json!({"_file": "a.json", "_select": "b"}));
        }
        if offers.resources {
            admitted.push(json!({"_resource": "docs://a", "_select": "b"}));
        }
        if offers.templates {
            let with = match style {
                Style::RefsList => json!([{"name": "b", "tool": "call_1", "select": "b"}]),
                _ => json!({"b": {"_tool": "call_1", "_select": "b"}}),
            };
            admitted.push(json!({"_template": "see {b}", "_with": with}));
        }
        for written in admitted {
            let arguments = entry(written);
            assert!(
                judge.is_valid(&arguments),
                "{style} {offers:?}: {arguments}"
            );
        }
        assert!(!judge.is_valid(&entry(json!({"_tool": 7}))), "{style}");
    }
}
