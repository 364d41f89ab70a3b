use super::{
    SanitizingSpanExporter, SanitizingSpanProcessor,
    strip::{strip_span, withhold},
};
use crate::{Outcome, Policy, Redaction};
use crossfeed_projection::WITHHELD;
use opentelemetry::{
    Array, Context, InstrumentationScope, KeyValue, SpanId, StringValue, TraceFlags, TraceId,
    Value,
    trace::{Event, Link, SpanContext, SpanKind, Status, TraceState},
};
use opentelemetry_sdk::{
    Resource,
    error::{OTelSdkError, OTelSdkResult},
    trace::{Span, SpanData, SpanEvents, SpanExporter, SpanLinks, SpanProcessor},
};
use parking_lot::Mutex;
use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

const RESULT: &str = "gen_ai.tool.call.result";
const TEXT: &str = r#"{"_toolCallId":"call_1","_rank":1,"n":2}"#;

fn span(attributes: Vec<KeyValue>) -> SpanData {
    let context = |span: u64| {
        let (trace, span) = (TraceId::from(7), SpanId::from(span));
        SpanContext::new(
            trace,
            span,
            TraceFlags::SAMPLED,
            false,
            TraceState::default(),
        )
    };
    let mut events = SpanEvents::default();
    let noted = vec![
        KeyValue::new("content", TEXT),
        KeyValue::new("_structureHints", 1),
    ];
    events
        .events
        .push(Event::new("an event", SystemTime::UNIX_EPOCH, noted, 1));
    let mut links = SpanLinks::default();
    let noted = vec![
        KeyValue::new("host.note", TEXT),
        KeyValue::new("a._toolCallId", 1),
    ];
    links.links.push(Link::new(context(2), noted, 2));
    SpanData {
        span_context: context(1),
        parent_span_id: SpanId::from(3),
        parent_span_is_remote: true,
        span_kind: SpanKind::Client,
        name: "a span".into(),
        start_time: SystemTime::UNIX_EPOCH,
        end_time: SystemTime::UNIX_EPOCH + Duration::from_secs(1),
        attributes,
        dropped_attributes_count: 3,
        events,
        links,
        status: Status::error(TEXT),
        instrumentation_scope: InstrumentationScope::builder("host").build(),
    }
}

/// What is left of one attribute.
fn check(policy: &Policy, name: &'static str, value: impl Into<Value>, expected: Option<Value>) {
    let value = value.into();
    let mut stripped = span(vec![KeyValue::new(name, value.clone())]);
    strip_span(policy, &mut stripped);
    let left = stripped
        .attributes
        .first()
        .map(|attribute| &attribute.value);
    assert_eq!(left, expected.as_ref(), "{name} = {value:?}");
    let dropped = 3 + u32::from(expected.is_none());
    assert_eq!(stripped.dropped_attributes_count, dropped);
}

fn strings(texts: &[&'static str]) -> Value {
    let texts = texts.iter().map(|text| StringValue::from(*text));
    Value::Array(Array::String(texts.collect()))
}

#[test]
fn strings_and_lists_of_strings_are_stripped() {
    let policy = Policy::default();
    check(&policy, RESULT, TEXT, Some(r#"{"n":2}"#.into()));
    check(
        &policy,
        "host.note",
        TEXT,
        Some(r#"{"_rank":1,"n":2}"#.into()),
    );
    let texts = strings(&[TEXT, "prose", TEXT]);
    let left = strings(&[r#"{"n":2}"#, "prose", r#"{"n":2}"#]);
    check(&policy, RESULT, texts, Some(left));
    let numbers = || Value::Array(Array::F64(vec![1.0, f64::INFINITY]));
    let hash = Policy::default().with_redaction(Redaction::Hash);
    let Outcome::Text(hashed) = hash.strip(RESULT, r#"[1,"inf"]"#) else {
        panic!("no hash");
    };
    check(&hash, RESULT, numbers(), Some(hashed.into()));
    let Outcome::Text(hashed) = hash.strip(RESULT, r#"["{\"n\":2}","a"]"#) else {
        panic!("no hash");
    };
    check(&hash, RESULT, strings(&[TEXT, "a"]), Some(hashed.into()));
    check(&policy, "_toolCallId", "call_1", None);
    check(&policy, "gen_ai.tool.call.result._rank", 1, None);
}

#[test]
fn other_values_stay() {
    let policy = Policy::default();
    for value in [
        Value::Bool(true),
        Value::I64(-1),
        Value::F64(f64::INFINITY),
        Value::Array(Array::Bool(vec![true])),
        Value::Array(Array::I64(vec![1, 2])),
        Value::Array(Array::F64(vec![1.5])),
        strings(&[]),
        "no JSON: \"_toolCallId\"".into(),
    ] {
        check(&policy, RESULT, value.clone(), Some(value));
    }
}

#[test]
fn what_a_policy_withholds_by_name_is_withheld_of_any_kind() {
    let policy = Policy::default().with_redaction(Redaction::Drop);
    let values = [
        Value::I64(7),
        Value::Bool(true),
        Value::Array(Array::F64(vec![1.5])),
        strings(&["a"]),
        "a".into(),
    ];
    for value in values.clone() {
        check(&policy, RESULT, value.clone(), None);
        check(&policy, "host.note", value.clone(), Some(value));
    }
    let policy = Policy::default().with_redaction(Redaction::Hash);
    for value in values {
        let mut stripped = span(vec![KeyValue::new(RESULT, value.clone())]);
        strip_span(&policy, &mut stripped);
        assert_ne!(stripped.attributes[0].value, value);
    }
}

#[test]
fn a_list_of_texts_is_cut_as_one_text_is() {
    let policy = Policy::default().with_max_bytes(100);
    let many = |number: usize| strings(&vec!["ten bytes."; number]);
    check(&policy, "host.note", many(10), Some(many(10)));
    let mut left = vec!["ten bytes."; 3];
    left.push("[cut: left out 999997 of 1000000 texts]");
    check(&policy, "host.note", many(1_000_000), Some(strings(&left)));
    let empty = strings(&["[cut: left out 65 of 101 texts]"]);
    let Value::Array(Array::String(note)) = empty else {
        panic!("no list");
    };
    let mut left = vec![StringValue::from(""); 36];
    left.extend(note);
    let left = Value::Array(Array::String(left));
    check(&policy, "host.note", strings(&[""; 101]), Some(left));
    let text: &'static str = "x".repeat(101).leak();
    let mut span = span(vec![KeyValue::new("host.note", strings(&[text]))]);
    strip_span(&policy, &mut span);
    let Value::Array(Array::String(texts)) = &span.attributes[0].value else {
        panic!("no list");
    };
    assert!(
        texts.len() == 1 && texts[0].as_str().starts_with("xxx"),
        "{texts:?}"
    );
}

#[test]
fn attributes_without_a_namespace_are_those_of_their_event() {
    let policy = Policy::default().with_redaction(Redaction::Drop);
    let names = ["content", "role", "gen_ai.system"];
    for (event, left) in [
        ("gen_ai.tool.message", &names[1..]),
        ("an.event", &names[..]),
    ] {
        let mut before = span(vec![]);
        before.events.events[0].name = event.into();
        before.events.events[0].attributes = names.map(|name| KeyValue::new(name, "a")).into();
        strip_span(&policy, &mut before);
        let attributes = &before.events.events[0].attributes;
        let kept: Vec<_> = attributes.iter().map(|kv| kv.key.as_str()).collect();
        assert_eq!(kept, left, "{event}");
    }
}

#[test]
fn every_text_of_a_span_is_stripped_and_nothing_else_changes() {
    let twice = KeyValue::new("host.note", TEXT);
    let before = span(vec![twice.clone(), KeyValue::new("n", 1), twice]);
    let mut after = before.clone();
    after.name = TEXT.into();
    after.events.events[0].name = TEXT.into();
    strip_span(&Policy::default(), &mut after);

    let left = r#"{"_rank":1,"n":2}"#;
    let mut expected = before;
    expected.name = left.into();
    expected.attributes[0].value = left.into();
    expected.attributes[2].value = left.into();
    let event = &mut expected.events.events[0];
    event.name = left.into();
    event.attributes = vec![KeyValue::new("content", left)];
    event.dropped_attributes_count = 2;
    let link = &mut expected.links.links[0];
    link.attributes = vec![KeyValue::new("host.note", left)];
    link.dropped_attributes_count = 3;
    expected.status = Status::error(left);
    assert_eq!(after, expected);
    strip_span(&Policy::default(), &mut after);
    assert_eq!(after, expected, "stripping twice is stripping once");
}

#[test]
fn the_kind_of_a_span_says_what_its_output_is() {
    let output = |kind: &'static str| {
        let kind = KeyValue::new("openinference.span.kind", kind);
        let mut span = span(vec![KeyValue::new("output.value", TEXT), kind]);
        strip_span(&Policy::default(), &mut span);
        span.attributes[0].value.to_string()
    };
    let linked = |kind: &'static str| {
        let mut span = span(vec![KeyValue::new("openinference.span.kind", kind)]);
        for attributes in [
            &mut span.links.links[0].attributes,
            &mut span.events.events[0].attributes,
        ] {
            *attributes = vec![KeyValue::new("output.value", TEXT)];
        }
        strip_span(&Policy::default(), &mut span);
        [
            span.links.links[0].attributes[0].value.to_string(),
            span.events.events[0].attributes[0].value.to_string(),
        ]
    };
    assert_eq!(linked("TOOL"), [r#"{"n":2}"#; 2]);
    assert_eq!(linked("LLM"), [r#"{"_rank":1,"n":2}"#; 2]);
    assert_eq!(output("TOOL"), r#"{"n":2}"#);
    assert_eq!(output("LLM"), r#"{"_rank":1,"n":2}"#);
}

#[test]
fn a_rule_may_drop_or_panic_and_nothing_unwinds() {
    let policy = Policy::default().with_rule(|attribute, text| match attribute {
        "host.note" => panic!("{text}"),
        "" => Outcome::Dropped,
        _ => Outcome::Unchanged,
    });
    let mut stripped = span(vec![KeyValue::new("host.note", TEXT)]);
    strip_span(&policy, &mut stripped);
    assert_eq!(stripped.attributes[0].value.as_str(), crate::FAILED);
    // A name there must be, and that it failed is no payload.
    assert_eq!(stripped.name, WITHHELD);
    assert_eq!(stripped.status, Status::error(""));
}

#[test]
fn of_a_span_that_is_withheld_only_its_place_is_left() {
    let mut withheld = span(vec![KeyValue::new("a", TEXT), KeyValue::new("b", TEXT)]);
    withheld.events.dropped_count = 4;
    withheld.links.dropped_count = 5;
    let note = KeyValue::new("host.note", TEXT);
    withheld.instrumentation_scope = InstrumentationScope::builder(TEXT)
        .with_attributes([note])
        .build();
    let before = withheld.clone();
    withhold(&mut withheld);
    assert!(!format!("{withheld:?}").contains("call_1"));
    assert_eq!(withheld.span_context, before.span_context);
    assert_eq!(withheld.parent_span_id, before.parent_span_id);
    assert_eq!(
        [withheld.start_time, withheld.end_time],
        [before.start_time, before.end_time]
    );
    assert_eq!(withheld.dropped_attributes_count, 5);
    assert_eq!(
        [withheld.events.dropped_count, withheld.links.dropped_count],
        [5, 6]
    );
    assert_eq!(withheld.status, Status::error(""));
}

/// Notes what it is asked.
#[derive(Clone, Debug, Default)]
struct Witness(Arc<Mutex<Vec<String>>>);

impl Witness {
    fn note(&self, what: impl Into<String>) -> OTelSdkResult {
        let what = what.into();
        self.0.lock().push(what.clone());
        Err(OTelSdkError::InternalFailure(what))
    }

    fn noted(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock())
    }
}

impl SpanExporter for Witness {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        self.note(format!("export {}", batch[0].attributes[0].value))
    }
    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.note(format!("shutdown_with_timeout {timeout:?}"))
    }
    fn shutdown(&self) -> OTelSdkResult {
        self.note("shutdown")
    }
    fn force_flush(&self) -> OTelSdkResult {
        self.note("force_flush")
    }
    fn set_resource(&mut self, resource: &Resource) {
        let _ = self.note(format!("set_resource {:?}", resource.iter().next()));
    }
}

impl SpanProcessor for Witness {
    fn on_start(&self, _: &mut Span, _: &Context) {
        let _ = self.note("on_start");
    }
    fn on_end(&self, span: SpanData) {
        let _ = self.note(format!("on_end {}", span.attributes[0].value));
    }
    fn force_flush(&self) -> OTelSdkResult {
        self.note("force_flush")
    }
    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.note(format!("shutdown_with_timeout {timeout:?}"))
    }
    fn shutdown(&self) -> OTelSdkResult {
        self.note("shutdown")
    }
    fn set_resource(&mut self, resource: &Resource) {
        let _ = self.note(format!("set_resource {:?}", resource.iter().next()));
    }
}

fn resource() -> Resource {
    let note = KeyValue::new("host.note", r#"{"_toolCallId":1}"#);
    Resource::builder_empty().with_attribute(note).build()
}

const SET: &str = r#"set_resource Some((Static("host.note"), String(Owned("{}"))))"#;

#[test]
fn every_method_of_an_exporter_is_forwarded_and_its_answer_given() {
    let witness = Witness::default();
    let mut exporter = SanitizingSpanExporter::new(witness.clone(), Policy::default());
    exporter.set_resource(&resource());
    let second = Duration::from_secs(1);
    let batch = vec![span(vec![KeyValue::new(RESULT, TEXT)])];
    let mut export = Box::pin(exporter.export(batch));
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    let exported = export.as_mut().poll(&mut context);
    assert!(
        matches!(exported, std::task::Poll::Ready(Err(_))),
        "{exported:?}"
    );
    drop(export);
    let said = [
        exporter.force_flush(),
        exporter.shutdown(),
        exporter.shutdown_with_timeout(second),
    ];
    assert!(said.iter().all(Result::is_err), "{said:?}");
    let expected = [
        SET,
        r#"export {"n":2}"#,
        "force_flush",
        "shutdown",
        "shutdown_with_timeout 1s",
    ];
    assert_eq!(witness.noted(), expected);
}

#[test]
fn every_method_of_a_processor_is_forwarded_and_its_answer_given() {
    use opentelemetry::trace::{Span as _, SpanBuilder, Tracer as _, TracerProvider as _};
    use opentelemetry_sdk::trace::SdkTracerProvider;
    let witness = Witness::default();
    let processor = SanitizingSpanProcessor::new(witness.clone(), Policy::default());
    let provider = SdkTracerProvider::builder()
        .with_resource(resource())
        .with_span_processor(processor)
        .build();
    let result = KeyValue::new(RESULT, TEXT);
    let builder = SpanBuilder::from_name("a span").with_attributes([result]);
    provider.tracer("host").build(builder).end();
    assert!(provider.force_flush().is_err());
    assert!(provider.shutdown().is_err());
    let noted = witness.noted();
    let expected = [SET, "on_start", r#"on_end {"n":2}"#, "force_flush"];
    assert_eq!(noted[..4], expected);
    assert!(noted[4].starts_with("shutdown_with_timeout"), "{noted:?}");

    let processor = SanitizingSpanProcessor::new(witness.clone(), Policy::default());
    assert!(processor.shutdown().is_err());
    assert_eq!(witness.noted(), ["shutdown"]);
}
