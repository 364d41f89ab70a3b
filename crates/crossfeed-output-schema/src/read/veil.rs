//! Which places of a schema are never shown.

use crossfeed_projection::{Place, Projection};

/// What the rules say of a place: never of one that is withheld itself. Where a schema puts several
/// places of the value in one, what is withheld in any of them is.
#[derive(Clone, Debug)]
pub(crate) struct Veil<'s>(Vec<Place<'s>>);

impl<'s> Veil<'s> {
    pub(super) fn of(rules: &'s Projection) -> Self {
        Self(vec![rules.root()])
    }

    /// What the rules say of a member; `None` for one that is withheld.
    pub(super) fn member(&self, name: &str) -> Option<Self> {
        self.inner(|place| place.key(name))
    }

    /// What they say of members that no rule names.
    pub(super) fn other(&self) -> Option<Self> {
        self.inner(Place::other_key)
    }

    /// What they say of the items of a list, those left aside that are named by position.
    pub(super) fn item(&self) -> Option<Self> {
        self.inner(Place::each_item)
    }

    fn inner(&self, step: impl Fn(&Place<'s>) -> Place<'s>) -> Option<Self> {
        let places: Vec<_> = self.0.iter().map(step).collect();
        let is_shown = places.iter().all(|place| !place.is_gone());
        is_shown.then_some(Self(places))
    }

    /// What is said of either place.
    pub(super) fn and(&mut self, other: Self) {
        for place in other.0 {
            if !self.0.contains(&place) {
                self.0.push(place);
            }
        }
    }

    /// The same, where either may be without rules.
    pub(super) fn join(one: &mut Option<Self>, other: Option<Self>) {
        match (one, other) {
            (Some(one), Some(other)) => one.and(other),
            (one, other) => *one = one.take().or(other),
        }
    }
}
