//! Bodies of requests and answers.
//!
//! What comes in: a message; an answer. What goes out: a body that shares the message's bytes and says when it
//! was written; the bytes of the answer within a limit. Deliberately not here: what they say.

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
    let said = response.content_length().unwrap_or(0);
    let too_large = UpstreamError::TooLarge { limit };
    let Ok(said) = usize::try_from(said) else {
        return Err(too_large);
    };
    if said > limit {
        return Err(too_large);
    }
    let mut first = Bytes::new();
    let mut all = BytesMut::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| cut(&error))? {
        if first.len() + all.len() + chunk.len() > limit {
            return Err(too_large);
        }
        // A short answer in one piece is not charged.
        let needed = if first.is_empty() && all.is_empty() && chunk.len() <= UNCHARGED {
            0
        } else {
            (first.len() + all.len() + chunk.len()).saturating_sub(charge.bytes())
        };
        if needed > 0 && !charge.more_in_time(needed, Purpose::Answer).await {
            return Err(UpstreamError::NoRoom);
        }
        if first.is_empty() && all.is_empty() {
            first = chunk;
            continue;
        }
        if all.is_empty() {
            // What a server says of its length is believed only so far as it costs nothing.
            all.reserve(said.min(1 << 20).max(first.len() + chunk.len()));
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
