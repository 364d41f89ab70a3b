//! Runs asynchronous commands on the current thread.

use crate::report::{CommandError, Result};

/// Runs a command to its end on this thread.
pub(crate) fn block_on(command: impl Future<Output = Result>) -> Result {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .map_err(|error| CommandError::usage(format!("cannot start: {error}")))?
        .block_on(command)
}
