//! Servers of one era for clients of the other.
//!
//! What comes in: how a server is reached. What goes out: the same, but speaking the other era. To a
//! client with sessions a server without them looks as if it had one, and the reverse. Deliberately not
//! here: which era a server speaks; the hub finds out.

use crate::upstream::Connector;
use std::sync::Arc;

/// A server without sessions, for clients that have them.
#[derive(Clone)]
pub struct WithSession {
    /// How the server is reached.
    pub server: Arc<dyn Connector>,
}

/// A server with sessions, for clients that have none.
#[derive(Clone)]
pub struct WithoutSession {
    /// How the server is reached.
    pub server: Arc<dyn Connector>,
}
