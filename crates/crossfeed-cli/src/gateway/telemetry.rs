//! Telemetry of a gateway: to a receiver of OTLP, where one is named.
//!
//! Spans and metrics of the engine and of the gateway leave without internal fields, in batches
//! from a thread of their own. They carry no payload.

use crate::{cli, report::Result};
use crossfeed::Telemetry;
use std::sync::Arc;
use tracing::Subscriber;
use tracing_subscriber::{Layer, registry::LookupSpan};

/// What traces and metrics are named after.
#[cfg(feature = "otlp")]
const SERVICE: &str = "crossfeed-gateway";

/// The pipeline of a gateway, which may be none.
pub(super) struct Pipeline {
    #[cfg(feature = "otlp")]
    sending: Option<Sending>,
}

#[cfg(feature = "otlp")]
struct Sending {
    delivery: crate::otlp::Delivery,
    tracers: opentelemetry_sdk::trace::SdkTracerProvider,
    meters: opentelemetry_sdk::metrics::SdkMeterProvider,
}

#[cfg(feature = "otlp")]
impl Pipeline {
    /// Sets it up; outside of any runtime, since it sends from threads of its own.
    pub(super) fn start(args: &cli::Gateway) -> Result<Self> {
        use opentelemetry_sdk::{Resource, metrics::SdkMeterProvider, trace::SdkTracerProvider};
        let Some(to) = &args.otlp else {
            return Ok(Self { sending: None });
        };
        let resource = Resource::builder_empty().with_service_name(SERVICE).build();
        let tracers = SdkTracerProvider::builder().with_resource(resource.clone());
        let meters = SdkMeterProvider::builder().with_resource(resource);
        let (tracers, meters, delivery) = crate::otlp::Delivery::to(to, tracers, meters)?;
        let sending = Sending {
            delivery,
            tracers: tracers.build(),
            meters: meters.build(),
        };
        Ok(Self {
            sending: Some(sending),
        })
    }

    /// What ties the engine to it.
    pub(super) fn telemetry(&self) -> Option<Arc<dyn Telemetry>> {
        use crossfeed::otel::EngineTelemetry;
        use opentelemetry::metrics::MeterProvider as _;
        let sending = self.sending.as_ref()?;
        Some(Arc::new(EngineTelemetry::new(
            &sending.meters.meter(SERVICE),
        )))
    }

    /// What takes spans.
    pub(super) fn layer<S>(&self) -> Option<impl Layer<S> + use<S>>
    where
        S: Subscriber + for<'a> LookupSpan<'a>,
    {
        use opentelemetry::trace::TracerProvider as _;
        let sending = self.sending.as_ref()?;
        Some(
            tracing_opentelemetry::layer()
                .with_tracer(sending.tracers.tracer(SERVICE))
                .with_location(false)
                .with_threads(false)
                .with_target(false)
                .with_tracked_inactivity(false),
        )
    }

    /// Sends what is left, and logs what cannot be sent.
    pub(super) fn finish(&self) {
        if let Some(sending) = &self.sending {
            sending.delivery.end(&sending.tracers, &sending.meters);
        }
    }
}

#[cfg(not(feature = "otlp"))]
impl Pipeline {
    pub(super) fn start(_: &cli::Gateway) -> Result<Self> {
        Ok(Self {})
    }

    pub(super) fn telemetry(&self) -> Option<Arc<dyn Telemetry>> {
        None
    }

    pub(super) fn layer<S>(&self) -> Option<tracing_subscriber::layer::Identity>
    where
        S: Subscriber + for<'a> LookupSpan<'a>,
    {
        None
    }

    pub(super) fn finish(&self) {}
}
