//! The wrapper round what exports spans: the recommended place.

use super::strip::strip_span;
use crate::{Policy, resource::stripped_resource};
use opentelemetry_sdk::{
    Resource,
    error::OTelSdkResult,
    trace::{SpanData, SpanExporter},
};
use std::time::Duration;

/// Exports spans through another exporter, without what is internal.
///
/// This is where to strip: a batch processor calls its exporter on a thread of its own, so that a
/// request waits for nothing, and what other processors do is left alone.
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
    #[must_use]
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
