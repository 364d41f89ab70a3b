//! What a schema sees of a value.
//!
//! What comes in: a schema, once, and arguments as they are about to be written. What goes out: a
//! *skeleton* of the arguments, a value that the schema cannot tell from them: where it asks for a
//! type only, an empty list stands for any list. Deliberately not here: the verdict, which is the
//! validator's alone (`specs/decisions/0013-a-skeleton-is-judged.md`).
//!
//! # Invariant
//!
//! Every subschema that is applied to a value gives the same verdict of its skeleton: `not`, `if` and
//! `oneOf` included. What is not understood sees everything.

use super::skeleton::FEW_NAMES;
use crate::{arguments::Room, error::LimitError};
use crossfeed_json::{Cursor, Kind};
use serde_json::{Map, Value};
use std::collections::{BTreeSet, HashMap};

/// So many places of a schema are told apart; what lies beyond is seen as a whole.
const STATES: usize = 2000;
/// So many looks at subschemas and their keywords are taken while they are found: some milliseconds,
/// once for a schema.
pub(super) const EFFORT: usize = 100_000;

/// What is seen at one place, by all subschemas that apply there: at least what type a value has.
#[derive(Debug, Default)]
pub(super) struct State {
    /// Everything.
    pub(super) whole: bool,
    /// The text of a string.
    pub(super) text: bool,
    /// Which number it is, or that it is one.
    pub(super) number: bool,
    pub(super) members: Option<Seen<HashMap<Box<str>, usize>>>,
    pub(super) items: Option<Seen<Vec<usize>>>,
}

/// What is seen of children: some by name or place, the rest alike.
#[derive(Debug)]
pub(super) struct Seen<T> {
    pub(super) named: T,
    /// What is seen of others; whether there are any is not seen without.
    pub(super) others: Option<usize>,
}

/// What is not looked at.
pub(super) const NOTHING: usize = 0;
/// What is looked at in full.
pub(super) const WHOLE: usize = 1;
/// What the schema itself sees.
pub(super) const ROOT: usize = 2;

/// What a schema sees, place by place.
#[derive(Debug)]
pub(super) struct Sight(Vec<State>);

impl Sight {
    pub(super) fn of(schema: &Value) -> Self {
        Self::found(schema).0
    }

    /// What a schema sees, and how many looks that took.
    pub(super) fn found(schema: &Value) -> (Self, usize) {
        let mut finder = Finder {
            root: schema,
            is_named: has_inner_ids(schema),
            numbers: HashMap::new(),
            open: Vec::new(),
            states: vec![State::default(), whole()],
            looks: 0,
        };
        let root = finder.number(vec![schema]);
        while let Some((number, schemas)) = finder.open.pop() {
            let state = finder.state(schemas);
            if let Some(place) = finder.states.get_mut(number) {
                *place = state;
            }
        }
        let states = match root {
            ROOT => finder.states,
            // A schema that sees nothing.
            _ => vec![State::default(), whole(), State::default()],
        };
        (Self(states), finder.looks)
    }

    /// Takes the room for what is built of written arguments to judge them.
    pub(super) fn take(&self, arguments: Cursor<'_>, room: &mut Room) -> Result<(), LimitError> {
        self.take_at(arguments, ROOT, room)
    }

    fn take_at(&self, value: Cursor<'_>, number: usize, room: &mut Room) -> Result<(), LimitError> {
        let state = self.state(number).filter(|_| number != NOTHING);
        let Some(state) = state else {
            return room.take(1, 0);
        };
        if state.whole {
            return room.take(value.value_count(), value.raw().len());
        }
        match value.kind() {
            Kind::Array => {
                room.take(1, 0)?;
                let Some(Seen { named, others }) = &state.items else {
                    return Ok(());
                };
                let at = |place: usize| named.get(place).copied().or(*others);
                let mut items = value.items().enumerate();
                items.try_for_each(|(place, item)| match at(place) {
                    Some(at) => self.take_at(item, at, room),
                    None => Ok(()),
                })
            }
            Kind::Object => {
                room.take(1, 0)?;
                let Some(Seen { named, others }) = &state.members else {
                    return Ok(());
                };
                if others.is_none() && named.len() <= FEW_NAMES {
                    let mut named = named.iter();
                    return named.try_for_each(|(name, at)| match value.get(name) {
                        Some(member) => self.take_at(member, *at, room),
                        None => Ok(()),
                    });
                }
                let mut members = value.members();
                members.try_for_each(|(key, member)| {
                    let key = key.text();
                    let Some(at) = named.get(key.as_ref()).copied().or(*others) else {
                        return Ok(());
                    };
                    room.take(0, key.len())?;
                    self.take_at(member, at, room)
                })
            }
            _ => room.take(1, value.raw().len()),
        }
    }

    pub(super) fn state(&self, number: usize) -> Option<&State> {
        self.0.get(number)
    }
}

fn whole() -> State {
    State {
        whole: true,
        ..State::default()
    }
}

/// Whether a schema within the schema names itself: then it cannot be told by its text alone what a
/// reference leads to.
fn has_inner_ids(schema: &Value) -> bool {
    let mut open: Vec<&Value> = match schema {
        Value::Object(members) => members.values().collect(),
        _ => Vec::new(),
    };
    while let Some(value) = open.pop() {
        match value {
            Value::Array(items) => open.extend(items),
            Value::Object(members) => {
                if ["$id", "id"]
                    .iter()
                    .any(|key| members.get(*key).is_some_and(Value::is_string))
                {
                    return true;
                }
                open.extend(members.values());
            }
            _ => {}
        }
    }
    false
}

/// Finds what is seen at each place.
struct Finder<'s> {
    root: &'s Value,
    is_named: bool,
    /// The state of each set of subschemas, by their addresses.
    numbers: HashMap<BTreeSet<usize>, usize>,
    open: Vec<(usize, Vec<&'s Value>)>,
    states: Vec<State>,
    /// Looks that were taken.
    looks: usize,
}

impl<'s> Finder<'s> {
    /// The state for a value that all of the subschemas are applied to.
    fn number(&mut self, schemas: Vec<&'s Value>) -> usize {
        self.looks += schemas.len();
        let schemas: Vec<_> = schemas
            .into_iter()
            .filter(|schema| !sees_nothing(schema))
            .collect();
        if schemas.is_empty() {
            return NOTHING;
        }
        let set = schemas
            .iter()
            .map(|schema| std::ptr::from_ref(*schema).addr());
        let set: BTreeSet<usize> = set.collect();
        if let Some(&known) = self.numbers.get(&set) {
            return known;
        }
        if self.states.len() >= STATES {
            return WHOLE;
        }
        let number = self.states.len();
        self.states.push(whole());
        self.numbers.insert(set, number);
        self.open.push((number, schemas));
        number
    }

    /// What subschemas see of a value that all of them are applied to.
    fn state(&mut self, schemas: Vec<&'s Value>) -> State {
        let mut found = Found::default();
        let mut seen = BTreeSet::new();
        let mut open = schemas;
        while let Some(schema) = open.pop() {
            if !seen.insert(std::ptr::from_ref(schema).addr()) {
                continue;
            }
            let Some(members) = schema.as_object() else {
                // `true` and `false` see nothing; anything else is not a schema.
                if schema.is_boolean() {
                    continue;
                }
                return whole();
            };
            for (keyword, value) in members {
                let looks = looks_at(keyword, value, members);
                if !self.has_room(looks) {
                    // Nor does any other state look further.
                    self.looks = EFFORT;
                    return whole();
                }
                self.looks += looks;
                self.keyword(keyword, value, members, &mut found, &mut open);
            }
            if found.whole {
                return whole();
            }
        }
        self.made(found)
    }

    fn has_room(&self, looks: usize) -> bool {
        looks <= EFFORT.saturating_sub(self.looks)
    }

    fn keyword(
        &self,
        keyword: &str,
        value: &'s Value,
        members: &'s Map<String, Value>,
        found: &mut Found<'s>,
        open: &mut Vec<&'s Value>,
    ) {
        let named = || value.as_object().into_iter().flatten();
        let listed = || value.as_array().into_iter().flatten();
        let texts = || listed().filter_map(Value::as_str);
        match keyword {
            "$schema" | "$id" | "id" | "$anchor" | "$dynamicAnchor" | "$recursiveAnchor"
            | "$comment" | "$defs" | "definitions" | "$vocabulary" | "title" | "description"
            | "default" | "examples" | "deprecated" | "readOnly" | "writeOnly" => {}
            keyword if keyword.starts_with("x-") => {}
            // A scalar stands for itself, but for the text of a long string.
            "type" | "multipleOf" | "maximum" | "minimum" | "exclusiveMaximum"
            | "exclusiveMinimum" => found.number = true,
            "minLength" | "maxLength" | "pattern" | "format" | "contentEncoding"
            | "contentMediaType" | "contentSchema" => found.text = true,
            "allOf" | "anyOf" | "oneOf" => open.extend(listed()),
            "not" | "if" | "then" | "else" => open.push(value),
            "$ref" => match self.target(value) {
                Some(target) => open.push(target),
                None => found.whole = true,
            },
            "required" => found.names.extend(texts()),
            "dependentRequired" | "dependencies" | "dependentSchemas" => {
                for (name, needed) in named() {
                    found.names.insert(name);
                    match needed {
                        Value::Array(names) => {
                            found.names.extend(names.iter().filter_map(Value::as_str));
                        }
                        schema => open.push(schema),
                    }
                }
            }
            "minProperties" | "maxProperties" | "propertyNames" => found.all_names = true,
            "properties" | "patternProperties" | "additionalProperties" => {
                found.all_names |= keyword != "properties";
                if let Some(properties) = members.get("properties").and_then(Value::as_object) {
                    found.names.extend(properties.keys().map(String::as_str));
                }
                // Once for all three, which come together.
                let last = found.objects.last();
                if !last.is_some_and(|last| std::ptr::eq(*last, members)) {
                    found.objects.push(members);
                }
            }
            "minItems" | "maxItems" => found.all_items = true,
            "items" | "additionalItems" | "contains" if !value.is_array() => {
                found.all_items = true;
                found.every_item.push(value);
            }
            "items" | "prefixItems" => {
                for (place, schema) in listed().enumerate() {
                    if found.items.len() <= place {
                        found.items.push(Vec::new());
                    }
                    if let Some(schemas) = found.items.get_mut(place) {
                        schemas.push(schema);
                    }
                }
            }
            "minContains" | "maxContains" => {}
            "uniqueItems" if *value == Value::Bool(false) => {}
            // `enum`, `const`, `uniqueItems`, `unevaluatedItems`, `$dynamicRef`, and whatever else.
            _ => found.whole = true,
        }
    }

    /// What a reference leads to, if that is within the schema for certain.
    fn target(&self, reference: &Value) -> Option<&'s Value> {
        let fragment = reference.as_str()?.strip_prefix('#')?;
        let is_plain = !self.is_named && !fragment.contains('%');
        let is_pointer = fragment.is_empty() || fragment.starts_with('/');
        (is_plain && is_pointer).then(|| self.root.pointer(fragment))?
    }

    fn made(&mut self, found: Found<'s>) -> State {
        // Each is looked at when it is chosen, and when it is numbered.
        if !self.has_room(found.looks().saturating_mul(2)) {
            return whole();
        }
        let members = (found.all_names || !found.names.is_empty()).then(|| Seen {
            named: found
                .names
                .iter()
                .map(|name| ((*name).into(), self.member(Some(name), &found.objects)))
                .collect(),
            others: found.all_names.then(|| self.member(None, &found.objects)),
        });
        let items = (found.all_items || !found.items.is_empty()).then(|| Seen {
            named: found
                .items
                .iter()
                .map(|schemas| self.item(schemas, &found.every_item))
                .collect(),
            others: found.all_items.then(|| self.item(&[], &found.every_item)),
        });
        State {
            whole: false,
            text: found.text,
            number: found.number,
            members,
            items,
        }
    }

    /// What is seen of an item that some are applied to besides those for every item.
    fn item(&mut self, schemas: &[&'s Value], every_item: &[&'s Value]) -> usize {
        let schemas = [schemas, every_item].concat();
        self.looks += schemas.len();
        self.number(schemas)
    }

    /// What is seen of the member of a name, or of one that none of the names is. Which patterns
    /// match is not looked at: all count.
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
            self.looks += looks_for_member(members);
        }
        self.number(schemas)
    }
}

/// How many looks a keyword takes: one at each thing in it.
fn looks_at(keyword: &str, value: &Value, members: &Map<String, Value>) -> usize {
    let of_names = |value: &Value| 1 + value.as_array().map_or(0, Vec::len);
    let inside = match value {
        Value::Array(items) => items.len(),
        // Names that another name asks for are listed.
        Value::Object(inner) => inner.values().map(of_names).sum(),
        // A pointer has at most so many tokens.
        Value::String(text) => text.len() / 8,
        _ => 0,
    };
    let names = match keyword {
        "additionalProperties" | "patternProperties" => members.get("properties"),
        _ => None,
    };
    1 + inside + names.and_then(Value::as_object).map_or(0, Map::len)
}

/// How many looks it takes to choose what a schema applies to one member.
fn looks_for_member(members: &Map<String, Value>) -> usize {
    let patterns = members.get("patternProperties").and_then(Value::as_object);
    1 + patterns.map_or(0, Map::len)
}

/// Whether a schema says nothing of what it is applied to.
fn sees_nothing(schema: &Value) -> bool {
    match schema {
        Value::Bool(_) => true,
        Value::Object(members) => members.is_empty(),
        _ => false,
    }
}

/// What subschemas ask of one value.
#[derive(Default)]
struct Found<'s> {
    whole: bool,
    text: bool,
    number: bool,
    /// The names that are looked for.
    names: BTreeSet<&'s str>,
    /// Whether any name is seen.
    all_names: bool,
    /// The schemas that apply others to members.
    objects: Vec<&'s Map<String, Value>>,
    /// What is applied to the items at each place.
    items: Vec<Vec<&'s Value>>,
    /// What is applied to any item.
    every_item: Vec<&'s Value>,
    /// Whether it is seen how many items there are.
    all_items: bool,
}

impl Found<'_> {
    /// How many schemas are applied to children, each counted for every name and place.
    fn looks(&self) -> usize {
        let members = self.objects.iter().map(|members| looks_for_member(members));
        let names = self.names.len() + usize::from(self.all_names);
        let items = self.items.iter().map(Vec::len).sum::<usize>();
        let places = self.items.len() + usize::from(self.all_items);
        let members = names.saturating_mul(members.sum());
        let items = items.saturating_add(places.saturating_mul(self.every_item.len()));
        members.saturating_add(items).saturating_add(names)
    }
}
