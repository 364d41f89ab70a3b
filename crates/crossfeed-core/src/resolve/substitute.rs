//! Puts the values of references where they belong in the arguments.

use super::{
    fill::{ResolvedValue, failure},
    nesting::Nesting,
    plan::{Plan, Planned, Step},
};
use crate::{
    arguments::{Inside, Tree, index_of},
    error::{LimitError, MalformedReference},
    failure::Failure,
    lineage::LineageEntry,
};
use crossfeed_json::MAX_DEPTH;
use crossfeed_wire::{Pointer, reference::Malformed};

/// Puts values where they belong.
pub(super) struct Substituter<'p, 'a, T> {
    pub(super) plan: &'p Plan,
    /// For each reference the number of its value; `None` where there is none.
    pub(super) values: Vec<Option<usize>>,
    pub(super) made: Vec<ResolvedValue<'a, T>>,
    pub(super) lineage: Vec<LineageEntry>,
    pub(super) failures: Vec<Failure>,
}

impl<'a, T: Tree<'a>> Substituter<'_, 'a, T> {
    pub(super) fn apply(&mut self, step: &Step, arguments: &mut T) {
        match step {
            Step::Literal(at) => {
                if let Some(place) = arguments.at_mut(at) {
                    *place = literal_content(place);
                }
            }
            Step::Put { at, reference } => {
                let value = self.take(*reference, at);
                if let (Some(value), Some(place)) = (value, arguments.at_mut(at)) {
                    *place = value;
                    self.link(*reference, at.clone());
                }
            }
            Step::Map {
                object,
                key,
                entries,
                ..
            } => {
                for (target, reference) in entries {
                    let to = target.to_pointer();
                    let Some(value) = self.take(*reference, &object.join(&to)) else {
                        continue;
                    };
                    let holder = arguments.at_mut(object);
                    match holder.and_then(|holder| put(holder, &to, value)) {
                        Some(within) => self.link(*reference, object.join(&within)),
                        None => self.refuse(*reference, &to),
                    }
                }
                if let Some(holder) = arguments.at_mut(object) {
                    holder.remove(key);
                }
            }
        }
    }

    /// The value of a reference, null for one that failed; `None` where it would nest too deep. The
    /// last to take a value gets it without a copy.
    fn take(&mut self, reference: usize, at: &Pointer) -> Option<T> {
        let planned = self.plan.references.get(reference)?;
        let number = *self.values.get(reference)?;
        let made = number.and_then(|number| self.made.get_mut(number));
        let around = at.tokens().count();
        let is_too_deep = |nesting: &Nesting<'a>| match MAX_DEPTH.checked_sub(around) {
            Some(room) => nesting.is_deeper(room),
            None => true,
        };
        if made
            .as_ref()
            .map_or(around > MAX_DEPTH, |made| is_too_deep(&made.nesting))
        {
            // One failure a reference.
            if made.is_some() {
                let error = LimitError::ArgumentsTooDeep;
                self.failures.push(failure(planned, error));
            }
            return None;
        }
        let Some(made) = made else {
            return Some(T::null());
        };
        made.uses -= 1;
        Some(match made.uses {
            0 => made.value.take(),
            _ => made.value.clone(),
        })
    }

    fn made(&self, reference: usize) -> Option<(&Planned, &ResolvedValue<'a, T>)> {
        let number = (*self.values.get(reference)?)?;
        Some((self.plan.references.get(reference)?, self.made.get(number)?))
    }

    /// Notes where the value at a place came from.
    fn link(&mut self, reference: usize, at: Pointer) {
        let link = self.made(reference).map(|(planned, made)| LineageEntry {
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
            Failure::new(planned.at.clone(), error)
        });
        self.failures.extend(failure);
    }
}

/// The content of a literal, which is alone in its object but for keys that are null.
fn literal_content<'a, T: Tree<'a>>(place: &mut T) -> T {
    let mut empty = None;
    for key in ["$literal", "_literal"] {
        let content = place.at_mut(&Pointer::root().key(key)).map(T::take);
        match content {
            Some(content) if !content.is_null() => return content,
            other => empty = empty.or(other),
        }
    }
    empty.unwrap_or_else(T::null)
}

/// Puts `value` at `at` within `holder`: missing objects on the way are made, a list grows by one
/// item at its end. Gives the place, which `-` does not name; `None` where a scalar or a gap is in
/// the way.
fn put<'a, T: Tree<'a>>(holder: &mut T, at: &Pointer, value: T) -> Option<Pointer> {
    let mut place = holder;
    let mut put = Pointer::root();
    for token in at.tokens() {
        if place.is_null() {
            place.make_object();
        }
        place = match place.inside() {
            Inside::Members => {
                put = put.key(&token);
                place.member(&token)?
            }
            Inside::Items(count) => {
                let index = match token.as_str() {
                    "-" => count,
                    token => index_of(token)?,
                };
                put = put.index(index);
                place.item(index)?
            }
            Inside::Nothing => return None,
        };
    }
    *place = value;
    Some(put)
}
