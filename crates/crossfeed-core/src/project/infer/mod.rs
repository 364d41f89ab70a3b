//! Infers the schema of an expression's value.
//!
//! The schema is valid rather than tight: assertions that are not understood are left out. An expression that
//! gives no value (an error, or a null that is not an answer) needs no schema.

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

/// The schema of an expression's value on any instance of a schema. `None` if it is unknown: the schema is
/// invalid, does not describe the selected part, or grows too large.
///
/// It admits null where a member of a built list or object may be absent. The value as a whole is null only
/// if a plain path (`a.b[0]`) leads to an actual null: for any other expression, null means no value.
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

/// The schema of the whole value without its definitions, because schemas built from it must not hold any.
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
