//! The fields of a schema as a tree, unfolded as far as a summary may look.

use crate::read::{ENVELOPED, Field, Node, Reader};
use crossfeed_projection::{Path, Step};
use std::collections::VecDeque;

/// How many places one summary reads.
const MAX_PLACES: usize = 5_000;

/// How a summary treats a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Its type word is enough.
    Leaf,
    /// An object of which no key is known.
    Open,
    /// Something with fields that is never unfolded: a union, or a recursion.
    Folded {
        /// Whether it is a place within itself.
        recursive: bool,
    },
    /// Something with fields.
    Branch,
}

/// A place of the tree.
pub(super) struct Spot {
    /// The place around it; none of the root.
    pub(super) parent: Option<usize>,
    /// Its name, for the root that of the envelope it was taken from; empty where it has none.
    pub(super) name: String,
    /// The way to it; `None` for one that no path can name.
    pub(super) path: Option<Vec<Step>>,
    /// Names on the way.
    pub(super) depth: usize,
    pub(super) word: &'static str,
    pub(super) form: Form,
    /// How many fields it has.
    pub(super) total: usize,
    /// The fields that were read.
    pub(super) children: Vec<usize>,
    /// The schemas that it is made of, to detect recursion.
    identity: Vec<usize>,
}

/// The places that were read, breadth first.
pub(super) struct Tree {
    pub(super) spots: Vec<Spot>,
}

impl Tree {
    pub(super) fn new(reader: &Reader<'_>) -> Self {
        let (root, is_enveloped) = reader.start();
        let mut tree = Self { spots: Vec::new() };
        let name = if is_enveloped { ENVELOPED } else { "" };
        let mut open = VecDeque::new();
        let fields = tree.push(reader, root, None, name.to_owned(), Some(Vec::new()));
        open.push_back((0, fields));
        while let Some((parent, fields)) = open.pop_front() {
            let way = tree.spots[parent].path.clone();
            for field in &fields {
                if tree.spots.len() >= MAX_PLACES || reader.is_tired() {
                    break;
                }
                let path = way.as_ref().and_then(|way| {
                    let mut steps = way.clone();
                    steps.push(field.step());
                    is_path(&steps).then_some(steps)
                });
                let node = reader.field(field);
                let at = tree.spots.len();
                let name = field.name.to_owned();
                let inner = tree.push(reader, node, Some(parent), name, path);
                tree.spots[parent].children.push(at);
                if !inner.is_empty() {
                    open.push_back((at, inner));
                }
            }
        }
        tree
    }

    /// Adds a place; gives its fields where it is to be unfolded.
    fn push<'s>(
        &mut self,
        reader: &Reader<'s>,
        node: Node<'s>,
        parent: Option<usize>,
        name: String,
        path: Option<Vec<Step>>,
    ) -> Vec<Field<'s>> {
        let (node, lists) = reader.innermost(node);
        let path = path.map(|mut steps| {
            steps.extend(std::iter::repeat_n(Step::EachItem, lists));
            steps
        });
        // The lists may have made it too long.
        let path = path.filter(|steps| steps.is_empty() || is_path(steps));
        let (word, identity) = (node.word(), node.identity());
        let fields = reader.fields(&node);
        let total = fields.named.len();
        let around = || std::iter::successors(parent, |at| self.spots[*at].parent);
        let recursive =
            !identity.is_empty() && around().any(|at| self.spots[at].identity == identity);
        let form = match total {
            0 if fields.is_open => Form::Open,
            0 => Form::Leaf,
            _ if word != "object" || recursive => Form::Folded { recursive },
            _ => Form::Branch,
        };
        let unfolds = form == Form::Branch && path.is_some();
        let depth = parent.map_or(0, |parent| self.spots[parent].depth + 1);
        self.spots.push(Spot {
            parent,
            name,
            path,
            depth,
            word,
            form,
            total,
            children: Vec::new(),
            identity,
        });
        if unfolds { fields.named } else { Vec::new() }
    }
}

/// Whether these steps can be written as a path.
fn is_path(steps: &[Step]) -> bool {
    Path::from_steps(steps.iter().cloned()).is_ok()
}
