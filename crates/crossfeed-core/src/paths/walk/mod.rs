//! One walk over a value, in which all items of a list share one path. It finds **paths**, written with `[]`
//! for any item, and the first **places** on each path, and notes which parts it skipped.
//!
//! # Invariants
//!
//! - A value of at most [`WHOLE_VALUES`] values is examined as a whole, with the JSON in its strings. Of a
//!   larger one, a part of bounded size is examined.
//! - Places are found level by level, so the first place of a path is the first in document order of those
//!   that were examined.

mod found;

use super::SELECTOR_CHARS;
use crossfeed_jmespath::{Arena, Budget, Cost, Kind, View};
use crossfeed_json::Cursor;
use std::{
    borrow::Cow,
    collections::{HashMap, hash_map::Entry},
};

/// The most values that are examined as a whole; as many again for JSON in strings.
const WHOLE_VALUES: usize = 10_000;
/// How many values of a larger value are examined.
const PART_VALUES: usize = 6000;
/// The most values of a list that is examined as a whole within a larger value.
const SMALL_LIST: usize = 64;
/// How many of the first items of a list are examined, by the number of lists around it.
const FIRST_ITEMS: [usize; 3] = [8, 4, 3];
/// In an outermost list, one item per octave is examined, up to this one.
const FAR_ITEM: usize = 1024;
/// In how many lists such items are examined: reaching one takes a walk over the items before it.
const FAR_LISTS: usize = 16;
/// Bytes of a written key beyond which it has more than [`SELECTOR_CHARS`]: six for each of up to four units.
const MAX_KEY_BYTES: usize = 6 * 4 * SELECTOR_CHARS;
/// How many of the first keys of an object are examined.
const FIRST_KEYS: usize = 500;
/// The same for an object in a list.
const FIRST_KEYS_IN_LISTS: usize = 100;
/// The depth of a walk in steps: as deep as data nests.
const DEPTH: usize = crossfeed_json::MAX_DEPTH;
/// The most strings that are opened.
const OPENED: usize = 1000;
/// The most bytes of strings that are opened: parsing them costs as much as parsing the document.
const OPENED_BYTES: usize = 64 << 20;

/// A step of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Step {
    /// The member of this name, by its number.
    Name(usize),
    /// Any item of a list.
    Item,
}

/// A path; all items of a list share one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Path {
    /// The path that it continues; the root's is itself.
    pub(crate) parent: usize,
    /// The last step; `None` for the root.
    pub(crate) step: Option<Step>,
    /// Number of steps.
    pub(crate) depth: usize,
    /// The place in document order.
    pub(crate) order: usize,
    /// The paths that continue it by one step, as they were found.
    pub(crate) children: Vec<usize>,
    /// The first string, number or boolean here, or else the first null.
    pub(crate) scalar: Option<usize>,
    /// The first list here, with items if there is one.
    pub(crate) array: Option<usize>,
    /// The first object here, with members if there is one.
    pub(crate) object: Option<usize>,
    /// Whether only a part of a list or object here was examined.
    is_cut: bool,
}

impl Path {
    /// The first place here of a value of this kind.
    fn first_mut(&mut self, kind: Kind) -> &mut Option<usize> {
        match kind {
            Kind::Array => &mut self.array,
            Kind::Object => &mut self.object,
            _ => &mut self.scalar,
        }
    }
}

/// A place in the value: one value that the walk found.
#[derive(Clone, Debug)]
pub(crate) struct Place<'a> {
    /// The place of the list or object around it; the root's is itself.
    pub(crate) parent: usize,
    pub(crate) path: usize,
    /// The index of the value in the list around it; 0 for members.
    index: usize,
    pub(crate) view: View<'a>,
    /// Number of lists around it.
    pub(crate) lists: usize,
    /// Whether its whole content is examined.
    whole: bool,
}

/// The name of members.
#[derive(Clone, Debug)]
pub(crate) struct Name {
    pub(crate) text: Box<str>,
    /// How often a member of this name was seen.
    pub(crate) count: usize,
    /// The paths that end with it, as they were found.
    pub(crate) paths: Vec<usize>,
}

/// A list or object of which only a part was examined.
#[derive(Clone, Copy, Debug)]
struct PartialContainer {
    place: usize,
    is_list: bool,
    looked: usize,
    of: usize,
}

/// The paths, places and names found in a value.
#[derive(Debug, Default)]
pub(crate) struct Walk<'a> {
    pub(crate) paths: Vec<Path>,
    pub(crate) places: Vec<Place<'a>>,
    pub(crate) names: Vec<Name>,
    by_name: HashMap<Box<str>, usize>,
    by_step: HashMap<(usize, Step), usize>,
    /// The first cut at each path.
    cuts: Vec<PartialContainer>,
    long_keys: usize,
    unopened: usize,
    too_deep: bool,
    stopped: bool,
    /// How many members and items were examined.
    seen: usize,
    whole_left: usize,
    part_left: usize,
    far_lists_left: usize,
    opens_left: usize,
    bytes_left: usize,
}

impl<'a> Walk<'a> {
    /// Walks over a view, until the budget is spent.
    pub(crate) fn new(view: &View<'a>, arena: &'a Arena, budget: &Budget) -> Self {
        let mut walk = Self {
            whole_left: WHOLE_VALUES,
            part_left: PART_VALUES,
            far_lists_left: FAR_LISTS,
            opens_left: OPENED,
            bytes_left: OPENED_BYTES,
            ..Self::default()
        };
        walk.paths.push(Path::default());
        let whole = walk.take_whole(view);
        walk.add(Place {
            parent: 0,
            path: 0,
            index: 0,
            view: view.clone(),
            lists: 0,
            whole,
        });
        let mut next = 0;
        while next < walk.places.len() && !walk.stopped {
            walk.stopped = walk.enter(next, arena, budget).is_none();
            next += 1;
        }
        walk.number();
        walk
    }

    /// Whether a value is small enough to be examined as a whole, after those that were; takes its room if
    /// so.
    fn take_whole(&mut self, view: &View<'a>) -> bool {
        let left = self.whole_left.checked_sub(count(view, self.whole_left));
        self.whole_left = left.unwrap_or(self.whole_left);
        left.is_some()
    }

    /// Examines the content of a place; `None` once the budget is spent.
    fn enter(&mut self, at: usize, arena: &'a Arena, budget: &Budget) -> Option<()> {
        let mut place = self.places[at].clone();
        match place.view.kind() {
            Kind::String => match self.open(&place.view, arena, budget)? {
                None => return Some(()),
                Some(opened) => {
                    place.whole = self.take_whole(&opened);
                    place.view = opened;
                }
            },
            Kind::Array | Kind::Object => {}
            _ => return Some(()),
        }
        let len = place.view.len().unwrap_or_default();
        if len > 0 && self.paths[place.path].depth >= DEPTH {
            self.too_deep = true;
            return Some(());
        }
        match place.view.kind() {
            Kind::Array => self.enter_list(at, &place, len, budget),
            _ => self.enter_object(at, &place, len, budget),
        }
    }

    fn enter_object(
        &mut self,
        at: usize,
        place: &Place<'a>,
        len: usize,
        budget: &Budget,
    ) -> Option<()> {
        let most = match (place.whole, place.lists) {
            (true, _) => len,
            (false, 0) => FIRST_KEYS,
            (false, _) => FIRST_KEYS_IN_LISTS,
        };
        if len > most {
            self.cut(at, place.path, false, most, len);
        }
        let cursor = place.view.as_cursor();
        let written = cursor.into_iter().flat_map(Cursor::members);
        let written = written.map(|(key, value)| {
            // A key is not decoded to find out that it is too long.
            let is_long = key.raw().len() > MAX_KEY_BYTES;
            ((!is_long).then(|| key.text()), View::from(value))
        });
        let built = Some(&place.view).filter(|_| cursor.is_none()).into_iter();
        let members = built.flat_map(View::members);
        let built = members.map(|(key, value)| (Some(key), value));
        for (key, value) in written.chain(built).take(most) {
            self.spend(place.whole, budget)?;
            let is_short = |key: &Cow<'_, str>| key.chars().nth(SELECTOR_CHARS).is_none();
            let Some(key) = key.filter(is_short) else {
                self.long_keys += 1;
                continue;
            };
            let name = self.name(key);
            let path = self.path(place.path, Step::Name(name));
            self.add(Place {
                parent: at,
                path,
                index: 0,
                view: value,
                ..*place
            });
        }
        Some(())
    }

    fn enter_list(
        &mut self,
        at: usize,
        place: &Place<'a>,
        len: usize,
        budget: &Budget,
    ) -> Option<()> {
        if len == 0 {
            return Some(());
        }
        let path = self.path(place.path, Step::Item);
        let add = |walk: &mut Self, index: usize, value: View<'a>| {
            walk.spend(place.whole, budget)?;
            walk.add(Place {
                parent: at,
                path,
                index,
                view: value,
                lists: place.lists + 1,
                ..*place
            });
            Some(())
        };
        if place.whole || count(&place.view, SMALL_LIST) <= SMALL_LIST {
            for (index, value) in place.view.items().enumerate() {
                add(self, index, value)?;
            }
            return Some(());
        }
        let first = FIRST_ITEMS[place.lists.min(FIRST_ITEMS.len() - 1)];
        let is_far = place.lists == 0 && self.far_lists_left > 0;
        if is_far {
            self.far_lists_left -= 1;
        }
        let reach = if is_far { FAR_ITEM + 1 } else { first };
        let mut looked = 0;
        for (index, value) in place.view.items().enumerate().take(reach.min(len - 1)) {
            if index < first || index.is_power_of_two() {
                add(self, index, value)?;
                looked += 1;
            }
        }
        // The last item is reached without a walk.
        if let Some(value) = place.view.at(len - 1) {
            add(self, len - 1, value)?;
            looked += 1;
        }
        if looked < len {
            self.cut(at, place.path, true, looked, len);
        }
        Some(())
    }

    /// Pays for examining one value.
    fn spend(&mut self, whole: bool, budget: &Budget) -> Option<()> {
        if !whole {
            self.part_left = self.part_left.checked_sub(1)?;
        }
        budget.spend(1).ok()?;
        self.seen += 1;
        Some(())
    }

    /// The JSON in a string, if it holds any; the outer `None` once the budget is spent.
    fn open(
        &mut self,
        view: &View<'a>,
        arena: &'a Arena,
        budget: &Budget,
    ) -> Option<Option<View<'a>>> {
        let Some(cursor) = view.as_cursor().filter(|cursor| may_open(cursor.raw())) else {
            return Some(None);
        };
        let bytes = cursor.raw().len();
        if self.opens_left == 0 || bytes > self.bytes_left {
            self.unopened += 1;
            return Some(None);
        }
        self.opens_left -= 1;
        self.bytes_left -= bytes;
        match arena.open(cursor, budget) {
            Ok(opened) => Some(opened.map(View::from)),
            // Without memory for this string the walk goes on with the rest.
            Err(Cost::Memory) => {
                self.unopened += 1;
                Some(None)
            }
            Err(_) => None,
        }
    }

    fn cut(&mut self, place: usize, path: usize, is_list: bool, looked: usize, of: usize) {
        if !std::mem::replace(&mut self.paths[path].is_cut, true) {
            self.cuts.push(PartialContainer {
                place,
                is_list,
                looked,
                of,
            });
        }
    }

    fn name(&mut self, key: Cow<'_, str>) -> usize {
        let at = match self.by_name.get(&*key) {
            Some(at) => *at,
            None => {
                let text: Box<str> = key.into();
                self.by_name.insert(text.clone(), self.names.len());
                self.names.push(Name {
                    text,
                    count: 0,
                    paths: Vec::new(),
                });
                self.names.len() - 1
            }
        };
        self.names[at].count += 1;
        at
    }

    fn path(&mut self, parent: usize, step: Step) -> usize {
        let at = self.paths.len();
        match self.by_step.entry((parent, step)) {
            Entry::Occupied(known) => return *known.get(),
            Entry::Vacant(free) => free.insert(at),
        };
        self.paths[parent].children.push(at);
        if let Step::Name(name) = step {
            self.names[name].paths.push(at);
        }
        self.paths.push(Path {
            parent,
            step: Some(step),
            depth: self.paths[parent].depth + 1,
            ..Path::default()
        });
        at
    }

    /// Keeps a place if it is the first of its kind at its path, or may have content.
    fn add(&mut self, place: Place<'a>) {
        let at = self.places.len();
        let kind = place.view.kind();
        let first = self.paths[place.path].first_mut(kind);
        // A value with content replaces an empty one.
        let is_nothing = |view: &View<'_>| view.is_null() || view.is_empty();
        let is_first = first
            .is_none_or(|known| is_nothing(&self.places[known].view) && !is_nothing(&place.view));
        if is_first {
            *first = Some(at);
        }
        let may_hold = match kind {
            Kind::Array | Kind::Object => true,
            Kind::String => place.view.as_cursor().is_some_and(|c| may_open(c.raw())),
            _ => false,
        };
        if is_first || may_hold {
            self.places.push(place);
        }
    }

    /// Numbers the paths in document order, each before those that continue it.
    fn number(&mut self) {
        let mut open = vec![0];
        let mut order = 0;
        while let Some(at) = open.pop() {
            let path = &mut self.paths[at];
            path.order = order;
            order += 1;
            open.extend(path.children.iter().rev());
        }
    }
}

/// Whether a string may be the text of an object or list, judged by how it begins.
fn may_open(raw: &[u8]) -> bool {
    const GLANCE: usize = 64;
    let blank = |byte: &u8| matches!(byte, b' ' | b'\\' | b'n' | b'r' | b't');
    let inside = raw.get(1..).unwrap_or_default();
    let begin = inside.get(..GLANCE).unwrap_or(inside);
    match begin.iter().find(|byte| !blank(byte)) {
        Some(byte) => matches!(byte, b'{' | b'['),
        None => inside.len() > GLANCE,
    }
}

/// The number of values in a view, itself included; `most` + 1 if there are more.
fn count(view: &View<'_>, most: usize) -> usize {
    if let Some(cursor) = view.as_cursor() {
        return cursor.value_count().min(most.saturating_add(1));
    }
    let mut counted = 1;
    let inside = view.items().chain(view.members().map(|(_, value)| value));
    for value in inside {
        if counted > most {
            break;
        }
        counted += count(&value, most - counted);
    }
    counted.min(most.saturating_add(1))
}
