//! What is brought into the context, and what is noted of it.

use crate::{
    ContextOptions, Engine, EngineOptions, HintDetail, RenderOptions, Retrieved, Session,
    ToolResult,
};
use crossfeed_wire::{CallId, Scope};
use futures_util::FutureExt;
use serde_json::{Value, json};

/// A session of a model with a small context, with one result: call `c`. A result or artifact
/// may take 30 tokens of it.
fn session_with(result: ToolResult) -> (Session, CallId) {
    let context = ContextOptions::default().with_window(100);
    let engine = Engine::in_memory(EngineOptions::default().with_context(context));
    let session = engine.session(Scope::parse("t", "p", "s").unwrap());
    let call_id = CallId::parse("c").unwrap();
    let recorded = session.record(&call_id, result);
    recorded.now_or_never().unwrap().unwrap();
    (session, call_id)
}

fn retrieve(session: &Session, id: &CallId, select: Option<&str>) -> Retrieved {
    let retrieved = session.retrieve(id, select).now_or_never().unwrap();
    retrieved.unwrap()
}

/// Judges what is brought of a result: its bytes, or else the status.
fn check(result: ToolResult, select: Option<&str>, expected: &str) {
    let (session, id) = session_with(result);
    match retrieve(&session, &id, select) {
        Retrieved::Data { json, tokens, .. } => {
            let json = String::from_utf8(json).unwrap();
            assert_eq!(json, expected);
            assert_eq!(tokens, json.chars().count().div_ceil(4));
        }
        other => assert_eq!(other.status(), expected),
    }
}

#[test]
fn what_fits_comes_in_the_bytes_in_which_it_came() {
    let result = || ToolResult::json(r#"{ "a": [1.50, 2],"_toolCallId": "x" , "b": 1e400 }"#);
    check(result(), None, r#"{ "a": [1.50, 2], "b": 1e400 }"#);
    check(result(), Some("a"), "[1.50, 2]");
    check(ToolResult::text("two\nlines"), None, r#""two\nlines""#);
    check(ToolResult::text(r#"{"a":  1}"#), None, r#"{"a":  1}"#);
    let mcp = ToolResult::mcp(
        r#"{"content": [{"type": "text", "text": "x"}], "structuredContent": {"a":  1}}"#,
    );
    check(mcp, None, r#"{"a":  1}"#);
    check(ToolResult::text("no such table").failed(), None, "failed");
    check(
        ToolResult::json(json!("x".repeat(200)).to_string()),
        None,
        "oversized",
    );
}

#[test]
fn what_was_shown_whole_is_not_brought_again_unless_asked() {
    let (session, id) = session_with(ToolResult::json(r#"{"a": 1, "b": 2}"#));
    assert_eq!(retrieve(&session, &id, Some("a")).status(), "data");
    assert_eq!(retrieve(&session, &id, None).status(), "data");
    assert_eq!(retrieve(&session, &id, None).status(), "already_shown");
    assert_eq!(retrieve(&session, &id, Some("a")).status(), "data");
    let again = session.retrieve_again(&id).now_or_never().unwrap().unwrap();
    assert_eq!(again.status(), "data");
    assert!(again.error_body().is_none());
    // A rendering that is whole counts as well, one that describes does not.
    for (result, expected) in [
        (ToolResult::json("[1]"), "already_shown"),
        (ToolResult::bytes("x", "a/b"), "data"),
    ] {
        let (session, id) = session_with(result);
        let options = RenderOptions::default()
            .with_whole_tokens(20)
            .with_preview_tokens(40);
        let rendered = session.render(&id, &options).now_or_never().unwrap();
        let rendered = rendered.unwrap();
        assert_eq!(
            retrieve(&session, &id, None).status(),
            expected,
            "{rendered:?}"
        );
    }
}

#[test]
fn what_is_too_large_says_how_to_reach_it() {
    let record = json!({"title": "some title", "text": "x".repeat(60)});
    let value = json!({"total": 7, "by_name": {"items": vec![record; 50]}});
    let oversized = |result: ToolResult, select: Option<&str>| {
        let (session, id) = session_with(result);
        let retrieved = retrieve(&session, &id, select);
        let body = retrieved.error_body().unwrap();
        let Retrieved::Oversized(oversized) = retrieved else {
            panic!("{retrieved:?}");
        };
        if let Some(select) = &oversized.select {
            assert_eq!(
                retrieve(&session, &id, Some(select)).status(),
                "data",
                "{select}"
            );
        }
        assert!(session.usage().errors > 0);
        (oversized, body)
    };
    let (whole, body) = oversized(ToolResult::json(value.to_string()), None);
    assert_eq!(body.code, "limit.exceeded");
    assert_eq!(
        body.message,
        format!(
            "the result takes {} tokens, and at most 30 may be brought into the context: Object with 2 keys: total, by_name",
            value.to_string().len().div_ceil(4)
        )
    );
    assert_eq!(
        body.advice.unwrap(),
        "try: by_name.items[0]; a reference without a selector still passes all of it to a tool"
    );
    assert_eq!(whole.limit, 30);
    let (part, body) = oversized(
        ToolResult::json(value.to_string()),
        Some("by_name.items[*]"),
    );
    assert_eq!(part.outline.to_string(), "Array with 50 items");
    assert_eq!(part.select.as_deref(), Some("by_name.items[*] | [0]"));
    assert!(body.message.contains("Array with 50 items"));
    let (text, _) = oversized(ToolResult::text("line\n".repeat(100)), None);
    assert_eq!(
        text.outline.to_string(),
        "String: 500 characters, 100 lines"
    );
    assert_eq!(text.select, None);
}

#[test]
fn what_is_not_there_says_why() {
    let (session, _) = session_with(ToolResult::json("1"));
    let other = CallId::parse("other").unwrap();
    let missing = retrieve(&session, &other, None);
    assert_eq!(missing.status(), "unknown");
    assert_eq!(missing.error_body().unwrap().code, "result.unknown");
    let options = RenderOptions::default();
    let rendered = session.render(&other, &options).now_or_never().unwrap();
    assert_eq!(rendered.unwrap_err().body().code, "result.unknown");
    let (session, id) = session_with(ToolResult::json(r#"{"a": 1}"#));
    let missed = session.retrieve(&id, Some("b")).now_or_never().unwrap();
    assert_eq!(missed.unwrap_err().body().code, "select.matched_nothing");
}

#[test]
fn the_account_has_what_was_shown() {
    let value = json!(vec![json!({"name": "some name"}); 100]);
    let (session, id) = session_with(ToolResult::json(value.to_string()));
    let options = RenderOptions::default().with_budget(100);
    let rendered = session
        .render(&id, &options)
        .now_or_never()
        .unwrap()
        .unwrap();
    let whole = value.to_string().len().div_ceil(4);
    let usage = session.usage();
    assert_eq!(
        (usage.shown, usage.whole),
        (rendered.tokens as u64, whole as u64)
    );
    assert_eq!(rendered.whole_tokens, whole);
    retrieve(&session, &id, Some("[0]"));
    let hints = session
        .hints(&id, HintDetail::Compact)
        .now_or_never()
        .unwrap();
    let hinted = hints
        .unwrap()
        .to_value()
        .to_string()
        .chars()
        .count()
        .div_ceil(4);
    let part = json!({"name": "some name"}).to_string().len().div_ceil(4);
    let usage = session.usage();
    assert_eq!(usage.shown, (rendered.tokens + part + hinted) as u64);
    assert_eq!(usage.whole, whole as u64);
    let _: Value = serde_json::from_str(&rendered.json).unwrap();
}
