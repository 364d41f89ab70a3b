//! Builds the skeleton of arguments: the parts that a schema examines. Values from references are charged
//! before they are built.

use super::footprint::{Footprint, NOTHING, ROOT, State};
use crate::arguments::{Child, Node, VALUE_BYTES};
use crossfeed_jmespath::{Cost, Reservation, Unrepresentable, View};
use crossfeed_json::{Cursor, Kind};
use serde_json::{Map, Value};

/// The memory of a value in a list.
const ITEM_BYTES: usize = size_of::<Value>();
/// Up to this many names are looked up one by one in an object that may be large.
pub(super) const FEW_NAMES: usize = 16;
/// Texts of at most this many bytes stand for themselves.
const SHORT_TEXT: usize = 64;

/// Why no skeleton can be built.
#[derive(Debug, thiserror::Error)]
pub(super) enum SkeletonError {
    /// The schema examines a value that cannot be built.
    #[error(transparent)]
    Unrepresentable(#[from] Unrepresentable),
    /// There is no memory left.
    #[error(transparent)]
    Cost(#[from] Cost),
}

impl Footprint {
    /// The skeleton of arguments. Values from references are charged to `memory`.
    pub(super) fn skeleton(
        &self,
        arguments: &Node<'_>,
        memory: Option<&Reservation>,
    ) -> Result<Value, SkeletonError> {
        let footprint = self;
        Builder { footprint, memory }.node(arguments, ROOT)
    }
}

/// Builds a skeleton. Its recursion is bounded by the depth of the arguments.
#[derive(Clone, Copy)]
struct Builder<'s> {
    footprint: &'s Footprint,
    /// Charged for the skeleton.
    memory: Option<&'s Reservation>,
}

impl Builder<'_> {
    fn node(self, node: &Node<'_>, number: usize) -> Result<Value, SkeletonError> {
        if number == NOTHING {
            return Ok(Value::Null);
        }
        let state = self.footprint.state(number);
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

    fn child(self, child: &Child<'_, '_>, number: usize) -> Result<Value, SkeletonError> {
        match child {
            Child::Original(view) => {
                // The room for written arguments was taken before.
                let memory = None;
                Self { memory, ..self }.view(view, number)
            }
            Child::Changed(node) => self.node(node, number),
        }
    }

    fn view(self, view: &View<'_>, number: usize) -> Result<Value, SkeletonError> {
        if number == NOTHING {
            return Ok(Value::Null);
        }
        let state = self.footprint.state(number);
        if state.whole {
            return self.whole(view);
        }
        match view.kind() {
            Kind::Array => self.items(view.items(), state, &|item, at| self.view(&item, at)),
            Kind::Object => match (view.as_cursor(), &state.members) {
                (Some(cursor), Some(children))
                    if children.others.is_none() && children.named.len() <= FEW_NAMES =>
                {
                    let mut members = Map::new();
                    for (name, at) in &children.named {
                        if let Some(value) = cursor.get(name) {
                            self.reserve(VALUE_BYTES + name.len())?;
                            members.insert((**name).to_owned(), self.view(&value.into(), *at)?);
                        }
                    }
                    Ok(members.into())
                }
                _ => self.members(view.members(), state, &|value, at| self.view(&value, at)),
            },
            Kind::Number if !state.number => Ok(Value::Null),
            Kind::String if !state.text && is_long(view) => Ok(Value::String(String::new())),
            _ => self.whole(view),
        }
    }

    fn whole(self, view: &View<'_>) -> Result<Value, SkeletonError> {
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
        inside: &dyn Fn(T, usize) -> Result<Value, SkeletonError>,
    ) -> Result<Value, SkeletonError> {
        let mut list = Vec::new();
        let state_of = |place: usize| state.items.as_ref()?.item(place);
        let items = items.enumerate();
        for (item, at) in items.map_while(|(place, item)| Some((item, state_of(place)?))) {
            // While it grows, it may exist twice, and half empty.
            self.reserve(3 * ITEM_BYTES)?;
            list.push(inside(item, at)?);
        }
        Ok(Value::Array(list))
    }

    fn members<T, K: AsRef<str> + Into<String>>(
        self,
        members: impl Iterator<Item = (K, T)>,
        state: &State,
        inside: &dyn Fn(T, usize) -> Result<Value, SkeletonError>,
    ) -> Result<Value, SkeletonError> {
        let mut skeleton = Map::new();
        let Some(children) = &state.members else {
            return Ok(skeleton.into());
        };
        for (key, value) in members {
            if let Some(at) = children.member(key.as_ref()) {
                self.reserve(VALUE_BYTES + key.as_ref().len())?;
                skeleton.insert(key.into(), inside(value, at)?);
            }
        }
        Ok(skeleton.into())
    }

    fn reserve(self, bytes: usize) -> Result<(), Cost> {
        self.memory.map_or(Ok(()), |memory| memory.reserve(bytes))
    }
}

/// The memory of a value that is built from a document with all of its children, without its own place.
pub(crate) fn built_bytes(value: Cursor<'_>) -> usize {
    let inside = |value: Cursor<'_>| value.items().map(built_bytes).sum::<usize>();
    let length = value.len().unwrap_or_default();
    match value.kind() {
        Kind::Array => length * ITEM_BYTES + inside(value),
        Kind::Object => {
            let keys = value.members().map(|(key, _)| key.raw().len());
            length * VALUE_BYTES + inside(value) + keys.sum::<usize>()
        }
        Kind::String => value.raw().len(),
        _ => 0,
    }
}

fn is_long(view: &View<'_>) -> bool {
    match view.as_cursor() {
        Some(cursor) => cursor.raw().len() > SHORT_TEXT,
        None => view.size(SHORT_TEXT).is_err(),
    }
}
