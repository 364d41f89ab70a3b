//! The keywords of JSON Schema: where they hold subschemas, and what they assert.
//!
//! One table serves every dialect: a keyword that a dialect does not know asserts nothing there, so that
//! looking into it does no harm.

#![expect(
    clippy::exhaustive_enums,
    reason = "JSON Schema's vocabularies have these"
)]

use crate::index::REFERENCES;
use crossfeed_wire::{Pointer, reference::type_name};
use serde_json::{Map, Value};

/// How deep schemas are visited.
const MAX_NESTED: usize = 128;

/// The form in which a keyword holds schemas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// One schema.
    One,
    /// A list of schemas.
    List,
    /// One schema, or a list of them.
    OneOrList,
    /// An object whose values are schemas.
    Map,
    /// An object whose values are schemas, or lists of names.
    MapOrNames,
}

/// The values that the schemas of a keyword apply to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Applies {
    /// To the values inside the one at hand: a value position.
    Inside,
    /// To the value at hand.
    Here,
    /// To the names of its members.
    Names,
    /// To nothing, until something refers to them.
    Nowhere,
}

/// The form of a keyword's subschemas, and the values that they apply to; `None` for a keyword without any.
pub fn subschemas(keyword: &str) -> Option<(Holds, Applies)> {
    Some(match keyword {
        "properties" | "patternProperties" => (Holds::Map, Applies::Inside),
        "additionalProperties"
        | "unevaluatedProperties"
        | "additionalItems"
        | "unevaluatedItems"
        | "contains" => (Holds::One, Applies::Inside),
        "items" => (Holds::OneOrList, Applies::Inside),
        "prefixItems" => (Holds::List, Applies::Inside),
        "allOf" | "anyOf" | "oneOf" => (Holds::List, Applies::Here),
        "not" | "if" | "then" | "else" => (Holds::One, Applies::Here),
        "dependentSchemas" => (Holds::Map, Applies::Here),
        "dependencies" => (Holds::MapOrNames, Applies::Here),
        "propertyNames" => (Holds::One, Applies::Names),
        "$defs" | "definitions" => (Holds::Map, Applies::Nowhere),
        "contentSchema" => (Holds::One, Applies::Nowhere),
        _ => return None,
    })
}

/// One step from a schema to one that it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<'s> {
    /// The keyword holds it itself.
    Keyword,
    /// It is this member of the keyword's object.
    Key(&'s str),
    /// It is this item of the keyword's list.
    Index(usize),
}

/// Whether a value can be a schema: an object or a boolean.
pub fn is_schema(value: &Value) -> bool {
    value.is_object() || value.is_boolean()
}

/// The schemas that a keyword's value holds, each with the step to it.
pub fn held(holds: Holds, value: &Value) -> Vec<(Step<'_>, &Value)> {
    let mut found: Vec<_> = match (holds, value) {
        (Holds::List | Holds::OneOrList, Value::Array(list)) => list
            .iter()
            .enumerate()
            .map(|(index, schema)| (Step::Index(index), schema))
            .collect(),
        (Holds::One | Holds::OneOrList, value) => vec![(Step::Keyword, value)],
        (Holds::Map | Holds::MapOrNames, Value::Object(map)) => map
            .iter()
            .map(|(key, schema)| (Step::Key(key), schema))
            .collect(),
        _ => Vec::new(),
    };
    found.retain(|(_, value)| is_schema(value));
    found
}

/// A schema that another one holds.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Subschema<'s> {
    /// The keyword that holds it.
    pub keyword: &'s str,
    /// The values that it applies to.
    pub applies: Applies,
    /// The step to it from the keyword.
    pub step: Step<'s>,
    /// The schema.
    pub schema: &'s Value,
}

impl Subschema<'_> {
    /// Its place, where the schema around it is at `at`.
    pub fn place(&self, at: &str) -> String {
        let mut at = at.to_owned();
        push_step(&mut at, self.keyword, self.step);
        at
    }

    /// The same as a pointer.
    pub fn pointer(&self, at: &Pointer) -> Pointer {
        let keyword = at.key(self.keyword);
        match self.step {
            Step::Keyword => keyword,
            Step::Key(key) => keyword.key(key),
            Step::Index(index) => keyword.index(index),
        }
    }
}

/// The schemas that a schema holds, in its order.
pub fn subschemas_of(object: &Map<String, Value>) -> impl Iterator<Item = Subschema<'_>> {
    let holding = object
        .iter()
        .filter_map(|(keyword, value)| Some((keyword, value, subschemas(keyword)?)));
    holding.flat_map(|(keyword, value, (holds, applies))| {
        let held = held(holds, value).into_iter();
        held.map(move |(step, schema)| Subschema {
            keyword,
            applies,
            step,
            schema,
        })
    })
}

/// A keyword's value with other schemas in the place of those that it holds; `None` where it holds
/// something else.
pub fn replaced<'s>(
    holds: Holds,
    value: &'s Value,
    mut replace: impl FnMut(Step<'s>, &'s Value) -> Value,
) -> Option<Value> {
    let mut one = |step, value: &'s Value| {
        if is_schema(value) {
            replace(step, value)
        } else {
            value.clone()
        }
    };
    Some(match (holds, value) {
        (Holds::List | Holds::OneOrList, Value::Array(list)) => {
            let items = list.iter().enumerate();
            items.map(|(at, item)| one(Step::Index(at), item)).collect()
        }
        (Holds::Map | Holds::MapOrNames, Value::Object(map)) => map
            .iter()
            .map(|(key, value)| (key.clone(), one(Step::Key(key), value)))
            .collect(),
        (Holds::One | Holds::OneOrList, value) if is_schema(value) => one(Step::Keyword, value),
        _ => return None,
    })
}

/// Calls `see` for the schema at a place and all schemas in it, each with its place. Goes 128 levels deep, so
/// that no input exhausts the stack.
pub fn visit<'s>(schema: &'s Value, at: &str, see: &mut dyn FnMut(&'s Map<String, Value>, &str)) {
    visit_nested(schema, &mut at.to_owned(), 0, see);
}

fn visit_nested<'s>(
    schema: &'s Value,
    at: &mut String,
    nested: usize,
    see: &mut dyn FnMut(&'s Map<String, Value>, &str),
) {
    let Value::Object(object) = schema else {
        return;
    };
    if nested > MAX_NESTED {
        return;
    }
    see(object, at);
    for inner in subschemas_of(object) {
        let length = at.len();
        push_step(at, inner.keyword, inner.step);
        visit_nested(inner.schema, at, nested + 1, see);
        at.truncate(length);
    }
}

/// The items of a keyword's list; none where there is no list.
pub fn items(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The strings in a keyword's list.
pub fn strings(value: Option<&Value>) -> impl Iterator<Item = &str> {
    items(value).iter().filter_map(Value::as_str)
}

/// The members of a keyword's object; none where there is no object.
pub fn members(value: Option<&Value>) -> impl Iterator<Item = (&String, &Value)> {
    value.and_then(Value::as_object).into_iter().flatten()
}

/// Whether the value of `type` names a type, alone or among others.
pub fn says_type(types: Option<&Value>, word: &str) -> bool {
    names_type(types, word) == Some(true)
}

/// Whether the value of `type`, which may be missing, admits a type.
pub fn admits_type(types: Option<&Value>, word: &str) -> bool {
    names_type(types, word) != Some(false)
}

fn names_type(types: Option<&Value>, word: &str) -> Option<bool> {
    match types? {
        Value::String(one) => Some(one == word),
        Value::Array(several) => Some(several.iter().any(|one| one == word)),
        _ => None,
    }
}

/// Whether a value is of a type that `admits` takes; a whole number is an integer, too.
pub fn is_of_type(value: &Value, admits: impl Fn(&str) -> bool) -> bool {
    let is_whole = || value.as_f64().is_none_or(|number| number.fract() == 0.0);
    admits(type_name(value)) || value.is_number() && is_whole() && admits("integer")
}

/// The type of the values that a keyword asserts something of; `None` for one that is not about a
/// single type.
pub fn asserted_type(keyword: &str) -> Option<&'static str> {
    Some(match keyword {
        "properties"
        | "patternProperties"
        | "additionalProperties"
        | "unevaluatedProperties"
        | "propertyNames"
        | "required"
        | "dependentRequired"
        | "minProperties"
        | "maxProperties" => "object",
        "items" | "prefixItems" | "additionalItems" | "unevaluatedItems" | "contains"
        | "minItems" | "maxItems" | "uniqueItems" => "array",
        "minLength" | "maxLength" | "pattern" | "format" | "contentEncoding"
        | "contentMediaType" => "string",
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" => "number",
        _ => return None,
    })
}

/// Whether a keyword applies other schemas to the same value in any case or by what the value is: it
/// combines, negates, refers, or is part of a condition.
pub fn is_combining(keyword: &str) -> bool {
    let is_applied_here = || {
        matches!(
            subschemas(keyword),
            Some((Holds::One | Holds::List, Applies::Here))
        )
    };
    REFERENCES.contains(&keyword) || is_applied_here()
}

/// Whether a keyword asserts nothing: it describes a value, or is there to be referred to.
pub fn is_annotation(keyword: &str) -> bool {
    matches!(
        keyword,
        "$id"
            | "$anchor"
            | "$dynamicAnchor"
            | "$schema"
            | "$defs"
            | "definitions"
            | "title"
            | "description"
            | "default"
            | "examples"
            | "deprecated"
            | "readOnly"
            | "writeOnly"
            | "$comment"
    )
}

/// The header that a parameter is sent in as well (MCP 2026-07-28): it must stay reachable by
/// `properties` alone.
pub const HEADER: &str = "x-mcp-header";

/// Appends the way from a schema to one that a keyword of it holds.
pub fn push_step(at: &mut String, keyword: &str, step: Step<'_>) {
    Pointer::push_token(at, keyword);
    match step {
        Step::Keyword => {}
        Step::Key(key) => Pointer::push_token(at, key),
        Step::Index(index) => Pointer::push_token(at, &index.to_string()),
    }
}
