//! Wakes those who wait for calls in flight: at once for what this process changes, else when it is time to ask what
//! others did.
//!
//! A thread keeps the time, and only while somebody waits: a runtime need not have timers, and there may be none.

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

    /// Returns after the next change, or after that time at the latest.
    pub(super) async fn changed(self: &Arc<Self>, most: Duration) {
        let mut change = pin!(self.waiting.notified());
        change.as_mut().enable();
        // The timer that is there, if any, ends only before it wakes all who wait.
        if !self.has_timer.swap(true, Ordering::SeqCst) && !self.start_timer(most) {
            return;
        }
        change.await;
    }

    fn start_timer(self: &Arc<Self>, time: Duration) -> bool {
        let changes = Arc::clone(self);
        let timer = thread::Builder::new().name("crossfeed-store".to_owned());
        let started = timer.spawn(move || {
            thread::sleep(time);
            changes.has_timer.store(false, Ordering::SeqCst);
            changes.notify();
        });
        if started.is_err() {
            self.has_timer.store(false, Ordering::SeqCst);
        }
        started.is_ok()
    }
}
