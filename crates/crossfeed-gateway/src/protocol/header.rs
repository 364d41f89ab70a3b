//! The HTTP headers of MCP.

use hyper::HeaderMap;

pub(crate) const SESSION: &str = "mcp-session-id";
pub(crate) const VERSION: &str = "mcp-protocol-version";
pub(crate) const METHOD: &str = "mcp-method";
pub(crate) const NAME: &str = "mcp-name";
pub(crate) const LAST_EVENT: &str = "last-event-id";

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
