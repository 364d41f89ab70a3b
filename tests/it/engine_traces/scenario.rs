//! A session that does everything that is said of one.

use super::pipeline::id;
use crossfeed_core::{
    Engine, EngineOptions, HintDetail, NewArtifact, ProjectOptions, RenderOptions, Session,
    ToolResult,
};
use crossfeed_edit::EditLimits;
use crossfeed_projection::ProjectionRequest;
use crossfeed_tools::{ListOptions, Style, ToolList, rewrite_tools};
use crossfeed_wire::{ArtifactId, Scope, TraceContext};
use serde_json::{Value, json};

const FOUND: &str = r#"{"items": [{"title": "A", "status": "open", "n": 1}, {"title": "B", "status": "done", "n": 2}], "total": 2}"#;

pub(super) const TRACEPARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

/// Runs it.
pub(super) async fn everything(engine: Engine) {
    let session = engine.session(Scope::parse("t", "p", "s").unwrap());
    calls(&session).await;
    resolutions(&engine, &session).await;
    unlinked().await;
    shown(&session).await;
    session.close().await.unwrap();
}

async fn calls(session: &Session) {
    let parent = TraceContext::parse(TRACEPARENT, None).unwrap();
    let search = session.begin(&id("search")).await.unwrap();
    let search = search.with_parent(&parent).with_tool("search");
    search.complete(ToolResult::json(FOUND)).await.unwrap();
    drop(search);

    let fetch = session
        .begin(&id("fetch"))
        .await
        .unwrap()
        .with_tool("fetch");
    let arguments = json!({
        "repaired": {"$tool": "search", "$select": "items[?status == open].title | [0]"},
        "default": {"$tool": "search", "$select": "missing", "$default": 1},
        "whole": {"$tool": "search"},
        "edited": {"$tool": "search", "$select": "items[0]", "$merge": {"n": 3}},
    });
    fetch.session().resolve(arguments, None).await.unwrap();
    fetch.fail("no such page").await.unwrap();
    drop(fetch);

    drop(session.begin(&id("lost")).await.unwrap());

    // One waits for the other.
    let slow = session.begin(&id("slow")).await.unwrap().with_tool("slow");
    let next = session.begin(&id("next")).await.unwrap();
    let waiting = next
        .session()
        .resolve(json!({"n": {"$tool": "slow"}}), None);
    let returning = async {
        tokio::task::yield_now().await;
        slow.complete(ToolResult::json("[1]")).await
    };
    let (resolved, returned) = tokio::join!(waiting, returning);
    resolved.unwrap();
    returned.unwrap();
}

async fn resolutions(engine: &Engine, session: &Session) {
    for (call, result) in [("again", "[1]"), ("again", "[1]"), ("again", "[2]")] {
        let result = ToolResult::json(result).with_tool("echo");
        let _ = session.record(&id(call), result).await;
    }
    let tools = json!([{"name": "count", "inputSchema": {
        "type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"],
    }}]);
    let tools = rewrite_tools(
        &ToolList::parse(&tools).unwrap(),
        &ListOptions::style(Style::Inline),
    );
    let count = engine.prepare(tools.find("count").unwrap().clone());
    for select in [
        "items[0].n",
        "items[0].title",
        "items[?n == `1`",
        "items[0].x",
        "$.total",
    ] {
        let arguments = json!({"n": {"$tool": "search", "$select": select}});
        let _ = session.resolve_call(&count, arguments).await;
    }
    let unknown = json!({"n": {"$tool": "nobody", "$select": "a.b"}});
    session.resolve(unknown, None).await.unwrap_err();

    let many: Vec<Value> = vec![json!({"$tool": "search", "$select": "total"}); 130];
    session.resolve(json!(many), None).await.unwrap();
}

/// Without telemetry there is nothing to link to.
async fn unlinked() {
    let options = EngineOptions::default().with_edits(EditLimits::default());
    let engine = Engine::in_memory(options);
    let session = engine.session(Scope::parse("t", "p", "s").unwrap());
    let result = ToolResult::json("[1]").with_tool("echo");
    session.record(&id("plain"), result).await.unwrap();
    let arguments = json!({
        "n": {"$tool": "plain", "$select": "[0]"},
        "edited": {"$tool": "plain", "$patch": [{"op": "remove", "path": "/0"}]},
    });
    session.resolve(arguments, None).await.unwrap();
}

async fn shown(session: &Session) {
    let search = id("search");
    session
        .render(&search, &RenderOptions::default())
        .await
        .unwrap();
    session
        .render(&id("nobody"), &RenderOptions::default())
        .await
        .unwrap_err();
    session.hints(&search, HintDetail::Compact).await.unwrap();

    let request = ProjectionRequest::new().with_include(["items.title", "nothing"]);
    let options = ProjectOptions::default().with_request(request);
    session.project(&search, &options).await.unwrap();
    let wrong = ProjectOptions::default().with_select("nothing");
    session.project(&search, &wrong).await.unwrap_err();

    let best = ArtifactId::parse("best").unwrap();
    let artifact = |base: &str| NewArtifact::new(best.clone(), search.clone()).with_base(base);
    session.create_artifact(artifact("items[0]")).await.unwrap();
    session
        .create_artifact(artifact("nothing"))
        .await
        .unwrap_err();
    let arguments = json!({"$artifact": "best", "$tool": "search", "$select": "title"});
    session
        .resolve(json!({"a": arguments}), None)
        .await
        .unwrap();
    let unknown = json!({"$artifact": "other", "$tool": "search"});
    let refused = session.resolve(json!({"a": unknown}), None).await;
    refused.unwrap_err();

    session.retrieve(&search, None).await.unwrap();
    session
        .retrieve_artifact(&best, &search, None)
        .await
        .unwrap();
    session.retrieve(&id("nobody"), None).await.unwrap();
}
