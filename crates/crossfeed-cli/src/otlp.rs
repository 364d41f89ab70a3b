//! Delivery over OTLP/HTTP, in protobuf.
//!
//! Everything is bounded in time: a receiver that is slow is as good as gone.

use crate::report::{CommandError, Result};
use crossfeed::{
    ErrorCode,
    otel::{Policy, SanitizingSpanExporter},
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
const REQUEST: Duration = Duration::from_secs(4);
/// How long all of them may take at the end.
const ALL: Duration = Duration::from_secs(10);
/// More spans than a run has, so that none is dropped.
const QUEUE: usize = 1 << 14;

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
            .map_err(|_| "it is not a URL: write one like `http://127.0.0.1:4318`".to_owned())?;
        match uri.scheme().as_str() {
            "http" => {}
            "https" => {
                return Err(
                    "https is not built in: send to a Collector near by, which sends on".to_owned(),
                );
            }
            _ if uri.authority().is_none() => {
                return Err(format!("it is not a URL: `http://{text}` would be"));
            }
            other => return Err(format!("`{other}` is not supported: use `http`")),
        }
        let authority = uri.authority();
        if authority.is_none_or(|authority| authority.host().is_empty()) {
            return Err("it names no host".to_owned());
        }
        if authority.is_some_and(|authority| authority.has_userinfo()) {
            return Err("it has a name or a password, which would be sent in the clear: give the address alone".to_owned());
        }
        if uri.query().is_some() || uri.fragment().is_some() {
            return Err("it has a query or a fragment: give the address alone".to_owned());
        }
        let base = text.trim_end_matches('/');
        let base = base.strip_suffix(TRACES).unwrap_or(base);
        Ok(Self {
            traces: format!("{base}{TRACES}"),
            metrics: format!("{base}/v1/metrics"),
        })
    }
}

/// What has become of the spans of a run.
#[derive(Clone, Debug, Default)]
struct Fate(Arc<Mutex<Sent>>);

#[derive(Debug, Default)]
struct Sent {
    spans: usize,
    /// Spans that were not taken.
    lost: usize,
    /// The first reason for which some were not delivered.
    failed: Option<String>,
}

/// An exporter that notes the outcome of its exports: a batch processor does not report it.
#[derive(Debug)]
struct Noted<E> {
    inner: E,
    fate: Fate,
}

#[deny(clippy::missing_trait_methods)]
impl<E: SpanExporter> SpanExporter for Noted<E> {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let count = batch.len();
        let done = self.inner.export(batch).await;
        let mut sent = self.fate.0.lock();
        match &done {
            Ok(()) => sent.spans += count,
            Err(error) => {
                sent.lost += count;
                sent.failed.get_or_insert_with(|| error.to_string());
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

/// The way to a receiver.
#[derive(Debug)]
pub(crate) struct Delivery {
    to: Endpoint,
    fate: Fate,
}

impl Delivery {
    /// Adds the way to what collects: the line that a pipeline needs is the one with the policy.
    pub(crate) fn to(
        to: &Endpoint,
        tracers: TracerProviderBuilder,
        meters: MeterProviderBuilder,
    ) -> Result<(TracerProviderBuilder, MeterProviderBuilder, Self)> {
        // The exporter's client wants one even where nothing is encrypted. There may be one already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let spans = opentelemetry_otlp::SpanExporter::builder()
            .with_http()
            .with_protocol(Protocol::HttpBinary)
            .with_endpoint(&to.traces)
            .with_timeout(REQUEST)
            .build()
            .map_err(unbuilt)?;
        let metrics = MetricExporter::builder()
            .with_http()
            .with_protocol(Protocol::HttpBinary)
            .with_endpoint(&to.metrics)
            .with_timeout(REQUEST)
            .build()
            .map_err(unbuilt)?;
        let fate = Fate::default();
        let spans = Noted {
            inner: spans,
            fate: fate.clone(),
        };
        let spans = SanitizingSpanExporter::new(spans, Policy::default());
        let batches = BatchConfigBuilder::default()
            .with_max_queue_size(QUEUE)
            .build();
        let batches = BatchSpanProcessor::builder(spans).with_batch_config(batches);
        let delivery = Self {
            to: to.clone(),
            fate,
        };
        Ok((
            tracers.with_span_processor(batches.build()),
            meters.with_periodic_exporter(metrics),
            delivery,
        ))
    }

    /// Sends what is left. Metrics that are not accepted are not a failure: many receivers of traces accept none.
    pub(crate) fn finish(
        &self,
        tracers: &SdkTracerProvider,
        meters: &SdkMeterProvider,
        spans: usize,
    ) -> Result<String> {
        let ended = tracers.shutdown_with_timeout(ALL);
        let sent = self.fate.0.lock();
        let Endpoint { traces, metrics } = &self.to;
        let failed = sent.failed.clone();
        let failed = failed.or_else(|| ended.err().map(|error| error.to_string()));
        if let Some(why) = failed {
            let missing = spans.saturating_sub(sent.spans);
            let message = format!("{missing} of {spans} spans were not sent to {traces}: {why}");
            let error = CommandError::answer(ErrorCode::TelemetryUnavailable, message);
            return Err(error.with_advice("give the address of a receiver of OTLP over HTTP"));
        }
        Ok(match meters.shutdown_with_timeout(REQUEST) {
            Ok(()) => format!("sent {spans} spans to {traces}, and metrics to {metrics}"),
            Err(_) => format!("sent {spans} spans to {traces}; metrics were not taken"),
        })
    }

    /// Sends what is left at the end of a run in the background. What became of spans and what of
    /// metrics is logged, each for itself: many receivers take only one of them.
    pub(crate) fn end(&self, tracers: &SdkTracerProvider, meters: &SdkMeterProvider) {
        let ended = tracers.shutdown_with_timeout(ALL);
        let metered = meters.shutdown_with_timeout(REQUEST);
        let sent = self.fate.0.lock();
        let Sent { spans, lost, .. } = *sent;
        let Endpoint { traces, metrics } = &self.to;
        let failed = sent.failed.clone();
        match failed.or_else(|| ended.err().map(|error| error.to_string())) {
            Some(why) => {
                tracing::warn!(not_sent = lost, sent = spans, to = %traces, "spans were not sent: {why}");
            }
            None if spans == 0 => tracing::info!(to = %traces, "there were no spans to send"),
            None => tracing::info!(sent = spans, to = %traces, "spans were sent"),
        }
        match metered {
            Ok(()) => tracing::info!(to = %metrics, "metrics were sent"),
            // Why, the exporter does not tell.
            Err(_) => {
                tracing::warn!(to = %metrics, "metrics were not sent: no receiver takes them there")
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
        check("127.0.0.1:4318", Err("not a URL"));
        check("localhost:4318", Err("`http://localhost:4318` would be"));
        check("http://ann:secret@127.0.0.1", Err("a name or a password"));
        check("", Err("not a URL"));
        check("http://", Err("no host"));
        check("http:/a", Err("no host"));
        check("http://a.example?x=1", Err("query"));
    }
}
