//! A schema with its references resolved: the target of each, and which schemas admit `null`.

use crate::{
    Dialect,
    index::{Index, REFERENCES, Target},
    keywords,
    position::PositionCache,
};
use jsonschema::Validator;
use serde_json::{Value, json};
use std::{
    cell::{Cell, OnceCell, RefCell},
    collections::HashMap,
};

/// How many schemas are read to find out which of one document admit null: alternatives that refer to
/// alternatives fan out.
const MAX_NULL_STEPS: usize = 1_000_000;

/// The patterns of `patternProperties`, compiled on first use; `None` for one that cannot be.
#[derive(Debug, Default)]
pub struct Patterns<'s>(RefCell<HashMap<&'s str, Option<Validator>>>);

impl<'s> Patterns<'s> {
    /// Whether a key matches; a pattern that cannot be compiled might.
    pub fn matches(&self, pattern: &'s str, key: &str) -> bool {
        let mut known = self.0.borrow_mut();
        let compiled = known
            .entry(pattern)
            .or_insert_with(|| jsonschema::validator_for(&json!({"pattern": pattern})).ok());
        let key = Value::String(key.to_owned());
        compiled
            .as_ref()
            .is_none_or(|compiled| compiled.is_valid(&key))
    }
}

/// Identifies a schema within a document: it stays where it is while it is borrowed.
pub fn address(schema: &Value) -> usize {
    std::ptr::from_ref(schema) as usize
}

/// A reference of a schema.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Link<'s> {
    /// `$ref`, `$dynamicRef` or `$recursiveRef`.
    pub keyword: &'static str,
    /// Its target; `None` for a published schema.
    pub target: Option<&'s Value>,
}

/// A schema and the targets of its references. Its parts are identified by their [`address`].
#[derive(Debug)]
pub struct Document<'s> {
    pub(crate) root: &'s Value,
    dialect: Dialect,
    links: OnceCell<HashMap<usize, Vec<Link<'s>>>>,
    patterns: Patterns<'s>,
    pub(crate) positions: PositionCache<'s>,
    /// Which targets of references admit null.
    nulls: RefCell<HashMap<usize, bool>>,
    null_steps: Cell<usize>,
}

/// Whether null is admitted is unknown: it takes too many steps, or a schema outside the document decides.
struct Unknown;

impl<'s> Document<'s> {
    /// Reads a schema that may be invalid: then nothing is known of its references. They are resolved
    /// when the first is met.
    pub fn new(root: &'s Value) -> Self {
        Self {
            root,
            dialect: Dialect::declared(root).unwrap_or(Dialect::Draft202012),
            links: OnceCell::new(),
            patterns: Patterns::default(),
            positions: PositionCache::default(),
            nulls: RefCell::default(),
            null_steps: Cell::new(MAX_NULL_STEPS),
        }
    }

    /// Reads a schema whose references are resolved already.
    pub fn indexed(root: &'s Value, dialect: Dialect, index: &Index) -> Self {
        Self {
            dialect,
            links: OnceCell::from(resolved(root, index)),
            ..Self::new(root)
        }
    }

    /// The dialect that it is read in.
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// The references of one of its schemas, in the order of [`REFERENCES`].
    pub fn links(&self, schema: &Value) -> &[Link<'s>] {
        let links = self
            .links
            .get_or_init(|| resolved(self.root, &Index::lenient(self.root).1));
        links.get(&address(schema)).map_or(&[], Vec::as_slice)
    }

    /// The target of a schema's `$ref`.
    pub fn target(&self, schema: &Value) -> Option<&'s Value> {
        schema.get("$ref")?;
        let links = self.links(schema).iter();
        links
            .filter(|link| link.keyword == "$ref")
            .find_map(|link| link.target)
    }

    /// Whether a key matches a pattern of the document; one that cannot be compiled might.
    pub fn matches(&self, pattern: &'s str, key: &str) -> bool {
        self.patterns.matches(pattern, key)
    }

    /// Whether one of its schemas admits null; `None` where that takes too much to find out.
    pub fn admits_null(&self, schema: &'s Value) -> Option<bool> {
        // Each question has the steps for itself: the nulls of a long list ask about the same schema.
        self.null_steps.set(MAX_NULL_STEPS);
        self.known_null(schema, 0).ok()
    }

    /// Whether a schema admits null, found once.
    fn known_null(&self, schema: &'s Value, depth: usize) -> Result<bool, Unknown> {
        let at = address(schema);
        if let Some(known) = self.nulls.borrow().get(&at) {
            return Ok(*known);
        }
        let admits = self.judge_null(schema, depth)?;
        self.nulls.borrow_mut().insert(at, admits);
        Ok(admits)
    }

    /// Null has nothing inside, so few keywords matter.
    fn judge_null(&self, schema: &'s Value, depth: usize) -> Result<bool, Unknown> {
        let Value::Object(object) = schema else {
            return Ok(schema != &Value::Bool(false));
        };
        let left = self.null_steps.get().checked_sub(1).ok_or(Unknown)?;
        self.null_steps.set(left);
        if depth > crossfeed_json::MAX_DEPTH {
            return Err(Unknown);
        }
        if REFERENCES.iter().any(|key| object.contains_key(*key)) {
            let refers = object.contains_key("$ref");
            let hides_siblings = refers && self.dialect <= Dialect::Draft7;
            for link in self.links(schema) {
                if !self.known_null(link.target.ok_or(Unknown)?, depth + 1)? {
                    return Ok(false);
                }
                if hides_siblings {
                    break;
                }
            }
            if hides_siblings {
                return Ok(true);
            }
        }
        let listed = |key: &str| object.get(key).and_then(Value::as_array);
        if !keywords::admits_type(object.get("type"), "null")
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
            for schema in list {
                admitting += usize::from(self.judge_null(schema, depth + 1)?);
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
        let one = |keyword: &str| {
            let held = object.get(keyword);
            held.map(|schema| self.judge_null(schema, depth + 1))
                .transpose()
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
}

/// The references of a document by the addresses of the schemas that hold them.
fn resolved<'s>(root: &'s Value, index: &Index) -> HashMap<usize, Vec<Link<'s>>> {
    let mut links: HashMap<usize, Vec<Link<'s>>> = HashMap::new();
    for (at, keyword, target) in index.links() {
        let target = match target {
            Target::Published => None,
            Target::Here { at, .. } => match root.pointer(at) {
                Some(target) => Some(target),
                None => continue,
            },
        };
        if let Some(schema) = root.pointer(at) {
            let own = links.entry(address(schema)).or_default();
            own.push(Link { keyword, target });
        }
    }
    let order = |link: &Link<'_>| REFERENCES.iter().position(|known| *known == link.keyword);
    for own in links.values_mut() {
        own.sort_by_key(order);
    }
    links
}

#[cfg(test)]
mod tests {
    use super::Document;
    use serde_json::{Value, json};

    fn admits_null(schema: &Value) -> bool {
        Document::new(schema).admits_null(schema) != Some(false)
    }

    /// The validator is the judge.
    fn check(schema: Value) {
        let judged = jsonschema::is_valid(&schema, &Value::Null);
        assert_eq!(admits_null(&schema), judged, "{schema}");
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
        assert!(admits_null(&json!({"$ref": "#/$defs/0", "$defs": defs})));
    }
}
