//! Selecting from a recorded result, and its shape.

use super::{
    Selected, Session, is_small_result, offload::is_plain_path, project::written, succeeded,
};
use crate::{
    canonical::Stored,
    engine::Inner,
    error::LimitError,
    failure::{Error, Failure},
    shape::Shape,
};
use crossfeed_jmespath::Arena;
use crossfeed_wire::CallId;
use std::sync::Arc;

impl Session {
    /// Evaluates a selector on a recorded result.
    ///
    /// # Errors
    ///
    /// [`Failure`] says what is wrong with the result or the selector.
    pub async fn select(&self, call_id: &CallId, expression: &str) -> Result<Selected, Failure> {
        self.selected(call_id, expression, false).await
    }

    /// The same for who reads a result rather than passing it on: what a call failed with can be read, too.
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
        let stored = self.found(call_id).await?;
        let inner = Arc::clone(self.inner());
        let small = is_small_result(&stored) && is_plain_path(expression);
        let (wanted, text) = (call_id.clone(), expression.to_owned());
        let work = move |stored: &Stored, arena: &Arena| {
            if !failures {
                succeeded(&wanted, stored)?;
            }
            inner.select(stored, arena, &text)
        };
        let selected = self.work_on(call_id, stored, small, work).await;
        selected.map_err(|error| Failure::of_call(call_id, error))
    }

    /// The shape of a recorded result's canonical value: what a model may be told of it without
    /// being shown any of it.
    ///
    /// # Errors
    ///
    /// [`Failure`] when there is no such result, or it cannot be read.
    pub async fn shape(&self, call_id: &CallId) -> Result<Shape, Failure> {
        let shape = self.try_shape(call_id).await;
        shape.inspect_err(|failure| self.note_told(failure))
    }

    async fn try_shape(&self, call_id: &CallId) -> Result<Shape, Failure> {
        let stored = self.found(call_id).await?;
        let inner = Arc::clone(self.inner());
        let small = is_small_result(&stored);
        let work = move |stored: &Stored, arena: &Arena| inner.shape(stored, arena);
        let shape = self.work_on(call_id, stored, small, work).await;
        shape.map_err(|error| Failure::of_call(call_id, error))
    }
}

impl Inner {
    fn select(&self, stored: &Stored, arena: &Arena, text: &str) -> Result<Selected, Error> {
        let budget = self.fill_limits().budget(stored, arena);
        let views = stored.views(arena, &budget).map_err(LimitError::from)?;
        let selection = self.select_in(&views, arena, &budget, text)?;
        Ok(Selected {
            json: written(&selection.view, Some(text), arena, &budget)?,
            report: selection.report,
        })
    }

    fn shape(&self, stored: &Stored, arena: &Arena) -> Result<Shape, Error> {
        let budget = self.fill_limits().budget(stored, arena);
        let views = stored.views(arena, &budget).map_err(LimitError::from)?;
        Ok(Shape::of(&views.canonical))
    }
}
