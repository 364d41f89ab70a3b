//! The engine: configuration, stores and caches, shared by its sessions.

use crate::{
    account::Accounts,
    canonical::Views,
    context::ContextOptions,
    error::SelectError,
    flight::{Flights, LeaseKeeper},
    latest::LatestCalls,
    paths::Outline,
    project::LearnedSchemas,
    resolve::FillLimits,
    reveal::RevealPolicy,
    select::{
        DeclaredOutput, DeclaredOutputs, OFFERED, SelectOptions, Selection, Selector, Selectors,
    },
    telemetry::{StoreWatch, Telemetry},
    trace::TracedStore,
    validate::{InputSchema, RepairScope, Schemas},
};
use crossfeed_edit::EditLimits;
use crossfeed_jmespath::{Arena, Budget};
use crossfeed_output_schema::LearnOptions;
use crossfeed_schema::SchemaError;
use crossfeed_store::{MemoryLimits, MemoryStore, ResultStore, StoreError, StoreMetrics};
use derive_setters::Setters;
use serde_json::Value;
use std::{
    cell::Cell,
    fmt,
    num::NonZeroUsize,
    sync::Arc,
    time::{Duration, Instant},
};

/// The defaults of the sizes of caches.
const SELECTORS: NonZeroUsize = NonZeroUsize::MIN.saturating_add(511);
const SCHEMAS: NonZeroUsize = NonZeroUsize::MIN.saturating_add(255);
const LEARNED: NonZeroUsize = NonZeroUsize::MIN.saturating_add(999);

/// How an engine works; the defaults are those of the specification.
///
/// ```
/// use crossfeed_core::{EngineOptions, RepairScope};
/// use std::time::Duration;
///
/// // Never changes a type, and waits at most 10 seconds for calls in flight.
/// let options = EngineOptions::default()
///     .with_repairs(RepairScope::Off)
///     .with_wait(Duration::from_secs(10));
/// ```
#[derive(Clone, Debug, Setters)]
#[setters(prefix = "with_")]
#[non_exhaustive]
pub struct EngineOptions {
    /// The limits of selectors: their text and their cost.
    pub select: SelectOptions,
    /// Which types may be repaired: by default only those of values that a reference brought in.
    pub repairs: RepairScope,
    /// The most references in one call: 10,000, so that arguments cannot cause unbounded work.
    pub max_references: usize,
    /// The most bytes of JSON that references may bring into one call: 128 MiB, half of what a
    /// session holds.
    pub max_resolved_bytes: usize,
    /// The most bytes of memory that reading the JSON of arguments may take, where that is more than six times
    /// their length: 16 MiB, some 50,000 values, more than a model writes. Counted before anything is built.
    pub max_argument_bytes: usize,
    /// The limits of each edit in a reference (`$patch`, `$merge`, `$edit`); by default none may be made.
    #[setters(strip_option)]
    pub edits: Option<EditLimits>,
    /// The time for all selections and edits of one call together: 5 s; one edit more may take its own time.
    pub resolve_time: Duration,
    /// How long the references of one call wait, together, for calls in flight: 60 s, as long as
    /// clients commonly wait for a tool. With none they do not wait. The timer of a running tokio runtime
    /// keeps it, see [`Session::begin`](crate::Session::begin).
    pub wait: Duration,
    /// The most calls in flight in one session: 256, more than a turn of any model holds. With none, no
    /// call begins.
    pub max_in_flight: usize,
    /// The context of the model, and how tokens are counted.
    pub context: ContextOptions,
    /// The parts of results that are never revealed to a model; nothing is hidden by default.
    pub reveal: RevealPolicy,
    /// The most compiled selectors in the cache: 512, some hundreds of kilobytes.
    pub selector_cache_size: NonZeroUsize,
    /// The most compiled schemas in the cache: 256, more than the tools of most agents.
    pub schema_cache_size: NonZeroUsize,
    /// The most learned output schemas, and the most declared ones, of all tenants together: 1,000, some megabytes.
    pub learned_cache_size: NonZeroUsize,
    /// How much is learned of a tool's output.
    pub learn: LearnOptions,
    /// Receives metrics and the links between calls; nothing does by default. Spans go to `tracing` in any case.
    #[setters(strip_option)]
    pub telemetry: Option<Arc<dyn Telemetry>>,
}

impl Default for EngineOptions {
    fn default() -> Self {
        Self {
            select: SelectOptions::default(),
            repairs: RepairScope::default(),
            max_references: 10_000,
            max_resolved_bytes: 128 << 20,
            max_argument_bytes: 16 << 20,
            edits: None,
            resolve_time: Duration::from_secs(5),
            wait: Duration::from_secs(60),
            max_in_flight: 256,
            context: ContextOptions::default(),
            reveal: RevealPolicy::default(),
            selector_cache_size: SELECTORS,
            schema_cache_size: SCHEMAS,
            learned_cache_size: LEARNED,
            learn: LearnOptions::default(),
            telemetry: None,
        }
    }
}

/// The engine. Cloning shares it; it is `Send` and `Sync`.
///
/// ```
/// use crossfeed_core::{Engine, EngineOptions, ToolResult};
/// use crossfeed_wire::{CallId, Scope};
/// use serde_json::json;
///
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let engine = Engine::in_memory(EngineOptions::default());
/// let session = engine.session(Scope::parse("tenant", "project", "session-1")?);
/// let call = CallId::parse("call_1")?;
/// session
///     .record(&call, ToolResult::json(r#"{"items": [{"url": "https://a.example"}]}"#))
///     .await?;
/// let resolved = session
///     .resolve(json!({"url": {"$tool": "call_1", "$select": "items[0].url"}}), None)
///     .await?;
/// assert_eq!(resolved.arguments, json!({"url": "https://a.example"}));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Engine(Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) options: EngineOptions,
    pub(crate) store: Arc<dyn ResultStore>,
    pub(crate) selectors: Selectors,
    pub(crate) schemas: Schemas,
    pub(crate) learned: LearnedSchemas,
    pub(crate) declared: DeclaredOutputs,
    pub(crate) accounts: Accounts,
    pub(crate) flights: Arc<Flights>,
    /// Where edits are on.
    pub(crate) latest: Option<LatestCalls>,
    /// Where the store has leases.
    pub(crate) leases: Option<Arc<LeaseKeeper>>,
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine")
            .field("options", &self.0.options)
            .finish_non_exhaustive()
    }
}

impl Engine {
    /// An engine over a store.
    ///
    /// Several engines may share one, each with its own options. The redacted form of a result by the rules of
    /// [`EngineOptions::reveal`] is cached only for the first engine that reads it, and for engines with a
    /// clone of its policy; any other redacts the result each time.
    pub fn new(options: EngineOptions, store: Arc<dyn ResultStore>) -> Self {
        if let Some(telemetry) = &options.telemetry {
            telemetry.watch(StoreWatch::new(&store));
        }
        let store: Arc<dyn ResultStore> = Arc::new(TracedStore(store));
        let flights = Arc::new(Flights::new());
        Self(Arc::new(Inner {
            selectors: Selectors::new(options.selector_cache_size),
            schemas: Schemas::new(options.schema_cache_size),
            learned: LearnedSchemas::new(options.learned_cache_size, options.learn.clone()),
            declared: DeclaredOutputs::new(options.learned_cache_size),
            accounts: Accounts::new(options.telemetry.clone()),
            leases: LeaseKeeper::new(&store, &flights, options.telemetry.clone()),
            flights,
            latest: options.edits.map(|_| LatestCalls::default()),
            options,
            store,
        }))
    }

    /// An engine over a store in memory with the default limits.
    pub fn in_memory(options: EngineOptions) -> Self {
        let store = MemoryStore::new(MemoryLimits::default());
        Self::new(options, Arc::new(store))
    }

    /// Drops results that have expired, to free their memory; they read as expired in any case. A host that runs
    /// for long calls it on a timer.
    ///
    /// # Errors
    ///
    /// [`StoreError`] when the store fails.
    pub async fn sweep(&self) -> Result<(), StoreError> {
        self.0.store.sweep().await
    }

    /// What the store has counted of this process's requests, if it counts: for a host's metrics.
    pub fn store_metrics(&self) -> Option<StoreMetrics> {
        self.0.store.metrics()
    }

    /// A tool's own input schema, compiled now unless it was used lately.
    ///
    /// A host that keeps its tools can keep the compiled schema as well, and save a look-up per call.
    ///
    /// # Errors
    ///
    /// [`SchemaError`] when it is not a schema of its dialect, or refers to another document.
    pub fn input_schema(&self, schema: &Value) -> Result<InputSchema, SchemaError> {
        self.0.schemas.get(schema)
    }

    pub(crate) fn inner(&self) -> &Arc<Inner> {
        &self.0
    }
}

impl Inner {
    pub(crate) fn telemetry(&self) -> Option<&dyn Telemetry> {
        self.options.telemetry.as_deref()
    }

    pub(crate) fn fill_limits(&self) -> FillLimits<'_> {
        FillLimits {
            select: &self.options.select,
            max_bytes: self.options.max_resolved_bytes,
            time: self.options.resolve_time,
            deadline: Instant::now() + self.options.resolve_time,
            edits: self.options.edits.as_ref(),
        }
    }

    /// Evaluates one selector.
    pub(crate) fn select_in<'a>(
        &self,
        views: &Views<'a>,
        arena: &'a Arena,
        budget: &Budget,
        select: &'a str,
    ) -> Result<Selection<'a>, SelectError> {
        self.select_from(views, None, arena, budget, select)
    }

    /// The same on the result of a tool that says what it returns.
    pub(crate) fn select_from<'a>(
        &self,
        views: &Views<'a>,
        declared: Option<Arc<DeclaredOutput>>,
        arena: &'a Arena,
        budget: &Budget,
        select: &'a str,
    ) -> Result<Selection<'a>, SelectError> {
        let (outline, explanations) = (Outline::default(), Cell::new(1));
        let selector = Selector {
            declared,
            ..self.selector(views, &outline, arena, budget, &explanations)
        };
        selector.select(select)
    }

    /// Evaluates a selector to see whether it can be offered. It is not traced: what is traced was used.
    pub(crate) fn try_in<'a>(
        &self,
        views: &Views<'a>,
        arena: &'a Arena,
        budget: &Budget,
        select: &'a str,
    ) -> Result<Selection<'a>, SelectError> {
        let (outline, explanations) = (Outline::default(), Cell::new(1));
        let selector = self.selector(views, &outline, arena, budget, &explanations);
        selector.try_select(select)
    }

    fn selector<'a, 'v>(
        &'v self,
        views: &'v Views<'a>,
        outline: &'v Outline,
        arena: &'a Arena,
        budget: &'v Budget,
        explanations: &'v Cell<usize>,
    ) -> Selector<'a, 'v> {
        Selector {
            options: &self.options.select,
            compiled: &self.selectors,
            views,
            outline,
            declared: None,
            arena,
            budget,
            explanations,
            offers: OFFERED,
            telemetry: self.telemetry(),
        }
    }
}
