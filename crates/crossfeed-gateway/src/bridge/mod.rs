//! Servers of one era for clients of the other.
//!
//! What comes in: how a server is reached. What goes out: the same, but speaking the other era. To a
//! client with sessions a server without them looks as if it had one, and the reverse. Deliberately not
//! here: which era a server speaks; the hub finds out. And tools: what `structuredContent` may be in which
//! era is for those who show results.
//!
//! # What holds
//!
//! - Every request gets one answer, or one failure, or was cancelled.
//! - Of parameters and results only the members change in which the eras differ; other bytes stay.
//! - What a server may make wait, how often it may ask, and for how long, is bounded.

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
    /// Whether several clients may be behind the requests: what one causes a server to ask is never
    /// shown to another.
    pub is_shared: bool,
    /// Whether the transport says within which request the server asks: over HTTP, not over standard input.
    pub names_requests: bool,
    /// How long each session after the first may take to begin.
    pub start_timeout: Duration,
}

#[async_trait]
impl Connector for StatelessBridge {
    async fn connect(
        &self,
        events: mpsc::Sender<Event>,
    ) -> Result<Arc<dyn Upstream>, UpstreamError> {
        let keeps_apart = self.is_shared && !self.names_requests;
        let sessions = stateless::Sessions::new(self.is_shared, keeps_apart, self.start_timeout);
        Driver::connect(&self.server, sessions, events).await
    }
}

/// The notification that cancels a request.
fn cancelled(id: &Id) -> Message {
    let params = members::object(&[("requestId", id.raw())]);
    Message::notification(method::CANCELLED, Some(&params))
}

/// What a server is called that does not say so.
static UNNAMED: Bytes = Bytes::from_static(br#"{"name":"server","version":"0"}"#);

/// What is listened to, as the era without sessions says it; none where that is nothing.
fn listened(changes: impl Fn(&str) -> bool, uris: &BTreeSet<String>) -> Option<Bytes> {
    let texts: Vec<_> = uris.iter().map(|uri| quoted(uri)).collect();
    let texts = format!("[{}]", texts.join(","));
    let lists = LIST_CHANGES.iter().filter(|(list, _, _)| changes(list));
    let mut filter: Vec<members::Member<'_>> =
        lists.map(|(_, _, flag)| (*flag, &b"true"[..])).collect();
    if !uris.is_empty() {
        filter.push(("resourceSubscriptions", texts.as_bytes()));
    }
    (!filter.is_empty()).then(|| members::object(&filter))
}
