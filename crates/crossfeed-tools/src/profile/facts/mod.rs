//! The facts about a provider: names, keywords, shapes and limits.

pub(super) mod tables;

use crate::{Spelling, Style};

/// The characters and the length of a name.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct NameRule {
    /// The rule as a regular expression, for messages.
    pub pattern: &'static str,
    /// The most characters.
    pub longest: usize,
    /// Which ASCII signs are allowed beside letters and digits.
    pub signs: &'static str,
    /// Whether a letter or `_` must come first.
    pub letter_first: bool,
}

impl NameRule {
    const fn new(pattern: &'static str, longest: usize, signs: &'static str) -> Self {
        Self {
            pattern,
            longest,
            signs,
            letter_first: false,
        }
    }

    /// The same where a letter or `_` must come first.
    const fn with_letter_first(mut self) -> Self {
        self.letter_first = true;
        self
    }

    /// Whether a name follows the rule.
    pub fn admits(&self, name: &str) -> bool {
        let admitted = |c: char| c.is_ascii_alphanumeric() || self.signs.contains(c);
        let first = name.chars().next();
        first.is_some_and(|c| !self.letter_first || c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(admitted)
            && name.len() <= self.longest
    }
}

/// How a schema says that a value may be null.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Nullable {
    /// `"type": ["string", "null"]`, or a branch `{"type": "null"}`.
    Type,
    /// `"nullable": true`, and no lists of types.
    Keyword,
}

/// Which values an `enum` may list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EnumValues {
    /// Any.
    Any,
    /// No objects and no lists.
    Scalars,
    /// Strings that are not empty.
    Strings,
}

/// Numbers that must not be exceeded; `None` where no source names one.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct Limits {
    /// Levels of nesting of one tool's schema.
    pub depth: Option<usize>,
    /// Declared properties of one tool's schema.
    pub properties: Option<usize>,
    /// Values of all enums of one tool's schema.
    pub enum_values: Option<usize>,
    /// Characters of one enum that has more than [`Self::LARGE_ENUM`] values.
    pub enum_characters: Option<usize>,
    /// Characters of names, enums and constants of one tool's schema.
    pub characters: Option<usize>,
    /// Tools of one request.
    pub tools: Option<usize>,
    /// Strict tools of one request.
    pub strict_tools: Option<usize>,
    /// Optional parameters of all strict tools of one request.
    pub optionals: Option<usize>,
    /// Union-typed parameters of all strict tools of one request.
    pub unions: Option<usize>,
    /// Characters of a tool's description.
    pub description: Option<usize>,
}

impl Limits {
    /// From how many values on the characters of an enum are limited.
    pub const LARGE_ENUM: usize = 250;

    pub(super) const NONE: Self = Self {
        depth: None,
        properties: None,
        enum_values: None,
        enum_characters: None,
        characters: None,
        tools: None,
        strict_tools: None,
        optionals: None,
        unions: None,
        description: None,
    };
}

/// What one provider accepts.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Facts {
    /// The page or the error that says so, for messages.
    pub source: &'static str,
    /// The styles, the richest first.
    pub styles: &'static [(Style, Spelling)],
    /// How a tool may be called.
    pub tool_name: Option<NameRule>,
    /// Whether a tool name beyond the rule is refused, not just discouraged.
    pub tool_name_refused: bool,
    /// Whether a tool must have a schema.
    pub schema_required: bool,
    /// How a property may be called.
    pub property_name: Option<NameRule>,
    /// Whether that holds below the root too.
    pub property_names_at_every_level: bool,
    /// Whether schemas must be valid in 2020-12, whatever they declare.
    pub only_2020_12: bool,
    /// The documented keywords, in groups; `None` where a schema is taken whole.
    pub keywords: Option<&'static [&'static [&'static str]]>,
    /// Keywords that make the request fail, in groups.
    pub refused: &'static [&'static [&'static str]],
    /// Whether every keyword that is not documented makes the request fail.
    pub unknown_refused: bool,
    /// Keywords that must not stand at the root.
    pub root_refused: &'static [&'static str],
    /// The values of `format`, by type; `None` where any may stand. A type may have several entries.
    pub formats: Option<&'static [(&'static str, &'static [&'static str])]>,
    /// How a schema says that a value may be null.
    pub nullable: Nullable,
    /// Whether `$ref` may stand.
    pub refs: bool,
    /// Whether a `$ref` may have keywords beside it.
    pub ref_siblings: bool,
    /// Whether a schema may refer to itself.
    pub recursion: bool,
    /// Whether every property must be required.
    pub every_required: bool,
    /// Whether every object must say `"additionalProperties": false`.
    pub closed: bool,
    /// Whether every list must have `items`.
    pub items_required: bool,
    /// Whether every schema must say its type.
    pub typed: bool,
    /// Whether an object may have no properties.
    pub empty_objects: bool,
    /// What an `enum` may list.
    pub enum_values: EnumValues,
    /// Whether a constant that is an object or a list makes the request fail. Where an `enum` lists
    /// scalars and no source says so of constants, it is a warning.
    pub constants_refused: bool,
    /// The largest `minItems`.
    pub min_items: Option<u64>,
    /// The limits.
    pub limits: Limits,
}

impl Facts {
    /// Whether a keyword is documented.
    pub(crate) fn documents(&self, keyword: &str) -> bool {
        let mut groups = self.keywords.unwrap_or_default().iter();
        groups.any(|group| group.contains(&keyword))
    }

    /// Whether a keyword makes the request fail, wherever it stands.
    pub(crate) fn refuses(&self, keyword: &str) -> bool {
        self.refused.iter().any(|group| group.contains(&keyword))
    }

    /// Whether a format may stand beside one of the types that `is_type` says.
    pub(crate) fn admits_format(&self, format: &str, is_type: impl Fn(&str) -> bool) -> bool {
        let mut known = self.formats.unwrap_or_default().iter();
        known.any(|(word, formats)| is_type(word) && formats.contains(&format))
    }

    /// Whether a property may be called so.
    pub(crate) fn admits_property(&self, name: &str, at_root: bool) -> bool {
        let judged = at_root || self.property_names_at_every_level;
        !judged || self.property_name.is_none_or(|rule| rule.admits(name))
    }
}

/// What Gemini accepts as `parametersJsonSchema`, which is not its own subset.
pub(crate) const GEMINI_JSON_SCHEMA: &Facts = &tables::GEMINI_JSON_SCHEMA;
