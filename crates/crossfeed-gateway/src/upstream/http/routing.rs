//! What a request without a session says in headers, so that what stands between can route it.
//!
//! What comes in: a message. What goes out: the revision it names, `Mcp-Method` and `Mcp-Name`. Deliberately
//! not here: headers for parameters of tools, which take the tool's schema ([`crate::tools`]).

use crate::{
    message::Message,
    protocol::{header, method},
};
use base64::{Engine, prelude::BASE64_STANDARD};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde::Deserialize;
use std::borrow::Cow;

pub(super) const PROTOCOL_VERSION: HeaderName = HeaderName::from_static(header::VERSION);
const METHOD: HeaderName = HeaderName::from_static(header::METHOD);
const NAME: HeaderName = HeaderName::from_static(header::NAME);

/// What is read of parameters.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Params {
    #[serde(rename = "_meta")]
    meta: Meta,
    name: Option<String>,
    uri: Option<String>,
    #[serde(rename = "taskId")]
    task_id: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Meta {
    #[serde(rename = "io.modelcontextprotocol/protocolVersion")]
    version: Option<String>,
}

/// The headers of a message that names its revision in `_meta`; none of one that does not.
pub(super) fn headers(message: &Message) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let (Some(method), Some(body)) = (message.method(), message.params()) else {
        return headers;
    };
    // What is not of this shape names no revision.
    let params: Params = serde_json::from_slice(&body).unwrap_or_default();
    let Some(version) = params.meta.version else {
        return headers;
    };
    put(&mut headers, PROTOCOL_VERSION, &version);
    put(&mut headers, METHOD, method);
    let name = match method {
        method::CALL_TOOL | method::GET_PROMPT => params.name,
        method::READ_RESOURCE | method::SUBSCRIBE | method::UNSUBSCRIBE => params.uri,
        method::GET_TASK | method::UPDATE_TASK | method::CANCEL_TASK => params.task_id,
        _ => None,
    };
    if let Some(name) = name {
        put(&mut headers, NAME, &encoded(&name));
    }
    headers
}

fn put(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}

/// A value as a header takes it: as it is, or wrapped where a header would change it or be misread.
fn encoded(value: &str) -> Cow<'_, str> {
    let is_padded = value.starts_with([' ', '\t']) || value.ends_with([' ', '\t']);
    let is_plain = value.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    let looks_wrapped = value.starts_with("=?base64?") && value.ends_with("?=");
    if is_plain && !is_padded && !looks_wrapped {
        return Cow::Borrowed(value);
    }
    Cow::Owned(format!("=?base64?{}?=", BASE64_STANDARD.encode(value)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Id;
    use bytes::Bytes;

    #[track_caller]
    fn check(method: &str, params: &str, expected: &str) {
        let params = format!(
            r#"{{"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","x":1}},{params}}}"#
        );
        let message = Message::request(&Id::number(1), method, Some(&Bytes::from(params)));
        let said: Vec<_> = headers(&message)
            .iter()
            .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()))
            .collect();
        let prefix = format!("mcp-protocol-version: 2026-07-28 mcp-method: {method}");
        assert_eq!(said.join(" "), format!("{prefix}{expected}"));
    }

    #[test]
    fn a_message_is_routed_by_what_it_names() {
        check("tools/list", r#""name":"n""#, "");
        check("tools/call", r#""name":"n""#, " mcp-name: n");
        check("tools/call", r#""arguments":{"name":"n"}"#, "");
        check("prompts/get", r#""name":"a b\"""#, " mcp-name: a b\"");
        check(
            "resources/read",
            r#""uri":"file:///a%20b","name":"n""#,
            " mcp-name: file:///a%20b",
        );
        check("tasks/get", r#""taskId":"t""#, " mcp-name: t");
        check(
            "tools/call",
            r#""name":"näh""#,
            " mcp-name: =?base64?bsOkaA==?=",
        );
        check("tools/call", r#""name":" a""#, " mcp-name: =?base64?IGE=?=");
        check(
            "tools/call",
            r#""name":"a\n""#,
            " mcp-name: =?base64?YQo=?=",
        );
        check(
            "tools/call",
            r#""name":"=?base64?YQ==?=""#,
            " mcp-name: =?base64?PT9iYXNlNjQ/WVE9PT89?=",
        );
    }

    #[test]
    fn a_message_of_a_session_is_not_routed() {
        for params in ["{}", "[]", "7", r#"{"_meta":{}}"#, r#"{"_meta":7}"#] {
            let message = Message::notification("m", Some(&Bytes::from(params)));
            assert!(headers(&message).is_empty());
        }
        assert!(headers(&Message::notification("m", None)).is_empty());
    }
}
