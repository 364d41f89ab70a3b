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
    /// Why the list is empty.
    pub why: WhyEmpty,
    /// The nearest selectors that do match.
    pub nearest: Vec<String>,
}

impl std::fmt::Display for Notice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.why {
            WhyEmpty::FilterRefusedAll { items } => {
                write!(f, "the filter refused every one of {items} items")?;
            }
            WhyEmpty::NoItemHasField { items } => {
                write!(f, "none of {items} items has the field")?;
            }
            _ => f.write_str("the list is empty")?,
        }
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
