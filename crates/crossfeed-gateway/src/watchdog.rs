//! Detects threads that are stuck: a task that blocks a thread holds up all clients on it.
//!
//! A thread is stuck when it neither parks nor finishes a round of tasks. A thread that parks or unparks
//! stores the time, which is all that serving clients pays; the watchdog's own thread compares.

use crate::metrics::{
    Counter, Histogram, Metrics,
    families::{STALL_SECONDS, STALLS},
};
use parking_lot::Mutex;
use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc::{self, RecvTimeoutError, Sender},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};
use tokio::runtime::{Builder, Handle};

/// A thread that is busy for longer is stuck.
const STUCK_AFTER: Duration = Duration::from_millis(100);
const CHECK_INTERVAL: Duration = Duration::from_millis(50);
/// The log has at most one line about stuck threads in this time.
const LOG_INTERVAL: Duration = Duration::from_secs(10);
/// The slot of a parked thread.
const PARKED: u64 = 0;

thread_local! {
    /// When this thread unparked.
    static SLOT: std::cell::OnceCell<Arc<AtomicU64>> = const { std::cell::OnceCell::new() };
}

/// A watch over the threads of one runtime.
#[derive(Clone)]
pub struct Watchdog {
    threads: Arc<Threads>,
    stalls: Counter,
    seconds: Histogram,
}

/// When each thread of a runtime unparked, in nanoseconds since the watch began.
struct Threads {
    began: Instant,
    slots: Mutex<Vec<Arc<AtomicU64>>>,
}

impl Threads {
    fn note(&self, is_parked: bool) {
        SLOT.with(|slot| {
            let slot = slot.get_or_init(|| {
                let slot = Arc::new(AtomicU64::new(PARKED));
                self.slots.lock().push(Arc::clone(&slot));
                slot
            });
            let at = if is_parked {
                PARKED
            } else {
                nanos(self.began.elapsed())
            };
            slot.store(at, Ordering::Relaxed);
        });
    }

    /// How many workers are parked, or were a moment ago. One that never parked has only just begun.
    fn rested(&self, now: Duration, workers: usize) -> usize {
        let slots = self.slots.lock();
        let new = workers.saturating_sub(slots.len());
        let moment = nanos(now.saturating_sub(STUCK_AFTER));
        let rested = slots.iter().map(|slot| slot.load(Ordering::Relaxed));
        new + rested.filter(|at| *at == PARKED || *at > moment).count()
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX).max(1)
}

impl Watchdog {
    /// A watchdog that counts in these metrics.
    pub fn new(metrics: &Metrics) -> Self {
        Self {
            threads: Arc::new(Threads {
                began: Instant::now(),
                slots: Mutex::default(),
            }),
            stalls: metrics.counter(STALLS, &[]),
            seconds: metrics.histogram(STALL_SECONDS, &[]),
        }
    }

    /// Has the threads of a runtime report when they park. To be called before the runtime is built.
    pub fn attach(&self, builder: &mut Builder) {
        let (parks, unparks) = (Arc::clone(&self.threads), Arc::clone(&self.threads));
        builder.on_thread_park(move || parks.note(true));
        builder.on_thread_unpark(move || unparks.note(false));
    }

    /// Watches the runtime that was built, until the guard is dropped.
    ///
    /// # Errors
    ///
    /// No thread can be started.
    pub fn watch(self, runtime: &Handle) -> io::Result<Watching> {
        let (stop, until) = mpsc::channel();
        let metrics = runtime.metrics();
        let thread = thread::Builder::new().name("watchdog".to_owned());
        let thread = thread.spawn(move || {
            let workers = metrics.num_workers();
            let mut record = Record::new(workers);
            let mut before = self.threads.began.elapsed();
            while until.recv_timeout(CHECK_INTERVAL) == Err(RecvTimeoutError::Timeout) {
                let now = self.threads.began.elapsed();
                // This thread got no processor either: no task is to blame.
                let is_starved = now - before > CHECK_INTERVAL * 2;
                before = now;
                if is_starved {
                    record.forgive(now);
                    continue;
                }
                let busy = |worker| metrics.worker_total_busy_duration(worker);
                let ended = record.update(now, busy, self.threads.rested(now, workers));
                self.report(&mut record, now, ended);
            }
        })?;
        Ok(Watching(Some((stop, thread))))
    }

    fn report(&self, record: &mut Record, now: Duration, ended: Vec<Duration>) {
        for time in ended {
            self.seconds.took(time);
        }
        self.stalls.add(record.begun - record.counted);
        record.counted = record.begun;
        let stalls = record.begun - record.logged;
        let may_log = record
            .log_time
            .is_none_or(|time| now - time >= LOG_INTERVAL);
        if stalls > 0 && may_log {
            record.logged = record.begun;
            record.log_time = Some(now);
            tracing::warn!(
                target: "crossfeed::gateway",
                stalls,
                "a thread that serves clients is stuck for more than {} ms",
                STUCK_AFTER.as_millis()
            );
        }
    }
}

/// The observations so far.
#[derive(Default)]
struct Record {
    /// Of each worker, its busy time when that last changed, and when.
    busy: Vec<(Duration, Duration)>,
    /// When the threads that are stuck began to be.
    stuck: Vec<Duration>,
    /// Stalls that have begun, and how many of them were counted and logged.
    begun: usize,
    counted: usize,
    logged: usize,
    log_time: Option<Duration>,
}

impl Record {
    fn new(workers: usize) -> Self {
        Self {
            busy: vec![(Duration::ZERO, Duration::ZERO); workers],
            ..Self::default()
        }
    }

    /// Starts the time of all threads that are not stuck yet again.
    fn forgive(&mut self, now: Duration) {
        for (_, since) in &mut self.busy {
            *since = now;
        }
    }

    /// Checks all threads, of which so many rested a moment ago. Returns how long those were stuck that are
    /// no longer.
    fn update(
        &mut self,
        now: Duration,
        busy: impl Fn(usize) -> Duration,
        rested: usize,
    ) -> Vec<Duration> {
        let mut quiet = 0_usize;
        for (worker, known) in self.busy.iter_mut().enumerate() {
            let own = busy(worker);
            if own != known.0 {
                *known = (own, now);
            } else if now.saturating_sub(known.1) >= STUCK_AFTER {
                quiet += 1;
            }
        }
        // Which thread is which worker is unknown, but those that rested are among the quiet ones.
        let stuck = quiet.saturating_sub(rested);
        let recovered = self.stuck.len().saturating_sub(stuck);
        let ended = self.stuck.drain(..recovered);
        let ended = ended.map(|since| now.saturating_sub(since)).collect();
        while self.stuck.len() < stuck {
            self.stuck.push(now.saturating_sub(STUCK_AFTER));
            self.begun += 1;
        }
        ended
    }
}

/// Stops the watchdog when it is dropped.
pub struct Watching(Option<(Sender<()>, JoinHandle<()>)>);

impl Drop for Watching {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.0.take() {
            drop(stop);
            // A panic of the thread was logged.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Record, Watchdog};
    use crate::metrics::{Metrics, families::STALLS};
    use std::{
        sync::mpsc,
        time::{Duration, Instant},
    };
    use tokio::runtime::Builder;

    #[test]
    fn who_neither_rests_nor_gets_on_is_stuck() {
        let ms = Duration::from_millis;
        let mut record = Record::new(2);
        // Time, how busy the threads were, how many rested, how many are stuck, how long others were.
        for (now, busy, rested, stuck, ended) in [
            (50, [1, 1], 0, 0, &[][..]),
            (100, [2, 2], 0, 0, &[]),
            // One is parked, one is through with some tasks again and again.
            (300, [2, 3], 1, 0, &[]),
            // Neither is through with any.
            (400, [2, 3], 1, 1, &[]),
            (450, [2, 3], 0, 2, &[]),
            (500, [2, 3], 0, 2, &[]),
            (700, [2, 4], 0, 1, &[400]),
            (750, [3, 5], 0, 0, &[400]),
        ] {
            let ended_now = record.update(ms(now), |worker| ms(busy[worker]), rested);
            assert_eq!(record.stuck.len(), stuck, "{now}");
            let ended: Vec<_> = ended.iter().copied().map(ms).collect();
            assert_eq!(ended_now, ended, "{now}");
        }
        assert_eq!(record.begun, 2);
    }

    /// One of two threads is stuck, and then the only one.
    #[test]
    fn a_stuck_thread_is_counted() {
        for builder in [Builder::new_multi_thread, Builder::new_current_thread] {
            let metrics = Metrics::new();
            let watchdog = Watchdog::new(&metrics);
            let mut builder = builder();
            watchdog.attach(builder.worker_threads(2).enable_all());
            let runtime = builder.build().unwrap();
            let stalls = metrics.counter(STALLS, &[]);
            // Each parks once.
            runtime.block_on(async { tokio::time::sleep(Duration::from_millis(20)).await });
            let watching = watchdog.watch(runtime.handle()).unwrap();
            let (counted, until_counted) = mpsc::channel();
            let stuck = runtime.spawn(async move {
                // Which is what no task may do.
                until_counted.recv_timeout(Duration::from_secs(60)).unwrap();
            });
            std::thread::spawn(move || {
                let began = Instant::now();
                while stalls.value() == 0 && began.elapsed() < Duration::from_secs(60) {
                    std::thread::sleep(Duration::from_millis(10));
                }
                assert!(stalls.value() > 0);
                counted.send(()).unwrap();
            });
            runtime.block_on(stuck).unwrap();
            drop(watching);
        }
    }
}
