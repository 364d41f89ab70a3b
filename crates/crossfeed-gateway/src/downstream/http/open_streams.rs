//! Streams of subscriptions without a session: they last until the client leaves or the gateway ends.

use super::stream::Stream;
use parking_lot::Mutex;
use std::sync::{Arc, Weak};

/// The streams that there are.
#[derive(Default)]
pub(super) struct OpenStreams(Mutex<Vec<Weak<Stream>>>);

impl OpenStreams {
    /// Remembers a stream while it is in use.
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
