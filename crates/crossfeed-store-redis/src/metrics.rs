//! Counts and times of operations.

use crossfeed_store::StoreError;
use std::{
    array,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::{Duration, Instant},
};

/// The upper bounds of a histogram's buckets, the last of which has none.
pub const LATENCY_BOUNDS: [Duration; 8] = [
    Duration::from_micros(100),
    Duration::from_micros(250),
    Duration::from_micros(500),
    Duration::from_millis(1),
    Duration::from_millis(5),
    Duration::from_millis(25),
    Duration::from_millis(100),
    Duration::from_secs(1),
];

/// Operations that are measured.
#[derive(Clone, Copy)]
pub(crate) enum Measured {
    Put,
    Get,
    List,
    Remove,
    PutArtifact,
    GetArtifact,
    Lease,
    State,
}

const NAMES: [&str; 8] = [
    "put",
    "get",
    "list",
    "remove_session",
    "put_artifact",
    "get_artifact",
    "lease",
    "state",
];

/// How often an operation was made, and how long it took.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct OperationMetrics {
    /// Its name: `get`.
    pub operation: &'static str,
    /// How often, failures included.
    pub count: u64,
    /// How often it failed because of the backend.
    pub failed: u64,
    /// The time of all together.
    pub total: Duration,
    /// How many took at most as long as each of [`LATENCY_BOUNDS`] and longer than the one before; then those that took
    /// longer than all.
    pub histogram: [u64; LATENCY_BOUNDS.len() + 1],
}

/// What a store counted since it was opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RedisMetrics {
    /// By operation.
    pub operations: Vec<OperationMetrics>,
    /// Values that existed and were in this process's memory.
    pub cache_hits: u64,
    /// Values that existed and had to be fetched.
    pub cache_misses: u64,
    /// Results that this process's requests evicted.
    pub evicted: u64,
    /// Results that this process's requests found expired.
    pub expired: u64,
    /// Leases that were to be renewed and had been lost.
    pub lost_leases: u64,
}

#[derive(Default)]
struct Timed {
    failed: AtomicU64,
    nanoseconds: AtomicU64,
    histogram: [AtomicU64; LATENCY_BOUNDS.len() + 1],
}

#[derive(Default)]
pub(crate) struct Metrics {
    operations: [Timed; NAMES.len()],
    hits: AtomicU64,
    misses: AtomicU64,
    evicted: AtomicU64,
    expired: AtomicU64,
    lost_leases: AtomicU64,
}

impl Metrics {
    /// Makes an operation, and counts it.
    pub(crate) async fn time<T>(
        &self,
        operation: Measured,
        work: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let start = Instant::now();
        let outcome = work.await;
        let took = start.elapsed();
        let timed = &self.operations[operation as usize];
        let bucket = LATENCY_BOUNDS.iter().position(|bound| took <= *bound);
        timed.histogram[bucket.unwrap_or(LATENCY_BOUNDS.len())].fetch_add(1, Relaxed);
        let nanoseconds = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        timed.nanoseconds.fetch_add(nanoseconds, Relaxed);
        let is_failure = |error: &StoreError| error.fault() == crossfeed_wire::Fault::Backend;
        if outcome.as_ref().is_err_and(is_failure) {
            timed.failed.fetch_add(1, Relaxed);
        }
        outcome
    }

    pub(crate) fn hit(&self) {
        self.hits.fetch_add(1, Relaxed);
    }

    pub(crate) fn miss(&self) {
        self.misses.fetch_add(1, Relaxed);
    }

    pub(crate) fn evicted(&self) {
        self.evicted.fetch_add(1, Relaxed);
    }

    pub(crate) fn expired(&self) {
        self.expired.fetch_add(1, Relaxed);
    }

    pub(crate) fn lost_leases(&self, number: usize) {
        self.lost_leases.fetch_add(number as u64, Relaxed);
    }

    pub(crate) fn snapshot(&self) -> RedisMetrics {
        let operations = NAMES.iter().zip(&self.operations).map(|(name, timed)| {
            let histogram = array::from_fn(|at| timed.histogram[at].load(Relaxed));
            OperationMetrics {
                operation: name,
                count: histogram.iter().sum(),
                failed: timed.failed.load(Relaxed),
                total: Duration::from_nanos(timed.nanoseconds.load(Relaxed)),
                histogram,
            }
        });
        RedisMetrics {
            operations: operations.collect(),
            cache_hits: self.hits.load(Relaxed),
            cache_misses: self.misses.load(Relaxed),
            evicted: self.evicted.load(Relaxed),
            expired: self.expired.load(Relaxed),
            lost_leases: self.lost_leases.load(Relaxed),
        }
    }
}
