//! What a hostile model, tool or backend would try: each must end in an answer or a typed error, soon, and harm nothing.

use crate::support::{
    WatchedStore, artifact, block_on, call, codes, on_stack, report, scope, session, within,
};
use crossfeed_core::{
    Engine, EngineOptions, Error, InputSchema, LookupError, ResolveError, SelectOptions, Session,
    ToolResult,
};
use crossfeed_json::Document;
use crossfeed_store::{
    ManualClock, MemoryLimits, MemoryStore, Recorded, ResultStore, StoreError, StoredArtifact,
};
use crossfeed_wire::{ErrorCode, Fault, Scope};
use serde_json::{Map, Value, json};
use std::{
    future::Future,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};
use tokio::sync::Semaphore;

async fn recorded(result: ToolResult) -> Session {
    let session = session();
    session.record(&call("c"), result).await.unwrap();
    session
}

/// Resolves and gives the codes of what is wrong; none where it resolves.
async fn wrong(session: &Session, arguments: Value) -> Vec<(&'static str, String)> {
    match session.resolve(arguments, None).await {
        Ok(_) => Vec::new(),
        Err(error) => codes(&error),
    }
}

fn nested(depth: usize, wrap: impl Fn(Value) -> Value) -> Value {
    (0..depth).fold(Value::Null, |inner, _| wrap(inner))
}

fn in_list(inner: Value) -> Value {
    Value::Array(vec![inner])
}

fn under(key: &str) -> impl Fn(Value) -> Value {
    move |inner| Value::Object(Map::from_iter([(key.to_owned(), inner)]))
}

/// Lets go of a value of any depth.
fn dismantle(value: Value) {
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        match value {
            Value::Array(items) => open.extend(items),
            Value::Object(members) => open.extend(members.into_iter().map(|(_, value)| value)),
            _ => {}
        }
    }
}

#[test]
fn malformed_references_of_every_shape_stop_the_call() {
    let odd = [
        json!(null),
        json!(true),
        json!(0),
        json!(1.5),
        json!(""),
        json!([]),
        json!(["c"]),
        json!({}),
        json!({"$tool": "c"}),
        json!("\u{0}"),
        json!("x".repeat(257)),
    ];
    block_on(async {
        let session = recorded(ToolResult::json("1")).await;
        for key in [
            "$tool",
            "_tool",
            "$artifact",
            "_artifact",
            "$select",
            "_select",
        ] {
            for value in &odd {
                let mut reference = json!({"$tool": "c", "$select": "@"});
                if key.starts_with('_') {
                    reference = json!({"_tool": "c", "_select": "@"});
                }
                reference[key] = value.clone();
                let arguments = json!({"x": reference});
                let found = session.resolve(arguments.clone(), None).await;
                match found {
                    // Null is absent; every string may be a selector.
                    Ok(found) => {
                        assert!(
                            value.is_null() && !key.ends_with("tool"),
                            "{arguments}: {}",
                            found.arguments
                        );
                    }
                    Err(error) => {
                        let found = codes(&error);
                        assert_eq!(found.len(), 1, "{arguments}");
                        assert_eq!(found[0].1, "/x", "{arguments}");
                        let fits = match found[0].0 {
                            "reference.malformed" => true,
                            "artifact.unknown" => key.ends_with("artifact"),
                            code => {
                                code.starts_with("select.")
                                    && key.ends_with("select")
                                    && value.is_string()
                            }
                        };
                        assert!(fits, "{arguments}: {error}");
                    }
                }
            }
        }
    });
}

#[test]
fn gone_results_say_how_they_went_and_nothing_of_others() {
    block_on(async {
        let clock = Arc::new(ManualClock::new());
        let limits = MemoryLimits::default()
            .with_session_results(2)
            .with_time_to_live(Duration::from_secs(10));
        let store = Arc::new(MemoryStore::with_clock(limits, clock.clone()));
        let engine = Engine::new(EngineOptions::default(), store as Arc<dyn ResultStore>);
        let mine = engine.session(scope("mine"));
        let result = |text: &str| {
            ToolResult::json(text.to_owned())
                .with_tool("search")
                .with_repeatable(true)
                .with_arguments(r#"{"q": "x"}"#)
        };
        for id in ["a", "b", "d"] {
            mine.record(&call(id), result("1")).await.unwrap();
        }
        mine.record(&call("f"), result("\"boom\"").failed())
            .await
            .unwrap();
        let arguments = json!([{"$tool": "a"}, {"$tool": "b"}, {"$tool": "f"}, {"$tool": "nope"}, {"$tool": "d"}]);
        let error = mine.resolve(arguments.clone(), None).await.unwrap_err();
        let found: Vec<_> = codes(&error).into_iter().map(|(code, _)| code).collect();
        assert_eq!(
            found,
            [
                "result.evicted",
                "result.evicted",
                "result.failed",
                "result.unknown"
            ]
        );
        assert!(
            error
                .to_string()
                .contains("call `search` again with {\"q\": \"x\"}"),
            "{error}"
        );
        clock.advance(Duration::from_secs(11));
        assert_eq!(
            wrong(&mine, json!({"$tool": "d"})).await[0].0,
            "result.expired"
        );
        // Another session, project and tenant learn nothing, whatever became of the ids here.
        for other in [
            scope("other"),
            Scope::parse("tenant", "other", "mine").unwrap(),
            Scope::parse("other", "project", "mine").unwrap(),
        ] {
            let other = engine.session(other);
            for id in ["a", "d", "f"] {
                let foreign = other
                    .resolve(json!({"x": {"$tool": id}}), None)
                    .await
                    .unwrap_err();
                let never = other
                    .resolve(json!({"x": {"$tool": "z"}}), None)
                    .await
                    .unwrap_err();
                let renamed = report(&never).replace('z', id);
                assert_eq!(report(&foreign), renamed);
            }
        }
    });
}

#[test]
fn deep_arguments_are_refused_without_recursion() {
    on_stack(1024, || {
        block_on(async {
            let session = recorded(ToolResult::json("1")).await;
            let deep: [fn() -> Value; 11] = [
                || nested(100_000, in_list),
                || nested(100_000, under("a")),
                || nested(100_000, under("_id")),
                || nested(100_000, under("$tool")),
                || nested(100_000, under("$literal")),
                || nested(100_000, under("$refs")),
                || under("$literal")(nested(100_000, in_list)),
                || {
                    let mut deep = json!({"$tool": "c", "$select": "x"});
                    deep["$default"] = nested(100_000, in_list);
                    deep
                },
                || {
                    let mut ignored = json!({"$tool": "c"});
                    ignored["note"] = nested(100_000, in_list);
                    ignored
                },
                || {
                    let mut entry = json!({"q": 1, "$refs": {"a": {"$tool": "c"}}});
                    entry["$refs"]["a"]["note"] = nested(100_000, in_list);
                    entry
                },
                || {
                    let mut entry = json!({"_refs": [{"to": "a", "tool": "c"}]});
                    entry["_refs"][0]["default"] = nested(100_000, under("x"));
                    entry
                },
            ];
            for (number, make) in deep.iter().enumerate() {
                let found = within(20, make);
                assert_eq!(
                    wrong(&session, found).await,
                    [("limit.exceeded", String::new())],
                    "number {number}"
                );
            }
            // As deep as it may be, and one deeper.
            assert_eq!(wrong(&session, nested(127, in_list)).await, []);
            assert_eq!(
                wrong(&session, nested(128, in_list)).await[0].0,
                "limit.exceeded"
            );
            let literal = |depth| json!({"$literal": nested(depth, in_list)});
            assert_eq!(wrong(&session, literal(126)).await, []);
            assert_eq!(wrong(&session, literal(127)).await[0].0, "limit.exceeded");
        });
    });
}

#[test]
fn a_reference_must_not_make_the_arguments_too_deep() {
    block_on(async {
        let text = format!("{}{}", "[".repeat(100), "]".repeat(100));
        let session = recorded(ToolResult::json(text)).await;
        let around = |depth| (0..depth).fold(json!({"$tool": "c"}), |inner, _| json!([inner]));
        assert_eq!(wrong(&session, around(27)).await, []);
        assert_eq!(wrong(&session, around(28)).await[0].0, "limit.exceeded");
        let far = "/a".repeat(100_000);
        let entry = json!({"_refs": [{"to": far, "tool": "c"}]});
        assert_eq!(wrong(&session, entry).await[0].0, "limit.exceeded");
    });
}

#[test]
fn deep_results_and_schemas_are_refused_without_recursion() {
    on_stack(1024, || {
        block_on(async {
            let deep = nested(100_000, in_list);
            let session = recorded(ToolResult::value(&deep)).await;
            dismantle(deep);
            for reference in [
                json!({"$tool": "c"}),
                json!({"$tool": "c", "$select": "[0]"}),
            ] {
                assert_eq!(wrong(&session, reference).await[0].0, "limit.exceeded");
            }
            let text = "{\"a\":".repeat(100_000);
            session
                .record(&call("cut"), ToolResult::mcp(text))
                .await
                .unwrap();
            assert_eq!(
                wrong(&session, json!({"$tool": "cut"})).await[0].0,
                "limit.exceeded"
            );
            let inner = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
            let result = json!({"s": inner, "n": 1}).to_string();
            session
                .record(&call("within"), ToolResult::json(result))
                .await
                .unwrap();
            let found = json!({"$tool": "within", "$select": "s[0]"});
            assert_eq!(wrong(&session, found).await[0].0, "select.matched_nothing");
            assert!(InputSchema::compile(nested(100_000, under("not"))).is_err());
            let deep = nested(100_000, under("items"));
            let engine = Engine::in_memory(EngineOptions::default());
            assert_eq!(
                engine.input_schema(&deep).unwrap_err().code(),
                ErrorCode::SchemaInvalid
            );
            dismantle(deep);
        });
    });
}

#[test]
fn large_arguments_and_results_are_quick() {
    within(20, || {
        block_on(async {
            let items: Vec<Value> = (0..20_000)
                .map(
                    |n| json!({"id": n, "url": format!("https://example.com/{n}"), "_tags": ["a"]}),
                )
                .collect();
            let large = json!({"items": items});
            let session = recorded(ToolResult::value(&large)).await;
            let found = session.resolve(large.clone(), None).await.unwrap();
            assert_eq!(found.arguments, large);
            let found = session
                .resolve(json!({"x": {"$tool": "c"}}), None)
                .await
                .unwrap();
            assert_eq!(found.arguments["x"], large);
            let last = json!({"$tool": "c", "$select": "items[?id == `19999`].url | [0]"});
            let found = session.resolve(last, None).await.unwrap();
            assert_eq!(found.arguments, "https://example.com/19999");
        });
    });
}

#[test]
fn large_json_in_the_text_of_a_tool_result_has_the_budget_of_its_values() {
    block_on(async {
        let items: Vec<Value> = (0..30_000)
            .map(|n| json!({"id": n, "kind": "k", "name": format!("n{n}")}))
            .collect();
        let text = json!({"items": items}).to_string();
        let result = json!({"content": [{"type": "text", "text": text}]}).to_string();
        let session = recorded(ToolResult::mcp(result)).await;
        let select = "items[?kind == 'k' && name != 'x' && id > `29998` && contains(name, 'n')].{n: name, i: id}";
        // Twice in one call: the second selection finds the text opened.
        let arguments = json!([{"$tool": "c", "$select": select}, {"$tool": "c", "$select": format!("{select} | [0]")}]);
        let found = session.resolve(arguments, None).await.unwrap();
        assert_eq!(
            found.arguments,
            json!([[{"n": "n29999", "i": 29999}], {"n": "n29999", "i": 29999}])
        );
    });
}

#[test]
fn huge_numbers_are_kept_or_refused() {
    block_on(async {
        let digits = format!("1{}", "0".repeat(400));
        let raw = format!("{{\"n\": {digits}, \"m\": 1e400, \"i\": 12345678901234567890}}");
        let session = recorded(ToolResult::json(raw)).await;
        for (select, expected) in [
            ("n", digits.as_str()),
            ("m", "1e400"),
            (
                "[i, abs(i), max([i, `1`])]",
                "[12345678901234567890,12345678901234567890,12345678901234567890]",
            ),
            ("n > m", "false"),
            ("n == m", "true"),
            ("m > `12345678901234567890`", "true"),
            ("to_string(m)", "\"1e400\""),
        ] {
            let found = session.select(&call("c"), select).await.unwrap();
            assert_eq!(String::from_utf8(found.json).unwrap(), expected, "{select}");
        }
        for select in ["n", "m", "@", "[m]", "{x: m}"] {
            let arguments = json!({"$tool": "c", "$select": select});
            assert_eq!(
                wrong(&session, arguments).await[0].0,
                "limit.exceeded",
                "{select}"
            );
        }
        let found = session
            .resolve(json!({"$tool": "c", "$select": "i"}), None)
            .await
            .unwrap();
        assert_eq!(found.arguments.to_string(), "12345678901234567890");
    });
}

#[test]
fn the_last_of_duplicate_keys_counts_everywhere() {
    block_on(async {
        let session = recorded(ToolResult::json(
            r#"{"a": {"x": 1}, "k": [1], "a": {"x": 2, "y": 0, "x": 3}, "": 1, "": 2}"#,
        ))
        .await;
        let found = session.resolve(json!({"$tool": "c"}), None).await.unwrap();
        assert_eq!(
            found.arguments.to_string(),
            r#"{"a":{"x":3,"y":0},"k":[1],"":2}"#
        );
        for (select, expected) in [
            ("a.x", "3"),
            ("a", r#"{"x":3,"y":0}"#),
            ("@", r#"{"a":{"x":3,"y":0},"k":[1],"":2}"#),
            ("length(@)", "3"),
            ("keys(a)", r#"["x","y"]"#),
            ("a == `{\"y\": 0, \"x\": 3}`", "true"),
            ("to_string(a)", r#""{\"x\":3,\"y\":0}""#),
        ] {
            let found = session.select(&call("c"), select).await.unwrap();
            assert_eq!(String::from_utf8(found.json).unwrap(), expected, "{select}");
        }
    });
}

#[test]
fn lone_surrogates_are_kept_in_bytes_and_replaced_in_values() {
    block_on(async {
        let session = recorded(ToolResult::json(
            r#"{"s": "a\ud800b", "t": "a\ud801b", "\udfff": 1}"#,
        ))
        .await;
        let found = session.select(&call("c"), "s").await.unwrap();
        assert_eq!(found.json, br#""a\ud800b""#);
        let found = session.select(&call("c"), "s == t").await.unwrap();
        assert_eq!(found.json, b"false");
        let found = session.resolve(json!({"$tool": "c"}), None).await.unwrap();
        assert_eq!(
            found.arguments,
            json!({"s": "a\u{fffd}b", "t": "a\u{fffd}b", "\u{fffd}": 1})
        );
    });
}

#[test]
fn recording_takes_any_bytes() {
    block_on(async {
        for (bytes, expected) in [
            (&b""[..], json!("")),
            (b"  ", json!("  ")),
            (b"{", json!("{")),
            (b"NaN", json!("NaN")),
            (b"[1,]", json!("[1,]")),
            (b"{\"a\": 01}", json!("{\"a\": 01}")),
            (b"\xef\xbb\xbf{}", json!("\u{feff}{}")),
            (b"null\0", json!("null\u{0}")),
            (
                b"1},\"admin\":true,\"x\":{\"a\":1",
                json!("1},\"admin\":true,\"x\":{\"a\":1"),
            ),
            (
                b"\xff",
                json!({"data": "/w==", "encoding": "base64", "mimeType": "application/octet-stream"}),
            ),
        ] {
            for make in [ToolResult::undeclared, ToolResult::json, ToolResult::mcp] {
                let session = recorded(make(bytes)).await;
                let stored = session.get(&call("c")).await.unwrap();
                assert_eq!(stored.document().raw().as_ref(), bytes);
                let found = session
                    .resolve(json!({"x": {"$tool": "c"}}), None)
                    .await
                    .unwrap();
                assert_eq!(found.arguments, json!({"x": expected}), "{bytes:?}");
                assert_eq!(
                    wrong(&session, json!({"$tool": "c", "$select": "a.b"})).await[0].0,
                    "select.matched_nothing",
                    "{bytes:?}"
                );
            }
        }
    });
}

#[test]
fn ten_thousand_references_in_one_call() {
    within(60, || {
        block_on(async {
            let items: Vec<Value> = (0..200).map(|n| json!({"id": n, "name": "x"})).collect();
            let session = recorded(ToolResult::value(&json!({"items": items}))).await;
            let each =
                |n: usize| json!({"$tool": "c", "$select": format!("items[{}].id", n % 200)});
            let good: Vec<Value> = (0..10_000).map(each).collect();
            let found = session.resolve(json!(good), None).await.unwrap();
            assert_eq!(found.arguments[9_999], 199);
            assert_eq!(found.lineage.len(), 10_000);
            let one_more: Vec<Value> = (0..10_001).map(each).collect();
            assert_eq!(
                wrong(&session, json!(one_more)).await,
                [("limit.exceeded", String::new())]
            );
        });
    });
}

#[test]
fn ten_thousand_references_can_be_repaired() {
    within(60, || {
        block_on(async {
            let items: Vec<Value> = (0..200).map(|n| json!({"id": n.to_string()})).collect();
            let session = recorded(ToolResult::value(&json!({"items": items}))).await;
            let each =
                |n: usize| json!({"$tool": "c", "$select": format!("items[{}].id", n % 200)});
            let references: Vec<Value> = (0..10_000).map(each).collect();
            let schema = InputSchema::compile(json!({"items": {"type": "integer"}})).unwrap();
            let arguments = json!(references).to_string();
            let found = session
                .resolve_json(arguments, Some(&schema))
                .await
                .unwrap();
            assert_eq!(found.repairs.len(), 10_000);
        });
    });
}

#[test]
fn ten_thousand_failing_references_are_all_reported_in_time() {
    block_on(async {
        let items: Vec<Value> = (0..500)
            .map(|n| json!({"id": n, "name": "x", "headers": {"content-type": "t", "a": {"b": [n]}}}))
            .collect();
        let session = recorded(ToolResult::value(&json!({"items": items}))).await;
        let unknown: Vec<Value> = (0..10_000)
            .map(|n| json!({"$tool": format!("no{n}")}))
            .collect();
        let misses: Vec<Value> = (0..10_000)
            .map(|n| json!({"$tool": "c", "$select": format!("items[{n}].headers.content-typo{n} ~ x-y")}))
            .collect();
        let malformed: Vec<Value> = (0..10_000).map(|_| json!({"$tool": 7})).collect();
        for (failing, code) in [
            (unknown, "result.unknown"),
            (misses, ""),
            (malformed, "reference.malformed"),
        ] {
            let found = within(30, || block_in_place(wrong(&session, json!(failing))));
            assert_eq!(found.len(), 10_000);
            for (number, (found, at)) in found.iter().enumerate() {
                assert_eq!(*at, format!("/{number}"));
                assert!(code.is_empty() || *found == code, "{found}");
            }
        }
    });
}

/// Polls a future on a small thread without a runtime, where it never waits.
fn block_in_place<T: Send>(future: impl Future<Output = T> + Send) -> T {
    let poll = || {
        let mut future = Box::pin(future);
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        match future.as_mut().poll(&mut context) {
            std::task::Poll::Ready(done) => done,
            std::task::Poll::Pending => panic!("the future waits"),
        }
    };
    std::thread::scope(|threads| {
        let thread = std::thread::Builder::new().stack_size(2 << 20);
        match thread.spawn_scoped(threads, poll).unwrap().join() {
            Ok(done) => done,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

#[test]
fn ten_thousand_references_to_a_megabyte_are_refused() {
    within(60, || {
        block_on(async {
            let session = recorded(ToolResult::text("x".repeat(1 << 20))).await;
            let many: Vec<Value> = (0..10_000).map(|_| json!({"$tool": "c"})).collect();
            let found = wrong(&session, json!(many)).await;
            assert!(found.len() > 9_800, "{}", found.len());
            assert!(found.iter().all(|(code, _)| *code == "limit.exceeded"));
            let selected: Vec<Value> = (0..1_000)
                .map(|n| json!({"$tool": "c", "$select": format!("[@, `{n}`]")}))
                .collect();
            let found = wrong(&session, json!(selected)).await;
            assert!(found.len() > 800, "{}", found.len());
            assert!(found.iter().all(|(code, _)| *code == "limit.exceeded"));
        });
    });
}

#[test]
fn a_dropped_resolution_leaves_nothing_behind() {
    block_on(async {
        let limits = MemoryLimits::default().with_session_results(1);
        let store = WatchedStore::new(MemoryStore::new(limits));
        let session = store.session(EngineOptions::default());
        session
            .record(&call("c"), ToolResult::json("1"))
            .await
            .unwrap();
        let before = store.asked();
        store.gate.forget_permits(Semaphore::MAX_PERMITS);
        let arguments = json!([{"$tool": "c"}, {"$tool": "d"}]);
        {
            let resolving = session.resolve(arguments.clone(), None);
            let timed = tokio::time::timeout(Duration::from_millis(20), resolving).await;
            assert!(timed.is_err());
            assert!(store.asked() > before, "the store was asked");
        }
        store.gate.add_permits(1000);
        let found = session.resolve(json!({"$tool": "c"}), None).await.unwrap();
        assert_eq!(found.arguments, 1);
        // Were it pinned, it could not make room.
        session
            .record(&call("d"), ToolResult::json("2"))
            .await
            .unwrap();
        assert_eq!(
            wrong(&session, json!({"$tool": "c"})).await[0].0,
            "result.evicted"
        );
    });
}

#[test]
fn a_resolved_call_pins_nothing() {
    block_on(async {
        let limits = MemoryLimits::default().with_session_results(1);
        let store = WatchedStore::new(MemoryStore::new(limits));
        let session = store.session(EngineOptions::default());
        session
            .record(&call("c"), ToolResult::json("[1]"))
            .await
            .unwrap();
        let _resolved = session.resolve(json!({"$tool": "c"}), None).await.unwrap();
        let _missed = session
            .resolve(json!({"$tool": "c", "$select": "x"}), None)
            .await;
        let _selected = session.select(&call("c"), "[0]").await.unwrap();
        assert_eq!(
            session
                .record(&call("d"), ToolResult::json("2"))
                .await
                .unwrap(),
            Recorded::New
        );
    });
}

#[test]
fn a_store_that_fails_is_a_backend_fault_in_neutral_words() {
    block_on(async {
        let store = WatchedStore::in_memory();
        let session = store.session(EngineOptions::default());
        session
            .record(&call("c"), ToolResult::json("1"))
            .await
            .unwrap();
        store.fails.store(true, Ordering::SeqCst);
        let put = session
            .record(&call("d"), ToolResult::json("1"))
            .await
            .unwrap_err();
        assert!(matches!(put, StoreError::Unavailable { .. }));
        for (retry, advice) in [
            (true, "try again"),
            (
                false,
                "trying again does not help: go on without stored results",
            ),
        ] {
            store.retry.store(retry, Ordering::SeqCst);
            let arguments = json!({"m": {"$tool": 7}, "x": {"$tool": "c"}, "y": {"$artifact": "a", "$tool": "c"}});
            let error = session.resolve(arguments, None).await.unwrap_err();
            assert_eq!(error.fault(), Fault::Backend);
            assert_eq!(
                codes(&error),
                [
                    ("reference.malformed", "/m".to_owned()),
                    ("store.unavailable", "/x".to_owned()),
                    ("store.unavailable", "/y".to_owned())
                ]
            );
            let shown = format!("{error} {}", report(&error));
            for secret in ["hunter2", "db.internal", "refused", "password"] {
                assert!(!shown.contains(secret), "{shown}");
            }
            assert_eq!(error.failures()[1].error.advice(), advice);
            let Error::Lookup(LookupError::Store(source)) = &error.failures()[1].error else {
                panic!("{error}");
            };
            assert!(
                std::error::Error::source(&**source)
                    .unwrap()
                    .to_string()
                    .contains("hunter2")
            );
        }
        let error = session.select(&call("c"), "@").await.unwrap_err();
        assert_eq!(error.error.code(), ErrorCode::StoreUnavailable);
        store.fails.store(false, Ordering::SeqCst);
        assert_eq!(wrong(&session, json!({"$tool": "c"})).await, []);
    });
}

#[test]
fn errors_are_bounded() {
    block_on(async {
        let keys: Map<String, Value> = (0..5_000)
            .map(|n| (format!("{}{n}", "k".repeat(500)), json!({"v": "s"})))
            .collect();
        let session = recorded(ToolResult::value(&Value::Object(keys))).await;
        let long = "a".repeat(1 << 20);
        for arguments in [
            json!({"$tool": "c", "$select": "nope"}),
            json!({"$tool": "c", "$select": long}),
            json!({"$tool": "nope", "$select": long}),
            json!({"$tool": "c", "$select": "length(nope)"}),
        ] {
            let error = session.resolve(arguments, None).await.unwrap_err();
            let shown = report(&error).len();
            assert!(shown < 20_000, "{shown} bytes");
            assert!(error.to_string().len() < 10_000);
        }
        let failed = ToolResult::text("x".repeat(1 << 20)).failed();
        session.record(&call("f"), failed).await.unwrap();
        let error = session
            .resolve(json!({"$tool": "f"}), None)
            .await
            .unwrap_err();
        assert!(report(&error).len() < 4_000);
    });
}

#[test]
fn thousands_of_values_that_do_not_fit_are_judged_in_time() {
    within(30, || {
        block_on(async {
            let session = recorded(ToolResult::json("{\"a\": [1], \"b\": {\"x\": \"y\"}}")).await;
            let integers = json!({"type": "array", "items": {"type": "integer"}});
            let integers = InputSchema::compile(integers).unwrap();
            let many: Vec<Value> = (0..10_000).map(|_| json!({"$tool": "c"})).collect();
            let error = session
                .resolve(json!(many), Some(&integers))
                .await
                .unwrap_err();
            assert_eq!(codes(&error).len(), 20);
            assert_eq!(error.failures()[0].error.advice(), "try: a[0]");
            // What fits is found in a large result as well, and repairs of many texts are quick.
            let items: Vec<Value> = (0..20_000).map(|n| json!({"id": n})).collect();
            let texts: Vec<String> = (0..20_000).map(|n| n.to_string()).collect();
            for (id, result) in [("items", json!(items)), ("texts", json!(texts))] {
                let result = ToolResult::json(result.to_string());
                session.record(&call(id), result).await.unwrap();
            }
            let error = session
                .resolve(json!({"$tool": "items"}), Some(&integers))
                .await
                .unwrap_err();
            assert_eq!(error.failures()[0].error.advice(), "try: [*].id");
            let found = session
                .resolve(json!({"$tool": "texts"}), Some(&integers))
                .await
                .unwrap();
            assert_eq!(found.repairs.len(), 20_000);
        });
    });
}

#[test]
fn schemas_cannot_hold_up_or_overturn_a_call() {
    on_stack(2048, || {
        block_on(async {
            let session = recorded(ToolResult::json(format!("\"{}!\"", "a".repeat(50)))).await;
            // A pattern that goes back over the same text for ever.
            let slow = InputSchema::compile(json!({"properties": {"x": {"pattern": "^(a|a)*$"}}}));
            let arguments = json!({"x": {"$tool": "c"}});
            let found = session
                .resolve(arguments.clone(), Some(&slow.unwrap()))
                .await;
            assert_eq!(codes(&found.unwrap_err())[0].0, "arguments.invalid");
            for schema in [
                json!({"type": "objekt"}),
                json!(7),
                json!({"$ref": "http://evil.example/s"}),
                json!({"pattern": "("}),
            ] {
                let error = InputSchema::compile(schema.clone()).unwrap_err();
                assert_eq!(error.code(), ErrorCode::SchemaInvalid, "{schema}");
            }
            let refuses = InputSchema::compile(json!(false)).unwrap();
            assert_eq!(
                codes(
                    &session
                        .resolve(arguments.clone(), Some(&refuses))
                        .await
                        .unwrap_err()
                )[0]
                .0,
                "arguments.invalid"
            );
            let recursive = InputSchema::compile(
                json!({"$ref": "#/$defs/t", "$defs": {"t": {"properties": {"x": {"anyOf": [{"$ref": "#/$defs/t"}, {"type": "string"}]}}}}}),
            );
            assert!(
                session
                    .resolve(arguments, Some(&recursive.unwrap()))
                    .await
                    .is_ok()
            );
        });
    });
}

#[test]
fn artifacts_are_as_strict_as_results() {
    block_on(async {
        let engine = Engine::in_memory(EngineOptions::default());
        let (mine, other) = (
            engine.session(scope("mine")),
            engine.session(scope("other")),
        );
        let made = |text: &str| {
            StoredArtifact::new(artifact("a"), call("c"), Document::new(text.to_owned()))
        };
        mine.record_artifact(made("{\"_toolCallId\": 1, \"k\": [1]}"))
            .await
            .unwrap();
        let reference = json!({"$artifact": "a", "$tool": "c"});
        let found = mine.resolve(reference.clone(), None).await.unwrap();
        assert_eq!(found.arguments, json!({"k": [1]}));
        assert_eq!(wrong(&other, reference).await[0].0, "artifact.unknown");
        assert_eq!(
            wrong(&mine, json!({"$tool": "c"})).await[0].0,
            "result.unknown"
        );
        assert_eq!(
            wrong(&mine, json!({"$artifact": "a", "$tool": "d"})).await[0].0,
            "artifact.unknown"
        );
    });
}

#[test]
fn selectors_of_any_length_and_content_are_answered() {
    on_stack(2048, || {
        block_on(async {
            let session = {
                let select = SelectOptions::default().with_max_chars(usize::MAX);
                let engine = Engine::in_memory(EngineOptions::default().with_select(select));
                engine.session(scope("s"))
            };
            let result = r#"{"a": {"b": [1, 2, {"c": "x"}]}}"#;
            session
                .record(&call("c"), ToolResult::json(result))
                .await
                .unwrap();
            let brackets = 10_000;
            for select in [
                "(".repeat(brackets),
                "[".repeat(brackets),
                "{a:".repeat(brackets),
                "!".repeat(brackets),
                "&".repeat(brackets),
                "a[?".repeat(brackets),
                "a||".repeat(brackets),
                "@|".repeat(brackets),
                "a.".repeat(brackets) + "a",
                "[]".repeat(brackets),
                "*.".repeat(brackets) + "*",
                "a[::1]".repeat(brackets),
                format!("{}a{}", "(".repeat(brackets), ")".repeat(brackets)),
                format!("{}@{}", "not_null(".repeat(120), ")".repeat(120)),
                format!("{}@{}", "[".repeat(127), "]".repeat(127)),
                format!("{}@{}", "{a:".repeat(127), "}".repeat(127)),
                format!("{}@{}", "map(&".repeat(60), ", @)".repeat(60)),
                format!("{}@{}", "to_array(".repeat(126), ")".repeat(126)),
                format!("{}@{}", "[?".repeat(63), "]".repeat(63)),
                format!("{}@{}", "[[*].".repeat(40), "]".repeat(40)),
                format!("{}`1`{}", "(`1`==".repeat(60), ")".repeat(60)),
                format!("{}to_string(@)", "[@]|".repeat(1000)),
                format!("[{}@ == @]", "[@]|".repeat(900)),
                "[@]|".repeat(1000) + "@",
                "{a:@}|".repeat(1000) + "@",
                "[@]|".repeat(1000) + "[]",
                "[@]|".repeat(500) + "sort_by(@, &type(@))",
                "\0".repeat(1000),
                "a\0b".to_owned(),
                "\"".repeat(1001),
                "`".repeat(1001),
                "'".repeat(1001),
                "\\".repeat(1000),
                "a[99999999999999999999]".to_owned(),
                "a[-99999999999999999999]".to_owned(),
                "a.b[:99999999999999999999]".to_owned(),
                "\u{202e}a".to_owned(),
                "a.b\u{ff3b}0\u{ff3d}".to_owned(),
                "ａ".to_owned(),
            ] {
                let start: String = select.chars().take(20).collect();
                within(10, || {
                    let found = block_in_place(session.select(&call("c"), &select));
                    if let Err(failure) = found {
                        assert_eq!(failure.error.fault(), Fault::Model, "{start}");
                    }
                });
            }
        });
    });
}

/// What asks for 2^depth evaluations.
fn doubling() -> InputSchema {
    let t = json!({"type": "object", "properties": {"t": {"anyOf": [{"$ref": "#/$defs/t"}, {"allOf": [{"$ref": "#/$defs/t"}]}]}}});
    InputSchema::compile(json!({"$ref": "#/$defs/t", "$defs": {"t": t}})).unwrap()
}

#[test]
fn validations_that_would_take_too_long_are_refused() {
    block_on(async {
        let session = recorded(ToolResult::value(&nested(40, under("t")))).await;
        let reference = json!({"$tool": "c"});
        for arguments in [reference, nested(40, under("t"))] {
            let found = within(5, || {
                block_in_place(session.resolve(arguments, Some(&doubling())))
            });
            let error = found.unwrap_err();
            assert_eq!(codes(&error), [("limit.exceeded", String::new())]);
            let text = error.to_string();
            assert!(
                text.contains("steps to validate\ntry: a selector that gives flatter or less data"),
                "{text}"
            );
        }
        // What is wrong is told where telling it is cheap, and selectors are tried as far as the steps go.
        for depth in 1..25 {
            let found = within(5, || {
                block_in_place(session.resolve(nested(depth, under("t")), Some(&doubling())))
            });
            let found = codes(&found.unwrap_err());
            let refused = found[0].0 == "limit.exceeded";
            assert!(
                refused || depth < 20 && found[0].0 == "arguments.invalid",
                "{depth}: {found:?}"
            );
            assert!(!refused || depth > 8, "{depth}");
            let text = nested(depth, under("t")).to_string();
            let result = ToolResult::value(&json!({"x": text, "y": nested(depth, under("t"))}));
            let id = call(&format!("n{depth}"));
            session.record(&id, result).await.unwrap();
            let reference = json!({"$tool": id.to_string(), "$select": "x"});
            let found = within(10, || {
                block_in_place(session.resolve(reference, Some(&doubling())))
            });
            assert!(found.is_err(), "{depth}");
        }
    });
}

#[test]
fn large_arguments_of_a_recursive_schema_are_judged() {
    let schema = InputSchema::compile(json!({
        "$ref": "#/$defs/t",
        "$defs": {"t": {"anyOf": [{"type": "integer"}, {"type": "array", "items": {"$ref": "#/$defs/t"}}]}}
    }));
    let schema = schema.unwrap();
    let mut rows: Vec<Value> = (0..20_000).map(|n| json!([n, [n, n]])).collect();
    block_on(async {
        let session = session();
        let found = within(20, || {
            block_in_place(session.resolve(json!(rows), Some(&schema)))
        });
        assert!(found.is_ok());
        rows.truncate(100);
        rows.push(json!([true]));
        let found = within(20, || {
            block_in_place(session.resolve(json!(rows), Some(&schema)))
        });
        assert_eq!(codes(&found.unwrap_err())[0].0, "arguments.invalid");
    });
}

#[test]
fn messages_are_bounded() {
    block_on(async {
        let key = "k".repeat(1 << 20);
        let mut value = Map::new();
        value.insert(key, json!("x"));
        value.insert("kk".to_owned(), json!("y"));
        // All are looked for, however long that takes on a machine that does other things, too.
        let options = EngineOptions::default().with_resolve_time(Duration::from_secs(3600));
        let session = Engine::in_memory(options).session(scope("session"));
        let result = ToolResult::value(&Value::Object(value));
        session.record(&call("c"), result).await.unwrap();
        let long = |error: &ResolveError| report(error).len().max(error.to_string().len());
        for select in [
            "kkk".to_owned(),
            format!("{}zz", " ".repeat(1_000_000)),
            "z".repeat(1_000_000),
        ] {
            let error = session
                .resolve(json!({"$tool": "c", "$select": select}), None)
                .await
                .unwrap_err();
            assert!(long(&error) < 10_000, "{}", long(&error));
        }
        let blank = format!("{}zz", " ".repeat(1_000_000));
        let error = session
            .resolve(json!({"$tool": "c", "$select": blank}), None)
            .await
            .unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("selector `zz` matched nothing"),
            "{error}"
        );
        let integers =
            InputSchema::compile(json!({"additionalProperties": {"type": "integer"}})).unwrap();
        let error = session
            .resolve(json!({"$tool": "c"}), Some(&integers))
            .await
            .unwrap_err();
        assert!(long(&error) < 10_000, "{}", long(&error));
        let error = session
            .resolve(json!({"$tool": "c", "$select": "kkk"}), None)
            .await
            .unwrap_err();
        assert!(error.to_string().ends_with("try: kk"), "{error}");
        // All are told, the first of them in full.
        let many: Vec<Value> = (0..10_000)
            .map(|n| json!({"$tool": "c", "$select": format!("q{n}")}))
            .collect();
        let error = session.resolve(json!(many), None).await.unwrap_err();
        let text = error.to_string();
        assert_eq!(text.matches("found: ").count(), 20);
        assert_eq!(text.lines().count(), 20 * 3 + 9_980);
        let report = serde_json::to_value(error.report()).unwrap();
        let errors = report["errors"].as_array().unwrap();
        assert_eq!(errors.len(), 10_000);
        assert_eq!(
            errors
                .iter()
                .filter(|error| error.get("advice").is_some())
                .count(),
            100
        );
    });
}

#[test]
fn what_repairs_make_fit_is_offered_and_what_loses_digits_is_not() {
    block_on(async {
        let result = r#"{"n": "12", "s": 42, "big": 12345678901234567890123, "l": ["1", "2"]}"#;
        let session = recorded(ToolResult::json(result)).await;
        let schema = json!({"properties": {"n": {"type": "integer"}, "l": {"type": "array", "items": {"type": "integer"}}}});
        let schema = InputSchema::compile(schema).unwrap();
        for (name, advice) in [("n", "try: n, s"), ("l", "try: l")] {
            let arguments =
                Value::Object(Map::from_iter([(name.to_owned(), json!({"$tool": "c"}))]));
            let error = session.resolve(arguments, Some(&schema)).await.unwrap_err();
            assert!(
                error.failures()[0].error.advice().starts_with(advice),
                "{error}"
            );
        }
    });
}

/// References with as many selectors, all different.
fn many_selectors(count: usize) -> Value {
    let reference = |n| json!({"$tool": "c", "$select": format!("k{n}")});
    (0..count).map(reference).collect()
}

#[test]
fn a_failed_result_is_read_once_whatever_selects_from_it() {
    within(20, || {
        block_on(async {
            let text = format!("  no \n luck {}", "word ".repeat(1 << 20));
            let session = recorded(ToolResult::text(text).failed()).await;
            let error = session.resolve(many_selectors(10_000), None).await;
            let error = error.unwrap_err();
            assert_eq!(error.failures().len(), 10_000);
            for failure in error.failures() {
                let Error::Lookup(LookupError::Failed { message, .. }) = &failure.error else {
                    panic!("{}", failure.error);
                };
                assert!(message.starts_with("no luck word word"), "{message}");
                assert_eq!(message.chars().count(), 501);
            }
        });
    });
}

#[test]
fn a_tool_result_of_many_parts_is_opened_once_whatever_selects_from_it() {
    within(20, || {
        block_on(async {
            let parts: Vec<Value> = (0..50_000)
                .map(|n| json!({"type": "text", "text": format!("part {n}")}))
                .collect();
            let result = json!({"content": parts}).to_string();
            let session = recorded(ToolResult::undeclared(result)).await;
            let select = |n: usize| json!({"$tool": "c", "$select": format!("[{n}]")});
            let arguments: Vec<Value> = (0..2_000).map(select).collect();
            let found = session.resolve(json!(arguments), None).await.unwrap();
            assert_eq!(found.arguments[1_999], "part 1999");
        });
    });
}

#[test]
fn small_values_count_for_the_room_that_they_take() {
    block_on(async {
        let options = EngineOptions::default().with_max_resolved_bytes(1 << 20);
        let session = Engine::in_memory(options).session(scope("s"));
        let zeros = format!("[{}0]", "0,".repeat(49_999));
        session
            .record(&call("c"), ToolResult::json(zeros.clone()))
            .await
            .unwrap();
        let one = session.resolve(json!([{"$tool": "c"}]), None).await;
        assert_eq!(one.unwrap().lineage[0].source.bytes_out, zeros.len());
        let ten: Vec<Value> = (0..10).map(|_| json!({"$tool": "c"})).collect();
        let found = wrong(&session, json!(ten)).await;
        assert_eq!(found.len(), 9);
        assert_eq!(found[0], ("limit.exceeded", "/1".to_owned()));
        // Values that a selector built count as well, and together with others.
        let built = json!([{"$tool": "c", "$select": "[@, @]"}]);
        assert_eq!(wrong(&session, built).await[0].0, "limit.exceeded");
        let both = json!([{"$tool": "c"}, {"$tool": "c", "$select": "[*]"}]);
        let found = wrong(&session, both).await;
        assert_eq!(found, [("limit.exceeded", "/1".to_owned())]);
    });
}

#[test]
fn bytes_that_were_put_are_those_of_the_json() {
    block_on(async {
        let result = r#"{"t": true, "f": false, "l": [1, 2], "s": "a\"b\u0001", "e": []}"#;
        let session = recorded(ToolResult::json(result)).await;
        for select in [
            "t",
            "f",
            "!t",
            "!f",
            "s",
            "[t, f, e]",
            "{\"k\\\"\": t, b: s}",
            "[e[0], s]",
            "join('\n', [s, s])",
            "{a: {b: [t]}}",
            "length(l)",
            "e[]",
        ] {
            let arguments = json!({"$tool": "c", "$select": select});
            let found = session.resolve(arguments, None).await.unwrap();
            let put = found.arguments.to_string();
            let bytes = found.lineage[0].source.bytes_out;
            assert_eq!(bytes, put.len(), "{select}: {put}");
        }
        let default = json!({"k": [1, true, "a\n"]});
        let arguments = json!({"$tool": "c", "$select": "none", "$default": default});
        let found = session.resolve(arguments, None).await.unwrap();
        assert!(found.lineage[0].source.used_default);
        let bytes = found.lineage[0].source.bytes_out;
        assert_eq!(bytes, default.to_string().len());
    });
}

#[test]
fn costly_selectors_on_small_results_leave_the_async_thread() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .max_blocking_threads(1)
        .build()
        .unwrap();
    runtime.block_on(async {
        let items: Vec<Value> = (0..5_000).map(|n| json!({"id": n, "name": "x"})).collect();
        let result = json!({"items": items}).to_string();
        assert!(result.len() < 1 << 20);
        let session = recorded(ToolResult::json(result)).await;
        let costly = |n| format!("sort_by(items[?contains(to_string(@), '{n}')], &name)[0].name");
        let reference = |n: usize| json!({"$tool": "c", "$select": costly(n)});
        let references: Vec<Value> = (1..10).map(reference).collect();
        let references = json!(references);
        let id = call("c");
        // The only other thread is kept busy, so what is ready at its first turn was done here.
        let (release, released) = std::sync::mpsc::channel::<()>();
        let busy = tokio::task::spawn_blocking(move || released.recv());
        let (at_once, selected, shape) = (
            session.resolve(references, None),
            session.select(&id, "items[?id == `7`]"),
            session.shape(&id),
        );
        let (mut at_once, mut selected, mut shape) =
            (Box::pin(at_once), Box::pin(selected), Box::pin(shape));
        let turns = std::future::poll_fn(|context| {
            std::task::Poll::Ready((
                at_once.as_mut().poll(context).is_pending(),
                selected.as_mut().poll(context).is_pending(),
                shape.as_mut().poll(context).is_pending(),
            ))
        });
        assert_eq!(turns.await, (true, true, true));
        drop(release);
        assert!(busy.await.unwrap().is_err());
        assert_eq!(at_once.await.unwrap().arguments[0], "x");
        assert!(selected.await.is_ok() && shape.await.is_ok());
        // What is small is done where the call is.
        session
            .record(&call("small"), ToolResult::json(r#"{"a": [1]}"#))
            .await
            .unwrap();
        let small = json!([{"$tool": "small"}, {"$tool": "small", "$select": "a[0]"}]);
        let mut small = Box::pin(session.resolve(small, None));
        let turn = std::future::poll_fn(|context| {
            std::task::Poll::Ready(small.as_mut().poll(context).is_ready())
        });
        assert!(turn.await);
    });
}
