//! Which types a schema admits, by what it says and by what it only hints at.

use serde_json::{Map, Value};

/// A set of JSON types.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Types(u8);

/// The words, in the order of the bits.
const WORDS: [&str; 7] = [
    "null", "boolean", "integer", "number", "string", "array", "object",
];

impl Types {
    pub(crate) const NULL: Self = Self(1);
    pub(crate) const ARRAY: Self = Self(1 << 5);
    pub(crate) const OBJECT: Self = Self(1 << 6);
    pub(crate) const INTEGER: Self = Self(1 << 2);
    pub(crate) const NUMBER: Self = Self(1 << 3);

    /// The type that a word names; none for other words.
    pub(crate) fn named(word: &str) -> Self {
        let bit = WORDS.iter().position(|known| *known == word);
        Self(bit.map_or(0, |bit| 1 << bit))
    }

    fn of(value: &Value) -> Self {
        match value {
            Value::Number(number) if number.is_f64() => Self::NUMBER,
            Value::Number(_) => Self::INTEGER,
            other => Self::named(crossfeed_wire::reference::type_name(other)),
        }
    }

    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(crate) fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    pub(crate) fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The words of all of them; a number may be an integer.
    pub(crate) fn words(self) -> Vec<&'static str> {
        let has_number = self.has(Self::NUMBER);
        let words = WORDS.iter().copied();
        words
            .filter(|word| self.has(Self::named(word)) && !(has_number && *word == "integer"))
            .collect()
    }

    /// What both admit: an integer is a number.
    pub(super) fn and(self, other: Self) -> Self {
        let widened = |types: Self| {
            if types.has(Self::NUMBER) {
                types.or(Self::INTEGER)
            } else {
                types
            }
        };
        let both = Self(widened(self).0 & widened(other).0);
        if both.has(Self::NUMBER) && !(self.has(Self::INTEGER) && other.has(Self::INTEGER)) {
            Self(both.0 & !Self::INTEGER.0)
        } else {
            both
        }
    }

    /// The word of the only type beside null; a number may be an integer.
    pub(super) fn word(self) -> Option<&'static str> {
        let mut rest = self.0 & !Self::NULL.0;
        if rest & Self::NUMBER.0 != 0 {
            rest &= !Self::INTEGER.0;
        }
        match rest.count_ones() {
            0 if self == Self::NULL => WORDS.first().copied(),
            1 => WORDS.get(rest.trailing_zeros() as usize).copied(),
            _ => None,
        }
    }
}

/// What `type`, else `const`, else `enum` say.
pub(super) fn declared(part: &Map<String, Value>) -> Types {
    let own = match part.get("type") {
        Some(Value::String(word)) => Types::named(word),
        Some(Value::Array(words)) => words
            .iter()
            .filter_map(Value::as_str)
            .fold(Types::default(), |types, word| types.or(Types::named(word))),
        _ => Types::default(),
    };
    if !own.is_empty() {
        return own;
    }
    if let Some(value) = part.get("const") {
        return Types::of(value);
    }
    let values = part.get("enum").and_then(Value::as_array);
    let values = values.into_iter().flatten();
    values.fold(Types::default(), |types, value| types.or(Types::of(value)))
}

/// What the keywords that hold schemas hint at.
pub(super) fn inferred(part: &Map<String, Value>) -> Types {
    hinted(
        part,
        &[
            (
                Types::OBJECT,
                &["properties", "patternProperties", "additionalProperties"],
            ),
            (Types::ARRAY, &["items", "prefixItems"]),
        ],
    )
}

/// What assertions about values of one type hint at.
pub(super) fn guessed(part: &Map<String, Value>) -> Types {
    hinted(
        part,
        &[
            (
                Types::OBJECT,
                &[
                    "required",
                    "propertyNames",
                    "minProperties",
                    "maxProperties",
                    "dependentRequired",
                    "unevaluatedProperties",
                ],
            ),
            (
                Types::ARRAY,
                &[
                    "minItems",
                    "maxItems",
                    "uniqueItems",
                    "contains",
                    "additionalItems",
                    "unevaluatedItems",
                ],
            ),
            (
                Types(1 << 4),
                &[
                    "minLength",
                    "maxLength",
                    "pattern",
                    "format",
                    "contentEncoding",
                    "contentMediaType",
                ],
            ),
            (
                Types::NUMBER,
                &[
                    "minimum",
                    "maximum",
                    "exclusiveMinimum",
                    "exclusiveMaximum",
                    "multipleOf",
                ],
            ),
        ],
    )
}

fn hinted(part: &Map<String, Value>, table: &[(Types, &[&str])]) -> Types {
    table
        .iter()
        .filter(|(_, keywords)| keywords.iter().any(|keyword| part.contains_key(*keyword)))
        .fold(Types::default(), |types, (hint, _)| types.or(*hint))
}
