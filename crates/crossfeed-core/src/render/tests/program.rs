//! What a program gets of a result: all of it, as it was recorded.

use super::{laws::json as any_json, session_with};
use crate::{
    ContextOptions, Engine, EngineOptions, RenderOptions, Rendered, RevealPolicy, ShownHints,
    ToolResult, View,
};
use crossfeed_projection::RevealRules;
use crossfeed_tokens::TokenCounter;
use crossfeed_wire::{CallId, Scope};
use futures_util::FutureExt;
use proptest::prelude::*;
use serde_json::json;

fn program(result: ToolResult) -> (crate::Session, Rendered) {
    let (session, id) = session_with(result, TokenCounter::default());
    // No other option holds.
    let options = RenderOptions::default()
        .with_budget(0)
        .with_hints(ShownHints::Always)
        .with_view(View::Program);
    let rendered = session.render(&id, &options).now_or_never().unwrap();
    (session, rendered.unwrap())
}

/// Judges what a program gets.
fn check(result: ToolResult, expected: &str) {
    let (session, rendered) = program(result);
    assert_eq!(rendered.json, expected);
    assert!(rendered.whole && !rendered.withheld);
    assert_eq!(rendered.preview_text(), None);
    // It is nothing that a model has seen.
    assert_eq!((rendered.tokens, rendered.complete), (0, false));
    assert_eq!((session.usage().shown, session.usage().whole), (0, 0));
}

#[test]
fn a_program_gets_what_was_recorded() {
    let odd = "{ \"a\": 1.50, \"a\":2,\"_toolCallId\" : \"x\", \"n\": 1e400 }\n";
    check(ToolResult::json(odd), odd);
    check(ToolResult::undeclared("no JSON"), "no JSON");
    check(ToolResult::text("two\nlines"), "two\nlines");
    check(ToolResult::text("no such table").failed(), "no such table");
    let mcp =
        r#"{"content": [{"type": "image", "data": "aGk=", "mimeType": "a/b"}], "isError": true}"#;
    check(ToolResult::mcp(mcp), mcp);
    // What no other view can show.
    let deep = "[".repeat(1000);
    check(ToolResult::json(deep.clone()), &deep);
    // Bytes are what a reference passes.
    let bytes = |data: &str, media: &str| {
        json!({"data": data, "encoding": "base64", "mimeType": media}).to_string()
    };
    check(
        ToolResult::bytes("hi", "text/plain"),
        &bytes("aGk=", "text/plain"),
    );
    let octets = "application/octet-stream";
    check(ToolResult::json(vec![0xff]), &bytes("/w==", octets));
    // No context is too small.
    let context = ContextOptions::default().with_window(10);
    let engine = Engine::in_memory(EngineOptions::default().with_context(context));
    let session = engine.session(Scope::parse("t", "p", "s").unwrap());
    let id = CallId::parse("c").unwrap();
    let large = json!(vec!["some text"; 100_000]).to_string();
    let recorded = session.record(&id, ToolResult::json(large.clone()));
    recorded.now_or_never().unwrap().unwrap();
    let options = RenderOptions::default().with_view(View::Program);
    let rendered = session.render(&id, &options).now_or_never().unwrap();
    assert!(rendered.unwrap().json == large);
}

#[test]
fn a_program_does_not_get_what_is_withheld() {
    let rules = RevealRules::parse(["id"], ["pin"]).unwrap();
    let policy = RevealPolicy::default().with_every_tool(rules);
    let engine = Engine::in_memory(EngineOptions::default().with_reveal(policy));
    let session = engine.session(Scope::parse("t", "p", "s").unwrap());
    let id = CallId::parse("c").unwrap();
    let result = ToolResult::json(r#"{"id": 1, "pin": 7}"#);
    session.record(&id, result).now_or_never().unwrap().unwrap();
    let options = RenderOptions::default().with_view(View::Program);
    let rendered = session.render(&id, &options).now_or_never().unwrap();
    let rendered = rendered.unwrap();
    assert!(rendered.withheld && !rendered.json.contains("pin"));
    assert!(rendered.json.contains("\"id\""), "{}", rendered.json);
}

#[test]
fn to_ask_is_to_be_a_model() {
    let result = || ToolResult::json(json!(vec!["some text"; 5000]).to_string());
    let shown = |view: View| {
        let (session, id) = session_with(result(), TokenCounter::default());
        let options = RenderOptions::default().with_view(view);
        session
            .render(&id, &options)
            .now_or_never()
            .unwrap()
            .unwrap()
    };
    assert_eq!(shown(View::Ask), shown(View::Model));
    assert!(!shown(View::Ask).whole);
}

proptest! {
    #[test]
    fn all_of_any_result_reaches_a_program(value in any_json(), kind in 0..3) {
        let text = value.to_string();
        let result = match kind {
            0 => ToolResult::json(text.clone()),
            1 => ToolResult::text(text.clone()),
            _ => ToolResult::undeclared(text.clone()),
        };
        prop_assert_eq!(program(result).1.json, text);
    }
}
