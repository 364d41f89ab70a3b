//! Who is connected to whom: clients, their connections to servers, and which message goes where.
//!
//! What comes in: messages of clients and events of servers. What goes out: messages to both, ids mapped
//! so that they never meet. Deliberately not here: bytes on wires, and what becomes of tools.

use crate::{
    Revision,
    config::GatewayConfig,
    downstream::{Gone, Outlet, Principal},
    message::{Id, Message},
    tools::Tools,
    upstream::Connector,
};
use std::sync::Arc;

/// A gateway: its servers, its tools, and its clients.
pub struct Gateway {
    config: GatewayConfig,
    servers: Vec<Arc<dyn Connector>>,
    tools: Tools,
}

impl Gateway {
    /// A gateway to servers that are reached by `servers`, one for each of the configuration's.
    #[must_use]
    pub fn new(config: GatewayConfig, servers: Vec<Arc<dyn Connector>>, tools: Tools) -> Arc<Self> {
        Arc::new(Self {
            config,
            servers,
            tools,
        })
    }

    /// What it was told.
    #[must_use]
    pub fn config(&self) -> &GatewayConfig {
        &self.config
    }

    /// A client that stays: a connection over standard input and output, or a session over HTTP.
    /// `outlet` takes what belongs to no request.
    #[must_use]
    pub fn connect(self: &Arc<Self>, principal: Principal, outlet: Arc<dyn Outlet>) -> Arc<Client> {
        let _ = (&self.servers, &self.tools);
        Arc::new(Client {
            gateway: Arc::clone(self),
            principal,
            outlet,
        })
    }

    /// The client behind requests without a session over HTTP, one for each principal.
    #[must_use]
    pub fn stateless(self: &Arc<Self>, principal: Principal) -> Arc<Client> {
        self.connect(principal, Arc::new(Nowhere))
    }

    /// Ends every client and every connection to a server; calls that run may finish first, as long as
    /// the limits allow.
    pub async fn shut_down(&self) {}
}

struct Nowhere;

#[async_trait::async_trait]
impl Outlet for Nowhere {
    async fn send(&self, _: Message) -> Result<(), Gone> {
        Err(Gone)
    }
}

/// One client.
pub struct Client {
    gateway: Arc<Gateway>,
    principal: Principal,
    outlet: Arc<dyn Outlet>,
}

impl Client {
    /// Takes a message; to be called in the order in which messages come. Does not wait for answers.
    /// What belongs to a request, its answer last, goes to `reply`.
    pub async fn receive(self: &Arc<Self>, message: Message, reply: Arc<dyn Outlet>) {
        let _ = (&self.gateway, &self.principal, &self.outlet, message, reply);
    }

    /// Who it is.
    #[must_use]
    pub fn principal(&self) -> &Principal {
        &self.principal
    }

    /// The revision that was agreed on, once it was.
    #[must_use]
    pub fn revision(&self) -> Option<Revision> {
        None
    }

    /// The client went away from a request: without sessions that cancels it.
    pub async fn abandon(&self, id: &Id) {
        let _ = id;
    }

    /// The client is gone: its calls are cancelled, its connections to servers closed.
    pub async fn close(&self) {}
}
