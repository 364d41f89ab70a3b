//! From a provider's tool list to a call: shown, read back, resolved, judged by the tool's own schema.

use crate::{
    bytes,
    support::{block_on, call, scope},
};
use crossfeed_core::{Engine, EngineOptions, PreparedTool, ResolveError, Session, ToolResult};
use crossfeed_tools::{ListOptions, Profile, Style, ToolCall, ToolList, rewrite_tools};
use serde_json::{Value, json};

fn tools() -> Value {
    json!([
        {"type": "function", "function": {"name": "fetch", "description": "Fetches a page", "parameters": {
            "type": "object",
            "properties": {
                "url": {"type": "string"},
                "options": {"type": "object", "properties": {"limit": {"type": "integer"}, "$sort": {"type": "string"}}},
            },
            "required": ["url"],
            "additionalProperties": false,
        }}},
        {"type": "function", "function": {"name": "broken", "parameters": {"type": "objekt", "properties": {}}}},
    ])
}

fn prepared(engine: &Engine, options: &ListOptions, name: &str) -> PreparedTool {
    let listed = rewrite_tools(&ToolList::parse(&tools()).unwrap(), options);
    engine.prepare(listed.find(name).unwrap().clone())
}

fn session(engine: &Engine) -> Session {
    let session = engine.session(scope("s"));
    let found = r#"{"items": [{"url": "https://a.example", "rank": 3}], "options": {"limit": 2}}"#;
    block_on(session.record(&call("call_1"), ToolResult::json(found))).unwrap();
    session
}

/// The arguments that `fetch` gets for what the model wrote.
fn resolve(options: &ListOptions, arguments: Value) -> Result<Value, ResolveError> {
    let engine = Engine::in_memory(EngineOptions::default());
    let tool = prepared(&engine, options, "fetch");
    let session = session(&engine);
    let bytes = block_on(session.resolve_call_json(&tool, arguments.to_string()));
    let resolved = block_on(session.resolve_call(&tool, arguments));
    bytes::judge(&resolved, &bytes);
    resolved.map(|resolved| resolved.arguments)
}

fn codes(error: &ResolveError) -> Vec<(&str, String)> {
    let bodies = error.bodies().into_iter();
    bodies
        .map(|body| (body.code, body.at.unwrap_or_default()))
        .collect()
}

#[test]
fn every_style_leads_to_the_same_call() {
    let expected = json!({"url": "https://a.example", "options": {"limit": 2}});
    let map = |key: &str, tool: &str, select: &str| {
        json!({"url": null, "options": null, key: {
            "url": {tool: "call_1", select: "items[0].url"},
            "options": {tool: "call_1", select: "options"},
        }})
    };
    let list = json!({"url": null, "options": null, "_refs": [
        {"to": "url", "tool": "call_1", "select": "items[0].url"},
        {"to": "options", "tool": "call_1", "select": "options"},
    ]});
    let inline = json!({
        "url": {"$tool": "call_1", "$select": "items[0].url"},
        "options": {"limit": {"$tool": "call_1", "$select": "options.limit"}},
    });
    for (options, arguments) in [
        (ListOptions::style(Style::Inline), inline),
        (
            ListOptions::style(Style::Refs),
            map("_refs", "_tool", "_select"),
        ),
        (ListOptions::style(Style::RefsList), list.clone()),
        (
            ListOptions::profile(Profile::Mcp),
            map("_refs", "_tool", "_select"),
        ),
        (ListOptions::profile(Profile::Gemini), list),
    ] {
        let resolved = resolve(&options, arguments);
        assert_eq!(
            resolved.map_err(|e| e.to_string()).unwrap(),
            expected,
            "{options:?}"
        );
    }
}

#[test]
fn strict_arguments_are_read_back() {
    let options = ListOptions::profile(Profile::OpenAiStrict);
    let arguments = json!({
        "url": null,
        "options": {"limit": null, "$sort": "rank"},
        "_refs": [{"to": "url", "tool": "call_1", "artifact": null, "select": "items[0].url"}],
    });
    assert_eq!(
        resolve(&options, arguments)
            .map_err(|e| e.to_string())
            .unwrap(),
        json!({"url": "https://a.example", "options": {"$sort": "rank"}})
    );
}

#[test]
fn renamed_parameters_find_their_way_back() {
    let listed = rewrite_tools(
        &ToolList::parse(&tools()).unwrap(),
        &ListOptions::profile(Profile::Gemini),
    );
    let fetch = listed.find("fetch").unwrap();
    let shown = fetch.names().shown("$sort").to_owned();
    assert_ne!(shown, "$sort");
    let arguments = json!({"url": "https://b.example", "options": {shown: "rank"}});
    let resolved = resolve(&ListOptions::profile(Profile::Gemini), arguments).unwrap();
    assert_eq!(
        resolved,
        json!({"url": "https://b.example", "options": {"$sort": "rank"}})
    );
}

#[test]
fn what_nothing_fills_and_what_is_no_parameter_are_errors() {
    let options = ListOptions::style(Style::Refs);
    let error = resolve(&options, json!({"url": null})).unwrap_err();
    assert_eq!(codes(&error), [("arguments.invalid", "/url".to_owned())]);
    let arguments =
        json!({"url": null, "_refs": {"ulr": {"_tool": "call_1", "_select": "items[0].url"}}});
    let error = resolve(&options, arguments).unwrap_err();
    assert!(error.to_string().contains("url"), "{error}");
    assert!(
        codes(&error).contains(&("reference.malformed", "/_refs/ulr".to_owned())),
        "{error}"
    );
}

#[test]
fn an_object_is_built_of_what_references_bring() {
    let ids = json!({"type": "array", "items": {"type": "integer"}});
    let filter = json!({"type": "object", "properties": {"ids": ids}, "required": ["ids"]});
    let schema = json!({"type": "object", "properties": {"f": filter}, "required": ["f"]});
    let list = json!([{"name": "find", "inputSchema": schema}]);
    for options in [
        ListOptions::style(Style::RefsList),
        ListOptions::profile(Profile::OpenAiStrict),
        ListOptions::profile(Profile::Gemini),
    ] {
        let listed = rewrite_tools(&ToolList::parse(&list).unwrap(), &options);
        let engine = Engine::in_memory(EngineOptions::default());
        let tool = engine.prepare(listed.find("find").unwrap().clone());
        let call = |select: &str| {
            let entry = json!({"to": "/f/ids", "tool": "call_1", "select": select});
            let arguments = json!({"f": null, "_refs": [entry]});
            block_on(session(&engine).resolve_call(&tool, arguments))
        };
        let resolved = call("items[].rank").map_err(|e| e.to_string()).unwrap();
        assert_eq!(resolved.arguments, json!({"f": {"ids": [3]}}));
        // The own schema judges what was built.
        let error = call("items[].url").unwrap_err();
        assert_eq!(
            codes(&error),
            [("arguments.invalid", "/f/ids/0".to_owned())]
        );
    }
}

#[test]
fn the_own_schema_judges_not_the_shown_one() {
    // The shown schema admits null and the map; the own one neither a number nor an unknown name.
    let options = ListOptions::style(Style::Refs);
    let wrong =
        json!({"url": null, "_refs": {"url": {"_tool": "call_1", "_select": "items[0].rank"}}});
    let resolved = resolve(&options, wrong).unwrap();
    assert_eq!(resolved, json!({"url": "3"})); // an integer for a string is repaired
    let wrong = json!({"url": null, "_refs": {"url": {"_tool": "call_1", "_select": "options"}}});
    let error = resolve(&options, wrong).unwrap_err();
    assert_eq!(codes(&error), [("arguments.invalid", "/url".to_owned())]);
    let error = resolve(&options, json!({"url": "u", "other": 1})).unwrap_err();
    assert_eq!(codes(&error), [("arguments.invalid", String::new())]);
}

#[test]
fn a_tool_that_nothing_can_judge_takes_no_references() {
    let engine = Engine::in_memory(EngineOptions::default());
    let session = session(&engine);
    let tool = prepared(&engine, &ListOptions::style(Style::Inline), "broken");
    assert!(tool.input_schema().is_err());
    let plain = json!({"anything": [1, {"goes": true}]});
    let resolved = block_on(session.resolve_call(&tool, plain.clone())).unwrap();
    assert_eq!(resolved.arguments, plain);
    for arguments in [
        json!({"a": {"$tool": "call_1"}}),
        json!({"a": null, "_refs": {"a": {"_tool": "call_1"}}}),
        json!({"a": {"$tool": 7}}),
        json!("{\"$tool\": \"call_1\"}"),
    ] {
        let error = block_on(session.resolve_call(&tool, arguments)).unwrap_err();
        assert_eq!(
            codes(&error),
            [("schema.invalid", String::new())],
            "{error}"
        );
    }
}

#[test]
fn a_block_comes_back_with_what_was_resolved() {
    let block = json!({"id": "call_9", "type": "function", "function": {
        "name": "fetch",
        "arguments": "{\"url\": {\"$tool\": \"call_1\", \"$select\": \"items[0].url\"}}",
    }});
    let parsed = ToolCall::parse(&block).unwrap();
    let engine = Engine::in_memory(EngineOptions::default());
    let tool = prepared(
        &engine,
        &ListOptions::profile(Profile::OpenAi),
        parsed.name(),
    );
    let arguments = parsed.arguments().clone();
    let resolved = block_on(session(&engine).resolve_call(&tool, arguments)).unwrap();
    let back = parsed.with_arguments(resolved.arguments).to_value();
    assert_eq!(back["id"], "call_9");
    assert_eq!(
        back["function"]["arguments"],
        r#"{"url":"https://a.example"}"#
    );
}

/// A tool whose parameters are read back in every way, how its `a b` is shown, and an engine for it.
fn digits_tool(profile: Profile) -> (Engine, PreparedTool, String) {
    let schema = json!({"type": "object", "properties": {
        "a b": {"type": "number"}, "list": {"type": "array", "items": {"type": "number"}}, "none": {"type": "number"}, "x": {},
        "p": {"type": "object"},
    }});
    let list = json!([{"name": "f", "inputSchema": schema}]);
    let options = ListOptions::profile(profile);
    let listed = rewrite_tools(&ToolList::parse(&list).unwrap(), &options);
    let engine = Engine::in_memory(EngineOptions::default());
    let tool = engine.prepare(listed.find("f").unwrap().clone());
    let shown = tool.listed().names().shown("a b").to_owned();
    (engine, tool, shown)
}

#[test]
fn reading_back_keeps_digits() {
    let check = |profile: Profile, arguments: &str, expected: &str| {
        let (engine, tool, shown) = digits_tool(profile);
        let arguments = arguments.replace("SHOWN", &shown);
        let resolved = block_on(session(&engine).resolve_call_json(&tool, arguments));
        let read = match resolved {
            Ok(resolved) => String::from_utf8(resolved.arguments.to_vec()).unwrap(),
            Err(error) => format!("{:?}", codes(&error)),
        };
        assert_eq!(read, expected.replace("SHOWN", &shown), "{profile}");
    };
    assert_ne!(digits_tool(Profile::AnthropicStrict).2, "a b");
    check(
        Profile::AnthropicStrict,
        r#"{"SHOWN": 1.50, "list": [1.5, 2.0, 1.500], "x": 12345678901234567890123, "none": null}"#,
        r#"{"a b":1.50,"list":[1.5,2.0,1.500],"x":12345678901234567890123}"#,
    );
    for profile in [Profile::OpenAiStrict, Profile::AnthropicStrict] {
        // What stood in a text has the digits of a value, and never those of another number.
        check(
            profile,
            r#"{"x": 12345678901234567890123, "p": "{\"n\": 12345678901234567890124}"}"#,
            r#"{"x":12345678901234567890123,"p":{"n":1.2345678901234568e+22}}"#,
        );
        check(
            profile,
            r#"{"list": [12345678901234567890123, 12345678901234567890125], "p": "{\"n\": 12345678901234567890124}"}"#,
            r#"{"list":[12345678901234567890123,12345678901234567890125],"p":{"n":1.2345678901234568e+22}}"#,
        );
        // A number that no value holds is passed on or refused, and stands for no other.
        check(
            profile,
            r#"{"x": [1e400, -1e500], "none": null}"#,
            r#"{"x":[1e400, -1e500]}"#,
        );
        check(
            profile,
            r#"{"x": 1e400, "p": "{\"n\": 1.7976931348623157e308}"}"#,
            r#"[("limit.exceeded", "/x")]"#,
        );
    }
    // Both names: each stays where it is.
    check(
        Profile::AnthropicStrict,
        r#"{"SHOWN": 1.50, "a b": 1.500, "none": null}"#,
        r#"{"SHOWN":1.50,"a b":1.500}"#,
    );
    // Large arguments are read elsewhere, and the same.
    let long = "x".repeat(70_000);
    check(
        Profile::AnthropicStrict,
        &format!(r#"{{"SHOWN": 1.50, "x": "{long}", "none": null}}"#),
        &format!(r#"{{"a b":1.50,"x":"{long}"}}"#),
    );
}
