//! What is not as OTLP has it: readers would not agree on what it holds, so it goes.

use super::{by, check, check_value, span};
use crate::{Policy, Redaction};

/// Whatever the policy: an attribute with this value goes, and a body with it is emptied.
fn check_goes(value: &str) {
    let attribute = |value: &str| {
        let list = format!("[{{\"key\":\"gen_ai.tool.call.result\",\"value\":{value}}}]");
        span(&format!("\"attributes\":{list}"))
    };
    let gone = span("\"attributes\":[],\"droppedAttributesCount\":1");
    let drop = Policy::default().with_redaction(Redaction::Drop);
    let hash = Policy::default().with_redaction(Redaction::Hash);
    for policy in [Policy::default(), drop, hash] {
        assert_eq!(by(&policy, &attribute(value)), gone, "{value}");
    }
    let body = format!("{{\"resourceLogs\":[{{\"logRecords\":[{{\"body\":{value}}}]}}]}}");
    let gone = "{\"resourceLogs\":[{\"logRecords\":[{\"body\":{}}]}]}";
    assert_eq!(by(&Policy::default(), &body), gone);
}

#[test]
fn a_value_that_is_none_that_is_known_takes_its_attribute_along() {
    for value in [
        r#"{"futureValue":"{\"_rank\":1}"}"#,
        r#"{"_toolCallId":1}"#,
        r#""secret""#,
        "7",
        r#"["secret"]"#,
        r#"{"stringValue":["secret"]}"#,
        r#"{"stringValue":"a","stringValue":"secret"}"#,
        r#"{"stringValue":"a","intValue":"7"}"#,
        r#"{"bytesValue":7}"#,
        r#"{"intValue":"secret"}"#,
        r#"{"doubleValue":{}}"#,
        r#"{"boolValue":"secret"}"#,
        r#"{"arrayValue":["secret"]}"#,
        r#"{"arrayValue":{"values":["secret"],"more":"secret"}}"#,
        r#"{"arrayValue":{"values":[],"values":["secret"]}}"#,
        r#"{"arrayValue":{"values":["secret"]}}"#,
        r#"{"arrayValue":{"values":"secret"}}"#,
        r#"{"kvlistValue":{"values":["secret"]}}"#,
        r#"{"kvlistValue":{"values":[{"key":"k","value":{"x":"secret"}}]}}"#,
        r#"{"kvlistValue":{"values":[{"key":"k","key":"_rank"}]}}"#,
        r#"{"kvlistValue":{"values":[{"key":"k","value":{},"value":{"stringValue":"secret"}}]}}"#,
        r#"{"kvlistValue":{"values":[{"key":7}]}}"#,
        r#"{"kvlistValue":{"values":[{"key":"k","more":"secret"}]}}"#,
        r#"{"kvlistValue":{"values":[{"key":"k","value":{"arrayValue":{"values":["secret"]}}}]}}"#,
    ] {
        check_goes(value);
    }
    for same in [
        "null",
        "{}",
        r#"{"stringValue":null}"#,
        r#"{"arrayValue":{}}"#,
        r#"{"array_value":{"values":null}}"#,
        r#"{"kvlist_value":{"values":[{},{"key":null,"value":null}]}}"#,
        r#"{"int_value":7}"#,
        r#"{"intValue":1e3}"#,
        r#"{"double_value":"Infinity"}"#,
    ] {
        check_value("gen_ai.tool.call.result", same, same);
    }
}

#[test]
fn members_that_stand_very_often_cost_no_more_than_others() {
    let lists = vec![r#""kvlistValue":{"values":[{"key":"a"}]}"#; 20_000].join(",");
    check_goes(&format!("{{{lists}}}"));
    let keys = r#""key":"a","key":"b","#.repeat(20_000);
    check(
        &format!("\"attributes\":[{{{keys}\"value\":{{\"stringValue\":\"x\"}}}}]"),
        "\"attributes\":[],\"droppedAttributesCount\":1",
    );
}

#[test]
fn an_attribute_is_one_outside_a_list_also() {
    check(
        r#""x":{"key":"_toolCallId","value":{"stringValue":"secret"}}"#,
        r#""x":{}"#,
    );
}
