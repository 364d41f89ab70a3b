//! Strips what is internal from OpenTelemetry spans and log records before they leave.
//!
//! What comes in: spans and log records of anyone, and OTLP/JSON. What goes out: the same without the
//! fields that crossfeed added for a model's use, and without what a host's policy withholds.
//! Deliberately not here: exporting, and the names of the engine's own spans.

mod attributes;
#[cfg(feature = "engine")]
mod engine;
mod guard;
mod log;
mod otlp_json;
mod policy;
mod resource;
mod span;
mod table;
mod text;

#[cfg(feature = "engine")]
pub use engine::EngineTelemetry;
pub use log::{SanitizingLogExporter, SanitizingLogProcessor};
pub use otlp_json::{JsonDocuments, JsonPiece, OtlpJsonError, Place, SanitizedJson, sanitize_json};
pub use policy::{FAILED, HashKey, Outcome, Policy, Reader, Redaction};
pub use span::{SanitizingSpanExporter, SanitizingSpanProcessor};
