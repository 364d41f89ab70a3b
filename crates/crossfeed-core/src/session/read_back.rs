//! Reading the arguments of a call back from what the model was shown, as bytes.
//!
//! Only what may have to be read back is built as values; the rest is left out of these, and keeps its bytes.

use super::json::read;
use crate::{
    arguments::{Removed, Room, unheld_number},
    error::LimitError,
    failure::{Failure, ResolveError},
    tool::failure,
};
use bytes::Bytes;
use crossfeed_json::{Cursor, Document, Kind, quoted};
use crossfeed_tools::{ListedTool, Names, Outline, Taken};
use crossfeed_wire::{Pointer, reference::COPIED};
use serde_json::{Map, Value};
use std::{borrow::Cow, collections::HashMap};

/// How often the values that are built of arguments are there while they are read back.
const COPIES: usize = 3;

/// Arguments that were read back.
pub(super) struct ReadBack {
    pub(super) document: Document,
    /// Members that are in the document, and not in the arguments.
    pub(super) removed: Removed,
    pub(super) asked: Taken,
}

/// Reads arguments back, each key of which stands once. Where members only go, the document stays, and its
/// index with it.
///
/// # Errors
///
/// What cannot be read back; [`LimitError::ArgumentsTooLarge`] where that takes more than `limit` bytes,
/// and [`LimitError::WrittenNumber`] where a number that no value holds would be changed.
pub(super) fn read_back(
    listed: &ListedTool,
    document: Document,
    limit: usize,
) -> Result<ReadBack, ResolveError> {
    let mut back = ReadBack {
        document,
        removed: Removed::default(),
        asked: Taken::default(),
    };
    let Ok(root) = back.document.root() else {
        return Ok(back);
    };
    let mut room = Room::new(limit);
    let mut take = |values, bytes| room.take(COPIES * values, bytes);
    let Some(outline) = listed.outline(root, &mut take)? else {
        return Ok(back);
    };
    let mut value = outline.value().clone();
    back.asked = listed.take_projection(&mut value);
    let value = listed
        .read_counted(value, take)?
        .map_err(|errors| ResolveError::new(errors.into_iter().map(failure).collect()))?;
    let mut removed = Removed::default();
    let root_at = Pointer::root();
    if is_removed_only(
        &outline,
        root,
        (outline.value(), &value),
        &root_at,
        &mut removed,
    ) {
        back.removed = removed;
        return Ok(back);
    }
    let mut again = NumberPreservingWriter {
        names: listed.names(),
        outline: &outline,
        chunks: Vec::new(),
        open: Vec::new(),
        has_most: false,
    };
    again.write(&value, Some(root));
    let unheld = || unheld_number(root, &Pointer::root());
    if let Some((at, error)) = again.has_most.then(unheld).flatten() {
        return Err(Failure::new(at, LimitError::WrittenNumber(error)).into());
    }
    let NumberPreservingWriter {
        mut chunks, open, ..
    } = again;
    chunks.push(open.into());
    // The first index is gone before the second is built.
    drop(outline);
    drop(back.document);
    // Reading back may have made it deeper.
    back.document = read(Document::new(chunks.concat()))?;
    Ok(back)
}

/// Whether reading back did no more than take members away, which are added to `removed`.
fn is_removed_only(
    outline: &Outline<'_>,
    written: Cursor<'_>,
    (before, after): (&Value, &Value),
    at: &Pointer,
    removed: &mut Removed,
) -> bool {
    if outline.left_out(before).is_some() {
        return before == after;
    }
    match (before, after) {
        (Value::Array(before), Value::Array(after)) => {
            let mut items = before.iter().zip(after).zip(written.items()).enumerate();
            before.len() == after.len()
                && items.all(|(index, (values, item))| {
                    is_removed_only(outline, item, values, &at.index(index), removed)
                })
        }
        (Value::Object(before), Value::Object(after)) => {
            let mut after = after.iter().peekable();
            for ((key, before), member) in before.iter().zip(written.items()) {
                let is_same = match after.next_if(|(left, _)| *left == key) {
                    // The grammar reads this as a whole.
                    Some((_, after)) if COPIED.contains(&key.as_str()) => before == after,
                    Some((_, after)) => {
                        is_removed_only(outline, member, (before, after), &at.key(key), removed)
                    }
                    None => {
                        removed.add(at, key, member);
                        true
                    }
                };
                if !is_same {
                    return false;
                }
            }
            after.next().is_none()
        }
        (before, after) => before == after,
    }
}

/// Writes arguments again after they were read back.
struct NumberPreservingWriter<'n, 'd> {
    names: &'n Names,
    outline: &'n Outline<'d>,
    chunks: Vec<Bytes>,
    open: Vec<u8>,
    /// Whether the number that stands for those beyond was written, and nobody knows what for.
    has_most: bool,
}

impl<'d> NumberPreservingWriter<'_, 'd> {
    /// Writes a value: what was left out, and scalars, as they are written in what the value is read
    /// from, if that is known for certain. Reading back bounded its depth.
    fn write(&mut self, value: &Value, written: Option<Cursor<'d>>) {
        if let Some(left_out) = self.outline.left_out(value) {
            let before = std::mem::take(&mut self.open);
            self.chunks.extend([before.into(), left_out.shared()]);
            return;
        }
        match value {
            Value::Array(items) => {
                // Reading back neither moves items nor takes any away.
                let written = written.filter(|list| list.len() == Some(items.len()));
                let mut written = written.into_iter().flat_map(Cursor::items);
                self.open.push(b'[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        self.open.push(b',');
                    }
                    self.write(item, written.next());
                }
                self.open.push(b']');
            }
            Value::Object(members) => {
                let written = written.into_iter().flat_map(Cursor::members);
                let written = written.map(|(key, value)| (key.text(), value));
                let written: HashMap<_, _> = written.collect();
                self.open.push(b'{');
                for (index, (key, value)) in members.iter().enumerate() {
                    if index > 0 {
                        self.open.push(b',');
                    }
                    self.open.extend_from_slice(quoted(key).as_bytes());
                    self.open.push(b':');
                    self.write(value, self.source(key, members, &written));
                }
                self.open.push(b'}');
            }
            scalar => {
                let same = written.filter(|written| {
                    !matches!(written.kind(), Kind::Array | Kind::Object)
                        && written.to_nearest_value() == *scalar
                });
                match same {
                    Some(same) => self.open.extend_from_slice(same.raw()),
                    None => {
                        let read = scalar.as_f64().map(f64::abs);
                        self.has_most |= read == Some(f64::MAX);
                        self.open.extend_from_slice(scalar.to_string().as_bytes());
                    }
                }
            }
        }
    }

    /// What the member `key` was read from: the member of that name, or of the name that it is shown
    /// under; nothing where it may be either.
    fn source<'w>(
        &self,
        key: &str,
        members: &Map<String, Value>,
        written: &HashMap<Cow<'_, str>, Cursor<'w>>,
    ) -> Option<Cursor<'w>> {
        let own = written.get(key);
        let shown = self.names.shown(key);
        let renamed = written.get(shown).filter(|_| shown != key);
        match (own, renamed, members.contains_key(shown)) {
            (own, None, _) => own.copied(),
            (Some(own), Some(_), true) => Some(*own),
            (None, Some(renamed), false) => Some(*renamed),
            _ => None,
        }
    }
}
