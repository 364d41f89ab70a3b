//! What is stored: one tool result, or one artifact, as the bytes it came with.

use bytes::Bytes;
use crossfeed_json::Document;
use crossfeed_wire::{ArtifactId, CallId};
use std::{fmt, sync::Arc};

/// What the bytes of a result are, as its recorder declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(
    clippy::exhaustive_enums,
    reason = "every reader of results must treat each kind"
)]
pub enum ResultKind {
    /// Not said: a tool result of MCP if it looks like one and like nothing else, else JSON, else
    /// text.
    Undeclared,
    /// A JSON value.
    Json,
    /// A tool result of MCP as JSON: `content`, `structuredContent`, `isError`.
    Mcp,
    /// Plain text; the bytes are the text, not a JSON string.
    Text,
    /// Anything else, described by a media type.
    Bytes,
}

/// One recorded tool result.
///
/// Readers share one document, so that its index is built once, whoever asks first.
///
/// ```
/// use crossfeed_json::Document;
/// use crossfeed_store::{ResultKind, StoredResult};
///
/// let result = StoredResult::new(Document::new(r#"{"items": [1, 2]}"#), ResultKind::Json)
///     .with_tool("search")
///     .with_arguments(r#"{"q": "x"}"#);
/// assert_eq!(result.tool(), Some("search"));
/// assert!(!result.failed());
/// ```
pub struct StoredResult {
    document: Document,
    kind: ResultKind,
    media_type: Option<Arc<str>>,
    failed: bool,
    tool: Option<Arc<str>>,
    arguments: Option<Bytes>,
}

impl StoredResult {
    /// The result of a call that succeeded.
    #[must_use]
    pub fn new(document: Document, kind: ResultKind) -> Self {
        Self {
            document,
            kind,
            media_type: None,
            failed: false,
            tool: None,
            arguments: None,
        }
    }

    /// Says what the bytes are: `image/png`.
    #[must_use]
    pub fn with_media_type(mut self, media_type: impl Into<Arc<str>>) -> Self {
        self.media_type = Some(media_type.into());
        self
    }

    /// Says whether the call failed; the document is then what it failed with.
    #[must_use]
    pub fn with_failed(mut self, failed: bool) -> Self {
        self.failed = failed;
        self
    }

    /// Names the tool that was called.
    #[must_use]
    pub fn with_tool(mut self, tool: impl Into<Arc<str>>) -> Self {
        self.tool = Some(tool.into());
        self
    }

    /// Keeps what the tool was called with, as raw JSON, so that a result that has gone can say how
    /// to get it again.
    ///
    /// A slice keeps the whole buffer that it was cut from; copy it if that buffer is larger.
    #[must_use]
    pub fn with_arguments(mut self, arguments: impl Into<Bytes>) -> Self {
        self.arguments = Some(arguments.into());
        self
    }

    /// The bytes, and their index.
    #[must_use]
    pub fn document(&self) -> &Document {
        &self.document
    }

    /// What the bytes are.
    #[must_use]
    pub fn kind(&self) -> ResultKind {
        self.kind
    }

    /// The media type, where one was given.
    #[must_use]
    pub fn media_type(&self) -> Option<&str> {
        self.media_type.as_deref()
    }

    /// Whether the call failed.
    #[must_use]
    pub fn failed(&self) -> bool {
        self.failed
    }

    /// The tool that was called, where it is known.
    #[must_use]
    pub fn tool(&self) -> Option<&str> {
        self.tool.as_deref()
    }

    /// The tool's name to share.
    pub(crate) fn shared_tool(&self) -> Option<Arc<str>> {
        self.tool.clone()
    }

    /// The raw JSON that the tool was called with, where it is known.
    #[must_use]
    pub fn arguments(&self) -> Option<&Bytes> {
        self.arguments.as_ref()
    }

    /// Bytes held: the document's raw bytes, its index once there is one, and the arguments.
    ///
    /// It grows when the index is built, so ask again after a selection.
    #[must_use]
    pub fn resident_bytes(&self) -> usize {
        self.document.resident_bytes() + self.arguments.as_ref().map_or(0, Bytes::len)
    }

    /// Whether `other` says the same about a call: the same bytes, kind and failure. The tool, its
    /// arguments and the media type describe a record and are not compared.
    #[must_use]
    pub fn is_same_record(&self, other: &Self) -> bool {
        self.kind == other.kind
            && self.failed == other.failed
            && self.document.raw() == other.document.raw()
    }
}

/// Shapes only: a result's payload has no place in logs.
impl fmt::Debug for StoredResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredResult")
            .field("bytes", &self.document.raw().len())
            .field("kind", &self.kind)
            .field("media_type", &self.media_type)
            .field("failed", &self.failed)
            .field("tool", &self.tool)
            .finish_non_exhaustive()
    }
}

/// A named selection of a result, which outlives it: its full data, and a summary of it.
///
/// ```
/// use crossfeed_json::Document;
/// use crossfeed_store::StoredArtifact;
/// use crossfeed_wire::{ArtifactId, CallId};
///
/// let id = ArtifactId::parse("report")?;
/// let data = Document::new(r#"{"title": "Rust", "text": "…"}"#);
/// let artifact = StoredArtifact::new(id, CallId::parse("call_1")?, data)
///     .with_summary(Document::new(r#"{"title": "Rust"}"#))
///     .with_tool("search")
///     .with_base("items[0]")
///     .with_detail("title", "title");
/// assert!(!artifact.retrieval_blocked());
/// # Ok::<(), crossfeed_wire::IdError>(())
/// ```
pub struct StoredArtifact {
    artifact_id: ArtifactId,
    call_id: CallId,
    document: Document,
    retrieval_blocked: bool,
    summary: Option<Document>,
    tool: Option<Arc<str>>,
    base: Option<Arc<str>>,
    details: Vec<(String, String)>,
}

impl StoredArtifact {
    /// An artifact that may be brought into a model's context.
    #[must_use]
    pub fn new(artifact_id: ArtifactId, call_id: CallId, document: Document) -> Self {
        Self {
            artifact_id,
            call_id,
            document,
            retrieval_blocked: false,
            summary: None,
            tool: None,
            base: None,
            details: Vec::new(),
        }
    }

    /// Says whether the artifact is too large to be brought into a model's context.
    #[must_use]
    pub fn with_retrieval_blocked(mut self, blocked: bool) -> Self {
        self.retrieval_blocked = blocked;
        self
    }

    /// Adds a summary: a JSON object.
    #[must_use]
    pub fn with_summary(mut self, summary: Document) -> Self {
        self.summary = Some(summary);
        self
    }

    /// Names the tool whose result it was made from.
    #[must_use]
    pub fn with_tool(mut self, tool: impl Into<Arc<str>>) -> Self {
        self.tool = Some(tool.into());
        self
    }

    /// Keeps the selector that picked the full data, as it was written.
    #[must_use]
    pub fn with_base(mut self, selector: impl Into<Arc<str>>) -> Self {
        self.base = Some(selector.into());
        self
    }

    /// Keeps a detail's name and its selector, as it was written.
    #[must_use]
    pub fn with_detail(mut self, name: impl Into<String>, selector: impl Into<String>) -> Self {
        self.details.push((name.into(), selector.into()));
        self
    }

    /// The artifact's own id.
    #[must_use]
    pub fn artifact_id(&self) -> &ArtifactId {
        &self.artifact_id
    }

    /// The call whose result it was made from.
    #[must_use]
    pub fn call_id(&self) -> &CallId {
        &self.call_id
    }

    /// The bytes of the full data, and their index.
    #[must_use]
    pub fn document(&self) -> &Document {
        &self.document
    }

    /// Whether it is too large to be brought into a model's context.
    #[must_use]
    pub fn retrieval_blocked(&self) -> bool {
        self.retrieval_blocked
    }

    /// The summary, where there is one: a JSON object.
    #[must_use]
    pub fn summary(&self) -> Option<&Document> {
        self.summary.as_ref()
    }

    /// The tool whose result it was made from, where it is known.
    #[must_use]
    pub fn tool(&self) -> Option<&str> {
        self.tool.as_deref()
    }

    /// The tool's name to share.
    pub(crate) fn shared_tool(&self) -> Option<Arc<str>> {
        self.tool.clone()
    }

    /// The selector that picked the full data, where there was one.
    #[must_use]
    pub fn base(&self) -> Option<&str> {
        self.base.as_deref()
    }

    /// The details: each a name and a selector on what the base picked.
    #[must_use]
    pub fn details(&self) -> &[(String, String)] {
        &self.details
    }

    /// Bytes to keep: the full data, the summary and the selectors, without any index.
    #[must_use]
    pub fn stored_bytes(&self) -> usize {
        let selectors = self
            .details
            .iter()
            .map(|(name, text)| name.len() + text.len());
        self.document.raw().len()
            + self
                .summary
                .as_ref()
                .map_or(0, |summary| summary.raw().len())
            + self.base.as_ref().map_or(0, |base| base.len())
            + selectors.sum::<usize>()
    }

    /// Bytes held: those to keep, and the indexes once there are any.
    #[must_use]
    pub fn resident_bytes(&self) -> usize {
        let index = |document: &Document| document.resident_bytes() - document.raw().len();
        self.stored_bytes() + index(&self.document) + self.summary.as_ref().map_or(0, index)
    }

    /// Whether `other` has the same ids, data, summary and block. The tool and the selectors
    /// describe how it was made and are not compared.
    #[must_use]
    pub fn is_same_record(&self, other: &Self) -> bool {
        let summary = |artifact: &Self| artifact.summary.as_ref().map(|s| s.raw().clone());
        self.artifact_id == other.artifact_id
            && self.call_id == other.call_id
            && self.retrieval_blocked == other.retrieval_blocked
            && summary(self) == summary(other)
            && self.document.raw() == other.document.raw()
    }
}

/// Shapes only, as for [`StoredResult`].
impl fmt::Debug for StoredArtifact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredArtifact")
            .field("artifact_id", &self.artifact_id)
            .field("call_id", &self.call_id)
            .field("bytes", &self.document.raw().len())
            .field("retrieval_blocked", &self.retrieval_blocked)
            .field(
                "summary_bytes",
                &self.summary.as_ref().map(|s| s.raw().len()),
            )
            .field("tool", &self.tool)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::{ResultKind, StoredArtifact, StoredResult};
    use crossfeed_json::Document;
    use crossfeed_wire::{ArtifactId, CallId};

    fn artifact(data: &'static str) -> StoredArtifact {
        let id = ArtifactId::parse("a").unwrap();
        StoredArtifact::new(id, CallId::parse("c").unwrap(), Document::new(data))
    }

    #[test]
    fn an_artifact_is_all_that_a_reader_can_tell() {
        let made = |data| artifact(data).with_summary(Document::new("{}"));
        assert!(
            made("1").is_same_record(
                &made("1")
                    .with_tool("t")
                    .with_base("b")
                    .with_detail("d", "e")
            )
        );
        for other in [
            artifact("1"),
            made("2"),
            made("1").with_summary(Document::new("{ }")),
            made("1").with_retrieval_blocked(true),
        ] {
            assert!(!made("1").is_same_record(&other), "{other:?}");
        }
    }

    #[test]
    fn all_of_an_artifact_counts() {
        let made = artifact("[1]")
            .with_summary(Document::new("{}"))
            .with_base("ab")
            .with_detail("cde", "fghi");
        assert_eq!((made.stored_bytes(), made.resident_bytes()), (14, 14));
        made.document().root().unwrap();
        let indexed = made.resident_bytes();
        made.summary().unwrap().root().unwrap();
        assert!(14 < indexed && indexed < made.resident_bytes());
        assert_eq!(made.stored_bytes(), 14);
        let shown = format!("{made:?}");
        assert!(!shown.contains("[1]") && !shown.contains("fghi"), "{shown}");
    }

    #[test]
    fn size_follows_the_index() {
        let result = StoredResult::new(Document::new("[1,2,3]"), ResultKind::Json);
        assert_eq!(result.resident_bytes(), 7);
        result.document().root().unwrap();
        assert!(result.resident_bytes() > 7);
    }

    #[test]
    fn arguments_count() {
        let result = StoredResult::new(Document::new("1"), ResultKind::Json).with_arguments("{}");
        assert_eq!(result.resident_bytes(), 3);
    }

    #[test]
    fn debug_shows_no_payload() {
        let result = StoredResult::new(Document::new("secret"), ResultKind::Text)
            .with_arguments("hidden")
            .with_tool("search");
        let shown = format!("{result:?}");
        assert!(
            !shown.contains("secret") && !shown.contains("hidden"),
            "{shown}"
        );
    }
}
