//! The errors of servers as those of stores.

use crossfeed_store::StoreError;
use redis::{ErrorKind, RedisError, ServerErrorKind};
use std::time::Duration;

/// A server did not answer in time.
#[derive(Debug, thiserror::Error)]
#[error("no answer within {} ms", within.as_millis())]
pub(crate) struct TimedOut {
    pub(crate) within: Duration,
}

/// Too few replicas confirmed a write.
#[derive(Debug, thiserror::Error)]
#[error("{confirmed} of {wanted} replicas confirmed the write within {} ms", within.as_millis())]
pub(crate) struct Unconfirmed {
    pub(crate) confirmed: i64,
    pub(crate) wanted: usize,
    pub(crate) within: Duration,
}

/// A server's answer is not what the scripts give.
#[derive(Debug, thiserror::Error)]
#[error("the server's answer cannot be read: {what}")]
pub(crate) struct BadAnswer {
    pub(crate) what: &'static str,
}

pub(crate) fn bad_answer(what: &'static str) -> StoreError {
    StoreError::Unavailable {
        source: Box::new(BadAnswer { what }),
        retry: false,
    }
}

pub(crate) fn unavailable(source: impl std::error::Error + Send + Sync + 'static) -> StoreError {
    StoreError::Unavailable {
        source: Box::new(source),
        retry: true,
    }
}

/// Whether the connection is of no use any more.
pub(crate) fn ends_connection(error: &RedisError) -> bool {
    error.is_unrecoverable_error()
        || error.is_io_error()
        || matches!(
            error.kind(),
            ErrorKind::Server(ServerErrorKind::ReadOnly | ServerErrorKind::MasterDown)
        )
        // A primary that was replaced, and does not know it yet.
        || error.code() == Some("NOREPLICAS")
}

/// Whether the connection ended before or within the answer, so that the request can be made again at once over another.
pub(crate) fn was_cut(error: &RedisError) -> bool {
    let is_dropped = error.is_connection_dropped() && !error.is_connection_refusal();
    is_dropped || error.kind() == ErrorKind::Parse
}

/// The error of a store for that of a request.
pub(crate) fn translate(error: RedisError) -> StoreError {
    let text = || error.to_string();
    match error.kind() {
        ErrorKind::Server(ServerErrorKind::NoPerm) | ErrorKind::AuthenticationFailed => {
            StoreError::Unavailable {
                source: Box::new(error),
                retry: false,
            }
        }
        ErrorKind::InvalidClientConfig | ErrorKind::EmptySentinelList => StoreError::Unavailable {
            source: Box::new(error),
            retry: false,
        },
        _ if error.code() == Some("OOM") || text().contains("OOM command not allowed") => {
            StoreError::NoSpace {
                source: Box::new(error),
            }
        }
        _ if error.code() == Some("MISCONF") || text().contains("MISCONF") => StoreError::NoSpace {
            source: Box::new(error),
        },
        // A wrong type under a key, or a script that failed: the same again fails again.
        ErrorKind::Server(ServerErrorKind::ResponseError) => {
            let retry = error.code() == Some("BUSY");
            StoreError::Unavailable {
                source: Box::new(error),
                retry,
            }
        }
        _ => unavailable(error),
    }
}
