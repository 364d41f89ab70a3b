//! The answer to a model's request for a result or artifact.

use crate::{context::Oversized, error::LookupError};
use crossfeed_wire::{ErrorBody, ErrorCode};
use std::fmt;

/// The outcome of bringing a result or artifact into the context. Its `Debug` omits the data.
#[derive(Clone)]
#[non_exhaustive]
pub enum Retrieved {
    /// The result or artifact, or the selected part.
    #[non_exhaustive]
    Data {
        /// The value as JSON, with the original bytes of parts of the result.
        json: Vec<u8>,
        /// Its tokens.
        tokens: usize,
    },
    /// All of it was shown in this session before.
    AlreadyShown,
    /// It is too large.
    Oversized(Oversized),
    /// It does not exist.
    Missing(LookupError),
}

impl fmt::Debug for Retrieved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Data { json, tokens } => f
                .debug_struct("Data")
                .field("bytes", &json.len())
                .field("tokens", tokens)
                .finish(),
            Self::AlreadyShown => f.write_str("AlreadyShown"),
            Self::Oversized(oversized) => f.debug_tuple("Oversized").field(oversized).finish(),
            Self::Missing(error) => f.debug_tuple("Missing").field(error).finish(),
        }
    }
}

impl Retrieved {
    /// The status in one word: `data`, `already_shown`, `oversized`, `unknown`, `expired`, `evicted`,
    /// `failed` or `unavailable`.
    pub fn status(&self) -> &'static str {
        match self {
            Self::Data { .. } => "data",
            Self::AlreadyShown => "already_shown",
            Self::Oversized(_) => "oversized",
            Self::Missing(error) => match error.code() {
                ErrorCode::ResultExpired | ErrorCode::ArtifactExpired => "expired",
                ErrorCode::ResultEvicted => "evicted",
                ErrorCode::ResultFailed => "failed",
                ErrorCode::StoreUnavailable => "unavailable",
                _ => "unknown",
            },
        }
    }

    /// The error for the model, unless there is data or it was shown before.
    pub fn error_body(&self) -> Option<ErrorBody> {
        let (code, message, advice) = match self {
            Self::Data { .. } | Self::AlreadyShown => return None,
            Self::Oversized(it) => (it.code(), it.to_string(), it.advice()),
            Self::Missing(error) => (error.code(), error.to_string(), error.advice()),
        };
        let mut body = ErrorBody::new(code, message);
        if let Self::Oversized(oversized) = self {
            body.call_id = Some(oversized.call_id.to_string());
        }
        body.advice = Some(advice);
        Some(body)
    }
}
