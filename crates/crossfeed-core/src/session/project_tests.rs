//! What leaves a session, and what a host sees of it before.

mod asked;
mod schemas;

use super::Session;
use crate::{
    Engine, EngineOptions, InputSchema, ProjectOptions, Retrieved, RevealPolicy, ToolResult,
    session::reveal_laws::run,
};
use crossfeed_json::Document;
use crossfeed_projection::{ProjectionRequest, ResourceType, RevealRules, Views};
use crossfeed_store::{MemoryLimits, MemoryStore, StoredArtifact};
use crossfeed_tools::{ListOptions, Reflection, Style, ToolList, rewrite_tools};
use crossfeed_wire::{ArtifactId, CallId, Scope};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::sync::Arc;

fn call() -> CallId {
    CallId::parse("c").unwrap()
}

fn engine() -> Engine {
    let rules = RevealRules::parse(["id"], ["pin"]).unwrap();
    let policy = RevealPolicy::default().with_tool("search", rules);
    Engine::in_memory(EngineOptions::default().with_reveal(policy))
}

async fn session(result: ToolResult) -> Session {
    let session = engine().session(Scope::parse("t", "p", "s").unwrap());
    let result = result.with_tool("search");
    session.record(&call(), result).await.unwrap();
    session
}

fn found() -> Value {
    json!({"items": [{"id": 1, "name": "a", "pin": 7}, {"id": 2, "name": "b"}], "next": null})
}

/// Judges a projection: the value, and the kinds of what is said of it.
fn check(found: &Value, options: &ProjectOptions, expected: Value, said: &[&str]) {
    run(async {
        let session = session(ToolResult::value(found)).await;
        let projected = session.project(&call(), options).await.unwrap();
        let value: Value = serde_json::from_slice(&projected.json).unwrap();
        assert_eq!(value, expected, "{options:?}");
        let kinds: Vec<_> = projected
            .diagnostics
            .iter()
            .map(|d| d.kind.as_str())
            .collect();
        assert_eq!(kinds, said, "{options:?}");
        // The cut gives the same, and the schema is true.
        let cut = session.response(&call()).await.unwrap().cut(options).await;
        assert_eq!(cut.unwrap(), projected);
        if let Some(schema) = projected.schema {
            assert!(!schema.to_string().contains("pin"), "{schema}");
            let schema = InputSchema::compile(schema).unwrap();
            assert!(schema.accepts(&value, &mut schema.steps(&value)).unwrap());
        }
    });
}

fn include(path: &str) -> ProjectOptions {
    let request = ProjectionRequest::new().with_include([path]);
    ProjectOptions::default().with_request(request)
}

#[test]
fn a_request_is_answered_in_every_spelling() {
    let own = json!({"items": [{"id": 1}, {"id": 2}]});
    let open = json!({"items": [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}], "next": null});
    let withheld = &["withheld"][..];
    check(&found(), &include("items.id"), own.clone(), withheld);
    check(&found(), &ProjectOptions::default(), open.clone(), withheld);
    let brief = Views::new().with("brief", ["items.id"]).unwrap();
    let view = ProjectOptions::default()
        .with_request(ProjectionRequest::new().with_view("brief"))
        .with_views(brief);
    check(&found(), &view, own, withheld);
    let resource = ResourceType::new("thing")
        .with_preset("tiny", ["name"])
        .unwrap();
    let preset = ProjectOptions::default()
        .with_request(ProjectionRequest::new().with_preset("tiny"))
        .with_resource(resource);
    check(&found(), &preset, open, withheld);
    let selected = include("name").with_select("items[1]");
    check(&found(), &selected, json!({"id": 2, "name": "b"}), withheld);
    // What is hidden reads as what is not there.
    let asked = json!({"items": [{"id": 1}, {"id": 2}]});
    let unknown = &["unknown_field", "withheld"];
    check(&found(), &include("items.pin"), asked, unknown);
    check(
        &json!({"a": 1}),
        &ProjectOptions::default(),
        json!({"a": 1}),
        &[],
    );
}

#[test]
fn a_request_that_names_what_there_is_not_is_an_error() {
    run(async {
        let session = session(ToolResult::value(&found())).await;
        let request = ProjectionRequest::new().with_preset("huge");
        let options = ProjectOptions::default().with_request(request);
        for error in [
            session.project(&call(), &options).await.unwrap_err(),
            session
                .response(&call())
                .await
                .unwrap()
                .cut(&options)
                .await
                .unwrap_err(),
        ] {
            assert_eq!(error.error.code().as_str(), "projection.invalid");
            assert!(error.to_string().contains("full"), "{error}");
        }
        let error = session
            .project(&call(), &include("a..b"))
            .await
            .unwrap_err();
        assert_eq!(error.error.code().as_str(), "projection.invalid");
        let missing = CallId::parse("d").unwrap();
        let error = session.project(&missing, &include("a")).await.unwrap_err();
        assert_eq!(error.error.code().as_str(), "result.unknown");
    });
}

#[test]
fn what_a_call_failed_with_leaves_as_it_is() {
    run(async {
        let session = session(ToolResult::json(r#"{"error":"no such table"}"#).failed()).await;
        let error = session.project(&call(), &include("a")).await.unwrap_err();
        assert_eq!(error.error.code().as_str(), "result.failed");
        let cut = session
            .response(&call())
            .await
            .unwrap()
            .cut(&include("a"))
            .await
            .unwrap();
        assert!(
            cut.failed && cut.json == br#"{"error":"no such table"}"#,
            "{cut:?}"
        );
    });
}

#[test]
fn the_cut_fails_closed() {
    run(async {
        let deep = "[".repeat(128) + &"]".repeat(128);
        let session = session(ToolResult::json(deep)).await;
        let mut response = session.response(&call()).await.unwrap();
        assert_eq!(
            response.observe("size", |full| full.document().raw().len()),
            256
        );
        let error = response.cut(&ProjectOptions::default()).await.unwrap_err();
        assert_eq!(error.error.code().as_str(), "limit.exceeded");
        assert!(error.to_string().contains("withheld"), "{error}");
        let response = session.response(&call()).await.unwrap();
        assert!(response.cut_with(|_, _| [0]).await.is_err());
    });
}

#[test]
fn a_response_is_recorded_before_anything_is_made_of_it() {
    run(async {
        let session = engine().session(Scope::parse("t", "p", "s").unwrap());
        let returned = || ToolResult::value(&found()).with_tool("search");
        let mut response = session.respond(&call(), returned()).await.unwrap();
        let full = found().to_string();
        let seen = response.observe("rules", |full| full.document().raw().clone());
        assert_eq!(seen, full);
        assert_eq!(response.full().document().raw(), &full);
        assert_eq!(
            (response.observed(), response.call_id()),
            (&["rules".to_owned()][..], &call())
        );
        // Others see it as well while it is on its way, and after.
        assert!(session.select(&call(), "items[0].id").await.is_ok());
        let cut = response.cut_with(|shown, rules| {
            assert!(rules.is_never_name("pin"));
            shown.document().raw().clone()
        });
        let cut = String::from_utf8(cut.await.unwrap().to_vec()).unwrap();
        assert!(!cut.contains("pin") && cut.contains("name"), "{cut}");
        let again = session.respond(&call(), ToolResult::text("other")).await;
        assert_eq!(again.unwrap_err().code().as_str(), "record.duplicate");
        assert_eq!(session.get(&call()).await.unwrap().document().raw(), &full);
    });
}

#[test]
fn what_is_asked_of_the_result_is_taken_out_of_the_arguments() {
    run(async {
        let tools = json!([{"name": "search",
            "inputSchema": {"type": "object", "properties": {"q": {"type": "string"}},
                "additionalProperties": false},
            "outputSchema": {"type": "object", "properties": {"items": {}, "next": {}}}}]);
        let options =
            ListOptions::style(Style::Inline).with_reflection("search", Reflection::new());
        let listed = rewrite_tools(&ToolList::parse(&tools).unwrap(), &options);
        let engine = engine();
        let tool = engine.prepare(listed.find("search").unwrap().clone());
        let session = engine.session(Scope::parse("t", "p", "s").unwrap());
        let resolved =
            async |arguments: Value| session.resolve_call(&tool, arguments).await.unwrap();
        let asked = resolved(json!({"q": "x", "_select": ["next"]})).await;
        assert_eq!(asked.arguments, json!({"q": "x"}));
        let request = asked.projection.unwrap();
        assert_eq!(request.select, Some(vec!["next".to_owned()]));
        let returned = ToolResult::value(&found()).with_tool("search");
        let response = session.respond(&call(), returned).await.unwrap();
        let options = ProjectOptions::default().with_request(request);
        assert_eq!(
            response.cut(&options).await.unwrap().json,
            br#"{"next":null}"#
        );
        let ignored = resolved(json!({"q": "x", "_select": 7})).await;
        assert_eq!(ignored.projection, None);
        assert_eq!(ignored.diagnostics.iter().count(), 1);
        let silent = resolved(json!({"q": "x"})).await;
        assert!(silent.projection.is_none() && silent.diagnostics.is_empty());
    });
}

#[test]
fn what_is_learned_is_announced_and_holds_nothing_hidden() {
    run(async {
        let session = session(ToolResult::value(&found())).await;
        assert!(session.learned("search").is_none());
        assert!(session.learn(&call()).await.unwrap());
        let learned = session.learned("search").unwrap();
        assert_eq!(learned.observations(), 1);
        let schema = learned.schema().unwrap().to_string();
        assert!(
            schema.contains("name") && !schema.contains("pin"),
            "{schema}"
        );
        let projected = session
            .project(&call(), &include("items.id"))
            .await
            .unwrap();
        let schema = projected.schema.unwrap().to_string();
        assert!(!schema.contains("name"), "{schema}");
        let other = Session::clone(&session).scope().clone();
        assert_eq!(other.tenant(), "t");
        let failed = CallId::parse("bad").unwrap();
        let bad = ToolResult::text("no").with_tool("search").failed();
        session.record(&failed, bad).await.unwrap();
        assert!(!session.learn(&failed).await.unwrap());
        assert_eq!(session.learned("search").unwrap().observations(), 1);
    });
}

#[test]
fn an_artifact_that_a_host_stored_is_shown_by_the_rules_of_its_tool() {
    run(async {
        let session = session(ToolResult::value(&found())).await;
        let (id, all) = (ArtifactId::parse("a").unwrap(), r#"{"pin":7,"name":"b"}"#);
        let artifact = StoredArtifact::new(id.clone(), call(), Document::new(all))
            .with_summary(Document::new(r#"{"pin":7}"#))
            .with_tool("search");
        session.record_artifact(artifact).await.unwrap();
        let listed = session.artifacts().await.unwrap();
        assert_eq!(listed[0].summary.as_deref(), Some(&b"{}"[..]));
        let retrieved = session.retrieve_artifact(&id, &call(), None).await.unwrap();
        let Retrieved::Data { json, .. } = retrieved else {
            panic!("{retrieved:?}");
        };
        assert_eq!(json, br#"{"name":"b"}"#);
        let kept = session.artifact(&id, &call()).await.unwrap();
        assert_eq!(kept.document().raw(), all);
        let passed = json!({"$artifact": "a", "$tool": "c"});
        let passed = session.resolve(passed, None).await.unwrap();
        assert_eq!(passed.arguments, json!({"pin": 7, "name": "b"}));
    });
}

#[test]
fn what_is_shown_is_made_once_and_counted() {
    run(async {
        let store = Arc::new(MemoryStore::new(MemoryLimits::default()));
        let policy = RevealRules::parse([] as [&str; 0], ["pin"]).unwrap();
        let policy = RevealPolicy::default().with_every_tool(policy);
        let options = EngineOptions::default().with_reveal(policy);
        let engine = Engine::new(options, Arc::<MemoryStore>::clone(&store));
        let session = engine.session(Scope::parse("t", "p", "s").unwrap());
        session
            .record(&call(), ToolResult::value(&found()))
            .await
            .unwrap();
        let whole = found().to_string().len();
        assert_eq!(store.usage().result_bytes, whole);
        let held = async || session.get(&call()).await.unwrap().resident_bytes();
        session.select(&call(), "items[0].id").await.unwrap();
        let once = held().await;
        // Its bytes, those of what is shown, and two indexes.
        assert!(once > 2 * whole - 20, "{once}");
        assert_eq!(store.usage().result_bytes, once);
        session.retrieve(&call(), Some("next")).await.unwrap();
        let arguments = json!({"$tool": "c", "$select": "items[0]"});
        session.resolve(arguments, None).await.unwrap();
        assert_eq!((held().await, store.usage().result_bytes), (once, once));
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn observers_see_all_and_the_cut_never_more_than_was_asked_for(
        keys in prop::collection::vec(prop::sample::select(&["a", "b", "id", "pin"][..]), 1..4),
        asked in prop::sample::select(&["a", "b", "c", "pin", "a.pin", "[0].a"][..]),
    ) {
        let value = keys.iter().rev().fold(json!({"pin": "S3CR3T", "id": 0}), |inner, key| {
            let mut own = json!({"b": 1, "id": 2, "pin": "S3CR3T"});
            own[*key] = inner;
            own
        });
        run(async {
            let session = engine().session(Scope::parse("t", "p", "s").unwrap());
            let returned = ToolResult::value(&value).with_tool("search");
            let mut response = session.respond(&call(), returned).await.unwrap();
            let seen = response.observe("one", |full| full.document().raw().to_vec());
            assert_eq!(seen, value.to_string().into_bytes());
            let cut = response.cut(&include(asked)).await.unwrap();
            let cut: Value = serde_json::from_slice(&cut.json).unwrap();
            assert!(!cut.to_string().contains("S3CR3T"), "{cut}");
            let named = asked.split('.').next().unwrap_or_default();
            let kept = cut.as_object().unwrap().keys();
            for key in kept {
                assert!(key == named || key == "id" || named == "[0]", "{asked}: {cut}");
            }
            // What is stored is what came.
            let kept = session.get(&call()).await.unwrap();
            assert_eq!(kept.document().raw(), &value.to_string());
        });
    }
}
