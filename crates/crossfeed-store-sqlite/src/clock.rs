//! The time of day, which goes on while no process runs.

use crossfeed_store::Clock;
use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// The machine's calendar clock: time since 1970. Where it is set back it stands still instead.
#[derive(Debug, Default)]
pub struct CalendarClock {
    /// The latest time that was seen, in milliseconds.
    latest: AtomicU64,
}

impl CalendarClock {
    /// The machine's clock.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Clock for CalendarClock {
    fn now(&self) -> Duration {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = u64::try_from(now.unwrap_or_default().as_millis()).unwrap_or(u64::MAX);
        let before = self.latest.fetch_max(now, Ordering::Relaxed);
        Duration::from_millis(before.max(now))
    }
}
