//! Puts the values of references where they belong in the arguments.

use super::{
    fill::{FillContext, ResolvedValue, failure},
    plan::{Filling, Plan, PlannedReference, Step},
};
use crate::{
    arguments::{Inside, Tree, index_of},
    error::{LimitError, MalformedReference, ShownEdit},
    failure::{Error, Failure},
    lineage::{LineageEntry, ReferenceRepair},
};
use crossfeed_json::{MAX_DEPTH, is_deeper};
use crossfeed_wire::{
    Pointer,
    reference::{Malformed, Piece},
};
use std::{borrow::Cow, collections::HashSet};

/// Puts values where they belong.
pub(super) struct Substituter<'p, 'a, 'o, T> {
    pub(super) plan: &'p Plan,
    pub(super) context: &'p FillContext<'a, 'o>,
    /// The number of each reference's value; `None` if it failed.
    pub(super) numbers: Vec<Option<usize>>,
    pub(super) values: Vec<ResolvedValue<'a, T>>,
    pub(super) lineage: Vec<LineageEntry>,
    pub(super) failures: Vec<Failure>,
    /// Bytes that may still be brought into the arguments.
    pub(super) left: usize,
    /// How many values were put that may have several parts.
    pub(super) texts: usize,
    /// The entry of the lineage for each reference that was put.
    pub(super) linked: Vec<Option<usize>>,
}

impl<'a, T: Tree<'a>> Substituter<'_, 'a, '_, T> {
    pub(super) fn apply(&mut self, step: &Step, arguments: &mut T) {
        match step {
            Step::Literal(at) => {
                if let Some(place) = arguments.at_mut(at) {
                    *place = literal_content(place);
                }
            }
            // The plan was settled: what is left is data.
            Step::Near(_) => {}
            Step::Put { filling, .. } if self.is_data(filling) => {}
            Step::Put { at, filling, .. } => {
                let value = self.filled(filling, at, arguments);
                if let (Some(value), Some(place)) = (value, arguments.at_mut(at)) {
                    *place = value;
                    self.link(filling, at);
                }
            }
            Step::Map {
                object,
                key,
                entries,
                ..
            } => {
                for (target, filling) in entries {
                    let to = target.to_pointer();
                    let Some(value) = self.filled(filling, &object.join(&to), arguments) else {
                        continue;
                    };
                    let holder = arguments.at_mut(object);
                    match holder.and_then(|holder| put(holder, &to, value)) {
                        Some(within) => self.link(filling, &object.join(&within)),
                        None => self.refuse(filling, &to),
                    }
                }
                if let Some(holder) = arguments.at_mut(object) {
                    holder.remove(key);
                }
            }
        }
    }

    /// Whether nothing in it is a reference after all, because it selects nothing.
    fn is_data(&self, filling: &Filling) -> bool {
        let mut references = filling.references().peekable();
        references.peek().is_some() && references.all(|number| self.selects_nothing(number))
    }

    /// Whether a reference is the name of a file after all, or a word of the text, which selects nothing.
    fn selects_nothing(&self, number: usize) -> bool {
        let repair = self.plan.references[number].reference.repair.as_ref();
        self.numbers[number].is_none() && repair.is_some_and(|repair| repair.or_data)
    }

    /// What is put at a place; `None` where that failed.
    fn filled(&mut self, filling: &Filling, at: &Pointer, arguments: &mut T) -> Option<T> {
        for reference in filling.references() {
            self.edit(reference, arguments);
        }
        match filling {
            Filling::Reference(reference) => self.take(*reference, at),
            Filling::Text(pieces) => match self.text(pieces)? {
                Ok(text) => Some(T::text(text)),
                Err((reference, error)) => {
                    let planned = &self.plan.references[reference];
                    self.failures.push(failure(planned, error));
                    None
                }
            },
            Filling::Literal {
                at: entry,
                key,
                content,
            } => {
                let limit = MAX_DEPTH.checked_sub(at.tokens().count());
                if limit.is_none_or(|limit| is_deeper(content, limit)) {
                    let failure = Failure::new(entry.clone(), LimitError::ArgumentsTooDeep);
                    self.failures.push(failure);
                    return None;
                }
                // A map that was written as a text has no places.
                let documents = &self.context.arena.documents;
                let written = arguments.at_mut(&entry.key(key)).map(T::take);
                let built = || arguments.default_of(content, None, documents);
                Some(
                    written
                        .filter(|written| !written.is_null())
                        .unwrap_or_else(built),
                )
            }
        }
    }

    /// A text with the values in it; `None` if one of them failed, else the reference whose value it cannot hold.
    fn text(&mut self, pieces: &[Piece]) -> Option<Result<String, (usize, Error)>> {
        let mut text = String::new();
        let mut is_complete = true;
        for piece in pieces {
            let (reference, piece) = match piece {
                Piece::Text(piece) => (0, Cow::Borrowed(piece.as_str())),
                Piece::Value(reference) => {
                    let Some(number) = self.numbers[*reference] else {
                        let raw = self.plan.references[*reference].raw.as_deref();
                        match raw.filter(|_| self.selects_nothing(*reference)) {
                            Some(raw) => text.push_str(raw),
                            None => is_complete = false,
                        }
                        continue;
                    };
                    let value = &self.values[number];
                    match value.origin.to_text(value.value.as_view(), self.left) {
                        Ok(Some(value)) => (*reference, value),
                        Ok(None) => {
                            let at = &self.plan.references[*reference].at;
                            let error = self.malformed(Malformed::NullInText, at);
                            return Some(Err((*reference, error.into())));
                        }
                        Err(_) => return Some(Err((*reference, self.too_large()))),
                    }
                }
            };
            let Some(left) = self.left.checked_sub(piece.len()) else {
                return Some(Err((reference, self.too_large())));
            };
            self.left = left;
            let memory = self.context.arena.arena.reservation();
            if let Err(error) = memory.reserve(piece.len()) {
                return Some(Err((reference, LimitError::from(error).into())));
            }
            text.push_str(&piece);
        }
        is_complete.then_some(Ok(text))
    }

    pub(super) fn malformed(&self, malformed: Malformed, at: &Pointer) -> MalformedReference {
        self.plan.malformed_at(malformed, at)
    }

    pub(super) fn too_large(&self) -> Error {
        let limit = self.context.limits.max_bytes;
        LimitError::TooLarge { limit }.into()
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
    fn link(&mut self, filling: &Filling, at: &Pointer) {
        let holds = |reference: &usize| {
            let edit = self.plan.references[*reference].edit.as_ref();
            edit.map_or(0..0, |edit| edit.inner.clone())
        };
        let mut seen = HashSet::new();
        let references: Vec<usize> = filling
            .references()
            .filter(|one| seen.insert(*one))
            .collect();
        let parts: Vec<usize> = references.iter().flat_map(holds).collect();
        let is_text = matches!(filling, Filling::Text(_));
        let text = (is_text || !parts.is_empty()).then_some(self.texts);
        self.texts += 1;
        // What an edit brought in is a part of what it made.
        for part in parts {
            if let Some(entry) = self.linked[part].and_then(|entry| self.lineage.get_mut(entry)) {
                (entry.at, entry.text, entry.is_inner) = (at.clone(), text, true);
            }
        }
        let links = references.into_iter().filter_map(|reference| {
            let (planned, resolved) = self.resolved(reference)?;
            let repair = planned.reference.repair.as_ref();
            let source = &resolved.source;
            let entry = LineageEntry {
                at: at.clone(),
                source: source.clone(),
                ignored: planned.reference.ignored.clone(),
                repair: repair.map(|repair| {
                    let (id, select) = (source.call_id.as_str(), source.select.as_deref());
                    let spelling = &self.plan.spelling;
                    let edit = planned.reference.edit.as_deref().map(ShownEdit::new);
                    // A lineage holds no content of edits.
                    let shown = edit.as_ref().map(ShownEdit::without_content);
                    let shown = shown.as_ref();
                    // In place of the whole text it would lose the rest of it.
                    let read = match &source.input {
                        Some(input) => spelling.input_reference(input, select, shown),
                        None if is_text => spelling.reference_within(id, select, shown),
                        None => {
                            let place = (&planned.at, Some(&*target_of(at)));
                            spelling.reference_at(place, id, select, shown)
                        }
                    };
                    ReferenceRepair {
                        written: repair.written.clone(),
                        read,
                        edit,
                    }
                }),
                text,
                is_inner: false,
                digits: resolved.digits.clone().filter(|_| text.is_none()),
                tokens: resolved.tokens,
            };
            Some((reference, entry))
        });
        let links: Vec<_> = links.collect();
        for (reference, entry) in links {
            self.linked[reference] = Some(self.lineage.len());
            self.lineage.push(entry);
        }
    }

    /// Records that a value cannot be put at its place. A reference without a value has a failure already.
    fn refuse(&mut self, filling: &Filling, to: &Pointer) {
        let at = match filling {
            Filling::Literal { at, .. } => Some(at.clone()),
            filling => {
                let resolved = filling.references().find_map(|one| self.resolved(one));
                resolved.map(|(planned, _)| planned.at.clone())
            }
        };
        let failure = at.map(|at| {
            let to = to.as_str().to_owned();
            let error = self.malformed(Malformed::UnreachableTarget { to }, &at);
            Failure::new(at, error)
        });
        self.failures.extend(failure);
    }
}

/// How an entry of a list names a place.
pub(crate) fn target_of(at: &Pointer) -> String {
    let mut tokens = at.tokens();
    match (tokens.next(), tokens.next()) {
        (Some(name), None) if !name.starts_with('/') => name,
        _ => at.as_str().to_owned(),
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
