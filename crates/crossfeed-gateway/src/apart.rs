//! Work that takes long: done off the threads that serve clients.

use bytes::Bytes;
use crossfeed_json::Document;
use std::time::Duration;

/// From how many bytes on work leaves these threads: up to it, reading takes well below a millisecond.
pub(crate) const LARGE: usize = 64 << 10;

/// Does work on so many bytes where it belongs.
pub(crate) async fn apart<T: Send + 'static>(
    bytes: usize,
    work: impl FnOnce() -> T + Send + 'static,
) -> T {
    if bytes <= LARGE {
        return work();
    }
    blocking(work).await
}

/// Does work off these threads. Waits forever where the runtime ends meanwhile, as the task that waits ends with it.
pub(crate) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(_) => std::future::pending().await,
    }
}

/// What is read of bytes, where that belongs.
pub(crate) async fn read_apart<T: Send + 'static>(
    bytes: &Bytes,
    read: impl FnOnce(&Bytes) -> T + Send + 'static,
) -> T {
    let own = bytes.clone();
    apart(own.len(), move || read(&own)).await
}

/// JSON whose index is there: making it takes long where the JSON is large.
pub(crate) async fn indexed(json: Bytes) -> Document {
    apart(json.len(), move || {
        let document = Document::new(json);
        // What is not valid JSON says so again when it is used.
        let _ = document.root();
        document
    })
    .await
}

/// The processor time that this thread has used: what others do on the machine does not count.
#[cfg(any(target_os = "linux", target_vendor = "apple"))]
pub(crate) fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    let nanos = u32::try_from(time.tv_nsec).unwrap_or_default();
    Duration::new(seconds, nanos)
}

/// The time since the first look at the clock.
#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
pub(crate) fn cpu_time() -> Duration {
    static FIRST: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    FIRST.get_or_init(std::time::Instant::now).elapsed()
}

/// What a future gives, and the processor time that this thread took meanwhile.
#[cfg(test)]
pub(crate) async fn timed<T>(work: impl Future<Output = T>) -> (T, Duration) {
    let began = cpu_time();
    let done = work.await;
    (done, cpu_time() - began)
}

/// JSON of many values, and the processor time that it takes to index them.
#[cfg(test)]
pub(crate) fn many_values() -> (String, Duration) {
    let json = format!("[{}1]", "1,".repeat(1 << 20));
    let began = cpu_time();
    assert!(Document::new(json.clone()).root().is_ok());
    (json, cpu_time() - began)
}
