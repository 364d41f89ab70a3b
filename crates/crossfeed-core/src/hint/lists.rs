//! The lists of hints: which places and selectors are offered, best first.
//!
//! Where a list is not in document order, what a next tool is likely to want comes first, then what
//! is nearer to the root, then document order.

use super::offers::Offers;
use crate::paths::{Path, Step, Walk, relevance};
use crossfeed_jmespath::Kind;
use std::{cmp::Reverse, collections::HashMap};

/// The most paths of one ambiguous name.
const PATHS_OF_NAME: usize = 8;
/// How many paths of one name are listed before others have had their turn.
const TURNS: usize = 3;
/// By how much a path is wanted less for each list around it but the first.
const INNER: u8 = 4;
/// From how many steps on a path is deep.
const DEEP: usize = 4;

/// A selector with the type of what it gives.
#[derive(Clone, Debug)]
pub(super) struct Typed {
    pub(super) selector: String,
    pub(super) kind: String,
    /// Whether other paths end with the same name.
    pub(super) ambiguous: bool,
}

impl Typed {
    pub(super) fn text(&self) -> String {
        format!("{}[{}]", self.selector, self.kind)
    }
}

/// A list whose items are offered.
#[derive(Clone, Copy, Debug)]
pub(super) struct List {
    /// The path of its items.
    pub(super) items: usize,
    /// The item that is offered.
    pub(super) item: usize,
}

/// What a walk found, ranked.
pub(super) struct Lists<'a, 'v> {
    pub(super) offers: Offers<'a, 'v>,
    /// For each name how likely it is wanted.
    wanted: Vec<u8>,
    /// The paths of strings, numbers, booleans and nulls, best first.
    pub(super) terminals: Vec<usize>,
    /// Lists of objects, and lists of anything else, nearest to the root first.
    pub(super) of_objects: Vec<List>,
    pub(super) of_others: Vec<List>,
}

impl<'a, 'v> Lists<'a, 'v> {
    pub(super) fn new(offers: Offers<'a, 'v>) -> Self {
        let walk = offers.walk;
        let wanted = walk.names.iter().map(|name| relevance(&name.text));
        let mut lists = Self {
            wanted: wanted.collect(),
            terminals: Vec::new(),
            of_objects: Vec::new(),
            of_others: Vec::new(),
            offers,
        };
        lists.terminals = lists.ranked_terminals();
        let mut items: Vec<(usize, &Path)> = walk.paths.iter().enumerate().collect();
        items.retain(|(_, path)| path.step == Some(Step::Item));
        items.sort_by_key(|(_, path)| (path.depth, path.order));
        for (at, path) in items {
            match (path.object, path.scalar.or(path.array)) {
                (Some(item), _) => lists.of_objects.push(List { items: at, item }),
                (None, Some(item)) => lists.of_others.push(List { items: at, item }),
                (None, None) => {}
            }
        }
        lists
    }

    pub(super) fn walk(&self) -> &'v Walk<'a> {
        self.offers.walk
    }

    fn ranked_terminals(&self) -> Vec<usize> {
        let walk = self.walk();
        let mut found: Vec<usize> = (0..walk.paths.len())
            .filter(|at| walk.paths.get(*at).is_some_and(|p| p.scalar.is_some()))
            .collect();
        found.sort_by_cached_key(|at| self.rank(*at));
        self.by_turns(found, TURNS)
    }

    /// The paths with so many of each name first: many of one name would keep the others out.
    fn by_turns(&self, paths: Vec<usize>, most: usize) -> Vec<usize> {
        let mut turns: HashMap<Option<usize>, usize> = HashMap::new();
        let (mut first, mut later) = (Vec::new(), Vec::new());
        for at in paths {
            let turn = turns.entry(self.walk().last_name(at)).or_default();
            *turn += 1;
            let list = if *turn <= most {
                &mut first
            } else {
                &mut later
            };
            list.push(at);
        }
        first.append(&mut later);
        first
    }

    /// Whether there is nothing but null or an empty text, how much it is wanted, and where it is.
    fn rank(&self, path: usize) -> (bool, Reverse<u8>, usize, usize) {
        let Some(known) = self.walk().paths.get(path) else {
            return (true, Reverse(0), usize::MAX, usize::MAX);
        };
        let place = known.scalar.and_then(|at| self.walk().places.get(at));
        let is_nothing = place.and_then(|place| place.view.as_cursor());
        let is_nothing = is_nothing.is_some_and(|c| matches!(c.raw(), b"null" | b"\"\""));
        // What is in a list of a list is one of many of one of many.
        let lists = place.map_or(0, |place| place.lists.saturating_sub(1));
        let lists = u8::try_from(lists).unwrap_or(u8::MAX);
        let wanted = self
            .wanted(path)
            .saturating_sub(lists.saturating_mul(INNER));
        (is_nothing, Reverse(wanted), known.depth, known.order)
    }

    /// How likely a path is wanted, by its last name.
    pub(super) fn wanted(&self, path: usize) -> u8 {
        let name = self.walk().last_name(path);
        let wanted = name.and_then(|name| self.wanted.get(name)).copied();
        let wanted = wanted.unwrap_or_default();
        match self.path(path).and_then(|path| path.step) {
            // One of many is wanted less than the one of its name.
            Some(Step::Item) => wanted / 2,
            _ => wanted,
        }
    }

    fn is_ambiguous(&self, path: usize) -> bool {
        let Some(Step::Name(name)) = self.walk().paths.get(path).and_then(|path| path.step) else {
            return false;
        };
        let name = self.walk().names.get(name);
        name.is_some_and(|name| name.paths.len() > 1)
    }

    fn typed(&mut self, path: usize, place: usize) -> Option<Typed> {
        let view = &self.walk().places.get(place)?.view;
        let kind = match view.kind() {
            Kind::Array => format!("array-{}-items", view.len().unwrap_or_default()),
            other => other.as_str().to_owned(),
        };
        Some(Typed {
            selector: self.offers.place(place)?,
            kind,
            ambiguous: self.is_ambiguous(path),
        })
    }

    pub(super) fn path(&self, at: usize) -> Option<&'v Path> {
        self.walk().paths.get(at)
    }

    /// Paths to strings, numbers, booleans and nulls; those of ambiguous names first, which take up to
    /// three quarters of the room where there are others.
    pub(super) fn terminals(&mut self, most: usize) -> Vec<Typed> {
        let ranked = self.terminals.clone();
        let (mut ambiguous, others): (Vec<usize>, Vec<usize>) =
            ranked.into_iter().partition(|at| self.is_ambiguous(*at));
        let reserved = others.len().min(most / 4);
        let mut spare = ambiguous.split_off(ambiguous.len().min(most - reserved));
        ambiguous.extend(others);
        ambiguous.append(&mut spare);
        let mut offered = self.offer_terminals(ambiguous, most);
        offered.sort_by_key(|typed| !typed.ambiguous);
        offered
    }

    /// The best paths, whether their names are ambiguous or not, one of each name first.
    pub(super) fn best_terminals(&mut self, most: usize) -> Vec<Typed> {
        let paths = self.by_turns(self.terminals.clone(), 1);
        self.offer_terminals(paths, most)
    }

    fn offer_terminals(&mut self, paths: Vec<usize>, most: usize) -> Vec<Typed> {
        let typed = paths.into_iter().filter_map(|at| {
            let place = self.path(at)?.scalar?;
            self.typed(at, place)
        });
        typed.take(most).collect()
    }

    /// Paths to lists with their length, those with items first.
    pub(super) fn arrays(&mut self, most: usize) -> Vec<Typed> {
        let mut found = self.by_depth(|path| path.array);
        found.sort_by_key(|(_, place)| {
            let place = self.walk().places.get(*place);
            place.is_some_and(|place| place.view.is_empty())
        });
        self.first_typed(found, most)
    }

    fn first_typed(&mut self, found: Vec<(usize, usize)>, most: usize) -> Vec<Typed> {
        let typed = found.into_iter();
        let typed = typed.filter_map(|(at, place)| self.typed(at, place));
        typed.take(most).collect()
    }

    /// Paths to objects within the value.
    pub(super) fn objects(&mut self, most: usize) -> Vec<Typed> {
        let found = self.by_depth(|path| path.object.filter(|_| path.step.is_some()));
        self.first_typed(found, most)
    }

    /// Paths and one place of each, nearest to the root first.
    pub(super) fn by_depth(&self, place: impl Fn(&Path) -> Option<usize>) -> Vec<(usize, usize)> {
        let paths = self.walk().paths.iter().enumerate();
        let mut found: Vec<_> = paths
            .filter_map(|(at, path)| Some((path.depth, path.order, at, place(path)?)))
            .collect();
        found.sort_unstable();
        let found = found.into_iter();
        found.map(|(_, _, at, place)| (at, place)).collect()
    }

    /// The names that stand anywhere, most frequent first.
    pub(super) fn common(&self, most: usize) -> Vec<String> {
        let mut names: Vec<_> = self.walk().names.iter().collect();
        let order = |at: &usize| self.path(*at).map_or(usize::MAX, |path| path.order);
        names.sort_by_cached_key(|name| (Reverse(name.count), name.paths.iter().map(order).min()));
        let names = names.into_iter().take(most);
        names.map(|name| name.text.clone().into_string()).collect()
    }

    /// Names that more than one path ends with, with their paths: those that matter first.
    pub(super) fn ambiguous(&mut self, most: usize) -> Vec<(String, Vec<String>)> {
        let names = self.walk().names.iter().enumerate();
        let mut names: Vec<_> = names.filter(|(_, name)| name.paths.len() > 1).collect();
        let order = |at: &usize| self.path(*at).map_or(usize::MAX, |path| path.order);
        // Names that are mistaken for each other near the root matter most.
        let second = |paths: &[usize]| {
            let depths = paths.iter().filter_map(|at| Some(self.path(*at)?.depth));
            let mut depths: Vec<_> = depths.collect();
            depths.sort_unstable();
            depths.get(1).copied()
        };
        names.sort_by_cached_key(|(at, name)| {
            let wanted = self.wanted.get(*at).copied().unwrap_or_default();
            let first = name.paths.iter().map(order).min();
            (wanted == 0, second(&name.paths), Reverse(wanted), first)
        });
        let named = names.into_iter().filter_map(|(_, name)| {
            let mut paths: Vec<&Path> = name.paths.iter().filter_map(|at| self.path(*at)).collect();
            paths.sort_by_key(|path| (path.depth, path.order));
            let places = paths.into_iter().filter_map(first_place);
            let paths = places.filter_map(|place| self.offers.place(place));
            let paths: Vec<_> = paths.take(PATHS_OF_NAME).collect();
            (paths.len() > 1).then(|| (name.text.clone().into_string(), paths))
        });
        named.take(most).collect()
    }

    /// The deepest paths, without those on the way to others.
    pub(super) fn deep(&mut self, most: usize) -> Vec<String> {
        let paths = self.walk().paths.iter();
        let mut found: Vec<&Path> = paths
            .filter(|path| path.depth >= DEEP && path.children.is_empty())
            .collect();
        found.sort_by_key(|path| (Reverse(path.depth), path.order));
        let places = found.into_iter().filter_map(first_place);
        let selectors = places.filter_map(|place| self.offers.place(place));
        selectors.take(most).collect()
    }
}

/// The first place at a path, whatever stands there.
fn first_place(path: &Path) -> Option<usize> {
    [path.scalar, path.array, path.object]
        .into_iter()
        .flatten()
        .min()
}
