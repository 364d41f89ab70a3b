//! The HTTP headers of MCP.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use hyper::{HeaderMap, header::HeaderValue};
use std::borrow::Cow;

pub(crate) const SESSION: &str = "mcp-session-id";
pub(crate) const VERSION: &str = "mcp-protocol-version";
pub(crate) const METHOD: &str = "mcp-method";
pub(crate) const NAME: &str = "mcp-name";
pub(crate) const LAST_EVENT: &str = "last-event-id";
/// Says that a replica of the gateway has sent the request on.
pub(crate) const SENT_ON: &str = "crossfeed-sent-on";
/// The name of the replica that answers, for other replicas.
pub(crate) const REPLICA: &str = "crossfeed-replica";

/// The single value of a header, without surrounding blanks.
///
/// # Errors
///
/// The header occurs twice or is not text: a proxy in between might read a different value.
pub(crate) fn only<'h>(headers: &'h HeaderMap, name: &str) -> Result<Option<&'h str>, String> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else {
        return Ok(None);
    };
    if values.next().is_some() {
        return Err(format!("the header {name} is there twice"));
    }
    let text = value.to_str();
    text.map(|text| Some(text.trim_matches([' ', '\t'])))
        .map_err(|_| format!("the header {name} is not text"))
}

/// Whether a header, such as `Content-Type`, names a media type, with any parameters.
pub(crate) fn is_media_type(header: Option<&HeaderValue>, media_type: &str) -> bool {
    let text = header.and_then(|header| header.to_str().ok());
    text.is_some_and(|text| without_parameters(text).eq_ignore_ascii_case(media_type))
}

/// A media type without its parameters.
pub(crate) fn without_parameters(media_type: &str) -> &str {
    media_type.split(';').next().unwrap_or_default().trim()
}

/// A value as a header carries it: as it is, or in Base64 where a header would change it or it looks encoded.
pub(crate) fn encoded(value: &str) -> Cow<'_, str> {
    let is_padded = value.starts_with([' ', '\t']) || value.ends_with([' ', '\t']);
    let is_printable = value.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    let is_marked = value.starts_with("=?base64?") && value.ends_with("?=");
    if is_printable && !is_padded && !is_marked {
        return Cow::Borrowed(value);
    }
    Cow::Owned(format!("=?base64?{}?=", BASE64_STANDARD.encode(value)))
}

/// The value that [`encoded`] wrote; none where it is not valid.
pub(crate) fn decoded(header: &str) -> Option<Cow<'_, str>> {
    let Some(text) = base64_of(header) else {
        return Some(Cow::Borrowed(header));
    };
    let bytes = BASE64_STANDARD.decode(text).ok()?;
    String::from_utf8(bytes).ok().map(Cow::Owned)
}

fn base64_of(header: &str) -> Option<&str> {
    header.strip_prefix("=?base64?")?.strip_suffix("?=")
}
