//! An object in the course of an edit.

use super::{Body, Cut, Frame, Node, Part};
use crate::{
    error::EditErrorKind,
    looks::{Looks, Member},
};
use crossfeed_json::{Cursor, escape_into};
use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap},
};

/// An object of which some member is changed.
#[derive(Clone)]
pub(crate) struct Object<'d> {
    pub(crate) frame: Frame<'d>,
    /// By offsets: of a run in the base; of the value of a member of the base; behind the base for additions.
    parts: BTreeMap<usize, Part<'d>>,
    /// The additions by their keys.
    added: HashMap<String, usize>,
    next: usize,
    /// The bytes of all parts and the gaps before them.
    bytes: usize,
}

/// A member that an edit looks for.
pub(crate) enum Found<'d> {
    Absent,
    Withheld,
    /// As it is now.
    Value(Node<'d>),
}

/// Where a member is.
enum Place<'d> {
    Absent,
    Withheld,
    /// In a part of its own.
    Part(usize),
    /// In the run at this place.
    Run(usize, Cursor<'d>),
}

impl<'d> Object<'d> {
    pub(super) fn new(base: Cursor<'d>) -> Self {
        let (frame, range) = Frame::new(base);
        let mut object = Self {
            next: base.raw().len(),
            frame,
            parts: BTreeMap::new(),
            added: HashMap::new(),
            bytes: 0,
        };
        object.put_run(range.start, None, Some(range));
        object
    }

    pub(super) fn part_count(&self) -> usize {
        self.parts.len() + self.added.len()
    }

    pub(super) fn parts(&self) -> impl Iterator<Item = &Part<'d>> {
        self.parts.values()
    }

    pub(super) fn len(&self) -> usize {
        let first = self.parts.first_key_value().map(|(_, part)| part);
        self.frame.len(self.bytes, first)
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        self.frame.write(self.parts(), out);
    }

    fn put(&mut self, at: usize, part: Part<'d>) {
        self.bytes = self.bytes.saturating_add(self.frame.part_len(&part));
        self.parts.insert(at, part);
    }

    fn take(&mut self, at: usize) -> Option<Part<'d>> {
        let part = self.parts.remove(&at)?;
        self.bytes = self.bytes.saturating_sub(self.frame.part_len(&part));
        Some(part)
    }

    fn put_run(&mut self, at: usize, gap: Option<&'d [u8]>, range: Option<std::ops::Range<usize>>) {
        if let Some(range) = range.filter(|range| !range.is_empty()) {
            let body = Body::Run {
                range,
                first: 0,
                count: 0,
            };
            self.put(at, Part { gap, body });
        }
    }

    /// The part with the value at `offset` of the base, if it is still there.
    fn part_of(&self, offset: usize) -> Option<usize> {
        let (at, part) = self.parts.range(..=offset).next_back()?;
        let holds = match &part.body {
            Body::Run { range, .. } => offset < range.end,
            Body::One { at, .. } => *at == Some(offset),
        };
        holds.then_some(*at)
    }

    fn place(&self, key: &str, looks: &mut Looks<'d, '_>) -> Result<Place<'d>, EditErrorKind> {
        if let Some(at) = self.added.get(key) {
            return Ok(Place::Part(*at));
        }
        let member = match looks.member(self.frame.base, key)? {
            Member::Absent => return Ok(Place::Absent),
            Member::Withheld => return Ok(Place::Withheld),
            Member::Found(member) => member,
        };
        let part = self.part_of(self.frame.offset(member));
        Ok(match part {
            None => Place::Absent,
            Some(at) => match self.parts.get(&at).map(|part| &part.body) {
                Some(Body::Run { .. }) => Place::Run(at, member),
                _ => Place::Part(at),
            },
        })
    }

    fn value_at(&self, at: usize) -> Option<&Node<'d>> {
        match &self.parts.get(&at)?.body {
            Body::One { value, .. } => Some(value),
            Body::Run { .. } => None,
        }
    }

    /// The member `key`.
    pub(crate) fn find(
        &self,
        key: &str,
        looks: &mut Looks<'d, '_>,
    ) -> Result<Found<'d>, EditErrorKind> {
        Ok(match self.place(key, looks)? {
            Place::Absent => Found::Absent,
            Place::Withheld => Found::Withheld,
            Place::Part(at) => self
                .value_at(at)
                .map_or(Found::Absent, |value| Found::Value(value.clone())),
            Place::Run(_, member) => Found::Value(Node::Raw(member)),
        })
    }

    /// The members that can be seen, each key once.
    pub(crate) fn members(
        &self,
        looks: &mut Looks<'d, '_>,
    ) -> Result<Vec<(String, Node<'d>)>, EditErrorKind> {
        let mut members = Vec::new();
        for child in looks.children(self.frame.base)? {
            let offset = self.frame.offset(child);
            let Some(at) = self.part_of(offset) else {
                continue;
            };
            let value = self.value_at(at).cloned();
            members.push((
                child.key().text().into_owned(),
                value.unwrap_or(Node::Raw(child)),
            ));
        }
        for (key, at) in &self.added {
            if let Some(value) = self.value_at(*at) {
                members.push((key.clone(), value.clone()));
            }
        }
        Ok(members)
    }

    /// Gives a member of a run a part of its own.
    fn separate(&mut self, at: usize, member: Cursor<'d>) -> Option<usize> {
        let part = self.take(at)?;
        let Body::Run { range, .. } = part.body else {
            return None;
        };
        let Cut {
            before,
            gap,
            key,
            value,
            after_gap,
            after,
            ..
        } = self.frame.split(range, part.gap, member);
        self.put_run(at, part.gap, before);
        let body = Body::One {
            key: Cow::Borrowed(key),
            value: Node::Raw(member),
            at: Some(value),
        };
        self.put(value, Part { gap, body });
        if let Some(after) = after {
            self.put_run(after.start, after_gap, Some(after));
        }
        Some(value)
    }

    /// Changes the value of a member that can be seen; `None` if there is no such member.
    pub(crate) fn change<T>(
        &mut self,
        key: &str,
        looks: &mut Looks<'d, '_>,
        change: impl FnOnce(&mut Node<'d>, &mut Looks<'d, '_>) -> Result<T, EditErrorKind>,
    ) -> Result<Option<T>, EditErrorKind> {
        let at = match self.place(key, looks)? {
            Place::Absent | Place::Withheld => None,
            Place::Part(at) => Some(at),
            Place::Run(at, member) => self.separate(at, member),
        };
        let Some(part) = at.and_then(|at| self.parts.get_mut(&at)) else {
            return Ok(None);
        };
        let Body::One { value, .. } = &mut part.body else {
            return Ok(None);
        };
        let before = value.len();
        let outcome = change(value, looks)?;
        self.bytes = self
            .bytes
            .saturating_sub(before)
            .saturating_add(value.len());
        Ok(Some(outcome))
    }

    /// Adds a member after the last; its key must be absent.
    pub(crate) fn append(&mut self, key: &str, value: Node<'d>) {
        let mut written = Vec::with_capacity(key.len() + 3);
        written.push(b'"');
        escape_into(&mut written, key);
        written.push(b'"');
        written.extend_from_slice(&self.frame.colon);
        let at = self.next;
        self.next += 1;
        self.added.insert(key.to_owned(), at);
        let body = Body::One {
            key: Cow::Owned(written),
            value,
            at: None,
        };
        self.put(at, Part { gap: None, body });
    }

    /// Takes out all occurrences of a key, unless something in them is withheld; returns the last value.
    pub(crate) fn remove(
        &mut self,
        key: &str,
        looks: &mut Looks<'d, '_>,
    ) -> Result<Option<Node<'d>>, EditErrorKind> {
        let (at, value) = match self.place(key, looks)? {
            Place::Absent | Place::Withheld => return Ok(None),
            Place::Part(at) => (at, self.value_at(at).cloned()),
            Place::Run(at, member) => (at, Some(Node::Raw(member))),
        };
        let Some(value) = value else {
            return Ok(None);
        };
        if value.holds_withheld(looks)? {
            return Err(EditErrorKind::NotAllowed);
        }
        if self.added.remove(key).is_some() {
            self.take(at);
            return Ok(Some(value));
        }
        if let Member::Found(last) = looks.member(self.frame.base, key)? {
            for occurrence in looks.occurrences(self.frame.base, last, key)? {
                let is_shadowed = occurrence.ordinal() != last.ordinal();
                if is_shadowed && looks.last_withheld_in(occurrence)?.is_some() {
                    return Err(EditErrorKind::NotAllowed);
                }
                let Some(at) = self.part_of(self.frame.offset(occurrence)) else {
                    continue;
                };
                let is_run = self.value_at(at).is_none();
                let at = if is_run {
                    self.separate(at, occurrence)
                } else {
                    Some(at)
                };
                at.and_then(|at| self.take(at));
            }
        }
        Ok(Some(value))
    }
}
