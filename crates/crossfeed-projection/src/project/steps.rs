//! Finds the nodes that one step reaches from a place, tree by tree. [`State::child`] combines them.

use super::state::{Spec, State};
use crate::tree::{Branch, PathTree};
use std::collections::HashSet;

/// The nodes of a tree that apply at a place: sorted, each once. A node that stands at an item because
/// a list was crossed without brackets is marked with [`CROSSED`].
pub(crate) type NodeSet = Vec<u32>;

/// The mark of a node that came through a list without brackets. Its own brackets were for that list:
/// only its names still count.
pub(crate) const CROSSED: u32 = 1 << 31;

/// The nodes that a step reaches in one tree.
#[derive(Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Reach {
    /// Some path ends there.
    pub(crate) whole: bool,
    pub(crate) nodes: NodeSet,
}

impl Reach {
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

/// A node that applies at a place.
#[derive(Clone, Copy)]
pub(crate) struct Node<'t> {
    entry: u32,
    pub(crate) branch: &'t Branch,
}

impl<'t> Node<'t> {
    /// The nodes behind brackets: for each item, and for single ones.
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

pub(crate) fn nodes<'t>(tree: &'t PathTree, set: &[u32]) -> impl Iterator<Item = Node<'t>> {
    set.iter().map(|&entry| Node {
        entry,
        branch: &tree.branches[(entry & !CROSSED) as usize],
    })
}

/// From an object to its member `name`; `None` stands for a name that no node knows.
pub(crate) fn reach_key(tree: &PathTree, set: &[u32], name: Option<&str>) -> Reach {
    let mut reached = Reach::default();
    for Node { branch, .. } in nodes(tree, set) {
        let named = name.and_then(|name| tree.child(branch, name));
        for child in named.into_iter().chain(branch.each_key) {
            reached.add(tree, child);
        }
        reached.whole |= branch.rest && named.is_none();
    }
    reached.done()
}

/// From a list to its item at `position`; `None` stands for a position that no node names.
pub(crate) fn reach_item(tree: &PathTree, set: &[u32], position: Option<usize>) -> Reach {
    let mut reached = Reach::default();
    for node in nodes(tree, set) {
        if let Some(branch) = node.brackets() {
            let indexed = position.and_then(|position| branch.indexes.get(&position));
            for &child in indexed.into_iter().chain(&branch.each_item) {
                reached.add(tree, child);
            }
        }
        if node.branch.crosses() {
            reached.nodes.push(node.entry | CROSSED);
        }
    }
    reached.done()
}

/// Whether a node has brackets, which a value other than a list does not match.
pub(crate) fn wants_list(tree: &PathTree, set: &[u32]) -> bool {
    nodes(tree, set).any(|node| node.behind_brackets().next().is_some())
}

/// The steps with which the paths of a tree go on at a text that is not valid JSON, but may contain JSON.
#[derive(Debug, Default)]
pub(crate) struct NextSteps<'t> {
    /// As the tree has them: folded for never-rules.
    names: HashSet<&'t str>,
    /// Whether a path goes on with any key.
    any: bool,
}

impl<'t> NextSteps<'t> {
    pub(crate) fn new(tree: &'t PathTree, set: &[u32]) -> Self {
        let mut next = Self::default();
        let mut open: Vec<Node<'t>> = nodes(tree, set).collect();
        while let Some(node) = open.pop() {
            let branch = node.branch;
            next.any |= branch.whole || branch.rest || branch.each_key.is_some();
            let names = branch.by_name.keys();
            next.names.extend(names.map(|name| &**name));
            let behind: Vec<_> = node.behind_brackets().collect();
            open.extend(nodes(tree, &behind));
        }
        next
    }

    /// Whether a text may hold a field that the paths go on to by any key.
    pub(crate) fn may_be_in(&self, text: &str) -> bool {
        self.any && text.contains(['{', '['])
    }

    /// Whether a path goes on with this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.names.contains(name)
    }
}

/// The nodes that one step reaches in each tree. `include: None` is "whole".
pub(crate) struct Steps {
    pub(crate) include: Option<Reach>,
    pub(crate) always: Reach,
    pub(crate) exclude: Reach,
    pub(crate) never: Reach,
    pub(crate) always_named: bool,
    pub(crate) never_named: bool,
}

impl Steps {
    pub(crate) fn protects(&self, state: &State) -> bool {
        state.protected || self.always_named || self.always.whole
    }

    /// Whether the step leads to an included or always-kept value.
    pub(crate) fn is_kept(&self, state: &State) -> bool {
        self.protects(state) || self.include.as_ref().is_none_or(Reach::any) || self.always.any()
    }

    /// Whether the step leads to a hidden value.
    pub(crate) fn is_hidden(&self) -> bool {
        self.never_named || self.never.whole
    }

    /// Whether an exclude path that ends here has no effect, because the value is always kept.
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
        // A never-path through a list also applies to an object that stands in place of the list.
        for node in nodes(tree, &state.never) {
            for child in node.behind_brackets() {
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
