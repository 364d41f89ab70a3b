//! Knows which fields of a resource the rules hide, wherever the resource may stand. It ignores brackets, so it
//! hides more than redacting a value does.

use super::collection::Envelope;
use crate::{Path, PathTree, RevealRules, Step, rules::longer};
use std::sync::Arc;

/// The never-paths as a tree of names, and the places of it where resources may be.
#[derive(Clone, Debug)]
pub(super) struct Hidden {
    rules: Arc<RevealRules>,
    /// The never-paths without brackets. Rules that are one name apply at any depth, and are not among them.
    tree: PathTree,
    /// For the root and each envelope, the nodes at its resources.
    starts: Vec<Vec<u32>>,
    /// Whether an envelope, or everything in it, is hidden.
    is_all: bool,
}

impl Hidden {
    pub(super) fn new(rules: &Arc<RevealRules>, envelopes: &[Envelope]) -> Self {
        let mut hidden = Self {
            rules: Arc::clone(rules),
            tree: PathTree::ignoring_case(longer(rules.never()).filter_map(Path::without_brackets)),
            starts: vec![vec![0]],
            is_all: false,
        };
        for envelope in envelopes {
            match hidden.walk(vec![0], &envelope.steps()) {
                Some(start) => hidden.starts.push(start),
                None => hidden.is_all = true,
            }
        }
        hidden
    }

    /// The nodes that some steps lead to; `None` if they lead to a hidden field, or into one.
    fn walk(&self, mut nodes: Vec<u32>, steps: &[Step]) -> Option<Vec<u32>> {
        let branch = |node: &u32| &self.tree.branches[*node as usize];
        for step in steps.iter().filter(|step| !step.is_bracket()) {
            let name = step.name();
            if name.is_some_and(|name| self.rules.is_never_name(name)) {
                return None;
            }
            let next = nodes.iter().map(branch).flat_map(|branch| {
                let own = name.and_then(|name| self.tree.child(branch, name));
                own.into_iter().chain(branch.each_key)
            });
            nodes = next.collect();
            if nodes.iter().any(|node| branch(node).whole) {
                return None;
            }
        }
        Some(nodes)
    }

    /// Whether a field of a resource is hidden, alone or in a collection.
    pub(super) fn hides(&self, field: &[Step]) -> bool {
        if self.rules.never_is_empty() {
            return false;
        }
        let mut starts = self.starts.iter();
        self.is_all || starts.any(|start| self.walk(start.clone(), field).is_none())
    }

    /// Whether a name is hidden, as a field.
    pub(super) fn hides_name(&self, name: &str) -> bool {
        !self.rules.never_is_empty() && self.hides(&[Step::Key(name.to_owned())])
    }
}
