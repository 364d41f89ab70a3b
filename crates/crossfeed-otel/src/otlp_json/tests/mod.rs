mod alike;
mod documents;
mod laws;
mod odd;

use super::{OtlpJsonError, sanitize_json};
use crate::{Outcome, Policy};
use crossfeed_json::{Document, JsonErrorKind};

/// Sanitizes, by a policy.
fn by(policy: &Policy, json: &str) -> String {
    let document = Document::new(json.to_owned());
    let sanitized = sanitize_json(&document, policy).unwrap();
    String::from_utf8(sanitized.json.into_owned()).unwrap()
}

/// A document of one span with these members.
fn span(members: &str) -> String {
    format!("{{\"resourceSpans\":[{{\"scopeSpans\":[{{\"spans\":[{{{members}}}]}}]}}]}}")
}

/// What becomes of the members of a span by the default policy.
fn check(members: &str, expected: &str) {
    assert_eq!(by(&Policy::default(), &span(members)), span(expected));
}

/// What becomes of the value of an attribute.
fn check_value(name: &str, value: &str, expected: &str) {
    let members = |value| format!("\"attributes\":[{{\"key\":\"{name}\",\"value\":{value}}}]");
    check(&members(value), &members(expected));
}

fn refused(json: &str) -> OtlpJsonError {
    let document = Document::new(json.to_owned());
    sanitize_json(&document, &Policy::default()).unwrap_err()
}

#[test]
fn texts_are_stripped_wherever_they_stand() {
    let text = r#"{\"_toolCallId\":\"c\",\"a\":1.50}"#;
    let left = r#"{\"a\":1.50}"#;
    for form in [
        r#""name":"TEXT""#,
        r#""status":{"message":"TEXT","code":2}"#,
        r#""attributes":[{"key":"a","value":{"stringValue":"TEXT"}}]"#,
        r#""attributes":[{"key":"a","value":{"string_value":"TEXT"}}]"#,
        r#""attributes":[{"value":{"stringValue":"TEXT"},"key":"a"}]"#,
        r#""attributes":[{"key":"a","value":{"arrayValue":{"values":[{"stringValue":"x"},{"stringValue":"TEXT"}]}}}]"#,
        r#""attributes":[{"key":"a","value":{"array_value":{"values":[{"arrayValue":{"values":[{"stringValue":"TEXT"}]}}]}}}]"#,
        r#""events":[{"name":"TEXT","attributes":[{"key":"a","value":{"stringValue":"TEXT"}}]}]"#,
        r#""links":[{"attributes":[{"key":"a","value":{"stringValue":"TEXT"}}]}]"#,
        r#""unknown":[{"field":"TEXT"}]"#,
        r#""attributes":{"a":"TEXT"}"#,
        r#""name":"TEXT","name":"TEXT""#,
    ] {
        check(&form.replace("TEXT", text), &form.replace("TEXT", left));
    }
    let document = |root: &str, text: &str| root.replace("TEXT", text);
    for root in [
        r#"{"resourceSpans":[{"resource":{"attributes":[{"key":"a","value":{"stringValue":"TEXT"}}]}}]}"#,
        r#"{"resource_spans":[{"scope_spans":[{"scope":{"name":"TEXT"}}]}]}"#,
        r#"{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":{"stringValue":"TEXT"}}]}]}]}"#,
        r#"{"resource_logs":[{"scope_logs":[{"log_records":[{"body":{"string_value":"TEXT"}}]}]}]}"#,
        r#"{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"sum":{"dataPoints":[{"asInt":"7","attributes":[{"key":"a","value":{"stringValue":"TEXT"}}],"exemplars":[{"filteredAttributes":[{"key":"a","value":{"stringValue":"TEXT"}}]}]}]}}]}]}]}"#,
        r#" [ {"resourceSpans":[{"schemaUrl":"TEXT"}]}, {} ] "#,
    ] {
        let sanitized = by(&Policy::default(), &document(root, text));
        assert_eq!(sanitized, document(root, left));
    }
}

#[test]
fn escapes_of_the_document_are_undone_first() {
    check(
        r#""name":"\u007b\"\u005ftoolCallId\":1 , \"\\u005ftoolCallId\":2, \"b\":\"\\u00e9\\n\"}""#,
        r#""name":"{ \"b\":\"\\u00e9\\n\"}""#,
    );
    check(
        r#""n\u0061me":"x","\u005ftoolCallId":[1,{}], "_structureHints" : 2 ,"kind":3"#,
        r#""n\u0061me":"x" ,"kind":3"#,
    );
}

#[test]
fn attributes_that_are_internal_go_and_are_counted() {
    let attribute =
        |key: &str| format!("{{\"key\":\"{key}\",\"value\":{{\"stringValue\":\"x\"}}}}");
    let (own, a, b) = (
        attribute("_toolCallId"),
        attribute("a"),
        attribute("tool.result._structureHints"),
    );
    check(
        &format!("\"attributes\":[{own}],\"kind\":1"),
        "\"attributes\":[],\"droppedAttributesCount\":1,\"kind\":1",
    );
    check(
        &format!("\"attributes\":[ {own} , {a} , {b} , {own} ],\"droppedAttributesCount\":2"),
        &format!("\"attributes\":[ {a} ],\"droppedAttributesCount\":5"),
    );
    check(
        &format!("\"dropped_attributes_count\":\"1\",\"attributes\":[{a},{own}]"),
        &format!("\"dropped_attributes_count\":2,\"attributes\":[{a}]"),
    );
    check(
        &format!("\"links\":[{{\"attributes\":[{own}]}}],\"events\":[{{\"attributes\":[{b}]}}]"),
        "\"links\":[{\"attributes\":[],\"droppedAttributesCount\":1}],\
         \"events\":[{\"attributes\":[],\"droppedAttributesCount\":1}]",
    );
    check(
        &format!("\"droppedAttributesCount\":null,\"attributes\":[{own}]"),
        "\"droppedAttributesCount\":1,\"attributes\":[]",
    );
    let scope = |members: &str| format!("{{\"resourceSpans\":[{{\"scope\":{{{members}}}}}]}}");
    assert_eq!(
        by(
            &Policy::default(),
            &scope(&format!("\"attributes\":[{own}]"))
        ),
        scope("\"attributes\":[],\"droppedAttributesCount\":1")
    );
    // One without a value, and one whose key stands twice.
    check(
        r#""attributes":[{"key":"_toolCallId"},{"key":"_toolCallId","key":"a","value":{"intValue":"1"}}]"#,
        r#""attributes":[],"droppedAttributesCount":2"#,
    );
    // A data point has no such count.
    let point = |list: &str| {
        format!("{{\"resourceMetrics\":[{{\"dataPoints\":[{{\"attributes\":[{list}]}}]}}]}}")
    };
    assert_eq!(by(&Policy::default(), &point(&own)), point(""));
}

#[test]
fn a_map_is_the_json_that_it_stands_for() {
    let entry = |key: &str, value: &str| format!("{{\"key\":\"{key}\",\"value\":{value}}}");
    let map =
        |entries: &[String]| format!("{{\"kvlistValue\":{{\"values\":[{}]}}}}", entries.join(","));
    let (number, text) = (
        entry("n", "{\"intValue\":\"9007199254740993\"}"),
        entry("t", "{\"string_value\": \"\\u00e9\"}"),
    );
    let internal = entry("_toolCallId", "{\"boolValue\":true}");
    let inner = map(&[internal.clone(), text.clone()]);
    let given = map(&[
        number.clone(),
        entry("d", "{\"doubleValue\":1.50}"),
        entry("b", "{\"bytesValue\":\"//8=\"}"),
        internal,
        entry("z", "{}"),
        entry("m", &format!("{{\"arrayValue\":{{\"values\":[{inner}]}}}}")),
    ]);
    let expected = map(&[
        number,
        entry("d", "{\"doubleValue\":1.50}"),
        entry("b", "{\"bytesValue\":\"//8=\"}"),
        entry("z", "{}"),
        entry(
            "m",
            &format!("{{\"arrayValue\":{{\"values\":[{}]}}}}", map(&[text])),
        ),
    ]);
    check_value("a", &given, &expected);
    // What changes within keeps its order, and the first of two that share a key its kind.
    let doubles = [
        entry("z", "{\"doubleValue\":1.0}"),
        entry("a", "{\"intValue\":\"1\"}"),
        entry("a", "{\"intValue\":2}"),
        entry("z", "{\"doubleValue\":\"NaN\"}"),
    ];
    let given = [&doubles[..], &[entry("b._toolCallId", "{}")]].concat();
    check_value("a", &map(&given), &map(&doubles));
}

#[test]
fn a_result_loses_its_underscored_keys() {
    let result = "gen_ai.tool.call.result";
    check_value(
        result,
        r#"{"stringValue":"{\"_id\": 1, \"a\": {\"_id\": 2}}"}"#,
        r#"{"stringValue":"{ \"a\": {\"_id\": 2}}"}"#,
    );
    check_value(
        result,
        r#"{"kvlistValue":{"values":[{"key":"_id","value":{"intValue":"1"}},{"key":"a","value":{"kvlistValue":{"values":[{"key":"_id","value":{"intValue":"2"}}]}}}]}}"#,
        r#"{"kvlistValue":{"values":[{"key":"a","value":{"kvlistValue":{"values":[{"key":"_id","value":{"intValue":"2"}}]}}}]}}"#,
    );
    let other = r#"{"stringValue":"{\"_id\": 1}"}"#;
    check_value("gen_ai.input.messages", other, other);
}

#[test]
fn the_attributes_of_a_span_say_what_the_others_hold() {
    let list = |kind: &str, output: &str| {
        format!(
            "\"attributes\":[{{\"key\":\"output.value\",\"value\":{{\"stringValue\":\"{output}\"}}}},\
             {{\"key\":\"openinference.span.kind\",\"value\":{{\"stringValue\":\"{kind}\"}}}}]"
        )
    };
    let output = r#"{\"_id\":1,\"a\":2}"#;
    check(&list("TOOL", output), &list("TOOL", r#"{\"a\":2}"#));
    check(&list("LLM", output), &list("LLM", output));
    let snake = |list: String| list.replace("stringValue", "string_value");
    check(&snake(list("LLM", output)), &snake(list("LLM", output)));
    // What is long is another kind, and what is odd says nothing.
    let long = "x".repeat(300);
    check(&list(&long, output), &list(&long, output));
    let odd = list("LLM\",\"stringValue\":\"TOOL", output);
    check(
        &odd,
        r#""attributes":[{"key":"output.value","value":{"stringValue":"{\"a\":2}"}}],"droppedAttributesCount":1"#,
    );
}

#[test]
fn bytes_that_are_text_are_stripped_as_text() {
    // {"_toolCallId":1,"a":2}
    for written in [
        "eyJfdG9vbENhbGxJZCI6MSwiYSI6Mn0=",
        "eyJfdG9vbENhbGxJZCI6MSwiYSI6Mn0",
    ] {
        check_value(
            "a",
            &format!("{{\"bytesValue\":\"{written}\"}}"),
            "{\"bytesValue\":\"eyJhIjoyfQ==\"}",
        );
    }
    // {"a":"?>?","_toolCallId":1}, in either alphabet.
    for written in [
        "eyJhIjoiPz4/IiwiX3Rvb2xDYWxsSWQiOjF9",
        "eyJhIjoiPz4_IiwiX3Rvb2xDYWxsSWQiOjF9",
    ] {
        check_value(
            "a",
            &format!("{{\"bytesValue\":\"{written}\"}}"),
            "{\"bytesValue\":\"eyJhIjoiPz4/In0=\"}",
        );
    }
    for same in ["//8=", "", "no base64!"] {
        let value = format!("{{\"bytes_value\":\"{same}\"}}");
        check_value("a", &value, &value);
    }
}

#[test]
fn what_the_policy_says_is_done() {
    let policy = Policy::default().with_rule(|name, _| match name {
        "drop" => Outcome::Dropped,
        "other" => Outcome::Text("other \"text\"".to_owned()),
        _ => Outcome::Unchanged,
    });
    let attribute = |key: &str, value: &str| format!("{{\"key\":\"{key}\",\"value\":{{{value}}}}}");
    let all = [
        r#""stringValue":"x""#,
        r#""intValue":"7""#,
        r#""doubleValue":7.5"#,
        r#""boolValue":true"#,
        r#""kvlistValue":{"values":[{"key":"k","value":{"intValue":"7"}}]}"#,
    ];
    for value in all {
        let list =
            |key: &str, value: &str| span(&format!("\"attributes\":[{}]", attribute(key, value)));
        assert_eq!(
            by(&policy, &list("other", value)),
            list("other", r#""stringValue":"other \"text\"""#)
        );
        assert_eq!(
            by(&policy, &list("drop", value)),
            span("\"attributes\":[],\"droppedAttributesCount\":1")
        );
    }
    let items = |items: &str| {
        span(&format!(
            "\"attributes\":[{}]",
            attribute("other", &format!("\"arrayValue\":{{\"values\":[{items}]}}"))
        ))
    };
    assert_eq!(
        by(
            &policy,
            &items(r#"{"stringValue":"a"},{"bytesValue":"YQ=="}"#)
        ),
        items(r#"{"stringValue":"other \"text\""},{"bytesValue":"b3RoZXIgInRleHQi"}"#)
    );
    // A body is known by the name of its event.
    let record = |name: &str, body: &str| {
        format!("{{\"resourceLogs\":[{{\"logRecords\":[{{{name},\"body\":{body}}}]}}]}}")
    };
    let text = r#"{"stringValue":"x"}"#;
    for name in [
        r#""eventName":"drop""#,
        r#""event_name":"drop""#,
        r#""attributes":[{"key":"event.name","value":{"stringValue":"drop"}}]"#,
    ] {
        assert_eq!(by(&policy, &record(name, text)), record(name, "{}"));
    }
}

#[test]
fn what_must_stand_stays_where_nothing_may_leave() {
    let policy = Policy::default().with_rule(|_, _| Outcome::Dropped);
    let ids = r#""traceId":"4bf92f3577b34da6a3ce929d0e0e4736","span_id":"00f067aa0ba902b7","parentSpanId":"","trace_id":"","startTimeUnixNano":"1544712660000000000","kind":"SPAN_KIND_CLIENT","traceState":"a=1,b=2","droppedEventsCount":"2""#;
    let status = |message: &str| format!("\"status\":{{\"code\":\"2\",\"message\":\"{message}\"}}");
    assert_eq!(
        by(
            &policy,
            &span(&format!("{ids},\"name\":\"x\",{}", status("x")))
        ),
        span(&format!("{ids},\"name\":\"[withheld]\",{}", status("")))
    );
    let point = r#"{"resourceMetrics":[{"dataPoints":[{"asInt":"7","count":"1","bucketCounts":["1","2"]}]}]}"#;
    assert_eq!(by(&policy, point), point);
}

#[test]
fn what_changes_is_counted() {
    let count = |members: &str| {
        let document = Document::new(span(members));
        let sanitized = sanitize_json(&document, &Policy::default()).unwrap();
        (sanitized.changed, sanitized.dropped)
    };
    assert_eq!(count("\"name\":\"x\""), (0, 0));
    assert_eq!(count(r#""name":"{\"_toolCallId\":1}""#), (1, 0));
    assert_eq!(
        count(r#""_toolCallId":1,"attributes":[{"key":"_toolCallId"}]"#),
        (0, 2)
    );
}

#[test]
fn what_is_no_otlp_is_refused() {
    for json in [
        "1",
        "\"x\"",
        "null",
        "[1]",
        "{\"spans\":[]}",
        "[{\"resourceSpans\":[]},{\"data\":[]}]",
        "[[{}]]",
        "{\"resourceProfiles\":[]}",
        "{\"resourceSpans\":[],\"resource_profiles\":[]}",
    ] {
        assert_eq!(refused(json), OtlpJsonError::NotOtlp, "{json}");
    }
    for same in ["{}", "[]", "[{}]", "{\"resourceSpans\":null}"] {
        assert_eq!(by(&Policy::default(), same), same);
    }
    for (json, kind) in [
        ("", JsonErrorKind::UnexpectedEnd),
        ("{\"resourceSpans\":[", JsonErrorKind::UnexpectedEnd),
        ("{\"resourceSpans\":[}", JsonErrorKind::Syntax),
    ] {
        let error = refused(json);
        assert!(
            matches!(error, OtlpJsonError::NotJson(error) if error.kind == kind),
            "{error:?}"
        );
    }
}

#[test]
fn what_is_too_deep_is_refused_and_what_is_deep_is_not() {
    let nested = |depth: usize| span(&format!("\"x\":{}{}", "[".repeat(depth), "]".repeat(depth)));
    assert_eq!(by(&Policy::default(), &nested(100)), nested(100));
    for depth in [128, 100_000] {
        let error = refused(&nested(depth));
        assert!(
            matches!(error, OtlpJsonError::NotJson(error) if error.kind == JsonErrorKind::TooDeep),
            "{error:?}"
        );
    }
    // Deep JSON in a string is no depth of the document.
    let deep = "[".repeat(100_000) + &"]".repeat(100_000);
    check(
        &format!("\"name\":\"{{\\\"_toolCallId\\\":1,\\\"a\\\":{deep}}}\""),
        &format!("\"name\":\"{{\\\"a\\\":{deep}}}\""),
    );
}
