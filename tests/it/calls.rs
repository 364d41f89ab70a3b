//! Calls read back from bytes: the same as from a value, for every tool and whatever a model writes.

use crate::{
    bytes::judge,
    support::{block_on, call, codes, scope},
};
use crossfeed_core::{Engine, EngineOptions, PreparedTool, ToolResult};
use crossfeed_json::{Cursor, Document, Kind};
use crossfeed_tools::{ListOptions, Profile, Style, ToolList, rewrite_tools};
use proptest::{prelude::*, sample::select};
use serde_json::{Value, json};

/// Numbers whose digits a value does not keep.
const NUMBERS: [&str; 5] = ["3", "1.50", "-0.0", "12345678901234567890123", "1e400"];

/// The parameters of a tool whose arguments are read back in every way: with names that providers refuse,
/// objects that some fold into texts, members that may be null where schemas are strict, and references maps.
fn folded() -> Value {
    let row = json!({"type": "object", "properties": {
        "k": {"type": "string"}, "opt": {"type": "number"}, "c d": {"type": ["number", "null"]},
    }, "required": ["k"], "additionalProperties": false});
    json!({"type": "object", "properties": {
        "url": {"type": "string"}, "a b": {"type": "number"}, "n": {"type": "integer"},
        "open": {"type": "object"}, "rows": {"type": "array", "items": row}, "row": row, "x": {},
    }, "required": ["url"]})
}

/// Those of a tool of which nothing is folded, so that what nobody reads back is left out, and of which a
/// name is empty.
fn plain() -> Value {
    let row =
        json!({"type": "object", "properties": {"k": {"type": "string"}, "": {"type": "integer"}}});
    json!({"type": "object", "properties": {
        "url": {"type": "string"}, "a b": {"type": "number"}, "rows": {"type": "array", "items": {"type": "integer"}},
        "row": row, "x": {"type": "array", "items": row},
    }})
}

fn tool(engine: &Engine, options: &ListOptions, schema: &Value) -> PreparedTool {
    let tools = json!([{"name": "t", "inputSchema": schema}]);
    let listed = rewrite_tools(&ToolList::parse(&tools).unwrap(), options);
    engine.prepare(listed.find("t").unwrap().clone())
}

fn options() -> impl Strategy<Value = ListOptions> {
    select(vec![
        ListOptions::style(Style::Refs),
        ListOptions::style(Style::Inline),
        ListOptions::profile(Profile::Anthropic),
        ListOptions::profile(Profile::AnthropicStrict),
        ListOptions::profile(Profile::OpenAiStrict),
        ListOptions::profile(Profile::Gemini),
    ])
}

/// `NAME` stands for how the tool's `a b` is shown.
fn value() -> impl Strategy<Value = String> {
    let words = vec![
        "null",
        "null",
        "true",
        r#""a""#,
        r#""\u0041""#,
        "[]",
        "{ }",
        "[0]",
        r#"{"": 0}"#,
        r#"{"$tool": "c"}"#,
        r#"{"_tool":"c", "_select": "a", "_default": null}"#,
        r#"{"$tool": "c", "$select": "no", "$default": [1.50, {"a": null}]}"#,
        r#"{"$tool": 7, "opt": null}"#,
        r#"{"$literal": {"$tool": 1.50}}"#,
        r#""{\"_tool\": \"c\", \"_select\": \"b\"}""#,
        r#""{\"k\": \"x\", \"opt\": null}""#,
        r#""[1, null]""#,
    ];
    let words = words.into_iter().chain(NUMBERS).map(str::to_owned);
    let leaf = select(words.collect::<Vec<_>>());
    leaf.prop_recursive(3, 24, 4, |inner| {
        let key = select(vec![
            "k",
            "opt",
            "c d",
            "NAME",
            "a b",
            "_refs",
            "z",
            "\\u006b",
            "",
            "parameter",
        ]);
        let members = prop::collection::vec((key, inner.clone()), 0..4);
        prop_oneof![
            prop::collection::vec(inner, 0..4).prop_map(|items| format!("[{}]", items.join(", "))),
            members.prop_map(|members| object(&members)),
        ]
    })
}

fn object(members: &[(&str, String)]) -> String {
    let member = |(key, value): &(&str, String)| format!("\"{key}\":{value}");
    let members: Vec<_> = members.iter().map(member).collect();
    format!("{{{}}}", members.join(" ,"))
}

fn map() -> impl Strategy<Value = String> {
    let words = [
        "null",
        "7",
        r#"{"url": {"_tool": "c", "_select": "b"}, "n": null}"#,
        r#"{"rows": {"$tool": "c", "$select": "rows"}, "NAME": {"_tool": "c", "_select": "a"}}"#,
        r#"[{"to": "/row/k", "tool": "c", "select": "b"}, {"to": "x", "tool": "c", "default": 1.50}]"#,
        r#"[{"to": "nobody", "tool": "c"}, {"to": "/rows/-", "tool": "c", "select": "rows[0]"}, 5]"#,
        r#"[7]"#,
        r#"{"": 7}"#,
    ];
    select(words.map(str::to_owned).to_vec())
}

fn arguments() -> impl Strategy<Value = String> {
    let key = select(vec![
        "url",
        "url",
        "a b",
        "NAME",
        "n",
        "open",
        "rows",
        "row",
        "x",
        "zz",
        "\\u0075rl",
        "_fields",
        "$tool",
    ]);
    let maps = select(vec!["_refs", "$refs"]);
    let member = prop_oneof![6 => (key, value()), 1 => (maps, map())];
    let members = prop::collection::vec(member, 0..7);
    prop_oneof![9 => members.prop_map(|members| object(&members)), 1 => value()]
}

/// Numbers in a value that are not spelled as any that was written.
fn is_respelled(value: Cursor<'_>) -> bool {
    let is_known = |raw: &[u8]| NUMBERS.iter().any(|number| number.as_bytes() == raw);
    match value.kind() {
        Kind::Number => !is_known(value.raw()) && !matches!(value.raw(), b"0" | b"1" | b"7"),
        _ => value.items().any(is_respelled),
    }
}

/// Resolves a call both ways, in which `NAME` stands for how the tool's `a b` is shown.
fn check(options: &ListOptions, schema: &Value, arguments: &str) {
    let engine = Engine::in_memory(EngineOptions::default());
    let tool = tool(&engine, options, schema);
    let names = tool.listed().names();
    let arguments = arguments.replace("NAME", names.shown("a b"));
    let document = Document::new(arguments.clone());
    block_on(async {
        let session = engine.session(scope("s"));
        let result = r#"{"a": 1.50, "b": "text", "rows": [{"k": "1"}, {"k": "2"}]}"#;
        let recorded = ToolResult::json(result);
        session.record(&call("c"), recorded).await.unwrap();
        let bytes = session.resolve_call_json(&tool, arguments.clone()).await;
        if let Ok(value) = document.root().unwrap().to_value() {
            let value = session.resolve_call(&tool, value).await;
            judge(&value, &bytes);
            if let (Ok(value), Ok(bytes)) = (&value, &bytes) {
                let document = Document::new(bytes.arguments.to_vec());
                let read = document.root().unwrap().to_value().unwrap();
                assert_eq!(read.to_string(), value.arguments.to_string());
                assert_eq!(value.projection, bytes.projection);
            }
        }
        let Ok(bytes) = bytes else { return };
        let document = Document::new(bytes.arguments.to_vec());
        // What stood in a text, and what may be either of two members, has the digits of a value.
        let is_either = arguments.contains("a b") || arguments.contains("parameter");
        if tool.listed().folded() == 0 && (names.is_empty() || !is_either) {
            assert!(!is_respelled(document.root().unwrap()), "{arguments}");
        }
    });
}

#[test]
fn names_that_meet_in_a_map_are_one() {
    let options = ListOptions::profile(Profile::Anthropic);
    check(
        &options,
        &folded(),
        r#"{"_refs": {"NAME": null, "a b": null}}"#,
    );
}

#[test]
fn a_list_of_one_reference_is_corrected() {
    for entry in [
        r#"[{"$tool": "c"}]"#,
        r#"[{"_tool": "c", "_select": "a", "opt": null}]"#,
        r#"[{"_tool": "c"}, 7]"#,
        r#"[[{"_tool": "c"}]]"#,
        "[[]]",
    ] {
        for options in [
            ListOptions::profile(Profile::OpenAiStrict),
            ListOptions::profile(Profile::Gemini),
        ] {
            let arguments = format!(r#"{{"url": "", "_refs": [{entry}]}}"#);
            check(&options, &folded(), &arguments);
        }
    }
}

#[test]
fn what_stands_for_other_data_cannot_be_written() {
    let outlined =
        |value: &str| format!(r#"{{"rows": [7,1,0], "x": [{{"k": "1"}}], "row": {value}}}"#);
    for profile in [
        Profile::Gemini,
        Profile::Anthropic,
        Profile::AnthropicStrict,
        Profile::OpenAiStrict,
    ] {
        let options = ListOptions::profile(profile);
        for key in ["", "parameter"] {
            for value in [
                "0",
                "1",
                "[0]",
                "[1]",
                "[[0]]",
                r#"{"": 0}"#,
                r#"{"": [1]}"#,
            ] {
                let value = format!(r#""{key}": {value}"#);
                check(&options, &plain(), &outlined(&format!("{{{value}}}")));
                check(
                    &options,
                    &plain(),
                    &outlined(&format!(r#"{{{value}, "k": null}}"#)),
                );
                let map =
                    format!(r#"{{"rows": [7,1,0], "row": {{"k": null}}, "_refs": {{{value}}}}}"#);
                check(&options, &plain(), &map);
            }
        }
    }
}

/// What reading back makes one level deeper than arguments may be is refused, and no reference in it passes
/// as data.
#[test]
fn arguments_that_are_too_deep_once_they_are_read_back_are_refused() {
    let schema = json!({"type": "object", "properties": {
        "n": {"$ref": "#"}, "k": {"type": "integer"},
    }, "additionalProperties": false});
    let engine = Engine::in_memory(EngineOptions::default());
    let tool = tool(
        &engine,
        &ListOptions::profile(Profile::OpenAiStrict),
        &schema,
    );
    assert_eq!(tool.listed().strict(), Some(true));
    let resolve = |depth: usize| {
        let within = format!(
            "{}null{}",
            "{\"n\":".repeat(depth - 1),
            "}".repeat(depth - 1)
        );
        let to = "/n".repeat(depth) + "/k";
        let arguments = format!(r#"{{"n":{within},"_refs":[{{"to":"{to}","tool":"c"}}]}}"#);
        block_on(async {
            let session = engine.session(scope("s"));
            let recorded = ToolResult::json("7");
            session.record(&call("c"), recorded).await.unwrap();
            let resolved = session
                .resolve_call_json(&tool.without_validation(), arguments)
                .await;
            resolved.map(|resolved| String::from_utf8(resolved.arguments.to_vec()).unwrap())
        })
    };
    let fits = resolve(126).unwrap();
    assert!(
        fits.contains(r#"{"k":7}"#) && !fits.contains("_refs"),
        "{fits}"
    );
    let codes = codes(&resolve(127).unwrap_err());
    assert_eq!(codes, [("limit.exceeded", String::new())]);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) })]

    #[test]
    fn both_ways_are_the_same(options in options(), arguments in arguments(), is_plain: bool) {
        let schema = if is_plain { plain() } else { folded() };
        check(&options, &schema, &arguments);
    }
}
