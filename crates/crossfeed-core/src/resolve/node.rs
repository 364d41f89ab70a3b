//! Arguments that become bytes: places in documents and what selectors built, opened only where
//! something is put into them.
//!
//! What comes in: views of what a model wrote and of what references mean. What goes out: the same
//! with values in their places, ready to be [written](super::splice). Nothing is copied, and every
//! number keeps its digits. Deliberately not here: what is put where.

use super::tree::{Documents, Inside, Tree, index_of};
use crossfeed_jmespath::{Kind, Unrepresentable, ValueSize, View};
use crossfeed_json::Key;
use crossfeed_wire::{Pointer, reference::DEFAULT_KEYS};
use serde_json::Value;
use std::{borrow::Cow, collections::HashMap};

/// A value of arguments.
#[derive(Clone, Debug)]
pub(crate) enum Node<'a> {
    /// As it came, or as a selector built it.
    View(View<'a>),
    /// A list that was opened.
    List(Vec<Node<'a>>),
    /// An object that was opened.
    Object(Members<'a>),
}

/// The key of a member: as its source spells it, or a text.
#[derive(Clone, Debug)]
pub(crate) enum Name<'a> {
    Source(Key<'a>),
    Text(String),
}

impl Name<'_> {
    pub(crate) fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Source(key) => key.text(),
            Self::Text(text) => Cow::Borrowed(text),
        }
    }

    fn is(&self, key: &str) -> bool {
        match self {
            // No spelling is shorter than its text.
            Self::Source(source) => {
                source.raw().len() >= key.len() && *source.bytes() == *key.as_bytes()
            }
            Self::Text(text) => text == key,
        }
    }
}

/// Members by their keys, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Members<'a> {
    /// Those that were removed are empty.
    list: Vec<(Name<'a>, Option<Node<'a>>)>,
    /// Where each key stands, once somebody looked among many.
    index: HashMap<String, usize>,
}

/// So many members are searched one by one.
const FEW: usize = 8;

impl<'a> Members<'a> {
    fn of(list: Vec<(Name<'a>, Option<Node<'a>>)>) -> Self {
        let index = HashMap::new();
        Self { list, index }
    }

    /// The members in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Name<'a>, &Node<'a>)> {
        let members = self.list.iter();
        members.filter_map(|(name, node)| Some((name, node.as_ref()?)))
    }

    fn place(&mut self, key: &str) -> Option<usize> {
        let is_there = |(name, node): &(Name<'a>, Option<Node<'a>>)| node.is_some() && name.is(key);
        if self.list.len() <= FEW {
            return self.list.iter().position(is_there);
        }
        if self.index.is_empty() {
            let places = self.list.iter().enumerate();
            let places = places.filter(|(_, (_, node))| node.is_some());
            self.index = places
                .map(|(place, (name, _))| (name.text().into_owned(), place))
                .collect();
        }
        self.index.get(key).copied()
    }

    fn get_mut(&mut self, key: &str) -> Option<&mut Node<'a>> {
        let place = self.place(key)?;
        self.list.get_mut(place)?.1.as_mut()
    }

    fn get_or_add(&mut self, key: &str) -> Option<&mut Node<'a>> {
        if self.place(key).is_none() {
            let name = Name::Text(key.to_owned());
            self.list.push((name, Some(Node::null())));
            if !self.index.is_empty() {
                self.index.insert(key.to_owned(), self.list.len() - 1);
            }
        }
        self.get_mut(key)
    }

    fn remove(&mut self, key: &str) {
        if let Some(place) = self.place(key)
            && let Some((_, node)) = self.list.get_mut(place)
        {
            *node = None;
            self.index.remove(key);
        }
    }
}

/// What is within a view, one level of it.
pub(crate) fn opened<'a>(view: &View<'a>) -> Option<Node<'a>> {
    Some(match (view.as_cursor(), view.kind()) {
        (_, Kind::Array) => Node::List(view.items().map(Node::View).collect()),
        (Some(cursor), Kind::Object) => {
            let members = cursor.members();
            let member = |(key, value)| (Name::Source(key), Some(Node::View(View::from(value))));
            Node::Object(Members::of(members.map(member).collect()))
        }
        (None, Kind::Object) => {
            let members = view.members();
            let member = |(key, value): (Cow<'_, str>, _)| {
                (Name::Text(key.into_owned()), Some(Node::View(value)))
            };
            Node::Object(Members::of(members.map(member).collect()))
        }
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

    fn of_view(view: &View<'a>, limit: usize) -> Result<(Self, ValueSize), Unrepresentable> {
        let size = view.size(limit)?;
        Ok((Self::View(view.clone()), size))
    }

    fn of_written(value: &Value, written: Option<View<'a>>, documents: &'a Documents) -> Self {
        // The bytes are taken only if they are the value that was read.
        let written = written.filter(|written| {
            let cursor = written.as_cursor();
            cursor.is_some_and(|cursor| cursor.to_nearest_value() == *value)
        });
        Self::View(written.unwrap_or_else(|| documents.view(value.to_string())))
    }

    fn written_default(&mut self, at: &Pointer) -> Option<View<'a>> {
        let Self::View(arguments) = self else {
            return None;
        };
        let tokens = at.tokens();
        let found = tokens.fold(arguments.as_cursor(), |cursor, token| {
            let cursor = cursor?;
            match cursor.kind() {
                Kind::Array => cursor.at(index_of(&token)?),
                _ => cursor.get(&token),
            }
        });
        let found = found?;
        let mut defaults = DEFAULT_KEYS.iter().filter_map(|key| found.get(key));
        defaults
            .find(|default| default.kind() != Kind::Null)
            .map(View::from)
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
        match self.open() {
            Self::List(items) => Inside::Items(items.len()),
            Self::Object(_) => Inside::Members,
            Self::View(_) => Inside::Nothing,
        }
    }

    fn make_object(&mut self) {
        *self = Self::Object(Members::default());
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
                if index == items.len() {
                    items.push(Self::null());
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
