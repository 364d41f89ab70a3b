//! Cuts results to the fields that a caller asked for, and withholds what rules forbid.
//!
//! ```
//! use crossfeed::{
//!     CallId, Engine, EngineOptions, Scope, ToolResult,
//!     project::{ProjectOptions, ProjectionRequest, RevealPolicy, RevealRules},
//! };
//!
//! # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
//! let reveal = RevealPolicy::default().with_every_tool(RevealRules::parse(["id"], ["password"])?);
//! let engine = Engine::in_memory(EngineOptions::default().with_reveal(reveal));
//! let session = engine.session(Scope::parse("acme", "support", "conversation-42")?);
//! let user = r#"{"id": 1, "name": "Ada", "password": "secret"}"#;
//! let mut response = session.respond(&CallId::parse("call_1")?, ToolResult::json(user)).await?;
//!
//! // The host's observers see everything; the caller gets what it asked for, and never the password.
//! assert_eq!(response.observe("audit", |full| full.document().raw().len()), user.len());
//! let request = ProjectionRequest::new().with_include(["id", "password"]);
//! let cut = response.cut(&ProjectOptions::default().with_request(request)).await?;
//! assert_eq!(cut.json, br#"{"id":1}"#);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub use crossfeed_core::{ProjectOptions, Projected, Response, RevealPolicy};
pub use crossfeed_projection::{
    Applied, Diagnostic, DiagnosticKind, Diagnostics, FieldsValue, Operation, Path, PathError,
    PathErrorKind, Place, Plan, Projection, ProjectionError, ProjectionRequest, Redacted,
    RedactedResult, ResourceType, ResourceTypes, RevealRules, Step, Views, WITHHELD, nearest,
};
