//! The schema of what an expression gives.
//!
//! True before tight: an assertion that is not understood is left out. What gives no value (an error,
//! a null that is not an answer) needs no schema.

mod form;
mod inside;
mod kinds;
mod schema;

#[cfg(test)]
mod tests;

use crossfeed_jmespath::Expression;
use crossfeed_output_schema::{flat_schema, is_anything, without_unused_definitions};
use crossfeed_schema::check;
use schema::Inference;
use serde_json::{Map, Value};

/// Values that a schema may hold while it is made: `[@,@]|[@,@]|…` doubles at each step.
const MAX_VALUES: usize = 20_000;

/// Gives the schema of what an expression gives on any instance of a schema; `None` where nothing
/// can be told: the schema is invalid, does not describe what is selected, or grows too large.
///
/// Null stands in it where a member of a list or object that the expression builds may be absent. The
/// outcome as a whole is null only where a plain path (`a.b[0]`) leads to a null that is there: any
/// other expression that gives null gave nothing.
///
/// ```
/// use crossfeed_core::infer_schema;
/// use crossfeed_jmespath::Expression;
/// use serde_json::json;
///
/// let schema = json!({"type": "object", "properties": {"items": {
///     "type": "array",
///     "items": {
///         "type": "object",
///         "properties": {"id": {"type": "integer"}, "title": {"type": "string"}},
///         "required": ["id"],
///     },
/// }}});
/// let expression = Expression::parse("items[?id > `1`].{id: id, name: title}")?;
/// assert_eq!(
///     infer_schema(&schema, &expression),
///     Some(json!({"type": "array", "items": {
///         "type": "object",
///         "properties": {
///             "id": {"type": "integer"},
///             "name": {"anyOf": [{"type": "string"}, {"type": "null"}]},
///         },
///         "required": ["id", "name"],
///         "additionalProperties": false,
///     }}))
/// );
/// # Ok::<(), crossfeed_jmespath::ParseError>(())
/// ```
pub fn infer_schema(output_schema: &Value, expression: &Expression) -> Option<Value> {
    let flat = flat_schema(output_schema).ok()?;
    let dialect = check(&flat).ok()?;
    let inference = Inference::new(&flat, dialect);
    let outcome = inference.outcome(expression.root(), root_of(&flat))?;
    let inferred = if expression.is_plain_path() {
        outcome.schema
    } else {
        inference.without_null(outcome.schema)
    };
    if is_anything(&inferred) || inference.is_nothing(&inferred) || inference.is_null(&inferred) {
        return None;
    }
    let schema = assembled(&flat, inferred);
    check(&schema).is_ok().then_some(schema)
}

/// Keywords of a document that are not part of the schema of its value.
const OF_DOCUMENT: [&str; 3] = ["$schema", "$defs", "definitions"];

/// The schema of the whole value, alone: what is put together of it is to hold no definitions.
fn root_of(flat: &Value) -> Value {
    let mut root = flat.clone();
    if let Value::Object(members) = &mut root {
        members.retain(|keyword, _| !OF_DOCUMENT.contains(&keyword.as_str()));
    }
    root
}

/// The document: the dialect, the schema, and the definitions that it uses.
fn assembled(flat: &Value, inferred: Value) -> Value {
    let Value::Object(inferred) = inferred else {
        return inferred;
    };
    let of_document =
        |keyword: &'static str| Some((keyword.to_owned(), flat.get(keyword)?.clone()));
    let [declared, definitions @ ..] = OF_DOCUMENT;
    let mut out: Map<String, Value> = of_document(declared).into_iter().collect();
    out.extend(inferred);
    out.extend(definitions.into_iter().filter_map(of_document));
    without_unused_definitions(Value::Object(out))
}
