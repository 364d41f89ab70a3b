//! The engine's links and metrics in OpenTelemetry: what an engine reports to its [`Telemetry`] becomes links
//! and parents of the spans that `tracing-opentelemetry` exports, and metrics of a [`Meter`].
//! `specs/telemetry.md` lists every name.

mod store_metrics;
#[cfg(test)]
mod tests;

use self::store_metrics::StoreMetrics;
use crossfeed_core::{Attribute, AttributeValue, Instrument, StoreWatch, Telemetry};
use crossfeed_wire::TraceContext;
use opentelemetry::{
    Context, KeyValue,
    metrics::{Counter, Histogram, Meter, UpDownCounter},
    trace::{SpanContext, SpanId, TraceContextExt, TraceFlags, TraceId, TraceState},
};
use std::{fmt, str::FromStr, sync::Arc};
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt;

/// Buckets for selectors, in seconds: a key path takes under a microsecond, a filter over megabytes some
/// milliseconds.
const SELECT_SECONDS: [f64; 13] = [
    0.000_001, 0.000_005, 0.000_01, 0.000_05, 0.000_1, 0.000_5, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5,
    1.0,
];

/// An engine's [`Telemetry`] over `tracing-opentelemetry` and a meter.
///
/// Make one for each meter, and clone it: one serves any number of engines, and of two made with one meter only
/// one reports what stores hold. Links need the `tracing_opentelemetry` layer in the subscriber, outside any
/// `tracing_subscriber::reload` layer, where it can be found.
///
/// ```
/// use crossfeed_core::{Engine, EngineOptions};
/// use crossfeed_otel::EngineTelemetry;
/// use opentelemetry::global;
/// use std::sync::Arc;
///
/// let telemetry = EngineTelemetry::new(&global::meter("crossfeed"));
/// let options = EngineOptions::default().with_telemetry(Arc::new(telemetry));
/// let engine = Engine::in_memory(options);
/// # drop(engine);
/// ```
#[derive(Clone)]
pub struct EngineTelemetry(Arc<Instruments>);

struct Instruments {
    resolutions: Counter<u64>,
    references: Counter<u64>,
    bytes_moved: Counter<u64>,
    tokens_avoided: UpDownCounter<i64>,
    select_duration: Histogram<f64>,
    calls_in_flight: UpDownCounter<i64>,
    waits_elsewhere: Counter<u64>,
    lease_losses: Counter<u64>,
    stores: Arc<StoreMetrics>,
}

impl fmt::Debug for EngineTelemetry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EngineTelemetry").finish_non_exhaustive()
    }
}

impl EngineTelemetry {
    /// Makes the instruments of `specs/telemetry.md`; the meter's provider decides where they report.
    pub fn new(meter: &Meter) -> Self {
        let stores = Arc::new(StoreMetrics::default());
        stores.observe(meter);
        Self(Arc::new(Instruments {
            resolutions: meter
                .u64_counter("crossfeed.resolutions")
                .with_unit("{call}")
                .with_description("Calls whose arguments were resolved or refused")
                .build(),
            references: meter
                .u64_counter("crossfeed.references")
                .with_unit("{reference}")
                .with_description("References whose results were looked up")
                .build(),
            bytes_moved: meter
                .u64_counter("crossfeed.bytes.moved")
                .with_unit("By")
                .with_description("JSON that references moved from results into arguments")
                .build(),
            tokens_avoided: meter
                .i64_up_down_counter("crossfeed.tokens.avoided")
                .with_unit("{token}")
                .with_description("Tokens kept out of the context, all costs taken off")
                .build(),
            select_duration: meter
                .f64_histogram("crossfeed.select.duration")
                .with_unit("s")
                .with_description("Time that selectors took")
                .with_boundaries(SELECT_SECONDS.to_vec())
                .build(),
            calls_in_flight: meter
                .i64_up_down_counter("crossfeed.calls.in_flight")
                .with_unit("{call}")
                .with_description("Calls that were begun and have not ended")
                .build(),
            waits_elsewhere: meter
                .u64_counter("crossfeed.waits.elsewhere")
                .with_unit("{reference}")
                .with_description("References that waited for calls in other processes")
                .build(),
            lease_losses: meter
                .u64_counter("crossfeed.leases.lost")
                .with_unit("{call}")
                .with_description("Calls in flight that other processes count as given up")
                .build(),
            stores,
        }))
    }
}

impl Telemetry for EngineTelemetry {
    fn context(&self, span: &Span) -> Option<TraceContext> {
        let context = if span.is_none() {
            Context::current()
        } else {
            span.context()
        };
        let span = context.span();
        let current = span.span_context();
        let (trace, span) = (current.trace_id().to_bytes(), current.span_id().to_bytes());
        let own = TraceContext::new(trace, span, current.trace_flags().to_u8()).ok()?;
        Some(own.with_tracestate(&current.trace_state().header()))
    }

    fn adopt(&self, span: &Span, parent: &TraceContext) {
        let parent = Context::new().with_remote_span_context(span_context(parent));
        // A span that is not exported, or has begun, keeps its parent.
        let _ = span.set_parent(parent);
    }

    fn link(&self, span: &Span, to: &TraceContext, attributes: &[Attribute<'_>]) -> bool {
        let is_exported = !span.is_disabled()
            && self
                .context(span)
                .is_some_and(|context| context.is_sampled());
        if is_exported {
            span.add_link_with_attributes(span_context(to), key_values(attributes));
        }
        is_exported
    }

    fn measure(&self, instrument: Instrument, value: f64, attributes: &[Attribute<'_>]) {
        let attributes = key_values(attributes);
        let own = &*self.0;
        // Counts are whole numbers below 2^53.
        match instrument {
            Instrument::Resolutions => own.resolutions.add(value as u64, &attributes),
            Instrument::References => own.references.add(value as u64, &attributes),
            Instrument::BytesMoved => own.bytes_moved.add(value as u64, &attributes),
            Instrument::TokensAvoided => own.tokens_avoided.add(value as i64, &attributes),
            Instrument::SelectDuration => own.select_duration.record(value, &attributes),
            Instrument::CallsInFlight => own.calls_in_flight.add(value as i64, &attributes),
            Instrument::WaitsElsewhere => own.waits_elsewhere.add(value as u64, &attributes),
            Instrument::LeaseLosses => own.lease_losses.add(value as u64, &attributes),
            _ => {}
        }
    }

    fn watch(&self, store: StoreWatch) {
        self.0.stores.add(store);
    }
}

fn span_context(place: &TraceContext) -> SpanContext {
    let state = place.tracestate().map(TraceState::from_str);
    SpanContext::new(
        TraceId::from_bytes(place.trace_id()),
        SpanId::from_bytes(place.span_id()),
        TraceFlags::new(place.flags()),
        true,
        state.and_then(Result::ok).unwrap_or_default(),
    )
}

fn key_values(attributes: &[Attribute<'_>]) -> Vec<KeyValue> {
    let attributes = attributes.iter().map(|(name, value)| match *value {
        AttributeValue::Text(text) => KeyValue::new(*name, text.to_owned()),
        AttributeValue::Number(number) => KeyValue::new(*name, number),
        AttributeValue::Flag(flag) => KeyValue::new(*name, flag),
    });
    attributes.collect()
}
