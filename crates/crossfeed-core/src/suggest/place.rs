//! Resolves a pointer in a schema: to a schema within it, or to the schemas of a parameter of the arguments.

use crossfeed_schema::keywords::{self, Holds};
use crossfeed_wire::{Pointer, fragment::decoded};
use serde_json::Value;
use std::collections::HashSet;

/// The most schemas that are followed for one step: references and combinators fan out.
const MAX_FOLLOWED: usize = 1000;
/// The most parameters that an error names.
const MAX_NAMED: usize = 20;
/// The most bytes of a parameter's pointer that an error names.
const MAX_NAMED_BYTES: usize = 200;

/// A schema within a document.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SchemaPlace {
    /// The pointer to it.
    pub(super) at: String,
    /// Whether a value must fit it. The other schemas are alternatives, of which a value must fit one.
    pub(super) always: bool,
}

impl SchemaPlace {
    /// A schema that a value must fit.
    pub(super) fn new(at: &str) -> Self {
        Self {
            at: at.to_owned(),
            always: true,
        }
    }
}

fn is_schema(value: &Value) -> bool {
    value.is_object() || value.is_boolean()
}

/// Whether a pointer leads to a schema within the document: step by step through keywords that hold schemas,
/// or through unknown keywords, as in `#/components/schemas/Item`.
pub(super) fn is_schema_at(root: &Value, at: &Pointer) -> bool {
    let mut here = root;
    // Whether the current value is a list or a map of schemas.
    let mut is_container = false;
    for token in at.tokens() {
        let Some(next) = child(here, &token) else {
            return false;
        };
        is_container = !is_container
            && match keywords::subschemas(&token) {
                Some((Holds::List | Holds::Map | Holds::MapOrNames, _)) => true,
                Some((Holds::OneOrList, _)) => next.is_array(),
                Some((Holds::One, _)) | None => false,
            };
        here = next;
    }
    is_schema(here) && !is_container
}

fn child<'v>(value: &'v Value, token: &str) -> Option<&'v Value> {
    match value {
        Value::Object(members) => members.get(token),
        Value::Array(items) => items.get(token.parse::<usize>().ok()?),
        _ => None,
    }
}

/// The schemas for a place of the arguments; empty if the document does not describe it.
pub(super) fn schemas_for_argument(root: &Value, at: &Pointer) -> Vec<SchemaPlace> {
    at.tokens().fold(vec![SchemaPlace::new("")], |here, token| {
        inside(root, &followed(root, &here), &token)
    })
}

/// The last name on the path to a place of the arguments.
pub(super) fn name_in_arguments(at: &Pointer) -> Option<String> {
    let names = at.tokens().filter(|token| token.parse::<usize>().is_err());
    names.last()
}

/// The parameters that a schema declares, as pointers into the arguments.
pub(super) fn parameters(root: &Value) -> Vec<String> {
    let mut named = Vec::new();
    for place in followed(root, &[SchemaPlace::new("")]) {
        let schema = root.pointer(&place.at);
        let properties = schema.and_then(|schema| schema.get("properties")?.as_object());
        for (name, _) in properties.into_iter().flatten() {
            let pointer = Pointer::root().key(name).as_str().to_owned();
            let is_short = pointer.len() <= MAX_NAMED_BYTES;
            if named.len() < MAX_NAMED && is_short && !named.contains(&pointer) {
                named.push(pointer);
            }
        }
    }
    named
}

/// The schemas, and all that they refer to or combine, each once; those that always apply come first.
pub(super) fn followed(root: &Value, places: &[SchemaPlace]) -> Vec<SchemaPlace> {
    let mut known = HashSet::new();
    let mut all = Vec::new();
    let mut open: Vec<SchemaPlace> = places.iter().rev().cloned().collect();
    while let Some(place) = open.pop() {
        let SchemaPlace { at, always } = &place;
        let Some(Value::Object(schema)) = root.pointer(at) else {
            continue;
        };
        if known.len() == MAX_FOLLOWED || !known.insert(at.clone()) {
            continue;
        }
        let mut inner = Vec::new();
        for (keyword, value) in schema {
            let listed = value.as_array().map_or(0, Vec::len);
            let mut step = |always: bool| {
                let places = (0..listed).map(|index| format!("{at}/{keyword}/{index}"));
                inner.extend(places.map(|at| SchemaPlace { at, always }));
            };
            match keyword.as_str() {
                "$ref" => inner.extend(target(root, value).map(|at| SchemaPlace { at, ..place })),
                "allOf" => step(*always),
                "anyOf" | "oneOf" => step(*always && listed == 1),
                "then" | "else" => inner.push(SchemaPlace {
                    at: format!("{at}/{keyword}"),
                    always: false,
                }),
                _ => {}
            }
        }
        open.extend(inner.into_iter().rev());
        all.push(place);
    }
    all.sort_by_key(|place| !place.always);
    all
}

/// The target of a reference within the document, if it is written as a JSON Pointer.
fn target(root: &Value, reference: &Value) -> Option<String> {
    let fragment = reference.as_str()?.strip_prefix('#')?;
    let written = root.pointer(fragment).map(|_| fragment.to_owned());
    written.or_else(|| {
        let pointer = decoded(fragment)?;
        root.pointer(&pointer).is_some().then_some(pointer)
    })
}

/// The schemas for the member or item `token` of a value that fits `schemas`.
pub(super) fn inside(root: &Value, around: &[SchemaPlace], token: &str) -> Vec<SchemaPlace> {
    let mut inner = Vec::new();
    for SchemaPlace { at, always } in around {
        let Some(schema) = root.pointer(at) else {
            continue;
        };
        let place = |keyword: &str, key: Option<&str>| {
            let mut place = at.clone();
            Pointer::push_token(&mut place, keyword);
            if let Some(key) = key {
                Pointer::push_token(&mut place, key);
            }
            root.pointer(&place).is_some_and(is_schema).then_some(place)
        };
        let is_index = token.parse::<usize>().is_ok() || token == "-";
        let item = || {
            let lists = ["prefixItems", "items"].into_iter();
            let mut lists = lists.filter(|list| schema.get(*list).is_some_and(Value::is_array));
            let listed = lists.find_map(|keyword| place(keyword, Some(token)));
            let rest = match schema.get("items") {
                Some(Value::Array(_)) => "additionalItems",
                _ => "items",
            };
            listed.or_else(|| place(rest, None))
        };
        let own = place("properties", Some(token)).or_else(|| item().filter(|_| is_index));
        // A schema that demands nothing does not describe the value.
        let other = || {
            let other = schema.get("additionalProperties");
            place("additionalProperties", None).filter(|_| other.is_some_and(Value::is_object))
        };
        let always = *always;
        inner.extend(own.or_else(other).map(|at| SchemaPlace { at, always }));
    }
    inner
}
