//! What is brought into the context, and what is noted of it.

use crate::{
    ContextOptions, Engine, EngineOptions, HintDetail, NewArtifact, ParameterSchema, RenderOptions,
    Retrieval, Retrieved, Session, ToolResult,
};
use crossfeed_json::Document;
use crossfeed_store::StoredArtifact;
use crossfeed_wire::{ArtifactId, CallId, Scope};
use futures_util::FutureExt;
use serde_json::{Value, json};

/// A session of a model with a small context, with one result: call `c`. A result or artifact
/// may take 30 tokens of it.
fn session_with(result: ToolResult) -> (Session, CallId) {
    session_within(100, result)
}

fn session_within(window: usize, result: ToolResult) -> (Session, CallId) {
    let context = ContextOptions::default().with_window(window);
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
    let again = session
        .retrieve(&id, Retrieval::again())
        .now_or_never()
        .unwrap()
        .unwrap();
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
    let (session, id) = session_within(200, ToolResult::json(value.to_string()));
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

#[test]
fn what_was_recorded_anew_was_not_shown() {
    let (session, id) = session_with(ToolResult::json("[1]"));
    assert_eq!(retrieve(&session, &id, None).status(), "data");
    assert_eq!(retrieve(&session, &id, None).status(), "already_shown");
    let whole = session.usage().whole;
    // It goes, as one that expires does, and the id comes again with other data.
    let store = &session.inner().store;
    let removed = store.remove_session(&session.scope).now_or_never();
    removed.unwrap().unwrap();
    let again = session.record(&id, ToolResult::json("[2]"));
    again.now_or_never().unwrap().unwrap();
    assert_eq!(retrieve(&session, &id, None).status(), "data");
    assert_eq!(retrieve(&session, &id, None).status(), "already_shown");
    assert_eq!(session.usage().whole, 2 * whole);
}

/// Judges what a selector brings of an artifact whose record blocks it.
fn check_blocked(data: &str, select: Option<&str>, expected: &str) {
    let (session, id) = session_with(ToolResult::json("1"));
    let artifact_id = ArtifactId::parse("a").unwrap();
    let artifact = StoredArtifact::new(
        artifact_id.clone(),
        id.clone(),
        Document::new(data.to_owned()),
    )
    .with_retrieval_blocked(true);
    let recorded = session.record_artifact(artifact).now_or_never().unwrap();
    recorded.unwrap();
    let retrieved = session.retrieve_artifact(&artifact_id, &id, select);
    let retrieved = retrieved.now_or_never().unwrap().unwrap();
    if let Retrieved::Oversized(oversized) = &retrieved {
        let body = retrieved.error_body().unwrap();
        assert_eq!(body.code, "artifact.blocked");
        let is_large = data.len() > 120;
        assert_eq!(
            body.message.contains("at most 30"),
            is_large,
            "{}",
            body.message
        );
        assert_ne!(
            body.message.contains("the record of the artifact"),
            is_large
        );
        if let Some(select) = &oversized.select {
            check_blocked(data, Some(select), "data");
        }
    }
    assert_eq!(retrieved.status(), expected, "{select:?}");
    let again = session.retrieve_artifact(&artifact_id, &id, Retrieval::again());
    assert_eq!(again.now_or_never().unwrap().unwrap().status(), "oversized");
}

#[test]
fn what_is_blocked_comes_in_parts_only() {
    let small = r#"{"title": "some title", "pages": [1, 2, 3]}"#;
    let large = json!({"title": "some title", "pages": vec!["some page"; 100]}).to_string();
    for data in [small, &large] {
        for all in [
            None,
            Some("@"),
            Some("[@]"),
            Some("result"),
            Some("*"),
            Some("[title, pages]"),
        ] {
            if data == small || all != Some("[title, pages]") {
                let expected = if all.is_some_and(|all| all.len() > 6) {
                    "data"
                } else {
                    "oversized"
                };
                let is_less = all == Some("*") && data == small;
                check_blocked(data, all, if is_less { "data" } else { expected });
            }
        }
        check_blocked(data, Some("title"), "data");
    }
    check_blocked(r#"[[1, 2], "some text"]"#, Some("[0]"), "data");
    check_blocked("[ 1,  2 ]", Some("[*]"), "oversized");
    check_blocked(&large, Some("pages"), "oversized");
}

#[test]
fn an_artifact_that_was_shown_can_be_brought_again() {
    let (session, id) = session_with(ToolResult::json(r#"{"a": [1, 2]}"#));
    let artifact_id = ArtifactId::parse("a").unwrap();
    let wanted = NewArtifact::new(artifact_id.clone(), id.clone()).with_detail("first", "a[0]");
    let created = session.create_artifact(wanted).now_or_never().unwrap();
    let artifact = created.unwrap().artifact;
    // Its summary was shown, and nothing of that adds to what results would have taken.
    let summary = artifact.summary().unwrap().raw().len().div_ceil(4) as u64;
    assert_eq!((session.usage().shown, session.usage().whole), (summary, 0));
    for (again, expected) in [(false, "data"), (false, "already_shown"), (true, "data")] {
        let retrieved = if again {
            session
                .retrieve_artifact(&artifact_id, &id, Retrieval::again())
                .now_or_never()
        } else {
            session
                .retrieve_artifact(&artifact_id, &id, None)
                .now_or_never()
        };
        assert_eq!(retrieved.unwrap().unwrap().status(), expected);
    }
    assert_eq!(session.usage().whole, 0);
    let other = ArtifactId::parse("b").unwrap();
    let missing = session
        .retrieve_artifact(&other, &id, Retrieval::again())
        .now_or_never();
    assert_eq!(missing.unwrap().unwrap().status(), "unknown");
}

/// Judges what is advised for a selector that brings nothing of a result.
fn check_advice(result: &Value, select: &str, expected: &str) {
    let (session, id) = session_with(ToolResult::json(result.to_string()));
    let failure = session.retrieve(&id, Some(select)).now_or_never().unwrap();
    let failure = failure.unwrap_err();
    let advice = failure.body().advice.unwrap();
    let next = advice.lines().last().unwrap();
    assert_eq!(next, expected, "{select:?}");
    assert!(failure.to_string().ends_with(&advice));
    if let Some(select) = next
        .strip_prefix("try: ")
        .filter(|next| !next.contains(' '))
    {
        assert_eq!(retrieve(&session, &id, Some(select)).status(), "data");
    }
}

#[test]
fn what_is_advised_can_be_brought() {
    let large = json!(vec!["some text"; 100]);
    check_advice(&large, "length(@, @)", "try: length(@)");
    for select in ["foo", " ", "["] {
        check_advice(&large, select, "try: [0]");
        check_advice(
            &json!([1]),
            select,
            "try: no selector, to bring the whole result",
        );
        let text = json!("x".repeat(1000));
        check_advice(
            &text,
            select,
            "a reference without a selector still passes all of it to a tool",
        );
    }
    // What is called alike is advised only if it may be brought.
    let named = json!({"pages": vec!["some text"; 100], "total": 7});
    check_advice(&named, "page", "try: pages[0]");
    check_advice(&named, "totl", "try: total");
}

#[test]
fn a_part_that_is_advised_fits() {
    let long = "x".repeat(200);
    for (value, expected) in [
        (json!([{"a": long, "b": 1}]), Some("[0].b")),
        (json!([{"a": long}]), None),
        (json!([[long, 1], 2]), None),
    ] {
        let (session, id) = session_with(ToolResult::json(value.to_string()));
        let Retrieved::Oversized(oversized) = retrieve(&session, &id, None) else {
            panic!("{value}");
        };
        assert_eq!(oversized.select.as_deref(), expected, "{value}");
    }
}

#[test]
fn errors_that_the_model_can_mend_are_counted() {
    let (session, id) = session_with(ToolResult::json("[1]"));
    let other = CallId::parse("other").unwrap();
    let schema = ParameterSchema::new(&json!({"type": "string"})).unwrap();
    let mut before = session.usage().errors;
    let mut more = || {
        let errors = session.usage().errors;
        std::mem::replace(&mut before, errors) < errors
    };
    let options = RenderOptions::default();
    assert!(
        session
            .render(&other, &options)
            .now_or_never()
            .unwrap()
            .is_err()
            && more()
    );
    let detail = HintDetail::Compact;
    assert!(
        session
            .hints(&other, detail)
            .now_or_never()
            .unwrap()
            .is_err()
            && more()
    );
    assert!(
        session
            .suggest(&other, &schema, 3)
            .now_or_never()
            .unwrap()
            .is_err()
            && more()
    );
    assert!(session.shape(&other).now_or_never().unwrap().is_err() && more());
    assert_eq!(retrieve(&session, &other, None).status(), "unknown");
    assert!(more());
    // A budget is the host's.
    let none = RenderOptions::default().with_budget(0);
    assert!(session.render(&id, &none).now_or_never().unwrap().is_err() && !more());
}

#[test]
fn a_host_notes_what_else_it_shows() {
    let (session, _) = session_with(ToolResult::json("1"));
    session.note_shown("some text");
    assert_eq!((session.usage().shown, session.usage().whole), (3, 0));
}
