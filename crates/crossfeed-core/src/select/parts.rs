//! What of a large result a selector needs, where the rest need not be read.
//!
//! Only what is sure is said: the outcome on an excerpt counts if the canonical value answered the path as it was written.
//! Whatever else a selector gives, a repair, a notice or an error above all, may depend on the rest.

use super::{
    AnsweringView, SelectReport, Selectors,
    quoted::{QUOTES, in_template},
    strip_prefix,
};
use crate::canonical::shows_as_whole;
use crossfeed_jmespath::Step;
use crossfeed_store::{PathStep, StoredResult};

/// The paths that a selector follows from the root of a result, wherever in it its canonical value may be; `None` if it is
/// more than a path.
pub(crate) fn paths_of(compiled: &Selectors, written: &str) -> Option<Vec<Vec<PathStep>>> {
    let text = written.trim();
    if text.starts_with(QUOTES) || in_template(text).is_some() {
        return None;
    }
    let mut paths = Vec::new();
    for text in [Some(text), strip_prefix(text)].into_iter().flatten() {
        let expression = compiled.get(text).ok()?;
        let steps: Vec<PathStep> = expression.steps()?.map(owned).collect();
        paths.extend(roots().map(|root| root.into_iter().chain(steps.iter().cloned()).collect()));
    }
    Some(paths)
}

fn owned(step: Step<'_>) -> PathStep {
    match step {
        Step::Field(name) => PathStep::Key(name.into()),
        Step::Index(index) => PathStep::Index(index),
    }
}

/// Where the canonical value of a result that [shows as the whole](shows_as_whole) may be.
fn roots() -> impl Iterator<Item = Vec<PathStep>> {
    let key = |key: &str| PathStep::Key(key.into());
    let text = vec![key("content"), PathStep::Index(0), key("text")];
    [
        Vec::new(),
        vec![key("structuredContent")],
        vec![key("value")],
        text,
    ]
    .into_iter()
}

/// Whether what was selected from a result is what the whole gives.
pub(crate) fn is_of_whole(result: &StoredResult, report: Option<&SelectReport>) -> bool {
    result.excerpt_of().is_none()
        || report.is_some_and(|report| {
            report.view == AnsweringView::Canonical
                && report.repairs.is_empty()
                && report.notice.is_none()
                && shows_as_whole(result)
        })
}
