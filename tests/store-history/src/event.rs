//! What a process does to a store, and what came of it, as lines of JSON.

use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Time by the clock that all processes of a machine share, in nanoseconds.
pub(crate) fn now() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    let nanoseconds = now
        .tv_sec
        .wrapping_mul(1_000_000_000)
        .wrapping_add(now.tv_nsec);
    nanoseconds.cast_unsigned()
}

/// A duration as a difference of [`now`].
pub(crate) fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// One line that a worker writes: before an operation, and after it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Event {
    pub(crate) worker: u32,
    /// Numbers the operations of a worker.
    pub(crate) number: u64,
    pub(crate) at: u64,
    pub(crate) moment: Moment,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Moment {
    Begin(Operation),
    End(Outcome),
}

/// What is done to the call `id` of a session, or to the record of the host whose key is the session's number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Operation {
    pub(crate) action: Action,
    pub(crate) session: u64,
    pub(crate) id: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Action {
    /// Records the content of this number.
    Put(u64),
    Get,
    /// Keeps the content of this number as an artifact.
    PutArtifact(u64),
    GetArtifact,
    List,
    Acquire,
    Renew,
    Release,
    /// Removes the session.
    Remove,
    /// Reads the record of the host.
    Read,
    /// Writes this number as the record of the host, if the record is of this version, or if there is none.
    Write(u64, Option<u64>),
}

/// What came of an operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Outcome {
    New,
    Unchanged,
    Duplicate,
    /// The content of this number.
    Found(u64),
    /// Bytes that no put has given.
    Garbled,
    Unknown,
    Expired,
    Evicted,
    InFlight,
    Recorded,
    /// So many results, of so many bytes.
    Listed(usize, u64),
    /// Whether a lease was still there.
    Kept(bool),
    Done,
    /// The record of the host: its number and version.
    Record(Option<(u64, u64)>),
    /// The version that was written, unless something else was there than expected.
    Written(Option<u64>),
    /// The store could not answer: its code, whether it may be tried again, and what it says.
    Failed(String, bool, String),
}
