//! What leaves through an exporter and what leaves of the same as OTLP/JSON is the same.

use super::by;
use crate::{HashKey, Outcome, Policy, Redaction, SanitizingLogExporter, SanitizingSpanExporter};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use opentelemetry::{
    Array, InstrumentationScope, Key, KeyValue, SpanId, StringValue, TraceId, Value as SpanValue,
    logs::{AnyValue, LogRecord as _, Logger as _, LoggerProvider as _},
    trace::{Event, Link, SpanContext, SpanKind, Status},
};
use opentelemetry_sdk::{
    logs::{InMemoryLogExporter, LogBatch, LogExporter as _, SdkLogRecord, SdkLoggerProvider},
    trace::{InMemorySpanExporter, SpanData, SpanEvents, SpanExporter as _, SpanLinks},
};
use proptest::{collection::vec, prelude::*, sample::select};
use serde_json::{Value, json};
use std::{collections::HashMap, time::SystemTime};

const RESULT: &str = "gen_ai.tool.call.result";

/// Each way in which a policy differs.
fn policies() -> Vec<Policy> {
    let policy = Policy::default;
    let rule = |name: &str, text: &str| match (name, text) {
        ("host.note", _) => Outcome::Dropped,
        ("", "a") => Outcome::Dropped,
        ("", "b") => Outcome::Text("other".to_owned()),
        (_, "1") => Outcome::Text(r#"{"_rank":1,"n":[2.5,true]}"#.to_owned()),
        _ => Outcome::Unchanged,
    };
    vec![
        policy(),
        policy().with_redaction(Redaction::Drop),
        policy().with_redaction(Redaction::Hash),
        policy().with_redaction(Redaction::KeyedHash(HashKey::new("a key"))),
        policy().with_max_bytes(96),
        policy().with_max_bytes(100).with_redaction(Redaction::Hash),
        policy().with_never(["n"]).unwrap(),
        policy().with_kept(["_rank"]).with_rule(rule),
    ]
}

fn number(number: f64) -> Value {
    if number.is_finite() {
        json!({"doubleValue": number})
    } else {
        json!({"doubleValue": number.to_string()})
    }
}

fn any_of_span(value: &SpanValue) -> Value {
    fn list<T>(items: &[T], any: impl Fn(&T) -> Value) -> Value {
        json!({"arrayValue": {"values": items.iter().map(any).collect::<Vec<_>>()}})
    }
    let text = |text: &StringValue| json!({"stringValue": text.as_str()});
    let int = |number: &i64| json!({"intValue": number.to_string()});
    let flag = |flag: &bool| json!({"boolValue": flag});
    match value {
        SpanValue::String(value) => text(value),
        SpanValue::I64(value) => int(value),
        SpanValue::F64(value) => number(*value),
        SpanValue::Bool(value) => flag(value),
        SpanValue::Array(Array::String(values)) => list(values, text),
        SpanValue::Array(Array::I64(values)) => list(values, int),
        SpanValue::Array(Array::F64(values)) => list(values, |value| number(*value)),
        SpanValue::Array(Array::Bool(values)) => list(values, flag),
        other => panic!("{other:?}"),
    }
}

fn any_of_log(value: &AnyValue) -> Value {
    match value {
        AnyValue::String(text) => json!({"stringValue": text.as_str()}),
        AnyValue::Int(number) => json!({"intValue": number.to_string()}),
        AnyValue::Double(value) => number(*value),
        AnyValue::Boolean(flag) => json!({"boolValue": flag}),
        AnyValue::Bytes(bytes) => json!({"bytesValue": STANDARD.encode(&**bytes)}),
        AnyValue::ListAny(values) => {
            json!({"arrayValue": {"values": values.iter().map(any_of_log).collect::<Vec<_>>()}})
        }
        AnyValue::Map(members) => {
            let entry =
                |(key, value): (&Key, _)| json!({"key": key.as_str(), "value": any_of_log(value)});
            json!({"kvlistValue": {"values": members.iter().map(entry).collect::<Vec<_>>()}})
        }
        other => panic!("{other:?}"),
    }
}

/// The same with what has no order in one, or no count.
fn comparable(value: Value) -> Value {
    match value {
        Value::Array(items) => items.into_iter().map(comparable).collect(),
        Value::Object(members) => {
            let members = members.into_iter().map(|(key, value)| {
                let mut value = comparable(value);
                if let ("kvlistValue", Some(Value::Array(entries))) =
                    (&*key, value.get_mut("values"))
                {
                    entries.sort_by_key(|entry| entry["key"].to_string());
                }
                (key, value)
            });
            Value::Object(members.collect())
        }
        other => other,
    }
}

fn attributes(attributes: &[KeyValue]) -> Value {
    let attributes = attributes.iter();
    attributes
        .map(|of| json!({"key": of.key.as_str(), "value": any_of_span(&of.value)}))
        .collect()
}

fn json_of_span(span: &SpanData) -> Value {
    let mut json = json!({
        "name": span.name,
        "attributes": attributes(&span.attributes),
        "droppedAttributesCount": span.dropped_attributes_count,
        "events": span.events.iter().map(|event| json!({
            "name": event.name,
            "attributes": attributes(&event.attributes),
            "droppedAttributesCount": event.dropped_attributes_count,
        })).collect::<Vec<_>>(),
        "links": span.links.iter().map(|link| json!({
            "attributes": attributes(&link.attributes),
            "droppedAttributesCount": link.dropped_attributes_count,
        })).collect::<Vec<_>>(),
    });
    if let Status::Error { description } = &span.status {
        json["status"] = json!({"code": 2, "message": description});
    }
    json!({"resourceSpans": [{"scopeSpans": [{"spans": [json]}]}]})
}

fn json_of_record(record: &SdkLogRecord) -> Value {
    let entries = record
        .attributes_iter()
        .map(|(key, value)| json!({"key": key.as_str(), "value": any_of_log(value)}));
    let mut json = json!({
        "eventName": record.event_name().unwrap_or_default(),
        "severityText": record.severity_text().unwrap_or_default(),
        "attributes": entries.collect::<Vec<_>>(),
        "body": record.body().map_or(json!({}), any_of_log),
    });
    // The SDK has no count for records.
    json["droppedAttributesCount"] = json!("none");
    json!({"resourceLogs": [{"scopeLogs": [{"logRecords": [json]}]}]})
}

/// What `policy` leaves of a document.
fn left(policy: &Policy, json: &Value) -> Value {
    comparable(serde_json::from_str(&by(policy, &json.to_string())).unwrap())
}

fn ready<T>(future: impl Future<Output = T>) -> T {
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match Box::pin(future).as_mut().poll(&mut context) {
        std::task::Poll::Ready(given) => given,
        std::task::Poll::Pending => panic!("not ready"),
    }
}

fn check_span(span: &SpanData) {
    for policy in policies() {
        let inner = InMemorySpanExporter::default();
        let exporter = SanitizingSpanExporter::new(inner.clone(), policy.clone());
        ready(exporter.export(vec![span.clone()])).unwrap();
        let exported = inner.get_finished_spans().unwrap();
        let expected = comparable(json_of_span(&exported[0]));
        assert_eq!(left(&policy, &json_of_span(span)), expected, "{policy:?}");
    }
}

fn check_record(record: &SdkLogRecord) {
    for policy in policies() {
        let inner = InMemoryLogExporter::default();
        let exporter = SanitizingLogExporter::new(inner.clone(), policy.clone());
        let scope = InstrumentationScope::default();
        ready(exporter.export(LogBatch::new(&[(record, &scope)]))).unwrap();
        let exported = inner.get_emitted_logs().unwrap();
        let expected = comparable(json_of_record(&exported[0].record));
        assert_eq!(
            left(&policy, &json_of_record(record)),
            expected,
            "{policy:?}"
        );
    }
}

fn span(name: &str, attributes: Vec<KeyValue>) -> SpanData {
    let mut events = SpanEvents::default();
    for name in [name.to_owned(), "gen_ai.tool.message".to_owned()] {
        let event = Event::new(name, SystemTime::UNIX_EPOCH, attributes.clone(), 1);
        events.events.push(event);
    }
    let mut links = SpanLinks::default();
    let link = Link::new(SpanContext::empty_context(), attributes.clone(), 0);
    links.links.push(link);
    SpanData {
        span_context: SpanContext::new(
            TraceId::from(1),
            SpanId::from(1),
            Default::default(),
            false,
            Default::default(),
        ),
        parent_span_id: SpanId::INVALID,
        parent_span_is_remote: false,
        span_kind: SpanKind::Internal,
        name: name.to_owned().into(),
        start_time: SystemTime::UNIX_EPOCH,
        end_time: SystemTime::UNIX_EPOCH,
        attributes,
        dropped_attributes_count: 0,
        events,
        links,
        status: Status::error(name.to_owned()),
        instrumentation_scope: InstrumentationScope::default(),
    }
}

fn record(
    event: Option<&'static str>,
    body: AnyValue,
    attributes: Vec<(String, AnyValue)>,
) -> SdkLogRecord {
    let logger = SdkLoggerProvider::builder().build().logger("host");
    let mut record = logger.create_log_record();
    if let Some(event) = event {
        record.set_event_name(event);
        record.set_severity_text(event);
    }
    record.set_body(body);
    record.add_attributes(attributes);
    record
}

fn name() -> impl Strategy<Value = String> {
    let names = [
        RESULT,
        "gen_ai.input.messages",
        "output.value",
        "content",
        "role",
        "host.note",
        "_toolCallId",
        "gen_ai.tool.call.result._rank",
        "openinference.span.kind",
        "event.name",
    ];
    select(names.to_vec()).prop_map(str::to_owned)
}

fn text() -> impl Strategy<Value = String> {
    let texts = [
        "",
        "a",
        "b",
        "1",
        "TOOL",
        "LLM",
        "gen_ai.tool.message",
        "gen_ai.choice",
        "mentions n",
        r#"{"_toolCallId":"c","_rank":1,"n":[1.50,{"_rank":"é"}]}"#,
        r#"[{"_rank":1},"{\"_toolCallId\":1}"]"#,
        r#""{\"_rank\":1}""#,
        "a text that is longer than what may stay, so that it is cut where there is a cap; and it goes on, on and on",
    ];
    let fixed = select(texts.to_vec()).prop_map(str::to_owned);
    prop_oneof![8 => fixed, 1 => "[ -~é]{0,8}", 1 => "x{250,270}"]
}

fn span_value() -> impl Strategy<Value = SpanValue> {
    let double = || prop_oneof![any::<f64>(), select(vec![1.0, -0.0, 1e300, f64::INFINITY])];
    prop_oneof![
        6 => text().prop_map(SpanValue::from),
        2 => vec(text(), 0..6).prop_map(|texts| {
            SpanValue::Array(Array::String(texts.into_iter().map(StringValue::from).collect()))
        }),
        1 => any::<i64>().prop_map(SpanValue::from),
        1 => double().prop_map(SpanValue::from),
        1 => any::<bool>().prop_map(SpanValue::from),
        1 => vec(any::<i64>(), 0..9).prop_map(|list| SpanValue::Array(list.into())),
        1 => vec(double(), 0..9).prop_map(|list| SpanValue::Array(list.into())),
        1 => vec(any::<bool>(), 0..40).prop_map(|list| SpanValue::Array(list.into())),
    ]
}

fn log_value() -> impl Strategy<Value = AnyValue> {
    let leaf = prop_oneof![
        4 => text().prop_map(AnyValue::from),
        1 => text().prop_map(|text| AnyValue::Bytes(Box::new(text.into_bytes()))),
        1 => vec(any::<u8>(), 0..4).prop_map(|bytes| AnyValue::Bytes(Box::new(bytes))),
        1 => any::<i64>().prop_map(AnyValue::from),
        1 => any::<f64>().prop_map(AnyValue::from),
        1 => any::<bool>().prop_map(AnyValue::from),
    ];
    leaf.prop_recursive(4, 24, 6, |inner| {
        let key = select(vec!["n", "_rank", "_toolCallId", "a._toolCallId", "z", "é"]);
        let members = vec((key, inner.clone()), 0..4);
        prop_oneof![
            vec(inner, 0..6).prop_map(|values| AnyValue::ListAny(Box::new(values))),
            members.prop_map(|members| {
                let members = members
                    .into_iter()
                    .map(|(key, value)| (Key::from(key), value));
                AnyValue::Map(Box::new(members.collect::<HashMap<_, _>>()))
            }),
        ]
    })
}

#[test]
fn spans_are_stripped_alike() {
    let texts = |texts: &[&'static str]| {
        SpanValue::Array(Array::String(
            texts.iter().map(|text| StringValue::from(*text)).collect(),
        ))
    };
    for value in [
        SpanValue::from(1.0),
        SpanValue::Array(vec![1_i64, 2].into()),
        SpanValue::Array(vec![1.0, f64::NAN].into()),
        SpanValue::Array(vec![7_i64; 100].into()),
        SpanValue::Array(Array::I64(Vec::new())),
        texts(&[]),
        texts(&["{\"_rank\":1}", "secret"]),
        texts(&["ten bytes."; 100]),
    ] {
        for name in [RESULT, "content", "host.other"] {
            let attribute = KeyValue::new(name, value.clone());
            check_span(&span("gen_ai.tool.message", vec![attribute]));
        }
    }
    check_span(&span("a", vec![]));
}

#[test]
fn records_are_stripped_alike() {
    let map = AnyValue::Map(Box::new(HashMap::from([(Key::from("_rank"), 1.into())])));
    let list = AnyValue::ListAny(Box::new(vec![map.clone(), r#"{"_rank":1}"#.into()]));
    let named = |name: &'static str| vec![("event.name".to_owned(), name.into())];
    for value in [map, list] {
        for event in [None, Some(""), Some("gen_ai.choice"), Some("a")] {
            check_record(&record(event, value.clone(), named("gen_ai.tool.message")));
            check_record(&record(event, value.clone(), vec![]));
        }
        let attribute = vec![(RESULT.to_owned(), value)];
        check_record(&record(None, "a".into(), attribute));
    }
    let twice = [named("gen_ai.choice"), named("a")].concat();
    check_record(&record(None, "a".into(), twice));
}

proptest! {
    #[test]
    fn any_span_is_stripped_alike(name in text(), list in vec((name(), span_value()), 0..4)) {
        let list = list.into_iter().map(|(key, value)| KeyValue::new(key, value));
        check_span(&span(&name, list.collect()));
    }

    #[test]
    fn any_record_is_stripped_alike(
        event in select(vec![None, Some("a"), Some("b"), Some("gen_ai.choice"), Some(RESULT)]),
        body in log_value(),
        list in vec((name(), log_value()), 0..4),
    ) {
        check_record(&record(event, body, list));
    }
}
