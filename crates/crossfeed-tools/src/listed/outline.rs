//! Outlines of arguments: values in which a list or object with nothing to be read back is *left out*.
//!
//! A number stands for what it holds, and its bytes stay as they are. Reading back looks at such a list or
//! object for its kind only.
//!
//! # Invariant
//!
//! In an outline, and in what is read back from it, a list of nothing but one number always stands for one
//! that was left out: reading back makes no list. `[n]` stands for the list with the number `n`, and
//! `{"": [n]}` for the object with that number. An object of the arguments may become `{"": [n]}` as well,
//! where a name is given back or a null is removed; but then `n` is the number of a list.

use super::ListedTool;
use crate::{names::MAPS, profile::decoded_values, reflect::PART_WORDS};
use crossfeed_json::{Cursor, Kind};
use crossfeed_wire::reference::is_near_map;
use serde_json::{Map, Value};

/// Arguments, without the lists and objects that reading back does not look into.
#[derive(Debug)]
pub struct Outline<'d> {
    value: Value,
    left_out: Vec<Cursor<'d>>,
}

impl<'d> Outline<'d> {
    /// The value, which can be read back as the arguments can.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// The list or object that was left out, where a value of the outline stands for one.
    pub fn left_out(&self, value: &Value) -> Option<Cursor<'d>> {
        let (kind, list) = match value {
            Value::Array(_) => (Kind::Array, value),
            Value::Object(members) if members.len() == 1 => (Kind::Object, members.get("")?),
            _ => return None,
        };
        let [number] = list.as_array()?.as_slice() else {
            return None;
        };
        let number = usize::try_from(number.as_u64()?).ok()?;
        let left_out = self.left_out.get(number).copied();
        left_out.filter(|left_out| left_out.kind() == kind)
    }
}

impl ListedTool {
    /// The outline of arguments; `None` if there is nothing to be read back. Calls `take` before it builds
    /// values, with their number and their bytes.
    ///
    /// # Errors
    ///
    /// Those of `take`.
    pub fn outline<'d, E>(
        &self,
        arguments: Cursor<'d>,
        take: impl FnMut(usize, usize) -> Result<(), E>,
    ) -> Result<Option<Outline<'d>>, E> {
        if !self.may_read_back(arguments) {
            return Ok(None);
        }
        let mut outliner = Outliner {
            tool: self,
            take,
            left_out: Vec::new(),
        };
        let value = match arguments.kind() {
            // A text may stand for anything.
            _ if self.shown.folded > 0 => {
                outliner.take_reflected(arguments)?;
                outliner.whole(arguments)?
            }
            Kind::Object => outliner.root(arguments)?,
            _ => outliner.child(arguments)?,
        };
        Ok(Some(Outline {
            value,
            left_out: outliner.left_out,
        }))
    }

    /// Whether nulls, or the names of a tool, are looked for below the root.
    fn looks_inside(&self) -> bool {
        self.shown.strict == Some(true) || !self.shown.names.is_empty()
    }

    fn may_read_back(&self, arguments: Cursor<'_>) -> bool {
        if self.shown.folded > 0 || !self.shown.names.is_empty() {
            return true;
        }
        let is_nullable = self.shown.references.is_some() || self.shown.strict == Some(true);
        let is_ours = |key: &str| {
            MAPS.contains(&key)
                || self.shown.references.as_deref() == Some(key)
                || self.shown.reflected.contains(&key)
                || PART_WORDS.contains(&key)
        };
        let mut members = arguments.members();
        members.any(|(key, value)| {
            value.kind() == Kind::Null && is_nullable
                || matches!(key.bytes().first(), Some(b'$' | b'_')) && is_ours(&key.text())
                || self.shown.strict == Some(true) && has_null(value)
        })
    }
}

/// Whether some member of an object in a value is null.
fn has_null(value: Cursor<'_>) -> bool {
    match value.kind() {
        Kind::Object => value
            .items()
            .any(|member| member.kind() == Kind::Null || has_null(member)),
        Kind::Array => value.items().any(has_null),
        _ => false,
    }
}

struct Outliner<'t, 'd, T> {
    tool: &'t ListedTool,
    take: T,
    left_out: Vec<Cursor<'d>>,
}

impl<'d, E, T: FnMut(usize, usize) -> Result<(), E>> Outliner<'_, 'd, T> {
    fn whole(&mut self, value: Cursor<'d>) -> Result<Value, E> {
        (self.take)(value.value_count(), value.raw().len())?;
        Ok(value.to_nearest_value())
    }

    /// Counts the values in texts that ask for parts of the result.
    fn take_reflected(&mut self, arguments: Cursor<'d>) -> Result<(), E> {
        for name in &self.tool.shown.reflected {
            let asked = arguments.get(name).and_then(Cursor::as_str);
            (self.take)(asked.map_or(0, |text| decoded_values(&text)), 0)?;
        }
        Ok(())
    }

    fn root(&mut self, object: Cursor<'d>) -> Result<Value, E> {
        let mut members = Map::new();
        for (key, value) in object.members() {
            let key = key.text();
            (self.take)(0, key.len())?;
            let value = match key.as_ref() {
                key if self.tool.shown.reflected.contains(&key) => self.whole(value)?,
                key if MAPS.contains(&key) || is_near_map(key) => self.map(value)?,
                _ => self.child(value)?,
            };
            members.insert(key.into_owned(), value);
        }
        Ok(Value::Object(members))
    }

    /// A value, left out if that is possible.
    fn child(&mut self, value: Cursor<'d>) -> Result<Value, E> {
        let inside = if self.tool.looks_inside() {
            self.inside(value)?
        } else {
            None
        };
        match inside {
            Some(inside) => Ok(inside),
            None => self.outside(value),
        }
    }

    /// A scalar, or the number of a list or object that is left out.
    fn outside(&mut self, value: Cursor<'d>) -> Result<Value, E> {
        let is_array = match (value.kind(), value.is_empty()) {
            (Kind::Array, false) => true,
            (Kind::Object, false) => false,
            _ => return self.whole(value),
        };
        (self.take)(if is_array { 2 } else { 3 }, 0)?;
        let list = Value::Array(vec![Value::from(self.left_out.len())]);
        self.left_out.push(value);
        Ok(if is_array {
            list
        } else {
            Value::Object([(String::new(), list)].into_iter().collect())
        })
    }

    /// A references map, which is kept whole.
    fn map(&mut self, value: Cursor<'d>) -> Result<Value, E> {
        let is_number = |only: Cursor<'_>| value.len() == Some(1) && only.kind() == Kind::Number;
        match value.kind() {
            Kind::Array if value.at(0).is_some_and(is_number) => self.outside(value),
            Kind::Array => {
                (self.take)(1, 0)?;
                let items = value.items().map(|item| self.map(item));
                Ok(Value::Array(items.collect::<Result<_, _>>()?))
            }
            Kind::Object => {
                (self.take)(1, 0)?;
                let mut members = Map::new();
                for (key, member) in value.members() {
                    let key = key.text();
                    (self.take)(0, key.len())?;
                    members.insert(key.into_owned(), self.map(member)?);
                }
                Ok(Value::Object(members))
            }
            _ => self.whole(value),
        }
    }

    /// A list or object with something to be read back in it; none for any other value.
    fn inside(&mut self, value: Cursor<'d>) -> Result<Option<Value>, E> {
        match value.kind() {
            Kind::Array => {
                let mut list: Option<Vec<Value>> = None;
                for (index, item) in value.items().enumerate() {
                    match (self.inside(item)?, &mut list) {
                        (Some(inside), Some(list)) => list.push(inside),
                        (Some(inside), None) => {
                            let before = value.items().take(index);
                            let before = before.map(|item| self.outside(item));
                            let mut begun: Vec<_> = before.collect::<Result<_, _>>()?;
                            begun.push(inside);
                            list = Some(begun);
                        }
                        (None, Some(list)) => list.push(self.outside(item)?),
                        (None, None) => {}
                    }
                }
                if list.is_some() {
                    (self.take)(1, 0)?;
                }
                Ok(list.map(Value::Array))
            }
            Kind::Object => {
                let mut members: Option<Map<String, Value>> = None;
                for (index, (key, member)) in value.members().enumerate() {
                    let key = key.text();
                    let inside = if MAPS.contains(&key.as_ref()) {
                        Some(self.map(member)?)
                    } else {
                        self.inside(member)?
                    };
                    let is_looked_at = inside.is_some()
                        || member.kind() == Kind::Null
                        || self.tool.shown.names.knows(&key);
                    if members.is_none() && is_looked_at {
                        let mut begun = Map::new();
                        for (key, before) in value.members().take(index) {
                            (self.take)(0, key.raw().len())?;
                            begun.insert(key.text().into_owned(), self.outside(before)?);
                        }
                        members = Some(begun);
                    }
                    if let Some(members) = &mut members {
                        (self.take)(0, key.len())?;
                        let inside = inside.map_or_else(|| self.outside(member), Ok)?;
                        members.insert(key.into_owned(), inside);
                    }
                }
                if members.is_some() {
                    (self.take)(1, 0)?;
                }
                Ok(members.map(Value::Object))
            }
            _ => Ok(None),
        }
    }
}
