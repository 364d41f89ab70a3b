//! The wrapper round a processor of log records, where the exporter cannot be reached.

use super::strip::Stripper;
use crate::{
    Policy,
    resource::{stripped_resource, stripped_scope},
};
use opentelemetry::{InstrumentationScope, logs::Severity};
use opentelemetry_sdk::{
    Resource,
    error::OTelSdkResult,
    logs::{LogProcessor, SdkLogRecord},
};
use std::time::Duration;

/// Hands log records to another processor, without what is internal.
///
/// It strips on the thread that emits the record. Where the exporter can be wrapped,
/// [`SanitizingLogExporter`](crate::SanitizingLogExporter) does so elsewhere.
///
/// A record that is stripped is another one: processors that stand beside this one see the first as it
/// was, and what the inner one adds to the second they do not see.
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
    #[must_use]
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
