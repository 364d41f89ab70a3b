//! A session's artifacts: creates, lists and finds them, and brings them into the context.

use super::{
    Retrieval, Retrieved, Session,
    offload::{SMALL_BYTES, is_plain_path, run_or_spawn},
};
use crate::{
    artifact::{ArtifactBuilder, CreatedArtifact, NewArtifact},
    canonical::StoredItem,
    error::LookupError,
    failure::{Error, Failure},
    resolve::LookupKey,
    telemetry::{number, stage},
    trace::staged,
};
use bytes::Bytes;
use crossfeed_store::{ArtifactMissing, ListedArtifact, StoreError, StoredArtifact};
use crossfeed_wire::{ArtifactId, CallId};
use std::sync::Arc;

impl Session {
    /// Makes an artifact from a recorded result and stores it. Repeating it changes nothing.
    ///
    /// The base selector picks the full data, and detail selectors on it the summary; with a component the full data
    /// has its properties and the summary its preview fields. Data that takes more of a model's context than one
    /// artifact may is [blocked](StoredArtifact::retrieval_blocked). The summary counts as shown to the model.
    ///
    /// # Errors
    ///
    /// [`Failure`] if there is no such result or the call failed, a selector picks nothing or is refused, the data
    /// does not fit the component, or the store refuses it: its ids are taken by other data, or a limit is reached.
    ///
    /// ```
    /// use crossfeed_core::{Engine, EngineOptions, NewArtifact, ToolResult};
    /// use crossfeed_wire::{ArtifactId, CallId, Scope};
    /// use serde_json::json;
    ///
    /// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
    /// let engine = Engine::in_memory(EngineOptions::default());
    /// let session = engine.session(Scope::parse("acme", "support", "conversation-42")?);
    /// let (call, id) = (CallId::parse("call_1")?, ArtifactId::parse("best")?);
    /// let found = r#"{"items": [{"title": "Rust", "pages": [1, 2, 3]}]}"#;
    /// session.record(&call, ToolResult::json(found)).await?;
    ///
    /// let wanted = NewArtifact::new(id, call)
    ///     .with_base("items[0]")
    ///     .with_detail("title", "title")
    ///     .with_detail("pages", "length(pages)");
    /// let created = session.create_artifact(wanted).await;
    /// let artifact = created?.artifact;
    /// assert_eq!(&artifact.document().raw()[..], br#"{"title": "Rust", "pages": [1, 2, 3]}"#);
    /// let summary = artifact.summary().ok_or("no summary")?;
    /// assert_eq!(&summary.raw()[..], br#"{"title":"Rust","pages":3}"#);
    ///
    /// let arguments = json!({"book": {"$artifact": "best", "$tool": "call_1", "$select": "pages"}});
    /// let resolved = session.resolve(arguments, None).await?;
    /// assert_eq!(resolved.arguments, json!({"book": [1, 2, 3]}));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub async fn create_artifact(&self, wanted: NewArtifact) -> Result<CreatedArtifact, Failure> {
        let span = stage!(
            "crossfeed::artifact",
            "crossfeed.artifact",
            "gen_ai.tool.call.id" = wanted.call_id.as_str(),
            "crossfeed.artifact.id" = wanted.artifact_id.as_str(),
            "crossfeed.bytes.out" = tracing::field::Empty,
            "crossfeed.tokens" = tracing::field::Empty,
        );
        let creating = async {
            let key = LookupKey::new(&wanted.call_id, None);
            let stored = self.found(&key).await?;
            let details = wanted.details.iter().map(|(_, selector)| selector);
            let mut selectors = wanted.base.iter().chain(details);
            let small = wanted.component.is_none()
                && wanted.details.len() <= 1
                && selectors.all(|selector| is_plain_path(selector));
            let memory = self.memory.clone();
            let making = self.work_on(&key, stored, small, move |on| {
                on.succeeded()?;
                let builder = ArtifactBuilder::new(on.inner, memory);
                let (artifact, reports) = builder.make(on.whole, &on.shown, &wanted)?;
                let tokens = on.count(artifact.document().raw());
                let is_blocked = tokens > on.inner.options.context.limit();
                Ok((artifact.with_retrieval_blocked(is_blocked), reports, tokens))
            });
            let (artifact, reports, tokens) = making.await?;
            let call_id = key.call_id;
            let artifact_id = artifact.artifact_id().clone();
            let refused = |error: Error| Failure::with_ids(&call_id, Some(&artifact_id), error);
            let recorded = self.record_artifact(artifact).await;
            let recorded = recorded.map_err(|error| refused(Error::Store(Arc::new(error))))?;
            let artifact = self.artifact(&artifact_id, &call_id).await;
            let artifact = artifact.map_err(|error| refused(error.into()))?;
            if let Some(summary) = artifact.summary() {
                self.note_shown(&String::from_utf8_lossy(summary.raw()));
            }
            Ok(CreatedArtifact {
                artifact,
                recorded,
                tokens,
                reports,
            })
        };
        let created = staged(span, creating, |span, created| {
            let bytes = created.artifact.document().raw().len();
            span.record("crossfeed.bytes.out", number(bytes));
            span.record("crossfeed.tokens", number(created.tokens));
        });
        let created = created.await;
        created.inspect_err(|failure| self.note_told(failure))
    }

    /// The artifacts of this session, oldest first, with redacted summaries; a summary that cannot be redacted is
    /// left out.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the store cannot be read.
    pub async fn artifacts(&self) -> Result<Vec<ListedArtifact>, StoreError> {
        let mut listed = self.inner().store.list_artifacts(&self.scope).await?;
        if !self.inner().options.reveal.hides() {
            return Ok(listed);
        }
        let inner = Arc::clone(self.inner());
        let bytes = |listed: &ListedArtifact| listed.summary.as_ref().map_or(0, Bytes::len);
        let small = listed.iter().map(bytes).sum::<usize>() <= SMALL_BYTES;
        let shown = run_or_spawn(small, move || {
            for artifact in &mut listed {
                let (summary, tool) = (artifact.summary.take(), artifact.tool.as_deref());
                artifact.summary = summary.and_then(|it| inner.options.reveal.summary(tool, it));
            }
            listed
        });
        Ok(shown.await)
    }

    /// An artifact with its full data: for hosts, not for models.
    ///
    /// # Errors
    ///
    /// [`LookupError`] says whether it is unknown or expired, or the store cannot be read.
    pub async fn artifact(
        &self,
        artifact_id: &ArtifactId,
        call_id: &CallId,
    ) -> Result<Arc<StoredArtifact>, LookupError> {
        let wanted = LookupKey::new(call_id, Some(artifact_id));
        match self.look_up(&wanted, None).await?.as_stored() {
            StoredItem::Artifact(artifact) => Ok(Arc::clone(artifact)),
            StoredItem::Result(_) => Err(LookupError::artifact_missing(
                artifact_id.clone(),
                call_id.clone(),
                ArtifactMissing::Unknown,
            )),
        }
    }

    /// Brings an artifact's full data, or what a selector picks of it, into the context.
    ///
    /// # Errors
    ///
    /// [`Failure`] if the selector picks nothing or is refused. A missing or too large artifact is not an error but
    /// an [answer](Retrieved).
    pub async fn retrieve_artifact(
        &self,
        artifact_id: &ArtifactId,
        call_id: &CallId,
        what: impl Into<Retrieval<'_>>,
    ) -> Result<Retrieved, Failure> {
        let key = LookupKey::new(call_id, Some(artifact_id));
        self.retrieve_from(key, what.into()).await
    }
}
