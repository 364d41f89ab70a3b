//! The time of day, which goes on while no process runs.

use crossfeed_store::Clock;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The machine's calendar clock: time since 1970.
///
/// Where it is set back, it goes back here, too: all processes that use a directory must see the same time, also those
/// that begin later.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct CalendarClock;

impl CalendarClock {
    /// The machine's clock.
    pub fn new() -> Self {
        Self
    }
}

impl Clock for CalendarClock {
    fn now(&self) -> Duration {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        now.unwrap_or_default()
    }
}
