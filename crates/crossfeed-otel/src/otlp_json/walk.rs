//! The walk over a document: which of its strings is what.
//!
//! It knows objects by what they have, not by where they stand: an object with a `key` is an
//! attribute, in `attributes`, `filteredAttributes` and lists that are not thought of yet. Of spans and
//! records it knows the names of their lists, since there the attributes of one say what the others hold.

use super::{
    SanitizedJson,
    edits::{Edits, Siblings},
};
use crate::{Outcome, Policy, Reader, text::WITHHELD};
use crossfeed_json::{Cursor, Kind, quoted};
use crossfeed_wire::internal::is_internal;

/// The lists of what has attributes that say of which kind it is.
const SPANS: [&str; 3] = ["spans", "logRecords", "log_records"];
/// What else has attributes, and says how many were dropped.
const COUNTED: [&str; 4] = ["events", "links", "resource", "scope"];
const RECORDS: [&str; 2] = ["logRecords", "log_records"];
const DROPPED: [&str; 2] = ["droppedAttributesCount", "dropped_attributes_count"];
/// Ids, which are hexadecimal digits. What a policy does with texts would spoil them.
const IDS: [&str; 6] = [
    "traceId",
    "trace_id",
    "spanId",
    "span_id",
    "parentSpanId",
    "parent_span_id",
];
/// The most bytes of a string that may say of which kind a span is.
const MAX_HINT: usize = 256;

pub(super) fn sanitize<'d>(raw: &'d [u8], root: Cursor<'d>, policy: &Policy) -> SanitizedJson<'d> {
    let mut walk = Walk {
        policy,
        edits: Edits::new(raw),
        changed: 0,
        dropped: 0,
    };
    walk.any(root, "", &policy.reader([]));
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

impl<'d> Walk<'d, '_> {
    /// A value of which nothing is known but the field in which it, or the list of it, stands. A
    /// document is at most 127 levels deep, and so is this.
    ///
    /// Gives how many attributes were dropped, if it is a list of them.
    pub(super) fn any(&mut self, value: Cursor<'d>, field: &str, reader: &Reader<'_>) -> usize {
        match value.kind() {
            Kind::Object => self.object(value, field, reader),
            Kind::Array => return self.list(value, field, reader),
            Kind::String if !IDS.contains(&field) => self.plain(value, reader),
            _ => {}
        }
        0
    }

    fn list(&mut self, list: Cursor<'d>, field: &str, reader: &Reader<'_>) -> usize {
        let mut siblings = Siblings::of(list);
        let mut dropped = 0;
        for item in list.items() {
            let goes = if is_attribute(item) {
                self.attribute(item, reader)
            } else {
                self.any(item, field, reader);
                false
            };
            dropped += usize::from(goes);
            let end = item.offset() + item.raw().len();
            siblings.next(end, goes, &mut self.edits);
        }
        self.dropped += dropped;
        dropped
    }

    fn object(&mut self, object: Cursor<'d>, field: &str, reader: &Reader<'_>) {
        let own = SPANS
            .contains(&field)
            .then(|| self.policy.reader(hints(object).iter().map(pair)));
        let reader = own.as_ref().unwrap_or(reader);
        let mut siblings = Siblings::of(object);
        let mut lists = None;
        let mut dropped = 0;
        for member in object.written_members() {
            let key = member.key.text();
            let goes = is_internal(&key);
            if goes {
                self.dropped += 1;
            } else if key == "body" && RECORDS.contains(&field) {
                self.body(object, member.value, reader);
            } else {
                let gone = self.any(member.value, &key, reader);
                if key == "attributes" {
                    lists = Some(member.value);
                    dropped += gone;
                }
            }
            siblings.next(member.end, goes, &mut self.edits);
        }
        if let Some(list) = lists.filter(|_| dropped > 0)
            && (SPANS.contains(&field) || COUNTED.contains(&field))
        {
            self.count(object, list, dropped);
        }
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

    /// An attribute; whether it goes.
    fn attribute(&mut self, attribute: Cursor<'d>, reader: &Reader<'_>) -> bool {
        let mut names: Vec<_> = attribute
            .written_members()
            .filter(|member| member.key.text() == "key")
            .filter_map(|member| member.value.as_str())
            .collect();
        names.dedup();
        if names.iter().any(|name| reader.drops_key(name)) {
            return true;
        }
        let mut siblings = Siblings::of(attribute);
        for member in attribute.written_members() {
            let key = member.key.text();
            let goes = is_internal(&key);
            if goes {
                self.dropped += 1;
            } else if key == "value" {
                if !self.value(&names, member.value, reader) {
                    return true;
                }
            } else if key != "key" {
                self.any(member.value, &key, reader);
            }
            siblings.next(member.end, goes, &mut self.edits);
        }
        false
    }

    /// The body of a log record. Of an event its name says what it holds.
    fn body(&mut self, record: Cursor<'d>, body: Cursor<'d>, reader: &Reader<'_>) {
        let own = ["eventName", "event_name"].into_iter();
        let own = own.filter_map(|key| record.get(key)?.as_str()).next();
        let name = own.or_else(|| {
            let mut named =
                attributes(record).filter(|(key, _)| key.as_str().as_deref() == Some("event.name"));
            named.next()?.1.as_str()
        });
        if !self.value(&[name.unwrap_or_default()], body, reader) {
            self.edits.replace(body, b"{}".to_vec());
            self.dropped += 1;
        }
    }

    /// A text that is no attribute: a name, a message, a field that is not known.
    fn plain(&mut self, value: Cursor<'d>, reader: &Reader<'_>) {
        let text = value.as_str().unwrap_or_default();
        let text = match reader.strip("", &text) {
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

/// The strings among the attributes of a span or record: names and values.
fn attributes(object: Cursor<'_>) -> impl Iterator<Item = (Cursor<'_>, Cursor<'_>)> {
    let lists = object
        .written_members()
        .filter(|member| member.key.text() == "attributes");
    lists
        .flat_map(|list| list.value.items())
        .filter_map(|attribute| {
            let value = attribute.get("value")?;
            let text = value
                .get("stringValue")
                .or_else(|| value.get("string_value"))?;
            Some((attribute.get("key")?, text))
        })
}

/// The short ones of them.
fn hints(object: Cursor<'_>) -> Vec<(String, String)> {
    let is_short = |text: Cursor<'_>| text.raw().len() <= MAX_HINT;
    attributes(object)
        .filter(|(key, text)| is_short(*key) && is_short(*text))
        .filter_map(|(key, text)| Some((key.as_str()?.into_owned(), text.as_str()?.into_owned())))
        .collect()
}

fn pair((key, text): &(String, String)) -> (&str, &str) {
    (key, text)
}
