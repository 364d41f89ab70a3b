use super::{RevealPolicy, redact};
use crate::{error::RevealError, failure::Error};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use crossfeed_json::{Document, MAX_DEPTH};
use crossfeed_projection::RevealRules;
use crossfeed_store::{Missing, ResultKind, StoredArtifact, StoredResult, Tombstone};
use crossfeed_wire::{ArtifactId, CallId};
use serde_json::{Value, json};
use std::sync::Arc;

fn rules() -> RevealRules {
    RevealRules::parse([] as [&str; 0], ["pin", "owner.mail"]).unwrap()
}

fn of(kind: ResultKind, bytes: impl Into<Vec<u8>>) -> StoredResult {
    StoredResult::new(Document::new(bytes.into()), kind)
}

/// Judges what is shown of a result; `None`, if it is all of it.
fn check(kind: ResultKind, written: &str, expected: Option<&str>) {
    let shown = redact::result(&of(kind, written), &rules()).unwrap();
    let shown = shown.map(|shown| String::from_utf8(shown.document().raw().to_vec()).unwrap());
    assert_eq!(shown.as_deref(), expected, "{kind:?} {written}");
}

/// The same of a tool result of MCP.
fn check_mcp(written: Value, expected: Option<Value>) {
    let text = written.to_string();
    let expected = expected.map(|expected| expected.to_string());
    check(ResultKind::Mcp, &text, expected.as_deref());
    check(ResultKind::Undeclared, &text, expected.as_deref());
}

#[test]
fn what_is_hidden_is_taken_out_wherever_it_stands() {
    for kind in [ResultKind::Json, ResultKind::Undeclared, ResultKind::Text] {
        check(kind, r#"{"a": 1, "b": [1.50]}"#, None);
        check(kind, r#"{"a":1,"pin":2}"#, Some(r#"{"a":1}"#));
        check(
            kind,
            r#"{"owner":{"mail":1,"id":2},"x":{"owner":{"mail":3}}}"#,
            Some(r#"{"owner":{"id":2},"x":{"owner":{"mail":3}}}"#),
        );
    }
    check(
        ResultKind::Json,
        r#""{\"owner\":{\"mail\":1}}""#,
        Some(r#""{\"owner\":{}}""#),
    );
}

#[test]
fn a_path_begins_at_the_value_whatever_is_around_it() {
    let (own, shown) = (json!({"owner": {"mail": 1}}), json!({"owner": {}}));
    let text = |value: &Value| json!({"type": "text", "text": value.to_string()});
    check_mcp(
        json!({"content": [text(&own)]}),
        Some(json!({"content": [text(&shown)]})),
    );
    check_mcp(
        json!({"content": [text(&own)], "structuredContent": own}),
        Some(json!({"content": [text(&shown)], "structuredContent": shown})),
    );
    let resource = |text: &Value| json!({"uri": "a://b", "text": text.to_string()});
    let part = |value: &Value| json!({"type": "resource", "resource": resource(value)});
    check_mcp(
        json!({"content": [part(&own)]}),
        Some(json!({"content": [part(&shown)]})),
    );
    check(
        ResultKind::Undeclared,
        r#"{"type":"text","value":{"owner":{"mail":1}}}"#,
        Some(r#"{"type":"text","value":{"owner":{}}}"#),
    );
    // And at the root of what is stored.
    check_mcp(
        json!({"content": [], "structuredContent": {}, "_meta": {"pin": 1, "a": 2}}),
        Some(json!({"content": [], "structuredContent": {}, "_meta": {"a": 2}})),
    );
}

#[test]
fn what_cannot_be_judged_is_withheld() {
    check(ResultKind::Text, "no such table", None);
    check(ResultKind::Text, "your pin is 7", Some("[withheld]"));
    check(ResultKind::Text, r#"{"p\u0069n": 7"#, Some("[withheld]"));
    check(ResultKind::Bytes, r#"{"pin": 7}"#, Some("[withheld]"));
    check(ResultKind::Bytes, r#"{"a": 7}"#, None);
    check(
        ResultKind::Json,
        r#""the pin is 7""#,
        Some(r#""[withheld]""#),
    );
    let text = |text: &str| json!({"type": "text", "text": text});
    check_mcp(
        json!({"content": [text("the pin is 7"), text("hello")]}),
        Some(json!({"content": [text("[withheld]"), text("hello")]})),
    );
    let blob = |text: &str| {
        let resource = json!({"uri": "a://b", "blob": STANDARD.encode(text)});
        json!({"content": [{"type": "resource", "resource": resource}]})
    };
    check_mcp(blob(r#"{"pin": 7}"#), Some(blob("{}")));
    check_mcp(blob("{}"), None);
    let wide: Vec<u8> = r#"{"pin": 7}"#.bytes().flat_map(|byte| [byte, 0]).collect();
    let shown = redact::result(&of(ResultKind::Bytes, wide), &rules()).unwrap();
    assert!(shown.is_some());
    // A text may repeat what is hidden beside it.
    check_mcp(
        json!({"content": [text("it is 7"), text("7")], "structuredContent": {"pin": 7}}),
        Some(json!({"content": [text("[withheld]"), text("[withheld]")], "structuredContent": {}})),
    );
    check_mcp(
        json!({"content": [text("it is 7")], "structuredContent": {"a": 7}}),
        None,
    );
    for kind in [ResultKind::Json, ResultKind::Text, ResultKind::Mcp] {
        let deep = "[".repeat(MAX_DEPTH + 1) + &"]".repeat(MAX_DEPTH + 1);
        let error = redact::result(&of(kind, deep), &rules()).unwrap_err();
        let RevealError::Unjudged(_) = error;
        assert_eq!(Error::from(error).code().as_str(), "limit.exceeded");
    }
}

#[test]
fn what_stands_twice_hides_nothing() {
    for kind in [ResultKind::Json, ResultKind::Text, ResultKind::Mcp] {
        check(kind, r#"{"a":{"pin":"x"},"a":2}"#, Some(r#"{"a":2}"#));
        check(kind, r#"{"a":1,"pin":"x","pin":2}"#, Some(r#"{"a":1}"#));
    }
    // What a text holds is judged from its own root.
    let text = r#""{\"a\":{\"pin\":7},\"a\":2}""#;
    check(ResultKind::Json, text, Some(r#""{\"a\":2}""#));
}

#[test]
fn what_goes_makes_no_envelope_of_what_was_none() {
    let part = json!({"type": "text", "text": "{\"owner\":1}"});
    let envelope = json!({"content": [part], "isError": true});
    let wrapper = json!({"type": "text", "value": {"owner": 1}});
    for (kind, own) in [
        (ResultKind::Undeclared, &envelope),
        (ResultKind::Undeclared, &wrapper),
        (ResultKind::Mcp, &wrapper),
    ] {
        let mut whole = own.clone();
        whole["pin"] = json!(1);
        let whole = of(kind, whole.to_string());
        let shown = redact::result(&whole, &rules()).unwrap().unwrap();
        assert_eq!(&shown.document().raw()[..], own.to_string().as_bytes());
        assert_eq!((shown.kind(), shown.failed()), (ResultKind::Json, false));
    }
    // What was one stays one.
    let whole = json!({"content": [part], "_meta": {"pin": 1}});
    let shown = redact::result(&of(ResultKind::Undeclared, whole.to_string()), &rules());
    assert_eq!(shown.unwrap().unwrap().kind(), ResultKind::Mcp);
    let wrapper = json!({"type": "text", "value": {"pin": 1}});
    let shown = redact::result(&of(ResultKind::Undeclared, wrapper.to_string()), &rules());
    assert_eq!(shown.unwrap().unwrap().kind(), ResultKind::Undeclared);
}

#[test]
fn an_envelope_is_judged_as_whoever_sends_it_on_judges_it() {
    for result in [
        json!({"content": [{"type": "x", "pin": 1, "owner": {"mail": 2}}, "pin: 3"]}),
        json!({"content": [{"type": "text", "text": "7"}], "structuredContent": {"pin": 7}}),
        json!({"content": [{"type": "text", "text": "7"}], "structuredContent": {"n": 7}}),
    ] {
        let whole = of(ResultKind::Mcp, result.to_string());
        let sent = rules().redact_result(whole.document().root().unwrap());
        let shown = redact::result(&whole, &rules()).unwrap();
        let shown = shown.map(|shown| shown.document().raw().to_vec());
        assert_eq!(shown, sent.map(|sent| sent.json), "{result}");
    }
}

#[test]
fn what_a_call_failed_with_is_withheld_where_it_names_what_is_hidden() {
    let failed = |kind, text: &str| {
        let result = of(kind, text).with_failed(true).with_tool("t");
        redact::result(&result, &rules()).unwrap()
    };
    assert!(failed(ResultKind::Text, "no such table").is_none());
    for (kind, text) in [
        (ResultKind::Text, "wrong pin"),
        (ResultKind::Json, r#"{"error": {"message": "wrong pin"}}"#),
    ] {
        let shown = failed(kind, text).unwrap();
        assert_eq!(&shown.document().raw()[..], b"[withheld]");
        assert!(shown.failed() && shown.tool() == Some("t"));
    }
    // What says that it failed may be what is hidden.
    let rules = RevealRules::parse([] as [&str; 0], ["*"]).unwrap();
    let result = of(ResultKind::Mcp, r#"{"content": [], "isError": true}"#);
    let shown = redact::result(&result, &rules).unwrap().unwrap();
    assert!(shown.failed());
}

#[test]
fn an_artifact_keeps_its_ids_and_its_block() {
    let (id, call) = (ArtifactId::parse("a").unwrap(), CallId::parse("c").unwrap());
    let made = |data: &'static str, summary: &'static str| {
        StoredArtifact::new(id.clone(), call.clone(), Document::new(data))
            .with_summary(Document::new(summary))
            .with_retrieval_blocked(true)
            .with_tool("t")
    };
    let shown = |made: StoredArtifact| redact::artifact(&made, &rules()).unwrap();
    assert!(shown(made("[1]", "{}")).is_none());
    for (data, summary) in [(r#"{"pin":1}"#, "{}"), ("{}", r#"{"pin":1}"#)] {
        let shown = shown(made(data, summary)).unwrap();
        assert!(shown.is_same_record(&made("{}", "{}")), "{shown:?}");
        assert_eq!(shown.tool(), Some("t"));
    }
}

#[test]
fn a_result_of_no_known_tool_may_be_of_any() {
    let never = |name: &str| RevealRules::parse(["id"], [name]).unwrap();
    let policy = RevealPolicy::default()
        .with_tool("t", never("pin"))
        .with_every_tool(never("key"));
    let hidden = |tool: Option<&str>| {
        let rules = policy.rules(tool);
        ["pin", "key"].map(|name| rules.is_never_name(name))
    };
    assert_eq!(hidden(Some("t")), [true, true]);
    assert_eq!(hidden(Some("u")), [false, true]);
    assert_eq!(hidden(None), [true, true]);
    assert!(policy.hides() && !RevealPolicy::default().hides());
    let own = RevealPolicy::default().with_tool("t", never("pin"));
    assert!(own.hides() && own.hiding(Some("u")).is_none());
}

#[test]
fn how_to_get_it_again_does_not_say_what_was_brought_in() {
    let policy = RevealPolicy::default().with_tool("t", rules());
    let told = |arguments: &str| {
        let tombstone = Tombstone::new(Some(Arc::from("u")), Some(arguments.as_bytes()));
        match policy.forget(Missing::Expired(tombstone)) {
            Missing::Expired(tombstone) => {
                assert_eq!(tombstone.tool(), Some("u"));
                tombstone.arguments().is_some()
            }
            other => panic!("{other:?}"),
        }
    };
    assert!(told(r#"{"q": "x"}"#));
    assert!(!told(r#"{"user": {"pin": 7}}"#));
    assert!(!told(r#"{"user": {"p\u0069n": 7}}"#));
}
