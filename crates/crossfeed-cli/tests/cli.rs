//! The command as a process: what it prints where, and its exit status.

#![expect(
    clippy::unwrap_used,
    reason = "a test's helpers may fail like the test"
)]

#[cfg(unix)]
#[path = "cli/access.rs"]
mod access;
#[path = "cli/demo.rs"]
mod demo;
#[cfg(unix)]
#[path = "cli/deploy.rs"]
mod deploy;
#[cfg(feature = "otlp")]
#[path = "cli/exports.rs"]
mod exports;
#[cfg(unix)]
#[path = "cli/gateway.rs"]
mod gateway;
#[cfg(unix)]
#[path = "cli/id_keys.rs"]
mod id_keys;
#[path = "cli/import.rs"]
mod import;
#[cfg(unix)]
#[path = "cli/lasting.rs"]
mod lasting;
#[cfg(all(unix, feature = "redis", feature = "object-store"))]
#[path = "cli/lasting_blobs.rs"]
mod lasting_blobs;
#[cfg(all(unix, feature = "redis"))]
#[path = "cli/lasting_redis.rs"]
mod lasting_redis;
#[path = "cli/manners.rs"]
mod manners;
#[path = "cli/outputs.rs"]
mod outputs;
#[cfg(unix)]
#[path = "cli/pages.rs"]
mod pages;
#[cfg(unix)]
#[path = "cli/places.rs"]
mod places;
#[cfg(all(unix, feature = "sql"))]
#[path = "cli/queries.rs"]
mod queries;
#[cfg(unix)]
#[path = "cli/results.rs"]
mod results;
#[path = "cli/schemas.rs"]
mod schemas;
#[path = "cli/shown.rs"]
mod shown;
#[path = "cli/traces.rs"]
mod traces;
#[cfg(all(unix, feature = "redis"))]
#[path = "cli/upgrade.rs"]
mod upgrade;
#[cfg(unix)]
#[path = "cli/views.rs"]
mod views;

use serde_json::Value;
use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicU64, Ordering},
};

/// What a run of the command gave.
#[derive(Debug, PartialEq, Eq)]
struct Run {
    status: i32,
    out: String,
    err: String,
}

fn start(args: &[&str]) -> Child {
    start_with(args, &[])
}

/// Starts it with variables beside those of this process.
#[expect(clippy::disallowed_methods, reason = "the command is what is tested")]
fn start_with(args: &[&str], variables: &[(&str, &str)]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_crossfeed"))
        .args(args)
        // The terminal that runs the tests may set these.
        .env_remove("COLUMNS")
        .env_remove("NO_COLOR")
        .env_remove("CLICOLOR")
        .env_remove("CLICOLOR_FORCE")
        .envs(variables.iter().copied())
        // Receivers of tests are on this machine.
        .env("NO_PROXY", "127.0.0.1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn run_bytes(args: &[&str], stdin: &[u8]) -> (i32, Vec<u8>, String) {
    let mut child = start(args);
    // A command that does not want its input may be gone before it was written.
    let _ = child.stdin.take().unwrap().write_all(stdin);
    let output = child.wait_with_output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    (output.status.code().unwrap(), output.stdout, err)
}

fn run(args: &[&str], stdin: &str) -> Run {
    let (status, out, err) = run_bytes(args, stdin.as_bytes());
    Run {
        status,
        out: String::from_utf8(out).unwrap(),
        err,
    }
}

/// Runs and compares all that came out.
fn check(args: &[&str], stdin: &str, status: i32, out: &str, err: &str) {
    let expected = Run {
        status,
        out: out.to_owned(),
        err: err.to_owned(),
    };
    assert_eq!(run(args, stdin), expected, "{args:?}");
}

/// A usage error: status 2, nothing on standard output, and on standard error what is wrong.
fn check_usage(args: &[&str], stdin: &str, says: &str) {
    let Run { status, out, err } = run(args, stdin);
    assert_eq!((status, out.as_str()), (2, ""), "{args:?}: {err}");
    assert!(err.contains(says), "{args:?}: {err}");
}

/// A file of a test's own, or one that is the same for several: it is put in place whole, so that who reads it meanwhile
/// reads all of it.
fn file(name: &str, content: &str) -> String {
    static WRITTEN: AtomicU64 = AtomicU64::new(0);
    let path: PathBuf = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let count = WRITTEN.fetch_add(1, Ordering::Relaxed);
    let begun = path.with_file_name(format!(".{name}-{}-{count}", std::process::id()));
    fs::write(&begun, content).unwrap();
    fs::rename(&begun, &path).unwrap();
    path.to_str().unwrap().to_owned()
}

const ITEMS: &str = r#"{"items": [{"url": "u1", "score": 1.50}, {"url": "u2", "score": 2}]}"#;

#[test]
fn select_prints_the_bytes_of_the_value() {
    check(&["select", "items[0].score"], ITEMS, 0, "1.50\n", "");
    check(
        &["select", "items[*].url", "-"],
        ITEMS,
        0,
        "[\"u1\",\"u2\"]\n",
        "",
    );
    let path = file("select.json", ITEMS);
    check(
        &["select", "items[0]", &path],
        "",
        0,
        "{\"url\": \"u1\", \"score\": 1.50}\n",
        "",
    );
}

#[test]
fn select_explains_itself() {
    check(
        &["select", "result.items[?score > 1.5].url", "--explain"],
        ITEMS,
        0,
        "[\"u2\"]\n",
        "prefix: result.items[?score > 1.5].url -> items[?score > 1.5].url\n\
         repair: items[?score > 1.5].url -> items[?score > `1.5`].url\n\
         view: canonical\n",
    );
    let mcp = r#"{"content": [{"type": "text", "text": "{\"n\": [1]}"}]}"#;
    check(
        &["select", "n", "--explain"],
        mcp,
        0,
        "[1]\n",
        "view: canonical\n",
    );
    check(
        &["select", "content[0].text.n[0]", "--explain"],
        mcp,
        0,
        "1\n",
        "view: envelope\n",
    );
}

#[test]
fn an_empty_list_is_an_answer_with_a_notice() {
    check(
        &["select", "items[?score > `5`]"],
        ITEMS,
        0,
        "[]\n",
        "notice: the filter refused every one of 2 items; try: items\n",
    );
    // One that could not have been otherwise is none.
    check(
        &["select", "items[*].link"],
        ITEMS,
        1,
        "",
        "error[select.matched_nothing]: selector `items[*].link` matched nothing\n\
         why: no item has `link`; `url` exists\n\
         found: {items: [{url: string(2), score: number}](len=2)}\n\
         try: items[*].url, items[*].score\n",
    );
}

#[test]
fn select_says_what_is_there_instead() {
    let found = "found: {items: [{url: string(2), score: number}](len=2)}";
    check(
        &["select", "items[0].uri"],
        ITEMS,
        1,
        "",
        &format!(
            "error[select.matched_nothing]: selector `items[0].uri` matched nothing\n\
             {found}\ntry: items[0].url\n"
        ),
    );
    let body = format!(
        "{{\"code\":\"select.matched_nothing\",\"message\":\"selector `items[0].uri` matched nothing in the result of \
         call `c7`\",\"call_id\":\"c7\",\"expression\":\"items[0].uri\",\"advice\":\"{found}\\ntry: items[0].url\"}}"
    );
    check(
        &["select", "--json", "items[0].uri", "--call-id", "c7"],
        ITEMS,
        1,
        &format!("{{\"error\":{body},\"errors\":[{body}]}}\n"),
        "",
    );
}

#[test]
fn a_call_that_has_no_name_is_given_none() {
    let failed = r#"{"isError": true, "content": [{"type": "text", "text": "no such table"}]}"#;
    check(
        &["select", "rows"],
        failed,
        1,
        "",
        "error[result.failed]: the call failed: no such table\n\
         a call that failed may have had effects: make the call again, with other arguments, only if repeating it is intended\n",
    );
    let out = run(&["--json", "select", "rows"], failed).out;
    assert!(
        !out.contains("call_id") && !out.contains("document"),
        "{out}"
    );
    let out = run(&["--json", "select", "rows", "--call-id", "c1"], failed).out;
    assert!(
        out.contains("\"message\":\"call `c1` failed: no such table\",\"call_id\":\"c1\""),
        "{out}"
    );
}

#[test]
fn select_takes_any_document() {
    check(&["select", "@"], "plain text", 0, "\"plain text\"\n", "");
    let empty = "notice: standard input is not valid JSON: it is empty; it is read as text\n";
    check(&["select", "@"], "", 0, "\"\"\n", empty);
    check(&["select", "@", "--kind", "text"], "[1]", 0, "[1]\n", "");
    check(
        &["select", "length(@)", "--kind", "text"],
        "abc",
        0,
        "3\n",
        "",
    );
    check(
        &["select", "data", "--kind", "bytes"],
        "abc",
        0,
        "\"YWJj\"\n",
        "",
    );
    let mcp = r#"{"content": [{"type": "text", "text": "hi"}], "extra": 1}"#;
    check(&["select", "extra"], mcp, 0, "1\n", "");
    check(&["select", "@", "--kind", "mcp"], mcp, 0, "\"hi\"\n", "");
    check(
        &["select", "isError", "--kind", "json"],
        r#"{"isError": true}"#,
        0,
        "true\n",
        "",
    );
    let (status, out, err) = run_bytes(&["select", "encoding"], b"\xff\xfe");
    assert_eq!(
        (status, out.as_slice(), err.as_str()),
        (0, &b"\"base64\"\n"[..], "")
    );
    let deep = "[".repeat(100_000) + &"]".repeat(100_000);
    let run = run(&["select", "@"], &deep);
    assert_eq!((run.status, run.out.as_str()), (1, ""));
    assert!(
        run.err.starts_with("error[limit.exceeded]: "),
        "{}",
        run.err
    );
}

#[test]
fn every_kind_of_bad_selector_has_its_code() {
    let long = "a".repeat(1001);
    for (expression, code) in [
        ("", "select.invalid"),
        ("items[", "select.invalid"),
        ("nope(@)", "select.invalid"),
        (long.as_str(), "select.too_long"),
        ("__proto__", "select.forbidden"),
        ("zz", "select.matched_nothing"),
    ] {
        let Run { status, out, err } = run(&["select", expression], ITEMS);
        assert_eq!((status, out.as_str()), (1, ""), "{expression}");
        assert!(
            err.starts_with(&format!("error[{code}]: ")),
            "{expression}: {err}"
        );
    }
}

const RESULTS: &str = r#"
{"call_id": "c1", "tool": "search", "result": {"items": [{"url": "u1", "n": "5"}, {"url": "u2"}]}, "more": {}}

{"call_id": "c2", "tool": "query", "result": "no such table", "failed": true}
{"call_id": "c3", "result": 1, "session": "other"}
{"artifact_id": "a1", "call_id": "c1", "data": {"kept":[1]}, "retrieval_blocked": true}
"#;

#[test]
fn resolve_fills_in_references() {
    let results = file("fills.jsonl", RESULTS);
    let arguments = r#"{"urls": {"$tool": "c1", "$select": "items[*].url"}, "x": [null, 1.0]}"#;
    let resolved = "{\"urls\":[\"u1\",\"u2\"],\"x\":[null,1.0]}\n";
    check(
        &["resolve", arguments, "--results", &results],
        "",
        0,
        resolved,
        "",
    );
    check(
        &["resolve", "-", "--results", &results],
        arguments,
        0,
        resolved,
        "",
    );
    check(
        &["resolve", arguments, "--results", "-"],
        RESULTS,
        0,
        resolved,
        "",
    );
    let path = file("fills.json", arguments);
    check(
        &["resolve", &path, "--results", &results],
        "",
        0,
        resolved,
        "",
    );
    // Any JSON value, a single reference included.
    let one = r#"{"$tool": "c1", "$select": "items[0].url"}"#;
    check(
        &["resolve", one, "--results", &results],
        "",
        0,
        "\"u1\"\n",
        "",
    );
    check(
        &["resolve", &format!("[{one}]"), "--results", &results],
        "",
        0,
        "[\"u1\"]\n",
        "",
    );
    check(
        &["resolve", "\"plain\"", "--results", &results],
        "",
        0,
        "\"plain\"\n",
        "",
    );
    check(&["resolve", "-", "--results", &results], "7", 0, "7\n", "");
    check(&["resolve", "{}", "--results", "-"], "", 0, "{}\n", "");
}

#[test]
fn resolve_explains_itself() {
    let results = file("explains.jsonl", RESULTS);
    let schema = file(
        "explains.schema.json",
        r#"{"type": "object", "properties": {"n": {"type": "integer"}}}"#,
    );
    let arguments = r#"{
        "n": {"$tool": "c1", "$select": "result.items[?url == \"u1\"] | [0].n", "note": 1},
        "a": {"$artifact": "a1", "$tool": "c1"},
        "d": {"$tool": "c1", "$select": "zz", "$default": []},
        "e": {"$tool": "c1", "$select": "items[?url == 'u3']"}
    }"#;
    check(
        &[
            "resolve",
            "-",
            "--results",
            &results,
            "--schema",
            &schema,
            "--explain",
        ],
        arguments,
        0,
        "{\"n\":5,\"a\":{\"kept\":[1]},\"d\":[],\"e\":[]}\n",
        "/n <- call c1 tool search: result.items[?url == \"u1\"] | [0].n, bytes 51 -> 3\n\
         prefix: result.items[?url == \"u1\"] | [0].n -> items[?url == \"u1\"] | [0].n\n\
         repair: items[?url == \"u1\"] | [0].n -> items[?url == 'u1'] | [0].n\n\
         view: canonical\n\
         ignored: /n note\n\
         /a <- call c1 artifact a1: the whole result, bytes 12 -> 12\n\
         /d <- call c1: zz, bytes 0 -> 2\n\
         default: /d\n\
         /e <- call c1 tool search: items[?url == 'u3'], bytes 51 -> 2\n\
         view: canonical\n\
         notice: the filter refused every one of 2 items; try: items\n\
         type: /n string -> number\n",
    );
    check(
        &[
            "resolve",
            r#"{"$tool": "c1"}"#,
            "--results",
            "-",
            "--explain",
        ],
        r#"{"call_id": "c1", "result": [1]}"#,
        0,
        "[1]\n",
        "\"\" <- call c1: the whole result, bytes 3 -> 3\n",
    );
}

#[test]
fn resolve_makes_edits_where_they_are_switched_on() {
    let results = file("edits.jsonl", RESULTS);
    let schema = file(
        "edits.schema.json",
        r#"{"type": "object", "properties": {"items": {"type": "array"}}}"#,
    );
    let patch = r#"[{"op": "remove", "path": "/0"}]"#;
    let arguments =
        format!(r#"{{"items": {{"$tool": "c1", "$select": "items[*].url", "$patch": {patch}}}}}"#);
    let resolve = ["resolve", &arguments, "--results", &results];
    let off = run(&resolve, "");
    assert_eq!((off.status, off.out.as_str()), (1, ""));
    assert!(
        off.err.contains("`$patch` is switched off here"),
        "{}",
        off.err
    );
    let edited = "{\"items\":[\"u2\"]}\n";
    check(&[&resolve[..], &["--edits"]].concat(), "", 0, edited, "");
    let of_tool = ["--edits", "--schema", &schema, "--style", "inline"];
    let arguments = arguments.replace('$', "_");
    let resolve = ["resolve", &arguments, "--results", &results];
    check(&[&resolve[..], &of_tool].concat(), "", 0, edited, "");
}

#[test]
fn resolve_reports_all_that_is_wrong() {
    let results = file("wrong.jsonl", RESULTS);
    let arguments = r#"{"a": {"$tool": "c2"}, "b": {"$tool": "c9"}, "c": {"$tool": 7}}"#;
    let err = "error[result.failed]: call `c2` failed: no such table (argument `/a`)\n\
        a call that failed may have had effects: call `query` again, with other arguments, only if repeating it is intended\n\
        error[result.unknown]: no result of call `c9` is known in this session (argument `/b`)\n\
        found: c1 (search)\n\
        try: c1; otherwise use the `_toolCallId` of a result of this session, exactly as it was shown\n\
        error[reference.malformed]: malformed reference: `$tool` must be a string, not number (argument `/c`)\n";
    let run_text = run(&["resolve", arguments, "--results", &results], "");
    assert_eq!((run_text.status, run_text.out.as_str()), (1, ""));
    assert!(run_text.err.starts_with(err), "{}", run_text.err);
    let a = "{\"code\":\"result.failed\",\"message\":\"call `c2` failed: no such table (argument `/a`)\",\
        \"call_id\":\"c2\",\"at\":\"/a\",\"advice\":\"a call that failed may have had effects: call `query` again, with other arguments, only if repeating it is intended\"}";
    let arguments = r#"{"a": {"$tool": "c2"}}"#;
    check(
        &["--json", "resolve", arguments, "--results", &results],
        "",
        1,
        &format!("{{\"error\":{a},\"errors\":[{a}]}}\n"),
        "",
    );
}

#[test]
fn another_session_is_out_of_reach() {
    let results = file("sessions.jsonl", RESULTS);
    let of = |id: &str| format!("{{\"x\": {{\"$tool\": \"{id}\"}}}}");
    let unknown = |id: &str| run(&["resolve", &of(id), "--results", &results], "");
    let (other, never) = (unknown("c3"), unknown("c9"));
    assert_eq!(other.status, 1);
    assert_eq!(other.err.replace("c3", "c9"), never.err);
    check(
        &[
            "resolve",
            &of("c3"),
            "--results",
            &results,
            "--session",
            "other",
        ],
        "",
        0,
        "{\"x\":1}\n",
        "",
    );
    // A record that names no session belongs to the one that is resolved.
    let first = r#"{"$tool": "c1", "$select": "items[0].url"}"#;
    check(
        &[
            "resolve",
            first,
            "--results",
            &results,
            "--session",
            "other",
        ],
        "",
        0,
        "\"u1\"\n",
        "",
    );
}

#[test]
fn kinds_say_what_a_result_is() {
    let check = |record: &str, select: &str, expected: &str| {
        let arguments = format!("{{\"$tool\": \"c\"{select}}}");
        let line = format!("{{\"call_id\": \"c\", {record}}}\n");
        check(
            &["resolve", &arguments, "--results", "-"],
            &line,
            0,
            &format!("{expected}\n"),
            "",
        );
    };
    check(
        r#""kind": "text", "result": "{\"a\": 1}""#,
        "",
        r#""{\"a\": 1}""#,
    );
    check(
        r#""kind": "text", "result": "{\"a\": 1}""#,
        r#", "$select": "a""#,
        "1",
    );
    check(r#""kind": "text", "result": "a\u00e9\n""#, "", r#""aé\n""#);
    check(
        r#""kind": "text", "result": {"a": 1}"#,
        "",
        r#""{\"a\": 1}""#,
    );
    let bytes = |data: &str, media_type: &str| {
        format!("{{\"data\":\"{data}\",\"encoding\":\"base64\",\"mimeType\":\"{media_type}\"}}")
    };
    let any = "application/octet-stream";
    check(
        r#""kind": "bytes", "result": "YWJj""#,
        "",
        &bytes("YWJj", any),
    );
    check(
        r#""kind": "bytes", "result": "a b""#,
        "",
        &bytes("YSBi", any),
    );
    check(
        r#""kind": "bytes", "result": {"data": "YWJj", "mimeType": "image/png"}"#,
        "",
        &bytes("YWJj", "image/png"),
    );
    let content = r#"{"content": [{"type": "text", "text": "hi"}]}"#;
    check(&format!(r#""result": {content}"#), "", r#""hi""#);
    check(
        &format!(r#""kind": "mcp", "result": {content}"#),
        "",
        r#""hi""#,
    );
    check(
        &format!(r#""kind": "json", "result": {content}"#),
        "",
        r#"{"content":[{"type":"text","text":"hi"}]}"#,
    );
    check(
        r#""kind": null, "tool": null, "failed": null, "session": null, "result": null"#,
        "",
        "null",
    );
}

#[test]
fn depth_is_no_danger() {
    let deep = "[".repeat(100_000) + &"]".repeat(100_000);
    let deeper_than_allowed = "error[limit.exceeded]: the arguments nest deeper than 127\n\
        try: arguments with fewer levels of lists and objects\n";
    let none = file("none.jsonl", "");
    for arguments in [
        deep.as_str(),
        &"[".repeat(100_000),
        &format!("{}0{}", "[".repeat(128), "]".repeat(128)),
    ] {
        check(
            &["resolve", "-", "--results", &none],
            arguments,
            1,
            "",
            deeper_than_allowed,
        );
    }
    check(
        &["resolve", &"[".repeat(100_000), "--results", &none],
        "",
        1,
        "",
        deeper_than_allowed,
    );
    let at_limit = "[".repeat(127) + &"]".repeat(127);
    check(
        &["resolve", "-", "--results", &none],
        &at_limit,
        0,
        &format!("{at_limit}\n"),
        "",
    );
    // A deep result can be recorded, and passed on as text; only reading it is refused.
    let results = file(
        "deep.jsonl",
        &format!(
            "{{\"call_id\": \"c\", \"result\": {deep}}}\n\
             {{\"call_id\": \"t\", \"kind\": \"text\", \"result\": {deep}, \"more\": {deep}}}\n"
        ),
    );
    check(&["resolve", "{}", "--results", &results], "", 0, "{}\n", "");
    let refers = |id: &str| format!("{{\"$tool\": \"{id}\"}}");
    let refused = run(&["resolve", &refers("c"), "--results", &results], "");
    assert_eq!((refused.status, refused.out.as_str()), (1, ""));
    assert!(
        refused.err.starts_with("error[limit.exceeded]: "),
        "{}",
        refused.err
    );
    check(
        &["resolve", &refers("t"), "--results", &results],
        "",
        0,
        &format!("\"{deep}\"\n"),
        "",
    );
}

#[test]
fn the_same_call_twice() {
    let record = r#"{"call_id": "c", "result": [1]}"#;
    let same = format!("{record}\n{record}\n");
    check(&["resolve", "{}", "--results", "-"], &same, 0, "{}\n", "");
    let other = format!("{record}\n\n{}\n", record.replace("[1]", "[ 1 ]"));
    check(
        &["resolve", "{}", "--results", "-"],
        &other,
        1,
        "",
        "error[record.duplicate]: line 3 of standard input: call `c` was recorded before with another result\n\
         give each call an id of its own\n",
    );
    let body = "{\"code\":\"record.duplicate\",\"message\":\"line 3 of standard input: call `c` was recorded before \
        with another result\",\"call_id\":\"c\",\"advice\":\"give each call an id of its own\"}";
    check(
        &["resolve", "{}", "--results", "-", "--json"],
        &other,
        1,
        &format!("{{\"error\":{body},\"errors\":[{body}]}}\n"),
        "",
    );
    let artifacts = r#"{"artifact_id": "a", "call_id": "c", "data": 1}
{"artifact_id": "a", "call_id": "c", "data": 2}"#;
    let run = run(&["resolve", "{}", "--results", "-"], artifacts);
    assert_eq!(run.status, 1);
    assert!(
        run.err
            .starts_with("error[record.duplicate]: line 2 of standard input: artifact `a`"),
        "{}",
        run.err
    );
}

#[test]
fn nothing_of_a_file_is_evicted() {
    let lines: String = (0..3000)
        .map(|n| format!("{{\"call_id\": \"c{n}\", \"result\": {n}}}\n"))
        .collect();
    check(
        &["resolve", r#"{"$tool": "c0"}"#, "--results", "-"],
        &lines,
        0,
        "0\n",
        "",
    );
}

#[test]
fn as_much_is_selected_as_was_read() {
    // More than selectors may give by default.
    let text = "x".repeat((64 << 20) + 1);
    let path = file("large.json", &format!(r#"{{"items":["{text}"]}}"#));
    let (status, out, err) = run_bytes(&["select", "items", &path], b"");
    fs::remove_file(path).unwrap();
    assert_eq!((status, err.as_str()), (0, ""));
    assert!(out == format!("[\"{text}\"]\n").into_bytes());
}

#[test]
fn what_is_no_record_is_a_usage_error() {
    for (lines, says) in [
        (
            "{\"call_id\": \"c\", \"result\": 1}\nnonsense\n",
            "line 2 of standard input is not a record: it is not a JSON object",
        ),
        (
            "{\"call_id\": \"c\", \"result\": 1",
            "line 1 of standard input is not a record: it is not valid JSON: ",
        ),
        (
            "\n\n{\"result\": 1}",
            "line 3 of standard input is not a record: it needs `call_id`",
        ),
        (
            "{\"call_id\": \"c\"}",
            "line 1 of standard input is not a record: it needs `result` or `artifact_id`",
        ),
    ] {
        check_usage(&["resolve", "{}", "--results", "-"], lines, says);
        let json = run(&["--json", "resolve", "{}", "--results", "-"], lines);
        assert_eq!((json.status, json.err.as_str()), (2, ""));
        let body: Value = serde_json::from_str(&json.out).unwrap();
        assert_eq!(body["error"]["code"], "command.invalid");
        let message = body["error"]["message"].as_str().unwrap();
        assert!(message.starts_with(says), "{message}");
    }
    let path = file("no-record.jsonl", "1");
    check_usage(
        &["resolve", "{}", "--results", &path],
        "",
        &format!("line 1 of `{path}` is not a record"),
    );
}

#[test]
fn arguments_and_schemas_are_judged() {
    let none = file("judged.jsonl", "");
    let resolve = |arguments, schema: &str| {
        let schema = file("judged.schema.json", schema);
        run(
            &[
                "resolve",
                arguments,
                "--results",
                &none,
                "--schema",
                &schema,
                "--json",
            ],
            "",
        )
    };
    let string = r#"{"type": "object", "properties": {"a": {"type": "string"}}}"#;
    assert_eq!(resolve(r#"{"a": "x"}"#, string).status, 0);
    let Run { status, out, .. } = resolve(r#"{"a": 1}"#, string);
    assert_eq!(status, 1);
    assert!(out.starts_with("{\"error\":{\"code\":\"arguments.invalid\",\"message\":\"expected string, found number (argument `/a`)\""), "{out}");
    for schema in [
        "{\"type\": \"objekt\"}",
        "{",
        "7",
        "{\"$ref\": \"https://example.org/schema\"}",
    ] {
        let Run { status, out, .. } = resolve("{}", schema);
        assert_eq!(status, 1, "{schema}");
        assert!(
            out.starts_with("{\"error\":{\"code\":\"schema.invalid\","),
            "{schema}: {out}"
        );
    }
}

#[test]
fn arguments_that_are_no_json_say_where() {
    let body = "{\"code\":\"arguments.invalid\",\"message\":\"the arguments are not valid JSON: not JSON at byte 1\",\
        \"at\":\"\",\"advice\":\"write the arguments as one JSON value\"}";
    check(
        &["resolve", "{a: 1}", "--results", "-", "--json"],
        "",
        1,
        &format!("{{\"error\":{body},\"errors\":[{body}]}}\n"),
        "",
    );
    let none = file("no-json.jsonl", "");
    check(
        &["resolve", "-", "--results", &none],
        "",
        1,
        "",
        "error[arguments.invalid]: the arguments are not valid JSON: unexpected end at byte 0\n\
         write the arguments as one JSON value\n",
    );
    // All digits are passed on, also those of a number that only a schema cannot judge.
    let digits = "[1e400,1.50, {\"a\": 12345678901234567890123}]";
    let line = "[1e400,1.50,{\"a\":12345678901234567890123}]\n";
    check(&["resolve", digits, "--results", &none], "", 0, line, "");
    let schema = file("digits.schema.json", r#"{"items": {"minimum": 1}}"#);
    let run = run(
        &[
            "resolve",
            "[1e400]",
            "--results",
            &none,
            "--schema",
            &schema,
        ],
        "",
    );
    assert_eq!(run.status, 1);
    assert!(
        run.err.starts_with(
            "error[limit.exceeded]: the arguments hold a number that cannot be judged"
        ),
        "{}",
        run.err
    );
}

#[test]
fn strip_leaves_every_other_byte() {
    let shown =
        "{ \"_toolCallId\": \"c1\", \"_id\": 7,\n\"a\" : 1.50 , \"_structureHints\": {} }\n";
    check(&["strip"], shown, 0, "{ \"_id\": 7,\n\"a\" : 1.50 }\n", "");
    check(
        &["strip", "-", "--all-underscore"],
        shown,
        0,
        "{\n\"a\" : 1.50 }\n",
        "",
    );
    let path = file("strip.json", shown);
    check(
        &["strip", &path],
        "",
        0,
        "{ \"_id\": 7,\n\"a\" : 1.50 }\n",
        "",
    );
    let deep = "[".repeat(100_000);
    for same in [
        "",
        "no JSON",
        " {\"_id\": 1}",
        "[{\"_toolCallId\": 1}]\n\n",
        &deep,
    ] {
        check(&["strip"], same, 0, same, "");
    }
    // An object that cannot be read could hold internal fields.
    let marked = r#"{"a":1,"_toolCallId":"call_1"}"#;
    let utf16: Vec<u8> = format!("\u{feff}{marked}")
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let (status, out, _) = run_bytes(&["strip"], &utf16);
    assert_eq!((status, out.as_slice()), (0, &br#"{"a":1}"#[..]));
    check_usage(&["strip"], &format!("{marked}\n{marked}\n"), "NDJSON");
    check_usage(&["strip"], &marked[..20], "it ends within a value");
    let (status, out, _) = run_bytes(&["strip"], b"\xff\0\r\n");
    assert_eq!((status, out.as_slice()), (0, &b"\xff\0\r\n"[..]));
}

#[test]
fn what_cannot_be_carried_out_is_a_usage_error() {
    check_usage(&[], "", "Usage: crossfeed");
    check_usage(&["selekt"], "", "unrecognized subcommand");
    check_usage(&["select"], "", "<EXPR>");
    check_usage(&["select", "a", "--no-such-flag"], "", "--no-such-flag");
    check_usage(
        &["select", "a", "--kind", "xml"],
        "",
        "possible values: json, mcp, text, bytes",
    );
    check_usage(&["select", "a", "--call-id", ""], "", "must not be empty");
    check_usage(
        &["select", "a", "no/such/file.json"],
        "",
        "cannot read `no/such/file.json`: ",
    );
    check_usage(&["strip", env!("CARGO_TARGET_TMPDIR")], "", "cannot read ");
    check_usage(&["resolve", "{}"], "", "--results <FILE>");
    check_usage(
        &["resolve", "{}", "--results", "no/such.jsonl"],
        "",
        "cannot read `no/such.jsonl`: ",
    );
    check_usage(
        &["resolve", "arguments", "--results", "-"],
        "",
        "there is no such file",
    );
    check_usage(
        &["resolve", "{}", "--results", "-", "--session", ""],
        "",
        "`` is not a session: ",
    );
    check_usage(
        &["resolve", "-", "--results", "-"],
        "{}",
        "only one input may be standard input",
    );
    check_usage(
        &["resolve", "{}", "--results", "-", "--schema", "-"],
        "{}",
        "only one input",
    );
}

#[test]
fn a_kind_is_enforced() {
    for command in [
        &["select", "a"][..],
        &["hints"],
        &["retrieve"],
        &["project", "--fields", "a"],
    ] {
        for (kind, says) in [
            (
                "json",
                "error: standard input is not valid JSON: unexpected `N` at line 1, column 7",
            ),
            ("mcp", "error: standard input is not valid JSON: "),
        ] {
            check_usage(
                &[command, &["--kind", kind]].concat(),
                r#"{"a": NaN}"#,
                says,
            );
        }
        let args = [command, &["--kind", "mcp"]].concat();
        check_usage(
            &args,
            r#"{"a": 1}"#,
            "error: standard input is not a tool result of MCP: ",
        );
    }
    let (status, out, err) = run_bytes(&["select", "@", "--kind", "text"], b"\xff");
    assert_eq!((status, out.as_slice()), (2, &b""[..]));
    assert_eq!(
        err,
        "error: standard input is not text in UTF-8: byte 0 is invalid\n"
    );
}

#[test]
fn what_is_not_valid_json_is_said_not_to_be() {
    let Run { status, out, err } = run(&["select", "a"], r#"{"a": NaN}"#);
    assert_eq!((status, out.as_str()), (1, ""));
    let notice = "notice: standard input is not valid JSON: unexpected `N` at line 1, column 7; it is read as text\n";
    assert!(err.starts_with(notice), "{err}");
    let lines = file("two.jsonl", "{\"id\": 1}\n{\"id\": 2}\n");
    let Run { status, err, .. } = run(&["select", "id", &lines], "");
    assert_eq!(status, 1);
    let notice = format!(
        "notice: `{lines}` is not valid JSON: it holds one JSON document a line (NDJSON): `select` and `project` read each line with `--ndjson`, `jq -s .` makes it one list; it is read as text\n"
    );
    assert!(err.starts_with(&notice), "{err}");
    check(
        &["select", "a", "--kind", "json"],
        "\u{feff}{\"a\":1}",
        0,
        "1\n",
        "",
    );
    let schema = "\u{feff}{\"type\": \"object\"}";
    let schema = file("mark.schema.json", schema);
    let args = ["resolve", "{}", "--results", "-", "--schema", &schema];
    check(&args, "", 0, "{}\n", "");
}

#[test]
fn usage_errors_are_json_where_that_is_asked_for() {
    let check = |args: &[&str], says: &str| {
        let Run { status, out, err } = run(args, "");
        assert_eq!((status, err.as_str()), (2, ""), "{args:?}");
        let body: Value = serde_json::from_str(&out).unwrap();
        assert_eq!(body["error"]["code"], "command.invalid", "{args:?}");
        let message = body["error"]["message"].as_str().unwrap();
        assert!(message.starts_with(says), "{args:?}: {message}");
    };
    check(
        &["--json", "select", "a", "no/such.json"],
        "cannot read `no/such.json`: ",
    );
    check(
        &["select", "a", "--json", "--no-such"],
        "unexpected argument '--no-such' found",
    );
}

#[test]
fn what_sums_to_too_much_is_said_to() {
    let Run { status, err, .. } = run(&["select", "sum([a, b])"], r#"{"a": 1e999, "b": 1}"#);
    assert_eq!(status, 1);
    assert!(
        err.starts_with("error[select.invalid]: ")
            && err.contains(
                "`sum` takes numbers with a sum in the range of 64-bit floats as argument 1"
            ),
        "{err}"
    );
}

#[test]
fn names_that_look_the_same_are_told_apart() {
    let check = |key: &str, written: &str, try_this: &str| {
        let document = format!("{{\"{key}\": 1}}");
        let Run { err, .. } = run(&["select", &format!("\"{written}\"")], &document);
        assert!(err.ends_with(&format!("try: \"{try_this}\"\n")), "{err}");
        run(&["select", &format!("\"{try_this}\"")], &document)
    };
    let (composed, decomposed) = ("caf\u{e9}", "cafe\u{301}");
    assert_eq!(check(composed, decomposed, r"caf\u00e9").out, "1\n");
    assert_eq!(check(decomposed, composed, r"cafe\u0301").out, "1\n");
}

#[cfg(target_os = "linux")]
#[test]
#[expect(clippy::disallowed_methods, reason = "the command is what is tested")]
fn help_that_cannot_be_written_is_an_error() {
    let full = fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let run = Command::new(env!("CARGO_BIN_EXE_crossfeed"))
        .arg("--help")
        .stdout(full)
        .output()
        .unwrap();
    assert_eq!(run.status.code(), Some(2));
    assert!(run.stderr.starts_with(b"error: cannot write the answer: "));
}

#[test]
fn help_is_an_answer() {
    for args in [
        &["--help"][..],
        &["select", "--help"],
        &["resolve", "-h"],
        &["strip", "--help"],
        &["demo", "--help"],
        &["project", "--help"],
        &["summarize", "--help"],
        &["inspect", "--help"],
        &["learn", "--help"],
        &["results", "--help"],
        &["results", "ls", "--help"],
        &["results", "get", "--help"],
        &["results", "save", "--help"],
        &["trace", "--help"],
        &["trace", "sanitize", "--help"],
    ] {
        let Run { status, out, err } = run(args, "");
        assert_eq!((status, err.as_str()), (0, ""), "{args:?}");
        assert!(out.contains("Usage: crossfeed"), "{args:?}: {out}");
    }
}

#[test]
fn a_reader_who_has_seen_enough_is_no_error() {
    let mut child = start(&["strip"]);
    drop(child.stdout.take());
    // The command writes only when it has read all of this.
    child
        .stdin
        .take()
        .unwrap()
        .write_all(&[b'x'; 1 << 20])
        .unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(
        (output.status.code(), output.stderr.as_slice()),
        (Some(0), &b""[..])
    );
}

/// What a configuration that is shown to readers means.
#[cfg(unix)]
fn configured(text: &str) -> crossfeed_gateway::config::GatewayConfig {
    use crossfeed_gateway::config::{Format, GatewayConfig, Sources};
    let token = ["TRACKER_TOKEN", "ISSUES_TOKEN"].map(|name| (name.to_owned(), "x".to_owned()));
    let sources = Sources::default().with_environment(token.into());
    GatewayConfig::parse(text, Format::Toml, &sources).unwrap()
}

#[test]
fn strip_does_not_give_up_at_depth_or_a_byte_order_mark() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    check(
        &["strip"],
        &format!("{{\"_toolCallId\":\"c\",\"a\":{deep}}}"),
        0,
        &format!("{{\"a\":{deep}}}"),
        "",
    );
    let marked = "\u{feff}{\"_toolCallId\":\"c\",\"a\":1}\n";
    check(&["strip"], marked, 0, "\u{feff}{\"a\":1}\n", "");
}

#[test]
fn arguments_may_be_any_json_value() {
    let records = file("scalars.jsonl", "");
    for scalar in ["5", "true", "null", " -1.5 "] {
        let expected = format!("{}\n", scalar.trim());
        check(
            &["resolve", scalar, "--results", &records],
            "",
            0,
            &expected,
            "",
        );
    }
    check_usage(
        &["resolve", "5x", "--results", &records],
        "",
        "cannot read `5x`: there is no such file, and it is not valid JSON",
    );
}

#[test]
fn of_many_errors_the_first_are_written_in_full() {
    let records = file(
        "many.jsonl",
        "{\"call_id\": \"c\", \"result\": {\"a\": 1}}\n",
    );
    let references = vec![r#"{"$tool": "c", "$select": "x"}"#; 30].join(",");
    let arguments = format!("[{references}]");
    let Run { status, err, .. } = run(&["resolve", &arguments, "--results", &records], "");
    assert_eq!((status, err.matches("error[").count()), (1, 30), "{err}");
    assert_eq!(err.matches("found: ").count(), 20);
}
