//! The keys and the shape of a value, found once.

use super::{WALK_ITEMS, WALK_VALUES};
use crate::shape::Shape;
use crossfeed_jmespath::{Kind, View};
use std::{
    cell::OnceCell,
    collections::{HashSet, VecDeque},
};

/// How many different keys are collected: more than any record has, less than a large map holds.
const MAX_KEYS: usize = 50_000;

/// The keys and the shape of a value, which explain a miss. Each is computed on first use, once for all
/// selectors of a call.
#[derive(Debug, Default)]
pub(crate) struct Outline {
    keys: OnceCell<HashSet<Box<str>>>,
    shape: OnceCell<Shape>,
}

impl Outline {
    /// Whether an object within the first values of `view`, which this outlines, has the key.
    pub(crate) fn has_key(&self, view: &View<'_>, key: &str) -> bool {
        self.keys.get_or_init(|| collect_keys(view)).contains(key)
    }

    /// The shape of `view`, which this outlines.
    pub(crate) fn shape(&self, view: &View<'_>) -> Shape {
        self.shape.get_or_init(|| Shape::new(view)).clone()
    }
}

fn collect_keys(view: &View<'_>) -> HashSet<Box<str>> {
    let mut queue = VecDeque::from([view.clone()]);
    let mut left = WALK_VALUES;
    let mut keys = HashSet::new();
    while let Some(value) = queue.pop_front() {
        for (key, _) in value.members().take(MAX_KEYS - keys.len()) {
            if !keys.contains(&*key) {
                keys.insert(Box::from(&*key));
            }
        }
        let members = value.members().map(|(_, child)| child);
        let items = value.items().take(WALK_ITEMS);
        for child in members.chain(items).take(left) {
            if matches!(child.kind(), Kind::Array | Kind::Object) {
                queue.push_back(child);
                left = left.saturating_sub(1);
            }
        }
    }
    keys
}
