//! The state at a place: which nodes of which trees apply there, and what a step does to them.
//!
//! Several paths may apply at one place (`*.x` and `a.y` at `a`), so a state has sets of nodes. States that
//! mean the same are equal, so the engine numbers them and works each out once.

use super::{
    Projection,
    steps::{Node, NodeSet, Steps, nodes, reach_item},
};
use crate::{RevealRules, rules::names_of, tree::PathTree};
use std::{
    collections::{BTreeSet, HashSet},
    sync::LazyLock,
};

static NO_PATHS: LazyLock<PathTree> = LazyLock::new(PathTree::default);

/// A borrowed projection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spec<'p> {
    /// Empty for everything.
    pub(crate) include: &'p PathTree,
    pub(crate) exclude: &'p PathTree,
    pub(crate) rules: &'p RevealRules,
}

impl<'p> From<&'p Projection> for Spec<'p> {
    fn from(projection: &'p Projection) -> Self {
        Self {
            include: projection.include().unwrap_or(&NO_PATHS),
            exclude: projection.exclude().unwrap_or(&NO_PATHS),
            rules: projection.rules(),
        }
    }
}

impl<'p> Spec<'p> {
    /// Rules alone.
    pub(crate) fn for_rules(rules: &'p RevealRules) -> Self {
        Self {
            include: &NO_PATHS,
            exclude: &NO_PATHS,
            rules,
        }
    }
}

/// The nodes that apply at a place. `include: None` is "whole".
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct State {
    pub(crate) include: Option<NodeSet>,
    pub(crate) always: NodeSet,
    pub(crate) exclude: NodeSet,
    pub(crate) never: NodeSet,
    /// Kept by an always-rule: below it, only never-rules cut.
    pub(crate) protected: bool,
}

impl State {
    pub(crate) fn root(spec: Spec<'_>) -> Self {
        let start = |tree: &PathTree| (!tree.is_empty()).then(|| vec![0]);
        let rules = spec.rules;
        Self {
            include: start(spec.include),
            always: start(&rules.always_tree).unwrap_or_default(),
            exclude: start(spec.exclude).unwrap_or_default(),
            never: start(&rules.never_tree).unwrap_or_default(),
            protected: false,
        }
        .settled()
    }

    /// The trees, each with its nodes that apply at the place: included (no nodes for everything), always
    /// kept, excluded, and never shown.
    pub(crate) fn trees<'p>(&self, spec: Spec<'p>) -> [(&'p PathTree, &[u32]); 4] {
        [
            (spec.include, self.include.as_deref().unwrap_or_default()),
            (&spec.rules.always_tree, &self.always),
            (spec.exclude, &self.exclude),
            (&spec.rules.never_tree, &self.never),
        ]
    }

    /// Whether only never-rules cut at the place.
    pub(crate) fn keeps_all(&self) -> bool {
        self.include.is_none() && self.exclude.is_empty()
    }

    /// Normalises the state, so that states that mean the same are equal.
    fn settled(mut self) -> Self {
        if self.protected {
            self.include = None;
            self.exclude = NodeSet::new();
        }
        if self.keeps_all() {
            self.always = NodeSet::new();
            self.protected = false;
        }
        self
    }

    /// The state that one step leads to; `None` if the value there is left out.
    pub(crate) fn child(&self, steps: &Steps) -> Option<Self> {
        if !steps.is_kept(self) || steps.is_hidden() {
            return None;
        }
        let protected = steps.protects(self);
        let include = steps.include.as_ref().filter(|include| !include.whole);
        let mut child = Self {
            include: include.map(|include| include.nodes.clone()),
            always: steps.always.nodes.clone(),
            exclude: steps.exclude.nodes.clone(),
            never: steps.never.nodes.clone(),
            protected,
        };
        if steps.exclude.whole && !protected {
            if child.always.is_empty() {
                return None;
            }
            // Only its always-kept fields stay.
            child.include = Some(NodeSet::new());
            child.exclude = NodeSet::new();
        }
        Some(child.settled())
    }

    /// The state within JSON that a string at this place holds: only never-rules apply there.
    pub(crate) fn revealed(&self) -> Self {
        Self {
            never: self.never.clone(),
            ..Self::default()
        }
    }

    /// The state of a member; `None` if it is left out. The name `None` stands for every name that no path
    /// or rule has.
    pub(crate) fn key(&self, spec: Spec<'_>, name: Option<&str>) -> Option<Self> {
        self.child(&Steps::to_key(self, spec, name))
    }

    /// The state of an item by its position in the source and among the kept items; `None` if it is left
    /// out. The position `None` stands for every position that no path names.
    pub(crate) fn item(
        &self,
        spec: Spec<'_>,
        source: Option<usize>,
        kept: Option<usize>,
    ) -> Option<Self> {
        self.child(&Steps::to_item(self, spec, source, kept))
    }

    /// The names that paths and rules treat specially at an object, each once, in the order given.
    pub(crate) fn named_keys<'p>(&self, spec: Spec<'p>) -> Vec<&'p str> {
        let rules = spec.rules;
        let mut seen = HashSet::new();
        let mut names = Vec::new();
        for (tree, set) in self.trees(spec) {
            let here = nodes(tree, set).flat_map(|node| {
                // Never-paths apply as if their brackets were crossed.
                let behind = node.behind_brackets();
                let behind = behind.flat_map(|child| &tree.branches[child as usize].keys);
                node.branch.keys.iter().chain(behind)
            });
            names.extend(
                here.map(|(name, _)| &**name)
                    .filter(|name| seen.insert(*name)),
            );
        }
        let always = names_of(rules.always()).filter(|_| !self.keeps_all());
        let rest = always.chain(names_of(rules.never()));
        names.extend(rest.filter(|name| seen.insert(*name)));
        names
    }

    /// The positions that paths name at a list: those in the source, and those among the kept items.
    pub(crate) fn positions(&self, spec: Spec<'_>) -> (BTreeSet<usize>, BTreeSet<usize>) {
        let [include, always, exclude, never] = self
            .trees(spec)
            .map(|(tree, set)| nodes(tree, set).flat_map(Node::positions));
        let sources = include.chain(always).chain(never);
        (sources.collect(), exclude.collect())
    }
}

/// One position of each kind that some of the trees treat differently; `None` stands for the positions not
/// given.
pub(crate) fn different(
    positions: BTreeSet<usize>,
    trees: &[(&PathTree, &[u32])],
) -> Vec<Option<usize>> {
    let mut seen = HashSet::new();
    let mut is_new = |position: &Option<usize>| {
        let reached = trees.iter();
        let reached = reached.map(|(tree, set)| reach_item(tree, set, *position));
        seen.insert(reached.collect::<Vec<_>>())
    };
    let positions = std::iter::once(None).chain(positions.into_iter().map(Some));
    positions.filter(|position| is_new(position)).collect()
}
