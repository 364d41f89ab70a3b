//! Lists that take much: what they cost others, and what of them is worked on.

use super::super::{Caller, ClientTools, ServerList, Tools};
use crate::{
    Revision,
    budget::Budget,
    config::{GatewayConfig, Prefix, ServerConfig},
    metrics::Metrics,
    principal::Principal,
};
use bytes::Bytes;
use crossfeed_core::{Engine, EngineOptions};
use serde_json::{Value, json};
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

fn tools(profile: Option<&str>) -> Tools {
    let mut config = GatewayConfig::from_command("none", Vec::new());
    let transport = config.servers[0].transport.clone();
    let servers = ["a", "b"].map(|name| {
        let mut server = ServerConfig::new(name, transport.clone());
        server.profile = profile.map(str::to_owned);
        server
    });
    config.servers = servers.to_vec();
    config.prefix = Prefix::Collisions;
    let engine = Engine::in_memory(EngineOptions::default());
    Tools::new(engine, Arc::new(config))
}

fn client(tools: &Tools) -> ClientTools {
    let session = Some("s".to_owned());
    tools.for_caller(Caller::new(
        Principal::Local,
        session,
        Revision::V2025_11_25,
    ))
}

fn page(tools: &[Value]) -> ServerList {
    let page = json!({ "tools": tools }).to_string();
    ServerList::new(0, vec![page.into()])
}

fn tool(name: &str, description: &str) -> Value {
    json!({"name": name, "description": description, "inputSchema": {
        "type": "object", "properties": {"x": {"type": "string"}},
    }})
}

/// What takes long to compile, and is another for each number.
fn costly(number: usize) -> Value {
    json!({"name": format!("t{number}"), "inputSchema": {"type": "object", "properties": {
        "x": {"type": "string", "pattern": format!("(a{{1,{}}}){{1,1000}}", 900 + number)},
        "y": {"type": "string", "pattern": format!("^(([a-z])+.)+[A-Z]([a-z]){{1,{}}}$", number + 1)},
    }}})
}

/// The tool of a list with this name.
fn listed(list: &Bytes, name: &str) -> Value {
    let list: Value = serde_json::from_slice(list).unwrap();
    let tools = list["tools"].as_array().unwrap();
    tools
        .iter()
        .find(|tool| tool["name"] == *name)
        .unwrap()
        .clone()
}

/// The one thread goes on with other things while a list is made.
#[tokio::test]
async fn a_list_holds_up_nothing_else() {
    let tools = tools(None);
    let client = client(&tools);
    let turns = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&turns);
    let others = tokio::spawn(async move {
        loop {
            counter.fetch_add(1, Ordering::Relaxed);
            tokio::task::yield_now().await;
        }
    });
    let many: Vec<_> = (0..40).map(costly).collect();
    let before = turns.load(Ordering::Relaxed);
    client.list(&[page(&many)]).await;
    let taken = turns.load(Ordering::Relaxed) - before;
    assert!(taken > 3, "{taken}");
    others.abort();
}

#[tokio::test]
async fn a_tool_that_changes_costs_one_tool() {
    let tools = tools(None);
    let client = client(&tools);
    let mut all: Vec<_> = (0..20)
        .map(|number| tool(&format!("t{number}"), "same"))
        .collect();
    client.list(&[page(&all)]).await;
    assert_eq!(tools.listings.worked(0).await, 20);
    all[7] = tool("t7", "another");
    let list = client.list(&[page(&all)]).await;
    assert_eq!(tools.listings.worked(0).await, 21);
    let shown = listed(&list, "t7");
    assert_eq!(shown["description"], "another");
    assert!(
        shown["inputSchema"]["properties"]["_refs"].is_object(),
        "{shown}"
    );
    // For other clients and in another order it is the same work, and another server's is its own.
    all.reverse();
    let other = tools.for_caller(Caller::new(Principal::Local, None, Revision::V2026_07_28));
    other.list(&[page(&all)]).await;
    assert_eq!(tools.listings.worked(0).await, 21);
}

/// What is more than a list may hold is listed as it came, without its output schema, and takes no
/// references; all else is as if it were alone.
#[tokio::test]
async fn what_is_too_large_is_listed_as_it_came() {
    for profile in [None, Some("anthropic-strict")] {
        let tools = tools(profile);
        let client = client(&tools);
        let mut large = tool("large", &"x".repeat(2 << 20));
        large["outputSchema"] = json!({"type": "array"});
        large["inputSchema"]["properties"]["x"]["x-mcp-header"] = json!("Region");
        let list = client
            .list(&[page(&[tool("first", ""), large.clone(), tool("last", "")])])
            .await;
        let shown = listed(&list, "large");
        assert_eq!(shown["inputSchema"], large["inputSchema"]);
        assert_eq!(shown.get("outputSchema"), None);
        let report = client.report();
        let refused = |name: &str| {
            let mut tools = report.iter().filter(|tool| tool.name == name);
            tools.next().unwrap().refused.clone()
        };
        assert_eq!(refused("first"), None);
        assert_eq!(refused("last"), None);
        let why = refused("large").unwrap();
        assert!(why.contains("more time or room"), "{why}");
        // Many that are large together.
        let many: Vec<_> = (0..10)
            .map(|number| tool(&format!("t{number}"), &number.to_string().repeat(900 << 10)))
            .collect();
        client.list(&[page(&many)]).await;
        let report = client.report();
        let judged = report.iter().take_while(|tool| tool.refused.is_none());
        assert_eq!(judged.count(), 9);
        assert!(report[9].refused.is_some());
    }
}

/// A server whose time is over gets it back; until then its tools are listed as they came.
#[tokio::test]
async fn what_takes_too_long_is_listed_as_it_came() {
    for profile in [None, Some("anthropic-strict")] {
        let tools = tools(profile);
        let client = client(&tools);
        tools.listings.exhaust(0, Duration::from_secs(3600)).await;
        let list = client.list(&[page(&[tool("t", "")])]).await;
        assert_eq!(
            listed(&list, "t")["inputSchema"],
            tool("t", "")["inputSchema"]
        );
        assert!(client.report()[0].refused.is_some());
        // The other server has its own.
        let other = ServerList::new(1, page(&[tool("t", "")]).pages);
        client.list(&[other]).await;
        assert_eq!(client.report()[0].refused, None);
        tools.listings.exhaust(0, Duration::ZERO).await;
        client.list(&[page(&[tool("t", "")])]).await;
        assert_eq!(client.report()[0].refused, None);
    }
}

/// A call of a tool that was not judged holds no references, but may be made.
#[tokio::test]
async fn what_was_not_judged_takes_no_references() {
    use super::super::Call;
    let tools = tools(None);
    let client = client(&tools);
    client
        .list(&[page(&[
            tool("large", &"x".repeat(2 << 20)),
            tool("small", ""),
        ])])
        .await;
    let params = |arguments: Value| {
        let params = json!({"name": "large", "arguments": arguments});
        Bytes::from(params.to_string())
    };
    assert!(matches!(
        client.call(params(json!({"x": "a"}))).await,
        Call::Forward(_)
    ));
    let Call::Answered(answer) = client.call(params(json!({"x": {"$tool": "call_1"}}))).await
    else {
        panic!("a reference was passed on");
    };
    let answer = String::from_utf8_lossy(&answer).into_owned();
    assert!(answer.contains("schema.invalid"), "{answer}");
}

#[tokio::test]
async fn a_large_list_is_charged_to_who_has_it() {
    let budget = Budget::new(10 << 20, 1, 0, &Metrics::new());
    let tools = tools(None).with_budget(&budget);
    let list = |bytes: usize| [page(&[tool("a", &"x".repeat(bytes))])];
    let one = client(&tools);
    let asked = one.reader(None).unwrap();
    let listed = one.list_within(&list(1 << 20), true, &asked).await;
    assert!(listed.is_some_and(|listed| listed.len() > 1 << 20));
    let held = budget.held();
    assert!((1 << 20..2 << 20).contains(&held), "{held}");
    // What there is no room for is not made; what was listed stays.
    assert!(
        one.list_within(&list(6 << 20), true, &asked)
            .await
            .is_none()
    );
    assert_eq!(budget.held(), held);
    // Nothing keeps it when the client is gone.
    drop(one);
    assert_eq!(budget.held(), 0);
    let two = client(&tools);
    assert!(
        two.list_within(&list(100 << 10), true, &asked)
            .await
            .is_some()
    );
    assert_eq!(budget.held(), 0);
}

#[tokio::test]
async fn putting_lists_together_takes_time_off_what_servers_have() {
    let tools = tools(None);
    let client = client(&tools);
    let many: Vec<_> = (0..20_000).map(|n| tool(&format!("t{n}"), "x")).collect();
    tools.listings.exhaust(0, Duration::ZERO).await;
    client.list(&[page(&many)]).await;
    assert!(tools.listings.spent(0) > Duration::ZERO);
}
