//! Lets properties that must be sent be null.

use super::Narrowing;
use crate::profile::is_fold_object;
use crossfeed_schema::keywords;
use serde_json::{Value, json};

impl Narrowing<'_> {
    /// The schema of a property that must be sent, so that it may be null.
    pub(super) fn or_null(&self, schema: Value) -> Value {
        if self.admits_null(&schema) {
            return schema;
        }
        let Value::Object(mut map) = schema else {
            return schema;
        };
        if is_fold_object(&map) || map.contains_key("$ref") {
            return json!({"anyOf": [map, {"type": "null"}]});
        }
        if let Some(Value::Array(branches)) = map.get_mut("anyOf") {
            branches.push(json!({"type": "null"}));
            return Value::Object(map);
        }
        match map.get_mut("type") {
            Some(Value::Array(words)) if words.iter().any(|word| word == "null") => {}
            Some(Value::Array(words)) => words.push(Value::from("null")),
            Some(word) => *word = json!([word, "null"]),
            None => {}
        }
        if let Some(value) = map.get("const").cloned() {
            let listed = map.contains_key("enum");
            let values = Value::Array(vec![value]);
            map = map
                .into_iter()
                .filter(|(key, _)| !(listed && key == "const"))
                .map(|(key, value)| match key.as_str() {
                    "const" => ("enum".to_owned(), values.clone()),
                    _ => (key, value),
                })
                .collect();
        }
        if let Some(Value::Array(values)) = map.get_mut("enum")
            && !values.contains(&Value::Null)
        {
            values.push(Value::Null);
        }
        Value::Object(map)
    }

    /// Whether a narrowed schema admits null, seen without following references.
    pub(super) fn admits_null(&self, schema: &Value) -> bool {
        if let Some(branches) = schema.get("anyOf").and_then(Value::as_array) {
            return branches.iter().any(|branch| self.admits_null(branch));
        }
        let listed = |values: &Value| values.as_array().is_some_and(|v| v.contains(&Value::Null));
        keywords::says_type(schema.get("type"), "null")
            && schema.get("enum").is_none_or(listed)
            && schema.get("const").is_none_or(Value::is_null)
    }
}
