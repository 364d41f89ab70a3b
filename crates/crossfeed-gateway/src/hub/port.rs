//! The hub's side of the interface to transports of clients.

use super::{Client, Gateway, connection::Phase, fault};
use crate::{
    budget::Budget,
    message::{Message, RpcError},
    metrics::Metrics,
    port::{
        Disconnected, Hub, HubClient, KeptSession, MessageSink, Peer, RecallError, ServerHealth,
        SessionPlace,
    },
    principal::Principal,
    protocol::method,
    quota::Quotas,
    records::{
        Key, Records,
        owned::OwnedRecord,
        session::{SessionRecord, first_number},
    },
};
use crossfeed_store::{StoreError, StoreMetrics};
use std::{sync::Arc, time::Duration};
use tokio::time::Instant;

/// How long a session that never called a tool keeps its processes without use.
const UNCALLED_IDLE_TIMEOUT: Duration = Duration::from_secs(60);

#[async_trait::async_trait]
impl Hub for Gateway {
    fn connect(
        self: Arc<Self>,
        principal: Principal,
        outlet: Arc<dyn MessageSink>,
    ) -> Arc<dyn HubClient> {
        let client = Client::new(&self, principal, outlet, false);
        self.add(&client);
        client
    }

    async fn recall(
        &self,
        session: &str,
        principal: &Principal,
    ) -> Result<SessionPlace, RecallError> {
        self.recall_session(session, principal).await
    }

    fn replica(&self) -> Option<String> {
        self.replica_name()
    }

    async fn let_go(&self, kept: KeptSession) {
        self.let_go_of(kept).await;
    }

    async fn peer(&self, name: &str) -> Result<Option<Peer>, StoreError> {
        let Some(replica) = self.replica.as_ref().filter(|own| own.name() != name) else {
            return Ok(None);
        };
        let address = replica.last_address_of(name).await?;
        Ok(address.map(|address| Peer {
            name: name.to_owned(),
            address,
        }))
    }

    async fn stays(&self, name: &str) -> Result<bool, StoreError> {
        let Some(replica) = self.replica.as_ref().filter(|own| own.name() != name) else {
            return Ok(false);
        };
        Ok(replica.address_of(name).await?.is_some())
    }

    async fn holder(&self, session: &str) -> Result<Option<(u64, Peer)>, StoreError> {
        let (Some(records), Some(_)) = (self.tools.records(), &self.replica) else {
            return Ok(None);
        };
        let key = Key::new("session", &[session]);
        let mut own = OwnedRecord::new(records.clone(), key, String::new());
        let record = own.find::<SessionRecord>().await?;
        let Some(name) = record.and_then(|record| record.replica) else {
            return Ok(None);
        };
        // It was found as the one that comes next.
        let first = first_number(own.generation().saturating_sub(1));
        let peer = self.peer(&name).await?;
        Ok(peer.map(|peer| (first, peer)))
    }

    fn lost(&self, request: &Message, is_stateless: bool) -> Message {
        let error = RpcError::outcome_unknown();
        match (request.method(), request.id()) {
            (Some(method::CALL_TOOL), Some(id)) => {
                Message::response(id, &fault::lost(&error, is_stateless))
            }
            (_, id) => Message::failure(id, &error),
        }
    }

    async fn leave(&self) {
        if let Some(replica) = &self.replica {
            replica.leave().await;
        }
    }

    async fn is_ready(&self) -> Result<(), StoreError> {
        self.tools.check_store().await
    }

    fn resume(
        self: Arc<Self>,
        kept: KeptSession,
        principal: Principal,
        outlet: Arc<dyn MessageSink>,
    ) -> Arc<dyn HubClient> {
        let client = self.resumed(kept, principal, outlet);
        self.add(&client);
        client
    }

    fn stateless(self: Arc<Self>, principal: Principal) -> Arc<dyn HubClient> {
        let mut clients = self.clients.lock();
        let is_closed = clients.is_closed;
        let client = clients.shared.entry(principal.clone()).or_insert_with(|| {
            let client = Client::new(&self, principal, Arc::new(Nowhere), true);
            if is_closed {
                client.refuse_all();
            }
            client
        });
        Arc::clone(client) as Arc<dyn HubClient>
    }

    fn health(&self) -> Vec<ServerHealth> {
        let servers = self.config.servers.iter();
        let servers = servers.map(|server| ServerHealth {
            name: server.name.clone(),
            ..ServerHealth::default()
        });
        let mut servers: Vec<_> = servers.collect();
        for link in self.every_client().iter().flat_map(|client| client.links()) {
            let Some(health) = servers.get_mut(link.server) else {
                continue;
            };
            match &*link.phase.borrow() {
                Phase::Opening => health.opening += 1,
                // The first connection of a bridge is open before it holds its room.
                Phase::Open => health.open += link.rooms().max(1),
                Phase::Down(error) => {
                    health.down += 1;
                    health.error = Some(error.to_string());
                }
                Phase::Idle(_) => health.idle += 1,
                Phase::Closed => {}
            }
        }
        servers
    }

    fn budget(&self) -> Arc<Budget> {
        Arc::clone(&self.budget)
    }

    fn records(&self) -> Option<Records> {
        self.tools.records().cloned()
    }

    fn quotas(&self) -> Arc<Quotas> {
        Arc::clone(&self.quotas)
    }

    fn give_back(&self) {
        let idle = self.config.limits.process_idle;
        for client in self.every_client() {
            let timeout = if client.has_called() {
                idle
            } else {
                idle.min(UNCALLED_IDLE_TIMEOUT)
            };
            let is_due = |since: Instant| since.elapsed() >= timeout;
            if client.unused_since().is_some_and(is_due) {
                for link in client.links() {
                    link.rest();
                }
            }
        }
    }

    fn store_metrics(&self) -> Option<StoreMetrics> {
        self.tools.store_metrics()
    }

    fn metrics(&self) -> Metrics {
        self.metrics.metrics.clone()
    }
}

/// The outlet of clients without a session: they hear nothing outside their requests.
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
