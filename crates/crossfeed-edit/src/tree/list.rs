//! A list in the course of an edit. Indexes count the items that can be seen.

use super::{Body, Cut, Frame, Node, Part};
use crate::{error::EditErrorKind, looks::Looks};
use crossfeed_json::Cursor;
use std::{borrow::Cow, ops::Range};

/// A list of which some item is changed.
#[derive(Clone)]
pub(crate) struct List<'d> {
    pub(crate) frame: Frame<'d>,
    parts: Vec<Part<'d>>,
    /// The bytes of all parts and the gaps before them.
    bytes: usize,
    /// The items that can be seen.
    count: usize,
}

/// Where an item is.
pub(crate) struct ItemPlace<'d> {
    part: usize,
    /// The item in a run, and the items of the run before it.
    raw: Option<(Cursor<'d>, usize)>,
}

fn run(range: Range<usize>, first: usize, count: usize) -> Body<'static> {
    Body::Run {
        range,
        first,
        count,
    }
}

impl<'d> List<'d> {
    pub(super) fn new(base: Cursor<'d>, looks: &mut Looks<'d, '_>) -> Result<Self, EditErrorKind> {
        let (frame, range) = Frame::new(base);
        let count = looks.item_count(base)?;
        let mut list = Self {
            frame,
            parts: Vec::new(),
            bytes: 0,
            count,
        };
        if !range.is_empty() {
            let body = run(range, 0, count);
            list.insert_part(0, Part { gap: None, body });
        }
        Ok(list)
    }

    pub(super) fn part_count(&self) -> usize {
        self.parts.len()
    }

    pub(super) fn parts(&self) -> impl Iterator<Item = &Part<'d>> {
        self.parts.iter()
    }

    pub(super) fn len(&self) -> usize {
        self.frame.len(self.bytes, self.parts.first())
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        self.frame.write(self.parts(), out);
    }

    /// The number of items that can be seen.
    pub(crate) fn item_count(&self) -> usize {
        self.count
    }

    fn insert_part(&mut self, at: usize, part: Part<'d>) {
        self.bytes = self.bytes.saturating_add(self.frame.part_len(&part));
        self.parts.insert(at, part);
    }

    fn take_part(&mut self, at: usize) -> Part<'d> {
        let part = self.parts.remove(at);
        self.bytes = self.bytes.saturating_sub(self.frame.part_len(&part));
        part
    }

    /// Where the item `index` is; `None` if there are fewer.
    pub(crate) fn place(
        &self,
        index: usize,
        looks: &mut Looks<'d, '_>,
    ) -> Result<Option<ItemPlace<'d>>, EditErrorKind> {
        let mut before = 0;
        for (at, part) in self.parts.iter().enumerate() {
            let (first, count) = match &part.body {
                Body::Run { first, count, .. } => (Some(*first), *count),
                Body::One { .. } => (None, 1),
            };
            if index < before + count {
                looks.budget.spend(at / 16 + 1)?;
                let Some(first) = first else {
                    return Ok(Some(ItemPlace {
                        part: at,
                        raw: None,
                    }));
                };
                let skipped = index - before;
                let item = looks.item(self.frame.base, first + skipped)?;
                return Ok(item.map(|item| ItemPlace {
                    part: at,
                    raw: Some((item, skipped)),
                }));
            }
            before += count;
        }
        looks.budget.spend(self.parts.len() / 16 + 1)?;
        Ok(None)
    }

    /// The value at a place.
    pub(crate) fn value(&self, place: &ItemPlace<'d>) -> Option<Node<'d>> {
        match (place.raw, &self.parts.get(place.part)?.body) {
            (Some((item, _)), _) => Some(Node::Raw(item)),
            (None, Body::One { value, .. }) => Some(value.clone()),
            (None, Body::Run { .. }) => None,
        }
    }

    /// The items that can be seen.
    pub(crate) fn items(&self, looks: &mut Looks<'d, '_>) -> Result<Vec<Node<'d>>, EditErrorKind> {
        let visible = looks.children(self.frame.base)?;
        let mut items = Vec::with_capacity(self.count);
        looks.budget.spend(self.parts.len())?;
        for part in &self.parts {
            match &part.body {
                Body::Run { first, count, .. } => {
                    let run = visible.get(*first..*first + *count).unwrap_or_default();
                    items.extend(run.iter().map(|item| Node::Raw(*item)));
                }
                Body::One { value, .. } => items.push(value.clone()),
            }
        }
        Ok(items)
    }

    /// Fails if a value that is withheld would get another index: if one is in the base at `offset` or after
    /// it.
    fn check_shift(
        &self,
        offset: Option<usize>,
        looks: &mut Looks<'d, '_>,
    ) -> Result<(), EditErrorKind> {
        let (Some(offset), Some(last)) = (offset, looks.last_withheld(self.frame.base)?) else {
            return Ok(());
        };
        if last >= self.frame.base.offset() + offset {
            return Err(EditErrorKind::NotAllowed);
        }
        Ok(())
    }

    /// The offset in the base of the first value in the parts from `at` on.
    fn base_offset(&self, at: usize) -> Option<usize> {
        let parts = self.parts.get(at..).unwrap_or_default();
        parts.iter().find_map(|part| match &part.body {
            Body::Run { range, .. } => Some(range.start),
            Body::One { at, .. } => *at,
        })
    }

    /// The same for a place.
    fn place_offset(&self, place: &ItemPlace<'d>) -> Option<usize> {
        match place.raw {
            Some((item, _)) => Some(self.frame.offset(item)),
            None => self.base_offset(place.part),
        }
    }

    /// Cuts a run: what is before the item, and what begins with it. Returns the number of the part that begins
    /// with it.
    fn cut_before(&mut self, place: &ItemPlace<'d>) -> usize {
        let Some((item, skipped)) = place.raw else {
            return place.part;
        };
        let part = self.take_part(place.part);
        let Body::Run {
            range,
            first,
            count,
        } = part.body
        else {
            self.insert_part(place.part, part);
            return place.part;
        };
        let end = range.end;
        let Cut {
            before, gap, start, ..
        } = self.frame.split(range, part.gap, item);
        let mut at = place.part;
        if let Some(before) = before {
            let body = run(before, first, skipped);
            self.insert_part(
                at,
                Part {
                    gap: part.gap,
                    body,
                },
            );
            at += 1;
        }
        let body = run(start..end, first + skipped, count - skipped);
        self.insert_part(at, Part { gap, body });
        at
    }

    /// Gives an item a part of its own, and returns its number.
    fn separate(&mut self, place: &ItemPlace<'d>) -> usize {
        let at = self.cut_before(place);
        let Some((item, _)) = place.raw else {
            return at;
        };
        let part = self.take_part(at);
        let Body::Run {
            range,
            first,
            count,
        } = part.body
        else {
            self.insert_part(at, part);
            return at;
        };
        let cut = self.frame.split(range, part.gap, item);
        let body = Body::One {
            key: Cow::Borrowed(b""),
            value: Node::Raw(item),
            at: Some(cut.value),
        };
        self.insert_part(
            at,
            Part {
                gap: part.gap,
                body,
            },
        );
        if let Some(after) = cut.after {
            let body = run(after, first + 1, count.saturating_sub(1));
            self.insert_part(
                at + 1,
                Part {
                    gap: cut.after_gap,
                    body,
                },
            );
        }
        at
    }

    /// Changes the item at a place.
    pub(crate) fn change<T>(
        &mut self,
        place: &ItemPlace<'d>,
        looks: &mut Looks<'d, '_>,
        change: impl FnOnce(&mut Node<'d>, &mut Looks<'d, '_>) -> Result<T, EditErrorKind>,
    ) -> Result<Option<T>, EditErrorKind> {
        let at = self.separate(place);
        let Some(Part {
            body: Body::One { value, .. },
            ..
        }) = self.parts.get_mut(at)
        else {
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

    /// Adds an item before the one at a place, or after the last.
    pub(crate) fn insert(
        &mut self,
        place: Option<&ItemPlace<'d>>,
        value: Node<'d>,
        looks: &mut Looks<'d, '_>,
    ) -> Result<(), EditErrorKind> {
        let at = match place {
            Some(place) => {
                self.check_shift(self.place_offset(place), looks)?;
                self.cut_before(place)
            }
            None => self.parts.len(),
        };
        let body = Body::One {
            key: Cow::Borrowed(b""),
            value,
            at: None,
        };
        self.insert_part(at, Part { gap: None, body });
        self.count += 1;
        Ok(())
    }

    /// Takes out the item at a place.
    pub(crate) fn remove(
        &mut self,
        place: &ItemPlace<'d>,
        looks: &mut Looks<'d, '_>,
    ) -> Result<Option<Node<'d>>, EditErrorKind> {
        self.check_shift(self.place_offset(place), looks)?;
        let at = self.separate(place);
        let value = match self.take_part(at).body {
            Body::One { value, .. } => value,
            Body::Run { .. } => return Ok(None),
        };
        if value.holds_withheld(looks)? {
            return Err(EditErrorKind::NotAllowed);
        }
        self.count -= 1;
        Ok(Some(value))
    }
}
