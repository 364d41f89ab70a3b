//! Selecting from a recorded result, and its shape.

use super::{Selected, Session, offload::is_plain_path, project::written};
use crate::{failure::Failure, resolve::LookupKey, shape::Shape};
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
        let key = LookupKey::new(call_id, None);
        let text = expression.to_owned();
        let selecting = self.work_on_found(&key, is_plain_path(expression), move |on| {
            if !failures {
                on.succeeded()?;
            }
            let (views, budget) = on.views()?;
            let selection = on.inner.select_in(&views, &on.arena, &budget, &text)?;
            Ok(Selected {
                json: written(&selection.view, Some(&text), &on.arena, &budget)?,
                report: selection.report,
            })
        });
        let selected = selecting.await;
        let selected = selected.map_err(|failure| failure.with_expression(Some(expression)));
        selected.inspect_err(|failure| self.note_failure(failure))
    }

    /// The shape of a recorded result's canonical value: what a model may be told of it without
    /// being shown any of it.
    ///
    /// # Errors
    ///
    /// [`Failure`] when there is no such result, or it cannot be read.
    pub async fn shape(&self, call_id: &CallId) -> Result<Shape, Failure> {
        let key = LookupKey::new(call_id, None);
        let shape = self.work_on_found(&key, true, |on| Ok(Shape::of(&on.views()?.0.canonical)));
        shape.await.inspect_err(|failure| self.note_told(failure))
    }
}
