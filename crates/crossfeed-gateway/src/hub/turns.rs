//! Shares fetches among the requests that wait for them: one fetch runs, and at most one more waits, however many requests
//! need it and however often a server's lists change.

use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::{Mutex, MutexGuard};

/// The fetches of one kind of lists.
#[derive(Default)]
pub(super) struct Turns {
    begun: AtomicU64,
    /// The last fetch that succeeded.
    succeeded: Mutex<u64>,
}

impl Turns {
    /// Fetches once no other fetch runs. `None` if that is not needed by then: because `is_needed` says so, or because
    /// one that began after this call has succeeded.
    pub(super) async fn take<T, E>(
        &self,
        is_needed: impl Fn() -> bool,
        fetch: impl Future<Output = Result<T, E>>,
    ) -> Option<Result<T, E>> {
        let before = self.begun.load(Ordering::Relaxed);
        let succeeded = self.succeeded.lock().await;
        if *succeeded > before || !is_needed() {
            return None;
        }
        Some(self.fetched(succeeded, fetch).await)
    }

    /// Fetches once no other fetch runs, for a request that cannot use what others fetch.
    pub(super) async fn take_own<T, E>(
        &self,
        fetch: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E> {
        self.fetched(self.succeeded.lock().await, fetch).await
    }

    async fn fetched<T, E>(
        &self,
        mut succeeded: MutexGuard<'_, u64>,
        fetch: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E> {
        let number = self.begun.fetch_add(1, Ordering::Relaxed) + 1;
        let fetched = fetch.await;
        if fetched.is_ok() {
            *succeeded = number;
        }
        fetched
    }
}

#[cfg(test)]
mod tests {
    use super::Turns;
    use futures_util::future::join_all;
    use std::{cell::Cell, convert::Infallible, time::Duration};

    /// How many fetches run for so many that need one, of which the first begins alone.
    async fn check(waiting: u32, is_needed: bool, outcome: Result<(), ()>, expected: u32) {
        let turns = Turns::default();
        let fetches = Cell::new(0);
        let fetch = || async {
            fetches.set(fetches.get() + 1);
            tokio::time::sleep(Duration::from_secs(1)).await;
            outcome
        };
        let later = async {
            tokio::time::sleep(Duration::from_millis(500)).await;
            join_all((0..waiting).map(|_| turns.take(|| is_needed, fetch()))).await
        };
        tokio::join!(turns.take(|| true, fetch()), later);
        assert_eq!(fetches.get(), expected);
    }

    #[tokio::test(start_paused = true)]
    async fn all_who_wait_share_the_next_fetch() {
        check(0, true, Ok(()), 1).await;
        check(1, true, Ok(()), 2).await;
        check(1000, true, Ok(()), 2).await;
        check(1000, false, Ok(()), 1).await;
        // Each hears of its own failure.
        check(3, true, Err(()), 4).await;
    }

    #[tokio::test]
    async fn what_was_not_needed_is_shared_by_nobody() {
        let turns = Turns::default();
        let fetch = || async { Ok::<_, Infallible>(()) };
        assert!(turns.take(|| false, fetch()).await.is_none());
        assert!(turns.take(|| true, fetch()).await.is_some());
        assert!(turns.take(|| true, fetch()).await.is_some());
    }
}
