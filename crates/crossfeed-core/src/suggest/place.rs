//! Where a pointer leads in a schema: to a schema within it, or to a parameter of the arguments.
//!
//! What comes in: the document of a schema and a pointer. What goes out: the places of the schemas
//! that are meant, as pointers from the document's root.

use crossfeed_schema::keywords::{self, Holds};
use crossfeed_wire::{Pointer, fragment::decoded};
use serde_json::Value;
use std::collections::HashSet;

/// How many schemas are followed for one step: references and combinators fan out.
const FOLLOWED: usize = 1000;
/// The most parameters that are named where a pointer leads nowhere.
const NAMED: usize = 20;
/// The most bytes of a parameter's pointer that is named.
const NAMED_BYTES: usize = 200;

fn is_schema(value: &Value) -> bool {
    value.is_object() || value.is_boolean()
}

/// Whether a pointer leads to a schema within the document: step by step through keywords that hold
/// schemas, or through what no keyword is known to be, as in `#/components/schemas/Item`.
pub(super) fn is_schema_at(root: &Value, at: &Pointer) -> bool {
    let mut here = root;
    // Whether the value at hand is a list or a map of schemas.
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

/// The schemas of one place of the arguments.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Found {
    /// Those that a value there must fit.
    pub(super) all: Vec<String>,
    /// Those of alternatives: it must fit one of them.
    pub(super) any: Vec<String>,
}

impl Found {
    /// One schema that a value must fit.
    pub(super) fn one(at: &str) -> Self {
        Self {
            all: vec![at.to_owned()],
            any: Vec::new(),
        }
    }

    fn is_empty(&self) -> bool {
        self.all.is_empty() && self.any.is_empty()
    }
}

/// The schemas for a place of the arguments; `None` where the schema says nothing of it.
pub(super) fn of_argument(root: &Value, at: &Pointer) -> Option<Found> {
    let mut here = Found::one("");
    for token in at.tokens() {
        let around = followed(root, &here);
        here = Found {
            all: inside(root, &around.all, &token),
            any: inside(root, &around.any, &token),
        };
        if here.is_empty() {
            return None;
        }
    }
    Some(here)
}

/// The last name on the way to a place of the arguments.
pub(super) fn name_in_arguments(at: &Pointer) -> Option<String> {
    let names = at.tokens().filter(|token| token.parse::<usize>().is_err());
    names.last()
}

/// The parameters that a schema declares, as pointers into the arguments.
pub(super) fn parameters(root: &Value) -> Vec<String> {
    let around = followed(root, &Found::one(""));
    let mut named = Vec::new();
    for at in around.all.iter().chain(&around.any) {
        let properties = root.pointer(at).and_then(|schema| schema.get("properties"));
        for name in properties.and_then(Value::as_object).into_iter().flatten() {
            let pointer = Pointer::root().key(name.0).as_str().to_owned();
            if named.len() < NAMED && pointer.len() <= NAMED_BYTES && !named.contains(&pointer) {
                named.push(pointer);
            }
        }
    }
    named
}

/// The schemas and all that they refer to or combine, each once.
pub(super) fn followed(root: &Value, found: &Found) -> Found {
    let mut known = HashSet::new();
    let mut out = Found::default();
    let all = found.all.iter().rev().map(|at| (at.clone(), true));
    let any = found.any.iter().rev().map(|at| (at.clone(), false));
    let mut open: Vec<_> = any.chain(all).collect();
    while let Some((at, certain)) = open.pop() {
        let Some(Value::Object(schema)) = root.pointer(&at) else {
            continue;
        };
        if known.len() == FOLLOWED || !known.insert(at.clone()) {
            continue;
        }
        let mut inner = Vec::new();
        for (keyword, value) in schema {
            let listed = value.as_array().map_or(0, Vec::len);
            let mut step = |certain: bool| {
                inner.extend((0..listed).map(|n| (format!("{at}/{keyword}/{n}"), certain)));
            };
            match keyword.as_str() {
                "$ref" => inner.extend(target(root, value).map(|at| (at, certain))),
                "allOf" => step(certain),
                "anyOf" | "oneOf" => step(certain && listed == 1),
                "then" | "else" => inner.push((format!("{at}/{keyword}"), false)),
                _ => {}
            }
        }
        open.extend(inner.into_iter().rev());
        if certain {
            out.all.push(at);
        } else {
            out.any.push(at);
        }
    }
    out
}

/// Where a reference within the document leads, if it is written as a JSON Pointer.
fn target(root: &Value, reference: &Value) -> Option<String> {
    let fragment = reference.as_str()?.strip_prefix('#')?;
    let written = root.pointer(fragment).map(|_| fragment.to_owned());
    written.or_else(|| {
        let pointer = decoded(fragment)?;
        root.pointer(&pointer).is_some().then_some(pointer)
    })
}

/// The schemas for the member or item `token` of what schemas are for.
pub(super) fn inside(root: &Value, schemas: &[String], token: &str) -> Vec<String> {
    let mut found = Vec::new();
    for at in schemas {
        let Some(schema) = root.pointer(at) else {
            continue;
        };
        let place = |keyword: &str, key: Option<&str>| {
            let mut place = at.clone();
            Pointer::push_token(&mut place, keyword);
            if let Some(key) = key {
                Pointer::push_token(&mut place, key);
            }
            root.pointer(&place)
                .filter(|schema| is_schema(schema))
                .map(|_| place)
        };
        let is_index = token.parse::<usize>().is_ok() || token == "-";
        let listed = ["prefixItems", "items"].into_iter();
        let item = || {
            let mut listed =
                listed.filter(|keyword| schema.get(*keyword).is_some_and(Value::is_array));
            let listed = listed.find_map(|keyword| place(keyword, Some(token)));
            let rest = match schema.get("items") {
                Some(Value::Array(_)) => "additionalItems",
                _ => "items",
            };
            listed.or_else(|| place(rest, None))
        };
        let own = place("properties", Some(token));
        let own = own.or_else(|| item().filter(|_| is_index));
        // What is not named may be anything: a schema says something only where it asks for something.
        let other = || {
            let asks = schema
                .get("additionalProperties")
                .is_some_and(Value::is_object);
            place("additionalProperties", None).filter(|_| asks)
        };
        found.extend(own.or_else(other));
    }
    found
}
