//! What resolving a call's arguments returns besides them: where each value came from, and which types
//! were repaired.
//!
//! ```
//! use crossfeed::{CallId, Engine, EngineOptions, Scope, ToolResult, resolve::{RepairScope, TypeRepair}};
//! use serde_json::json;
//!
//! # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
//! let engine = Engine::in_memory(EngineOptions::default().with_repairs(RepairScope::References));
//! let session = engine.session(Scope::parse("acme", "support", "conversation-42")?);
//! session.record(&CallId::parse("call_1")?, ToolResult::json(r#"{"total": "2"}"#)).await?;
//!
//! // The tool wants a number; the result has its text.
//! let schema = engine.input_schema(&json!({"properties": {"count": {"type": "integer"}}}))?;
//! let arguments = json!({"count": {"$tool": "call_1", "$select": "total"}});
//! let resolved = session.resolve(arguments, Some(&schema)).await?;
//! assert_eq!(resolved.arguments, json!({"count": 2}));
//!
//! let [TypeRepair { at, from, to, .. }] = &resolved.repairs[..] else {
//!     return Err("one value was repaired".into());
//! };
//! assert_eq!((at.to_string().as_str(), *from, *to), ("/count", "string", "number"));
//! assert_eq!(resolved.lineage[0].source.call_id.as_str(), "call_1");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub use crossfeed_core::{
    Inputs, LineageEntry, Notices, ReferenceRepair, ReferenceSource, RepairScope, SplicedJson,
    TypeRepair,
};
pub use crossfeed_wire::reference::{Input, InputKind};
