//! Putting: the values of references where they belong in the arguments.
//!
//! In: the arguments, and the values that were made for the references of a plan. Out: the arguments
//! without references, and where each value came from. Deliberately not here: how values are made.

use super::{
    LimitError, MalformedReference,
    fill::{Made, failure},
    lineage::Link,
    plan::{Plan, Planned, Step},
};
use crate::error::{Error, Failure};
use crossfeed_json::MAX_DEPTH;
use crossfeed_wire::{Pointer, reference::Malformed};
use serde_json::Value;

/// Puts values where they belong.
pub(super) struct Filler<'p> {
    pub(super) plan: &'p Plan,
    /// For each reference the number of its value; `None` where there is none.
    pub(super) values: Vec<Option<usize>>,
    pub(super) made: Vec<Made>,
    pub(super) lineage: Vec<Link>,
    pub(super) failures: Vec<Failure>,
}

impl Filler<'_> {
    pub(super) fn apply(&mut self, step: &Step, arguments: &mut Value) {
        match step {
            Step::Literal(at) => {
                if let Some(place) = arguments.pointer_mut(at.as_str()) {
                    *place = literal_content(place);
                }
            }
            Step::Put { at, reference } => {
                let value = self.take(*reference, at);
                if let (Some(value), Some(place)) = (value, arguments.pointer_mut(at.as_str())) {
                    *place = value;
                    self.link(*reference, at.clone());
                }
            }
            Step::Map {
                object,
                key,
                entries,
            } => {
                for (target, reference) in entries {
                    let to = target.to_pointer();
                    let Some(value) = self.take(*reference, &object.join(&to)) else {
                        continue;
                    };
                    let holder = arguments.pointer_mut(object.as_str());
                    match holder.and_then(|holder| put(holder, &to, value)) {
                        Some(within) => self.link(*reference, object.join(&within)),
                        None => self.refuse(*reference, &to),
                    }
                }
                let holder = arguments.pointer_mut(object.as_str());
                if let Some(holder) = holder.and_then(Value::as_object_mut) {
                    holder.shift_remove(*key);
                }
            }
        }
    }

    /// The value of a reference, null for one that failed; `None` where it would nest too deep. The
    /// last to take a value gets it without a copy.
    fn take(&mut self, reference: usize, at: &Pointer) -> Option<Value> {
        let planned = self.plan.references.get(reference)?;
        let number = *self.values.get(reference)?;
        let made = number.and_then(|number| self.made.get_mut(number));
        let depth = made.as_ref().map_or(0, |made| made.depth);
        if at.tokens().count() + depth > MAX_DEPTH {
            // One failure a reference.
            if made.is_some() {
                let error = Error::Limit(LimitError::ArgumentsTooDeep);
                self.failures.push(failure(planned, error));
            }
            return None;
        }
        let Some(made) = made else {
            return Some(Value::Null);
        };
        made.uses -= 1;
        Some(match made.uses {
            0 => made.value.take(),
            _ => made.value.clone(),
        })
    }

    fn made(&self, reference: usize) -> Option<(&Planned, &Made)> {
        let number = (*self.values.get(reference)?)?;
        Some((self.plan.references.get(reference)?, self.made.get(number)?))
    }

    /// Notes where the value at a place came from.
    fn link(&mut self, reference: usize, at: Pointer) {
        let link = self.made(reference).map(|(planned, made)| Link {
            at,
            source: made.source.clone(),
            ignored: planned.reference.ignored.clone(),
            digits: made.digits.clone(),
            tokens: made.tokens,
        });
        self.lineage.extend(link);
    }

    /// Notes that a value has no place. Of a reference without a value something else was noted.
    fn refuse(&mut self, reference: usize, to: &Pointer) {
        let failure = self.made(reference).map(|(planned, _)| {
            let to = to.as_str().to_owned();
            let error = MalformedReference::new(Malformed::UnreachableTarget { to }, None);
            Failure::new(planned.at.clone(), error.into())
        });
        self.failures.extend(failure);
    }
}

/// The content of a literal, which is alone in its object but for keys that are null.
fn literal_content(place: &mut Value) -> Value {
    let Some(object) = place.as_object_mut() else {
        return Value::Null;
    };
    let alone = object.len() == 1;
    ["$literal", "_literal"]
        .iter()
        .find_map(|&key| {
            let content = object.get_mut(key)?;
            (alone || !content.is_null()).then(|| content.take())
        })
        .unwrap_or_default()
}

/// Puts `value` at `at` within `holder`: missing objects on the way are made, a list grows by one
/// item at its end. Gives the place, which `-` does not name; `None` where a scalar or a gap is in
/// the way.
fn put(holder: &mut Value, at: &Pointer, value: Value) -> Option<Pointer> {
    let mut place = holder;
    let mut put = Pointer::root();
    for token in at.tokens() {
        if place.is_null() {
            *place = Value::Object(serde_json::Map::new());
        }
        place = match place {
            Value::Object(members) => {
                put = put.key(&token);
                members.entry(token).or_insert(Value::Null)
            }
            Value::Array(items) => {
                let index = match token.as_str() {
                    "-" => items.len(),
                    digits if digits == "0" || !digits.starts_with(['0', '+']) => {
                        digits.parse().ok()?
                    }
                    _ => return None,
                };
                put = put.index(index);
                if index == items.len() {
                    items.push(Value::Null);
                }
                items.get_mut(index)?
            }
            _ => return None,
        };
    }
    *place = value;
    Some(put)
}
