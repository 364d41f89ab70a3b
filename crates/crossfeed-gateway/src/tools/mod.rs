//! What becomes of tools: lists that admit references, calls resolved, results kept and shown.
//!
//! What comes in: `tools/list` results of servers, parameters of `tools/call`, and results. What goes out:
//! the same as the model is to see them, and as the server is to. Deliberately not here: who sends what
//! to whom.

mod extra;
pub(crate) mod list;
mod members;
mod pattern;
mod profile;

pub use profile::is_profile;

use crate::{
    Revision, config::GatewayConfig, downstream::Principal, message::RpcError, upstream::Header,
};
use bytes::Bytes;
use crossfeed_core::Engine;
use crossfeed_json::Document;
use crossfeed_schema::guidance;
use list::{Audience, Listing, Listings};
use std::sync::{Arc, Mutex, PoisonError};

/// What a gateway does with tools, for all of its clients. Cloning shares it.
#[derive(Clone)]
pub struct Tools {
    engine: Engine,
    config: Arc<GatewayConfig>,
    listings: Arc<Listings>,
}

/// Who calls tools.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Caller {
    /// Who it is.
    pub principal: Principal,
    /// What tells its session from all others, unguessable; none where the protocol has no sessions, so
    /// that call ids must be.
    pub session: Option<String>,
    /// The name that the client gives itself.
    pub client_name: Option<String>,
    /// The revision that is spoken with it.
    pub revision: Revision,
}

impl Caller {
    /// A caller.
    #[must_use]
    pub fn new(principal: Principal, session: Option<String>, revision: Revision) -> Self {
        Self {
            principal,
            session,
            client_name: None,
            revision,
        }
    }

    /// The same with the name that the client gives itself.
    #[must_use]
    pub fn with_client_name(mut self, name: impl Into<String>) -> Self {
        self.client_name = Some(name.into());
        self
    }
}

/// What one server lists.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServerList {
    /// Which server, by its place in the configuration.
    pub server: usize,
    /// The `tools/list` results, one for each page, in order.
    pub pages: Vec<Bytes>,
}

impl ServerList {
    /// The pages of one server.
    #[must_use]
    pub fn new(server: usize, pages: Vec<Bytes>) -> Self {
        Self { server, pages }
    }
}

impl Tools {
    /// Tools of the servers of a configuration.
    #[must_use]
    pub fn new(engine: Engine, config: Arc<GatewayConfig>) -> Self {
        Self {
            engine,
            config,
            listings: Arc::new(Listings::new()),
        }
    }

    /// The tools of one client.
    #[must_use]
    pub fn of(&self, caller: Caller) -> ClientTools {
        let audience = Audience {
            client_name: caller.client_name.clone(),
            revision: caller.revision,
            may_list: caller.session.is_some() || matches!(caller.principal, Principal::Named(_)),
        };
        ClientTools {
            tools: self.clone(),
            audience,
            listing: Mutex::new(None),
        }
    }
}

/// The tools of one client: what it was shown, what it recorded.
pub struct ClientTools {
    tools: Tools,
    audience: Audience,
    listing: Mutex<Option<Arc<Listing>>>,
}

impl ClientTools {
    /// The one `tools/list` result for all servers' lists; and from here on calls are understood by it.
    pub async fn list(&self, lists: &[ServerList]) -> Bytes {
        let Tools {
            engine,
            config,
            listings,
        } = &self.tools;
        let listing = listings.get(engine, config, lists, &self.audience);
        let bytes = listing.bytes.clone();
        *self.listing() = Some(listing);
        bytes
    }

    fn listing(&self) -> std::sync::MutexGuard<'_, Option<Arc<Listing>>> {
        self.listing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether [`list`](Self::list) was asked since the lists last changed.
    #[must_use]
    pub fn is_listed(&self) -> bool {
        self.listing().is_some()
    }

    /// A server's list changed: the next call needs a new one.
    pub fn forget_list(&self) {
        *self.listing() = None;
    }

    /// The headers that a call with these `params` goes along with (`x-mcp-header`), as far as the
    /// listed schema asks for them: over HTTP without sessions a client must send the same.
    #[must_use]
    pub fn headers(&self, params: &Bytes) -> Vec<Header> {
        let document = Document::new(params.clone());
        let Ok(root) = document.root() else {
            return Vec::new();
        };
        let name = root.get("name").and_then(|name| name.as_str());
        let listing = self.listing().clone();
        let offered = listing.and_then(|listing| listing.find(&name?).cloned());
        let Some((offered, arguments)) = offered.zip(root.get("arguments")) else {
            return Vec::new();
        };
        offered.headers_of(arguments)
    }

    /// What becomes of a call, by the `params` of its `tools/call`.
    pub async fn call(&self, params: Bytes) -> Call {
        let document = Document::new(params.clone());
        let root = document.root().ok();
        let name = root.and_then(|root| root.get("name")?.as_str());
        let name = name.unwrap_or_default().into_owned();
        let listing = self.listing().clone();
        let Some(offered) = listing.and_then(|listing| listing.find(&name).cloned()) else {
            let message = format!("unknown tool: {name}");
            return Call::Refused(RpcError::new(crate::message::code::INVALID_PARAMS, message));
        };
        Call::Forward(Forward {
            server: offered.server,
            headers: self.headers(&params),
            params,
            pending: Pending {},
        })
    }

    /// A task's result as the client is to see it: of `tasks/result`, or of a `tasks/get` that holds one.
    pub async fn task_result(&self, server: usize, task_id: &str, result: Bytes) -> Bytes {
        let _ = (server, task_id);
        result
    }

    /// What the instructions of the server say beside those of the servers behind it.
    #[must_use]
    pub fn guidance(&self) -> String {
        let choices = list::choices(&self.tools.config, &self.audience);
        let mut styles: Vec<_> = choices.iter().filter_map(|choice| choice.style()).collect();
        styles.dedup();
        let texts = styles
            .into_iter()
            .map(|(style, spelling)| guidance(style, spelling, false));
        texts.collect::<Vec<_>>().join("\n\n")
    }

    /// The client is gone, and with it everything that it recorded.
    pub async fn close(&self) {}
}

/// What becomes of a call.
#[non_exhaustive]
pub enum Call {
    /// It is answered here, by this result: the gateway's own tools, and references that fail.
    Answered(Bytes),
    /// It is answered with an error of the protocol.
    Refused(RpcError),
    /// It goes to a server.
    Forward(Forward),
}

/// A call that goes to a server.
#[non_exhaustive]
pub struct Forward {
    /// Which server, by its place in the configuration.
    pub server: usize,
    /// The parameters, resolved.
    pub params: Bytes,
    /// Headers that the parameters ask for (`x-mcp-header`).
    pub headers: Vec<Header>,
    /// What is to become of the result.
    pub pending: Pending,
}

/// A call whose result is awaited. Dropped, it was given up.
#[non_exhaustive]
pub struct Pending {}

impl Pending {
    /// The result as the client is to see it; `result` is that of the server.
    pub async fn finish(self, result: Bytes) -> Bytes {
        result
    }

    /// The server answered with an error of the protocol, or not at all; `message` says how.
    pub async fn fail(self, message: &str) {
        let _ = message;
    }
}
