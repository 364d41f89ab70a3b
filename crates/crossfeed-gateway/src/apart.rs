//! Work that takes long: done off the threads that serve clients.

/// From how many bytes on work leaves these threads: up to it, reading takes well below a millisecond.
pub(crate) const LARGE: usize = 64 << 10;

/// Does work on so many bytes where it belongs. Waits for ever where the runtime ends meanwhile, as
/// whoever waits ends with it.
pub(crate) async fn apart<T: Send + 'static>(
    bytes: usize,
    work: impl FnOnce() -> T + Send + 'static,
) -> T {
    if bytes <= LARGE {
        return work();
    }
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(_) => std::future::pending().await,
    }
}
