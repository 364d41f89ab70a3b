//! Completes corrections of malformed references: by the call that is most probably meant, a selector that works on its
//! result, and the parameter that takes its value.

use super::Session;
use crate::{
    error::Draft,
    failure::{Error, ResolveError},
    resolve::LookupKey,
    suggest::{ParameterSchema, Trial, reshaped},
    validate::{InputSchema, RepairScope, lossless},
};
use crossfeed_wire::CallId;
use serde_json::{Value, json};

/// The most corrections of one call that are completed.
const MAX_COMPLETED: usize = 5;
/// The most parameters that are tried as the target of an entry that names none.
const MAX_PARAMETERS: usize = 8;

impl Session {
    /// Completes what is offered in place of malformed references.
    pub(super) async fn complete_corrections(
        &self,
        error: &mut ResolveError,
        schema: Option<&InputSchema>,
    ) {
        let schema = schema.map(InputSchema::as_value);
        let drafts = error.failures_mut().iter_mut();
        let drafts = drafts.filter_map(|failure| match &mut failure.error {
            Error::Reference(error) => error.draft.take().map(|draft| (error, draft)),
            _ => None,
        });
        for (error, draft) in drafts.take(MAX_COMPLETED) {
            let id = match &draft.call_id {
                Some(named) => Some(named.clone()),
                None => self.latest_call().await,
            };
            let Some(id) = id else { continue };
            let targeted = if draft.lacks_target() {
                let parameters = schema.map_or_else(Vec::new, parameters);
                let targeted = parameters.iter().map(|to| draft.clone().with_target(to));
                targeted.collect()
            } else {
                vec![*draft]
            };
            if let Some((draft, select)) = self.working(&targeted, &id, schema).await {
                error.complete(draft, &id, Some(&select));
            } else if let Some(draft) = targeted.first()
                && (draft.select.is_some() || error.takes_example())
            {
                // Its own error says more.
                error.complete(draft, &id, draft.select.as_deref());
            }
        }
    }

    /// The result that was used last: to look into it does not change what was.
    async fn latest_call(&self) -> Option<CallId> {
        if self.hides_ids {
            return None;
        }
        let listed = self.results().await.ok()?;
        let latest = listed.into_iter().rev().find(|listed| !listed.failed);
        latest.map(|latest| latest.call_id)
    }

    /// The first of these drafts that goes with a call, and the selector: the one that was written, if possible.
    async fn working<'d>(
        &self,
        drafts: &'d [Draft],
        call_id: &CallId,
        schema: Option<&Value>,
    ) -> Option<(&'d Draft, String)> {
        for is_exact in [true, false] {
            for draft in drafts
                .iter()
                .filter(|draft| draft.select.is_some() || !is_exact)
            {
                let working = self.working_selector(call_id, draft, schema, is_exact);
                if let Some(select) = working.await {
                    return Some((draft, select));
                }
            }
        }
        None
    }

    /// The selector of a draft, if what it selects of a result fits; unless that is to be so exactly, else one near it
    /// that does, else the best of all.
    async fn working_selector(
        &self,
        call_id: &CallId,
        draft: &Draft,
        schema: Option<&Value>,
        is_exact: bool,
    ) -> Option<String> {
        let parameter = schema.zip(draft.target());
        let parameter = parameter
            .and_then(|(schema, at)| ParameterSchema::for_argument(schema, &at).ok().flatten());
        let anything = || ParameterSchema::new(&json!({})).ok();
        let parameter = parameter.or_else(anything)?;
        let written = draft.select.clone();
        // The whole is never offered in place of a part.
        let may_be_whole = written.is_none() && draft.call_id.is_none();
        let key = LookupKey::new(call_id, None);
        let working = self.work_on_found(&key, false, move |on| {
            on.succeeded()?;
            let (views, budget) = on.views()?;
            let repairs = on.inner.options.repairs != RepairScope::Off;
            let trial = Trial::on(&views, &on.arena, &budget, &on.inner.options.select);
            let trial = trial.with_repairs(repairs);
            let mut steps = parameter.steps();
            let mut fits = |value: Value, digits: Option<&str>, repairs: bool| {
                let repaired = repairs.then(|| lossless(&value, digits)).flatten();
                let mut accepts = |value: &Value| parameter.accepts(value, &mut steps);
                accepts(&value) || repaired.as_ref().is_some_and(accepts)
            };
            let mut near = Vec::new();
            if let Some(written) = written {
                let selected = on.inner.try_in(&views, &on.arena, &budget, &written);
                near = match selected {
                    Ok(selection) => {
                        let own = [selection.report.evaluated];
                        let mut fits =
                            |value: Value, digits: Option<&str>| fits(value, digits, repairs);
                        if !trial.filter(&own, &mut fits).is_empty() {
                            return Ok(Some(written));
                        }
                        reshaped(&own[0])
                    }
                    Err(mut error) => error.nearest_mut().map(std::mem::take).unwrap_or_default(),
                };
            }
            if is_exact {
                return Ok(None);
            }
            // What fits as it is comes before what fits with another type.
            for repairs in [false, repairs] {
                let trial = trial.clone().with_repairs(repairs);
                let mut fits = |value: Value, digits: Option<&str>| fits(value, digits, repairs);
                let near = trial.filter(&near, &mut fits).into_iter().next();
                let best = || {
                    let best = trial.fitting(&parameter.intent, 2, &mut fits).into_iter();
                    let mut best = best.map(|best| best.selector);
                    best.find(|select| may_be_whole || select != "@")
                };
                if let Some(select) = near.or_else(best) {
                    return Ok(Some(select));
                }
            }
            Ok(None)
        });
        working.await.ok().flatten()
    }
}

/// The parameters of a tool, required ones first.
fn parameters(schema: &Value) -> Vec<String> {
    let required = schema.get("required").and_then(Value::as_array);
    let required = required.into_iter().flatten().filter_map(Value::as_str);
    let declared = schema.get("properties").and_then(Value::as_object);
    let declared = declared
        .into_iter()
        .flatten()
        .map(|(name, _)| name.as_str());
    let mut names: Vec<String> = Vec::new();
    for name in required.chain(declared).take(MAX_PARAMETERS) {
        if !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    names
}
