//! The gateway's own tools.
//!
//! What comes in: which of them are offered, and calls of them. What goes out: how they are listed, and
//! answers. Deliberately not here: tools of servers.

use super::{client::Shared, refusal};
use crate::config::ExtraTools;
use bytes::Bytes;
use crossfeed_json::Cursor;
use crossfeed_schema::{INSPECTOR, inspector};
use serde_json::{Value, json};

/// Looks into what a tool returns.
pub(super) const INSPECT: &str = INSPECTOR;
/// Brings a stored result into the context, or a part of it.
pub(super) const READ: &str = "read_result";
/// Lists the stored results.
pub(super) const LIST: &str = "list_results";

/// Their names, the inspector's first. Results are listed only to who cannot see those of others.
pub(super) fn offered(tools: ExtraTools, may_list: bool) -> Vec<&'static str> {
    let all = [
        (INSPECT, tools.inspect),
        (READ, tools.read),
        (LIST, tools.list && may_list),
    ];
    let offered = all.into_iter().filter(|(_, offered)| *offered);
    offered.map(|(name, _)| name).collect()
}

/// How one of them is listed.
pub(super) fn definition(name: &str) -> Value {
    let mut tool = match name {
        READ => read_result(),
        LIST => list_results(),
        _ => inspector(),
    };
    if let Some(tool) = tool.as_object_mut() {
        let hints = json!({"readOnlyHint": true, "idempotentHint": true, "openWorldHint": false});
        tool.insert("annotations".to_owned(), hints);
    }
    tool
}

/// What is told of them once.
pub(super) fn guidance(offered: &[&str]) -> Option<String> {
    offered.contains(&READ).then(|| {
        format!("A result that was too long is shown as a preview, marked by `_crossfeedPreview`: refer to it to pass it on, or read more of it with `{READ}`.")
    })
}

/// The answer to a call of one of them.
pub(super) async fn answer(shared: &Shared, name: &str, arguments: Option<Cursor<'_>>) -> Bytes {
    let _ = arguments;
    refusal::result(name, None, true, shared.privacy())
}

fn read_result() -> Value {
    json!({
        "name": READ,
        "description": "Reads a stored tool result by its `_toolCallId`: all of it, what `select` picks, or only some `fields`. What is longer than `max_tokens` is given page by page. To pass data on to another tool, refer to it instead: then it need not be read.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "call_id": {"type": "string", "description": "the `_toolCallId` of the result"},
                "select": {"type": "string", "description": "a JMESPath expression, e.g. `items[?score > `0.8`].url`"},
                "fields": {
                    "type": "array",
                    "items": {"type": "string"},
                    "description": "paths to keep, such as `items[].title`",
                },
                "offset": {"type": "integer", "minimum": 0, "default": 0, "description": "where to go on: `next_offset` of the answer before"},
                "max_tokens": {"type": "integer", "minimum": 50, "default": 2000},
            },
            "required": ["call_id"],
            "additionalProperties": false,
        },
    })
}

fn list_results() -> Value {
    json!({
        "name": LIST,
        "description": "Lists the stored tool results that can be referred to or read, the latest first.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "offset": {"type": "integer", "minimum": 0, "default": 0},
                "limit": {"type": "integer", "minimum": 1, "maximum": 100, "default": 20},
            },
            "additionalProperties": false,
        },
    })
}
