//! The late cut: a host's code sees the whole result, and only what leaves is cut.
//!
//! The result is recorded first.
//!
//! # Invariants
//!
//! - The cut consumes the response: afterwards only [`Session::get`] leads to the full value.
//! - The rules of what is always kept and never revealed apply at the cut, whatever the request.
//! - If redaction or projection fails, the error leaves instead.

use super::Session;
use crate::{
    canonical::{StoredItem, marked},
    error::LookupError,
    failure::Failure,
    project::{ProjectOptions, Projected},
    record::ToolResult,
    resolve::LookupKey,
    reveal::UnredactedItem,
};
use crossfeed_json::Document;
use crossfeed_projection::RevealRules;
use crossfeed_store::{StoreError, StoredResult};
use crossfeed_wire::CallId;
use std::sync::Arc;

/// A recorded result on its way out. Its `Debug` omits the data.
///
/// ```
/// use crossfeed_core::{Engine, EngineOptions, ProjectOptions, RevealPolicy, ToolResult};
/// use crossfeed_projection::{ProjectionRequest, RevealRules};
/// use crossfeed_wire::{CallId, Scope};
///
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let policy = RevealPolicy::default().with_every_tool(RevealRules::parse(["id"], ["token"])?);
/// let engine = Engine::in_memory(EngineOptions::default().with_reveal(policy));
/// let session = engine.session(Scope::parse("acme", "support", "conversation-42")?);
/// let returned = ToolResult::json(r#"{"id": 7, "name": "a", "token": "t0p"}"#);
/// let mut response = session.respond(&CallId::parse("call_1")?, returned).await?;
///
/// // The host's rules see all of it.
/// let bytes = response.observe("audit", |full| full.document().raw().len());
/// assert_eq!(bytes, 38);
///
/// // What leaves is cut.
/// let request = ProjectionRequest::new().with_include(["name", "token"]);
/// let wire = response.cut(&ProjectOptions::default().with_request(request)).await?;
/// assert_eq!(wire.json, br#"{"id":7,"name":"a"}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use = "nothing leaves without the cut"]
pub struct Response {
    session: Session,
    call_id: CallId,
    full: Arc<StoredResult>,
    observed: Vec<String>,
}

impl Session {
    /// Records a tool's result, and begins the response.
    ///
    /// # Errors
    ///
    /// [`StoreError`], as for [`Self::record`]: a result that is not recorded does not leave.
    pub async fn respond(
        &self,
        call_id: &CallId,
        result: ToolResult,
    ) -> Result<Response, StoreError> {
        let returned = result.stored();
        let document = Document::new(returned.document().raw().clone());
        let own = marked(returned.with_document_of_call(document, returned.kind()));
        self.record(call_id, result).await?;
        // The stored result shares its index, but may be gone already.
        let full = self.get(call_id).await.unwrap_or_else(|_| Arc::new(own));
        Ok(self.response_of(call_id, full))
    }

    /// Begins a response from a result that was recorded before.
    ///
    /// # Errors
    ///
    /// [`Failure`] if there is no such result.
    pub async fn response(&self, call_id: &CallId) -> Result<Response, Failure> {
        let full = self.get(call_id).await;
        let full = full.map_err(|error| Failure::with_ids(call_id, None, error))?;
        Ok(self.response_of(call_id, full))
    }

    fn response_of(&self, call_id: &CallId, full: Arc<StoredResult>) -> Response {
        Response {
            session: self.clone(),
            call_id: call_id.clone(),
            full,
            observed: Vec::new(),
        }
    }
}

impl Response {
    /// The id of the call.
    pub fn call_id(&self) -> &CallId {
        &self.call_id
    }

    /// The whole result: for the host's rules, interfaces, suggestions and storage.
    pub fn full(&self) -> &StoredResult {
        &self.full
    }

    /// Shows the whole result to an observer, and returns what it returns.
    pub fn observe<T>(
        &mut self,
        name: impl Into<String>,
        observer: impl FnOnce(&StoredResult) -> T,
    ) -> T {
        self.observed.push(name.into());
        observer(&self.full)
    }

    /// The names of the observers, in order.
    pub fn observed(&self) -> &[String] {
        &self.observed
    }

    /// Cuts the result to what is requested. The error of a failed call is not projected.
    ///
    /// # Errors
    ///
    /// [`Failure`] if the request is invalid or the result cannot be read or redacted, as for
    /// [`Session::project`]: the error then leaves instead.
    pub async fn cut(self, options: &ProjectOptions) -> Result<Projected, Failure> {
        let whole = UnredactedItem::from(StoredItem::Result(self.full));
        let cut = self.session.cut(&self.call_id, whole, options, true).await;
        cut.inspect_err(|failure| self.session.note_told(failure))
    }

    /// Cuts the result by a protocol's own rules: `cut` sees only the redacted result, and the rules of its tool. What
    /// it returns leaves, and counts as shown.
    ///
    /// # Errors
    ///
    /// [`Failure`] if the result cannot be redacted: the error then leaves instead.
    pub async fn cut_with<T: AsRef<[u8]> + Send + 'static>(
        self,
        cut: impl FnOnce(&StoredResult, &Arc<RevealRules>) -> T + Send + 'static,
    ) -> Result<T, Failure> {
        let key = LookupKey::new(&self.call_id, None);
        let whole = UnredactedItem::from(StoredItem::Result(self.full));
        let cutting = self.session.show(&key, whole, true, move |on| {
            let StoredItem::Result(shown) = &on.shown else {
                return Err(LookupError::unknown(on.key.call_id.clone()).into());
            };
            let output = cut(shown, on.inner.options.reveal.rules(shown.tool()));
            let showing = on.showing(on.count(output.as_ref()), false);
            Ok((output, Some(showing)))
        });
        let cut = cutting.await;
        cut.inspect_err(|failure| self.session.note_told(failure))
    }
}
