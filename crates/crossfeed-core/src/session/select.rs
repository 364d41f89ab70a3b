//! Selects from a recorded result, suggests selectors on it, and describes its shape.

use super::{Selected, Session, offload::is_plain_path, project::written, work::Work};
use crate::{
    canonical::StoredItem,
    failure::Failure,
    resolve::LookupKey,
    select::{is_of_whole, paths_of},
    shape::Shape,
    suggest::{ParameterSchema, Suggestion, Trial},
};
use crossfeed_wire::{ArtifactId, CallId};
use serde_json::Value;
use std::sync::Arc;

impl Session {
    /// Says what a tool of this tenant and project returns, by its output schema. A field that the schema has for such an
    /// item is none that a selector names by mistake, even if no item of a result has it.
    pub fn declare_output(&self, tool: &str, schema: &Value) {
        self.inner().declared.declare(&self.scope, tool, schema);
    }

    /// Evaluates a selector on a recorded result.
    ///
    /// # Errors
    ///
    /// [`Failure`] says what is wrong with the result or the selector.
    pub async fn select(&self, call_id: &CallId, expression: &str) -> Result<Selected, Failure> {
        self.selected(call_id, expression, false).await
    }

    /// The same for reading a result rather than passing it on: the error of a failed call can be read as well.
    ///
    /// # Errors
    ///
    /// [`Failure`] says what is wrong with the result or the selector.
    pub async fn read(&self, call_id: &CallId, expression: &str) -> Result<Selected, Failure> {
        self.selected(call_id, expression, true).await
    }

    async fn selected(
        &self,
        call_id: &CallId,
        expression: &str,
        failures: bool,
    ) -> Result<Selected, Failure> {
        let selected = self.try_select(call_id, expression, failures).await;
        let selected = selected.map_err(|failure| failure.with_expression(Some(expression)));
        selected.inspect_err(|failure| self.note_failure(failure))
    }

    async fn try_select(
        &self,
        call_id: &CallId,
        expression: &str,
        failures: bool,
    ) -> Result<Selected, Failure> {
        let key = LookupKey::new(call_id, None);
        let selecting = || {
            let (scope, text) = (self.scope.clone(), expression.to_owned());
            move |on: &Work<'_>| {
                if !failures {
                    on.succeeded()?;
                }
                let (views, budget) = on.views()?;
                let declared = on.inner.declared.get(&scope, on.shown.tool());
                let selection =
                    (on.inner).select_from(&views, declared, &on.arena, &budget, &text)?;
                Ok(Selected {
                    json: written(&selection.view, Some(&text), &on.arena, &budget)?,
                    report: selection.report,
                })
            }
        };
        let small = is_plain_path(expression);
        let paths = || paths_of(&self.inner().selectors, expression).unwrap_or_default();
        let found = self.found_part(&key, Some(&paths)).await?;
        let excerpt = match found.as_stored() {
            StoredItem::Result(result) if result.excerpt_of().is_some() => Arc::clone(result),
            _ => return self.work_on(&key, found, small, selecting()).await,
        };
        let selected = self.work_on(&key, found, small, selecting()).await;
        match selected {
            Ok(selected) if is_of_whole(&excerpt, Some(&selected.report)) => return Ok(selected),
            _ => {}
        }
        self.work_on_found(&key, small, selecting()).await
    }

    /// The shape of a recorded result's canonical value, or of the JSON that its one member holds, which a model may see without seeing the value.
    ///
    /// # Errors
    ///
    /// [`Failure`] if there is no such result, or it cannot be read.
    pub async fn shape(&self, call_id: &CallId) -> Result<Shape, Failure> {
        let key = LookupKey::new(call_id, None);
        let shape = self.work_on_found(&key, true, |on| {
            let (views, budget) = on.views()?;
            let within = views.within(&on.arena, &budget);
            Ok(Shape::new(&within.unwrap_or(views.canonical)))
        });
        shape.await.inspect_err(|failure| self.note_told(failure))
    }

    /// At most `most` selectors on a recorded result whose values fit a parameter, best first: those named like the
    /// parameter or as its schema describes it, then what a next tool is likely to need, then what is nearest to the
    /// root. Lists are offered for lists, single values for single values, and only one of places that differ in
    /// their indexes.
    ///
    /// Each was evaluated on the result's canonical value and validated. Up to 60 values are tried, each of up to
    /// 1 MiB.
    ///
    /// # Errors
    ///
    /// [`Failure`] if there is no such result, its call failed, or it cannot be read.
    pub async fn suggest(
        &self,
        call_id: &CallId,
        schema: &ParameterSchema,
        most: usize,
    ) -> Result<Vec<Suggestion>, Failure> {
        self.suggest_from(LookupKey::new(call_id, None), schema, most)
            .await
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
        let key = LookupKey::new(call_id, Some(artifact_id));
        self.suggest_from(key, schema, most).await
    }

    async fn suggest_from(
        &self,
        key: LookupKey,
        schema: &ParameterSchema,
        most: usize,
    ) -> Result<Vec<Suggestion>, Failure> {
        let schema = schema.clone();
        let suggested = self.work_on_found(&key, false, move |on| {
            on.succeeded()?;
            let (views, budget) = on.views()?;
            let trial = Trial::on(&views, &on.arena, &budget, &on.inner.options.select);
            Ok(trial.fitting_parameter(&schema, most))
        });
        let suggested = suggested.await;
        suggested.inspect_err(|failure| self.note_told(failure))
    }
}
