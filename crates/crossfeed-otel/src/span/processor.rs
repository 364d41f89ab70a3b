//! The wrapper round a processor of spans, where the exporter cannot be reached.

use super::strip::strip_span;
use crate::{Policy, resource::stripped_resource};
use opentelemetry::Context;
use opentelemetry_sdk::{
    Resource,
    error::OTelSdkResult,
    trace::{Span, SpanData, SpanProcessor},
};
use std::time::Duration;

/// Hands spans that have ended to another processor, without what is internal.
///
/// It strips on the thread that ends the span. Where the exporter can be wrapped,
/// [`SanitizingSpanExporter`](crate::SanitizingSpanExporter) does so elsewhere.
///
/// Each processor of a provider is given spans of its own: those that are not wrapped see all of it.
///
/// ```
/// use crossfeed_otel::{Policy, SanitizingSpanProcessor};
/// use opentelemetry_sdk::trace::{BatchSpanProcessor, InMemorySpanExporter, SdkTracerProvider};
///
/// let processor = BatchSpanProcessor::builder(InMemorySpanExporter::default()).build();
/// let processor = SanitizingSpanProcessor::new(processor, Policy::default()); // the line to add
/// let provider = SdkTracerProvider::builder()
///     .with_span_processor(processor)
///     .build();
/// # provider.shutdown()?;
/// # Ok::<(), opentelemetry_sdk::error::OTelSdkError>(())
/// ```
#[derive(Debug)]
pub struct SanitizingSpanProcessor<P> {
    inner: P,
    policy: Policy,
}

impl<P> SanitizingSpanProcessor<P> {
    /// Puts `policy` before `inner`.
    #[must_use]
    pub const fn new(inner: P, policy: Policy) -> Self {
        Self { inner, policy }
    }
}

// A method that is not forwarded would quietly do nothing.
#[deny(clippy::missing_trait_methods)]
impl<P: SpanProcessor> SpanProcessor for SanitizingSpanProcessor<P> {
    /// What a span has so far is not stripped: more may be set until it ends.
    fn on_start(&self, span: &mut Span, cx: &Context) {
        self.inner.on_start(span, cx);
    }

    fn on_end(&self, mut span: SpanData) {
        strip_span(&self.policy, &mut span);
        self.inner.on_end(span);
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.inner.force_flush()
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.inner.shutdown_with_timeout(timeout)
    }

    fn shutdown(&self) -> OTelSdkResult {
        self.inner.shutdown()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.inner
            .set_resource(&stripped_resource(&self.policy, resource));
    }
}
