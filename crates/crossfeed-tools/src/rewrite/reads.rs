//! Finds assertions that stay correct when a part of the value is a reference.

use crossfeed_schema::keywords::{self, Applies, HEADER};
use serde_json::{Map, Value};

/// Whether a schema, or one that its `properties` lead to, is sent as a header.
pub(super) fn carries_header(schema: &Value) -> bool {
    schema.get(HEADER).is_some()
        || keywords::members(schema.get("properties")).any(|(_, inner)| carries_header(inner))
}

/// Whether `oneOf` becomes `anyOf`.
pub(super) fn loosens_one_of(object: &Map<String, Value>) -> bool {
    keywords::items(object.get("oneOf"))
        .iter()
        .any(reads_inside)
}

/// Whether `if`, `then` and `else` can stay: the outcome does not depend on values inside.
pub(super) fn keeps_condition(object: &Map<String, Value>) -> bool {
    object
        .get("if")
        .is_none_or(|condition| !reads_inside(condition))
}

/// Whether `enum` or `const` names a list or object with something inside.
pub(super) fn is_structured(key: &str, value: &Value) -> bool {
    let structured = |value: &Value| match value {
        Value::Array(items) => !items.is_empty(),
        Value::Object(members) => !members.is_empty(),
        _ => false,
    };
    match value {
        Value::Array(values) if key == "enum" => values.iter().any(structured),
        value => key == "const" && structured(value),
    }
}

/// Whether a schema's assertions depend on values inside the value. Their number, and the names of members,
/// do not count.
pub(super) fn reads_inside(schema: &Value) -> bool {
    let Value::Object(object) = schema else {
        return false;
    };
    object.iter().any(|(key, value)| match key.as_str() {
        "$ref" | "$dynamicRef" | "$recursiveRef" => true,
        "uniqueItems" => value == &Value::Bool(true),
        "unevaluatedProperties" | "unevaluatedItems" | "contains" => true,
        "enum" | "const" => is_structured(key, value),
        _ => match keywords::subschemas(key) {
            None | Some((_, Applies::Nowhere | Applies::Names)) => false,
            Some((holds, applies)) => {
                keywords::held(holds, value)
                    .iter()
                    .any(|(_, inner)| match applies {
                        Applies::Here => reads_inside(inner),
                        _ => inner.as_object().is_some_and(|inner| !inner.is_empty()),
                    })
            }
        },
    })
}
