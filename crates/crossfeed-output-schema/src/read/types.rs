//! The types that a schema admits, by what it says and by what it only hints at.

use crossfeed_schema::keywords;
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

    fn new(value: &Value) -> Self {
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

    /// All of these.
    pub(super) fn any(types: impl Iterator<Item = Self>) -> Self {
        types.fold(Self::default(), Self::or)
    }

    /// What all of these admit; where no value is of both, the first stands.
    pub(super) fn all(types: impl Iterator<Item = Self>) -> Option<Self> {
        types.reduce(|known, next| match known.and(next) {
            both if both.is_empty() => known,
            both => both,
        })
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
    fn and(self, other: Self) -> Self {
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
    let types = part.get("type");
    let word = types.and_then(Value::as_str).into_iter();
    let own = Types::any(word.chain(keywords::strings(types)).map(Types::named));
    if !own.is_empty() {
        return own;
    }
    match part.get("const") {
        Some(value) => Types::new(value),
        None => Types::any(keywords::items(part.get("enum")).iter().map(Types::new)),
    }
}

/// Keywords that describe values inside a value.
const INSIDE: [&str; 5] = [
    "properties",
    "patternProperties",
    "additionalProperties",
    "items",
    "prefixItems",
];

/// What the keywords that describe members and items hint at.
pub(super) fn inferred(part: &Map<String, Value>) -> Types {
    hinted(part, |keyword| INSIDE.contains(&keyword))
}

/// What other assertions about values of one type hint at.
pub(super) fn guessed(part: &Map<String, Value>) -> Types {
    hinted(part, |keyword| !INSIDE.contains(&keyword))
}

fn hinted(part: &Map<String, Value>, counts: impl Fn(&str) -> bool) -> Types {
    let hints = part.keys().filter(|keyword| counts(keyword));
    let words = hints.filter_map(|keyword| keywords::asserted_type(keyword));
    Types::any(words.map(Types::named))
}
