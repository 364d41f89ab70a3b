//! The connections of one client in one era, and what is known of the servers at their ends.
//!
//! What comes in: requests of the client that are to be answered by servers. What goes out: the same to
//! the server that they are for, or to all. Deliberately not here: single connections ([`super::link`]).

use super::{
    Client,
    life::{self, Hello},
    link::Link,
    listen::Listening,
    owners::Owners,
    read,
};
use crate::{
    Revision,
    message::Message,
    tools::{Caller, ClientTools},
};
use bytes::Bytes;
use futures_util::future::join_all;
use std::{
    collections::{BTreeMap, HashMap},
    num::NonZeroUsize,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

/// Tasks whose server is remembered; an older one is asked for in turn.
const TASKS: NonZeroUsize = NonZeroUsize::new(4096).expect("not zero");

/// The connections of one client in one era.
pub(super) struct Side {
    links: Vec<Arc<Link>>,
    pub(super) tools: ClientTools,
    pub(super) revision: Revision,
    known: Mutex<Known>,
    listenings: Mutex<BTreeMap<u64, Listening>>,
    tool_changes: AtomicU64,
    /// Lists of tools that took too long, by their servers.
    late: Mutex<HashMap<usize, Late>>,
    /// Lists are fetched by one request at a time.
    pub(super) listing: tokio::sync::Mutex<()>,
}

/// Bytes of a name, an id or a token that is remembered; who has a longer name is asked for in turn.
pub(super) const LONGEST: usize = 4096;

/// Resources whose server is remembered.
const RESOURCES: NonZeroUsize = NonZeroUsize::new(16_384).expect("not zero");

/// What was learnt of the servers.
struct Known {
    tasks: Owners,
    resources: Owners,
    /// Templates of addresses, as they are written.
    templates: Owners,
    /// Prompts by the names that they are shown under; none until they are listed.
    prompts: Option<Prompts>,
}

/// A server's list of tools that was not waited for.
pub(super) enum Late {
    /// It is still to come.
    Asked,
    /// Its pages, for who lists next.
    Here(Vec<Bytes>),
}

/// Which prompt of which server a name stands for.
pub(super) type Prompts = HashMap<String, (usize, String)>;

impl Side {
    /// Connections for a client that introduced itself; opened from here on.
    pub(super) fn new(
        client: &Arc<Client>,
        revision: Revision,
        method: &'static str,
        params: &Bytes,
        name: Option<String>,
    ) -> Arc<Self> {
        let gateway = client.gateway();
        let links: Vec<Arc<Link>> = gateway
            .connectors()
            .map(|(server, connector)| {
                let hello = Hello::new(method, params.clone());
                Link::new(server, client, connector, hello, revision.is_stateless())
            })
            .collect();
        for link in &links {
            tokio::spawn(life::run(Arc::clone(link)));
        }
        let caller = Caller::new(client.principal().clone(), client.session_key(), revision);
        let caller = match name {
            Some(name) => caller.with_client_name(name),
            None => caller,
        };
        Arc::new(Self {
            links,
            tools: gateway.tools().of(caller),
            revision,
            known: Mutex::new(Known {
                tasks: Owners::new(TASKS),
                resources: Owners::new(RESOURCES),
                templates: Owners::new(RESOURCES),
                prompts: None,
            }),
            listenings: Mutex::default(),
            tool_changes: AtomicU64::new(0),
            late: Mutex::default(),
            listing: tokio::sync::Mutex::default(),
        })
    }

    /// Connections for requests without a session, the first of which has these parameters.
    pub(super) fn stateless(client: &Arc<Client>, params: Option<&Bytes>) -> Arc<Self> {
        let revision = Revision::V2026_07_28;
        let name = params
            .and_then(|params| read::string(params, &["_meta", crate::meta::CLIENT_INFO, "name"]));
        // What differs between clients must not be said for all of them.
        let name = name.filter(|_| !client.is_shared());
        let own = Bytes::from(
            serde_json::json!({"_meta": {
                (crate::meta::PROTOCOL_VERSION): revision.as_str(),
                (crate::meta::CLIENT_CAPABILITIES): {},
                (crate::meta::CLIENT_INFO): {
                    "name": "crossfeed",
                    "version": env!("CARGO_PKG_VERSION"),
                },
            }})
            .to_string(),
        );
        Self::new(client, revision, "server/discover", &own, name)
    }

    /// Subscriptions, by the request that they are.
    pub(super) fn listenings(&self) -> MutexGuard<'_, BTreeMap<u64, Listening>> {
        self.listenings
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn links(&self) -> &[Arc<Link>] {
        &self.links
    }

    /// The only connection, where there is only one.
    pub(super) fn only(&self) -> Option<&Arc<Link>> {
        match &self.links[..] {
            [link] => Some(link),
            _ => None,
        }
    }

    pub(super) fn link(&self, server: usize) -> Option<&Arc<Link>> {
        self.links.iter().find(|link| link.server == server)
    }

    /// The client is initialized, as it says itself; servers that come later are told when they do.
    pub(super) async fn initialized(&self, message: &Message) {
        for link in &self.links {
            link.hello.set_initialized(message.clone());
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
        self.late()
            .retain(|at, late| *at != server || matches!(late, Late::Asked));
        self.tool_changes.fetch_add(1, Ordering::Relaxed);
        self.tools.forget_list();
    }

    pub(super) fn late(&self) -> MutexGuard<'_, HashMap<usize, Late>> {
        self.late.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How often tools changed.
    pub(super) fn tool_changes(&self) -> u64 {
        self.tool_changes.load(Ordering::Relaxed)
    }

    /// What servers list is to be learnt again.
    pub(super) fn changed(&self, method: &str) {
        if method == "notifications/prompts/list_changed" {
            self.known().prompts = None;
        }
    }

    pub(super) fn learn_prompts(&self, prompts: Prompts) {
        self.known().prompts = Some(prompts);
    }

    /// The prompt of a name, where prompts are known.
    pub(super) fn prompt(&self, name: &str) -> Option<Option<(usize, String)>> {
        let known = self.known();
        let prompts = known.prompts.as_ref()?;
        Some(prompts.get(name).cloned())
    }

    pub(super) fn owns_resource(&self, server: usize, uri: &str) {
        self.known().resources.put(uri, server);
    }

    pub(super) fn owns_template(&self, server: usize, template: &str) {
        self.known().templates.put(template, server);
    }

    /// The server that a resource, or a template, is known to be of: the one that lists it or answered
    /// for it before, else the one whose template begins like it for longest.
    pub(super) fn owner_of_resource(&self, uri: &str) -> Option<usize> {
        let mut known = self.known();
        let exact = known.resources.of(uri).or_else(|| known.templates.of(uri));
        if exact.is_some() {
            return exact;
        }
        let begins = |template: &str| {
            let fixed = template.find('{').unwrap_or(template.len());
            template
                .get(..fixed)
                .filter(|fixed| !fixed.is_empty() && uri.starts_with(fixed))
                .map(str::len)
        };
        known
            .templates
            .iter()
            .filter_map(|(template, server)| Some((begins(template)?, server)))
            .max_by_key(|(length, server)| (*length, usize::MAX - server))
            .map(|(_, server)| server)
    }

    /// Who said so first: another that names the same task does not take it over.
    pub(super) fn owns_task(&self, server: usize, task: &str) {
        self.known().tasks.put_first(task, server);
    }

    pub(super) fn owner_of_task(&self, task: &str) -> Option<usize> {
        self.known().tasks.of(task)
    }

    /// Ends every connection in an orderly way.
    pub(super) async fn close(&self) {
        join_all(self.links.iter().map(|link| link.close())).await;
        self.tools.close().await;
    }
}
