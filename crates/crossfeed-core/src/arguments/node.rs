//! Arguments that become bytes: views of documents and of values that selectors built. A list or object is
//! opened only to put something into it.
//!
//! Nothing is copied, and every number keeps its digits.

use super::{
    splice::spliced,
    tree::{Documents, Inside, Tree, index_of},
};
use bytes::Bytes;
use crossfeed_jmespath::{Cost, Kind, Memory, Unrepresentable, ValueSize, View};
use crossfeed_json::{Cursor, Key};
use crossfeed_wire::{Pointer, reference::DEFAULT_KEYS};
use serde_json::Value;
use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap, hash_map::RandomState},
    hash::BuildHasher as _,
    sync::Arc,
};

/// A value of arguments.
#[derive(Clone)]
pub(crate) enum Node<'a> {
    /// Unchanged: a place in a document, or a value that a selector built.
    View(View<'a>),
    /// A list that was opened.
    List(Items<'a>),
    /// An object that was opened.
    Object(Members<'a>),
}

/// An item or member of an opened list or object.
pub(crate) enum Child<'n, 'a> {
    /// Unchanged.
    Original(View<'a>),
    /// Replaced, or changed within.
    Changed(&'n Node<'a>),
}

/// The key of a member: as its source spells it, or a text.
pub(crate) enum Name<'n, 'a> {
    Source(Key<'a>),
    Text(Cow<'n, str>),
}

impl<'n, 'a: 'n> Name<'n, 'a> {
    pub(crate) fn into_text(self) -> Cow<'n, str> {
        match self {
            Self::Source(key) => key.text(),
            Self::Text(text) => text,
        }
    }
}

/// The most items that are walked over to find one.
const STRIDE: usize = 1024;

/// The items of a list: the original ones, their replacements, and items added at the end.
#[derive(Clone)]
pub(crate) struct Items<'a> {
    came: View<'a>,
    changed: BTreeMap<usize, Node<'a>>,
    len: usize,
    /// The position of each [`STRIDE`]th item of a long original list, as far as it was walked.
    marks: Vec<crossfeed_json::Items<'a>>,
}

impl<'a> Items<'a> {
    fn new(came: View<'a>) -> Self {
        Self {
            len: came.len().unwrap_or_default(),
            came,
            changed: BTreeMap::new(),
            marks: Vec::new(),
        }
    }

    /// The list as it was before it was opened.
    pub(crate) fn original(&self) -> &View<'a> {
        &self.came
    }

    /// The items in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Child<'_, 'a>> {
        let count = self.came.len().unwrap_or_default();
        let mut changed = self.changed.range(..count).peekable();
        let came = self.came.items().enumerate().map(move |(index, item)| {
            match changed.next_if(|(place, _)| **place == index) {
                Some((_, node)) => Child::Changed(node),
                None => Child::Original(item),
            }
        });
        let added = self.changed.range(count..);
        came.chain(added.map(|(_, node)| Child::Changed(node)))
    }

    fn get_mut(&mut self, index: usize) -> Option<&mut Node<'a>> {
        if !self.changed.contains_key(&index) {
            let came = self.find(index)?;
            self.changed.insert(index, Node::View(came));
        }
        self.changed.get_mut(&index)
    }

    fn push_null(&mut self) {
        self.changed.insert(self.len, Node::null());
        self.len += 1;
    }

    fn find(&mut self, index: usize) -> Option<View<'a>> {
        let Some(list) = self.came.as_cursor().filter(|_| index >= STRIDE) else {
            return self.came.at(index);
        };
        if self.marks.is_empty() {
            self.marks.push(list.items());
        }
        while self.marks.len() <= index / STRIDE {
            let mut next = self.marks.last()?.clone();
            next.nth(STRIDE - 1)?;
            self.marks.push(next);
        }
        let mut items = self.marks.get(index / STRIDE)?.clone();
        items.nth(index % STRIDE).map(View::from)
    }
}

/// Members by their keys, in order: the original ones, their replacements, and added members. Removed members
/// are `None`.
#[derive(Clone, Default)]
pub(crate) struct Members<'a> {
    came: Option<View<'a>>,
    /// By their places.
    changed: HashMap<u32, Option<Node<'a>>>,
    added: Vec<(String, Option<Node<'a>>)>,
    /// Hashes of the original keys and their places, once a key was looked up among many members.
    index: Option<Index>,
    /// The position of each added key, once there are many.
    index_added: HashMap<String, usize>,
}

#[derive(Clone)]
struct Index {
    state: RandomState,
    hashes: Vec<(u32, u32)>,
}

impl Index {
    fn new(object: &View<'_>) -> Self {
        let state = RandomState::new();
        // Keys that read as the same text are one.
        let hash = |name: Name<'_, '_>| hash_of(&state, &name.into_text());
        let members = numbered(object).map(|(name, place, _)| (hash(name), place));
        let mut hashes: Vec<_> = members.collect();
        hashes.sort_unstable();
        Self { state, hashes }
    }

    /// The places of the members that may have this key.
    fn places(&self, key: &str) -> impl Iterator<Item = u32> + '_ {
        let hash = hash_of(&self.state, key);
        let from = self.hashes.partition_point(|(known, _)| *known < hash);
        let rest = self.hashes.get(from..).unwrap_or_default().iter();
        rest.take_while(move |(known, _)| *known == hash)
            .map(|(_, place)| *place)
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a part of the hash is enough"
)]
fn hash_of(state: &RandomState, key: &str) -> u32 {
    state.hash_one(key) as u32
}

/// The members of an object with their places: the number in the document, or that among the members
/// that a selector built.
fn numbered<'n, 'a>(object: &'n View<'a>) -> impl Iterator<Item = (Name<'n, 'a>, u32, View<'a>)> {
    let cursor = object.as_cursor();
    let written = cursor.into_iter().flat_map(Cursor::members);
    let written =
        written.map(|(key, value)| (Name::Source(key), value.ordinal(), View::from(value)));
    let built = Some(object).filter(|_| cursor.is_none()).into_iter();
    let built = built.flat_map(View::members).zip(0..);
    written.chain(built.map(|((key, value), place)| (Name::Text(key), place, value)))
}

/// Up to this many members are searched one by one.
const FEW: usize = 8;

impl<'a> Members<'a> {
    fn new(came: View<'a>) -> Self {
        Self {
            came: Some(came),
            ..Self::default()
        }
    }

    /// The object as it was before it was opened.
    pub(crate) fn original(&self) -> Option<&View<'a>> {
        self.came.as_ref()
    }

    /// The members in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Name<'_, 'a>, Child<'_, 'a>)> {
        let came = self.came.iter().flat_map(numbered);
        let came = came.filter_map(|(name, place, value)| {
            let child = match self.changed.get(&place) {
                None => Child::Original(value),
                Some(changed) => Child::Changed(changed.as_ref()?),
            };
            Some((name, child))
        });
        let added = self.added.iter().filter_map(|(name, node)| {
            Some((Name::Text(name.into()), Child::Changed(node.as_ref()?)))
        });
        came.chain(added)
    }

    /// The original member `key`, and its place.
    fn find(&mut self, key: &str) -> Option<(u32, View<'a>)> {
        let came = self.came.as_ref()?;
        if came.len().unwrap_or_default() <= FEW {
            let mut members = numbered(came);
            let found = members.find_map(|(name, place, member)| {
                (name.into_text() == key).then_some((place, member))
            });
            return found;
        }
        let index = self.index.get_or_insert_with(|| Index::new(came));
        let mut places = index.places(key);
        places.find_map(|place| {
            let member = match came.as_cursor() {
                Some(cursor) => {
                    let member = cursor.by_ordinal(place)?;
                    member.has_key(key).then(|| member.into())
                }
                None => {
                    let (name, member) = came.built_member(usize::try_from(place).ok()?)?;
                    (name == key).then_some(member)
                }
            };
            Some((place, member?))
        })
    }

    fn node_mut(&mut self, key: &str) -> Option<&mut Option<Node<'a>>> {
        if let Some((place, came)) = self.find(key)
            && self.changed.get(&place).is_none_or(Option::is_some)
        {
            let changed = self.changed.entry(place);
            return Some(changed.or_insert_with(|| Some(Node::View(came))));
        }
        if self.index_added.is_empty() && self.added.len() > FEW {
            let places = self.added.iter().enumerate();
            let places = places.filter(|(_, (_, node))| node.is_some());
            self.index_added = places
                .map(|(place, (name, _))| (name.clone(), place))
                .collect();
        }
        let mut added = self.added.iter();
        let place = match self.added.len() {
            0..=FEW => added.position(|(name, node)| node.is_some() && name == key),
            _ => self.index_added.get(key).copied(),
        };
        self.added.get_mut(place?).map(|(_, node)| node)
    }

    fn get_mut(&mut self, key: &str) -> Option<&mut Node<'a>> {
        self.node_mut(key)?.as_mut()
    }

    fn get_or_add(&mut self, key: &str) -> Option<&mut Node<'a>> {
        if self.node_mut(key).is_none() {
            self.added.push((key.to_owned(), Some(Node::null())));
            if !self.index_added.is_empty() {
                self.index_added
                    .insert(key.to_owned(), self.added.len() - 1);
            }
        }
        self.get_mut(key)
    }

    fn remove(&mut self, key: &str) {
        if let Some(node) = self.node_mut(key) {
            *node = None;
            self.index_added.remove(key);
        }
    }
}

/// A list or object, opened by one level; `None` for a scalar.
pub(crate) fn opened<'a>(view: &View<'a>) -> Option<Node<'a>> {
    Some(match view.kind() {
        Kind::Array => Node::List(Items::new(view.clone())),
        Kind::Object => Node::Object(Members::new(view.clone())),
        _ => return None,
    })
}

impl Node<'_> {
    /// Opens a list or object.
    fn open(&mut self) -> &mut Self {
        if let Self::View(view) = self
            && let Some(open) = opened(view)
        {
            *self = open;
        }
        self
    }
}

impl<'a> Tree<'a> for Node<'a> {
    fn null() -> Self {
        Self::View(View::null())
    }

    fn from_view(view: &View<'a>, limit: usize) -> Result<(Self, ValueSize), Unrepresentable> {
        let size = view.size(limit)?;
        Ok((Self::View(view.clone()), size))
    }

    fn text(text: String) -> Self {
        Self::View(View::text(text))
    }

    fn default_of(&self, default: &Value, ordinal: Option<u32>, documents: &'a Documents) -> Self {
        // Nothing was replaced yet, so the reference is where it was written.
        let arguments = match self {
            Self::View(view) => Some(view),
            Self::List(items) => Some(&items.came),
            Self::Object(members) => members.came.as_ref(),
        };
        let written = || {
            let reference = arguments?.as_cursor()?.by_ordinal(ordinal?)?;
            let mut defaults = DEFAULT_KEYS.iter().filter_map(|key| reference.get(key));
            defaults.find(|default| default.kind() != Kind::Null)
        };
        // The bytes are taken only if they are the value that was read.
        let written = written().filter(|written| written.to_nearest_value() == *default);
        let built = || documents.view(default.to_string());
        Self::View(written.map_or_else(built, View::from))
    }

    fn to_json(&self, memory: Option<&Arc<dyn Memory>>) -> Result<Bytes, Cost> {
        Ok(spliced(self, memory)?.into_bytes())
    }

    fn as_view(&self) -> Option<&View<'a>> {
        match self {
            Self::View(view) => Some(view),
            Self::List(..) | Self::Object(..) => None,
        }
    }

    fn is_null(&self) -> bool {
        matches!(self, Self::View(view) if view.is_null())
    }

    fn at_mut(&mut self, at: &Pointer) -> Option<&mut Self> {
        let mut node = self;
        for token in at.tokens() {
            node = match node.open() {
                Self::List(items) => items.get_mut(index_of(&token)?)?,
                Self::Object(members) => members.get_mut(&token)?,
                Self::View(_) => return None,
            };
        }
        Some(node)
    }

    fn inside(&mut self) -> Inside {
        if self.is_null() {
            *self = Self::Object(Members::default());
        }
        match self.open() {
            Self::List(items) => Inside::Items(items.len),
            Self::Object(_) => Inside::Members,
            Self::View(_) => Inside::Nothing,
        }
    }

    fn member(&mut self, key: &str) -> Option<&mut Self> {
        match self.open() {
            Self::Object(members) => members.get_or_add(key),
            _ => None,
        }
    }

    fn item(&mut self, index: usize) -> Option<&mut Self> {
        match self.open() {
            Self::List(items) => {
                if index == items.len {
                    items.push_null();
                }
                items.get_mut(index)
            }
            _ => None,
        }
    }

    fn remove(&mut self, key: &str) {
        if let Self::Object(members) = self.open() {
            members.remove(key);
        }
    }
}
