//! Servers and clients in memory, whose every message a test sees.

use crate::{
    Revision,
    config::{GatewayConfig, ServerConfig, TransportConfig},
    hub::Gateway,
    message::{Header, Id, Message, RpcError},
    metrics::Metrics,
    port::{Disconnected, Hub, HubClient, MessageSink},
    principal::Principal,
    tools::Tools,
    upstream::{Connector, Event, Upstream, UpstreamError},
};
use async_trait::async_trait;
use bytes::Bytes;
use crossfeed_core::{Engine, EngineOptions};
use crossfeed_store::ResultStore;
use futures_util::FutureExt as _;
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};
use std::time::Duration;
use tokio::sync::{Mutex, mpsc};

/// What is awaited comes within this, or never.
pub(super) const SOON: Duration = Duration::from_secs(5);

pub(super) fn message(text: &str) -> Message {
    Message::parse(text.to_owned()).unwrap()
}

/// One open connection, as the server sees it.
pub(super) struct Server {
    pub(super) inbox: mpsc::UnboundedReceiver<Message>,
    pub(super) events: mpsc::Sender<Event>,
    pub(super) abandoned: mpsc::UnboundedReceiver<Id>,
}

impl Server {
    pub(super) async fn next(&mut self) -> Message {
        let next = tokio::time::timeout(SOON, self.inbox.recv()).await;
        next.expect("nothing came").expect("closed")
    }

    /// The next message, which has this method.
    pub(super) async fn expect(&mut self, method: &str) -> Message {
        let next = self.next().await;
        assert_eq!(next.method(), Some(method), "{:?}", next.to_bytes());
        next
    }

    pub(super) async fn say(&self, message: Message) {
        let related = None;
        let event = Event::Message { message, related };
        self.events.send(event).await.unwrap();
    }

    pub(super) async fn answer(&self, request: &Message, result: &str) {
        let id = request.id().unwrap();
        self.say(Message::response(id, &Bytes::from(result.to_owned())))
            .await;
    }

    pub(super) async fn refuse(&self, request: &Message, code: i64) {
        let error = RpcError::new(code, "no");
        self.say(Message::failure(request.id(), &error)).await;
    }

    /// Takes part in the beginning of a session.
    pub(super) async fn begin(&mut self, capabilities: &str) {
        let handshake = self.expect("initialize").await;
        self.answer(
            &handshake,
            &format!(r#"{{"protocolVersion":"2025-11-25","capabilities":{capabilities},"serverInfo":{{"name":"fake","version":"1"}}}}"#),
        )
        .await;
    }

    pub(super) fn is_quiet(&mut self) -> bool {
        self.inbox.try_recv().is_err()
    }
}

struct Connection {
    to: mpsc::UnboundedSender<Message>,
    abandoned: mpsc::UnboundedSender<Id>,
    is_stuck: Arc<AtomicBool>,
}

#[async_trait]
impl Upstream for Connection {
    async fn send(&self, message: Message, _: &[Header]) -> Result<(), UpstreamError> {
        if self.is_stuck.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
        self.to
            .send(message)
            .map_err(|_| UpstreamError::Ended("gone".to_owned()))
    }

    fn speak(&self, _: Revision) {}

    async fn abandon(&self, id: &Id) {
        let _ = self.abandoned.send(id.clone());
    }

    async fn close(&self) {
        // As long as a process that must be made to end.
        if self.is_stuck.load(Ordering::Relaxed) {
            tokio::time::sleep(Duration::from_secs(4)).await;
        }
    }
}

/// A server that can be connected to.
pub(super) struct Fake {
    opened: mpsc::UnboundedSender<Server>,
    pub(super) is_down: AtomicBool,
    /// It does not read what it is sent.
    pub(super) is_stuck: Arc<AtomicBool>,
}

#[async_trait]
impl Connector for Fake {
    async fn connect(
        &self,
        events: mpsc::Sender<Event>,
    ) -> Result<Arc<dyn Upstream>, UpstreamError> {
        if self.is_down.load(Ordering::Relaxed) {
            return Err(UpstreamError::Unreachable("down".to_owned()));
        }
        let (to, inbox) = mpsc::unbounded_channel();
        let (abandoned, abandons) = mpsc::unbounded_channel();
        let server = Server {
            inbox,
            events,
            abandoned: abandons,
        };
        self.opened.send(server).unwrap();
        Ok(Arc::new(Connection {
            to,
            abandoned,
            is_stuck: Arc::clone(&self.is_stuck),
        }))
    }
}

/// Where a client's messages go.
pub(super) struct Inbox(mpsc::UnboundedSender<Message>);

#[async_trait]
impl MessageSink for Inbox {
    async fn send(&self, message: Message) -> Result<(), Disconnected> {
        self.0.send(message).map_err(|_| Disconnected)
    }
}

/// A client, as itself sees it.
pub(super) struct ConnectionSet {
    pub(super) client: Arc<dyn HubClient>,
    pub(super) inbox: Mutex<mpsc::UnboundedReceiver<Message>>,
    pub(super) outlet: Arc<dyn MessageSink>,
}

impl ConnectionSet {
    pub(super) async fn send(&self, text: &str) {
        let client = Arc::clone(&self.client);
        client
            .receive(message(text), Arc::clone(&self.outlet))
            .await;
    }

    pub(super) async fn next(&self) -> String {
        let mut inbox = self.inbox.lock().await;
        let next = tokio::time::timeout(SOON, inbox.recv()).await;
        let next = next.expect("nothing came").expect("closed");
        String::from_utf8(next.to_bytes().to_vec()).unwrap()
    }

    /// Sends a request whose id is its method.
    pub(super) async fn request(&self, method: &str, params: &str) {
        self.send(&format!(
            r#"{{"jsonrpc":"2.0","id":"{method}","method":"{method}","params":{params}}}"#
        ))
        .await;
    }

    /// The next message that is an answer.
    pub(super) async fn answer(&self) -> String {
        loop {
            let next = self.next().await;
            if next.contains(r#""id":"#) {
                return next;
            }
        }
    }

    pub(super) async fn is_quiet(&self) -> bool {
        self.inbox.lock().await.try_recv().is_err()
    }
}

/// A gateway with servers in memory.
pub(super) struct World {
    pub(super) gateway: Arc<Gateway>,
    pub(super) fakes: Vec<Arc<Fake>>,
    opened: Vec<Mutex<mpsc::UnboundedReceiver<Server>>>,
}

impl World {
    pub(super) fn new(names: &[&str]) -> Self {
        Self::with(names, |_| ())
    }

    pub(super) fn with(names: &[&str], change: impl Fn(&mut GatewayConfig)) -> Self {
        let engine = Engine::in_memory(EngineOptions::default());
        let tools = |config| Tools::new(engine, Arc::new(config));
        Self::with_tools(names, change, |config| std::future::ready(tools(config)))
            .now_or_never()
            .unwrap()
    }

    /// A process over a store that others may have used before.
    pub(super) async fn over(names: &[&str], store: Arc<dyn ResultStore>) -> Self {
        Self::over_with(names, |_| (), store).await
    }

    /// The same with a configuration of its own.
    pub(super) async fn over_with(
        names: &[&str],
        change: impl Fn(&mut GatewayConfig),
        store: Arc<dyn ResultStore>,
    ) -> Self {
        let engine = Engine::new(EngineOptions::default(), Arc::clone(&store));
        let tools = async |config| {
            let tools = Tools::new(engine, Arc::new(config));
            tools.with_records(store).await.unwrap()
        };
        Self::with_tools(names, change, tools).await
    }

    async fn with_tools<F: Future<Output = Tools>>(
        names: &[&str],
        change: impl Fn(&mut GatewayConfig),
        tools: impl FnOnce(GatewayConfig) -> F,
    ) -> Self {
        let mut config = GatewayConfig::default();
        let mut fakes = Vec::new();
        let mut opened = Vec::new();
        for name in names {
            let transport = TransportConfig::Stdio {
                command: "none".to_owned(),
                args: Vec::new(),
                env: std::collections::BTreeMap::new(),
                cwd: None,
            };
            config.servers.push(ServerConfig::new(*name, transport));
            let (sender, receiver) = mpsc::unbounded_channel();
            fakes.push(Arc::new(Fake {
                opened: sender,
                is_down: AtomicBool::new(false),
                is_stuck: Arc::default(),
            }));
            opened.push(Mutex::new(receiver));
        }
        change(&mut config);
        let tools = tools(config.clone()).await;
        let connectors = fakes
            .iter()
            .map(|fake| Arc::clone(fake) as Arc<dyn Connector>)
            .collect();
        Self {
            gateway: Gateway::new(config, connectors, tools, &Metrics::new()),
            fakes,
            opened,
        }
    }

    pub(super) fn client(&self) -> ConnectionSet {
        self.client_of(|outlet| Arc::clone(&self.gateway).connect(Principal::Local, outlet))
    }

    /// The session of a client over HTTP: of the holder of a token, or of nobody who is known.
    pub(super) fn session_of(&self, holder: Option<&str>) -> ConnectionSet {
        let principal = holder.map_or(Principal::Anonymous, |name| {
            Principal::Named(name.to_owned())
        });
        self.client_of(|outlet| Arc::clone(&self.gateway).connect(principal, outlet))
    }

    /// One of several clients that have no sessions.
    pub(super) fn stateless(&self) -> ConnectionSet {
        self.client_of(|_| Arc::clone(&self.gateway).stateless(Principal::Anonymous))
    }

    pub(super) fn client_of(
        &self,
        client: impl FnOnce(Arc<dyn MessageSink>) -> Arc<dyn HubClient>,
    ) -> ConnectionSet {
        let (sender, receiver) = mpsc::unbounded_channel();
        let outlet: Arc<dyn MessageSink> = Arc::new(Inbox(sender));
        ConnectionSet {
            client: client(Arc::clone(&outlet)),
            inbox: Mutex::new(receiver),
            outlet,
        }
    }

    /// The same, if there is one already.
    pub(super) async fn try_server(&self, index: usize) -> Option<Server> {
        self.opened[index].lock().await.try_recv().ok()
    }

    /// The next connection to a server.
    pub(super) async fn server(&self, index: usize) -> Server {
        let mut opened = self.opened[index].lock().await;
        let next = tokio::time::timeout(SOON, opened.recv()).await;
        next.expect("nobody connects").expect("closed")
    }

    /// A client and its connection to each server, the session begun.
    pub(super) async fn begun(&self, capabilities: &str) -> (ConnectionSet, Vec<Server>) {
        self.begin(self.client(), capabilities).await
    }

    /// The same for this client.
    pub(super) async fn begin(
        &self,
        client: ConnectionSet,
        capabilities: &str,
    ) -> (ConnectionSet, Vec<Server>) {
        client.send(INITIALIZE).await;
        let mut servers = Vec::new();
        for index in 0..self.opened.len() {
            let mut server = self.server(index).await;
            server.begin(capabilities).await;
            servers.push(server);
        }
        let answer = client.next().await;
        assert!(answer.contains("protocolVersion"), "{answer}");
        client
            .send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
            .await;
        for server in &mut servers {
            server.expect("notifications/initialized").await;
        }
        (client, servers)
    }
}

pub(super) const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"x":1.50},"clientInfo":{"name":"test","version":"0"}}}"#;
