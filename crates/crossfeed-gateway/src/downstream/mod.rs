//! Connections of clients: standard input and output, and streamable HTTP.
//!
//! What comes in: bytes of clients. What goes out: messages for the hub, in order, and the hub's messages
//! as bytes; errors for what is not a message. Deliberately not here: what messages mean.

pub mod http;
pub mod stdio;

mod running;

#[cfg(test)]
mod fake;

use crate::{
    Revision,
    budget::Budget,
    config::Limits,
    hub::{Client, Gateway, ServerHealth},
    message::{Id, Message, RpcError, code},
    metrics::Metrics,
    quota::Quotas,
    upstream::Header,
};
use async_trait::async_trait;
use bytes::Bytes;
use crossfeed_wire::ErrorCode;
use serde_json::json;
use std::{sync::Arc, time::Duration};

/// The client is gone: what is for it goes nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the client is gone")]
#[non_exhaustive]
pub struct Gone;

/// There is no room for another session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too many {what}")]
#[non_exhaustive]
pub struct Crowded {
    /// What there are too many of.
    pub what: &'static str,
}

/// Where messages for a client go: a connection, or the stream that answers one request.
#[async_trait]
pub trait Outlet: Send + Sync {
    /// Sends a message behind those that were sent before. Waits while the client does not read.
    ///
    /// # Errors
    ///
    /// [`Gone`] when the client is.
    async fn send(&self, message: Message) -> Result<(), Gone>;

    /// Whether somebody reads now what is sent here.
    fn is_read(&self) -> bool {
        true
    }
}

/// Who a client is, as far as its transport could tell.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Principal {
    /// The one client of this process: standard input and output.
    Local,
    /// Nobody said who it is.
    Anonymous,
    /// The holder of a token, by the name that the configuration gives it.
    Named(String),
}

impl Principal {
    /// The name of the holder of a token.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Named(name) => Some(name),
            Self::Local | Self::Anonymous => None,
        }
    }
}

/// Where clients are connected to: the [`Gateway`], and whatever stands for one.
pub trait Hub: Send + Sync {
    /// A client that stays; `outlet` takes what belongs to no request.
    fn connect(
        self: Arc<Self>,
        principal: Principal,
        outlet: Arc<dyn Outlet>,
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
    fn quotas(&self) -> Quotas {
        Quotas::new(&Limits::default(), 0, 0, 0)
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
    async fn receive(self: Arc<Self>, message: Message, reply: Arc<dyn Outlet>);

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
    async fn give_up(&self, id: &Id, reply: &Arc<dyn Outlet>);

    /// The client is about to be closed: others may wait for what its connections to servers take.
    fn ends(&self) {}

    /// The client is gone.
    async fn close(&self);
}

impl Hub for Gateway {
    fn connect(
        self: Arc<Self>,
        principal: Principal,
        outlet: Arc<dyn Outlet>,
    ) -> Arc<dyn HubClient> {
        Self::connect(&self, principal, outlet)
    }

    fn stateless(self: Arc<Self>, principal: Principal) -> Arc<dyn HubClient> {
        Self::stateless(&self, principal)
    }

    fn health(&self) -> Vec<ServerHealth> {
        Self::health(self)
    }

    fn budget(&self) -> Arc<Budget> {
        Arc::clone(Self::budget(self))
    }

    fn quotas(&self) -> Quotas {
        Self::quotas(self).clone()
    }

    fn give_back(&self) {
        Self::give_back(self);
    }

    fn metrics(&self) -> Metrics {
        self.figures().metrics().clone()
    }
}

#[async_trait]
impl HubClient for Client {
    async fn receive(self: Arc<Self>, message: Message, reply: Arc<dyn Outlet>) {
        Self::receive(&self, message, reply).await;
    }

    async fn reserve(self: Arc<Self>) -> Result<(), Crowded> {
        Self::reserve(&self).await
    }

    fn revision(&self) -> Option<Revision> {
        Self::revision(self)
    }

    async fn headers(&self, tool: &str, params: &Bytes) -> Result<Vec<Header>, RpcError> {
        Self::headers(self, tool, params).await
    }

    async fn give_up(&self, _: &Id, reply: &Arc<dyn Outlet>) {
        Self::give_up(self, reply).await;
    }

    fn ends(&self) {
        Self::ends(self);
    }

    async fn close(&self) {
        Self::close(self).await;
    }
}

/// The one request that has no end: a subscription of the stateless era.
pub(crate) const LISTEN: &str = "subscriptions/listen";

/// How long connections to servers may take to end when clients are gone.
const FAREWELL: Duration = Duration::from_secs(10);

/// What is said of a message beyond the limit.
fn too_large(limit: usize) -> RpcError {
    let message = format!("a message of more than {limit} bytes");
    let data = json!({"code": ErrorCode::LimitExceeded.as_str(), "limit": limit});
    RpcError::new(code::INVALID_REQUEST, message).with_data(data)
}
