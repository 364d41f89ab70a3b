//! The session: composes the stages, looks up results in the store, and waits for calls.

mod advise;
mod artifacts;
mod correct;
mod cost;
#[cfg(test)]
mod edit_tests;
mod elsewhere;
#[cfg(test)]
mod elsewhere_tests;
mod flight;
#[cfg(test)]
mod flight_tests;
#[cfg(test)]
mod input_tests;
mod inputs;
mod job;
mod json;
#[cfg(test)]
mod laws;
mod look_up;
mod near;
#[cfg(test)]
mod near_laws;
#[cfg(test)]
mod near_tests;
mod offload;
#[cfg(test)]
mod part_laws;
mod project;
#[cfg(test)]
mod project_tests;
mod read_back;
mod render;
mod respond;
mod retrieve;
mod retrieved;
#[cfg(test)]
mod reveal_laws;
mod select;
#[cfg(test)]
mod tests;
mod usage;
#[cfg(test)]
mod withheld_tests;
mod withhold;
mod work;

pub use cost::arguments_cost;
pub use flight::InFlight;
pub use json::ResolvedJson;
pub use respond::Response;
pub use retrieve::Retrieval;
pub use retrieved::Retrieved;

use self::{
    job::{ResolveJob, ResolveOutcome},
    offload::{compile, is_small, run_or_spawn},
};
use crate::{
    account::SessionUsage,
    canonical::marked,
    engine::{Engine, Inner},
    error::ReferenceStyle,
    failure::{Failure, ResolveError},
    flight::CallHandle,
    input::Inputs,
    latest::same_call,
    lineage::LineageEntry,
    notices::{Notices, Reader},
    record::ToolResult,
    resolve::{Notation, Plan},
    select::SelectReport,
    tool::PreparedTool,
    trace::{CallTrace, RecordTrace, ResolutionTrace},
    validate::{InputSchema, TypeRepair},
};
use crossfeed_jmespath::Memory;
use crossfeed_json::dismantle;
use crossfeed_projection::{Diagnostics, ProjectionRequest};
use crossfeed_store::{Lookup, Recorded, StoreError, StoredArtifact, StoredResult};
use crossfeed_tools::TakenProjection;
use crossfeed_wire::{CallId, Scope};
use serde_json::Value;
use std::{
    cell::Cell,
    fmt,
    pin::{Pin, pin},
    sync::{Arc, Weak},
};
use tracing::Instrument as _;

/// The scope of call ids. Cloning is cheap; any number of calls may use it at once.
///
/// # Cancellation
///
/// Every future may be dropped at any time: a result is then recorded as a whole or not at all, and a resolution leaves
/// nothing behind, not even in the sums of [`Session::usage`].
#[derive(Clone, Debug)]
#[must_use]
pub struct Session {
    engine: Engine,
    scope: Scope,
    /// The call in flight on whose behalf this session works.
    actor: Option<CallHandle>,
    /// Its trace, while it is in flight.
    call: Weak<CallTrace>,
    /// Charged for what selectors build.
    memory: Option<Arc<dyn Memory>>,
    /// What counts as a reference.
    notation: Notation,
    /// Whether no id is offered, or taken for one that is near it.
    hides_ids: bool,
    /// Which ids may have been given; every one if absent.
    id_check: Option<IdCheck>,
    /// Reads files and resources; without it references to them are refused.
    inputs: Option<SharedInputs>,
}

/// What reads the inputs of a session.
#[derive(Clone)]
struct SharedInputs(Arc<dyn Inputs>);

impl fmt::Debug for SharedInputs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedInputs")
    }
}

/// Tells ids that may have been given from others.
#[derive(Clone)]
struct IdCheck(Arc<dyn Fn(&CallId) -> bool + Send + Sync>);

impl fmt::Debug for IdCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("IdCheck")
    }
}

/// Arguments with every reference replaced: as a value, or as [JSON](ResolvedJson).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Resolved<A = Value> {
    /// The arguments for the tool.
    pub arguments: A,
    /// The call that each argument came from, in the order in which they were put.
    pub lineage: Vec<LineageEntry>,
    /// Types that were repaired for the tool's schema, except within values that are partly withheld.
    pub repairs: Vec<TypeRepair>,
    /// The model's request for the result, by parameters that were added when the tool was listed: for the
    /// [cut](Response::cut). `None` without a request.
    pub projection: Option<ProjectionRequest>,
    /// Whether the model asked for the whole result, by another such parameter.
    pub whole: bool,
    /// The parts of the request that were ignored.
    pub diagnostics: Diagnostics,
}

impl<A> Resolved<A> {
    fn new(arguments: A, lineage: Vec<LineageEntry>, repairs: Vec<TypeRepair>) -> Self {
        Self {
            arguments,
            lineage,
            repairs,
            projection: None,
            whole: false,
            diagnostics: Diagnostics::default(),
        }
    }

    /// What the model should hear beside the call's result: a line for each thing that was read otherwise than it
    /// was written, was ignored, or selected nothing. The same slip has the same words each time.
    pub fn notices(&self) -> Notices {
        self.noticed(Reader::Model)
    }

    /// The same for a log, without payload.
    pub fn masked_notices(&self) -> Notices {
        self.noticed(Reader::Log)
    }

    fn noticed(&self, reader: Reader) -> Notices {
        Notices::of_call(&self.lineage, &self.repairs, &self.diagnostics, reader)
    }

    /// Adds the model's request for the result.
    fn asking(mut self, asked: TakenProjection) -> Self {
        self.projection = Some(asked.request).filter(|request| !request.is_unsaid());
        self.whole = asked.whole;
        self.diagnostics = asked.diagnostics;
        self
    }
}

/// A selected value as bytes.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Selected {
    /// The value as JSON, with the original bytes of parts of the result.
    pub json: Vec<u8>,
    /// How it was found.
    pub report: SelectReport,
}

impl Selected {
    /// What the model should hear of the selector that it wrote.
    pub fn notices(&self, written: &str) -> Notices {
        Notices::of_selection(written, &self.report)
    }
}

impl Engine {
    /// A session: the scope of call ids.
    pub fn session(&self, scope: Scope) -> Session {
        Session {
            engine: self.clone(),
            scope,
            actor: None,
            call: Weak::new(),
            memory: None,
            notation: Notation::Near,
            hides_ids: false,
            id_check: None,
            inputs: None,
        }
    }
}

impl Session {
    /// Counts nothing but exact references, for programs, which write what they mean. By default texts and objects
    /// that name a call of the session as models do are references, too: `{{call_1.items[0].url}}`.
    pub fn with_exact_references(mut self) -> Self {
        self.notation = Notation::Exact;
        self
    }

    /// Offers no id of the session in place of an unknown one, and takes none for one that is near it: for a scope that
    /// several callers share who must not learn of each other's calls.
    pub fn with_hidden_ids(mut self) -> Self {
        self.hides_ids = true;
        self
    }

    /// Takes every id for unknown for which this is false, whatever the store has: for ids that carry a signature, and
    /// those that were signed with a key which does not count any more.
    pub fn with_id_check(
        mut self,
        may_be: impl Fn(&CallId) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.id_check = Some(IdCheck(Arc::new(may_be)));
        self
    }

    /// Lets references name files and resources (`$file`, `$resource`), which this reads. Without it they are refused.
    pub fn with_inputs(mut self, inputs: Arc<dyn Inputs>) -> Self {
        self.inputs = Some(SharedInputs(inputs));
        self
    }

    /// Sets a memory that is charged before selectors build values and arguments are written; when it is exhausted, a
    /// call is refused with `limit.exceeded`. The first 64 KiB of each piece of work are not charged.
    pub fn with_memory(mut self, memory: Arc<dyn Memory>) -> Self {
        self.memory = Some(memory);
        self
    }

    /// The scope.
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    fn inner(&self) -> &Arc<Inner> {
        self.engine.inner()
    }

    /// Records a tool's result. Repeating it is a no-op. A call in flight with this id has then returned.
    ///
    /// # Errors
    ///
    /// [`StoreError`]: the id is taken by another result, the result exceeds the limits, or the store is unavailable;
    /// never because of the result's content. The same result of another tool is another result if that tool's
    /// rules hide more, because the rules of the tool recorded first apply.
    pub async fn record(
        &self,
        call_id: &CallId,
        result: ToolResult,
    ) -> Result<Recorded, StoreError> {
        let result = marked(result.into_stored());
        let mine = self.actor.as_ref().map(CallHandle::call_id) == Some(call_id);
        let call = if mine {
            self.call.upgrade()
        } else {
            self.inner().flights.trace(&self.scope, call_id)
        };
        let trace = RecordTrace::begin(call_id, &result, call);
        let result = trace.placed(result, self.inner().telemetry());
        let recording = self.put(call_id, result);
        let recorded = recording.instrument(trace.span.clone()).await;
        trace.end(&recorded);
        recorded
    }

    /// Stores a result, then removes the call from those in flight. Refuses what a call returns on its own behalf if
    /// another call with its id is in flight.
    async fn put(&self, call_id: &CallId, result: StoredResult) -> Result<Recorded, StoreError> {
        let (flights, scope) = (&self.inner().flights, &self.scope);
        let actor = self
            .actor
            .as_ref()
            .filter(|actor| actor.call_id() == call_id);
        if actor.is_some_and(|actor| flights.is_superseded(scope, actor)) {
            return Err(duplicate(call_id));
        }
        let stored = self.store(call_id, result);
        let is_there = |error: &StoreError| matches!(error, StoreError::Duplicate { .. });
        flights
            .complete(scope, call_id, actor, stored, is_there)
            .await
    }

    async fn store(&self, call_id: &CallId, result: StoredResult) -> Result<Recorded, StoreError> {
        let Inner { store, options, .. } = &**self.inner();
        let reveal = &options.reveal;
        let tool = result.tool().filter(|_| reveal.hides()).map(str::to_owned);
        let latest = self.inner().latest.as_ref().filter(|_| !self.hides_ids);
        let later = latest.and_then(|latest| Some((latest, same_call(&self.scope, &result)?)));
        let recorded = store.put(&self.scope, call_id, result).await?;
        if let (Recorded::New, Some((latest, call))) = (recorded, later) {
            latest.note(call, call_id);
        }
        if recorded == Recorded::Unchanged
            && tool.is_some()
            && let Lookup::Found(first) = store.get(&self.scope, call_id).await?
            && !reveal.covers(first.tool(), tool.as_deref())
        {
            return Err(duplicate(call_id));
        }
        Ok(recorded)
    }

    /// Records an artifact: full data that outlives the result it was made from.
    ///
    /// # Errors
    ///
    /// [`StoreError`], as for [`Self::record`].
    pub async fn record_artifact(&self, artifact: StoredArtifact) -> Result<Recorded, StoreError> {
        self.inner().store.put_artifact(&self.scope, artifact).await
    }

    /// Replaces every reference in the arguments of a call, then validates them by the tool's own schema.
    ///
    /// Arguments without references are walked over once and returned unchanged. Results are looked up all at once;
    /// those of calls in flight are waited for ([`Self::begin`]). On a tokio runtime, work that may be large moves to
    /// blocking threads; small are up to 16 references without selectors or with plain paths, to up to 64 KiB of
    /// results, or 8 KiB where a tokenizer counts them.
    ///
    /// # Errors
    ///
    /// [`ResolveError`] holds all failures, each with its place in the arguments. The call must not run.
    pub async fn resolve(
        &self,
        arguments: Value,
        schema: Option<&InputSchema>,
    ) -> Result<Resolved, ResolveError> {
        let resolving = pin!(self.resolved(arguments, schema, ReferenceStyle::default()));
        self.traced(None, resolving).await
    }

    /// Traces a resolution, measures it, and counts its error. The future is pinned in place: it is large, and moving
    /// it takes as long as walking over small arguments.
    async fn traced<A>(
        &self,
        tool: Option<&str>,
        resolving: Pin<&mut impl Future<Output = Result<Resolved<A>, ResolveError>>>,
    ) -> Result<Resolved<A>, ResolveError> {
        let trace = ResolutionTrace::begin(self.call.upgrade(), tool);
        let resolved = resolving.instrument(trace.span.clone()).await;
        let telemetry = self.inner().telemetry();
        match &resolved {
            Ok(resolved) => trace.resolved(&resolved.lineage, resolved.repairs.len(), telemetry),
            Err(error) => {
                self.note_failure(error);
                trace.refused(error, telemetry);
            }
        }
        resolved
    }

    /// The same without a trace.
    async fn resolved(
        &self,
        arguments: Value,
        schema: Option<&InputSchema>,
        spelling: ReferenceStyle,
    ) -> Result<Resolved, ResolveError> {
        let schema_value = schema.map(InputSchema::as_value);
        let plan = match Plan::new(&arguments, schema_value, self.notation) {
            Ok(plan) => plan.spelled(spelling),
            Err(error) => {
                dismantle(arguments);
                return Err(error.into());
            }
        };
        if plan.is_empty() && schema.is_none() {
            return Ok(Resolved::new(arguments, Vec::new(), Vec::new()));
        }
        // Boxed, so that arguments without references need not move what is larger than they are.
        let executed = self.execute_plan(plan, schema, arguments, true, ResolveJob::resolve);
        Box::pin(executed).await
    }

    /// Looks up the results of a plan, then runs the rest here or on a blocking thread. `is_short`: the arguments are.
    async fn execute_plan<W: Clone + Send + 'static, A: Send + 'static>(
        &self,
        mut plan: Plan,
        schema: Option<&InputSchema>,
        arguments: W,
        is_short: bool,
        resolve: fn(&ResolveJob, W) -> ResolveOutcome<A>,
    ) -> Result<Resolved<A>, ResolveError> {
        if let Err(error) = self.settle(&mut plan).await {
            let at = plan.near_places().next().cloned().unwrap_or_default();
            return Err(ResolveError::new(vec![Failure::new(at, error)]));
        }
        plan.check(self.inner().options.max_references)?;
        let is_slow = !is_short || schema.is_some_and(InputSchema::is_slow);
        let mut looked = Vec::new();
        if !plan.wanted.is_empty() {
            looked = self.find_all(&plan).await;
            self.offer(&mut looked).await;
        }
        let mut job = ResolveJob {
            inner: Arc::clone(self.inner()),
            scope: self.scope.clone(),
            plan,
            looked,
            schema: schema.cloned(),
            small: false,
            tells_ids: !self.hides_ids,
            memory: self.memory.clone(),
            needs_whole: Cell::new(false),
        };
        let excerpts: Vec<usize> = job.excerpts().collect();
        let again = (!excerpts.is_empty()).then(|| arguments.clone());
        let mut outcome;
        (job, outcome) = self.run_job(job, arguments, is_slow, resolve).await;
        if let Some(arguments) = again
            && (job.needs_whole.get() || outcome.is_refused())
        {
            for number in excerpts {
                job.looked[number] = self.find_wanted(&job.plan.wanted[number], None).await;
            }
            (_, outcome) = self.run_job(job, arguments, is_slow, resolve).await;
        }
        let mut resolved = outcome.record_usage(|| self.account());
        if let Err(error) = &mut resolved {
            self.complete_corrections(error, schema).await;
        }
        resolved
    }

    /// Runs a resolution here or on a blocking thread.
    async fn run_job<W: Send + 'static, A: Send + 'static>(
        &self,
        mut job: ResolveJob,
        arguments: W,
        is_slow: bool,
        resolve: fn(&ResolveJob, W) -> ResolveOutcome<A>,
    ) -> (ResolveJob, ResolveOutcome<A>) {
        let is_counted = self.inner().options.context.tokens.is_exact_for(1);
        job.small = !is_slow && is_small(&job.plan, &job.looked, is_counted);
        let (job, outcome, grown) = run_or_spawn(job.small, move || {
            let before = job.resident_bytes();
            let outcome = resolve(&job, arguments);
            let grown = job.grown(&before);
            (job, outcome, grown)
        })
        .await;
        self.measure(&grown).await;
        (job, outcome)
    }

    /// Reads the arguments of a call back from the schema that the model was shown, then resolves and validates them:
    /// [`Self::resolve`] by the tool's own names and schema. The model's request for the result, by parameters that
    /// were added to the tool's own, is removed first.
    ///
    /// # Errors
    ///
    /// [`ResolveError`], as for [`Self::resolve`]. In addition, what cannot be read back, and `schema.invalid` for a
    /// call with references to a tool whose own schema is invalid.
    ///
    /// ```
    /// use crossfeed_core::{Engine, EngineOptions, ToolResult};
    /// use crossfeed_tools::{ListOptions, Style, ToolList, rewrite_tools};
    /// use crossfeed_wire::{CallId, Scope};
    /// use serde_json::json;
    ///
    /// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
    /// let tools = json!([{"name": "fetch", "inputSchema": {
    ///     "type": "object", "properties": {"url": {"type": "string"}}, "required": ["url"],
    /// }}]);
    /// let listed = rewrite_tools(&ToolList::parse(&tools)?, &ListOptions::style(Style::Refs));
    /// let engine = Engine::in_memory(EngineOptions::default());
    /// let fetch = engine.prepare(listed.find("fetch").ok_or("no such tool")?.clone());
    ///
    /// let session = engine.session(Scope::parse("acme", "support", "conversation-42")?);
    /// session.record(&CallId::parse("call_1")?, ToolResult::json(r#"{"url": "https://a.example"}"#)).await?;
    /// let arguments = json!({"url": null, "_refs": {"url": {"_tool": "call_1", "_select": "url"}}});
    /// let resolved = session.resolve_call(&fetch, arguments).await?;
    /// assert_eq!(resolved.arguments, json!({"url": "https://a.example"}));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub async fn resolve_call(
        &self,
        tool: &PreparedTool,
        arguments: Value,
    ) -> Result<Resolved, ResolveError> {
        let resolving = async {
            let mut arguments = arguments;
            let asked = tool.listed().take_projection(&mut arguments);
            compile(tool).await;
            let (arguments, schema) = tool.read(arguments)?;
            let resolved = self
                .resolved(arguments, schema, ReferenceStyle::of(tool.listed()))
                .await?;
            tool.admit(&resolved.lineage)?;
            Ok(resolved.asking(asked))
        };
        self.traced(Some(tool.listed().name()), pin!(resolving))
            .await
    }

    fn account(&self) -> Arc<SessionUsage> {
        self.inner().accounts.open(&self.scope)
    }

    /// Counts an error that the model sees.
    fn note_failure(&self, error: &impl fmt::Display) {
        let tokens = &self.inner().options.context.tokens;
        self.account().fail(tokens.count(&error.to_string()));
    }
}

fn duplicate(call_id: &CallId) -> StoreError {
    StoreError::Duplicate {
        call_id: call_id.clone(),
    }
}
