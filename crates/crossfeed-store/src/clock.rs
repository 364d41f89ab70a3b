//! Where a store's time comes from, so that tests need not wait.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

/// Time since an arbitrary start. It never goes back.
///
/// ```
/// use crossfeed_store::{Clock, ManualClock, MemoryLimits, MemoryStore};
/// use std::sync::Arc;
///
/// // A store whose results expire as the test says.
/// let clock = Arc::new(ManualClock::new());
/// let store = MemoryStore::with_clock(MemoryLimits::default(), Arc::clone(&clock) as Arc<dyn Clock>);
/// clock.advance(MemoryLimits::default().time_to_live);
/// ```
pub trait Clock: Send + Sync {
    /// The time now. Called often, so it should be quick; it must not call the store.
    fn now(&self) -> Duration;
}

/// The machine's monotonic clock.
#[derive(Clone, Copy, Debug)]
pub struct SystemClock {
    start: Instant,
}

impl SystemClock {
    /// A clock that starts at zero now.
    pub fn new() -> Self {
        Self {
            start: Instant::now(),
        }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Duration {
        self.start.elapsed()
    }
}

/// A clock that stands still until it is advanced, for tests.
///
/// ```
/// use crossfeed_store::{Clock, ManualClock};
/// use std::time::Duration;
///
/// let clock = ManualClock::new();
/// clock.advance(Duration::from_secs(5));
/// assert_eq!(clock.now(), Duration::from_secs(5));
/// ```
#[derive(Debug, Default)]
pub struct ManualClock {
    nanoseconds: AtomicU64,
}

impl ManualClock {
    /// A clock that stands at zero.
    pub fn new() -> Self {
        Self::default()
    }

    /// Moves the clock forward. It can show some 584 years; beyond that it stands still.
    pub fn advance(&self, by: Duration) {
        let by = u64::try_from(by.as_nanos()).unwrap_or(u64::MAX);
        // The closure always gives a value, so this cannot fail.
        let _ = self
            .nanoseconds
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |now| {
                Some(now.saturating_add(by))
            });
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Duration {
        Duration::from_nanos(self.nanoseconds.load(Ordering::SeqCst))
    }
}
