//! How long to wait before another attempt: longer after every failure, and a little different each time.

use std::time::Duration;

/// Times to wait between attempts: each twice the one before, up to a limit, shortened by chance so
/// that those who failed together do not come back together.
#[derive(Clone, Debug)]
pub struct Backoff {
    first: Duration,
    limit: Duration,
    failures: u32,
}

impl Backoff {
    /// Waits of `first`, then twice as long each time, up to `limit`.
    pub fn new(first: Duration, limit: Duration) -> Self {
        Self {
            first: first.min(limit),
            limit,
            failures: 0,
        }
    }

    /// How long to wait before the next attempt: between half of what is due and all of it.
    pub fn next_wait(&mut self) -> Duration {
        let due = self
            .first
            .saturating_mul(2_u32.saturating_pow(self.failures))
            .min(self.limit);
        self.failures = self.failures.saturating_add(1);
        due.mul_f64(0.5 + chance() / 2.0)
    }

    /// Attempts that failed since the last that held.
    pub fn failures(&self) -> u32 {
        self.failures
    }

    /// An attempt held: the next failure waits shortly again.
    pub fn reset(&mut self) {
        self.failures = 0;
    }
}

impl Default for Backoff {
    /// Half a second, so that a crash is hardly noticed; a minute at most, so that a server that is
    /// back is found soon and one that is broken costs nothing.
    fn default() -> Self {
        Self::new(Duration::from_millis(500), Duration::from_secs(60))
    }
}

/// Between 0 and 1; 1 where the system has no randomness to give.
fn chance() -> f64 {
    let mut bytes = [0; 4];
    match getrandom::fill(&mut bytes) {
        Ok(()) => f64::from(u32::from_ne_bytes(bytes)) / f64::from(u32::MAX),
        Err(_) => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_wait_is_at_most_what_is_due_and_at_least_half_of_it(
            first in 1_u64..10_000,
            limit in 1_u64..10_000_000,
            failures in 1_u32..80,
        ) {
            let limit = Duration::from_millis(limit);
            let mut backoff = Backoff::new(Duration::from_millis(first), limit);
            let mut due = Duration::from_millis(first).min(limit);
            for _ in 0..failures {
                let wait = backoff.next_wait();
                prop_assert!(wait <= due && wait >= due.mul_f64(0.499), "{wait:?} of {due:?}");
                due = (due * 2).min(limit);
            }
            prop_assert_eq!(backoff.failures(), failures);
            backoff.reset();
            prop_assert!(backoff.next_wait() <= Duration::from_millis(first));
        }
    }
}
