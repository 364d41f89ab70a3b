//! Connections of clients: standard input and output, and streamable HTTP.
//!
//! What comes in: bytes of clients. What goes out: messages for the hub, in order, and the hub's messages
//! as bytes; errors for what is no message. Deliberately not here: what messages mean.

use crate::message::Message;
use async_trait::async_trait;

/// The client is gone: what is for it goes nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the client is gone")]
#[non_exhaustive]
pub struct Gone;

/// Where messages for a client go: a connection, or the stream that answers one request.
#[async_trait]
pub trait Outlet: Send + Sync {
    /// Sends a message behind those that were sent before. Waits while the client does not read.
    ///
    /// # Errors
    ///
    /// [`Gone`] when the client is.
    async fn send(&self, message: Message) -> Result<(), Gone>;
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
