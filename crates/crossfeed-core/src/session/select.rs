//! Selecting from a recorded result, and its shape.

use super::{Selected, Session, offload::is_plain_path, project::written, succeeded};
use crate::{
    canonical::Stored,
    engine::Inner,
    failure::{Error, Failure},
    shape::Shape,
};
use crossfeed_jmespath::Arena;
use crossfeed_wire::CallId;

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
        let (wanted, text) = (call_id.clone(), expression.to_owned());
        let is_plain = is_plain_path(expression);
        let selecting = self.work_on_result(call_id, is_plain, move |inner, stored, arena| {
            if !failures {
                succeeded(&wanted, stored)?;
            }
            inner.select(stored, arena, &text)
        });
        let selected = selecting
            .await
            .map_err(|failure| failure.with_expression(Some(expression)));
        selected.inspect_err(|failure| self.note_failure(failure))
    }

    /// The shape of a recorded result's canonical value: what a model may be told of it without
    /// being shown any of it.
    ///
    /// # Errors
    ///
    /// [`Failure`] when there is no such result, or it cannot be read.
    pub async fn shape(&self, call_id: &CallId) -> Result<Shape, Failure> {
        let shape = self.work_on_result(call_id, true, |inner, stored, arena| {
            let (views, _) = inner.views(stored, arena)?;
            Ok(Shape::of(&views.canonical))
        });
        shape.await.inspect_err(|failure| self.note_told(failure))
    }
}

impl Inner {
    fn select(&self, stored: &Stored, arena: &Arena, text: &str) -> Result<Selected, Error> {
        let (views, budget) = self.views(stored, arena)?;
        let selection = self.select_in(&views, arena, &budget, text)?;
        Ok(Selected {
            json: written(&selection.view, Some(text), arena, &budget)?,
            report: selection.report,
        })
    }
}
