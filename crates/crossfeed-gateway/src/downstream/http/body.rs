//! What a client sends, within a limit of bytes and of patience.

use super::PATIENCE;
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use std::time::Duration;
use tokio::time::timeout;

/// How long a body may take in all.
const IN_ALL: Duration = Duration::from_secs(300);

/// Why a body was not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BodyError {
    /// It is beyond the limit.
    TooLarge,
    /// Nothing came for too long.
    TooSlow,
    /// The client went away.
    Gone,
}

/// Reads a body.
pub(super) async fn read(body: Incoming, limit: usize) -> Result<Bytes, BodyError> {
    timeout(IN_ALL, pieces(body, limit))
        .await
        .unwrap_or(Err(BodyError::TooSlow))
}

async fn pieces(mut body: Incoming, limit: usize) -> Result<Bytes, BodyError> {
    let said = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    if said > limit {
        return Err(BodyError::TooLarge);
    }
    let mut first = Bytes::new();
    let mut whole = BytesMut::new();
    loop {
        let frame = match timeout(PATIENCE, body.frame()).await {
            Err(_) => return Err(BodyError::TooSlow),
            Ok(None) => break,
            Ok(Some(Err(_))) => return Err(BodyError::Gone),
            Ok(Some(Ok(frame))) => frame,
        };
        let Ok(data) = frame.into_data() else {
            continue;
        };
        if first.len() + whole.len() + data.len() > limit {
            return Err(BodyError::TooLarge);
        }
        if whole.is_empty() && first.is_empty() {
            first = data;
            continue;
        }
        if whole.is_empty() {
            // What was said is not believed beyond what a client can make us hold for nothing.
            whole.reserve(said.min(1 << 20).max(first.len() + data.len()));
            whole.extend_from_slice(&first);
            first.clear();
        }
        whole.extend_from_slice(&data);
    }
    Ok(if whole.is_empty() {
        // A copy: what is kept of a small body shall not hold the connection's buffer.
        Bytes::copy_from_slice(&first)
    } else {
        whole.freeze()
    })
}
