//! What a session says beside values: of what has gone, what was repaired, what does not fit, and that
//! something is withheld.

use super::Session;
use crate::{
    Engine, EngineOptions, InputSchema, RenderOptions, RevealPolicy, ShownHints, ToolResult,
    session::reveal_laws::run,
};
use crossfeed_projection::RevealRules;
use crossfeed_store::{MemoryLimits, MemoryStore};
use crossfeed_wire::{CallId, Scope};
use serde_json::{Value, json};
use std::sync::Arc;

const SECRET: &str = "S3CR3T";

fn call(id: &str) -> CallId {
    CallId::parse(id).unwrap()
}

fn never(names: &[&str]) -> RevealRules {
    RevealRules::parse([] as [&str; 0], names).unwrap()
}

fn policy(names: &[&str]) -> RevealPolicy {
    RevealPolicy::default().with_every_tool(never(names))
}

fn session_of(policy: RevealPolicy, store: Arc<MemoryStore>) -> Session {
    let options = EngineOptions::default().with_reveal(policy);
    Engine::new(options, store).session(Scope::parse("t", "p", "s").unwrap())
}

fn session(policy: RevealPolicy) -> Session {
    session_of(policy, Arc::new(MemoryStore::new(MemoryLimits::default())))
}

/// Judges whether a result that has gone says with which arguments its tool was called.
fn check_gone(names: &[&str], arguments: &str, is_said: bool) {
    run(async {
        let limits = MemoryLimits::default().with_session_results(1);
        let session = session_of(policy(names), Arc::new(MemoryStore::new(limits)));
        let result = ToolResult::json("{}")
            .with_tool("post")
            .with_repeatable(true);
        let gone = result.with_arguments(arguments.to_owned());
        session.record(&call("gone"), gone).await.unwrap();
        let newer = ToolResult::json("1");
        session.record(&call("newer"), newer).await.unwrap();
        let reference = json!({"x": {"$tool": "gone"}});
        for told in [
            session.get(&call("gone")).await.unwrap_err().advice(),
            session
                .select(&call("gone"), "@")
                .await
                .unwrap_err()
                .to_string(),
            session
                .resolve(reference, None)
                .await
                .unwrap_err()
                .to_string(),
        ] {
            assert!(told.contains("call `post` again"), "{told}");
            assert_eq!(told.contains(arguments), is_said, "{names:?} {told}");
        }
    });
}

#[test]
fn what_has_gone_is_not_told_with_arguments_that_hide_something() {
    let of = |value: Value| value.to_string();
    let prose = format!("row:\npin: {SECRET}");
    check_gone(&["pin"], &of(json!({"q": "open", "n": [1, "spin"]})), true);
    check_gone(&[], &of(json!({"pin": prose})), true);
    check_gone(&["pin"], &of(json!({"pin": SECRET})), false);
    check_gone(
        &["pin"],
        &of(json!({"pin": 1})).replace("pin", "\\u0070in"),
        false,
    );
    check_gone(&["pin"], &of(json!({"body": prose})), false);
    check_gone(&["pin"], &of(json!([{"body": [prose]}])), false);
    check_gone(
        &["pin"],
        &of(json!({"body": json!({"row": prose}).to_string()})),
        false,
    );
    check_gone(
        &["pin"],
        &of(json!({"body": {"the pin of row 7": SECRET}})),
        false,
    );
    check_gone(&["pin"], r#"{"a": {"pin": 1}, "a": 2}"#, false);
    check_gone(&["pin"], "no JSON", false);
    // Paths begin where a reference put a result.
    let brought = of(json!({"body": [{"secrets": {"k": SECRET}}]}));
    check_gone(&["secrets.*"], &brought, false);
    check_gone(&["other.*"], &brought, true);
}

#[test]
fn what_was_brought_unseen_is_not_said_once_its_call_has_gone() {
    run(async {
        let limits = MemoryLimits::default().with_session_results(2);
        let session = session_of(policy(&["pin"]), Arc::new(MemoryStore::new(limits)));
        let row = ToolResult::text(format!("row:\npin: {SECRET}")).with_tool("read");
        session.record(&call("row"), row).await.unwrap();
        let seen = session.select(&call("row"), "@").await.unwrap();
        assert_eq!(seen.json, br#""[withheld]""#);
        let posted = session
            .resolve(json!({"body": {"$tool": "row"}}), None)
            .await;
        let arguments = posted.unwrap().arguments.to_string();
        assert!(arguments.contains(SECRET));
        let post = ToolResult::json("{}").with_tool("post");
        let post = post.with_arguments(arguments);
        session.record(&call("post"), post).await.unwrap();
        for newer in ["a", "b"] {
            session
                .record(&call(newer), ToolResult::json("1"))
                .await
                .unwrap();
        }
        let gone = session.select(&call("post"), "@").await.unwrap_err();
        assert!(!gone.to_string().contains(SECRET), "{gone}");
    });
}

#[test]
fn a_record_is_shown_by_rules_that_hold_for_whoever_records_it() {
    run(async {
        let tools = RevealPolicy::default().with_tool("secretive", never(&["pin"]));
        let result = || ToolResult::json(r#"{"id":1,"pin":7}"#);
        // As it was recorded before, as it is now, and whether that can be.
        for (before, now, may_be) in [
            (Some("other"), Some("secretive"), false),
            (Some("secretive"), Some("other"), true),
            (Some("other"), Some("third"), true),
            (Some("other"), None, true),
            (None, Some("secretive"), true),
        ] {
            let of = |tool: Option<&str>| match tool {
                Some(tool) => result().with_tool(tool),
                None => result(),
            };
            let session = session(tools.clone());
            session.record(&call("c"), of(before)).await.unwrap();
            let again = session.record(&call("c"), of(now)).await;
            assert_eq!(again.is_ok(), may_be, "{before:?} {now:?}");
            let response = session.respond(&call("c"), of(now)).await;
            assert_eq!(response.is_ok(), may_be, "{before:?} {now:?}");
            let Err(error) = response else { continue };
            assert_eq!(error.code().as_str(), "record.duplicate");
        }
    });
}

/// What is resolved or said where call `c` is put unseen into `x`.
async fn passed(session: &Session, schema: Value) -> Result<crate::Resolved, crate::ResolveError> {
    let schema = InputSchema::compile(schema).unwrap();
    let arguments = json!({"x": {"$tool": "c"}, "y": 1});
    session.resolve(arguments, Some(&schema)).await
}

#[test]
fn repairs_name_nothing_that_is_hidden() {
    let numbers = json!({"properties": {"x": {"type": "object",
        "properties": {"pin": {"type": "integer"}, "n": {"type": "integer"}}}}});
    let check = |names: &[&str], result: ToolResult, expected: &[&str]| {
        run(async {
            let session = session(policy(names));
            session.record(&call("c"), result).await.unwrap();
            let resolved = passed(&session, numbers.clone()).await.unwrap();
            assert_eq!(resolved.arguments["x"]["n"], 5);
            let places = resolved.repairs.iter().map(|repair| repair.at.as_str());
            assert_eq!(places.collect::<Vec<_>>(), expected, "{names:?}");
        });
    };
    let object = || ToolResult::json(r#"{"n":"5","pin":"7"}"#);
    check(&[], object(), &["/x/n", "/x/pin"]);
    check(&["other"], object(), &["/x/n", "/x/pin"]);
    check(&["pin"], object(), &[]);
    // The place of the reference itself is not a secret.
    check(&["pin"], ToolResult::text(r#"{"n":5,"pin":7}"#), &["/x"]);
}

#[test]
fn a_misfit_is_told_as_of_what_may_be_shown() {
    let check = |result: ToolResult, schema: Value, at: &str, said: &str| {
        run(async {
            let session = session(policy(&["pin"]));
            session.record(&call("c"), result).await.unwrap();
            let error = passed(&session, schema).await.unwrap_err();
            let [failure] = error.failures() else {
                panic!("{error}");
            };
            assert_eq!(failure.at.as_str(), at);
            assert_eq!(failure.error.to_string(), said);
        });
    };
    let within = |schema: Value| json!({"properties": {"x": {"properties": {"pin": schema}}}});
    let hidden = ToolResult::json(r#"{"n":5,"pin":7}"#);
    check(
        hidden,
        within(json!({"minimum": 9000})),
        "/x",
        "expected what the tool's schema asks for, found {n: number}",
    );
    // A text that was read for an object is told as that object.
    check(
        ToolResult::text(r#"{"n":5,"pin":7}"#),
        json!({"maxProperties": 1, "properties": {"x": {"type": "object"}}}),
        "",
        "expected what `maxProperties` asks for, found {x: {n: number}, y: number}",
    );
}

#[test]
fn a_misfit_of_what_was_read_as_a_reference_names_nothing_that_is_hidden() {
    run(async {
        let session = session(policy(&["password"]));
        let hidden = json!({"user": "u", "password": {"hunter2": 1}});
        let result = ToolResult::json(hidden.to_string());
        session.record(&call("call_1"), result).await.unwrap();
        let within = json!({"type": "object", "properties": {"password": {"properties":
            {"hunter2": {"type": "boolean"}}}}});
        for schema in [json!({"type": "string"}), json!({"type": "number"}), within] {
            let schema = json!({"properties": {"x": schema}});
            let schema = InputSchema::compile(schema).unwrap();
            for written in [json!("{{call_1}}"), json!({"tool": "call_1"})] {
                let arguments = json!({"x": written});
                let error = session.resolve(arguments.clone(), Some(&schema)).await;
                let values = error.unwrap_err();
                let bytes = session.resolve_json(arguments.to_string(), Some(&schema));
                let bytes = bytes.await.unwrap_err();
                assert_eq!(values.to_string(), bytes.to_string());
                for failure in values.failures() {
                    assert_eq!(failure.at.as_str(), "/x");
                }
                for said in [values.to_string(), format!("{values:?}")] {
                    assert!(
                        !said.contains("password") && !said.contains("hunter2"),
                        "{said}"
                    );
                }
            }
        }
    });
}

/// Judges what is said of a result that is rendered within a budget.
fn check_shown(names: &[&str], result: ToolResult, budget: usize, whole: bool, said: &str) {
    run(async {
        let session = session(policy(names));
        session.record(&call("c"), result).await.unwrap();
        let options = RenderOptions::default()
            .with_budget(budget)
            .with_hints(ShownHints::Never);
        let shown = session.render(&call("c"), &options).await.unwrap();
        assert!(shown.json.contains(said), "{}", shown.json);
        assert!(!shown.json.contains("pin"), "{}", shown.json);
        assert!(shown.tokens <= budget);
        let is_said = shown.json.contains("withheld");
        assert_eq!((shown.whole, is_said), (whole, shown.withheld), "{names:?}");
        assert_eq!(
            serde_json::from_str::<Value>(&shown.json).unwrap()["_toolCallId"],
            "c"
        );
    });
}

#[test]
fn what_is_shown_says_that_something_is_withheld() {
    let note = r#""_crossfeedPreview":{"withheld":"some of it, by a rule of the host"}"#;
    let small = || ToolResult::json(r#"{"id":1,"pin":7}"#);
    let all = format!(r#"{{"id":1,"_toolCallId":"c",{note}}}"#);
    check_shown(&["pin"], small(), 1000, true, &all);
    check_shown(
        &["other"],
        ToolResult::json("[1]"),
        1000,
        true,
        r#"{"value":[1],"_toolCallId":"c"}"#,
    );
    let text = ToolResult::text("the pin is 7");
    check_shown(&["pin"], text, 1000, true, note);
    let failed = small().failed();
    check_shown(&["pin"], failed, 1000, true, note);
    let part = json!({"type": "text", "text": "[1]"});
    let mcp = json!({"content": [part], "structuredContent": {"id": 1, "pin": 7}});
    let mcp = ToolResult::mcp(mcp.to_string());
    let first = r#"{"content":[{"type":"text","text":"{\"_toolCallId\":\"c\",\"_crossfeedPreview\":{\"withheld\""#;
    check_shown(&["pin"], mcp, 1000, true, first);
    let large = || {
        let items = vec!["some words"; 1000];
        ToolResult::json(json!({"pin": 7, "items": items}).to_string())
    };
    let begin = r#"{"preview":"[crossfeed preview of c: cut, not the data; some of it is withheld by a rule of the host"#;
    let full = format!("{begin}; 13011 bytes, ");
    check_shown(&["pin"], large(), 100, false, &full);
    let short = format!("{begin}]\\n");
    check_shown(&["pin"], large(), 50, false, &short);
}

#[test]
fn each_engine_over_a_store_hides_what_its_own_rules_do() {
    run(async {
        let store = Arc::new(MemoryStore::new(MemoryLimits::default()));
        let [one, other, open] = [policy(&["pin"]), policy(&["id"]), RevealPolicy::default()]
            .map(|policy| session_of(policy, Arc::<MemoryStore>::clone(&store)));
        let result = ToolResult::json(r#"{"id":1,"pin":7,"n":2}"#);
        one.record(&call("c"), result).await.unwrap();
        for _ in 0..2 {
            for (session, expected) in [
                (&one, r#"{"id":1,"n":2}"#),
                (&other, r#"{"pin":7,"n":2}"#),
                (&open, r#"{"id":1,"pin":7,"n":2}"#),
            ] {
                let seen = session.select(&call("c"), "@").await.unwrap();
                assert_eq!(String::from_utf8(seen.json).unwrap(), expected);
            }
        }
    });
}

#[test]
fn what_is_cut_by_a_protocol_is_counted() {
    run(async {
        let session = session(policy(&["pin"]));
        let result = || ToolResult::json(r#"{"id":1,"pin":7}"#);
        let response = session.respond(&call("c"), result()).await.unwrap();
        let left = response.cut_with(|_, _| vec![b'x'; 400]).await.unwrap();
        assert_eq!(left.len(), 400);
        let usage = session.usage();
        // As a whole it would have been what may be shown.
        assert_eq!((usage.shown, usage.whole, usage.errors), (100, 2, 0));
        let deep = ToolResult::json("[".repeat(128) + &"]".repeat(128));
        let response = session.respond(&call("deep"), deep).await.unwrap();
        let refused = response.cut_with(|_, _| Vec::new()).await.unwrap_err();
        let tokens = refused.to_string().chars().count().div_ceil(4);
        assert_eq!(session.usage().errors, tokens as u64);
        assert_eq!(session.usage().shown, 100);
    });
}
