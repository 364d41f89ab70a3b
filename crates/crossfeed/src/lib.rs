//! crossfeed feeds one tool's output straight into another tool's arguments, without passing it
//! through the model's context.
//!
//! An orchestrator records what tools return, and resolves the arguments of each call before the
//! tool runs:
//!
//! ```
//! use crossfeed::{CallId, Engine, EngineOptions, Scope, ToolResult};
//! use serde_json::json;
//!
//! # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
//! let engine = Engine::in_memory(EngineOptions::default());
//! let session = engine.session(Scope::parse("acme", "support", "conversation-42")?);
//!
//! // A tool returned far more than a model should read.
//! let search = CallId::parse("call_1")?;
//! let found = r#"{"items": [{"url": "https://a.example", "score": 0.9}, {"url": "https://b.example", "score": 0.2}]}"#;
//! session.record(&search, ToolResult::json(found)).await?;
//!
//! // The model refers to what it needs, and the next tool gets it.
//! let arguments = json!({"urls": {"$tool": "call_1", "$select": "items[?score > `0.8`].url"}});
//! let resolved = session.resolve(arguments, None).await?;
//! assert_eq!(resolved.arguments, json!({"urls": ["https://a.example"]}));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! What the model reads of a result is a rendering: `Session::render` shows a small one whole and of
//! a large one a preview, within a budget of tokens, with selectors that were tried on the data.
//!
//! Callers ask for parts of results in whichever spelling they know: `Session::project` cuts a stored
//! one, and `Session::respond` gives a `Response` that shows its observers everything and is cut last.
//!
//! # Features
//!
//! - `sqlite`: `store_sqlite::SqliteStore`, whose artifacts survive a restart.
//! - `otel`: OpenTelemetry, `otel::Policy` and what strips by it, and the engine's own spans and metrics.
//! - `o200k`: `TokenCounter::o200k`, an exact counter of tokens; 28 MB in a binary.
//!
//! This crate has no logic of its own; it is the one public place of what the other crates offer.
//! `examples/orchestrator.rs` is a whole agent loop to copy from.

pub use crossfeed_core::{
    Alternatives, AnsweringView, ArgumentError, ArtifactError, Attribute, AttributeValue,
    BeginError, Component, ComponentError, ComponentMismatch, ContextOptions, CreatedArtifact,
    Engine, EngineOptions, Error, Failure, HintDetail, InFlight, InputSchema, Instrument,
    LimitError, LineageEntry, LookupError, MalformedReference, Memory, NewArtifact, NotJson,
    Notice, Outline, Oversized, ParameterError, ParameterSchema, PreparedTool, ProjectOptions,
    Projected, ReferenceSource, RenderError, RenderOptions, Rendered, RepairScope, ResolveError,
    Resolved, ResolvedJson, Response, Retrieved, RevealError, RevealPolicy, SchemaError,
    SelectError, SelectOptions, SelectReport, Selected, Session, Shape, ShownHints, SplicedJson,
    StripPolicy, StructureHints, Suggestion, Telemetry, TokenUsage, ToolResult, TypeRepair,
    ValidationCost, infer_schema, strip,
};
pub use crossfeed_jmespath as jmespath;
pub use crossfeed_json as json;
pub use crossfeed_mcp as mcp;
#[cfg(feature = "otel")]
pub use crossfeed_otel as otel;
pub use crossfeed_output_schema as output_schema;
pub use crossfeed_projection as projection;
pub use crossfeed_schema as schema;
pub use crossfeed_store as store;
#[cfg(feature = "sqlite")]
pub use crossfeed_store_sqlite as store_sqlite;
pub use crossfeed_tokens::{TokenCounter, estimated_tokens};
pub use crossfeed_tools as tools;
pub use crossfeed_wire::{
    self as wire, ArtifactId, CallId, ErrorBody, ErrorCode, ErrorReport, Fault, Pointer, Scope,
    TraceContext, View,
};
