//! A stored tool result: the bytes of one call, as they came.

use crate::shown::ShownCache;
use bytes::Bytes;
use crossfeed_json::Document;
use crossfeed_wire::TraceContext;
use derive_setters::Setters;
use std::{any::Any, fmt, sync::Arc};

/// The kind of a result's bytes, as the host declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(
    clippy::exhaustive_enums,
    reason = "every reader of results must treat each kind"
)]
pub enum ResultKind {
    /// Not declared: a tool result of MCP if it looks like one and like nothing else, else JSON, else text.
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
/// Readers share one document, so that its index is built once.
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
#[derive(Setters)]
#[setters(prefix = "with_", strip_option)]
pub struct StoredResult {
    #[setters(skip)]
    document: Document,
    #[setters(skip)]
    kind: ResultKind,
    /// The media type: `image/png`.
    #[setters(into)]
    media_type: Option<Arc<str>>,
    /// Whether the call failed; then the document is its error.
    failed: bool,
    /// Whether the call may be made again without harm: its tool only reads, or doing it twice does
    /// no more than doing it once. Calls are not repeatable unless this says so.
    repeatable: bool,
    /// The tool that was called.
    #[setters(into)]
    tool: Option<Arc<str>>,
    /// The server of the tool. When results must be evicted, each server's results of calls that are
    /// not repeatable are kept longest, as long as they hold at most half of the bytes.
    #[setters(into)]
    server: Option<Arc<str>>,
    /// The arguments of the call, as raw JSON, so that a tombstone can say how to get the result again.
    ///
    /// A slice keeps the whole buffer that it was cut from; copy it if that buffer is larger.
    #[setters(into)]
    arguments: Option<Bytes>,
    /// The place of the call in a trace, so that values made from the result can point back to it.
    trace: Option<TraceContext>,
    /// Where the data came from, in words of the host's own: some kilobytes at most. Stores that an older version
    /// wrote have none.
    #[setters(into)]
    sources: Option<Arc<str>>,
    /// The length of the document of which this one is an [excerpt](crate::Excerpt), for an answer of
    /// [`get_part`](crate::ResultStore::get_part).
    excerpt_of: Option<usize>,
    #[setters(skip)]
    shown: ShownCache<Self>,
}

impl StoredResult {
    /// The result of a call that succeeded.
    pub fn new(document: Document, kind: ResultKind) -> Self {
        Self {
            document,
            kind,
            media_type: None,
            failed: false,
            repeatable: false,
            tool: None,
            server: None,
            arguments: None,
            trace: None,
            sources: None,
            excerpt_of: None,
            shown: ShownCache::new(),
        }
    }

    /// The bytes, and their index.
    pub fn document(&self) -> &Document {
        &self.document
    }

    /// The kind of the bytes.
    pub fn kind(&self) -> ResultKind {
        self.kind
    }

    /// The media type, where one was given.
    pub fn media_type(&self) -> Option<&str> {
        self.media_type.as_deref()
    }

    /// Whether the call failed.
    pub fn failed(&self) -> bool {
        self.failed
    }

    /// Whether the call may be made again without harm.
    pub fn repeatable(&self) -> bool {
        self.repeatable
    }

    /// The tool that was called, where it is known.
    pub fn tool(&self) -> Option<&str> {
        self.tool.as_deref()
    }

    /// The tool's name to share.
    pub(crate) fn shared_tool(&self) -> Option<Arc<str>> {
        self.tool.clone()
    }

    /// The server that the tool is of, where it is known.
    pub fn server(&self) -> Option<&Arc<str>> {
        self.server.as_ref()
    }

    /// The raw JSON that the tool was called with, where it is known.
    pub fn arguments(&self) -> Option<&Bytes> {
        self.arguments.as_ref()
    }

    /// Where in a trace the call stands, where it is known.
    pub fn trace(&self) -> Option<&TraceContext> {
        self.trace.as_ref()
    }

    /// Where the data came from, where the host said it.
    pub fn sources(&self) -> Option<&Arc<str>> {
        self.sources.as_ref()
    }

    /// The length of the recorded document, where this is not all of it.
    pub fn excerpt_of(&self) -> Option<usize> {
        self.excerpt_of
    }

    /// Adds the facts about the call that are not known yet.
    pub fn with_unsaid(
        self,
        tool: Option<Arc<str>>,
        server: Option<Arc<str>>,
        arguments: Option<Bytes>,
    ) -> Self {
        Self {
            tool: self.tool.or(tool),
            server: self.server.or(server),
            arguments: self.arguments.or(arguments),
            ..self
        }
    }

    /// Another document of the same call: as this one, but without its arguments and server.
    pub fn with_document_of_call(&self, document: Document, kind: ResultKind) -> Self {
        Self {
            media_type: self.media_type.clone(),
            failed: self.failed,
            repeatable: self.repeatable,
            tool: self.tool.clone(),
            trace: self.trace.clone(),
            sources: self.sources.clone(),
            ..Self::new(document, kind)
        }
    }

    /// The result as `rules` show it; `make` gives `None` for all of it. It is made once for the first rules, and
    /// kept with the result.
    ///
    /// Rules are the same if they lie at the same place.
    ///
    /// # Errors
    ///
    /// The error of `make`; nothing is kept then.
    pub fn shown_under<E>(
        self: &Arc<Self>,
        rules: &Arc<dyn Any + Send + Sync>,
        make: impl FnOnce() -> Result<Option<Self>, E>,
    ) -> Result<Arc<Self>, E> {
        self.shown.get_or_make(self, rules, make)
    }

    /// Bytes held: the document's raw bytes, its index once there is one, the arguments, the sources, and what
    /// may be shown once that was made.
    ///
    /// It grows when the index is built, so ask again after a selection.
    pub fn resident_bytes(&self) -> usize {
        self.document.resident_bytes()
            + self.arguments.as_ref().map_or(0, Bytes::len)
            + self.sources.as_ref().map_or(0, |sources| sources.len())
            + self.shown.kept().map_or(0, Self::resident_bytes)
    }

    /// Whether `other` says the same about a call: the same bytes, kind and failure. The tool, its
    /// arguments, its sources, whether the call is repeatable, the media type and the place in a trace describe a
    /// record and are not compared.
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
            .field("repeatable", &self.repeatable)
            .field("tool", &self.tool)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::{ResultKind, StoredResult};
    use crossfeed_json::Document;
    use std::{any::Any, sync::Arc};

    #[test]
    fn size_follows_the_index() {
        let result = StoredResult::new(Document::new("[1,2,3]"), ResultKind::Json);
        assert_eq!(result.resident_bytes(), 7);
        result.document().root().unwrap();
        assert!(result.resident_bytes() > 7);
    }

    #[test]
    fn arguments_and_sources_count() {
        let result = StoredResult::new(Document::new("1"), ResultKind::Json).with_arguments("{}");
        assert_eq!(result.resident_bytes(), 3);
        assert_eq!(result.with_sources("web").resident_bytes(), 6);
    }

    #[test]
    fn what_may_be_shown_counts_once_it_is_made() {
        let result = Arc::new(StoredResult::new(
            Document::new("[1,2,3]"),
            ResultKind::Json,
        ));
        let rules: Arc<dyn Any + Send + Sync> = Arc::new(1);
        let make = || {
            Ok::<_, ()>(Some(StoredResult::new(
                Document::new("[1]"),
                ResultKind::Json,
            )))
        };
        let shown = result.shown_under(&rules, make).unwrap();
        assert_eq!(&shown.document().raw()[..], b"[1]");
        assert_eq!(result.resident_bytes(), 10);
        shown.document().root().unwrap();
        assert_eq!(result.resident_bytes(), 7 + shown.resident_bytes());
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
