//! Bridges between the protocol eras: a server without sessions looks to a client as if it had one, and the reverse.
//!
//! # Invariants
//!
//! - Every request gets one answer or one failure, unless it was cancelled.
//! - Only the members in which the eras differ change in parameters and results; all other bytes stay.
//! - What a server can delay, how often it can ask, and for how long, is bounded.

mod desk;
mod driver;
mod members;
mod stateful;
mod stateless;

#[cfg(test)]
mod tests;

use crate::{
    message::{Id, Message},
    protocol::{LIST_CHANGES, method},
    upstream::{Connector, Event, Upstream, UpstreamError},
};
use async_trait::async_trait;
use bytes::Bytes;
use crossfeed_json::quoted;
use driver::Driver;
use std::{collections::BTreeSet, sync::Arc, time::Duration};
use tokio::sync::mpsc;

/// A server without sessions, for clients that have them.
#[derive(Clone)]
pub struct StatefulBridge {
    /// How the server is reached.
    pub server: Arc<dyn Connector>,
}

#[async_trait]
impl Connector for StatefulBridge {
    async fn connect(
        &self,
        events: mpsc::Sender<Event>,
    ) -> Result<Arc<dyn Upstream>, UpstreamError> {
        Driver::connect(&self.server, stateful::Session::default(), events).await
    }
}

/// A server with sessions, for clients that have none.
#[derive(Clone)]
pub struct StatelessBridge {
    /// How the server is reached.
    pub server: Arc<dyn Connector>,
    /// Whether several clients may share it: requests of a server that one causes are never shown to another.
    pub is_shared: bool,
    /// Whether the transport names the client's request that a request of the server belongs to: over HTTP, not over
    /// standard input.
    pub names_requests: bool,
    /// How long each session after the first may take to begin.
    pub start_timeout: Duration,
    /// The name of this replica of the gateway, with which the states begin that it gives: calls that wait for their
    /// clients are here.
    pub replica: Option<Arc<str>>,
}

#[async_trait]
impl Connector for StatelessBridge {
    async fn connect(
        &self,
        events: mpsc::Sender<Event>,
    ) -> Result<Arc<dyn Upstream>, UpstreamError> {
        let keeps_apart = self.is_shared && !self.names_requests;
        let replica = self.replica.clone();
        let sessions =
            stateless::Sessions::new(self.is_shared, keeps_apart, self.start_timeout, replica);
        Driver::connect(&self.server, sessions, events).await
    }
}

/// The notification that cancels a request.
fn cancelled(id: &Id) -> Message {
    let params = members::object(&[("requestId", id.raw())]);
    Message::notification(method::CANCELLED, Some(&params))
}

/// The name of a server that gives none.
static UNNAMED: Bytes = Bytes::from_static(br#"{"name":"server","version":"0"}"#);

/// The filter of `subscriptions/listen`; none if it is empty.
fn listened(changes: impl Fn(&str) -> bool, uris: &BTreeSet<String>) -> Option<Bytes> {
    let texts: Vec<_> = uris.iter().map(|uri| quoted(uri)).collect();
    let texts = format!("[{}]", texts.join(","));
    let lists = LIST_CHANGES.iter().filter(|(list, _, _)| changes(list));
    let mut filter: Vec<(&str, &str)> = lists.map(|(_, _, flag)| (*flag, "true")).collect();
    if !uris.is_empty() {
        filter.push(("resourceSubscriptions", &texts));
    }
    (!filter.is_empty()).then(|| members::object(&filter))
}

/// The parameters of requests and notifications about one resource.
fn about_resource(uri: &str) -> Bytes {
    members::object(&[("uri", quoted(uri))])
}
