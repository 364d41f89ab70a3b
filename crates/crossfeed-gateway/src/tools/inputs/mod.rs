//! What references name besides results: files beneath the configured roots (`$file`), and resources of servers
//! (`$resource`).
//!
//! # What holds
//!
//! - Nothing is read that the configuration does not switch on.
//! - A file is a regular one beneath a root, by a path without links. A resource is one that a server of the client
//!   listed or linked to, read from that server.
//! - What is read has sources, by which flow rules judge it: `$file/path`, or any tool of the resource's server.
//! - Its bytes are charged to the client before they are kept.

pub(super) mod files;
mod resources;

pub(super) use resources::ResourceCache;
pub(crate) use resources::{ReadResource, ResourceError, ResourceReader};

use super::{
    client::Shared,
    flow::{FlowError, Sources},
    resources::is_own,
};
use crate::config::FILES;
use async_trait::async_trait;
use crossfeed_core::{InputError, Inputs, ToolResult};
use crossfeed_wire::reference::{Input, InputKind};
use parking_lot::Mutex;
use std::sync::Arc;

/// The media type of bytes of which nobody says what they are.
const BYTES_MEDIA_TYPE: &str = "application/octet-stream";

/// Reads the inputs of one call.
pub(super) struct CallInputs {
    shared: Arc<Shared>,
    /// Reads from the client's servers; none where no server can be asked.
    resources: Option<Arc<dyn ResourceReader>>,
    /// Whose data was read.
    sources: Mutex<Sources>,
}

impl CallInputs {
    pub(super) fn new(shared: &Arc<Shared>, resources: Option<Arc<dyn ResourceReader>>) -> Self {
        Self {
            shared: Arc::clone(shared),
            resources,
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

    async fn file(&self, name: &str) -> Result<ToolResult, InputError> {
        let tools = &self.shared.tools;
        let files = tools.files.as_ref();
        let files = files.ok_or_else(|| switched_off("references.files"))?;
        let file = files.read(name, &self.shared.account).await?;
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
        let resource = match (cached, &self.resources) {
            (Some(cached), _) => cached,
            (None, Some(reader)) => {
                let version = shared.resources.version();
                let read = reader.read(uri).await?;
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
