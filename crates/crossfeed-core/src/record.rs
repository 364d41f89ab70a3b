//! A tool's result on its way into the store. Recording never fails because of the content, which is interpreted
//! on first use.

use bytes::Bytes;
use crossfeed_json::{Document, is_deeper, quoted};
use crossfeed_store::{ResultKind, StoredResult};
use crossfeed_wire::TraceContext;
use serde_json::Value;
use std::sync::Arc;

/// A tool's result, to be recorded.
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
#[must_use]
pub struct ToolResult(StoredResult);

impl ToolResult {
    fn new(document: Document, kind: ResultKind) -> Self {
        Self(StoredResult::new(document, kind))
    }

    /// Bytes of undeclared kind: an MCP tool result if they can only be that, else JSON, else text.
    pub fn undeclared(bytes: impl Into<Bytes>) -> Self {
        Self::undeclared_document(Document::new(bytes))
    }

    /// JSON; text if it is not valid JSON.
    pub fn json(bytes: impl Into<Bytes>) -> Self {
        Self::json_document(Document::new(bytes))
    }

    /// An MCP tool result, as JSON.
    pub fn mcp(bytes: impl Into<Bytes>) -> Self {
        Self::mcp_document(Document::new(bytes))
    }

    /// An MCP tool result as a document, whose index serves references if it was built.
    pub fn mcp_document(document: Document) -> Self {
        Self::new(document, ResultKind::Mcp)
    }

    /// A document of undeclared kind, like [`Self::undeclared`].
    pub fn undeclared_document(document: Document) -> Self {
        Self::new(document, ResultKind::Undeclared)
    }

    /// JSON as a document, like [`Self::json`].
    pub fn json_document(document: Document) -> Self {
        Self::new(document, ResultKind::Json)
    }

    /// A text. A reference without a selector passes it on unchanged, even if it is JSON.
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(Document::new(text.into()), ResultKind::Text)
    }

    /// Anything else, such as an image.
    pub fn bytes(bytes: impl Into<Bytes>, media_type: impl Into<Arc<str>>) -> Self {
        let result = StoredResult::new(Document::new(bytes), ResultKind::Bytes);
        Self(result.with_media_type(media_type))
    }

    /// A `serde_json::Value`, of undeclared kind.
    pub fn value(value: &Value) -> Self {
        Self::undeclared(json_of(value))
    }

    /// Marks the call as failed; the content is then its error.
    pub fn failed(self) -> Self {
        Self(self.0.with_failed(true))
    }

    /// Names the tool that was called, so that an error can name it.
    pub fn with_tool(self, tool: impl Into<Arc<str>>) -> Self {
        Self(self.0.with_tool(tool))
    }

    /// Sets whether the call can be repeated without harm: its tool only reads, or is idempotent. By default no
    /// error advises to repeat it.
    pub fn with_repeatable(self, repeatable: bool) -> Self {
        Self(self.0.with_repeatable(repeatable))
    }

    /// Names the tool's server. When results must be evicted, each server's unrepeatable ones are kept longest, as
    /// long as they hold at most half of the bytes.
    pub fn with_server(self, server: impl Into<Arc<str>>) -> Self {
        Self(self.0.with_server(server))
    }

    /// Keeps the arguments of the call as raw JSON, so that the error for a result that is gone can say how to get
    /// it again.
    pub fn with_arguments(self, arguments: impl Into<Bytes>) -> Self {
        Self(self.0.with_arguments(arguments))
    }

    /// Sets the call's place in a trace, to which references link, if that is neither the call in flight nor the
    /// current span.
    pub fn with_trace(self, trace: TraceContext) -> Self {
        Self(self.0.with_trace(trace))
    }

    /// Keeps where the data came from, in words of the host's own, for those who refer to it:
    /// [`ReferenceSource::sources`](crate::ReferenceSource::sources).
    pub fn with_sources(self, sources: impl Into<Arc<str>>) -> Self {
        Self(self.0.with_sources(sources))
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

/// The deepest value that is written by recursion.
const MAX_RECURSION: usize = 500;

/// A value as JSON, however deep it nests.
fn json_of(value: &Value) -> String {
    if !is_deeper(value, MAX_RECURSION) {
        return value.to_string();
    }
    // The next pieces of the text: a value after a comma or a key, or the end of a container.
    enum Piece<'v> {
        Value(&'static str, Option<&'v str>, &'v Value),
        End(char),
    }
    let comma = |index| if index > 0 { "," } else { "" };
    let mut out = String::new();
    let mut pieces = vec![Piece::Value("", None, value)];
    while let Some(piece) = pieces.pop() {
        let (comma_before, key, value) = match piece {
            Piece::Value(comma, key, value) => (comma, key, value),
            Piece::End(bracket) => {
                out.push(bracket);
                continue;
            }
        };
        out.push_str(comma_before);
        if let Some(key) = key {
            out.push_str(&quoted(key));
            out.push(':');
        }
        match value {
            Value::Array(items) => {
                out.push('[');
                pieces.push(Piece::End(']'));
                let items = items.iter().enumerate().rev();
                pieces.extend(items.map(|(at, item)| Piece::Value(comma(at), None, item)));
            }
            Value::Object(members) => {
                out.push('{');
                pieces.push(Piece::End('}'));
                let members = members.iter().enumerate().rev();
                pieces.extend(
                    members.map(|(at, (key, value))| Piece::Value(comma(at), Some(key), value)),
                );
            }
            scalar => out.push_str(&scalar.to_string()),
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
