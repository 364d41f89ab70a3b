//! The lists of hints: which places and selectors are offered, best first.
//!
//! Lists that are not in document order begin with the members that a next tool is likely to want, then those
//! nearer to the root, then document order.

use super::offers::Offers;
use crate::paths::{Path, Step, Walk, relevance};
use crossfeed_jmespath::Kind;
use std::{cmp::Reverse, collections::HashMap};

/// The most paths of one ambiguous name.
const MAX_PATHS_OF_NAME: usize = 8;
/// How many paths of one name are listed before others have had their turn.
const TURNS: usize = 3;
/// The relevance that a path loses for each list around it except the first.
const INNER_PENALTY: u8 = 4;
/// The number of steps from which a path is deep.
const DEEP: usize = 4;

/// A selector with the type of its value.
#[derive(Clone, Debug)]
pub(super) struct TypedSelector {
    pub(super) selector: String,
    pub(super) kind: String,
    /// Whether other paths end with the same name.
    pub(super) ambiguous: bool,
}

impl TypedSelector {
    pub(super) fn text(&self) -> String {
        format!("{}[{}]", self.selector, self.kind)
    }
}

/// A path, and the place there that is offered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spot {
    pub(super) path: usize,
    pub(super) place: usize,
}

/// The paths and places of a walk, ranked.
pub(super) struct Lists<'a, 'v> {
    pub(super) offers: Offers<'a, 'v>,
    pub(super) walk: &'v Walk<'a>,
    /// How relevant each name is.
    relevance: Vec<u8>,
    /// Strings, numbers, booleans and nulls, best first.
    pub(super) terminals: Vec<Spot>,
    /// Items of lists: objects, and anything else, nearest to the root first.
    pub(super) objects_in_lists: Vec<Spot>,
    pub(super) others_in_lists: Vec<Spot>,
}

impl<'a, 'v> Lists<'a, 'v> {
    pub(super) fn new(offers: Offers<'a, 'v>) -> Self {
        let walk = offers.walk;
        let relevance = walk.names.iter().map(|name| relevance(&name.text));
        let mut lists = Self {
            relevance: relevance.collect(),
            terminals: Vec::new(),
            objects_in_lists: Vec::new(),
            others_in_lists: Vec::new(),
            offers,
            walk,
        };
        let is_item = |path: &Path| path.step == Some(Step::Item);
        let other = |path: &Path| path.scalar.or(path.array).filter(|_| path.object.is_none());
        lists.objects_in_lists = lists.by_depth(|path| path.object.filter(|_| is_item(path)));
        lists.others_in_lists = lists.by_depth(|path| other(path).filter(|_| is_item(path)));
        let mut terminals = lists.by_depth(|path| path.scalar);
        terminals.sort_by_cached_key(|spot| lists.rank(*spot));
        lists.terminals = lists.by_turns(terminals, TURNS);
        lists
    }

    /// The spots, up to `most` of each name first, so that one frequent name does not crowd out the others.
    fn by_turns(&self, spots: Vec<Spot>, most: usize) -> Vec<Spot> {
        let mut turns: HashMap<Option<usize>, usize> = HashMap::new();
        let (mut first, later): (Vec<_>, Vec<_>) = spots.into_iter().partition(|spot| {
            let turn = turns.entry(self.walk.last_name(spot.path)).or_default();
            *turn += 1;
            *turn <= most
        });
        first.extend(later);
        first
    }

    /// The sort key: whether the value is null or an empty text, the relevance of the path, and its position.
    fn rank(&self, spot: Spot) -> (bool, Reverse<u8>, usize, usize) {
        let (path, place) = (self.path(spot.path), &self.walk.places[spot.place]);
        let cursor = place.view.as_cursor();
        let is_nothing = cursor.is_some_and(|cursor| matches!(cursor.raw(), b"null" | b"\"\""));
        // Items of nested lists matter less than those of an outer list.
        let inner = u8::try_from(place.lists.saturating_sub(1)).unwrap_or(u8::MAX);
        let penalty = inner.saturating_mul(INNER_PENALTY);
        let relevance = self.relevance(spot.path).saturating_sub(penalty);
        (is_nothing, Reverse(relevance), path.depth, path.order)
    }

    /// How relevant a path is, by its last name.
    pub(super) fn relevance(&self, path: usize) -> u8 {
        let name = self.walk.last_name(path);
        let relevance = name.map_or(0, |name| self.relevance[name]);
        match self.path(path).step {
            // An item is less relevant than a single value of that name.
            Some(Step::Item) => relevance / 2,
            _ => relevance,
        }
    }

    fn is_ambiguous(&self, path: usize) -> bool {
        match self.path(path).step {
            Some(Step::Name(name)) => self.walk.names[name].paths.len() > 1,
            _ => false,
        }
    }

    pub(super) fn path(&self, at: usize) -> &'v Path {
        &self.walk.paths[at]
    }

    /// The first of some spots, with selectors and types.
    fn typed(&mut self, spots: Vec<Spot>, most: usize) -> Vec<TypedSelector> {
        let typed = spots.into_iter().filter_map(|spot| {
            let view = &self.walk.places[spot.place].view;
            Some(TypedSelector {
                selector: self.offers.place(spot.place)?,
                kind: match view.kind() {
                    Kind::Array => format!("array-{}-items", view.len().unwrap_or_default()),
                    other => other.as_str().to_owned(),
                },
                ambiguous: self.is_ambiguous(spot.path),
            })
        });
        typed.take(most).collect()
    }

    /// Paths to strings, numbers, booleans and nulls. Those of ambiguous names come first, and take up to
    /// three quarters of the room if there are others.
    pub(super) fn terminals(&mut self, most: usize) -> Vec<TypedSelector> {
        let terminals = self.terminals.iter().copied();
        let (mut ambiguous, others): (Vec<_>, Vec<_>) =
            terminals.partition(|spot| self.is_ambiguous(spot.path));
        let reserved = others.len().min(most / 4);
        let mut spare = ambiguous.split_off(ambiguous.len().min(most - reserved));
        ambiguous.extend(others);
        ambiguous.append(&mut spare);
        let mut offered = self.typed(ambiguous, most);
        offered.sort_by_key(|typed| !typed.ambiguous);
        offered
    }

    /// The best paths, whether their names are ambiguous or not, one of each name first.
    pub(super) fn best_terminals(&mut self, most: usize) -> Vec<TypedSelector> {
        let terminals = self.by_turns(self.terminals.clone(), 1);
        self.typed(terminals, most)
    }

    /// Paths to lists with their length, those with items first.
    pub(super) fn arrays(&mut self, most: usize) -> Vec<TypedSelector> {
        let mut arrays = self.by_depth(|path| path.array);
        arrays.sort_by_key(|spot| self.walk.places[spot.place].view.is_empty());
        self.typed(arrays, most)
    }

    /// Paths to objects within the value.
    pub(super) fn objects(&mut self, most: usize) -> Vec<TypedSelector> {
        let objects = self.by_depth(|path| path.object.filter(|_| path.step.is_some()));
        self.typed(objects, most)
    }

    /// The paths that have a place, nearest to the root first.
    pub(super) fn by_depth(&self, place: impl Fn(&Path) -> Option<usize>) -> Vec<Spot> {
        let paths = self.walk.paths.iter().enumerate();
        let spots = paths.filter_map(|(path, own)| place(own).map(|place| Spot { path, place }));
        let mut spots: Vec<_> = spots.collect();
        spots.sort_unstable_by_key(|spot| (self.path(spot.path).depth, self.path(spot.path).order));
        spots
    }

    /// All names, most frequent first.
    pub(super) fn common(&self, most: usize) -> Vec<String> {
        let mut names: Vec<_> = self.walk.names.iter().collect();
        let order = |at: &usize| self.path(*at).order;
        names.sort_by_cached_key(|name| (Reverse(name.count), name.paths.iter().map(order).min()));
        let names = names.into_iter().take(most);
        names.map(|name| name.text.clone().into_string()).collect()
    }

    /// Names that more than one path ends with, and their paths, most important names first.
    pub(super) fn ambiguous(&mut self, most: usize) -> Vec<(String, Vec<String>)> {
        let names = self.walk.names.iter().zip(&self.relevance);
        let mut names: Vec<_> = names.filter(|(name, _)| name.paths.len() > 1).collect();
        names.sort_by_cached_key(|(name, relevance)| {
            let mut depths: Vec<_> = name.paths.iter().map(|at| self.path(*at).depth).collect();
            depths.sort_unstable();
            let first = name.paths.iter().map(|at| self.path(*at).order).min();
            // Names that are mistaken for each other near the root matter most.
            (**relevance == 0, depths[1], Reverse(**relevance), first)
        });
        let named = names.into_iter().filter_map(|(name, _)| {
            let mut paths: Vec<&Path> = name.paths.iter().map(|at| &self.walk.paths[*at]).collect();
            paths.sort_by_key(|path| (path.depth, path.order));
            let places = paths.into_iter().filter_map(first_place);
            let paths = places.filter_map(|place| self.offers.place(place));
            let paths: Vec<_> = paths.take(MAX_PATHS_OF_NAME).collect();
            (paths.len() > 1).then(|| (name.text.clone().into_string(), paths))
        });
        named.take(most).collect()
    }

    /// The deepest paths, without those that others continue.
    pub(super) fn deep(&mut self, most: usize) -> Vec<String> {
        let paths = self.walk.paths.iter();
        let mut deepest: Vec<&Path> = paths
            .filter(|path| path.depth >= DEEP && path.children.is_empty())
            .collect();
        deepest.sort_by_key(|path| (Reverse(path.depth), path.order));
        let places = deepest.into_iter().filter_map(first_place);
        let selectors = places.filter_map(|place| self.offers.place(place));
        selectors.take(most).collect()
    }
}

/// The first place at a path, whatever its type.
fn first_place(path: &Path) -> Option<usize> {
    [path.scalar, path.array, path.object]
        .into_iter()
        .flatten()
        .min()
}
