//! Artifacts: data saved from a result, with a summary for the model, that outlives the session.
//!
//! ```
//! use crossfeed::{CallId, Engine, EngineOptions, Scope, ToolResult, artifact::{ArtifactId, NewArtifact}};
//! use serde_json::json;
//!
//! # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
//! let engine = Engine::in_memory(EngineOptions::default());
//! let session = engine.session(Scope::parse("acme", "support", "conversation-42")?);
//! let call = CallId::parse("call_1")?;
//! let found = r#"{"items": [{"title": "Rust", "pages": [1, 2, 3]}]}"#;
//! session.record(&call, ToolResult::json(found)).await?;
//!
//! let wanted = NewArtifact::new(ArtifactId::parse("best")?, call)
//!     .with_base("items[0]")
//!     .with_detail("title", "title");
//! let created = session.create_artifact(wanted).await?;
//! let summary = created.artifact.summary().ok_or("no summary")?;
//! assert_eq!(&summary.raw()[..], br#"{"title":"Rust"}"#);
//!
//! // Like a result, it can be referred to.
//! let arguments = json!({"pages": {"$artifact": "best", "$tool": "call_1", "$select": "pages"}});
//! let resolved = session.resolve(arguments, None).await?;
//! assert_eq!(resolved.arguments, json!({"pages": [1, 2, 3]}));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub use crossfeed_core::{Component, CreatedArtifact, NewArtifact};
pub use crossfeed_store::{ListedArtifact, StoredArtifact};
pub use crossfeed_wire::ArtifactId;
