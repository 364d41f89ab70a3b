//! Selectors: JMESPath expressions that pick a part of a result, how they are repaired and limited, and
//! which ones fit a parameter.
//!
//! ```
//! use crossfeed::{CallId, Engine, EngineOptions, Scope, ToolResult, select::ParameterSchema};
//! use serde_json::json;
//!
//! # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
//! let engine = Engine::in_memory(EngineOptions::default());
//! let session = engine.session(Scope::parse("acme", "support", "conversation-42")?);
//! let call = CallId::parse("call_1")?;
//! let found = r#"{"items": [{"title": "Rust", "url": "https://a.example"}]}"#;
//! session.record(&call, ToolResult::json(found)).await?;
//!
//! let selected = session.select(&call, "items[0].title").await?;
//! assert_eq!(selected.json, br#""Rust""#);
//! assert!(selected.report.repairs.is_empty());
//!
//! // Selectors for a parameter of the next tool, each tried on the data.
//! let url = ParameterSchema::new(&json!({"type": "string"}))?.with_name("url");
//! let suggested = session.suggest(&call, &url, 1).await?;
//! assert_eq!(suggested[0].selector, "items[0].url");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub use crossfeed_core::{
    AnsweringView, Notice, Oddity, ParameterError, ParameterSchema, SelectOptions, SelectReport,
    Selected, Shape, Suggestion, infer_schema,
};
pub use crossfeed_jmespath::{
    Cost, Dialect, Expression, Foreign, Limits, Memory, ParseError, TypeMismatch, WhyEmpty,
    guard::{Forbidden, Patterns},
    repair::{Repair, Rule},
};
