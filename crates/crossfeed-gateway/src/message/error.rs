//! What is not a message, and the errors that JSON-RPC knows.

use super::Id;
use bytes::Bytes;
use crossfeed_json::JsonError;
use serde_json::{Value, json};

/// The codes of JSON-RPC 2.0, and those that MCP adds.
pub mod code {
    /// The text is not valid JSON.
    pub const PARSE: i64 = -32700;
    /// The JSON is not a message.
    pub const INVALID_REQUEST: i64 = -32600;
    /// There is no such method.
    pub const METHOD_NOT_FOUND: i64 = -32601;
    /// The parameters do not fit the method.
    pub const INVALID_PARAMS: i64 = -32602;
    /// The other side of the gateway failed.
    pub const INTERNAL: i64 = -32603;
    /// The request does not declare a capability that it needs (2026-07-28).
    pub const MISSING_CAPABILITY: i64 = -32021;
    /// The revision is not spoken here, or not in this way (2026-07-28).
    pub const UNSUPPORTED_REVISION: i64 = -32022;
}

/// Why bytes are no message.
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
    #[must_use]
    pub fn id(&self) -> Option<&Id> {
        match self {
            Self::NotMessage { id, .. } => id.as_ref(),
            Self::NotJson(_) | Self::Batch => None,
        }
    }

    /// The error as JSON-RPC says it.
    #[must_use]
    pub fn to_rpc(&self) -> RpcError {
        let code = match self {
            Self::NotJson(_) => code::PARSE,
            Self::Batch | Self::NotMessage { .. } => code::INVALID_REQUEST,
        };
        RpcError::new(code, self.to_string())
    }
}

/// An error of JSON-RPC.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RpcError {
    /// Its code.
    pub code: i64,
    /// One line that says what is wrong.
    pub message: String,
    /// More about it.
    pub data: Option<Value>,
}

impl RpcError {
    /// An error without data.
    #[must_use]
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            data: None,
        }
    }

    /// The same with data.
    #[must_use]
    pub fn with_data(mut self, data: Value) -> Self {
        self.data = Some(data);
        self
    }

    /// A revision was asked for that is not spoken; those that are, are named.
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
    #[must_use]
    pub fn to_bytes(&self) -> Bytes {
        let mut error = json!({"code": self.code, "message": self.message});
        if let (Some(data), Some(members)) = (&self.data, error.as_object_mut()) {
            members.insert("data".to_owned(), data.clone());
        }
        error.to_string().into()
    }
}
