//! Which kinds of values a schema admits.

use super::schema::Dictionary;
use serde_json::Value;
use std::ops::{BitAnd, BitOr};

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

    /// Whether some of these are in it.
    pub(super) fn admit(self, some: Self) -> bool {
        self & some != Self::NONE
    }

    /// Whether nothing but these is in it.
    pub(super) fn are_only(self, these: Self) -> bool {
        self & these == self
    }

    fn of_word(word: &Value) -> Self {
        match word.as_str() {
            Some("null") => Self::NULL,
            Some("boolean") => Self::BOOLEAN,
            Some("number" | "integer") => Self::NUMBER,
            Some("string") => Self::STRING,
            Some("array") => Self::ARRAY,
            Some("object") => Self::OBJECT,
            _ => Self::ALL,
        }
    }

    fn of_value(value: &Value) -> Self {
        match value {
            Value::Null => Self::NULL,
            Value::Bool(_) => Self::BOOLEAN,
            Value::Number(_) => Self::NUMBER,
            Value::String(_) => Self::STRING,
            Value::Array(_) => Self::ARRAY,
            Value::Object(_) => Self::OBJECT,
        }
    }

    fn any(kinds: impl Iterator<Item = Self>) -> Self {
        kinds.fold(Self::NONE, |all, one| all | one)
    }

    /// The kinds that a schema admits, as far as can be told: never too few.
    pub(super) fn of(schema: &Value, words: &Dictionary<'_>, depth: usize) -> Self {
        let object = match schema {
            Value::Bool(false) => return Self::NONE,
            Value::Object(object) if depth < super::inside::DEEPEST && words.looks() => object,
            _ => return Self::ALL,
        };
        let mut kinds = match object.get("type") {
            Some(Value::Array(list)) => Self::any(list.iter().map(Self::of_word)),
            Some(word) => Self::of_word(word),
            None => Self::ALL,
        };
        if let Some(Value::Array(values)) = object.get("enum") {
            kinds = kinds & Self::any(values.iter().map(Self::of_value));
        }
        if let Some(value) = object.get("const").filter(|_| words.has_const()) {
            kinds = kinds & Self::of_value(value);
        }
        if let Some(target) = words.target(object) {
            kinds = kinds & Self::of(target, words, depth + 1);
        }
        let branches = |keyword| object.get(keyword).and_then(Value::as_array);
        for branch in branches("allOf").into_iter().flatten() {
            kinds = kinds & Self::of(branch, words, depth + 1);
        }
        for keyword in ["anyOf", "oneOf"] {
            if let Some(branches) = branches(keyword) {
                let branches = branches.iter();
                kinds = kinds & Self::any(branches.map(|one| Self::of(one, words, depth + 1)));
            }
        }
        kinds
    }
}

impl BitAnd for Kinds {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl BitOr for Kinds {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}
