//! What references name besides results: files beneath the configured roots (`$file`), and resources of servers
//! (`$resource`).
//!
//! # What holds
//!
//! - Nothing is read that the configuration does not switch on.
//! - A file is a regular one beneath a root, by a path without links, and beneath a root of the client, if it has any
//!   to tell of. A resource is one that a server of the client
//!   listed or linked to, read from that server.
//! - What is read has sources, by which flow rules judge it: `$file/path`, or any tool of the resource's server.
//! - Its bytes are charged to the client before they are kept.

pub(super) mod files;
mod resources;
mod roots;

pub(super) use resources::ResourceCache;
pub(crate) use resources::{ReadResource, ResourceError};
pub(crate) use roots::{ClientRoots, RootsError};

use super::{
    client::Shared,
    flow::{FlowError, Sources},
    resources::is_own,
};
use crate::config::FILES;
use async_trait::async_trait;
use bytes::Bytes;
use crossfeed_core::{InputError, Inputs, ToolResult};
use crossfeed_wire::reference::{Input, InputKind};
use parking_lot::Mutex;
use std::sync::Arc;
use tokio::sync::OnceCell;

/// The media type of bytes of which nobody says what they are.
const BYTES_MEDIA_TYPE: &str = "application/octet-stream";

/// Asks the servers of a client, and the client, for the inputs of one call.
#[async_trait]
pub(crate) trait InputReader: Send + Sync {
    /// The result of `resources/read` of the server that listed the URI or linked to it.
    async fn resource(&self, uri: &str) -> Result<ReadResource, ResourceError>;

    /// The roots of the client; none if it does not say that it has any.
    async fn roots(&self) -> Result<Option<ClientRoots>, RootsError>;
}

/// Reads the inputs of one call.
pub(super) struct CallInputs {
    shared: Arc<Shared>,
    /// None where neither a server nor the client can be asked.
    reader: Option<Arc<dyn InputReader>>,
    /// The roots of the client, asked for once.
    roots: OnceCell<Result<Option<ClientRoots>, RootsError>>,
    /// Whose data was read.
    sources: Mutex<Sources>,
}

impl CallInputs {
    pub(super) fn new(shared: &Arc<Shared>, reader: Option<Arc<dyn InputReader>>) -> Self {
        Self {
            shared: Arc::clone(shared),
            reader,
            roots: OnceCell::new(),
            sources: Mutex::default(),
        }
    }

    /// Why what was read must not go to a tool. It is asked before errors of the call are told: they may quote what was
    /// read.
    pub(super) fn forbidden(&self, to: &Arc<str>) -> Option<FlowError> {
        self.shared
            .tools
            .flows
            .judge(&self.sources.lock(), to)
            .err()
    }

    /// The answer to the call, if it has to ask the client for its roots.
    pub(super) fn question(&self) -> Option<Bytes> {
        let files = self.shared.tools.files.as_ref()?;
        let must_ask = matches!(self.roots.get(), Some(Err(RootsError::InAnswer)));
        must_ask.then(|| ClientRoots::question(files.state()))
    }

    async fn roots(&self) -> Result<Option<ClientRoots>, RootsError> {
        let Some(reader) = &self.reader else {
            return Ok(None);
        };
        self.roots.get_or_init(|| reader.roots()).await.clone()
    }

    async fn file(&self, name: &str) -> Result<ToolResult, InputError> {
        let tools = &self.shared.tools;
        let files = tools.files.as_ref();
        let files = files.ok_or_else(|| switched_off("references.files"))?;
        let roots = self.roots().await?;
        let file = files.read(name, roots, &self.shared.account).await?;
        let mut sources = Sources::default();
        sources.insert(&format!("{FILES}/{}", file.path));
        let read = ToolResult::bytes(file.bytes, BYTES_MEDIA_TYPE);
        Ok(self.with_sources(read, sources))
    }

    async fn resource(&self, uri: &str) -> Result<ToolResult, InputError> {
        let shared = &self.shared;
        if !shared.tools.config.references.resources {
            return Err(switched_off("references.resources"));
        }
        // Those of the gateway itself are references to results.
        if is_own(uri) {
            return Err(ResourceError::Unlisted.into());
        }
        let cached = shared.resources.get(uri);
        let resource = match (cached, &self.reader) {
            (Some(cached), _) => cached,
            (None, Some(reader)) => {
                let version = shared.resources.version();
                let read = reader.resource(uri).await?;
                let resource = resources::content(read, &shared.account).await?;
                shared.resources.put(uri, &resource, version);
                resource
            }
            (None, None) => return Err(ResourceError::Unlisted.into()),
        };
        let servers = &shared.tools.config.servers;
        let server = servers.get(resource.server).map(|server| &server.name);
        let mut sources = Sources::default();
        if let Some(server) = server {
            sources.insert_any_of(server);
        }
        Ok(self.with_sources(resource.to_result(), sources))
    }

    fn with_sources(&self, read: ToolResult, sources: Sources) -> ToolResult {
        self.sources.lock().extend(&sources);
        match self.shared.tools.flows.write(sources) {
            Some(sources) => read.with_sources(sources),
            None => read,
        }
    }
}

fn switched_off(setting: &str) -> InputError {
    InputError::SwitchedOff {
        setting: Some(setting.to_owned()),
    }
}

#[async_trait]
impl Inputs for CallInputs {
    async fn read(&self, input: &Input) -> Result<ToolResult, InputError> {
        match input.kind() {
            InputKind::File => self.file(input.name()).await,
            InputKind::Resource => self.resource(input.name()).await,
        }
    }
}
