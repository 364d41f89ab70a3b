//! The fields that tools say their outputs have: one that no item has may still be no mistake.

use crossfeed_jmespath::View;
use crossfeed_wire::Scope;
use lru::LruCache;
use parking_lot::Mutex;
use serde_json::Value;
use std::{
    collections::{HashSet, VecDeque},
    num::NonZeroUsize,
    sync::Arc,
};

/// The most values of a schema that are read.
const MAX_VALUES: usize = 20_000;
/// The most objects that a schema describes.
const MAX_OBJECTS: usize = 500;
/// The most members of an item that are compared with a described object.
const MAX_MEMBERS: usize = 100;

/// The objects that an output schema describes, each by the names of its properties.
#[derive(Debug, Default)]
pub(crate) struct DeclaredOutput(Vec<HashSet<Box<str>>>);

impl DeclaredOutput {
    /// Reads any schema, wherever in it objects are described.
    pub(crate) fn new(schema: &Value) -> Self {
        let mut objects = Vec::new();
        let mut queue = VecDeque::from([schema]);
        let mut left = MAX_VALUES;
        while let Some(value) = queue.pop_front() {
            if let Some(properties) = value.get("properties").and_then(Value::as_object)
                && objects.len() < MAX_OBJECTS
            {
                let names = properties.keys().take(left);
                objects.push(names.map(|name| Box::from(name.as_str())).collect());
            }
            let inner: Vec<&Value> = match value {
                Value::Object(members) => members.values().take(left).collect(),
                Value::Array(items) => items.iter().take(left).collect(),
                _ => Vec::new(),
            };
            left -= inner.len();
            queue.extend(inner);
        }
        Self(objects)
    }

    /// Whether an object like this one is said to have a field: one that has most of its members.
    pub(super) fn has(&self, object: &View<'_>, field: &str) -> bool {
        let keys = object.members().map(|(key, _)| key);
        let keys: Vec<_> = keys.take(MAX_MEMBERS).collect();
        self.0.iter().any(|names| {
            let known = keys.iter().filter(|key| names.contains(&***key)).count();
            names.contains(field) && known * 2 >= keys.len()
        })
    }
}

/// Tenant, project and name of a tool: projects know nothing of each other's tools.
type ToolKey = [String; 3];

fn tool_of(scope: &Scope, name: &str) -> ToolKey {
    [scope.tenant(), scope.project(), name].map(str::to_owned)
}

/// What the tools that were used last say that they return.
#[derive(Debug)]
pub(crate) struct DeclaredOutputs(Mutex<LruCache<ToolKey, Arc<DeclaredOutput>>>);

impl DeclaredOutputs {
    pub(crate) fn new(capacity: NonZeroUsize) -> Self {
        Self(Mutex::new(LruCache::new(capacity)))
    }

    pub(crate) fn declare(&self, scope: &Scope, tool: &str, schema: &Value) {
        let output = Arc::new(DeclaredOutput::new(schema));
        self.0.lock().put(tool_of(scope, tool), output);
    }

    pub(crate) fn get(&self, scope: &Scope, tool: Option<&str>) -> Option<Arc<DeclaredOutput>> {
        let tool = tool_of(scope, tool?);
        self.0.lock().get(&tool).map(Arc::clone)
    }
}

#[cfg(test)]
mod tests {
    use super::DeclaredOutput;
    use crossfeed_jmespath::View;
    use crossfeed_json::Document;
    use serde_json::json;

    #[test]
    fn a_field_is_that_of_an_object_with_the_same_members() {
        let schema = json!({
            "properties": {"users": {"items": {"$ref": "#/$defs/user"}}},
            "$defs": {"user": {"properties": {
                "name": {}, "nick": {},
                "address": {"properties": {"city": {}, "street": {}}}
            }}}
        });
        let declared = DeclaredOutput::new(&schema);
        let document = Document::new(r#"{"name": "Ada", "address": {"city": "Paris"}}"#);
        let user = View::from(document.root().unwrap());
        assert!(declared.has(&user, "nick"));
        assert!(!declared.has(&user, "city"));
        assert!(!declared.has(&user, "nikc"));
    }
}
