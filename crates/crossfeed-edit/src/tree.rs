//! A document in the course of an edit: the bytes of untouched values, and in their places those that an edit
//! brings. Only objects and lists on the way to a change are taken apart, into as few pieces as there are
//! changes; a copy shares its pieces with the original.

mod list;
mod object;

use crate::{error::EditErrorKind, looks::Looks};
use crossfeed_json::{Cursor, Kind};
pub(crate) use list::List;
pub(crate) use object::{Found, Object};
use std::{borrow::Cow, ops::Range, rc::Rc};

/// A value.
#[derive(Clone)]
pub(crate) enum Node<'d> {
    /// A value of the document, or of the edit, as it is written.
    Raw(Cursor<'d>),
    Object(Rc<Object<'d>>),
    List(Rc<List<'d>>),
}

impl<'d> Node<'d> {
    pub(crate) fn kind(&self) -> Kind {
        match self {
            Self::Raw(value) => value.kind(),
            Self::Object(_) => Kind::Object,
            Self::List(_) => Kind::Array,
        }
    }

    /// The bytes that it is written in.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Raw(value) => value.raw().len(),
            Self::Object(object) => object.len(),
            Self::List(list) => list.len(),
        }
    }

    /// Appends the bytes of the value.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        // Depth is bounded by `EditLimits::depth`, which each change keeps.
        match self {
            Self::Raw(value) => out.extend_from_slice(value.raw()),
            Self::Object(object) => object.write(out),
            Self::List(list) => list.write(out),
        }
    }

    /// The object to change, taken apart and no longer shared; `None` for any other value.
    pub(crate) fn object_mut(
        &mut self,
        looks: &mut Looks<'d, '_>,
    ) -> Result<Option<&mut Object<'d>>, EditErrorKind> {
        if let Self::Raw(value) = self
            && value.kind() == Kind::Object
        {
            *self = Self::Object(Rc::new(Object::new(*value)));
        }
        let Self::Object(object) = self else {
            return Ok(None);
        };
        if Rc::strong_count(object) > 1 {
            looks.budget.spend(object.part_count() * CLONED_PART)?;
        }
        Ok(Some(Rc::make_mut(object)))
    }

    /// The list to change, taken apart and no longer shared; `None` for any other value.
    pub(crate) fn list_mut(
        &mut self,
        looks: &mut Looks<'d, '_>,
    ) -> Result<Option<&mut List<'d>>, EditErrorKind> {
        if let Self::Raw(value) = self
            && value.kind() == Kind::Array
        {
            *self = Self::List(Rc::new(List::new(*value, looks)?));
        }
        let Self::List(list) = self else {
            return Ok(None);
        };
        if Rc::strong_count(list) > 1 {
            looks.budget.spend(list.part_count() * CLONED_PART)?;
        }
        Ok(Some(Rc::make_mut(list)))
    }

    /// Whether lists and objects nest deeper than `limit` here.
    pub(crate) fn is_deeper(
        &self,
        limit: usize,
        looks: &mut Looks<'d, '_>,
    ) -> Result<bool, EditErrorKind> {
        let (frame, parts) = match self {
            Self::Raw(value) => return looks.is_deeper(*value, limit),
            Self::Object(object) => (&object.frame, object.parts().collect::<Vec<_>>()),
            Self::List(list) => (&list.frame, list.parts().collect()),
        };
        let Some(limit) = limit.checked_sub(1) else {
            return Ok(true);
        };
        looks.budget.spend(parts.len())?;
        // Shared values may have been looked at before: the budget bounds how often.
        for part in &parts {
            if let Body::One { value, .. } = &part.body
                && value.is_deeper(limit, looks)?
            {
                return Ok(true);
            }
        }
        if frame.base.document_depth() - frame.base.depth() <= limit + 1 {
            return Ok(false);
        }
        for child in frame.raw_children(&parts, looks)? {
            if looks.is_deeper(child, limit)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether some value in this one, at any depth, is withheld.
    pub(crate) fn holds_withheld(&self, looks: &mut Looks<'d, '_>) -> Result<bool, EditErrorKind> {
        let (frame, parts) = match self {
            Self::Raw(value) => return Ok(looks.last_withheld_in(*value)?.is_some()),
            Self::Object(object) => (&object.frame, object.parts().collect::<Vec<_>>()),
            Self::List(list) => (&list.frame, list.parts().collect()),
        };
        looks.budget.spend(parts.len())?;
        for part in &parts {
            if let Body::One { value, .. } = &part.body
                && value.holds_withheld(looks)?
            {
                return Ok(true);
            }
        }
        let mut runs = frame.runs(&parts).peekable();
        for withheld in looks.withheld_in(frame.base)? {
            while runs.next_if(|run| run.end <= withheld).is_some() {}
            if runs.peek().is_some_and(|run| run.contains(&withheld)) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// A part that is cloned takes as many bytes as so many values have in an index.
const CLONED_PART: usize = 16;

/// A piece of an object or a list.
#[derive(Clone)]
pub(crate) struct Part<'d> {
    /// The comma before it and the blanks around that, unless it is the first; `None` for those that the frame
    /// gives to additions.
    gap: Option<&'d [u8]>,
    body: Body<'d>,
}

#[derive(Clone)]
pub(crate) enum Body<'d> {
    /// Neighbours as they are written, in bytes of the frame's base.
    Run {
        range: Range<usize>,
        /// Of a list: the index of the first visible item in the base, and how many there are.
        first: usize,
        count: usize,
    },
    /// One member or item.
    One {
        /// Of a member: the key and its colon, as they are written.
        key: Cow<'d, [u8]>,
        value: Node<'d>,
        /// The offset in the base of the value that was here first; `None` for additions.
        at: Option<usize>,
    },
}

impl Body<'_> {
    fn len(&self) -> usize {
        match self {
            Self::Run { range, .. } => range.len(),
            Self::One { key, value, .. } => key.len().saturating_add(value.len()),
        }
    }
}

/// The brackets of an object or a list, and the blanks within.
#[derive(Clone)]
pub(crate) struct Frame<'d> {
    pub(crate) base: Cursor<'d>,
    /// The blanks after the opening bracket and before the closing one.
    head: &'d [u8],
    tail: &'d [u8],
    /// What stands between an addition and the child before it: what stands before the base's last child.
    style: Cow<'d, [u8]>,
    /// The same between a key and its value.
    colon: Cow<'d, [u8]>,
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\t' | b'\r')
}

/// The offset after the blanks at `at`.
fn after_blanks(raw: &[u8], at: usize) -> usize {
    let rest = raw.get(at..).unwrap_or_default();
    at + rest.iter().take_while(|byte| is_blank(**byte)).count()
}

/// The offset where the blanks before `at` begin.
fn before_blanks(raw: &[u8], at: usize) -> usize {
    let before = raw.get(..at).unwrap_or_default();
    at - before
        .iter()
        .rev()
        .take_while(|byte| is_blank(**byte))
        .count()
}

impl<'d> Frame<'d> {
    /// The frame of a raw object or list, and the bytes of its children, without outer blanks.
    fn new(base: Cursor<'d>) -> (Self, Range<usize>) {
        let raw = base.raw();
        let close = raw.len().saturating_sub(1);
        let start = after_blanks(raw, 1).min(close);
        let end = before_blanks(raw, close).max(start);
        let mut frame = Self {
            base,
            head: b"",
            tail: b"",
            style: Cow::Borrowed(b","),
            colon: Cow::Borrowed(b":"),
        };
        let Some(last) = base.last_child() else {
            return (frame, start..start);
        };
        (frame.head, frame.tail) = (&raw[1..start], &raw[end..close]);
        let first = frame.child_start(last);
        if base.kind() == Kind::Object {
            let key_end = first + last.key().raw().len() + 2;
            frame.colon = Cow::Borrowed(&raw[key_end..frame.offset(last)]);
        }
        frame.style = if first > start {
            Cow::Borrowed(&raw[frame.end_before(first)..first])
        } else if frame.head.is_empty() {
            Cow::Borrowed(b",")
        } else {
            Cow::Owned([b",", frame.head].concat())
        };
        (frame, start..end)
    }

    /// The offset of a value in the base.
    pub(crate) fn offset(&self, child: Cursor<'_>) -> usize {
        child.offset() - self.base.offset()
    }

    /// The offset of a child with its key.
    fn child_start(&self, child: Cursor<'_>) -> usize {
        let value = self.offset(child);
        if self.base.kind() != Kind::Object {
            return value;
        }
        let raw = self.base.raw();
        let colon = before_blanks(raw, value).saturating_sub(1);
        let key_end = before_blanks(raw, colon);
        key_end.saturating_sub(child.key().raw().len() + 2)
    }

    /// The end of the child before the one that starts at `start`.
    fn end_before(&self, start: usize) -> usize {
        let raw = self.base.raw();
        let comma = before_blanks(raw, start).saturating_sub(1);
        before_blanks(raw, comma)
    }

    /// The start of the child after the one that ends at `end`.
    fn start_after(&self, end: usize) -> usize {
        let raw = self.base.raw();
        let comma = after_blanks(raw, end);
        after_blanks(raw, comma + 1)
    }

    fn gap<'s>(&'s self, part: &Part<'d>) -> &'s [u8] {
        part.gap.unwrap_or(&self.style)
    }

    /// The bytes that a part is written in, unless it is the first.
    fn part_len(&self, part: &Part<'d>) -> usize {
        self.gap(part).len().saturating_add(part.body.len())
    }

    /// The bytes of all, if parts with these bytes begin with `first`.
    fn len(&self, parts: usize, first: Option<&Part<'d>>) -> usize {
        let Some(first) = first else {
            return 2;
        };
        let frame = 2 + self.head.len() + self.tail.len();
        parts
            .saturating_add(frame)
            .saturating_sub(self.gap(first).len())
    }

    fn write<'p>(&self, parts: impl Iterator<Item = &'p Part<'d>>, out: &mut Vec<u8>)
    where
        'd: 'p,
    {
        let is_object = self.base.kind() == Kind::Object;
        out.push(if is_object { b'{' } else { b'[' });
        let mut is_empty = true;
        for part in parts {
            out.extend_from_slice(if is_empty { self.head } else { self.gap(part) });
            is_empty = false;
            match &part.body {
                Body::Run { range, .. } => out.extend_from_slice(&self.base.raw()[range.clone()]),
                Body::One { key, value, .. } => {
                    out.extend_from_slice(key);
                    value.write(out);
                }
            }
        }
        if !is_empty {
            out.extend_from_slice(self.tail);
        }
        out.push(if is_object { b'}' } else { b']' });
    }

    /// The offsets of runs in the document of the base.
    fn runs<'p>(&self, parts: &[&'p Part<'d>]) -> impl Iterator<Item = Range<usize>> {
        let start = self.base.offset();
        let runs = parts.iter().filter_map(move |part| match &part.body {
            Body::Run { range, .. } => Some(start + range.start..start + range.end),
            Body::One { .. } => None,
        });
        runs.collect::<Vec<_>>().into_iter()
    }

    /// The children in runs, as they are written.
    fn raw_children(
        &self,
        parts: &[&Part<'d>],
        looks: &mut Looks<'d, '_>,
    ) -> Result<Vec<Cursor<'d>>, EditErrorKind> {
        let mut runs = self.runs(parts).peekable();
        let mut children = Vec::new();
        looks.budget.spend(self.base.len().unwrap_or_default())?;
        let members = self.base.written_members().map(|member| member.value);
        let items = self.base.items();
        let items = items.filter(|_| self.base.kind() == Kind::Array);
        for child in members.chain(items) {
            while runs.next_if(|run| run.end <= child.offset()).is_some() {}
            if runs.peek().is_some_and(|run| run.contains(&child.offset())) {
                children.push(child);
            }
        }
        Ok(children)
    }

    /// Cuts a run around one of its children.
    fn split(&self, run: Range<usize>, gap: Option<&'d [u8]>, child: Cursor<'d>) -> Cut<'d> {
        let raw = self.base.raw();
        let value = self.offset(child);
        let start = self.child_start(child);
        let end = value + child.raw().len();
        let before = (start > run.start).then(|| run.start..self.end_before(start));
        let after = (end < run.end).then(|| self.start_after(end)..run.end);
        Cut {
            gap: before
                .as_ref()
                .map_or(gap, |before| Some(&raw[before.end..start])),
            after_gap: after.as_ref().map(|after| &raw[end..after.start]),
            key: &raw[start..value],
            value,
            start,
            before,
            after,
        }
    }
}

/// A run around one child.
struct Cut<'d> {
    before: Option<Range<usize>>,
    gap: Option<&'d [u8]>,
    key: &'d [u8],
    /// The offset of the child's value, and with its key.
    value: usize,
    start: usize,
    after_gap: Option<&'d [u8]>,
    after: Option<Range<usize>>,
}
