//! Delivers telemetry in protobuf. Every wait for a receiver has a limit.

use crate::report::{CommandError, Result};
use crossfeed::{
    ErrorCode,
    telemetry::{Policy, SanitizingSpanExporter},
};
use fluent_uri::Uri;
use opentelemetry_otlp::{ExporterBuildError, MetricExporter, Protocol, WithExportConfig};
use opentelemetry_sdk::{
    Resource,
    error::OTelSdkResult,
    metrics::{MeterProviderBuilder, SdkMeterProvider},
    trace::{
        BatchConfigBuilder, BatchSpanProcessor, SdkTracerProvider, SpanData, SpanExporter,
        TracerProviderBuilder,
    },
};
use parking_lot::Mutex;
use std::{sync::Arc, time::Duration};

/// How long a receiver may take for a request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(4);
/// How long all requests may take at the end.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(10);
/// More spans than a run has, so that none is dropped.
const MAX_QUEUED_SPANS: usize = 1 << 14;

/// Where telemetry goes: the address of a receiver of OTLP/HTTP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Endpoint {
    traces: String,
    metrics: String,
}

impl Endpoint {
    /// Reads the address: that of the receiver (`http://127.0.0.1:4318`), or that of its traces.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        const TRACES: &str = "/v1/traces";
        let uri = Uri::parse(text)
            .map_err(|_| "not a valid URL: write one like `http://127.0.0.1:4318`".to_owned())?;
        match uri.scheme().as_str() {
            "http" => {}
            "https" => {
                return Err(
                    "https is not built in: send to a Collector nearby, which forwards".to_owned(),
                );
            }
            _ if uri.authority().is_none() => {
                return Err(format!("not a valid URL: write `http://{text}`"));
            }
            other => return Err(format!("`{other}` is not supported: use `http`")),
        }
        let authority = uri.authority();
        if authority.is_none_or(|authority| authority.host().is_empty()) {
            return Err("the URL has no host".to_owned());
        }
        if authority.is_some_and(|authority| authority.has_userinfo()) {
            return Err("the URL has a name or a password, which would be sent unencrypted: give the address alone".to_owned());
        }
        if uri.query().is_some() || uri.fragment().is_some() {
            return Err("the URL has a query or a fragment: give the address alone".to_owned());
        }
        let base = text.trim_end_matches('/');
        let base = base.strip_suffix(TRACES).unwrap_or(base);
        Ok(Self {
            traces: format!("{base}{TRACES}"),
            metrics: format!("{base}/v1/metrics"),
        })
    }
}

/// How many spans of a run were sent.
#[derive(Debug, Default)]
struct DeliveryStatus {
    sent: usize,
    lost: usize,
    /// The first reason why spans were lost.
    failure: Option<String>,
}

/// An exporter that notes the outcome of its exports, which a batch processor does not report.
#[derive(Debug)]
struct StatusExporter<E> {
    inner: E,
    status: Arc<Mutex<DeliveryStatus>>,
}

#[deny(clippy::missing_trait_methods)]
impl<E: SpanExporter> SpanExporter for StatusExporter<E> {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let count = batch.len();
        let done = self.inner.export(batch).await;
        let mut status = self.status.lock();
        match &done {
            Ok(()) => status.sent += count,
            Err(error) => {
                status.lost += count;
                status.failure.get_or_insert_with(|| error.to_string());
            }
        }
        done
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
        self.inner.set_resource(resource);
    }
}

/// The delivery to a receiver.
#[derive(Debug)]
pub(crate) struct Delivery {
    to: Endpoint,
    status: Arc<Mutex<DeliveryStatus>>,
}

impl Delivery {
    /// Adds exporters to a receiver. The spans pass the policy first.
    pub(crate) fn to(
        to: &Endpoint,
        tracers: TracerProviderBuilder,
        meters: MeterProviderBuilder,
    ) -> Result<(TracerProviderBuilder, MeterProviderBuilder, Self)> {
        // The exporter's client needs a provider even without encryption. There may be one already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let spans = opentelemetry_otlp::SpanExporter::builder()
            .with_http()
            .with_protocol(Protocol::HttpBinary)
            .with_endpoint(&to.traces)
            .with_timeout(REQUEST_TIMEOUT)
            .build()
            .map_err(unbuilt)?;
        let metrics = MetricExporter::builder()
            .with_http()
            .with_protocol(Protocol::HttpBinary)
            .with_endpoint(&to.metrics)
            .with_timeout(REQUEST_TIMEOUT)
            .build()
            .map_err(unbuilt)?;
        let status = Arc::default();
        let spans = StatusExporter {
            inner: spans,
            status: Arc::clone(&status),
        };
        let spans = SanitizingSpanExporter::new(spans, Policy::default());
        let batches = BatchConfigBuilder::default()
            .with_max_queue_size(MAX_QUEUED_SPANS)
            .build();
        let batches = BatchSpanProcessor::builder(spans).with_batch_config(batches);
        let delivery = Self {
            to: to.clone(),
            status,
        };
        Ok((
            tracers.with_span_processor(batches.build()),
            meters.with_periodic_exporter(metrics),
            delivery,
        ))
    }

    /// Sends the last spans; returns how many were sent and lost, and why.
    fn flush(&self, tracers: &SdkTracerProvider) -> (usize, usize, Option<String>) {
        let ended = tracers.shutdown_with_timeout(SHUTDOWN_TIMEOUT);
        let status = self.status.lock();
        let failure = status.failure.clone();
        let failure = failure.or_else(|| ended.err().map(|error| error.to_string()));
        (status.sent, status.lost, failure)
    }

    /// Sends what is left. Rejected metrics are not a failure: many receivers of traces accept none.
    pub(crate) fn finish(
        &self,
        tracers: &SdkTracerProvider,
        meters: &SdkMeterProvider,
        spans: usize,
    ) -> Result<String> {
        let (sent, _, failure) = self.flush(tracers);
        let Endpoint { traces, metrics } = &self.to;
        if let Some(why) = failure {
            let missing = spans.saturating_sub(sent);
            let message = format!("{missing} of {spans} spans were not sent to {traces}: {why}");
            let error = CommandError::answer(ErrorCode::TelemetryUnavailable, message);
            return Err(error.with_advice("give the address of a receiver of OTLP over HTTP"));
        }
        Ok(match meters.shutdown_with_timeout(REQUEST_TIMEOUT) {
            Ok(()) => format!("sent {spans} spans to {traces}, and metrics to {metrics}"),
            Err(_) => format!("sent {spans} spans to {traces}; metrics were not accepted"),
        })
    }

    /// Sends what is left at the end of a run in the background. Spans and metrics are logged separately: many receivers
    /// accept only one of them.
    pub(crate) fn end(&self, tracers: &SdkTracerProvider, meters: &SdkMeterProvider) {
        let (sent, lost, failure) = self.flush(tracers);
        let Endpoint { traces, metrics } = &self.to;
        match failure {
            Some(why) => {
                tracing::warn!(not_sent = lost, sent, to = %traces, "spans were not sent: {why}");
            }
            None if sent == 0 => tracing::info!(to = %traces, "there were no spans to send"),
            None => tracing::info!(sent, to = %traces, "spans were sent"),
        }
        match meters.shutdown_with_timeout(REQUEST_TIMEOUT) {
            Ok(()) => tracing::info!(to = %metrics, "metrics were sent"),
            // The exporter does not report the reason.
            Err(_) => {
                tracing::warn!(to = %metrics, "metrics were not sent: the receiver does not accept them")
            }
        }
    }
}

fn unbuilt(error: ExporterBuildError) -> CommandError {
    CommandError::usage(format!("cannot send: {error}"))
}

#[cfg(test)]
mod tests {
    use super::Endpoint;

    fn check(text: &str, expected: Result<&str, &str>) {
        let read = Endpoint::parse(text);
        match (read, expected) {
            (Ok(read), Ok(traces)) => assert_eq!(read.traces, traces),
            (Err(error), Err(says)) => assert!(error.contains(says), "{text}: {error}"),
            (read, _) => panic!("{text}: {read:?}"),
        }
    }

    #[test]
    fn addresses_are_read() {
        let traces = "http://127.0.0.1:4318/v1/traces";
        check("http://127.0.0.1:4318", Ok(traces));
        check("http://127.0.0.1:4318/", Ok(traces));
        check(traces, Ok(traces));
        check("http://[::1]/otlp", Ok("http://[::1]/otlp/v1/traces"));
        check("https://a.example", Err("https is not built in"));
        check("ftp://a.example", Err("`ftp` is not supported"));
        check("127.0.0.1:4318", Err("not a valid URL"));
        check("localhost:4318", Err("write `http://localhost:4318`"));
        check("http://ann:secret@127.0.0.1", Err("a name or a password"));
        check("", Err("not a valid URL"));
        check("http://", Err("no host"));
        check("http:/a", Err("no host"));
        check("http://a.example?x=1", Err("query"));
    }
}
