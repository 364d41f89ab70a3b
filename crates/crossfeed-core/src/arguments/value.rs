//! Walks over arguments: a `Value`, or a place in a document. Of a document only the current object is built,
//! within the room that is left. Members that reading back removed are skipped.

use super::{Node, Tree as _};
use crate::{error::LimitError, shape::kind_of};
use crossfeed_json::{Cursor, Key, Kind, is_deeper};
use crossfeed_wire::{
    Pointer,
    reference::{is_copied, may_hold_source},
};
use serde_json::{Map, Value};
use std::{borrow::Cow, collections::HashSet};

/// The most bytes of one value in memory, its key and its entry in a table included.
pub(crate) const VALUE_BYTES: usize = 320;
/// The most copies of the bytes of a text or key.
const COPIES: usize = 3;

/// The memory for values that are built from written arguments.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    limit: usize,
    taken: usize,
}

impl Room {
    /// Room for this many bytes.
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, taken: 0 }
    }

    /// Takes the room for this many values, written in this many bytes.
    pub(crate) fn take(&mut self, values: usize, bytes: usize) -> Result<(), LimitError> {
        let more = values.saturating_mul(VALUE_BYTES);
        let more = more.saturating_add(bytes.saturating_mul(COPIES));
        self.taken = self.taken.saturating_add(more);
        if self.taken > self.limit {
            let (needed, limit) = (self.taken, self.limit);
            return Err(LimitError::ArgumentsTooLarge { needed, limit });
        }
        Ok(())
    }

    /// Takes the room for a text that may be the JSON of a reference.
    pub(crate) fn take_text(&mut self, text: &str) -> Result<(), LimitError> {
        if !may_hold_source(text) {
            return Ok(());
        }
        self.take_json(text)
    }

    /// Takes the room for a text that is read as JSON.
    pub(crate) fn take_json(&mut self, text: &str) -> Result<(), LimitError> {
        let begins = |byte: &u8| matches!(byte, b',' | b'[' | b'{');
        self.take(1 + text.bytes().filter(begins).count(), text.len())
    }
}

/// A value of arguments.
pub(crate) trait ArgumentValue<'v>: Copy {
    fn kind(self) -> Kind;

    /// The items of a list, or the values of an object.
    fn children(self) -> impl Iterator<Item = Self>;

    fn members(self) -> impl Iterator<Item = (Cow<'v, str>, Self)>;

    fn member(self, key: &str) -> Option<Self>;

    /// The text of a string.
    fn text(self) -> Option<Cow<'v, str>>;

    /// A value that is no string, list or object; such values as null.
    fn scalar(self) -> Value;

    /// An object, with the members that the grammar of references looks at.
    fn as_written(self, room: &mut Room) -> Result<Cow<'v, Map<String, Value>>, LimitError>;

    fn is_deeper(self, limit: usize) -> bool;

    /// The number of the value in its document; `None` for a `Value`.
    fn ordinal(self) -> Option<u32>;
}

impl<'v> ArgumentValue<'v> for &'v Value {
    fn kind(self) -> Kind {
        kind_of(self)
    }

    fn children(self) -> impl Iterator<Item = Self> {
        let items = self.as_array().into_iter().flatten();
        items.chain(self.as_object().into_iter().flat_map(Map::values))
    }

    fn members(self) -> impl Iterator<Item = (Cow<'v, str>, Self)> {
        let members = self.as_object().into_iter().flatten();
        members.map(|(key, value)| (Cow::Borrowed(key.as_str()), value))
    }

    fn member(self, key: &str) -> Option<Self> {
        self.as_object()?.get(key)
    }

    fn text(self) -> Option<Cow<'v, str>> {
        self.as_str().map(Cow::Borrowed)
    }

    fn scalar(self) -> Value {
        match self {
            Value::Bool(_) | Value::Number(_) => self.clone(),
            _ => Value::Null,
        }
    }

    fn as_written(self, _: &mut Room) -> Result<Cow<'v, Map<String, Value>>, LimitError> {
        Ok(self.as_object().map_or_else(Cow::default, Cow::Borrowed))
    }

    fn is_deeper(self, limit: usize) -> bool {
        is_deeper(self, limit)
    }

    fn ordinal(self) -> Option<u32> {
        None
    }
}

/// A list or object with few values and little text in it; `None` if it has more, or an object in it a key that stands
/// twice.
pub(crate) fn small<'v>(value: impl ArgumentValue<'v>) -> Option<Value> {
    fn built<'v>(
        value: impl ArgumentValue<'v>,
        values: &mut usize,
        bytes: &mut usize,
    ) -> Option<Value> {
        *values = values.checked_sub(1)?;
        let mut take = |text: Cow<'v, str>| {
            *bytes = bytes.checked_sub(text.len())?;
            Some(text.into_owned())
        };
        Some(match value.kind() {
            Kind::String => Value::String(take(value.text()?)?),
            Kind::Array => {
                let items = value.children().map(|item| built(item, values, bytes));
                Value::Array(items.collect::<Option<_>>()?)
            }
            Kind::Object => {
                let mut members = Map::new();
                for (key, member) in value.members() {
                    *bytes = bytes.checked_sub(key.len())?;
                    if members
                        .insert(key.into_owned(), built(member, values, bytes)?)
                        .is_some()
                    {
                        return None;
                    }
                }
                Value::Object(members)
            }
            _ => value.scalar(),
        })
    }
    let (mut values, mut bytes) = (40, 4000);
    built(value, &mut values, &mut bytes)
}

/// Whether a list or object may be steps of a path, or a reference in place of the id of a call.
fn is_small(value: Cursor<'_>) -> bool {
    const MOST: usize = 40;
    const MOST_BYTES: usize = 4000;
    let is_holder = matches!(value.kind(), Kind::Array | Kind::Object);
    is_holder && value.raw().len() <= MOST_BYTES && value.value_count() <= MOST
}

/// Members of a document that reading back removed.
#[derive(Clone, Debug, Default)]
pub(crate) struct RemovedMembers {
    /// The objects that they are members of, and their keys.
    places: Vec<(Pointer, String)>,
    ordinals: HashSet<u32>,
}

impl RemovedMembers {
    pub(crate) fn add(&mut self, object: &Pointer, key: &str, value: Cursor<'_>) {
        self.places.push((object.clone(), key.to_owned()));
        self.ordinals.insert(value.ordinal());
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Removes them from a value of the document.
    pub(crate) fn apply(&self, node: &mut Node<'_>) {
        for (object, key) in &self.places {
            if let Some(object) = node.at_mut(object) {
                object.remove(key);
            }
        }
    }

    fn has(&self, value: Cursor<'_>) -> bool {
        !self.ordinals.is_empty() && self.ordinals.contains(&value.ordinal())
    }
}

/// A place in a document, without the members that were removed.
#[derive(Clone, Copy)]
pub(crate) struct Argument<'v> {
    cursor: Cursor<'v>,
    removed: &'v RemovedMembers,
}

/// The most bytes of a list or object in a malformed reference that a correction may hold.
const MAX_SHOWN_BYTES: usize = 600;

impl<'v> Argument<'v> {
    pub(crate) fn new(cursor: Cursor<'v>, removed: &'v RemovedMembers) -> Self {
        Self { cursor, removed }
    }

    fn at(self, cursor: Cursor<'v>) -> Self {
        Self { cursor, ..self }
    }

    /// The members that were not removed.
    fn left(self) -> impl Iterator<Item = (Key<'v>, Cursor<'v>)> {
        let members = self.cursor.members();
        members.filter(move |(_, value)| !self.removed.has(*value))
    }

    /// The value of a malformed reference, as far as the error needs it: a scalar, an object, or a list of only one.
    /// Lists and objects in it are empty where they are long, except a list with one item.
    pub(crate) fn as_malformed(self) -> Value {
        let mut children = self.children();
        match (self.cursor.kind(), children.next(), children.next()) {
            (Kind::Object, ..) => self.as_malformed_object(),
            (Kind::Array, Some(only), None) if only.cursor.kind() == Kind::Object => {
                Value::Array(vec![only.as_malformed_object()])
            }
            _ => outside(self.cursor),
        }
    }

    fn as_malformed_object(self) -> Value {
        let inside = |member: Cursor<'_>| match (member.kind(), member.at(0)) {
            _ if member.raw().len() <= MAX_SHOWN_BYTES => member.to_nearest_value(),
            (Kind::Array, Some(only)) if member.len() == Some(1) => {
                Value::Array(vec![outside(only)])
            }
            _ => outside(member),
        };
        let members = self.left();
        let members = members.map(|(key, member)| (key.text().into_owned(), inside(member)));
        Value::Object(members.collect())
    }
}

impl<'v> ArgumentValue<'v> for Argument<'v> {
    fn kind(self) -> Kind {
        self.cursor.kind()
    }

    fn children(self) -> impl Iterator<Item = Self> {
        let children = self.cursor.items();
        let children = children.filter(move |value| !self.removed.has(*value));
        children.map(move |value| self.at(value))
    }

    fn members(self) -> impl Iterator<Item = (Cow<'v, str>, Self)> {
        let members = self.left();
        members.map(move |(key, value)| (key.text(), self.at(value)))
    }

    fn member(self, key: &str) -> Option<Self> {
        let member = self.cursor.get(key)?;
        (!self.removed.has(member)).then(|| self.at(member))
    }

    fn text(self) -> Option<Cow<'v, str>> {
        self.cursor.as_str()
    }

    fn scalar(self) -> Value {
        match self.cursor.kind() {
            Kind::Boolean | Kind::Number => self.cursor.to_nearest_value(),
            _ => Value::Null,
        }
    }

    fn as_written(self, room: &mut Room) -> Result<Cow<'v, Map<String, Value>>, LimitError> {
        let mut object = Map::new();
        for (key, value) in self.left() {
            let key = key.text();
            let built = if is_copied(key.as_ref()) || is_small(value) {
                room.take(value.value_count(), key.len() + value.raw().len())?;
                value.to_nearest_value()
            } else {
                let scalar = value.len().map_or_else(|| value.raw().len(), |_| 0);
                room.take(1, key.len() + scalar)?;
                outside(value)
            };
            object.insert(key.into_owned(), built);
        }
        Ok(Cow::Owned(object))
    }

    /// A document nests no deeper than arguments may.
    fn is_deeper(self, _: usize) -> bool {
        false
    }

    fn ordinal(self) -> Option<u32> {
        Some(self.cursor.ordinal())
    }
}

/// A scalar as it is, a list or object as an empty one.
fn outside(value: Cursor<'_>) -> Value {
    match value.kind() {
        Kind::Array => Value::Array(Vec::new()),
        Kind::Object => Value::Object(Map::new()),
        _ => value.to_nearest_value(),
    }
}

/// The number of values in a value, itself included.
pub(crate) fn count_of(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(count_of).sum::<usize>(),
        Value::Object(members) => 1 + members.values().map(count_of).sum::<usize>(),
        _ => 1,
    }
}
