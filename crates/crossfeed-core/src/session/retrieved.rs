//! What a model gets when it asks for a result or artifact.

use crate::{context::Oversized, error::LookupError, failure::Failure};
use crossfeed_wire::{ErrorBody, ErrorCode, Pointer};
use std::fmt;

/// What came of bringing a result or artifact into the context. Its `Debug` does not say the data.
#[derive(Clone)]
#[non_exhaustive]
pub enum Retrieved {
    /// It, or the part that was selected.
    #[non_exhaustive]
    Data {
        /// The value as JSON; what was copied from the result is as it came.
        json: Vec<u8>,
        /// What it takes.
        tokens: usize,
    },
    /// All of it was shown in this session before.
    AlreadyShown,
    /// It is too large.
    Oversized(Oversized),
    /// It is not there.
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
    #[must_use]
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

    /// The error that the model is told, where it is one.
    #[must_use]
    pub fn error_body(&self) -> Option<ErrorBody> {
        match self {
            Self::Data { .. } | Self::AlreadyShown => None,
            Self::Oversized(oversized) => {
                let mut body = ErrorBody::new(oversized.code(), oversized.to_string());
                body.call_id = Some(oversized.call_id.to_string());
                body.advice = Some(oversized.advice());
                Some(body)
            }
            Self::Missing(error) => {
                let mut body = Failure::new(Pointer::root(), error.clone()).body();
                body.at = None;
                Some(body)
            }
        }
    }
}
