//! Rules by where they begin in a tool result of MCP.

use super::RevealRules;
use crate::path::{Path, Step};
use std::collections::BTreeMap;

/// Rules by where they begin.
pub(crate) struct PlacedRules {
    /// The rules that are names: they apply where no path begins.
    pub(crate) names: RevealRules,
    /// All others.
    pub(crate) paths: RevealRules,
    /// The paths that may begin at the result. It is not a list, so paths that begin with brackets are
    /// about values within.
    pub(crate) from_here: RevealRules,
    /// The paths that begin at a list of parts, for one part as the only item of a list.
    each_item: Option<RevealRules>,
    items: BTreeMap<usize, RevealRules>,
}

impl PlacedRules {
    pub(super) fn new(rules: &RevealRules) -> Self {
        let never = rules.never().iter().cloned();
        let (names, paths): (Vec<_>, Vec<_>) = never.partition(|path| path.as_name().is_some());
        let mut from_here = Vec::new();
        let mut each = Vec::new();
        let mut at: BTreeMap<usize, Vec<Path>> = BTreeMap::new();
        for path in &paths {
            match path.steps() {
                [Step::EachItem, ..] => each.push(path.clone()),
                [Step::Index(index), rest @ ..] => {
                    let steps = [&[Step::EachItem], rest].concat();
                    at.entry(*index).or_default().push(Path { steps });
                }
                _ => from_here.push(path.clone()),
            }
        }
        let items = at.into_iter().map(|(at, own)| {
            let own = own.into_iter().chain(each.iter().cloned());
            (at, RevealRules::new([], own))
        });
        Self {
            items: items.collect(),
            each_item: (!each.is_empty()).then(|| RevealRules::new([], each)),
            names: RevealRules::new([], names),
            from_here: RevealRules::new([], from_here),
            paths: RevealRules::new([], paths),
        }
    }

    /// The rules for the part at a position.
    pub(crate) fn item(&self, at: usize) -> Option<&RevealRules> {
        self.items.get(&at).or(self.each_item.as_ref())
    }
}
