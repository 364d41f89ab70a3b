//! Corners: what nobody would send on purpose. Each was a mistake once.

use super::{
    super::{Notice, rewrite},
    shown,
};
use crate::Style;
use serde_json::{Value, json};

/// The shown form accepts what the own schema does.
fn admits(own: &Value, instance: &Value) {
    let valid = |schema: &Value| {
        crossfeed_schema::compile(schema)
            .unwrap()
            .is_valid(instance)
    };
    assert!(valid(own), "{own} refuses {instance}");
    for style in Style::ALL {
        let found = shown(own, style);
        assert!(valid(&found), "{own}\nrefuses {instance} as {found}");
    }
}

#[test]
fn a_name_that_is_declared_anywhere_at_the_root_is_not_ours() {
    let names = json!({"properties": {"_refs": {"type": "string"}}});
    for own in [
        json!({"properties": {"x": {}}, "dependentSchemas": {"z": names}}),
        json!({"properties": {"x": {}}, "if": names, "then": {}}),
        json!({"properties": {"x": {}}, "anyOf": [{"type": "string", "properties": {"_refs": {}}}, {}]}),
        json!({"properties": {"x": {}}, "$ref": "#/$defs/A%20B", "$defs": {"A B": names}}),
    ] {
        let rewritten = rewrite(&own, Style::Refs, Style::Refs.spelling()).unwrap();
        assert_eq!(rewritten.references.as_deref(), Some("$refs"), "{own}");
        admits(&own, &json!({"x": 1, "_refs": "s"}));
    }
    let mut branches = vec![json!({"properties": {"a": {}}}); 1_100];
    branches.push(names);
    let own = json!({"anyOf": branches});
    let rewritten = rewrite(&own, Style::Refs, Style::Refs.spelling()).unwrap();
    assert_eq!(rewritten.references, None);
}

#[test]
fn a_published_schema_stays_where_nothing_is_rewritten() {
    let published = json!({"$ref": "https://json-schema.org/draft/2020-12/schema"});
    let own =
        json!({"type": "object", "properties": {"p": {"oneOf": [published, {"type": "string"}]}}});
    admits(&own, &json!({"p": "x"}));
    let mut closed = published.clone();
    closed["unevaluatedProperties"] = json!(false);
    let own = json!({"type": "object", "properties": {"p": closed}});
    admits(&own, &json!({"p": {"type": "string"}}));
}

#[test]
fn what_counts_items_reads_them() {
    let own = json!({"type": "object", "properties": {
        "p": {"oneOf": [{"type": "array", "contains": true}, {"type": "array", "maxItems": 0}]},
    }});
    admits(&own, &json!({"p": []}));
}

#[test]
fn what_stands_where_only_a_reference_finds_it_counts() {
    let own = json!({
        "type": "object",
        "properties": {"p": {"$ref": "#/x", "unevaluatedProperties": false}},
        "x": {"if": {"properties": {"k": {"const": 1}}}, "then": {"properties": {"k": {}}}},
    });
    admits(&own, &json!({"p": {"k": 1}}));
    let own = json!({
        "type": "object",
        "properties": {"p": {"$ref": "#/components/T"}},
        "components": {"T": {"type": "object", "properties": {"$tool": {"type": "string"}}}},
    });
    let found = shown(&own, Style::Inline);
    let address = found["properties"]["p"]["anyOf"][1]["$ref"]
        .as_str()
        .unwrap();
    let reference = found.pointer(address.trim_start_matches('#')).unwrap();
    assert_eq!(reference["anyOf"][0]["required"], json!(["_tool"]));
}

#[test]
fn definitions_may_be_something_else_in_old_drafts() {
    for defs in [json!(5), json!(["a"])] {
        let own = json!({
            "$schema": "http://json-schema.org/draft-07/schema#",
            "type": "object",
            "properties": {"a": {"type": "string"}, "b": {"$ref": "#"}},
            "$defs": defs,
        });
        for style in Style::ALL {
            let found = shown(&own, style);
            assert_eq!(found["$defs"], own["$defs"]);
        }
        assert!(shown(&own, Style::Inline)["definitions"]["tool_reference"].is_object());
    }
}

#[test]
fn what_would_nest_too_deep_is_shown_as_it_is() {
    let mut chain = json!({"type": "string"});
    for level in 0..70 {
        chain = json!({"if": {"properties": {"k": {"const": level}}}, "then": {"type": "object"}, "else": chain});
    }
    let own = json!({"type": "object", "properties": {"p": chain}});
    let rewritten = rewrite(&own, Style::Inline, Style::Inline.spelling()).unwrap();
    assert_eq!(rewritten.notices, [Notice::Deep]);
    assert_eq!(rewritten.schema, own);
}

#[test]
fn without_a_free_name_there_is_no_map() {
    let own = json!({"type": "object", "properties": {"_refs": {"type": "string"}, "$refs": {"type": "string"}}});
    let found = rewrite(&own, Style::Refs, Style::Refs.spelling()).unwrap();
    assert_eq!(found.schema, own);
    assert_eq!(found.references, None);
}

#[test]
fn what_branches_without_end_ends() {
    let wide: serde_json::Map<_, _> = (0..2_000)
        .map(|i| (format!("p{i}"), json!({"const": i})))
        .collect();
    let branch = json!({"$ref": "#/$defs/a"});
    let own = json!({"anyOf": vec![branch; 100], "$defs": {"a": {"properties": wide}}});
    let mut defs = serde_json::Map::new();
    for level in 0..300 {
        let next = json!({"$ref": format!("#/$defs/{}", level + 1)});
        defs.insert(level.to_string(), json!({"anyOf": [next, next]}));
    }
    defs.insert("300".to_owned(), json!({"type": "string"}));
    let parameters: serde_json::Map<_, _> = (0..300)
        .map(|i| (format!("p{i}"), json!({"$ref": format!("#/$defs/{i}")})))
        .collect();
    let deep = json!({"$ref": "#/$defs/root", "$defs": {"root": {"properties": parameters}}});
    let mut deep = deep;
    deep["$defs"].as_object_mut().unwrap().extend(defs);
    let mut chain: serde_json::Map<_, _> = (0..900)
        .map(|i| (i.to_string(), json!({"$ref": format!("#/$defs/{}", i + 1)})))
        .collect();
    chain.insert("900".to_owned(), json!({"type": "object"}));
    let chain = json!({"$ref": "#/$defs/0", "$defs": chain});
    for own in [own, deep, chain] {
        for style in Style::ALL {
            assert!(rewrite(&own, style, style.spelling()).is_ok());
        }
    }
}

#[test]
fn merged_branches_admit_what_each_of_them_does() {
    let a = json!({"properties": {"a": {"type": "string"}}, "required": ["a"]});
    let closed = json!({"properties": {"b": {}}, "additionalProperties": false});
    for keyword in ["anyOf", "oneOf"] {
        let own = json!({"type": "object", keyword: [a, closed]});
        admits(&own, &json!({"a": "x", "c": 1}));
        admits(&own, &json!({"b": 1}));
        let own = json!({"type": "object", keyword: [{"properties": {"b": {"type": "number"}}, "required": ["b"]}, a]});
        admits(&own, &json!({"a": "x", "b": "any"}));
        admits(&own, &json!({"a": 5, "b": 1}));
    }
    let own = json!({"type": "object", "allOf": [a, {"properties": {"c": {"type": "number"}}}]});
    let found = shown(&own, Style::Refs);
    assert_eq!(found["required"], json!(["a"]));
    assert_eq!(
        found["properties"]["c"],
        json!({"type": ["number", "null"]})
    );
}
