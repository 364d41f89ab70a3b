//! Wakes those who wait for calls in flight: at once for what this process changes, else after a while.

use std::{
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};
use tokio::sync::Notify;

/// What other processes change is only found by asking, so whoever waits is also woken after this time. A thread
/// keeps the time, and only while somebody waits: a runtime need not have timers, and there may be none.
pub(super) const POLL_INTERVAL: Duration = Duration::from_millis(250);

#[derive(Default)]
pub(super) struct Changes {
    waiting: Notify,
    has_timer: AtomicBool,
}

impl Changes {
    /// Wakes all who wait.
    pub(super) fn notify(&self) {
        self.waiting.notify_waiters();
    }

    /// Returns after the next change, or when it is time to ask.
    pub(super) async fn changed(self: &Arc<Self>) {
        let mut change = pin!(self.waiting.notified());
        change.as_mut().enable();
        // The timer that is there, if any, ends only before it wakes all who wait.
        if !self.has_timer.swap(true, Ordering::SeqCst) && !self.start_timer() {
            return;
        }
        change.await;
    }

    fn start_timer(self: &Arc<Self>) -> bool {
        let changes = Arc::clone(self);
        let timer = thread::Builder::new().name("crossfeed-store".to_owned());
        let started = timer.spawn(move || {
            thread::sleep(POLL_INTERVAL);
            changes.has_timer.store(false, Ordering::SeqCst);
            changes.notify();
        });
        if started.is_err() {
            self.has_timer.store(false, Ordering::SeqCst);
        }
        started.is_ok()
    }
}
