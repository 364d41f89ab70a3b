//! What clients are told where a server does not answer.
//!
//! What comes in: why it does not. What goes out: an error of the protocol, or, for calls of tools, a
//! result that is an error, so that the model reads it. Deliberately not here: when that is.

use crate::{
    message::{RpcError, code},
    upstream::UpstreamError,
};
use bytes::Bytes;
use serde_json::json;

/// An error of the protocol that says which server does not answer, and why.
pub(super) fn rpc(server: &str, error: &UpstreamError) -> RpcError {
    RpcError::new(code::INTERNAL, format!("server `{server}`: {error}"))
        .with_data(json!({"code": error.code().as_str(), "server": server}))
}

/// A result that says the same to the model.
pub(super) fn tool(server: &str, error: &UpstreamError, stateless: bool) -> Bytes {
    let mut result = json!({
        "content": [{
            "type": "text",
            "text": format!("{}: server `{server}`: {error}", error.code().as_str()),
        }],
        "isError": true,
    });
    if let (true, Some(members)) = (stateless, result.as_object_mut()) {
        members.insert("resultType".to_owned(), json!("complete"));
    }
    result.to_string().into()
}

/// A client asks for more than it may.
pub(super) fn limit(what: &str) -> RpcError {
    RpcError::new(code::INTERNAL, what)
        .with_data(json!({"code": crossfeed_wire::ErrorCode::LimitExceeded.as_str()}))
}
