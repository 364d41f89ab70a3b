//! The schema of what an expression gives.
//!
//! What comes in: the schema of a value, and an expression. What goes out: a schema that whatever
//! the expression gives on an instance is valid by, or nothing where too little can be told.
//! Deliberately not here: evaluating, and the repairs and readings that the engine tries.
//!
//! True before tight: an assertion that is not understood is left out. What gives no value (an error,
//! a null that is no answer) needs no schema.

mod form;
mod inside;
mod kinds;
mod schema;

#[cfg(test)]
mod tests;

use crossfeed_jmespath::Expression;
use crossfeed_schema::{check, flat_schema};
use form::Inference;
use schema::{Dictionary, values_in};
use serde_json::{Map, Value};
use std::collections::HashSet;

/// Values that a schema may hold while it is made: `[@,@]|[@,@]|…` doubles at each step.
const LARGEST: usize = 20_000;

/// Gives the schema of what an expression gives on any instance of a schema; `None` where nothing
/// can be told: the schema is none, says nothing of what is selected, or grows too large.
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
#[must_use]
pub fn infer_schema(output_schema: &Value, expression: &Expression) -> Option<Value> {
    let flat = flat_schema(output_schema).ok()?;
    let dialect = check(&flat).ok()?;
    let words = Dictionary::of(&flat, dialect);
    let mut inference = Inference::new(&words);
    let outcome = inference.outcome(&expression.form(), words.root())?;
    let found = match expression.is_plain_path() {
        true => outcome.schema,
        // Null would be no answer.
        false => words.without_null(outcome.schema),
    };
    if words.is_anything(&found) || words.is_nothing(&found) || words.is_null(&found) {
        return None;
    }
    let schema = assembled(&flat, found);
    check(&schema).is_ok().then_some(schema)
}

/// The document: the dialect, the schema, and the definitions that it uses.
fn assembled(flat: &Value, found: Value) -> Value {
    let mut out = Map::new();
    if let Some(declared) = flat.get("$schema") {
        out.insert("$schema".to_owned(), declared.clone());
    }
    let definitions = ["$defs", "definitions"].into_iter();
    let definitions = definitions.filter_map(|keyword| Some((keyword, flat.get(keyword)?)));
    if let Value::Object(mut found) = found {
        // The root of the flat schema brings its own.
        found.retain(|keyword, _| !matches!(&**keyword, "$schema" | "$defs" | "definitions"));
        out.extend(found);
    }
    for (keyword, known) in definitions {
        let prefix = format!("#/{keyword}/");
        let mut open = Vec::new();
        out.values()
            .for_each(|value| schema::referred_to(value, &prefix, &mut open));
        if let Some(name) = out.get("$ref").and_then(Value::as_str) {
            open.extend(name.strip_prefix(&prefix).map(str::to_owned));
        }
        let mut used = HashSet::new();
        while let Some(name) = open.pop() {
            if let Some(definition) = known.get(&name)
                && used.insert(name)
            {
                schema::referred_to(definition, &prefix, &mut open);
            }
        }
        let known = known.as_object().into_iter().flatten();
        let kept: Map<String, Value> = known
            .filter(|(name, _)| used.contains(*name))
            .map(|(name, definition)| (name.clone(), definition.clone()))
            .collect();
        if !kept.is_empty() {
            out.insert(keyword.to_owned(), Value::Object(kept));
        }
    }
    Value::Object(out)
}

/// Whether a schema that was made is small enough to go on with.
fn fits(schema: &Value) -> bool {
    values_in(schema) <= LARGEST
}
