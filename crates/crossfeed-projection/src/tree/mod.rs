//! Merges a set of paths into a tree. Each node says which parts of a value the paths want at a place.

#[cfg(test)]
mod tests;

use crate::{
    fold_case,
    path::{Path, Step},
};
use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap},
};

/// A set of paths as a tree.
///
/// ```
/// use crossfeed_projection::{Path, PathTree};
///
/// let tree = PathTree::new(Path::parse_list("b,a.x,a,[2].y")?);
/// let paths: Vec<String> = tree.paths().iter().map(ToString::to_string).collect();
/// // The whole parent stands for its child.
/// assert_eq!(paths, ["b", "a", "[2].y"]);
/// # Ok::<(), crossfeed_projection::PathError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct PathTree {
    pub(crate) branches: Vec<Branch>,
    /// Whether names are the same whatever their case: then [`Branch::by_name`] has them folded.
    ignores_case: bool,
}

/// What the paths that lead to one place, step for step, want there. [`crate::Place`] combines all of a
/// projection's nodes at a place.
///
/// - **Whole**: everything below, and nothing else about the node counts.
/// - **At an object**, a member is wanted by `keys` of its name and by `each_key`, both together; where the `rest`
///   is whole, a member that `keys` do not name is wanted whole. A node that has only `each_item` or `indexes`
///   found no list: the object passes as it is.
/// - **At a list**, the item at position `n` is wanted by `each_item` and by `indexes` at `n`, both together. Where
///   the node [crosses](Self::crosses), the list is crossed without brackets: the node itself stands at every item
///   too, and so through lists of lists, there with its names alone: its brackets were for the first list. An item
///   that nothing of this reaches is left out.
/// - **At anything else** the value passes as it is.
///
/// A node's number is its index in [`PathTree::branches`]. The root comes first, parents before their children.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Branch {
    pub(crate) whole: bool,
    pub(crate) rest: bool,
    /// In the order in which they were given first.
    pub(crate) keys: Vec<(Box<str>, u32)>,
    /// The same by name.
    pub(crate) by_name: HashMap<Box<str>, u32>,
    pub(crate) each_key: Option<u32>,
    pub(crate) each_item: Option<u32>,
    pub(crate) indexes: BTreeMap<usize, u32>,
}

impl Branch {
    /// Whether the paths want members of an object. At a list, such a node crosses it implicitly.
    pub(crate) fn crosses(&self) -> bool {
        self.rest || !self.keys.is_empty() || self.each_key.is_some()
    }
}

impl Default for PathTree {
    fn default() -> Self {
        Self::new([])
    }
}

impl PathTree {
    /// The tree of these paths; without paths, it wants nothing.
    pub fn new(paths: impl IntoIterator<Item = Path>) -> Self {
        Self::with_paths(paths, false)
    }

    /// The same tree for data whose keys may be written in any case.
    pub(crate) fn ignoring_case(paths: impl IntoIterator<Item = Path>) -> Self {
        Self::with_paths(paths, true)
    }

    fn with_paths(paths: impl IntoIterator<Item = Path>, ignores_case: bool) -> Self {
        let mut tree = Self {
            branches: vec![Branch::default()],
            ignores_case,
        };
        for path in paths {
            let at = tree.reach(path.steps());
            tree.branches[at as usize].whole = true;
        }
        tree
    }

    /// A name as [`Branch::by_name`] has it.
    fn spelling<'n>(&self, name: &'n str) -> Cow<'n, str> {
        if self.ignores_case {
            fold_case(name)
        } else {
            Cow::Borrowed(name)
        }
    }

    /// The child of a branch for members of this name.
    pub(crate) fn child(&self, branch: &Branch, name: &str) -> Option<u32> {
        if branch.by_name.is_empty() {
            return None;
        }
        branch.by_name.get(&*self.spelling(name)).copied()
    }

    /// Also wants every key whole that the node at `steps` does not name (without steps, the root).
    /// An envelope is such a node: its items are cut, and its other keys stay.
    ///
    /// ```
    /// use crossfeed_projection::{Path, PathTree, Projection};
    /// use crossfeed_json::Document;
    ///
    /// let tree = PathTree::new(Path::parse_list("items[].id")?).with_rest_at(&[]);
    /// let page = Document::new(r#"{"total":2,"items":[{"id":1,"x":0},{"id":2}],"next":null}"#);
    /// let mut out = Vec::new();
    /// Projection::new().with_include(tree).write(page.root()?, &mut out);
    /// assert_eq!(out, br#"{"total":2,"items":[{"id":1},{"id":2}],"next":null}"#);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn with_rest_at(mut self, steps: &[Step]) -> Self {
        let at = self.reach(steps);
        self.branches[at as usize].rest = true;
        self
    }

    /// The node that `steps` lead to; creates it where it is missing.
    fn reach(&mut self, steps: &[Step]) -> u32 {
        let mut at = 0_usize;
        for step in steps {
            // Nodes are numbered by paths of at most 127 steps, 10,000 of them a request.
            let new = self.branches.len() as u32;
            let spelling = self.spelling(step.name().unwrap_or_default());
            let branch = &mut self.branches[at];
            let child = match step {
                Step::Key(_) => *branch.by_name.entry(spelling.into()).or_insert(new),
                Step::EachKey => *branch.each_key.get_or_insert(new),
                Step::EachItem => *branch.each_item.get_or_insert(new),
                Step::Index(index) => *branch.indexes.entry(*index).or_insert(new),
            };
            if child == new {
                let key = step.name().map(|name| (name.into(), new));
                branch.keys.extend(key);
                self.branches.push(Branch::default());
            }
            at = child as usize;
        }
        at as u32
    }

    /// Whether no path is in the tree.
    pub fn is_empty(&self) -> bool {
        self.branches.len() == 1 && !self.branches[0].rest
    }

    /// The remaining paths, a whole parent standing for its children: names in the order given,
    /// then `*`, then `[]`, then indexes by number.
    pub fn paths(&self) -> Vec<Path> {
        let mut paths = Vec::new();
        let mut open = vec![(0_u32, Vec::new())];
        while let Some((at, steps)) = open.pop() {
            let branch = &self.branches[at as usize];
            if branch.whole {
                paths.push(Path { steps });
                continue;
            }
            let named = branch.keys.iter();
            let named = named.map(|(name, child)| (*child, Step::Key(name.to_string())));
            let each_key = branch.each_key.map(|child| (child, Step::EachKey));
            let each_item = branch.each_item.map(|child| (child, Step::EachItem));
            let indexes = branch.indexes.iter();
            let indexes = indexes.map(|(index, child)| (*child, Step::Index(*index)));
            let children = named.chain(each_key).chain(each_item).chain(indexes);
            let from = open.len();
            open.extend(children.map(|(child, step)| (child, [&steps[..], &[step]].concat())));
            open[from..].reverse();
        }
        paths
    }
}
