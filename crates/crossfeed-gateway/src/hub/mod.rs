//! Connects clients to servers, and routes messages between them.
//!
//! # Invariants
//!
//! - Each client has its own connections to all servers, so that sessions, subscriptions and capabilities never mix.
//! - Each request of a client is answered once, under its own id as the client wrote it, unless it was cancelled.
//! - Messages of one client to one server keep their order. Only those wait that need something else first: a
//!   reference to a running call, a list that must be fetched.
//! - A server that is slow, floods or ends delays only its own requests.

mod calls;
mod client;
mod connection;
mod connection_set;
mod fault;
mod handshake;
mod initialize;
mod inputs;
mod kept;
mod merge_lists;
mod outbox;
mod owners;
mod pace;
mod poll_then_spawn;
mod port;
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

use client::Client;
use tasks::Tasks;

use crate::{
    budget::Budget,
    config::{GatewayConfig, ServerConfig, TransportConfig},
    metrics::{GatewayMetrics, Metrics},
    port::HubClient,
    principal::Principal,
    quota::Quotas,
    records::task::TaskRecords,
    replica::Replica,
    tools::{Tools, tag, unguessable},
    upstream::Connector,
    withhold::without_withheld,
};
use crossfeed_store::{StoreError, with_causes};
use parking_lot::Mutex;
use std::{
    collections::HashMap,
    convert::Infallible,
    sync::{Arc, Weak},
    time::Duration,
};
use tokio::{sync::watch, time::Instant};

/// How long closing the connections of a client may take when the gateway ends; those that remain end with the
/// process.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(15);

/// How often calls are looked for whose tasks ended at other processes.
const RELEASE_INTERVAL: Duration = Duration::from_secs(60);

/// A gateway: its servers, its tools, and its clients.
pub struct Gateway {
    config: GatewayConfig,
    servers: Vec<Arc<dyn Connector>>,
    tools: Tools,
    clients: Mutex<Clients>,
    eras: Arc<Eras>,
    metrics: Arc<GatewayMetrics>,
    /// The tasks of the holders of tokens, by name: all sessions of a holder share them.
    tasks: Mutex<HashMap<String, Arc<Tasks>>>,
    budget: Arc<Budget>,
    quotas: Arc<Quotas>,
    /// This process among others, where they can reach it.
    replica: Option<Replica>,
}

/// The known answers to whether a server, by its index, speaks an era: the stateless one, or the one before.
#[derive(Default)]
struct Eras(watch::Sender<HashMap<(usize, bool), bool>>);

impl Eras {
    fn get(&self, server: usize, stateless: bool) -> Option<bool> {
        self.0.borrow().get(&(server, stateless)).copied()
    }

    fn learn(&self, server: usize, stateless: bool, speaks: Option<bool>) {
        self.0.send_modify(|known| match speaks {
            Some(speaks) => drop(known.insert((server, stateless), speaks)),
            None => drop(known.remove(&(server, stateless))),
        });
    }
}

#[derive(Default)]
struct Clients {
    all: HashMap<String, Weak<Client>>,
    /// Clients that share connections, by principal.
    shared: HashMap<Principal, Arc<Client>>,
    is_closed: bool,
}

impl Gateway {
    /// A gateway to servers that are reached by `servers`, one for each of the configuration's, counting in `metrics`.
    pub fn new(
        config: GatewayConfig,
        servers: Vec<Arc<dyn Connector>>,
        tools: Tools,
        metrics: &Metrics,
    ) -> Arc<Self> {
        let metrics_of = GatewayMetrics::new(metrics, &config);
        let listen = config.listen.as_ref();
        let holders = listen.map_or(0, |listen| listen.tokens.len());
        let limits = &config.limits;
        // Beside all stored results, which may all be one holder's, there is always room for a message on its way in,
        // out and back.
        let messages = limits.message_bytes.saturating_mul(2);
        let least = limits.total_bytes.saturating_add(messages);
        let budget = Budget::new(limits.held_bytes(), least, holders, metrics);
        let enabled = config.servers.iter().filter(|server| !server.disabled);
        let is_http =
            |server: &&ServerConfig| matches!(server.transport, TransportConfig::Http { .. });
        let (http, stdio): (Vec<_>, Vec<_>) = enabled.partition(is_http);
        let quotas = Quotas::for_servers(limits, stdio.len(), http.len(), holders);
        let advertised = listen.and_then(|listen| listen.advertise.clone());
        let replica = tools.records().cloned().zip(advertised);
        let servers = servers.into_iter().zip(&config.servers);
        let servers = servers.map(|(server, config)| without_withheld(server, &config.withheld));
        Arc::new(Self {
            tools: tools.with_figures(&metrics_of).with_budget(&budget),
            servers: servers.collect(),
            quotas,
            budget,
            replica: replica.map(|(records, at)| Replica::new(records, unguessable(), at)),
            metrics: metrics_of,
            config,
            clients: Mutex::default(),
            eras: Arc::default(),
            tasks: Mutex::default(),
        })
    }

    /// Its configuration.
    pub fn config(&self) -> &GatewayConfig {
        &self.config
    }

    /// The tasks of a principal; a new set for a session of one without a name, which `session` tells from others, also
    /// in other processes.
    fn tasks_of(&self, principal: &Principal, session: Option<&str>) -> Arc<Tasks> {
        let new = || {
            let is_named = principal.name().is_some();
            let session = session.filter(|_| !is_named).unwrap_or_default();
            // The local client of one process is not that of another, unless its session has a name.
            let lasts = *principal != Principal::Local || self.config.session.is_some();
            let records = self.tools.records().filter(|_| lasts);
            let owner = [tag(principal), session.to_owned()];
            let records = records.map(|records| TaskRecords::new(records, owner));
            let servers = self.config.servers.iter();
            Tasks::new(
                principal,
                records,
                servers.map(|server| server.name.clone()),
            )
        };
        match principal.name() {
            Some(name) => Arc::clone(self.tasks.lock().entry(name.to_owned()).or_insert_with(new)),
            None => new(),
        }
    }

    /// Removes expired results until it is dropped: as often as one may expire, but at most once a second, and at least
    /// once a minute.
    pub async fn sweep(&self) -> Infallible {
        let limits = &self.config.limits;
        let often = limits.result_idle.min(limits.result_age);
        let often = often.clamp(Duration::from_secs(1), Duration::from_secs(60));
        let mut ticks = tokio::time::interval(often);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut released = Instant::now();
        loop {
            let tick = ticks.tick().await;
            self.tools.sweep().await;
            if tick < released + RELEASE_INTERVAL {
                continue;
            }
            released = tick;
            for client in self.every_client() {
                if let Err(error) = client.release_ended_tasks().await {
                    tracing::debug!(target: "crossfeed::gateway", error = with_causes(&error), "cannot look which tasks ended elsewhere");
                    break;
                }
            }
        }
    }

    /// Tells other replicas where this one is, so that they send it the requests of its sessions.
    ///
    /// # Errors
    ///
    /// The store does not answer.
    pub async fn join(&self) -> Result<(), StoreError> {
        match &self.replica {
            Some(replica) => replica.renew().await,
            None => Ok(()),
        }
    }

    /// Tells other replicas that this one is alive, until it is dropped.
    pub async fn stay(&self) -> Infallible {
        match &self.replica {
            Some(replica) => replica.hold().await,
            None => std::future::pending().await,
        }
    }

    /// The enabled servers that a principal may use, with their indices in the configuration.
    fn connectors(
        &self,
        principal: &Principal,
    ) -> impl Iterator<Item = (usize, &ServerConfig, &Arc<dyn Connector>)> {
        let holder = principal.name().and_then(|name| self.config.holder(name));
        let servers = self.config.servers.iter().zip(&self.servers).enumerate();
        servers
            .map(|(server, (config, connector))| (server, config, connector))
            .filter(move |(_, config, _)| {
                !config.disabled && holder.is_none_or(|holder| holder.admits_server(&config.name))
            })
    }

    fn every_client(&self) -> Vec<Arc<Client>> {
        let clients = self.clients.lock();
        let stay = clients.all.values().filter_map(Weak::upgrade);
        stay.chain(clients.shared.values().cloned()).collect()
    }

    /// Remembers a client that stays.
    fn add(&self, client: &Arc<Client>) {
        let mut clients = self.clients.lock();
        if clients.is_closed {
            client.refuse_all();
        }
        let key = client.key.clone();
        clients.all.insert(key, Arc::downgrade(client));
    }

    fn forget(&self, client: &Client) {
        let mut clients = self.clients.lock();
        // The session may have come back as another client meanwhile.
        let of_key = clients.all.get(&client.key);
        if of_key.is_some_and(|of_key| std::ptr::eq(of_key.as_ptr(), client)) {
            clients.all.remove(&client.key);
        }
    }

    /// Closes all clients and connections to servers. Running calls may finish first, as long as the limits allow.
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
        let closing = all.iter().map(|client| {
            client.leave();
            tokio::time::timeout(CLOSE_TIMEOUT, client.close())
        });
        futures_util::future::join_all(closing).await;
        self.clients.lock().shared.clear();
        if let Some(replica) = &self.replica {
            replica.end().await;
        }
    }
}
