//! Making a parameter nullable, for the styles whose references stand beside it.

use super::{
    inline::{Rewriter, either, say_anything},
    moves::Place,
    reads::carries_header,
};
use crossfeed_schema::keywords::Step;
use serde_json::{Map, Value, json};

/// Keywords that may refuse null, besides `type` and `enum`.
const REFUSING: [&str; 9] = [
    "const",
    "anyOf",
    "oneOf",
    "allOf",
    "not",
    "if",
    "$ref",
    "$dynamicRef",
    "$recursiveRef",
];

impl<'s> Rewriter<'s> {
    /// A parameter's schema, admitting null. It is changed as little as that takes.
    pub(super) fn nullable(&mut self, schema: &'s Value, place: &mut Place) -> Value {
        if schema == &Value::Bool(false) || carries_header(schema) {
            return self.keep(schema, place);
        }
        if self.declared.document().admits_null(schema) == Some(true) {
            let mut kept = self.keep(schema, place);
            say_anything(&mut kept);
            return kept;
        }
        // What something refers to stays what it was, one step further in.
        let in_place = (!self.moves.is_target(&place.old))
            .then(|| {
                widened(schema.as_object()?, |branch| {
                    self.declared.document().admits_null(branch) != Some(false)
                })
            })
            .flatten();
        if let Some(widened) = in_place {
            let kept = self.keep(schema, place);
            let (Value::Object(mut kept), true) = (kept, !widened.is_empty()) else {
                return schema.clone();
            };
            for (key, value) in widened {
                match kept.get_mut(key) {
                    // References within have been led to their targets already.
                    Some(Value::Array(list)) if key == "anyOf" || key == "oneOf" => {
                        list.push(json!({"type": "null"}));
                    }
                    Some(slot) => *slot = value,
                    None => {}
                }
            }
            return Value::Object(kept);
        }
        let mark = self.moves.step_new(place, "anyOf", Step::Index(0));
        let inner = self.keep(schema, place);
        self.moves.back(place, mark);
        either(inner, json!({"type": "null"}))
    }
}

/// What to put in place of some keywords of a schema so that it admits null; `None` where that
/// takes a schema around it.
/// `admits` says whether a branch admits null.
fn widened<'s>(
    object: &'s Map<String, Value>,
    admits: impl Fn(&'s Value) -> bool,
) -> Option<Vec<(&'static str, Value)>> {
    let null = || Value::String("null".to_owned());
    let refusing: Vec<_> = REFUSING
        .into_iter()
        .filter(|key| object.contains_key(*key))
        .collect();
    let typed = object.contains_key("type") || object.contains_key("enum");
    match refusing.as_slice() {
        [] => {
            let mut changes = Vec::new();
            match object.get("type") {
                Some(Value::String(name)) if name != "null" => {
                    changes.push(("type", json!([name, "null"])));
                }
                Some(Value::Array(names)) if !names.contains(&null()) => {
                    let mut names = names.clone();
                    names.push(null());
                    changes.push(("type", Value::Array(names)));
                }
                _ => {}
            }
            match object.get("enum") {
                Some(Value::Array(values)) if !values.contains(&Value::Null) => {
                    let mut values = values.clone();
                    values.push(Value::Null);
                    changes.push(("enum", Value::Array(values)));
                }
                _ => {}
            }
            Some(changes)
        }
        // One more branch: none of those there admits null.
        ["anyOf"] if !typed => Some(vec![("anyOf", Value::Null)]),
        ["oneOf"] if !typed => {
            let list = object.get("oneOf")?.as_array()?;
            (!list.iter().any(admits)).then(|| vec![("oneOf", Value::Null)])
        }
        _ => None,
    }
}
