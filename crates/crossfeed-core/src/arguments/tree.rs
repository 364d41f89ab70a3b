//! Arguments while their references are replaced: a `Value` for callers that want one, a
//! [`Node`](super::node::Node) for those that want bytes.

use bytes::Bytes;
use crossfeed_jmespath::{Cost, Memory, Unrepresentable, ValueSize, View};
use crossfeed_json::{Document, number_value};
use crossfeed_wire::Pointer;
use serde_json::{Map, Value};
use std::sync::Arc;

/// A tree of JSON in which values are put at places.
pub(crate) trait Tree<'a>: Clone {
    /// `null`.
    fn null() -> Self;

    /// The tree of a view, and its size.
    fn from_view(view: &View<'a>, limit: usize) -> Result<(Self, ValueSize), Unrepresentable>;

    /// A text.
    fn text(text: String) -> Self;

    /// The default of the reference with this ordinal: its original bytes where they are known.
    fn default_of(&self, default: &Value, ordinal: Option<u32>, documents: &'a Documents) -> Self;

    /// Its JSON, for whose bytes the memory has room.
    fn to_json(&self, memory: Option<&Arc<dyn Memory>>) -> Result<Bytes, Cost>;

    /// The view that it is, if it is one.
    fn as_view(&self) -> Option<&View<'a>>;

    fn is_null(&self) -> bool;

    /// The value at a place, as `Value::pointer_mut` finds it.
    fn at_mut(&mut self, at: &Pointer) -> Option<&mut Self>;

    /// The inside of a list or object; `null` becomes an object without members.
    fn inside(&mut self) -> Inside;

    /// The member of an object, added as `null` if it is missing.
    fn member(&mut self, key: &str) -> Option<&mut Self>;

    /// The item of a list, added as `null` if it is the next one.
    fn item(&mut self, index: usize) -> Option<&mut Self>;

    /// Removes the member of an object.
    fn remove(&mut self, key: &str);

    /// Takes the value, and leaves `null`.
    fn take(&mut self) -> Self {
        std::mem::replace(self, Self::null())
    }
}

/// The children that a value can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Inside {
    /// The members of an object.
    Members,
    /// The items of a list, and how many there are.
    Items(usize),
    /// Nothing.
    Nothing,
}

/// Documents that are created while arguments are resolved, and live as long as the arguments.
#[derive(Default)]
pub(crate) struct Documents(elsa::FrozenVec<Box<Document>>);

impl Documents {
    /// Some JSON as a view; `null` if it is invalid.
    pub(crate) fn view(&self, json: impl Into<Bytes>) -> View<'_> {
        let document = self.0.push_get(Box::new(Document::new(json)));
        document.root().map_or_else(|_| View::null(), View::from)
    }
}

impl<'a> Tree<'a> for Value {
    fn null() -> Self {
        Value::Null
    }

    fn from_view(view: &View<'a>, limit: usize) -> Result<(Self, ValueSize), Unrepresentable> {
        view.to_sized_value(limit)
    }

    fn text(text: String) -> Self {
        Value::String(text)
    }

    fn default_of(&self, default: &Value, _: Option<u32>, _: &'a Documents) -> Self {
        default.clone()
    }

    fn to_json(&self, _: Option<&Arc<dyn Memory>>) -> Result<Bytes, Cost> {
        // The value, which is larger, was charged when it was built.
        Ok(self.to_string().into())
    }

    fn as_view(&self) -> Option<&View<'a>> {
        None
    }

    fn is_null(&self) -> bool {
        self.is_null()
    }

    fn at_mut(&mut self, at: &Pointer) -> Option<&mut Self> {
        self.pointer_mut(at.as_str())
    }

    fn inside(&mut self) -> Inside {
        if self.is_null() {
            *self = Value::Object(Map::new());
        }
        match self {
            Value::Object(_) => Inside::Members,
            Value::Array(items) => Inside::Items(items.len()),
            _ => Inside::Nothing,
        }
    }

    fn member(&mut self, key: &str) -> Option<&mut Self> {
        Some(self.as_object_mut()?.entry(key).or_insert(Value::Null))
    }

    fn item(&mut self, index: usize) -> Option<&mut Self> {
        let items = self.as_array_mut()?;
        if index == items.len() {
            items.push(Value::Null);
        }
        items.get_mut(index)
    }

    fn remove(&mut self, key: &str) {
        if let Some(members) = self.as_object_mut() {
            members.shift_remove(key);
        }
    }
}

/// The index that a token of a pointer names in a list, as `Value::pointer` reads it.
pub(crate) fn index_of(token: &str) -> Option<usize> {
    let is_plain = token == "0" || !token.starts_with(['0', '+']);
    is_plain.then(|| token.parse().ok())?
}

/// The first number of a view that a `Value` cannot hold.
pub(crate) fn unheld(view: &View<'_>) -> Option<crossfeed_json::NumberOutOfRange> {
    match view.to_sized_value(usize::MAX) {
        Err(Unrepresentable::Number(error)) => Some(error),
        _ => None,
    }
}

/// The first number of written arguments that a `Value` cannot hold, and its place. The depth is bounded by
/// the document.
pub(crate) fn unheld_number(
    cursor: crossfeed_json::Cursor<'_>,
    at: &Pointer,
) -> Option<(Pointer, crossfeed_json::NumberOutOfRange)> {
    if let Some(digits) = cursor.as_number() {
        return number_value(digits).err().map(|error| (at.clone(), error));
    }
    if cursor.kind() == crossfeed_json::Kind::Array {
        let mut items = cursor.items().enumerate();
        return items.find_map(|(index, item)| unheld_number(item, &at.index(index)));
    }
    let mut members = cursor.members();
    members.find_map(|(key, value)| unheld_number(value, &at.key(&key.text())))
}
