//! A pipeline as hosts have it, which ends in memory.

use crossfeed_core::{Engine, EngineOptions};
use crossfeed_otel::EngineTelemetry;
use crossfeed_wire::CallId;
use opentelemetry::{KeyValue, Value, metrics::MeterProvider, trace::TracerProvider};
use opentelemetry_sdk::{
    metrics::{
        InMemoryMetricExporter, PeriodicReader, SdkMeterProvider,
        data::{AggregatedMetrics, Metric, MetricData},
    },
    trace::{InMemorySpanExporter, SdkTracerProvider, SpanData},
};
use std::sync::Arc;
use tracing_subscriber::layer::SubscriberExt;

pub(super) fn id(id: &str) -> CallId {
    CallId::parse(id).unwrap()
}

/// What was exported.
pub(super) struct Exported {
    pub(super) spans: Vec<SpanData>,
    pub(super) metrics: Vec<Measured>,
}

/// A metric, and all of its points.
#[derive(Debug)]
pub(super) struct Measured {
    pub(super) name: String,
    pub(super) unit: String,
    pub(super) instrument: &'static str,
    pub(super) attributes: Vec<KeyValue>,
}

/// The text of an attribute.
pub(super) fn text(attributes: &[KeyValue], name: &str) -> Option<String> {
    let found = attributes.iter().find(|pair| pair.key.as_str() == name);
    found.map(|pair| match &pair.value {
        Value::String(text) => text.to_string(),
        other => other.to_string(),
    })
}

fn measured(metric: &Metric) -> Measured {
    fn sum<T: Copy>(
        sum: &opentelemetry_sdk::metrics::data::Sum<T>,
    ) -> (&'static str, Vec<KeyValue>) {
        let points = sum
            .data_points()
            .flat_map(|point| point.attributes().cloned());
        let instrument = match sum.is_monotonic() {
            true => "counter",
            false => "up-down counter",
        };
        (instrument, points.collect())
    }
    let (instrument, attributes) = match metric.data() {
        AggregatedMetrics::U64(MetricData::Sum(data)) => sum(data),
        AggregatedMetrics::I64(MetricData::Sum(data)) => sum(data),
        AggregatedMetrics::F64(MetricData::Histogram(data)) => {
            let points = data
                .data_points()
                .flat_map(|point| point.attributes().cloned());
            ("histogram", points.collect())
        }
        other => panic!("{other:?}"),
    };
    Measured {
        name: metric.name().to_owned(),
        unit: metric.unit().to_owned(),
        instrument,
        attributes,
    }
}

/// Lets an engine work in a pipeline of its own.
pub(super) fn exported<F: Future<Output = ()>>(
    options: EngineOptions,
    work: impl FnOnce(Engine) -> F,
) -> Exported {
    let spans = InMemorySpanExporter::default();
    let tracers = SdkTracerProvider::builder()
        .with_simple_exporter(spans.clone())
        .build();
    let metrics = InMemoryMetricExporter::default();
    let meters = SdkMeterProvider::builder()
        .with_reader(PeriodicReader::builder(metrics.clone()).build())
        .build();
    let layer = tracing_opentelemetry::layer()
        .with_tracer(tracers.tracer("test"))
        .with_location(false)
        .with_threads(false)
        .with_tracked_inactivity(false)
        .with_level(true);
    let subscriber = tracing_subscriber::registry().with(layer);
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.enable_time().build().unwrap();
    tracing::subscriber::with_default(subscriber, || {
        let telemetry = Arc::new(EngineTelemetry::new(&meters.meter("test")));
        let engine = Engine::in_memory(options.with_telemetry(telemetry));
        runtime.block_on(work(engine.clone()));
        // While the engine lives: what it holds is asked for.
        meters.force_flush().unwrap();
    });
    let finished = metrics.get_finished_metrics().unwrap();
    let finished = finished.iter().flat_map(|all| all.scope_metrics());
    let finished = finished.flat_map(|scope| scope.metrics()).map(measured);
    Exported {
        spans: spans.get_finished_spans().unwrap(),
        metrics: finished.collect(),
    }
}
