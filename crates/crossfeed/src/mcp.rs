//! The parts of MCP that are crossfeed's own: requests for projection in `_meta`, the capability that
//! offers it, trace context, and how known clients show results.
//!
//! ```
//! use crossfeed::{json::Document, mcp::{Capability, Projector, Tool}};
//! use serde_json::{Value, json};
//!
//! let params = json!({"_meta": {"projection": {"mode": "include", "fields": ["id"]}}});
//! let result = Document::new(r#"{"content": [], "structuredContent": {"id": 1, "body": "long"}}"#);
//! let projector = Projector::new(Capability::default());
//! let projected = projector.project(&Tool::default(), &params, &result)?;
//! let projected: Value = serde_json::from_slice(&projected.json)?;
//! assert_eq!(projected["structuredContent"], json!({"id": 1}));
//! assert_eq!(projected["_meta"]["dev.crossfeed/projection"]["applied"], true);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub use crossfeed_mcp::{
    Annotation, BARE_KEY, Capability, Client, KEY, MAX_BAGGAGE, Mode, Projected, Projector, Reply,
    Request, RequestError, ResultError, Shows, Tool, TraceMeta,
};
