//! The types and fields observed at one place.

use crate::read::Types;
use serde_json::{Map, Value, json};
use std::collections::HashMap;

/// The values observed at one place.
#[derive(Clone, Debug, Default)]
pub(super) struct ObservedPlace {
    /// The result in which it was seen first; 0 for never.
    pub(super) first: u64,
    pub(super) types: Types,
    /// Whether values at this place were skipped: then the schema asserts nothing about it.
    pub(super) is_loose: bool,
    /// Whether items were skipped for want of room.
    pub(super) lacked_room: bool,
    pub(super) members: Option<Box<Members>>,
    pub(super) items: Option<Box<ObservedPlace>>,
}

/// The objects observed at one place.
#[derive(Clone, Debug)]
pub(super) enum Members {
    /// They have fields.
    Fields(Fields),
    /// Their keys are data; one place for all values.
    Data(ObservedPlace),
}

/// Objects with fields.
#[derive(Clone, Debug, Default)]
pub(super) struct Fields {
    /// The result in which an object was seen here first.
    pub(super) first: u64,
    /// How many objects were seen.
    pub(super) objects: u64,
    /// Whether keys were skipped.
    pub(super) left_aside: bool,
    /// Whether that was for want of room, so that they may come again and be kept.
    pub(super) lacked_room: bool,
    pub(super) keys: Vec<Key>,
    pub(super) by_name: HashMap<Box<str>, usize>,
}

/// One key of objects with fields.
#[derive(Clone, Debug)]
pub(super) struct Key {
    pub(super) name: Box<str>,
    pub(super) place: ObservedPlace,
    /// How many of the objects had it.
    pub(super) count: u64,
    /// The last object that had it, by number.
    pub(super) last: u64,
}

impl Default for Members {
    fn default() -> Self {
        Self::Fields(Fields::default())
    }
}

impl ObservedPlace {
    /// How many places are kept below it.
    pub(super) fn places_below(&self) -> usize {
        let with_below = |place: &Self| 1 + place.places_below();
        let members = match self.members.as_deref() {
            Some(Members::Fields(fields)) => {
                let keys = fields.keys.iter();
                keys.map(|key| with_below(&key.place)).sum()
            }
            Some(Members::Data(place)) => with_below(place),
            None => 0,
        };
        members + self.items.as_deref().map_or(0, with_below)
    }

    /// The schema of all values that were seen here.
    pub(super) fn to_schema(&self) -> Value {
        let mut schema = Map::new();
        let types = match self.types.words().as_slice() {
            [] => None,
            [one] => Some(json!(one)),
            several => Some(json!(several)),
        };
        schema.extend(types.map(|types| ("type".to_owned(), types)));
        match self.members.as_deref() {
            Some(Members::Fields(fields)) if !fields.keys.is_empty() => {
                let keys = fields.keys.iter();
                let properties: Map<_, _> = keys
                    .map(|key| (key.name.to_string(), key.place.to_schema()))
                    .collect();
                schema.insert("properties".to_owned(), Value::Object(properties));
                let always = fields.keys.iter().filter(|key| key.count == fields.objects);
                let required: Vec<_> = always.map(|key| &*key.name).collect();
                if !required.is_empty() {
                    schema.insert("required".to_owned(), json!(required));
                }
            }
            Some(Members::Data(place)) => {
                schema.insert("additionalProperties".to_owned(), place.to_schema());
            }
            _ => {}
        }
        if let Some(items) = &self.items {
            schema.insert("items".to_owned(), items.to_schema());
        }
        let schema = Value::Object(schema);
        if self.is_loose {
            json!({"anyOf": [schema, true]})
        } else {
            schema
        }
    }
}
