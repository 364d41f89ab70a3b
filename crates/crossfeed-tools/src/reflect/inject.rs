//! Puts the added parameters into a shown schema, and recognises them there.

use super::{ALL, FIELDS_SAYS, SELECT, SELECT_SAYS, WHOLE, WHOLE_SAYS};
use crossfeed_schema::{Patterns, Position, keywords};
use serde_json::{Map, Value, json};

/// Whether keywords of a root may refuse a parameter, wherever else it is declared.
fn refuses(root: &Map<String, Value>) -> bool {
    let refuses = |key: &str| keywords::is_combining(key) || matches!(key, "enum" | "const");
    root.keys().any(|key| refuses(key))
}

/// The parameters to show, with their schemas.
#[derive(Clone, Debug, Default)]
pub(crate) struct Parameters {
    properties: Vec<(&'static str, Value)>,
}

impl Parameters {
    pub(super) fn push(&mut self, name: &'static str, schema: Value) {
        self.properties.push((name, schema));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.properties.is_empty()
    }

    /// The parameters whose names the tool does not use itself.
    pub(crate) fn free_in(mut self, own: &Value) -> Self {
        if self.is_empty() {
            return self;
        }
        let place = Position::root(own);
        let is_required =
            |name: &str| keywords::strings(own.get("required")).any(|own| own == name);
        self.properties
            .retain(|(name, _)| !place.declares(name) && !is_required(name));
        self
    }

    /// Puts them into the shown schema and returns their names; none if its root may refuse them.
    pub(crate) fn put(&self, schema: &mut Value) -> Vec<&'static str> {
        if self.is_empty() {
            return Vec::new();
        }
        if *schema == Value::Bool(true) {
            *schema = json!({"type": "object"});
        }
        let Value::Object(root) = schema else {
            return Vec::new();
        };
        let is_object = keywords::admits_type(root.get("type"), "object");
        let has_properties = root.get("properties").is_none_or(Value::is_object);
        if !is_object || !has_properties || refuses(root) {
            return Vec::new();
        }
        self.loosen(root);
        let properties = root.entry("properties").or_insert_with(|| json!({}));
        if let Value::Object(properties) = properties {
            for (name, schema) in &self.properties {
                properties.insert((*name).to_owned(), schema.clone());
            }
        }
        self.properties.iter().map(|(name, _)| *name).collect()
    }

    /// Loosens keywords that would refuse them.
    fn loosen(&self, root: &mut Map<String, Value>) {
        let names: Vec<_> = self.properties.iter().map(|(name, _)| *name).collect();
        if let Some(Value::Object(patterned)) = root.get_mut("patternProperties") {
            for (pattern, schema) in patterned {
                let patterns = Patterns::default();
                let matched = self.properties.iter();
                let matched = matched.filter(|(name, _)| patterns.matches(pattern, name));
                let mut branches: Vec<_> = matched.map(|(_, schema)| schema.clone()).collect();
                if !branches.is_empty() {
                    branches.insert(0, schema.take());
                    *schema = json!({"anyOf": branches});
                }
            }
        }
        if let Some(own) = root.get_mut("propertyNames") {
            *own = json!({"anyOf": [own.take(), {"enum": names}]});
        }
        if let Some(most) = root.get("maxProperties").and_then(Value::as_u64) {
            let more = u64::try_from(names.len()).unwrap_or_default();
            let most = json!(most.saturating_add(more));
            root.insert("maxProperties".to_owned(), most);
        }
        let mut went = root.shift_remove("dependentSchemas").is_some();
        if let Some(Value::Object(own)) = root.get_mut("dependencies") {
            let before = own.len();
            own.retain(|_, needs| needs.is_array());
            went |= own.len() < before;
        }
        // It depends on keywords that were removed.
        if went {
            root.shift_remove("unevaluatedProperties");
        }
    }
}

/// The added parameters that a schema has already.
pub(crate) fn found(schema: &Value) -> Vec<&'static str> {
    let Some(properties) = schema.get("properties") else {
        return Vec::new();
    };
    let is_ours = |name: &&str| properties.get(name).is_some_and(|own| is_ours(name, own));
    ALL.into_iter().filter(is_ours).collect()
}

/// Whether a property is exactly an added parameter, in any provider's subset.
fn is_ours(name: &str, property: &Value) -> bool {
    const KNOWN: [&str; 5] = ["type", "items", "anyOf", "description", "nullable"];
    let Value::Object(map) = property else {
        return false;
    };
    let says = map.get("description").and_then(Value::as_str);
    let says = says.is_some_and(|says| match name {
        SELECT => says == SELECT_SAYS,
        WHOLE => says == WHOLE_SAYS,
        _ => says.starts_with(FIELDS_SAYS),
    });
    says && map.keys().all(|key| KNOWN.contains(&key.as_str()))
}

/// A schema without the added parameters: the tool's own.
pub(crate) fn without(schema: &Value, names: &[&str]) -> Value {
    let mut schema = schema.clone();
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.retain(|name, _| !names.contains(&name.as_str()));
    }
    if let Some(Value::Array(required)) = schema.get_mut("required") {
        required.retain(|name| !name.as_str().is_some_and(|name| names.contains(&name)));
    }
    schema
}
