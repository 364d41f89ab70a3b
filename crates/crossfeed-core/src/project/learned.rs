//! Schemas learned from the outputs of tools that declare none.

use crossfeed_json::Cursor;
use crossfeed_output_schema::{LearnOptions, LearnedSchema};
use crossfeed_wire::Scope;
use lru::LruCache;
use parking_lot::Mutex;
use std::{num::NonZeroUsize, sync::Arc};

/// Tenant, project and tool name: tenants and projects learn nothing from each other's tools.
type ToolKey = [String; 3];

fn tool_of(scope: &Scope, name: &str) -> ToolKey {
    [scope.tenant(), scope.project(), name].map(str::to_owned)
}

type SharedSchema = Arc<Mutex<LearnedSchema>>;

/// The learned schemas of the tools that were used last.
#[derive(Debug)]
pub(crate) struct LearnedSchemas {
    kept: Mutex<LruCache<ToolKey, SharedSchema>>,
    options: LearnOptions,
}

impl LearnedSchemas {
    pub(crate) fn new(capacity: NonZeroUsize, options: LearnOptions) -> Self {
        Self {
            kept: Mutex::new(LruCache::new(capacity)),
            options,
        }
    }

    /// Learns from a result of a tool.
    pub(crate) fn observe(&self, scope: &Scope, tool: &str, result: Cursor<'_>) {
        let tool = tool_of(scope, tool);
        let new = || Arc::new(Mutex::new(LearnedSchema::new(self.options.clone())));
        let learned = Arc::clone(self.kept.lock().get_or_insert(tool, new));
        // The lock of the cache is free again, so that results of other tools need not wait.
        learned.lock().observe(result);
    }

    /// The learned schema of a tool.
    pub(crate) fn get(&self, scope: &Scope, tool: &str) -> Option<LearnedSchema> {
        let learned = Arc::clone(self.kept.lock().get(&tool_of(scope, tool))?);
        let learned = learned.lock().clone();
        Some(learned)
    }
}

#[cfg(test)]
mod tests {
    use super::LearnedSchemas;
    use crossfeed_json::Document;
    use crossfeed_wire::Scope;
    use std::num::NonZeroUsize;

    fn scope(tenant: &str, project: &str, session: &str) -> Scope {
        Scope::parse(tenant, project, session).unwrap()
    }

    /// How many results of tool `t` are known in a scope.
    fn check(learned: &LearnedSchemas, scope: &Scope, expected: u64) {
        let known = learned
            .get(scope, "t")
            .map_or(0, |known| known.observations());
        assert_eq!(known, expected, "{scope:?}");
    }

    #[test]
    fn what_is_learned_stays_in_its_project_and_is_bounded() {
        let two = NonZeroUsize::new(2).unwrap();
        let learned = LearnedSchemas::new(two, Default::default());
        let result = Document::new(r#"{"a": 1}"#);
        let observe = |scope: &Scope, tool: &str| {
            learned.observe(scope, tool, result.root().unwrap());
        };
        let here = scope("a", "p", "s");
        observe(&here, "t");
        observe(&scope("a", "p", "other session"), "t");
        check(&learned, &here, 2);
        check(&learned, &scope("b", "p", "s"), 0);
        check(&learned, &scope("a", "q", "s"), 0);
        observe(&here, "u");
        observe(&scope("b", "p", "s"), "t");
        // The least recently used has gone.
        check(&learned, &here, 0);
        check(&learned, &scope("b", "p", "s"), 1);
    }
}
