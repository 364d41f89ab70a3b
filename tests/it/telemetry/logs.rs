//! Log records on their way to a receiver: the events of GenAI instrumentations, and what stays of a
//! record of which something was stripped.

use super::{
    nesting::{held, opened, value_of},
    pipeline::{PATIENCE, Transport, elsewhere, log_exporter, logger_provider, pipelines},
    receiver::{Answer, Receiver},
};
use crossfeed_otel::{Policy, SanitizingLogExporter, SanitizingLogProcessor};
use opentelemetry::{
    KeyValue,
    logs::{AnyValue, LogRecord as _, Logger as _, LoggerProvider as _, Severity},
};
use opentelemetry_proto::tonic::logs::v1::LogRecord;
use opentelemetry_sdk::{
    Resource,
    logs::{InMemoryLogExporter, SdkLogRecord, SdkLogger, SdkLoggerProvider, SimpleLogProcessor},
};
use serde_json::{Value, json};
use std::time::{Duration, SystemTime};

/// The body of an event as GenAI instrumentations emit it for a tool's result.
fn tool_message() -> AnyValue {
    let body: [(&str, AnyValue); 3] = [
        ("id", "call_1".into()),
        ("_structureHints", vec_of(["items[0].url"])),
        ("content", r#"{"_toolCallId":"call_1","_id":7}"#.into()),
    ];
    body.into_iter().collect()
}

fn vec_of<const N: usize>(texts: [&'static str; N]) -> AnyValue {
    texts.into_iter().collect()
}

/// The attributes of an event that carries a whole inference, messages as structured values.
fn operation_details(logger: &SdkLogger) -> SdkLogRecord {
    let part: [(&str, AnyValue); 3] = [
        ("type", "tool_call_response".into()),
        ("id", "call_1".into()),
        ("response", r#"{"_toolCallId":"call_1","total":3}"#.into()),
    ];
    let message: [(&str, AnyValue); 2] = [
        ("role", "tool".into()),
        (
            "parts",
            [part.into_iter().collect::<AnyValue>()]
                .into_iter()
                .collect(),
        ),
    ];
    let messages: AnyValue = [message.into_iter().collect::<AnyValue>()]
        .into_iter()
        .collect();
    let mut record = logger.create_log_record();
    record.set_event_name("gen_ai.client.inference.operation.details");
    record.add_attribute("gen_ai.input.messages", messages);
    record.add_attribute("gen_ai.usage.input_tokens", 12);
    record
}

#[test]
fn every_pipeline_strips_the_events_of_generative_instrumentations() {
    for (transport, place) in pipelines() {
        let receiver = Receiver::start(Answer::Accept);
        let provider = logger_provider(transport, place, &receiver);
        let logger = provider.logger("host");
        let mut message = logger.create_log_record();
        message.set_event_name("gen_ai.tool.message");
        message.set_body(tool_message());
        logger.emit(message);
        logger.emit(operation_details(&logger));
        provider.shutdown().unwrap();

        let received = receiver.take();
        let records: Vec<&LogRecord> = received.records().collect();
        let [message, details] = records[..] else {
            panic!("{transport:?} {place:?}: {} records", records.len());
        };
        let body = opened(&value_of(message.body.as_ref().unwrap()));
        assert_eq!(
            body,
            json!({"id": "call_1", "content": {"_id": 7}}),
            "{transport:?} {place:?}"
        );
        assert_eq!(message.event_name, "gen_ai.tool.message");
        let messages = held(&details.attributes, "gen_ai.input.messages");
        let response =
            json!({"type": "tool_call_response", "id": "call_1", "response": {"total": 3}});
        assert_eq!(messages, json!([{"role": "tool", "parts": [response]}]));
        assert_eq!(
            held(&details.attributes, "gen_ai.usage.input_tokens"),
            json!(12)
        );
    }
}

#[test]
fn nothing_else_of_a_record_is_lost() {
    let receiver = Receiver::start(Answer::Accept);
    for transport in [Transport::Http, Transport::Grpc] {
        let exporter = log_exporter(transport, &receiver.endpoint(), PATIENCE);
        let provider = SdkLoggerProvider::builder()
            .with_resource(Resource::builder_empty().with_service_name("host").build())
            .with_simple_exporter(SanitizingLogExporter::new(exporter, Policy::default()))
            .build();
        let logger = provider.logger("host");
        for body in [r#"{"_toolCallId": "call_1"}"#, "{}"] {
            let mut record = logger.create_log_record();
            record.set_event_name("an.event");
            record.set_target("host::module");
            record.set_timestamp(SystemTime::UNIX_EPOCH + Duration::from_nanos(5));
            record.set_observed_timestamp(SystemTime::UNIX_EPOCH + Duration::from_nanos(7));
            record.set_severity_text("WARNING");
            record.set_severity_number(Severity::Warn2);
            let at = elsewhere();
            record.set_trace_context(at.trace_id(), at.span_id(), Some(at.trace_flags()));
            record.add_attribute("twice", 1);
            record.add_attribute("twice", vec_of(["two"]));
            record.set_body(body.into());
            logger.emit(record);
        }
        provider.shutdown().unwrap();
        // The first was written anew and the second passed on: there is no other difference.
        let received = receiver.take();
        let mut records: Vec<LogRecord> = received.records().cloned().collect();
        assert_eq!(value_of(records[0].body.as_ref().unwrap()), json!("{}"));
        assert_eq!(records.len(), 2);
        let second = records.pop().unwrap();
        assert_eq!(records[0], second);
        assert_eq!(
            (second.time_unix_nano, second.observed_time_unix_nano),
            (5, 7)
        );
        assert_eq!(
            (&*second.severity_text, second.severity_number),
            ("WARNING", 14)
        );
        assert_eq!(
            (&*second.event_name, second.attributes.len()),
            ("an.event", 2)
        );
        assert_eq!(second.trace_id, elsewhere().trace_id().to_bytes());
        assert_eq!(second.span_id, elsewhere().span_id().to_bytes());
        assert_eq!(second.flags, 1);
        for request in &received.logs {
            let resource = request.resource_logs[0].resource.as_ref().unwrap();
            assert_eq!(held(&resource.attributes, "service.name"), json!("host"));
            let scope = request.resource_logs[0].scope_logs[0].scope.as_ref();
            assert_eq!(scope.unwrap().name, "host::module");
        }
    }
}

#[test]
fn a_wrapper_changes_what_is_behind_it_and_nothing_else() {
    let text = r#"{"_toolCallId":"call_1","a":1}"#;
    for wrapped_first in [true, false] {
        let [bare, wrapped] = [(); 2].map(|()| InMemoryLogExporter::default());
        let processor = SimpleLogProcessor::new(wrapped.clone());
        let processor = SanitizingLogProcessor::new(processor, Policy::default());
        let builder = SdkLoggerProvider::builder();
        let provider = if wrapped_first {
            builder
                .with_log_processor(processor)
                .with_simple_exporter(bare.clone())
        } else {
            builder
                .with_simple_exporter(bare.clone())
                .with_log_processor(processor)
        }
        .build();
        let logger = provider.logger("host");
        let mut record = logger.create_log_record();
        record.set_body(text.into());
        logger.emit(record);
        let body = |exporter: InMemoryLogExporter| {
            let logs = exporter.get_emitted_logs().unwrap();
            assert_eq!(logs.len(), 1);
            logs[0].record.body().cloned()
        };
        assert_eq!(body(bare), Some(text.into()));
        assert_eq!(body(wrapped), Some(r#"{"a":1}"#.into()));
    }
}

#[test]
fn the_resource_of_logs_is_stripped() {
    let receiver = Receiver::start(Answer::Accept);
    let exporter = log_exporter(Transport::Http, &receiver.endpoint(), PATIENCE);
    let note = KeyValue::new("host.note", r#"{"a":1,"_structureHints":{}}"#);
    let resource = Resource::builder_empty().with_attribute(note).build();
    let provider = SdkLoggerProvider::builder()
        .with_resource(resource)
        .with_batch_exporter(SanitizingLogExporter::new(exporter, Policy::default()))
        .build();
    let logger = provider.logger("host");
    logger.emit(logger.create_log_record());
    provider.shutdown().unwrap();
    let received = receiver.take();
    let resource = received.logs[0].resource_logs[0].resource.as_ref().unwrap();
    let left: Value = held(&resource.attributes, "host.note");
    assert_eq!(left, json!({"a": 1}));
}
