//! Fields of a resource that rules hide, wherever the resource may stand.
//!
//! What comes in: never-rules, and where resources may be. What goes out: whether a field is among
//! what they name. Deliberately not here: hiding it in a value, which the engine does. Brackets do
//! not count, so that more is hidden here than there: nothing is told of it.

use super::collection::Envelope;
use crate::{RevealRules, Step, fold_case};
use std::{collections::HashMap, sync::Arc};

/// The never-paths as a tree of names, and the places of it where resources may be.
#[derive(Clone, Debug)]
pub(super) struct Hidden {
    rules: Arc<RevealRules>,
    tree: Vec<Place>,
    /// For the root, and each envelope: the places that its way leads to.
    starts: Vec<Vec<usize>>,
    /// Whether an envelope is hidden itself, or all that is in it.
    is_all: bool,
}

/// A place of the tree.
#[derive(Clone, Debug, Default)]
struct Place {
    /// By folded names: what is never shown is so in whatever case.
    inner: HashMap<String, usize>,
    /// Each key: `*`.
    each: Option<usize>,
    is_end: bool,
}

impl Hidden {
    pub(super) fn of(rules: &Arc<RevealRules>, envelopes: &[Envelope]) -> Self {
        let mut hidden = Self {
            rules: Arc::clone(rules),
            tree: vec![Place::default()],
            starts: Vec::new(),
            is_all: false,
        };
        for path in rules.never() {
            // One name alone holds at any depth, and is asked for by itself.
            if !matches!(path.steps(), [Step::Key(_)]) {
                hidden.add(path.steps());
            }
        }
        let root = vec![0];
        for envelope in envelopes {
            match hidden.walk(root.clone(), &envelope.steps()) {
                Some(start) => hidden.starts.push(start),
                None => hidden.is_all = true,
            }
        }
        hidden.starts.push(root);
        hidden
    }

    fn add(&mut self, steps: &[Step]) {
        let mut at = 0;
        for step in steps {
            let next = self.tree.len();
            let Some(place) = self.tree.get_mut(at) else {
                return;
            };
            at = match step {
                Step::Key(name) => {
                    let name = fold_case(name).into_owned();
                    *place.inner.entry(name).or_insert(next)
                }
                Step::EachKey => *place.each.get_or_insert(next),
                Step::EachItem | Step::Index(_) => continue,
            };
            if at == next {
                self.tree.push(Place::default());
            }
        }
        if let Some(place) = self.tree.get_mut(at) {
            place.is_end = at != 0;
        }
    }

    /// Where some steps lead from places; `None` where they lead to what is hidden, or into it.
    fn walk(&self, mut places: Vec<usize>, steps: &[Step]) -> Option<Vec<usize>> {
        for step in steps {
            let name = match step {
                Step::Key(name) => Some(name),
                Step::EachKey => None,
                Step::EachItem | Step::Index(_) => continue,
            };
            if name.is_some_and(|name| self.rules.is_never_name(name)) {
                return None;
            }
            let next = places.iter().filter_map(|at| self.tree.get(*at));
            let next = next.flat_map(|place| {
                let own = name.and_then(|name| place.inner.get(&*fold_case(name)));
                own.copied().into_iter().chain(place.each)
            });
            places = next.collect();
            let mut ends = places.iter().filter_map(|at| self.tree.get(*at));
            if ends.any(|place| place.is_end) {
                return None;
            }
        }
        Some(places)
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
