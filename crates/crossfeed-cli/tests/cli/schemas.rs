//! `crossfeed rewrite` and `crossfeed lint`.

use super::{Run, check, check_usage, file, run};

const SCHEMA: &str =
    r#"{"type": "object", "properties": {"url": {"type": "string"}}, "required": ["url"]}"#;
const REFS: &str = concat!(
    r#"{"type":"object","properties":{"url":{"type":["string","null"]},"_refs":{"type":"object","#,
    r#""description":"Fills null parameters from earlier results (_toolCallId, JMESPath). Prefer it to copying.","#,
    r#""additionalProperties":{"type":"object","properties":{"_tool":{"type":"string"},"#,
    r#""_artifact":{"type":"string"},"_select":{"type":"string"}}}}},"required":["url"]}"#,
);

/// A reply to `tools/list` with these tools.
fn reply(tools: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"tools":[{tools}],"nextCursor":"2"}}}}"#)
}

/// The answer of a command that is to be one.
fn answer(args: &[&str], stdin: &str) -> (String, String) {
    let Run { status, out, err } = run(args, stdin);
    assert_eq!(status, 0, "{args:?}: {err}");
    (out, err)
}

#[test]
fn a_schema_in_a_schema_out() {
    let printed = format!("{REFS}\n");
    check(&["rewrite", "--style", "refs"], SCHEMA, 0, &printed, "");
    let path = file("rewrite.schema.json", SCHEMA);
    check(&["rewrite", &path, "--profile", "mcp"], "", 0, &printed, "");
    check(
        &["rewrite", "-", "--style", "refs"],
        &printed,
        0,
        &printed,
        "",
    );
    let (out, _) = answer(
        &["rewrite", "--style", "refs", "--spelling", "dollar"],
        SCHEMA,
    );
    assert!(
        out.contains("\"$refs\"") && !out.contains("\"_tool\""),
        "{out}"
    );
    let (out, err) = answer(&["rewrite", "--style", "inline", "--report"], SCHEMA);
    assert!(out.contains("\"$defs\""), "{out}");
    assert_eq!(err, "the schema: inline: the style was asked for\n");
}

#[test]
fn a_reply_to_tools_list_goes_through_whole() {
    let tool = |schema: &str| {
        format!(
            r#"{{"name":"fetch","title":"F","inputSchema":{schema},"outputSchema":{{}},"_meta":{{"v":1}}}}"#
        )
    };
    check(
        &["rewrite", "--style", "refs", "--report"],
        &reply(&tool(SCHEMA)),
        0,
        &format!("{}\n", reply(&tool(REFS))),
        "fetch: refs: the style was asked for\n",
    );
}

#[test]
fn one_bad_tool_spoils_nothing() {
    let bad = r#"{"name":"bad","inputSchema":{"type":"objekt"}}"#;
    let fetch = |schema: &str| format!(r#"{{"name":"fetch","inputSchema":{schema}}}"#);
    let given = reply(&format!("{bad},7,{}", fetch(SCHEMA)));
    let Run { status, out, err } = run(&["rewrite", "--style", "refs"], &given);
    assert_eq!(status, 0, "{err}");
    assert_eq!(
        out,
        format!("{}\n", reply(&format!("{bad},7,{}", fetch(REFS))))
    );
    let lines: Vec<_> = err.lines().collect();
    assert_eq!(lines.len(), 2, "{err}");
    assert_eq!(
        lines[0],
        "notice: /result/tools/1: it is not an object; the entry stays as it came"
    );
    assert!(
        lines[1].starts_with("notice: bad: the schema is not valid at `/type`: ")
            && lines[1].ends_with(" (schema.invalid); the tool is listed as it came"),
        "{err}"
    );
}

#[test]
fn one_bad_schema_is_an_error() {
    for (schema, at) in [
        (r#"{"type": "objekt"}"#, Some("/type")),
        (
            r##"{"properties": {"a": {"$ref": "#/$defs/gone"}}}"##,
            Some("/properties/a/$ref"),
        ),
        ("7", None),
        ("null", None),
        ("{\"tools\": \"x\"}", None),
        ("{\"tools\": null}", None),
        ("\"text\"", None),
        ("{\"type\": ", None),
        ("", None),
        (
            r#"{"jsonrpc": "2.0", "id": 1, "error": {"code": -32601, "message": "no"}}"#,
            None,
        ),
    ] {
        for args in [
            ["--style", "inline"],
            ["--profile", "openai-strict"],
            ["--profile", "anthropic"],
        ] {
            let args = ["rewrite", args[0], args[1]];
            let Run { status, out, err } = run(&args, schema);
            assert_eq!((status, out.as_str()), (1, ""), "{schema}: {err}");
            assert!(
                err.starts_with("error[schema.invalid]: "),
                "{schema}: {err}"
            );
            let json = run(&[&["--json"], &args[..]].concat(), schema);
            assert_eq!((json.status, json.err.as_str()), (1, ""), "{schema}");
            assert!(
                json.out
                    .starts_with("{\"error\":{\"code\":\"schema.invalid\","),
                "{}",
                json.out
            );
            let at = at.map(|at| format!("\"at\":\"{at}\""));
            assert!(at.is_none_or(|at| json.out.contains(&at)), "{}", json.out);
        }
    }
    let deep = format!("{}{{}}{}", "{\"items\":".repeat(1_000), "}".repeat(1_000));
    let Run { status, err, .. } = run(&["rewrite", "--style", "refs"], &deep);
    assert!(
        status == 1 && err.contains("nested deeper than 127"),
        "{err}"
    );
}

#[test]
fn a_byte_order_mark_is_read_over() {
    let marked = format!("\u{feff}{SCHEMA}");
    check(
        &["rewrite", "--style", "refs"],
        &marked,
        0,
        &format!("{REFS}\n"),
        "",
    );
    let Run { status, err, .. } = run(&["lint", "--profile", "mcp"], &marked);
    assert_eq!(status, 0, "{err}");
}

#[test]
fn tools_that_are_no_list_are_told() {
    let Run { err, .. } = run(&["lint", "--profile", "mcp"], r#"{"tools": "x"}"#);
    assert!(err.ends_with("`tools` is not a list\n"), "{err}");
}

/// What a profile is given is printed so that `lint` takes it; `before` is the status of what came.
fn fits(profile: &str, tools: &str, before: i32) {
    let came = run(&["lint", "--profile", profile], tools);
    assert_eq!(came.status, before, "{profile}: {}", came.out);
    let (out, _) = answer(&["rewrite", "--profile", profile], tools);
    let Run {
        status, out: found, ..
    } = run(&["lint", "--profile", profile], &out);
    assert_eq!((status, found.as_str()), (0, ""), "{profile}: {out}");
}

#[test]
fn what_rewrite_gives_lint_takes() {
    let schema = r#"{"type": "object", "properties": {"a": {"type": ["string", "null"]}}}"#;
    let tools = |key: &str| format!(r#"[{{"name": "a", "{key}": {schema}}}]"#);
    fits("gemini", &tools("parametersJsonSchema"), 0);
    fits("gemini", &tools("parameters"), 1);
}

#[test]
fn a_missing_schema_is_written() {
    fits(
        "mcp",
        r#"[{"name": "a"}, {"name": "b", "inputSchema": null}]"#,
        1,
    );
    fits(
        "anthropic",
        r#"[{"name": "a"}, {"name": "b", "input_schema": null}]"#,
        1,
    );
}

#[test]
fn a_shape_belongs_to_its_provider() {
    let list = format!("[{{\"name\":\"fetch\",\"inputSchema\":{SCHEMA}}}]");
    for (profile, shape) in [
        ("openai-strict", "gemini"),
        ("anthropic", "gemini"),
        ("gemini", "openai-chat"),
    ] {
        check_usage(
            &["rewrite", "--profile", profile, "--as", shape],
            &list,
            &format!("the shape `{shape}` is another provider's than the profile {profile}"),
        );
    }
    let foreign = format!("[{{\"name\":\"fetch\",\"input_schema\":{SCHEMA}}}]");
    let (_, err) = answer(&["rewrite", "--profile", "openai"], &foreign);
    assert!(
        err.starts_with("notice: the list stays in the shape `anthropic`, "),
        "{err}"
    );
    let Run { err, .. } = run(&["lint", "--profile", "openai"], &foreign);
    assert!(
        err.starts_with("notice: the shape `anthropic` is another provider's than openai\n"),
        "{err}"
    );
}

#[test]
fn a_name_that_no_tool_has_is_told() {
    let list = format!("[{{\"name\":\"fetch\",\"inputSchema\":{SCHEMA}}}]");
    let args = [
        "rewrite", "--style", "refs", "--never", "fetch", "--never", "fetsh",
    ];
    let (_, err) = answer(&args, &list);
    assert_eq!(err, "notice: `--never fetsh` names no tool of the list\n");
}

#[test]
fn other_names_are_always_told() {
    let list = r#"[{"name": "a b", "inputSchema": {"type": "object", "properties": {"$url": {"type": "string"}}}}]"#;
    let (_, err) = answer(&["rewrite", "--profile", "anthropic"], list);
    assert_eq!(
        err,
        "notice: a b: shown as `a_b`\nnotice: a b: `$url` is shown as `url`\n"
    );
}

#[test]
fn a_list_is_printed_in_another_shape() {
    let tool = format!(
        r#"{{"name":"fetch","description":"d","annotations":{{}},"inputSchema":{SCHEMA}}}"#
    );
    let (out, err) = answer(
        &[
            "rewrite",
            "--profile",
            "openai-strict",
            "--as",
            "openai-responses",
            "--report",
        ],
        &reply(&tool),
    );
    assert!(
        out.starts_with(
            r#"[{"type":"function","name":"fetch","description":"d","parameters":{"type":"object","#
        ),
        "{out}"
    );
    assert!(out.ends_with("\"strict\":true}]\n"), "{out}");
    assert!(
        err.contains("notice: fetch: there is no place for `annotations` in this shape\n"),
        "{err}"
    );
    assert!(
        err.contains("fetch: refs-list, strict: the richest style of openai-strict\n"),
        "{err}"
    );
    let Run { status, out, err } = run(&["lint", "--profile", "openai-strict"], &out);
    assert_eq!((status, out.as_str()), (0, ""), "{err}");
    assert_eq!(
        err,
        "1 tool: 0 findings, 0 warnings, 0 refusals by openai-strict\n"
    );
}

#[test]
fn tools_are_left_alone_where_they_are_named() {
    let tool = format!(r#"{{"name":"login","inputSchema":{SCHEMA}}}"#);
    let given = format!("[{tool}]");
    let (out, err) = answer(
        &[
            "rewrite", "--style", "inline", "--never", "login", "--report",
        ],
        &given,
    );
    assert_eq!(out.replace(' ', ""), format!("{given}\n").replace(' ', ""));
    assert_eq!(err, "login: no references: it is never chained by option\n");
    let (_, err) = answer(
        &[
            "rewrite",
            "--profile",
            "mcp",
            "--max-added-tokens",
            "3",
            "--report",
        ],
        &given,
    );
    assert!(
        err.contains("login: no references: refs would make"),
        "{err}"
    );
}

#[test]
fn guidance_is_printed_in_place_of_schemas() {
    let (out, _) = answer(&["rewrite", "--style", "inline", "--guidance"], "");
    assert!(
        out.contains("\"$tool\": \"call_1\"") && out.lines().count() == 1,
        "{out}"
    );
    let (out, _) = answer(
        &["rewrite", "--profile", "openai-strict", "--guidance"],
        SCHEMA,
    );
    assert!(out.contains("\"to\": \"urls\""), "{out}");
}

#[test]
fn a_command_that_says_too_little_is_refused() {
    check_usage(&["rewrite"], SCHEMA, "<--style <STYLE>|--profile <NAME>>");
    check_usage(
        &["rewrite", "--style", "refs", "--profile", "mcp"],
        SCHEMA,
        "cannot be used with",
    );
    check_usage(
        &["rewrite", "--style", "ref"],
        SCHEMA,
        "[possible values: inline, refs, refs-list]",
    );
    check_usage(&["rewrite", "--profile", "claude"], SCHEMA, "openai-strict");
    check_usage(
        &["rewrite", "--profile", "mcp", "--spelling", "dollar"],
        SCHEMA,
        "'--spelling <SIGN>'",
    );
    check_usage(
        &["rewrite", "--style", "refs", "--as", "gemini"],
        SCHEMA,
        "`--as`, `--never` and `--reflect` are for lists",
    );
    check_usage(
        &["rewrite", "/nowhere", "--style", "refs"],
        "",
        "cannot read",
    );
    check_usage(&["lint"], SCHEMA, "--profile <NAME>");
}

#[test]
fn lint_says_what_would_be_refused() {
    let tools = r#"{"tools": [{"name": "get", "inputSchema": {"type": "object", "properties": {"ids": {"type": "array"}}}}]}"#;
    let Run { status, out, err } = run(&["lint", "--profile", "openai"], tools);
    assert_eq!(status, 1, "{err}");
    assert_eq!(
        out,
        "get /properties/ids: a list without `items`; every list needs `items` (OpenAI API reference, tools); say what the items are\n"
    );
    assert_eq!(err, "1 tool: 1 finding, 0 warnings, 1 refusal by openai\n");
    let json = run(&["--json", "lint", "--profile", "openai"], tools);
    assert_eq!(json.status, 1);
    assert_eq!(
        json.out,
        "{\"findings\":[{\"tool\":\"get\",\"at\":\"/properties/ids\",\"severity\":\"refused\",\"what\":\"a list without `items`\",\
         \"why\":\"every list needs `items` (OpenAI API reference, tools)\",\"fix\":\"say what the items are\"}]}\n"
    );
    check(
        &["lint", "--profile", "anthropic"],
        tools,
        0,
        "",
        "1 tool: 0 findings, 0 warnings, 0 refusals by anthropic\n",
    );
    let Run { status, out, .. } = run(&["lint", "--profile", "openai-strict"], SCHEMA);
    assert_eq!(status, 1, "{out}");
    assert!(out.starts_with("schema: "), "{out}");
}

#[test]
fn a_warning_refuses_nothing() {
    let tools = r#"[{"name": "a tool", "inputSchema": {"type": "object"}}]"#;
    let Run { status, out, err } = run(&["lint", "--profile", "mcp"], tools);
    assert_eq!(status, 0, "{out}");
    assert!(out.starts_with("a tool: warning: "), "{out}");
    assert_eq!(err, "1 tool: 1 finding, 1 warning, 0 refusals by mcp\n");
}

#[test]
fn a_tool_of_a_thousand_levels_goes_through() {
    let deep = format!("{}{{}}{}", r#"{"items":"#.repeat(1_000), "}".repeat(1_000));
    let tools = |schema: &str| {
        format!(
            r#"{{"tools":[{{"name":"deep","inputSchema":{deep}}},{{"name":"fetch","inputSchema":{schema}}}]}}"#
        )
    };
    check(
        &["rewrite", "--style", "refs"],
        &tools(SCHEMA),
        0,
        &format!("{}\n", tools(REFS)),
        "notice: deep: the schema nests deeper than 127 (schema.invalid); the tool is listed as it came\n",
    );
    let Run { status, out, .. } = run(&["lint", "--profile", "mcp"], &tools(SCHEMA));
    assert_eq!(status, 1, "{out}");
}

#[test]
fn arguments_are_read_back_from_what_was_shown() {
    let records = file(
        "shown.jsonl",
        r#"{"call_id": "c", "result": {"url": "https://a.example"}}"#,
    );
    let schema = r#"{"type": "object", "properties": {"$url": {"type": "string"}, "tags": {"type": "object"}}, "required": ["$url"]}"#;
    let schema = file("shown.schema.json", schema);
    let resolve = |how: [&str; 2], arguments: &str, status: i32, out: &str, err: &str| {
        let [how, name] = how;
        let args = [
            "resolve",
            arguments,
            "--results",
            &records,
            "--schema",
            &schema,
            how,
            name,
        ];
        check(&args, "", status, out, err);
    };
    let resolved = "{\"$url\":\"https://a.example\"}\n";
    let map =
        r#"{"$url": null, "tags": null, "_refs": {"$url": {"_tool": "c", "_select": "url"}}}"#;
    resolve(["--style", "refs"], map, 0, resolved, "");
    let list = r#"{"url": null, "_refs": [{"to": "url", "tool": "c", "select": "url"}]}"#;
    resolve(["--profile", "gemini"], list, 0, resolved, "");
    let folded = r#"{"$url": "u", "tags": "{\"a\": 1}", "_refs": null}"#;
    let opened = "{\"$url\":\"u\",\"tags\":{\"a\":1}}\n";
    resolve(["--profile", "openai-strict"], folded, 0, opened, "");
    let unfilled = "error[arguments.invalid]: nothing fills `$url` (argument `/$url`)\nfound: null\ntry: a value, or an entry in `_refs` that names the parameter\n";
    resolve(["--style", "refs"], r#"{"$url": null}"#, 1, "", unfilled);
}
