//! A receiver that is gone, refuses or is slow, and attributes that are too much for anyone: the SDK says
//! so, nobody is held up beyond the exporter's patience, and nothing leaves as it was.

use super::{
    nesting::{assert_clean, held, value_of},
    pipeline::{PATIENCE, Transport, log_exporter, span_exporter},
    receiver::{Answer, Receiver},
};
use crate::support::within;
use crossfeed_otel::{Policy, SanitizingLogExporter, SanitizingSpanExporter};
use opentelemetry::{
    KeyValue,
    logs::{LogRecord as _, Logger as _, LoggerProvider as _},
    trace::{Span as _, SpanBuilder, Tracer as _, TracerProvider as _},
};
use opentelemetry_sdk::{error::OTelSdkResult, logs::SdkLoggerProvider, trace::SdkTracerProvider};
use serde_json::json;
use std::{net::TcpListener, time::Duration};

/// How long an export may take here.
const BRIEF: Duration = Duration::from_millis(300);

/// Where nobody listens: a port that was free a moment ago.
fn nobody() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}

/// What the SDK says of a span and a record that are exported to `endpoint`.
fn export(transport: Transport, endpoint: &str) -> [OTelSdkResult; 2] {
    let result = r#"{"_toolCallId":"call_1","n":1}"#;
    let exporter = span_exporter(transport, endpoint, BRIEF);
    let spans = SdkTracerProvider::builder()
        .with_batch_exporter(SanitizingSpanExporter::new(exporter, Policy::default()))
        .build();
    let exporter = log_exporter(transport, endpoint, BRIEF);
    let logs = SdkLoggerProvider::builder()
        .with_batch_exporter(SanitizingLogExporter::new(exporter, Policy::default()))
        .build();
    let attribute = KeyValue::new("gen_ai.tool.call.result", result);
    let span = SpanBuilder::from_name("a span").with_attributes([attribute]);
    spans.tracer("host").build(span).end();
    let logger = logs.logger("host");
    let mut record = logger.create_log_record();
    record.set_body(result.into());
    record.add_attribute("gen_ai.tool.call.result", result);
    logger.emit(record);
    let said = [spans.force_flush(), logs.force_flush()];
    // What could not be sent is gone; nothing waits for it.
    let _ = (spans.shutdown(), logs.shutdown());
    said
}

#[test]
fn a_receiver_that_is_gone_is_an_error_of_the_sdk() {
    for transport in [Transport::Http, Transport::Grpc] {
        let said = within(60, || export(transport, &nobody()));
        assert!(said.iter().all(Result::is_err), "{transport:?}: {said:?}");
    }
}

#[test]
fn a_receiver_that_refuses_is_an_error_and_saw_nothing_internal() {
    for transport in [Transport::Http, Transport::Grpc] {
        let receiver = Receiver::start(Answer::Refuse);
        let said = within(60, || export(transport, &receiver.endpoint()));
        assert!(said.iter().all(Result::is_err), "{transport:?}: {said:?}");
        let received = receiver.take();
        assert!(received.spans().count() > 0 && received.records().count() > 0);
        for attributes in received
            .spans()
            .map(|span| &span.attributes)
            .chain(received.records().map(|record| &record.attributes))
        {
            assert_clean(attributes);
            assert_eq!(held(attributes, "gen_ai.tool.call.result"), json!({"n": 1}));
        }
    }
}

#[test]
fn a_slow_receiver_holds_nobody_up_beyond_the_exporters_patience() {
    for transport in [Transport::Http, Transport::Grpc] {
        let receiver = Receiver::start(Answer::After(Duration::from_secs(600)));
        let said = within(60, || export(transport, &receiver.endpoint()));
        assert!(said.iter().all(Result::is_err), "{transport:?}: {said:?}");
    }
}

#[test]
fn a_slow_receiver_gets_everything_in_the_end() {
    let receiver = Receiver::start(Answer::After(Duration::from_millis(100)));
    for transport in [Transport::Http, Transport::Grpc] {
        let exporter = span_exporter(transport, &receiver.endpoint(), Duration::from_secs(20));
        let provider = SdkTracerProvider::builder()
            .with_batch_exporter(SanitizingSpanExporter::new(exporter, Policy::default()))
            .build();
        for number in 0..600 {
            let note = KeyValue::new("host.note", r#"{"_toolCallId":"call_1"}"#);
            let span = SpanBuilder::from_name(format!("{number}")).with_attributes([note]);
            provider.tracer("host").build(span).end();
        }
        provider.shutdown_with_timeout(PATIENCE).unwrap();
        let received = receiver.take();
        assert_eq!(received.spans().count(), 600);
        received
            .spans()
            .for_each(|span| assert_clean(&span.attributes));
    }
}

/// Exports one span with this note; what arrived of it.
fn note(text: String) -> String {
    let receiver = Receiver::start(Answer::Accept);
    let exporter = span_exporter(Transport::Http, &receiver.endpoint(), PATIENCE);
    let provider = SdkTracerProvider::builder()
        .with_batch_exporter(SanitizingSpanExporter::new(exporter, Policy::default()))
        .build();
    let note = KeyValue::new("gen_ai.tool.call.result", text);
    let span = SpanBuilder::from_name("a span").with_attributes([note]);
    provider.tracer("host").build(span).end();
    provider.shutdown_with_timeout(PATIENCE).unwrap();
    let received = receiver.take();
    let span = received.spans().next().unwrap();
    let note = value_of(span.attributes[0].value.as_ref().unwrap());
    note.as_str().unwrap().to_owned()
}

#[test]
fn what_is_huge_or_deep_arrives_without_what_is_internal() {
    let long = "x".repeat(50 << 20);
    let huge = |fields: &str| format!(r#"{{"text":"{long}"{fields}}}"#);
    let text = note(huge(r#","\u005ftoolCallId":1,"_toolCallId":2"#));
    assert!(text == huge(""), "{} bytes", text.len());

    let levels = 100_000;
    let deep = |field: &str| {
        let (open, close) = ("[{\"a\":".repeat(levels / 2), "}]".repeat(levels / 2));
        format!("{open}{{{field}\"n\":1}}{close}")
    };
    let text = note(deep(r#""_toolCallId":1,"#));
    assert!(text == deep(""), "{} bytes", text.len());

    // What is not valid JSON any more stays as it is: it holds no fields.
    let whole = r#"{"a":"é","_toolCallId":"call_1"}"#;
    for end in (0..whole.len())
        .filter(|end| whole.is_char_boundary(*end))
        .step_by(5)
    {
        assert_eq!(note(whole[..end].to_owned()), whole[..end]);
    }
}
