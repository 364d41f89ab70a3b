//! What a parameter is likely to want, beyond what its schema demands: how well a place of a result goes with
//! its name and its schema's words.
//!
//! Whether a value fits is judged elsewhere.

use super::place::{self, Found};
use crate::{
    paths::{Candidate, differ_by_plural, folded, words},
    similarity::ComparisonBudget,
};
use crossfeed_jmespath::{Kind, View};
use crossfeed_wire::Pointer;
use serde_json::Value;
use std::collections::HashSet;

/// From which likeness on a name is taken for another spelling of the parameter's.
const ALIKE: f64 = 0.7;
/// The most bytes of a text whose look is judged.
const LOOKED_BYTES: usize = 2048;
/// How many words of descriptions are kept.
const WORDS: usize = 200;

/// What a parameter is likely to want.
#[derive(Clone, Debug, Default)]
pub(crate) struct ParameterIntent {
    pub(super) name: Option<String>,
    /// The name, folded, and its words.
    folded: String,
    words: Vec<String>,
    /// What the texts are, as the schema or the name says.
    look: Option<TextFormat>,
    /// The words of titles and descriptions.
    described: HashSet<String>,
    /// The types that are demanded; none where any may do.
    kinds: Option<Vec<Kind>>,
}

/// How a text looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TextFormat {
    Uri,
    Email,
    Date,
    DateTime,
    Uuid,
}

impl ParameterIntent {
    /// What the schemas at places of a document say, and the name of what they are for.
    pub(super) fn of(document: &Value, found: &Found, name: Option<String>) -> Self {
        let here = place::followed(document, found);
        let item = Found {
            all: place::inside(document, &here.all, "0"),
            any: place::inside(document, &here.any, "0"),
        };
        let items = place::followed(document, &item);
        let at = |places: &[String]| -> Vec<&Value> {
            places
                .iter()
                .filter_map(|at| document.pointer(at))
                .collect()
        };
        let demanded = at(&here.all);
        let schemas = [at(&here.all), at(&here.any), at(&items.all), at(&items.any)].concat();
        let text = |schema: &'_ Value, key: &str| Some(schema.get(key)?.as_str()?.to_owned());
        let look = schemas
            .iter()
            .find_map(|schema| TextFormat::of_format(&text(schema, "format")?));
        let described = schemas
            .iter()
            .flat_map(|schema| [text(schema, "title"), text(schema, "description")])
            .flatten()
            .flat_map(|text| words(&text))
            .filter(|word| word.len() > 2)
            .take(WORDS)
            .collect();
        let mut kinds: Option<Vec<Kind>> = None;
        // Beside a reference the older dialects demand nothing.
        let alone = |schema: &&&Value| schema.get("$ref").is_none();
        for schema in demanded.iter().filter(alone) {
            if let Some(own) = schema.get("type").and_then(kinds_of) {
                kinds = Some(match kinds {
                    Some(known) => known
                        .into_iter()
                        .filter(|kind| own.contains(kind))
                        .collect(),
                    None => own,
                });
            }
        }
        let wish = Self {
            look,
            described,
            kinds,
            ..Self::default()
        };
        match name {
            Some(name) => wish.named(name),
            None => wish,
        }
    }

    /// What the parameter at a place of the arguments is likely to want.
    pub(crate) fn of_argument(document: &Value, at: &Pointer) -> Self {
        let found = place::of_argument(document, at).unwrap_or_default();
        Self::of(document, &found, place::name_in_arguments(at))
    }

    /// The same for a parameter of this name.
    pub(super) fn named(mut self, name: String) -> Self {
        self.folded = folded(&name);
        self.words = words(&name);
        self.look = self
            .look
            .or_else(|| TextFormat::of_name(self.words.last()?));
        self.name = Some(name);
        self
    }

    /// Whether lists are wanted rather than their items.
    pub(super) fn is_list(&self) -> bool {
        let kinds = self.kinds.as_deref();
        kinds.is_some_and(|kinds| kinds.contains(&Kind::Array) && !kinds.contains(&Kind::String))
    }

    /// Whether a value of this type may fit, where types may be repaired or not.
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

    /// How well a place goes with the parameter: more is better.
    pub(super) fn similarity(&self, candidate: &Candidate<'_>) -> u32 {
        let named = self.name_similarity(&candidate.names);
        let own = candidate.names.last().map(|name| words(name));
        let described = own.is_some_and(|own| {
            let mut own = own.iter().filter(|word| word.len() > 2);
            own.any(|word| self.described.contains(word))
        });
        let looks = self.look.is_some_and(|look| look.is_of(&candidate.view));
        named + 4 * u32::from(looks) + u32::from(described)
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
        // Of names this short there is effort enough.
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
    fn of_format(format: &str) -> Option<Self> {
        Some(match format {
            "uri" | "uri-reference" | "iri" | "iri-reference" | "url" => Self::Uri,
            "email" | "idn-email" => Self::Email,
            "date" => Self::Date,
            "date-time" => Self::DateTime,
            "uuid" => Self::Uuid,
            _ => return None,
        })
    }

    /// What the last word of a name promises.
    fn of_name(word: &str) -> Option<Self> {
        Some(match word {
            "url" | "uri" | "href" | "urls" | "uris" | "link" | "links" => Self::Uri,
            "email" | "emails" => Self::Email,
            "uuid" | "uuids" => Self::Uuid,
            _ => return None,
        })
    }

    fn is_of(self, view: &View<'_>) -> bool {
        let long = view
            .as_cursor()
            .is_some_and(|c| c.raw().len() > LOOKED_BYTES);
        if long || view.kind() != Kind::String {
            return false;
        }
        let Some(text) = view.as_str() else {
            return false;
        };
        let text: &str = &text;
        // The text with each digit as `0` and each letter as `a`.
        let shape = || -> String {
            text.chars()
                .take(LOOKED_BYTES)
                .map(|c| match c {
                    c if c.is_ascii_digit() => '0',
                    c if c.is_ascii_alphabetic() => 'a',
                    c => c,
                })
                .collect()
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
            Self::Uuid => {
                let lengths: Vec<usize> = text.split('-').map(str::len).collect();
                lengths == [8, 4, 4, 4, 12]
            }
        }
    }
}
