//! Walks over a document and strips each of its strings.
//!
//! Recognises objects by their members, not by their place: an object with a `key` is an attribute, in
//! `attributes`, `filteredAttributes` and any future list. It knows spans and records by the names of their
//! lists, because some attributes there determine what the others hold.

use super::{
    SanitizedJson,
    structural_fields::is_structural,
    value::{text_of, unique_members},
};
use crate::{
    Outcome, Policy, Reader,
    event::{EVENT_NAME, Event},
};
use crossfeed_json::{Cursor, Edits, Kind, Removals, quoted};
use crossfeed_projection::WITHHELD;
use crossfeed_wire::internal::is_internal;
use std::borrow::Cow;

/// Fields of objects whose attributes determine their kind.
const KINDS: [&str; 5] = ["spans", "logRecords", "log_records", "resource", "scope"];
/// Fields of other objects that, like those, count their dropped attributes.
const COUNTED: [&str; 2] = ["events", "links"];
const RECORDS: [&str; 2] = ["logRecords", "log_records"];
const EVENT_NAMES: [&str; 2] = ["eventName", "event_name"];
/// Texts of a record that are emptied where they may not leave unchanged.
const OPTIONAL: [&str; 4] = ["eventName", "event_name", "severityText", "severity_text"];
const DROPPED: [&str; 2] = ["droppedAttributesCount", "dropped_attributes_count"];
/// The most bytes of a string, as it is written, that may determine the kind of a span.
const MAX_HINT_BYTES: usize = 256;

pub(super) fn sanitize<'d>(raw: &'d [u8], root: Cursor<'d>, policy: &Policy) -> SanitizedJson<'d> {
    let mut walk = Walk {
        policy,
        edits: Edits::new(raw),
        changed: 0,
        dropped: 0,
    };
    let context = Context {
        reader: policy.reader([]),
        event: Event::Unnamed,
    };
    walk.any(root, "", &context);
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

/// The span, record or event that a value belongs to.
#[derive(Clone)]
struct Context<'p, 'd> {
    reader: Reader<'p>,
    event: Event<'d>,
}

impl<'d, 'p> Walk<'d, 'p> {
    /// Strips the value of a field, or an item of that field's list. Recurses as deep as the document, which
    /// has at most 127 levels. Returns how many attributes were dropped from a list.
    fn any(&mut self, value: Cursor<'d>, field: &str, context: &Context<'p, 'd>) -> usize {
        match value.kind() {
            Kind::Object if is_attribute(value) => self.lone_attribute(value, context),
            Kind::Object => self.object(value, field, context),
            Kind::Array => return self.list(value, field, context),
            Kind::String => self.plain(value, field, context),
            _ => {}
        }
        0
    }

    fn list(&mut self, list: Cursor<'d>, field: &str, context: &Context<'p, 'd>) -> usize {
        let mut removals = Removals::new(list);
        let mut dropped = 0;
        for item in list.items() {
            let goes = if is_attribute(item) {
                self.attribute(item, context)
            } else {
                self.any(item, field, context);
                false
            };
            dropped += usize::from(goes);
            let end = item.offset() + item.raw().len();
            removals.next(end, goes, &mut self.edits);
        }
        self.dropped += dropped;
        dropped
    }

    fn object(&mut self, object: Cursor<'d>, field: &str, context: &Context<'p, 'd>) {
        let own = self.own(object, field, context);
        let context = own.as_ref().unwrap_or(context);
        let is_record = RECORDS.contains(&field);
        let mut attributes = None;
        let mut dropped = 0;
        self.members(object, |walk, key, value| {
            if key == "body" && is_record {
                walk.body(value, context);
            } else if is_record && OPTIONAL.contains(&key) || field == "status" && key == "message"
            {
                walk.optional(value, field, context);
            } else {
                let dropped_here = walk.any(value, key, context);
                if key == "attributes" {
                    attributes = Some(value);
                    dropped += dropped_here;
                }
            }
        });
        if let Some(list) = attributes.filter(|_| dropped > 0)
            && (KINDS.contains(&field) || COUNTED.contains(&field))
        {
            self.count(object, list, dropped);
        }
    }

    /// Visits the members of an object, and removes internal ones.
    fn members(&mut self, object: Cursor<'d>, mut visit: impl FnMut(&mut Self, &str, Cursor<'d>)) {
        let mut removals = Removals::new(object);
        for member in object.written_members() {
            let key = member.key.text();
            let is_removed = is_internal(&key);
            if is_removed {
                self.dropped += 1;
            } else {
                visit(self, &key, member.value);
            }
            removals.next(member.end, is_removed, &mut self.edits);
        }
    }

    /// The context that an object gives its members; `None` if it adds nothing.
    fn own(
        &self,
        object: Cursor<'d>,
        field: &str,
        context: &Context<'p, 'd>,
    ) -> Option<Context<'p, 'd>> {
        let names = |keys: &'static [&str]| {
            let named = object
                .written_members()
                .filter(|member| keys.contains(&&*member.key.text()));
            named.filter_map(|member| member.value.as_str())
        };
        if field == "events" {
            return Some(Context {
                reader: context.reader.clone(),
                event: Event::new(&context.reader, names(&["name"])),
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
            Event::from_record(&reader, names(&EVENT_NAMES), named)
        } else {
            Event::Unnamed
        };
        Some(Context { reader, event })
    }

    /// Adds to an object's count of dropped attributes, which stands behind its list of attributes if it is new.
    fn count(&mut self, object: Cursor<'d>, list: Cursor<'d>, dropped: usize) {
        let mut has_count = false;
        for member in object.written_members() {
            if !DROPPED.contains(&&*member.key.text()) {
                continue;
            }
            has_count = true;
            let text = String::from_utf8_lossy(member.value.raw());
            // Numbers may be written as strings.
            let before = match text.trim_matches('"') {
                "null" => Some(0),
                number => number.parse::<u32>().ok(),
            };
            if let Some(before) = before {
                let count = before.saturating_add(u32::try_from(dropped).unwrap_or(u32::MAX));
                self.edits.replace(member.value, count.to_string());
            }
        }
        if !has_count {
            let member = format!(",\"{}\":{dropped}", DROPPED[0]);
            self.edits.insert_behind(list, member);
        }
    }

    /// Strips an attribute; returns whether it must be removed. One with two keys or values is removed, because
    /// readers would disagree on its meaning.
    fn attribute(&mut self, attribute: Cursor<'d>, context: &Context<'p, 'd>) -> bool {
        let Some((name, value)) = key_value(attribute) else {
            return true;
        };
        let name = name.as_str().unwrap_or_default();
        let reader = &context.reader;
        let known = context.event.attribute(&name);
        let Some(known) = known.filter(|_| !reader.drops_key(&name)) else {
            return true;
        };
        if value.is_some_and(|value| !self.value(&known, value, reader)) {
            return true;
        }
        self.members(attribute, |walk, key, value| {
            if !matches!(key, "key" | "value") {
                walk.any(value, key, context);
            }
        });
        false
    }

    /// Strips an attribute outside a list, from which it cannot be removed.
    fn lone_attribute(&mut self, attribute: Cursor<'d>, context: &Context<'p, 'd>) {
        if self.attribute(attribute, context) {
            self.empty(attribute);
        }
    }

    /// Strips the body of a log record; the name of an event determines what its body holds.
    fn body(&mut self, body: Cursor<'d>, context: &Context<'p, 'd>) {
        let name = context.event.body();
        if !name.is_some_and(|name| self.value(name, body, &context.reader)) {
            self.empty(body);
        }
    }

    /// Empties an object that cannot be removed from a list.
    fn empty(&mut self, object: Cursor<'d>) {
        self.edits.replace(object, "{}");
        self.dropped += 1;
    }

    /// Strips an optional text: if it may not leave unchanged, it is emptied; a message keeps what may leave.
    fn optional(&mut self, value: Cursor<'d>, field: &str, context: &Context<'p, 'd>) {
        let Some(text) = value.as_str() else {
            self.any(value, "", context);
            return;
        };
        let text = match context.reader.strip("", &text) {
            Outcome::Unchanged => return,
            Outcome::Text(text) if field == "status" => text,
            Outcome::Text(_) | Outcome::Dropped => String::new(),
        };
        self.replace(value, quoted(&text));
    }

    /// Strips a text that is not an attribute: a name, or an unknown field.
    fn plain(&mut self, value: Cursor<'d>, field: &str, context: &Context<'p, 'd>) {
        let text = value.as_str().unwrap_or_default();
        if is_structural(field, &text) {
            return;
        }
        let text = match context.reader.strip("", &text) {
            Outcome::Unchanged => return,
            Outcome::Text(text) => text,
            Outcome::Dropped => WITHHELD.to_owned(),
        };
        self.replace(value, quoted(&text));
    }

    /// Replaces a value, and counts the change.
    pub(super) fn replace(&mut self, value: Cursor<'d>, with: String) {
        self.edits.replace(value, with);
        self.changed += 1;
    }
}

/// Whether this is a `KeyValue`, which may lack a value.
fn is_attribute(item: Cursor<'_>) -> bool {
    item.written_members()
        .any(|member| member.key.text() == "key" && member.value.kind() == Kind::String)
}

/// The key and the value of an attribute that has each once at most.
fn key_value(attribute: Cursor<'_>) -> Option<(Cursor<'_>, Option<Cursor<'_>>)> {
    let [key, value, _] = unique_members(attribute)?;
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

/// The attributes by which a policy knows the kind. Names and kinds are short: a long value is another kind.
fn hints(object: Cursor<'_>) -> Vec<(Cow<'_, str>, Cow<'_, str>)> {
    let is_short = |text: Cursor<'_>| text.raw().len() <= MAX_HINT_BYTES;
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
