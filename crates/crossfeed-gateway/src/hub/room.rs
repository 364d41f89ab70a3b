//! Reserves the processes and descriptors of connections to servers, and takes them back from idle clients.
//!
//! # Invariants
//!
//! - A session reserves for all of its servers, or for none, before anything is started.
//! - Room comes back when the process that took it has ended, not before.
//! - A client that listens, or has a running request or task, gives nothing back.

use super::{Client, Gateway};
use crate::{
    Revision,
    config::{ServerConfig, TransportConfig},
    message::{Header, Id, Message},
    metrics::families::REFUSALS,
    port::Crowded,
    principal::Principal,
    quota::{Lack, Needs, Permit, Shortage},
    upstream::{Upstream, UpstreamError},
};
use async_trait::async_trait;
use std::{collections::HashMap, sync::Arc, time::Duration};
use tokio::{runtime::Handle, task::JoinHandle, time::Instant};

/// How long a connection may take to end in an orderly way.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(10);

/// The permit of one connection to a server.
pub(super) type Room = Permit;

/// What each connection to a server takes.
pub(super) fn needs(server: &ServerConfig) -> Needs {
    match server.transport {
        TransportConfig::Http { .. } => Needs::HTTP,
        TransportConfig::Stdio { .. } => Needs::PROCESS,
    }
}

/// An open connection, whose room comes back when it has ended.
pub(super) struct Connection {
    pub(super) upstream: Arc<dyn Upstream>,
    /// None for a bridge whose connections hold their own.
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
    pub(super) async fn end(mut self) {
        if let Some(ending) = self.begin_end() {
            let _ = ending.await;
        }
    }

    fn begin_end(&mut self) -> Option<JoinHandle<()>> {
        if std::mem::replace(&mut self.has_ended, true) {
            return None;
        }
        let mut room = self.room.take();
        // Room with another reference is used for another attempt.
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
    /// Ends it without waiting for that.
    fn drop(&mut self) {
        drop(self.begin_end());
    }
}

#[async_trait]
impl Upstream for Connection {
    async fn send(&self, message: Message, headers: &[Header]) -> Result<(), UpstreamError> {
        self.upstream.send(message, headers).await
    }

    fn speak(&self, revision: Revision) {
        self.upstream.speak(revision);
    }

    async fn abandon(&self, id: &Id) {
        self.upstream.abandon(id).await;
    }

    async fn close(&self) {
        if let Some(room) = &self.room {
            room.ends();
        }
        self.upstream.close().await;
    }
}

impl Gateway {
    /// Counts that a limit refused something to a connection.
    pub(super) fn crowded(&self, what: &'static str) -> UpstreamError {
        self.metrics.metrics.count(REFUSALS, &[what]);
        UpstreamError::Crowded { what }
    }

    /// Room for all connections to servers that a client of the principal has, by server. If there is too little, idle
    /// clients give back theirs first, if that is enough.
    pub(super) async fn rooms(
        &self,
        principal: &Principal,
    ) -> Result<HashMap<usize, Arc<Room>>, Crowded> {
        let servers = self.connectors(principal);
        let servers = servers.map(|(server, config, _)| (server, needs(config)));
        let (servers, needs): (Vec<_>, Vec<_>) = servers.unzip();
        let rooms = self.room(principal, &needs).await?;
        Ok(servers.into_iter().zip(rooms).collect())
    }

    /// Room for connections of these needs. If there is too little, idle clients give back theirs first, if that is
    /// enough.
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
            Err(lack) => Err(Crowded { what: lack.what() }),
        }
    }

    /// Has idle clients give back their room, until it is enough together with what is ending already: clients of the
    /// same principal, or, unless that has its share, of those that have more. If it would not be enough, none does.
    fn take_back(&self, principal: &Principal, needs: Needs, lack: Lack) -> bool {
        let quotas = &self.quotas;
        let lacking = lack
            .count(needs)
            .saturating_sub(lack.count(quotas.left_soon(principal)));
        if lacking == 0 {
            return true;
        }
        let held_by = |whose: &Principal| lack.count(quotas.held_by(whose));
        let own = held_by(principal);
        let may_give = |client: &Client| {
            let whose = &client.principal;
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
            coming += rooms * lack.count(Needs::PROCESS);
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
}
