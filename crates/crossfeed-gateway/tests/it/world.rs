//! Servers on loopback, a gateway to them, and clients of either era.

use async_trait::async_trait;
use crossfeed_core::{Engine, EngineOptions};
use crossfeed_fixture::{Options, serve_http};
use crossfeed_gateway::{
    config::{Eras, GatewayConfig, ServerConfig, TransportConfig},
    hub::Gateway,
    message::Message,
    metrics::Metrics,
    port::{Disconnected, Hub, HubClient, MessageSink},
    principal::Principal,
    tools::Tools,
    upstream,
};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::{
    net::TcpListener,
    sync::{Mutex, mpsc},
    task::JoinHandle,
};

/// What is awaited comes within this, or never.
const SOON: Duration = Duration::from_secs(30);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Era {
    Session,
    Stateless,
}

/// A gateway, and the servers behind it, which end with it.
pub(crate) struct World {
    pub(crate) gateway: Arc<Gateway>,
    servers: Vec<JoinHandle<()>>,
}

impl Drop for World {
    fn drop(&mut self) {
        for server in &self.servers {
            server.abort();
        }
    }
}

impl World {
    pub(crate) async fn new(servers: &[(&str, Era)]) -> Self {
        let mut config = GatewayConfig::default();
        config.eras = Eras::All;
        let mut running = Vec::new();
        for (name, era) in servers {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let url = format!("http://{}/mcp", listener.local_addr().unwrap());
            let mut options = Options::default();
            options.session = *era == Era::Session;
            options.stateless = *era == Era::Stateless;
            options.name = (*name).to_owned();
            running.push(tokio::spawn(async move {
                serve_http(listener, options).await.unwrap();
            }));
            let transport = TransportConfig::Http {
                url,
                from_variables: Vec::new(),
                insecure: false,
                headers: BTreeMap::new(),
                oauth: None,
            };
            config.servers.push(ServerConfig::new(*name, transport));
        }
        let connectors = config
            .servers
            .iter()
            .map(|server| {
                let (limits, environment) = (&config.limits, BTreeMap::new());
                upstream::connector(server, limits, &environment, &Metrics::new(), None).unwrap()
            })
            .collect();
        let engine = Engine::in_memory(EngineOptions::default());
        let tools = Tools::new(engine, Arc::new(config.clone()));
        Self {
            gateway: Gateway::new(config, connectors, tools, &Metrics::new()),
            servers: running,
        }
    }

    /// A client that has introduced itself.
    pub(crate) async fn client(&self, era: Era) -> Peer {
        let (sender, inbox) = mpsc::unbounded_channel();
        let outlet: Arc<dyn MessageSink> = Arc::new(Inbox(sender));
        let client = Arc::clone(&self.gateway).connect(Principal::Local, Arc::clone(&outlet));
        let peer = Peer {
            client,
            era,
            outlet,
            inbox: Mutex::new(inbox),
            ids: AtomicU64::new(1),
        };
        if era == Era::Session {
            let hello = json!({
                "protocolVersion": "2025-11-25",
                "capabilities": capabilities(),
                "clientInfo": {"name": "it", "version": "0"},
            });
            peer.result("initialize", hello).await;
            peer.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
                .await;
        } else {
            peer.result("server/discover", json!({})).await;
        }
        peer
    }
}

fn capabilities() -> Value {
    json!({"sampling": {}, "elicitation": {"form": {}}, "roots": {}})
}

struct Inbox(mpsc::UnboundedSender<Message>);

#[async_trait]
impl MessageSink for Inbox {
    async fn send(&self, message: Message) -> Result<(), Disconnected> {
        // A client that is gone is one that nobody asks any longer.
        let _ = self.0.send(message);
        Ok(())
    }
}

/// A client.
pub(crate) struct Peer {
    pub(crate) client: Arc<dyn HubClient>,
    pub(crate) era: Era,
    outlet: Arc<dyn MessageSink>,
    inbox: Mutex<mpsc::UnboundedReceiver<Message>>,
    ids: AtomicU64,
}

/// An answer, and the methods of what came before it.
pub(crate) struct Answered {
    pub(crate) answer: Value,
    pub(crate) before: Vec<String>,
}

impl Peer {
    async fn say(&self, message: &Value) {
        let message = Message::parse(message.to_string()).unwrap();
        Arc::clone(&self.client)
            .receive(message, Arc::clone(&self.outlet))
            .await;
    }

    async fn next(&self) -> Value {
        let mut inbox = self.inbox.lock().await;
        let next = tokio::time::timeout(SOON, inbox.recv()).await;
        let next = next.expect("nothing came").expect("closed");
        serde_json::from_slice(&next.to_bytes()).unwrap()
    }

    /// Asks, and does what is asked back meanwhile.
    pub(crate) async fn ask(&self, method: &str, mut params: Value) -> Answered {
        let mut before = Vec::new();
        loop {
            let id = self.ids.fetch_add(1, Ordering::Relaxed);
            if self.era == Era::Stateless {
                params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
                params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = capabilities();
                params["_meta"]["io.modelcontextprotocol/clientInfo"] =
                    json!({"name": "it", "version": "0"});
            }
            self.say(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
                .await;
            let answer = loop {
                let next = self.next().await;
                match (next["method"].as_str(), next.get("id")) {
                    (Some(asked), Some(id)) => {
                        before.push(asked.to_owned());
                        let result = given(asked);
                        self.say(&json!({"jsonrpc": "2.0", "id": id, "result": result}))
                            .await;
                    }
                    (Some(told), None) => before.push(told.to_owned()),
                    (None, Some(of)) if *of == json!(id) => break next,
                    _ => panic!("not asked for: {next}"),
                }
            };
            let result = &answer["result"];
            if result["resultType"] != "input_required" {
                return Answered { answer, before };
            }
            let mut responses = json!({});
            for (key, request) in result["inputRequests"].as_object().unwrap() {
                let asked = request["method"].as_str().unwrap();
                before.push(asked.to_owned());
                responses[key] = given(asked);
            }
            params["inputResponses"] = responses;
            if let Some(state) = result.get("requestState") {
                params["requestState"] = state.clone();
            }
        }
    }

    pub(crate) async fn result(&self, method: &str, params: Value) -> Value {
        let mut answer = self.ask(method, params).await.answer;
        assert!(answer.get("result").is_some(), "{method}: {answer}");
        answer["result"].take()
    }

    pub(crate) async fn call(&self, name: &str, arguments: Value) -> Answered {
        self.ask(
            "tools/call",
            json!({"name": name, "arguments": arguments, "_meta": {"progressToken": "token"}}),
        )
        .await
    }

    /// The names of all tools.
    pub(crate) async fn tools(&self) -> Vec<String> {
        let list = self.result("tools/list", json!({})).await;
        let tools = list["tools"].as_array().unwrap().iter();
        tools
            .map(|tool| tool["name"].as_str().unwrap().to_owned())
            .collect()
    }
}

/// What the user, or the user's model, says when it is asked.
fn given(method: &str) -> Value {
    match method {
        "sampling/createMessage" => json!({
            "role": "assistant",
            "content": {"type": "text", "text": "sampled"},
            "model": "m",
        }),
        "elicitation/create" => json!({"action": "accept", "content": {"username": "u"}}),
        "roots/list" => json!({"roots": []}),
        _ => json!({}),
    }
}
