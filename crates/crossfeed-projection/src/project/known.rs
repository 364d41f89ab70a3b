//! The states that a value was found to lead to, numbered, and what was found out about each.
//!
//! What a member's name or an item's position makes of a state is worked out once, when data first
//! has it; from then on it is a look-up, and for objects that look like the one before not even that.

use super::{
    seen::Seen,
    state::{Spec, State},
    steps::{Held, Onward, Steps, held, wants_list},
};
use crate::rules::names_of;
use crossfeed_json::{Cursor, Document, Prediction};
use std::collections::{BTreeSet, HashMap};

/// Names that are wanted of an object are looked for one by one up to this many.
const FEW: usize = 8;
/// Names of the object before that are remembered by their place.
const SEQUENCE: usize = 64;
/// Names that nothing names are remembered up to this many.
const MOST_OTHERS: usize = 4096;

/// What happens to a child: the number of its state, or that it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    State(u32),
    /// It is not asked for, or it is excluded.
    Gone,
    /// It is never shown.
    Hidden,
}

/// One wanted name of an object of which everything else goes.
#[derive(Debug)]
pub(super) struct Wanted {
    pub(super) name: Box<str>,
    /// What was found out when data first had it.
    pub(super) action: Option<Action>,
    pub(super) prediction: Prediction,
}

#[derive(Debug, Default)]
pub(super) struct Known<'p> {
    pub(super) state: State,
    /// What never-paths go on to from here.
    pub(super) onward: Onward<'p>,
    /// Nothing is cut here; only never-names may still have to go.
    pub(super) copies: bool,
    /// Kinds of values that were met, see [`super::seen`].
    pub(super) met: u8,
    /// The wanted names, where they are few and nothing else stays.
    pub(super) few: Option<Vec<Wanted>>,
    by_name: HashMap<Box<[u8]>, Action>,
    sequence: Vec<(Box<[u8]>, Action)>,
    other: Option<Action>,
    each_item: Option<Action>,
    /// Whether items are included that no position names.
    includes_each: bool,
    /// Whether every item is hidden.
    pub(super) hides_each: bool,
    sources: BTreeSet<usize>,
    kept: BTreeSet<usize>,
}

#[derive(Debug)]
pub(super) struct States<'p> {
    spec: Spec<'p>,
    known: Vec<Known<'p>>,
    numbers: HashMap<State, u32>,
    pub(super) seen: Seen,
}

impl<'p> States<'p> {
    pub(super) fn new(spec: Spec<'p>) -> Self {
        Self {
            spec,
            known: Vec::new(),
            numbers: HashMap::new(),
            seen: Seen::new(spec),
        }
    }

    pub(super) fn all(&self) -> &[Known<'p>] {
        &self.known
    }

    #[inline]
    pub(super) fn at(&mut self, number: u32) -> &mut Known<'p> {
        &mut self.known[number as usize]
    }

    pub(super) fn number(&mut self, state: State) -> u32 {
        if let Some(&number) = self.numbers.get(&state) {
            return number;
        }
        // Each state but the first comes of a value of the data: there are fewer than 2^32.
        let number = self.known.len() as u32;
        let (sources, kept) = state.positions(self.spec);
        let copies = state.keeps_all() && state.never.is_empty();
        let steps = Steps::to_item(&state, self.spec, None, None);
        self.known.push(Known {
            onward: Onward::of(&self.spec.rules.never_tree, &state.never),
            copies,
            few: few(&state, self.spec),
            includes_each: steps.is_kept(&state),
            hides_each: steps.is_hidden(),
            sources,
            kept,
            state: state.clone(),
            ..Known::default()
        });
        self.numbers.insert(state, number);
        number
    }

    /// What happens to the member whose name is written `raw`, the `place`th of its object.
    #[inline]
    pub(super) fn member(&mut self, number: u32, place: usize, raw: &[u8]) -> Action {
        let known = &self.known[number as usize];
        if let Some((name, action)) = known.sequence.get(place)
            && **name == *raw
        {
            return *action;
        }
        let action = match known.by_name.get(raw) {
            Some(&action) => action,
            None => self.new_member(number, raw),
        };
        let sequence = &mut self.at(number).sequence;
        if place == sequence.len() && place < SEQUENCE {
            sequence.push((raw.into(), action));
        }
        action
    }

    fn new_member(&mut self, number: u32, raw: &[u8]) -> Action {
        let name = text_of(raw);
        let named = is_named(&self.known[number as usize].state, self.spec, &name);
        let action = if named {
            self.named(number, &name)
        } else if let Some(action) = self.at(number).other {
            action
        } else {
            let state = &self.known[number as usize].state;
            let steps = Steps::to_key(state, self.spec, None);
            let action = self.action(number, steps, None);
            self.at(number).other = Some(action);
            action
        };
        let known = self.at(number);
        if named || known.by_name.len() < MOST_OTHERS {
            known.by_name.insert(raw.into(), action);
        }
        action
    }

    /// What happens to the member of this name.
    pub(super) fn named(&mut self, number: u32, name: &str) -> Action {
        let state = &self.known[number as usize].state;
        let steps = Steps::to_key(state, self.spec, Some(name));
        self.action(number, steps, Some(name))
    }

    /// What happens to the item at `source` of its list; `kept` counts those that are included.
    #[inline]
    pub(super) fn item(&mut self, number: u32, source: usize, kept: &mut usize) -> Action {
        let known = &self.known[number as usize];
        if known.sources.is_empty()
            && known.kept.is_empty()
            && let Some(action) = known.each_item
        {
            return action;
        }
        self.item_by_position(number, source, kept)
    }

    fn item_by_position(&mut self, number: u32, source: usize, kept: &mut usize) -> Action {
        let spec = self.spec;
        let known = &self.known[number as usize];
        let source = known.sources.contains(&source).then_some(source);
        let included = match source {
            Some(_) => Steps::to_item(&known.state, spec, source, None).is_kept(&known.state),
            None => known.includes_each,
        };
        if !included {
            return Action::Gone;
        }
        let position = known.kept.contains(kept).then_some(*kept);
        *kept += 1;
        if let (None, None, Some(action)) = (source, position, known.each_item) {
            return action;
        }
        let steps = Steps::to_item(&known.state, spec, source, position);
        let action = self.action(number, steps, None);
        if source.is_none() && position.is_none() {
            self.at(number).each_item = Some(action);
        }
        action
    }

    fn action(&mut self, number: u32, steps: Steps, name: Option<&str>) -> Action {
        let state = &self.known[number as usize].state;
        self.seen.step(state, &steps, name);
        match state.child(&steps) {
            Some(child) => Action::State(self.number(child)),
            None if steps.is_kept(state) && steps.is_hidden() => Action::Hidden,
            None => Action::Gone,
        }
    }
}

/// The text of a key as it is written.
pub(super) fn text_of(raw: &[u8]) -> std::borrow::Cow<'_, str> {
    if memchr::memchr(b'\\', raw).is_none() {
        return String::from_utf8_lossy(raw);
    }
    let document = Document::new([b"\"", raw, b"\""].concat());
    let text = document.root().ok().and_then(Cursor::as_str);
    text.unwrap_or_default().into_owned().into()
}

/// Whether a name is treated by itself at an object.
fn is_named(state: &State, spec: Spec<'_>, name: &str) -> bool {
    let rules = spec.rules;
    let in_tree = state.trees(spec).into_iter().any(|(tree, set)| {
        // For what is never shown, brackets count as crossed.
        held(tree, set).any(|held| {
            tree.child(held.branch, name).is_some()
                || held
                    .behind_brackets()
                    .any(|child| tree.child(&tree.branches[child as usize], name).is_some())
        })
    });
    in_tree || rules.is_always_name(name) || rules.hides_key(name)
}

/// The wanted names, where they are few and everything else goes.
fn few(state: &State, spec: Spec<'_>) -> Option<Vec<Wanted>> {
    let rules = spec.rules;
    state.include.as_ref()?;
    let [include, always, ..] = state.trees(spec);
    let mut names: Vec<&str> = names_of(rules.always()).take(FEW + 1).collect();
    for (tree, set) in [include, always] {
        for Held { branch, .. } in held(tree, set) {
            if branch.rest || branch.each_key.is_some() || names.len() + branch.keys.len() > FEW {
                return None;
            }
            names.extend(branch.keys.iter().map(|(name, _)| &**name));
        }
    }
    if wants_list(include.0, include.1) || names.len() > FEW {
        return None;
    }
    names.sort_unstable();
    names.dedup();
    let wanted = names.into_iter().map(|name| Wanted {
        name: name.into(),
        action: None,
        prediction: Prediction::default(),
    });
    Some(wanted.collect())
}
