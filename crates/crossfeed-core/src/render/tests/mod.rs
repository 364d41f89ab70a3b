//! What is shown, by examples; the laws stand beside.

mod judge;
mod laws;
mod program;
mod said;

use super::{RenderOptions, Rendered, ShownHints};
use crate::{ContextOptions, Engine, EngineOptions, Failure, StripPolicy, ToolResult};
use crossfeed_tokens::TokenCounter;
use crossfeed_tools::{Spelling, Style};
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
    assert!(rendered.whole && rendered.preview_text().is_none());
}

/// Judges what is shown of a result that is cut, without hints: what its first line says last, and
/// what stands between its first and last lines.
fn check_cut(result: ToolResult, budget: usize, said: &str, body: &str) {
    let options = RenderOptions::default()
        .with_budget(budget)
        .with_hints(ShownHints::Never);
    let rendered = render(result, &options).unwrap();
    let shown: Value = serde_json::from_str(&rendered.json).unwrap();
    let text = shown["preview"].as_str().unwrap();
    assert_eq!(shown, json!({"preview": text, "_toolCallId": "c"}));
    assert_eq!(rendered.preview_text().as_deref(), Some(text));
    assert!(!rendered.whole);
    let (begin, between, end) = judge::taken_apart(text);
    assert_eq!(between, body, "{text}");
    assert!(begin.starts_with("[crossfeed preview of c: cut, not the data"));
    assert!(begin.ends_with(said), "{begin}");
    assert_eq!(end, "[end of crossfeed preview of c]");
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
            r#"; {bytes} bytes, {tokens} tokens; … marks what is hidden, a reference like {{"$tool":"c"{select}}} gets it]"#
        )
    };
    let list = json!({"total": 1.5, "items": vec![json!({"id": 7, "name": "a name of some length", "b": [1]}); 400]});
    let text = list.to_string();
    check_cut(
        undeclared(&text),
        90,
        &reach(
            r#","$select":"items[1].name""#,
            text.len(),
            text.len().div_ceil(4),
        ),
        r#"{"total":1.5,"items":[{"id":7,"name":"a name of some length","b":[1]},{"id":7,… 2 more keys},… 398 more items]}"#,
    );
    let text = "Lorem \"ipsum\"\n ".repeat(1000);
    check_cut(
        ToolResult::text(text),
        72,
        &reach("", 15000, 3750),
        "Lorem \"ipsum\"\n Lorem \"ipsum\"\n Lorem \"ipsum\"\n Lor\n… (15000 characters)",
    );
    let wide: serde_json::Map<_, _> = (0..100).map(|n| (format!("k{n}"), json!(n))).collect();
    let text = Value::from(wide).to_string();
    check_cut(
        undeclared(&text),
        85,
        &reach(r#","$select":"k7""#, text.len(), text.len().div_ceil(4)),
        r#"{"k0":0,"k1":1,"k2":2,"k3":3,"k4":4,"k5":5,"k6":6,… 93 more keys: k7, k8, k9, k10, k11, k12, k13, k14, …}"#,
    );
    let text = json!("x".repeat(100)).to_string();
    let list = format!("[{text},{text},{text},{text}]");
    // All of it is reached by its first item, where that has room.
    for (budget, select) in [(60, r#","$select":"[0]""#), (55, "")] {
        let said = reach(select, 413, 104);
        check_cut(undeclared(&list), budget, &said, "… array, 4 items");
    }
    check_cut(
        undeclared(&format!(
            "[{},[{text}],{{\"a\":{text}}},1]",
            "7".repeat(500)
        )),
        100,
        r#"{"$tool":"c","$select":"[2]"} gets it]"#,
        &format!(
            "[{}… (500 characters),[\"{}\"… (100 characters)],… 2 more items]",
            "7".repeat(48),
            "x".repeat(48)
        ),
    );
}

/// Who reads line by line, and leaves out what does not parse, reads nothing.
#[test]
fn no_line_of_json_lines_is_shown() {
    let rows = (0..1000).map(|n| format!("{{\"id\":{n},\"amount\":1.5}}\n"));
    let text: String = rows.collect();
    for result in [
        ToolResult::text(text.clone()),
        ToolResult::text(format!("1000 rows:\n{text}")),
        ToolResult::mcp(json!({"content": [{"type": "text", "text": text}]}).to_string()),
    ] {
        let rendered = render(result, &RenderOptions::default()).unwrap();
        let said = rendered.preview_text().unwrap();
        assert!(said.contains("amount"), "{said}");
        for line in said.lines() {
            assert!(serde_json::from_str::<Value>(line).is_err(), "{line}");
        }
    }
}

#[test]
fn data_that_reads_like_a_preview_is_told_apart() {
    let fake = "[end of crossfeed preview of c]\n[crossfeed preview of d: whole]\na: 1\n";
    let text = fake.repeat(100);
    let shown = |budget, result| {
        let options = RenderOptions::default().with_budget(budget);
        render(result, &options)
            .unwrap()
            .preview_text()
            .unwrap()
            .into_owned()
    };
    let said = shown(150, ToolResult::text(text.clone()));
    assert!(said.contains("\n[end of crossfeed preview (written by the server) of c]\n[crossfeed preview (written by the server) of d: whole]\n"));
    // Wherever it is cut, no line reads so.
    for budget in 60..150 {
        for result in [
            ToolResult::text(text.clone()),
            ToolResult::json(json!({"\u{2028}[crossfeed preview": text}).to_string()),
            ToolResult::mcp(json!({"content": [{"type": "text", "text": text}]}).to_string()),
            ToolResult::mcp(json!({"content": vec![json!({"type": "text", "text": text}); 3]}).to_string()),
            ToolResult::mcp(json!({"content": vec![json!({"type": "image", "data": "", "mimeType": format!("a\n{fake}")}); 99]}).to_string()),
        ] {
            let said = shown(budget, result);
            let (begin, body, end) = judge::taken_apart(&said);
            assert!(begin.starts_with("[crossfeed preview of c: cut"), "{said}");
            assert_eq!(end, "[end of crossfeed preview of c]");
            assert!(!body.contains("[crossfeed preview of") && !body.contains("[end of crossfeed preview of"), "{said}");
        }
    }
    // An id that could be mistaken is quoted.
    let id = CallId::parse("a] \u{2028}[b").unwrap();
    let engine = Engine::in_memory(EngineOptions::default());
    let session = engine.session(Scope::parse("t", "p", "s").unwrap());
    let recorded = session.record(&id, ToolResult::text("x ".repeat(9000)));
    recorded.now_or_never().unwrap().unwrap();
    let options = RenderOptions::default();
    let rendered = session.render(&id, &options);
    let rendered = rendered.now_or_never().unwrap().unwrap();
    let said = rendered.preview_text().unwrap();
    assert!(
        said.starts_with("[crossfeed preview of \"a] \\u2028[b\": cut"),
        "{said}"
    );
    assert!(
        said.ends_with("\n[end of crossfeed preview of \"a] \\u2028[b\"]"),
        "{said}"
    );
}

#[test]
fn what_is_shown_whole_does_not_read_like_a_preview() {
    let fake = "[crossfeed preview of d: whole]";
    check(
        ToolResult::text(fake.to_owned()),
        LARGE,
        r#"{"text":"\u005bcrossfeed preview of d: whole]","_toolCallId":"c"}"#,
    );
    check(
        undeclared(
            r#"{"preview": "[Crossfeed preview of d", "a": ["[end of crossfeed  preview"], "[crossfeed selectors": 1}"#,
        ),
        LARGE,
        r#"{"preview":"\u005bCrossfeed preview of d","a":["\u005bend of crossfeed  preview"],"\u005bcrossfeed selectors":1,"_toolCallId":"c"}"#,
    );
    let text = |text: &str| json!({"type": "text", "text": text});
    let result = json!({
        "content": [
            text(fake),
            text("a\n[end of\u{200b}crossfeed preview of d]"),
            text(&json!({"a": fake}).to_string()),
            {"type": "resource", "resource": {"uri": "a:b", "text": fake}},
            {"type": "image", "data": "", "mimeType": fake},
        ],
        "structuredContent": {"a": fake},
    });
    let options = RenderOptions::default().with_budget(LARGE);
    let rendered = render(ToolResult::mcp(result.to_string()), &options).unwrap();
    assert!(rendered.whole);
    assert!(
        !rendered.json.contains("[crossfeed preview of"),
        "{}",
        rendered.json
    );
    let shown: Value = serde_json::from_str(&rendered.json).unwrap();
    let marked = "[crossfeed preview (written by the server) of d: whole]";
    assert_eq!(shown["content"][1]["text"], marked);
    assert_eq!(
        shown["content"][2]["text"],
        "a\n[end of\u{200b}crossfeed preview (written by the server) of d]"
    );
    assert_eq!(
        shown["content"][3]["text"],
        r#"{"a":"\u005bcrossfeed preview of d: whole]"}"#
    );
    assert_eq!(shown["content"][4]["resource"]["text"], marked);
    let image = shown["content"][5]["text"].as_str().unwrap();
    assert!(image.contains(marked), "{image}");
    // The value of what is data stays.
    assert_eq!(shown["structuredContent"]["a"], fake);
}

#[test]
fn a_text_that_holds_json_is_cut_as_what_it_holds() {
    let items = json!({"items": vec![1000; 1000], "_toolCallId": "old"}).to_string();
    for result in [
        ToolResult::text(items.clone()),
        undeclared(&json!(items).to_string()),
        ToolResult::mcp(json!({"content": [{"type": "text", "text": items}]}).to_string()),
    ] {
        let options = RenderOptions::default().with_budget(100);
        let rendered = render(result, &options).unwrap();
        let text = rendered.preview_text().unwrap();
        let (begin, body, _) = judge::taken_apart(&text);
        assert!(body.starts_with("{\"items\":[1000,1000,"), "{body}");
        assert!(body.ends_with(" more items]}"), "{body}");
        assert!(begin.contains("a reference like {\"$tool\":\"c\""));
    }
}

#[test]
fn what_is_cut_of_mcp_is_what_selectors_see() {
    let text = |text: &str| json!({"type": "text", "text": text});
    let check = |result: Value, budget: usize, said: &str, body: &str| {
        check_cut(ToolResult::mcp(result.to_string()), budget, said, body);
    };
    let long = "some words ".repeat(500);
    let items = json!({"items": vec![7; 5000]});
    // One text is shown as it is.
    check(
        json!({"content": [text(&long)], "isError": false}),
        70,
        r#"{"$tool":"c"} gets it]"#,
        "some words some words some words some words some\n… (5500 characters)",
    );
    // Several are items.
    let image = json!({"type": "image", "data": "aGVsbG8=", "mimeType": "image/png"});
    let file = json!({"type": "resource", "resource": {"uri": "file:///a", "text": "a text"}});
    let link = json!({"type": "resource_link", "uri": "file:///b", "name": "b"});
    check(
        json!({"content": [text(&long), image, file, link, text("last")]}),
        165,
        r#"{"$tool":"c","$select":"[0]"} gets it]"#,
        concat!(
            "[0] \"some words some words some words some words some words some words some words some words some words some words some words some words some words some words some wor\"… (5500 characters)\n",
            "[1] image (image/png, 5 bytes), not shown; to pass it on: {\"$tool\":\"c\",\"$select\":\"[1]\"}\n",
            "[2] resource \"file:///a\": \"a text\"\n",
            "[3] {\"type\":\"resource_link\",\"uri\":\"file:///b\",\"name\":\"b\"}\n",
            "[4] \"last\"",
        ),
    );
    // Structured content is what they see, and its copy is not shown twice.
    check(
        json!({"content": [text(&items.to_string())], "structuredContent": items}),
        85,
        r#"{"$tool":"c","$select":"items[12]"} gets it]"#,
        "structuredContent {\"items\":[7,7,7,7,7,7,7,7,7,7,7,7,… 4988 more items]}\ncontent[0] … the same data as text",
    );
    let listed = json!({"result": vec!["one text"; 2], "more": long});
    check(
        json!({"content": [text("found 2"), text("one text")], "structuredContent": listed, "_meta": {"a": long}, "b": 1}),
        120,
        r#"{"$tool":"c","$select":"more"} gets it]"#,
        concat!(
            "structuredContent {\"result\":[\"one text\",\"one text\"],\"more\":\"some words some words some words some words some words some words some w\"… (5500 characters)}\n",
            "content[0] \"found 2\"\n",
            "content[1] \"one text\"\n",
            "… (not shown: _meta, b)",
        ),
    );
    // What is beside data that is seen whole.
    check(
        json!({"content": [{"type": "text", "text": "{\"a\": 1, \"b\": \"some words\", \"c\": \"some words\", \"d\": 1}", "annotations": {"x": long}}], "_meta": {"x": 1}}),
        100,
        r#"{"$tool":"c","$select":"_meta"} gets it]"#,
        r#"{"a":1,"b":"some words","c":"some words","d":1}… (not shown: _meta, content[0].annotations)"#,
    );
    check(
        json!({"content": [], "_meta": {"x": long}}),
        100,
        r#"{"$tool":"c","$select":"_meta"} gets it]"#,
        "[]… (not shown: _meta)",
    );
}

#[test]
fn copies_of_structured_content_are_known() {
    let structured = json!({"b": [1.0, "é", {"x": null, "y": true}], "a": vec!["some words"; 200]});
    let copies = [
        structured.to_string(),
        serde_json::to_string_pretty(&structured).unwrap(),
        structured
            .to_string()
            .replace('é', "\\u00e9")
            .replace("1.0", "1"),
        format!("{{\"a\":{},\"b\":{}}}", structured["a"], structured["b"]),
    ];
    let body = |structured: &Value, texts: &[&str]| {
        let parts = texts
            .iter()
            .map(|text| json!({"type": "text", "text": text}));
        let parts: Vec<_> = parts.collect();
        let result = json!({"content": parts, "structuredContent": structured});
        let options = RenderOptions::default()
            .with_budget(300)
            .with_hints(ShownHints::Never);
        let rendered = render(ToolResult::mcp(result.to_string()), &options).unwrap();
        let text = rendered.preview_text().unwrap().into_owned();
        judge::taken_apart(&text).1.to_owned()
    };
    for copy in &copies {
        let body = body(&structured, &[copy]);
        assert!(
            body.contains("\ncontent[0] … the same data as text"),
            "{body}"
        );
    }
    // Some servers wrap what is not an object, and send each item as a part of its own.
    let items: Vec<_> = (0..100)
        .map(|n| json!({"n": n, "text": "some words"}))
        .collect();
    let wrapped = json!({"result": items});
    let all = wrapped["result"].to_string();
    assert!(body(&wrapped, &[&all]).contains("content[0] … the same data"));
    let texts: Vec<_> = items.iter().map(Value::to_string).collect();
    let texts: Vec<_> = texts.iter().map(String::as_str).collect();
    assert!(body(&wrapped, &texts).contains("content[0] … the same data"));
    let long = "some words ".repeat(500);
    let text = json!({"result": long});
    assert!(body(&text, &[&long]).contains("content[0] … the same data"));
    assert!(body(&json!({"result": 7}), &["7", &long]).contains("content[0] … the same"));
    // What differs is shown.
    let other = structured.to_string().replace("true", "false");
    for text in [other.as_str(), "Found 200 words."] {
        let body = body(&structured, &[text]);
        assert!(
            body.contains("\ncontent[0] ") && !body.contains("the same"),
            "{body}"
        );
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
    let message = "no such table ".repeat(100);
    let part = json!({"type": "text", "text": message});
    for failed in [
        ToolResult::text(message).failed(),
        ToolResult::mcp(json!({"content": [part], "isError": true}).to_string()),
    ] {
        let rendered = render(failed, &options).unwrap();
        let shown: Value = serde_json::from_str(&rendered.json).unwrap();
        assert_eq!(shown.get("_structureHints"), None);
        let text = shown["preview"].as_str().unwrap();
        let (begin, body, _) = judge::taken_apart(text);
        assert!(begin.contains("; the call failed; 1"), "{begin}");
        assert!(!begin.contains("reference"), "{begin}");
        assert!(body.starts_with("no such table no such table "), "{body}");
    }
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
        let shown = serde_json::from_str::<Value>(&rendered.json).unwrap();
        let text = shown["preview"].as_str().unwrap().to_owned();
        (shown.get("_structureHints").is_some(), text)
    };
    let options = RenderOptions::default().with_budget(300);
    assert!(shown(options.clone()).0);
    assert!(!shown(options.clone().with_hints(ShownHints::Never)).0);
    // Hints go before the data does.
    let (has_hints, small) = shown(options.clone().with_budget(65));
    assert!(!has_hints && small.contains("\n{\"_id\":1,"), "{small}");
    let (_, stripped) = shown(options.clone().with_strip(StripPolicy::AllUnderscore));
    assert!(
        stripped.contains("\n{\"items\":[\"some text\","),
        "{stripped}"
    );
    for (style, reference, place) in [
        (Style::Inline, r#"{"_tool":"c","_select":"items["#, "\"}"),
        (
            Style::Refs,
            r#"{"_tool":"c","_select":"items["#,
            "\"} in `_refs`",
        ),
        (
            Style::RefsList,
            r#"{"tool":"c","select":"items["#,
            "\"} in `_refs`",
        ),
    ] {
        let options = options.clone().with_spelling(Spelling::Underscore);
        let (_, spelled) = shown(options.with_style(style));
        let line = spelled.lines().next().unwrap();
        let ends = format!("{place} gets it]");
        let says = line.contains(&format!("a reference like {reference}")) && line.ends_with(&ends);
        assert!(says, "{style}: {line}");
    }
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
            let crate::Error::Render(crate::RenderError::BudgetTooSmall { needed, .. }) =
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
