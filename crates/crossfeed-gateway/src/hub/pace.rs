//! Limits how fast the notifications of one server are read.

use std::time::Duration;
use tokio::time::Instant;

/// Notifications a second, and the burst before that limit: more than any useful server sends.
const MESSAGES_PER_SECOND: u32 = 10_000;
const MESSAGES_BURST: u32 = 20_000;
/// The same in bytes.
const BYTES_PER_SECOND: u32 = 16 << 20;
const BYTES_BURST: u32 = 64 << 20;
/// The longest rest at once: messages behind a flood are still read.
const MAX_REST: Duration = Duration::from_secs(1);
/// The shortest rest: timers are not finer, and waking costs, too.
const MIN_REST: Duration = Duration::from_millis(20);

/// The pace of one server's notifications.
#[derive(Debug)]
pub(super) struct Pace {
    messages: Bucket,
    bytes: Bucket,
}

#[derive(Debug)]
struct Bucket {
    /// Negative after reading too much.
    left: f64,
    burst: f64,
    per_second: f64,
    at: Instant,
}

impl Bucket {
    fn new(per_second: u32, burst: u32, now: Instant) -> Self {
        Self {
            left: f64::from(burst),
            burst: f64::from(burst),
            per_second: f64::from(per_second),
            at: now,
        }
    }

    /// Takes out; returns how long the bucket stays empty.
    fn take(&mut self, count: f64, now: Instant) -> Duration {
        let passed = now.saturating_duration_since(self.at).as_secs_f64();
        self.at = now;
        // The debt is bounded, or one large message would silence a server.
        let least = -self.per_second * MAX_REST.as_secs_f64();
        let filled = (self.left + passed * self.per_second).min(self.burst);
        self.left = (filled - count).max(least);
        Duration::from_secs_f64((-self.left / self.per_second).max(0.0))
    }
}

impl Pace {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            messages: Bucket::new(MESSAGES_PER_SECOND, MESSAGES_BURST, now),
            bytes: Bucket::new(BYTES_PER_SECOND, BYTES_BURST, now),
        }
    }

    /// Counts a notification; returns when the next may be read, unless that is now.
    pub(super) fn read(&mut self, bytes: usize, now: Instant) -> Option<Instant> {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        let messages = self.messages.take(1.0, now);
        let rest = messages.max(self.bytes.take(f64::from(bytes), now));
        (!rest.is_zero()).then(|| now + rest.clamp(MIN_REST, MAX_REST))
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_REST, MESSAGES_BURST, MESSAGES_PER_SECOND, Pace};
    use std::time::Duration;
    use tokio::time::Instant;

    /// How many notifications of so many bytes are read within some seconds by who never stops.
    fn flood(bytes: usize, seconds: u64) -> u32 {
        let begun = Instant::now();
        let mut now = begun;
        let mut pace = Pace::new(now);
        let mut read = 0;
        while now < begun + Duration::from_secs(seconds) {
            read += 1;
            now = pace.read(bytes, now).unwrap_or(now);
        }
        read
    }

    #[test]
    fn a_flood_is_read_at_a_rate() {
        let most = MESSAGES_BURST + 10 * MESSAGES_PER_SECOND;
        let read = flood(100, 10);
        assert!(
            read <= most + MESSAGES_PER_SECOND && read >= most - MESSAGES_PER_SECOND,
            "{read}"
        );
        // By bytes: 64 MiB at once, then 16 MiB a second.
        let read = flood(1 << 20, 10);
        assert!((200..=260).contains(&read), "{read}");
    }

    #[test]
    fn what_is_not_a_flood_is_read_at_once() {
        let mut now = Instant::now();
        let mut pace = Pace::new(now);
        for _ in 0..100_000 {
            now += Duration::from_millis(1);
            assert_eq!(pace.read(8 << 10, now), None);
        }
    }

    #[test]
    fn one_large_notification_does_not_silence_a_server() {
        let mut now = Instant::now();
        let mut pace = Pace::new(now);
        let rest = pace.read(usize::MAX, now).unwrap();
        assert!(rest <= now + MAX_REST);
        now = rest + MAX_REST;
        assert_eq!(pace.read(100, now), None);
    }
}
