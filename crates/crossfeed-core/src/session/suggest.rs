//! Suggestions at the session boundary: for a host that asks, and for errors.

use super::{Session, succeeded};
use crate::{
    canonical::Stored,
    engine::Inner,
    failure::{Error, Failure},
    resolve::LookupKey,
    suggest::{ParameterSchema, Suggestion, Trial},
};
use crossfeed_jmespath::Arena;
use crossfeed_wire::{ArtifactId, CallId};
use serde_json::Value;
use std::sync::Arc;

impl Session {
    /// The selectors on a recorded result whose values fit a parameter, at most so many, best first:
    /// those named like the parameter or as its schema describes it, then what a next tool is likely
    /// to want, then what is nearest to the root. Lists are offered where a list is asked for, one
    /// value where one is; of places that differ in their indexes only, one.
    ///
    /// Each was evaluated on the result's canonical value and validated. None are offered where none
    /// of the values that were tried fits: up to 60, each of up to 1 MiB.
    ///
    /// # Errors
    ///
    /// [`Failure`] when there is no such result, it is of a failed call, or it cannot be read.
    pub async fn suggest(
        &self,
        call_id: &CallId,
        schema: &ParameterSchema,
        most: usize,
    ) -> Result<Vec<Suggestion>, Failure> {
        self.suggest_from(call_id, None, schema, most).await
    }

    /// The same on an artifact.
    ///
    /// # Errors
    ///
    /// As for [`Self::suggest`].
    pub async fn suggest_from_artifact(
        &self,
        artifact_id: &ArtifactId,
        call_id: &CallId,
        schema: &ParameterSchema,
        most: usize,
    ) -> Result<Vec<Suggestion>, Failure> {
        self.suggest_from(call_id, Some(artifact_id), schema, most)
            .await
    }

    async fn suggest_from(
        &self,
        call_id: &CallId,
        artifact_id: Option<&ArtifactId>,
        schema: &ParameterSchema,
        most: usize,
    ) -> Result<Vec<Suggestion>, Failure> {
        let fail = |error: Error| {
            let failure = Failure::of_call(call_id, error).with_artifact(artifact_id);
            self.note_told(&failure);
            failure
        };
        let wanted = LookupKey {
            call_id: call_id.clone(),
            artifact_id: artifact_id.cloned(),
        };
        let stored = self.look_up(&wanted).await.map_err(|e| fail(e.into()))?;
        let (inner, schema) = (Arc::clone(self.inner()), schema.clone());
        let work = move |stored: &Stored, arena: &Arena| {
            inner.suggest(&wanted.call_id, (stored, arena), &schema, most)
        };
        let suggested = self.work_on(call_id, stored, false, work).await;
        suggested.map_err(fail)
    }
}

impl Inner {
    fn suggest(
        &self,
        call_id: &CallId,
        (stored, arena): (&Stored, &Arena),
        schema: &ParameterSchema,
        most: usize,
    ) -> Result<Vec<Suggestion>, Error> {
        succeeded(call_id, stored)?;
        let (views, budget) = self.views(stored, arena)?;
        let trial = Trial {
            view: &views.canonical,
            arena,
            budget: &budget,
            options: &self.options.select,
            repairs: false,
        };
        let mut steps = schema.steps();
        let mut fits = |value: Value, _: Option<&str>| schema.accepts(&value, &mut steps);
        Ok(trial.fitting(schema.wish(), most, &mut fits))
    }
}
