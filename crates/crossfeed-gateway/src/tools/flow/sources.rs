//! Whose data something holds: a set of bits, one for each tool (`server/tool`).

use crate::pattern::{fits, may_fit};
use std::{collections::HashMap, sync::Arc};

/// The most bytes of a name that gets a number.
const MAX_NAME_BYTES: usize = 1024;

/// Whose data something holds: numbers of tools, a bit for each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::tools) struct Sources(Vec<u64>);

impl Sources {
    pub(super) fn insert(&mut self, number: usize) {
        let (word, bit) = (number / 64, number % 64);
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        if let Some(word) = self.0.get_mut(word) {
            *word |= 1 << bit;
        }
    }

    pub(in crate::tools) fn extend(&mut self, other: &Self) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (own, others) in self.0.iter_mut().zip(&other.0) {
            *own |= others;
        }
    }

    fn numbers(&self) -> impl Iterator<Item = usize> + '_ {
        let words = self.0.iter().enumerate();
        words.flat_map(|(at, word)| {
            let bits = (0..64).filter(move |bit| word >> bit & 1 == 1);
            bits.map(move |bit| at * 64 + bit)
        })
    }
}

/// What one number stands for: a tool, or any tool of a server but those that have a number of their own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Source {
    /// What a refusal says.
    pub(super) name: Arc<str>,
    /// How the names of several tools begin; `None` for one tool.
    pub(super) begins: Option<Arc<str>>,
}

impl Source {
    /// Whether a pattern could fit a name of these.
    pub(super) fn may_fit(&self, pattern: &str) -> bool {
        match &self.begins {
            None => fits(pattern, &self.name),
            Some(begins) => may_fit(pattern, begins),
        }
    }
}

/// The numbers of tools. The first are those of the servers, each for the tools beyond its share; the last
/// of these is for names that belong to no server.
pub(super) struct Table {
    sources: Vec<Source>,
    numbers: HashMap<Arc<str>, usize>,
    /// How many tools of each server have a number.
    counts: Vec<usize>,
    share: usize,
}

impl Table {
    /// Room for as many tools of these servers, and for one of each at least.
    pub(super) fn new<'n>(servers: impl Iterator<Item = &'n str>, tools: usize) -> Self {
        let rest = |begins: String| Source {
            name: format!("{begins}…").into(),
            begins: Some(begins.into()),
        };
        let begins = servers.map(|server| format!("{server}/"));
        let sources: Vec<_> = begins.chain([String::new()]).map(rest).collect();
        Self {
            counts: vec![0; sources.len()],
            share: (tools / sources.len()).max(1),
            sources,
            numbers: HashMap::new(),
        }
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.sources.len()
    }

    /// The number of a tool.
    pub(super) fn number(&mut self, tool: &Arc<str>) -> usize {
        if let Some(number) = self.numbers.get(tool) {
            return *number;
        }
        let is_of = |source: &Source| {
            let begins = source.begins.as_ref();
            begins.is_some_and(|begins| tool.starts_with(&**begins))
        };
        // Every name begins with nothing: the last of them is one, if none before.
        let last = self.counts.len() - 1;
        let server = self.sources.iter().position(is_of).unwrap_or(last);
        match self.counts.get_mut(server) {
            Some(count) if *count < self.share && tool.len() <= MAX_NAME_BYTES => *count += 1,
            _ => return server,
        }
        let number = self.sources.len();
        self.sources.push(Source {
            name: Arc::clone(tool),
            begins: None,
        });
        self.numbers.insert(Arc::clone(tool), number);
        number
    }

    /// What the numbers of a set stand for.
    pub(super) fn named(&self, sources: &Sources) -> Vec<Source> {
        let named = sources.numbers().filter_map(|at| self.sources.get(at));
        named.cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_server_has_its_share_and_no_more() {
        let mut table = Table::new(["a", "b"].into_iter(), 6);
        let mut number = |name: &str| table.number(&name.into());
        assert_eq!([number("a/x"), number("a/y"), number("a/z")], [3, 4, 0]);
        assert_eq!([number("b/x"), number("a/x"), number("c/x")], [5, 3, 6]);
        let long = format!("b/{}", "x".repeat(MAX_NAME_BYTES));
        assert_eq!(number(&long), 1);
        assert_eq!([number("c/y"), number("c/z")], [7, 2]);
    }

    proptest! {
        /// No pattern fits a name that was reported as not fitted.
        #[test]
        fn what_may_fit_is_not_missed(pattern in "[ab/*]{0,6}", server in "[ab]{1,2}", tool in "[ab/]{0,3}") {
            let rest = Table::new([server.as_str()].into_iter(), 1).sources.swap_remove(0);
            let fits = fits(&pattern, &format!("{server}/{tool}"));
            prop_assert!(rest.may_fit(&pattern) || !fits);
        }

        #[test]
        fn sets_are_sets(one in prop::collection::btree_set(0usize..300, 0..9), other in prop::collection::btree_set(0usize..300, 0..9)) {
            let set = |numbers: &std::collections::BTreeSet<usize>| {
                let mut set = Sources::default();
                numbers.iter().for_each(|number| set.insert(*number));
                set
            };
            let mut both = set(&one);
            both.extend(&set(&other));
            let expected: Vec<_> = one.union(&other).copied().collect();
            prop_assert_eq!(both.numbers().collect::<Vec<_>>(), expected);
        }
    }
}
