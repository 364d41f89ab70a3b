//! Strips one span in place.

use crate::{
    Outcome, Policy, Reader,
    attributes::{hints, strip_attributes},
    event::Event,
    guard::guarded,
    resource::stripped_scope,
};
use opentelemetry::{KeyValue, trace::Status};
use opentelemetry_sdk::trace::SpanData;
use std::borrow::Cow;

/// Strips every text of a span. Ids, times, kind and counts stay; dropped attributes are counted.
pub(super) fn strip_span(policy: &Policy, span: &mut SpanData) {
    let is_stripped = guarded(
        || {
            strip_parts(policy, span);
            true
        },
        || false,
    );
    if !is_stripped {
        withhold(span);
    }
}

fn strip_parts(policy: &Policy, span: &mut SpanData) {
    let reader = policy.reader(hints(&span.attributes));
    let strip = |event: &Event<'_>, attributes: &mut Vec<KeyValue>, counter: &mut u32| {
        let dropped = strip_attributes(&reader, event, attributes);
        *counter = counter.saturating_add(dropped);
    };
    let dropped = &mut span.dropped_attributes_count;
    strip(&Event::Unnamed, &mut span.attributes, dropped);
    for event in &mut span.events.events {
        let named = Event::new(&reader, [Cow::Borrowed(&*event.name)]);
        let dropped = &mut event.dropped_attributes_count;
        strip(&named, &mut event.attributes, dropped);
        reader.strip_name(&mut event.name);
    }
    for link in &mut span.links.links {
        let dropped = &mut link.dropped_attributes_count;
        strip(&Event::Unnamed, &mut link.attributes, dropped);
    }
    strip_status(&reader, &mut span.status);
    reader.strip_name(&mut span.name);
    if let Some(scope) = stripped_scope(policy, &span.instrumentation_scope) {
        span.instrumentation_scope = scope;
    }
}

fn strip_status(reader: &Reader<'_>, status: &mut Status) {
    if let Status::Error { description } = status {
        match reader.strip("", description) {
            Outcome::Unchanged => {}
            Outcome::Text(stripped) => *description = stripped.into(),
            // The failure itself is not payload.
            Outcome::Dropped => *description = "".into(),
        }
    }
}

/// Reduces a span that could not be stripped to its place in the trace and its times.
pub(super) fn withhold(span: &mut SpanData) {
    let sum =
        |dropped: u32, len: usize| dropped.saturating_add(u32::try_from(len).unwrap_or(u32::MAX));
    span.dropped_attributes_count = sum(span.dropped_attributes_count, span.attributes.len());
    span.attributes.clear();
    let (events, links) = (&mut span.events, &mut span.links);
    events.dropped_count = sum(events.dropped_count, events.events.len());
    events.events.clear();
    links.dropped_count = sum(links.dropped_count, links.links.len());
    links.links.clear();
    if let Status::Error { description } = &mut span.status {
        *description = "".into();
    }
    span.name = crossfeed_projection::WITHHELD.into();
    span.instrumentation_scope = Default::default();
}
