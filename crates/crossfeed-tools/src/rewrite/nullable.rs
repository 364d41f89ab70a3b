//! Makes parameters nullable, for the styles whose references stand beside them.

use super::{
    inline::{Rewriter, either, say_anything},
    moves::Move,
    reads::carries_header,
};
use crossfeed_schema::keywords;
use serde_json::{Map, Value, json};
use std::slice;

impl<'s> Rewriter<'s> {
    /// A parameter's schema, admitting null. It is changed as little as that takes.
    pub(super) fn nullable(&mut self, schema: &'s Value, place: &mut Move) -> Value {
        if schema == &Value::Bool(false) || carries_header(schema) {
            return self.keep(schema, place);
        }
        if self.declared.document().admits_null(schema) == Some(true) {
            let mut kept = self.keep(schema, place);
            say_anything(&mut kept);
            return kept;
        }
        // The target of a reference stays as it was, one step further in.
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
        let inner = self.in_branch(place, 0, |rewriter, place| rewriter.keep(schema, place));
        either(inner, json!({"type": "null"}))
    }
}

/// Replacements for keywords of a schema so that it admits null; `None` if that takes a schema around it.
/// `admits` says whether a branch admits null.
fn widened<'s>(
    object: &'s Map<String, Value>,
    admits: impl Fn(&'s Value) -> bool,
) -> Option<Vec<(&'static str, Value)>> {
    // Keywords that may refuse null, besides `type` and `enum`.
    let refuses = |key: &&str| {
        *key == "const" || keywords::is_combining(key) && !matches!(*key, "then" | "else")
    };
    let refusing: Vec<_> = object.keys().map(String::as_str).filter(refuses).collect();
    let typed = object.contains_key("type") || object.contains_key("enum");
    match refusing.as_slice() {
        [] => {
            let with_null = |values: &[Value], null: Value| {
                (!values.contains(&null)).then(|| Value::from([values, &[null]].concat()))
            };
            let types = object.get("type").and_then(|types| {
                let types = types
                    .as_array()
                    .map_or(slice::from_ref(types), Vec::as_slice);
                Some(("type", with_null(types, "null".into())?))
            });
            let values = object
                .get("enum")
                .and_then(|values| Some(("enum", with_null(values.as_array()?, Value::Null)?)));
            Some(types.into_iter().chain(values).collect())
        }
        // One more branch: none of those there admits null.
        ["anyOf"] if !typed => Some(vec![("anyOf", Value::Null)]),
        ["oneOf"] if !typed => {
            let mut list = object.get("oneOf")?.as_array()?.iter();
            (!list.any(admits)).then(|| vec![("oneOf", Value::Null)])
        }
        _ => None,
    }
}
