//! Why a worker gives no answer.

use crossfeed_wire::ErrorCode;
use std::{io, time::Duration};

/// Why a worker gives no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkerError {
    /// The statement, or what it needs, is at fault.
    #[error("{}", .0.message)]
    Query(QueryFault),
    /// The worker was killed, since it took too long.
    #[error("the statement was ended after {} ms", .limit.as_millis())]
    Time {
        /// The time that it had.
        limit: Duration,
    },
    /// There is no memory for it, or not beside what was imported before.
    #[error("there is not enough memory for the statement")]
    Memory,
    /// The worker ended, most often for want of memory.
    #[error(
        "the process of the statement ended, most often because it took more memory than it may"
    )]
    Ended,
    /// As many statements as may be were running all the time.
    #[error("other statements were running for {} ms", .waited.as_millis())]
    Busy {
        /// How long this one waited.
        waited: Duration,
    },
    /// A program cannot be started as a worker.
    #[error("a worker cannot be started")]
    Start(#[source] io::Error),
}

/// What a worker says of a statement or a result.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueryFault {
    /// The stable word.
    pub code: ErrorCode,
    /// The error in one line.
    pub message: String,
    /// What to do next.
    pub advice: String,
}

impl WorkerError {
    /// The stable word: `specs/errors.md`.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Query(fault) => fault.code,
            Self::Time { .. } | Self::Memory | Self::Ended | Self::Busy { .. } => {
                ErrorCode::LimitExceeded
            }
            Self::Start(_) => ErrorCode::WorkerUnavailable,
        }
    }

    /// What to do next.
    pub fn advice(&self) -> &str {
        match self {
            Self::Query(fault) => &fault.advice,
            Self::Time { .. } => "join by equal values, filter first, and select less at once",
            Self::Memory | Self::Ended => "select less at once",
            Self::Busy { .. } => "ask again",
            Self::Start(_) => "go on without queries: the log of the host says more",
        }
    }
}
