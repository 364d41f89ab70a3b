//! Reads the arguments of a call back from the schema that the model was shown, as bytes. Values are built only of parts
//! that may change; the rest keeps its bytes.

use super::json::read;
use crate::{
    arguments::{RemovedMembers, Room, unheld_number},
    error::LimitError,
    failure::{Failure, ResolveError},
    tool::not_readable,
};
use bytes::Bytes;
use crossfeed_json::{Cursor, Document, Kind, quoted};
use crossfeed_tools::{ListedTool, Names, Outline, TakenProjection};
use crossfeed_wire::{Pointer, reference::is_copied};
use serde_json::{Map, Value};
use std::{borrow::Cow, collections::HashMap};

/// The most copies of the values built from arguments while they are read back.
const MAX_COPIES: usize = 3;

/// Arguments that were read back.
pub(super) struct RestoredArguments {
    pub(super) document: Document,
    /// Members of the document that are not in the arguments.
    pub(super) removed: RemovedMembers,
    pub(super) asked: TakenProjection,
}

/// Reads back arguments without duplicate keys. If members are only removed, the document and its index stay.
///
/// # Errors
///
/// The part that cannot be read back; [`LimitError::ArgumentsTooLarge`] if that takes more than `limit`
/// bytes, and [`LimitError::WrittenNumber`] if a number beyond 64-bit floats would change.
pub(super) fn read_back(
    listed: &ListedTool,
    document: Document,
    limit: usize,
) -> Result<RestoredArguments, ResolveError> {
    let mut back = RestoredArguments {
        document,
        removed: RemovedMembers::default(),
        asked: TakenProjection::default(),
    };
    let Ok(root) = back.document.root() else {
        return Ok(back);
    };
    let mut room = Room::new(limit);
    let mut take = |values, bytes| room.take(MAX_COPIES * values, bytes);
    let Some(outline) = listed.outline(root, &mut take)? else {
        return Ok(back);
    };
    let mut value = outline.value().clone();
    back.asked = listed.take_projection(&mut value);
    let value = listed.read_counted(value, take)?.map_err(not_readable)?;
    let mut removed = RemovedMembers::default();
    let (at, values) = (Pointer::root(), (outline.value(), &value));
    if is_removed_only(&outline, root, values, &at, &mut removed) {
        back.removed = removed;
        return Ok(back);
    }
    let mut writer = NumberPreservingWriter {
        names: listed.names(),
        outline: &outline,
        chunks: Vec::new(),
        open: Vec::new(),
        has_largest: false,
    };
    writer.write(&value, Some(root));
    let unheld = || unheld_number(root, &at);
    if let Some((at, error)) = writer.has_largest.then(unheld).flatten() {
        return Err(Failure::new(at, LimitError::WrittenNumber(error)).into());
    }
    writer.chunks.push(writer.open.into());
    let json = writer.chunks.concat();
    // The first index is freed before the second is built.
    drop(outline);
    drop(back.document);
    // Reading back may have made it deeper.
    back.document = read(Document::new(json))?;
    Ok(back)
}

/// Whether reading back only removed members, which are added to `removed`.
fn is_removed_only(
    outline: &Outline<'_>,
    written: Cursor<'_>,
    (before, after): (&Value, &Value),
    at: &Pointer,
    removed: &mut RemovedMembers,
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
                let is_same = match after.next_if(|(kept, _)| *kept == key) {
                    // The grammar of references reads this as a whole.
                    Some((_, after)) if is_copied(key) => before == after,
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

/// Writes arguments after they were read back.
struct NumberPreservingWriter<'n, 'd> {
    names: &'n Names,
    outline: &'n Outline<'d>,
    chunks: Vec<Bytes>,
    open: Vec<u8>,
    /// Whether it wrote the largest float, which also replaces larger numbers, from an unknown source.
    has_largest: bool,
}

impl<'d> NumberPreservingWriter<'_, 'd> {
    /// Writes a value. Parts that were left out, and scalars of a known source, keep their bytes. Reading back bounded
    /// the depth.
    fn write(&mut self, value: &Value, written: Option<Cursor<'d>>) {
        if let Some(left_out) = self.outline.left_out(value) {
            let before = std::mem::take(&mut self.open);
            self.chunks.extend([before.into(), left_out.shared()]);
            return;
        }
        match value {
            Value::Array(items) => {
                // Reading back neither moves nor removes items.
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
                let written: HashMap<_, _> =
                    written.map(|(key, value)| (key.text(), value)).collect();
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
                if let Some(same) = same {
                    self.open.extend_from_slice(same.raw());
                } else {
                    self.has_largest |= scalar.as_f64().map(f64::abs) == Some(f64::MAX);
                    self.open.extend_from_slice(scalar.to_string().as_bytes());
                }
            }
        }
    }

    /// The member that `key` was read from: of that name, or of the name under which it is shown; `None` if it may be
    /// either.
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
