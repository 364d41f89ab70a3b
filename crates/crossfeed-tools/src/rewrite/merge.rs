//! Merges what the branches of a root say about its members into one object, which is never narrower.
//!
//! A provider refuses `anyOf`, `oneOf` and `allOf` at the root, and a model wants to see the parameters in
//! their branches: the members that any branch names, each with its alternatives; which are required
//! whatever branch holds; and whether all branches refuse other names.

use crossfeed_json::MAX_DEPTH;
use crossfeed_schema::{
    Dialect,
    index::{Index, Target},
    keywords::{self, Step, push_step},
};
use serde_json::{Map, Value};
use std::collections::{HashMap, HashSet};

/// How many branches are looked at: they may hold branches of their own.
const MAX_BRANCHES: usize = 1_000;

/// How many alternatives of one member are shown; with more, it may be anything.
const MAX_ALTERNATIVES: usize = 50;

/// A schema and its place.
pub(super) type Part<'s> = (String, &'s Value);

/// The alternatives of a member.
#[derive(Clone, Debug, Default)]
pub(super) struct Member<'s> {
    pub(super) schemas: Vec<Part<'s>>,
    /// Whether it may also be anything else.
    pub(super) open: bool,
}

/// The members that a schema speaks of, where it is for an object.
#[derive(Clone, Debug, Default)]
pub(super) struct Members<'s> {
    /// In the order in which they are first spoken of.
    named: Vec<(&'s str, Member<'s>)>,
    /// Where each of them is.
    places: HashMap<&'s str, usize>,
    pub(super) required: Vec<&'s str>,
    /// Whether other names are refused.
    pub(super) closed: bool,
    /// Whether some branches were not read.
    pub(super) unknown: bool,
}

impl<'s> Members<'s> {
    /// Whether it speaks of a member.
    pub(super) fn names(&self, name: &str) -> bool {
        self.places.contains_key(name)
    }

    /// The members in their order.
    pub(super) fn into_named(self) -> impl Iterator<Item = (&'s str, Member<'s>)> {
        self.named.into_iter()
    }

    fn member(&mut self, name: &str) -> Option<&mut Member<'s>> {
        let place = *self.places.get(name)?;
        self.named.get_mut(place).map(|(_, member)| member)
    }

    fn add(&mut self, name: &'s str, member: Member<'s>) {
        self.places.insert(name, self.named.len());
        self.named.push((name, member));
    }
}

pub(super) struct Merge<'s> {
    root: &'s Value,
    index: &'s Index,
    dialect: Dialect,
    left: usize,
    depth: usize,
}

impl<'s> Merge<'s> {
    pub(super) fn new(root: &'s Value, index: &'s Index, dialect: Dialect) -> Self {
        Self {
            root,
            index,
            dialect,
            left: MAX_BRANCHES,
            depth: 0,
        }
    }

    /// The members of a schema; `None` if it admits no object.
    pub(super) fn members(&mut self, schema: &'s Value, at: &str) -> Option<Members<'s>> {
        let Value::Object(object) = schema else {
            return (schema != &Value::Bool(false)).then(Members::default);
        };
        if self.left == 0 || self.depth > MAX_DEPTH {
            return Some(Members {
                unknown: true,
                ..Members::default()
            });
        }
        self.left -= 1;
        self.depth += 1;
        let found = self.branches(object, at);
        self.depth -= 1;
        found
    }

    fn branches(&mut self, object: &'s Map<String, Value>, at: &str) -> Option<Members<'s>> {
        if !keywords::admits_type(object.get("type"), "object") {
            return None;
        }
        let overrides = self.dialect <= Dialect::Draft7 && object.contains_key("$ref");
        let mut found = if overrides {
            Members::default()
        } else {
            own(object, at)
        };
        // A schema with an `$id` stays where it is: its parts refer to others by it.
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
        for (index, part) in keywords::items(object.get("allOf")).iter().enumerate() {
            let at = inner(at, "allOf", Step::Index(index));
            found = both(found, self.members(part, &at)?);
        }
        for keyword in ["anyOf", "oneOf"] {
            if object.contains_key(keyword) {
                let parts = keywords::items(object.get(keyword)).iter().enumerate();
                let parts: Vec<_> = parts
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
        let members = parts.into_iter();
        members
            .filter_map(|(at, part)| self.members(part, &at))
            .reduce(either)
    }
}

fn inner(at: &str, keyword: &str, step: Step<'_>) -> String {
    let mut at = at.to_owned();
    push_step(&mut at, keyword, step);
    at
}

fn own<'s>(object: &'s Map<String, Value>, at: &str) -> Members<'s> {
    let mut members = Members {
        required: keywords::strings(object.get("required")).collect(),
        closed: object.get("additionalProperties") == Some(&Value::Bool(false))
            && !object.contains_key("patternProperties"),
        ..Members::default()
    };
    for (name, schema) in keywords::members(object.get("properties")) {
        let schemas = vec![(inner(at, "properties", Step::Key(name)), schema)];
        let open = false;
        members.add(name, Member { schemas, open });
    }
    members
}

/// Both hold. Of two things said of one member the first is kept.
fn both<'s>(mut left: Members<'s>, right: Members<'s>) -> Members<'s> {
    let (required, closed) = (right.required.clone(), right.closed);
    left.unknown |= right.unknown;
    for (name, member) in right.into_named() {
        if !left.names(name) {
            left.add(name, member);
        }
    }
    let known: HashSet<_> = left.required.iter().copied().collect();
    let more = required.into_iter().filter(|name| !known.contains(name));
    left.required.extend(more);
    left.closed |= closed;
    left
}

/// One of them holds.
fn either<'s>(mut left: Members<'s>, right: Members<'s>) -> Members<'s> {
    for (name, member) in &mut left.named {
        member.open |= !right.names(name) && !right.closed;
    }
    let required: HashSet<_> = right.required.iter().copied().collect();
    left.required.retain(|name| required.contains(name));
    let (open_left, closed) = (!left.closed, right.closed);
    left.unknown |= right.unknown;
    for (name, member) in right.into_named() {
        let Some(known) = left.member(name) else {
            let open = member.open || open_left;
            left.add(name, Member { open, ..member });
            continue;
        };
        known.open |= member.open;
        for schema in member.schemas {
            let is_known =
                |(_, other): &Part<'_>| std::ptr::eq(*other, schema.1) || *other == schema.1;
            if known.schemas.iter().any(is_known) {
                continue;
            }
            if known.schemas.len() >= MAX_ALTERNATIVES {
                known.open = true;
                break;
            }
            known.schemas.push(schema);
        }
    }
    left.closed &= closed;
    left
}
