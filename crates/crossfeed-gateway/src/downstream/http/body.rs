//! Reads the body of a request, within a limit of bytes, a budget for all clients, and limits of time.

use super::HEADER_TIMEOUT;
use crate::budget::{Charge, Purpose};
use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::Body;
use std::time::Duration;
use tokio::time::{Instant, timeout, timeout_at};

/// How long a body may take in all.
const BODY_TIMEOUT: Duration = Duration::from_secs(300);
/// How fast a body must come on average, in bytes a second, from this time on: a slow one holds a connection for
/// nothing.
const MIN_BYTES_PER_SECOND: usize = 1 << 10;
const MIN_RATE_AFTER: Duration = Duration::from_secs(10);
/// What is held for a body at first, whatever it says of itself.
const FIRST_CHARGE_BYTES: usize = 64 << 10;

/// Why a body was not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BodyError {
    /// It is beyond the limit.
    TooLarge,
    /// The memory budget has no room for it.
    NoRoom,
    /// Nothing, or too little, came for too long.
    TooSlow,
    /// The client went away.
    Gone,
}

/// Reads a body. One for which there is no room is read to its end all the same, and not kept: a client that is cut
/// off while it sends reads no refusal, and loses what it asks next on the connection.
pub(super) async fn read(
    body: impl Body<Data = Bytes> + Unpin,
    limit: usize,
    charge: Charge,
) -> Result<Bytes, BodyError> {
    timeout(BODY_TIMEOUT, pieces(body, limit, charge))
        .await
        .unwrap_or(Err(BodyError::TooSlow))
}

async fn pieces(
    mut body: impl Body<Data = Bytes> + Unpin,
    limit: usize,
    mut charge: Charge,
) -> Result<Bytes, BodyError> {
    let began = Instant::now();
    let said = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    if said > limit {
        return Err(BodyError::TooLarge);
    }
    // The body is a copy: it must not hold the connection's buffer.
    let mut whole = Vec::new();
    let mut length = 0;
    let mut has_room = true;
    loop {
        let seconds = u64::try_from(length / MIN_BYTES_PER_SECOND).unwrap_or(u64::MAX);
        let slowest = began + MIN_RATE_AFTER.max(Duration::from_secs(seconds).min(BODY_TIMEOUT));
        let deadline = slowest.min(Instant::now() + HEADER_TIMEOUT);
        let frame = match timeout_at(deadline, body.frame()).await {
            Err(_) => return Err(BodyError::TooSlow),
            Ok(None) => break,
            Ok(Some(Err(_))) => return Err(BodyError::Gone),
            Ok(Some(Ok(frame))) => frame,
        };
        let Ok(data) = frame.into_data() else {
            continue;
        };
        length += data.len();
        if length > limit {
            return Err(BodyError::TooLarge);
        }
        if !has_room {
            continue;
        }
        if length > whole.capacity() {
            // The announced length is trusted only as far as it costs little memory.
            let room = if said >= length {
                said.min(FIRST_CHARGE_BYTES.max(whole.capacity() * 2))
                    .max(length)
            } else {
                limit.min(whole.capacity() * 2).max(length)
            };
            if !charge.more(room - whole.capacity(), Purpose::Request) {
                has_room = false;
                whole = Vec::new();
                charge.keep(0);
                continue;
            }
            whole.reserve_exact(room - whole.len());
        }
        whole.extend_from_slice(&data);
    }
    if has_room {
        Ok(charge.hold(whole))
    } else {
        Err(BodyError::NoRoom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        budget::{Account, Budget},
        metrics::Metrics,
        principal::Principal,
    };
    use futures_util::stream;
    use http_body_util::StreamBody;
    use hyper::body::Frame;
    use std::{convert::Infallible, pin::Pin};

    /// What is read of pieces of so many bytes, each so long after the one before, and when.
    async fn check(
        pieces: usize,
        bytes: usize,
        apart: Duration,
    ) -> (Result<usize, BodyError>, u64) {
        let pieces = stream::unfold(0, move |at| async move {
            tokio::time::sleep(apart).await;
            let piece = Ok::<_, Infallible>(Frame::data(Bytes::from(vec![b' '; bytes])));
            (at < pieces).then_some((piece, at + 1))
        });
        let body: Pin<Box<dyn Body<Data = Bytes, Error = Infallible> + Send>> =
            Box::pin(StreamBody::new(pieces));
        let began = Instant::now();
        let read = read(body, 1 << 20, Account::unlimited().nothing())
            .await
            .map(|bytes| bytes.len());
        (read, began.elapsed().as_secs())
    }

    #[tokio::test]
    async fn a_body_without_room_is_read_to_its_end_and_not_kept() {
        let budget = Budget::new(100 << 10, 0, 0, &Metrics::new());
        let account = budget.account(&Principal::Anonymous);
        let left = std::sync::atomic::AtomicUsize::new(4);
        let pieces = stream::unfold((), |()| async {
            // Of a body that is not kept, nothing is held.
            assert!(budget.held() < 100 << 10);
            let piece = Ok::<_, Infallible>(Frame::data(Bytes::from(vec![b' '; 60 << 10])));
            let before = left.load(std::sync::atomic::Ordering::Relaxed);
            left.store(before.checked_sub(1)?, std::sync::atomic::Ordering::Relaxed);
            Some((piece, ()))
        });
        let body = StreamBody::new(Box::pin(pieces));
        let read = read(body, 1 << 20, account.nothing()).await;
        assert_eq!(read, Err(BodyError::NoRoom));
        assert_eq!(left.into_inner(), 0);
        assert_eq!(budget.held(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_drips_is_given_up() {
        let seconds = Duration::from_secs;
        assert_eq!(
            check(1000, 1, seconds(8)).await,
            (Err(BodyError::TooSlow), 10)
        );
        // As many as it may take for what came before, and no more.
        assert_eq!(
            check(4, 12 << 10, seconds(9)).await,
            (Err(BodyError::TooSlow), 12)
        );
        assert_eq!(check(4, 20 << 10, seconds(9)).await, (Ok(80 << 10), 45));
        assert_eq!(check(9, 1, Duration::from_millis(900)).await, (Ok(9), 9));
        assert_eq!(
            check(2, 200 << 10, seconds(31)).await,
            (Err(BodyError::TooSlow), 10)
        );
    }
}
