//! Streams of subscriptions without a session: nothing but the end of the gateway ends them.
//!
//! What comes in: streams. What goes out: their end, all at once. Deliberately not here: what is told on them.

use super::stream::Stream;
use parking_lot::Mutex;
use std::sync::{Arc, Weak};

/// The streams that there are.
#[derive(Default)]
pub(super) struct Listens(Mutex<Vec<Weak<Stream>>>);

impl Listens {
    /// Keeps one in mind for as long as somebody has it.
    pub(super) fn add(&self, stream: &Arc<Stream>) {
        let mut all = self.0.lock();
        all.retain(|stream| stream.strong_count() > 0);
        all.push(Arc::downgrade(stream));
    }

    /// Ends them.
    pub(super) fn end(&self) {
        let all = std::mem::take(&mut *self.0.lock());
        for stream in all.iter().filter_map(Weak::upgrade) {
            stream.finish();
        }
    }
}
