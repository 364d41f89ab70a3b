//! Keeps what waits for the disk away from async threads.

use crate::fault;
use crossfeed_store::StoreError;

/// Runs what waits for the disk: where blocking is allowed, else here.
pub(crate) async fn run<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    let Ok(runtime) = tokio::runtime::Handle::try_current() else {
        return work();
    };
    match runtime.spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The runtime has shut down and begins nothing more.
            Err(error) => Err(fault::unavailable(error)),
        },
    }
}
