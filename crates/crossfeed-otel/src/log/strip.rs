//! Strips one log record.

use super::value::new_value;
use crate::{
    Outcome, Policy,
    event::{EVENT_NAME, Event},
    guard::guarded,
    value::{StripResult, strip_value},
};
use opentelemetry::logs::{AnyValue, LogRecord as _, Logger as _, LoggerProvider as _};
use opentelemetry_sdk::{
    Resource,
    logs::{SdkLogRecord, SdkLogger, SdkLoggerProvider},
};
use std::borrow::Cow;

/// Strips log records by a policy.
#[derive(Debug)]
pub(super) struct Stripper {
    policy: Policy,
    /// Makes empty records: a record cannot lose parts, and only a logger makes new ones. Its provider has no
    /// processor, and it never emits.
    scratch: SdkLogger,
}

impl Stripper {
    pub(super) fn new(policy: Policy) -> Self {
        let provider = SdkLoggerProvider::builder()
            .with_resource(Resource::builder_empty().build())
            .build();
        Self {
            policy,
            scratch: provider.logger("crossfeed"),
        }
    }

    pub(super) const fn policy(&self) -> &Policy {
        &self.policy
    }

    /// The stripped record; `None` if it may leave unchanged.
    pub(super) fn strip(&self, record: &SdkLogRecord) -> Option<SdkLogRecord> {
        guarded(|| self.stripped(record), || Some(self.frame(record)))
    }

    fn stripped(&self, record: &SdkLogRecord) -> Option<SdkLogRecord> {
        let reader = self.policy.reader(hints(record));
        let leaves = |word: &&'static str| reader.strip("", word) == Outcome::Unchanged;
        let event_name = record.event_name().filter(leaves);
        let severity_text = record.severity_text().filter(leaves);
        let mut target = record.target().cloned();
        if let Some(target) = &mut target {
            reader.strip_name(target);
        }
        let own = record.event_name().map(Cow::Borrowed);
        let named = hints(record).filter(|(key, _)| *key == EVENT_NAME);
        let event = Event::from_record(&reader, own, named.map(|(_, name)| Cow::Borrowed(name)));
        let strip = |name: Option<Cow<'_, str>>, value| {
            name.map_or(StripResult::Dropped, |name| {
                strip_value(&reader, &name, value)
            })
        };
        // A policy knows the body of an event by the event's name, and an attribute by its own.
        let body_name = event.body().map(Cow::Borrowed);
        let body = record.body().map(|body| strip(body_name, body));
        let attributes: Vec<_> = record
            .attributes_iter()
            .map(|(key, value)| {
                let name = event.attribute(key.as_str());
                let name = name.filter(|_| !reader.drops_key(key.as_str()));
                (key, value, strip(name, value))
            })
            .collect();

        let unchanged = event_name == record.event_name()
            && severity_text == record.severity_text()
            && target.as_ref() == record.target()
            && body.as_ref().is_none_or(StripResult::is_unchanged)
            && attributes.iter().all(|(.., value)| value.is_unchanged());
        if unchanged {
            return None;
        }
        let mut stripped = self.frame(record);
        if let Some(name) = event_name {
            stripped.set_event_name(name);
        }
        if let Some(text) = severity_text {
            stripped.set_severity_text(text);
        }
        if let Some(target) = target {
            stripped.set_target(target);
        }
        if let Some((body, original)) = body.zip(record.body())
            && let Some(body) = new_value(body, original)
        {
            stripped.set_body(body);
        }
        for (key, original, value) in attributes {
            if let Some(value) = new_value(value, original) {
                stripped.add_attribute(key.clone(), value);
            }
        }
        Some(stripped)
    }

    /// An empty record with the place and time of `record`.
    fn frame(&self, record: &SdkLogRecord) -> SdkLogRecord {
        let mut frame = self.scratch.create_log_record();
        if let Some(time) = record.timestamp() {
            frame.set_timestamp(time);
        }
        if let Some(time) = record.observed_timestamp() {
            frame.set_observed_timestamp(time);
        }
        if let Some(severity) = record.severity_number() {
            frame.set_severity_number(severity);
        }
        if let Some(at) = record.trace_context() {
            frame.set_trace_context(at.trace_id, at.span_id, at.trace_flags);
        }
        frame
    }
}

/// The string attributes, which determine the kind of a record.
fn hints(record: &SdkLogRecord) -> impl Iterator<Item = (&str, &str)> {
    record
        .attributes_iter()
        .filter_map(|(key, value)| match value {
            AnyValue::String(text) => Some((key.as_str(), text.as_str())),
            _ => None,
        })
}
