//! Tools: lists that admit references, calls that are resolved, results that are recorded and shown.

mod binary;
mod builtin;
mod call;
mod client;
mod flow;
mod ids;
pub(crate) mod inputs;
mod kept_tasks;
pub(crate) mod list;
mod params;
mod place;
mod profile;
mod reader;
mod refusal;
pub(crate) mod resources;
pub(crate) mod result;
mod room;
mod rounds;
mod save_directory;
mod tasks;
#[cfg(test)]
mod tests;
mod unlisted;

pub use client::ClientTools;
pub(crate) use client::FetchedList;
pub use ids::{IdKeys, IdKeysError};
pub(crate) use ids::{tag, unguessable};
pub use list::{ToolReport, UnmatchedPattern};
pub(crate) use reader::{Reader, client_name};

use crate::{
    Revision,
    budget::Budget,
    config::{ClientName, GatewayConfig},
    message::{Body, BodyMember, Header, Message, RpcError},
    metrics::{GatewayMetrics, Metrics},
    principal::Principal,
    records::Records,
};
#[cfg(feature = "sql")]
use builtin::Queries;
use bytes::Bytes;
use crossfeed_core::Engine;
use crossfeed_store::{ResultStore, StoreError, StoreMetrics, with_causes};
use crossfeed_wire::ErrorBody;
use flow::Flows;
use inputs::files::Files;
use list::Listings;
pub(crate) use list::names::Naming;
use parking_lot::Mutex;
use place::Conversations;
use save_directory::SaveDirectory;
use std::{collections::HashSet, io, sync::Arc};

/// The tools of a gateway, for all of its clients. Cloning shares them.
#[derive(Clone)]
pub struct Tools {
    engine: Engine,
    config: Arc<GatewayConfig>,
    listings: Arc<Listings>,
    naming: Arc<Naming>,
    /// How they are named for clients without sessions: their requests may reach any process over the store.
    stateless_naming: Arc<Naming>,
    /// What outlives the process; none where the store has no place for it.
    records: Option<Records>,
    flows: Arc<Flows>,
    id_keys: IdKeys,
    figures: Arc<GatewayMetrics>,
    budget: Arc<Budget>,
    logged: Arc<LoggedPatterns>,
    conversations: Arc<Conversations>,
    /// The files that references may name, if they may.
    files: Option<Arc<Files>>,
    /// Where results are saved as files; none unless it was [opened](Self::with_save_directory).
    saves: Option<Arc<SaveDirectory>>,
    /// What answers statements about results; none unless it was [given](Self::with_queries).
    #[cfg(feature = "sql")]
    queries: Option<Arc<Queries>>,
}

/// Who calls tools.
#[derive(Clone, Debug)]
#[non_exhaustive]
#[must_use]
pub struct Caller {
    /// Who it is.
    pub principal: Principal,
    /// What tells its session from all others, unguessable; none where the protocol has no sessions, so
    /// that call ids must be.
    pub session: Option<String>,
    /// What the client says that it is.
    pub client: Option<ClientName>,
    /// The revision that is spoken with it.
    pub revision: Revision,
}

impl Caller {
    /// A caller.
    pub fn new(principal: Principal, session: Option<String>, revision: Revision) -> Self {
        Self {
            principal,
            session,
            client: None,
            revision,
        }
    }

    /// Sets the name that the client gives itself.
    pub fn with_client(mut self, client: ClientName) -> Self {
        self.client = Some(client);
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
    pub fn new(server: usize, pages: Vec<Bytes>) -> Self {
        Self { server, pages }
    }

    /// The bytes of all pages.
    pub(crate) fn bytes(&self) -> usize {
        self.pages.iter().map(Bytes::len).sum()
    }
}

/// Patterns that match no tool and were logged, by server and message.
type LoggedPatterns = Mutex<HashSet<(usize, String)>>;

impl Tools {
    /// Removes expired results.
    pub(crate) async fn sweep(&self) {
        if let Err(error) = self.engine.sweep().await {
            tracing::warn!(target: "crossfeed::gateway", error = with_causes(&error), "cannot remove expired results");
        }
    }

    /// Tools of the servers of a configuration.
    pub fn new(engine: Engine, config: Arc<GatewayConfig>) -> Self {
        let naming = Arc::new(Naming::from_config(&config));
        Self {
            engine,
            listings: Arc::new(Listings::new(config.servers.len())),
            stateless_naming: Arc::clone(&naming),
            naming,
            flows: Arc::new(Flows::new(config.flows.clone(), &config.servers)),
            id_keys: IdKeys::random(),
            records: None,
            figures: GatewayMetrics::new(&Metrics::new(), &config),
            budget: Budget::unlimited(),
            logged: Arc::default(),
            conversations: Arc::default(),
            files: config
                .references
                .files
                .as_ref()
                .map(|own| Arc::new(Files::new(own))),
            saves: None,
            #[cfg(feature = "sql")]
            queries: None,
            config,
        }
    }

    /// Opens the directory of the configuration in which results are saved as files, and offers `save_result`; changes
    /// nothing where there is none.
    ///
    /// # Errors
    ///
    /// The directory is not there, or cannot be opened.
    pub fn with_save_directory(mut self) -> io::Result<Self> {
        let directory = self.config.save_directory.as_ref();
        let directory = directory
            .map(|path| SaveDirectory::open(path))
            .transpose()?;
        self.saves = directory.map(Arc::new);
        Ok(self)
    }

    /// Answers statements about results (`query_results`) in processes that this command starts, where the configuration
    /// has [`queries`](GatewayConfig::queries); else this changes nothing.
    #[cfg(feature = "sql")]
    pub fn with_queries(mut self, command: crossfeed_worker::WorkerCommand) -> Self {
        let config = self.config.queries.as_ref();
        let queries = config.and_then(|config| Queries::new(command, config, &self.engine));
        self.queries = queries.map(Arc::new);
        self
    }

    /// Starts the first process for statements, so that the first one need not wait, and says how it is shut off; `None`
    /// where there are none.
    ///
    /// # Errors
    ///
    /// The process cannot be started.
    #[cfg(feature = "sql")]
    pub async fn warm_up_queries(
        &self,
    ) -> Result<Option<crossfeed_worker::Sandbox>, crossfeed_worker::WorkerError> {
        match &self.queries {
            Some(queries) => queries.warm_up().await.map(Some),
            None => Ok(None),
        }
    }

    fn has_queries(&self) -> bool {
        #[cfg(feature = "sql")]
        return self.queries.is_some();
        #[cfg(not(feature = "sql"))]
        false
    }

    /// The names of the gateway's own tools for a client that may list results or not.
    fn own_tools(&self, may_list: bool) -> Vec<&'static str> {
        builtin::offered(
            self.config.extra_tools,
            may_list,
            (self.saves.is_some(), self.has_queries()),
        )
    }

    /// Sets the keys that ids of clients without sessions are signed with, in place of the one of the store or of this
    /// process: gateways with the same keys know each other's ids.
    pub fn with_id_keys(mut self, keys: IdKeys) -> Self {
        self.id_keys = keys;
        self
    }

    /// Reads the records without which [`with_records`](Self::with_records) fails, and writes none. Where keys of ids are
    /// [given](Self::with_id_keys) it needs none.
    ///
    /// # Errors
    ///
    /// The store does not answer, a record is damaged, or a later version wrote it.
    pub async fn check_records(store: Arc<dyn ResultStore>) -> Result<(), StoreError> {
        match Records::of(store) {
            Some(records) => IdKeys::check(&records).await,
            None => Ok(()),
        }
    }

    /// Has sessions, conversations and ids go on after a restart, where `store`, the engine's, has a place for the
    /// gateway's own records; else this changes nothing.
    ///
    /// # Errors
    ///
    /// The store does not answer, a record is damaged, or a later version wrote it.
    pub async fn with_records(mut self, store: Arc<dyn ResultStore>) -> Result<Self, StoreError> {
        let Some(records) = Records::of(store) else {
            return Ok(self);
        };
        self.id_keys = self.id_keys.kept(&records).await?;
        let run = self.config.session.clone().unwrap_or_else(unguessable);
        self.conversations = Arc::new(Conversations::kept(records.clone(), run));
        self.records = Some(records);
        self.stateless_naming = Arc::new(Naming::from_config(&self.config).with_prefixes());
        Ok(self)
    }

    /// What the store has counted.
    pub(crate) fn store_metrics(&self) -> Option<StoreMetrics> {
        self.engine.store_metrics()
    }

    /// Asks the store whether it answers; one that does not outlive the process always does.
    pub(crate) async fn check_store(&self) -> Result<(), StoreError> {
        match &self.records {
            Some(records) => records.answer().await,
            None => Ok(()),
        }
    }

    /// What outlives the process.
    pub(crate) fn records(&self) -> Option<&Records> {
        self.records.as_ref()
    }

    /// Sets where calls are counted.
    pub(crate) fn with_figures(mut self, figures: &Arc<GatewayMetrics>) -> Self {
        self.figures = Arc::clone(figures);
        self
    }

    /// How tools and prompts are named.
    pub(crate) fn naming(&self) -> &Arc<Naming> {
        &self.naming
    }

    /// The same for a client of this revision.
    pub(crate) fn naming_for(&self, revision: Revision) -> &Arc<Naming> {
        if revision.is_stateless() {
            &self.stateless_naming
        } else {
            &self.naming
        }
    }

    /// Whether other processes may answer requests of a client of this revision, so that it may know what they listed.
    pub(crate) fn is_one_of_several(&self, revision: Revision) -> bool {
        revision.is_stateless() && self.records.is_some()
    }

    /// Sets the budget that is charged for what is built.
    pub(crate) fn with_budget(mut self, budget: &Arc<Budget>) -> Self {
        self.budget = Arc::clone(budget);
        self
    }

    /// Drops what was recorded in conversations of a principal that does not come back.
    pub(crate) async fn close_conversations(&self, principal: &Principal) {
        self.conversations.close(principal).await;
    }

    /// The tools of one client.
    pub fn for_caller(&self, caller: Caller) -> ClientTools {
        ClientTools::new(self, &caller)
    }
}

/// What the gateway does with a call.
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
pub struct Pending {
    /// None where the result is not kept.
    kept: Option<Box<result::RecordedCall>>,
    /// How it is shown then.
    unkept: Box<result::UnkeptCall>,
    /// Whether its tool says that a call may be made again without harm.
    is_repeatable: bool,
}

impl Pending {
    /// Whether its tool says that a call may be made again without harm.
    pub(crate) fn is_repeatable(&self) -> bool {
        self.is_repeatable
    }

    /// The result as the client is to see it; `result` is that of the server.
    pub async fn finish(self, result: Bytes) -> Bytes {
        self.shown(result.clone(), None).await.over(&result)
    }

    /// The same in the answer of the server that holds it.
    pub(crate) async fn answer(self, message: Message) -> Message {
        match message.result() {
            Some(result) => {
                let shown = self.shown(result, message.result_members()).await;
                message.with(shown)
            }
            None => match self.unkept.advice() {
                Some(advice) => unlisted::advised(message, advice),
                None => message,
            },
        }
    }

    async fn shown(self, result: Bytes, members: Option<&[BodyMember]>) -> Body {
        match self.kept {
            Some(kept) => kept.finish(result, members).await,
            None => self.unkept.finish(result, members).await,
        }
    }

    /// The server answered with an error of the protocol, or not at all; `message` says how.
    pub async fn fail(self, message: &str) {
        if let Some(kept) = self.kept {
            kept.fail(message).await;
        }
    }
}

/// A tool result that says why a call has no result, for the model and, in its `_meta`, for programs.
pub(crate) fn refused(body: ErrorBody, is_stateless: bool) -> Bytes {
    let privacy = refusal::Privacy {
        is_shared: false,
        says_complete: is_stateless,
    };
    refusal::to_result(vec![body], privacy)
}
