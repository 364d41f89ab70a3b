//! The output schemas that real servers send: what is said to be hidden agrees with a count of its
//! own, and the pages of every place are complete.

use super::{Line, all_children, inspect, markers_work, read};
use crate::schemas::corpus::outputs;
use crossfeed_output_schema::OutputSchema;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// The leaves of a schema, counted the plain way: the schemas of the corpus have no `allOf`, no
/// siblings of `$ref` and no envelopes. `false` for what cannot be listed as a leaf.
fn count<'s>(
    root: &'s Value,
    mut schema: &'s Value,
    way: &mut Vec<&'s Value>,
    leaves: &mut Vec<bool>,
) {
    loop {
        if let Some(reference) = schema.get("$ref") {
            schema = root.pointer(&reference.as_str().unwrap()[1..]).unwrap();
            continue;
        }
        let branches = schema
            .get("anyOf")
            .or(schema.get("oneOf"))
            .and_then(Value::as_array);
        let branches = branches.map(|list| {
            list.iter()
                .filter(|b| b["type"] != "null")
                .collect::<Vec<_>>()
        });
        match branches.as_deref() {
            Some([one]) => schema = one,
            Some(several) => {
                let object = |b: &&&Value| b["type"] == "object" || b.get("$ref").is_some();
                let list = |b: &&&Value| {
                    let items = &b["items"];
                    items["type"] == "object" || items.get("$ref").is_some()
                };
                leaves.push(!several.iter().any(|b| object(&b) || list(&b)));
                return;
            }
            None => break,
        }
    }
    if way.iter().any(|around| std::ptr::eq(*around, schema)) {
        leaves.push(false);
        return;
    }
    way.push(schema);
    let fields = schema.get("properties").and_then(Value::as_object);
    match schema.get("items").filter(|_| schema["type"] == "array") {
        Some(items) => count(root, items, way, leaves),
        None if schema["type"] == "array" => {
            match schema["prefixItems"].as_array().map(Vec::as_slice) {
                Some([item, ..]) => count(root, item, way, leaves),
                _ => leaves.push(true),
            }
        }
        None => match fields.filter(|fields| !fields.is_empty()) {
            Some(fields) => fields
                .values()
                .for_each(|field| count(root, field, way, leaves)),
            None => leaves
                .push(schema["type"] != "object" || schema["additionalProperties"] == json!(false)),
        },
    }
    way.pop();
}

#[test]
fn every_marker_of_the_corpus_works_when_it_is_followed() {
    let schemas = outputs();
    assert_eq!(schemas.len(), 263);
    let (mut hidden, mut shown) = (0, 0);
    for (tool, raw) in schemas {
        let schema = OutputSchema::new(raw.clone());
        let summary = markers_work(&tool, &schema);
        let mut leaves = Vec::new();
        count(&raw, &raw, &mut Vec::new(), &mut leaves);
        let lines = summary.output_fields.iter().map(|line| read(line, &tool));
        let listed = lines
            .filter(|line| matches!(line, Line::Leaf { .. }))
            .count();
        let expected = leaves.contains(&false) || listed != leaves.len();
        assert_eq!(
            summary.has_hidden_fields, expected,
            "{tool}: {:#?}",
            summary.output_fields
        );
        if summary.has_hidden_fields {
            hidden += 1
        } else {
            shown += 1
        }
        pages_are_complete(&tool, &schema, &raw);
    }
    assert!(hidden > 20 && shown > 20, "{hidden} {shown}");
}

/// Reads all places of a schema page by page, from the root on: each child stands on exactly one
/// page, and every line is a path that can be inspected itself.
fn pages_are_complete(tool: &str, schema: &OutputSchema, raw: &Value) {
    let mut open = vec![String::new()];
    let mut seen = 0;
    while let Some(path) = open.pop() {
        seen += 1;
        let children = all_children(schema, &path);
        let distinct: BTreeSet<_> = children.iter().collect();
        assert_eq!(distinct.len(), children.len(), "{tool}: {path}");
        let first = inspect(schema, &path);
        assert_eq!(first.total_child_fields, children.len(), "{tool}: {path}");
        for line in &first.flattened_fields {
            let (inner, word) = line.rsplit_once(": ").unwrap();
            let dot = if path.is_empty() || inner.starts_with('[') {
                ""
            } else {
                "."
            };
            let answer = inspect(schema, &format!("{path}{dot}{inner}"));
            assert_eq!(answer.node_type, word, "{tool}: {path}: {line}");
        }
        if path.matches('.').count() < 4 {
            let dot = if path.is_empty() { "" } else { "." };
            open.extend(children.iter().map(|name| format!("{path}{dot}{name}")));
        }
    }
    let fields = raw["properties"].as_object().map_or(0, Map::len);
    assert!(seen > fields, "{tool}");
}
