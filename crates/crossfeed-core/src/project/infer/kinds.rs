//! Which kinds of values a schema admits.

use super::{
    inside::MAX_DEPTH,
    schema::{Inference, takes_one},
};
use crossfeed_wire::reference::type_name;
use serde_json::Value;

/// A set of kinds of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kinds(u8);

impl Kinds {
    pub(super) const NONE: Self = Self(0);
    pub(super) const NULL: Self = Self(1);
    pub(super) const BOOLEAN: Self = Self(2);
    pub(super) const NUMBER: Self = Self(4);
    pub(super) const STRING: Self = Self(8);
    pub(super) const ARRAY: Self = Self(16);
    pub(super) const OBJECT: Self = Self(32);
    pub(super) const ALL: Self = Self(63);

    /// Those of the kinds that are also among others.
    pub(super) fn and(self, others: Self) -> Self {
        Self(self.0 & others.0)
    }

    /// Whether some of these are in it.
    pub(super) fn admit(self, some: Self) -> bool {
        self.and(some) != Self::NONE
    }

    /// Whether nothing but these is in it.
    pub(super) fn are_only(self, these: Self) -> bool {
        self.and(these) == self
    }

    fn named(word: &str) -> Self {
        match word {
            "null" => Self::NULL,
            "boolean" => Self::BOOLEAN,
            "number" | "integer" => Self::NUMBER,
            "string" => Self::STRING,
            "array" => Self::ARRAY,
            "object" => Self::OBJECT,
            _ => Self::ALL,
        }
    }

    fn from_word(word: &Value) -> Self {
        word.as_str().map_or(Self::ALL, Self::named)
    }

    fn from_value(value: &Value) -> Self {
        Self::named(type_name(value))
    }

    fn any(kinds: impl Iterator<Item = Self>) -> Self {
        kinds.fold(Self::NONE, |all, one| Self(all.0 | one.0))
    }
}

impl Inference<'_> {
    /// The kinds that a schema admits; in doubt too many, never too few.
    pub(super) fn kinds(&self, schema: &Value) -> Kinds {
        self.kinds_at(schema, 0)
    }

    fn kinds_at(&self, schema: &Value, depth: usize) -> Kinds {
        let object = match schema {
            Value::Bool(false) => return Kinds::NONE,
            Value::Object(object) if depth < MAX_DEPTH && takes_one(&self.looks_left) => object,
            _ => return Kinds::ALL,
        };
        let of = |schema: &Value| self.kinds_at(schema, depth + 1);
        let list = |keyword: &str| object.get(keyword).and_then(Value::as_array);
        let mut kinds = match object.get("type") {
            Some(Value::Array(words)) => Kinds::any(words.iter().map(Kinds::from_word)),
            Some(word) => Kinds::from_word(word),
            None => Kinds::ALL,
        };
        if let Some(values) = list("enum") {
            kinds = kinds.and(Kinds::any(values.iter().map(Kinds::from_value)));
        }
        if let Some(value) = object.get("const").filter(|_| self.has_const()) {
            kinds = kinds.and(Kinds::from_value(value));
        }
        let all = list("allOf").into_iter().flatten();
        for schema in self.target(object).into_iter().chain(all) {
            kinds = kinds.and(of(schema));
        }
        for branches in ["anyOf", "oneOf"].into_iter().filter_map(list) {
            kinds = kinds.and(Kinds::any(branches.iter().map(of)));
        }
        kinds
    }
}
