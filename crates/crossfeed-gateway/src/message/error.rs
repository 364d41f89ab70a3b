//! Why bytes are not a message, and the errors of JSON-RPC.

use super::Id;
use crate::protocol::code;
use bytes::Bytes;
use crossfeed_json::JsonError;
use crossfeed_wire::ErrorCode;
use serde::Serialize;
use serde_json::{Value, json};

/// Why bytes are not a message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MessageError {
    /// The bytes are not valid JSON: `{"id": 1,`.
    #[error("not valid JSON: {0}")]
    NotJson(JsonError),
    /// The JSON is a list: MCP has no batches since 2025-06-18.
    #[error("a list of messages: send them one by one")]
    Batch,
    /// The JSON is not a JSON-RPC 2.0 message: `{"id": 1}`.
    #[error("not a valid JSON-RPC 2.0 message: {reason}")]
    NotMessage {
        /// What is missing or twice there.
        reason: &'static str,
        /// The id, where there is one that can be answered.
        id: Option<Id>,
    },
}

impl MessageError {
    /// The id that an error can be sent to.
    pub fn id(&self) -> Option<&Id> {
        match self {
            Self::NotMessage { id, .. } => id.as_ref(),
            Self::NotJson(_) | Self::Batch => None,
        }
    }

    /// The error as JSON-RPC says it.
    pub fn to_rpc(&self) -> RpcError {
        let code = match self {
            Self::NotJson(_) => code::PARSE,
            Self::Batch | Self::NotMessage { .. } => code::INVALID_REQUEST,
        };
        RpcError::new(code, self.to_string())
    }
}

/// An error of JSON-RPC.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
#[must_use]
pub struct RpcError {
    /// Its code.
    pub code: i64,
    /// One line that says what is wrong.
    pub message: String,
    /// More about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

impl RpcError {
    /// An error without data.
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            data: None,
        }
    }

    /// The same with data.
    pub fn with_data(mut self, data: Value) -> Self {
        self.data = Some(data);
        self
    }

    /// A limit of the gateway is reached; `limit` is its value, where the client may know it.
    pub(crate) fn limit_exceeded(
        code: i64,
        message: impl Into<String>,
        limit: Option<usize>,
    ) -> Self {
        let mut data = json!({"code": ErrorCode::LimitExceeded.as_str()});
        if let Some(limit) = limit {
            data["limit"] = limit.into();
        }
        Self::new(code, message).with_data(data)
    }

    /// The replica that had the request is gone.
    pub(crate) fn outcome_unknown() -> Self {
        let what = "the request may have run: the replica of the gateway that had it is gone";
        let data = json!({"code": ErrorCode::UpstreamOutcomeUnknown.as_str()});
        Self::new(code::INTERNAL, what).with_data(data)
    }

    /// The requested revision is not supported; the supported ones are named.
    pub(crate) fn unsupported_revision<'r>(
        message: &str,
        supported: impl IntoIterator<Item = &'r str>,
        requested: &str,
    ) -> Self {
        let supported: Vec<_> = supported.into_iter().collect();
        Self::new(code::UNSUPPORTED_REVISION, message)
            .with_data(json!({"supported": supported, "requested": requested}))
    }

    /// The error object.
    pub fn to_bytes(&self) -> Bytes {
        serde_json::to_vec(self).unwrap_or_default().into()
    }
}
