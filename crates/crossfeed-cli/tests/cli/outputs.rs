//! Parts of outputs, and what outputs hold: `crossfeed project`, `summarize`, `inspect`, `learn`.

use super::{Run, check, check_usage, file, run};
use serde_json::{Value, json};

/// An error that is an answer: as text on standard error, as JSON on standard output.
fn check_error(args: &[&str], stdin: &str, says: &str) {
    let text = run(args, stdin);
    assert_eq!((text.status, text.out.as_str()), (1, ""), "{args:?}");
    assert!(text.err.contains(says), "{args:?}: {}", text.err);
    let args: Vec<&str> = ["--json"].iter().chain(args).copied().collect();
    let json = run(&args, stdin);
    let error: Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!(json.status, 1, "{args:?}");
    assert_eq!(error["error"].get("call_id"), None, "{args:?}");
}

const PAGE: &str = r#"{"items": [{"id": 1, "title": "a", "body": "…"}, {"id": 2, "title": "b"}], "total": 2.50, "next": null}"#;

/// What a command prints, read.
fn answer(args: &[&str], stdin: &str) -> Value {
    let run = run(args, stdin);
    assert_eq!((run.status, run.err.as_str()), (0, ""), "{args:?}");
    serde_json::from_str(&run.out).unwrap()
}

fn project(args: &[&str], stdin: &str) -> Value {
    let args: Vec<&str> = ["project"].iter().chain(args).copied().collect();
    answer(&args, stdin)
}

#[test]
fn project_prints_the_value_in_its_bytes() {
    check(
        &["project", "--include", "items.id,total"],
        PAGE,
        0,
        "{\"value\":{\"items\":[{\"id\":1},{\"id\":2}],\"total\":2.50},\"diagnostics\":[]}\n",
        "",
    );
}

#[test]
fn every_way_to_ask_is_taken() {
    let views = r#"{"minimal": ["id"], "short": ["items.title"], "all": null}"#;
    let items = |items: Value| json!({"items": items, "total": 2.5, "next": null});
    let ids = items(json!([{"id": 1}, {"id": 2}]));
    let cases: [(&[&str], Value); 9] = [
        (
            &["--select", "total, next"],
            json!({"total": 2.5, "next": null}),
        ),
        (&["--fields", "id"], ids.clone()),
        (&["--fields", "minimal"], ids.clone()),
        (&["--preset", "minimal"], ids.clone()),
        (
            &["--view", "short"],
            json!({"items": [{"title": "a"}, {"title": "b"}]}),
        ),
        (
            &["--view", "all", "--exclude", "items"],
            json!({"total": 2.5, "next": null}),
        ),
        (
            &["--preset", "minimal", "--fields", "title", "--fields", "id"],
            items(json!([{"id": 1, "title": "a"}, {"id": 2, "title": "b"}])),
        ),
        (
            &["--include", "", "--select", " ", "--fields", ""],
            serde_json::from_str(PAGE).unwrap(),
        ),
        (
            &["--never", "title,body,next", "--include", "items"],
            json!({"items": [{"id": 1}, {"id": 2}]}),
        ),
    ];
    for (args, expected) in cases {
        let args: Vec<&str> = ["--views", views].iter().chain(args).copied().collect();
        assert_eq!(project(&args, PAGE)["value"], expected, "{args:?}");
    }
}

#[test]
fn what_is_not_there_is_said() {
    let found = project(&["--fields", "id,titel"], PAGE);
    assert_eq!(found["diagnostics"][0]["kind"], "unknown_field");
    assert_eq!(found["diagnostics"][0]["nearest"], json!(["title"]));
    check(
        &[
            "project",
            "--preset",
            "minmal",
            "--views",
            r#"{"minimal": ["id"]}"#,
        ],
        PAGE,
        1,
        "",
        "error[projection.invalid]: there is no preset `minmal`; there are `minimal`, `full`\n\
         try: minimal\n",
    );
    let run = run(&["--json", "project", "--include", "items[0"], PAGE);
    let error: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(
        (run.status, &error["error"]["code"]),
        (1, &json!("projection.invalid"))
    );
    check_usage(&["project", "--views", "nope.json"], PAGE, "no such file");
    check_usage(&["project", "--views", "-"], PAGE, "only one input");
}

#[test]
fn errors_name_no_call_that_nobody_gave() {
    check_error(
        &["project", "--preset", "x"],
        PAGE,
        "there is no preset `x`",
    );
    let failed = r#"{"content": [{"type": "text", "text": "no"}], "isError": true}"#;
    check_error(&["project", "--never", "a b"], PAGE, "quote");
    let told = project(&["--include", "id"], failed);
    assert_eq!(
        (&told["value"], &told["failed"]),
        (&json!("no"), &json!(true))
    );
    let run = run(&["learn"], failed);
    assert_eq!(run.status, 1);
    assert!(run.err.contains("all are of failed calls"), "{}", run.err);
}

#[test]
fn a_word_is_a_field_where_no_presets_are() {
    let found = project(&["--fields", "due"], PAGE);
    assert_eq!(found["value"]["items"], json!([{}, {}]));
    assert_eq!(found["diagnostics"][0]["path"], "items[].due");
    check_error(
        &["project", "--fields", "minimal"],
        PAGE,
        "neither a preset nor a field",
    );
}

#[test]
fn what_is_never_shown_is_closed() {
    check_usage(&["project", "--never", ""], PAGE, "is empty");
    let types = r#"{"t": {"fields": ["id", "pin"], "presets": {"minimal": ["id", "pin"]}}}"#;
    let described = answer(
        &["project", "--types", types, "--describe", "--never", "pin"],
        "",
    );
    assert!(!described.to_string().contains("pin"), "{described}");
    let tools = r#"{"tools": [{"name": "t", "inputSchema": {"type": "object"}, "outputSchema": {"type": "object", "properties": {"id": {}, "pin": {}}}}]}"#;
    let listed = answer(
        &[
            "rewrite",
            "--style",
            "refs",
            "--reflect",
            "t",
            "--withhold",
            "pin",
        ],
        tools,
    );
    let shown = &listed["tools"][0]["inputSchema"]["properties"]["_select"];
    assert_eq!(shown["items"]["enum"], json!(["id"]));
    check_usage(&["project", "--kind", "json"], "bad{", "is not valid JSON");
}

#[test]
fn a_name_that_matches_nothing_is_an_error() {
    let page = r#"{"items": [{"id": 7, "owner": {"email": "ada@a.example"}}], "total": 1}"#;
    let refused = |args: &[&str], said: &str| {
        let Run { status, out, err } = run(&[&["project"], args].concat(), page);
        assert_eq!((status, out.as_str()), (1, ""), "{args:?}");
        assert_eq!(
            err,
            format!("error[projection.invalid]: {said}\n"),
            "{args:?}"
        );
    };
    let absent = "`--allow-unmatched` if it may be absent";
    refused(
        &["--never", "emial"],
        &format!("`--never emial` matches nothing\ntry: email; or {absent}"),
    );
    refused(
        &["--never", "Email,items.id,itms.id"],
        &format!("`--never itms.id` matches nothing\ntry: id; or {absent}"),
    );
    refused(
        &["--exclude", "items.owner.emial"],
        &format!("`--exclude items.owner.emial` matches nothing\ntry: email; or {absent}"),
    );
    refused(
        &["--never", "telephone"],
        &format!("`--never telephone` matches nothing\ntry: {absent}"),
    );
    let passed = |args: &[&str], notice: &str| {
        let Run { status, out, err } = run(&[&["project"], args].concat(), page);
        assert_eq!((status, err.as_str()), (0, notice), "{args:?}");
        assert!(out.contains("\"total\""), "{args:?}: {out}");
    };
    passed(
        &["--never", "*.emial"],
        "notice: `--never *.emial` matches nothing\n",
    );
    passed(&["--never", "email,items.owner"], "");
    passed(
        &["--never", "emial", "--allow-unmatched"],
        "notice: `--never emial` matches nothing\n",
    );
    // What one option takes out is not missing to the other.
    passed(&["--never", "email", "--exclude", "items.owner.email"], "");
}

#[test]
fn a_page_without_items_is_no_mistake() {
    let never = &["project", "--never", "email"];
    let notice = "notice: `--never email` matches nothing\n";
    for page in ["[]", r#"{"items": [], "total": 0}"#] {
        let Run { status, err, .. } = run(never, page);
        assert_eq!((status, err.as_str()), (0, notice), "{page}");
    }
    // A name that is nearly one of the page's is misspelt, whatever is empty beside it.
    let Run { status, out, .. } = run(never, r#"{"tags": [], "emial": "x"}"#);
    assert_eq!((status, out.as_str()), (1, ""));
}

#[test]
fn names_in_json_of_a_text_are_offered() {
    let result = r#"{"content": [{"type": "text", "text": "{\"email\": 1}"}]}"#;
    let Run { status, err, .. } = run(&["project", "--never", "emial"], result);
    assert_eq!(status, 1);
    assert!(err.contains("try: email; or"), "{err}");
}

#[test]
fn data_is_no_schema() {
    let data = r#"{"items": [{"id": 7, "title": "Login fails"}], "total": 1}"#;
    let path = file("data.json", data);
    for args in [
        &["summarize", &path][..],
        &["inspect", &path],
        &["rewrite", "--style", "refs", &path],
        &["lint", "--profile", "anthropic", &path],
        &["project", "--fields", "id", "--schema", &path, &path],
        &["resolve", "{}", "--results", "-", "--schema", &path],
    ] {
        let Run { status, out, err } = run(args, "");
        assert_eq!((status, out.as_str()), (1, ""), "{args:?}");
        assert!(
            err.starts_with("error[schema.invalid]: "),
            "{args:?}: {err}"
        );
        let advice = "it looks like data, with the keys `items`, `total`\ntry: `crossfeed learn --schema-only FILE`, which learns a schema from results\n";
        assert!(err.ends_with(advice), "{args:?}: {err}");
    }
    for list in [r#"[{"id": 7}]"#, &("[".repeat(1000) + &"]".repeat(1000))] {
        let Run { status, out, err } = run(&["summarize"], list);
        assert_eq!((status, out.as_str()), (1, ""));
        let says = "error[schema.invalid]: standard input is neither a schema nor a list of tools: no item of the list is a tool\n";
        assert!(err.starts_with(says), "{err}");
    }
}

#[test]
fn the_schema_of_what_is_left_is_printed() {
    let schema = file(
        "project.schema.json",
        r#"{"type": "object", "properties": {"items": {"type": "array", "items": {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id", "title"]}}}, "required": ["items", "total"]}"#,
    );
    let found = project(&["--include", "items.id", "--schema", &schema], PAGE);
    assert_eq!(found["schema"]["required"], json!(["items"]));
    assert_eq!(
        found["schema"]["properties"]["items"]["items"]["required"],
        json!(["id"])
    );
    let broken = project(
        &["--include", "items.id", "--schema", &schema],
        r#"{"items": [{"id": "x"}]}"#,
    );
    assert_eq!(broken["schema"], Value::Null);
    assert_eq!(broken["diagnostics"][0]["kind"], "breaks_schema");
    assert_eq!(broken["value"], json!({"items": [{"id": "x"}]}));
}

#[test]
fn types_have_presets_defaults_and_a_description() {
    let types = file(
        "project.types.json",
        r#"{"types": {"issue": {"presets": {"minimal": ["id"]}, "fields": ["id", "title"], "defaults": {"search": "minimal"}}}}"#,
    );
    let found = project(&["--types", &types, "--operation", "search"], PAGE);
    assert_eq!(found["value"]["items"], json!([{"id": 1}, {"id": 2}]));
    let whole = project(
        &[
            "--types",
            &types,
            "--operation",
            "search",
            "--preset",
            "full",
        ],
        PAGE,
    );
    assert_eq!(whole["value"]["items"][0]["body"], "…");
    let described = answer(&["project", "--types", &types, "--describe"], "");
    assert_eq!(
        described["types"]["issue"]["presets"]["minimal"],
        json!(["id"])
    );
    check_usage(
        &["project", "--types", &types, "--type", "pull"],
        PAGE,
        "issue",
    );
}

#[test]
fn a_result_of_mcp_is_projected_as_a_server_does() {
    let result =
        r#"{"content": [{"type": "text", "text": "x"}], "structuredContent": {"id": 1, "n": 2}}"#;
    let asked = |request: &str| answer(&["project", "--mcp", request], result);
    let found = asked(r#"{"mode": "include", "fields": ["id"]}"#);
    assert_eq!(found["structuredContent"], json!({"id": 1}));
    assert_eq!(
        found["content"],
        json!([{"type": "text", "text": "{\"id\":1}"}])
    );
    assert_eq!(found["_meta"]["dev.crossfeed/projection"]["applied"], true);
    let found = asked(r#"{"mode": "guess"}"#);
    assert_eq!(found["structuredContent"], json!({"id": 1, "n": 2}));
    assert_eq!(found["_meta"]["dev.crossfeed/projection"]["applied"], false);
    let said = "standard input is not a tool result of MCP: it is not an object";
    check_usage(&["project", "--mcp", "{}"], "[]", said);
}

const OUTPUT: &str = r#"{"type": "object", "properties": {"items": {"type": "array", "items": {"type": "object", "properties": {"id": {"type": "string"}, "key": {"type": "string"}, "owner": {"type": "object"}}}}, "total": {"type": "integer"}}}"#;

#[test]
fn marks_can_be_followed() {
    let found = answer(&["summarize", "--tool-id", "search"], OUTPUT);
    let expected = json!({
        "output_fields": [
            "items[].id: string",
            "items[].key: string",
            "items[].owner: object (unknown keys; inspect_tool_output(tool_id=\"search\", field_path=\"items[].owner\"))",
            "total: integer",
        ],
        "has_hidden_fields": true,
    });
    assert_eq!(found, expected);
    let seen = answer(
        &[
            "inspect",
            "--tool-id",
            "search",
            "--field-path",
            "items[].owner",
        ],
        OUTPUT,
    );
    assert_eq!(
        (&seen["node_type"], &seen["total_child_fields"]),
        (&json!("object"), &json!(0))
    );
    let never = answer(&["summarize", "--never", "owner,key"], OUTPUT);
    assert_eq!(
        never["output_fields"],
        json!(["items[].id: string", "total: integer"])
    );
}

#[test]
fn inspect_pages_and_says_what_is_near() {
    let one = answer(
        &["inspect", "--max-fields", "1", "--max-depth", "1"],
        OUTPUT,
    );
    assert_eq!(
        (
            &one["truncated"],
            one["flattened_fields"].as_array().unwrap().len()
        ),
        (&json!(true), 1)
    );
    let rest = answer(&["inspect", "--offset", "1"], OUTPUT);
    assert_eq!(
        rest["children"],
        json!([{"name": "total", "type": "integer"}])
    );
    check(
        &["inspect", "--field-path", "items[].ownr"],
        OUTPUT,
        1,
        "",
        "error[projection.invalid]: `items[].ownr` is unknown: the object `items[]` has no field `ownr`\n\
         try: items[].owner\n",
    );
}

#[test]
fn lists_of_tools_are_described() {
    let tools = file(
        "outputs.tools.json",
        &format!(
            r#"{{"tools": [{{"name": "search", "inputSchema": {{"type": "object", "properties": {{"q": {{"type": "string"}}}}, "required": ["q"]}}, "outputSchema": {OUTPUT}}}, {{"name": "quiet", "inputSchema": {{"type": "object"}}}}]}}"#
        ),
    );
    let found = answer(&["summarize", &tools], "");
    let ids: Vec<_> = found["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| &tool["id"])
        .collect();
    assert_eq!(ids, ["inspect_tool_output", "search", "quiet"]);
    assert_eq!(found["tools"][1]["signature"], "search(q: string)");
    let one = answer(&["summarize", &tools, "--tool-id", "search"], "");
    assert_eq!(one, answer(&["summarize", "--tool-id", "search"], OUTPUT));
    check_usage(&["inspect", &tools], "", "`search`, `quiet`");
    check_error(
        &["inspect", &tools, "--tool-id", "quiet"],
        "",
        "crossfeed learn",
    );
    check_error(
        &["inspect", &tools, "--tool-id", "no"],
        "",
        "`search`, `quiet`",
    );
    let listed = answer(
        &["rewrite", "--style", "refs", &tools, "--reflect", "all"],
        "",
    );
    assert_eq!(
        listed["tools"][0]["inputSchema"]["properties"]["_select"]["items"]["enum"],
        json!(["items", "total"])
    );
    assert_eq!(
        listed["tools"][1]["inputSchema"]["properties"].get("_select"),
        None
    );
}

#[test]
fn schemas_are_learned() {
    let lines = "{\"id\": 1, \"secret\": 2}\n\n{\"id\": \"x\"}\n";
    let found = answer(&["learn", "--never", "secret"], lines);
    assert_eq!(found["observations"], 2);
    assert_eq!(
        found["schema"]["properties"],
        json!({"id": {"type": ["integer", "string"]}})
    );
    assert_eq!(found["drift"][0]["path"], "id");
    let schema = run(&["learn", "--schema-only"], lines).out;
    let summary = answer(&["summarize"], &schema);
    assert_eq!(
        summary["output_fields"],
        json!(["id: union", "secret: integer"])
    );
    check_usage(&["learn"], "{\"id\": 1}\nno json\n", "line 2");
    assert_eq!(run(&["learn"], "").status, 1);
}
