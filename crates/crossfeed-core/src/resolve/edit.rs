//! The edit of a reference, made on its value.

use super::{
    fill::{ResolvedValue, digits_of, failure},
    origin::Origin,
    plan::PlannedReference,
    substitute::Substituter,
};
use crate::{
    arguments::{Documents, Tree},
    canonical::StoredItem,
    error::{LimitError, ReferenceEditError},
    failure::Error,
    latest::same_call,
    lineage::{ReferenceEdit, ReferenceSource},
};
use bytes::Bytes;
use crossfeed_edit::{EditError, EditErrorKind, EditLimits, IsWithheld, Merge, Patch, TextEdits};
use crossfeed_jmespath::{OutputTooLarge, Unrepresentable, View};
use crossfeed_json::{Cursor, Document, Kind, indexing_bytes, quoted};
use crossfeed_wire::{
    CallId,
    reference::{EditKind, Malformed, WrittenEdit},
};
use std::collections::{HashMap, HashSet};

impl<'p, 'a, T: Tree<'a>> Substituter<'p, 'a, '_, T> {
    /// Makes the edit of a reference, if it has one and it was not made.
    pub(super) fn edit(&mut self, reference: usize, arguments: &mut T) {
        let plan = self.plan;
        let planned = &plan.references[reference];
        let (Some(planned_edit), Some(written)) = (&planned.edit, &planned.reference.edit) else {
            return;
        };
        let Some(number) = self.numbers[reference] else {
            return;
        };
        if self.values[number].source.edit.is_some() {
            return;
        }
        let content = match &planned_edit.at {
            None => None,
            Some(at) => {
                // It was there when the arguments were walked over.
                let Some(content) = arguments.at_mut(at) else {
                    let key = written.key.clone();
                    let error = self.malformed(Malformed::EditInText(key), &planned.at);
                    self.failures.push(failure(planned, error));
                    self.numbers[reference] = None;
                    return;
                };
                Some(content.take())
            }
        };
        // What an edit holds that has failed is told, not that the edit fails without it.
        if !planned_edit.is_plain && !self.failures.is_empty() {
            self.numbers[reference] = None;
            return;
        }
        self.numbers[reference] = match self.edited(planned, written, number, content) {
            Ok(value) => {
                self.values[number].uses -= 1;
                self.values.push(value);
                Some(self.values.len() - 1)
            }
            Err(error) => {
                self.failures.push(failure(planned, error));
                None
            }
        };
    }

    /// The value of a reference with the edit made.
    fn edited(
        &mut self,
        planned: &'p PlannedReference,
        written: &WrittenEdit,
        number: usize,
        content: Option<T>,
    ) -> Result<ResolvedValue<'a, T>, Error> {
        let context = self.context;
        let (arena, documents) = (&context.arena.arena, &context.arena.documents);
        let limits = context.limits;
        limits.in_time()?;
        let reserve = |bytes: usize| {
            let reserved = arena.reservation().reserve(bytes);
            reserved.map_err(LimitError::from)
        };
        let content = match content {
            Some(content) => content.to_json(context.memory).map_err(LimitError::from)?,
            None => written.content.to_string().into(),
        };
        reserve(content.len().saturating_add(indexing_bytes(&content)))?;
        let content = Document::new(content);
        let resolved = &self.values[number];
        // The value is counted again as it comes out.
        let room = self.left.saturating_add(resolved.counted);
        let edits = limits.edits.copied().unwrap_or_default();
        let edits = edits.with_bytes(edits.bytes.min(room));
        let refused = |error, fitting| ReferenceEditError::Refused {
            key: written.key.clone(),
            error,
            fitting,
        };
        let root = content.root().map_err(LimitError::Unreadable)?;
        let edit = Edit::read(written, root, &edits).map_err(|error| refused(error, None))?;
        let too_large = |_| self.too_large();
        let view = match (&resolved.origin, resolved.value.as_view()) {
            (Origin::Result(view), _) | (Origin::Default(_), Some(view)) => view.clone(),
            (Origin::Default(default), None) => documents.view(default.to_string()),
        };
        let is_built = view.as_cursor().is_none();
        let value = in_document(&view, documents, room).map_err(too_large)?;
        if is_built {
            reserve(
                value
                    .raw()
                    .len()
                    .saturating_add(indexing_bytes(value.raw())),
            )?;
        }
        let seen = self.seen(planned, resolved)?;
        let seen = seen.map(|seen| in_document(&seen, documents, room));
        let seen = seen.transpose().map_err(too_large)?;
        // What comes out; of a text that holds JSON also that, with its index, and what may be seen of it.
        let copies = match view.kind() {
            Kind::String => 4,
            _ => 1,
        };
        let built = value.raw().len().saturating_mul(copies);
        reserve(built.saturating_add(content.raw().len()))?;
        let json = edit.apply(value, seen, &edits).map_err(|error| {
            let fitting = is_bare(resolved).then(|| edit.fitting_member(value, seen, &edits));
            refused(error, fitting.flatten())
        })?;
        reserve(indexing_bytes(&json))?;
        let view = documents.view(json);
        let built = T::from_view(&view, room);
        let (value, size) = built.map_err(|error| match error {
            Unrepresentable::Number(error) => Error::Limit(LimitError::Number(error)),
            _ => self.too_large(),
        })?;
        self.left = room
            .checked_sub(size.counted())
            .ok_or_else(|| self.too_large())?;
        let resolved = &self.values[number];
        Ok(ResolvedValue {
            tokens: context.tally.count_view(&view, size.json),
            counted: size.counted(),
            digits: (view.kind() == Kind::Number).then(|| digits_of(&view)),
            source: ReferenceSource {
                edit: Some(ReferenceEdit {
                    kind: written.kind,
                    bytes: content.raw().len(),
                    superseded_by: self.superseded_by(planned),
                }),
                bytes_out: size.json,
                ..resolved.source.clone()
            },
            origin: Origin::Result(view),
            value,
            uses: 1,
        })
    }

    /// The later call with the same arguments as the one that a reference names.
    fn superseded_by(&self, planned: &PlannedReference) -> Option<CallId> {
        let stored = self.context.results.get(planned.wanted)?.as_ref().ok()?;
        let StoredItem::Result(result) = stored.as_stored() else {
            return None;
        };
        let (_, scope) = self.context.declared;
        let same = same_call(scope, result)?;
        let latest = self.context.latest?;
        latest.after(&same, &planned.reference.call_id)
    }

    /// What may be seen of the value of a reference that passes it on unseen; `None` if that is all of it.
    fn seen(
        &self,
        planned: &PlannedReference,
        resolved: &ResolvedValue<'a, T>,
    ) -> Result<Option<View<'a>>, Error> {
        let context = self.context;
        let Some(Ok(whole)) = context.results.get(planned.wanted) else {
            return Ok(None);
        };
        if !is_bare(resolved) || !context.reveal.hides() {
            return Ok(None);
        }
        let Some(shown) = whole.cut(context.reveal)? else {
            return Ok(None);
        };
        let arena = context.arena;
        let shown = arena.redacted.push_get(Box::new(shown));
        let budget = context.limits.budget(shown.document(), &arena.arena);
        Ok(Some(shown.views(&arena.arena, &budget)?.bare))
    }
}

/// Whether a reference passes all of its result on.
fn is_bare<'a, T: Tree<'a>>(resolved: &ResolvedValue<'a, T>) -> bool {
    resolved.source.select.is_none() && !resolved.source.used_default
}

/// An edit as it was read.
pub(super) enum Edit {
    Patch(Patch),
    Merge(Merge),
    Text(TextEdits),
}

impl Edit {
    /// Reads an edit from its content. That of a patch and of text edits, which are lists, may be JSON in a text; that of
    /// a merge in a list of references, too, whose schema has no place for any value.
    pub(super) fn read(
        written: &WrittenEdit,
        content: Cursor<'_>,
        limits: &EditLimits,
    ) -> Result<Self, EditError> {
        let text = content.as_str().filter(|_| opens_text(written));
        let held = text.map(|text| Document::new(text.into_owned()));
        let content = held
            .as_ref()
            .and_then(|held| held.root().ok())
            .unwrap_or(content);
        Ok(match written.kind {
            EditKind::Patch => Self::Patch(Patch::read_json(content, limits)?),
            EditKind::Merge => Self::Merge(Merge::read_json(content, limits)?),
            EditKind::Text => Self::Text(TextEdits::read_json(content, limits)?),
        })
    }

    /// The JSON of a value with the edit made. A patch or a merge of a text that holds an object or a list is made within
    /// that, and a text comes out. `seen` is what may be seen of the value, if that is not all.
    pub(super) fn apply(
        &self,
        value: Cursor<'_>,
        seen: Option<Cursor<'_>>,
        limits: &EditLimits,
    ) -> Result<Bytes, EditError> {
        if let Self::Text(edits) = self {
            if seen.is_some_and(|seen| seen.as_str() != value.as_str()) {
                return Err(not_allowed());
            }
            return edits.apply(value, limits);
        }
        let text = value.as_str().unwrap_or_default();
        let Some(held) = held(&text) else {
            return self.apply_within(value, seen, limits);
        };
        let root = held.root().map_err(|_| not_allowed())?;
        let seen = seen.map(|seen| Document::new(seen.as_str().unwrap_or_default().into_owned()));
        let seen = seen.as_ref().map(Document::root).transpose();
        let seen = seen.map_err(|_| not_allowed())?;
        let within = self.apply_within(root, seen, limits)?;
        // Blanks around the JSON stay.
        let ends = root.offset() + root.raw().len();
        let before = text.get(..root.offset()).unwrap_or_default();
        let behind = text.get(ends..).unwrap_or_default();
        let within = String::from_utf8_lossy(&within);
        Ok(quoted(&format!("{before}{within}{behind}")).into())
    }

    /// The member of an object with which the edit could be made: its only text. Tools wrap one in an object that a model
    /// does not see.
    fn fitting_member(
        &self,
        value: Cursor<'_>,
        seen: Option<Cursor<'_>>,
        limits: &EditLimits,
    ) -> Option<String> {
        const MAX_MEMBERS: usize = 32;
        if value.kind() != Kind::Object || value.len()? > MAX_MEMBERS {
            return None;
        }
        let mut texts = value
            .members()
            .filter(|(_, own)| own.kind() == Kind::String);
        let (key, text) = texts.next().filter(|_| texts.next().is_none())?;
        let key = key.text().into_owned();
        let is_plain = |char: char| char.is_ascii_alphabetic() || char == '_';
        if !key.chars().all(is_plain) {
            return None;
        }
        let seen = match seen {
            Some(seen) => Some(seen.get(&key)?),
            None => None,
        };
        self.apply(text, seen, limits).ok()?;
        Some(key)
    }

    fn apply_within(
        &self,
        value: Cursor<'_>,
        seen: Option<Cursor<'_>>,
        limits: &EditLimits,
    ) -> Result<Bytes, EditError> {
        let mut withheld = HashSet::new();
        if let Some(seen) = seen {
            note_withheld(value, seen, &mut withheld);
        }
        if withheld.contains(&value.ordinal()) {
            return Err(not_allowed());
        }
        let is_withheld = |value: Cursor<'_>| withheld.contains(&value.ordinal());
        let is_withheld: Option<IsWithheld<'_>> = Some(&is_withheld);
        let is_withheld = is_withheld.filter(|_| !withheld.is_empty());
        match self {
            Self::Patch(patch) => patch.apply(value, is_withheld, limits),
            Self::Merge(merge) => merge.apply(value, is_withheld, limits),
            Self::Text(edits) => edits.apply(value, limits),
        }
    }
}

/// Whether the content of an edit is read as JSON where it is a text. A merge may be a text.
pub(super) fn opens_text(written: &WrittenEdit) -> bool {
    written.kind != EditKind::Merge || written.key == written.kind.as_str()
}

fn not_allowed() -> EditError {
    EditError::from(EditErrorKind::NotAllowed)
}

/// The object or list that a text holds.
fn held(text: &str) -> Option<Document> {
    if !text.trim_start().starts_with(['{', '[']) {
        return None;
    }
    let document = Document::new(text.to_owned());
    document.root().is_ok().then_some(document)
}

/// Notes the members and items of a value that are not in what may be seen of it. Redaction takes members out and changes
/// texts; of a list with fewer items it is not known which of them are left, so none of it counts as seen.
fn note_withheld(value: Cursor<'_>, seen: Cursor<'_>, withheld: &mut HashSet<u32>) {
    let is_other = match (value.kind(), seen.kind()) {
        (Kind::Object, Kind::Object) => {
            let seen: HashMap<_, _> = seen.members().map(|(key, it)| (key.text(), it)).collect();
            for member in value.written_members() {
                match seen.get(&member.key.text()) {
                    Some(&seen) => note_withheld(member.value, seen, withheld),
                    None => drop(withheld.insert(member.value.ordinal())),
                }
            }
            false
        }
        (Kind::Array, Kind::Array) if value.len() == seen.len() => {
            for (item, seen) in value.items().zip(seen.items()) {
                note_withheld(item, seen, withheld);
            }
            false
        }
        (Kind::String, Kind::String) => value.as_str() != seen.as_str(),
        (Kind::Array | Kind::Object, _) => true,
        _ => value.raw() != seen.raw(),
    };
    if is_other {
        withheld.insert(value.ordinal());
    }
}

/// A value as a place in a document, which is written if it was built.
fn in_document<'a>(
    view: &View<'a>,
    documents: &'a Documents,
    most: usize,
) -> Result<Cursor<'a>, OutputTooLarge> {
    if let Some(cursor) = view.as_cursor() {
        return Ok(cursor);
    }
    let mut json = Vec::new();
    view.write(&mut json, most)?;
    let written = documents.view(json);
    written.as_cursor().ok_or(OutputTooLarge { limit: most })
}
