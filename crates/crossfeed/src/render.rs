//! What a model is shown of a result: whole if it is small, else a preview within a budget of tokens,
//! with selectors that were tried on the data.
//!
//! ```
//! use crossfeed::{CallId, Engine, EngineOptions, RenderOptions, Scope, ToolResult, render::Retrieved};
//!
//! # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
//! let engine = Engine::in_memory(EngineOptions::default());
//! let session = engine.session(Scope::parse("acme", "support", "conversation-42")?);
//! let call = CallId::parse("call_1")?;
//! let pages = format!(r#"{{"title": "Rust", "pages": [{}1]}}"#, "2, ".repeat(9999));
//! session.record(&call, ToolResult::json(pages)).await?;
//!
//! let shown = session.render(&call, &RenderOptions::default().with_budget(200)).await?;
//! assert!(!shown.whole && shown.tokens <= 200);
//! assert!(shown.whole_tokens > 4000);
//!
//! // What the preview leaves out can be read by a selector.
//! let Retrieved::Data { json, .. } = session.retrieve(&call, Some("pages[-1]")).await? else {
//!     return Err("it is there, and small".into());
//! };
//! assert_eq!(json, b"1");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub use crossfeed_core::{
    ContextOptions, HintDetail, Outline, Oversized, Retrieval, Retrieved, ShownHints, StripPolicy,
    StructureHints, TokenUsage, strip,
};
pub use crossfeed_wire::{UnknownView, View};
