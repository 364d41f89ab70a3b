//! Strips spans, log records and OTLP/JSON before they leave: of the fields that crossfeed added for a model, and of
//! what a host's policy withholds.
//!
//! # The line to add
//!
//! An existing pipeline needs one more line, which wraps its exporter.
//!
//! ```
//! use crossfeed_otel::{Policy, SanitizingSpanExporter};
//! use opentelemetry::{KeyValue, trace::{Tracer, TracerProvider}};
//! use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider};
//!
//! let exporter = InMemorySpanExporter::default(); // or that of `opentelemetry_otlp`
//! # let exported = exporter.clone();
//! let exporter = SanitizingSpanExporter::new(exporter, Policy::default());
//! let provider = SdkTracerProvider::builder()
//!     .with_batch_exporter(exporter)
//!     .build();
//!
//! // The result as the model saw it, recorded by the host's instrumentation.
//! let result = r#"{"total": 3, "_toolCallId": "call_1"}"#;
//! let tracer = provider.tracer("agent");
//! let span = tracer
//!     .span_builder("execute_tool search")
//!     .with_attributes([KeyValue::new("gen_ai.tool.call.result", result)]);
//! drop(tracer.build(span));
//! provider.force_flush()?;
//!
//! let spans = exported.get_finished_spans()?;
//! assert_eq!(spans[0].attributes[0].value.as_str(), r#"{"total": 3}"#);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The wrappers
//!
//! | wrapper | where | strips |
//! |---|---|---|
//! | [`SanitizingSpanExporter`], [`SanitizingLogExporter`] | around an exporter: the recommended place | where the exporter runs; behind a batch processor on its own thread |
//! | [`SanitizingSpanProcessor`], [`SanitizingLogProcessor`] | around a processor whose exporter cannot be wrapped | on the thread that ends the span or emits the record |
//!
//! Of a span they strip the attributes, the events and their attributes, the attributes of its links, the
//! description of its status, and the name; of a log record the attributes and the body, maps and lists within
//! them included, the event name, the target and the severity text. The attributes of the resource and of the
//! instrumentation scope are stripped as well. A dropped attribute is counted, where there is a count. A log record
//! with nothing to strip is passed on by reference, and a span with nothing to strip is not copied.
//!
//! # Guarantees
//!
//! - It fails closed: what cannot be judged is withheld, such as values of unknown kinds, and whatever is deeper than
//!   127 maps and lists in a log record. A panic inside a policy or a host's rule never reaches the pipeline; the
//!   text, or the span, is withheld.
//! - A wrapper changes only what passes through it.
//!
//! # What is not covered
//!
//! - Processors and exporters beside a wrapped one: the SDK gives each its own copy of a span. Wrap each that exports.
//! - Programs built with `panic = "abort"`: a panic ends them, in a host's rule as well.
//! - Metrics. Their attributes are few and of the program's own making.
//! - Trace state and baggage, which are not data of a span but travel with its ids.

mod attributes;
#[cfg(feature = "engine")]
mod engine;
mod event;
mod guard;
mod log;
mod otlp_json;
mod policy;
mod resource;
mod span;
mod table;
mod value;

#[cfg(feature = "engine")]
pub use engine::EngineTelemetry;
pub use log::{SanitizingLogExporter, SanitizingLogProcessor};
pub use otlp_json::{
    JsonDocuments, JsonPiece, OtlpJsonError, SanitizedJson, StreamPosition, sanitize_json,
};
pub use policy::{FAILED, HashKey, Outcome, Policy, Reader, Redaction};
pub use span::{SanitizingSpanExporter, SanitizingSpanProcessor};
