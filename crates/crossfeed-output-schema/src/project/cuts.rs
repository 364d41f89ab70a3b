//! Numbers the places of a projection. Places that treat equal values equally get the same number, so that a
//! schema made for one of them is found again.

use crossfeed_projection::{Place, Projection};
use std::{
    collections::{HashMap, HashSet},
    rc::Rc,
};

/// A place that is not gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct CutId(usize);

impl CutId {
    /// A place where nothing is cut, nor anywhere within.
    pub(super) const WHOLE: Self = Self(0);
}

/// The places of a projection that have been met.
pub(super) struct Cuts<'p> {
    projection: &'p Projection,
    /// By number, the one where nothing happens left out.
    places: Vec<Place<'p>>,
    known: HashMap<Place<'p>, CutId>,
    names: HashMap<CutId, Rc<[&'p str]>>,
    losses: HashMap<CutId, Losses>,
    items: HashMap<CutId, Rc<ItemCuts>>,
    /// How many places were looked at.
    looks: usize,
}

/// Which members an object may lose.
#[derive(Clone, Copy)]
pub(super) struct Losses {
    /// How many names that paths and rules treat specially.
    pub(super) names: usize,
    /// Whether all others go.
    pub(super) others: bool,
}

impl Losses {
    pub(super) fn are_none(self) -> bool {
        self.names == 0 && !self.others
    }
}

/// The ways in which the items of a list are cut.
pub(super) struct ItemCuts {
    /// The ways, each once, without the one of those that go.
    pub(super) cuts: Vec<CutId>,
    /// Whether some go, so that the others close up.
    pub(super) goes: bool,
}

impl<'p> Cuts<'p> {
    /// The places of a projection, and that of the whole value, where that is not gone.
    pub(super) fn new(projection: &'p Projection) -> (Self, Option<CutId>) {
        let mut cuts = Self {
            projection,
            places: Vec::new(),
            known: HashMap::new(),
            names: HashMap::new(),
            losses: HashMap::new(),
            items: HashMap::new(),
            looks: 0,
        };
        let root = cuts.number(projection.root());
        (cuts, root)
    }

    /// How many places of the projection were looked up so far, which takes most of the time.
    pub(super) fn looks(&self) -> usize {
        self.looks
    }

    fn number(&mut self, place: Place<'p>) -> Option<CutId> {
        self.looks += 1;
        if place.is_gone() {
            return None;
        }
        if place.is_whole() {
            return Some(CutId::WHOLE);
        }
        if let Some(known) = self.known.get(&place) {
            return Some(*known);
        }
        self.places.push(place.clone());
        let id = CutId(self.places.len());
        self.known.insert(place, id);
        Some(id)
    }

    fn place(&self, cut: CutId) -> Option<&Place<'p>> {
        self.places.get(cut.0.checked_sub(1)?)
    }

    /// The cut of the member of this name; `None` if it is left out.
    pub(super) fn member(&mut self, cut: CutId, name: &str) -> Option<CutId> {
        self.step(cut, |place| place.key(name))
    }

    /// The cut of members that are not among [`Self::names`].
    pub(super) fn other_member(&mut self, cut: CutId) -> Option<CutId> {
        self.step(cut, Place::other_key)
    }

    fn step(&mut self, cut: CutId, to: impl FnOnce(&Place<'p>) -> Place<'p>) -> Option<CutId> {
        match self.place(cut).map(to) {
            None => Some(CutId::WHOLE),
            Some(inner) => self.number(inner),
        }
    }

    /// The names that paths and rules treat specially.
    pub(super) fn names(&mut self, cut: CutId) -> Rc<[&'p str]> {
        if let Some(names) = self.names.get(&cut) {
            return Rc::clone(names);
        }
        let names = self.place(cut).map(Place::named_keys).unwrap_or_default();
        let names: Rc<[&str]> = names.into();
        self.names.insert(cut, Rc::clone(&names));
        names
    }

    /// Which members an object may lose.
    pub(super) fn losses(&mut self, cut: CutId) -> Losses {
        if let Some(known) = self.losses.get(&cut) {
            return *known;
        }
        let names = self.names(cut);
        let gone = names.iter().filter(|name| self.member(cut, name).is_none());
        let losses = Losses {
            names: gone.count(),
            others: self.other_member(cut).is_none(),
        };
        self.losses.insert(cut, losses);
        losses
    }

    /// The ways in which items of a list are cut at any position; `None` if there are too many.
    pub(super) fn items(&mut self, cut: CutId) -> Option<Rc<ItemCuts>> {
        if let Some(known) = self.items.get(&cut) {
            return Some(Rc::clone(known));
        }
        let items = match self.place(cut) {
            None => ItemCuts::all(CutId::WHOLE),
            Some(place) => {
                let places = place.item_places()?;
                self.item_cuts(places)
            }
        };
        let items = Rc::new(items);
        self.items.insert(cut, Rc::clone(&items));
        Some(items)
    }

    /// The ways in which the item at a position of the source may be cut.
    pub(super) fn item(&mut self, cut: CutId, source: usize) -> ItemCuts {
        let places = match self.place(cut) {
            None => return ItemCuts::all(CutId::WHOLE),
            Some(place) if !place.has_indexes() => vec![place.each_item()],
            // Where it stands among those that are included depends on what stands before it.
            Some(place) => (0..=source).map(|kept| place.item(source, kept)).collect(),
        };
        self.item_cuts(places)
    }

    fn item_cuts(&mut self, places: Vec<Place<'p>>) -> ItemCuts {
        let mut found = ItemCuts {
            cuts: Vec::new(),
            goes: false,
        };
        let mut known = HashSet::new();
        for place in places {
            match self.number(place) {
                None => found.goes = true,
                Some(cut) if !known.insert(cut) => {}
                Some(cut) => found.cuts.push(cut),
            }
        }
        found
    }

    /// Whether strings here may be rewritten, because of what JSON in them holds.
    pub(super) fn rewrites_strings(&self, cut: CutId) -> bool {
        self.place(cut).is_some_and(Place::rewrites_strings)
    }

    /// Whether there are fields that are never shown.
    pub(super) fn withholds(&self) -> bool {
        !self.projection.rules().never_is_empty()
    }

    /// Whether a text names a hidden field.
    pub(super) fn mentions_withheld(&self, text: &str) -> bool {
        let rules = self.projection.rules();
        self.withholds() && (rules.is_never_name(text) || rules.mentions_never(text))
    }
}

impl ItemCuts {
    fn all(cut: CutId) -> Self {
        Self {
            cuts: vec![cut],
            goes: false,
        }
    }
}
