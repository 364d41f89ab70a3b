//! Values as they are written under a narrowed schema: a helper of the tests here and in `tests/it`.

use crossfeed_schema::keywords;
use crossfeed_tools::is_fold;
use serde_json::{Map, Value};

/// Deeper than this a value is not looked into.
const ENCODED: usize = 128;

/// How many steps are taken for any value, and how many more for each value inside it: branches that
/// refer to branches could be tried without end.
const LEAST: usize = 20_000;
const FOR_EACH: usize = 200;

/// Writes a value as it would be written under a narrowed schema: the normalisation, applied.
///
/// A folded place holds JSON text, and a property that must be sent and is absent is null. Of
/// several branches the first that admits the value counts. Values that the schema has no place for stay as
/// they are, and so do values that a bounded number of steps does not reach.
pub(crate) fn encode(value: &Value, schema: &Value) -> Value {
    let steps = LEAST.saturating_add(FOR_EACH.saturating_mul(size(value)));
    let mut encoding = Encoding {
        root: schema,
        steps,
    };
    encoding.encoded(value, schema, 0)
}

/// How many values a value is made of.
fn size(value: &Value) -> usize {
    let mut open = vec![value];
    let mut size = 0;
    while let Some(value) = open.pop() {
        size += 1;
        match value {
            Value::Array(items) => open.extend(items),
            Value::Object(members) => open.extend(members.values()),
            _ => {}
        }
    }
    size
}

struct Encoding<'s> {
    root: &'s Value,
    /// How many steps may still be taken.
    steps: usize,
}

impl<'s> Encoding<'s> {
    /// Whether another step may be taken.
    fn step(&mut self, nested: usize) -> bool {
        let may = nested <= ENCODED && self.steps > 0;
        self.steps = self.steps.saturating_sub(1);
        may
    }

    fn target(&self, schema: &'s Value) -> Option<Option<&'s Value>> {
        let reference = schema.get("$ref")?.as_str()?;
        Some(
            reference
                .strip_prefix('#')
                .and_then(|at| self.root.pointer(at)),
        )
    }

    fn encoded(&mut self, value: &Value, schema: &'s Value, nested: usize) -> Value {
        if !self.step(nested) {
            return value.clone();
        }
        if is_fold(schema) {
            return Value::String(value.to_string());
        }
        if let Some(target) = self.target(schema) {
            return match target {
                Some(target) => self.encoded(value, target, nested + 1),
                None => value.clone(),
            };
        }
        if let Some(branches) = schema.get("anyOf").and_then(Value::as_array) {
            // Null as itself, not as text.
            if value.is_null() && self.admits(value, schema, nested + 1) {
                return Value::Null;
            }
            for branch in branches {
                let told = self.encoded(value, branch, nested + 1);
                if self.admits(&told, branch, nested + 1) {
                    return told;
                }
            }
            return value.clone();
        }
        match value {
            Value::Object(members) => {
                let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
                    return value.clone();
                };
                let mut told = Map::new();
                for (name, member) in members {
                    let member = match properties.get(name) {
                        Some(schema) => self.encoded(member, schema, nested + 1),
                        None => member.clone(),
                    };
                    told.insert(name.clone(), member);
                }
                let required = schema.get("required").and_then(Value::as_array);
                for name in required.into_iter().flatten().filter_map(Value::as_str) {
                    told.entry(name).or_insert(Value::Null);
                }
                Value::Object(told)
            }
            Value::Array(items) => {
                let Some(schema) = schema.get("items") else {
                    return value.clone();
                };
                let told = items
                    .iter()
                    .map(|item| self.encoded(item, schema, nested + 1));
                told.collect()
            }
            scalar => scalar.clone(),
        }
    }

    /// Whether a narrowed schema admits an encoded value, as far as the choice of a branch needs it.
    fn admits(&mut self, value: &Value, schema: &'s Value, nested: usize) -> bool {
        if !self.step(nested) {
            return true;
        }
        if let Some(target) = self.target(schema) {
            return target.is_some_and(|target| self.admits(value, target, nested + 1));
        }
        if value.is_null() && schema.get("nullable") == Some(&Value::Bool(true)) {
            return true;
        }
        if let Some(branches) = schema.get("anyOf").and_then(Value::as_array) {
            return branches
                .iter()
                .any(|branch| self.admits(value, branch, nested + 1));
        }
        let Some(types) = schema.get("type") else {
            return true;
        };
        let listed = schema.get("enum").and_then(Value::as_array);
        let is_named = |word: &str| keywords::says_type(Some(types), word);
        if !keywords::is_of_type(value, is_named)
            || listed.is_some_and(|values| !values.contains(value))
            || schema
                .get("const")
                .is_some_and(|constant| constant != value)
        {
            return false;
        }
        match value {
            Value::Object(members) => {
                let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
                    return true;
                };
                let closed = schema.get("additionalProperties") == Some(&Value::Bool(false));
                let required = schema.get("required").and_then(Value::as_array);
                let mut required = required.into_iter().flatten().filter_map(Value::as_str);
                required.all(|name| members.contains_key(name))
                    && members
                        .iter()
                        .all(|(name, member)| match properties.get(name) {
                            Some(schema) => self.admits(member, schema, nested + 1),
                            None => !closed,
                        })
            }
            Value::Array(items) => {
                let all = schema.get("items").is_none_or(|schema| {
                    items
                        .iter()
                        .all(|item| self.admits(item, schema, nested + 1))
                });
                all && is_within_bounds(value, schema)
            }
            scalar => is_within_bounds(scalar, schema),
        }
    }
}

/// Whether a value keeps the bounds that stand beside its type.
fn is_within_bounds(value: &Value, schema: &Value) -> bool {
    const BOUNDS: [&str; 11] = [
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "multipleOf",
        "minLength",
        "maxLength",
        "pattern",
        "minItems",
        "maxItems",
        "maxProperties",
    ];
    let told = |bound: &&str| Some(((*bound).to_owned(), schema.get(*bound)?.clone()));
    let bounds: Map<_, _> = BOUNDS.iter().filter_map(told).collect();
    bounds.is_empty()
        || crossfeed_schema::compile(&Value::Object(bounds))
            .is_ok_and(|bounds| bounds.is_valid(value))
}
