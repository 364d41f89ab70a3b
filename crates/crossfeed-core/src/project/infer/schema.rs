//! Builds schemas with the keywords of a dialect.

use super::{MAX_VALUES, inside::MAX_READ, kinds::Kinds};
use crossfeed_output_schema::{is_anything, values_in};
use crossfeed_schema::Dialect;
use serde_json::{Map, Value, json};
use std::cell::Cell;

/// The inference for one expression, over a schema whose references all lead to its definitions.
pub(super) struct Inference<'s> {
    /// The document, which holds the definitions.
    flat: &'s Value,
    dialect: Dialect,
    /// How many more schemas may be examined for their kinds.
    pub(super) looks_left: Cell<usize>,
    /// How many more schemas may be read for the children of their values.
    pub(super) reads_left: Cell<usize>,
}

/// The most schemas that are examined for their kinds: references and combinators fan out.
const MAX_LOOKS: usize = 200_000;

impl<'s> Inference<'s> {
    pub(super) fn new(flat: &'s Value, dialect: Dialect) -> Self {
        Self {
            flat,
            dialect,
            looks_left: Cell::new(MAX_LOOKS),
            reads_left: Cell::new(MAX_READ),
        }
    }

    /// Whether a keyword of its own lists items one by one.
    pub(super) fn lists_by_prefix(&self) -> bool {
        self.dialect >= Dialect::Draft202012
    }

    pub(super) fn has_const(&self) -> bool {
        self.dialect > Dialect::Draft4
    }

    /// The schema within the document that a schema refers to.
    pub(super) fn target(&self, schema: &Map<String, Value>) -> Option<&'s Value> {
        let reference = schema.get("$ref")?.as_str()?;
        let (keyword, name) = reference.strip_prefix("#/")?.split_once('/')?;
        self.flat.get(keyword)?.get(name)
    }

    pub(super) fn anything(&self) -> Value {
        match self.dialect {
            Dialect::Draft4 => json!({}),
            _ => json!(true),
        }
    }

    /// The schema of no value.
    pub(super) fn nothing(&self) -> Value {
        match self.dialect {
            Dialect::Draft4 => json!({"not": {}}),
            _ => json!(false),
        }
    }

    pub(super) fn is_nothing(&self, schema: &Value) -> bool {
        *schema == self.nothing()
    }

    pub(super) fn is_null(&self, schema: &Value) -> bool {
        *schema == json!({"type": "null"})
    }

    /// The schema of one value.
    pub(super) fn constant(&self, value: Value) -> Value {
        if self.has_const() {
            json!({"const": value})
        } else {
            json!({"enum": [value]})
        }
    }

    /// The schema of a list of which each item has one of its own.
    pub(super) fn tuple(&self, items: Vec<Value>) -> Value {
        let count = items.len();
        let keyword = if self.lists_by_prefix() {
            "prefixItems"
        } else {
            "items"
        };
        json!({"type": "array", keyword: items, "minItems": count, "maxItems": count})
    }

    /// One schema for what is valid by any of these.
    pub(super) fn any(&self, schemas: impl IntoIterator<Item = Value>) -> Value {
        let mut some = Vec::new();
        for schema in schemas {
            if is_anything(&schema) {
                return schema;
            }
            some.push(schema);
        }
        some.retain(|schema| !self.is_nothing(schema));
        joined("anyOf", some).unwrap_or_else(|| self.nothing())
    }

    /// One schema for what is valid by all of these.
    pub(super) fn all(&self, mut schemas: Vec<Value>) -> Value {
        schemas.retain(|schema| !is_anything(schema));
        joined("allOf", schemas).unwrap_or_else(|| self.anything())
    }

    /// The schema without null, as far as a type or union admits null.
    pub(super) fn without_null(&self, schema: Value) -> Value {
        if !self.kinds(&schema).admit(Kinds::NULL) {
            return schema;
        }
        if self.is_null(&schema) {
            return self.nothing();
        }
        let Value::Object(mut object) = schema else {
            return schema;
        };
        if let Some(Value::Array(words)) = object.get_mut("type") {
            words.retain(|word| word != "null");
            return match &mut words[..] {
                [] => self.nothing(),
                [one] => {
                    let one = one.take();
                    object.insert("type".to_owned(), one);
                    Value::Object(object)
                }
                _ => Value::Object(object),
            };
        }
        if object.len() == 1
            && let Some(Value::Array(branches)) = object.get_mut("anyOf")
        {
            let branches = std::mem::take(branches).into_iter();
            return self.any(branches.map(|branch| self.without_null(branch)));
        }
        Value::Object(object)
    }

    /// The schema, as long as it is small enough to go on with.
    pub(super) fn bounded(&self, schema: Value) -> Option<Value> {
        (values_in(&schema) <= MAX_VALUES).then_some(schema)
    }
}

/// Takes one from a counter; false once it is 0.
pub(super) fn takes_one(left: &Cell<usize>) -> bool {
    let before = left.get();
    left.set(before.saturating_sub(1));
    before > 0
}

/// One schema for several, each used once; the schema of no value for none.
fn joined(keyword: &str, schemas: Vec<Value>) -> Option<Value> {
    let mut distinct: Vec<Value> = Vec::new();
    for schema in schemas {
        if !distinct.contains(&schema) {
            distinct.push(schema);
        }
    }
    match distinct.len() {
        0 | 1 => distinct.pop(),
        _ => Some(json!({keyword: distinct})),
    }
}
