//! What a client sends, within a limit of bytes, a budget for all clients, and a limit of patience.

use super::PATIENCE;
use crate::budget::{Charge, Purpose};
use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use std::time::Duration;
use tokio::time::timeout;

/// How long a body may take in all.
const IN_ALL: Duration = Duration::from_secs(300);
/// What is held for a body at first, whatever it says of itself.
const AT_FIRST: usize = 64 << 10;

/// Why a body was not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BodyError {
    /// It is beyond the limit.
    TooLarge,
    /// There is no room for it beside what others have sent.
    NoRoom,
    /// Nothing came for too long.
    TooSlow,
    /// The client went away.
    Gone,
}

/// Reads a body.
pub(super) async fn read(body: Incoming, limit: usize, charge: Charge) -> Result<Bytes, BodyError> {
    timeout(IN_ALL, pieces(body, limit, charge))
        .await
        .unwrap_or(Err(BodyError::TooSlow))
}

async fn pieces(mut body: Incoming, limit: usize, mut charge: Charge) -> Result<Bytes, BodyError> {
    let said = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    if said > limit {
        return Err(BodyError::TooLarge);
    }
    // What is kept of a body is a copy: it shall not hold the connection's buffer.
    let mut whole = Vec::new();
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
        let length = whole.len() + data.len();
        if length > limit {
            return Err(BodyError::TooLarge);
        }
        if length > whole.capacity() {
            // What was said is not believed beyond what a client can make us hold for nothing.
            let room = match said >= length {
                true => said.min(AT_FIRST.max(whole.capacity() * 2)).max(length),
                false => limit.min(whole.capacity() * 2).max(length),
            };
            if !charge.more(room - whole.capacity(), Purpose::Request) {
                return Err(BodyError::NoRoom);
            }
            whole.reserve_exact(room - whole.len());
        }
        whole.extend_from_slice(&data);
    }
    Ok(charge.hold(whole))
}
