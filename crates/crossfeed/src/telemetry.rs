//! What the engine reports: spans by `tracing`, links and measurements by [`Telemetry`]. With the feature
//! `otel`, all of it reaches OpenTelemetry, and processors strip what must not leave.
//!
//! ```
//! use crossfeed::{Engine, EngineOptions, telemetry::{Attribute, Instrument, Telemetry, TraceContext}};
//! use std::sync::{Arc, atomic::{AtomicU64, Ordering}};
//!
//! /// Counts the references that were resolved.
//! #[derive(Debug, Default)]
//! struct References(AtomicU64);
//!
//! impl Telemetry for References {
//!     fn context(&self, _: &tracing::Span) -> Option<TraceContext> {
//!         None
//!     }
//!     fn adopt(&self, _: &tracing::Span, _: &TraceContext) {}
//!     fn link(&self, _: &tracing::Span, _: &TraceContext, _: &[Attribute<'_>]) -> bool {
//!         false
//!     }
//!     fn measure(&self, instrument: Instrument, value: f64, _: &[Attribute<'_>]) {
//!         if instrument == Instrument::References {
//!             self.0.fetch_add(value as u64, Ordering::Relaxed);
//!         }
//!     }
//! }
//!
//! let references = Arc::new(References::default());
//! let engine = Engine::in_memory(EngineOptions::default().with_telemetry(references.clone()));
//! ```
//!
//! `examples/telemetry.rs` shows what the engine measures of one call, `examples/export.rs` a whole pipeline.

pub use crossfeed_core::{Attribute, AttributeValue, Instrument, StoreWatch, Telemetry};
#[cfg(feature = "otel")]
#[cfg_attr(docsrs, doc(cfg(feature = "otel")))]
pub use crossfeed_otel::{
    EngineTelemetry, FAILED, HashKey, JsonDocuments, JsonPiece, OtlpJsonError, Outcome, Policy,
    Reader, Redaction, SanitizedJson, SanitizingLogExporter, SanitizingLogProcessor,
    SanitizingSpanExporter, SanitizingSpanProcessor, StreamPosition, sanitize_json,
};
pub use crossfeed_wire::{TraceContext, TraceContextError};
