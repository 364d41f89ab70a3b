//! Telemetry of the engine in OpenTelemetry: spans and metrics without internal fields and payload, sent to a receiver of OTLP
//! if one is given.

use crate::{
    otlp::{Delivery, Endpoint},
    report::Result,
};
use crossfeed::telemetry::{EngineTelemetry, Telemetry};
use opentelemetry::{metrics::MeterProvider as _, trace::TracerProvider as _};
use opentelemetry_sdk::{
    Resource,
    metrics::SdkMeterProvider,
    trace::{SdkTracerProvider, TracerProviderBuilder},
};
use std::sync::Arc;
use tracing::Subscriber;
use tracing_subscriber::{Layer, registry::LookupSpan};

/// The pipeline of a process.
pub(crate) struct Pipeline {
    service: &'static str,
    tracers: SdkTracerProvider,
    meters: SdkMeterProvider,
    delivery: Option<Delivery>,
}

impl Pipeline {
    /// Sets a pipeline up, outside of any runtime, since it sends from its own threads. `collect` adds exporters.
    pub(crate) fn start(
        service: &'static str,
        to: Option<&Endpoint>,
        collect: impl FnOnce(TracerProviderBuilder) -> TracerProviderBuilder,
    ) -> Result<Self> {
        let resource = Resource::builder_empty().with_service_name(service).build();
        let mut tracers = collect(SdkTracerProvider::builder().with_resource(resource.clone()));
        let mut meters = SdkMeterProvider::builder().with_resource(resource);
        let mut delivery = None;
        if let Some(to) = to {
            let sent;
            (tracers, meters, sent) = Delivery::to(to, tracers, meters)?;
            delivery = Some(sent);
        }
        Ok(Self {
            service,
            tracers: tracers.build(),
            meters: meters.build(),
            delivery,
        })
    }

    /// Reports what the engine does to the meters.
    pub(crate) fn telemetry(&self) -> Arc<dyn Telemetry> {
        Arc::new(EngineTelemetry::new(&self.meters.meter(self.service)))
    }

    /// The layer that exports spans.
    pub(crate) fn layer<S>(&self) -> impl Layer<S> + use<S>
    where
        S: Subscriber + for<'a> LookupSpan<'a>,
    {
        tracing_opentelemetry::layer()
            .with_tracer(self.tracers.tracer(self.service))
            .with_location(false)
            .with_threads(false)
            .with_target(false)
            .with_tracked_inactivity(false)
    }

    /// Sends what is left of a run with so many spans, and says what was sent; `None` without a receiver.
    pub(crate) fn finish(&self, spans: usize) -> Result<Option<String>> {
        let Some(delivery) = &self.delivery else {
            // No exporter holds anything back.
            let _ = self.tracers.shutdown();
            return Ok(None);
        };
        delivery
            .finish(&self.tracers, &self.meters, spans)
            .map(Some)
    }

    /// Sends what is left, and logs what could not be sent.
    pub(crate) fn end(&self) {
        if let Some(delivery) = &self.delivery {
            delivery.end(&self.tracers, &self.meters);
        }
    }
}
