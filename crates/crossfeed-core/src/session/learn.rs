//! Learning what tools return that declare no output schema.

use super::{Session, is_small_result, project::on_root};
use crate::{
    canonical::Stored,
    error::LimitError,
    failure::{Error, Failure},
};
use crossfeed_jmespath::Arena;
use crossfeed_output_schema::LearnedSchema;
use crossfeed_wire::CallId;
use std::sync::Arc;

impl Session {
    /// Learns the schema of a tool's output from a recorded result: of what may be revealed of it, for
    /// this tenant and project only. What a call failed with, and a result whose tool is not known,
    /// teach nothing; the answer is whether it did.
    ///
    /// # Errors
    ///
    /// [`Failure`] when there is no such result, or it cannot be read.
    pub async fn learn(&self, call_id: &CallId) -> Result<bool, Failure> {
        let stored = self.found(call_id).await?;
        let small = is_small_result(&stored);
        let (inner, scope) = (Arc::clone(self.inner()), self.scope.clone());
        let work = move |stored: &Stored, arena: &Arena| {
            let Some(tool) = stored.tool().filter(|_| stored.failure().is_none()) else {
                return Ok(false);
            };
            let budget = inner.fill_limits().budget(stored, arena);
            let views = stored.views(arena, &budget).map_err(LimitError::from)?;
            on_root(&views.canonical, None, arena, &budget, |root| {
                inner.learned.observe(&scope, tool, root);
            })?;
            Ok(true)
        };
        let learned = self.work_on(call_id, stored, small, work).await;
        learned.map_err(|error: Error| Failure::of_call(call_id, error))
    }

    /// What was learned of a tool's output in this tenant and project.
    #[must_use]
    pub fn learned(&self, tool: &str) -> Option<LearnedSchema> {
        self.inner().learned.of(&self.scope, tool)
    }
}
