//! The hub's side of the interface to transports of clients.

use super::{Client, Gateway};
use crate::{
    Revision,
    budget::Budget,
    message::{Header, Id, Message, RpcError},
    metrics::Metrics,
    port::{Crowded, Hub, HubClient, MessageSink, ServerHealth},
    principal::Principal,
    quota::Quotas,
};
use async_trait::async_trait;
use bytes::Bytes;
use std::sync::Arc;

impl Hub for Gateway {
    fn connect(
        self: Arc<Self>,
        principal: Principal,
        outlet: Arc<dyn MessageSink>,
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
        Arc::clone(&self.budget)
    }

    fn quotas(&self) -> Arc<Quotas> {
        Arc::clone(&self.quotas)
    }

    fn give_back(&self) {
        Self::give_back(self);
    }

    fn metrics(&self) -> Metrics {
        self.figures.metrics().clone()
    }
}

#[async_trait]
impl HubClient for Client {
    async fn receive(self: Arc<Self>, message: Message, reply: Arc<dyn MessageSink>) {
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

    async fn give_up(&self, _: &Id, reply: &Arc<dyn MessageSink>) {
        Self::give_up(self, reply).await;
    }

    fn ends(&self) {
        Self::ends(self);
    }

    async fn close(&self) {
        Self::close(self).await;
    }
}
