//! What selectors may see of the results that a plan refers to.

use super::{fill::LookupResult, plan::Plan};
use crate::{canonical::Stored, error::RevealError, reveal::RevealPolicy};

/// What may be shown of each wanted result, where that is asked for: by a selector, or by a call that
/// failed, whose message the model is told.
pub(crate) type Shown = Option<Result<Stored, RevealError>>;

pub(super) fn shown(plan: &Plan, looked: &[LookupResult], reveal: &RevealPolicy) -> Vec<Shown> {
    let mut is_asked = vec![false; looked.len()];
    for planned in &plan.references {
        if let (Some(_), Some(asked)) =
            (&planned.reference.select, is_asked.get_mut(planned.wanted))
        {
            *asked = true;
        }
    }
    let both = looked.iter().zip(is_asked);
    let shown = both.map(|(looked, is_asked)| {
        let whole = looked.as_ref().ok()?;
        let asked = is_asked || whole.as_stored().failure().is_some();
        asked.then(|| whole.redacted(reveal))
    });
    shown.collect()
}
