//! The headers by which proxies route a request without a session: its revision, `Mcp-Method` and `Mcp-Name`.
//!
//! Headers for parameters of tools need the tool's schema, and come from [`crate::tools`].

use crate::{
    message::{Message, Param},
    protocol::header::{self, encoded},
};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde::Deserialize;

pub(super) const PROTOCOL_VERSION: HeaderName = HeaderName::from_static(header::VERSION);
const METHOD: HeaderName = HeaderName::from_static(header::METHOD);
const NAME: HeaderName = HeaderName::from_static(header::NAME);

#[derive(Deserialize)]
struct Meta {
    #[serde(rename = "io.modelcontextprotocol/protocolVersion")]
    version: String,
}

/// The headers of a message that names its revision in `_meta`; else none.
pub(super) fn headers(message: &Message) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let meta = message.param(Param::Meta);
    let meta = meta.and_then(|meta| serde_json::from_slice(&meta).ok());
    let (Some(method), Some(Meta { version })) = (message.method(), meta) else {
        return headers;
    };
    put(&mut headers, PROTOCOL_VERSION, &version);
    put(&mut headers, METHOD, method);
    let name = Param::naming(method).and_then(|param| message.param(param));
    if let Some(name) = name.and_then(|name| serde_json::from_slice::<String>(&name).ok()) {
        put(&mut headers, NAME, &encoded(&name));
    }
    headers
}

fn put(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
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
