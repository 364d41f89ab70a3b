//! The keys that a value has somewhere.

use super::{WALK_ITEMS, WALK_VALUES};
use crossfeed_jmespath::{Kind, View};
use std::{
    cell::OnceCell,
    collections::{HashSet, VecDeque},
};

/// How many different keys are collected: more than any record has, less than a large map holds.
const COLLECTED_KEYS: usize = 50_000;

/// The keys of the objects within the first values of a result: collected when first asked for,
/// once for all selectors of a call.
#[derive(Debug, Default)]
pub(crate) struct Keys(OnceCell<HashSet<Box<str>>>);

impl Keys {
    /// Whether `view`, whose keys these are, has the key somewhere.
    pub(crate) fn of_has(&self, view: &View<'_>, key: &str) -> bool {
        self.0.get_or_init(|| collect_keys(view)).contains(key)
    }
}

fn collect_keys(view: &View<'_>) -> HashSet<Box<str>> {
    let mut queue = VecDeque::from([view.clone()]);
    let mut left = WALK_VALUES;
    let mut keys = HashSet::new();
    while let Some(value) = queue.pop_front() {
        for (key, _) in value.members().take(COLLECTED_KEYS - keys.len()) {
            if !keys.contains(&*key) {
                keys.insert(Box::from(&*key));
            }
        }
        for child in value
            .members()
            .map(|(_, child)| child)
            .chain(value.items().take(WALK_ITEMS))
            .take(left)
        {
            if matches!(child.kind(), Kind::Array | Kind::Object) {
                queue.push_back(child);
                left = left.saturating_sub(1);
            }
        }
    }
    keys
}
