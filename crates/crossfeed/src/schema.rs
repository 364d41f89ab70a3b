//! JSON Schema: checks a tool's schemas, and summarises, inspects and learns output schemas.
//!
//! Arguments are judged by an [`InputSchema`](crate::InputSchema).
//!
//! ```
//! use crossfeed::{json::Document, schema::{self, LearnOptions, LearnedSchema}};
//! use serde_json::json;
//!
//! assert!(schema::check(&json!({"type": "object"})).is_ok());
//! assert!(schema::check(&json!({"type": "objekt"})).is_err());
//!
//! // A tool that declares no output schema: learn it from results.
//! let mut learned = LearnedSchema::new(LearnOptions::default());
//! for result in [r#"{"id": 7, "tags": ["a"]}"#, r#"{"id": 8}"#] {
//!     learned.observe(Document::new(result).root()?);
//! }
//! assert_eq!(
//!     learned.schema(),
//!     Some(json!({
//!         "type": "object",
//!         "properties": {
//!             "id": {"type": "integer"},
//!             "tags": {"type": "array", "items": {"type": "string"}},
//!         },
//!         "required": ["id"],
//!     }))
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub use crossfeed_output_schema::{
    Child, Descriptor, Drift, DriftKind, INSPECTOR, InspectError, InspectRequest, Inspection,
    LearnOptions, LearnedSchema, NoProjectedSchema, OutputSchema, Parameter, Summary, descriptors,
    inspector, projected_schema,
};
pub use crossfeed_schema::{Dialect, SchemaError, check};
