//! Edits of JSON documents that keep every other byte: in references, where
//! [`EngineOptions::edits`](crate::EngineOptions::edits) switches them on, and by themselves.
//!
//! ```
//! use crossfeed::{CallId, Engine, EngineOptions, Scope, ToolResult, edit::EditLimits};
//! use serde_json::json;
//!
//! # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
//! let engine = Engine::in_memory(EngineOptions::default().with_edits(EditLimits::default()));
//! let session = engine.session(Scope::parse("acme", "support", "conversation-42")?);
//! let page = ToolResult::text("Welcome to teh shop.\n… 290 KB more …\n");
//! session.record(&CallId::parse("call_1")?, page).await?;
//!
//! let edit = json!([{"old": "teh", "new": "the"}]);
//! let resolved = session
//!     .resolve(json!({"page": {"$tool": "call_1", "$edit": edit}}), None)
//!     .await?;
//! assert_eq!(resolved.arguments, json!({"page": "Welcome to the shop.\n… 290 KB more …\n"}));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub use crossfeed_core::{ReferenceEdit, ReferenceEditError};
pub use crossfeed_edit::{
    EditError, EditErrorKind, EditLimits, IsWithheld, Limit, Merge, NearestPassage, Occurrence,
    Patch, TextEdits,
};
pub use crossfeed_wire::reference::EditKind;
