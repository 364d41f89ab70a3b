//! Suggestions at the session boundary: for a host that asks, and for errors.

use super::Session;
use crate::{
    failure::Failure,
    resolve::LookupKey,
    suggest::{ParameterSchema, Suggestion, Trial},
};
use crossfeed_wire::{ArtifactId, CallId};

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
        let key = LookupKey::new(call_id, artifact_id);
        let schema = schema.clone();
        let suggested = self.work_on_found(&key, false, move |on| {
            on.succeeded()?;
            let (views, budget) = on.views()?;
            let trial = Trial {
                view: &views.canonical,
                arena: &on.arena,
                budget: &budget,
                options: &on.inner.options.select,
                repairs: false,
            };
            Ok(trial.fitting_parameter(&schema, most))
        });
        suggested
            .await
            .inspect_err(|failure| self.note_told(failure))
    }
}
