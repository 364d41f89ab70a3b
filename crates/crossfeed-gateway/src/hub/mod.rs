//! Who is connected to whom: clients, their connections to servers, and which message goes where.
//!
//! What comes in: messages of clients and events of servers. What goes out: messages to both, ids mapped
//! so that they never meet. Deliberately not here: bytes on wires, and what becomes of tools.
//!
//! # What holds
//!
//! - Each client has connections of its own to every server, so that sessions, subscriptions and
//!   capabilities never mix.
//! - Each request of a client is answered once, under its own id as it was written; what is cancelled is
//!   not answered.
//! - Messages of one client to one server keep their order. Only what has to wait for something else (a
//!   reference to a call that runs, a list that must be fetched first) goes later.
//! - A server that is slow, floods or ends holds up only what is asked of it.

mod calls;
mod client;
mod connection;
mod connection_set;
mod fault;
mod handshake;
mod health;
mod initialize;
mod merge_lists;
mod outbox;
mod owners;
mod pace;
mod poll_then_spawn;
mod port;
mod read;
mod resources;
mod room;
mod room_connector;
mod route;
mod subscriptions;
mod supervisor;
mod tasks;
mod turns;

#[cfg(test)]
mod tests;

pub use client::Client;
use tasks::Tasks;

use crate::{
    budget::Budget,
    config::{GatewayConfig, ServerConfig, TransportConfig},
    message::Message,
    metrics::{GatewayMetrics, Metrics},
    port::{Disconnected, MessageSink},
    principal::Principal,
    quota::Quotas,
    tools::Tools,
    upstream::Connector,
    withhold::without_withheld,
};
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use parking_lot::Mutex;
use std::{
    collections::HashMap,
    sync::{Arc, Weak},
    time::Duration,
};
use tokio::sync::watch;

/// How long the connections of a client may take to be closed when the gateway ends; who does not end by
/// then is left to the end of the process.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(15);

/// A gateway: its servers, its tools, and its clients.
pub struct Gateway {
    config: GatewayConfig,
    servers: Vec<Arc<dyn Connector>>,
    tools: Tools,
    clients: Mutex<Clients>,
    eras: Arc<Eras>,
    figures: Arc<GatewayMetrics>,
    /// The tasks of holders of tokens, by their names: all of a holder's sessions have the same.
    tasks: Mutex<HashMap<String, Arc<Tasks>>>,
    budget: Arc<Budget>,
    quotas: Arc<Quotas>,
}

/// Which eras servers speak, as far as it was found out.
#[derive(Default)]
struct Eras {
    known: Mutex<HashMap<(usize, bool), bool>>,
    /// How often something was found out.
    changes: watch::Sender<u64>,
}

impl Eras {
    /// Whether a server speaks the stateless era, or the one before.
    fn of(&self, server: usize, stateless: bool) -> Option<bool> {
        self.known.lock().get(&(server, stateless)).copied()
    }

    fn learn(&self, server: usize, stateless: bool, speaks: Option<bool>) {
        match speaks {
            Some(speaks) => self.known.lock().insert((server, stateless), speaks),
            None => self.known.lock().remove(&(server, stateless)),
        };
        self.changes.send_modify(|changes| *changes += 1);
    }
}

#[derive(Default)]
struct Clients {
    all: HashMap<String, Weak<Client>>,
    /// Those behind which stand several, by who they are.
    shared: HashMap<Principal, Arc<Client>>,
    is_closed: bool,
}

impl Gateway {
    /// A gateway to servers that are reached by `servers`, one for each of the configuration's.
    #[must_use]
    pub fn new(config: GatewayConfig, servers: Vec<Arc<dyn Connector>>, tools: Tools) -> Arc<Self> {
        Self::with_metrics(config, servers, tools, &Metrics::new())
    }

    /// The same, which counts what passes in `metrics`.
    #[must_use]
    pub fn with_metrics(
        config: GatewayConfig,
        servers: Vec<Arc<dyn Connector>>,
        tools: Tools,
        metrics: &Metrics,
    ) -> Arc<Self> {
        let figures = GatewayMetrics::new(metrics, &config);
        let listen = config.listen.as_ref();
        let holders = listen.map_or(0, |listen| listen.tokens.len());
        let limits = &config.limits;
        // Beside all results that are kept, which may all be one holder's, a message on its way in, out and back
        // always fits in.
        let messages = limits.message_bytes.saturating_mul(2);
        let least = limits.total_bytes.saturating_add(messages);
        let budget = Budget::new(limits.held_bytes(), least, holders, metrics);
        let tools = tools.with_figures(&figures).with_budget(&budget);
        let enabled = config.servers.iter().filter(|server| !server.disabled);
        let is_http =
            |server: &&ServerConfig| matches!(server.transport, TransportConfig::Http { .. });
        let (all, http) = (enabled.clone().count(), enabled.filter(is_http).count());
        let servers = servers.into_iter().enumerate();
        let servers = servers.map(|(server, connector)| match config.servers.get(server) {
            Some(config) => without_withheld(connector, &config.withheld),
            None => connector,
        });
        let servers = servers.collect();
        Arc::new(Self {
            budget,
            quotas: Quotas::of(&config.limits, all - http, http, holders),
            figures,
            config,
            servers,
            tools,
            clients: Mutex::default(),
            eras: Arc::default(),
            tasks: Mutex::default(),
        })
    }

    /// What it was told.
    #[must_use]
    pub fn config(&self) -> &GatewayConfig {
        &self.config
    }

    /// The tasks of a principal; of one that has no name, those of a session.
    fn tasks_of(&self, principal: &Principal) -> Arc<Tasks> {
        let Principal::Named(name) = principal else {
            return Tasks::of(principal);
        };
        let mut all = self.tasks.lock();
        let tasks = all.entry(name.clone());
        Arc::clone(tasks.or_insert_with(|| Tasks::of(principal)))
    }

    /// Gives back what results take that have expired and that nobody asks for, until it is dropped: as often as
    /// one may expire, but at most once a second, and at least once a minute.
    pub async fn sweep(&self) -> std::convert::Infallible {
        let limits = &self.config.limits;
        let often = limits.result_idle.min(limits.result_age);
        let often = often.clamp(Duration::from_secs(1), Duration::from_secs(60));
        let mut ticks = tokio::time::interval(often);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            self.tools.sweep().await;
        }
    }

    /// The servers that are switched on and that a client may use, by their places in the configuration.
    fn connectors(
        &self,
        principal: &Principal,
    ) -> impl Iterator<Item = (usize, Arc<dyn Connector>)> + '_ {
        let holder = principal.name().and_then(|name| self.config.holder(name));
        self.servers
            .iter()
            .enumerate()
            .filter(move |(server, _)| {
                let config = self.config.servers.get(*server);
                let is_admitted = |name| holder.is_none_or(|holder| holder.admits_server(name));
                config.is_none_or(|config| !config.disabled && is_admitted(&config.name))
            })
            .map(|(server, connector)| (server, Arc::clone(connector)))
    }

    /// A client that stays: a connection over standard input and output, or a session over HTTP.
    /// `outlet` takes what belongs to no request.
    #[must_use]
    pub fn connect(
        self: &Arc<Self>,
        principal: Principal,
        outlet: Arc<dyn MessageSink>,
    ) -> Arc<Client> {
        let client = self.client(principal, outlet, false);
        let mut clients = self.clients.lock();
        if clients.is_closed {
            client.refuse_all();
        }
        clients
            .all
            .insert(client.key.to_owned(), Arc::downgrade(&client));
        drop(clients);
        client
    }

    /// The client behind requests without a session over HTTP, one for each principal.
    #[must_use]
    pub fn stateless(self: &Arc<Self>, principal: Principal) -> Arc<Client> {
        let mut clients = self.clients.lock();
        if let Some(client) = clients.shared.get(&principal) {
            return Arc::clone(client);
        }
        let client = self.client(principal.clone(), Arc::new(Nowhere), true);
        if clients.is_closed {
            client.refuse_all();
        }
        clients.shared.insert(principal, Arc::clone(&client));
        client
    }

    fn client(
        self: &Arc<Self>,
        principal: Principal,
        outlet: Arc<dyn MessageSink>,
        is_shared: bool,
    ) -> Arc<Client> {
        Client::new(Arc::clone(self), principal, outlet, is_shared, key())
    }

    fn forget(&self, key: &str) {
        self.clients.lock().all.remove(key);
    }

    /// Ends every client and every connection to a server; calls that run may finish first, as long as
    /// the limits allow.
    pub async fn shut_down(&self) {
        self.clients.lock().is_closed = true;
        let all = self.every_client();
        for client in &all {
            client.refuse_all();
        }
        let finished = async {
            while all.iter().any(|client| client.running() > 0) {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let _ = tokio::time::timeout(self.config.limits.shutdown, finished).await;
        let closing = all
            .iter()
            .map(|client| tokio::time::timeout(CLOSE_TIMEOUT, client.close()));
        futures_util::future::join_all(closing).await;
        self.clients.lock().shared.clear();
    }
}

/// What tells a client from all others: 128 bits that nobody can guess.
fn key() -> String {
    let mut bytes = [0; 16];
    // Without entropy there are no keys to be had, and two clients must never share one.
    #[expect(
        clippy::expect_used,
        reason = "the system has no entropy: nothing is safe"
    )]
    getrandom::fill(&mut bytes).expect("entropy");
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}

struct Nowhere;

#[async_trait::async_trait]
impl MessageSink for Nowhere {
    fn is_read(&self) -> bool {
        false
    }

    async fn send(&self, _: Message) -> Result<(), Disconnected> {
        Err(Disconnected)
    }
}
