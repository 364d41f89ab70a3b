//! Finds places of a schema that are never shown.

use crossfeed_projection::{Place, Projection};

/// What the rules say of a place: never of one that is withheld itself. Where a schema puts several
/// places of the value in one, what is withheld in any of them is. Without rules there are no places.
#[derive(Clone, Debug, Default)]
pub(crate) struct Veil<'s>(Vec<Place<'s>>);

impl<'s> Veil<'s> {
    pub(super) fn new(rules: Option<&'s Projection>) -> Self {
        Self(rules.into_iter().map(Projection::root).collect())
    }

    /// What the rules say of a member; `None` for one that is withheld.
    pub(super) fn member(&self, name: &str) -> Option<Self> {
        self.inner(|place| place.key(name))
    }

    /// What they say of members that no rule names.
    pub(super) fn other(&self) -> Option<Self> {
        self.inner(Place::other_key)
    }

    /// What they say of the items of a list, except those that are named by position.
    pub(super) fn item(&self) -> Option<Self> {
        self.inner(Place::each_item)
    }

    fn inner(&self, step: impl Fn(&Place<'s>) -> Place<'s>) -> Option<Self> {
        let places: Vec<_> = self.0.iter().map(step).collect();
        let is_shown = places.iter().all(|place| !place.is_gone());
        is_shown.then_some(Self(places))
    }

    /// Adds what the rules say of another place.
    pub(super) fn join(&mut self, other: Self) {
        for place in other.0 {
            if !self.0.contains(&place) {
                self.0.push(place);
            }
        }
    }
}
