//! The parts of `content`.

use super::CONTENT;
use crossfeed_json::{Cursor, Document, Edits, Kind, quoted};

/// One part, and its text where it is a text part.
#[derive(Clone, Copy)]
pub(super) struct Part<'a> {
    pub(super) part: Cursor<'a>,
    pub(super) text: Option<Cursor<'a>>,
}

pub(super) fn of(root: Cursor<'_>) -> Vec<Part<'_>> {
    let content = root.get(CONTENT).filter(|list| list.kind() == Kind::Array);
    let parts = content.into_iter().flat_map(Cursor::items);
    parts
        .map(|part| {
            let kind = part.get("type").and_then(Cursor::as_str);
            let text = part.get("text").filter(|text| text.kind() == Kind::String);
            Part {
                part,
                text: text.filter(|_| kind.as_deref() == Some("text")),
            }
        })
        .collect()
}

/// The list or object that the only text part holds as JSON.
pub(super) fn only_json(parts: &[Part<'_>]) -> Option<Document> {
    let mut texts = parts.iter().filter_map(|part| part.text);
    let text = texts.next()?;
    if texts.next().is_some() {
        return None;
    }
    let document = Document::new(text.as_str()?.into_owned());
    let is_container = document
        .root()
        .is_ok_and(|root| matches!(root.kind(), Kind::Array | Kind::Object));
    is_container.then_some(document)
}

/// One text part that says what was projected, in the place of the first; all others stay.
pub(super) fn regenerate(parts: &[Part<'_>], json: &[u8], edits: &mut Edits<'_>) {
    let mut texts = 0;
    for (at, part) in parts.iter().enumerate() {
        let Some(text) = part.text else { continue };
        texts += 1;
        if texts == 1 {
            let json = String::from_utf8_lossy(json);
            edits.replace(text, quoted(&json).into_bytes());
        } else if let Some(before) = at.checked_sub(1).and_then(|at| parts.get(at)) {
            edits.remove_behind(before.part, part.part);
        }
    }
}
