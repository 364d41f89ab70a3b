//! The late cut: everything that a host derives from a result sees all of it, and only what leaves is
//! cut.
//!
//! The result is recorded before anything else can happen to it.
//!
//! # Invariants
//!
//! - The cut takes the response: behind it there is no way to the full value but [`Session::get`].
//! - Rules of what is always kept and never revealed hold at the cut, whatever is asked for.
//! - Where redaction or projection fails, what leaves is the error.

use super::Session;
use crate::{
    canonical::{Stored, marked},
    error::LookupError,
    failure::Failure,
    project::{ProjectOptions, Projected},
    record::ToolResult,
    resolve::LookupKey,
    reveal::Unredacted,
};
use crossfeed_json::Document;
use crossfeed_projection::RevealRules;
use crossfeed_store::{StoreError, StoredResult};
use crossfeed_wire::CallId;
use std::sync::Arc;

/// A recorded result on its way to whoever asked for it. Its `Debug` does not say the data.
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
    /// Records what a tool returned, and begins the response that is made of it.
    ///
    /// # Errors
    ///
    /// [`StoreError`], as for [`Self::record`]: what is not recorded does not leave.
    pub async fn respond(
        &self,
        call_id: &CallId,
        result: ToolResult,
    ) -> Result<Response, StoreError> {
        let given = result.stored();
        let document = Document::new(given.document().raw().clone());
        let own = marked(given.with_document_of_call(document, given.kind()));
        self.record(call_id, result).await?;
        // What is stored, so that one index serves all; it may be gone again already.
        let full = match self.get(call_id).await {
            Ok(stored) => stored,
            Err(_) => Arc::new(own),
        };
        Ok(self.response_of(call_id, full))
    }

    /// Begins a response of a result that was recorded before.
    ///
    /// # Errors
    ///
    /// [`Failure`] when there is no such result.
    pub async fn response(&self, call_id: &CallId) -> Result<Response, Failure> {
        let full = self.get(call_id).await;
        let full = full.map_err(|error| Failure::of(call_id, None, error))?;
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
    /// The call.
    #[must_use]
    pub fn call_id(&self) -> &CallId {
        &self.call_id
    }

    /// All of the result: for rules, interfaces, suggestions and storage of the host.
    #[must_use]
    pub fn full(&self) -> &StoredResult {
        &self.full
    }

    /// Shows all of the result to an observer, and gives what it made of it.
    pub fn observe<T>(
        &mut self,
        name: impl Into<String>,
        observer: impl FnOnce(&StoredResult) -> T,
    ) -> T {
        self.observed.push(name.into());
        observer(&self.full)
    }

    /// Who has observed the result, in order.
    #[must_use]
    pub fn observed(&self) -> &[String] {
        &self.observed
    }

    /// Cuts the result to what is asked for. What a call failed with is not projected.
    ///
    /// # Errors
    ///
    /// [`Failure`] when the request or the result cannot be answered or judged, as for
    /// [`Session::project`]: the error is then what leaves.
    pub async fn cut(self, options: &ProjectOptions) -> Result<Projected, Failure> {
        let whole = Unredacted::from(Stored::Result(self.full));
        let cut = self.session.cut(&self.call_id, whole, options, true).await;
        cut.inspect_err(|failure| self.session.note_told(failure))
    }

    /// Cuts the result by a protocol's own rules: `cut` sees what may be revealed of the result, and
    /// the rules that hold for its tool, and nothing else of it. What it gives is what leaves: its
    /// bytes are counted as shown.
    ///
    /// # Errors
    ///
    /// [`Failure`] when it cannot be told what may be revealed: the error is then what leaves.
    pub async fn cut_with<T: AsRef<[u8]> + Send + 'static>(
        self,
        cut: impl FnOnce(&StoredResult, &Arc<RevealRules>) -> T + Send + 'static,
    ) -> Result<T, Failure> {
        let key = LookupKey::new(&self.call_id, None);
        let whole = Unredacted::from(Stored::Result(self.full));
        let cutting = self.session.show(&key, whole, true, move |on| {
            let Stored::Result(shown) = &on.shown else {
                return Err(LookupError::unknown(on.key.call_id.clone()).into());
            };
            let left = cut(shown, on.inner.options.reveal.rules(shown.tool()));
            let showing = on.showing(on.count(left.as_ref()), false);
            Ok((left, Some(showing)))
        });
        let cut = cutting.await;
        cut.inspect_err(|failure| self.session.note_told(failure))
    }
}
