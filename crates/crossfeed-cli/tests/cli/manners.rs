//! What users of jq and ripgrep expect: raw strings, layouts, several files, lines, colours, completions, manuals.

use super::{ITEMS, Run, check, check_usage, file, run, run_bytes, start, start_with};
use serde_json::Value;
use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::Command,
};

/// What a run prints with these variables, standard output and standard error.
fn printed(args: &[&str], variables: &[(&str, &str)]) -> (String, String) {
    let output = start_with(args, variables).wait_with_output().unwrap();
    (
        String::from_utf8(output.stdout).unwrap(),
        String::from_utf8(output.stderr).unwrap(),
    )
}

#[test]
fn raw_strings_have_no_quotes() {
    let document = r#"{"a": "x \"y\"\né", "list": ["p", 1.50, null], "half": "\ud800"}"#;
    check(&["select", "-r", "a"], document, 0, "x \"y\"\né\n", "");
    check(
        &["select", "--raw", "list"],
        document,
        0,
        "[\"p\", 1.50, null]\n",
        "",
    );
    // Half of a character is not text.
    check(&["select", "-r", "half"], document, 0, "\"\\ud800\"\n", "");
    check(
        &["retrieve", "-r", "--select", "a"],
        document,
        0,
        "x \"y\"\né\n",
        "",
    );
}

#[test]
fn items_are_printed_one_by_one() {
    check(
        &["select", "--each", "items"],
        ITEMS,
        0,
        "{\"url\":\"u1\",\"score\":1.50}\n{\"url\":\"u2\",\"score\":2}\n",
        "",
    );
    check(
        &["select", "-r", "--each", "items[*].url"],
        ITEMS,
        0,
        "u1\nu2\n",
        "",
    );
    let indented = "{\n  \"items\": [\n    {\n      \"a\": 1\n    }\n  ]\n}";
    check(
        &["select", "--each", "items"],
        indented,
        0,
        "{\"a\":1}\n",
        "",
    );
    check(
        &["select", "--each", "items[0].url"],
        ITEMS,
        0,
        "\"u1\"\n",
        "",
    );
    check(
        &["select", "--each", "items[?score > `9`]"],
        ITEMS,
        0,
        "",
        "notice: the filter refused every one of 2 items; try: items\n",
    );
}

#[test]
fn layouts_keep_every_token() {
    let document = r#"{"a": [1.50, {"b" :"x"}], "d":1e999, "c": {}}"#;
    check(&["select", "@"], document, 0, &format!("{document}\n"), "");
    check(
        &["select", "-c", "@"],
        document,
        0,
        "{\"a\":[1.50,{\"b\":\"x\"}],\"d\":1e999,\"c\":{}}\n",
        "",
    );
    check(
        &["--pretty", "select", "@"],
        document,
        0,
        "{\n  \"a\": [\n    1.50,\n    {\n      \"b\": \"x\"\n    }\n  ],\n  \"d\": 1e999,\n  \"c\": {}\n}\n",
        "",
    );
    check_usage(
        &["select", "@", "--pretty", "--compact"],
        document,
        "cannot be used with",
    );
}

#[test]
fn several_files_are_read_in_order() {
    let first = file("manners-first.json", r#"{"total": 1}"#);
    let second = file("manners-second.json", r#"{"sum": 2}"#);
    let third = file("manners-third.json", r#"{"total": 3}"#);
    check(&["select", "total", &first, &third], "", 0, "1\n3\n", "");
    check(
        &["select", "total", &first, &second, &third],
        "",
        1,
        "1\n3\n",
        &format!(
            "error[select.matched_nothing]: `{second}`: selector `total` matched nothing\nfound: {{sum: number}}\ntry: sum\n"
        ),
    );
    let Run { status, out, err } = run(&["select", "total", "absent.json", &first], "");
    assert_eq!((status, out.as_str()), (2, "1\n"));
    assert!(
        err.starts_with("error: cannot read `absent.json`: "),
        "{err}"
    );
    check(
        &["select", "total", "-", &first],
        r#"{"total": 0}"#,
        0,
        "0\n1\n",
        "",
    );
    check_usage(
        &["select", "total", "-", "-"],
        "1",
        "only one input may be standard input",
    );
    check(
        &["project", "--fields", "total", &first, &third],
        "",
        0,
        "{\"value\":{\"total\":1},\"diagnostics\":[]}\n{\"value\":{\"total\":3},\"diagnostics\":[]}\n",
        "",
    );
}

#[test]
fn lines_are_documents() {
    let lines =
        "\u{feff}{\"total\": 1.0}\r\n\n{\"total\": \"x\"}\n[1,\n{\"sum\": 2}\n{\"total\": 4}";
    let out = "1.0\n\"x\"\n4\n";
    let err = "error: line 4 of standard input is not valid JSON: it ends within a value, at column 4\n\
               error[select.matched_nothing]: line 5 of standard input: selector `total` matched nothing\n\
               found: {sum: number}\n\
               try: sum\n";
    check(&["select", "--ndjson", "total"], lines, 2, out, err);
    check(
        &["select", "--jsonl", "-r", "total"],
        lines,
        2,
        "1.0\nx\n4\n",
        err,
    );
    let path = file("manners.jsonl", "{\"id\": 1, \"body\": 2}\n{\"id\": 3}\n");
    check(
        &["project", "--ndjson", "--fields", "id", &path, &path],
        "",
        0,
        &"{\"value\":{\"id\":1},\"diagnostics\":[]}\n{\"value\":{\"id\":3},\"diagnostics\":[]}\n"
            .repeat(2),
        "",
    );
    check(&["select", "--ndjson", "total"], "", 0, "", "");
    check_usage(
        &["select", "--ndjson", "--kind", "text", "a"],
        "x",
        "each line is JSON",
    );
}

#[test]
fn each_error_of_several_is_a_line_of_json() {
    let Run { status, out, err } = run(
        &["--json", "select", "--ndjson", "a"],
        "{\"a\": 1}\n{\"b\": 1}\n{\n",
    );
    assert_eq!((status, err.as_str()), (2, ""));
    let lines: Vec<Value> = out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines[0], 1);
    let codes: Vec<_> = lines[1..]
        .iter()
        .map(|line| &line["error"]["code"])
        .collect();
    assert_eq!(codes, ["select.matched_nothing", "command.invalid"]);
}

#[test]
fn a_notice_names_its_document() {
    let lines = "{\"items\": [{\"score\": 1}]}\n";
    let Run { status, out, err } = run(&["select", "--ndjson", "items[?score > `9`]"], lines);
    assert_eq!((status, out.as_str()), (0, "[]\n"));
    assert!(
        err.starts_with("notice: line 1 of standard input: the filter "),
        "{err}"
    );
}

/// Colours are for terminals, and for those who ask.
#[test]
fn errors_and_answers_have_colours_where_they_are_shown() {
    let document = file("manners-colours.json", r#"{"a": "b"}"#);
    let plain = "error[select.matched_nothing]: selector `x` matched nothing\nfound: {a: string(1)}\ntry: a\n";
    let miss = ["select", "x", document.as_str()];
    assert_eq!(printed(&miss, &[]).1, plain);
    let forced = printed(&miss, &[("CLICOLOR_FORCE", "1")]).1;
    assert!(
        forced.starts_with("\u{1b}[1m\u{1b}[31merror[select.matched_nothing]:\u{1b}[0m selector"),
        "{forced:?}"
    );
    assert_eq!(
        printed(&miss, &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]).1,
        plain
    );
    let usage = printed(&["select", "x", "absent.json"], &[("CLICOLOR_FORCE", "1")]).1;
    assert!(
        usage.starts_with("\u{1b}[1m\u{1b}[31merror:\u{1b}[0m cannot read"),
        "{usage:?}"
    );
    let answer = printed(
        &["--pretty", "select", "@", &document],
        &[("CLICOLOR_FORCE", "1")],
    )
    .0;
    assert_eq!(
        answer,
        "{\n  \u{1b}[1m\u{1b}[34m\"a\"\u{1b}[0m: \u{1b}[32m\"b\"\u{1b}[0m\n}\n"
    );
}

/// The bytes that the command writes to a terminal.
#[cfg(unix)]
fn on_a_terminal(args: &[&str]) -> String {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    use std::io::Read as _;

    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&terminal).unwrap();
    unlockpt(&terminal).unwrap();
    let name = ptsname(&terminal, Vec::new()).unwrap();
    let end = fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open(name.to_str().unwrap())
        .unwrap();
    #[expect(clippy::disallowed_methods, reason = "the command is what is tested")]
    let mut command = Command::new(env!("CARGO_BIN_EXE_crossfeed"));
    command
        .args(args)
        .env("TERM", "xterm")
        .env_remove("NO_COLOR")
        .stdout(end);
    let mut child = command.spawn().unwrap();
    // Once the last end of the terminal is closed, reading fails behind what was written.
    drop(command);
    let mut written = Vec::new();
    let _ = fs::File::from(terminal).read_to_end(&mut written);
    assert!(child.wait().unwrap().success());
    String::from_utf8(written).unwrap().replace("\r\n", "\n")
}

#[cfg(unix)]
#[test]
fn a_terminal_gets_indented_and_coloured_json() {
    let document = file("manners-terminal.json", r#"{"a": [1.50]}"#);
    let indented = "{\n  \u{1b}[1m\u{1b}[34m\"a\"\u{1b}[0m: [\n    1.50\n  ]\n}\n";
    assert_eq!(on_a_terminal(&["select", "@", &document]), indented);
    assert_eq!(on_a_terminal(&["select", "-c", "a", &document]), "[1.50]\n");
    assert_eq!(
        on_a_terminal(&["select", "-r", "a[0]", &document]),
        "1.50\n"
    );
}

/// Names and data that a command repeats steer no terminal.
#[test]
fn errors_hold_no_control_characters() {
    let document = "{\"b\u{9b}31m\": 1, \"c\u{7f}\": 2}";
    for args in [
        &["select", "a\u{1b}[31m"][..],
        &["select", "a", "x\u{1b}[31m.json"],
    ] {
        let Run { err, .. } = run(args, document);
        assert!(!err.chars().any(|c| c.is_control() && c != '\n'), "{err:?}");
        assert!(err.contains("\\u{1b}[31m"), "{err:?}");
    }
    let Run { err, .. } = run(&["select", "b"], document);
    assert!(err.contains("b\\u{9b}31m"), "{err:?}");
}

#[test]
fn the_version_has_the_commit() {
    let Run { status, out, err } = run(&["--version"], "");
    assert_eq!((status, err.as_str()), (0, ""));
    let version = out.trim_end().strip_prefix("crossfeed ").unwrap();
    let rest = version.strip_prefix(env!("CARGO_PKG_VERSION")).unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    if !root.join(".git").exists() {
        assert_eq!(rest, "", "there is no repository that has the commit");
        return;
    }
    let commit = rest.strip_prefix(" (").unwrap().strip_suffix(')').unwrap();
    let is_digit = |byte: u8| byte.is_ascii_hexdigit();
    assert!(commit.len() == 9 && commit.bytes().all(is_digit), "{out}");
}

/// An answer that cannot be written is an error, and the error before it is not lost.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_hides_no_error() {
    let lines = "{\"a\": 1}\n{\"b\": 1}\n";
    let path = file("manners-full.jsonl", lines);
    #[expect(clippy::disallowed_methods, reason = "the command is what is tested")]
    let output = Command::new(env!("CARGO_BIN_EXE_crossfeed"))
        .args(["select", "--ndjson", "a", &path])
        .stdout(
            fs::OpenOptions::new()
                .write(true)
                .open("/dev/full")
                .unwrap(),
        )
        .output()
        .unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{err}");
    let (first, last) = (err.lines().next().unwrap(), err.lines().last().unwrap());
    assert!(
        first.starts_with("error[select.matched_nothing]: line 2 of "),
        "{err}"
    );
    assert!(
        last.starts_with("error: cannot write the answer: "),
        "{err}"
    );
}

/// A reader that has seen enough ends the command, also if it reads errors.
#[test]
fn errors_as_json_end_with_their_reader() {
    let mut child = start(&["--json", "select", "--ndjson", "a"]);
    drop(child.stdout.take());
    let mut stdin = child.stdin.take().unwrap();
    // Without an end of the command this never ends.
    while stdin.write_all(b"{\"b\": 1}\n").is_ok() {}
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_line_is_answered_before_the_next_one_comes() {
    let mut child = start(&["select", "--ndjson", "a"]);
    let mut stdin = child.stdin.take().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    for number in 0..3 {
        writeln!(stdin, "{{\"a\": {number}}}").unwrap();
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        assert_eq!(line, format!("{number}\n"));
    }
    drop(stdin);
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_file_without_lines_of_json_has_few_errors() {
    let err = |input: &[u8]| {
        let (status, out, err) = run_bytes(&["select", "--ndjson", "a"], input);
        assert_eq!((status, out.as_slice()), (2, &b""[..]));
        err
    };
    let gzip = [&[0x1f, 0x8b][..], b"\n\n[\n".repeat(100).as_slice()].concat();
    assert_eq!(
        err(&gzip),
        "error: standard input is compressed with gzip: decompress it first\n"
    );
    assert_eq!(
        err(b"\xff\xfe{\0}\0\n\0{\0}\0"),
        "error: standard input is text in UTF-16: with `--ndjson` give UTF-8\n"
    );
    let indented = "{\n".repeat(500);
    let said = err(indented.as_bytes());
    assert_eq!(said.lines().count(), 21, "{said}");
    assert!(
        said.ends_with("error: 480 more lines of standard input failed\n"),
        "{said}"
    );
    // A script reads all of them.
    let Run { status, out, .. } = run(&["--json", "select", "--ndjson", "a"], &indented);
    assert_eq!((status, out.lines().count()), (2, 500));
}

#[test]
fn several_results_of_mcp_are_projected() {
    let result =
        |id| format!("{{\"structuredContent\": {{\"id\": {id}, \"n\": 0}}, \"content\": []}}");
    let first = file("manners-mcp-1.json", &result(1));
    let second = file("manners-mcp-2.json", &result(2));
    let other = file("manners-mcp-3.json", "[]");
    let request = r#"{"mode": "include", "fields": ["id"]}"#;
    let Run { status, out, err } = run(&["project", "--mcp", request, &first, &other, &second], "");
    let ids: Vec<Value> = out
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["structuredContent"].clone())
        .collect();
    assert_eq!(
        ids,
        [serde_json::json!({"id": 1}), serde_json::json!({"id": 2})]
    );
    assert_eq!(
        (status, err),
        (
            2,
            format!("error: `{other}` is not a tool result of MCP: it is not an object\n")
        )
    );
    let lines = format!("{}\n", result(3));
    check(
        &["select", "--ndjson", "--kind", "mcp", "id"],
        &lines,
        0,
        "3\n",
        "",
    );
}

#[test]
fn shells_get_completions() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let Run { status, out, err } = run(&["completions", shell], "");
        assert_eq!((status, err.as_str()), (0, ""), "{shell}");
        assert!(
            out.contains("ndjson") && out.contains("sanitize"),
            "{shell}: {out}"
        );
    }
    check_usage(&["completions", "tcsh"], "", "possible values: bash");
}

#[test]
fn every_command_has_a_manual_page() {
    let page = run(&["man"], "").out;
    assert!(page.contains(".TH crossfeed 1"), "{page}");
    let dir = file("manners-man", "");
    fs::remove_file(&dir).unwrap();
    let Run { status, err, .. } = run(&["man", "--dir", &dir], "");
    assert_eq!((status, err.as_str()), (0, ""));
    for page in [
        "crossfeed",
        "crossfeed-select",
        "crossfeed-artifact-create",
        "crossfeed-trace-sanitize",
    ] {
        let text = fs::read_to_string(format!("{dir}/{page}.1")).unwrap();
        assert!(text.contains(".SH"), "{page}: {text}");
    }
    fs::remove_dir_all(&dir).unwrap();
    let blocked = file("manners-man-file", "");
    check_usage(
        &["man", "--dir", &blocked],
        "",
        "cannot write manual pages to",
    );
}
