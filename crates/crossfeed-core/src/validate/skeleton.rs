//! Builds what a schema sees of arguments. What references brought in is charged before it is built.
//!
//! Of what references brought in, it is charged before it is built.

use super::sight::{NOTHING, ROOT, Seen, Sight, State, WHOLE};
use crate::arguments::{Child, Node, VALUE_BYTES};
use crossfeed_jmespath::{Cost, Reservation, Unrepresentable, View};
use crossfeed_json::{Cursor, Kind};
use serde_json::{Map, Value};

/// The place of a value in a list.
const ITEM_BYTES: usize = size_of::<Value>();
/// So many names are looked for one by one in an object that may be large.
pub(super) const FEW_NAMES: usize = 16;
/// Texts of at most this many bytes stand for themselves.
const SHORT_TEXT: usize = 64;

/// Why no skeleton can be built.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unbuilt {
    /// The schema sees a value that is not to be held.
    #[error(transparent)]
    Unrepresentable(#[from] Unrepresentable),
    /// There is no memory left.
    #[error(transparent)]
    Cost(#[from] Cost),
}

impl Sight {
    /// What the schema sees of arguments. What references brought in is charged to `memory`.
    pub(super) fn skeleton(
        &self,
        arguments: &Node<'_>,
        memory: Option<&Reservation>,
    ) -> Result<Value, Unbuilt> {
        let sight = self;
        Builder { sight, memory }.node(arguments, ROOT)
    }
}

/// Builds a skeleton. Its recursion is bounded by the depth of the arguments.
#[derive(Clone, Copy)]
struct Builder<'s> {
    sight: &'s Sight,
    /// What is built is charged to it.
    memory: Option<&'s Reservation>,
}

impl Builder<'_> {
    fn node(self, node: &Node<'_>, number: usize) -> Result<Value, Unbuilt> {
        let Some(state) = self.state(number) else {
            return Ok(Value::Null);
        };
        match node {
            Node::View(view) => self.view(view, number),
            Node::List(items) => self.items(items.iter(), state, &|item, at| self.child(&item, at)),
            Node::Object(members) => {
                let members = members.iter();
                let members = members.map(|(name, value)| (name.into_text(), value));
                self.members(members, state, &|value, at| self.child(&value, at))
            }
        }
    }

    fn child(self, child: &Child<'_, '_>, number: usize) -> Result<Value, Unbuilt> {
        match child {
            // The room for written arguments was taken before.
            Child::Came(view) => Self {
                memory: None,
                ..self
            }
            .view(view, number),
            Child::Changed(node) => self.node(node, number),
        }
    }

    fn view(self, view: &View<'_>, number: usize) -> Result<Value, Unbuilt> {
        let Some(state) = self.state(number) else {
            return Ok(Value::Null);
        };
        if state.whole {
            return self.whole(view);
        }
        match view.kind() {
            Kind::Array => self.items(view.items(), state, &|item, at| self.view(&item, at)),
            Kind::Object => match (view.as_cursor(), &state.members) {
                (
                    Some(cursor),
                    Some(Seen {
                        named,
                        others: None,
                    }),
                ) if named.len() <= FEW_NAMES => {
                    let mut members = Map::new();
                    for (name, at) in named {
                        if let Some(value) = cursor.get(name) {
                            self.reserve(VALUE_BYTES + name.len())?;
                            members.insert((**name).to_owned(), self.view(&value.into(), *at)?);
                        }
                    }
                    Ok(members.into())
                }
                (Some(cursor), _) => {
                    let members = cursor.members();
                    let members = members.map(|(key, value)| (key.text(), View::from(value)));
                    self.members(members, state, &|value, at| self.view(&value, at))
                }
                (None, _) => {
                    self.members(view.members(), state, &|value, at| self.view(&value, at))
                }
            },
            Kind::Number if !state.number => Ok(Value::Null),
            Kind::String if !state.text && is_long(view) => Ok(Value::String(String::new())),
            _ => self.whole(view),
        }
    }

    fn whole(self, view: &View<'_>) -> Result<Value, Unbuilt> {
        if self.memory.is_some() {
            self.reserve(match view.as_cursor() {
                Some(cursor) => built_bytes(cursor),
                None => {
                    let size = view.size(usize::MAX).map_err(Unrepresentable::from)?;
                    size.values.saturating_mul(VALUE_BYTES) + size.json
                }
            })?;
        }
        Ok(view.to_sized_value(usize::MAX)?.0)
    }

    fn items<T>(
        self,
        items: impl Iterator<Item = T>,
        state: &State,
        inside: &dyn Fn(T, usize) -> Result<Value, Unbuilt>,
    ) -> Result<Value, Unbuilt> {
        let Seen { named, others } = match &state.items {
            Some(seen) => seen,
            None if state.whole => &Seen {
                named: Vec::new(),
                others: Some(WHOLE),
            },
            None => return Ok(Value::Array(Vec::new())),
        };
        let at = |place: usize| named.get(place).copied().or(*others);
        let items = items
            .enumerate()
            .map_while(|(place, item)| Some((item, at(place)?)));
        let mut list = Vec::new();
        for (item, at) in items {
            // While it grows, it may be there twice, and half empty.
            self.reserve(3 * ITEM_BYTES)?;
            list.push(inside(item, at)?);
        }
        Ok(Value::Array(list))
    }

    fn members<T, K: AsRef<str> + Into<String>>(
        self,
        members: impl Iterator<Item = (K, T)>,
        state: &State,
        inside: &dyn Fn(T, usize) -> Result<Value, Unbuilt>,
    ) -> Result<Value, Unbuilt> {
        let seen = |key: &str| match (&state.members, state.whole) {
            (_, true) => Some(WHOLE),
            (Some(seen), _) => seen.named.get(key).copied().or(seen.others),
            (None, _) => None,
        };
        let mut skeleton = Map::new();
        for (key, value) in members {
            if let Some(at) = seen(key.as_ref()) {
                self.reserve(VALUE_BYTES + key.as_ref().len())?;
                skeleton.insert(key.into(), inside(value, at)?);
            }
        }
        Ok(skeleton.into())
    }

    /// What is seen at a place; none where nothing is.
    fn state(&self, number: usize) -> Option<&State> {
        self.sight.state(number).filter(|_| number != NOTHING)
    }

    fn reserve(self, bytes: usize) -> Result<(), Cost> {
        self.memory.map_or(Ok(()), |memory| memory.reserve(bytes))
    }
}

/// What a value of a document takes where it is built with all that is in it, beside its own place: its texts,
/// and the places of what it holds.
pub(crate) fn built_bytes(value: Cursor<'_>) -> usize {
    let inside = |value: Cursor<'_>| value.items().map(built_bytes).sum::<usize>();
    let length = value.len().unwrap_or_default();
    match value.kind() {
        Kind::Array => length * ITEM_BYTES + inside(value),
        // Keys, too, are texts.
        Kind::Object => length * VALUE_BYTES + inside(value) + key_bytes(value),
        Kind::String => value.raw().len(),
        _ => 0,
    }
}

fn key_bytes(object: Cursor<'_>) -> usize {
    let keys = object.members().map(|(key, _)| key.raw().len());
    keys.sum()
}

fn is_long(view: &View<'_>) -> bool {
    match view.as_cursor() {
        Some(cursor) => cursor.raw().len() > SHORT_TEXT,
        None => view.size(SHORT_TEXT).is_err(),
    }
}
