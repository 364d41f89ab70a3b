//! Whether a schema admits `null`. Judged by itself, since of all values this one has nothing
//! inside: few keywords matter.

use crate::{
    Dialect,
    index::{Index, Target},
    keywords::Step,
};
use serde_json::Value;

/// How many schemas are looked at: alternatives that refer to alternatives fan out.
const LOOKED_AT: usize = 10_000;

/// Whether the schema at a place of `root`, a JSON Pointer, admits `null`.
///
/// Where that cannot be said (too much refers to too much, or to what is not known), it counts as
/// admitted.
///
/// ```
/// use crossfeed_schema::admits_null;
/// use serde_json::json;
///
/// let schema = json!({"properties": {"a": {"type": ["string", "null"]}, "b": {"type": "string"}}});
/// assert!(admits_null(&schema, "/properties/a"));
/// assert!(!admits_null(&schema, "/properties/b"));
/// ```
#[must_use]
pub fn admits_null(root: &Value, at: &str) -> bool {
    let dialect = Dialect::declared(root).unwrap_or(Dialect::Draft202012);
    let index = Index::of(root, dialect).unwrap_or_default();
    Nulls {
        root,
        index: &index,
        dialect,
    }
    .at(at)
}

/// What is needed to follow references.
#[derive(Clone, Copy)]
pub(crate) struct Nulls<'s> {
    pub(crate) root: &'s Value,
    pub(crate) index: &'s Index,
    pub(crate) dialect: Dialect,
}

impl Nulls<'_> {
    /// Whether the schema at a place admits null.
    pub(crate) fn at(&self, at: &str) -> bool {
        let schema = self.root.pointer(at);
        schema.is_none_or(|schema| self.schema(schema, at))
    }

    /// Whether a schema, which stands at this place, admits null.
    pub(crate) fn schema(&self, schema: &Value, at: &str) -> bool {
        let mut left = LOOKED_AT;
        self.judge(schema, &mut at.to_owned(), &mut left, 0)
    }

    /// `depth` counts references that were followed: a cycle of them asserts nothing.
    fn judge(&self, schema: &Value, at: &mut String, left: &mut usize, depth: usize) -> bool {
        let Value::Object(object) = schema else {
            return schema != &Value::Bool(false);
        };
        if *left == 0 || depth > crossfeed_json::MAX_DEPTH {
            return true;
        }
        *left -= 1;
        for keyword in crate::index::REFERENCES {
            if !object.contains_key(keyword) {
                continue;
            }
            if let Some(Target::Here { at: target, .. }) = self.index.target(at, keyword)
                && let Some(schema) = self.root.pointer(target)
                && !self.judge(schema, &mut target.clone(), left, depth + 1)
            {
                return false;
            }
            if keyword == "$ref" && self.dialect <= Dialect::Draft7 {
                return true; // its siblings mean nothing
            }
        }
        let typed = match object.get("type") {
            Some(Value::String(name)) => name == "null",
            Some(Value::Array(names)) => names.iter().any(|name| name == "null"),
            _ => true,
        };
        let listed = |key: &str| object.get(key).and_then(Value::as_array);
        if !typed
            || listed("enum").is_some_and(|values| !values.contains(&Value::Null))
            || object.get("const").is_some_and(|value| !value.is_null())
        {
            return false;
        }
        let mut inner = |keyword: &str, step: Step<'_>, schema: &Value| {
            let length = at.len();
            crate::index::push_step(at, keyword, step);
            let admits = self.judge(schema, at, left, depth + 1);
            at.truncate(length);
            admits
        };
        let mut count = |keyword: &str| {
            let list = listed(keyword)?;
            let admitting = list
                .iter()
                .enumerate()
                .filter(|(index, schema)| inner(keyword, Step::Index(*index), schema))
                .count();
            Some((admitting, list.len()))
        };
        if count("allOf").is_some_and(|(admitting, all)| admitting < all)
            || count("anyOf").is_some_and(|(admitting, _)| admitting == 0)
            || count("oneOf").is_some_and(|(admitting, _)| admitting != 1)
        {
            return false;
        }
        let mut one = |keyword: &str| Some(inner(keyword, Step::Keyword, object.get(keyword)?));
        if one("not") == Some(true) {
            return false;
        }
        match one("if") {
            Some(true) => one("then").unwrap_or(true),
            Some(false) => one("else").unwrap_or(true),
            None => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::admits_null;
    use serde_json::{Value, json};

    /// The validator is the judge.
    fn check(schema: Value) {
        let judged = jsonschema::is_valid(&schema, &Value::Null);
        assert_eq!(admits_null(&schema, ""), judged, "{schema}");
    }

    #[test]
    fn it_says_what_the_validator_says() {
        for schema in [
            json!(true),
            json!(false),
            json!({}),
            json!({"type": "null"}),
            json!({"type": "string"}),
            json!({"type": ["string", "null"]}),
            json!({"enum": ["a", null]}),
            json!({"enum": ["a"]}),
            json!({"const": null}),
            json!({"const": 1}),
            json!({"minLength": 3, "properties": {"a": false}}),
            json!({"allOf": [{"type": "null"}, {}]}),
            json!({"allOf": [{"type": "null"}, false]}),
            json!({"anyOf": [{"type": "string"}]}),
            json!({"anyOf": [{"type": "string"}, {"type": "null"}]}),
            json!({"oneOf": [{"type": "null"}, {}]}),
            json!({"oneOf": [{"type": "null"}, {"type": "string"}]}),
            json!({"not": {"type": "null"}}),
            json!({"not": {"type": "string"}}),
            json!({"if": {"type": "null"}, "then": false}),
            json!({"if": {"type": "null"}, "else": false}),
            json!({"if": {"type": "string"}, "else": false}),
            json!({"$ref": "#/$defs/a", "$defs": {"a": {"type": "null"}}}),
            json!({"$ref": "#/$defs/a", "$defs": {"a": {"type": "string"}}}),
            json!({"$ref": "#/$defs/a", "type": "string", "$defs": {"a": {}}}),
            json!({"$schema": "http://json-schema.org/draft-07/schema#", "$ref": "#/definitions/a",
                   "type": "string", "definitions": {"a": {}}}),
        ] {
            check(schema);
        }
    }

    #[test]
    fn alternatives_of_alternatives_end() {
        let mut defs = serde_json::Map::new();
        for level in 0..100 {
            let next = json!({"$ref": format!("#/$defs/{}", level + 1)});
            defs.insert(level.to_string(), json!({"anyOf": [next, next]}));
        }
        defs.insert("100".to_owned(), json!({"type": "string"}));
        assert!(admits_null(
            &json!({"$ref": "#/$defs/0", "$defs": defs}),
            ""
        ));
    }
}
