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
//! The root holds what a first program needs; each module holds the rest of one topic and begins with
//! an example. Examples on single items name the crate that defines the item, such as `crossfeed_core`.
//!
//! # What to do, and where
//!
//! - Show a result to the model within a budget of tokens: [`Session::render`], [`render`].
//! - Pass parts of results to the next tool: [`Session::resolve`], [`resolve`].
//! - Read one value of a result: [`Session::select`], [`mod@select`].
//! - Cut a result to what a caller asked for, and withhold what rules forbid: [`Session::project`],
//!   [`project`].
//! - Keep data beyond the session: [`Session::create_artifact`], [`artifact`].
//! - Refer to calls that still run: [`Session::begin`], [`InFlight`].
//! - Rewrite a tool list for references and for a provider: [`tools`].
//! - Store results elsewhere: [`Engine::new`], [`store`].
//! - Export spans and metrics, without data that must stay inside: [`telemetry`].
//!
//! # Features
//!
//! None is on by default.
//!
//! - `sqlite`: `store::SqliteStore`, which keeps artifacts across restarts.
//! - `otel`: OpenTelemetry in [`telemetry`]: processors that strip spans and logs, and the engine's own
//!   links and metrics.
//! - `o200k`: `TokenCounter::o200k`, an exact counter of tokens; adds 28 MB to a binary.
//!
//! # Examples
//!
//! Programs to copy from, in `examples/`; run one with `cargo run -p crossfeed --example NAME`:
//!
//! - `orchestrator`: an agent loop
//! - `rewrite`: a tool list rewritten and calls read back, without an engine
//! - `sqlite`: artifacts that outlive the process (`--features sqlite`)
//! - `custom_store`: a store of your own
//! - `telemetry`: what the engine measures of one call
//! - `export`: a pipeline that sends sanitized spans over OTLP (`--features otel`)

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod artifact;
pub mod edit;
pub mod error;
pub mod json;
pub mod mcp;
pub mod project;
pub mod render;
pub mod resolve;
pub mod schema;
pub mod select;
pub mod store;
pub mod telemetry;
pub mod tools;

pub use crossfeed_core::{
    Engine, EngineOptions, Error, InFlight, InputSchema, PreparedTool, RenderOptions, Rendered,
    Resolved, Session, ToolResult,
};
pub use crossfeed_tokens::TokenCounter;
pub use crossfeed_wire::{CallId, ErrorCode, Fault, Pointer, Scope};

/// Its program is run as a test.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
