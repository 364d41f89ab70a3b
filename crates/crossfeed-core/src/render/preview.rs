//! The text of a preview, and its hints.

use super::notice;
use std::borrow::Cow;

/// The text of a preview, and the hints beside it.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Preview {
    text: String,
    /// The length of its last line in bytes.
    end: usize,
    /// The text as a JSON string.
    hints: Option<String>,
}

impl Preview {
    pub(super) fn new(text: String, end: usize, hints: Option<&str>) -> Self {
        let hints = hints.map(str::to_owned);
        Self { text, end, hints }
    }

    /// The text, with hints in the line before its last.
    pub(super) fn with_hints(&self) -> Cow<'_, str> {
        let end = self.text.len().saturating_sub(self.end);
        match (&self.hints, self.text.split_at_checked(end)) {
            (Some(hints), Some((body, end))) => {
                let selectors = notice::selectors(hints);
                Cow::Owned(format!("{body}{selectors}\n{end}"))
            }
            _ => Cow::Borrowed(&self.text),
        }
    }
}
