//! Runs asynchronous commands on the current thread.

use crate::report::{CommandError, Result};

/// Runs a command, or a step of one, to its end on this thread.
pub(crate) fn block_on<T>(command: impl Future<Output = Result<T>>) -> Result<T> {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .map_err(|error| CommandError::usage(format!("cannot start: {error}")))?
        .block_on(command)
}
