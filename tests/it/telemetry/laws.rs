//! The law of telemetry over the wire: whatever nests wherever, what arrives holds no internal field, and
//! everything else as it was.

use super::{
    nesting::{assert_clean, clean, clean_result, held, nesting, opened, text, value_of},
    pipeline::{
        PATIENCE, Place, Transport, elsewhere, log_exporter, logger_provider, scope, span_exporter,
        tracer_provider,
    },
    receiver::{Answer, Received, Receiver},
};
use crossfeed_otel::{HashKey, Policy, Redaction, SanitizingLogExporter, SanitizingSpanExporter};
use opentelemetry::{
    KeyValue, StringValue, Value as Attribute,
    logs::{AnyValue, LogRecord as _, Logger as _, LoggerProvider as _},
    trace::{Event, Link, Span as _, SpanBuilder, Status, Tracer as _, TracerProvider as _},
};
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_sdk::{logs::SdkLoggerProvider, trace::SdkTracerProvider};
use proptest::{
    strategy::Strategy as _,
    test_runner::{Config, TestRunner},
};
use serde_json::{Value, json};
use std::time::SystemTime;

/// Few enough that the exchange of as many requests stays quick.
fn runner() -> TestRunner {
    TestRunner::new(Config {
        failure_persistence: None,
        ..Config::with_cases(48)
    })
}

/// A message as instrumentations write it: the tool's result is a string in it.
fn messages(result: &str) -> String {
    json!([{"role": "tool", "parts": [{"type": "tool_call_response", "id": "call_1", "response": result}]}])
        .to_string()
}

/// Ends a span that holds `text` wherever a span holds text.
fn end_span(provider: &SdkTracerProvider, text: &str) {
    let tracer = provider.tracer_with_scope(scope(text));
    let texts = [text.to_owned(), "no {\"_toolCallId\"".to_owned()].map(StringValue::from);
    let mut span = tracer.build(
        SpanBuilder::from_name("execute_tool search")
            .with_attributes([
                KeyValue::new("gen_ai.tool.call.result", text.to_owned()),
                KeyValue::new("gen_ai.input.messages", messages(text)),
                KeyValue::new("host.note", text.to_owned()),
                KeyValue::new("host.note", text.to_owned()),
                KeyValue::new("host.notes", Attribute::Array(texts.to_vec().into())),
                KeyValue::new("host.count", 42),
                KeyValue::new("result._toolCallId", "call_1"),
            ])
            .with_events(vec![Event::new(
                "gen_ai.tool.message",
                SystemTime::now(),
                vec![KeyValue::new("content", text.to_owned())],
                0,
            )])
            .with_links(vec![Link::new(
                elsewhere(),
                vec![KeyValue::new("host.link", text.to_owned())],
                0,
            )]),
    );
    span.set_status(Status::error(text.to_owned()));
}

fn check_span(received: &Received, value: &Value) {
    let [span] = &received.spans().collect::<Vec<&Span>>()[..] else {
        panic!("{} spans", received.spans().count());
    };
    let cleaned = clean(&opened(value));
    let attributes = &span.attributes;
    assert_clean(attributes);
    let result = clean_result(&opened(value));
    assert_eq!(held(attributes, "gen_ai.tool.call.result"), result);
    let message = &held(attributes, "gen_ai.input.messages")[0]["parts"][0]["response"];
    assert_eq!(message, &cleaned);
    let notes = attributes
        .iter()
        .filter(|attribute| attribute.key == "host.note");
    for note in notes.clone() {
        assert_eq!(opened(&value_of(note.value.as_ref().unwrap())), cleaned);
    }
    assert_eq!(notes.count(), 2);
    let list = json!([cleaned, "no {\"_toolCallId\""]);
    assert_eq!(held(attributes, "host.notes"), list);
    assert_eq!(held(attributes, "host.count"), json!(42));
    assert_eq!((attributes.len(), span.dropped_attributes_count), (6, 1));
    assert_eq!(held(&span.events[0].attributes, "content"), result);
    assert_eq!(held(&span.links[0].attributes, "host.link"), cleaned);
    let status = Value::from(span.status.as_ref().unwrap().message.as_str());
    assert_eq!(opened(&status), cleaned);
    let scope = received.traces[0].resource_spans[0].scope_spans[0]
        .scope
        .as_ref();
    assert_eq!(held(&scope.unwrap().attributes, "host.scope"), cleaned);
}

#[test]
fn no_span_brings_an_internal_field_to_a_receiver() {
    for transport in [Transport::Http, Transport::Grpc] {
        let receiver = Receiver::start(Answer::Accept);
        let provider = tracer_provider(transport, Place::BatchExporter, &receiver);
        runner()
            .run(&(nesting(), 0u8..6), |(value, spelling)| {
                end_span(&provider, &text(&value, spelling));
                provider.force_flush().unwrap();
                check_span(&receiver.take(), &value);
                Ok(())
            })
            .unwrap();
        provider.shutdown().unwrap();
    }
}

/// A value as an appender that keeps its structure hands it on: maps and lists, a text here and there
/// as bytes.
fn any_value(value: &Value) -> AnyValue {
    match value {
        Value::String(text) if text.len() % 2 == 0 => {
            AnyValue::Bytes(Box::new(text.as_bytes().to_vec()))
        }
        Value::String(text) => text.clone().into(),
        Value::Array(values) => values.iter().map(any_value).collect(),
        Value::Object(members) => members
            .iter()
            .map(|(key, value)| (key.clone(), any_value(value)))
            .collect(),
        Value::Bool(flag) => (*flag).into(),
        Value::Number(number) => number.as_i64().unwrap_or_default().into(),
        // There is none.
        Value::Null => "null".into(),
    }
}

/// The value as it comes back from an [`AnyValue`].
fn without_null(value: &Value) -> Value {
    match value {
        Value::Null => "null".into(),
        Value::Array(values) => values.iter().map(without_null).collect(),
        Value::Object(members) => {
            let members = members.iter();
            let members = members.map(|(key, value)| (key.clone(), without_null(value)));
            Value::Object(members.collect())
        }
        _ => value.clone(),
    }
}

fn emit(provider: &SdkLoggerProvider, value: &Value, text: &str) {
    let logger = provider.logger_with_scope(scope(text));
    let mut structured = logger.create_log_record();
    structured.set_event_name("gen_ai.tool.message");
    structured.set_body(any_value(value));
    structured.add_attribute("gen_ai.tool.call.result", any_value(value));
    structured.add_attribute("host.note", any_value(value));
    structured.add_attribute("_structureHints", "{}");
    logger.emit(structured);
    let mut flat = logger.create_log_record();
    flat.set_body(text.to_owned().into());
    flat.add_attribute("gen_ai.tool.call.result", text.to_owned());
    flat.add_attribute("gen_ai.input.messages", messages(text));
    flat.add_attribute("host.bytes", text.as_bytes());
    logger.emit(flat);
}

fn check_records(received: &Received, value: &Value) {
    let [structured, flat] = received.records().collect::<Vec<_>>()[..] else {
        panic!("{} records", received.records().count());
    };
    let plain = opened(&without_null(value));
    let cleaned = clean(&plain);
    assert_clean(&structured.attributes);
    assert_eq!(structured.attributes.len(), 2);
    let result = clean_result(&plain);
    let body = opened(&value_of(structured.body.as_ref().unwrap()));
    assert_eq!(body, result);
    assert_eq!(
        held(&structured.attributes, "gen_ai.tool.call.result"),
        result
    );
    assert_eq!(held(&structured.attributes, "host.note"), cleaned);

    let plain = opened(value);
    let cleaned = clean(&plain);
    assert_clean(&flat.attributes);
    assert_eq!(opened(&value_of(flat.body.as_ref().unwrap())), cleaned);
    let result = held(&flat.attributes, "gen_ai.tool.call.result");
    assert_eq!(result, clean_result(&plain));
    assert_eq!(held(&flat.attributes, "host.bytes"), cleaned);
    let message = &held(&flat.attributes, "gen_ai.input.messages")[0]["parts"][0]["response"];
    assert_eq!(message, &cleaned);
    let scope = received.logs[0].resource_logs[0].scope_logs[0]
        .scope
        .as_ref();
    assert_eq!(held(&scope.unwrap().attributes, "host.scope"), cleaned);
}

#[test]
fn no_log_record_brings_an_internal_field_to_a_receiver() {
    for transport in [Transport::Http, Transport::Grpc] {
        let receiver = Receiver::start(Answer::Accept);
        let provider = logger_provider(transport, Place::BatchExporter, &receiver);
        runner()
            .run(&(nesting(), 0u8..6), |(value, spelling)| {
                emit(&provider, &value, &text(&value, spelling));
                provider.force_flush().unwrap();
                check_records(&receiver.take(), &value);
                Ok(())
            })
            .unwrap();
        provider.shutdown().unwrap();
    }
}

/// With its payload withheld, nothing of a nesting is left in what arrives.
fn check_redacted(redaction: &Redaction) {
    let receiver = Receiver::start(Answer::Accept);
    let policy = Policy::default()
        .with_payloads(["host.**"])
        .with_redaction(redaction.clone());
    let endpoint = receiver.endpoint();
    let exporter = span_exporter(Transport::Http, &endpoint, PATIENCE);
    let spans = SdkTracerProvider::builder()
        .with_batch_exporter(SanitizingSpanExporter::new(exporter, policy.clone()))
        .build();
    let exporter = log_exporter(Transport::Http, &endpoint, PATIENCE);
    let logs = SdkLoggerProvider::builder()
        .with_batch_exporter(SanitizingLogExporter::new(exporter, policy))
        .build();
    let marked = nesting().prop_map(|value| json!({"mark-7f3": [value, "mark-7f3"]}));
    runner()
        .run(&(marked, 0u8..6), |(value, spelling)| {
            let text = text(&value, spelling);
            let payload = || KeyValue::new("gen_ai.tool.call.result", text.clone());
            let span = SpanBuilder::from_name("execute_tool")
                .with_attributes([
                    payload(),
                    KeyValue::new("gen_ai.prompt.0.content", text.clone()),
                    KeyValue::new("gen_ai.prompt.0.role", "tool"),
                    KeyValue::new("output.value", text.clone()),
                ])
                .with_events(vec![Event::new(
                    "gen_ai.tool.message",
                    SystemTime::now(),
                    vec![KeyValue::new("content", text.clone())],
                    0,
                )])
                .with_links(vec![Link::new(elsewhere(), vec![payload()], 0)]);
            spans.tracer_with_scope(scope(&text)).build(span).end();
            let logger = logs.logger("host");
            let mut record = logger.create_log_record();
            record.set_event_name("gen_ai.tool.message");
            record.set_body(any_value(&value));
            record.add_attribute("gen_ai.tool.call.result", any_value(&value));
            record.add_attribute("gen_ai.tool.call.arguments", text.as_bytes());
            logger.emit(record);
            spans.force_flush().unwrap();
            logs.force_flush().unwrap();
            let received = receiver.take();
            assert!(!received.mentions("mark-7f3"), "{received:?}");
            let span = received.spans().next().unwrap();
            assert_eq!(
                held(&span.attributes, "gen_ai.prompt.0.role"),
                json!("tool")
            );
            assert_eq!((received.records().count(), span.links.len()), (1, 1));
            Ok(())
        })
        .unwrap();
}

#[test]
fn no_payload_that_a_policy_withholds_reaches_a_receiver() {
    check_redacted(&Redaction::Drop);
    check_redacted(&Redaction::Hash);
    check_redacted(&Redaction::KeyedHash(HashKey::new("a key")));
}
