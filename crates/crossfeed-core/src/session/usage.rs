//! What a session's results cost and saved, and the end of a session.

use super::Session;
use crate::{account::TokenUsage, failure::Failure};
use crossfeed_store::StoreError;
use crossfeed_wire::Fault;

impl Session {
    /// The tokens that results, references and errors of this session took in the model's context, and kept out of
    /// it. The sums live as long as the engine, for the 10,000 sessions that were used last.
    ///
    /// ```
    /// use crossfeed_core::{Engine, EngineOptions, RenderOptions, ToolResult};
    /// use crossfeed_wire::{CallId, Scope};
    /// use serde_json::json;
    ///
    /// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
    /// let engine = Engine::in_memory(EngineOptions::default());
    /// let session = engine.session(Scope::parse("acme", "support", "conversation-42")?);
    /// let call = CallId::parse("call_1")?;
    /// let pages = json!({"pages": vec!["some page of a book"; 1000]});
    /// session.record(&call, ToolResult::json(pages.to_string())).await?;
    ///
    /// let shown = session.render(&call, &RenderOptions::default()).await;
    /// let shown = shown.map_err(|failure| failure.to_string())?;
    /// session.resolve(json!({"book": {"$tool": "call_1", "$select": "pages"}}), None).await?;
    ///
    /// let usage = session.usage();
    /// assert_eq!(usage.shown, shown.tokens as u64);
    /// assert_eq!(usage.whole, shown.whole_tokens as u64);
    /// // Neither the result nor the argument that it became went through the context.
    /// assert!(usage.avoided() > 10_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn usage(&self) -> TokenUsage {
        self.inner().accounts.sums(&self.scope)
    }

    /// Counts a text as shown to the model, such as a list of this session's artifacts.
    pub fn note_shown(&self, text: &str) {
        let tokens = self.inner().options.context.tokens.count(text);
        self.account().show_more(tokens);
    }

    /// Counts a failure, if the model sees it.
    pub(super) fn note_told(&self, failure: &Failure) {
        if failure.error.fault() == Fault::Model {
            self.note_failure(failure);
        }
    }

    /// Removes all data of the session: results, artifacts, the tombstones of those that are gone, and its sums.
    /// Every id is unknown afterwards, those of calls in flight included; what such a call returns later is recorded.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`] if the store cannot do it now; the sums stay then.
    pub async fn close(&self) -> Result<(), StoreError> {
        self.inner().store.remove_session(&self.scope).await?;
        self.inner().flights.close(&self.scope);
        self.inner().accounts.close(&self.scope);
        Ok(())
    }
}
