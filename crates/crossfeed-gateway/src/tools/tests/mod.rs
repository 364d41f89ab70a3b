//! Calls and results, from what a client writes to what it sees.

mod advice;
mod apart;
mod asked;
mod calls;
mod conversations;
mod flows;
mod inputs;
mod kept;
mod laws;
mod notices;
mod offered;
mod own;
mod refused;
mod repeatable;
mod replicas;
mod resources;
mod results;
mod room;
mod saves;
mod tasks;
mod unlisted;
mod views;

use super::{Call, Caller, ClientTools, Forward, ServerList, Tools};
use crate::{
    Revision,
    config::{FlowRule, GatewayConfig, Prefix, ServerConfig, TransportConfig},
    principal::Principal,
    records::fake::LastingStore,
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

/// A gateway to servers that list these tools.
struct World {
    tools: Tools,
    lists: Vec<ServerList>,
}

impl World {
    fn new(servers: Vec<(ServerConfig, Value)>, flows: Vec<FlowRule>) -> Self {
        let lists = servers.iter().enumerate().map(|(index, (_, tools))| {
            let page = json!({ "tools": tools }).to_string();
            ServerList::new(index, vec![page.into()])
        });
        let lists = lists.collect();
        let config = GatewayConfig {
            servers: servers.into_iter().map(|(server, _)| server).collect(),
            flows,
            prefix: Prefix::Collisions,
            ..GatewayConfig::default()
        };
        // As the command does.
        let calls = config.limits.requests_per_client;
        let engine = Engine::in_memory(EngineOptions::default().with_max_in_flight(calls));
        Self {
            tools: Tools::new(engine, Arc::new(config)),
            lists,
        }
    }

    /// One server's process over a store that others may have used before; `session` is the local client's.
    async fn over(store: &Arc<LastingStore>, session: Option<&str>, flows: Vec<FlowRule>) -> Self {
        Self::of(store, session, vec![(server("a"), tools())], flows).await
    }

    /// The same with several servers.
    async fn of(
        store: &Arc<LastingStore>,
        session: Option<&str>,
        servers: Vec<(ServerConfig, Value)>,
        flows: Vec<FlowRule>,
    ) -> Self {
        let mut world = Self::new(servers, flows);
        let config = GatewayConfig {
            session: session.map(str::to_owned),
            prefix: Prefix::Always,
            ..(*world.tools.config).clone()
        };
        let engine = Engine::new(EngineOptions::default(), store.clone());
        let tools = Tools::new(engine, Arc::new(config));
        world.tools = tools.with_records(store.clone()).await.unwrap();
        world
    }

    async fn client(&self, caller: Caller) -> ClientTools {
        let client = self.tools.for_caller(caller);
        client.list(&self.lists).await;
        client
    }
}

fn local() -> Caller {
    Caller::new(
        Principal::Local,
        Some("s".to_owned()),
        Revision::V2025_11_25,
    )
}

/// Two tools: one whose output has a schema, one that takes anything.
fn tools() -> Value {
    json!([
        {"name": "search", "inputSchema": {"type": "object", "properties": {"q": {"type": "string"}}}},
        {"name": "fetch", "inputSchema": {"type": "object", "properties": {
            "url": {"type": "string"}, "region": {"type": "string", "x-mcp-header": "Region"}, "any": {},
        }, "required": ["url"], "additionalProperties": false}},
        {"name": "typed", "inputSchema": {"type": "object"}, "outputSchema": {
            "type": "object",
            "properties": {"items": {"type": "array", "items": {"type": "object"}}, "n": {"type": "integer"}},
            "required": ["items"],
            "additionalProperties": false,
        }},
        {"name": "page", "inputSchema": {"type": "object"}, "_meta": {"ui": {"resourceUri": "ui://x"}}},
        {"name": "secret", "inputSchema": {"type": "object"}, "_meta": {"dev.crossfeed/chain": false}},
    ])
}

async fn one() -> ClientTools {
    let world = World::new(vec![(server("a"), tools())], Vec::new());
    world.client(local()).await
}

fn params(name: &str, arguments: Value) -> Bytes {
    json!({"name": name, "arguments": arguments})
        .to_string()
        .into()
}

async fn forward(client: &ClientTools, params: Bytes) -> Forward {
    match client.call(params).await {
        Call::Forward(forward) => forward,
        Call::Answered(answer) => panic!("{}", String::from_utf8_lossy(&answer)),
        Call::Refused(error) => panic!("{error:?}"),
    }
}

async fn answered(client: &ClientTools, params: Bytes) -> Value {
    match client.call(params).await {
        Call::Answered(answer) => serde_json::from_slice(&answer).unwrap(),
        Call::Forward(forward) => panic!("{}", String::from_utf8_lossy(&forward.params)),
        Call::Refused(error) => panic!("{error:?}"),
    }
}

/// Calls a tool that gives `result`, and what the client sees.
async fn returned(client: &ClientTools, name: &str, result: Value) -> Value {
    let forward = forward(client, params(name, json!({}))).await;
    let shown = forward.pending.finish(result.to_string().into()).await;
    serde_json::from_slice(&shown).unwrap()
}

/// The text of an answer that is an error.
fn error(answer: &Value) -> &str {
    assert_eq!(answer["isError"], json!(true), "{answer}");
    answer["content"][0]["text"].as_str().unwrap()
}

fn id_part(id: &str) -> Value {
    json!({"type": "text", "text": format!("{{\"_toolCallId\":\"{id}\"}}")})
}

fn id_part_of_many(id: &str) -> Value {
    let how = "refer to the parts above as [0], [1], …";
    let text = format!("{{\"_toolCallId\":\"{id}\",\"_crossfeedParts\":\"{how}\"}}");
    json!({"type": "text", "text": text})
}
