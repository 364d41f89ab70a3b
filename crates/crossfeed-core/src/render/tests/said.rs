//! What is said beside a result: hints, how parts are called, and whether all was shown.

use super::{render, session_with, undeclared};
use crate::{
    ContextOptions, Engine, EngineOptions, HintDetail, RenderOptions, Rendered, ShownHints,
    StripPolicy, ToolResult,
};
use crossfeed_tokens::TokenCounter;
use crossfeed_wire::{CallId, Scope};
use futures_util::FutureExt;
use serde_json::{Value, json};

fn shown(result: ToolResult, options: &RenderOptions) -> (Rendered, Value) {
    let rendered = render(result, options).unwrap();
    let shown = serde_json::from_str(&rendered.json).unwrap();
    (rendered, shown)
}

/// What stands in the part that is ours.
fn metadata(shown: &Value) -> Value {
    serde_json::from_str(shown["content"][0]["text"].as_str().unwrap()).unwrap()
}

fn always(budget: usize) -> RenderOptions {
    RenderOptions::default()
        .with_budget(budget)
        .with_hints(ShownHints::Always)
}

#[test]
fn hints_never_take_the_place_of_data() {
    let result = || undeclared(r#"{"a":[1,2,{"b":"x"}],"n":null}"#);
    let least = (0..100)
        .find(|budget| render(result(), &always(*budget)).is_ok())
        .unwrap();
    for budget in 0..300 {
        match render(result(), &always(budget)) {
            Ok(rendered) => assert!(budget >= least && rendered.whole, "{budget}"),
            Err(failure) => {
                let needed = format!("at least {least} tokens");
                assert!(budget < least && failure.body().advice.unwrap().contains(&needed));
            }
        }
    }
}

fn records() -> ToolResult {
    let record = json!({"id": 7, "name": "a name", "url": "https://a.example", "tags": ["a", "b"]});
    undeclared(&json!({"items": vec![record; 200]}).to_string())
}

#[test]
fn what_was_asked_for_is_the_last_to_go() {
    let fitting = [
        "items[0].url",
        "items[0].nothing",
        "items[*].id",
        "no selector [",
    ];
    let options = RenderOptions::default()
        .with_detail(HintDetail::Full)
        .with_fitting(fitting.map(str::to_owned).to_vec());
    let mut seen = Vec::new();
    for budget in (60..1500).step_by(5) {
        let (_, shown) = shown(records(), &options.clone().with_budget(budget));
        let hints = shown.get("_structureHints").and_then(Value::as_object);
        let most = match hints {
            None => "none",
            Some(hints) if hints.contains_key("commonFields") => "full",
            Some(hints) if hints.len() > 1 => "compact",
            Some(_) => "what fits",
        };
        // Selectors that give nothing are not offered.
        let fitting = json!(["items[0].url", "items[*].id"]);
        assert!(hints.is_none_or(|hints| hints["fittingSelectors"] == fitting));
        if seen.last() != Some(&most) {
            seen.push(most);
        }
    }
    assert_eq!(seen, ["none", "what fits", "compact", "full"]);
}

#[test]
fn hints_leave_room_for_data() {
    let counter = TokenCounter::default();
    let mut had_hints = 0;
    for budget in (60..600).step_by(10) {
        let (_, shown) = shown(records(), &RenderOptions::default().with_budget(budget));
        if let Some(hints) = shown.get("_structureHints") {
            had_hints += 1;
            assert!(
                counter.count(&hints.to_string()) <= budget * 40 / 100,
                "{budget}"
            );
        }
    }
    assert!(had_hints > 10);
}

#[test]
fn hints_do_not_offer_what_is_left_out() {
    let options = always(2000)
        .with_strip(StripPolicy::AllUnderscore)
        .with_detail(HintDetail::Full);
    let text = json!({"_a": {"b": 1}, "c": 2, "d": {"_e": 3}});
    let part = json!({"type": "text", "text": text.to_string()});
    for result in [
        text.clone(),
        json!(text.to_string()),
        json!({"content": [part, part]}),
        json!({"content": [], "structuredContent": text}),
    ] {
        let (rendered, shown) = shown(undeclared(&result.to_string()), &options);
        let hints = match shown.get("_structureHints") {
            Some(hints) => hints.to_string(),
            None => metadata(&shown).to_string(),
        };
        assert!(!hints.contains("_a") && hints.contains("d._e"), "{hints}");
        assert!(rendered.whole, "{}", rendered.json);
        // An own key of an object in structured content is left out, too.
        assert!(!rendered.complete, "{}", rendered.json);
    }
}

#[test]
fn a_larger_budget_for_previews_holds_for_the_whole() {
    let result = undeclared(&json!(vec!["some text"; 20]).to_string());
    let options = RenderOptions::default()
        .with_whole_tokens(10)
        .with_preview_tokens(100);
    assert!(render(result, &options).unwrap().whole);
}

#[test]
fn no_budget_is_larger_than_the_context_allows() {
    let context = ContextOptions::default().with_window(1000);
    let engine = Engine::in_memory(EngineOptions::default().with_context(context));
    let session = engine.session(Scope::parse("t", "p", "s").unwrap());
    let id = CallId::parse("c").unwrap();
    let result = ToolResult::json(json!(vec!["some text"; 500]).to_string());
    session.record(&id, result).now_or_never().unwrap().unwrap();
    let options = RenderOptions::default().with_budget(usize::MAX);
    let rendered = session
        .render(&id, &options)
        .now_or_never()
        .unwrap()
        .unwrap();
    assert!(!rendered.whole && rendered.tokens <= 300 && rendered.tokens > 250);
}

/// Judges what is said of the parts of a tool result: the index of the first that is shown.
fn check_parts(result: &Value, first: Option<usize>) {
    let options = RenderOptions::default().with_hints(ShownHints::Never);
    let (_, shown) = shown(undeclared(&result.to_string()), &options);
    let said = metadata(&shown).get("_crossfeedParts").cloned();
    let expected =
        first.map(|first| format!("refer to the parts below as [{first}], [{}], …", first + 1));
    assert_eq!(said, expected.map(Value::from), "{result}");
    if let Some(first) = first {
        let below = shown["content"][1]["text"].as_str().unwrap();
        check_part(result, first, below);
    }
}

/// Judges whether a part that begins so is at an index.
fn check_part(result: &Value, at: usize, begin: &str) {
    let (session, id) = session_with(undeclared(&result.to_string()), TokenCounter::default());
    let found = session
        .select(&id, &format!("[{at}]"))
        .now_or_never()
        .unwrap();
    let found: String = serde_json::from_slice(&found.unwrap().json).unwrap();
    assert!(
        !begin.is_empty() && found.starts_with(begin),
        "{found} {begin}"
    );
}

#[test]
fn parts_are_called_as_selectors_call_them() {
    let text = |text: &str| json!({"type": "text", "text": text});
    check_parts(&json!({"content": [text("one"), text("two")]}), Some(0));
    // What was rendered before begins with a part of ours.
    let ours = text(r#"{"_toolCallId":"x","_crossfeedParts":"refer"}"#);
    check_parts(
        &json!({"content": [ours, text("one"), text("two")]}),
        Some(1),
    );
    for none in [
        json!({"content": [text("one")]}),
        json!({"content": [text("one"), text("two")], "structuredContent": {"a": 1}}),
        json!({"content": [text("one"), text("two")], "isError": true}),
    ] {
        check_parts(&none, None);
    }
    let long = text(&"one ".repeat(500));
    for (content, first) in [
        (json!([long, text("two")]), 0),
        (json!([ours, long, text("two")]), 1),
    ] {
        let result = json!({"content": content});
        let options = RenderOptions::default().with_budget(200);
        let rendered = render(undeclared(&result.to_string()), &options).unwrap();
        let preview = rendered.preview_text().unwrap();
        let line = preview.lines().nth(1).unwrap();
        let line = line.strip_prefix(&format!("[{first}] \"")).unwrap();
        let begin = line.split('"').next().unwrap();
        check_part(&result, first, begin);
        assert!(preview.contains(&format!("\n[{}] \"two\"", first + 1)));
    }
}

/// Judges whether a result that is shown within a budget was seen completely.
fn check_complete(result: ToolResult, budget: usize, whole: bool, complete: bool) {
    let (session, id) = session_with(result, TokenCounter::default());
    let options = RenderOptions::default()
        .with_budget(budget)
        .with_hints(ShownHints::Never);
    let rendered = session
        .render(&id, &options)
        .now_or_never()
        .unwrap()
        .unwrap();
    let found = (rendered.whole, rendered.complete);
    assert_eq!(found, (whole, complete), "{}", rendered.json);
    let retrieved = session.retrieve(&id, None).now_or_never().unwrap().unwrap();
    let expected = if complete { "already_shown" } else { "data" };
    assert_eq!(retrieved.status(), expected);
}

#[test]
fn what_is_described_is_not_seen() {
    let image = r#"{"type": "image", "data": "aGVsbG8=", "mimeType": "image/png"}"#;
    let text = r#"{"type": "text", "text": "hi"}"#;
    let mcp = |part: &str, blanks: usize| {
        let blanks = " ".repeat(blanks);
        undeclared(&format!(
            r#"{{"content": [{part}], "_meta": {{"x": [{blanks}1]}}}}"#
        ))
    };
    check_complete(mcp(text, 0), 1000, true, true);
    check_complete(mcp(image, 0), 1000, true, false);
    // Without its blanks it fits into less.
    check_complete(mcp(text, 1000), 150, true, true);
    check_complete(mcp(image, 1000), 150, true, false);
    check_complete(ToolResult::bytes("x", "a/b"), 100, true, false);
    let list = json!(vec!["some text"; 500]).to_string();
    check_complete(undeclared(&list), 100, false, false);
    check_complete(undeclared(r#"{"a": 1}"#), 100, true, true);
}

#[test]
fn binary_data_is_not_counted_as_a_text() {
    let image = |data: &str| json!({"type": "image", "data": data, "mimeType": "image/png"});
    let mcp = |data: &str| {
        let content = [
            image(data),
            json!({"type": "text", "text": "hi"}),
            image(data),
        ];
        let mcp = ToolResult::mcp(json!({"content": content}).to_string());
        render(mcp, &RenderOptions::default()).unwrap().whole_tokens
    };
    assert_eq!(mcp(&"aGVsbG8h".repeat(10_000)), mcp(""));
    let bytes = ToolResult::bytes(vec![1; 100_000], "image/png");
    let rendered = render(bytes, &RenderOptions::default()).unwrap();
    assert!(rendered.whole_tokens < rendered.tokens);
    // An image that has none is shown as it is.
    let odd = ToolResult::mcp(r#"{"content":[{"type":"image","data":5}]}"#);
    let (_, shown) = shown(odd, &RenderOptions::default());
    assert_eq!(shown["content"][1], json!({"type": "image", "data": 5}));
}

#[test]
fn foreign_keys_do_not_fill_a_preview() {
    let mut result = json!({"content": [{"type": "text", "text": "hi"}], "a": 1});
    result["k".repeat(100_000)] = json!(1);
    result["b"] = json!(2);
    let options = RenderOptions::default().with_hints(ShownHints::Never);
    let (rendered, _) = shown(ToolResult::mcp(result.to_string()), &options);
    let preview = rendered.preview_text().unwrap();
    let aside = format!("hi\n… (not shown: a, {}…, b)\n", "k".repeat(40));
    assert!(preview.contains(&aside), "{preview}");
}

#[test]
fn a_reference_reaches_what_is_hidden_and_nothing_else() {
    // A selector sees the structured content first, which has a `content` of its own.
    let structured = json!({"content": ["seen", "seen", "seen"]});
    let parts = vec![json!({"type": "text", "text": "hidden ".repeat(200)}); 3];
    let result = json!({"content": parts, "structuredContent": structured});
    let mut judged = 0;
    for budget in (100..400).step_by(10) {
        let options = RenderOptions::default()
            .with_budget(budget)
            .with_hints(ShownHints::Never);
        let rendered = render(ToolResult::mcp(result.to_string()), &options).unwrap();
        let preview = rendered.preview_text().unwrap();
        if preview.contains(&format!("structuredContent {structured}\n")) {
            judged += 1;
            let (_, reference) = preview.split_once("a reference like ").unwrap();
            let (reference, _) = reference.split_once(" gets it]\n").unwrap();
            let reference: Value = serde_json::from_str(reference).unwrap();
            let Some(select) = reference["$select"].as_str() else {
                continue;
            };
            let mcp = ToolResult::mcp(result.to_string());
            let (session, id) = session_with(mcp, TokenCounter::default());
            let found = session.select(&id, select).now_or_never().unwrap().unwrap();
            let found = String::from_utf8(found.json).unwrap();
            assert!(found.contains("hidden"), "{preview}");
        }
    }
    assert!(judged > 5);
}

#[test]
fn what_is_said_for_reading_code_has_no_data() {
    let result = ToolResult::json(r#"{"a":"secret"}"#);
    let (session, id) = session_with(result, TokenCounter::default());
    let options = RenderOptions::default();
    let rendered = session
        .render(&id, &options)
        .now_or_never()
        .unwrap()
        .unwrap();
    let retrieved = session
        .retrieve(&id, Some("a"))
        .now_or_never()
        .unwrap()
        .unwrap();
    assert!(rendered.json.contains("secret") && retrieved.status() == "data");
    assert!(!format!("{rendered:?} {retrieved:?}").contains("secret"));
}
