//! Counts and times of a store's operations.

use crate::StoreError;
use crossfeed_wire::Fault;
use std::{
    array,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::{Duration, Instant},
};
use strum::{EnumCount, VariantNames};

/// The upper bounds of a histogram's buckets, but for the last bucket, which has none: from what memory takes to what no
/// request may take.
pub const LATENCY_BOUNDS: [Duration; 16] = [
    Duration::from_micros(25),
    Duration::from_micros(50),
    Duration::from_micros(100),
    Duration::from_micros(250),
    Duration::from_micros(500),
    Duration::from_millis(1),
    Duration::from_micros(2500),
    Duration::from_millis(5),
    Duration::from_millis(10),
    Duration::from_millis(50),
    Duration::from_millis(100),
    Duration::from_millis(500),
    Duration::from_secs(1),
    Duration::from_secs(5),
    Duration::from_secs(30),
    Duration::from_secs(120),
];

/// An operation that is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumCount, VariantNames)]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
pub enum StoreOperation {
    /// Recording a result.
    Put,
    /// Finding a result.
    Get,
    /// Listing results or artifacts of a session.
    List,
    /// Removing a session.
    RemoveSession,
    /// Recording an artifact.
    PutArtifact,
    /// Finding an artifact.
    GetArtifact,
    /// Beginning, renewing or giving up a call in flight, and asking for those that run.
    Lease,
    /// Reading, writing or removing a record of the host.
    State,
    /// Writing a blob.
    PutBlob,
    /// Reading a blob.
    GetBlob,
    /// Removing blobs.
    RemoveBlobs,
    /// Listing old blobs.
    ListBlobs,
}

impl StoreOperation {
    /// Its name: `get_artifact`.
    pub fn name(self) -> &'static str {
        Self::VARIANTS[self as usize]
    }
}

/// How often an operation was made, and how long it took.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct OperationMetrics {
    /// Its [name](StoreOperation::name).
    pub operation: &'static str,
    /// How often, failures included. An operation whose future was dropped does not count.
    pub count: u64,
    /// How often it failed because of the backend.
    pub failed: u64,
    /// The time of all together.
    pub total: Duration,
    /// How many took at most as long as each of [`LATENCY_BOUNDS`] and longer than the one before; then those that took
    /// longer than all.
    pub histogram: [u64; LATENCY_BOUNDS.len() + 1],
}

/// What a store counted since it was opened: the requests of its own process only.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoreMetrics {
    /// By operation; none of a store without a backend.
    pub operations: Vec<OperationMetrics>,
    /// Values that existed and were in this process's memory.
    pub cache_hits: u64,
    /// Values that existed and had to be fetched.
    pub cache_misses: u64,
    /// Results that were evicted.
    pub evicted: u64,
    /// Results that were found expired.
    pub expired: u64,
    /// Leases that were to be renewed and had been lost.
    pub lost_leases: u64,
}

impl StoreMetrics {
    /// An operation's part, by its name.
    pub fn operation(&self, operation: StoreOperation) -> Option<&OperationMetrics> {
        let mut operations = self.operations.iter();
        operations.find(|of| of.operation == operation.name())
    }
}

#[derive(Debug, Default)]
struct Timed {
    failed: AtomicU64,
    nanoseconds: AtomicU64,
    histogram: [AtomicU64; LATENCY_BOUNDS.len() + 1],
}

/// Counts what a store does, for its [`metrics`](crate::ResultStore::metrics). Counting takes no lock.
///
/// ```
/// use crossfeed_store::{StoreMeter, StoreOperation};
///
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let meter = StoreMeter::default();
/// let found = meter.time(StoreOperation::Get, async { Ok("a result") }).await?;
/// assert_eq!(found, "a result");
/// let metrics = meter.snapshot();
/// assert_eq!(metrics.operation(StoreOperation::Get).unwrap().count, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct StoreMeter {
    operations: [Timed; StoreOperation::COUNT],
    hits: AtomicU64,
    misses: AtomicU64,
    evicted: AtomicU64,
    expired: AtomicU64,
    lost_leases: AtomicU64,
}

impl StoreMeter {
    /// Makes an operation, and counts it once it has ended.
    ///
    /// # Errors
    ///
    /// Those of the operation.
    pub async fn time<T>(
        &self,
        operation: StoreOperation,
        work: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let start = Instant::now();
        let outcome = work.await;
        let took = start.elapsed();
        let timed = &self.operations[operation as usize];
        let bucket = LATENCY_BOUNDS.partition_point(|bound| *bound < took);
        timed.histogram[bucket].fetch_add(1, Relaxed);
        let nanoseconds = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        timed.nanoseconds.fetch_add(nanoseconds, Relaxed);
        let is_failure = |error: &StoreError| error.fault() == Fault::Backend;
        if outcome.as_ref().is_err_and(is_failure) {
            timed.failed.fetch_add(1, Relaxed);
        }
        outcome
    }

    /// Counts a value that exists: whether it was at hand or had to be fetched.
    pub fn cached(&self, was_at_hand: bool) {
        let counter = if was_at_hand {
            &self.hits
        } else {
            &self.misses
        };
        counter.fetch_add(1, Relaxed);
    }

    /// Counts results that were evicted.
    pub fn evicted(&self, number: usize) {
        self.evicted.fetch_add(number as u64, Relaxed);
    }

    /// Counts results that were found expired.
    pub fn expired(&self, number: usize) {
        self.expired.fetch_add(number as u64, Relaxed);
    }

    /// Counts leases that had been lost.
    pub fn lost_leases(&self, number: usize) {
        self.lost_leases.fetch_add(number as u64, Relaxed);
    }

    /// What was counted so far.
    pub fn snapshot(&self) -> StoreMetrics {
        let operations = StoreOperation::VARIANTS.iter().zip(&self.operations);
        let operations = operations.map(|(name, timed)| {
            let histogram = array::from_fn(|at| timed.histogram[at].load(Relaxed));
            OperationMetrics {
                operation: name,
                count: histogram.iter().sum(),
                failed: timed.failed.load(Relaxed),
                total: Duration::from_nanos(timed.nanoseconds.load(Relaxed)),
                histogram,
            }
        });
        StoreMetrics {
            operations: operations.collect(),
            cache_hits: self.hits.load(Relaxed),
            cache_misses: self.misses.load(Relaxed),
            evicted: self.evicted.load(Relaxed),
            expired: self.expired.load(Relaxed),
            lost_leases: self.lost_leases.load(Relaxed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn run<T>(work: impl Future<Output = T>) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        runtime.unwrap().block_on(work)
    }

    #[test]
    fn bounds_grow() {
        assert!(LATENCY_BOUNDS.is_sorted_by(|one, next| one < next));
    }

    #[test]
    fn failures_of_the_backend_count_as_failed() {
        let meter = StoreMeter::default();
        run(async {
            let get = StoreOperation::Get;
            let missing = StoreError::TooLarge { bytes: 2, limit: 1 };
            assert!(
                meter
                    .time(get, async { Err::<(), _>(missing) })
                    .await
                    .is_err()
            );
            let full = StoreError::NoSpace {
                source: "full".into(),
            };
            assert!(meter.time(get, async { Err::<(), _>(full) }).await.is_err());
            assert!(meter.time(get, async { Ok(()) }).await.is_ok());
        });
        let metrics = meter.snapshot();
        let get = metrics.operation(StoreOperation::Get).unwrap();
        assert_eq!((get.operation, get.count, get.failed), ("get", 3, 1));
        let put = metrics.operation(StoreOperation::PutArtifact).unwrap();
        assert_eq!((put.operation, put.count), ("put_artifact", 0));
    }

    proptest! {
        /// Every count is there once.
        #[test]
        fn what_is_counted_is_shown(hits in 0u64..20, misses in 0u64..20, gone in 0usize..20, lost in 0usize..20) {
            let meter = StoreMeter::default();
            for at in 0..hits + misses {
                meter.cached(at < hits);
            }
            meter.evicted(gone);
            meter.expired(lost);
            meter.lost_leases(lost);
            let metrics = meter.snapshot();
            prop_assert_eq!((metrics.cache_hits, metrics.cache_misses), (hits, misses));
            prop_assert_eq!((metrics.evicted, metrics.expired), (gone as u64, lost as u64));
            prop_assert_eq!(metrics.lost_leases, lost as u64);
        }
    }
}
