//! The interface between the hub and the transports of clients.

use crate::{
    Revision,
    budget::Budget,
    config::Limits,
    message::{Header, Id, Message, RpcError},
    metrics::Metrics,
    principal::Principal,
    quota::Quotas,
};
use async_trait::async_trait;
use bytes::Bytes;
use std::sync::Arc;

/// The client has disconnected: messages for it are discarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the client is gone")]
#[non_exhaustive]
pub struct Disconnected;

/// There is no room for another session or process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too many {what}")]
#[non_exhaustive]
pub struct Crowded {
    /// What there are too many of.
    pub what: &'static str,
}

/// Where messages for a client go: its connection, or the stream that answers one request.
#[async_trait]
pub trait MessageSink: Send + Sync {
    /// Sends a message after those sent before. Waits while the client does not read.
    ///
    /// # Errors
    ///
    /// [`Disconnected`] when the client has disconnected.
    async fn send(&self, message: Message) -> Result<(), Disconnected>;

    /// Whether the client is reading what is sent here now.
    fn is_read(&self) -> bool {
        true
    }
}

/// The state of one server.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct ServerHealth {
    /// Its name.
    pub name: String,
    /// Open connections: one for each client, and for each session behind a bridge.
    pub open: usize,
    /// Connections that are opening for the first time.
    pub opening: usize,
    /// Connections that ended or failed to open, and will be retried.
    pub down: usize,
    /// Connections that released their process and restart when used.
    pub idle: usize,
    /// Why one of the connections is down.
    #[serde(skip)]
    pub error: Option<String>,
}

/// What transports connect clients to: the [`Gateway`](crate::hub::Gateway), or a fake in tests.
pub trait Hub: Send + Sync {
    /// A client that stays; `outlet` takes what belongs to no request.
    fn connect(
        self: Arc<Self>,
        principal: Principal,
        outlet: Arc<dyn MessageSink>,
    ) -> Arc<dyn HubClient>;

    /// The client behind requests without a session.
    fn stateless(self: Arc<Self>, principal: Principal) -> Arc<dyn HubClient>;

    /// How the servers are.
    fn health(&self) -> Vec<ServerHealth>;

    /// What is held for clients is charged to this.
    fn budget(&self) -> Arc<Budget> {
        Budget::unlimited()
    }

    /// Child processes and descriptors for servers, shared by the clients.
    fn quotas(&self) -> Arc<Quotas> {
        Quotas::of(&Limits::default(), 0, 0, 0)
    }

    /// Gives back what clients do not use: the processes of those that have not asked anything for long and do
    /// not listen. To be called now and then.
    fn give_back(&self) {}

    /// Where what passes is counted; nowhere that anybody looks at, unless it is said.
    fn metrics(&self) -> Metrics {
        Metrics::new()
    }
}

/// One client, as the hub knows it.
#[async_trait]
pub trait HubClient: Send + Sync {
    /// Takes a message; to be called in the order in which messages come. What belongs to a request, its
    /// answer last, goes to `reply`.
    async fn receive(self: Arc<Self>, message: Message, reply: Arc<dyn MessageSink>);

    /// Takes what the client's connections to servers need, before its session begins. Clients that use theirs
    /// less may have to give it back first.
    ///
    /// # Errors
    ///
    /// [`Crowded`] when that is not enough: then nothing was taken, and nothing is started.
    async fn reserve(self: Arc<Self>) -> Result<(), Crowded> {
        Ok(())
    }

    /// The revision that was agreed on, once it was.
    fn revision(&self) -> Option<Revision>;

    /// The headers that a call of a tool must come with where there is no session, by its `params`.
    ///
    /// # Errors
    ///
    /// There is no memory to read these.
    async fn headers(&self, tool: &str, params: &Bytes) -> Result<Vec<Header>, RpcError>;

    /// The client went away from the request whose answer goes to `reply`.
    async fn give_up(&self, id: &Id, reply: &Arc<dyn MessageSink>);

    /// The client is about to be closed: others may wait for what its connections to servers take.
    fn ends(&self) {}

    /// The client is gone.
    async fn close(&self);
}
