//! Spans without internal fields.
//!
//! An exporter and a processor that strip spans when they have ended. `policy` decides which text
//! loses what.

mod exporter;
mod processor;
mod strip;

#[cfg(test)]
mod tests;

pub use exporter::SanitizingSpanExporter;
pub use processor::SanitizingSpanProcessor;
