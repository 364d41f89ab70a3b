//! The wrapper round what exports log records: the recommended place.

use super::strip::Stripper;
use crate::{
    Policy,
    resource::{stripped_resource, stripped_scope},
};
use opentelemetry::logs::Severity;
use opentelemetry_sdk::{
    Resource,
    error::OTelSdkResult,
    logs::{LogBatch, LogExporter},
};
use std::time::Duration;

/// Exports log records through another exporter, without what is internal.
///
/// ```
/// use crossfeed_otel::{Policy, SanitizingLogExporter};
/// use opentelemetry_sdk::logs::{InMemoryLogExporter, SdkLoggerProvider};
///
/// let exporter = InMemoryLogExporter::default();
/// let exporter = SanitizingLogExporter::new(exporter, Policy::default()); // the line to add
/// let provider = SdkLoggerProvider::builder()
///     .with_batch_exporter(exporter)
///     .build();
/// # provider.shutdown()?;
/// # Ok::<(), opentelemetry_sdk::error::OTelSdkError>(())
/// ```
#[derive(Debug)]
pub struct SanitizingLogExporter<E> {
    inner: E,
    stripper: Stripper,
}

impl<E> SanitizingLogExporter<E> {
    /// Puts `policy` before `inner`.
    #[must_use]
    pub fn new(inner: E, policy: Policy) -> Self {
        Self {
            inner,
            stripper: Stripper::new(policy),
        }
    }
}

// A method that is not forwarded would quietly do nothing.
#[deny(clippy::missing_trait_methods)]
impl<E: LogExporter> LogExporter for SanitizingLogExporter<E> {
    async fn export(&self, batch: LogBatch<'_>) -> OTelSdkResult {
        let policy = self.stripper.policy();
        let stripped: Vec<_> = batch
            .iter()
            .map(|(record, scope)| (self.stripper.strip(record), stripped_scope(policy, scope)))
            .collect();
        let nothing = stripped
            .iter()
            .all(|(record, scope)| record.is_none() && scope.is_none());
        if nothing {
            return self.inner.export(batch).await;
        }
        let records: Vec<_> = batch
            .iter()
            .zip(&stripped)
            .map(|((record, scope), (new_record, new_scope))| {
                (
                    new_record.as_ref().unwrap_or(record),
                    new_scope.as_ref().unwrap_or(scope),
                )
            })
            .collect();
        self.inner.export(LogBatch::new(&records)).await
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.inner.shutdown_with_timeout(timeout)
    }

    fn shutdown(&self) -> OTelSdkResult {
        self.inner.shutdown()
    }

    fn event_enabled(&self, level: Severity, target: &str, name: Option<&str>) -> bool {
        self.inner.event_enabled(level, target, name)
    }

    fn set_resource(&mut self, resource: &Resource) {
        let resource = stripped_resource(self.stripper.policy(), resource);
        self.inner.set_resource(&resource);
    }
}
