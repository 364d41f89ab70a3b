//! The interface between the hub and the transports of clients.

use crate::{
    Revision,
    budget::Budget,
    config::Limits,
    message::{Header, Id, Message, RpcError},
    metrics::Metrics,
    principal::Principal,
    quota::{Permit, Quotas},
    records::{
        Records,
        owned::OwnedRecord,
        session::{Revisions, SessionRecord, first_number},
    },
};
use async_trait::async_trait;
use bytes::Bytes;
use crossfeed_store::{StoreError, StoreMetrics};
use std::{collections::HashMap, sync::Arc};

/// The client has disconnected: messages for it are discarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the client is gone")]
#[non_exhaustive]
pub struct Disconnected;

/// The limit of sessions, processes or descriptors is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too many {what}")]
#[non_exhaustive]
pub struct Crowded {
    /// The kind of thing that reached its limit.
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

/// What is kept of a session that another process had begun, and is this one's from now on.
pub struct KeptSession {
    pub(crate) own: OwnedRecord,
    pub(crate) revisions: Revisions,
    pub(crate) record: SessionRecord,
    /// The room reserved for its connections, by server.
    pub(crate) rooms: HashMap<usize, Arc<Permit>>,
    /// The term of this replica in which it was taken up.
    pub(crate) term: u64,
}

impl KeptSession {
    /// The first of the numbers that are counted in this process: no process before has used it or a later one.
    pub fn first_number(&self) -> u64 {
        first_number(self.own.generation())
    }
}

/// Another replica of the gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Peer {
    /// A word that no other has.
    pub name: String,
    /// The URL at which it is reached, without a path.
    pub address: String,
}

/// What is known of a session that this process does not have.
#[expect(
    clippy::exhaustive_enums,
    reason = "a session is in one of these places"
)]
pub enum SessionPlace {
    /// It is this process's from now on.
    Here(Box<KeptSession>),
    /// Another replica has it, and is alive.
    There(Peer),
    /// Nothing is kept of it.
    Nowhere,
}

/// A session of before cannot be taken up now.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecallError {
    /// It is unknown whether there is one.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// There is no room for its connections to servers. It stays as it is.
    #[error(transparent)]
    Crowded(#[from] Crowded),
}

/// What transports connect clients to: the [`Gateway`](crate::hub::Gateway), or a fake in tests.
#[async_trait]
pub trait Hub: Send + Sync {
    /// Connects a client that stays: over standard input and output, or in a session over HTTP. `outlet` takes the
    /// messages that belong to no request.
    fn connect(
        self: Arc<Self>,
        principal: Principal,
        outlet: Arc<dyn MessageSink>,
    ) -> Arc<dyn HubClient>;

    /// Takes up what is kept of the session of this id, if it is the principal's and no other replica has it, and reserves
    /// the processes and descriptors of its connections to servers. One call at a time for one session.
    ///
    /// # Errors
    ///
    /// The store does not answer, the record is damaged or of a later version, or there is no room: then nothing has
    /// changed.
    async fn recall(
        &self,
        _session: &str,
        _principal: &Principal,
    ) -> Result<SessionPlace, RecallError> {
        Ok(SessionPlace::Nowhere)
    }

    /// The name of this replica, if others may reach it.
    fn replica(&self) -> Option<String> {
        None
    }

    /// Lets go of a session that was taken up and does not go on here: any other replica may take it up.
    async fn let_go(&self, _kept: KeptSession) {}

    /// The replica of this name, if it is another and is alive, though it may be about to end.
    ///
    /// # Errors
    ///
    /// The store does not answer.
    async fn peer(&self, _name: &str) -> Result<Option<Peer>, StoreError> {
        Ok(None)
    }

    /// Whether the replica of this name is another, is alive, and is not about to end.
    ///
    /// # Errors
    ///
    /// The store does not answer.
    async fn stays(&self, _name: &str) -> Result<bool, StoreError> {
        Ok(false)
    }

    /// The replica that has a session or had it last, if it is another and is alive, though it may be about to end; and the
    /// first of the numbers that it counts there.
    ///
    /// # Errors
    ///
    /// The store does not answer, or the record is damaged.
    async fn holder(&self, _session: &str) -> Result<Option<(u64, Peer)>, StoreError> {
        Ok(None)
    }

    /// The answer to a request whose replica is gone: it may have run.
    fn lost(&self, request: &Message, _is_stateless: bool) -> Message {
        Message::failure(request.id(), &RpcError::outcome_unknown())
    }

    /// Lets other replicas take up the sessions of this process, which ends soon.
    async fn leave(&self) {}

    /// Asks the store whether it answers.
    ///
    /// # Errors
    ///
    /// It does not.
    async fn is_ready(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Connects the client of a session that goes on.
    fn resume(
        self: Arc<Self>,
        _kept: KeptSession,
        principal: Principal,
        outlet: Arc<dyn MessageSink>,
    ) -> Arc<dyn HubClient> {
        self.connect(principal, outlet)
    }

    /// The client behind requests without a session, one for each principal.
    fn stateless(self: Arc<Self>, principal: Principal) -> Arc<dyn HubClient>;

    /// The state of the servers, in the order of the configuration.
    fn health(&self) -> Vec<ServerHealth>;

    /// The budget of the bytes held for clients.
    fn budget(&self) -> Arc<Budget> {
        Budget::unlimited()
    }

    /// What all processes over one store know; none where the store has no place for it.
    fn records(&self) -> Option<Records> {
        None
    }

    /// Child processes and descriptors for servers, shared by the clients.
    fn quotas(&self) -> Arc<Quotas> {
        Quotas::for_servers(&Limits::default(), 0, 0, 0)
    }

    /// Stops the server processes of clients that have long been idle and do not listen. To be called
    /// now and then.
    fn give_back(&self) {}

    /// What the store has counted, if it counts.
    fn store_metrics(&self) -> Option<StoreMetrics> {
        None
    }

    /// The metrics that the transports count in.
    fn metrics(&self) -> Metrics {
        Metrics::new()
    }
}

/// One client, as the hub knows it.
#[async_trait]
pub trait HubClient: Send + Sync {
    /// Takes a message; to be called in the order in which messages come. Does not wait for answers. The messages
    /// of a request, its answer last, go to `reply`.
    async fn receive(self: Arc<Self>, message: Message, reply: Arc<dyn MessageSink>);

    /// Reserves the processes and descriptors of the client's connections to servers, before its session begins.
    /// Clients that use theirs less may have to give them back first.
    ///
    /// # Errors
    ///
    /// [`Crowded`] when that is not enough: then nothing was taken, and nothing is started.
    async fn reserve(self: Arc<Self>) -> Result<(), Crowded> {
        Ok(())
    }

    /// The revision that client and gateway agreed on, once they did.
    fn revision(&self) -> Option<Revision>;

    /// The headers (`x-mcp-header`) that a tool call without a session must have for these `params`, as far as the
    /// tool was listed.
    ///
    /// # Errors
    ///
    /// The memory limit is reached, so that `params` cannot be read.
    async fn headers(&self, tool: &str, params: &Bytes) -> Result<Vec<Header>, RpcError>;

    /// Cancels the requests whose answers go to `reply`: their client went away.
    async fn give_up(&self, id: &Id, reply: &Arc<dyn MessageSink>);

    /// Has the session kept under this id once it has begun, so that another process can go on with it, where there is a
    /// place for that.
    fn keep_as(&self, _session: &str) {}

    /// Keeps the session for longer, since it is used. Whether that is done.
    async fn renew(&self) -> bool {
        true
    }

    /// Whether the session has changed since it was last kept.
    fn is_to_be_kept(&self) -> bool {
        false
    }

    /// Whether another process has taken the session up, or ended it: here it is to be closed, which removes nothing.
    fn has_moved(&self) -> bool {
        false
    }

    /// Whether the session is this process's still, of which it is sure: else it [has moved](Self::has_moved).
    ///
    /// # Errors
    ///
    /// That is unknown: another replica may have taken it up, and the store does not answer.
    async fn is_own(&self) -> Result<bool, StoreError> {
        Ok(!self.has_moved())
    }

    /// Has no process go on with the session, before it is closed. Whether it was this process's: else it
    /// [has moved](Self::has_moved).
    ///
    /// # Errors
    ///
    /// The store does not answer: the session goes on.
    async fn end_kept(&self) -> Result<bool, StoreError> {
        Ok(true)
    }

    /// The client goes, and not the session: what another process can go on with stays when the client is closed.
    fn leave(&self) {}

    /// Announces that the client is about to be closed: others may wait for what its connections to servers take.
    fn ends(&self) {}

    /// Closes the client: cancels its calls, and closes its connections to servers.
    async fn close(&self);
}
