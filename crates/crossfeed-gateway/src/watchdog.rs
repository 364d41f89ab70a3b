//! A watch over the threads that serve clients: whoever holds one up holds up everybody on it.
//!
//! What comes in: when threads park and unpark, and how busy the runtime says that they were. What goes
//! out: figures and lines in the log. Deliberately not here: who held a thread up.
//!
//! A thread that neither parks nor gets through a round of tasks is stuck. A thread that parks or unparks
//! writes down when, which is all that serving clients pays; a thread of the watch's own looks.

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

/// From when on a thread is stuck.
const STUCK_AFTER: Duration = Duration::from_millis(100);
/// How often it is looked.
const CHECK_INTERVAL: Duration = Duration::from_millis(50);
/// How often the log says so, at most.
const LOG_INTERVAL: Duration = Duration::from_secs(10);
/// What stands for a thread that is parked.
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

    /// How many of so many are parked, or were a moment ago. Who never parked has only just begun.
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
    /// A watch that is counted here.
    #[must_use]
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

    /// Has the threads of a runtime that is to be built say when they park.
    pub fn attach(&self, builder: &mut Builder) {
        let (parks, unparks) = (Arc::clone(&self.threads), Arc::clone(&self.threads));
        builder.on_thread_park(move || parks.note(true));
        builder.on_thread_unpark(move || unparks.note(false));
    }

    /// Watches the runtime that was built, until the guard is dropped.
    ///
    /// # Errors
    ///
    /// There is no thread to be had.
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
                // Where this thread gets no processor either, nobody in here holds up the others.
                let is_starved = now - before > CHECK_INTERVAL * 2;
                before = now;
                if is_starved {
                    record.forgive(now);
                    continue;
                }
                let busy = |worker| metrics.worker_total_busy_duration(worker);
                let ended = record.look(now, busy, self.threads.rested(now, workers));
                self.tell(&mut record, now, &ended);
            }
        })?;
        Ok(Watching(Some((stop, thread))))
    }

    fn tell(&self, record: &mut Record, now: Duration, ended: &[Duration]) {
        for seconds in ended {
            self.seconds.took(*seconds);
        }
        let begun = std::mem::take(&mut record.begun);
        self.stalls.add(begun);
        record.untold += begun;
        let may_log = record.told.is_none_or(|told| now - told >= LOG_INTERVAL);
        if record.untold > 0 && may_log {
            record.told = Some(now);
            tracing::warn!(
                target: "crossfeed::gateway",
                stalls = std::mem::take(&mut record.untold),
                "a thread that serves clients is stuck for more than {} ms",
                STUCK_AFTER.as_millis()
            );
        }
    }
}

/// What was seen of the threads so far.
struct Record {
    /// Of each, how busy it was when that last changed, and when that was seen.
    busy: Vec<(Duration, Duration)>,
    /// When those began to be stuck that are.
    stuck: Vec<Duration>,
    /// How many began since that was counted, and since it was said.
    begun: usize,
    untold: usize,
    told: Option<Duration>,
}

impl Record {
    fn new(workers: usize) -> Self {
        Self {
            busy: vec![(Duration::ZERO, Duration::ZERO); workers],
            stuck: Vec::new(),
            begun: 0,
            untold: 0,
            told: None,
        }
    }

    /// Counts the time so far for nobody who is not stuck yet.
    fn forgive(&mut self, now: Duration) {
        for (_, since) in &mut self.busy {
            *since = now;
        }
    }

    /// Looks at all threads, of which so many rested a moment ago; and gives how long those were stuck
    /// that are no longer.
    fn look(
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
        // Which thread is which worker is not known, but those that rested are among the quiet.
        let stuck = quiet.saturating_sub(rested);
        let mut ended = Vec::new();
        while self.stuck.len() > stuck {
            let since = self.stuck.remove(0);
            ended.push(now.saturating_sub(since));
        }
        while self.stuck.len() < stuck {
            self.stuck.push(now.saturating_sub(STUCK_AFTER));
            self.begun += 1;
        }
        ended
    }
}

/// Ends the watch when it is dropped.
pub struct Watching(Option<(Sender<()>, JoinHandle<()>)>);

impl Drop for Watching {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.0.take() {
            drop(stop);
            // A watch that panicked has said so.
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
            let ended_now = record.look(ms(now), |worker| ms(busy[worker]), rested);
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
