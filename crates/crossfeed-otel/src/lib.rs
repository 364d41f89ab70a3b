//! Strips what is internal from OpenTelemetry spans and log records before they leave.
//!
//! What comes in: spans and log records of anyone, and OTLP/JSON. What goes out: the same without the
//! fields that crossfeed added for a model's use, and without what a host's policy withholds.
//! Deliberately not here: exporting, and the names of the engine's own spans.

mod policy;

pub use policy::{HashKey, Outcome, Policy, Reader, Redaction};
