//! Reports how a value was selected.

use crossfeed_jmespath::{WhyEmpty, repair::Repair};

/// Which view of a result answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a result has these three views")]
pub enum AnsweringView {
    /// The canonical value.
    Canonical,
    /// The envelope around it, as models copy paths from there.
    Envelope,
    /// The object that a model is shown in place of another value: `{"value": …}`, `{"text": …}`.
    Shown,
}

impl AnsweringView {
    /// The name of the view.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Canonical => "canonical",
            Self::Envelope => "envelope",
            Self::Shown => "shown",
        }
    }
}

/// Why a successful selection may not be what the model meant.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Notice {
    /// What is odd about the value.
    pub why: Oddity,
    /// The nearest selectors that do match.
    pub nearest: Vec<String>,
}

/// What is odd about a value that a selector gave.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Oddity {
    /// It is an empty list.
    Empty(WhyEmpty),
    /// A member of what the selector builds is null in every item; the reason is a sentence.
    Null(String),
    /// It compares with a field that no item has, and would give something if that was a text.
    FieldForText,
    /// It compares texts of numbers by size, and would give something else if they were numbers.
    TextOrder,
}

impl Oddity {
    /// The word with which a notice on it begins.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Empty(_) => "empty",
            Self::Null(_) => "null",
            Self::FieldForText | Self::TextOrder => "doubtful",
        }
    }
}

impl Notice {
    /// The notice without names, literals and selectors.
    pub(crate) fn masked(&self) -> Self {
        let why = match &self.why {
            Oddity::Null(_) => Oddity::Null("no item has a field".to_owned()),
            other => other.clone(),
        };
        Self {
            why,
            nearest: Vec::new(),
        }
    }
}

impl std::fmt::Display for Oddity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Empty(WhyEmpty::FilterRefusedAll { items }) => {
                write!(f, "the filter refused every one of {items} items")
            }
            Self::Empty(WhyEmpty::NoItemHasField { items }) => {
                write!(f, "none of {items} items has the field")
            }
            Self::Empty(WhyEmpty::SliceTookNone { items }) => {
                write!(f, "the slice took none of {items} items")
            }
            Self::Empty(_) => f.write_str("the list is empty"),
            Self::Null(why) => f.write_str(why),
            Self::FieldForText => f.write_str("it compares with a field that no item has"),
            Self::TextOrder => f.write_str("it compares texts of numbers in the order of texts"),
        }
    }
}

impl std::fmt::Display for Notice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.why.fmt(f)?;
        if !self.nearest.is_empty() {
            write!(f, "; try: {}", self.nearest.join(", "))?;
        }
        Ok(())
    }
}

/// How a value was selected.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SelectReport {
    /// The expression that was evaluated in the end.
    pub evaluated: String,
    /// The view that answered.
    pub view: AnsweringView,
    /// Whether a leading `result.` was removed.
    pub prefix_stripped: bool,
    /// The repairs, in order.
    pub repairs: Vec<Repair>,
    /// A notice for the model, although the selection succeeded.
    pub notice: Option<Notice>,
}
