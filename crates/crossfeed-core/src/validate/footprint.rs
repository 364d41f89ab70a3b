//! The footprint of a schema: the parts of a value that it examines.
//!
//! The validator gets a *skeleton* of the arguments that the schema cannot distinguish from them: where the
//! schema demands only a type, an empty list stands for any list
//! (`specs/decisions/0013-a-skeleton-is-judged.md`).
//!
//! # Invariant
//!
//! Every subschema gives a value and its skeleton the same verdict, `not`, `if` and `oneOf` included. An
//! unknown keyword counts as examining everything.

use super::skeleton::FEW_NAMES;
use crate::{arguments::Room, error::LimitError};
use crossfeed_json::{Cursor, Kind};
use crossfeed_schema::{address, keywords};
use serde_json::{Map, Value};
use std::collections::{BTreeSet, HashMap};

/// The most states of a footprint; parts beyond them count as examined in full.
const MAX_STATES: usize = 2000;
/// The most subschemas and keywords that are read to find a footprint: some milliseconds, once for a schema.
pub(super) const MAX_STEPS: usize = 100_000;

/// The parts of a value that all subschemas at one place examine: at least its type.
#[derive(Debug, Default)]
pub(super) struct State {
    /// Everything.
    pub(super) whole: bool,
    /// The text of a string.
    pub(super) text: bool,
    /// The number itself, or only that it is one.
    pub(super) number: bool,
    pub(super) members: Option<Children<HashMap<Box<str>, usize>>>,
    pub(super) items: Option<Children<Vec<usize>>>,
}

impl State {
    fn whole() -> Self {
        Self {
            whole: true,
            text: true,
            number: true,
            members: Some(Children::whole()),
            items: Some(Children::whole()),
        }
    }
}

/// The states of children: some by name or place, the rest by one.
#[derive(Debug)]
pub(super) struct Children<T> {
    pub(super) named: T,
    /// The state of the others; `None` if the schema does not even examine whether there are any.
    pub(super) others: Option<usize>,
}

impl<T: Default> Children<T> {
    fn whole() -> Self {
        Self {
            named: T::default(),
            others: Some(WHOLE),
        }
    }
}

impl Children<Vec<usize>> {
    /// The state of the item at a place.
    pub(super) fn item(&self, place: usize) -> Option<usize> {
        self.named.get(place).copied().or(self.others)
    }
}

impl Children<HashMap<Box<str>, usize>> {
    /// The state of the member of a name.
    pub(super) fn member(&self, name: &str) -> Option<usize> {
        self.named.get(name).copied().or(self.others)
    }
}

/// The state of a value that is not examined.
pub(super) const NOTHING: usize = 0;
/// The state of a value that is examined in full.
pub(super) const WHOLE: usize = 1;
/// The state of the root.
pub(super) const ROOT: usize = 2;

/// The parts that a schema examines, place by place.
#[derive(Debug)]
pub(super) struct Footprint(Vec<State>);

impl Footprint {
    pub(super) fn new(schema: &Value) -> Self {
        Self::with_steps(schema).0
    }

    /// The footprint of a schema, and how many steps it took to find it.
    pub(super) fn with_steps(schema: &Value) -> (Self, usize) {
        let mut finder = Finder {
            root: schema,
            is_named: has_inner_ids(schema),
            numbers: HashMap::new(),
            open: Vec::new(),
            states: vec![State::default(), State::whole()],
            steps: 0,
        };
        if finder.number(vec![schema]) != ROOT {
            // The schema examines nothing.
            finder.states.push(State::default());
        }
        while let Some((number, schemas)) = finder.open.pop() {
            finder.states[number] = finder.state(schemas);
        }
        (Self(finder.states), finder.steps)
    }

    /// Takes the room for the skeleton of written arguments.
    pub(super) fn take(&self, arguments: Cursor<'_>, room: &mut Room) -> Result<(), LimitError> {
        self.take_at(arguments, ROOT, room)
    }

    fn take_at(&self, value: Cursor<'_>, number: usize, room: &mut Room) -> Result<(), LimitError> {
        if number == NOTHING {
            return room.take(1, 0);
        }
        let state = self.state(number);
        if state.whole {
            return room.take(value.value_count(), value.raw().len());
        }
        match value.kind() {
            Kind::Array => {
                room.take(1, 0)?;
                let Some(children) = &state.items else {
                    return Ok(());
                };
                for (place, item) in value.items().enumerate() {
                    let Some(at) = children.item(place) else {
                        break;
                    };
                    self.take_at(item, at, room)?;
                }
                Ok(())
            }
            Kind::Object => {
                room.take(1, 0)?;
                let Some(children) = &state.members else {
                    return Ok(());
                };
                if children.others.is_none() && children.named.len() <= FEW_NAMES {
                    for (name, at) in &children.named {
                        if let Some(member) = value.get(name) {
                            self.take_at(member, *at, room)?;
                        }
                    }
                    return Ok(());
                }
                for (key, member) in value.members() {
                    let key = key.text();
                    if let Some(at) = children.member(&key) {
                        room.take(0, key.len())?;
                        self.take_at(member, at, room)?;
                    }
                }
                Ok(())
            }
            _ => room.take(1, value.raw().len()),
        }
    }

    pub(super) fn state(&self, number: usize) -> &State {
        &self.0[number]
    }
}

/// Whether a subschema has an id, so that the target of a reference depends on more than its text.
fn has_inner_ids(schema: &Value) -> bool {
    let members = schema.as_object().into_iter().flat_map(Map::values);
    let mut open: Vec<&Value> = members.collect();
    while let Some(value) = open.pop() {
        match value {
            Value::Array(items) => open.extend(items),
            Value::Object(members) => {
                if ["$id", "id"].iter().any(|key| value[*key].is_string()) {
                    return true;
                }
                open.extend(members.values());
            }
            _ => {}
        }
    }
    false
}

/// Finds the state at each place.
struct Finder<'s> {
    root: &'s Value,
    is_named: bool,
    /// The state of each set of subschemas, by their addresses.
    numbers: HashMap<BTreeSet<usize>, usize>,
    open: Vec<(usize, Vec<&'s Value>)>,
    states: Vec<State>,
    /// The steps taken so far.
    steps: usize,
}

impl<'s> Finder<'s> {
    /// The state for a value that all of the subschemas are applied to.
    fn number(&mut self, schemas: Vec<&'s Value>) -> usize {
        self.steps += schemas.len();
        let schemas: Vec<_> = schemas
            .into_iter()
            .filter(|schema| !sees_nothing(schema))
            .collect();
        if schemas.is_empty() {
            return NOTHING;
        }
        let set: BTreeSet<usize> = schemas.iter().map(|schema| address(schema)).collect();
        if let Some(&known) = self.numbers.get(&set) {
            return known;
        }
        if self.states.len() >= MAX_STATES {
            return WHOLE;
        }
        let number = self.states.len();
        self.states.push(State::whole());
        self.numbers.insert(set, number);
        self.open.push((number, schemas));
        number
    }

    /// The state of a value that all of the subschemas are applied to.
    fn state(&mut self, schemas: Vec<&'s Value>) -> State {
        let mut asked = Requirements::default();
        let mut known = BTreeSet::new();
        let mut open = schemas;
        while let Some(schema) = open.pop() {
            if !known.insert(address(schema)) {
                continue;
            }
            let Some(members) = schema.as_object() else {
                // `true` and `false` examine nothing; anything else is not a schema.
                if schema.is_boolean() {
                    continue;
                }
                return State::whole();
            };
            for (keyword, value) in members {
                let steps = steps_of_keyword(keyword, value, members);
                if !self.has_room(steps) {
                    // No other state is refined either.
                    self.steps = MAX_STEPS;
                    return State::whole();
                }
                self.steps += steps;
                self.keyword(keyword, value, members, &mut asked, &mut open);
            }
            if asked.whole {
                return State::whole();
            }
        }
        self.state_for(&asked)
    }

    fn has_room(&self, steps: usize) -> bool {
        steps <= MAX_STEPS.saturating_sub(self.steps)
    }

    fn keyword(
        &self,
        keyword: &str,
        value: &'s Value,
        members: &'s Map<String, Value>,
        asked: &mut Requirements<'s>,
        open: &mut Vec<&'s Value>,
    ) {
        let named = || value.as_object().into_iter().flatten();
        let listed = || value.as_array().into_iter().flatten();
        match keyword {
            "id" | "$recursiveAnchor" | "$vocabulary" | "minContains" | "maxContains" => {}
            keyword if keywords::is_annotation(keyword) || keyword.starts_with("x-") => {}
            "uniqueItems" if *value == Value::Bool(false) => {}
            // A scalar stands for itself, except for a long string.
            "type" | "multipleOf" | "maximum" | "minimum" | "exclusiveMaximum"
            | "exclusiveMinimum" => asked.number = true,
            "minLength" | "maxLength" | "pattern" | "format" | "contentEncoding"
            | "contentMediaType" | "contentSchema" => asked.text = true,
            "allOf" | "anyOf" | "oneOf" => open.extend(listed()),
            "not" | "if" | "then" | "else" => open.push(value),
            "$ref" => match self.target(value) {
                Some(target) => open.push(target),
                None => asked.whole = true,
            },
            "required" => asked.names.extend(listed().filter_map(Value::as_str)),
            "dependentRequired" | "dependencies" | "dependentSchemas" => {
                for (name, needed) in named() {
                    asked.names.insert(name);
                    match needed {
                        Value::Array(names) => {
                            asked.names.extend(names.iter().filter_map(Value::as_str));
                        }
                        schema => open.push(schema),
                    }
                }
            }
            "minProperties" | "maxProperties" | "propertyNames" => asked.all_names = true,
            "properties" | "patternProperties" | "additionalProperties" => {
                asked.all_names |= keyword != "properties";
                if let Some(properties) = members.get("properties").and_then(Value::as_object) {
                    asked.names.extend(properties.keys().map(String::as_str));
                }
                // Once for all three, which apply together.
                let last = asked.objects.last();
                if !last.is_some_and(|last| std::ptr::eq(*last, members)) {
                    asked.objects.push(members);
                }
            }
            "minItems" | "maxItems" => asked.all_items = true,
            "items" | "additionalItems" | "contains" if !value.is_array() => {
                asked.all_items = true;
                asked.every_item.push(value);
            }
            "items" | "prefixItems" => {
                let count = asked.items.len().max(listed().count());
                asked.items.resize_with(count, Vec::new);
                for (schemas, schema) in asked.items.iter_mut().zip(listed()) {
                    schemas.push(schema);
                }
            }
            // `enum`, `const`, `uniqueItems`, `unevaluatedItems`, `$dynamicRef`, and whatever else.
            _ => asked.whole = true,
        }
    }

    /// The target of a reference, if it is certainly within the schema.
    fn target(&self, reference: &Value) -> Option<&'s Value> {
        let fragment = reference.as_str()?.strip_prefix('#')?;
        let is_plain = !self.is_named && !fragment.contains('%');
        let is_pointer = fragment.is_empty() || fragment.starts_with('/');
        (is_plain && is_pointer).then(|| self.root.pointer(fragment))?
    }

    fn state_for(&mut self, asked: &Requirements<'s>) -> State {
        // Each costs a step when it is chosen, and one when it is numbered.
        if !self.has_room(asked.steps().saturating_mul(2)) {
            return State::whole();
        }
        let Requirements { names, objects, .. } = asked;
        let members = (asked.all_names || !names.is_empty()).then(|| Children {
            named: names
                .iter()
                .map(|name| ((*name).into(), self.member(Some(name), objects)))
                .collect(),
            others: asked.all_names.then(|| self.member(None, objects)),
        });
        let items = asked.items.iter();
        let items = (asked.all_items || !asked.items.is_empty()).then(|| Children {
            named: items
                .map(|schemas| self.item(schemas, &asked.every_item))
                .collect(),
            others: asked.all_items.then(|| self.item(&[], &asked.every_item)),
        });
        State {
            whole: false,
            text: asked.text,
            number: asked.number,
            members,
            items,
        }
    }

    /// The state of an item that some schemas are applied to, besides those for every item.
    fn item(&mut self, schemas: &[&'s Value], every_item: &[&'s Value]) -> usize {
        let schemas = [schemas, every_item].concat();
        self.steps += schemas.len();
        self.number(schemas)
    }

    /// The state of the member of a name, or of a member with none of the names. All patterns count, whether
    /// they match or not.
    fn member(&mut self, name: Option<&str>, objects: &[&'s Map<String, Value>]) -> usize {
        let mut schemas = Vec::new();
        for members in objects {
            let properties = members.get("properties").and_then(Value::as_object);
            match name.and_then(|name| properties?.get(name)) {
                Some(own) => schemas.push(own),
                None => schemas.extend(members.get("additionalProperties")),
            }
            let patterns = members.get("patternProperties").and_then(Value::as_object);
            schemas.extend(patterns.into_iter().flat_map(Map::values));
            self.steps += steps_of_member(members);
        }
        self.number(schemas)
    }
}

/// The steps of a keyword: one for each entry in it.
fn steps_of_keyword(keyword: &str, value: &Value, members: &Map<String, Value>) -> usize {
    let of_names = |value: &Value| 1 + value.as_array().map_or(0, Vec::len);
    let inside = match value {
        Value::Array(items) => items.len(),
        // Names that depend on another name are listed.
        Value::Object(inner) => inner.values().map(of_names).sum(),
        // A pointer has at most this many tokens.
        Value::String(text) => text.len() / 8,
        _ => 0,
    };
    let names = match keyword {
        "additionalProperties" | "patternProperties" => members.get("properties"),
        _ => None,
    };
    1 + inside + names.and_then(Value::as_object).map_or(0, Map::len)
}

/// The steps for choosing the subschemas of one member.
fn steps_of_member(members: &Map<String, Value>) -> usize {
    let patterns = members.get("patternProperties").and_then(Value::as_object);
    1 + patterns.map_or(0, Map::len)
}

/// Whether a schema examines nothing of a value.
fn sees_nothing(schema: &Value) -> bool {
    schema.is_boolean() || schema.as_object().is_some_and(Map::is_empty)
}

/// The demands of subschemas on one value.
#[derive(Default)]
struct Requirements<'s> {
    whole: bool,
    text: bool,
    number: bool,
    /// The names that are examined.
    names: BTreeSet<&'s str>,
    /// Whether every name is examined.
    all_names: bool,
    /// The schemas that apply others to members.
    objects: Vec<&'s Map<String, Value>>,
    /// The schemas for the item at each place.
    items: Vec<Vec<&'s Value>>,
    /// The schemas for every item.
    every_item: Vec<&'s Value>,
    /// Whether the number of items is examined.
    all_items: bool,
}

impl Requirements<'_> {
    /// The number of schemas for children, each counted for every name and place.
    fn steps(&self) -> usize {
        let members = self.objects.iter().map(|members| steps_of_member(members));
        let names = self.names.len() + usize::from(self.all_names);
        let items = self.items.iter().map(Vec::len).sum::<usize>();
        let places = self.items.len() + usize::from(self.all_items);
        let members = names.saturating_mul(members.sum());
        let items = items.saturating_add(places.saturating_mul(self.every_item.len()));
        members.saturating_add(items).saturating_add(names)
    }
}
