//! What selectors may see of the results that a plan refers to.

use super::{fill::LookupResult, plan::Plan};
use crate::{canonical::Stored, error::RevealError, reveal::RevealPolicy};
use std::collections::HashSet;

/// What may be shown of each wanted result, where that is asked for: by a selector, or by a call that
/// failed, whose message the model is told.
pub(crate) type Shown = Option<Result<Stored, RevealError>>;

/// What of the wanted results selectors may see; nothing is said where they may see all.
pub(crate) fn seen(plan: &Plan, looked: &[LookupResult], reveal: &RevealPolicy) -> Vec<Shown> {
    if !reveal.hides() {
        return Vec::new();
    }
    let references = plan.references.iter();
    let selected = references.filter(|planned| planned.reference.select.is_some());
    let selected: HashSet<usize> = selected.map(|planned| planned.wanted).collect();
    let shown = looked.iter().enumerate().map(|(wanted, looked)| {
        let whole = looked.as_ref().ok()?;
        let asked = selected.contains(&wanted) || whole.as_stored().failure().is_some();
        asked.then(|| whole.redacted(reveal))
    });
    shown.collect()
}
