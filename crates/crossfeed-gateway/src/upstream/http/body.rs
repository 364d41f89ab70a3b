//! Bodies of requests and answers: a request shares the bytes of its message, and an answer is read within a limit.

use crate::{
    budget::{Account, Purpose, UNCHARGED},
    message::Message,
    upstream::UpstreamError,
};
use bytes::{Bytes, BytesMut};
use hyper::body::{Body, Frame, SizeHint};
use std::{
    collections::VecDeque,
    convert::Infallible,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};
use tokio::sync::Notify;

/// Up to here a body is one piece: to copy it is cheaper than to write pieces.
const MAX_COPIED_BYTES: usize = 16 << 10;

/// A message on its way.
pub(super) struct Outgoing {
    pieces: VecDeque<Bytes>,
    left: u64,
    sent: Arc<Notify>,
}

impl Outgoing {
    /// The body, which tells `sent` when it was written or given up.
    pub(super) fn body(message: &Message, sent: &Arc<Notify>) -> reqwest::Body {
        let length = message.len();
        let pieces = if length <= MAX_COPIED_BYTES {
            VecDeque::from([message.to_bytes()])
        } else {
            message.pieces().collect()
        };
        reqwest::Body::wrap(Self {
            pieces,
            left: length as u64,
            sent: Arc::clone(sent),
        })
    }
}

impl Body for Outgoing {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let piece = self.pieces.pop_front();
        self.left -= piece.as_ref().map_or(0, |piece| piece.len() as u64);
        Poll::Ready(piece.map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.pieces.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}

impl Drop for Outgoing {
    fn drop(&mut self) {
        self.sent.notify_one();
    }
}

/// The body of an answer, which may have `limit` bytes, charged to `account`.
pub(in crate::upstream) async fn whole(
    mut response: reqwest::Response,
    limit: usize,
    account: &Arc<Account>,
) -> Result<Bytes, UpstreamError> {
    let mut charge = account.nothing();
    let announced = response.content_length().unwrap_or(0);
    let announced = usize::try_from(announced).unwrap_or(usize::MAX);
    let too_large = UpstreamError::TooLarge { limit };
    if announced > limit {
        return Err(too_large);
    }
    let mut first = Bytes::new();
    let mut all = BytesMut::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| cut(&error))? {
        let length = first.len() + all.len() + chunk.len();
        if length > limit {
            return Err(too_large);
        }
        // A short answer in one piece is not charged.
        let is_short = length == chunk.len() && length <= UNCHARGED;
        let needed = if is_short {
            0
        } else {
            length.saturating_sub(charge.bytes())
        };
        if needed > 0 && !charge.more_in_time(needed, Purpose::Answer).await {
            return Err(UpstreamError::NoRoom);
        }
        if length == chunk.len() {
            first = chunk;
            continue;
        }
        if all.is_empty() {
            // The announced length may be wrong: only so much is reserved as costs little.
            all.reserve(announced.min(1 << 20).max(length));
            all.extend_from_slice(&std::mem::take(&mut first));
        }
        all.extend_from_slice(&chunk);
    }
    let whole = if all.is_empty() { first } else { all.freeze() };
    Ok(charge.hold(whole))
}

fn cut(error: &reqwest::Error) -> UpstreamError {
    UpstreamError::Unreachable(format!(
        "its answer was cut off: {}",
        super::wire::cause(error)
    ))
}
