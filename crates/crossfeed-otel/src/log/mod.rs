//! Log records without internal fields.
//!
//! An exporter and a processor that strip log records; records with nothing to strip are passed on
//! by reference. `policy` decides which text loses what.

mod exporter;
mod processor;
mod strip;
mod value;

#[cfg(test)]
mod tests;

pub use exporter::SanitizingLogExporter;
pub use processor::SanitizingLogProcessor;
