//! One resolution, after its look-ups: work that does not wait.

use super::{Resolved, size::counted_bytes};
use crate::{
    account::Account,
    canonical::Stored,
    engine::Inner,
    error::{Failure, ResolveError},
    resolve::{Filled, Looked, Plan, Step, Tally, fill},
    reveal::Whole,
    validate::{self, InputSchema},
};
use crossfeed_wire::CallId;
use serde_json::Value;
use std::sync::Arc;

/// One resolution, after its look-ups.
pub(super) struct Work {
    pub(super) inner: Arc<Inner>,
    pub(super) plan: Plan,
    pub(super) looked: Vec<Looked>,
    pub(super) schema: Option<InputSchema>,
    /// Whether it is done on the async thread.
    pub(super) small: bool,
}

/// What came of one resolution, and what its references cost and brought.
pub(super) struct Worked {
    pub(super) resolved: Result<Resolved, ResolveError>,
    /// Tokens of the references as they were written.
    written: usize,
    /// Tokens of what came in their places.
    referred: usize,
    /// Bytes of what came from results.
    moved: usize,
}

impl Worked {
    /// Notes it in the books of the session: only when the caller gets the answer, because what is
    /// dropped half-way brought nothing.
    pub(super) fn book(
        self,
        account: impl FnOnce() -> Arc<Account>,
    ) -> Result<Resolved, ResolveError> {
        let (written, referred, moved) = (self.written, self.referred, self.moved);
        if (written, referred, moved) != (0, 0, 0) {
            account().refer(written, referred, moved);
        }
        self.resolved
    }
}

impl Work {
    pub(super) fn resolve(&self, arguments: Value) -> Worked {
        let tokens = &self.inner.options.context.tokens;
        let tally = Tally::new(tokens, counted_bytes(self.small));
        let written = self.written_tokens(&arguments, &tally);
        let resolved = self.resolved(arguments, &tally);
        // What a call that does not run was to bring never came.
        let lineage = resolved.as_ref().map_or(&[][..], |r| r.lineage.as_slice());
        let moved = lineage.iter().filter(|link| !link.source.used_default);
        Worked {
            written,
            referred: sum(lineage.iter().map(|link| link.tokens)),
            moved: sum(moved.map(|link| link.source.bytes_out)),
            resolved,
        }
    }

    /// Bytes held of each result that is wanted, as many as there are wanted.
    pub(super) fn resident_bytes(&self) -> Vec<usize> {
        let bytes = |looked: &Looked| match looked.as_ref().map(Whole::unseen) {
            Ok(Stored::Result(result)) => result.resident_bytes(),
            _ => 0,
        };
        self.looked.iter().map(bytes).collect()
    }

    /// The calls whose results take more than before.
    pub(super) fn grown(&self, before: &[usize]) -> Vec<CallId> {
        let now = self.resident_bytes();
        let both = self.plan.wanted.iter().zip(before.iter().zip(now));
        let grown = both.filter(|(_, (before, now))| *before != now);
        grown.map(|(wanted, _)| wanted.call_id.clone()).collect()
    }

    /// What the references took that the model wrote: with their keys and braces, as they stand in
    /// the arguments.
    fn written_tokens(&self, arguments: &Value, tally: &Tally<'_>) -> usize {
        let count = |value: Option<&Value>| value.map_or(0, |v| tally.of_text(&v.to_string()));
        let of_step = |step: &Step| match step {
            Step::Literal(_) => 0,
            Step::Put { at, .. } => count(arguments.pointer(at.as_str())),
            Step::Map { object, key, .. } => {
                let map = arguments.pointer(object.as_str()).and_then(|o| o.get(key));
                tally.of_text(key).saturating_add(count(map))
            }
        };
        sum(self.plan.steps.iter().map(of_step))
    }

    fn resolved(&self, arguments: Value, tally: &Tally<'_>) -> Result<Resolved, ResolveError> {
        let filled = if self.plan.is_empty() {
            Filled {
                arguments,
                lineage: Vec::new(),
            }
        } else {
            let limits = self.inner.fill_limits();
            fill(
                &self.plan,
                arguments,
                &self.looked,
                &self.inner.selectors,
                limits,
                &self.inner.options.reveal,
                tally,
            )
            .map_err(|failures| {
                let mut failures = self.in_order(failures);
                self.advise_misses(&mut failures);
                ResolveError::new(failures)
            })?
        };
        let Filled {
            mut arguments,
            lineage,
        } = filled;
        let mut repairs = Vec::new();
        if let Some(schema) = &self.schema {
            let scope = self.inner.options.repairs;
            repairs = validate::validate(&mut arguments, schema, &lineage, scope).map_err(
                |mut failures| {
                    self.advise_misfits(&mut failures, &mut arguments, schema, &lineage);
                    self.withhold(&mut failures, &mut arguments, &lineage);
                    ResolveError::new(failures)
                },
            )?;
            self.withhold_repairs(&mut repairs, &lineage);
        }
        Ok(Resolved::new(arguments, lineage, repairs))
    }

    /// Failures in the order in which the walk over the arguments came by their places.
    fn in_order(&self, mut failures: Vec<Failure>) -> Vec<Failure> {
        let order = self.plan.order();
        failures.sort_by_key(|failure| order.get(&failure.at).copied());
        failures
    }
}

/// A sum of what a host's counter gave, which may be anything.
fn sum(counts: impl Iterator<Item = usize>) -> usize {
    counts.fold(0, usize::saturating_add)
}
