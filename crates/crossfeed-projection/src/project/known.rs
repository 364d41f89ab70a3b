//! Numbers the states that a walk reaches, and caches their transitions.
//!
//! The engine works out once what a member's name or an item's position does to a state; from then on it
//! looks the result up, and for objects with the keys of the last one it need not even do that.

use super::{
    coverage::Coverage,
    state::{Spec, State},
    steps::{NextSteps, Node, Steps, nodes, wants_list},
};
use crate::rules::names_of;
use crossfeed_json::{Cursor, Document, Prediction};
use std::collections::{BTreeSet, HashMap};

/// Up to this many wanted names are looked for one by one.
const FEW: usize = 8;
/// How many names of the last object are remembered by position.
const SEQUENCE: usize = 64;
/// How many names that no path or rule has are remembered.
const MOST_OTHERS: usize = 4096;

/// What happens to a child: the number of its state, or that it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    State(u32),
    /// It is not included, or it is excluded.
    Gone,
    /// A never-rule hides it.
    Hidden,
}

/// One wanted name of an object of which everything else goes.
#[derive(Debug)]
pub(super) struct WantedName {
    pub(super) name: Box<str>,
    /// Known once data has had the name.
    pub(super) action: Option<Action>,
    pub(super) prediction: Prediction,
}

#[derive(Debug, Default)]
pub(super) struct StateEntry<'p> {
    pub(super) state: State,
    /// The steps that follow in never-paths.
    pub(super) next_steps: NextSteps<'p>,
    /// Nothing is cut here except, perhaps, never-names.
    pub(super) copies: bool,
    /// Kinds of values that were met, see [`super::coverage`].
    pub(super) met: u8,
    /// The wanted names, where they are few and nothing else stays.
    pub(super) few: Option<Vec<WantedName>>,
    by_name: HashMap<Box<[u8]>, Action>,
    sequence: Vec<(Box<[u8]>, Action)>,
    other: Option<Action>,
    each_item: Option<Action>,
    /// Whether items are included whose position no path names.
    includes_each: bool,
    /// Whether every item is hidden.
    pub(super) hides_each: bool,
    sources: BTreeSet<usize>,
    kept: BTreeSet<usize>,
}

#[derive(Debug)]
pub(super) struct States<'p> {
    spec: Spec<'p>,
    known: Vec<StateEntry<'p>>,
    numbers: HashMap<State, u32>,
    pub(super) coverage: Coverage,
}

impl<'p> States<'p> {
    pub(super) fn new(spec: Spec<'p>) -> Self {
        Self {
            spec,
            known: Vec::new(),
            numbers: HashMap::new(),
            coverage: Coverage::new(spec),
        }
    }

    pub(super) fn all(&self) -> &[StateEntry<'p>] {
        &self.known
    }

    #[inline]
    pub(super) fn at(&mut self, number: u32) -> &mut StateEntry<'p> {
        &mut self.known[number as usize]
    }

    pub(super) fn number(&mut self, state: State) -> u32 {
        if let Some(&number) = self.numbers.get(&state) {
            return number;
        }
        // Each state but the first belongs to a value of the data: there are fewer than 2^32.
        let number = self.known.len() as u32;
        let (sources, kept) = state.positions(self.spec);
        let copies = state.keeps_all() && state.never.is_empty();
        let steps = Steps::to_item(&state, self.spec, None, None);
        self.known.push(StateEntry {
            next_steps: NextSteps::new(&self.spec.rules.never_tree, &state.never),
            copies,
            few: few(&state, self.spec),
            includes_each: steps.is_kept(&state),
            hides_each: steps.is_hidden(),
            sources,
            kept,
            state: state.clone(),
            ..StateEntry::default()
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
        self.coverage.step(state, &steps, name);
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

/// Whether a path or rule treats this name of an object specially.
fn is_named(state: &State, spec: Spec<'_>, name: &str) -> bool {
    let rules = spec.rules;
    let in_tree = state.trees(spec).into_iter().any(|(tree, set)| {
        // Never-paths apply as if their brackets were crossed.
        nodes(tree, set).any(|node| {
            tree.child(node.branch, name).is_some()
                || node
                    .behind_brackets()
                    .any(|child| tree.child(&tree.branches[child as usize], name).is_some())
        })
    });
    in_tree || rules.is_always_name(name) || rules.hides_key(name)
}

/// The wanted names, where they are few and everything else goes.
fn few(state: &State, spec: Spec<'_>) -> Option<Vec<WantedName>> {
    let rules = spec.rules;
    state.include.as_ref()?;
    let [include, always, ..] = state.trees(spec);
    let mut names: Vec<&str> = names_of(rules.always()).take(FEW + 1).collect();
    for (tree, set) in [include, always] {
        for Node { branch, .. } in nodes(tree, set) {
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
    let wanted = names.into_iter().map(|name| WantedName {
        name: name.into(),
        action: None,
        prediction: Prediction::default(),
    });
    Some(wanted.collect())
}
