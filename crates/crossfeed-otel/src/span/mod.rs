//! Strips spans that have ended: an exporter and a processor around those of a pipeline. `policy` decides what
//! each text loses.

mod strip;
#[cfg(test)]
mod tests;

use crate::{Policy, resource::stripped_resource};
use opentelemetry::Context;
use opentelemetry_sdk::{
    Resource,
    error::OTelSdkResult,
    trace::{Span, SpanData, SpanExporter, SpanProcessor},
};
use std::time::Duration;
use strip::strip_span;

/// Exports spans through another exporter, without internal fields.
///
/// This is the recommended place: a batch processor calls its exporter on its own thread, so requests do not
/// wait, and other processors are not affected.
///
/// ```
/// use crossfeed_otel::{Policy, SanitizingSpanExporter};
/// use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider};
///
/// let exporter = InMemorySpanExporter::default();
/// let exporter = SanitizingSpanExporter::new(exporter, Policy::default()); // the line to add
/// let provider = SdkTracerProvider::builder()
///     .with_batch_exporter(exporter)
///     .build();
/// # provider.shutdown()?;
/// # Ok::<(), opentelemetry_sdk::error::OTelSdkError>(())
/// ```
#[derive(Debug)]
pub struct SanitizingSpanExporter<E> {
    inner: E,
    policy: Policy,
}

impl<E> SanitizingSpanExporter<E> {
    /// Puts `policy` before `inner`.
    pub const fn new(inner: E, policy: Policy) -> Self {
        Self { inner, policy }
    }
}

// A method that is not forwarded would quietly do nothing.
#[deny(clippy::missing_trait_methods)]
impl<E: SpanExporter> SpanExporter for SanitizingSpanExporter<E> {
    fn export(&self, mut batch: Vec<SpanData>) -> impl Future<Output = OTelSdkResult> + Send {
        for span in &mut batch {
            strip_span(&self.policy, span);
        }
        self.inner.export(batch)
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.inner.shutdown_with_timeout(timeout)
    }

    fn shutdown(&self) -> OTelSdkResult {
        self.inner.shutdown()
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.inner.force_flush()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.inner
            .set_resource(&stripped_resource(&self.policy, resource));
    }
}

/// Hands spans that have ended to another processor, without internal fields, where the exporter cannot be
/// wrapped.
///
/// It strips on the thread that ends the span, unlike [`SanitizingSpanExporter`].
///
/// Each processor of a provider gets its own copy of a span: those that are not wrapped see all of it.
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
    pub const fn new(inner: P, policy: Policy) -> Self {
        Self { inner, policy }
    }
}

// A method that is not forwarded would quietly do nothing.
#[deny(clippy::missing_trait_methods)]
impl<P: SpanProcessor> SpanProcessor for SanitizingSpanProcessor<P> {
    /// Strips nothing yet: more may be set until the span ends.
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
