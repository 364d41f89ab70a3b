//! Strips log records: an exporter and a processor around those of a pipeline; records with nothing to strip are
//! passed on by reference. `policy` decides what each text loses.

mod strip;
#[cfg(test)]
mod tests;
mod value;

use crate::{
    Policy,
    resource::{stripped_resource, stripped_scope},
};
use opentelemetry::{InstrumentationScope, logs::Severity};
use opentelemetry_sdk::{
    Resource,
    error::OTelSdkResult,
    logs::{LogBatch, LogExporter, LogProcessor, SdkLogRecord},
};
use std::time::Duration;
use strip::Stripper;

/// Exports log records through another exporter, without internal fields: the recommended place.
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
        if stripped.iter().all(|new| matches!(new, (None, None))) {
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

/// Hands log records to another processor, without internal fields, where the exporter cannot be wrapped.
///
/// It strips on the thread that emits the record, unlike [`SanitizingLogExporter`].
///
/// A stripped record is a copy: processors beside this one see the original, and not what the inner processor
/// adds to the copy.
///
/// ```
/// use crossfeed_otel::{Policy, SanitizingLogProcessor};
/// use opentelemetry_sdk::logs::{BatchLogProcessor, InMemoryLogExporter, SdkLoggerProvider};
///
/// let processor = BatchLogProcessor::builder(InMemoryLogExporter::default()).build();
/// let processor = SanitizingLogProcessor::new(processor, Policy::default()); // the line to add
/// let provider = SdkLoggerProvider::builder()
///     .with_log_processor(processor)
///     .build();
/// # provider.shutdown()?;
/// # Ok::<(), opentelemetry_sdk::error::OTelSdkError>(())
/// ```
#[derive(Debug)]
pub struct SanitizingLogProcessor<P> {
    inner: P,
    stripper: Stripper,
}

impl<P> SanitizingLogProcessor<P> {
    /// Puts `policy` before `inner`.
    pub fn new(inner: P, policy: Policy) -> Self {
        Self {
            inner,
            stripper: Stripper::new(policy),
        }
    }
}

// A method that is not forwarded would quietly do nothing.
#[deny(clippy::missing_trait_methods)]
impl<P: LogProcessor> LogProcessor for SanitizingLogProcessor<P> {
    fn emit(&self, record: &mut SdkLogRecord, scope: &InstrumentationScope) {
        let stripped_scope = stripped_scope(self.stripper.policy(), scope);
        let scope = stripped_scope.as_ref().unwrap_or(scope);
        match self.stripper.strip(record) {
            Some(mut stripped) => self.inner.emit(&mut stripped, scope),
            None => self.inner.emit(record, scope),
        }
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

    fn event_enabled(&self, level: Severity, target: &str, name: Option<&str>) -> bool {
        self.inner.event_enabled(level, target, name)
    }

    fn set_resource(&mut self, resource: &Resource) {
        let resource = stripped_resource(self.stripper.policy(), resource);
        self.inner.set_resource(&resource);
    }
}
