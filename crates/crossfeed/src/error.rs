//! What can fail, who can act on it, and what the model reads.
//!
//! [`Error`](crate::Error) sums the errors of all stages. A [`Failure`] is one error with its place;
//! [`ResolveError`] holds all failures of a call's arguments.
//!
//! ```
//! use crossfeed::{CallId, Engine, EngineOptions, Error, ErrorCode, Fault, Scope, ToolResult, error::SelectError};
//! use serde_json::json;
//!
//! # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
//! let engine = Engine::in_memory(EngineOptions::default());
//! let session = engine.session(Scope::parse("acme", "support", "conversation-42")?);
//! let found = r#"{"items": [{"title": "Rust", "url": "https://a.example"}]}"#;
//! session.record(&CallId::parse("call_1")?, ToolResult::json(found)).await?;
//!
//! let arguments = json!({"name": {"$tool": "call_1", "$select": "items[0].titel"}});
//! let error = session.resolve(arguments, None).await.err().ok_or("it cannot succeed")?;
//! let failure = &error.failures()[0];
//! assert_eq!(failure.at.to_string(), "/name");
//! assert!(matches!(failure.error, Error::Select(SelectError::MatchedNothing { .. })));
//! assert_eq!(failure.error.code(), ErrorCode::SelectMatchedNothing);
//!
//! // The model can correct it. The text that it reads says what was there and what to try next.
//! assert_eq!(error.fault(), Fault::Model);
//! assert!(error.to_string().ends_with("try: items[0].title"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub use crossfeed_core::{
    Alternatives, ArgumentError, ArtifactError, BeginError, ComponentError, ComponentMismatch,
    Failure, InputError, LimitError, LookupError, MalformedReference, NotJson, RenderError,
    ResolveError, RevealError, SelectError, ValidationCost,
};
pub use crossfeed_wire::{
    ErrorBody, ErrorReport, IdError, ScopeError, printable, printable_lines,
    reference::{Malformed, NameError},
};
