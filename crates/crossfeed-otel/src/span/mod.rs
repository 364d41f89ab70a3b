//! Spans without what is internal.
//!
//! What comes in: spans that have ended, of anyone. What goes out: the same spans by way of an exporter
//! or a processor, stripped. Deliberately not here: which text loses what (`policy`).

mod exporter;
mod processor;
mod strip;

#[cfg(test)]
mod tests;

pub use exporter::SanitizingSpanExporter;
pub use processor::SanitizingSpanProcessor;
