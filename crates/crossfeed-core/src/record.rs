//! Recording: what a tool returned, on its way into the store.
//!
//! Recording never fails on content; what the content means is found out when it is first referred to.

use bytes::Bytes;
use crossfeed_json::is_deeper;
use crossfeed_json::{Document, quoted};
use crossfeed_store::{ResultKind, StoredResult};
use crossfeed_wire::TraceContext;
use serde_json::Value;
use std::sync::Arc;

/// What a tool returned, to be recorded.
///
/// ```
/// use crossfeed_core::ToolResult;
/// use serde_json::json;
///
/// let result = ToolResult::json(r#"{"total": 1.50}"#).with_tool("search");
/// let failed = ToolResult::text("no such table").failed();
/// let value = ToolResult::value(&json!({"total": 1.5}));
/// ```
#[derive(Debug)]
pub struct ToolResult(StoredResult);

impl ToolResult {
    fn new(bytes: impl Into<Bytes>, kind: ResultKind) -> Self {
        Self(StoredResult::new(Document::new(bytes), kind))
    }

    /// Bytes of undeclared kind: a tool result of MCP if it looks like one and like nothing else,
    /// else JSON, else text.
    #[must_use]
    pub fn undeclared(bytes: impl Into<Bytes>) -> Self {
        Self::new(bytes, ResultKind::Undeclared)
    }

    /// JSON. What turns out to be none is text.
    #[must_use]
    pub fn json(bytes: impl Into<Bytes>) -> Self {
        Self::new(bytes, ResultKind::Json)
    }

    /// A tool result of MCP, as JSON.
    #[must_use]
    pub fn mcp(bytes: impl Into<Bytes>) -> Self {
        Self::new(bytes, ResultKind::Mcp)
    }

    /// A tool result of MCP whose document somebody has looked into: the index that was built then
    /// serves whoever refers to it.
    #[must_use]
    pub fn mcp_document(document: Document) -> Self {
        Self(StoredResult::new(document, ResultKind::Mcp))
    }

    /// A document of undeclared kind that somebody has looked into, like [`Self::undeclared`].
    #[must_use]
    pub fn undeclared_document(document: Document) -> Self {
        Self(StoredResult::new(document, ResultKind::Undeclared))
    }

    /// JSON that somebody has looked into, like [`Self::json`].
    #[must_use]
    pub fn json_document(document: Document) -> Self {
        Self(StoredResult::new(document, ResultKind::Json))
    }

    /// A text. A reference without a selector passes it on as it is, even if it is JSON.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(text.into(), ResultKind::Text)
    }

    /// Anything else, such as an image.
    #[must_use]
    pub fn bytes(bytes: impl Into<Bytes>, media_type: impl Into<Arc<str>>) -> Self {
        Self(
            Self::new(bytes, ResultKind::Bytes)
                .0
                .with_media_type(media_type),
        )
    }

    /// A `serde_json::Value`, of undeclared kind.
    #[must_use]
    pub fn value(value: &Value) -> Self {
        Self::undeclared(json_of(value))
    }

    /// Says that the call failed; the content is then what it failed with.
    #[must_use]
    pub fn failed(self) -> Self {
        Self(self.0.with_failed(true))
    }

    /// Names the tool that was called, so that an error can name it.
    #[must_use]
    pub fn with_tool(self, tool: impl Into<Arc<str>>) -> Self {
        Self(self.0.with_tool(tool))
    }

    /// Says whether the call may be made again without harm: its tool only reads, or doing it twice does
    /// no more than doing it once. Unless this says so, no advice is to make the call again.
    #[must_use]
    pub fn with_repeatable(self, repeatable: bool) -> Self {
        Self(self.0.with_repeatable(repeatable))
    }

    /// Names the server that the tool is of. Where results must be evicted, each server's that cannot be had
    /// again are kept longest, as long as they hold at most half of the bytes.
    #[must_use]
    pub fn with_server(self, server: impl Into<Arc<str>>) -> Self {
        Self(self.0.with_server(server))
    }

    /// Keeps the arguments of the call as raw JSON, so that a result that has gone can say how to
    /// get it again.
    #[must_use]
    pub fn with_arguments(self, arguments: impl Into<Bytes>) -> Self {
        Self(self.0.with_arguments(arguments))
    }

    /// Says where in a trace the call stands, where that is neither the call in flight nor the current
    /// span: what refers to the result links to it.
    #[must_use]
    pub fn with_trace(self, trace: TraceContext) -> Self {
        Self(self.0.with_trace(trace))
    }

    pub(crate) fn with_unsaid(
        self,
        tool: Option<Arc<str>>,
        server: Option<Arc<str>>,
        arguments: Option<Bytes>,
    ) -> Self {
        Self(self.0.with_unsaid(tool, server, arguments))
    }

    pub(crate) fn stored(&self) -> &StoredResult {
        &self.0
    }

    pub(crate) fn into_stored(self) -> StoredResult {
        self.0
    }
}

/// From how many levels on a value is not written by recursion.
const DEEP: usize = 500;

/// A value as JSON, however deep it nests.
fn json_of(value: &Value) -> String {
    if !is_deeper(value, DEEP) {
        return value.to_string();
    }
    // What is written next: a value, or text between values.
    enum Next<'v> {
        Value(&'v Value),
        Key(&'v str),
        Text(char),
    }
    let mut out = String::new();
    let mut next = vec![Next::Value(value)];
    while let Some(piece) = next.pop() {
        match piece {
            Next::Text(text) => out.push(text),
            Next::Key(key) => {
                out.push_str(&quoted(key));
                out.push(':');
            }
            Next::Value(Value::Array(items)) => {
                out.push('[');
                next.push(Next::Text(']'));
                for (index, item) in items.iter().enumerate().rev() {
                    next.push(Next::Value(item));
                    if index > 0 {
                        next.push(Next::Text(','));
                    }
                }
            }
            Next::Value(Value::Object(members)) => {
                out.push('{');
                next.push(Next::Text('}'));
                for (index, (key, value)) in members.iter().enumerate().rev() {
                    next.push(Next::Value(value));
                    next.push(Next::Key(key));
                    if index > 0 {
                        next.push(Next::Text(','));
                    }
                }
            }
            Next::Value(scalar) => out.push_str(&scalar.to_string()),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::json_of;
    use serde_json::{Value, json};

    #[test]
    fn deep_values_are_written_like_others() {
        let mut value = json!({"a": [1, "x\n", {}, []], "b": {"c": null, "d": 1.5}});
        for _ in 0..300 {
            value = json!([true, {"k\"": value, "l": 0}]);
        }
        assert_eq!(json_of(&value), value.to_string());
        let mut deep = Value::Null;
        for _ in 0..100_000 {
            deep = Value::Array(vec![deep]);
        }
        assert_eq!(json_of(&deep).len(), 200_004);
        crossfeed_json::dismantle(deep);
    }
}
