//! Connections of clients: standard input and output, and streamable HTTP.

pub mod http;
pub mod stdio;

mod running;

#[cfg(test)]
mod fake;

use crate::{message::RpcError, protocol::code};
use std::time::Duration;

/// How long connections to servers may take to end when clients are gone.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(10);

/// Refuses a message beyond the limit.
fn too_large(limit: usize) -> RpcError {
    let message = format!("a message of more than {limit} bytes");
    RpcError::limit_exceeded(code::INVALID_REQUEST, message, Some(limit))
}
