//! The connections of one client in one era, and what is known of the servers at their ends.
//!
//! What comes in: requests of the client that are to be answered by servers. What goes out: the same to
//! the server that they are for, or to all. Deliberately not here: single connections ([`super::link`]).

use super::{
    Client, Eras,
    connection::ServerConnection,
    read,
    resources::Resources,
    subscriptions::Subscription,
    supervisor::{self, Handshake},
    turns::Turns,
};
use crate::{
    Revision,
    config::ClientName,
    message::Message,
    protocol::{LIST_CHANGES, meta, method},
    tools::{
        Caller, ClientTools,
        list::names::{Bindings, Naming},
    },
    upstream::Upstream,
};
use bytes::Bytes;
use futures_util::future::join_all;
use parking_lot::Mutex;
use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
};

/// The connections of one client in one era.
pub(super) struct ConnectionSet {
    pub(super) links: Vec<Arc<ServerConnection>>,
    pub(super) tools: ClientTools,
    pub(super) revision: Revision,
    prompts: Mutex<Prompts>,
    pub(super) resources: Mutex<Resources>,
    /// Reading the lists of resources.
    pub(super) learning: Turns,
    /// Of which pairs of servers it was logged that one lists what is the other's; or of which server that
    /// it lists too much.
    reported: Mutex<HashSet<(usize, Option<usize>)>>,
    pub(super) subscriptions: Mutex<BTreeMap<u64, Subscription>>,
    /// Of which lists the client was told, when its session began, that it will hear when they change.
    announced: OnceLock<[bool; LIST_CHANGES.len()]>,
    tool_changes: AtomicU64,
    /// Lists of tools that took too long, by their servers.
    pub(super) late: Mutex<HashMap<usize, Late>>,
    /// Fetching the lists of tools.
    pub(super) listing: Turns,
    /// Fetching the lists of prompts.
    pub(super) naming: Turns,
}

/// Bytes of a name, an id or a token that is remembered.
pub(super) const MAX_KEY_BYTES: usize = 4096;

/// The names of prompts.
#[derive(Default)]
struct Prompts {
    given: Arc<Bindings>,
    /// Those that the client knows: of the lists that it was sent, or, if it never asked for any, of those
    /// that were fetched for it.
    sent: Arc<Bindings>,
    /// Whether the client listed itself.
    is_asked_for: bool,
    /// Whether no server's list has changed since.
    is_current: bool,
    /// The servers of which it was sent prompts: by its last list, or, without sessions, by any.
    listed: HashSet<usize>,
}

/// A server's list of tools that was not waited for.
pub(super) enum Late {
    /// It is still to come.
    Asked,
    /// Its pages, for who lists next.
    Here(Vec<Bytes>),
}

impl ConnectionSet {
    /// Connections for a client that introduced itself; opened from here on.
    pub(super) fn new(
        client: &Arc<Client>,
        revision: Revision,
        method: &'static str,
        params: &Bytes,
        name: Option<ClientName>,
    ) -> Arc<Self> {
        let gateway = &client.gateway;
        let links: Vec<Arc<ServerConnection>> = gateway
            .connectors(client.principal())
            .map(|(server, connector)| {
                let handshake = Handshake {
                    method,
                    params: params.clone(),
                    initialized: Mutex::default(),
                };
                ServerConnection::new(
                    server,
                    client,
                    connector,
                    handshake,
                    revision.is_stateless(),
                )
            })
            .collect();
        for link in &links {
            tokio::spawn(supervisor::run(Arc::clone(link)));
        }
        let caller = Caller::new(client.principal().clone(), client.session_key(), revision);
        let caller = match name {
            Some(name) => caller.with_client(name),
            None => caller,
        };
        Arc::new(Self {
            links,
            tools: gateway.tools.of(caller),
            revision,
            prompts: Mutex::default(),
            resources: Mutex::new(Resources::new(&client.account)),
            learning: Turns::default(),
            reported: Mutex::default(),
            subscriptions: Mutex::default(),
            announced: OnceLock::new(),
            tool_changes: AtomicU64::new(0),
            late: Mutex::default(),
            listing: Turns::default(),
            naming: Turns::default(),
        })
    }

    /// Connections for requests without a session, the first of which has these parameters.
    pub(super) fn stateless(client: &Arc<Client>, name: Option<&ClientName>) -> Arc<Self> {
        let revision = Revision::V2026_07_28;
        // What differs between clients must not be said for all of them.
        let name = name.filter(|_| !client.is_shared).cloned();
        let own = Bytes::from(
            serde_json::json!({"_meta": {
                (meta::PROTOCOL_VERSION): revision.as_str(),
                (meta::CLIENT_CAPABILITIES): {},
                (meta::CLIENT_INFO): {
                    "name": "crossfeed",
                    "version": env!("CARGO_PKG_VERSION"),
                },
            }})
            .to_string(),
        );
        Self::new(client, revision, method::DISCOVER, &own, name)
    }

    /// Whether this is reported for the first time.
    pub(super) fn is_first_report(&self, server: usize, of: Option<usize>) -> bool {
        self.reported.lock().insert((server, of))
    }

    /// The only connection, where there is only one.
    pub(super) fn only(&self) -> Option<&Arc<ServerConnection>> {
        match &self.links[..] {
            [link] => Some(link),
            _ => None,
        }
    }

    pub(super) fn link(&self, server: usize) -> Option<&Arc<ServerConnection>> {
        self.links.iter().find(|link| link.server == server)
    }

    /// The client is initialized, as it says itself; servers that come later are told when they do.
    pub(super) async fn initialized(&self, message: &Message) {
        for link in &self.links {
            *link.handshake.initialized.lock() = Some(message.clone());
            link.greet().await;
        }
    }

    pub(super) async fn tell_all(&self, message: &Message) {
        for link in &self.links {
            link.send(message.clone()).await;
        }
    }

    /// A server's tools are to be listed again before the next call.
    pub(super) fn tools_changed(&self, server: usize) {
        self.late
            .lock()
            .retain(|at, late| *at != server || matches!(late, Late::Asked));
        self.tool_changes.fetch_add(1, Ordering::Relaxed);
        self.tools.forget_list();
    }

    /// How often tools changed.
    pub(super) fn tool_changes(&self) -> u64 {
        self.tool_changes.load(Ordering::Relaxed)
    }

    /// What servers list is to be learnt again.
    pub(super) fn changed(&self, server: usize, method: &str) {
        match method {
            method::TOOLS_CHANGED => self.tools_changed(server),
            method::PROMPTS_CHANGED => self.prompts.lock().is_current = false,
            method::RESOURCES_CHANGED => self.resources.lock().is_learnt = false,
            _ => {}
        }
    }

    /// The names that prompts are shown under; from here on they stand for these. The client knows them if
    /// it asked for them, or never asked for any.
    pub(super) fn name_prompts(
        &self,
        naming: &Naming,
        prompts: &[(usize, &str)],
        is_asked_for: bool,
    ) -> Vec<Option<String>> {
        let mut known = self.prompts.lock();
        let (names, given) = naming.give(&known.given, prompts, &[]);
        known.is_asked_for |= is_asked_for;
        if is_asked_for {
            if !self.revision.is_stateless() {
                known.listed.clear();
            }
            let servers = prompts.iter().map(|(server, _)| *server);
            known.listed.extend(servers);
        }
        if is_asked_for || !known.is_asked_for {
            known.sent = Arc::clone(&given);
        }
        known.given = given;
        known.is_current = true;
        names
    }

    /// What the client is told when its session begins.
    pub(super) fn announce(&self, result: &Bytes) {
        let path = |capability| ["capabilities", capability, "listChanged"];
        let will_hear =
            |(capability, _, _)| read::raw(result, &path(capability)).as_deref() == Some(b"true");
        // A session begins once.
        let _ = self.announced.set(LIST_CHANGES.map(will_hear));
    }

    /// Whether a client with a session was told that it will hear when a list changes.
    pub(super) fn announced(&self, capability: &str) -> bool {
        let announced = self.announced.get().copied().unwrap_or_default();
        let mut lists = LIST_CHANGES.iter().zip(announced);
        lists.any(|((own, ..), will_hear)| *own == capability && will_hear)
    }

    /// Whether something of a server is in the list of a capability, as the client knows it.
    pub(super) fn has_listed(&self, server: usize, capability: &str) -> bool {
        match capability {
            "tools" => self.tools.was_sent(server),
            "prompts" => self.prompts.lock().listed.contains(&server),
            _ => self.resources.lock().has_listed(server),
        }
    }

    /// The prompt of a name that the client knows: its server, and its name there.
    pub(super) fn prompt(&self, name: &str) -> Option<(usize, String)> {
        let known = self.prompts.lock();
        let (server, own) = known.sent.owner(name)?;
        Some((server, own.to_owned()))
    }

    /// Whether a client that names an unknown prompt may have it from elsewhere, so that lists have to be
    /// read first.
    pub(super) fn may_list_prompts(&self) -> bool {
        let known = self.prompts.lock();
        !known.is_asked_for && !known.is_current
    }

    /// Whether the stateless era is to be offered: at least one server speaks it, and none is known not to. Waits
    /// until that is known.
    pub(super) async fn speaks_stateless(&self, eras: &Eras) -> bool {
        let mut changes = eras.changes.subscribe();
        let settled = join_all(self.links.iter().map(|link| link.settled()));
        let mut settled = std::pin::pin!(settled);
        loop {
            changes.mark_unchanged();
            if self.speaks_sessions_only(eras) {
                return false;
            }
            tokio::select! {
                _ = &mut settled => break,
                _ = changes.changed() => {}
            }
        }
        !self.speaks_sessions_only(eras)
            && self
                .links
                .iter()
                .any(|link| eras.of(link.server, true) == Some(true))
    }

    /// Whether a server is known that does not speak the stateless era.
    fn speaks_sessions_only(&self, eras: &Eras) -> bool {
        self.links
            .iter()
            .any(|link| eras.of(link.server, true) == Some(false))
    }

    /// Gives up what runs on every connection, so that each request is told whether it may have run.
    pub(super) async fn give_up(&self) -> Vec<Arc<dyn Upstream>> {
        let given_up = join_all(self.links.iter().map(|link| link.give_up())).await;
        given_up.into_iter().flatten().collect()
    }

    /// Ends every connection in an orderly way.
    pub(super) async fn close(&self) {
        let given_up = self.give_up().await;
        join_all(given_up.iter().map(|upstream| upstream.close())).await;
        self.tools.close().await;
    }
}
