//! One span, in place.

use crate::{
    Outcome, Policy, Reader,
    attributes::{hints, strip_attributes},
    event::Event,
    guard::guarded,
    resource::stripped_scope,
    text::strip_name,
};
use opentelemetry::trace::Status;
use opentelemetry_sdk::trace::{SpanData, SpanEvents, SpanLinks};
use std::borrow::Cow;

/// Strips every text of a span. Ids, times, kind and counts stay; what was dropped is counted.
pub(super) fn strip_span(policy: &Policy, span: &mut SpanData) {
    let done = guarded(
        || {
            strip_parts(policy, span);
            true
        },
        || false,
    );
    if !done {
        withhold(span);
    }
}

fn strip_parts(policy: &Policy, span: &mut SpanData) {
    let reader = policy.reader(hints(&span.attributes));
    count(
        &mut span.dropped_attributes_count,
        strip_attributes(&reader, &Event::Unnamed, &mut span.attributes),
    );
    for event in &mut span.events.events {
        let name = Event::of(&reader, [Cow::Borrowed(&*event.name)]);
        count(
            &mut event.dropped_attributes_count,
            strip_attributes(&reader, &name, &mut event.attributes),
        );
        strip_name(&reader, &mut event.name);
    }
    for link in &mut span.links.links {
        count(
            &mut link.dropped_attributes_count,
            strip_attributes(&reader, &Event::Unnamed, &mut link.attributes),
        );
    }
    strip_status(&reader, &mut span.status);
    strip_name(&reader, &mut span.name);
    if let Some(scope) = stripped_scope(policy, &span.instrumentation_scope) {
        span.instrumentation_scope = scope;
    }
}

fn strip_status(reader: &Reader<'_>, status: &mut Status) {
    if let Status::Error { description } = status {
        match reader.strip("", description) {
            Outcome::Unchanged => {}
            Outcome::Text(stripped) => *description = stripped.into(),
            // That it failed is not payload.
            Outcome::Dropped => *description = "".into(),
        }
    }
}

fn count(counter: &mut u32, dropped: u32) {
    *counter = counter.saturating_add(dropped);
}

/// What is left of a span that could not be stripped: where it stands in its trace, and when it was.
pub(super) fn withhold(span: &mut SpanData) {
    let attributes = u32::try_from(span.attributes.len()).unwrap_or(u32::MAX);
    count(&mut span.dropped_attributes_count, attributes);
    span.attributes = Vec::new();
    let events = u32::try_from(span.events.len()).unwrap_or(u32::MAX);
    let dropped_before = span.events.dropped_count;
    span.events = SpanEvents::default();
    span.events.dropped_count = dropped_before.saturating_add(events);
    let links = u32::try_from(span.links.len()).unwrap_or(u32::MAX);
    let dropped_before = span.links.dropped_count;
    span.links = SpanLinks::default();
    span.links.dropped_count = dropped_before.saturating_add(links);
    if let Status::Error { description } = &mut span.status {
        *description = "".into();
    }
    span.name = crossfeed_projection::WITHHELD.into();
    span.instrumentation_scope = Default::default();
}
