//! How the tools of a list are shown, and why.

use super::{decisions, list, object, optionals, tool};
use crate::{ListOptions, Profile, Shape, Spelling, Style};
use crossfeed_tokens::TokenCounter;
use serde_json::json;

#[test]
fn a_style_asked_for_is_always_applied() {
    let document = json!({"jsonrpc": "2.0", "id": 1, "result": {"tools": [
        tool("a", object(json!({"url": {"type": "string"}}), json!(["url"]))),
        tool("none", json!({"type": "object"})),
        {"name": "bare"},
        tool("bad", json!({"type": "objekt"})),
        {"name": "marked", "inputSchema": object(json!({"x": {}}), json!([])), "_meta": {"dev.crossfeed/chain": false}},
        tool("never", object(json!({"x": {}}), json!([]))),
    ], "nextCursor": "c"}});
    for style in Style::ALL {
        let options = ListOptions::style(style)
            .with_never("never")
            .with_max_added_tokens(0);
        let listed = list(&document, &options);
        let word = Some(style.as_str());
        let found = decisions(&listed);
        assert_eq!(
            found[..3],
            [
                ("a", word, None, "the style was asked for"),
                ("none", None, None, "it has no parameters"),
                ("bare", None, None, "it has no parameters"),
            ]
        );
        assert!(
            found[3]
                .3
                .starts_with("its schema cannot be used: the schema is not valid at")
        );
        assert_eq!(found[4].3, "it is marked as never chained");
        assert_eq!(found[5].3, "it is never chained by option");
        // Only the one schema is another.
        let mut value = listed.value.clone();
        value["result"]["tools"][0]["inputSchema"] =
            document["result"]["tools"][0]["inputSchema"].clone();
        assert_eq!(value.to_string(), document.to_string());
        assert_ne!(listed.value, document);
        assert!(listed.tools[3].error().is_some() && listed.tools[0].error().is_none());
        assert_eq!(
            listed.tools[0].references().is_some(),
            style != Style::Inline
        );
    }
}

#[test]
fn a_schema_that_is_none_spoils_nothing() {
    for bad in [
        json!("string"),
        json!(7),
        json!([]),
        json!({"properties": 7}),
        json!({"properties": {"a": {"$ref": "#/$defs/gone"}}}),
        json!({"properties": {"a": {"$ref": "https://example.com/s.json"}}}),
    ] {
        let fine = tool("fine", object(json!({"a": {"type": "string"}}), json!([])));
        let document = json!([tool("bad", bad), fine]);
        for options in [ListOptions::style(Style::Refs)]
            .into_iter()
            .chain(Profile::ALL.map(ListOptions::profile))
        {
            let listed = list(&document, &options);
            assert_eq!(listed.value[0], document[0]);
            assert!(listed.tools[0].error().is_some(), "{document}");
            assert!(listed.tools[1].style().is_some(), "{document}");
            let arguments = json!({"a": null});
            assert_eq!(listed.tools[0].read(arguments.clone()), Ok(arguments));
        }
    }
}

#[test]
fn strict_tools_are_counted() {
    let tools: Vec<_> = (0..25)
        .map(|n| {
            tool(
                &format!("t{n}"),
                object(json!({"a": {"type": "string"}}), json!(["a"])),
            )
        })
        .collect();
    let options = ListOptions::profile(Profile::AnthropicStrict).with_shape(Shape::Anthropic);
    let listed = list(&json!(tools), &options);
    let strict: Vec<_> = listed.tools.iter().map(|tool| tool.strict()).collect();
    let count = strict
        .iter()
        .filter(|strict| **strict == Some(true))
        .count();
    assert!((1..=20).contains(&count), "{:?}", decisions(&listed));
    // The first come first, and nobody goes without.
    assert!(strict[..count].iter().all(|strict| *strict == Some(true)));
    assert!(listed.tools.iter().all(|tool| tool.style().is_some()));
    for (tool, listed) in listed.value.as_array().unwrap().iter().zip(&listed.tools) {
        assert_eq!(tool["strict"].as_bool(), listed.strict());
        let style = if listed.strict() == Some(true) {
            Style::RefsList
        } else {
            Style::Refs
        };
        assert_eq!(listed.style(), Some(style));
    }
    let last = listed.tools[24].decision();
    assert!(
        last.why.starts_with("refs-list (strict) would make"),
        "{}",
        last.why
    );
}

#[test]
fn what_the_strict_tools_share_is_summed() {
    let document = json!([
        optionals("small", 3),
        optionals("large", 40),
        optionals("small_too", 2),
        tool("none", json!({"type": "object", "properties": {}})),
    ]);
    let listed = list(&document, &ListOptions::profile(Profile::AnthropicStrict));
    let strict: Vec<_> = listed.tools.iter().map(|tool| tool.strict()).collect();
    assert_eq!(
        strict,
        [Some(true), Some(false), Some(true), Some(true)],
        "{:?}",
        decisions(&listed)
    );
    assert_eq!(listed.value[1]["_meta"]["dev.crossfeed/strict"], false);
    assert_eq!(listed.value[0].get("_meta"), None);
    // A list that was written so is read so.
    let again = list(
        &listed.value,
        &ListOptions::profile(Profile::AnthropicStrict),
    );
    assert_eq!(again.tools[1].strict(), Some(false));
}

#[test]
fn tokens_are_a_limit_for_a_profile_only() {
    let document = json!([optionals("a", 2), optionals("b", 2), optionals("c", 2)]);
    let free = list(&document, &ListOptions::profile(Profile::Anthropic));
    assert!(
        free.tools
            .iter()
            .all(|tool| tool.style() == Some(Style::Inline))
    );
    let counted = TokenCounter::new("bytes", str::len);
    let grown = |index: usize| {
        let tool = &free.tools[index];
        tool.shown_schema().to_string().len() - tool.input_schema().to_string().len()
    };
    let options = ListOptions::profile(Profile::Anthropic).with_tokens(counted);
    let limited = list(&document, &options.clone().with_max_added_tokens(grown(0)));
    let styles: Vec<_> = limited.tools.iter().map(|tool| tool.style()).collect();
    assert_eq!(
        styles,
        [Some(Style::Inline), None, None],
        "{:?}",
        decisions(&limited)
    );
    assert!(
        limited.tools[1]
            .decision()
            .why
            .contains("added tokens where")
    );
    let none = list(&document, &options.with_max_added_tokens(0));
    assert!(none.tools.iter().all(|tool| tool.style().is_none()));
}

#[test]
fn names_that_a_provider_refuses_are_shown_otherwise() {
    let document = json!({"tools": [tool("files.read", object(json!({"$path": {"type": "string"}}), json!(["$path"])))]});
    let options = ListOptions::profile(Profile::OpenAi).with_shape(Shape::OpenAiChat);
    let listed = list(&document, &options);
    assert_eq!(listed.value[0]["function"]["name"], "files_read");
    let tool = listed.find("files_read").unwrap();
    assert_eq!(
        (tool.name(), tool.shown_name()),
        ("files.read", "files_read")
    );
    assert!(listed.find("files.read").is_none());

    let listed = list(&document, &ListOptions::profile(Profile::Anthropic));
    let tool = listed.find("files_read").unwrap();
    assert!(tool.shown_schema()["properties"].get("path").is_some());
    assert_eq!(tool.read(json!({"path": "x"})), Ok(json!({"$path": "x"})));
    let reference = json!({"path": {"_tool": "c"}});
    assert_eq!(tool.read(reference), Ok(json!({"$path": {"_tool": "c"}})));
}

#[test]
fn guidance_says_what_the_list_uses() {
    let document = json!([optionals("large", 40), optionals("small", 1)]);
    let listed = list(&document, &ListOptions::profile(Profile::AnthropicStrict));
    let text = listed.guidance();
    assert!(
        text.contains("`to`") && text.contains("name it in `_refs`"),
        "{text}"
    );
    let none = list(&json!([{"name": "now"}]), &ListOptions::default());
    assert_eq!(none.guidance(), "");
}

#[test]
fn the_spelling_of_a_style_is_free() {
    let document = json!([optionals("a", 1)]);
    let options = ListOptions::style(Style::Refs).with_spelling(Spelling::Dollar);
    let listed = list(&document, &options);
    assert_eq!(listed.tools[0].references(), Some("$refs"));
}

#[test]
fn names_that_never_are_none_are_told() {
    let options = ListOptions::style(Style::Refs)
        .with_never("b")
        .with_never("zz")
        .with_never("aa");
    let listed = list(&json!([optionals("a", 1), optionals("b", 1)]), &options);
    assert_eq!(listed.unknown_never, ["aa", "zz"]);
}

#[test]
fn tools_of_one_name_are_told_apart() {
    let document = json!([optionals("a", 1), optionals("a", 2), optionals("a_2", 1)]);
    let listed = list(&document, &ListOptions::default());
    let shown: Vec<_> = listed.tools.iter().map(|tool| tool.shown_name()).collect();
    assert_eq!(shown, ["a", "a_3", "a_2"]);
    assert_eq!(listed.value[1]["name"], "a_3");
    assert!(listed.repeated.is_empty());
    let listed = list(&document, &ListOptions::style(Style::Refs));
    let shown: Vec<_> = listed.tools.iter().map(|tool| tool.shown_name()).collect();
    assert_eq!(shown, ["a", "a", "a_2"]);
    assert_eq!(listed.repeated, ["a"]);
}

#[test]
fn another_shape_loses_no_mark() {
    let marked = |name: &str, mark: &str| {
        let schema = object(json!({"a": {"type": "string"}}), json!([]));
        json!({"name": name, "inputSchema": schema, "_meta": {mark: false}})
    };
    let document = json!([
        marked("never", "dev.crossfeed/chain"),
        marked("plain", "dev.crossfeed/strict")
    ]);
    for shape in [Shape::OpenAiChat, Shape::OpenAiResponses, Shape::Anthropic] {
        let options = ListOptions::profile(Profile::OpenAiStrict).with_shape(shape);
        let listed = list(&document, &options);
        assert_eq!(listed.tools[0].style(), None);
        assert_eq!(listed.tools[0].strict(), Some(true));
        assert_eq!(listed.tools[1].strict(), Some(false));
    }
}

#[test]
fn advice_renames_nothing() {
    let document = json!([optionals("read file!", 1), optionals("日本", 1)]);
    let listed = list(&document, &ListOptions::profile(Profile::Mcp));
    let shown: Vec<_> = listed.tools.iter().map(|tool| tool.shown_name()).collect();
    assert_eq!(shown, ["read file!", "日本"]);
    let listed = list(&document, &ListOptions::profile(Profile::OpenAi));
    let shown: Vec<_> = listed.tools.iter().map(|tool| tool.shown_name()).collect();
    assert_eq!(shown, ["read_file", "tool"]);
}
