//! Paths through a value: found by a bounded walk, written as selectors.

use crossfeed_jmespath::{Arena, Budget, Kind, View};
use crossfeed_json::quoted;
use std::{
    cell::OnceCell,
    collections::{HashSet, VecDeque},
};

/// How many values a walk looks at.
const WALK_VALUES: usize = 5000;
/// How deep a walk goes.
const WALK_DEPTH: usize = 12;
/// How many items of each list a walk enters: the first ones, because lists are of a kind.
const WALK_ITEMS: usize = 3;
/// The most characters of a selector: a longer one is no help to anybody.
const SELECTOR_CHARS: usize = 200;

/// How many different keys are collected: more than any record has, less than a large map holds.
const COLLECTED_KEYS: usize = 50_000;

/// A place in a value and the selector that reaches it.
#[derive(Clone, Debug)]
pub(crate) struct Candidate<'a> {
    pub(crate) selector: String,
    /// The names of the members on the way.
    pub(crate) names: Vec<String>,
    /// The selector that reaches this place in each item of the list around it, if there is one.
    pub(crate) in_each: Option<String>,
    pub(crate) view: View<'a>,
}

/// The places in `view`, nearest to the root first, in document order. JSON in strings is opened.
/// What only a very long selector reaches is left out.
pub(crate) fn candidates<'a>(
    view: &View<'a>,
    arena: &'a Arena,
    budget: &Budget,
) -> Vec<Candidate<'a>> {
    let root = Candidate {
        selector: String::new(),
        names: Vec::new(),
        in_each: None,
        view: view.clone(),
    };
    let mut queue = VecDeque::from([(root, 0)]);
    let mut found = Vec::new();
    let mut left = WALK_VALUES;
    while let Some((parent, depth)) = queue.pop_front() {
        if depth < WALK_DEPTH {
            let opened = match parent.view.as_cursor() {
                Some(cursor) if cursor.kind() == Kind::String => {
                    arena.open(cursor, budget).ok().flatten().map(View::from)
                }
                _ => None,
            };
            let container = opened.as_ref().unwrap_or(&parent.view);
            for (key, value) in container.members().take(left) {
                if is_long(&parent.selector, &key) {
                    continue;
                }
                let step = |prefix: &str| member(prefix, &key);
                queue.push_back((
                    Candidate {
                        selector: step(&parent.selector),
                        names: [parent.names.as_slice(), &[key.clone().into_owned()]].concat(),
                        in_each: parent.in_each.as_deref().map(step),
                        view: value,
                    },
                    depth + 1,
                ));
            }
            for (index, value) in container.items().take(WALK_ITEMS.min(left)).enumerate() {
                let each = if index == 0 {
                    Some(format!("{}[*]", parent.selector))
                } else {
                    None
                };
                queue.push_back((
                    Candidate {
                        selector: format!("{}[{index}]", parent.selector),
                        names: parent.names.clone(),
                        in_each: each,
                        view: value,
                    },
                    depth + 1,
                ));
            }
        }
        if !parent.selector.is_empty() {
            found.push(parent);
        }
        left = WALK_VALUES.saturating_sub(found.len() + queue.len());
    }
    found
}

/// Whether a member's selector is longer than any that is offered.
fn is_long(prefix: &str, key: &str) -> bool {
    // A character has at most four bytes.
    key.len() > 4 * SELECTOR_CHARS || member(prefix, key).chars().count() > SELECTOR_CHARS
}

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

/// `prefix.key`, the key quoted where the grammar asks for it.
pub(crate) fn member(prefix: &str, key: &str) -> String {
    let mut chars = key.chars();
    let plain = chars
        .next()
        .is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_');
    let key = if plain { key.to_owned() } else { quoted(key) };
    if prefix.is_empty() {
        return key;
    }
    format!("{prefix}.{key}")
}
