//! Strips internal fields from OpenTelemetry spans and log records before they leave.
//!
//! Spans, log records and OTLP/JSON leave without the fields that crossfeed added for a model, and
//! without what a host's policy withholds.
//!
//! # The line to add
//!
//! A pipeline that exists already gains one line: its exporter is wrapped.
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
//! // What the model was shown of a result, noted by whatever instrumentation a host has.
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
//! # Where to put which
//!
//! | wrapper | where | strips |
//! |---|---|---|
//! | [`SanitizingSpanExporter`], [`SanitizingLogExporter`] | round an exporter: the recommended place | where the exporter runs; behind a batch processor on its own thread |
//! | [`SanitizingSpanProcessor`], [`SanitizingLogProcessor`] | round a processor whose exporter cannot be reached | on the thread that ends the span or emits the record |
//!
//! A span loses what is internal from its attributes, its events and their attributes, the attributes of
//! its links, the description of its status, its name; a log record from its attributes and its body, maps
//! and lists within them too, its event name, target and severity text. The attributes of the resource
//! and of the instrumentation scope are stripped as well. An attribute that goes as a whole is counted as
//! dropped, where there is a count. A log record of which nothing goes is passed on by reference, and a
//! span of which nothing goes is not copied.
//!
//! # What holds
//!
//! - It fails closed: what cannot be judged is withheld. That are values of kinds that this version does
//!   not know, and what lies deeper than 127 maps and lists in a log record. A panic inside a policy or a
//!   host's rule never reaches the pipeline; the text, or the span, is withheld.
//! - A wrapper changes what is behind it and nothing else.
//!
//! # What is not covered
//!
//! - Processors and exporters that stand beside a wrapped one: the SDK gives each a span of its own. Wrap
//!   each that exports.
//! - A program that is built with `panic = "abort"`: there a panic ends it, in a host's rule also.
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
mod text;
mod value;

#[cfg(feature = "engine")]
pub use engine::EngineTelemetry;
pub use log::{SanitizingLogExporter, SanitizingLogProcessor};
pub use otlp_json::{JsonDocuments, JsonPiece, OtlpJsonError, Place, SanitizedJson, sanitize_json};
pub use policy::{FAILED, HashKey, Outcome, Policy, Reader, Redaction};
pub use span::{SanitizingSpanExporter, SanitizingSpanProcessor};
