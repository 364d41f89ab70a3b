//! What is stripped, and from where.

/// What is stripped from telemetry. Cloning is cheap.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Policy {}

impl Policy {
    /// The text of an attribute as it may leave; `None` where it may leave as it is.
    ///
    /// `attribute` is the name of the attribute, by which it is known what the text holds; empty for a
    /// text that is none, such as the body of a log record.
    #[must_use]
    pub fn strip(&self, attribute: &str, text: &str) -> Option<String> {
        let _ = (attribute, text);
        None
    }
}
