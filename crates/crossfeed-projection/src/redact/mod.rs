//! Values, tool results and messages without what is never shown.

mod envelope;
mod scrub;
#[cfg(test)]
mod tests;

pub use envelope::RedactedResult;

use crate::{
    project,
    rules::{Redacted, RevealRules},
};
use crossfeed_json::Cursor;

impl RevealRules {
    /// Appends the value without what is never shown. A document in which nothing is to be hidden
    /// is copied byte for byte.
    pub fn redact(&self, value: Cursor<'_>, out: &mut Vec<u8>) -> Redacted {
        project::redact(self, value, out)
    }
}
