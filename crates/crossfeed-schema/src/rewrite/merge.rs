//! What a root that combines schemas says of its members, as one object.
//!
//! A provider refuses `anyOf`, `oneOf` and `allOf` at the root, and a model wants to see the
//! parameters that are in their branches. What comes in: such a root. What goes out: the members
//! that any branch names, each with its alternatives; which are required whatever branch holds; and
//! whether all branches refuse other names. It is wider than the root, never narrower.

use crate::{
    Dialect,
    index::{Index, Target, push_step},
    keywords::Step,
};
use serde_json::{Map, Value};

/// How many branches are looked at: they may hold branches of their own.
const BRANCHES: usize = 1_000;

/// A schema and its place.
pub(super) type Part<'s> = (String, &'s Value);

/// The members that a schema speaks of, where it is for an object.
#[derive(Clone, Debug, Default)]
pub(super) struct Members<'s> {
    /// Name, what it may be, and whether it may also be anything else.
    pub(super) named: Vec<(&'s str, Vec<Part<'s>>, bool)>,
    pub(super) required: Vec<&'s str>,
    /// Whether other names are refused.
    pub(super) closed: bool,
}

pub(super) struct Merge<'s> {
    pub(super) root: &'s Value,
    pub(super) index: &'s Index,
    pub(super) dialect: Dialect,
    left: usize,
}

impl<'s> Merge<'s> {
    pub(super) fn new(root: &'s Value, index: &'s Index, dialect: Dialect) -> Self {
        Self {
            root,
            index,
            dialect,
            left: BRANCHES,
        }
    }

    /// What a schema says of its members; `None` where it is for no object at all.
    pub(super) fn members(&mut self, schema: &'s Value, at: &str) -> Option<Members<'s>> {
        let Value::Object(object) = schema else {
            return (schema != &Value::Bool(false)).then(Members::default);
        };
        if self.left == 0 {
            return Some(Members::default());
        }
        self.left -= 1;
        let may_be_object = match object.get("type") {
            Some(Value::String(name)) => name == "object",
            Some(Value::Array(names)) => names.iter().any(|name| name == "object"),
            _ => true,
        };
        if !may_be_object {
            return None;
        }
        let overrides = self.dialect <= Dialect::Draft7 && object.contains_key("$ref");
        let mut found = if overrides {
            Members::default()
        } else {
            own(object, at)
        };
        // What has an identity of its own stays there: its parts refer to others by it.
        if let Some(Target::Here {
            at, resource: 0, ..
        }) = self.index.target(at, "$ref")
            && let Some(target) = self.root.pointer(at)
        {
            found = both(found, self.members(target, at)?);
        }
        if overrides {
            return Some(found);
        }
        for (index, part) in list(object, "allOf").enumerate() {
            let at = inner(at, "allOf", Step::Index(index));
            found = both(found, self.members(part, &at)?);
        }
        for keyword in ["anyOf", "oneOf"] {
            if object.contains_key(keyword) {
                let parts: Vec<_> = list(object, keyword)
                    .enumerate()
                    .map(|(index, part)| (inner(at, keyword, Step::Index(index)), part))
                    .collect();
                found = both(found, self.alternatives(parts)?);
            }
        }
        if object.contains_key("if") {
            const NO_BRANCH: &Value = &Value::Bool(true);
            let branch = |keyword: &str| {
                let part = object.get(keyword).unwrap_or(NO_BRANCH);
                (inner(at, keyword, Step::Keyword), part)
            };
            found = both(
                found,
                self.alternatives(vec![branch("then"), branch("else")])?,
            );
        }
        Some(found)
    }

    fn alternatives(&mut self, parts: Vec<Part<'s>>) -> Option<Members<'s>> {
        let mut found = None;
        for (at, part) in parts {
            let Some(other) = self.members(part, &at) else {
                continue;
            };
            found = Some(match found {
                None => other,
                Some(found) => either(found, other),
            });
        }
        found
    }
}

fn inner(at: &str, keyword: &str, step: Step<'_>) -> String {
    let mut at = at.to_owned();
    push_step(&mut at, keyword, step);
    at
}

fn list<'s>(object: &'s Map<String, Value>, keyword: &str) -> impl Iterator<Item = &'s Value> {
    object
        .get(keyword)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}

fn own<'s>(object: &'s Map<String, Value>, at: &str) -> Members<'s> {
    let properties = object.get("properties").and_then(Value::as_object);
    let named = properties.into_iter().flatten().map(|(name, schema)| {
        let at = inner(at, "properties", Step::Key(name));
        (name.as_str(), vec![(at, schema)], false)
    });
    Members {
        named: named.collect(),
        required: list(object, "required").filter_map(Value::as_str).collect(),
        closed: object.get("additionalProperties") == Some(&Value::Bool(false))
            && !object.contains_key("patternProperties"),
    }
}

/// Both hold. Of two things said of one member the first is kept.
fn both<'s>(mut left: Members<'s>, right: Members<'s>) -> Members<'s> {
    for member in right.named {
        if !left.named.iter().any(|(name, ..)| *name == member.0) {
            left.named.push(member);
        }
    }
    for name in right.required {
        if !left.required.contains(&name) {
            left.required.push(name);
        }
    }
    left.closed |= right.closed;
    left
}

/// One of them holds.
fn either<'s>(mut left: Members<'s>, right: Members<'s>) -> Members<'s> {
    for (name, _, open) in &mut left.named {
        let also = right.named.iter().any(|(other, ..)| other == name);
        *open |= !also && !right.closed;
    }
    for (name, schemas, open) in right.named {
        match left.named.iter_mut().find(|(other, ..)| *other == name) {
            Some((_, known, known_open)) => {
                for schema in schemas {
                    if !known.iter().any(|(_, other)| *other == schema.1) {
                        known.push(schema);
                    }
                }
                *known_open |= open;
            }
            None => {
                let open = open || !left.closed;
                left.named.push((name, schemas, open));
            }
        }
    }
    left.required.retain(|name| right.required.contains(name));
    left.closed &= right.closed;
    left
}
