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
use std::{collections::BTreeMap, sync::Arc};
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
    /// What a sum came to, or how many values a distribution has.
    pub(super) sum: i64,
    /// What it came to with each set of attributes.
    pub(super) sums: BTreeMap<String, i64>,
}

impl Measured {
    fn add<'p>(&mut self, attributes: impl Iterator<Item = &'p KeyValue>, value: i64) {
        let attributes: Vec<_> = attributes.cloned().collect();
        let mut named: Vec<_> = attributes
            .iter()
            .map(|pair| format!("{}={}", pair.key, pair.value))
            .collect();
        named.sort();
        self.attributes.extend(attributes);
        self.sum += value;
        self.sums.insert(named.join(" "), value);
    }
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
    let mut measured = Measured {
        name: metric.name().to_owned(),
        unit: metric.unit().to_owned(),
        instrument: "histogram",
        attributes: Vec::new(),
        sum: 0,
        sums: BTreeMap::new(),
    };
    let mut is_monotonic = None;
    match metric.data() {
        AggregatedMetrics::U64(MetricData::Sum(data)) => {
            is_monotonic = Some(data.is_monotonic());
            for point in data.data_points() {
                measured.add(point.attributes(), i64::try_from(point.value()).unwrap());
            }
        }
        AggregatedMetrics::I64(MetricData::Sum(data)) => {
            is_monotonic = Some(data.is_monotonic());
            for point in data.data_points() {
                measured.add(point.attributes(), point.value());
            }
        }
        AggregatedMetrics::F64(MetricData::Histogram(data)) => {
            for point in data.data_points() {
                measured.add(point.attributes(), i64::try_from(point.count()).unwrap());
            }
        }
        other => panic!("{other:?}"),
    }
    match is_monotonic {
        Some(true) => measured.instrument = "counter",
        Some(false) => measured.instrument = "up-down counter",
        None => {}
    }
    measured
}

/// Lets an engine work in a pipeline of its own.
pub(super) fn exported<F: Future<Output = ()>>(
    options: EngineOptions,
    work: impl FnOnce(Engine) -> F,
) -> Exported {
    exported_with(async |telemetry, meters| {
        let engine = Engine::in_memory(options.with_telemetry(telemetry));
        work(engine.clone()).await;
        // While the engine lives: what it holds is asked for.
        meters.force_flush().unwrap();
    })
}

/// The same of engines that are made meanwhile; metrics may be collected at any time.
pub(super) fn exported_with(
    work: impl AsyncFnOnce(Arc<EngineTelemetry>, &SdkMeterProvider),
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
        runtime.block_on(work(telemetry, &meters));
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
