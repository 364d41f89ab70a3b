//! The errors for clients when a server does not answer: an error of the protocol, or the error result of a tool call,
//! which the model reads.

use crate::{message::RpcError, protocol::code, tools, upstream::UpstreamError};
use bytes::Bytes;
use crossfeed_wire::{ErrorBody, ErrorCode};
use serde_json::json;

/// What to do about a call that may have run, unless its tool says that it can be repeated.
const UNKNOWN_OUTCOME_ADVICE: &str =
    "find out whether the call took effect; do not make it again before you know";

/// The error of the protocol.
pub(super) fn rpc(server: &str, error: &UpstreamError) -> RpcError {
    RpcError::new(code::INTERNAL, format!("server `{server}`: {error}"))
        .with_data(json!({"code": error.code().as_str(), "server": server}))
}

/// The result of a tool call, with advice for the model.
pub(super) fn tool(
    server: &str,
    error: &UpstreamError,
    is_repeatable: bool,
    stateless: bool,
) -> Bytes {
    let code = error.code();
    let mut body = ErrorBody::new(code, format!("server `{server}`: {error}"));
    let advice = match code {
        ErrorCode::UpstreamUnavailable if matches!(error, UpstreamError::Refused(_)) => {
            "the call was not made: it can be made again once the gateway may use the server"
        }
        ErrorCode::UpstreamUnavailable => "the call was not made: it can be made again",
        ErrorCode::UpstreamOutcomeUnknown if is_repeatable => {
            "making the call again does no harm: the tool says that it can be repeated"
        }
        ErrorCode::UpstreamOutcomeUnknown => UNKNOWN_OUTCOME_ADVICE,
        _ => "",
    };
    body.advice = (!advice.is_empty()).then(|| advice.to_owned());
    tools::refused(body, stateless)
}

/// The result of a tool call whose replica is gone.
pub(super) fn lost(error: &RpcError, is_stateless: bool) -> Bytes {
    let mut body = ErrorBody::new(ErrorCode::UpstreamOutcomeUnknown, error.message.clone());
    body.advice = Some(UNKNOWN_OUTCOME_ADVICE.to_owned());
    tools::refused(body, is_stateless)
}

/// A client exceeds a limit.
pub(super) fn limit(what: &str) -> RpcError {
    RpcError::new(code::INTERNAL, what)
        .with_data(json!({"code": ErrorCode::LimitExceeded.as_str()}))
}
