//! The parts of `content`.

use super::CONTENT;
use crossfeed_json::{Cursor, Document, Edits, Kind, quoted};

/// The text of a text part.
fn text_of(part: Cursor<'_>) -> Option<Cursor<'_>> {
    let kind = part.get("type").and_then(Cursor::as_str);
    let text = part.get("text").filter(|text| text.kind() == Kind::String);
    text.filter(|_| kind.as_deref() == Some("text"))
}

/// The list or object that the only text part of a result holds as JSON.
pub(super) fn only_json(root: Cursor<'_>) -> Option<Document> {
    let content = root
        .get(CONTENT)
        .filter(|list| list.kind() == Kind::Array)?;
    let mut texts = content.items().filter_map(text_of);
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

/// Replaces the first text part by the projected text; all others stay.
pub(super) fn regenerate(root: Cursor<'_>, json: &[u8], edits: &mut Edits<'_>) {
    let Some(content) = root.get(CONTENT) else {
        return;
    };
    let mut first = None;
    edits.remove_items(content, |part| {
        text_of(part).is_some_and(|text| first.replace(first.unwrap_or(text)).is_some())
    });
    if let Some(text) = first {
        edits.replace(text, quoted(&String::from_utf8_lossy(json)).into_bytes());
    }
}
