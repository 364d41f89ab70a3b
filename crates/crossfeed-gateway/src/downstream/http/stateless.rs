//! 2026-07-28: requests whose headers repeat parts of the message.
//!
//! Proxies read the headers, and the server reads the message: a request whose headers and message differ is refused.

use crate::{
    Revision,
    apart::indexed,
    message::{Kind, Message, Param, RpcError},
    port::HubClient,
    protocol::{
        code,
        header::{self, decoded, only},
        meta::{CLIENT_CAPABILITIES, PROTOCOL_VERSION},
        method,
    },
};
use crossfeed_json::{Cursor, Document, Kind as Json};
use hyper::{HeaderMap, StatusCode};

/// Whether a message is of the era without sessions.
pub(super) async fn is_meant(headers: &HeaderMap, message: &Message) -> bool {
    let version = match only(headers, header::VERSION) {
        Ok(version) => version,
        // Refused, and so that the reason is seen.
        Err(_) => return true,
    };
    match version {
        Some(version) => is_stateless(version),
        None if headers.contains_key(header::SESSION) => false,
        None if message.method() == Some(method::DISCOVER) => true,
        None => message.kind() == Kind::Request && has_version(message).await,
    }
}

/// Versions that begin a session are known; whatever else is asked for is answered as today's clients want.
fn is_stateless(version: &str) -> bool {
    Revision::parse(version).is_none_or(Revision::is_stateless)
}

async fn has_version(message: &Message) -> bool {
    let Some(meta) = message.param(Param::Meta) else {
        return false;
    };
    let meta = indexed(meta).await;
    meta.root()
        .is_ok_and(|meta| meta.get(PROTOCOL_VERSION).is_some())
}

/// Checks that the headers say what the message says.
///
/// # Errors
///
/// What does not, as 2026-07-28 wants it said.
pub(super) async fn check(
    headers: &HeaderMap,
    message: &Message,
    client: &dyn HubClient,
) -> Result<(), RpcError> {
    if message.kind() == Kind::Request {
        check_request(headers, message, client).await
    } else {
        check_version(
            only(headers, header::VERSION)
                .map_err(mismatch)?
                .unwrap_or_default(),
        )
    }
}

async fn check_request(
    headers: &HeaderMap,
    message: &Message,
    client: &dyn HubClient,
) -> Result<(), RpcError> {
    let method = message.method().unwrap_or_default();
    let meta = indexed(message.param(Param::Meta).unwrap_or_default()).await;
    let member = |name| meta.root().ok()?.get(name);
    let version = member(PROTOCOL_VERSION).and_then(Cursor::as_str);
    let capabilities = member(CLIENT_CAPABILITIES).filter(|value| value.kind() == Json::Object);
    let (Some(version), Some(_)) = (&version, capabilities) else {
        let what = format!("`_meta` must have `{PROTOCOL_VERSION}` and `{CLIENT_CAPABILITIES}`");
        return Err(RpcError::new(code::INVALID_PARAMS, what));
    };
    agree(headers, header::VERSION, version)?;
    check_version(version)?;
    agree(headers, header::METHOD, method)?;
    let Some(param) = Param::naming(method) else {
        return Ok(());
    };
    let named = indexed(message.param(param).unwrap_or_default()).await;
    let name = named.root().ok().and_then(Cursor::as_str);
    if let Some(name) = &name {
        agree(headers, header::NAME, name)?;
    }
    if let (method::CALL_TOOL, Some(tool), Some(params)) = (method, name, message.params()) {
        for header in client.headers(&tool, &params).await? {
            let expected = decoded(&header.value).unwrap_or_default();
            agree(headers, &header.name, &expected)?;
        }
    }
    Ok(())
}

fn check_version(version: &str) -> Result<(), RpcError> {
    let known = Revision::parse(version).is_some_and(Revision::is_stateless);
    if known {
        return Ok(());
    }
    let why = "unsupported protocol version";
    Err(RpcError::unsupported_revision(
        why,
        Revision::in_era(true),
        version,
    ))
}

/// Whether a header is there and says that.
fn agree(headers: &HeaderMap, name: &str, expected: &str) -> Result<(), RpcError> {
    let Some(value) = only(headers, name).map_err(mismatch)? else {
        return Err(mismatch(format!("the header {name} is missing")));
    };
    let Some(value) = decoded(value) else {
        return Err(mismatch(format!("the header {name} is not valid base64")));
    };
    if value == expected {
        return Ok(());
    }
    Err(mismatch(format!(
        "the header {name} is not what the message says"
    )))
}

fn mismatch(what: String) -> RpcError {
    RpcError::new(code::HEADER_MISMATCH, what)
}

/// The status of an answer.
pub(super) fn status(answer: &Message) -> StatusCode {
    let Some(error) = answer.error() else {
        return StatusCode::OK;
    };
    let document = Document::new(error);
    let code = document.root().ok().and_then(|error| {
        let code = error.get("code")?;
        std::str::from_utf8(code.raw()).ok()?.parse::<i64>().ok()
    });
    match code {
        Some(code::HEADER_MISMATCH | code::MISSING_CAPABILITY | code::UNSUPPORTED_REVISION) => {
            StatusCode::BAD_REQUEST
        }
        Some(code::METHOD_NOT_FOUND) => StatusCode::NOT_FOUND,
        _ => StatusCode::OK,
    }
}
