//! Runs work at once if it need not wait, and in a task if it must: a task costs a wake on another thread, which is
//! most of what a gateway adds to a small call.

use crate::sync::spawn;
use std::{
    future::{Future, poll_fn},
    pin::Pin,
    task::Poll,
};
use tokio::task::AbortHandle;

/// Polls a future once, and leaves the rest, if any, to a task. Returns the task's handle.
pub(super) async fn poll_then_spawn(
    mut work: Pin<Box<dyn Future<Output = ()> + Send>>,
) -> Option<AbortHandle> {
    let first = poll_fn(|context| Poll::Ready(work.as_mut().poll(context))).await;
    if first.is_ready() {
        return None;
    }
    spawn(work)
}
