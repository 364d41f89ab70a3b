//! Work that is done where it comes up if it need not wait, and by a task of its own if it must.
//!
//! What comes in: a future. What goes out: nothing; it runs to its end. Deliberately not here: what the
//! work is. A task costs a wake on another thread, which is most of what a gateway adds to a small call.

use crate::sync::spawn;
use std::{
    future::{Future, poll_fn},
    pin::Pin,
    task::Poll,
};
use tokio::task::AbortHandle;

/// Polls a future once, here and now, and leaves the rest to a task. Gives the task's handle if there
/// is a rest.
pub(super) async fn poll_then_spawn(
    mut work: Pin<Box<dyn Future<Output = ()> + Send>>,
) -> Option<AbortHandle> {
    let first = poll_fn(|context| Poll::Ready(work.as_mut().poll(context))).await;
    if first.is_ready() {
        return None;
    }
    spawn(work)
}
