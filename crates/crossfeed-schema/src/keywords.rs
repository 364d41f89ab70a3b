//! Where the subschemas of a schema are. One table serves every dialect: a keyword that a dialect
//! does not know asserts nothing there, so that it does no harm to look into it.

use crossfeed_wire::Pointer;
use serde_json::{Map, Value};

/// What a keyword holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "JSON Schema's vocabularies have these"
)]
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

/// What the schemas of a keyword are applied to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "JSON Schema's vocabularies have these"
)]
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

/// What a keyword holds and what that is applied to; `None` for one without subschemas.
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
#[expect(
    clippy::exhaustive_enums,
    reason = "JSON Schema's vocabularies have these"
)]
pub enum Step<'s> {
    /// The keyword holds it itself.
    Keyword,
    /// It is this member of the keyword's object.
    Key(&'s str),
    /// It is this item of the keyword's list.
    Index(usize),
}

/// The schemas that a keyword's value holds, each with the step to it.
pub fn held(holds: Holds, value: &Value) -> Vec<(Step<'_>, &Value)> {
    let schema = |value: &Value| value.is_object() || value.is_boolean();
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
    found.retain(|(_, value)| schema(value));
    found
}

/// Shows a schema and all that it holds to `see`, each with its place.
pub fn visit<'s>(
    schema: &'s Value,
    at: &mut String,
    see: &mut dyn FnMut(&'s Map<String, Value>, &str),
) {
    let Value::Object(object) = schema else {
        return;
    };
    see(object, at);
    for (keyword, value) in object {
        let Some((holds, _)) = subschemas(keyword) else {
            continue;
        };
        for (step, inner) in held(holds, value) {
            let length = at.len();
            push_step(at, keyword, step);
            visit(inner, at, see);
            at.truncate(length);
        }
    }
}

/// Keywords that assert nothing: they say something of a value, or are there to be referred to.
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
