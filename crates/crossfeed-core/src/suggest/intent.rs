//! The intent of a parameter beyond its schema: how well a place in a result matches its name and the words
//! of its schema.

use super::place::{self, SchemaPlace};
use crate::{
    paths::{Candidate, differ_by_plural, folded, words},
    similarity::ComparisonBudget,
};
use crossfeed_jmespath::{Kind, View};
use crossfeed_wire::Pointer;
use serde_json::Value;
use std::collections::HashSet;

/// The similarity from which a name is taken for another spelling of the parameter's.
const ALIKE: f64 = 0.7;
/// The most bytes of a text whose format is examined.
const MAX_TEXT_BYTES: usize = 2048;
/// How many members that must be there are kept.
const MAX_REQUIRED: usize = 16;
/// How many words of descriptions are kept.
const MAX_WORDS: usize = 200;

/// The values that a parameter is likely to want.
#[derive(Clone, Debug, Default)]
pub(crate) struct ParameterIntent {
    pub(super) name: Option<String>,
    /// The name, folded, and its words.
    folded: String,
    words: Vec<String>,
    /// The format of texts, by the schema or the name.
    format: Option<TextFormat>,
    /// The words of titles and descriptions.
    described: HashSet<String>,
    /// The types that the schema demands; `None` for any.
    kinds: Option<Vec<Kind>>,
    /// The members that an object, or each object of a list, must have.
    required: Vec<String>,
}

/// The format of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TextFormat {
    Uri,
    Email,
    Date,
    DateTime,
    Uuid,
}

impl ParameterIntent {
    /// The intent by the schemas at places of a document, and by the parameter's name.
    pub(super) fn new(document: &Value, places: &[SchemaPlace], name: Option<String>) -> Self {
        let here = place::followed(document, places);
        let items = place::followed(document, &place::inside(document, &here, "0"));
        let schema_at = |place: &SchemaPlace| document.pointer(&place.at);
        let schemas: Vec<_> = here.iter().chain(&items).filter_map(schema_at).collect();
        let format = schemas
            .iter()
            .find_map(|schema| TextFormat::from_format(schema.get("format")?.as_str()?));
        let described = schemas
            .iter()
            .flat_map(|schema| ["title", "description"].map(|key| schema.get(key)))
            .filter_map(|text| text?.as_str())
            .flat_map(words)
            .filter(|word| word.len() > 2)
            .take(MAX_WORDS)
            .collect();
        // Older dialects ignore keywords beside a reference.
        let demanded = here.iter().filter(|place| place.always);
        let kinds = demanded
            .filter_map(schema_at)
            .filter(|schema| schema.get("$ref").is_none())
            .filter_map(|schema| kinds_of(schema.get("type")?))
            .reduce(|mut known, own| {
                known.retain(|kind| own.contains(kind));
                known
            });
        let required = schemas
            .iter()
            .filter_map(|schema| schema.get("required")?.as_array())
            .flatten()
            .filter_map(|name| Some(name.as_str()?.to_owned()))
            .take(MAX_REQUIRED)
            .collect();
        let intent = Self {
            format,
            described,
            kinds,
            required,
            ..Self::default()
        };
        match name {
            Some(name) => intent.named(name),
            None => intent,
        }
    }

    /// The intent of the parameter at a place of the arguments.
    pub(crate) fn for_argument(document: &Value, at: &Pointer) -> Self {
        let places = place::schemas_for_argument(document, at);
        Self::new(document, &places, place::name_in_arguments(at))
    }

    /// The same for a parameter of this name.
    pub(super) fn named(mut self, name: String) -> Self {
        self.folded = folded(&name);
        self.words = words(&name);
        self.format = self
            .format
            .or_else(|| TextFormat::from_name(self.words.last()?));
        self.name = Some(name);
        self
    }

    /// The members that an object must have.
    pub(super) fn required(&self) -> &[String] {
        &self.required
    }

    /// Whether the parameter wants lists rather than their items.
    pub(super) fn is_list(&self) -> bool {
        let kinds = self.kinds.as_deref();
        kinds.is_some_and(|kinds| kinds.contains(&Kind::Array) && !kinds.contains(&Kind::String))
    }

    /// Whether a value of this type may fit, possibly after a repair of its type.
    pub(super) fn may_be(&self, kind: Kind, repairs: bool) -> bool {
        let Some(kinds) = &self.kinds else {
            return true;
        };
        let repaired = match kind {
            Kind::String => true,
            Kind::Number => kinds.contains(&Kind::String),
            // Its items may be repaired.
            _ => false,
        };
        kinds.contains(&kind) || repairs && repaired
    }

    /// How well a place matches the parameter: more is better.
    pub(super) fn similarity(&self, candidate: &Candidate<'_>) -> u32 {
        let named = self.name_similarity(&candidate.names);
        let own = candidate.names.last().map(|name| words(name));
        let described = own.is_some_and(|own| {
            let mut own = own.iter().filter(|word| word.len() > 2);
            own.any(|word| self.described.contains(word))
        });
        let has_format = self
            .format
            .is_some_and(|format| format.is_of(&candidate.view));
        named + 4 * u32::from(has_format) + u32::from(described)
    }

    fn name_similarity(&self, names: &[String]) -> u32 {
        let Some(own) = names.last().filter(|_| !self.folded.is_empty()) else {
            return 0;
        };
        let (name, wanted) = (folded(own), self.folded.as_str());
        let is_same = |name: &str| name == wanted || differ_by_plural(name, wanted);
        if is_same(&name) {
            return 8;
        }
        // `channel.id` is what `channel_id` means.
        if let [.., around, own] = names
            && is_same(&folded(&format!("{around}{own}")))
        {
            return 8;
        }
        let own = words(own);
        if own.len() == 1 && own.last() == self.words.last() {
            return 6;
        }
        let within = name.len() >= 3 && wanted.len() >= 3;
        if within && (wanted.contains(&name) || name.contains(wanted)) {
            return 5;
        }
        // Names this short need no budget.
        let alike = ComparisonBudget::new(usize::MAX).similarity(wanted, &name, ALIKE);
        if alike.is_some() { 4 } else { 0 }
    }
}

const KINDS: [Kind; 6] = [
    Kind::Null,
    Kind::Boolean,
    Kind::Number,
    Kind::String,
    Kind::Array,
    Kind::Object,
];

/// The types that a `type` keyword allows.
fn kinds_of(types: &Value) -> Option<Vec<Kind>> {
    let kind = |name: &Value| match name.as_str()? {
        "integer" => Some(Kind::Number),
        name => KINDS.into_iter().find(|kind| kind.as_str() == name),
    };
    match types {
        Value::Array(types) => Some(types.iter().filter_map(kind).collect()),
        one => kind(one).map(|kind| vec![kind]),
    }
}

impl TextFormat {
    fn from_format(format: &str) -> Option<Self> {
        Some(match format {
            "uri" | "uri-reference" | "iri" | "iri-reference" | "url" => Self::Uri,
            "email" | "idn-email" => Self::Email,
            "date" => Self::Date,
            "date-time" => Self::DateTime,
            "uuid" => Self::Uuid,
            _ => return None,
        })
    }

    /// The format that the last word of a name suggests.
    fn from_name(word: &str) -> Option<Self> {
        Some(match word {
            "url" | "uri" | "href" | "urls" | "uris" | "link" | "links" => Self::Uri,
            "email" | "emails" => Self::Email,
            "uuid" | "uuids" => Self::Uuid,
            _ => return None,
        })
    }

    fn is_of(self, view: &View<'_>) -> bool {
        let is_long = view
            .as_cursor()
            .is_some_and(|cursor| cursor.raw().len() > MAX_TEXT_BYTES);
        if is_long {
            return false;
        }
        let Some(text) = view.as_str() else {
            return false;
        };
        // The text with each digit as `0` and each letter as `a`.
        let shape = || -> String {
            let sign = |c: char| match c {
                '0'..='9' => '0',
                'a'..='z' | 'A'..='Z' => 'a',
                c => c,
            };
            text.chars().take(MAX_TEXT_BYTES).map(sign).collect()
        };
        match self {
            Self::Uri => {
                text.contains("://") && !text.contains(char::is_whitespace)
                    || text.starts_with("mailto:")
            }
            Self::Email => {
                text.split('@').filter(|part| !part.is_empty()).count() == 2
                    && !text.contains(char::is_whitespace)
            }
            Self::Date => shape() == "0000-00-00",
            Self::DateTime => shape().starts_with("0000-00-00a00:00"),
            Self::Uuid => text.split('-').map(str::len).eq([8, 4, 4, 4, 12]),
        }
    }
}
