//! The edit of a reference, made on its value.

use crate::arguments::Documents;
use bytes::Bytes;
use crossfeed_edit::{EditError, EditErrorKind, EditLimits, IsWithheld, Merge, Patch, TextEdits};
use crossfeed_jmespath::{OutputTooLarge, View};
use crossfeed_json::{Cursor, Document, Kind, quoted};
use crossfeed_wire::reference::{EditKind, WrittenEdit};
use std::collections::{HashMap, HashSet};

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
        (Kind::Array, _) => true,
        (Kind::Object, _) => true,
        _ => value.raw() != seen.raw(),
    };
    if is_other {
        withheld.insert(value.ordinal());
    }
}

/// A value as a place in a document, which is written if it was built.
pub(super) fn in_document<'a>(
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
