//! The schema that each form of an expression gives.

use super::{
    inside::{Child, ValueSchema},
    kinds::Kinds,
    schema::Inference,
};
use crossfeed_jmespath::{Elements, Node, Path, SpineStep};
use crossfeed_output_schema::is_anything;
use serde_json::{Map, Value, json};

impl Inference<'_> {
    /// The schema of an expression's value on instances of a schema; `None` if it would grow too large.
    pub(super) fn outcome(&self, form: &Node, schema: Value) -> Option<ValueSchema> {
        self.form(form, &ValueSchema::there(schema))
    }

    /// Recursion is bounded by the nesting of the expression.
    fn form(&self, form: &Node, on: &ValueSchema) -> Option<ValueSchema> {
        let mut found = match form {
            Node::Current => on.clone(),
            Node::Path(path) => self.path(path, on),
            Node::Literal(document) => {
                let value = document.root().ok()?.to_value().ok()?;
                self.literal(value)
            }
            Node::Text(text) => self.literal(json!(text)),
            Node::Chain(parts) => {
                let mut found = on.clone();
                for part in parts {
                    found = self.form(part, &found)?;
                }
                found
            }
            Node::Project(projection) => {
                let source = self.form(&projection.source, on)?;
                self.projection(&source, &projection.elements, &projection.each)?
            }
            Node::Or(parts) => {
                let mut all = self.each(parts, on)?;
                let absent = all.last().is_some_and(|one| one.absent);
                let ahead = all.len().saturating_sub(1);
                self.strip_null(&mut all[..ahead]);
                self.union(all, absent)
            }
            Node::And(parts) => {
                let all = self.each(parts, on)?;
                let absent = all.iter().any(|one| one.absent);
                self.union(all, absent)
            }
            Node::Not(_) => boolean(),
            Node::Compare(comparison) => ValueSchema {
                absent: comparison.is_ordered(),
                ..boolean()
            },
            Node::List(parts) => {
                let items: Option<Vec<_>> = parts.iter().map(|part| self.value(part, on)).collect();
                self.built(self.tuple(items?), on)
            }
            Node::Hash(hash) => {
                let mut properties = Map::new();
                for (key, value) in hash.keys.iter().zip(&hash.values) {
                    properties.insert(key.to_string(), self.value(value, on)?);
                }
                let keys: Vec<_> = properties.keys().cloned().collect();
                let schema = json!({
                    "type": "object",
                    "properties": properties,
                    "required": keys,
                    "additionalProperties": false,
                });
                self.built(schema, on)
            }
            Node::Call(function, arguments) => self.call(function.name(), arguments, on)?,
            _ => return None,
        };
        found.schema = self.bounded(found.schema)?;
        Some(found)
    }

    fn null(&self) -> ValueSchema {
        ValueSchema::there(json!({"type": "null"}))
    }

    fn literal(&self, value: Value) -> ValueSchema {
        match value {
            Value::Null => self.null(),
            value => ValueSchema::there(self.constant(value)),
        }
    }

    /// The schema of a member of a built object, which is null if the value is absent.
    fn value(&self, form: &Node, on: &ValueSchema) -> Option<Value> {
        let found = self.form(form, on)?;
        Some(self.or_null(found))
    }

    fn or_null(&self, found: ValueSchema) -> Value {
        if found.absent {
            self.any([found.schema, json!({"type": "null"})])
        } else {
            found.schema
        }
    }

    /// The schema of a list or object that is built unless its source is null.
    fn built(&self, schema: Value, on: &ValueSchema) -> ValueSchema {
        ValueSchema {
            schema,
            absent: on.absent || self.kinds(&on.schema).admit(Kinds::NULL),
        }
    }

    fn path(&self, path: &Path, on: &ValueSchema) -> ValueSchema {
        let mut found = on.clone();
        for step in path.spine() {
            let inner = match step {
                SpineStep::Field(name) => Child::Member(name),
                SpineStep::Index(index) => Child::Item(index),
                SpineStep::Each => Child::Items,
            };
            let Some(next) = self.within(&found.schema, inner, true) else {
                return self.null();
            };
            found = ValueSchema {
                absent: found.absent || next.absent,
                ..next
            };
        }
        found
    }

    fn each(&self, parts: &[Node], on: &ValueSchema) -> Option<Vec<ValueSchema>> {
        parts.iter().map(|part| self.form(part, on)).collect()
    }

    fn strip_null(&self, all: &mut [ValueSchema]) {
        for one in all {
            one.schema = self.without_null(one.schema.take());
        }
    }

    fn union(&self, all: Vec<ValueSchema>, absent: bool) -> ValueSchema {
        let schema = self.any(all.into_iter().map(|one| one.schema));
        ValueSchema { schema, absent }
    }

    /// The schema of a child of a value that may be absent.
    fn inside(&self, schema: &Value, inner: Child<'_>) -> Value {
        let found = self.within(schema, inner, false);
        found.map_or_else(|| self.nothing(), |found| found.schema)
    }

    fn projection(&self, source: &ValueSchema, of: &Elements, each: &Node) -> Option<ValueSchema> {
        let inner = match of {
            Elements::Values => Child::Members,
            _ => Child::Items,
        };
        let Some(mut item) = self.within(&source.schema, inner, true) else {
            // An empty list is still a list.
            return Some(if self.kinds(&source.schema).admit(Kinds::ARRAY) {
                ValueSchema::maybe(json!({"type": "array", "maxItems": 0}))
            } else {
                self.null()
            });
        };
        if matches!(of, Elements::Flattened) {
            item.schema = self.flattened(item.schema)?;
        }
        let one = self.form(each, &ValueSchema::there(item.schema))?;
        let items = self.without_null(one.schema);
        Some(ValueSchema {
            schema: self.list_of(items),
            absent: source.absent || item.absent,
        })
    }

    /// The items of the items that are lists, and the others.
    fn flattened(&self, item: Value) -> Option<Value> {
        let kinds = self.kinds(&item);
        if !kinds.admit(Kinds::ARRAY) {
            return Some(item);
        }
        let inner = self.inside(&item, Child::Items);
        self.bounded(if kinds.are_only(Kinds::ARRAY) {
            inner
        } else {
            self.any([inner, self.no_list(item)])
        })
    }

    /// Those instances of a schema that are not lists.
    fn no_list(&self, schema: Value) -> Value {
        let refused = json!({"not": {"type": "array"}});
        self.all(vec![schema, refused])
    }

    fn list_of(&self, items: Value) -> Value {
        if self.is_nothing(&items) {
            return json!({"type": "array", "maxItems": 0});
        }
        if is_anything(&items) {
            json!({"type": "array"})
        } else {
            json!({"type": "array", "items": items})
        }
    }

    /// The schema of a list's items; the function fails on any other value.
    fn items_of(&self, form: &Node, on: &ValueSchema) -> Option<Value> {
        let list = self.form(form, on)?;
        Some(self.inside(&list.schema, Child::Items))
    }

    /// The schema of a function's value if it does not fail.
    fn call(&self, function: &str, arguments: &[Node], on: &ValueSchema) -> Option<ValueSchema> {
        let there = |schema: Value| Some(ValueSchema::there(schema));
        let or_none = |schema: Value| Some(ValueSchema::maybe(schema));
        let list = match (function, arguments) {
            ("map", [_, list]) => Some(list),
            (_, [first, ..]) => Some(first),
            _ => None,
        }?;
        match function {
            "length" => there(json!({"type": "integer", "minimum": 0})),
            "contains" | "starts_with" | "ends_with" => Some(boolean()),
            "join" | "to_string" => there(json!({"type": "string"})),
            "keys" => there(json!({"type": "array", "items": {"type": "string"}})),
            "type" => there(json!({"type": "string", "enum": TYPES})),
            "abs" => there(json!({"type": "number"})),
            // Beyond the range of floats the value is null.
            "avg" | "ceil" | "floor" | "sum" | "to_number" => or_none(json!({"type": "number"})),
            "merge" => there(json!({"type": "object"})),
            "values" => {
                let object = self.form(list, on)?;
                let members = self.inside(&object.schema, Child::Members);
                there(self.list_of(members))
            }
            "sort" | "sort_by" => {
                let items = self.items_of(list, on)?;
                there(self.list_of(items))
            }
            "max" | "min" | "max_by" | "min_by" => or_none(self.items_of(list, on)?),
            "reverse" => {
                let items = self.items_of(list, on)?;
                let kinds = self.form(list, on)?;
                let kinds = self.kinds(&kinds.schema);
                let mut either = Vec::new();
                if kinds.admit(Kinds::ARRAY) {
                    either.push(self.list_of(items));
                }
                if kinds.admit(Kinds::STRING) {
                    either.push(json!({"type": "string"}));
                }
                there(self.any(either))
            }
            "to_array" => {
                let value = self.form(list, on)?;
                let kinds = self.kinds(&value.schema);
                if !value.absent && kinds.are_only(Kinds::ARRAY) {
                    return Some(value);
                }
                let items = self.items_of(list, on)?;
                let one = self.or_null(value);
                let either = if kinds.admit(Kinds::ARRAY) {
                    self.any([items, self.no_list(one)])
                } else {
                    one
                };
                there(self.list_of(either))
            }
            "map" => {
                let [Node::Reference(each), list] = arguments else {
                    return None;
                };
                let items = self.items_of(list, on)?;
                let each = self.value(each, &ValueSchema::there(items))?;
                there(self.list_of(each))
            }
            "not_null" => {
                let mut all = self.each(arguments, on)?;
                let is_null = |schema: &Value| self.kinds(schema).admit(Kinds::NULL);
                let absent = all.iter().all(|one| one.absent || is_null(&one.schema));
                self.strip_null(&mut all);
                Some(self.union(all, absent))
            }
            _ => None,
        }
    }
}

/// The words that `type` returns.
const TYPES: [&str; 6] = ["array", "boolean", "null", "number", "object", "string"];

fn boolean() -> ValueSchema {
    ValueSchema::there(json!({"type": "boolean"}))
}
