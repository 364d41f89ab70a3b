//! How a projection treats one place of a value: whether the value there stays, is left out, or is cut, and
//! how it treats the places within. The engine writes by the same [`State`]s, so the projected schema, which is
//! made from places, agrees with the output.

use super::{
    Projection,
    state::{Spec, State, different},
};
use std::collections::HashSet;

/// The most places that [`Place::item_places`] returns.
pub const MAX_ITEM_PLACES: usize = 20_000;

/// How a projection treats one place of a value.
///
/// A place does not know the data: [`Self::key`] is the place of a member *if* the value is an object that
/// has it, [`Self::item`] that of an item *if* it is a list. A scalar or null stays unless its place is gone,
/// but never-rules reach into JSON that a string holds ([`Self::rewrites_strings`]).
///
/// Two places that are equal treat equal values equally, so recursion over a schema ends: there are
/// finitely many places.
#[derive(Clone, Debug)]
pub struct Place<'p> {
    spec: Spec<'p>,
    /// `None` if the value is left out.
    state: Option<State>,
}

impl PartialEq for Place<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.state == other.state
    }
}

impl Eq for Place<'_> {}

impl std::hash::Hash for Place<'_> {
    fn hash<H: std::hash::Hasher>(&self, hasher: &mut H) {
        self.state.hash(hasher);
    }
}

impl<'p> Place<'p> {
    pub(super) fn root(projection: &'p Projection) -> Self {
        let spec = Spec::from(projection);
        Self {
            spec,
            state: Some(State::root(spec)),
        }
    }

    fn other(&self, state: Option<State>) -> Self {
        Self {
            spec: self.spec,
            state,
        }
    }

    /// Whether the value is left out.
    pub fn is_gone(&self) -> bool {
        self.state.is_none()
    }

    /// Whether the value stays as it is, whatever it is.
    pub fn is_whole(&self) -> bool {
        let keeps_all = self.state.as_ref().is_some_and(State::keeps_all);
        keeps_all && !self.rewrites_strings()
    }

    /// Whether a string at this place may be rewritten or withheld because it may hold JSON with hidden
    /// fields.
    pub fn rewrites_strings(&self) -> bool {
        self.state
            .as_ref()
            .is_some_and(|state| self.spec.rules.has_never_names() || !state.never.is_empty())
    }

    /// What happens to the member `name` of an object at this place.
    pub fn key(&self, name: &str) -> Self {
        self.step(|state| state.key(self.spec, Some(name)))
    }

    /// What happens to a member whose name is not among [`Self::named_keys`].
    pub fn other_key(&self) -> Self {
        self.step(|state| state.key(self.spec, None))
    }

    /// The names that paths and rules treat specially at an object here, each once. All others are treated
    /// as [`Self::other_key`]; except that [`Self::key`] is gone for a name that is itself a text with a
    /// hidden field in it.
    pub fn named_keys(&self) -> Vec<&'p str> {
        let state = self.state.as_ref();
        state.map_or_else(Vec::new, |state| state.named_keys(self.spec))
    }

    /// What happens to the item of a list at this place that stands at `source` in the list, and at
    /// `kept` among the items that are included (what exclude paths count).
    pub fn item(&self, source: usize, kept: usize) -> Self {
        self.step(|state| state.item(self.spec, Some(source), Some(kept)))
    }

    /// What happens to an item of a list at this place whose position no path names: to every item
    /// unless [`Self::has_indexes`].
    pub fn each_item(&self) -> Self {
        self.step(|state| state.item(self.spec, None, None))
    }

    /// Whether positions matter at a list here.
    pub fn has_indexes(&self) -> bool {
        let positions = self.state.as_ref().map(|state| state.positions(self.spec));
        positions.is_some_and(|(sources, kept)| !(sources.is_empty() && kept.is_empty()))
    }

    /// Every way in which an item of a list at this place may be treated, each once: one place unless
    /// [`Self::has_indexes`]. Some may be gone. `None` where there are more than
    /// [`MAX_ITEM_PLACES`].
    pub fn item_places(&self) -> Option<Vec<Self>> {
        let Some(state) = &self.state else {
            return Some(vec![self.clone()]);
        };
        let (sources, kept) = state.positions(self.spec);
        let [include, always, exclude, never] = state.trees(self.spec);
        let kept = different(kept, &[exclude]);
        let mut seen = HashSet::new();
        let mut places = Vec::new();
        for source in different(sources, &[include, always, never]) {
            for &kept in &kept {
                let child = state.item(self.spec, source, kept);
                if !seen.insert(child.clone()) {
                    continue;
                }
                if places.len() == MAX_ITEM_PLACES {
                    return None;
                }
                places.push(self.other(child));
            }
        }
        Some(places)
    }

    fn step(&self, step: impl FnOnce(&State) -> Option<State>) -> Self {
        self.other(self.state.as_ref().and_then(step))
    }
}
