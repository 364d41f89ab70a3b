//! Fits schemas to a provider's subset. It never fails: schemas that the subset cannot express are folded, and
//! keywords that it lacks are dropped.
//!
//! # Invariants
//!
//! - It only widens, except for the normalisation: a property that must be sent may be null, and an
//!   object with declared properties has no others (`specs/profiles.md#normalisation`).
//! - Narrowing twice is narrowing once, and the same schema always gives the same bytes.
//! - Descriptions stay byte for byte, beside what they describe.
//! - Time and size are bounded: references that fan out are folded.

mod container;
#[cfg(test)]
mod encode;
mod finish;
mod merge;
mod null;
mod plain;
mod reference;
mod shape;

use super::{
    Profile,
    facts::{Facts, Nullable},
    fold_schema, is_fold, is_fold_object,
};
use crossfeed_schema::{DefinitionNames, Dialect};
use crossfeed_wire::Pointer;
use serde_json::{Map, Value, json};
use std::collections::{HashMap, HashSet};

/// A schema that a provider accepts.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Narrowed {
    /// The schema.
    pub schema: Value,
    /// How many places are folded.
    pub folded: usize,
    /// The keywords that are gone, at most 100.
    pub dropped: Vec<Dropped>,
}

/// A keyword that the provider does not take.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Dropped {
    /// The place of the schema that held it.
    pub at: Pointer,
    /// The keyword.
    pub keyword: String,
}

/// How many dropped keywords are reported.
const MAX_DROPPED: usize = 100;

/// Deeper than this a schema is folded, so that no input exhausts the stack.
const MAX_NESTED: usize = 96;

/// How many schemas may result from each input schema, and from any input however small.
const GROWTH: usize = 4;
const LEAST: usize = 2_000;

/// How often a schema is narrowed again after places were folded.
const MAX_ROUNDS: usize = 4;

/// Fits a schema to a provider's subset.
///
/// ```
/// use crossfeed_tools::{Profile, narrow};
/// use serde_json::json;
///
/// let schema = json!({"type": "object", "properties": {"labels": {"type": "object"}, "n": {"type": "integer"}}, "required": ["labels"]});
/// let narrowed = narrow(&schema, Profile::OpenAiStrict);
/// assert_eq!(
///     narrowed.schema,
///     json!({
///         "type": "object",
///         "properties": {
///             "labels": {"type": "string", "description": "the value as JSON text"},
///             "n": {"type": ["integer", "null"]},
///         },
///         "required": ["labels", "n"],
///         "additionalProperties": false,
///     })
/// );
/// assert_eq!(narrowed.folded, 1);
/// ```
pub fn narrow(schema: &Value, profile: Profile) -> Narrowed {
    let facts = profile.facts();
    let (schema, dropped) = if facts.keywords.is_none() {
        plain::narrow(schema, facts)
    } else {
        let mut narrowing = Narrowing::new(schema, facts);
        let (mut narrowed, mut changed) = finish::finish(narrowing.root(), facts);
        let dropped = narrowing.dropped;
        // Late folds may stand in a union, which then changes.
        for _ in 0..MAX_ROUNDS {
            if !changed {
                break;
            }
            let root = Narrowing::new(&narrowed, facts).root();
            (narrowed, changed) = finish::finish(root, facts);
        }
        (narrowed, dropped)
    };
    Narrowed {
        folded: finish::folds(&schema),
        schema,
        dropped,
    }
}

/// The state of fitting one schema.
struct Narrowing<'s> {
    facts: &'static Facts,
    root: &'s Value,
    /// Whether keywords beside a `$ref` mean something in the schema's dialect.
    siblings: bool,
    /// How many schemas may still be made.
    left: usize,
    /// The names of definitions, by the pointer that they are referred to by.
    names: HashMap<String, String>,
    given: DefinitionNames,
    /// The definitions; null for one that is being made.
    definitions: Map<String, Value>,
    /// The pointers that are being followed, each with how many objects and lists it stands in.
    open: Vec<(String, usize)>,
    /// How many objects and lists are around the place at hand.
    inside: usize,
    dropped: Vec<Dropped>,
}

impl<'s> Narrowing<'s> {
    fn new(root: &'s Value, facts: &'static Facts) -> Self {
        let old = matches!(
            Dialect::declared(root),
            Some(Dialect::Draft4 | Dialect::Draft6 | Dialect::Draft7)
        );
        Self {
            facts,
            root,
            siblings: !old,
            left: LEAST + GROWTH * finish::size(root),
            names: HashMap::new(),
            given: DefinitionNames::default(),
            definitions: Map::new(),
            open: Vec::new(),
            inside: 0,
            dropped: Vec::new(),
        }
    }

    /// The root: an object, whatever it was.
    fn root(&mut self) -> Value {
        let at = Pointer::root();
        let empty = Map::new();
        let came = self.root.as_object().unwrap_or(&empty);
        let mut opened = vec![String::new()];
        let mut flat = self
            .merged(came, &mut opened)
            .unwrap_or_else(|| came.clone());
        merge::admit_branches(&mut flat, |to| self.target(to).map(|(_, target)| target));
        flat.insert("type".to_owned(), Value::from("object"));
        if !self.facts.recursion {
            self.follow(opened);
        }
        self.inside += 1;
        let mut object = self.object(&flat, &at, 0, true);
        let dialect = came.get("$schema");
        if let Some(dialect) = dialect.filter(|_| self.facts.documents("$schema")) {
            object.shift_insert(0, "$schema".to_owned(), dialect.clone());
        }
        let definitions = std::mem::take(&mut self.definitions);
        if !definitions.is_empty() {
            object.insert("$defs".to_owned(), Value::Object(definitions));
        }
        Value::Object(object)
    }

    /// Any schema below the root.
    fn schema(&mut self, schema: &Value, at: &Pointer, nested: usize) -> Value {
        if is_fold(schema) {
            return schema.clone();
        }
        let Value::Object(map) = schema else {
            return fold_schema();
        };
        if nested > MAX_NESTED || self.left == 0 {
            return self.folded(map);
        }
        self.left -= 1;
        if let Some((reference, beside)) = merge::lone_reference(map, self.siblings) {
            return self.reference(&reference, beside, at, nested);
        }
        let mut opened = Vec::new();
        let Some(flat) = self.merged(map, &mut opened) else {
            return self.folded(map);
        };
        let before = self.open.len();
        self.follow(opened);
        let shaped = self.shaped(&flat, at, nested);
        self.open.truncate(before);
        shaped
    }

    /// Marks pointers as being followed, until `open` is cut again.
    fn follow(&mut self, opened: Vec<String>) {
        let inside = self.inside;
        self.open
            .extend(opened.into_iter().map(|pointer| (pointer, inside)));
    }

    /// Whether a pointer is being followed, and with nothing between: then it leads nowhere.
    fn is_open(&self, pointer: &str) -> Option<bool> {
        let open = self.open.iter().rev().find(|(known, _)| known == pointer);
        open.map(|(_, inside)| *inside == self.inside)
    }

    /// A folded place with its own description outside.
    fn folded(&self, map: &Map<String, Value>) -> Value {
        self.union(vec![fold_schema()], self.annotations(map))
    }

    /// The annotations of a schema that the provider takes.
    fn annotations(&self, map: &Map<String, Value>) -> Map<String, Value> {
        let told = |key: &str| match key {
            "title" | "description" => map.get(key).is_some_and(Value::is_string),
            "default" | "example" => true,
            // OpenAPI's word for it means something only where it is the provider's.
            "nullable" => map.get(key) == Some(&Value::Bool(true)),
            _ => false,
        };
        map.iter()
            .filter(|(key, _)| self.facts.documents(key) && told(key))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect()
    }

    /// One of several schemas.
    fn union(&self, branches: Vec<Value>, mut annotations: Map<String, Value>) -> Value {
        let mut told: Vec<Value> = Vec::with_capacity(branches.len());
        let by_keyword = self.facts.nullable == Nullable::Keyword;
        let folds = branches.iter().any(is_fold);
        // The keyword stands beside a type, and a union has none.
        let mut is_nullable = by_keyword && annotations.shift_remove(NULLABLE).is_some();
        for mut branch in branches {
            if by_keyword && shape::is_null(&branch) {
                is_nullable = true;
                continue;
            }
            // A text in a folded place is JSON: no other string may stand for it there.
            if folds && !is_fold(&branch) && !shape::leave_text_to_fold(&mut branch) {
                continue;
            }
            told.push(branch);
        }
        distinct(&mut told);
        if is_nullable && !told.is_empty() {
            let is_put = told
                .iter_mut()
                .any(|branch| !is_fold(branch) && put_null(branch));
            if !is_put {
                let _ = told.iter_mut().any(put_null);
            }
            distinct(&mut told);
        }
        if let [only] = told.as_mut_slice() {
            if annotations.is_empty() {
                return std::mem::take(only);
            }
            let free = only
                .as_object_mut()
                .filter(|only| by_keyword && annotations.keys().all(|key| !only.contains_key(key)));
            let free = free.filter(|only| !is_fold_object(only));
            if let Some(only) = free {
                only.extend(annotations);
                // Behind these.
                if only.shift_remove(NULLABLE).is_some() {
                    only.insert(NULLABLE.to_owned(), Value::Bool(true));
                }
                return std::mem::take(&mut told[0]);
            }
        }
        if told.is_empty() {
            // Nothing but null.
            annotations.insert("type".to_owned(), Value::from("string"));
            if is_nullable {
                annotations.insert(NULLABLE.to_owned(), Value::Bool(true));
            }
            return Value::Object(annotations);
        }
        let mut union = Map::from_iter([("anyOf".to_owned(), Value::Array(told))]);
        union.extend(annotations);
        Value::Object(union)
    }

    /// A folded place, or null where it is nullable.
    fn folded_or_null(&self, nullable: bool, annotations: Map<String, Value>) -> Value {
        let null = nullable.then(|| json!({"type": "null"}));
        self.union(
            [fold_schema()].into_iter().chain(null).collect(),
            annotations,
        )
    }

    fn drop_keyword(&mut self, at: &Pointer, keyword: &str) {
        if self.dropped.len() < MAX_DROPPED {
            self.dropped.push(Dropped {
                at: at.clone(),
                keyword: keyword.to_owned(),
            });
        }
    }
}

/// Leaves out what stands twice. Values that are alike are written alike.
fn distinct(values: &mut Vec<Value>) {
    if values.len() < 2 {
        return;
    }
    let mut seen = HashSet::new();
    values.retain(|value| seen.insert(value.to_string()));
}

/// Whether a keyword only describes, in the providers' subsets.
fn is_annotation(keyword: &str) -> bool {
    matches!(keyword, "title" | "description" | "default" | "example") || keyword == NULLABLE
}

/// The keyword for null, where a subset has no type for it.
const NULLABLE: &str = "nullable";

/// Says that a schema admits null, beside a type that it says; whether it says one.
fn put_null(schema: &mut Value) -> bool {
    let Some(map) = schema.as_object_mut() else {
        return false;
    };
    if let Some(Value::Array(branches)) = map.get_mut("anyOf") {
        return branches.iter_mut().any(put_null);
    }
    let is_typed = map.contains_key("type");
    if is_typed {
        map.insert(NULLABLE.to_owned(), Value::Bool(true));
    }
    is_typed
}

#[cfg(test)]
mod laws;
#[cfg(test)]
mod tests;
