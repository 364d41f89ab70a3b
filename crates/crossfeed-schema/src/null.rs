//! Whether a schema admits `null`. Judged by itself, since of all values this one has nothing
//! inside: few keywords matter.

use crate::{
    Dialect,
    index::{Index, Target},
    keywords::{Step, push_step},
};
use serde_json::Value;
use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
};

/// How many schemas are looked at for one document: alternatives that refer to alternatives fan out.
const LOOKED_AT: usize = 1_000_000;

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
    let (dialect, index) = Index::lenient(root);
    Nulls::new(root, &index, dialect).at(at)
}

/// Judges the schemas of one document.
#[derive(Debug)]
pub struct Nulls<'s> {
    root: &'s Value,
    index: &'s Index,
    dialect: Dialect,
    /// What is known of schemas that something refers to: alternatives that refer to the same
    /// alternatives are judged once.
    known: RefCell<HashMap<String, bool>>,
    /// How many more schemas may be looked at, for all questions together.
    left: Cell<usize>,
}

/// Too much was looked at.
struct Unknown;

impl<'s> Nulls<'s> {
    /// Reads a document whose references are known.
    pub fn new(root: &'s Value, index: &'s Index, dialect: Dialect) -> Self {
        Self {
            root,
            index,
            dialect,
            known: RefCell::default(),
            left: Cell::new(LOOKED_AT),
        }
    }

    /// Whether the schema at a place admits null; one of which that is not known might.
    pub fn at(&self, at: &str) -> bool {
        let schema = self.root.pointer(at);
        schema.is_none_or(|schema| self.schema(schema, at) != Some(false))
    }

    /// Whether a schema, which stands at this place, admits null; `None` where that takes too much
    /// to say.
    pub fn schema(&self, schema: &Value, at: &str) -> Option<bool> {
        self.judge(schema, &mut at.to_owned(), 0).ok()
    }

    /// What a reference leads to. One that leads back to itself asserts nothing.
    fn target(&self, at: &str, depth: usize) -> Result<bool, Unknown> {
        if let Some(known) = self.known.borrow().get(at) {
            return Ok(*known);
        }
        let Some(schema) = self.root.pointer(at) else {
            return Ok(true);
        };
        let admits = self.judge(schema, &mut at.to_owned(), depth + 1)?;
        self.known.borrow_mut().insert(at.to_owned(), admits);
        Ok(admits)
    }

    fn judge(&self, schema: &Value, at: &mut String, depth: usize) -> Result<bool, Unknown> {
        let Value::Object(object) = schema else {
            return Ok(schema != &Value::Bool(false));
        };
        let left = self.left.get().checked_sub(1).ok_or(Unknown)?;
        self.left.set(left);
        if depth > crossfeed_json::MAX_DEPTH {
            return Err(Unknown);
        }
        for keyword in crate::index::REFERENCES {
            if !object.contains_key(keyword) {
                continue;
            }
            match self.index.target(at, keyword) {
                Some(Target::Here { at, .. }) if !self.target(at, depth)? => return Ok(false),
                Some(Target::Published) => return Err(Unknown), // it is not here to be judged
                _ => {}
            }
            if keyword == "$ref" && self.dialect <= Dialect::Draft7 {
                return Ok(true); // its siblings mean nothing
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
            return Ok(false);
        }
        for keyword in ["allOf", "anyOf", "oneOf"] {
            let Some(list) = listed(keyword) else {
                continue;
            };
            let mut admitting = 0;
            for (index, schema) in list.iter().enumerate() {
                let admits = self.inner(keyword, Step::Index(index), schema, at, depth)?;
                admitting += usize::from(admits);
            }
            let fits = match keyword {
                "allOf" => admitting == list.len(),
                "anyOf" => admitting > 0,
                _ => admitting == 1,
            };
            if !fits {
                return Ok(false);
            }
        }
        let mut one = |keyword: &str| match object.get(keyword) {
            Some(schema) => self
                .inner(keyword, Step::Keyword, schema, at, depth)
                .map(Some),
            None => Ok(None),
        };
        if one("not")? == Some(true) {
            return Ok(false);
        }
        match one("if")? {
            Some(true) => Ok(one("then")?.unwrap_or(true)),
            Some(false) => Ok(one("else")?.unwrap_or(true)),
            None => Ok(true),
        }
    }

    /// A schema that the one at hand applies to the same value.
    fn inner(
        &self,
        keyword: &str,
        step: Step<'_>,
        schema: &Value,
        at: &mut String,
        depth: usize,
    ) -> Result<bool, Unknown> {
        let length = at.len();
        push_step(at, keyword, step);
        let admits = self.judge(schema, at, depth + 1);
        at.truncate(length);
        admits
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
        for level in 0..50 {
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
