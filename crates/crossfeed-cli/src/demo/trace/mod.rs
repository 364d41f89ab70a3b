//! The trace of the demo, collected as a host's pipeline would: the `tracing` spans of the engine and of the demo, stripped
//! by the policy, printed ([`tree`]) and exported.

mod tree;

pub(super) use tree::write;

use crate::{
    otlp::Endpoint,
    report::{CommandError, Result},
    telemetry::Pipeline,
};
use crossfeed::telemetry::{Policy, SanitizingSpanExporter, Telemetry};
use opentelemetry_sdk::{
    error::OTelSdkResult,
    trace::{SpanData, SpanExporter},
};
use parking_lot::Mutex;
use std::sync::Arc;
use tracing_subscriber::{filter::filter_fn, layer::SubscriberExt};

/// The exported spans.
#[derive(Clone, Debug, Default)]
struct Collected(Arc<Mutex<Vec<SpanData>>>);

impl SpanExporter for Collected {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        self.0.lock().extend(batch);
        Ok(())
    }
}

/// The telemetry of one run.
pub(super) struct Tracing {
    spans: Collected,
    pipeline: Pipeline,
}

impl Tracing {
    /// Traces the spans of this crate and of the engine. A process has one run.
    pub(super) fn start(to: Option<&Endpoint>) -> Result<Self> {
        let spans = Collected::default();
        let exporter = SanitizingSpanExporter::new(spans.clone(), Policy::default());
        let pipeline = Pipeline::start("crossfeed-demo", to, |tracers| {
            tracers.with_simple_exporter(exporter)
        })?;
        let own = filter_fn(|metadata| metadata.target().starts_with("crossfeed"));
        let subscriber = tracing_subscriber::registry()
            .with(own)
            .with(pipeline.layer());
        tracing::subscriber::set_global_default(subscriber)
            .map_err(|error| CommandError::usage(format!("cannot trace: {error}")))?;
        Ok(Self { spans, pipeline })
    }

    pub(super) fn telemetry(&self) -> Arc<dyn Telemetry> {
        self.pipeline.telemetry()
    }

    /// The spans that have ended.
    pub(super) fn spans(&self) -> Vec<SpanData> {
        self.spans.0.lock().clone()
    }

    /// Sends what is left, and says what was sent; `None` without a receiver.
    pub(super) fn finish(&self) -> Result<Option<String>> {
        self.pipeline.finish(self.spans().len())
    }
}
