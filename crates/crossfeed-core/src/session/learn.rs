//! Learning what tools return that declare no output schema.

use super::{Session, project::on_root};
use crate::{failure::Failure, resolve::LookupKey};
use crossfeed_output_schema::LearnedSchema;
use crossfeed_wire::CallId;

impl Session {
    /// Learns the schema of a tool's output from a recorded result: of what may be revealed of it, for
    /// this tenant and project only. What a call failed with, and a result whose tool is not known,
    /// teach nothing; the answer is whether it did.
    ///
    /// # Errors
    ///
    /// [`Failure`] when there is no such result, or it cannot be read.
    pub async fn learn(&self, call_id: &CallId) -> Result<bool, Failure> {
        let key = LookupKey::new(call_id, None);
        let scope = self.scope.clone();
        let learning = self.work_on_found(&key, true, move |on| {
            let tool = on.shown.tool().filter(|_| on.shown.failure().is_none());
            let Some(tool) = tool else {
                return Ok(false);
            };
            let (views, budget) = on.views()?;
            on_root(&views.canonical, None, &on.arena, &budget, |root| {
                on.inner.learned.observe(&scope, tool, root);
            })?;
            Ok(true)
        });
        learning.await
    }

    /// What was learned of a tool's output in this tenant and project.
    #[must_use]
    pub fn learned(&self, tool: &str) -> Option<LearnedSchema> {
        self.inner().learned.of(&self.scope, tool)
    }
}
