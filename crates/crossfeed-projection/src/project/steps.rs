//! What one step reaches from the nodes that hold at a place, tree by tree; [`State::child`] puts that
//! together.

use super::state::{Spec, State};
use crate::tree::{Branch, PathTree};
use std::collections::HashSet;

/// The nodes of a tree that hold at a place: sorted, each once. A node that stands at an item because
/// a list was crossed without brackets is marked with [`CROSSED`].
pub(crate) type Set = Vec<u32>;

/// The mark of a node that came through a list without brackets. Its own brackets were for that list:
/// only its names still count.
pub(crate) const CROSSED: u32 = 1 << 31;

/// What a step reaches in one tree.
#[derive(Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Reached {
    /// Some path ends there.
    pub(crate) whole: bool,
    pub(crate) nodes: Set,
}

impl Reached {
    fn add(&mut self, tree: &PathTree, node: u32) {
        self.whole |= tree.branches[node as usize].whole;
        self.nodes.push(node);
    }

    /// Sorted, each once, so that equal sets are equal.
    fn done(mut self) -> Self {
        self.nodes.sort_unstable();
        self.nodes.dedup();
        self
    }

    /// The nodes without marks.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = u32> {
        self.nodes.iter().map(|entry| entry & !CROSSED)
    }

    /// Whether some path leads there.
    pub(crate) fn any(&self) -> bool {
        self.whole || !self.nodes.is_empty()
    }
}

/// A node that holds at a place.
#[derive(Clone, Copy)]
pub(crate) struct Held<'t> {
    entry: u32,
    pub(crate) branch: &'t Branch,
}

impl<'t> Held<'t> {
    /// What brackets lead to: each item, and single ones.
    pub(crate) fn behind_brackets(self) -> impl Iterator<Item = u32> + use<'t> {
        let each = self.brackets().and_then(|branch| branch.each_item);
        each.into_iter()
            .chain(self.indexes().map(|(_, child)| child))
    }

    /// The positions that brackets name.
    pub(crate) fn positions(self) -> impl Iterator<Item = usize> + use<'t> {
        self.indexes().map(|(position, _)| position)
    }

    fn indexes(self) -> impl Iterator<Item = (usize, u32)> + use<'t> {
        let indexes = self
            .brackets()
            .into_iter()
            .flat_map(|branch| &branch.indexes);
        indexes.map(|(position, child)| (*position, *child))
    }

    /// The branch, where its brackets still count.
    fn brackets(self) -> Option<&'t Branch> {
        (self.entry & CROSSED == 0).then_some(self.branch)
    }
}

pub(crate) fn held<'t>(tree: &'t PathTree, set: &[u32]) -> impl Iterator<Item = Held<'t>> {
    set.iter().map(|&entry| Held {
        entry,
        branch: &tree.branches[(entry & !CROSSED) as usize],
    })
}

/// From an object to its member `name`; `None` stands for a name that no node knows.
pub(crate) fn reach_key(tree: &PathTree, set: &[u32], name: Option<&str>) -> Reached {
    let mut reached = Reached::default();
    for Held { branch, .. } in held(tree, set) {
        let named = name.and_then(|name| tree.child(branch, name));
        for child in named.into_iter().chain(branch.each_key) {
            reached.add(tree, child);
        }
        reached.whole |= branch.rest && named.is_none();
    }
    reached.done()
}

/// From a list to its item at `position`; `None` stands for a position that no node names.
pub(crate) fn reach_item(tree: &PathTree, set: &[u32], position: Option<usize>) -> Reached {
    let mut reached = Reached::default();
    for held in held(tree, set) {
        if let Some(branch) = held.brackets() {
            let indexed = position.and_then(|position| branch.indexes.get(&position));
            for &child in indexed.into_iter().chain(&branch.each_item) {
                reached.add(tree, child);
            }
        }
        if held.branch.crosses() {
            reached.nodes.push(held.entry | CROSSED);
        }
    }
    reached.done()
}

/// Whether brackets stand behind what turned out to be an object or scalar.
pub(crate) fn wants_list(tree: &PathTree, set: &[u32]) -> bool {
    held(tree, set).any(|held| held.behind_brackets().next().is_some())
}

/// What a path of a tree goes on to, at a text that is not valid JSON, but holds some.
#[derive(Debug, Default)]
pub(crate) struct Onward<'t> {
    /// As the tree has them: of never-rules, folded.
    names: HashSet<&'t str>,
    /// Whether it may be anything that stands in brackets.
    any: bool,
}

impl<'t> Onward<'t> {
    pub(crate) fn of(tree: &'t PathTree, set: &[u32]) -> Self {
        let mut onward = Self::default();
        let mut open: Vec<Held<'t>> = held(tree, set).collect();
        while let Some(held) = open.pop() {
            let branch = held.branch;
            onward.any |= branch.whole || branch.rest || branch.each_key.is_some();
            let names = branch.by_name.keys();
            onward.names.extend(names.map(|name| &**name));
            let behind: Vec<_> = held.behind_brackets().collect();
            open.extend(self::held(tree, &behind));
        }
        onward
    }

    /// Whether it may be in a text that is not valid JSON.
    pub(crate) fn may_be_in(&self, text: &str) -> bool {
        self.any && text.contains(['{', '['])
    }

    /// Whether it may be the member of this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.names.contains(name)
    }
}

/// What one step reaches in each tree. `include: None` is "whole".
pub(crate) struct Steps {
    pub(crate) include: Option<Reached>,
    pub(crate) always: Reached,
    pub(crate) exclude: Reached,
    pub(crate) never: Reached,
    pub(crate) always_named: bool,
    pub(crate) never_named: bool,
}

impl Steps {
    pub(crate) fn protects(&self, state: &State) -> bool {
        state.protected || self.always_named || self.always.whole
    }

    /// Whether the step leads to what is included or always kept.
    pub(crate) fn is_kept(&self, state: &State) -> bool {
        self.protects(state) || self.include.as_ref().is_none_or(Reached::any) || self.always.any()
    }

    /// Whether the step leads to what is never shown.
    pub(crate) fn is_hidden(&self) -> bool {
        self.never_named || self.never.whole
    }

    /// Whether an exclude path that ends here takes nothing, because it is always kept.
    pub(crate) fn is_shielded(&self, state: &State) -> bool {
        self.exclude.whole && self.protects(state)
    }

    pub(crate) fn to_key(state: &State, spec: Spec<'_>, name: Option<&str>) -> Self {
        let rules = spec.rules;
        let trees = state.trees(spec);
        let [mut include, always, exclude, mut never] =
            trees.map(|(tree, set)| reach_key(tree, set, name));
        include.whole |= wants_list(trees[0].0, trees[0].1);
        let tree = &rules.never_tree;
        // What is never shown in each item of a list is not shown in an object in the list's place.
        for held in held(tree, &state.never) {
            for child in held.behind_brackets() {
                let behind = reach_key(tree, &[child], name);
                never.whole |= behind.whole || tree.branches[child as usize].whole;
                never.nodes.extend(behind.nodes);
            }
        }
        Self {
            include: state.include.is_some().then_some(include),
            always,
            exclude,
            never: never.done(),
            always_named: name.is_some_and(|name| rules.is_always_name(name)),
            never_named: name.is_some_and(|name| rules.hides_key(name)),
        }
    }

    pub(crate) fn to_item(
        state: &State,
        spec: Spec<'_>,
        source: Option<usize>,
        kept: Option<usize>,
    ) -> Self {
        let [include, always, exclude, never] = state.trees(spec);
        let reach = |(tree, set): (&PathTree, &[u32]), position| reach_item(tree, set, position);
        Self {
            include: state.include.is_some().then(|| reach(include, source)),
            always: reach(always, source),
            exclude: reach(exclude, kept),
            never: reach(never, source),
            always_named: false,
            never_named: false,
        }
    }
}
