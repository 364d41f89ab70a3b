//! A large result shown as a preview.
//!
//! What comes in: a result, and the engine's rendering of it. What goes out: the result with the
//! rendering in place of its content and structured content. Images and sounds stay: a model sees or
//! hears them, whatever they take as text. Other binary data is described, and can be referred to.

use super::{
    Show, foreign,
    whole::{CONTENT, Clean, STRUCTURED, text_part, withheld_note},
};
use crate::members::put_all;
use crossfeed_json::{Cursor, Document, Edits, Kind};
use crossfeed_wire::internal;
use serde_json::{Map, Value, json};

/// Images and sounds that are kept beside a preview.
const KEPT: usize = 16;
/// The member that holds a preview which does not conform to the schema that is listed.
pub(in crate::tools) const AS_TEXT: &str = "_crossfeedText";

/// The result as it is shown; `rendered` is the engine's rendering.
pub(super) fn preview(clean: &Clean<'_>, rendered: &str, show: &Show) -> Option<Vec<u8>> {
    let root = clean.document.root().ok()?;
    let rendering = Document::new(rendered.to_owned());
    let rendering = rendering.root().ok()?;
    let mut parts: Vec<String> = rendering
        .get(CONTENT)
        .into_iter()
        .flat_map(Cursor::items)
        .enumerate()
        // The engine's own part comes first; behind it are those of the server, as far as they are shown.
        .map(|(at, part)| match at {
            0 => String::from_utf8_lossy(part.raw()).into_owned(),
            _ => shown_part(part),
        })
        .collect();
    let told = parts.first().and_then(|part| told(part));
    let own = root.get(STRUCTURED);
    let structured = rendering
        .get(STRUCTURED)
        .filter(|own| own.kind() == Kind::Object);
    if clean.text.is_some()
        && let Some(cut) = rendering.get(STRUCTURED)
    {
        parts.push(text_part(&String::from_utf8_lossy(cut.raw())));
    }
    keep_media(root, &mut parts);
    parts.extend(withheld_note(root, show).map(text_part));
    let mut edits = Edits::new(clean.document.raw());
    let wanted = !show.offered.has_page && (own.is_some() || show.offered.has_output());
    let json = wanted.then(|| admitted(structured, told, show).to_string());
    let content = format!("[{}]", parts.join(","));
    let mut put = Vec::new();
    if let Some(json) = json {
        put.push((STRUCTURED, json));
    }
    put.push((CONTENT, content));
    put_all(&mut edits, root, &put);
    Some(edits.done().into_owned())
}

/// A part of the server's own, in which nothing passes for the engine's.
fn shown_part(part: Cursor<'_>) -> String {
    let text = part.get("text").and_then(Cursor::as_str);
    match text.and_then(|text| foreign::marked(&text)) {
        Some(marked) => text_part(&marked),
        None => String::from_utf8_lossy(part.raw()).into_owned(),
    }
}

/// What the engine says of a result in a part of its own.
fn told(part: &str) -> Option<Map<String, Value>> {
    let part: Value = serde_json::from_str(part).ok()?;
    let text = part.get("text")?.as_str()?;
    match serde_json::from_str(text).ok()? {
        Value::Object(told) => Some(told),
        _ => None,
    }
}

/// Structured content that conforms to what is listed, and says what was cut.
fn admitted(
    structured: Option<Cursor<'_>>,
    told: Option<Map<String, Value>>,
    show: &Show,
) -> Value {
    let told: Map<_, _> = told
        .unwrap_or_default()
        .into_iter()
        .filter(|(key, _)| internal::is_internal(key) && key != internal::PARTS)
        .collect();
    let mut members = match structured.map(Cursor::to_nearest_value) {
        Some(Value::Object(members)) => members,
        _ => Map::new(),
    };
    let text = Value::Object(members.clone()).to_string();
    members.extend(told.clone());
    let cut = Value::Object(members);
    if show.offered.admits(&cut) {
        return cut;
    }
    // Fields of ours are refused by no schema that is listed.
    let mut members = told;
    if structured.is_some() {
        members.insert(AS_TEXT.to_owned(), json!(text));
    }
    Value::Object(members)
}

/// Puts images and sounds in place of what describes them, or behind all parts.
fn keep_media(root: Cursor<'_>, parts: &mut Vec<String>) {
    let content = root.get(CONTENT);
    let items = content.into_iter().flat_map(Cursor::items).enumerate();
    let media = items.filter(|(_, part)| {
        let kind = part.get("type").and_then(Cursor::as_str);
        matches!(kind.as_deref(), Some("image" | "audio"))
    });
    for (index, part) in media.take(KEPT) {
        let raw = String::from_utf8_lossy(part.raw()).into_owned();
        // The engine's own part comes first.
        match parts.get_mut(index + 1) {
            Some(described) if described.contains(", not shown") => *described = raw,
            _ => parts.push(raw),
        }
    }
}
