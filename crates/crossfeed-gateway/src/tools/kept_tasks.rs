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
use crossfeed_wire::{CallId, Scope, View};
use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::time::Duration;

/// How long a record lasts at most: a task that takes longer is known to the process that began it.
const MAX_TIME: Duration = Duration::from_secs(24 * 60 * 60);

/// The most bytes of what was asked of the result: beyond, other processes show it as if nothing had been.
const MAX_ASKED_BYTES: usize = 4096;

/// The records of the tasks of one client.
pub(super) struct KeptTasks {
    records: Records,
    client: Scope,
}

/// A call that runs as a task, as far as other processes have to know it.
#[derive(Serialize, Deserialize)]
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
#[derive(PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum KeptEnd {
    /// It came to nothing.
    Failed,
    /// It has a result, which is recorded.
    Result { call: String, digest: String },
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
        let projection = call.projection.map(ProjectionRequest::to_value);
        let projection = projection.filter(|own| own.to_string().len() <= MAX_ASKED_BYTES);
        let params = Some(call.params).filter(|own| own.len() <= MAX_ASKED_BYTES);
        Self {
            tool: call.tool.to_owned(),
            view: call.view.as_str().to_owned(),
            sources: flows.write(call.sources.clone()),
            projection,
            params: String::from_utf8_lossy(params.unwrap_or_default()).into_owned(),
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
    /// A result of this digest, recorded under this id.
    pub(super) fn result(call: &CallId, digest: &[u8; 32]) -> Self {
        Self::Result {
            call: call.to_string(),
            digest: HEXLOWER.encode(digest),
        }
    }

    /// The id of the result, if there is one, and its digest.
    pub(super) fn recorded(&self) -> Option<(CallId, [u8; 32])> {
        match self {
            Self::Failed => None,
            Self::Result { call, digest } => Some((CallId::parse(call).ok()?, digest_of(digest)?)),
        }
    }
}

fn digest_of(hex: &str) -> Option<[u8; 32]> {
    HEXLOWER.decode(hex.as_bytes()).ok()?.try_into().ok()
}

impl KeptTasks {
    /// The records of the client of a scope.
    pub(super) fn new(records: Records, client: Scope) -> Self {
        Self { records, client }
    }

    fn key(&self, server: &str, task: &str) -> Key {
        let client = &self.client;
        let client = [client.tenant(), client.project(), client.session()];
        Key::new("task-call", &[&client[..], &[server, task]].concat())
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
        let time = time.min(MAX_TIME);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_asked_is_kept_within_bounds() {
        let flows = Flows::new(Vec::new(), &[]);
        let kept = |asked: usize| {
            let projection = ProjectionRequest::new().with_include(["a".repeat(asked)]);
            let params = vec![b' '; asked];
            let call = CallOfTask {
                tool: "s/t",
                view: View::Ask,
                sources: &Sources::default(),
                projection: Some(&projection),
                params: &params,
                conversation: Some([7; 32]),
            };
            (KeptTask::new(&flows, &call, MAX_TIME), projection)
        };
        let (small, projection) = kept(10);
        assert_eq!(small.projection(), Some(projection));
        assert_eq!((small.view(), small.params.len()), (View::Ask, 10));
        assert_eq!(small.conversation(), Some([7; 32]));
        let (large, _) = kept(MAX_ASKED_BYTES + 1);
        assert_eq!((large.projection(), &*large.params), (None, ""));
    }
}
