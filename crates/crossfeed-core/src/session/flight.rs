//! Calls in flight: the guard that a host holds while a call runs, and waiting for such calls.

use super::{
    Session,
    offload::{SMALL_BYTES, run_or_spawn},
};
use crate::{
    canonical::Stored,
    error::LookupError,
    flight::{self, BeginError, Entry, Outcome},
    record::ToolResult,
    resolve::{LookupKey, LookupResult, Plan},
    reveal::Unredacted,
    trace::CallTrace,
};
use bytes::Bytes;
use crossfeed_store::{Lookup, Recorded, StoreError, Tombstone};
use crossfeed_wire::{CallId, TraceContext};
use parking_lot::Mutex;
use std::{fmt, panic::catch_unwind, sync::Arc, time::Duration};
use tracing::Span;

/// A call that was begun and has not returned. While it is, references to it wait.
///
/// It is in flight until its result is recorded, by [`complete`](Self::complete),
/// [`fail`](Self::fail) or [`Session::record`]. Dropped before, it is given up: whoever waits is told
/// at once, and nothing is left behind.
///
/// ```
/// use crossfeed_core::{Engine, EngineOptions, ToolResult};
/// use crossfeed_wire::{CallId, Scope};
/// use serde_json::json;
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(async {
/// let engine = Engine::in_memory(EngineOptions::default());
/// let session = engine.session(Scope::parse("acme", "support", "conversation-42")?);
/// // Two calls of one turn, the second of which needs what the first returns.
/// let search = session.begin(&CallId::parse("call_1")?).await?.with_tool("search");
/// let fetch = session.begin(&CallId::parse("call_2")?).await?.with_tool("fetch");
/// let (found, fetched) = tokio::join!(
///     async { search.complete(ToolResult::json(r#"{"url": "https://a.example"}"#)).await },
///     async {
///         let arguments = json!({"page": {"$tool": "call_1", "$select": "url"}});
///         fetch.session().resolve(arguments, None).await
///     },
/// );
/// found?;
/// assert_eq!(fetched?.arguments, json!({"page": "https://a.example"}));
/// # fetch.fail("no such page").await?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a call that is dropped is given up"]
pub struct InFlight {
    session: Session,
    entry: Entry<Mutex<flight::Shard>>,
    tool: Option<Arc<str>>,
    repeatable: bool,
    server: Option<Arc<str>>,
    arguments: Option<Bytes>,
    trace: Arc<CallTrace>,
}

impl fmt::Debug for InFlight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InFlight")
            .field("call_id", self.entry.call_id())
            .field("tool", &self.tool)
            .finish_non_exhaustive()
    }
}

impl Session {
    /// Begins a call, so that references to it wait for its result instead of being errors.
    ///
    /// Begin all calls of a turn before any of them runs: then each may refer to any other, in
    /// whichever order they were written. Arguments are to be resolved by [`InFlight::session`], which
    /// knows which call they are for: calls that wait for each other are told so at once.
    ///
    /// All references of one call wait together, for [`EngineOptions::wait`], and not at all where one
    /// of them cannot be had: it is malformed, its selector is empty, too long or forbidden, or what it
    /// refers to is not there or failed. (What a selector finds is seen only when all is there: one that
    /// matches nothing ends no wait.) Everything else that reads a result does not wait. Calls in
    /// flight are known to this engine and its clones only: another engine over the same store, here
    /// or in another process, knows of a call when it has a result.
    ///
    /// Waiting takes the timer of the tokio runtime at hand; without a runtime, or with one that was
    /// built without [`enable_time`](tokio::runtime::Builder::enable_time), references do not wait.
    /// (Tokio says the latter by a panic, which is caught here; a panic hook hears of it. With
    /// `panic = "abort"` it cannot be caught: such a program gives its runtime a timer, or sets a wait of
    /// zero.) The deadline holds where the runtime is driven: with one that is entered, but run by nobody,
    /// references wait until the call returns or is given up. A wait that is polled when its runtime has
    /// shut down panics, as tokio's timer does.
    ///
    /// Beginning reads the id from the store, which counts as a use of what is there. Until the store
    /// has answered, the call is not in flight. A guard that is leaked ([`std::mem::forget`]) holds its
    /// id until its result is recorded or the session is [closed](Session::close).
    ///
    /// [`EngineOptions::wait`]: crate::EngineOptions::wait
    ///
    /// # Errors
    ///
    /// [`BeginError`]: the id is taken by a call in flight or by a result that is there, too many calls
    /// are in flight, or the store is away.
    pub async fn begin(&self, call_id: &CallId) -> Result<InFlight, BeginError> {
        let inner = self.inner();
        let is_recorded = async {
            let found = inner.store.get(&self.scope, call_id).await?;
            Ok(matches!(found, Lookup::Found(_)))
        };
        let limit = inner.options.max_in_flight;
        let flights = &inner.flights;
        let entry = flights.begin(&self.scope, call_id, limit, is_recorded);
        let entry = entry.await?;
        let trace = Arc::new(CallTrace::begin(call_id, inner.options.telemetry.clone()));
        entry.trace(&trace);
        let mut session = self.clone();
        session.actor = Some(entry.actor().clone());
        session.call = Arc::downgrade(&trace);
        Ok(InFlight {
            session,
            entry,
            tool: None,
            repeatable: false,
            server: None,
            arguments: None,
            trace,
        })
    }

    /// What a plan wants, each in its place. What is in flight is waited for.
    pub(super) async fn find_all(&self, plan: &Plan) -> Vec<LookupResult> {
        // Artifacts are not in flight.
        let results = plan.wanted.iter().map(|wanted| match wanted.artifact_id {
            None => Some(&wanted.call_id),
            Some(_) => None,
        });
        let wanted: Vec<_> = results.collect();
        let wait = self.inner().options.wait;
        let mut waiting = None;
        let timer = || {
            let timer = self.can_come_true(plan).then(|| timer(wait)).flatten();
            if timer.is_some() {
                waiting = Some(tracing::debug_span!(target: "crossfeed::wait", "crossfeed.wait"));
            }
            timer
        };
        let find = |place: usize, outcome| self.find_landed(&plan.wanted[place], outcome);
        let dooms = |looked: &LookupResult| judge(looked.as_ref().map(Unredacted::as_stored));
        let flights = &self.inner().flights;
        let actor = self.actor.as_ref();
        let looked =
            flight::look_up(flights, &self.scope, actor, &wanted, timer, find, dooms).await;
        // It ends with the wait.
        drop(waiting);
        looked
    }

    /// Whether the references of a plan are not at fault for what they are, whatever they refer to.
    fn can_come_true(&self, plan: &Plan) -> bool {
        let options = &self.inner().options.select;
        let selectors = plan.references.iter();
        let mut selectors = selectors.filter_map(|planned| planned.reference.select.as_deref());
        plan.malformed.is_empty() && !selectors.any(|selector| options.refuses(selector))
    }

    /// What is wanted of a call that was not in flight, or that was waited for.
    async fn find_landed(&self, wanted: &LookupKey, outcome: Option<Outcome>) -> LookupResult {
        let call_id = wanted.call_id.clone();
        match outcome {
            None | Some(Outcome::Completed) => self.find_wanted(wanted).await,
            Some(Outcome::GivenUp(tombstone)) => match self.find_wanted(wanted).await {
                Err(LookupError::Unknown { .. }) => {
                    let reveal = &self.inner().options.reveal;
                    let tombstone = reveal.without_arguments(tombstone);
                    Err(LookupError::GivenUp { call_id, tombstone })
                }
                looked => looked,
            },
            Some(Outcome::Cycle(round)) => {
                let path = round.path();
                Err(LookupError::Cycle { call_id, path })
            }
            Some(Outcome::TimedOut) => {
                let waited = Some(self.inner().options.wait);
                self.find_recorded(call_id, waited).await
            }
            Some(Outcome::Aborted) => self.find_recorded(call_id, None).await,
        }
    }

    /// The result of a call in flight, which another engine over the same store may have recorded.
    async fn find_recorded(&self, call_id: CallId, waited: Option<Duration>) -> LookupResult {
        match self.find_stored(&call_id).await {
            Ok(result) => Ok(Stored::Result(result).into()),
            Err(_) => Err(LookupError::Pending { call_id, waited }),
        }
    }
}

/// Whether what was found keeps a call from running.
fn judge(found: Result<&Stored, &LookupError>) -> impl Future<Output = bool> + use<> {
    let found = found.ok().cloned();
    async move {
        match found {
            None => true,
            Some(Stored::Artifact(_)) => false,
            Some(Stored::Result(result)) => {
                let is_small = result.failed() || result.document().raw().len() <= SMALL_BYTES;
                run_or_spawn(is_small, move || Stored::Result(result).failure().is_some()).await
            }
        }
    }
}

/// The end of a wait, where there is a timer.
fn timer(wait: Duration) -> Option<tokio::time::Sleep> {
    if wait.is_zero() || tokio::runtime::Handle::try_current().is_err() {
        return None;
    }
    // There is no other way to ask a runtime whether it has a timer.
    catch_unwind(|| tokio::time::sleep(wait)).ok()
}

impl InFlight {
    /// Names the tool that is called, so that an error can name it.
    pub fn with_tool(mut self, tool: impl Into<Arc<str>>) -> Self {
        let tool = tool.into();
        self.trace.name_tool(&tool);
        self.tool = Some(tool);
        self.described()
    }

    /// Names the server that the tool is of, as [`ToolResult::with_server`].
    pub fn with_server(mut self, server: impl Into<Arc<str>>) -> Self {
        self.server = Some(server.into());
        self
    }

    /// Makes the span of the call the child of one elsewhere: what a client sent as `traceparent`. To be
    /// said first of all, and once; the span keeps the parent that it has once anything was done for the
    /// call.
    pub fn with_parent(self, parent: &TraceContext) -> Self {
        self.trace.adopt(parent);
        self
    }

    /// The span of the call, to run the tool in. It ends when this guard is dropped, or the last clone
    /// of the span.
    #[must_use]
    pub fn span(&self) -> &Span {
        &self.trace.span
    }

    /// Where in a trace the call stands: what the tool is to be sent as `traceparent`. Where the span goes
    /// nowhere, or there is no [`EngineOptions::telemetry`](crate::EngineOptions::telemetry) that knows,
    /// it is the [parent](Self::with_parent) itself, which is so passed on.
    ///
    /// From then on the span has its name: [name the tool](Self::with_tool) before.
    #[must_use]
    pub fn trace_context(&self) -> Option<TraceContext> {
        self.trace.context()
    }

    /// Says whether the call may be made again without harm, see
    /// [`ToolResult::with_repeatable`]. Unless this says so, no advice is to make it again.
    pub fn with_repeatable(mut self, repeatable: bool) -> Self {
        self.repeatable = repeatable;
        self.described()
    }

    /// Keeps the arguments of the call as raw JSON, so that an error can say how to make it again. Arguments of
    /// more than 4 KiB are not kept: no error says them.
    pub fn with_arguments(mut self, arguments: impl Into<Bytes>) -> Self {
        let arguments = arguments.into();
        self.arguments = Some(arguments).filter(|own| own.len() <= Tombstone::MAX_ARGUMENTS);
        self.described()
    }

    fn described(self) -> Self {
        let tombstone = Tombstone::new(self.tool.clone(), self.arguments.as_deref())
            .with_repeatable(self.repeatable);
        self.entry.describe(tombstone);
        self
    }

    /// The id of the call.
    #[must_use]
    pub fn call_id(&self) -> &CallId {
        self.entry.call_id()
    }

    /// The session in which the call runs, on its behalf: what is resolved by it waits for this call's
    /// sake.
    #[must_use]
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Records what the call returned: from then on it is no longer in flight, and whoever waits for
    /// it goes on. Where the result does not say its tool and arguments, they are added, and it is
    /// repeatable if the call is.
    ///
    /// # Errors
    ///
    /// [`StoreError`], as for [`Session::record`]. The call is then still in flight, so that this may
    /// be tried again, or the call [fail](Self::fail); or dropped, and so given up. Not so with
    /// [`StoreError::Duplicate`]: the id has another result, so that the call is in flight no longer, or
    /// it is that of a later call in flight, of which nothing is changed.
    pub async fn complete(&self, result: ToolResult) -> Result<Recorded, StoreError> {
        let result = self.named(result);
        self.session.record(self.call_id(), result).await
    }

    /// Records that the call failed: references to it are then refused with this message.
    ///
    /// # Errors
    ///
    /// [`StoreError`], as for [`Self::complete`].
    pub async fn fail(&self, message: impl Into<String>) -> Result<Recorded, StoreError> {
        self.complete(ToolResult::text(message).failed()).await
    }

    /// The result with what is known of the call.
    fn named(&self, result: ToolResult) -> ToolResult {
        let repeatable = result.stored().repeatable() || self.repeatable;
        result.with_repeatable(repeatable).with_unsaid(
            self.tool.clone(),
            self.server.clone(),
            self.arguments.clone(),
        )
    }
}
