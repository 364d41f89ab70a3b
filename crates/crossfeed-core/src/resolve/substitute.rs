//! Puts the values of references where they belong in the arguments.

use super::{
    fill::{ResolvedValue, failure},
    plan::{Plan, PlannedReference, Step},
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
    /// The number of each reference's value; `None` if it failed.
    pub(super) numbers: Vec<Option<usize>>,
    pub(super) values: Vec<ResolvedValue<'a, T>>,
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
        let depth_left = MAX_DEPTH.checked_sub(at.tokens().count());
        let Some(number) = self.numbers[reference] else {
            return depth_left.map(|_| T::null());
        };
        let resolved = &mut self.values[number];
        if depth_left.is_none_or(|limit| resolved.origin.is_deeper(limit)) {
            let planned = &self.plan.references[reference];
            let failure = failure(planned, LimitError::ArgumentsTooDeep);
            self.failures.push(failure);
            return None;
        }
        resolved.uses -= 1;
        Some(match resolved.uses {
            0 => resolved.value.take(),
            _ => resolved.value.clone(),
        })
    }

    fn resolved(&self, reference: usize) -> Option<(&PlannedReference, &ResolvedValue<'a, T>)> {
        let number = self.numbers[reference]?;
        Some((&self.plan.references[reference], &self.values[number]))
    }

    /// Records where the value at a place came from.
    fn link(&mut self, reference: usize, at: Pointer) {
        let link = self.resolved(reference);
        let link = link.map(|(planned, resolved)| LineageEntry {
            at,
            source: resolved.source.clone(),
            ignored: planned.reference.ignored.clone(),
            digits: resolved.digits.clone(),
            tokens: resolved.tokens,
        });
        self.lineage.extend(link);
    }

    /// Records that a value cannot be put at its place. A reference without a value has a failure already.
    fn refuse(&mut self, reference: usize, to: &Pointer) {
        let failure = self.resolved(reference).map(|(planned, _)| {
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

/// Puts `value` at `at` within `holder`: adds missing objects on the path, or one item at the end of a list.
/// Returns the place, with an index in place of `-`; `None` if a scalar or a gap is in the way.
fn put<'a, T: Tree<'a>>(holder: &mut T, at: &Pointer, value: T) -> Option<Pointer> {
    let mut place = holder;
    let mut reached = Pointer::root();
    for token in at.tokens() {
        place = match place.inside() {
            Inside::Members => {
                reached = reached.key(&token);
                place.member(&token)?
            }
            Inside::Items(count) => {
                let index = match token.as_str() {
                    "-" => count,
                    token => index_of(token)?,
                };
                reached = reached.index(index);
                place.item(index)?
            }
            Inside::Nothing => return None,
        };
    }
    *place = value;
    Some(reached)
}
