//! From the schema of a value to that of its children.

use super::{
    kinds::Kinds,
    schema::{Inference, takes_one},
};
use crossfeed_schema::compile;
use serde_json::{Map, Value, json};

/// How deep references and combinators are followed; beyond, the schema is unknown.
pub(super) const MAX_DEPTH: usize = 48;
/// How many schemas are read for one expression.
pub(super) const MAX_READ: usize = 20_000;

/// A child of a value.
#[derive(Clone, Copy, Debug)]
pub(super) enum Child<'a> {
    /// The member of this name.
    Member(&'a str),
    /// The item at this place, from the end if negative.
    Item(i64),
    /// Any item.
    Items,
    /// Any member.
    Members,
}

impl Child<'_> {
    /// The kind of values that have such a child.
    fn holder(self) -> Kinds {
        match self {
            Self::Member(_) | Self::Members => Kinds::OBJECT,
            Self::Item(_) | Self::Items => Kinds::ARRAY,
        }
    }
}

/// The schema of a value that may be absent.
#[derive(Clone, Debug)]
pub(super) struct ValueSchema {
    pub(super) schema: Value,
    /// Whether the value may be absent, which reads as null.
    pub(super) absent: bool,
}

impl ValueSchema {
    pub(super) fn there(schema: Value) -> Self {
        let absent = false;
        Self { schema, absent }
    }

    pub(super) fn maybe(schema: Value) -> Self {
        let absent = true;
        Self { schema, absent }
    }
}

impl Inference<'_> {
    /// The schema of a child of instances of a schema; `None` if they never have one. With `opens`, a string
    /// may hold the JSON of the value.
    pub(super) fn within(&self, schema: &Value, at: Child<'_>, opens: bool) -> Option<ValueSchema> {
        self.find(schema, at, Kinds::ALL, opens, 0)
    }

    fn unknown(&self) -> ValueSchema {
        ValueSchema::maybe(self.anything())
    }

    /// `None` if the value is never of a kind that has the child, or never has it.
    fn find(
        &self,
        schema: &Value,
        child: Child<'_>,
        outer: Kinds,
        opens: bool,
        depth: usize,
    ) -> Option<ValueSchema> {
        let kinds = self.kinds(schema).and(outer);
        if opens && kinds.admit(Kinds::STRING) {
            return Some(self.unknown()); // it may be the text of what is looked for
        }
        if !kinds.admit(child.holder()) {
            return None;
        }
        let Value::Object(object) = schema else {
            return Some(self.unknown());
        };
        if depth >= MAX_DEPTH || !takes_one(&self.reads_left) {
            return Some(self.unknown());
        }
        // All sources describe the same value: if one rules the child out, it is never there.
        let mut found = vec![self.own(object, child)?];
        let inside = |schema: &Value| self.find(schema, child, kinds, opens, depth + 1);
        let list = |keyword: &str| object.get(keyword).and_then(Value::as_array);
        let all = list("allOf").into_iter().flatten();
        for source in self.target(object).into_iter().chain(all) {
            found.push(inside(source)?);
        }
        for branches in ["anyOf", "oneOf"].into_iter().filter_map(list) {
            let each: Vec<_> = branches.iter().map(inside).collect();
            let is_absent = |one: &Option<ValueSchema>| one.as_ref().is_none_or(|one| one.absent);
            let absent = each.iter().any(is_absent);
            if each.iter().all(Option::is_none) {
                return None;
            }
            let schemas = each.into_iter().flatten().map(|one| one.schema);
            let schema = self.any(schemas);
            found.push(ValueSchema { schema, absent });
        }
        let absent = !kinds.are_only(child.holder()) || found.iter().all(|one| one.absent);
        let schemas = found.into_iter().map(|one| one.schema).collect();
        Some(ValueSchema {
            schema: self.all(schemas),
            absent,
        })
    }

    /// The child's schema by the schema's own keywords; `None` if they refuse it.
    fn own(&self, object: &Map<String, Value>, child: Child<'_>) -> Option<ValueSchema> {
        match child {
            Child::Member(name) => self.member(object, name),
            Child::Item(index) => self.item(object, index),
            Child::Items => {
                let (listed, rest) = self.items(object);
                let most = object.get("maxItems").and_then(Value::as_u64);
                if most == Some(0) {
                    return None;
                }
                let schemas = listed.iter().cloned().chain([rest]);
                Some(ValueSchema::there(self.any(schemas)))
            }
            Child::Members => {
                let map = |keyword| object.get(keyword).and_then(Value::as_object);
                let named = map("properties").into_iter().flatten();
                let named = named.chain(map("patternProperties").into_iter().flatten());
                let rest = object.get("additionalProperties").cloned();
                let rest = rest.unwrap_or_else(|| self.anything());
                let schemas = named.map(|(_, schema)| schema.clone()).chain([rest]);
                Some(ValueSchema::there(self.any(schemas)))
            }
        }
    }

    fn member(&self, object: &Map<String, Value>, name: &str) -> Option<ValueSchema> {
        let map = |keyword| object.get(keyword).and_then(Value::as_object);
        let declared = map("properties").and_then(|declared| declared.get(name));
        let mut schemas: Vec<Value> = declared.into_iter().cloned().collect();
        for (pattern, schema) in map("patternProperties").into_iter().flatten() {
            takes_one(&self.reads_left);
            match matches(pattern, name) {
                Some(true) => schemas.push(schema.clone()),
                Some(false) => {}
                None => return Some(self.unknown()),
            }
        }
        if schemas.is_empty() {
            schemas.extend(object.get("additionalProperties").cloned());
        }
        if schemas.contains(&Value::Bool(false)) {
            return None;
        }
        let required = object.get("required").and_then(Value::as_array);
        let is_required = |names: &Vec<Value>| names.iter().any(|one| one == name);
        Some(ValueSchema {
            schema: self.all(schemas),
            absent: !required.is_some_and(is_required),
        })
    }

    fn item(&self, object: &Map<String, Value>, index: i64) -> Option<ValueSchema> {
        let (listed, rest) = self.items(object);
        let bound = |keyword| object.get(keyword).and_then(Value::as_u64);
        let least = bound("minItems").unwrap_or(0);
        let distance = index.unsigned_abs();
        let (schema, absent) = match usize::try_from(index) {
            Ok(at) => (listed.get(at).unwrap_or(&rest).clone(), least <= distance),
            Err(_) => {
                let all = listed.iter().cloned().chain([rest]);
                (self.any(all), least < distance)
            }
        };
        if self.is_nothing(&schema) || bound("maxItems").is_some_and(|most| most == 0) {
            return None;
        }
        Some(ValueSchema { schema, absent })
    }

    /// The schemas of the items that are listed one by one, and that of the items after them.
    fn items<'o>(&self, object: &'o Map<String, Value>) -> (&'o [Value], Value) {
        let list = |keyword| object.get(keyword).and_then(Value::as_array);
        let (listed, rest) = if self.lists_by_prefix() {
            (list("prefixItems"), object.get("items"))
        } else {
            match list("items") {
                Some(listed) => (Some(listed), object.get("additionalItems")),
                None => (None, object.get("items")),
            }
        };
        let rest = rest.cloned().unwrap_or_else(|| self.anything());
        // `true` and `false` are not schemas in draft 4.
        let rest = match rest {
            Value::Bool(false) => self.nothing(),
            rest => rest,
        };
        (listed.map_or(&[], Vec::as_slice), rest)
    }
}

/// Whether a name matches a pattern; `None` if that is unknown.
fn matches(pattern: &str, name: &str) -> Option<bool> {
    let validator = compile(&json!({"pattern": pattern})).ok()?;
    Some(validator.is_valid(&Value::String(name.to_owned())))
}
