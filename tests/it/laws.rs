//! The laws as properties over generated data: what is recorded, what comes back, and what never may.

use crate::support::{
    WatchedStore, block_on, call, codes, on_stack, report, same_json, scope, session, within,
};
use crossfeed_core::{
    Engine, EngineOptions, InputSchema, RepairScope, ResolveError, SelectOptions, ToolResult,
};
use crossfeed_jmespath::{Arena, Budget, Expression, Limits, View, evaluate};
use crossfeed_json::Document;
use crossfeed_wire::{Scope, reference::is_sentinel};
use proptest::{prelude::*, sample::select, test_runner::Config};
use serde_json::{Map, Value, json};
use std::time::{Duration, Instant};

/// Few enough cases that the whole suite stays quick in debug builds.
fn cases(number: u32) -> Config {
    Config {
        failure_persistence: None,
        ..Config::with_cases(number)
    }
}

/// Keys as tools have them, those of the grammar and internal ones among them.
fn key() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-c]{1,2}",
        1 => select(vec![
            "_id", "_source", "_links", "_computed", "_meta", "$tool", "_tool", "$select", "_select", "$refs", "_refs",
            "$literal", "$default", "$artifact", "result", "content", "isError", "type", "text", "value", "", "a.b", "a/b", "~", "é\"",
        ])
        .prop_map(str::to_owned),
    ]
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3i64..20).prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1e6f64..1e6).prop_map(Value::from),
        "[a-z ]{0,6}".prop_map(Value::from),
        select(vec![
            "secret",
            "${x}",
            "1},\"admin\":true,\"x\":{\"a\":1",
            "{\"$tool\": \"secret\"}",
            "{\"_tool\":\"secret\",\"_select\":\"k\"}",
            "[1, 2]",
            "{\"a\": [1]}",
            "12",
            "true",
            "null",
            "\u{0}",
            "\u{2028}",
        ])
        .prop_map(Value::from),
    ]
}

/// Any data, also such that looks like references.
fn data() -> impl Strategy<Value = Value> {
    let looks_like = select(vec![
        json!({"$tool": "secret"}),
        json!({"_tool": "secret", "_select": "k"}),
        json!({"$refs": {"a": {"$tool": "secret"}}, "q": 1}),
        json!({"_refs": [{"to": "a", "tool": "secret"}]}),
        json!({"$literal": {"$tool": "secret"}}),
        json!({"$tool": 7}),
        json!({"$tool": "c", "_tool": "c"}),
        json!({"$artifact": "a", "$tool": "secret", "$default": 1}),
    ]);
    prop_oneof![4 => scalar(), 1 => looks_like].prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((key(), inner), 0..5)
                .prop_map(|members| Value::Object(members.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

/// Data in which nothing is a reference, nor malformed.
fn plain_data() -> impl Strategy<Value = Value> {
    data().prop_map(without_sentinels)
}

fn without_sentinels(value: Value) -> Value {
    match value {
        Value::String(text) if text.contains("tool") => Value::from("plain"),
        Value::Array(items) => items.into_iter().map(without_sentinels).collect(),
        Value::Object(members) => members
            .into_iter()
            .filter(|(key, _)| !is_sentinel(key))
            .map(|(key, value)| (key, without_sentinels(value)))
            .collect::<Map<_, _>>()
            .into(),
        other => other,
    }
}

async fn resolve(result: ToolResult, arguments: Value) -> Result<Value, ResolveError> {
    let session = session();
    session.record(&call("c"), result).await.unwrap();
    session
        .record(&call("secret"), ToolResult::json("\"s3cret\""))
        .await
        .unwrap();
    Ok(session.resolve(arguments, None).await?.arguments)
}

/// A wrapper that the recorder declares, so that no document is taken for an envelope.
fn json_of(value: &Value) -> ToolResult {
    ToolResult::json(value.to_string())
}

proptest! {
    #![proptest_config(cases(96))]

    /// Law 1: bytes come back unchanged, whatever was asked of them in between.
    #[test]
    fn recorded_bytes_are_never_altered(bytes in prop_oneof![
        prop::collection::vec(any::<u8>(), 0..60),
        data().prop_map(|value| value.to_string().into_bytes()),
        data().prop_map(|value| serde_json::to_vec_pretty(&value).unwrap()),
    ], selector in "[a-c.@*\\[\\]]{0,8}") {
        block_on(async {
            let session = session();
            let result = ToolResult::undeclared(bytes.clone());
            session.record(&call("c"), result).await.unwrap();
            let _ = session.resolve(json!({"x": {"$tool": "c"}}), None).await;
            let _ = session.select(&call("c"), &selector).await;
            let stored = session.get(&call("c")).await.unwrap();
            assert_eq!(stored.document().raw().as_ref(), bytes);
        });
    }

    /// Laws 1 and 2: what a reference brings in is the data, all of it, and none of it is read.
    #[test]
    fn data_passes_through_untouched(value in data(), beside in plain_data()) {
        block_on(async {
            let arguments = json!({
                "x": {"$tool": "c"}, "beside": beside, "$refs": {"y": {"$tool": "c"}, "z": {"_tool": "c"}}, "list": [[{"_tool": "c"}]]
            });
            let found = resolve(json_of(&value), arguments).await.unwrap();
            let expected = json!({"x": value, "beside": beside, "list": [[value]], "y": value, "z": value});
            assert_eq!(found.to_string(), expected.to_string());
        });
    }

    /// The same through a selector, and beside what a map writes next to it.
    #[test]
    fn selected_data_passes_through_untouched(value in data()) {
        block_on(async {
            let arguments = json!({
                "x": {"$tool": "c", "$select": "k[0]"}, "_refs": [{"to": "/own/y", "tool": "c", "select": "k[0]"}]
            });
            let found = resolve(json_of(&json!({"k": [value]})), arguments).await.unwrap();
            assert_eq!(found.to_string(), json!({"x": value, "own": {"y": value}}).to_string());
        });
    }

    /// A text stays one text.
    #[test]
    fn text_stays_one_string(text in any::<String>()) {
        block_on(async {
            let found = resolve(ToolResult::text(text.clone()), json!({"x": {"$tool": "c"}, "admin": false})).await.unwrap();
            assert_eq!(found, json!({"x": text, "admin": false}));
        });
    }

    /// A literal and a default pass through untouched as well.
    #[test]
    fn literals_and_defaults_pass_through_untouched(value in data()) {
        block_on(async {
            let arguments = json!({"l": {"$literal": value}, "d": {"$tool": "c", "$select": "nope", "$default": value}});
            match resolve(ToolResult::json("{}"), arguments).await {
                Ok(found) => assert_eq!(found.to_string(), json!({"l": value, "d": value}).to_string()),
                // Null is no default.
                Err(error) => assert!(value.is_null(), "{error}"),
            }
        });
    }

    /// Law 3: one failing reference among any others stops the call; all are reported, in order.
    #[test]
    fn every_failing_reference_stops_the_call(fails in prop::collection::vec(0usize..7, 1..12)) {
        block_on(async {
            let kinds = [
                (json!({"$tool": "c"}), ""),
                (json!({"$tool": "nope"}), "result.unknown"),
                (json!({"$tool": "c", "$select": "nope"}), "select.matched_nothing"),
                (json!({"$select": "x"}), "reference.malformed"),
                (json!("{\"$tool\": \"nope\"}"), "result.unknown"),
                (json!({"$artifact": "a", "$tool": "c"}), "artifact.unknown"),
                (json!({"$tool": "c", "$select": "a["}), "select.invalid"),
            ];
            let items: Vec<Value> = fails.iter().map(|kind| json!({"k": kinds[*kind].0})).collect();
            let expected: Vec<_> = fails
                .iter()
                .enumerate()
                .filter(|(_, kind)| **kind > 0)
                .map(|(at, kind)| (kinds[*kind].1, format!("/{at}/k")))
                .collect();
            match resolve(ToolResult::json("1"), json!(items)).await {
                Ok(found) => {
                    assert!(expected.is_empty());
                    assert_eq!(found, json!(vec![json!({"k": 1}); fails.len()]));
                }
                Err(error) => assert_eq!(codes(&error), expected),
            }
        });
    }

    /// Law 5: what comes back validates, and what the model wrote is as it was.
    #[test]
    fn what_comes_back_is_valid(value in data(), own in plain_data(), draft in 0usize..2, shape in 0usize..7) {
        let wanted = [
            json!({"type": "string"}), json!({"type": "integer"}), json!({"type": "array", "items": {"type": ["string", "number"]}}),
            json!({"type": "object"}), json!({"anyOf": [{"type": "boolean"}, {"type": "string", "maxLength": 2}]}), json!({"type": "number", "minimum": 0}),
            json!({}),
        ];
        let dialect = ["https://json-schema.org/draft/2020-12/schema", "http://json-schema.org/draft-07/schema#"];
        let schema = json!({"$schema": dialect[draft], "type": "object", "properties": {"x": wanted[shape], "own": wanted[shape]}});
        let judge = jsonschema::options().build(&schema).unwrap();
        let compiled = InputSchema::compile(schema).unwrap();
        block_on(async {
            let session = session();
            session.record(&call("c"), json_of(&value)).await.unwrap();
            let arguments = json!({"x": {"$tool": "c"}, "own": own});
            match session.resolve(arguments, Some(&compiled)).await {
                Ok(found) => {
                    assert!(judge.is_valid(&found.arguments), "{}", found.arguments);
                    assert_eq!(found.arguments["own"], own);
                    if found.repairs.is_empty() {
                        assert_eq!(found.arguments["x"], value);
                    }
                    for repair in &found.repairs {
                        assert!(repair.at.as_str().starts_with("/x"), "{repair:?}");
                        let before = value.pointer(&repair.at.as_str()[2..]).unwrap();
                        let after = found.arguments.pointer(repair.at.as_str()).unwrap();
                        match (before, after) {
                            (Value::String(before), after) => assert!(same_json(before, &after.to_string())),
                            (before, Value::String(after)) => assert!(same_json(&before.to_string(), after)),
                            other => panic!("{other:?}"),
                        }
                    }
                }
                Err(error) => {
                    assert!(!judge.is_valid(&json!({"x": value, "own": own})), "{error}");
                    assert!(codes(&error).iter().all(|(code, _)| *code == "arguments.invalid"));
                }
            }
        });
    }

    /// Law 11: the same input gives the same bytes, in values and in errors.
    #[test]
    fn the_same_input_gives_the_same_bytes(value in data(), selector in expression()) {
        let once = || block_on(async {
            let session = session();
            session.record(&call("c"), json_of(&value)).await.unwrap();
            let selected = match session.select(&call("c"), &selector).await {
                Ok(found) => format!("{} {:?}", String::from_utf8_lossy(&found.json), found.report),
                Err(failure) => serde_json::to_string(&failure.body()).unwrap(),
            };
            let shape = session.shape(&call("c")).await.unwrap();
            let arguments = json!([{"$tool": "c", "$select": selector}, {"$tool": "no"}]);
            let error = session.resolve(arguments, None).await.unwrap_err();
            format!("{selected} {shape} {} {error}", report(&error))
        });
        assert_eq!(once(), once());
    }

    /// Law 12: without references the arguments come back as they were. The store is asked only for ids that a text seems to name.
    #[test]
    fn off_means_off(arguments in plain_data()) {
        let (store, others) = (WatchedStore::in_memory(), WatchedStore::in_memory());
        let schema = InputSchema::compile(json!({"description": "anything"})).unwrap();
        block_on(async {
            for repairs in [RepairScope::References, RepairScope::Off, RepairScope::All] {
                let options = EngineOptions::default().with_repairs(repairs);
                for session in [store.session(options.clone()).with_exact_references(), others.session(options)] {
                    for schema in [None, Some(&schema)] {
                        let found = session.resolve(arguments.clone(), schema).await.unwrap();
                        assert_eq!(found.arguments.to_string(), arguments.to_string());
                        assert!(found.lineage.is_empty() && found.repairs.is_empty());
                    }
                }
            }
        });
        assert_eq!(store.asked(), 0);
    }

    /// Law 9: whatever is written, an answer comes.
    #[test]
    fn every_selector_is_answered(value in data(), selector in expression()) {
        on_stack(2048, move || block_on(async {
            let session = session();
            session.record(&call("c"), json_of(&value)).await.unwrap();
            let start = Instant::now();
            let _ = session.select(&call("c"), &selector).await;
            let _ = session.resolve(json!({"x": {"$tool": "c", "$select": selector}}), None).await;
            assert!(start.elapsed() < Duration::from_secs(10), "{selector}");
        }));
    }

    /// Law 8, for misses: every selector that an error offers matches.
    #[test]
    fn what_an_error_offers_matches(value in data(), path in prop::collection::vec("[a-c]{1,2}|_id|result|a\\[0\\]", 1..4)) {
        block_on(async {
            let session = session();
            session.record(&call("c"), json_of(&value)).await.unwrap();
            let Err(failure) = session.select(&call("c"), &path.join(".")).await else { return };
            let advice = failure.error.advice();
            for offered in advice.rsplit("try: ").next().unwrap().split(", ") {
                if offered != "no selector" && !offered.starts_with("to pass") {
                    assert!(session.select(&call("c"), offered).await.is_ok(), "{offered} of {advice}");
                }
            }
        });
    }
}

/// Token soup, and expressions that nearly or really parse.
fn expression() -> impl Strategy<Value = String> {
    let token = select(vec![
        "a",
        "b",
        "c",
        "_id",
        "result",
        "@",
        "*",
        ".",
        "[",
        "]",
        "[]",
        "[*]",
        "[0]",
        "[-1]",
        "[::2]",
        "[1::2147483647]",
        "[?",
        "(",
        ")",
        "{",
        "}",
        "{a: b}",
        "[a, b]",
        "|",
        "||",
        "&&",
        "!",
        "&",
        ",",
        ":",
        "==",
        "!=",
        "<",
        ">=",
        "`1`",
        "`[]`",
        "`{\"a\": 1}`",
        "'x'",
        "\"a\"",
        "\"a b\"",
        "1",
        "-7",
        " ",
        "~",
        "$",
        "=",
        "`x",
        "'",
        "\"",
        "\\",
        "\u{0}",
        "é",
        "to_string(@)",
        "length(",
        "sort_by(@, &a)",
        "keys(@)",
        "values(@)",
        "join(',', ",
        "map(&@, ",
        "merge(@, @)",
        "not_null(",
        "contains(@, ",
        "reverse(@)",
        "sum(@)",
        "max_by(@, &b)",
        "type(@)",
        "to_number(@)",
        "group",
        "eval(",
        "${",
        "constructor",
        "true",
        "null",
        "0.5",
        "active",
    ]);
    let soup = prop::collection::vec(token, 0..30).prop_map(|tokens| tokens.concat());
    let leaf = select(vec![
        "@", "a", "b", "a[0]", "`1`", "'x'", "a.b", "*", "[]", "[0]", "[::-1]",
    ])
    .prop_map(str::to_owned);
    let grammar = leaf.prop_recursive(5, 40, 3, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{a} | {b}")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("[{a}, {b}]")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{{k: {a}, l: {b}}}")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} == {b})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} || {b})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("[?{a} < {b}]")),
            inner.clone().prop_map(|a| format!("to_string({a})")),
            inner
                .clone()
                .prop_map(|a| format!("map(&{a}, to_array(@))")),
            inner.clone().prop_map(|a| format!("not_null({a}, @)")),
            inner.prop_map(|a| format!("values({a})")),
        ]
    });
    prop_oneof![1 => soup, 2 => grammar, 1 => any::<String>()]
}

/// Law 9: expressions that ask for far more than there is.
#[test]
fn blown_up_expressions_end_within_the_budget() {
    let doubling = |step: &str, last: &str| {
        let times = (990 - last.len()) / (step.len() + 1);
        [vec![step; times].join("|"), last.to_owned()].join("|")
    };
    let expressions = [
        doubling("[@,@]", "@"),
        doubling("[@,@]", "[]"),
        doubling("[@,@]", "to_string(@)"),
        doubling("[@,@]", "length(to_string(@))"),
        doubling("[@,@]", "@ == @"),
        doubling("[@,@]", "[@, @] == [@, @]"),
        doubling("[@,@]", "contains(@, [@])"),
        doubling("[@,@][]", "length(@)"),
        doubling("{a:@,b:@}", "@"),
        doubling("{a:@,b:@}", "@ == @"),
        doubling("{a:@,b:@}", "merge(@, @)"),
        doubling("join('', [to_string(@), to_string(@)])", "@"),
        doubling("join(to_string(@), ['x', to_string(@), to_string(@)])", "length(@)"),
        doubling("map(&[@,@], @)", "@"),
        doubling("[*][]", "@"),
        doubling("reverse(to_string(@))", "@"),
        doubling("[@,@]", "sort_by(@, &to_string(@))"),
        doubling("[@,@]", "max_by(@, &length(to_string(@)))"),
        "arr[1::2147483647]".to_owned(),
        "arr[::-2147483647]".to_owned(),
        "arr[2147483647:0:-2147483647]".to_owned(),
        format!("arr{}", "[*]".repeat(100)),
        format!("arr{}", "[]".repeat(200)),
        "arr[?contains(map(&to_string(@), $), '1')]".to_owned(),
        "[arr, arr, arr, arr][] | [?contains([`0`, `1`], @)] | [@, @, @] | [] | sort(@) | reverse(@) | map(&to_string(@), @) | join(',', @)".to_owned(),
        "arr[?length(to_string([@, @, @])) > `0`] | map(&[@, to_string(@)], @)".to_owned(),
    ];
    on_stack(2048, move || {
        let arr: Vec<usize> = (0..2_000).collect();
        let session = session();
        let result = json!({"arr": arr, "o": {"k": "v"}}).to_string();
        block_on(session.record(&call("c"), ToolResult::json(result))).unwrap();
        // Looks at all of it, and refuses nothing.
        let judge = InputSchema::compile(json!({"not": {"const": [0.125]}})).unwrap();
        for expression in expressions {
            assert!(expression.len() <= 1000);
            within(20, || {
                block_on(async {
                    if let Err(failure) = session.select(&call("c"), &expression).await {
                        let code = failure.error.code().as_str();
                        assert!(code.starts_with("select."), "{expression}: {code}");
                    }
                    let reference = json!({"$tool": "c", "$select": expression});
                    let bytes = reference.to_string();
                    let outcomes = [
                        session.resolve(reference, None).await.err(),
                        session.resolve_json(bytes.clone(), None).await.err(),
                        session.resolve_json(bytes, Some(&judge)).await.err(),
                    ];
                    for error in outcomes.into_iter().flatten() {
                        let code = codes(&error)[0].0;
                        assert!(code.starts_with("select.") || code == "limit.exceeded");
                    }
                });
            });
        }
    });
}

/// Law 9: the time of one call is bounded, however many costly selectors it holds.
#[test]
fn the_time_of_a_call_is_bounded() {
    let options = EngineOptions::default().with_resolve_time(Duration::from_millis(200));
    let session = Engine::in_memory(options).session(scope("s"));
    let arr: Vec<usize> = (0..3_000).collect();
    within(20, || {
        block_on(async {
            let result = json!({"arr": arr}).to_string();
            session
                .record(&call("c"), ToolResult::json(result))
                .await
                .unwrap();
            let costly: Vec<Value> = (0..2_000)
                .map(|n| json!({"$tool": "c", "$select": format!("arr[?@ > `{n}` && contains(to_string(@), '9') && !(@ == `3`)] | length(@)")}))
                .collect();
            let error = session.resolve(json!(costly), None).await.unwrap_err();
            let found = codes(&error);
            assert_eq!(found.last().unwrap().0, "limit.exceeded");
            assert!(
                found
                    .iter()
                    .all(|(code, _)| ["limit.exceeded", "select.too_costly"].contains(code))
            );
            // The message names the limit and not what was left of it.
            for failure in error.failures() {
                let line = failure.error.to_string();
                assert!(
                    line.contains("than 200 ms") || line.contains("than 1000 ms"),
                    "{line}"
                );
            }
        });
    });
}

/// Law 4: an id of another scope gives the very bytes of one that never was, at once with sessions of the same ids.
#[test]
fn scopes_do_not_reach_across() {
    let engine = Engine::in_memory(EngineOptions::default());
    let scopes = [
        ("t", "p", "s"),
        ("t", "p", "s2"),
        ("t", "p2", "s"),
        ("t2", "p", "s"),
        // What joined with a separator would be the same.
        ("t/p", "s", "s"),
        ("t", "p/s", "s"),
        ("t:p", "s", "x"),
    ];
    let sessions: Vec<_> = scopes
        .iter()
        .map(|(t, p, s)| engine.session(Scope::parse(t, p, s).unwrap()))
        .collect();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build();
    runtime.unwrap().block_on(async {
        let mut tasks = Vec::new();
        for (number, session) in sessions.iter().cloned().enumerate() {
            tasks.push(tokio::spawn(async move {
                for round in 0..50 {
                    let id = call(&format!("call_{round}"));
                    let result = ToolResult::json(format!("{{\"mine\": {number}}}"));
                    session.record(&id, result).await.unwrap();
                    let found = session
                        .resolve(
                            json!({"x": {"$tool": id.as_str(), "$select": "mine"}}),
                            None,
                        )
                        .await
                        .unwrap();
                    assert_eq!(found.arguments["x"], number);
                }
                let own = call(&format!("only_{number}"));
                session.record(&own, ToolResult::json("1")).await.unwrap();
            }));
        }
        for task in tasks {
            task.await.unwrap();
        }
        for (number, _) in sessions.iter().enumerate() {
            for (other, session) in sessions.iter().enumerate() {
                if number == other {
                    continue;
                }
                let foreign = json!({"x": {"$tool": format!("only_{number}"), "$select": "a"}});
                // Like it in all but the number.
                let never = json!({"x": {"$tool": "only_99", "$select": "a"}});
                let foreign = session.resolve(foreign, None).await.unwrap_err();
                let never = session.resolve(never, None).await.unwrap_err();
                let renamed = |text: String| text.replace("only_99", &format!("only_{number}"));
                assert_eq!(report(&foreign), renamed(report(&never)));
                assert_eq!(foreign.to_string(), renamed(never.to_string()));
                assert_eq!(format!("{foreign:?}"), renamed(format!("{never:?}")));
            }
        }
    });
}

/// Law 11: order and digits through selections, where bytes are written.
#[test]
fn order_and_digits_stay_through_selections() {
    let raw = r#"{"z": 1, "a": {"y": 12345678901234567890, "b": 1e400, "x": 1.10}, "m": [{"q": 0.1000, "p": -0}]}"#;
    block_on(async {
        let session = session();
        session
            .record(&call("c"), ToolResult::json(raw))
            .await
            .unwrap();
        for (select, expected) in [
            ("@", raw),
            ("a", r#"{"y": 12345678901234567890, "b": 1e400, "x": 1.10}"#),
            ("[a.y, a.b, a.x]", "[12345678901234567890,1e400,1.10]"),
            (
                "{one: a.x, two: m[0]}",
                r#"{"one":1.10,"two":{"q": 0.1000, "p": -0}}"#,
            ),
            ("a.*", "[12345678901234567890,1e400,1.10]"),
            ("keys(@)", r#"["z","a","m"]"#),
            (
                "merge(a, {b: z})",
                r#"{"y":12345678901234567890,"b":1,"x":1.10}"#,
            ),
            ("sort([a.y, a.x])", "[1.10,12345678901234567890]"),
            ("max([a.y, a.b])", "1e400"),
        ] {
            let found = session.select(&call("c"), select).await.unwrap();
            assert_eq!(String::from_utf8(found.json).unwrap(), expected, "{select}");
        }
        let found = session
            .resolve(json!({"$tool": "c", "$select": "m"}), None)
            .await
            .unwrap();
        assert_eq!(found.arguments.to_string(), r#"[{"q":0.1,"p":-0.0}]"#);
    });
}

/// The length is judged for whoever raises it, and steps do not depend on the machine.
#[test]
fn costs_are_counted_alike_every_time() {
    let count = |expression: &str| {
        let document = Document::new(format!("[{}]", vec!["1"; 500].join(",")));
        let root = document.root().unwrap();
        let expression = Expression::parse(expression).unwrap();
        (1..20_000u64).step_by(97).position(|steps| {
            let limits = Limits::default()
                .with_base_steps(steps)
                .with_steps_per_value(0);
            let arena = Arena::new();
            let budget = Budget::new(&limits, root.value_count());
            evaluate(&expression, &View::from(root), &arena, &budget).is_ok()
        })
    };
    for expression in ["[?@ > `0`]", "sort(@)", "[*].[@, @]", "[@, @] | [0] == [1]"] {
        let steps = count(expression);
        assert!(
            steps.is_some_and(|steps| steps > 0),
            "{expression}: {steps:?}"
        );
        assert_eq!(steps, count(expression));
    }
    let options = SelectOptions::default().with_max_chars(5);
    assert_eq!(options.max_chars, 5);
}
