//! An artifact: a part of a result that outlives it.

use crate::shown::ShownCache;
use crossfeed_json::Document;
use crossfeed_wire::{ArtifactId, CallId, TraceContext};
use derive_setters::Setters;
use std::{any::Any, fmt, sync::Arc};

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
#[derive(Setters)]
#[setters(prefix = "with_", strip_option)]
#[must_use]
pub struct StoredArtifact {
    #[setters(skip)]
    artifact_id: ArtifactId,
    #[setters(skip)]
    call_id: CallId,
    #[setters(skip)]
    document: Document,
    /// Whether the artifact is too large to be brought into a model's context.
    retrieval_blocked: bool,
    /// Whether the call whose result it was made from may be made again without harm, see
    /// [`StoredResult::with_repeatable`](crate::StoredResult::with_repeatable). A store may lose it; the
    /// call then is not repeatable.
    repeatable: bool,
    /// The summary: a JSON object.
    summary: Option<Document>,
    /// The tool whose result it was made from.
    #[setters(into)]
    tool: Option<Arc<str>>,
    /// The selector that picked the full data, as it was written.
    #[setters(into)]
    base: Option<Arc<str>>,
    #[setters(skip)]
    details: Vec<(String, String)>,
    /// The place in a trace of the call whose result it was made from, so that values made from the artifact can
    /// point back to it. A store may lose it.
    trace: Option<TraceContext>,
    #[setters(skip)]
    shown: ShownCache<Self>,
}

impl StoredArtifact {
    /// An artifact that may be brought into a model's context.
    pub fn new(artifact_id: ArtifactId, call_id: CallId, document: Document) -> Self {
        Self {
            artifact_id,
            call_id,
            document,
            retrieval_blocked: false,
            repeatable: false,
            summary: None,
            tool: None,
            base: None,
            details: Vec::new(),
            trace: None,
            shown: ShownCache::new(),
        }
    }

    /// Keeps a detail's name and its selector, as it was written.
    pub fn with_detail(mut self, name: impl Into<String>, selector: impl Into<String>) -> Self {
        self.details.push((name.into(), selector.into()));
        self
    }

    /// Where in a trace the call stands whose result it was made from, where it is known.
    pub fn trace(&self) -> Option<&TraceContext> {
        self.trace.as_ref()
    }

    /// The artifact's own id.
    pub fn artifact_id(&self) -> &ArtifactId {
        &self.artifact_id
    }

    /// The call whose result it was made from.
    pub fn call_id(&self) -> &CallId {
        &self.call_id
    }

    /// The bytes of the full data, and their index.
    pub fn document(&self) -> &Document {
        &self.document
    }

    /// Whether it is too large to be brought into a model's context.
    pub fn retrieval_blocked(&self) -> bool {
        self.retrieval_blocked
    }

    /// The summary, where there is one: a JSON object.
    pub fn summary(&self) -> Option<&Document> {
        self.summary.as_ref()
    }

    /// The tool whose result it was made from, where it is known.
    pub fn tool(&self) -> Option<&str> {
        self.tool.as_deref()
    }

    /// The tool's name to share.
    pub(crate) fn shared_tool(&self) -> Option<Arc<str>> {
        self.tool.clone()
    }

    /// Whether the call whose result it was made from may be made again without harm.
    pub fn repeatable(&self) -> bool {
        self.repeatable
    }

    /// The selector that picked the full data, where there was one.
    pub fn base(&self) -> Option<&str> {
        self.base.as_deref()
    }

    /// The details: each a name and a selector on the value that the base picked.
    pub fn details(&self) -> &[(String, String)] {
        &self.details
    }

    /// Bytes to keep: the full data, the summary and the selectors, without any index.
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

    /// The artifact as `rules` show it, as for [`StoredResult`](crate::StoredResult::shown_under).
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

    /// Bytes held: those to keep, the indexes once there are any, and the redacted artifact once it was made.
    pub fn resident_bytes(&self) -> usize {
        let index = |document: &Document| document.resident_bytes() - document.raw().len();
        self.stored_bytes()
            + index(&self.document)
            + self.summary.as_ref().map_or(0, index)
            + self.shown.kept().map_or(0, Self::resident_bytes)
    }

    /// Whether `other` has the same ids, data, summary and block. The tool, whether its call
    /// is repeatable, and the selectors describe how it was made and are not compared.
    pub fn is_same_record(&self, other: &Self) -> bool {
        let summary = |artifact: &Self| artifact.summary.as_ref().map(|s| s.raw().clone());
        self.artifact_id == other.artifact_id
            && self.call_id == other.call_id
            && self.retrieval_blocked == other.retrieval_blocked
            && summary(self) == summary(other)
            && self.document.raw() == other.document.raw()
    }
}

/// Shapes only, as for [`StoredResult`](crate::StoredResult).
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
    use super::StoredArtifact;
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
}
