//! What calls that run as tasks asked for, as records of the store: another process may be told what they returned.
//!
//! # What holds
//!
//! - The process that is told first records the result, and the others show it by the id that it has there.
//! - Where whose data the arguments held is unknown, and there are flow rules, another process records nothing.

use super::flow::{Flows, Sources};
use crate::records::{Found, Key, Records};
use crossfeed_projection::ProjectionRequest;
use crossfeed_store::{Expected, StoreError};
use crossfeed_wire::{CallId, View};
use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::time::Duration;

/// The records of the tasks of one owner.
pub(super) struct KeptTasks {
    records: Records,
    /// Who begins them, and in which session, if others of the same do not have them.
    owner: [String; 2],
}

/// A call that runs as a task, as far as other processes have to know it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct KeptTask {
    /// The tool, as `server/tool`.
    pub(super) tool: String,
    view: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sources: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    projection: Option<Value>,
    /// Of the `params` what asks for parts of the result.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) params: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    conversation: Option<String>,
    /// How long the record lasts.
    seconds: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) end: Option<KeptEnd>,
}

/// What a process was told of the end of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum KeptEnd {
    /// It came to nothing.
    Failed,
    /// It has a result, which is recorded.
    Result {
        /// The session of the results.
        session: String,
        call: String,
        digest: String,
    },
}

/// A call, to be kept.
pub(super) struct CallOfTask<'c> {
    pub(super) tool: &'c str,
    pub(super) view: View,
    pub(super) sources: &'c Sources,
    pub(super) projection: Option<&'c ProjectionRequest>,
    pub(super) params: &'c [u8],
    pub(super) conversation: Option<[u8; 32]>,
}

impl KeptTask {
    fn new(flows: &Flows, call: &CallOfTask<'_>, time: Duration) -> Self {
        Self {
            tool: call.tool.to_owned(),
            view: call.view.as_str().to_owned(),
            sources: flows.write(call.sources.clone()),
            projection: call.projection.map(ProjectionRequest::to_value),
            params: String::from_utf8_lossy(call.params).into_owned(),
            conversation: call.conversation.map(|own| HEXLOWER.encode(&own)),
            seconds: time.as_secs(),
            end: None,
        }
    }

    /// Whose data the arguments held, if that is known.
    pub(super) fn sources(&self, flows: &Flows) -> Option<Sources> {
        if flows.is_empty() {
            return Some(Sources::default());
        }
        flows.read(self.sources.as_deref()?)
    }

    pub(super) fn view(&self) -> View {
        self.view.parse().unwrap_or_default()
    }

    pub(super) fn projection(&self) -> Option<ProjectionRequest> {
        let (request, _) = ProjectionRequest::from_value(self.projection.as_ref()?);
        Some(request)
    }

    /// The conversation that the call belongs to, if it belongs to one.
    pub(super) fn conversation(&self) -> Option<[u8; 32]> {
        digest_of(self.conversation.as_deref()?)
    }
}

impl KeptEnd {
    /// A result of this digest, recorded in a session under this id.
    pub(super) fn result(session: &str, call: &CallId, digest: &[u8; 32]) -> Self {
        Self::Result {
            session: session.to_owned(),
            call: call.to_string(),
            digest: HEXLOWER.encode(digest),
        }
    }

    /// The id of the result, and its digest, if it is recorded in this session.
    pub(super) fn in_session(&self, own: &str) -> Option<(CallId, [u8; 32])> {
        match self {
            Self::Result {
                session,
                call,
                digest,
            } if session == own => Some((CallId::parse(call).ok()?, digest_of(digest)?)),
            _ => None,
        }
    }
}

fn digest_of(hex: &str) -> Option<[u8; 32]> {
    HEXLOWER.decode(hex.as_bytes()).ok()?.try_into().ok()
}

impl KeptTasks {
    pub(super) fn new(records: Records, owner: [String; 2]) -> Self {
        Self { records, owner }
    }

    fn key(&self, server: &str, task: &str) -> Key {
        let [principal, session] = &self.owner;
        Key::new("task-call", &[principal, session, server, task])
    }

    /// Keeps the call that a server made a task of; in place of what is known of an earlier task of the same id.
    pub(super) async fn begin(
        &self,
        (server, task): (&str, &str),
        flows: &Flows,
        call: &CallOfTask<'_>,
        time: Duration,
    ) -> Result<(), StoreError> {
        let key = self.key(server, task);
        let kept = KeptTask::new(flows, call, time);
        let written = self.records.write(&key, &kept, Expected::Any, time);
        written.await.map(drop)
    }

    /// What is known of the call that a server made a task of.
    pub(super) async fn find(
        &self,
        server: &str,
        task: &str,
    ) -> Result<Option<Found<KeptTask>>, StoreError> {
        self.records.read(&self.key(server, task)).await
    }

    /// Notes how a task ended, unless another process did meanwhile.
    pub(super) async fn end(
        &self,
        (server, task): (&str, &str),
        mut found: Found<KeptTask>,
        end: KeptEnd,
    ) -> Result<(), StoreError> {
        found.value.end = Some(end);
        let time = Duration::from_secs(found.value.seconds);
        let expected = Expected::Version(found.version);
        let key = self.key(server, task);
        let written = self.records.write(&key, &found.value, expected, time);
        written.await.map(drop)
    }
}
