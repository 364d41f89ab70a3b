//! The session: composes the stages, holds the store, and alone is async.

use crate::{
    canonical::Stored,
    engine::{Engine, Inner},
    error::{Error, Failure, LookupError, ResolveError},
    paths::Keys,
    record::ToolResult,
    resolve::{FillLimits, Filled, LimitError, Link, Looked, Plan, Wanted, fill},
    select::{SelectReport, Selector},
    shape::Shape,
    suggest,
    tool::PreparedTool,
    validate::{self, InputSchema, RepairScope, Steps, TypeRepair},
};
use crossfeed_jmespath::Arena;
use crossfeed_json::dismantle;
use crossfeed_store::{Lookup, Recorded, StoreError, StoredArtifact, StoredResult};
use crossfeed_wire::{ArtifactId, CallId, Pointer, Scope};
use futures_util::{StreamExt, stream};
use serde_json::Value;
use std::{
    cell::Cell,
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Instant,
};

/// How many results are looked up at once.
const LOOKUPS: usize = 32;
/// The most bytes of results, each counted as often as it is referred to, with which the work stays
/// on the async thread: even if each is indexed and passed on whole, that is well below a
/// millisecond.
const SMALL_BYTES: usize = 64 << 10;
/// The most references with which the work stays on the async thread.
const SMALL_REFERENCES: usize = 16;
/// The most bytes of a selector with which the work stays on the async thread.
const SMALL_SELECTOR: usize = 200;
/// For how many values of one call it is looked for what would fit in their places.
const SUGGESTED: usize = 5;
/// The most bytes that references may have brought in beside such a value.
const SUGGESTED_BESIDE: usize = 1 << 20;

/// The scope in which call ids mean something. Cloning is cheap; any number of calls may use it at
/// once.
///
/// # Cancellation
///
/// Every future may be dropped at any time: a result is then recorded as a whole or not at all, and
/// a resolution leaves nothing behind.
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
        store.put(&self.scope, call_id, result.into_stored()).await
    }

    /// Records an artifact: full data that outlives the result it was made from.
    ///
    /// # Errors
    ///
    /// [`StoreError`], as for [`Self::record`].
    pub async fn record_artifact(&self, artifact: StoredArtifact) -> Result<Recorded, StoreError> {
        self.inner().store.put_artifact(&self.scope, artifact).await
    }

    /// A recorded result. It stays where it is while the answer is held.
    ///
    /// # Errors
    ///
    /// [`LookupError`] says whether it is unknown, expired or evicted, or the store is away.
    pub async fn get(&self, call_id: &CallId) -> Result<Arc<StoredResult>, LookupError> {
        match self.inner().store.get(&self.scope, call_id).await {
            Ok(Lookup::Found(result)) => Ok(result),
            Ok(Lookup::Missing(missing)) => Err(LookupError::missing(call_id.clone(), missing)),
            Err(error) => Err(LookupError::Store(Arc::new(error))),
        }
    }

    async fn look_up(&self, wanted: &Wanted) -> Looked {
        let Some(artifact_id) = &wanted.artifact_id else {
            return self.get(&wanted.call_id).await.map(Stored::Result);
        };
        let store = &self.inner().store;
        match store
            .get_artifact(&self.scope, artifact_id, &wanted.call_id)
            .await
        {
            Ok(Some(artifact)) => Ok(Stored::Artifact(artifact)),
            Ok(None) => Err(LookupError::ArtifactUnknown {
                artifact_id: artifact_id.clone(),
                call_id: wanted.call_id.clone(),
            }),
            Err(error) => Err(LookupError::Store(Arc::new(error))),
        }
    }

    /// Replaces every reference in the arguments of a call, then judges them by the tool's own
    /// schema.
    ///
    /// Without references the arguments are walked over once and come back as they were. Results
    /// are looked up at once. Work that is not small for certain leaves the async threads where there
    /// is a tokio runtime: small are up to 16 references without selectors, or with plain paths, to
    /// up to 64 KiB of results.
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
            let work = self.work(plan, Vec::new(), schema);
            return work.resolve(arguments);
        }
        // Made before they are streamed: a closure over a borrowed item would keep this future from
        // being `Send`, which the compiler says only where it is spawned.
        let lookups: Vec<_> = plan
            .wanted
            .iter()
            .map(|wanted| self.look_up(wanted))
            .collect();
        let looked: Vec<Looked> = stream::iter(lookups).buffered(LOOKUPS).collect().await;
        let small = is_small(&plan, &looked);
        let grown: Vec<CallId> = plan
            .wanted
            .iter()
            .zip(&looked)
            .filter(
                |(_, looked)| matches!(looked, Ok(Stored::Result(r)) if !r.document().is_indexed()),
            )
            .map(|(wanted, _)| wanted.call_id.clone())
            .collect();
        let work = self.work(plan, looked, schema);
        let resolved = run(small, move || work.resolve(arguments)).await;
        self.measure(&grown).await;
        resolved
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
        let (arguments, schema) = tool.read(arguments)?;
        self.resolve(arguments, schema).await
    }

    fn work(&self, plan: Plan, looked: Vec<Looked>, schema: Option<&InputSchema>) -> Work {
        Work {
            inner: Arc::clone(self.inner()),
            plan,
            looked,
            schema: schema.cloned(),
        }
    }

    /// Evaluates a selector on a recorded result.
    ///
    /// # Errors
    ///
    /// [`Failure`] says what is wrong with the result or the selector.
    pub async fn select(&self, call_id: &CallId, expression: &str) -> Result<Selected, Failure> {
        let fail = |error: Error| {
            let mut failure = Failure::new(Pointer::root(), error);
            failure.call_id = Some(call_id.clone());
            failure.expression = Some(expression.to_owned());
            failure
        };
        let stored = match self.get(call_id).await {
            Ok(result) => Stored::Result(result),
            Err(error) => return Err(fail(error.into())),
        };
        let grows = !stored.document().is_indexed();
        let inner = Arc::clone(self.inner());
        let small = stored.document().raw().len() <= SMALL_BYTES && is_plain_path(expression);
        let (wanted, text) = (call_id.clone(), expression.to_owned());
        let selected = run(small, move || inner.select(&wanted, &stored, &text)).await;
        if grows {
            self.measure(std::slice::from_ref(call_id)).await;
        }
        selected.map_err(fail)
    }

    /// The shape of a recorded result's canonical value: what a model may be told of it without
    /// being shown any of it.
    ///
    /// # Errors
    ///
    /// [`Failure`] when there is no such result, or it cannot be read.
    pub async fn shape(&self, call_id: &CallId) -> Result<Shape, Failure> {
        let fail = |error: Error| {
            let mut failure = Failure::new(Pointer::root(), error);
            failure.call_id = Some(call_id.clone());
            failure
        };
        let stored = Stored::Result(self.get(call_id).await.map_err(|e| fail(e.into()))?);
        let inner = Arc::clone(self.inner());
        let small = stored.document().raw().len() <= SMALL_BYTES;
        let shape = run(small, move || inner.shape(&stored)).await;
        self.measure(std::slice::from_ref(call_id)).await;
        shape.map_err(fail)
    }

    /// Lets the store count indexes that were built. That it cannot is no fault of the call, which
    /// has its values; the store counts them at its next touch.
    async fn measure(&self, grown: &[CallId]) {
        for call_id in grown {
            let _ = self.inner().store.measure(&self.scope, call_id).await;
        }
    }
}

fn refusal(error: LimitError) -> ResolveError {
    ResolveError::new(vec![Failure::new(Pointer::root(), error.into())])
}

/// Whether filling the plan takes little for certain.
fn is_small(plan: &Plan, looked: &[Looked]) -> bool {
    let size = |wanted: usize| match looked.get(wanted) {
        Some(Ok(stored)) => stored.document().raw().len(),
        _ => 0,
    };
    // What a selector reads is read once; what a bare reference copies is copied each time.
    let mut read = vec![false; looked.len()];
    let mut is_read_already = |wanted: usize| match read.get_mut(wanted) {
        Some(read) => std::mem::replace(read, true),
        None => false,
    };
    plan.references.len() <= SMALL_REFERENCES
        && plan
            .references
            .iter()
            .try_fold(SMALL_BYTES, |left, planned| {
                match planned.reference.select.as_deref() {
                    Some(selector) if !is_plain_path(selector) => None,
                    Some(_) if is_read_already(planned.wanted) => Some(left),
                    _ => left.checked_sub(size(planned.wanted)),
                }
            })
            .is_some()
}

/// Whether a selector is short and has nothing but keys and indexes: `items[0]."a-b".url`. Such a
/// one takes no more than a look at each key of a result.
fn is_plain_path(selector: &str) -> bool {
    let mut bytes = selector.bytes().peekable();
    let mut plain = selector.len() <= SMALL_SELECTOR;
    while let Some(byte) = bytes.next().filter(|_| plain) {
        plain = match byte {
            b'[' => {
                bytes.next_if_eq(&b'-');
                let mut digits = 0;
                while bytes.next_if(u8::is_ascii_digit).is_some() {
                    digits += 1;
                }
                digits > 0 && bytes.next() == Some(b']')
            }
            b'_' | b'-' | b'.' | b'"' | b'\'' => true,
            other => other.is_ascii_alphanumeric(),
        };
    }
    plain
}

/// Runs work that does not wait: here if it is small, else where blocking is allowed.
async fn run<T: Send + 'static>(small: bool, work: impl FnOnce() -> T + Send + 'static) -> T {
    if small {
        return work();
    }
    let Ok(runtime) = tokio::runtime::Handle::try_current() else {
        return work();
    };
    match runtime.spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The runtime shuts down and drops this future before it could look.
            Err(_) => std::future::pending().await,
        },
    }
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
        if let Some(message) = stored.failure() {
            return Err(LookupError::Failed {
                call_id: call_id.clone(),
                message,
                tool: stored.tool().map(str::to_owned),
            }
            .into());
        }
        let arena = Arena::new();
        let budget = self.fill_limits().budget(stored, &arena);
        let views = stored.views(&arena, &budget).map_err(LimitError::from)?;
        let selector = Selector {
            options: &self.options.select,
            compiled: &self.selectors,
            views: &views,
            keys: &Keys::default(),
            arena: &arena,
            budget: &budget,
            explanations: &Cell::new(1),
        };
        let selection = selector.select(text)?;
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

/// One resolution, after its look-ups.
struct Work {
    inner: Arc<Inner>,
    plan: Plan,
    looked: Vec<Looked>,
    schema: Option<InputSchema>,
}

impl Work {
    fn resolve(&self, arguments: Value) -> Result<Resolved, ResolveError> {
        let filled = if self.plan.is_empty() {
            Filled {
                arguments,
                lineage: Vec::new(),
            }
        } else {
            let limits = self.inner.fill_limits();
            fill(
                &self.plan,
                arguments,
                &self.looked,
                &self.inner.selectors,
                limits,
            )
            .map_err(|failures| ResolveError::new(self.in_order(failures)))?
        };
        let Filled {
            mut arguments,
            lineage,
        } = filled;
        let mut repairs = Vec::new();
        if let Some(schema) = &self.schema {
            let scope = self.inner.options.repairs;
            repairs = validate::validate(&mut arguments, schema, &lineage, scope).map_err(
                |mut failures| {
                    self.suggest(&mut failures, &mut arguments, schema, &lineage);
                    ResolveError::new(failures)
                },
            )?;
        }
        Ok(Resolved {
            arguments,
            lineage,
            repairs,
        })
    }

    /// Failures in the order in which the walk over the arguments came by their places.
    fn in_order(&self, mut failures: Vec<Failure>) -> Vec<Failure> {
        let order = self.plan.order();
        failures.sort_by_key(|failure| order.get(&failure.at).copied());
        failures
    }

    /// Adds to the first mismatch of each referenced value the selectors that would fit its place.
    fn suggest(
        &self,
        failures: &mut [Failure],
        arguments: &mut Value,
        schema: &InputSchema,
        lineage: &[Link],
    ) {
        let links: HashMap<&str, &Link> = lineage.iter().map(|l| (l.at.as_str(), l)).collect();
        let brought: usize = lineage.iter().map(|link| link.source.bytes_out).sum();
        let mut suggested = HashSet::new();
        // For all tries together.
        let mut steps = schema.steps(arguments);
        for failure in failures {
            let link = failure
                .at
                .and_around()
                .find_map(|at| links.get(at).copied());
            let (Error::Arguments(error), Some(link)) = (&mut failure.error, link) else {
                continue;
            };
            // Each try judges all arguments, so there must not be much beside the place itself.
            let beside = brought - link.source.bytes_out;
            if beside > SUGGESTED_BESIDE
                || suggested.len() == SUGGESTED
                || !suggested.insert(&link.at)
            {
                continue;
            }
            error.fitting = self.fitting(link, arguments, schema, &mut steps);
        }
    }

    /// Selectors on a link's result whose values fit where the link's own value stands.
    fn fitting(
        &self,
        link: &Link,
        arguments: &mut Value,
        schema: &InputSchema,
        steps: &mut Steps,
    ) -> Vec<String> {
        let source = &link.source;
        let stored = self.stored(&source.call_id, source.artifact_id.as_ref());
        let (Some(stored), Some(place)) = (stored, arguments.pointer_mut(link.at.as_str())) else {
            return Vec::new();
        };
        let misfit = place.take();
        let arena = Arena::new();
        let budget = self.inner.fill_limits().budget(stored, &arena);
        let mut is_fit = |value: Value| {
            if let Some(place) = arguments.pointer_mut(link.at.as_str()) {
                *place = value;
            }
            let findings = schema.findings(arguments, steps);
            findings.is_ok_and(|findings| {
                !findings
                    .iter()
                    .any(|finding| finding.at.is_within(&link.at))
            })
        };
        let repairs = self.inner.options.repairs != RepairScope::Off;
        let mut fits = |value: Value, digits: Option<&str>| {
            let repaired = repairs
                .then(|| validate::lossless(&value, digits))
                .flatten();
            is_fit(value) || repaired.is_some_and(&mut is_fit)
        };
        let fitting = stored.views(&arena, &budget).map_or_else(
            |_| Vec::new(),
            |views| suggest::fitting(&views.canonical, &link.at, &arena, &budget, &mut fits),
        );
        if let Some(place) = arguments.pointer_mut(link.at.as_str()) {
            *place = misfit;
        }
        fitting
    }

    fn stored(&self, call_id: &CallId, artifact_id: Option<&ArtifactId>) -> Option<&Stored> {
        let place = self.plan.wanted.iter().position(|wanted| {
            wanted.call_id == *call_id && wanted.artifact_id.as_ref() == artifact_id
        })?;
        self.looked.get(place)?.as_ref().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::{is_plain_path, is_small};
    use crate::{
        ToolResult,
        canonical::Stored,
        resolve::{Looked, Plan},
    };
    use serde_json::{Value, json};
    use std::sync::Arc;

    #[test]
    fn plain_paths_have_keys_and_indexes_only() {
        for plain in [
            "a",
            "a_1.b",
            "items[0].url",
            "[-1].x",
            "a.\"b-c\"[12]",
            "'x'",
        ] {
            assert!(is_plain_path(plain), "{plain}");
        }
        let long = "a.".repeat(101);
        for other in [
            "a[]",
            "[*]",
            "a[",
            "a[-]",
            "a[0",
            "a[0:2]",
            "a | b",
            "length(a)",
            "*",
            &long,
        ] {
            assert!(!is_plain_path(other), "{other}");
        }
    }

    #[test]
    fn work_is_small_only_if_references_selectors_and_results_are() {
        let small = |arguments: Value, bytes: usize| {
            let plan = Plan::of(&arguments, None).unwrap();
            let result = ToolResult::json(format!("\"{}\"", "x".repeat(bytes - 2)));
            let stored = Stored::Result(Arc::new(result.into_stored()));
            let looked: Vec<Looked> = plan.wanted.iter().map(|_| Ok(stored.clone())).collect();
            is_small(&plan, &looked)
        };
        let bare = json!({"$tool": "c"});
        assert!(small(bare.clone(), 64 << 10));
        assert!(!small(bare.clone(), (64 << 10) + 1));
        // A result that is referred to twice is passed on twice.
        assert!(!small(json!([bare, bare]), 40 << 10));
        assert!(small(json!(vec![&bare; 16]), 100));
        assert!(!small(json!(vec![&bare; 17]), 100));
        let selected = |select: &str| json!({"$tool": "c", "$select": select});
        assert!(small(selected("a[0].b"), 100));
        // However many selectors read a result, it is read once.
        assert!(small(json!(vec![selected("a"); 16]), 40 << 10));
        assert!(!small(selected("a[?b]"), 100));
    }
}
