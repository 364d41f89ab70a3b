//! Combinators and conditions at the root of an input schema, for clients that take them.
//!
//! To the shown schema, whose root combines nothing since most providers refuse that, it adds the root's own
//! `allOf`, `anyOf`, `oneOf`, `if`, `then` and `else`, as far as they say which parameters must be present.
//!
//! # What holds
//!
//! - What the tool's own schema accepts is accepted: a parameter that a reference fills is there as null.
//! - Nothing is added that the tool's own root does not have.

use crossfeed_schema::Dialect;
use serde_json::{Map, Value, json};

/// The shown schema with what the tool's own root combines; none where that is nothing.
pub(super) fn combined(own: &Value, shown: &Value) -> Option<Value> {
    let root = own.as_object()?;
    let dialect = Dialect::declared(own).unwrap_or(Dialect::Draft202012);
    // Older drafts know no conditions, and nothing beside a reference.
    if dialect < Dialect::Draft7 || root.contains_key("$ref") {
        return None;
    }
    let mut kept = presence(root);
    kept.remove("required");
    let (then, other) = (branch(root, "then"), branch(root, "else"));
    if let Some(condition) = root.get("if").filter(|_| then.is_some() || other.is_some()) {
        // A condition may read what is a reference here, so that either branch may be meant: with the
        // same behind both it decides nothing.
        let either = match (then.unwrap_or_default(), other.unwrap_or_default()) {
            (then, other) if then.is_empty() || other.is_empty() => json!({}),
            (then, other) => json!({"anyOf": [then, other]}),
        };
        kept.insert("if".to_owned(), said(condition));
        for key in ["then", "else"] {
            if root.contains_key(key) {
                kept.insert(key.to_owned(), either.clone());
            }
        }
    }
    if kept.is_empty() {
        return None;
    }
    let mut shown = shown.as_object()?.clone();
    for (key, value) in kept {
        shown.entry(key).or_insert(value);
    }
    Some(Value::Object(shown))
}

fn branch(root: &Map<String, Value>, key: &str) -> Option<Map<String, Value>> {
    let own = root.get(key)?.as_object();
    Some(own.map(presence).unwrap_or_default())
}

/// What a schema says of which parameters there are. It came from a document, and so nests no deeper
/// than one may.
fn presence(schema: &Map<String, Value>) -> Map<String, Value> {
    let mut out = Map::new();
    if schema.contains_key("$ref") {
        return out;
    }
    if let Some(names @ Value::Array(_)) = schema.get("required") {
        out.insert("required".to_owned(), names.clone());
    }
    let branches = |key: &str| {
        let branches = schema.get(key)?.as_array()?.iter();
        let each = branches.map(|own| own.as_object().map(presence).unwrap_or_default());
        Some(each.collect::<Vec<_>>())
    };
    let mut all = branches("allOf").unwrap_or_default();
    all.retain(|own| !own.is_empty());
    if !all.is_empty() {
        out.insert("allOf".to_owned(), json!(all));
    }
    // Of branches that say less more than one may fit.
    for key in ["anyOf", "oneOf"] {
        let any = branches(key).unwrap_or_default();
        if !any.is_empty() && any.iter().all(|own| !own.is_empty()) && !out.contains_key("anyOf") {
            out.insert("anyOf".to_owned(), json!(any));
        }
    }
    out
}

/// A condition as it stands, unless it refers to something, which may be elsewhere here.
fn said(condition: &Value) -> Value {
    if !refers(condition) {
        return condition.clone();
    }
    let own = condition.as_object();
    own.map_or_else(|| json!({}), |own| Value::Object(presence(own)))
}

fn refers(value: &Value) -> bool {
    match value {
        Value::Object(members) => {
            let is_ours = |key: &String| key.starts_with('$') || key == "id";
            members.keys().any(is_ours) || members.values().any(refers)
        }
        Value::Array(items) => items.iter().any(refers),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::combined;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    /// What is kept of a root, beside what is shown of it.
    fn check(own: Value, expected: Option<Value>) {
        let kept = combined(&own, &json!({"type": "object"}));
        let expected = expected.map(|mut expected| {
            expected["type"] = json!("object");
            expected
        });
        assert_eq!(kept, expected, "{own}");
    }

    #[test]
    fn what_says_which_parameters_there_are_stays() {
        let a = json!({"required": ["a"]});
        let b = json!({"required": ["b"]});
        check(json!({"type": "object", "required": ["a"]}), None);
        check(json!(true), None);
        let all = json!({"allOf": [{"anyOf": [a, b]}]});
        check(all.clone(), Some(all));
        check(json!({"oneOf": [a, b]}), Some(json!({"anyOf": [a, b]})));
        // A branch that may always hold.
        check(json!({"anyOf": [a, {"properties": {"b": true}}]}), None);
        check(json!({"anyOf": [a, {"$ref": "#/$defs/b"}]}), None);
        check(json!({"not": a, "allOf": [{"not": b}]}), None);
        let either = json!({"anyOf": [a, b]});
        let condition = json!({"properties": {"a": {"const": 1}}});
        check(
            json!({"if": condition, "then": a, "else": b}),
            Some(json!({"if": condition, "then": either, "else": either})),
        );
        check(
            json!({"if": {"$ref": "#/$defs/c"}, "then": a}),
            Some(json!({"if": {}, "then": {}})),
        );
        // There it means nothing.
        let draft_6 = "http://json-schema.org/draft-06/schema#";
        check(
            json!({"$schema": draft_6, "if": a, "then": a, "else": b}),
            None,
        );
    }

    fn branches() -> impl Strategy<Value = Value> {
        let names = || {
            prop::collection::vec("[abc]", 0..3).prop_map(|mut names| {
                names.sort();
                names.dedup();
                names
            })
        };
        let leaf = prop_oneof![
            names().prop_map(|names| json!({"required": names})),
            "[abc]".prop_map(|name| {
                let properties = json!({name.clone(): {"const": 1}});
                json!({"properties": properties, "required": [name]})
            }),
            Just(json!(true)),
            Just(json!({"maxProperties": 2})),
        ];
        leaf.prop_recursive(3, 24, 3, |inner| {
            let list = || prop::collection::vec(inner.clone(), 1..3);
            prop_oneof![
                list().prop_map(|all| json!({"allOf": all})),
                list().prop_map(|any| json!({"anyOf": any})),
                list().prop_map(|one| json!({"oneOf": one})),
                inner.clone().prop_map(|not| json!({"not": not})),
                (inner.clone(), inner.clone(), inner.clone())
                    .prop_map(|(a, b, c)| json!({"if": a, "then": b, "else": c})),
                (inner.clone(), inner.clone()).prop_map(|(a, b)| json!({"if": a, "else": b})),
            ]
        })
    }

    proptest! {
        /// Whatever the tool accepts is accepted, and so is the same with references in place of
        /// values, for each of which there is null.
        #[test]
        fn it_only_widens(
            root in branches(),
            given in prop::collection::hash_map("[abc]", 1..3_i32, 0..4),
            referred in "[abc]{0,3}",
        ) {
            prop_assume!(root.is_object());
            let arguments = json!(given);
            prop_assume!(crossfeed_schema::compile(&root).unwrap().is_valid(&arguments));
            let Some(listed) = combined(&root, &json!({"type": "object"})) else {
                return Ok(());
            };
            let judge = crossfeed_schema::compile(&listed).unwrap();
            prop_assert!(judge.is_valid(&arguments), "{} {}", root, listed);
            let mut written = arguments;
            for (name, value) in written.as_object_mut().unwrap() {
                if referred.contains(name.as_str()) {
                    *value = Value::Null;
                }
            }
            written["_refs"] = json!({});
            prop_assert!(judge.is_valid(&written), "{} {}", root, listed);
        }
    }
}
