//! Texts and objects that are all beginnings of references: looking for what is meant stays bounded.

use crate::support::{WatchedStore, block_on, call, report, within};
use crossfeed_core::{EngineOptions, Session, ToolResult};
use serde_json::{Map, Value, json};
use std::sync::Arc;

const MEGABYTE: usize = 1 << 20;

/// How many results the session holds.
const RESULTS: usize = 40;

/// The most that a store may be asked for one call's arguments, however many ids they seem to name: 64 ids that are looked for, what
/// the session lists, and each result that is referred to, once whether it is there and once for its value.
const MAX_ASKED: usize = 64 + 1 + 2 * RESULTS;

/// The most failures of one call.
const MAX_FAILURES: usize = 10_000;

/// The most bytes of a failure without advice, and of one with it.
const MAX_SAID: [usize; 2] = [700, 4_000];

/// How many failures come with advice.
const WITH_ADVICE: usize = 100;

/// A session with results of calls `call_1` to `call_40`.
fn watched() -> (Arc<WatchedStore>, Session) {
    let store = WatchedStore::in_memory();
    let session = store.session(EngineOptions::default());
    block_on(async {
        for number in 1..=RESULTS {
            let result = ToolResult::json(r#"{"a": "b", "items": [{"a": 1}]}"#);
            session
                .record(&call(&format!("call_{number}")), result)
                .await
                .unwrap();
        }
    });
    (store, session)
}

/// Resolves, with an outcome and errors of bounded size, the same each time; how often the store was asked.
fn asked(name: &str, arguments: Value) -> usize {
    let (count, said) = resolved(name, arguments.clone());
    if arguments.to_string().len() < 8_192 {
        let again = resolved(name, arguments);
        assert!(again == (count, said), "{name}: not the same twice");
    }
    count
}

/// How often the store was asked, and what came of it.
fn resolved(name: &str, arguments: Value) -> (usize, String) {
    let (store, session) = watched();
    let length = arguments.to_string().len();
    let before = store.asked();
    let said = match within(30, || block_on(session.resolve(arguments, None))) {
        Ok(resolved) => {
            let written = resolved.arguments.to_string();
            // The longest value of the results, for the shortest name of one, `{a}`.
            assert!(
                written.len() <= length * 16,
                "{name}: {} bytes",
                written.len()
            );
            written
        }
        Err(error) => {
            let failures = error.failures().len();
            assert!((1..=MAX_FAILURES).contains(&failures), "{name}: {failures}");
            for failure in error.failures() {
                let code = failure.error.code();
                let is_of_a_model = ["reference.", "select.", "result.", "limit."]
                    .iter()
                    .any(|kind| code.as_str().starts_with(kind));
                assert!(is_of_a_model, "{name}: {}", code.as_str());
            }
            let said = report(&error);
            let most = failures.min(WITH_ADVICE) * MAX_SAID[1] + failures * MAX_SAID[0];
            assert!(
                said.len() <= most,
                "{name}: {} bytes of {failures} failures",
                said.len()
            );
            let text = error.to_string().len();
            assert!(
                text <= 20 * MAX_SAID[1] + failures * MAX_SAID[0],
                "{name}: {text}"
            );
            said
        }
    };
    (store.asked() - before, said)
}

#[test]
fn a_megabyte_of_beginnings_is_read_soon() {
    let units = [
        "}}",
        "${",
        "<<",
        "[[",
        "`",
        "\\",
        "\"",
        "'",
        "(",
        "%",
        "@",
        ".",
        "call_",
        "call_1",
        "call_1.",
        "call_1[",
        "call_1.items[0]",
        "call_1.items[?",
        "{{call_1.",
        "$call_1.a",
        "[[call_1.",
        "{\"$tool\":",
        "{'$tool': '",
        "{\"$tool\": \"call_1\", ",
        "\"{\\\"$tool\\\": ",
        "```json\n{",
        "```\n",
        "{{call_1.a | ",
        "call_1.a && ",
        "{{call_1.a}",
        "{ { ",
        "{\"a\": {",
        "[",
    ];
    for unit in units {
        check(unit, 4_096);
        check(unit, MEGABYTE / 4);
    }
    for unit in ["{", "}", "{{", "{{call_1", "$", "<"] {
        check(unit, MEGABYTE);
    }
}

/// A text of this length that is only this.
fn check(unit: &str, length: usize) {
    let text = unit.repeat(length / unit.len());
    let count = asked(unit, json!({"x": text}));
    assert!(count <= MAX_ASKED, "{unit}: {count}");
}

#[test]
fn a_megabyte_of_whole_templates_is_refused_or_resolved_soon() {
    for unit in [
        "{{call_1.a}}",
        "${call_2.items[0].a} ",
        "call_3.a ",
        "{{call_4.a",
        "{{call_5}}",
        "{{no.a}} ",
    ] {
        check(unit, MEGABYTE);
    }
}

#[test]
fn many_ids_are_asked_for_at_once_and_few_one_by_one() {
    for template in ["{{ID.a}} ", "ID.a ", "$ID.a ", "<ID.a>"] {
        let ids = (0..50_000).map(|number| template.replace("ID", &format!("call_{number}x")));
        let count = asked(template, json!({"x": ids.collect::<String>()}));
        assert!(count <= MAX_ASKED, "{template}: {count}");
        let ids = (0..20_000)
            .map(|number| Value::from(template.trim().replace("ID", &format!("id{number}"))));
        let count = asked(template, json!({"x": ids.collect::<Vec<_>>()}));
        assert!(count <= MAX_ASKED, "{template}: {count}");
    }
}

#[test]
fn texts_that_name_no_call_ask_for_nothing() {
    for text in [
        "plain words",
        "a.b.c",
        "See https://a.example/b.",
        "x = y[0]",
        "{}",
        "",
        "{ a }",
        "5 < 6 > 4",
        "2026-04-12T08:30:00Z",
        "https://www.example.com/articles/2003/3f2a9b1c?page=2#top",
        "ada.lovelace@mail2.example.com",
        "1.24.0-beta.2",
        "550e8400-e29b-41d4-a716-446655440000",
        "192.168.0.1:8080",
        "a well-known place, 3.5 km away",
    ] {
        assert_eq!(asked(text, json!({"x": text, "y": [text]})), 0, "{text}");
        let record = json!({"id": 7, "title": text, "published": text, "author": {"name": text, "email": text}});
        assert_eq!(asked(text, record), 0, "{text}");
    }
}

#[test]
fn objects_with_many_keys_near_those_of_the_grammar_are_judged_soon() {
    let keys = ["$path", "$query", "path", "select", "$selct", "tool", "x"];
    let many = |first: &str| {
        let mut members = Map::from_iter([(first.to_owned(), Value::from("call_1"))]);
        members.extend(
            (0..50_000)
                .map(|number| (format!("{}{number}", keys[number % keys.len()]), json!("a"))),
        );
        json!({"x": members})
    };
    for first in ["$tool", "_tool", "tool", "$call", "$ref", "x"] {
        asked(first, many(first));
    }
    let near = |number: usize| json!({"tool": format!("call_{number}"), "select": "a"});
    let list: Vec<Value> = (0..20_000).map(near).collect();
    let count = asked("a list of near references", json!({"x": list}));
    assert!(count <= MAX_ASKED, "{count}");
    let nested = (0..120).fold(
        json!("call_1.a"),
        |inner, _| json!({"tool": inner, "select": "a"}),
    );
    asked("nested", json!({"x": nested}));
}

#[test]
fn templates_with_many_places_are_bounded() {
    let with: Map<_, _> = (0..20_000)
        .map(|number| {
            (
                format!("a{number}"),
                json!({"$tool": "call_1", "$select": "a"}),
            )
        })
        .collect();
    let text: String = with.keys().map(|name| format!("{{{name}}}")).collect();
    asked(
        "many names",
        json!({"x": {"$template": text, "$with": with}}),
    );
    let one = json!({"a": {"$tool": "call_1"}});
    for unit in ["{a}", "{{", "}}", "{", "}", "{b}", "{a", "{{a}}"] {
        asked(
            unit,
            json!({"x": {"$template": unit.repeat(MEGABYTE / unit.len()), "$with": one.clone()}}),
        );
    }
}
