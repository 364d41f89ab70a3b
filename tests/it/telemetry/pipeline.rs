//! Pipelines as hosts build them: the official exporters, wrapped, behind the SDK's processors.

use super::receiver::Receiver;
use crossfeed_otel::{
    Policy, SanitizingLogExporter, SanitizingLogProcessor, SanitizingSpanExporter,
    SanitizingSpanProcessor,
};
use opentelemetry::{
    InstrumentationScope, KeyValue, SpanId, TraceFlags, TraceId,
    trace::{SpanContext, TraceState},
};
use opentelemetry_otlp::{LogExporter, Protocol, SpanExporter, WithExportConfig};
use opentelemetry_sdk::{
    logs::{BatchLogProcessor, SdkLoggerProvider, SimpleLogProcessor},
    trace::{BatchConfigBuilder, BatchSpanProcessor, SdkTracerProvider, SimpleSpanProcessor},
};
use std::{sync::LazyLock, time::Duration};
use tokio::runtime::Runtime;

/// How long an export may take where a test says nothing else.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);

/// How OTLP is spoken.
#[derive(Clone, Copy, Debug)]
pub(super) enum Transport {
    Http,
    Grpc,
}

/// Where a wrapper stands, and what is behind it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    BatchExporter,
    SimpleExporter,
    BatchProcessor,
    SimpleProcessor,
}

/// Every pipeline there is.
pub(super) fn pipelines() -> impl Iterator<Item = (Transport, Place)> {
    use Place::{BatchExporter, BatchProcessor, SimpleExporter, SimpleProcessor};
    [Transport::Http, Transport::Grpc]
        .into_iter()
        .flat_map(|transport| {
            [
                BatchExporter,
                SimpleExporter,
                BatchProcessor,
                SimpleProcessor,
            ]
            .map(|place| (transport, place))
        })
}

/// What the exporters of gRPC work on.
static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap()
});

/// The client of HTTP wants a provider of cryptography, also where nothing is encrypted: built with the gateway,
/// which brings its own, it has none.
fn cryptography() {
    let _ = rustls::crypto::ring::default_provider().install_default();
}

pub(super) fn span_exporter(
    transport: Transport,
    endpoint: &str,
    timeout: Duration,
) -> SpanExporter {
    cryptography();
    let builder = SpanExporter::builder();
    match transport {
        Transport::Http => builder
            .with_http()
            .with_endpoint(format!("{endpoint}/v1/traces"))
            .with_protocol(Protocol::HttpBinary)
            .with_timeout(timeout)
            .build(),
        Transport::Grpc => {
            let _context = RUNTIME.enter();
            builder
                .with_tonic()
                .with_endpoint(endpoint)
                .with_timeout(timeout)
                .build()
        }
    }
    .unwrap()
}

pub(super) fn log_exporter(transport: Transport, endpoint: &str, timeout: Duration) -> LogExporter {
    cryptography();
    let builder = LogExporter::builder();
    match transport {
        Transport::Http => builder
            .with_http()
            .with_endpoint(format!("{endpoint}/v1/logs"))
            .with_protocol(Protocol::HttpBinary)
            .with_timeout(timeout)
            .build(),
        Transport::Grpc => {
            let _context = RUNTIME.enter();
            builder
                .with_tonic()
                .with_endpoint(endpoint)
                .with_timeout(timeout)
                .build()
        }
    }
    .unwrap()
}

/// A provider of tracers whose spans reach `receiver` without what is internal. Its queue takes
/// whatever a test ends.
pub(super) fn tracer_provider(
    transport: Transport,
    place: Place,
    receiver: &Receiver,
) -> SdkTracerProvider {
    let exporter = span_exporter(transport, &receiver.endpoint(), PATIENCE);
    let batch = BatchConfigBuilder::default()
        .with_max_queue_size(1 << 15)
        .build();
    let policy = Policy::default();
    let provider = SdkTracerProvider::builder();
    match place {
        Place::BatchExporter => provider.with_span_processor(
            BatchSpanProcessor::builder(SanitizingSpanExporter::new(exporter, policy))
                .with_batch_config(batch)
                .build(),
        ),
        Place::SimpleExporter => {
            provider.with_simple_exporter(SanitizingSpanExporter::new(exporter, policy))
        }
        Place::BatchProcessor => {
            let processor = BatchSpanProcessor::builder(exporter)
                .with_batch_config(batch)
                .build();
            provider.with_span_processor(SanitizingSpanProcessor::new(processor, policy))
        }
        Place::SimpleProcessor => provider.with_span_processor(SanitizingSpanProcessor::new(
            SimpleSpanProcessor::new(exporter),
            policy,
        )),
    }
    .build()
}

/// The same for log records.
pub(super) fn logger_provider(
    transport: Transport,
    place: Place,
    receiver: &Receiver,
) -> SdkLoggerProvider {
    let exporter = log_exporter(transport, &receiver.endpoint(), PATIENCE);
    let policy = Policy::default();
    let provider = SdkLoggerProvider::builder();
    match place {
        Place::BatchExporter => {
            provider.with_batch_exporter(SanitizingLogExporter::new(exporter, policy))
        }
        Place::SimpleExporter => {
            provider.with_simple_exporter(SanitizingLogExporter::new(exporter, policy))
        }
        Place::BatchProcessor => {
            let processor = BatchLogProcessor::builder(exporter).build();
            provider.with_log_processor(SanitizingLogProcessor::new(processor, policy))
        }
        Place::SimpleProcessor => provider.with_log_processor(SanitizingLogProcessor::new(
            SimpleLogProcessor::new(exporter),
            policy,
        )),
    }
    .build()
}

/// A span elsewhere that one may be linked to.
pub(super) fn elsewhere() -> SpanContext {
    SpanContext::new(
        TraceId::from(0x0af7_6519_16cd_43dd_8448_eb21_1c80_319c),
        SpanId::from(0xb7ad_6b71_6920_3331),
        TraceFlags::SAMPLED,
        true,
        TraceState::default(),
    )
}

/// An instrumentation scope that has attributes of its own.
pub(super) fn scope(attribute: &str) -> InstrumentationScope {
    InstrumentationScope::builder("host")
        .with_version("1.2")
        .with_attributes([KeyValue::new("host.scope", attribute.to_owned())])
        .build()
}
