//! The trace of the demo: spans are collected as any host's pipeline would collect them.
//!
//! Takes the `tracing` spans of the engine and of the demo, strips them by the policy, prints them
//! ([`tree`]) and exports them.

mod tree;

pub(super) use tree::write;

#[cfg(feature = "otlp")]
use crate::otlp;
use crate::report::{CommandError, Result};
use crossfeed::{
    Telemetry,
    otel::{EngineTelemetry, Policy, SanitizingSpanExporter},
};
use opentelemetry::{metrics::MeterProvider as _, trace::TracerProvider as _};
use opentelemetry_sdk::{
    Resource,
    error::OTelSdkResult,
    metrics::SdkMeterProvider,
    trace::{SdkTracerProvider, SpanData, SpanExporter},
};
use parking_lot::Mutex;
use std::sync::Arc;
use tracing_subscriber::{filter::filter_fn, layer::SubscriberExt};

/// What traces and metrics are named after.
const SERVICE: &str = "crossfeed-demo";

/// Spans as they would leave.
#[derive(Clone, Debug, Default)]
struct Collected(Arc<Mutex<Vec<SpanData>>>);

impl SpanExporter for Collected {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let mut spans = self.0.lock();
        spans.extend(batch);
        Ok(())
    }
}

/// The pipeline of one run.
pub(super) struct Tracing {
    spans: Collected,
    tracers: SdkTracerProvider,
    meters: SdkMeterProvider,
    #[cfg(feature = "otlp")]
    delivery: Option<otlp::Delivery>,
}

impl Tracing {
    /// Sets the pipeline up. It takes the spans of this crate and of the engine; there is one run in a
    /// process.
    pub(super) fn start(#[cfg(feature = "otlp")] to: Option<&otlp::Endpoint>) -> Result<Self> {
        let spans = Collected::default();
        let resource = Resource::builder_empty().with_service_name(SERVICE).build();
        let tracers = SdkTracerProvider::builder().with_resource(resource.clone());
        let tracers = tracers.with_simple_exporter(SanitizingSpanExporter::new(
            spans.clone(),
            Policy::default(),
        ));
        let meters = SdkMeterProvider::builder().with_resource(resource);
        #[cfg(feature = "otlp")]
        let (tracers, meters, delivery) = match to {
            None => (tracers, meters, None),
            Some(to) => {
                let (tracers, meters, delivery) = otlp::Delivery::to(to, tracers, meters)?;
                (tracers, meters, Some(delivery))
            }
        };
        let (tracers, meters) = (tracers.build(), meters.build());
        let layer = tracing_opentelemetry::layer()
            .with_tracer(tracers.tracer(SERVICE))
            .with_location(false)
            .with_threads(false)
            .with_target(false)
            .with_tracked_inactivity(false);
        let own = filter_fn(|metadata| metadata.target().starts_with("crossfeed"));
        let subscriber = tracing_subscriber::registry().with(own).with(layer);
        tracing::subscriber::set_global_default(subscriber)
            .map_err(|error| CommandError::usage(format!("cannot trace: {error}")))?;
        Ok(Self {
            spans,
            tracers,
            meters,
            #[cfg(feature = "otlp")]
            delivery,
        })
    }

    /// What ties the engine to the pipeline.
    pub(super) fn telemetry(&self) -> Arc<dyn Telemetry> {
        Arc::new(EngineTelemetry::new(&self.meters.meter(SERVICE)))
    }

    /// The spans that have ended, as they leave.
    pub(super) fn spans(&self) -> Vec<SpanData> {
        self.spans.0.lock().clone()
    }

    /// Sends what has not been sent, and says what came of it; nothing where there is no receiver.
    pub(super) fn finish(&self) -> Result<Option<String>> {
        #[cfg(feature = "otlp")]
        if let Some(delivery) = &self.delivery {
            let spans = self.spans().len();
            let done = delivery.finish(&self.tracers, &self.meters, spans);
            return done.map(Some);
        }
        // Nothing waits to be sent.
        let _ = self.tracers.shutdown();
        Ok(None)
    }
}
