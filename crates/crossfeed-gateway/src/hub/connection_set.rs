//! The connections of one client in one era, and its knowledge of the servers behind them.

use super::{
    Client, Eras,
    connection::ServerConnection,
    resources::Resources,
    subscriptions::Subscription,
    supervisor::{self, Handshake},
    turns::Turns,
};
use crate::{
    Revision,
    config::ClientName,
    members,
    message::Message,
    protocol::{LIST_CHANGES, meta, method},
    records::session::SessionRecord,
    tools::{
        Caller, ClientTools,
        inputs::ClientRoots,
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
    /// Whether the client of the session says that it has roots.
    pub(super) has_roots: bool,
    /// Whether other processes may list for its clients, too.
    is_elsewhere_too: bool,
    prompts: Mutex<Prompts>,
    pub(super) resources: Mutex<Resources>,
    /// The turns of reading the lists of resources.
    pub(super) learning: Turns,
    /// The pairs of servers of which the log says that one lists what the other listed first, and the servers of
    /// which it says that they list too much.
    reported: Mutex<HashSet<(usize, Option<usize>)>>,
    pub(super) subscriptions: Mutex<BTreeMap<u64, Subscription>>,
    /// The lists whose changes were promised to the client when its session began.
    announced: OnceLock<[bool; LIST_CHANGES.len()]>,
    tool_changes: AtomicU64,
    /// Lists of tools that took too long, by their servers.
    pub(super) late: Mutex<HashMap<usize, LateList>>,
    /// The turns of fetching the lists of tools.
    pub(super) listing: Turns,
    /// The turns of fetching the lists of prompts.
    pub(super) naming: Turns,
}

/// The most bytes of a name, an id or a token that is remembered.
pub(super) const MAX_KEY_BYTES: usize = 4096;

/// The client's notification that it is initialized, if it came.
fn initialized(kept: &SessionRecord) -> Option<Message> {
    Message::parse(kept.initialized.clone()?).ok()
}

/// The names of prompts.
#[derive(Default)]
struct Prompts {
    given: Arc<Bindings>,
    /// The names that the client knows: of the lists that it was sent, or, if it never asked for one, of those
    /// that were fetched for it.
    sent: Arc<Bindings>,
    /// Whether the client asked for a list.
    is_asked_for: bool,
    /// Whether no server's list has changed since.
    is_current: bool,
    /// The servers of the prompts that it was sent: in its last list, or, without sessions, in any.
    listed: HashSet<usize>,
}

/// A server's list of tools that was not waited for.
pub(super) enum LateList {
    /// It is still to come.
    Pending,
    /// Its pages, for the next request.
    Arrived(Vec<Bytes>),
}

impl ConnectionSet {
    /// Opens connections to all servers of a client, with this handshake: its method and parameters. `kept` is what a
    /// session that goes on had before.
    pub(super) fn new(
        client: &Arc<Client>,
        revision: Revision,
        (handshake, params): (&'static str, &Bytes),
        name: Option<ClientName>,
        kept: Option<&SessionRecord>,
    ) -> Arc<Self> {
        let gateway = &client.gateway;
        let is_stateless = revision.is_stateless();
        let servers = gateway.connectors(&client.principal);
        let links: Vec<_> = servers
            .map(|server| {
                let handshake = Handshake {
                    method: handshake,
                    params: params.clone(),
                    initialized: Mutex::new(kept.and_then(initialized)),
                    is_again: kept.is_some(),
                };
                let link = ServerConnection::new(server, client, handshake, is_stateless);
                if let Some(before) = kept.and_then(|kept| kept.servers.get(&*link.name)) {
                    link.restore(before);
                }
                link
            })
            .collect();
        for link in &links {
            tokio::spawn(supervisor::run(Arc::clone(link)));
        }
        let caller = Caller::new(client.principal.clone(), client.session_key(), revision);
        let caller = match name {
            Some(name) => caller.with_client(name),
            None => caller,
        };
        let tools = gateway.tools.for_caller(caller);
        let was_asked = |list: &str| {
            let lists = kept.iter().flat_map(|kept| &kept.listed);
            gateway.tools.naming().goes_by_lists() && lists.into_iter().any(|own| own == list)
        };
        if was_asked(method::LIST_TOOLS) {
            tools.was_asked_before();
        }
        let prompts = Prompts {
            is_asked_for: was_asked(method::LIST_PROMPTS),
            ..Prompts::default()
        };
        let is_elsewhere_too = gateway.tools.is_one_of_several(revision);
        let roots = members::get(params, &["capabilities", "roots"]);
        Arc::new(Self {
            links,
            tools,
            revision,
            has_roots: ClientRoots::are_declared(roots.as_ref()),
            is_elsewhere_too,
            prompts: Mutex::new(prompts),
            resources: Mutex::new(Resources::new(&client.account, is_elsewhere_too)),
            learning: Turns::default(),
            reported: Mutex::default(),
            subscriptions: Mutex::default(),
            announced: kept.map_or_else(OnceLock::new, |kept| {
                let announced = &kept.announced;
                LIST_CHANGES
                    .map(|(capability, ..)| announced.iter().any(|own| own == capability))
                    .into()
            }),
            tool_changes: AtomicU64::new(0),
            late: Mutex::default(),
            listing: Turns::default(),
            naming: Turns::default(),
        })
    }

    /// Connections for requests without a session.
    pub(super) fn stateless(client: &Arc<Client>, name: Option<&ClientName>) -> Arc<Self> {
        let revision = Revision::V2026_07_28;
        // Clients that share connections may have different names.
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
        Self::new(client, revision, (method::DISCOVER, &own), name, None)
    }

    /// Whether the log did not say this before.
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

    /// Passes `notifications/initialized` on, also to servers that come later.
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

    /// Has a server's tools listed again before the next call.
    pub(super) fn tools_changed(&self, server: usize) {
        self.late
            .lock()
            .retain(|at, late| *at != server || matches!(late, LateList::Pending));
        self.tool_changes.fetch_add(1, Ordering::Relaxed);
        self.tools.forget_list();
    }

    /// The number of changes of tools.
    pub(super) fn tool_changes(&self) -> u64 {
        self.tool_changes.load(Ordering::Relaxed)
    }

    /// Has a list of a server read again.
    pub(super) fn changed(&self, server: usize, method: &str) {
        match method {
            method::TOOLS_CHANGED => self.tools_changed(server),
            method::PROMPTS_CHANGED => self.prompts.lock().is_current = false,
            method::RESOURCES_CHANGED => {
                self.resources.lock().changed();
                self.tools.forget_resources();
            }
            method::RESOURCE_UPDATED => self.tools.forget_resources(),
            _ => {}
        }
    }

    /// The names that prompts are shown under, which stand for these from here on. The client knows them if it asked
    /// for this list, or never for any.
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
        if is_asked_for || !known.is_asked_for || self.is_elsewhere_too {
            known.sent = Arc::clone(&given);
        }
        known.given = given;
        known.is_current = true;
        names
    }

    /// Whether the client asked for this list itself.
    pub(super) fn is_asked_for(&self, list: &str) -> bool {
        match list {
            method::LIST_TOOLS => self.tools.is_asked_for(),
            method::LIST_PROMPTS => self.prompts.lock().is_asked_for,
            _ => false,
        }
    }

    /// Notes the promises of the answer that begins a session.
    pub(super) fn announce(&self, result: &Bytes) {
        let will_hear = |(capability, _, _)| {
            members::is_true(result, &["capabilities", capability, "listChanged"])
        };
        // A session begins once.
        let _ = self.announced.set(LIST_CHANGES.map(will_hear));
    }

    /// The capabilities about whose lists a client with a session was promised to hear.
    pub(super) fn all_announced(&self) -> impl Iterator<Item = &'static str> {
        let announced = self.announced.get().copied().unwrap_or_default();
        let lists = LIST_CHANGES.iter().zip(announced);
        lists.filter_map(|((capability, ..), will_hear)| will_hear.then_some(*capability))
    }

    /// Whether a client with a session was promised to hear when a list changes.
    pub(super) fn announced(&self, capability: &str) -> bool {
        self.all_announced().any(|own| own == capability)
    }

    /// Whether the list of a capability that the client knows has something of a server.
    pub(super) fn has_listed(&self, server: usize, capability: &str) -> bool {
        match capability {
            "tools" => self.tools.was_sent(server),
            "prompts" => self.prompts.lock().listed.contains(&server),
            _ => self.resources.lock().has_listed(server),
        }
    }

    /// The server of a prompt that the client knows by this name, and its name there.
    pub(super) fn prompt(&self, name: &str) -> Option<(usize, String)> {
        let known = self.prompts.lock();
        let (server, own) = known.sent.owner(name)?;
        Some((server, own.to_owned()))
    }

    /// Whether the lists must be read to find a prompt, since the client may know it from elsewhere.
    pub(super) fn may_list_prompts(&self) -> bool {
        let known = self.prompts.lock();
        (!known.is_asked_for || self.is_elsewhere_too) && !known.is_current
    }

    /// Whether to offer the stateless era: at least one server speaks it, and none is known not to. Waits until that
    /// is known.
    pub(super) async fn speaks_stateless(&self, eras: &Eras) -> bool {
        let speaks_any = |known: &HashMap<(usize, bool), bool>, speaks| {
            let mut links = self.links.iter();
            links.any(|link| known.get(&(link.server, true)) == Some(&speaks))
        };
        let mut known = eras.0.subscribe();
        tokio::select! {
            biased;
            _ = known.wait_for(|known| speaks_any(known, false)) => return false,
            _ = join_all(self.links.iter().map(|link| link.settled())) => {}
        }
        let known = eras.0.borrow();
        !speaks_any(&known, false) && speaks_any(&known, true)
    }

    /// Gives up all running requests, each with whether it may have run. Returns the connections, which are still to be
    /// closed.
    pub(super) async fn give_up(&self) -> Vec<Arc<dyn Upstream>> {
        let given_up = join_all(self.links.iter().map(|link| link.give_up())).await;
        given_up.into_iter().flatten().collect()
    }

    /// Closes all connections in an orderly way. What was recorded stays if the session `goes_on` elsewhere.
    pub(super) async fn close(&self, goes_on: bool) {
        let given_up = self.give_up().await;
        join_all(given_up.iter().map(|upstream| upstream.close())).await;
        if goes_on {
            self.tools.leave();
        } else {
            self.tools.close().await;
        }
    }
}
