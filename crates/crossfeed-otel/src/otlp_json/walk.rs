//! The walk over a document: which of its strings is what.
//!
//! It knows objects by what they have, not by where they stand: an object with a `key` is an
//! attribute, in `attributes`, `filteredAttributes` and lists that are not thought of yet. Of spans and
//! records it knows the names of their lists, since there the attributes of one say what the others hold.

use super::{SanitizedJson, structural_fields::is_structural, value::text_of};
use crate::{
    Outcome, Policy, Reader,
    event::{EVENT_NAME, Event},
};
use crossfeed_json::{Cursor, Edits, Kind, Removals, quoted};
use crossfeed_projection::WITHHELD;
use crossfeed_wire::internal::is_internal;
use std::borrow::Cow;

/// What has attributes that say of which kind it is.
const KINDS: [&str; 5] = ["spans", "logRecords", "log_records", "resource", "scope"];
/// What has attributes, and says how many were dropped.
const COUNTED: [&str; 7] = [
    "spans",
    "logRecords",
    "log_records",
    "resource",
    "scope",
    "events",
    "links",
];
const RECORDS: [&str; 2] = ["logRecords", "log_records"];
const EVENT_NAMES: [&str; 2] = ["eventName", "event_name"];
/// Texts of a record that are left out where they may not leave as they are.
const OPTIONAL: [&str; 4] = ["eventName", "event_name", "severityText", "severity_text"];
const DROPPED: [&str; 2] = ["droppedAttributesCount", "dropped_attributes_count"];
/// The most bytes of a string, as it is written, that may say of which kind a span is.
const MAX_HINT: usize = 256;

pub(super) fn sanitize<'d>(raw: &'d [u8], root: Cursor<'d>, policy: &Policy) -> SanitizedJson<'d> {
    let mut walk = Walk {
        policy,
        edits: Edits::new(raw),
        changed: 0,
        dropped: 0,
    };
    let within = Within {
        reader: policy.reader([]),
        event: Event::Unnamed,
    };
    walk.any(root, "", &within);
    SanitizedJson {
        json: walk.edits.done(),
        changed: walk.changed,
        dropped: walk.dropped,
    }
}

pub(super) struct Walk<'d, 'p> {
    policy: &'p Policy,
    pub(super) edits: Edits<'d>,
    changed: usize,
    dropped: usize,
}

/// What is known of what a value stands in.
#[derive(Clone)]
struct Within<'p, 'd> {
    reader: Reader<'p>,
    event: Event<'d>,
}

impl<'d, 'p> Walk<'d, 'p> {
    /// A value of which nothing is known but the field in which it, or the list of it, stands. A
    /// document is at most 127 levels deep, and so is this.
    ///
    /// Gives how many attributes were dropped, if it is a list of them.
    fn any(&mut self, value: Cursor<'d>, field: &str, within: &Within<'p, 'd>) -> usize {
        match value.kind() {
            Kind::Object if is_attribute(value) => self.lone(value, within),
            Kind::Object => self.object(value, field, within),
            Kind::Array => return self.list(value, field, within),
            Kind::String => self.plain(value, field, within),
            _ => {}
        }
        0
    }

    fn list(&mut self, list: Cursor<'d>, field: &str, within: &Within<'p, 'd>) -> usize {
        let mut removals = Removals::new(list);
        let mut dropped = 0;
        for item in list.items() {
            let goes = if is_attribute(item) {
                self.attribute(item, within)
            } else {
                self.any(item, field, within);
                false
            };
            dropped += usize::from(goes);
            let end = item.offset() + item.raw().len();
            removals.next(end, goes, &mut self.edits);
        }
        self.dropped += dropped;
        dropped
    }

    fn object(&mut self, object: Cursor<'d>, field: &str, within: &Within<'p, 'd>) {
        let own = self.own(object, field, within);
        let within = own.as_ref().unwrap_or(within);
        let mut removals = Removals::new(object);
        let mut lists = None;
        let mut dropped = 0;
        for member in object.written_members() {
            let key = member.key.text();
            let goes = is_internal(&key);
            if goes {
                self.dropped += 1;
            } else if key == "body" && RECORDS.contains(&field) {
                self.body(member.value, within);
            } else if RECORDS.contains(&field) && OPTIONAL.contains(&&*key)
                || field == "status" && key == "message"
            {
                self.optional(member.value, field, within);
            } else {
                let gone = self.any(member.value, &key, within);
                if key == "attributes" {
                    lists = Some(member.value);
                    dropped += gone;
                }
            }
            removals.next(member.end, goes, &mut self.edits);
        }
        if let Some(list) = lists.filter(|_| dropped > 0)
            && COUNTED.contains(&field)
        {
            self.count(object, list, dropped);
        }
    }

    /// What an object says of what stands in it.
    fn own(
        &self,
        object: Cursor<'d>,
        field: &str,
        within: &Within<'p, 'd>,
    ) -> Option<Within<'p, 'd>> {
        let names = |keys: &'static [&str]| {
            let named = object
                .written_members()
                .filter(|member| keys.contains(&&*member.key.text()));
            named.filter_map(|member| member.value.as_str())
        };
        if field == "events" {
            let event = Event::of(&within.reader, names(&["name"]));
            return Some(Within {
                reader: within.reader.clone(),
                event,
            });
        }
        if !KINDS.contains(&field) {
            return None;
        }
        let hints = hints(object);
        let hints = hints.iter().map(|(key, text)| (&**key, &**text));
        let reader = self.policy.reader(hints);
        let event = if RECORDS.contains(&field) {
            let named =
                attributes(object).filter(|(key, _)| key.as_str().as_deref() == Some(EVENT_NAME));
            let named = named.filter_map(|(_, name)| name.as_str());
            Event::of_record(&reader, names(&EVENT_NAMES), named)
        } else {
            Event::Unnamed
        };
        Some(Within { reader, event })
    }

    /// Says beside a list that attributes of it were dropped.
    fn count(&mut self, object: Cursor<'d>, list: Cursor<'d>, dropped: usize) {
        let is_count = |key: &str| DROPPED.contains(&key);
        let counts: Vec<_> = object
            .written_members()
            .filter(|member| is_count(&member.key.text()))
            .collect();
        for member in &counts {
            let text = String::from_utf8_lossy(member.value.raw());
            let before = match member.value.kind() {
                Kind::Null => 0,
                // Numbers may be written as strings.
                _ => match text.trim_matches('"').parse::<u32>() {
                    Ok(before) => before,
                    Err(_) => continue,
                },
            };
            let count = before.saturating_add(u32::try_from(dropped).unwrap_or(u32::MAX));
            self.edits
                .replace(member.value, count.to_string().into_bytes());
        }
        if counts.is_empty() {
            let member = format!(",\"{}\":{dropped}", DROPPED[0]);
            self.edits.insert_behind(list, member.into_bytes());
        }
    }

    /// An attribute; whether it goes. One that has a key or a value twice does: readers would not agree
    /// on what it is.
    fn attribute(&mut self, attribute: Cursor<'d>, within: &Within<'p, 'd>) -> bool {
        let Some((name, value)) = key_value(attribute) else {
            return true;
        };
        let name = name.as_str().unwrap_or_default();
        let reader = &within.reader;
        let known = within.event.attribute(&name);
        let Some(known) = known.filter(|_| !reader.drops_key(&name)) else {
            return true;
        };
        if value.is_some_and(|value| !self.value(&known, value, reader)) {
            return true;
        }
        let mut removals = Removals::new(attribute);
        for member in attribute.written_members() {
            let key = member.key.text();
            let goes = is_internal(&key);
            if goes {
                self.dropped += 1;
            } else if !matches!(&*key, "key" | "value") {
                self.any(member.value, &key, within);
            }
            removals.next(member.end, goes, &mut self.edits);
        }
        false
    }

    /// An attribute that stands in no list, and so cannot be taken out of one.
    fn lone(&mut self, attribute: Cursor<'d>, within: &Within<'p, 'd>) {
        if self.attribute(attribute, within) {
            self.edits.replace(attribute, b"{}".to_vec());
            self.dropped += 1;
        }
    }

    /// The body of a log record. Of an event its name says what it holds.
    fn body(&mut self, body: Cursor<'d>, within: &Within<'p, 'd>) {
        let name = within.event.body();
        if !name.is_some_and(|name| self.value(name, body, &within.reader)) {
            self.edits.replace(body, b"{}".to_vec());
            self.dropped += 1;
        }
    }

    /// A text that need not stand: where all of it may not leave, nothing does; of a message, what may.
    fn optional(&mut self, value: Cursor<'d>, field: &str, within: &Within<'p, 'd>) {
        let Some(text) = value.as_str() else {
            self.any(value, "", within);
            return;
        };
        let text = match within.reader.strip("", &text) {
            Outcome::Unchanged => return,
            Outcome::Text(text) if field == "status" => text,
            Outcome::Text(_) | Outcome::Dropped => String::new(),
        };
        self.replace(value, quoted(&text).into_bytes());
    }

    /// A text that is not an attribute: a name, a field that is not known.
    fn plain(&mut self, value: Cursor<'d>, field: &str, within: &Within<'p, 'd>) {
        let text = value.as_str().unwrap_or_default();
        if is_structural(field, &text) {
            return;
        }
        let text = match within.reader.strip("", &text) {
            Outcome::Unchanged => return,
            Outcome::Text(text) => text,
            Outcome::Dropped => WITHHELD.to_owned(),
        };
        self.replace(value, quoted(&text).into_bytes());
    }

    /// Another value in a value's place, and one more change.
    pub(super) fn replace(&mut self, value: Cursor<'d>, with: Vec<u8>) {
        self.edits.replace(value, with);
        self.changed += 1;
    }
}

/// Whether this is a `KeyValue`. One without a value is one, too.
fn is_attribute(item: Cursor<'_>) -> bool {
    item.written_members()
        .any(|member| member.key.text() == "key" && member.value.kind() == Kind::String)
}

/// The key and the value of an attribute that has each once at most.
fn key_value(attribute: Cursor<'_>) -> Option<(Cursor<'_>, Option<Cursor<'_>>)> {
    let (mut key, mut value) = (None, None);
    for member in attribute.written_members() {
        let place = match &*member.key.text() {
            "key" => &mut key,
            "value" => &mut value,
            _ => continue,
        };
        if place.replace(member.value).is_some() {
            return None;
        }
    }
    Some((key?, value))
}

/// The strings among the attributes of a span or record: names and values.
fn attributes(object: Cursor<'_>) -> impl Iterator<Item = (Cursor<'_>, Cursor<'_>)> {
    let lists = object
        .written_members()
        .filter(|member| member.key.text() == "attributes");
    lists
        .flat_map(|list| list.value.items())
        .filter_map(|attribute| {
            let (key, value) = key_value(attribute)?;
            Some((key, text_of(value?)?))
        })
}

/// What they say of the kind. No name and no kind is long: what is, is another.
fn hints(object: Cursor<'_>) -> Vec<(Cow<'_, str>, Cow<'_, str>)> {
    let is_short = |text: Cursor<'_>| text.raw().len() <= MAX_HINT;
    attributes(object)
        .filter(|(key, _)| is_short(*key))
        .filter_map(|(key, text)| {
            let text = if is_short(text) {
                text.as_str()?
            } else {
                Cow::Borrowed("long")
            };
            Some((key.as_str()?, text))
        })
        .collect()
}
