//! The fields of a schema as a tree, unfolded as far as a summary may look.

use crate::read::{ENVELOPED, Field, Node, Reader};
use crossfeed_projection::{Path, Step};
use std::collections::VecDeque;

/// Places that are looked at for one summary.
const PLACES: usize = 5_000;
/// Lists of lists that one field may be, as they are written: `rows[][]`.
const LISTS: usize = 16;

/// What a place is to a summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// A type word says all.
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
    pub(super) parent: usize,
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
    /// Those that were looked at.
    pub(super) children: Vec<usize>,
    /// What it is made of, to know recursion by.
    identity: Vec<usize>,
}

/// All places that were looked at, breadth first.
pub(super) struct Tree {
    pub(super) spots: Vec<Spot>,
}

impl Tree {
    pub(super) fn of(reader: &Reader<'_>) -> Self {
        let (root, is_enveloped) = reader.start();
        let mut tree = Self { spots: Vec::new() };
        let name = if is_enveloped { ENVELOPED } else { "" };
        let mut open = VecDeque::new();
        let fields = tree.push(reader, root, 0, name.to_owned(), Some(Vec::new()), 0);
        open.push_back((0, fields));
        while let Some((parent, fields)) = open.pop_front() {
            let Some(spot) = tree.spots.get(parent) else {
                continue;
            };
            let (way, depth) = (spot.path.clone(), spot.depth + 1);
            for field in &fields {
                if tree.spots.len() >= PLACES || reader.is_tired() {
                    break;
                }
                let path = way.as_ref().and_then(|way| {
                    let mut steps = way.clone();
                    steps.push(field.step());
                    Path::from_steps(steps.iter().cloned())
                        .is_ok()
                        .then_some(steps)
                });
                let node = reader.field(field);
                let at = tree.spots.len();
                let inner = tree.push(reader, node, parent, field.name.to_owned(), path, depth);
                if let Some(parent) = tree.spots.get_mut(parent) {
                    parent.children.push(at);
                }
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
        mut node: Node<'s>,
        parent: usize,
        name: String,
        mut path: Option<Vec<Step>>,
        depth: usize,
    ) -> Vec<Field<'s>> {
        let mut lists = 0;
        while lists < LISTS
            && node.word() == "array"
            && let Some(items) = reader.items(&node, None)
        {
            node = items;
            lists += 1;
            if let Some(steps) = &mut path {
                steps.push(Step::EachItem);
            }
        }
        // The lists may have made it too long.
        let path = path
            .filter(|steps| steps.is_empty() || Path::from_steps(steps.iter().cloned()).is_ok());
        let (word, identity) = (node.word(), node.identity());
        let fields = reader.fields(&node);
        let total = fields.named.len();
        let recursive = !identity.is_empty() && self.is_within(parent, &identity);
        let form = match total {
            0 if fields.is_open => Form::Open,
            0 => Form::Leaf,
            _ if word != "object" || recursive => Form::Folded { recursive },
            _ => Form::Branch,
        };
        let unfolds = form == Form::Branch && path.is_some();
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

    /// Whether a place stands within one that is made of the same.
    fn is_within(&self, parent: usize, identity: &[usize]) -> bool {
        let mut at = parent;
        while let Some(spot) = self.spots.get(at) {
            if spot.identity == identity {
                return true;
            }
            if at == spot.parent {
                break;
            }
            at = spot.parent;
        }
        false
    }
}
