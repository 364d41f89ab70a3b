//! Traces that were written down, and the demo's own.

use super::{Run, check, check_usage, file, run, start};
use std::io::{BufRead, BufReader, Write};

const TRACE: &str = include_str!("../data/trace.json");
const SANITIZED: &str = include_str!("../data/trace.sanitized.json");

/// A document of one span of this name, which stands in a JSON string.
fn span(name: &str) -> String {
    format!("{{\"resourceSpans\":[{{\"scopeSpans\":[{{\"spans\":[{{\"name\":\"{name}\"}}]}}]}}]}}")
}

/// One that has something to strip, and what is left of it.
fn dirty() -> (String, String) {
    let text = r#"{\"_toolCallId\":\"c\",\"a\":1.50}"#;
    (span(text), span(r#"{\"a\":1.50}"#))
}

fn sanitize(args: &[&str], stdin: &str) -> Run {
    run(&[&["trace", "sanitize"], args].concat(), stdin)
}

#[test]
fn a_trace_is_sanitized_byte_for_byte() {
    check(&["trace", "sanitize"], TRACE, 0, SANITIZED, "");
    let path = file("trace.json", TRACE);
    let report = "1 document: 5 texts changed, 1 attribute dropped\n";
    check(
        &["trace", "sanitize", &path, "--report"],
        "",
        0,
        SANITIZED,
        report,
    );
    check(&["trace", "sanitize", "-"], SANITIZED, 0, SANITIZED, "");
}

#[test]
fn documents_come_in_any_row() {
    let (given, left) = dirty();
    for between in ["\n", "", "\r\n\r\n \t"] {
        let of = |document: &str| format!("{document}{between}{document}{between}{{}}\n");
        check(&["trace", "sanitize"], &of(&given), 0, &of(&left), "");
    }
    check(&["trace", "sanitize"], "", 0, "", "");
    check(&["trace", "sanitize"], "\u{feff}{}", 0, "\u{feff}{}", "");
    let logs = r#"{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":{"kvlistValue":{"values":[{"key":"_toolCallId","value":{"intValue":"1"}}]}}}]}]}]}"#;
    let left = r#"{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":{"kvlistValue":{"values":[]}}}]}]}]}"#;
    check(&["trace", "sanitize"], logs, 0, left, "");
    let metrics = r#"{ "resourceMetrics":[{"scopeMetrics":[{"metrics":[{"name":"m","gauge":{"dataPoints":[{"asDouble":1.50}]}}]}]}]}"#;
    check(&["trace", "sanitize"], metrics, 0, metrics, "");
}

#[test]
fn a_pipe_that_stays_open_is_answered() {
    let (given, left) = dirty();
    let mut child = start(&["trace", "sanitize"]);
    let mut stdin = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    for _ in 0..3 {
        stdin.write_all(format!("{given}\n").as_bytes()).unwrap();
        stdin.flush().unwrap();
        assert_eq!(lines.next().unwrap().unwrap(), left);
    }
    drop(stdin);
    assert!(lines.next().is_none());
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_reader_of_traces_who_has_seen_enough_is_no_error() {
    let (given, _) = dirty();
    let mut child = start(&["trace", "sanitize"]);
    drop(child.stdout.take());
    let mut stdin = child.stdin.take().unwrap();
    for _ in 0..10_000 {
        // It may be gone at any time.
        if stdin.write_all(given.as_bytes()).is_err() {
            break;
        }
    }
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert_eq!(
        (output.status.code(), output.stderr.as_slice()),
        (Some(0), &b""[..])
    );
}

#[test]
fn what_is_broken_stops_and_what_came_before_is_there() {
    let (given, left) = dirty();
    let first = format!("{given}\n{given}\n");
    for (broken, code, says, advice) in [
        (
            r#"{"resourceSpans":[}"#.to_owned(),
            "telemetry.invalid",
            "document 3 (line 3) is not valid JSON: not JSON at byte ",
            "the 2 documents before it were printed",
        ),
        (
            "{\"resourceSpans\":[{\n\"scopeSpans\":".to_owned(),
            "telemetry.invalid",
            "document 3 (line 5) is not valid JSON: unexpected end at byte ",
            "the input ends within it: it was cut off, or is still being written; the 2 documents",
        ),
        (
            r#"{"spans":[{"name":"{\"_toolCallId\":1}"}]}"#.to_owned(),
            "telemetry.invalid",
            "document 3 (line 3, byte ",
            "the 2 documents before it were printed",
        ),
        (
            span(&format!("x\",\"deep\":{}", "[".repeat(100_000))),
            "limit.exceeded",
            "document 3 (line 3) is not valid JSON: nested deeper than 127 at byte ",
            "the 2 documents before it were printed",
        ),
    ] {
        // What is cut off is so by the end of the input.
        let behind = if broken.ends_with(':') { "" } else { &first };
        let Run { status, out, err } = sanitize(&[], &format!("{first}{broken}\n{behind}"));
        let printed = format!("{left}\n{left}\n");
        assert_eq!((status, out.trim_end()), (1, printed.trim_end()), "{err}");
        assert!(err.starts_with(&format!("error[{code}]: {says}")), "{err}");
        assert!(err.contains(advice), "{err}");
    }
    let Run { status, out, err } = run(&["--json", "trace", "sanitize"], "[1]\n");
    assert_eq!((status, err.as_str()), (1, ""));
    assert!(
        out.starts_with("{\"error\":{\"code\":\"telemetry.invalid\",\"message\":\"document 1 (line 1, byte 0) is not OTLP: "),
        "{out}"
    );
}

#[test]
fn a_document_has_a_largest_size() {
    let (given, left) = dirty();
    let most = given.len().to_string();
    let args = ["--max-document", &most];
    check(
        &[&["trace", "sanitize"], &args[..]].concat(),
        &given,
        0,
        &left,
        "",
    );
    let large = span(&"x".repeat(given.len()));
    let Run { status, out, err } = sanitize(&args, &format!("{given}\n{large}\n{given}"));
    assert_eq!((status, out), (1, format!("{left}\n")), "{err}");
    let expected = format!(
        "error[limit.exceeded]: document 2 (line 2) has more than {most} bytes\n\
         the document before it was printed; or raise the limit: `--max-document "
    );
    assert!(err.starts_with(&expected), "{err}");
}

#[test]
fn a_name_that_no_document_has_is_an_error() {
    let document = r#"{"resourceSpans":[{"scopeSpans":[{"spans":[{"attributes":[{"key":"gen_ai.tool.call.result","value":{"stringValue":"{\"_cursor\":1,\"items\":[1],\"a\":2}"}}]}]}]}]}"#;
    let two = format!("{document}\n{{\"resourceSpans\":[]}}\n");
    let check = |args: &[&str], expected: i32, said: &str| {
        let Run { status, out, err } = sanitize(args, &two);
        assert_eq!((status, err.as_str()), (expected, said), "{args:?}");
        assert_eq!(out.lines().count(), 2, "{args:?}");
    };
    check(&["--never", "Items,a", "--keep", "_cursor"], 0, "");
    // Every policy takes it out already: a rule that says so again is not misspelt.
    check(&["--never", "_cursor"], 0, "");
    let absent = "`--allow-unmatched` if it may be absent\n";
    check(
        &["--never", "itms,a.b", "--keep", "_cursr"],
        1,
        &format!(
            "error[projection.invalid]: `--keep _cursr` matches nothing\ntry: _cursor; or {absent}error[projection.invalid]: `--never itms` matches nothing\ntry: items; or {absent}error[projection.invalid]: `--never a.b` matches nothing\ntry: {absent}"
        ),
    );
    check(
        &["--never", "*.itms"],
        0,
        "notice: `--never *.itms` matches nothing\n",
    );
    check(
        &["--never", "itms", "--allow-unmatched"],
        0,
        "notice: `--never itms` matches nothing\n",
    );
}

#[test]
fn the_policy_is_the_host_s() {
    let attribute = |name: &str, text: &str| {
        format!(
            "{{\"resourceSpans\":[{{\"scopeSpans\":[{{\"spans\":[{{\"attributes\":[{{\"key\":\"{name}\",\"value\":{{\"stringValue\":\"{text}\"}}}}]}}]}}]}}]}}"
        )
    };
    let (result, messages) = ("gen_ai.tool.call.result", "gen_ai.input.messages");
    let text = r#"{\"_id\":1,\"_x\":2,\"a\":\"long text\"}"#;
    let is = |args: &[&str], name: &str, left: &str| {
        let Run { status, out, err } = sanitize(args, &attribute(name, text));
        assert_eq!((status, out), (0, attribute(name, left)), "{args:?}: {err}");
    };
    is(&[], result, r#"{\"a\":\"long text\"}"#);
    is(
        &["--keep", "_id"],
        result,
        r#"{\"_id\":1,\"a\":\"long text\"}"#,
    );
    is(&[], "acme.output", text);
    is(
        &["--tool-result", "acme.output"],
        "acme.output",
        r#"{\"a\":\"long text\"}"#,
    );
    is(&["--never", "a,*.c"], messages, r#"{\"_id\":1,\"_x\":2}"#);
    let dropped = |args: &[&str], name: &str| {
        let out = sanitize(args, &attribute(name, text)).out;
        assert!(
            out.contains("\"attributes\":[],\"droppedAttributesCount\":1"),
            "{out}"
        );
    };
    dropped(&["--payload", "drop"], messages);
    dropped(
        &["--payload", "drop", "--payload-attribute", "acme.in"],
        "acme.in",
    );
    is(&["--payload", "drop"], "acme.in", text);
    let hash = |args: &[&str]| sanitize(args, &attribute(messages, text)).out;
    assert!(hash(&["--payload", "hash"]).contains("\"stringValue\":\"sha256:"));
    let key = file("hash.key", "secret");
    let keyed = hash(&["--payload", "hash", "--hash-key", &key]);
    assert!(keyed.contains("\"stringValue\":\"hmac-sha256:"), "{keyed}");
    let long = attribute(messages, &"x".repeat(10_000));
    let cut = sanitize(&["--max-bytes", "200"], &long).out;
    assert!(cut.len() < 600, "{cut}");
}

#[test]
fn what_cannot_be_sanitized_so_is_a_usage_error() {
    let of = |args: &[&'static str]| [&["trace", "sanitize"], args].concat();
    check_usage(&of(&["no/such.json"]), "", "cannot read `no/such.json`: ");
    check_usage(
        &of(&["--payload", "x"]),
        "",
        "possible values: keep, drop, hash",
    );
    check_usage(
        &of(&["--hash-key", "k"]),
        "",
        "`--hash-key` goes with `--payload hash`",
    );
    check_usage(
        &of(&["--never", ""]),
        "",
        "a list of what is never shown is empty",
    );
    check_usage(&["trace"], "", "Usage: crossfeed trace");
    let empty = file("empty.key", "");
    check_usage(
        &[
            "trace",
            "sanitize",
            "--payload",
            "hash",
            "--hash-key",
            &empty,
        ],
        "",
        "holds no key",
    );
    let Run { status, err, .. } = sanitize(&["--never", "a..b"], "{}");
    assert_eq!(status, 1);
    assert!(err.starts_with("error[projection.invalid]: "), "{err}");
}
