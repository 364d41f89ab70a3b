//! Connections of clients: standard input and output, and streamable HTTP.
//!
//! What comes in: bytes of clients. What goes out: messages for the hub, in order, and the hub's messages
//! as bytes; errors for what is not a message. Deliberately not here: what messages mean.

pub mod http;
pub mod stdio;

mod running;

#[cfg(test)]
mod fake;

use crate::{message::RpcError, protocol::code};
use crossfeed_wire::ErrorCode;
use serde_json::json;
use std::time::Duration;

/// How long connections to servers may take to end when clients are gone.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(10);

/// What is said of a message beyond the limit.
fn too_large(limit: usize) -> RpcError {
    let message = format!("a message of more than {limit} bytes");
    let data = json!({"code": ErrorCode::LimitExceeded.as_str(), "limit": limit});
    RpcError::new(code::INVALID_REQUEST, message).with_data(data)
}
