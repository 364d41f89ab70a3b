use super::{SanitizingLogExporter, strip::Stripper};
use crate::{Outcome, Policy, Redaction};
use crossfeed_projection::WITHHELD;
use opentelemetry::{
    InstrumentationScope, Key, KeyValue, SpanId, TraceFlags, TraceId,
    logs::{AnyValue, LogRecord as _, Logger as _, LoggerProvider as _, Severity},
};
use opentelemetry_sdk::{
    Resource,
    error::{OTelSdkError, OTelSdkResult},
    logs::{LogBatch, LogExporter, SdkLogRecord, SdkLoggerProvider},
};
use parking_lot::Mutex;
use std::{
    collections::HashMap,
    sync::Arc,
    thread,
    time::{Duration, SystemTime},
};

const RESULT: &str = "gen_ai.tool.call.result";
const TEXT: &str = r#"{"_toolCallId":"call_1","_rank":1,"n":2}"#;

fn record() -> SdkLogRecord {
    SdkLoggerProvider::builder()
        .build()
        .logger("host")
        .create_log_record()
}

fn map<const N: usize>(members: [(&'static str, AnyValue); N]) -> AnyValue {
    let members = members.map(|(key, value)| (Key::from(key), value));
    AnyValue::Map(Box::new(HashMap::from(members)))
}

fn list<const N: usize>(values: [AnyValue; N]) -> AnyValue {
    AnyValue::ListAny(Box::new(values.into()))
}

fn bytes(text: &str) -> AnyValue {
    AnyValue::Bytes(Box::new(text.as_bytes().to_vec()))
}

/// What is left of an attribute, and that a body of the same fares alike.
fn check(policy: &Policy, name: &'static str, value: AnyValue, expected: Option<AnyValue>) {
    let stripper = Stripper::new(policy.clone());
    let mut before = record();
    before.add_attribute(name, value.clone());
    let after = stripper.strip(&before);
    assert_eq!(
        after.is_none(),
        expected.as_ref() == Some(&value),
        "{name} = {value:?}"
    );
    let after = after.unwrap_or(before);
    let left = after.attributes_iter().next().map(|(_, value)| value);
    assert_eq!(left, expected.as_ref(), "{name} = {value:?}");
    assert!(
        stripper.strip(&after).is_none(),
        "stripping twice is stripping once"
    );
}

#[test]
fn texts_bytes_maps_and_lists_are_stripped() {
    let policy = Policy::default();
    let named = r#"{"_rank":1,"n":2}"#;
    check(&policy, "host.note", TEXT.into(), Some(named.into()));
    check(&policy, RESULT, TEXT.into(), Some(r#"{"n":2}"#.into()));
    check(&policy, RESULT, bytes(TEXT), Some(bytes(r#"{"n":2}"#)));
    check(&policy, "_toolCallId", 1.into(), None);
    let value = map([
        ("_structureHints", map([])),
        ("_rank", 1.into()),
        ("a._toolCallId", 1.into()),
        (
            "inner",
            list([
                map([("_toolCallId", 1.into()), ("_rank", 2.into())]),
                TEXT.into(),
                bytes(TEXT),
            ]),
        ),
    ]);
    let inner = list([map([("_rank", 2.into())]), named.into(), bytes(named)]);
    let left = map([("_rank", 1.into()), ("inner", inner.clone())]);
    check(&policy, "host.note", value.clone(), Some(left));
    check(&policy, RESULT, value, Some(map([("inner", inner)])));
}

#[test]
fn each_item_of_a_list_is_a_text_of_its_own() {
    let value = list([
        map([("_rank", 1.into()), ("n", 2.into())]),
        TEXT.into(),
        list([TEXT.into(), 7.into()]),
    ]);
    let text = || AnyValue::from(r#"{"n":2}"#);
    let left = list([map([("n", 2.into())]), text(), list([text(), 7.into()])]);
    check(&Policy::default(), RESULT, value, Some(left));
}

#[test]
fn a_map_is_hashed_in_the_order_of_its_keys() {
    let hash = Policy::default().with_redaction(Redaction::Hash);
    let keys = ["h", "c", "g", "a", "e", "b", "f", "d"];
    let value = map(keys.map(|key| (key, 1.into())));
    let json = r#"{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1}"#;
    let Outcome::Text(hashed) = hash.strip(RESULT, json) else {
        panic!("no hash");
    };
    let mut before = record();
    before.add_attribute(RESULT, value);
    let after = Stripper::new(hash).strip(&before).unwrap();
    let left = after.attributes_iter().next().map(|(_, value)| value);
    assert_eq!(left, Some(&AnyValue::from(hashed)));
}

#[test]
fn where_and_when_a_record_was_stays() {
    let stripper = Stripper::new(Policy::default());
    let mut before = record();
    let time = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
    before.set_timestamp(time(1));
    before.set_observed_timestamp(time(2));
    before.set_severity_number(Severity::Warn);
    before.set_trace_context(TraceId::from(3), SpanId::from(4), Some(TraceFlags::SAMPLED));
    before.set_body(TEXT.into());
    let after = stripper.strip(&before).unwrap();
    assert_eq!(
        [after.timestamp(), after.observed_timestamp()],
        [Some(time(1)), Some(time(2))]
    );
    assert_eq!(after.severity_number(), Some(Severity::Warn));
    assert_eq!(after.trace_context(), before.trace_context());
}

#[test]
fn what_is_not_stripped_stays_of_its_kind() {
    let kept = || {
        list([
            AnyValue::Int(i64::MIN),
            AnyValue::Double(1.0),
            AnyValue::Double(-0.0),
            AnyValue::Double(1e300),
            AnyValue::Double(f64::NEG_INFINITY),
            AnyValue::Boolean(true),
            AnyValue::Bytes(Box::new(vec![0, 255, b'"'])),
            bytes("12"),
            "12".into(),
            "\u{0}\u{2028}\"\\".into(),
            list([]),
            map([]),
        ])
    };
    let policy = Policy::default();
    check(&policy, "host.note", kept(), Some(kept()));
    let value = map([("_toolCallId", 1.into()), ("kept", kept())]);
    check(&policy, "host.note", value, Some(map([("kept", kept())])));
    for value in [
        7.into(),
        1.5.into(),
        true.into(),
        AnyValue::Bytes(Box::new(vec![255])),
    ] {
        let value: AnyValue = value;
        check(&policy, RESULT, value.clone(), Some(value));
    }
}

#[test]
fn bytes_that_a_lenient_reader_takes_for_json_are_stripped() {
    let before = [&b"{\"_toolCallId\":1,\"a\":\""[..], &[0xff], b"\"}"].concat();
    let after = "{\"a\":\"\u{fffd}\"}";
    check(
        &Policy::default(),
        "host.note",
        AnyValue::Bytes(Box::new(before)),
        Some(bytes(after)),
    );
}

#[test]
fn a_policy_means_the_same_for_maps_as_for_texts() {
    let drop = Policy::default().with_redaction(Redaction::Drop);
    let value = || map([("n", 2.into())]);
    check(&drop, RESULT, value(), None);
    check(&drop, RESULT, 7.into(), None);
    check(&drop, "host.note", value(), Some(value()));

    let hash = Policy::default().with_redaction(Redaction::Hash);
    let Outcome::Text(hashed) = hash.strip(RESULT, r#"{"n":2}"#) else {
        panic!("no hash");
    };
    let stripper = Stripper::new(hash);
    let mut before = record();
    before.add_attribute(RESULT, map([("n", 2.into()), ("_toolCallId", 1.into())]));
    let after = stripper.strip(&before).unwrap();
    let left: Vec<_> = after.attributes_iter().map(|(_, value)| value).collect();
    assert_eq!(left, [&AnyValue::from(hashed)]);

    let never = Policy::default().with_never(["owner.mail"]).unwrap();
    let owner = |left: AnyValue| map([("items", list([map([("owner", left)])]))]);
    let value = owner(map([("mail", "a@b".into()), ("n", 1.5.into())]));
    check(
        &never,
        "host.note",
        value,
        Some(owner(map([("n", 1.5.into())]))),
    );
}

#[test]
fn the_body_of_an_event_is_known_by_the_name_of_the_event() {
    let policy = Policy::default()
        .with_payloads(["an.event"])
        .with_redaction(Redaction::Drop);
    let stripper = Stripper::new(policy);
    for (name, expected) in [
        ("an.event", None),
        ("another", Some(AnyValue::from("text"))),
    ] {
        let mut before = record();
        before.set_event_name(name);
        before.set_body("text".into());
        let after = stripper.strip(&before).unwrap_or(before);
        assert_eq!(after.body(), expected.as_ref(), "{name}");
        let mut before = record();
        before.add_attribute("event.name", name);
        before.set_body("text".into());
        let after = stripper.strip(&before).unwrap_or(before);
        assert_eq!(after.body(), expected.as_ref(), "{name}");
    }
    // Two names: nobody knows which counts.
    let mut before = record();
    before.add_attribute("event.name", "a");
    before.add_attribute("event.name", "b");
    before.add_attribute("content", "text");
    before.set_body("text".into());
    let after = stripper.strip(&before).unwrap();
    let kept: Vec<_> = after.attributes_iter().map(|(key, _)| key).collect();
    assert_eq!(kept, [&Key::new("event.name"); 2]);
    assert_eq!(after.body(), None);
}

/// Lists in lists in maps, with an internal field in the innermost.
fn nested(levels: usize) -> AnyValue {
    let mut value = map([("_toolCallId", 1.into()), ("n", 1.into())]);
    for level in 1..levels {
        value = match level % 2 {
            0 => map([("a", value)]),
            _ => list([value]),
        };
    }
    value
}

/// How many lists and maps are open at most, and the innermost value.
fn innermost(mut value: &AnyValue) -> (usize, &AnyValue) {
    let mut levels = 0;
    loop {
        let inner = match value {
            AnyValue::ListAny(values) => values.first(),
            AnyValue::Map(members) => members.values().next(),
            _ => return (levels, value),
        };
        levels += 1;
        match inner {
            Some(inner) => value = inner,
            None => return (levels, value),
        }
    }
}

#[test]
fn what_lies_too_deep_is_withheld_on_a_small_stack() {
    // To build and to drop such a value takes a stack that no policy has a say in.
    let work = || {
        for (levels, left, last) in [
            (127, 127, AnyValue::Int(1)),
            (128, 127, WITHHELD.into()),
            (100_000, 127, WITHHELD.into()),
        ] {
            let mut before = record();
            before.set_body(nested(levels));
            let stripped = thread::scope(|scope| {
                let stripper = Stripper::new(Policy::default());
                let small = thread::Builder::new().stack_size(512 << 10);
                let before = &before;
                let thread = small.spawn_scoped(scope, move || stripper.strip(before));
                thread.unwrap().join().unwrap().unwrap()
            });
            assert_eq!(
                innermost(stripped.body().unwrap()),
                (left, &last),
                "{levels}"
            );
        }
    };
    let large = thread::Builder::new().stack_size(1 << 30).spawn(work);
    large.unwrap().join().unwrap();
}

#[test]
fn a_record_that_holds_nothing_to_strip_is_passed_by() {
    let stripper = Stripper::new(Policy::default());
    let mut record = record();
    record.set_event_name("an.event");
    record.set_target("a::target");
    record.set_severity_text("WARN");
    record.set_body(map([("content", r#"{"_id":1}"#.into())]));
    record.add_attribute("host.note", r#"{"_rank": 1}"#);
    assert!(stripper.strip(&record).is_none());
}

#[test]
fn names_are_stripped_or_left_out() {
    let stripper = Stripper::new(Policy::default());
    let mut before = record();
    before.set_event_name(TEXT);
    before.set_target(TEXT);
    before.set_severity_text(TEXT);
    before.set_severity_number(Severity::Fatal);
    let after = stripper.strip(&before).unwrap();
    assert_eq!((after.event_name(), after.severity_text()), (None, None));
    assert_eq!(after.target().unwrap(), r#"{"_rank":1,"n":2}"#);
    assert_eq!(after.severity_number(), Some(Severity::Fatal));
}

#[test]
fn a_rule_that_panics_withholds_the_text() {
    let policy = Policy::default().with_rule(|_, text| panic!("{text}"));
    let stripper = Stripper::new(policy);
    let mut before = record();
    before.set_body(map([("a", TEXT.into())]));
    before.add_attribute("host.note", TEXT);
    let after = stripper.strip(&before).unwrap();
    assert_eq!(after.body(), Some(&crate::FAILED.into()));
    assert!(
        after
            .attributes_iter()
            .all(|(_, value)| *value == crate::FAILED.into())
    );
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
}

impl LogExporter for Witness {
    async fn export(&self, batch: LogBatch<'_>) -> OTelSdkResult {
        let bodies: Vec<_> = batch
            .iter()
            .map(|(record, scope)| (record.body().cloned(), scope.name().to_owned()))
            .collect();
        self.note(format!("export {bodies:?}"))
    }
    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.note(format!("shutdown_with_timeout {timeout:?}"))
    }
    fn shutdown(&self) -> OTelSdkResult {
        self.note("shutdown")
    }
    fn event_enabled(&self, level: Severity, target: &str, name: Option<&str>) -> bool {
        let _ = self.note(format!("event_enabled {level:?} {target} {name:?}"));
        false
    }
    fn set_resource(&mut self, resource: &Resource) {
        let _ = self.note(format!("set_resource {:?}", resource.iter().next()));
    }
}

#[test]
fn every_method_is_forwarded_and_its_answer_given() {
    let witness = Witness::default();
    let mut exporter = SanitizingLogExporter::new(witness.clone(), Policy::default());
    let note = KeyValue::new("host.note", r#"{"_toolCallId":1}"#);
    exporter.set_resource(&Resource::builder_empty().with_attribute(note).build());
    assert!(!exporter.event_enabled(Severity::Info, "a::target", Some("a.name")));
    let scope = InstrumentationScope::builder("host").build();
    let [mut first, mut second] = [record(), record()];
    first.set_body("{}".into());
    second.set_body(TEXT.into());
    let records = [(&first, &scope), (&second, &scope)];
    for end in [1, 2] {
        let mut export = Box::pin(exporter.export(LogBatch::new(&records[..end])));
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        let exported = export.as_mut().poll(&mut context);
        assert!(
            matches!(exported, std::task::Poll::Ready(Err(_))),
            "{exported:?}"
        );
    }
    let said = [
        exporter.shutdown(),
        exporter.shutdown_with_timeout(Duration::from_secs(1)),
    ];
    assert!(said.iter().all(Result::is_err), "{said:?}");
    let exported = r#"(Some(String(Static("{}"))), "host")"#;
    let stripped = r#"(Some(String(Owned("{\"_rank\":1,\"n\":2}"))), "host")"#;
    let expected = [
        r#"set_resource Some((Static("host.note"), String(Owned("{}"))))"#.to_owned(),
        r#"event_enabled Info a::target Some("a.name")"#.to_owned(),
        format!("export [{exported}]"),
        format!("export [{exported}, {stripped}]"),
        "shutdown".to_owned(),
        "shutdown_with_timeout 1s".to_owned(),
    ];
    assert_eq!(*witness.0.lock(), expected);
}
