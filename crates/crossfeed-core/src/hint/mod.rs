//! Hints: the structure of a value, so that a model can refer to parts that it does not see.
//!
//! The members and their limits are normative in `specs/views.md#hints`.
//!
//! # Invariants
//!
//! - Every selector that is offered was evaluated on that view, under the guards of any selector, and gave a
//!   value.
//! - The cost does not grow with the value: only a part of long lists and wide objects is examined, and the
//!   hints say which.

mod compact;
mod examples;
mod lists;
mod offers;

use crate::{paths::Walk, select::SelectOptions};
use crossfeed_jmespath::{Arena, Budget, View};
use lists::{Lists, TypedSelector};
use offers::Offers;
use serde_json::{Map, Value, json};

/// How much of a value's structure hints show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a host asks for one of the two")]
pub enum HintDetail {
    /// The few best selectors, in about 400 bytes.
    #[default]
    Compact,
    /// All lists, each up to its limit.
    Full,
}

/// The structure of a value, as a model reads it.
#[derive(Clone, Debug, PartialEq)]
pub struct StructureHints {
    members: Map<String, Value>,
    selectors: Vec<String>,
}

impl StructureHints {
    /// The hints for a canonical view. Selectors must pass the guards and limits of `options`.
    pub(crate) fn new(
        view: &View<'_>,
        detail: HintDetail,
        options: &SelectOptions,
        arena: &Arena,
        budget: &Budget,
    ) -> Self {
        let walk = Walk::new(view, arena, budget);
        let mut lists = Lists::new(Offers::new(&walk, view, options, arena, budget));
        let sampled = walk.sampled();
        let hints = match detail {
            HintDetail::Compact => compact::compact(&mut lists, sampled),
            HintDetail::Full => Hints {
                terminals: lists.terminals(30),
                arrays: lists.arrays(15),
                examples: lists.examples(15, 5),
                ambiguous: lists.ambiguous(15),
                sampled,
                objects: lists.objects(15),
                common: lists.common(15),
                deep: lists.deep(8),
                bases: lists.bases(6),
                totals: Some((
                    walk.paths.iter().map(|path| path.depth).max().unwrap_or(0),
                    // The root counts as a path where it is listed, that is, unless it is an object.
                    walk.paths.len() - usize::from(walk.paths[0].object.is_some()),
                )),
            },
        };
        Self {
            selectors: hints.selectors(),
            members: hints.members(),
        }
    }

    /// The hints as one JSON object.
    pub fn to_value(&self) -> Value {
        Value::Object(self.members.clone())
    }

    /// Each selector that is offered, without its type.
    pub fn selectors(&self) -> impl Iterator<Item = &str> {
        self.selectors.iter().map(String::as_str)
    }

    /// Whether only a part of the value was examined.
    pub fn is_sampled(&self) -> bool {
        self.members.contains_key("sampled")
    }
}

/// The entries of hints.
#[derive(Clone, Debug, Default)]
struct Hints {
    terminals: Vec<TypedSelector>,
    arrays: Vec<TypedSelector>,
    examples: Vec<String>,
    ambiguous: Vec<(String, Vec<String>)>,
    sampled: Option<String>,
    objects: Vec<TypedSelector>,
    common: Vec<String>,
    deep: Vec<String>,
    bases: Vec<String>,
    /// The greatest depth and the number of paths. Only full hints have this and the last four lists.
    totals: Option<(usize, usize)>,
}

impl Hints {
    /// The members in their order. Empty lists are left out of compact hints.
    fn members(&self) -> Map<String, Value> {
        let texts = |typed: &[TypedSelector]| typed.iter().map(TypedSelector::text).collect();
        let lists = [
            ("terminalPaths", texts(&self.terminals)),
            ("arrayPaths", texts(&self.arrays)),
            ("objectPaths", texts(&self.objects)),
            ("commonFields", self.common.clone()),
            ("exampleSelectors", self.examples.clone()),
            ("deepStructureExamples", self.deep.clone()),
        ];
        let shown = |(_, entries): &(_, Vec<String>)| self.totals.is_some() || !entries.is_empty();
        let lists = lists.into_iter().filter(shown);
        let mut members: Map<_, _> = lists
            .map(|(name, entries)| (name.to_owned(), json!(entries)))
            .collect();
        let ambiguous = self.ambiguous.iter();
        let ambiguous = ambiguous.map(|(name, paths)| (name.clone(), json!(paths)));
        members.insert(
            "ambiguousFields".to_owned(),
            Value::Object(ambiguous.collect()),
        );
        if let Some((depth, paths)) = self.totals {
            members.insert("recommendedBaseSelectors".to_owned(), json!(self.bases));
            members.insert("maxDepthFound".to_owned(), json!(depth));
            members.insert("totalPathsFound".to_owned(), json!(paths));
        }
        if let Some(sampled) = &self.sampled {
            members.insert("sampled".to_owned(), json!(sampled));
        }
        members
    }

    /// Bytes as JSON without blanks.
    fn len(&self) -> usize {
        Value::Object(self.members()).to_string().len()
    }

    fn selectors(&self) -> Vec<String> {
        let typed = [&self.terminals, &self.arrays, &self.objects]
            .into_iter()
            .flatten();
        let ambiguous = self.ambiguous.iter().flat_map(|(_, paths)| paths);
        let plain = self
            .examples
            .iter()
            .chain(ambiguous)
            .chain(&self.deep)
            .chain(&self.bases);
        let typed = typed.map(|typed| &typed.selector);
        typed.chain(plain).cloned().collect()
    }
}

#[cfg(test)]
mod tests;
