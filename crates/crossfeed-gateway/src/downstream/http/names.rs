//! The headers of the protocol.

use hyper::HeaderMap;

pub(super) const SESSION: &str = "mcp-session-id";
pub(super) const VERSION: &str = "mcp-protocol-version";
pub(super) const METHOD: &str = "mcp-method";
pub(super) const NAME: &str = "mcp-name";
pub(super) const LAST_EVENT: &str = "last-event-id";

/// The code of an error of 2026-07-28.
pub(super) const HEADER_MISMATCH: i64 = -32020;

/// The one value of a header, without the blanks around it.
///
/// # Errors
///
/// What is wrong with it: it is there twice, or no text. Whoever stands between might read another one.
pub(super) fn only<'h>(headers: &'h HeaderMap, name: &str) -> Result<Option<&'h str>, String> {
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
