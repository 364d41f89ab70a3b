//! What the model is shown, and artifacts: `crossfeed hints` and `crossfeed artifact`.

use super::{check, check_usage, file, run};
use serde_json::{Value, json};
use std::{fs, path::Path};

const ITEMS: &str = r#"{"total": 2, "items": [{"title": "A b", "url": "https://a.example", "n": 1.50}, {"title": "C", "url": "https://c.example", "n": 2}]}"#;

/// What `hints` prints, read.
fn hints(args: &[&str], stdin: &str) -> Value {
    let args: Vec<&str> = ["hints"].iter().chain(args).copied().collect();
    let shown = run(&args, stdin);
    assert_eq!((shown.status, shown.err.as_str()), (0, ""), "{args:?}");
    assert_eq!(shown.out.lines().count(), 1, "{}", shown.out);
    serde_json::from_str(&shown.out).unwrap()
}

#[test]
fn hints_show_the_result_and_what_works_on_it() {
    check(
        &["hints", "--call-id", "c7"],
        r#"{"a": 1.50, "_id": 7, "_toolCallId": "old"}"#,
        0,
        "{\"a\":1.50,\"_id\":7,\"_toolCallId\":\"c7\",\"_structureHints\":{\"terminalPaths\":[\"_id[number]\",\"a[number]\"],\"ambiguousFields\":{}}}\n",
        "",
    );
    let shown = hints(&[], ITEMS);
    assert_eq!(shown["total"], 2);
    assert_eq!(shown["_toolCallId"], "call_1");
    let selectors = shown["_structureHints"]["exampleSelectors"]
        .as_array()
        .unwrap();
    assert!(selectors.contains(&json!("items[0]")));
    assert!(selectors.contains(&json!("items[?title=='A b'] | [0]")));
}

#[test]
fn what_is_no_object_is_put_into_one() {
    assert_eq!(hints(&[], "[1,2]")["value"], json!([1, 2]));
    assert_eq!(hints(&[], "null")["value"], Value::Null);
    assert_eq!(hints(&[], "\"hi\"")["text"], "hi");
    assert_eq!(hints(&[], "no json")["text"], "no json");
    assert_eq!(hints(&["--kind", "text"], "7")["text"], "7");
    let bytes = hints(&["--kind", "bytes"], "abc");
    assert_eq!(
        (&bytes["bytes"], &bytes["mimeType"]),
        (&json!(3), &json!("application/octet-stream"))
    );
}

#[test]
fn results_of_mcp_keep_their_parts() {
    let shown = hints(
        &[],
        r#"{"content": [{"type": "text", "text": "hello"}, {"type": "image", "data": "aGVsbG8=", "mimeType": "image/png"}]}"#,
    );
    let parts = shown["content"].as_array().unwrap();
    let ours: Value = serde_json::from_str(parts[0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(ours["_toolCallId"], "call_1");
    assert_eq!(parts[1], json!({"type": "text", "text": "hello"}));
    let described = parts[2]["text"].as_str().unwrap();
    assert!(
        described.contains("image/png") && !described.contains("aGVsbG8="),
        "{described}"
    );
}

#[test]
fn full_hints_have_every_list() {
    let shown = hints(&["--full"], ITEMS);
    let keys: Vec<_> = shown["_structureHints"]
        .as_object()
        .unwrap()
        .keys()
        .collect();
    let expected = [
        "terminalPaths",
        "arrayPaths",
        "objectPaths",
        "commonFields",
        "exampleSelectors",
        "deepStructureExamples",
        "ambiguousFields",
        "recommendedBaseSelectors",
        "maxDepthFound",
        "totalPathsFound",
    ];
    assert_eq!(keys, expected);
    // Also of a result that is too large to be shown whole.
    let large =
        json!({"items": vec![json!({"title": "some title", "url": "https://a.example"}); 1000]});
    let shown = hints(&["--full"], &large.to_string());
    assert!(shown["preview"].is_string() && shown.get("items").is_none());
    assert_eq!(
        shown["_structureHints"]["arrayPaths"],
        json!(["items[array-1000-items]"])
    );
    assert_eq!(shown["_structureHints"]["totalPathsFound"], 4);
}

#[test]
fn a_budget_cuts_and_says_so() {
    let large = json!({"items": vec!["some words"; 3000], "total": 3000}).to_string();
    let shown = hints(&["--budget", "200"], &large);
    assert!(shown.to_string().chars().count().div_ceil(4) <= 200);
    let keys: Vec<_> = shown.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["preview", "_toolCallId", "_structureHints"]);
    let lines: Vec<_> = shown["preview"].as_str().unwrap().lines().collect();
    let begin = format!(
        "[crossfeed preview of call_1: cut, not the data; {} bytes, ",
        large.len()
    );
    assert!(lines[0].starts_with(&begin), "{}", lines[0]);
    let items = lines[1].strip_prefix(r#"{"items":["#).unwrap();
    let (items, total) = items.split_once(",… ").unwrap();
    let hidden = 3000 - items.split(',').count();
    assert_eq!(total, format!("{hidden} more items],\"total\":3000}}"));
    assert_eq!(lines[2..], ["[end of crossfeed preview of call_1]"]);
    let refused = run(&["--json", "hints", "--budget", "1"], &large);
    assert_eq!(refused.status, 1);
    let report: Value = serde_json::from_str(&refused.out).unwrap();
    assert_eq!(report["error"]["code"], "limit.exceeded");
    assert!(
        report["error"]["advice"]
            .as_str()
            .unwrap()
            .starts_with("try: a budget of at least ")
    );
    assert_eq!(run(&["hints", "--budget", "0"], "1").status, 1);
}

#[test]
fn selectors_for_a_parameter_validate() {
    let schema = file(
        "fetch.schema.json",
        r##"{"type": "object", "properties": {"url": {"$ref": "#/$defs/address"}, "counts": {"type": "array", "items": {"type": "integer"}}}, "$defs": {"address": {"type": "string", "pattern": "^https://"}}}"##,
    );
    for place in ["#/properties/url", "#/url"] {
        let shown = hints(&["--for", &format!("{schema}{place}")], ITEMS);
        assert_eq!(
            shown["_structureHints"]["fittingSelectors"],
            json!(["items[0].url"]),
            "{place}"
        );
    }
    let shown = hints(
        &["--for", &format!("{schema}#/counts")],
        r#"{"a": {"counts": [1, 2]}, "b": ["x"]}"#,
    );
    assert_eq!(
        shown["_structureHints"]["fittingSelectors"],
        json!(["a.counts"])
    );
    let shown = hints(&["--for", &format!("{schema}#/counts")], r#"["x"]"#);
    assert_eq!(shown["_structureHints"]["fittingSelectors"], json!([]));
    let refused = run(&["hints", "--for", &format!("{schema}#/urll")], ITEMS);
    assert_eq!(refused.status, 1);
    assert!(
        refused.err.starts_with(
            "error[schema.invalid]: `/urll` leads to no schema and names no parameter\n"
        ),
        "{}",
        refused.err
    );
    assert!(refused.err.ends_with("try: /url\n"), "{}", refused.err);
    check_usage(
        &["hints", "--for", &format!("{schema}#url")],
        ITEMS,
        "is not a JSON Pointer",
    );
    check_usage(&["hints", "--for", "no-such-file"], ITEMS, "cannot read");
}

#[test]
fn tokens_are_counted_as_asked() {
    let shown = run(&["hints", "--tokens", "o200k", "--budget", "100"], ITEMS);
    if cfg!(feature = "o200k") {
        assert_eq!(shown.status, 0);
    } else {
        assert_eq!(shown.status, 2);
        assert!(shown.err.contains("--features o200k"), "{}", shown.err);
    }
}

/// A directory of a test's own that is not there yet.
fn directory(name: &str) -> String {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&path);
    path.to_str().unwrap().to_owned()
}

fn create<'a>(store: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let args = [
        "artifact",
        "create",
        "--store",
        store,
        "--artifact-id",
        "best",
        "--call-id",
        "call_1",
    ];
    args.iter().chain(more).copied().collect()
}

#[test]
fn artifacts_outlive_the_process() {
    let store = directory("outlive");
    let line = "{\"artifact_id\":\"best\",\"call_id\":\"call_1\",\"bytes\":55,\"retrieval_blocked\":false,\"summary\":{\"title\":\"A b\",\"n\":1.50}}\n";
    let args = create(
        &store,
        &[
            "--base",
            "items[0]",
            "--detail",
            "title=title",
            "--detail",
            "n=n",
        ],
    );
    check(&args, ITEMS, 0, line, "");
    // The same again changes nothing.
    check(&args, ITEMS, 0, line, "");
    check(&["artifact", "list", "--store", &store], "", 0, line, "");
    check(
        &["artifact", "list", "--store", &store, "--session", "other"],
        "",
        0,
        "",
        "",
    );
    let data = "{\"title\": \"A b\", \"url\": \"https://a.example\", \"n\": 1.50}\n";
    let get = [
        "artifact",
        "get",
        "best",
        "--call-id",
        "call_1",
        "--store",
        &store,
    ];
    check(&get, "", 0, data, "");
    let part = [&get[..], &["--select", "url"]].concat();
    check(&part, "", 0, "\"https://a.example\"\n", "");
    let none = file("none.jsonl", "");
    let reference = r#"{"page": {"$artifact": "best", "$tool": "call_1", "$select": "url"}}"#;
    check(
        &["resolve", reference, "--results", &none, "--store", &store],
        "",
        0,
        "{\"page\":\"https://a.example\"}\n",
        "",
    );
}

#[test]
fn artifacts_are_never_overwritten() {
    let store = directory("overwritten");
    assert_eq!(
        run(&create(&store, &["--base", "items[0]"]), ITEMS).status,
        0
    );
    let refused = run(&create(&store, &["--base", "items[1]"]), ITEMS);
    assert_eq!(refused.status, 1);
    assert!(
        refused.err.starts_with("error[record.duplicate]: "),
        "{}",
        refused.err
    );
}

#[test]
fn a_component_says_what_is_kept() {
    let store = directory("component");
    let component = file(
        "card.schema.json",
        r#"{"type": "object", "properties": {"title": {"type": "string", "inPreview": true}, "link": {"type": "string"}}, "required": ["title", "link"]}"#,
    );
    let args = create(
        &store,
        &[
            "--base",
            "items[1]",
            "--detail",
            "link=url",
            "--component",
            &component,
        ],
    );
    let made = run(&args, ITEMS);
    assert_eq!(made.status, 0, "{}", made.err);
    let made: Value = serde_json::from_str(&made.out).unwrap();
    assert_eq!(made["summary"], json!({"title": "C"}));
    let got = run(
        &[
            "artifact",
            "get",
            "best",
            "--call-id",
            "call_1",
            "--store",
            &store,
        ],
        "",
    );
    assert_eq!(
        got.out,
        "{\"title\":\"C\",\"link\":\"https://c.example\"}\n"
    );
    let other = directory("component-misfit");
    let args = create(&other, &["--base", "items[1]", "--component", &component]);
    let refused = run(&args, ITEMS);
    assert_eq!(refused.status, 1);
    assert!(
        refused.err.starts_with("error[arguments.invalid]: "),
        "{}",
        refused.err
    );
}

#[test]
fn what_is_too_large_is_refused_with_its_outline() {
    let store = directory("oversized");
    let large = json!({"rows": vec!["some words to read"; 20_000], "total": 20_000});
    let made = run(&create(&store, &[]), &large.to_string());
    assert_eq!(made.status, 0, "{}", made.err);
    assert!(
        made.out.contains("\"retrieval_blocked\":true"),
        "{}",
        made.out
    );
    let get = [
        "artifact",
        "get",
        "best",
        "--call-id",
        "call_1",
        "--store",
        &store,
    ];
    let refused = run(&get, "");
    assert_eq!((refused.status, refused.out.as_str()), (1, ""));
    for said in [
        "error[artifact.blocked]: ",
        "60000",
        "Object with 2 keys: rows, total",
        "try: rows[0]",
    ] {
        assert!(refused.err.contains(said), "{said}: {}", refused.err);
    }
    let part = [&get[..], &["--select", "rows[0]"]].concat();
    check(&part, "", 0, "\"some words to read\"\n", "");
}

#[test]
fn a_store_that_cannot_answer_says_why() {
    let store = directory("damaged");
    assert_eq!(
        run(&create(&store, &["--base", "items[0]"]), ITEMS).status,
        0
    );
    for entry in fs::read_dir(&store).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            fs::write(path, "no database, far from it: ".repeat(400)).unwrap();
        }
    }
    let refused = run(&["--json", "artifact", "list", "--store", &store], "");
    assert_eq!(refused.status, 1, "{}", refused.err);
    let report: Value = serde_json::from_str(&refused.out).unwrap();
    assert_eq!(report["error"]["code"], "store.unavailable");
    assert!(report["error"]["advice"].is_string());
    let taken = file("a-file", "");
    let refused = run(&["artifact", "list", "--store", &taken], "");
    assert_eq!(refused.status, 1);
    assert!(
        refused.err.starts_with("error[store.unavailable]: "),
        "{}",
        refused.err
    );
}

#[test]
fn an_unknown_artifact_says_which_there_are() {
    let store = directory("unknown");
    assert_eq!(
        run(&create(&store, &["--base", "items[0]"]), ITEMS).status,
        0
    );
    let refused = run(
        &[
            "artifact",
            "get",
            "bst",
            "--call-id",
            "call_1",
            "--store",
            &store,
        ],
        "",
    );
    assert_eq!(refused.status, 1);
    assert!(
        refused.err.starts_with("error[artifact.unknown]: "),
        "{}",
        refused.err
    );
    assert!(
        refused.err.contains("`best`") || refused.err.contains("best"),
        "{}",
        refused.err
    );
    check_usage(
        &[
            "artifact",
            "create",
            "--store",
            &store,
            "--artifact-id",
            "a",
            "--call-id",
            "c",
            "--detail",
            "x",
        ],
        ITEMS,
        "write a name and a selector",
    );
}

#[test]
fn hints_stand_beside_whatever_is_shown_whole() {
    // Just small enough to be shown whole: the hints have room of their own.
    let items: Vec<Value> = (0..181)
        .map(|n| json!({"id": n, "name": format!("name number {n}"), "u": "x"}))
        .collect();
    let shown = hints(&[], &Value::from(items).to_string());
    assert_eq!(shown["value"].as_array().map(Vec::len), Some(181));
    assert_eq!(
        shown["_structureHints"]["arrayPaths"][0],
        "@[array-181-items]"
    );
    assert!(shown.get("preview").is_none());
}

#[test]
fn tokens_are_explained() {
    let shown = run(&["hints", "--explain"], "[1]");
    assert_eq!(shown.status, 0);
    let tokens = shown.out.trim_end().chars().count().div_ceil(4);
    assert_eq!(shown.err, format!("tokens: {tokens} shown, 1 as it came\n"));
}

#[test]
fn a_result_is_brought_into_the_context_if_it_fits() {
    check(&["retrieve"], "{\"a\": 1.50}", 0, "{\"a\": 1.50}\n", "");
    check(
        &["retrieve", "--select", "items[0].url"],
        ITEMS,
        0,
        "\"https://a.example\"\n",
        "",
    );
    let refused = run(&["--json", "retrieve", "--window", "100"], ITEMS);
    assert_eq!(refused.status, 1);
    let report: Value = serde_json::from_str(&refused.out).unwrap();
    assert_eq!(report["error"]["code"], "limit.exceeded");
    let message = report["error"]["message"].as_str().unwrap();
    for said in ["at most 30", "Object with 2 keys: total, items"] {
        assert!(message.contains(said), "{said}: {message}");
    }
    let part = ["retrieve", "--window", "100", "--select", "items[1].title"];
    check(&part, ITEMS, 0, "\"C\"\n", "");
    assert_eq!(run(&["retrieve", "--select", "nothing"], ITEMS).status, 1);
}

#[test]
fn one_input_is_standard_input() {
    let says = "only one input may be standard input";
    check_usage(&["hints", "-", "--for", "-"], ITEMS, says);
    let store = directory("stdin");
    let args = create(&store, &["-", "--component", "-"]);
    check_usage(&args, ITEMS, says);
}

#[test]
fn a_store_that_is_not_there_is_not_made_by_reading() {
    let store = directory("not-there");
    let none = file("no-results.jsonl", "");
    let get = ["artifact", "get", "a", "--call-id", "c", "--store", &store];
    for args in [
        &["artifact", "list", "--store", &store][..],
        &get,
        &["resolve", "{}", "--results", &none, "--store", &store],
    ] {
        let refused = run(args, "");
        assert_eq!((refused.status, refused.out.as_str()), (1, ""), "{args:?}");
        let code = "error[store.unavailable]: ";
        assert!(refused.err.starts_with(code), "{}", refused.err);
        assert!(!Path::new(&store).exists(), "{args:?}");
    }
}

#[test]
fn what_is_the_matter_with_an_artifact_is_said() {
    let store = directory("altered");
    let large = json!({"rows": vec!["some words to read"; 20_000]}).to_string();
    assert_eq!(run(&create(&store, &[]), &large).status, 0);
    let folder = Path::new(&store).join("data");
    for entry in fs::read_dir(folder).unwrap() {
        fs::write(entry.unwrap().path(), "something else").unwrap();
    }
    let args = ["artifact", "get", "best", "--call-id", "call_1"];
    let args = [&args[..], &["--store", &store, "--select", "rows[0]"]].concat();
    let refused = run(&args, "");
    assert_eq!(refused.status, 1);
    assert!(
        refused.err.starts_with("error[store.unavailable]: ") && refused.err.contains("damaged"),
        "{}",
        refused.err
    );
}

#[test]
fn a_detail_is_given_once_and_an_emptied_list_is_noticed() {
    let store = directory("noticed");
    let twice = create(&store, &["--detail", "t=title", "--detail", "t=url"]);
    check_usage(&twice, ITEMS, "the detail `t` is given twice");
    let made = run(&create(&store, &["--base", "items[?n > `9`].title"]), ITEMS);
    assert_eq!(made.status, 0);
    assert!(made.err.starts_with("notice: "), "{}", made.err);
}
