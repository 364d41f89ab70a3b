//! Places near the root, each with its selector: candidates to replace a selector that missed, or to fit a
//! parameter.

use super::{SELECTOR_CHARS, WALK_ITEMS, WALK_VALUES, member};
use crossfeed_jmespath::{Arena, Budget, Kind, View};
use std::collections::VecDeque;

/// The greatest depth of a walk.
const WALK_DEPTH: usize = 12;

/// A place in a value and the selector that reaches it.
#[derive(Clone, Debug)]
pub(crate) struct Candidate<'a> {
    pub(crate) selector: String,
    /// The names of the members on its path.
    pub(crate) names: Vec<String>,
    /// The selector that reaches this place in each item of the list around it, if there is one.
    pub(crate) in_each: Option<String>,
    pub(crate) view: View<'a>,
}

impl<'a> Candidate<'a> {
    /// The value as a whole.
    pub(crate) fn whole(view: View<'a>, selector: &str) -> Self {
        Self {
            selector: selector.to_owned(),
            names: Vec::new(),
            in_each: None,
            view,
        }
    }
}

/// The places in `view`, nearest to the root first, in document order. JSON in strings is opened. Places that
/// need a very long selector are left out.
pub(crate) fn candidates<'a>(
    view: &View<'a>,
    arena: &'a Arena,
    budget: &Budget,
) -> Vec<Candidate<'a>> {
    let mut queue = VecDeque::from([(Candidate::whole(view.clone(), ""), 0)]);
    let mut found = Vec::new();
    let mut left = WALK_VALUES;
    while let Some((parent, depth)) = queue.pop_front() {
        if depth < WALK_DEPTH {
            let text = parent.view.as_cursor();
            let text = text.filter(|cursor| cursor.kind() == Kind::String);
            let opened = text.and_then(|text| arena.open(text, budget).ok()?);
            let opened = opened.map(View::from);
            let container = opened.as_ref().unwrap_or(&parent.view);
            let members = container.members().take(left);
            let members = members.filter(|(key, _)| !is_long(&parent.selector, key));
            let members = members.map(|(key, view)| Candidate {
                selector: member(&parent.selector, &key),
                in_each: parent.in_each.as_deref().map(|each| member(each, &key)),
                names: [parent.names.as_slice(), &[key.into_owned()]].concat(),
                view,
            });
            let items = container.items().take(WALK_ITEMS.min(left)).enumerate();
            let items = items.map(|(index, view)| Candidate {
                selector: format!("{}[{index}]", parent.selector),
                names: parent.names.clone(),
                in_each: (index == 0).then(|| format!("{}[*]", parent.selector)),
                view,
            });
            queue.extend(members.chain(items).map(|inner| (inner, depth + 1)));
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
