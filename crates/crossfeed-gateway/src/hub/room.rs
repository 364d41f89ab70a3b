//! What connections to servers take of the machine, and how clients that use theirs less give it back.
//!
//! What comes in: who needs how much. What goes out: room, taken before anything is started. Deliberately not
//! here: how connections begin and end ([`super::life`]).
//!
//! # What holds
//!
//! - A session takes what all of its servers need, or nothing.
//! - Room comes back when the process that took it has ended, not before.
//! - A client that listens, that asked something which still runs, or whose task runs, gives nothing back.

use super::{Client, Gateway};
use crate::{
    config::{ServerConfig, TransportConfig},
    metrics::families::REFUSALS,
    port::Crowded,
    principal::Principal,
    quota::{Lack, Needs, Permit, Quotas, Shortage},
    upstream::{Upstream, UpstreamError},
};
use std::{sync::Arc, time::Duration};
use tokio::{runtime::Handle, task::JoinHandle, time::Instant};

/// How long a connection that is over may take to end in an orderly way.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a session that never called a tool keeps its processes without use.
const UNCALLED_IDLE_TIMEOUT: Duration = Duration::from_secs(60);

/// What one connection to a server takes.
pub(super) type Room = Permit;

/// What a server of the configuration takes for each of its connections.
pub(super) fn needs(server: Option<&ServerConfig>) -> Needs {
    match server.map(|server| &server.transport) {
        Some(TransportConfig::Http { .. }) => Needs::HTTP,
        _ => Needs::PROCESS,
    }
}

/// An open connection, whose room comes back when it has ended.
pub(super) struct Connection {
    pub(super) upstream: Arc<dyn Upstream>,
    /// None where the connections behind a bridge hold their own.
    room: Option<Arc<Room>>,
    has_ended: bool,
}

impl Connection {
    pub(super) fn new(upstream: Arc<dyn Upstream>, room: Option<Arc<Room>>) -> Self {
        Self {
            upstream,
            room,
            has_ended: false,
        }
    }

    /// Ends it in an orderly way, and waits for that.
    pub(super) async fn close(mut self) {
        if let Some(ending) = self.end() {
            let _ = ending.await;
        }
    }

    /// It is about to end: others may wait for its room.
    pub(super) fn ends(&self) {
        if let Some(room) = &self.room {
            room.ends();
        }
    }

    fn end(&mut self) -> Option<JoinHandle<()>> {
        if std::mem::replace(&mut self.has_ended, true) {
            return None;
        }
        let mut room = self.room.take();
        // Room that somebody else refers to is used for another attempt.
        if let Some(room) = room.as_mut().and_then(Arc::get_mut) {
            room.ends();
        }
        let upstream = Arc::clone(&self.upstream);
        let runtime = Handle::try_current().ok()?;
        Some(runtime.spawn(async move {
            drop(tokio::time::timeout(CLOSE_TIMEOUT, upstream.close()).await);
            drop(room);
        }))
    }
}

impl Drop for Connection {
    /// Ends it; nobody waits for that.
    fn drop(&mut self) {
        drop(self.end());
    }
}

impl Gateway {
    /// Child processes and descriptors for servers, shared by the clients.
    #[must_use]
    pub fn quotas(&self) -> &Arc<Quotas> {
        &self.quotas
    }

    /// A connection is refused what it takes.
    pub(super) fn crowded(&self, what: &'static str) -> UpstreamError {
        self.figures.metrics().count(REFUSALS, &[what]);
        UpstreamError::Crowded { what }
    }

    /// Room for connections of these needs. Where there is too little, clients that do not use theirs give it
    /// back first, if that is enough.
    pub(super) async fn room(
        &self,
        principal: &Principal,
        needs: &[Needs],
    ) -> Result<Vec<Arc<Room>>, Crowded> {
        let until = Instant::now() + CLOSE_TIMEOUT;
        let all = needs.iter().fold(Needs::NOTHING, |all, one| all.plus(*one));
        let is_coming = |lack| self.take_back(principal, all, lack);
        let taken = self
            .quotas
            .take_when_there(principal, all, until, is_coming);
        match taken.await {
            Ok(mut room) => Ok(needs
                .iter()
                .map(|needs| Arc::new(room.split(*needs)))
                .collect()),
            Err(Lack { is_processes, .. }) => Err(Crowded {
                what: if is_processes {
                    "processes"
                } else {
                    "descriptors"
                },
            }),
        }
    }

    /// Has clients give back what they do not use, until it is enough together with what is ending already; of
    /// whoever asks, or unless that is its share, of those who have more. Where it would not be enough, nobody
    /// gives anything.
    fn take_back(&self, principal: &Principal, needs: Needs, lack: Lack) -> bool {
        let quotas = &self.quotas;
        let lacking = lack
            .of(needs)
            .saturating_sub(lack.of(quotas.left_soon(principal)));
        if lacking == 0 {
            return true;
        }
        let held_by = |whose: &Principal| lack.of(quotas.held_by(whose));
        let own = held_by(principal);
        let may_give = |client: &Client| {
            let whose = client.principal();
            whose == principal || (lack.shortage == Shortage::All && held_by(whose) > own)
        };
        let mut unused: Vec<(Instant, Arc<Client>)> = self
            .every_client()
            .into_iter()
            .filter(|client| may_give(client))
            .filter_map(|client| Some((client.unused_since()?, client)))
            .collect();
        unused.sort_by_key(|(since, _)| *since);
        let mut giving = Vec::new();
        let mut coming = 0;
        for (_, client) in unused {
            if coming >= lacking {
                break;
            }
            let links = client.links();
            let mut links: Vec<_> = links.into_iter().filter(|link| link.may_rest()).collect();
            let rooms: usize = links.iter().map(|link| link.rooms()).sum();
            coming += rooms * lack.of(Needs::PROCESS);
            giving.append(&mut links);
        }
        if coming < lacking {
            return false;
        }
        for link in giving {
            link.rest();
        }
        true
    }

    /// Has clients that used no server for long give back the processes.
    pub fn give_back(&self) {
        let idle = self.config().limits.process_idle;
        for client in self.every_client() {
            let patience = if client.has_called() {
                idle
            } else {
                idle.min(UNCALLED_IDLE_TIMEOUT)
            };
            let is_due = |since: Instant| since.elapsed() >= patience;
            if client.unused_since().is_some_and(is_due) {
                for link in client.links() {
                    link.rest();
                }
            }
        }
    }
}
