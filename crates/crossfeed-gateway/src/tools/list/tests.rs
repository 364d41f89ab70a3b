//! Lists of servers as clients see them.

use super::super::{Caller, ServerList, Tools};
use crate::config::ClientName;
use crate::{
    Revision,
    config::{GatewayConfig, Prefix, ServerConfig, TransportConfig},
    principal::Principal,
};
use bytes::Bytes;
use crossfeed_core::{Engine, EngineOptions};
use serde_json::{Value, json};
use std::{collections::BTreeMap, sync::Arc};

fn server(name: &str) -> ServerConfig {
    let transport = TransportConfig::Stdio {
        command: "none".to_owned(),
        args: Vec::new(),
        env: BTreeMap::new(),
        cwd: None,
    };
    ServerConfig::new(name, transport)
}

/// The list that a client sees of servers with these pages.
async fn listed(servers: Vec<ServerConfig>, pages: &[&[&str]], client: Option<&str>) -> Bytes {
    listed_at(Revision::V2025_11_25, servers, pages, client).await
}

async fn listed_at(
    revision: Revision,
    servers: Vec<ServerConfig>,
    pages: &[&[&str]],
    client: Option<&str>,
) -> Bytes {
    let config = GatewayConfig {
        servers,
        prefix: Prefix::Collisions,
        ..GatewayConfig::default()
    };
    let engine = Engine::in_memory(EngineOptions::default());
    let tools = Tools::new(engine, Arc::new(config));
    let mut caller = Caller::new(Principal::Local, Some("s".to_owned()), revision);
    caller.client = client.map(|name| ClientName::new(name, None));
    let client = tools.for_caller(caller);
    let lists: Vec<_> = pages
        .iter()
        .enumerate()
        .map(|(server, pages)| {
            let pages = pages.iter().map(|page| Bytes::from((*page).to_owned()));
            ServerList::new(server, pages.collect())
        })
        .collect();
    let list = client.list(&lists).await;
    assert_eq!(client.list(&lists).await, list);
    assert!(client.is_listed());
    list
}

/// The tools behind the gateway's own.
fn own(list: &Bytes) -> Vec<Value> {
    let list: Value = serde_json::from_slice(list).unwrap();
    let tools = list["tools"].as_array().unwrap();
    tools.iter().skip(3).cloned().collect()
}

async fn check(page: &str, expected: Value) {
    let list = listed(vec![server("a")], &[&[page]], None).await;
    assert_eq!(Value::from(own(&list)), expected, "{page}");
}

#[tokio::test]
async fn only_what_must_changes() {
    let tool = r#"{"x":  1.50,"name":"t","inputSchema":{"type": "object"} , "_meta":{"a":1e400}}"#;
    let page =
        format!(r#"{{"_meta":{{"b":12345678901234567890123}},"tools":[{tool}],"nextCursor":"n"}}"#);
    let list = listed(vec![server("a")], &[&[&page]], None).await;
    let list = String::from_utf8(list.to_vec()).unwrap();
    assert!(list.starts_with(
        r#"{"_meta":{"b":12345678901234567890123},"tools":[{"name":"inspect_tool_output","#
    ));
    assert!(list.ends_with(&format!("{tool}]}}")), "{list}");
}

#[tokio::test]
async fn schemas_admit_references() {
    let schema =
        json!({"type": "object", "properties": {"url": {"type": "string"}}, "required": ["url"]});
    let output =
        json!({"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]});
    let tools = json!({"tools": [
        {"name": "t", "description": "Fetches.", "inputSchema": schema, "outputSchema": output, "annotations": {"title": "T"}},
        {"name": "kept", "inputSchema": schema, "outputSchema": output, "_meta": {"dev.crossfeed/chain": false}},
        {"name": "page", "inputSchema": {"type": "object"}, "outputSchema": output, "_meta": {"ui": {"resourceUri": "ui://x"}}},
        {"name": "list", "inputSchema": {"type": "object"}, "outputSchema": {"type": "array"}},
        {"name": "bad", "inputSchema": {"type": "objekt"}},
        {"name": "many", "inputSchema": {"type": "object"}, "outputSchema": {"type": "array"}, "_meta": {"dev.crossfeed/chain": false}},
    ]});
    let list = listed(vec![server("a")], &[&[&tools.to_string()]], None).await;
    let list = own(&list);
    let properties = list[0]["inputSchema"]["properties"].as_object().unwrap();
    assert!(properties.contains_key("_refs"), "{properties:?}");
    assert_eq!(properties["url"], json!({"type": ["string", "null"]}));
    assert_eq!(
        list[0]["description"],
        "Fetches.\n\noutput_fields:\nid: string"
    );
    assert!(list[0].get("outputSchema").is_none());
    assert_eq!(list[0]["annotations"], json!({"title": "T"}));
    let came = |index: usize| tools["tools"][index].clone();
    assert_eq!(list[1], came(1));
    assert_eq!(list[2]["outputSchema"], output);
    assert_eq!(
        list[3],
        json!({"name": "list", "inputSchema": {"type": "object"}})
    );
    assert_eq!(list[4], came(4));
    // A client of this revision would refuse the whole list for it.
    assert!(list[5].get("outputSchema").is_none());

    // What was listed by another gateway comes through again.
    let again = json!({ "tools": list });
    let twice = listed(vec![server("b")], &[&[&again.to_string()]], None).await;
    assert_eq!(own(&twice), list);

    // A client that is known gets what its provider takes.
    let known = listed(
        vec![server("a")],
        &[&[&tools.to_string()]],
        Some("claude-code"),
    )
    .await;
    let shown = &own(&known)[0]["inputSchema"]["properties"];
    assert!(
        shown["url"]["anyOf"].is_array() && shown.get("_refs").is_none(),
        "{shown}"
    );
}

#[tokio::test]
async fn what_is_no_tool_is_not_listed() {
    check(r#"{"tools":[1,{},{"name":7},null]}"#, json!([])).await;
    check(r#"{"tools":{}}"#, json!([])).await;
    check("[]", json!([])).await;
    check("{", json!([])).await;
}

#[tokio::test]
async fn names_collide_and_tools_are_denied() {
    let tools = |names: &[&str]| {
        let tools: Vec<_> = names
            .iter()
            .map(|name| json!({"name": name, "inputSchema": {"type": "object"}}))
            .collect();
        json!({ "tools": tools }).to_string()
    };
    let (mut a, b) = (server("a"), server("b"));
    a.allow = vec!["s*".to_owned(), "read_result".to_owned()];
    a.deny = vec!["*_all".to_owned()];
    let first = tools(&["search", "search_all", "other", "read_result"]);
    let second = tools(&["search", "other"]);
    let list = listed(vec![a, b], &[&[&first], &[&second]], None).await;
    let list = own(&list);
    let names: Vec<_> = list
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["a__search", "a__read_result", "b__search", "other"]);
}

/// What must hold of every list of real servers, for every client.
async fn check_listed(file: &str, page: &str, client: Option<&str>) {
    let came: Value = serde_json::from_str(page).unwrap();
    let list = listed(vec![server("a")], &[&[page]], client).await;
    let tools = own(&list);
    let names =
        |tools: &[Value]| -> Vec<Value> { tools.iter().map(|tool| tool["name"].clone()).collect() };
    let came = came["tools"].as_array().unwrap();
    assert_eq!(names(&tools), names(came), "{file}");
    for (tool, came) in tools.iter().zip(came) {
        let place = format!("{file} {}", tool["name"]);
        let schema = &tool["inputSchema"];
        if schema != &came["inputSchema"] {
            assert_eq!(schema["type"], "object", "{place}");
            for word in ["anyOf", "oneOf", "allOf"] {
                assert!(schema.get(word).is_none(), "{place}");
            }
            crossfeed_schema::check(schema).unwrap_or_else(|error| panic!("{place}: {error}"));
        }
        // A tool with a page of its own is left alone.
        let has_page = crossfeed_mcp::Tool::read(came).has_page;
        if let Some(output) = tool.get("outputSchema").filter(|_| !has_page) {
            let judge = crossfeed_schema::compile(output).unwrap();
            // What says no more than the call id conforms.
            assert!(judge.is_valid(&json!({"_toolCallId": "call_1"})), "{place}");
        }
        for (key, value) in came.as_object().unwrap() {
            let changes = ["inputSchema", "outputSchema", "description"].contains(&key.as_str());
            assert!(changes || tool[key] == *value, "{place} {key}");
        }
    }
    let again = json!({ "tools": tools }).to_string();
    let twice = listed(vec![server("a")], &[&[&again]], client).await;
    for (twice, once) in own(&twice).iter().zip(&tools) {
        assert_eq!(twice, once, "{file} {}", once["name"]);
    }
}

#[tokio::test]
async fn lists_of_real_servers_stay_what_clients_take() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/corpora/tools");
    let entries = std::fs::read_dir(folder).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let is_list = |path: &std::path::PathBuf| path.extension().is_some_and(|own| own == "json");
    let mut paths: Vec<_> = paths.filter(is_list).collect();
    paths.sort();
    assert!(paths.len() > 30);
    // Some, for one client each: all of them take minutes without optimisation.
    let clients = [None, Some("claude-code"), Some("codex-mcp-client")];
    for (path, client) in paths.iter().step_by(8).zip(clients.into_iter().cycle()) {
        let page = std::fs::read_to_string(path).unwrap();
        let file = path.file_name().unwrap().to_string_lossy().into_owned();
        check_listed(&file, &page, client).await;
    }
}

/// A tool that is never chained is listed with the bytes that came, unless a provider refuses them.
#[tokio::test]
async fn what_is_never_chained_keeps_its_root() {
    let typed = r#"{"type":"object", "anyOf":[{"required":["a"]}], "allOf":[{"not":{"required":["z"]}}], "oneOf":[{}]}"#;
    let untyped = r#"{"anyOf":[{"type":"object","properties":{"a":{"type":"string"}}}]}"#;
    let shown = async |revision, client, schema: &str| {
        let mut config = server("a");
        config.never_chain = vec!["*".to_owned()];
        let page = format!(r#"{{"tools":[{{"name":"t", "inputSchema":{schema}}}]}}"#);
        listed_at(revision, vec![config], &[&[&page]], client).await
    };
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let list = shown(revision, None, typed).await;
        let kept = format!(r#"{{"name":"t", "inputSchema":{typed}}}"#);
        assert!(String::from_utf8_lossy(&list).contains(&kept));
        // This provider refuses it.
        let list = shown(revision, Some("codex-mcp-client"), typed).await;
        assert_eq!(own(&list)[0]["inputSchema"].get("anyOf"), None);
    }
    // Clients with sessions refuse a whole list for it.
    let list = shown(Revision::V2025_11_25, None, untyped).await;
    assert_eq!(own(&list)[0]["inputSchema"]["type"], "object");
    let list = shown(Revision::V2026_07_28, None, untyped).await;
    assert_eq!(
        own(&list)[0]["inputSchema"],
        serde_json::from_str::<Value>(untyped).unwrap()
    );
}

/// A root that does not say that it is an object is listed without what it combines to clients with sessions.
#[tokio::test]
async fn a_root_without_a_type_is_not_combined_for_older_clients() {
    let page = r#"{"tools":[{"name":"t","inputSchema":{"anyOf":[{"required":["a"]},{"required":["b"]}],"properties":{"a":{},"b":{}}}}]}"#;
    let list = listed_at(Revision::V2025_11_25, vec![server("a")], &[&[page]], None).await;
    assert_eq!(own(&list)[0]["inputSchema"].get("anyOf"), None);
    let list = listed_at(Revision::V2026_07_28, vec![server("a")], &[&[page]], None).await;
    assert!(own(&list)[0]["inputSchema"].get("anyOf").is_some());
}

/// What the root of a schema combines is listed where the protocol and the profile let it be.
#[tokio::test]
async fn roots_stay_combined_where_they_may() {
    let page = json!({"tools": [{"name": "t", "inputSchema": {
        "type": "object",
        "properties": {"by": {"enum": ["phone", "email"]}, "phone": {"type": "string"}, "email": {"type": "string"}},
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"by": {"const": "phone"}}, "required": ["by"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": false,
    }}]})
    .to_string();
    let of = |revision, client| {
        let page = page.clone();
        async move {
            let list = listed_at(revision, vec![server("a")], &[&[&page]], client).await;
            own(&list)[0]["inputSchema"].clone()
        }
    };
    let shown = of(Revision::V2026_07_28, None).await;
    let either = json!({"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]});
    assert_eq!(shown["allOf"], json!([either]));
    assert_eq!((&shown["then"], &shown["else"]), (&either, &either));
    assert_eq!(shown["if"]["required"], json!(["by"]));
    let judge = crossfeed_schema::compile(&shown).unwrap();
    for arguments in [
        json!({"by": "phone", "phone": "1"}),
        json!({"by": null, "email": null, "_refs": {
            "by": {"_tool": "call_1", "_select": "by"}, "email": {"_tool": "call_1", "_select": "a"}}}),
    ] {
        assert!(judge.is_valid(&arguments), "{arguments} {shown}");
    }
    assert_eq!(of(Revision::V2025_11_25, None).await, shown);
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let shown = of(revision, Some("codex-mcp-client")).await;
        assert!(shown.get("allOf").is_none() && shown.get("if").is_none());
    }
    // Listed again, by a gateway behind this one, it stays.
    let again = json!({"tools": [{"name": "t", "inputSchema": shown}]}).to_string();
    let list = listed_at(Revision::V2026_07_28, vec![server("a")], &[&[&again]], None).await;
    assert_eq!(own(&list)[0]["inputSchema"], shown);
}
