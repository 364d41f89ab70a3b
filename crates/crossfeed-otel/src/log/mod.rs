//! Log records without what is internal.
//!
//! What comes in: log records of anyone. What goes out: the same records by way of an exporter or a
//! processor, stripped; those that have nothing to strip are passed on by reference. Deliberately not
//! here: which text loses what (`policy`).

mod exporter;
mod processor;
mod strip;
mod value;

#[cfg(test)]
mod tests;

pub use exporter::SanitizingLogExporter;
pub use processor::SanitizingLogProcessor;
