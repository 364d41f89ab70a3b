//! Rendering: shows results to models.
//!
//! The rules are normative in `specs/views.md`.
//!
//! # Invariants
//!
//! - The output was counted as a whole by the session's counter and is within its budget, whatever the
//!   counter counts.
//! - The bytes written while searching are bounded by the budget, not by the result.
//! - A preview marks every cut outside of strings, so that no cut part can be parsed as JSON.

mod copy;
mod first_hidden;
mod internal_fields;
mod notice;
mod parts;
mod plan;
mod preview;
mod root;
mod search;
mod subject;
mod text;
mod whole;
mod write;

#[cfg(test)]
mod tests;

pub use notice::{may_hold_notices, without_notices};
pub(crate) use search::show;
pub(crate) use subject::{RenderContext, whole_tokens};

use crate::{hint::HintDetail, strip::StripPolicy};
use crossfeed_tools::{Spelling, Style};
use crossfeed_wire::View;
use derive_setters::Setters;
use std::{borrow::Cow, fmt};

/// How a result is shown. However large the budgets are, the output takes no more than
/// [`ContextOptions::limit`](crate::ContextOptions::limit).
///
/// ```
/// use crossfeed_core::{RenderOptions, ShownHints};
///
/// // At most 300 tokens, and no hints.
/// let options = RenderOptions::default().with_budget(300).with_hints(ShownHints::Never);
/// ```
#[derive(Clone, Debug, Setters)]
#[setters(prefix = "with_", strip_option)]
#[non_exhaustive]
#[must_use]
pub struct RenderOptions {
    /// The reader: a model by default. A program gets the result as it was recorded, whatever the other
    /// options say; [`View::Ask`] is [`View::Model`] here.
    pub view: View,
    /// Up to how many tokens a result is shown whole: 2000, one percent of a common context.
    pub whole_tokens: usize,
    /// The most tokens of a preview: 500, some records of most results.
    pub preview_tokens: usize,
    /// When hints are shown.
    pub hints: ShownHints,
    /// The detail of hints.
    pub detail: HintDetail,
    /// Which of the result's own top-level keys are left out.
    pub strip: StripPolicy,
    /// How references are spelled in the output: as the model's tools accept them.
    pub spelling: Spelling,
    /// Where references stand in calls of the model's tools, which a preview says: in place of any value by default.
    pub style: Style,
    /// Selectors whose values fit a parameter, as `Session::suggest` gives them: they are shown among the
    /// hints as `fittingSelectors`, except those that give nothing. Empty by default.
    pub fitting: Option<Vec<String>>,
}

impl Default for RenderOptions {
    fn default() -> Self {
        Self {
            view: View::Model,
            whole_tokens: 2000,
            preview_tokens: 500,
            hints: ShownHints::default(),
            detail: HintDetail::default(),
            strip: StripPolicy::default(),
            spelling: Spelling::Dollar,
            style: Style::Inline,
            fitting: None,
        }
    }
}

impl RenderOptions {
    /// Sets one budget for both: results of up to this many tokens are shown whole, others by a preview of at
    /// most as many.
    pub fn with_budget(mut self, tokens: usize) -> Self {
        self.whole_tokens = tokens;
        self.preview_tokens = tokens;
        self
    }
}

/// When hints are shown beside a result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ShownHints {
    /// Never.
    Never,
    /// If the result was cut: the structure of a whole one is visible.
    #[default]
    WhenCut,
    /// Always.
    Always,
}

/// A result as a model is shown it. Its `Debug` omits the data.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rendered {
    /// One JSON object: the result's own fields or, if it was cut, `preview`, a text; then ours. For a
    /// program, the recorded bytes as they are; binary data in the form in which references pass it.
    pub json: String,
    /// The tokens of the output, by the session's counter; 0 for a program, whose output does not enter the
    /// context.
    pub tokens: usize,
    /// Whether nothing was cut: there is no preview. Binary data is described,
    /// and keys are left out under [`StripPolicy::AllUnderscore`], all the same.
    pub whole: bool,
    /// Whether the model has seen all of the result's data that it may: nothing was cut, described or
    /// left out.
    pub complete: bool,
    /// Whether never-revealed parts were removed. The output for a model says so.
    pub withheld: bool,
    /// The tokens that the whole result would have taken; binary data counts only as its description. 0 for a
    /// program.
    pub whole_tokens: usize,
    preview: Option<preview::Preview>,
}

impl Rendered {
    /// The output for a program, which reads everything that it may.
    pub(crate) fn for_program(json: String, withheld: bool) -> Self {
        Self {
            json,
            tokens: 0,
            whole: true,
            complete: false,
            withheld,
            whole_tokens: 0,
            preview: None,
        }
    }

    /// The preview as a text, for a host that shows models only text: hints are in the line before the last.
    /// `None` if the result is shown whole.
    ///
    /// It has no more characters than [`json`](Self::json).
    pub fn preview_text(&self) -> Option<Cow<'_, str>> {
        Some(self.preview.as_ref()?.with_hints())
    }
}

impl fmt::Debug for Rendered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rendered")
            .field("bytes", &self.json.len())
            .field("tokens", &self.tokens)
            .field("whole", &self.whole)
            .field("complete", &self.complete)
            .field("withheld", &self.withheld)
            .field("whole_tokens", &self.whole_tokens)
            .finish()
    }
}
