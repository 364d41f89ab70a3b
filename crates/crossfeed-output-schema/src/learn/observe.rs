//! Merges one result into the learned schema.

use super::{
    DriftKind, LearnOptions,
    drift::Drifts,
    place::{Fields, Key, Members, ObservedPlace},
};
use crate::read::Types;
use crossfeed_json::{Cursor, Kind};
use crossfeed_projection::Step;

/// Bytes of a key that is kept: a programmer's word is not longer.
const MAX_KEY_BYTES: usize = 256;

/// A walk over one result. Its recursion is as deep as data nests: 127 levels.
pub(super) struct Observation<'l> {
    pub(super) options: &'l LearnOptions,
    /// Which result it is, from 1.
    pub(super) number: u64,
    /// Places that are kept so far.
    pub(super) places: &'l mut usize,
    pub(super) drifts: &'l mut Drifts,
    /// Values that may still be looked at.
    pub(super) values: usize,
    pub(super) way: Vec<Step>,
}

impl Observation<'_> {
    /// Merges a value into its place.
    pub(super) fn see(&mut self, place: &mut ObservedPlace, value: Cursor<'_>) {
        if self.values == 0 {
            place.is_loose = true;
            return;
        }
        self.values -= 1;
        self.see_type(place, value);
        if place.first == 0 {
            place.first = self.number;
        }
        // Lists and objects around this one, which the way counts by its steps.
        if self.way.len() >= self.options.max_depth {
            return;
        }
        match value.kind() {
            Kind::Object => self.see_object(place, value),
            Kind::Array => self.see_list(place, value),
            _ => {}
        }
    }

    fn see_type(&mut self, place: &mut ObservedPlace, value: Cursor<'_>) {
        let to = match value.as_number() {
            Some(number) if number.bytes().all(|b| b.is_ascii_digit() || b == b'-') => "integer",
            _ => value.kind().as_str(),
        };
        let seen = Types::named(to);
        // An integer is a number.
        let is_known =
            place.types.has(seen) || (seen == Types::INTEGER && place.types.has(Types::NUMBER));
        if !is_known && place.first != 0 && place.first < self.number {
            let from = place.types.words();
            self.note(DriftKind::Type { from, to });
        }
        place.types = place.types.or(seen);
    }

    fn see_list(&mut self, place: &mut ObservedPlace, list: Cursor<'_>) {
        let length = list.len().unwrap_or_default();
        if length == 0 {
            return;
        }
        if place.items.is_none() && !self.has_room() {
            place.lacked_room = true;
            return;
        }
        let items = place.items.get_or_insert_with(|| {
            *self.places += 1;
            Box::new(ObservedPlace {
                is_loose: place.lacked_room,
                ..ObservedPlace::default()
            })
        });
        self.see_spread(Step::EachItem, items, length, list.items());
    }

    /// Merges values into one place; of many only some, evenly spread.
    fn see_spread<'d>(
        &mut self,
        step: Step,
        place: &mut ObservedPlace,
        length: usize,
        values: impl Iterator<Item = Cursor<'d>>,
    ) {
        let stride = length.div_ceil(self.options.max_items.max(1)).max(1);
        place.is_loose |= stride > 1;
        self.way.push(step);
        for value in values.step_by(stride) {
            self.see(place, value);
            if self.values == 0 {
                place.is_loose = true;
                break;
            }
        }
        self.way.pop();
    }

    fn see_object(&mut self, place: &mut ObservedPlace, object: Cursor<'_>) {
        let mut members = place.members.take().unwrap_or_default();
        if object.len().unwrap_or_default() > self.options.max_keys {
            self.collapse(&mut members);
        }
        if let Members::Fields(fields) = &mut *members
            && self.see_fields(fields, object)
            && fields.are_data(self.options.max_keys)
        {
            self.collapse(&mut members);
        }
        // What was just collapsed holds this object's values already; seen twice they are the same.
        if let Members::Data(values) = &mut *members {
            let length = object.len().unwrap_or_default();
            self.see_spread(Step::EachKey, values, length, object.items());
        }
        place.members = Some(members);
    }

    fn collapse(&mut self, members: &mut Members) {
        if let Members::Fields(fields) = members {
            if fields.keys.is_empty() && !self.has_room() {
                return; // no place for what any value is: all keys will be left aside
            }
            let below = |key: &Key| 1 + key.place.places_below();
            let before: usize = fields.keys.iter().map(below).sum();
            *members = std::mem::take(members).collapsed();
            // What was noted of keys that are data names them.
            self.drifts.forget_within(&self.way);
            if let Members::Data(place) = members {
                *self.places = self.places.saturating_sub(before) + 1 + place.places_below();
            }
        }
    }

    /// Merges an object with fields; whether it had a key that none before had.
    fn see_fields(&mut self, fields: &mut Fields, object: Cursor<'_>) -> bool {
        let objects_before = fields.objects;
        fields.objects = fields.objects.saturating_add(1);
        let now = fields.objects;
        if fields.first == 0 {
            fields.first = self.number;
        }
        let mut is_new = false;
        let mut had_always = 0_usize;
        for (name, member) in object.members() {
            let name = name.text();
            if name.len() > MAX_KEY_BYTES {
                fields.left_aside = true;
                continue;
            }
            let at = match fields.by_name.get(&*name) {
                Some(&at) => at,
                None if !self.has_room() => {
                    (fields.left_aside, fields.lacked_room) = (true, true);
                    continue;
                }
                None => {
                    *self.places += 1;
                    is_new = true;
                    if fields.first < self.number {
                        self.note_key(&name, DriftKind::New);
                    }
                    let at = fields.keys.len();
                    fields.by_name.insert(Box::from(&*name), at);
                    fields.keys.push(Key {
                        name: Box::from(&*name),
                        place: ObservedPlace {
                            // It may have been left aside before.
                            is_loose: fields.lacked_room,
                            ..ObservedPlace::default()
                        },
                        count: 0,
                        last: 0,
                    });
                    at
                }
            };
            let key = &mut fields.keys[at];
            // Two keys that are not text may read the same.
            if key.last != now {
                had_always += usize::from(key.count == objects_before);
                key.count = key.count.saturating_add(1);
                key.last = now;
            }
            self.way.push(Step::Key(name.into_owned()));
            self.see(&mut key.place, member);
            self.way.pop();
        }
        if had_always < fields.keys.len() {
            self.see_missing(fields, objects_before);
        }
        is_new
    }

    /// Notes the keys that every object had but the last one.
    fn see_missing(&mut self, fields: &Fields, objects_before: u64) {
        for key in &fields.keys {
            let is_missing = key.last != fields.objects && key.count == objects_before;
            if is_missing && key.place.first < self.number {
                self.note_key(&key.name, DriftKind::Missing);
            }
        }
    }

    fn has_room(&self) -> bool {
        *self.places < self.options.max_places
    }

    fn note_key(&mut self, key: &str, kind: DriftKind) {
        self.way.push(Step::Key(key.to_owned()));
        self.note(kind);
        self.way.pop();
    }

    fn note(&mut self, kind: DriftKind) {
        self.drifts
            .note(&self.way, kind, self.number, self.options.max_drift);
    }
}
