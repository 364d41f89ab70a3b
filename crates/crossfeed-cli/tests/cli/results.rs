//! `results`: what a gateway keeps, listed, printed and saved beside it.

use super::{
    check_usage,
    lasting::{directory, echo, local, say},
    run, run_bytes,
};
use serde_json::{Value, json};
use std::{fs, os::unix::fs::symlink};

/// The results as JSON.
fn listed(state: &str) -> Vec<Value> {
    let listed = run(&["--json", "results", "ls", "--state", state], "");
    assert_eq!((listed.status, listed.err.as_str()), (0, ""));
    let listed: Value = serde_json::from_str(&listed.out).unwrap();
    listed["results"].as_array().unwrap().clone()
}

#[test]
fn results_are_listed_printed_and_saved_beside_a_gateway() {
    let state = directory("results-state");
    let state = state.to_str().unwrap();
    let mut work = local(&["--state", state, "--session", "work"], &["sh", &echo()]);
    say(&mut work, &json!("one\nmore"));
    let mut other = local(&["--state", state, "--session", "other"], &["sh", &echo()]);
    say(&mut other, &json!("two"));
    say(&mut other, &json!("three"));

    let results = listed(state);
    let seen: Vec<_> = results.iter().map(|result| &result["call_id"]).collect();
    assert_eq!(seen, ["call_2", "call_1", "call_1"]);
    let [latest, .., first] = &results[..] else {
        panic!("{results:?}");
    };
    assert_eq!(latest["tool"], "say");
    assert_ne!(latest["session"], first["session"]);
    let table = run(&["results", "ls", "--state", state], "").out;
    let lines: Vec<_> = table.lines().collect();
    assert_eq!(lines.len(), 4);
    let words = |line: &str| {
        line.split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        words(lines[0]),
        ["ID", "TOOL", "SERVER", "SESSION", "BYTES", "AGE"]
    );
    let session = |result: &Value| result["session"].as_str().unwrap()[..10].to_owned();
    assert_eq!(words(lines[3])[..2], ["call_1", "say"]);
    assert_eq!(words(lines[3])[3], session(first));
    assert_eq!(words(lines[3])[4], first["bytes"].to_string());

    let get = |args: &[&str]| run(&[&["results", "get", "--state", state], args].concat(), "");
    assert_eq!(get(&["call_2"]).out, "heard three");
    // Two sessions have one of this name.
    let first = session(first);
    let both = get(&["call_1"]);
    assert_eq!(both.status, 2, "{both:?}");
    let says = format!("2 sessions in `{state}` have a call `call_1`: name one with --session\n  ");
    assert!(
        both.err.contains(&says) && both.err.contains(&first),
        "{both:?}"
    );
    let args = [
        "results",
        "get",
        "call_1",
        "--state",
        state,
        "--session",
        &first,
    ];
    assert_eq!(run_bytes(&args, b"").1, b"heard one\nmore");
    let part = get(&["call_1", "--session", &first, "--select", "lines(@)[1]"]);
    assert_eq!(part.out, "more");
    let missed = get(&["call_2", "--select", "none"]);
    assert_eq!(missed.status, 1);
    assert!(
        missed
            .err
            .starts_with("error[select.matched_nothing]: selector `none` matched nothing"),
        "{missed:?}"
    );
    let unknown = get(&["call_9"]);
    assert_eq!(unknown.status, 1);
    let says = format!(
        "error[result.unknown]: `{state}` has no result of call `call_9`\n`crossfeed results ls` lists what is there\n"
    );
    assert_eq!(unknown.err, says);

    let home = directory("results-saved");
    fs::create_dir_all(&home).unwrap();
    let path = home.join("a.txt");
    let path = path.to_str().unwrap();
    let save = |path: &str, more: &[&str]| {
        let args = ["results", "save", "call_2", path, "--state", state];
        run(&[&args, more].concat(), "")
    };
    let saved = save(path, &[]);
    assert_eq!((saved.status, saved.err.as_str()), (0, ""));
    let answer: Value = serde_json::from_str(&saved.out).unwrap();
    assert_eq!(
        (&answer["path"], &answer["bytes"]),
        (&json!(path), &json!(11))
    );
    let digest = "0f6827d18929c0fbb47a5482a988ff97970144c5cfac1ad8adabf61c5d035029";
    assert_eq!(answer["sha256"], digest);
    assert_eq!(fs::read_to_string(path).unwrap(), "heard three");
    fs::write(path, "mine").unwrap();
    let refused = save(path, &[]);
    assert_eq!(refused.status, 1);
    let says =
        format!("error[file.refused]: `{path}`: a file is there already\n`--force` replaces it\n");
    assert_eq!(refused.err, says);
    assert_eq!(fs::read_to_string(path).unwrap(), "mine");
    assert_eq!(save(path, &["--force"]).status, 0);
    assert_eq!(fs::read_to_string(path).unwrap(), "heard three");
    // A link is not followed, even where the file may be replaced.
    let link = home.join("link");
    symlink(path, &link).unwrap();
    let refused = save(link.to_str().unwrap(), &["--force"]);
    assert!(
        refused
            .err
            .contains("it is not a regular file: links are not followed"),
        "{refused:?}"
    );
    for (path, says) in [
        ("", "a value is required for '<PATH>'"),
        ("..", "is not a path of a file"),
        ("none/a", "cannot open the directory `none`"),
        ("a/", "is not a path of a file"),
        ("NUL", "a name in the path is a device of Windows"),
    ] {
        let args = ["results", "save", "call_2", path, "--state", state];
        check_usage(&args, "", says);
    }
    // The gateways go on, and nothing changed there.
    assert_eq!(listed(state).len(), 3);
    assert!(say(&mut other, &json!({"$tool": "call_1"})).contains("heard heard two"));
}

#[test]
fn a_directory_without_results_says_so() {
    let nowhere = directory("results-nowhere");
    let nowhere = nowhere.to_str().unwrap();
    for command in [&["ls"][..], &["get", "call_1"], &["save", "call_1", "a"]] {
        let args = [&["results"], command, &["--state", nowhere]].concat();
        let refused = run(&args, "");
        assert_eq!(refused.status, 1, "{refused:?}");
        assert!(
            refused.err.starts_with("error[store.unavailable]: `"),
            "{refused:?}"
        );
    }
    assert!(!std::path::Path::new(nowhere).exists());
}
