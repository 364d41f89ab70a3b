//! The session: composes the stages, holds the store, and alone is async.

mod advise;
mod artifacts;
#[cfg(test)]
mod laws;
mod look_up;
mod retrieve;
mod show;
mod size;
mod suggest;
#[cfg(test)]
mod tests;
mod usage;
mod work;

use self::{
    size::{SMALL_BYTES, is_plain_path, is_small, run},
    work::Work,
};
use crate::{
    account::Account,
    canonical::{Stored, marked},
    engine::{Engine, Inner},
    error::{Error, Failure, LookupError, ResolveError},
    record::ToolResult,
    resolve::{FillLimits, LimitError, Link, Looked, Plan},
    select::SelectReport,
    shape::Shape,
    tool::PreparedTool,
    validate::{InputSchema, TypeRepair},
};
use crossfeed_jmespath::Arena;
use crossfeed_json::dismantle;
use crossfeed_store::{Recorded, StoreError, StoredArtifact};
use crossfeed_wire::{CallId, Pointer, Scope};
use futures_util::{StreamExt, stream};
use serde_json::Value;
use std::{sync::Arc, time::Instant};

/// How many results are looked up at once.
const LOOKUPS: usize = 32;

/// The scope in which call ids mean something. Cloning is cheap; any number of calls may use it at
/// once.
///
/// # Cancellation
///
/// Every future may be dropped at any time: a result is then recorded as a whole or not at all, and
/// a resolution leaves nothing behind, also not in the sums of [`Session::usage`].
#[derive(Clone, Debug)]
pub struct Session {
    engine: Engine,
    scope: Scope,
}

/// Arguments with every reference replaced.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Resolved {
    /// What the tool gets.
    pub arguments: Value,
    /// Which argument came from which call, in the order in which they were put.
    pub lineage: Vec<Link>,
    /// Types that were repaired for the tool's schema.
    pub repairs: Vec<TypeRepair>,
}

/// A selected value as bytes.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Selected {
    /// The value as JSON; what was copied from the result is as it came.
    pub json: Vec<u8>,
    /// How it was found.
    pub report: SelectReport,
}

impl Session {
    pub(crate) fn new(engine: Engine, scope: Scope) -> Self {
        Self { engine, scope }
    }

    /// The scope.
    #[must_use]
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    fn inner(&self) -> &Arc<Inner> {
        self.engine.inner()
    }

    /// Records what a tool returned. The same again is a no-op.
    ///
    /// # Errors
    ///
    /// [`StoreError`]: the id is taken by another result, the result is larger than the limits
    /// allow, or the store is away. Never because of what the result holds.
    pub async fn record(
        &self,
        call_id: &CallId,
        result: ToolResult,
    ) -> Result<Recorded, StoreError> {
        let store = &self.inner().store;
        let result = marked(result.into_stored());
        store.put(&self.scope, call_id, result).await
    }

    /// Records an artifact: full data that outlives the result it was made from.
    ///
    /// # Errors
    ///
    /// [`StoreError`], as for [`Self::record`].
    pub async fn record_artifact(&self, artifact: StoredArtifact) -> Result<Recorded, StoreError> {
        self.inner().store.put_artifact(&self.scope, artifact).await
    }

    /// Replaces every reference in the arguments of a call, then judges them by the tool's own
    /// schema.
    ///
    /// Without references the arguments are walked over once and come back as they were. Results
    /// are looked up at once. Work that is not small for certain leaves the async threads where there
    /// is a tokio runtime: small are up to 16 references without selectors, or with plain paths, to
    /// up to 64 KiB of results, or 8 KiB where a tokenizer counts what they bring.
    ///
    /// # Errors
    ///
    /// [`ResolveError`] holds everything that is wrong, each with its place in the arguments. The
    /// call must not run.
    pub async fn resolve(
        &self,
        arguments: Value,
        schema: Option<&InputSchema>,
    ) -> Result<Resolved, ResolveError> {
        let resolved = self.resolved(arguments, schema).await;
        resolved.inspect_err(|error| self.note_failure(error))
    }

    /// The same without a note of what an error costs.
    async fn resolved(
        &self,
        arguments: Value,
        schema: Option<&InputSchema>,
    ) -> Result<Resolved, ResolveError> {
        let plan = match Plan::of(&arguments, schema.map(InputSchema::as_value)) {
            Ok(plan) => plan,
            Err(error) => {
                dismantle(arguments);
                return Err(refusal(error));
            }
        };
        let (found, limit) = (plan.references.len(), self.inner().options.max_references);
        if found > limit {
            return Err(refusal(LimitError::TooManyReferences { found, limit }));
        }
        if plan.is_empty() && schema.is_none() {
            return Ok(Resolved {
                arguments,
                lineage: Vec::new(),
                repairs: Vec::new(),
            });
        }
        if plan.wanted.is_empty() {
            let work = self.work(plan, Vec::new(), schema, true);
            return work.resolve(arguments).book(|| self.account());
        }
        // Made before they are streamed: a closure over a borrowed item would keep this future from
        // being `Send`, which the compiler says only where it is spawned.
        let lookups: Vec<_> = plan
            .wanted
            .iter()
            .map(|wanted| self.find_wanted(wanted))
            .collect();
        let mut looked: Vec<Looked> = stream::iter(lookups).buffered(LOOKUPS).collect().await;
        self.offer(&mut looked).await;
        let is_counted = self.inner().options.context.tokens.is_exact_for(1);
        let small = is_small(&plan, &looked, is_counted);
        let grown: Vec<CallId> = plan
            .wanted
            .iter()
            .zip(&looked)
            .filter(
                |(_, looked)| matches!(looked, Ok(Stored::Result(r)) if !r.document().is_indexed()),
            )
            .map(|(wanted, _)| wanted.call_id.clone())
            .collect();
        let work = self.work(plan, looked, schema, small);
        let worked = run(small, move || work.resolve(arguments)).await;
        self.measure(&grown).await;
        worked.book(|| self.account())
    }

    /// Reads the arguments of a call back from the schema that the model was shown, then resolves
    /// and judges them: [`Self::resolve`] by the tool's own names and schema.
    ///
    /// # Errors
    ///
    /// [`ResolveError`], as for [`Self::resolve`]. Besides, what cannot be read back, and
    /// `schema.invalid` for a call with references of a tool whose own schema is none.
    ///
    /// ```
    /// use crossfeed_core::{Engine, EngineOptions, ToolResult};
    /// use crossfeed_schema::{ListOptions, Style, ToolList, rewrite_tools};
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
        let read = tool.read(arguments);
        let (arguments, schema) = read.inspect_err(|error| self.note_failure(error))?;
        self.resolve(arguments, schema).await
    }

    fn work(
        &self,
        plan: Plan,
        looked: Vec<Looked>,
        schema: Option<&InputSchema>,
        small: bool,
    ) -> Work {
        Work {
            inner: Arc::clone(self.inner()),
            plan,
            looked,
            schema: schema.cloned(),
            small,
        }
    }

    /// The books of this session.
    fn account(&self) -> Arc<Account> {
        self.inner().accounts.of(&self.scope)
    }

    /// Notes what an error costs that a model is told.
    fn note_failure(&self, error: &impl std::fmt::Display) {
        let tokens = &self.inner().options.context.tokens;
        self.account().fail(tokens.count(&error.to_string()));
    }

    /// Evaluates a selector on a recorded result.
    ///
    /// # Errors
    ///
    /// [`Failure`] says what is wrong with the result or the selector.
    pub async fn select(&self, call_id: &CallId, expression: &str) -> Result<Selected, Failure> {
        let fail =
            |error: Error| Failure::of_call(call_id, error).with_expression(Some(expression));
        let stored = match self.get(call_id).await {
            Ok(result) => Stored::Result(result),
            Err(error) => {
                let failure = fail(error.into());
                self.note_failure(&failure);
                return Err(failure);
            }
        };
        let inner = Arc::clone(self.inner());
        let small = stored.document().raw().len() <= SMALL_BYTES && is_plain_path(expression);
        let (wanted, text) = (call_id.clone(), expression.to_owned());
        let work = move |stored: &Stored| inner.select(&wanted, stored, &text);
        let selected = self.work_on(call_id, stored, small, work).await;
        let selected = selected.map_err(fail);
        selected.inspect_err(|failure| self.note_failure(failure))
    }

    /// The shape of a recorded result's canonical value: what a model may be told of it without
    /// being shown any of it.
    ///
    /// # Errors
    ///
    /// [`Failure`] when there is no such result, or it cannot be read.
    pub async fn shape(&self, call_id: &CallId) -> Result<Shape, Failure> {
        let shape = self.try_shape(call_id).await;
        shape.inspect_err(|failure| self.note_told(failure))
    }

    async fn try_shape(&self, call_id: &CallId) -> Result<Shape, Failure> {
        let stored = self.found(call_id).await?;
        let inner = Arc::clone(self.inner());
        let small = stored.document().raw().len() <= SMALL_BYTES;
        let work = move |stored: &Stored| inner.shape(stored);
        let shape = self.work_on(call_id, stored, small, work).await;
        shape.map_err(|error| Failure::of_call(call_id, error))
    }

    /// A recorded result, to work on.
    async fn found(&self, call_id: &CallId) -> Result<Stored, Failure> {
        let found = self.get(call_id).await.map(Stored::Result);
        found.map_err(|error| Failure::of_call(call_id, error))
    }

    /// Works on what is stored of a call, here if that is small, and lets the store count the index
    /// if a result's was built on the way. Artifacts count theirs themselves.
    async fn work_on<T: Send + 'static>(
        &self,
        call_id: &CallId,
        stored: Stored,
        small: bool,
        work: impl FnOnce(&Stored) -> T + Send + 'static,
    ) -> T {
        let is_result = matches!(stored, Stored::Result(_));
        let grows = is_result && !stored.document().is_indexed();
        let done = run(small, move || work(&stored)).await;
        if grows {
            self.measure(std::slice::from_ref(call_id)).await;
        }
        done
    }

    /// Lets the store count indexes that were built. That it cannot is no fault of the call, which
    /// has its values; the store counts them at its next touch.
    async fn measure(&self, grown: &[CallId]) {
        for call_id in grown {
            let _ = self.inner().store.measure(&self.scope, call_id).await;
        }
    }
}

/// Refuses the result of a call that failed.
fn succeeded(call_id: &CallId, stored: &Stored) -> Result<(), LookupError> {
    match stored.failure() {
        None => Ok(()),
        Some(message) => Err(LookupError::Failed {
            call_id: call_id.clone(),
            message,
            tool: stored.tool().map(str::to_owned),
        }),
    }
}

fn refusal(error: LimitError) -> ResolveError {
    ResolveError::new(vec![Failure::new(Pointer::root(), error.into())])
}

impl Inner {
    fn fill_limits(&self) -> FillLimits<'_> {
        FillLimits {
            select: &self.options.select,
            max_bytes: self.options.max_resolved_bytes,
            time: self.options.resolve_time,
            deadline: Instant::now() + self.options.resolve_time,
        }
    }

    fn select(&self, call_id: &CallId, stored: &Stored, text: &str) -> Result<Selected, Error> {
        succeeded(call_id, stored)?;
        let arena = Arena::new();
        let budget = self.fill_limits().budget(stored, &arena);
        let views = stored.views(&arena, &budget).map_err(LimitError::from)?;
        let selection = self.select_in(&views, &arena, &budget, text)?;
        let mut json = Vec::new();
        selection
            .view
            .write(&mut json, budget.output_bytes())
            .map_err(|error| crate::select::SelectError::TooCostly {
                expression: text.to_owned(),
                why: error.to_string(),
            })?;
        Ok(Selected {
            json,
            report: selection.report,
        })
    }

    fn shape(&self, stored: &Stored) -> Result<Shape, Error> {
        let arena = Arena::new();
        let budget = self.fill_limits().budget(stored, &arena);
        let views = stored.views(&arena, &budget).map_err(LimitError::from)?;
        Ok(Shape::of(&views.canonical))
    }
}
