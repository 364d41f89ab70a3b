//! One resolution, after its look-ups: work that does not wait.

use super::Resolved;
use crate::{
    account::Account,
    engine::Inner,
    error::{Failure, ResolveError},
    resolve::{Filled, Looked, Plan, Step, fill},
    validate::{self, InputSchema},
};
use serde_json::Value;
use std::sync::Arc;

/// One resolution, after its look-ups.
pub(super) struct Work {
    pub(super) inner: Arc<Inner>,
    pub(super) plan: Plan,
    pub(super) looked: Vec<Looked>,
    pub(super) schema: Option<InputSchema>,
    /// The session's books; none where there is nothing to note.
    pub(super) account: Option<Arc<Account>>,
}

impl Work {
    pub(super) fn resolve(&self, arguments: Value) -> Result<Resolved, ResolveError> {
        let written = match self.account {
            Some(_) => self.written_tokens(&arguments),
            None => 0,
        };
        let resolved = self.resolved(arguments);
        if let Some(account) = &self.account {
            // What a call that does not run was to bring never came.
            let lineage = resolved.as_ref().map_or(&[][..], |r| r.lineage.as_slice());
            let referred = lineage.iter().map(|link| link.tokens).sum();
            let moved = lineage.iter().filter(|link| !link.source.used_default);
            let moved = moved.map(|link| link.source.bytes_out).sum();
            account.refer(written, referred, moved);
        }
        resolved
    }

    /// What the references took that the model wrote: with their keys and braces, as they stand in
    /// the arguments.
    fn written_tokens(&self, arguments: &Value) -> usize {
        let tokens = &self.inner.options.context.tokens;
        let count = |value: Option<&Value>| value.map_or(0, |v| tokens.count(&v.to_string()));
        let of_step = |step: &Step| match step {
            Step::Literal(_) => 0,
            Step::Put { at, .. } => count(arguments.pointer(at.as_str())),
            Step::Map { object, key, .. } => {
                let map = arguments.pointer(object.as_str()).and_then(|o| o.get(key));
                tokens.count(key) + count(map)
            }
        };
        self.plan.steps.iter().map(of_step).sum()
    }

    fn resolved(&self, arguments: Value) -> Result<Resolved, ResolveError> {
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
                    ResolveError::new(failures)
                },
            )?;
        }
        Ok(Resolved {
            arguments,
            lineage,
            repairs,
        })
    }

    /// Failures in the order in which the walk over the arguments came by their places.
    fn in_order(&self, mut failures: Vec<Failure>) -> Vec<Failure> {
        let order = self.plan.order();
        failures.sort_by_key(|failure| order.get(&failure.at).copied());
        failures
    }
}
