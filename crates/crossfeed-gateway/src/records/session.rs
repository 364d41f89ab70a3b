//! What is kept of a session over HTTP.

use crate::protocol::Revision;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What another process needs to go on with a session.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct SessionRecord {
    /// Whose it is, in a word.
    pub(crate) principal: String,
    /// The key of what it recorded.
    pub(crate) key: String,
    /// The revision that servers were asked for.
    pub(crate) asked: String,
    /// The revision that was agreed on with the client.
    pub(crate) agreed: String,
    /// The parameters of `initialize`.
    pub(crate) handshake: String,
    /// The client's notification that it is initialized.
    #[serde(default)]
    pub(crate) initialized: Option<String>,
    /// The capabilities whose lists the client was promised to hear about.
    #[serde(default)]
    pub(crate) announced: Vec<String>,
    /// The methods of the lists that the client asked for, where what a name means depends on them.
    #[serde(default)]
    pub(crate) listed: Vec<String>,
    /// By the names of servers.
    #[serde(default)]
    pub(crate) servers: BTreeMap<String, ServerRecord>,
    /// The replica that has it; any may take it up where none is named, or that one is gone.
    #[serde(default)]
    pub(crate) replica: Option<String>,
}

/// What the client asked a server for that lasts.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ServerRecord {
    /// The parameters of `logging/setLevel`.
    #[serde(default)]
    pub(crate) level: Option<String>,
    #[serde(default)]
    pub(crate) subscriptions: Vec<String>,
}

/// The revisions of a session.
pub(crate) struct Revisions {
    /// With servers.
    pub(crate) asked: Revision,
    /// With the client.
    pub(crate) agreed: Revision,
}

impl SessionRecord {
    /// The revisions, where this version knows them.
    pub(crate) fn revisions(&self) -> Option<Revisions> {
        Some(Revisions {
            asked: Revision::parse(&self.asked)?,
            agreed: Revision::parse(&self.agreed)?,
        })
    }
}

/// A number behind all that the processes counted which had the session before.
pub(crate) fn first_number(generation: u64) -> u64 {
    // JSON numbers are exact up to 2^53: two million restarts of a session.
    (generation & ((1 << 21) - 1)) << 32
}

/// Whether a number is the first of some process.
pub(crate) fn is_first_number(number: u64) -> bool {
    number == first_number(number >> 32)
}
