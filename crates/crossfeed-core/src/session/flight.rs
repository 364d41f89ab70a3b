//! The guard that a host holds while a call is in flight, and waiting for such calls.

use super::{
    Session,
    elsewhere::PlanElsewhere,
    offload::{SMALL_BYTES, run_or_spawn},
};
use crate::{
    canonical::{StoredItem, failure},
    error::LookupError,
    flight::{self, BeginError, Entry, Lease, WaitOutcome},
    record::ToolResult,
    resolve::{LookupKey, LookupResult, Plan},
    reveal::UnredactedItem,
    select::paths_of,
    trace::CallTrace,
};
use bytes::Bytes;
use crossfeed_store::{Lookup, PathStep, Recorded, StoreError, Tombstone};
use crossfeed_wire::{CallId, TraceContext};
use parking_lot::Mutex;
use std::{fmt, sync::Arc};
use tracing::Span;

/// The most paths into one result with which an excerpt may be enough.
const MAX_PATHS: usize = 256;

/// A call in flight, which references to it wait for.
///
/// It is in flight until its result is recorded, by [`complete`](Self::complete), [`fail`](Self::fail) or
/// [`Session::record`]. Dropping it before gives it up: waits end at once, and nothing is left behind.
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
    /// Begins a call, so that references to it wait for its result instead of failing.
    ///
    /// Begin all calls of a turn before any of them runs: then each may refer to any other, in any order. Resolve their
    /// arguments by [`InFlight::session`], which knows the call: calls that wait for each other then fail at once.
    ///
    /// All references of one call wait together, for [`EngineOptions::wait`], and not at all if one of them must fail:
    /// it is malformed, its selector is empty, too long or forbidden, or its result is missing or failed. (Selectors run
    /// only when all results are there: one that matches nothing does not end a wait.) Nothing else that reads a result
    /// waits.
    ///
    /// # Several processes
    ///
    /// Over a store that has [leases](crossfeed_store::ResultStore::leases), other engines, here or in other processes,
    /// know the call as well: no other can begin it, and references wait for it there. A task on the current tokio
    /// runtime renews the lease while the call is in flight; without a driven runtime that has a timer the lease lapses,
    /// and other processes count the call as given up. A call whose lease has lapsed may still return: the first result
    /// counts. Over any other store, another engine knows a call once it has a result.
    ///
    /// # Waiting
    ///
    /// Waiting uses the timer of the current tokio runtime; without a runtime, or with one built without
    /// [`enable_time`](tokio::runtime::Builder::enable_time), references do not wait. (In the latter case tokio panics;
    /// the panic is caught here, but reaches a panic hook. With `panic = "abort"` it cannot be caught: such a program
    /// gives its runtime a timer, or sets a wait of zero.) The deadline needs a runtime that is driven: with one that is
    /// only entered, references wait until the call returns or is given up. A wait that is polled after its runtime has
    /// shut down panics, as tokio's timer does.
    ///
    /// # Beginning
    ///
    /// Beginning reads the id from the store, which counts as a use of its result, or acquires its lease. Until the store has answered, the
    /// call is not in flight. A guard that is leaked ([`std::mem::forget`]) holds its id until its result is recorded or
    /// the session is [closed](Session::close).
    ///
    /// [`EngineOptions::wait`]: crate::EngineOptions::wait
    ///
    /// # Errors
    ///
    /// [`BeginError`]: the id is taken by a call in flight or by a result, too many calls are in flight, or the store is
    /// unavailable.
    pub async fn begin(&self, call_id: &CallId) -> Result<InFlight, BeginError> {
        let inner = self.inner();
        let is_taken = async {
            if let Some(leases) = &inner.leases {
                // Boxed, so that beginning without leases is not larger for it.
                let acquired = Box::pin(leases.acquire(&self.scope, call_id));
                return Ok(!acquired.await?);
            }
            let found = inner.store.get(&self.scope, call_id).await?;
            Ok(matches!(found, Lookup::Found(_)))
        };
        let limit = inner.options.max_in_flight;
        let lease = inner.leases.as_ref().map(Lease::new);
        let beginning = inner
            .flights
            .begin(&self.scope, call_id, limit, lease, is_taken);
        let entry = beginning.await?;
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

    /// Looks up all that a plan wants, in order, and waits for calls in flight.
    pub(super) async fn find_all<'p>(&self, plan: &'p Plan) -> Vec<LookupResult> {
        // Artifacts and inputs are not in flight.
        let call_id = |key: &'p LookupKey| {
            let is_result = key.artifact_id.is_none() && key.input.is_none();
            is_result.then_some(&key.call_id)
        };
        let wanted: Vec<_> = plan.wanted.iter().map(call_id).collect();
        let wait = self.inner().options.wait;
        let mut waiting = None;
        let timer = || {
            let timer = self
                .can_come_true(plan)
                .then(|| flight::timer(wait))
                .flatten();
            if timer.is_some() {
                waiting = Some(tracing::debug_span!(target: "crossfeed::wait", "crossfeed.wait"));
            }
            timer
        };
        let find = |place: usize, outcome| self.find_landed(plan, place, outcome);
        let dooms = |looked: &LookupResult| judge(looked.as_ref().map(UnredactedItem::as_stored));
        let flights = &self.inner().flights;
        let (scope, actor) = (&self.scope, self.actor.as_ref());
        let elsewhere = PlanElsewhere {
            session: self,
            plan,
        };
        let looked = flight::look_up(
            flights, scope, actor, &wanted, timer, find, dooms, &elsewhere,
        )
        .await;
        // The span ends with the wait.
        drop(waiting);
        looked
    }

    /// Whether the references of a plan can succeed, depending on their results.
    fn can_come_true(&self, plan: &Plan) -> bool {
        let options = &self.inner().options.select;
        let selectors = plan.references.iter();
        let mut selectors = selectors.filter_map(|planned| planned.reference.select.as_deref());
        plan.malformed.is_empty() && !selectors.any(|selector| options.refuses(selector))
    }

    /// The paths that all references to a result follow; `None` if one needs more.
    fn paths_into(&self, plan: &Plan, place: usize) -> Option<Vec<Vec<PathStep>>> {
        let mut paths = Vec::new();
        let mut references = plan.references.iter();
        while let Some(planned) = references.find(|planned| planned.wanted == place) {
            let reference = &planned.reference;
            let select = reference
                .select
                .as_deref()
                .filter(|_| reference.repair.is_none())?;
            paths.extend(paths_of(&self.inner().selectors, select)?);
            if paths.len() > MAX_PATHS {
                return None;
            }
        }
        Some(paths)
    }

    /// The result of a call that was not in flight, or was waited for.
    async fn find_landed(
        &self,
        plan: &Plan,
        place: usize,
        outcome: Option<WaitOutcome>,
    ) -> LookupResult {
        let wanted = &plan.wanted[place];
        let paths = || self.paths_into(plan, place).unwrap_or_default();
        let call_id = wanted.call_id.clone();
        let options = &self.inner().options;
        let waited = match outcome {
            None | Some(WaitOutcome::Completed) => {
                return self.find_wanted(wanted, Some(&paths)).await;
            }
            Some(WaitOutcome::GivenUp(tombstone)) => {
                let found = self.find_wanted(wanted, Some(&paths)).await;
                // In flight again, or not known to be over where nothing has told the store.
                let is_missing = |error: &LookupError| {
                    error.is_without_result()
                        || matches!(error, LookupError::PendingElsewhere { .. })
                };
                if !found.as_ref().is_err_and(is_missing) {
                    return found;
                }
                let tombstone = options.reveal.without_arguments(tombstone);
                return Err(LookupError::GivenUp { call_id, tombstone });
            }
            Some(WaitOutcome::Cycle(cycle)) => {
                let path = cycle.path();
                return Err(LookupError::Cycle { call_id, path });
            }
            Some(WaitOutcome::TimedOut) => Some(options.wait),
            Some(WaitOutcome::Aborted) => None,
        };
        // Another engine over the same store may have recorded the result.
        let found = self.find_wanted(wanted, Some(&paths)).await;
        found.map_err(|_| LookupError::Pending { call_id, waited })
    }
}

/// Whether a look-up keeps a call from running.
fn judge(found: Result<&StoredItem, &LookupError>) -> impl Future<Output = bool> + use<> {
    let found = found.ok().cloned();
    async move {
        match found {
            None => true,
            Some(StoredItem::Artifact(_)) => false,
            Some(StoredItem::Result(result)) => {
                let is_small = result.failed() || result.document().raw().len() <= SMALL_BYTES;
                run_or_spawn(is_small, move || failure(&result).is_some()).await
            }
        }
    }
}

impl InFlight {
    /// Names the tool that is called, so that an error can name it.
    pub fn with_tool(mut self, tool: impl Into<Arc<str>>) -> Self {
        let tool = tool.into();
        self.trace.name_tool(&tool);
        self.tool = Some(tool);
        self.described()
    }

    /// Names the tool's server, as [`ToolResult::with_server`].
    pub fn with_server(mut self, server: impl Into<Arc<str>>) -> Self {
        self.server = Some(server.into());
        self
    }

    /// Makes the span of the call the child of a remote one: what a client sent as `traceparent`. Call this first, and
    /// once; after anything else was done for the call, the span keeps its parent.
    pub fn with_parent(self, parent: &TraceContext) -> Self {
        self.trace.adopt(parent);
        self
    }

    /// The span of the call, to run the tool in. It ends when this guard and all clones of the span are dropped.
    pub fn span(&self) -> &Span {
        &self.trace.span
    }

    /// The context of the call in a trace, to send to the tool as `traceparent`. If the span is not exported, or
    /// [`EngineOptions::telemetry`](crate::EngineOptions::telemetry) does not know it, this is the
    /// [parent](Self::with_parent).
    ///
    /// This fixes the name of the span: [name the tool](Self::with_tool) before.
    pub fn trace_context(&self) -> Option<TraceContext> {
        self.trace.context()
    }

    /// Sets whether the call can be repeated without harm, see [`ToolResult::with_repeatable`]. By default no error
    /// advises to repeat it.
    pub fn with_repeatable(mut self, repeatable: bool) -> Self {
        self.repeatable = repeatable;
        self.described()
    }

    /// Keeps the arguments of the call as raw JSON, so that an error can say how to repeat it. Arguments of more than
    /// 4 KiB are not kept.
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
    pub fn call_id(&self) -> &CallId {
        self.entry.call_id()
    }

    /// The session of the call: what it resolves waits on behalf of this call.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Records what the call returned: it is no longer in flight, and waits for it end. A result without tool, server
    /// and arguments gets the call's, and it is repeatable if the call is.
    ///
    /// # Errors
    ///
    /// [`StoreError`], as for [`Session::record`]. The call is then still in flight, so this can be tried again, or the
    /// call can [fail](Self::fail) or be dropped, which gives it up. The exception is [`StoreError::Duplicate`]: the id
    /// has another result, and the call is no longer in flight, or a later call in flight has taken over the id.
    pub async fn complete(&self, result: ToolResult) -> Result<Recorded, StoreError> {
        let repeatable = result.stored().repeatable() || self.repeatable;
        let (tool, server) = (self.tool.clone(), self.server.clone());
        let result =
            result
                .with_repeatable(repeatable)
                .with_unsaid(tool, server, self.arguments.clone());
        self.session.record(self.call_id(), result).await
    }

    /// Records that the call failed: references to it then fail with this message.
    ///
    /// # Errors
    ///
    /// [`StoreError`], as for [`Self::complete`].
    pub async fn fail(&self, message: impl Into<String>) -> Result<Recorded, StoreError> {
        self.complete(ToolResult::text(message).failed()).await
    }
}
