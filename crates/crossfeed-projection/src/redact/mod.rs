//! Removes what is never shown from values, tool results and messages.

mod envelope;
mod scrub;
#[cfg(test)]
mod tests;

pub use envelope::RedactedResult;
