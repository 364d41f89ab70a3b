//! A large result shown as a preview.
//!
//! What comes in: a result, and the engine's preview of it. What goes out: the result with the preview
//! in place of its content, and without structured content: nothing in it can be read as the data.
//! Images and sounds stay: a model sees or hears them, whatever they take as text. Other binary data
//! is described, and can be referred to.

use super::{
    Show, foreign,
    whole::{CONTENT, Clean, STRUCTURED, text_part, withheld_note},
};
use crate::{members::put_all, tools::members::take_out};
use crossfeed_json::{Cursor, Document, Edits};

/// Images and sounds that are kept beside a preview.
const KEPT: usize = 16;
/// The member that holds what does not conform to the schema that is listed.
pub(in crate::tools) const AS_TEXT: &str = "_crossfeedText";

/// The result as it is shown; `text` is the engine's preview.
pub(super) fn preview(clean: &Clean<'_>, text: &str, show: &Show) -> Option<Vec<u8>> {
    let root = clean.document.root().ok()?;
    // Nothing of the server's own passes for the gateway's.
    let marked = foreign::marked(text);
    let mut parts = vec![text_part(marked.as_deref().unwrap_or(text))];
    keep_media(root, &mut parts);
    parts.extend(withheld_note(root, show).map(text_part));
    let mut edits = Edits::new(clean.document.raw());
    take_out(&mut edits, root, |key| key == STRUCTURED);
    let without = Document::new(edits.done().into_owned());
    let root = without.root().ok()?;
    let mut edits = Edits::new(without.raw());
    put_all(
        &mut edits,
        root,
        &[(CONTENT, format!("[{}]", parts.join(",")))],
    );
    Some(edits.done().into_owned())
}

/// Puts images and sounds behind the preview.
fn keep_media(root: Cursor<'_>, parts: &mut Vec<String>) {
    let content = root.get(CONTENT);
    let items = content.into_iter().flat_map(Cursor::items);
    let media = items.filter(|part| {
        let kind = part.get("type").and_then(Cursor::as_str);
        matches!(kind.as_deref(), Some("image" | "audio"))
    });
    let raw = |part: Cursor<'_>| String::from_utf8_lossy(part.raw()).into_owned();
    parts.extend(media.take(KEPT).map(raw));
}
