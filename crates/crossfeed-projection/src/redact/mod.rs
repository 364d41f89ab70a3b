//! Removes fields that never-rules hide from values, tool results and messages.

mod envelope;
mod scrub;
#[cfg(test)]
mod tests;

pub use envelope::RedactedResult;
