//! What is shown, by examples; the laws stand beside.

mod judge;
mod laws;
mod said;

use super::{RenderOptions, Rendered, ShownHints};
use crate::{ContextOptions, Engine, EngineOptions, Failure, StripPolicy, ToolResult};
use crossfeed_schema::Spelling;
use crossfeed_tokens::TokenCounter;
use crossfeed_wire::{CallId, Scope};
use futures_util::FutureExt;
use serde_json::{Value, json};

/// A session whose engine counts so, with one result: call `c`.
fn session_with(result: ToolResult, counter: TokenCounter) -> (crate::Session, CallId) {
    let context = ContextOptions::default().with_tokens(counter);
    let engine = Engine::in_memory(EngineOptions::default().with_context(context));
    let session = engine.session(Scope::parse("t", "p", "s").unwrap());
    let call_id = CallId::parse("c").unwrap();
    let recorded = session.record(&call_id, result);
    recorded.now_or_never().unwrap().unwrap();
    (session, call_id)
}

fn render(result: ToolResult, options: &RenderOptions) -> Result<Rendered, Box<Failure>> {
    let (session, call_id) = session_with(result, TokenCounter::default());
    // There is no runtime, so that all work is done at once.
    let rendered = session.render(&call_id, options);
    rendered.now_or_never().unwrap().map_err(Box::new)
}

/// Judges what is shown of a result within a budget.
fn check(result: ToolResult, budget: usize, expected: &str) {
    let options = RenderOptions::default()
        .with_budget(budget)
        .with_hints(ShownHints::Never);
    let rendered = render(result, &options).unwrap();
    assert_eq!(rendered.json, expected, "{}", rendered.json);
    assert_eq!(rendered.whole, !rendered.json.contains("_crossfeedPreview"));
}

fn undeclared(json: &str) -> ToolResult {
    ToolResult::undeclared(json.to_owned())
}

const LARGE: usize = 1000;

#[test]
fn small_results_are_shown_in_the_bytes_in_which_they_came() {
    let check = |json: &str, expected| check(undeclared(json), LARGE, expected);
    check("7.50", r#"{"value":7.50,"_toolCallId":"c"}"#);
    check("null", r#"{"value":null,"_toolCallId":"c"}"#);
    check("[1, 2e400]", r#"{"value":[1, 2e400],"_toolCallId":"c"}"#);
    check(r#""a\u0041""#, r#"{"text":"a\u0041","_toolCallId":"c"}"#);
    check("no JSON\n", r#"{"text":"no JSON\n","_toolCallId":"c"}"#);
    check("{}", r#"{"_toolCallId":"c"}"#);
    check("", r#"{"text":"","_toolCallId":"c"}"#);
    check(
        r#"{"b": {"x" : 1}, "_id":2}"#,
        r#"{"b":{"x" : 1},"_id":2,"_toolCallId":"c"}"#,
    );
    check(
        r#"{"a": 1, "a": 2, "_toolCallId": "old", "_crossfeedPreview": {}}"#,
        r#"{"a":2,"_toolCallId":"c"}"#,
    );
    check(
        r#""{\"_toolCallId\": 1, \"a\": 2}""#,
        r#"{"text":"{ \"a\": 2}","_toolCallId":"c"}"#,
    );
}

#[test]
fn bytes_are_described() {
    check(
        ToolResult::bytes(vec![0x89, 0x50], "image/png"),
        LARGE,
        r#"{"mimeType":"image/png","bytes":2,"_toolCallId":"c"}"#,
    );
    for result in [
        ToolResult::json(vec![b'"', 0xff, b'"']),
        ToolResult::undeclared(vec![0xc3]),
        ToolResult::mcp(vec![0xff; 1 << 20]),
    ] {
        let rendered = render(result, &RenderOptions::default()).unwrap();
        let shown: Value = serde_json::from_str(&rendered.json).unwrap();
        assert_eq!(shown["mimeType"], "application/octet-stream");
        assert!(shown["bytes"].is_number() && rendered.whole);
    }
}

#[test]
fn every_cut_is_marked() {
    let reach = |select: &str, bytes: usize, tokens: usize| {
        format!(
            r#""_toolCallId":"c","_crossfeedPreview":{{"note":"cut by crossfeed: … marks what is hidden, a reference like reach gets it","bytes":{bytes},"tokens":{tokens},"reach":{{"$tool":"c"{select}}}}}}}"#
        )
    };
    let list = json!({"total": 1.5, "items": vec![json!({"id": 7, "name": "a name of some length", "b": [1]}); 400]});
    let text = list.to_string();
    check(
        undeclared(&text),
        80,
        &format!(
            r#"{{"total":1.5,"items":[{{"id":7,"name":"a name of some length","b":[1]}},{{"id":7,"…":"2 more keys"}},"… 398 more items"],{}"#,
            reach(
                r#","$select":"items[1].name""#,
                text.len(),
                text.len().div_ceil(4)
            )
        ),
    );
    let text = "Lorem ipsum ".repeat(1000);
    check(
        ToolResult::text(text),
        60,
        &format!(
            r#"{{"text":"Lorem ipsum Lorem ipsum … (12000 characters)",{}"#,
            reach("", 12000, 3000)
        ),
    );
    let wide: serde_json::Map<_, _> = (0..100).map(|n| (format!("k{n}"), json!(n))).collect();
    let text = Value::from(wide).to_string();
    check(
        undeclared(&text),
        75,
        &format!(
            r#"{{"k0":0,"k1":1,"k2":2,"k3":3,"k4":4,"k5":5,"k6":6,"…":"93 more keys: k7, k8, k9, k10, k11, k12, k13, k14, …",{}"#,
            reach(r#","$select":"k7""#, text.len(), text.len().div_ceil(4))
        ),
    );
    let text = json!("x".repeat(100)).to_string();
    let list = format!("[{text},{text},{text},{text}]");
    // All of it is reached by its first item, where that has room.
    for (budget, select) in [(55, r#","$select":"[0]""#), (50, "")] {
        let expected = format!(
            r#"{{"value":"… array, 4 items",{}"#,
            reach(select, 413, 104)
        );
        check(undeclared(&list), budget, &expected);
    }
}

#[test]
fn a_text_that_holds_json_is_cut_as_what_it_holds() {
    let items = json!({"items": vec![1000; 1000], "_toolCallId": "old"}).to_string();
    for result in [
        ToolResult::text(items.clone()),
        undeclared(&json!(items).to_string()),
    ] {
        let rendered = render(result, &RenderOptions::default().with_budget(100)).unwrap();
        let shown: Value = serde_json::from_str(&rendered.json).unwrap();
        assert_eq!(shown["value"]["items"][0], 1000, "{shown}");
        assert!(shown["value"].get("_toolCallId").is_none(), "{shown}");
        assert_eq!(shown["_crossfeedPreview"]["reach"]["$tool"], "c");
    }
}

#[test]
fn results_of_mcp_keep_their_parts() {
    check(
        undeclared(
            r#"{"content": [{"type": "text", "text": "hi"}, {"type": "image", "data": "aGVsbG8=", "mimeType": "image/png"},
                {"type": "resource", "resource": {"uri": "a:b", "blob": "aGVsbG8h"}}], "_meta": {"x": 1}}"#,
        ),
        LARGE,
        concat!(
            r#"{"content":[{"type":"text","text":"{\"_toolCallId\":\"c\",\"_crossfeedParts\":\"refer to the parts below as [0], [1], …\"}"},{"type": "text", "text": "hi"},"#,
            r#"{"type":"text","text":"image (image/png, 5 bytes), not shown; to pass it on: {\"$tool\":\"c\",\"$select\":\"[1]\"}"},"#,
            r#"{"type":"text","text":"resource (application/octet-stream, 6 bytes), not shown; to pass it on: {\"$tool\":\"c\",\"$select\":\"[2]\"}"}"#,
            r#"],"_meta":{"x": 1},"_toolCallId":"c"}"#
        ),
    );
    check(
        undeclared(
            r#"{"content": [{"type": "text", "text": "one"}], "structuredContent": {"a": 1, "_toolCallId": "old"}, "isError": false}"#,
        ),
        LARGE,
        concat!(
            r#"{"content":[{"type":"text","text":"{\"_toolCallId\":\"c\"}"},{"type": "text", "text": "one"}],"#,
            r#""structuredContent":{"a":1,"_toolCallId":"c"},"isError":false,"_toolCallId":"c"}"#
        ),
    );
    check(
        ToolResult::mcp(r#"{"structuredContent": [1]}"#),
        LARGE,
        r#"{"content":[{"type":"text","text":"{\"_toolCallId\":\"c\"}"}],"structuredContent":[1],"_toolCallId":"c"}"#,
    );
}

#[test]
fn a_failed_call_is_shown_without_hints() {
    check(
        undeclared(r#"{"content": [{"type": "text", "text": "no such table"}], "isError": true}"#),
        LARGE,
        concat!(
            r#"{"content":[{"type":"text","text":"{\"_toolCallId\":\"c\"}"},{"type": "text", "text": "no such table"}],"#,
            r#""isError":true,"_toolCallId":"c"}"#
        ),
    );
    let options = RenderOptions::default()
        .with_budget(100)
        .with_hints(ShownHints::Always);
    let failed = ToolResult::text("no such table ".repeat(100)).failed();
    let rendered = render(failed, &options).unwrap();
    let shown: Value = serde_json::from_str(&rendered.json).unwrap();
    assert_eq!(shown.get("_structureHints"), None);
    let note = shown["_crossfeedPreview"].as_object().unwrap();
    assert!(!note.contains_key("reach"), "{rendered:?}");
}

#[test]
fn a_rendering_that_is_recorded_again_is_not_nested() {
    for result in [
        r#"{"a": [1, 2]}"#.to_owned(),
        r#"{"content": [{"type": "text", "text": "one"}], "structuredContent": {"a": 1}}"#
            .to_owned(),
        json!({"items": vec!["some text"; 500]}).to_string(),
    ] {
        let options = RenderOptions::default().with_budget(200);
        let first = render(undeclared(&result), &options).unwrap();
        let again = render(undeclared(&first.json), &options).unwrap();
        if first.whole {
            let values = [&first, &again].map(|r| serde_json::from_str::<Value>(&r.json).unwrap());
            assert_eq!(values[0], values[1]);
        }
        for field in crossfeed_wire::internal::FIELDS {
            let keys = |r: &Rendered| r.json.matches(field).count();
            assert!(keys(&again) <= keys(&first), "{}", again.json);
        }
    }
}

#[test]
fn options_hold() {
    let result = || undeclared(&json!({"_id": 1, "items": vec!["some text"; 500]}).to_string());
    let shown = |options: RenderOptions| {
        let rendered = render(result(), &options).unwrap();
        serde_json::from_str::<Value>(&rendered.json).unwrap()
    };
    let options = RenderOptions::default().with_budget(300);
    assert!(shown(options.clone())["_structureHints"].is_object());
    let never = shown(options.clone().with_hints(ShownHints::Never));
    assert!(never.get("_structureHints").is_none());
    // Hints go before the data does.
    let small = shown(options.clone().with_budget(60));
    assert!(small.get("_structureHints").is_none() && small["_id"] == 1);
    let stripped = shown(options.clone().with_strip(StripPolicy::AllUnderscore));
    assert!(stripped.get("_id").is_none() && stripped["items"].is_array());
    let spelled = shown(options.with_spelling(Spelling::Underscore));
    assert_eq!(spelled["_crossfeedPreview"]["reach"]["_tool"], "c");
    let always = RenderOptions::default().with_hints(ShownHints::Always);
    let rendered = render(undeclared(r#"{"a": 1}"#), &always).unwrap();
    assert!(rendered.whole && rendered.json.contains("_structureHints"));
}

#[test]
fn a_budget_that_holds_nothing_is_refused() {
    for json in [
        r#"{"a": "some text that is longer than any mark for sure, and still longer"}"#,
        "7",
        r#""text""#,
        r#"{"content": [{"type": "text", "text": "one"}], "structuredContent": {"a": 1}}"#,
    ] {
        for budget in [0, 1] {
            let options = RenderOptions::default().with_budget(budget);
            let failure = render(undeclared(json), &options).unwrap_err();
            let crate::Error::Render(super::RenderError::BudgetTooSmall { needed, .. }) =
                failure.error
            else {
                panic!("{failure}");
            };
            assert_eq!(failure.error.fault(), crossfeed_wire::Fault::Host);
            assert_eq!(failure.body().code, "limit.exceeded");
            assert!(failure.body().advice.unwrap().contains(&needed.to_string()));
            let enough = RenderOptions::default().with_budget(needed);
            assert!(render(undeclared(json), &enough).is_ok(), "{json} {needed}");
            let less = RenderOptions::default().with_budget(needed - 1);
            assert!(render(undeclared(json), &less).is_err(), "{json} {needed}");
        }
    }
}

#[test]
fn what_is_large_or_odd_is_shown() {
    let wide: serde_json::Map<_, _> = (0..100_000)
        .map(|n| (format!("key {n}"), json!(n)))
        .collect();
    let mut nested = json!({"deepest": true});
    // Each level doubles the backslashes of the one within it.
    for _ in 0..14 {
        nested = json!([nested.to_string()]);
    }
    let digits = "7".repeat(100_000);
    let key = "k".repeat(100_000);
    for result in [
        undeclared(&Value::from(wide).to_string()),
        ToolResult::text("x".repeat(10 << 20)),
        undeclared(&json!("\n".repeat(1 << 20)).to_string()),
        undeclared(&nested.to_string()),
        undeclared(&format!("[{digits}, {{\"{key}\": {digits}, \"a\": 1}}]")),
        undeclared(&json!([1, "a", null, {"b": [{"c": {}}]}, [[]], vec![0; 1000]]).to_string()),
        undeclared(&format!("{}1{}", "[".repeat(127), "]".repeat(127)).replace('1', &digits)),
        undeclared(&json!({"…": "x".repeat(1000), "…… ": 1, "a": vec![1; 5000]}).to_string()),
    ] {
        let (session, call_id) = session_with(result, TokenCounter::default());
        for budget in [60, 500] {
            let options = RenderOptions::default().with_budget(budget);
            let rendered = session.render(&call_id, &options);
            let rendered = rendered.now_or_never().unwrap().unwrap();
            assert!(rendered.tokens <= budget && !rendered.whole);
            serde_json::from_str::<Value>(&rendered.json).unwrap();
        }
    }
    let too_deep = undeclared(&format!("{}{}", "[".repeat(128), "]".repeat(128)));
    let failure = render(too_deep, &RenderOptions::default()).unwrap_err();
    assert_eq!(failure.body().code, "limit.exceeded");
}
