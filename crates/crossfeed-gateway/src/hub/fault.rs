//! What clients are told where a server does not answer.
//!
//! What comes in: why it does not. What goes out: an error of the protocol, or, for calls of tools, a
//! result that is an error, so that the model reads it. Deliberately not here: when that is.

use crate::{message::RpcError, protocol::code, tools, upstream::UpstreamError};
use bytes::Bytes;
use crossfeed_wire::{ErrorBody, ErrorCode};
use serde_json::json;

/// An error of the protocol that says which server does not answer, and why.
pub(super) fn rpc(server: &str, error: &UpstreamError) -> RpcError {
    RpcError::new(code::INTERNAL, format!("server `{server}`: {error}"))
        .with_data(json!({"code": error.code().as_str(), "server": server}))
}

/// A result that says the same to the model, and what it can do.
pub(super) fn tool(
    server: &str,
    error: &UpstreamError,
    is_repeatable: bool,
    stateless: bool,
) -> Bytes {
    let code = error.code();
    let mut body = ErrorBody::new(code, format!("server `{server}`: {error}"));
    body.advice = match code {
        ErrorCode::UpstreamUnavailable if matches!(error, UpstreamError::Refused(_)) => {
            Some("the call was not made: it can be made again once the gateway may use the server")
        }
        ErrorCode::UpstreamUnavailable => Some("the call was not made: it can be made again"),
        ErrorCode::UpstreamOutcomeUnknown if is_repeatable => {
            Some("making the call again does no harm: the tool says that it can be repeated")
        }
        ErrorCode::UpstreamOutcomeUnknown => {
            Some("find out whether the call took effect; do not make it again before you know")
        }
        _ => None,
    }
    .map(str::to_owned);
    tools::refused(body, stateless)
}

/// A client asks for more than it may.
pub(super) fn limit(what: &str) -> RpcError {
    RpcError::new(code::INTERNAL, what)
        .with_data(json!({"code": ErrorCode::LimitExceeded.as_str()}))
}
