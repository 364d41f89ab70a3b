//! Members of a server's result that only the gateway may write: the model acts on them.
//!
//! What comes in: a result as a server gave it. What goes out: the same for the reader, in which such a
//! member says that the server wrote it. Its value stays, and what is recorded stays as it came.
//! Deliberately not here: keys of `_meta`, which are taken out.

use super::whole::{CONTENT, STRUCTURED};
use crossfeed_json::{Cursor, Document, Edits, Kind, quoted};
use crossfeed_wire::internal;
use memchr::memmem;
use std::borrow::Cow;

/// What stands behind the key of such a member.
const MARK: &str = " (written by the server)";

/// With what other keys of the gateway's begin.
const OTHERS: &str = "_crossfeed";

fn is_ours(key: &str) -> bool {
    internal::is_internal(key) || (key.starts_with(OTHERS) && !key.ends_with(MARK))
}

/// Whether JSON, or a text, may hold such a key, be it written as an escape.
pub(super) fn may_hold(bytes: &[u8]) -> bool {
    let keys = internal::FIELDS.iter().copied().chain([OTHERS]);
    let mut keys = keys.map(|key| memmem::find(bytes, key.as_bytes()).is_some());
    keys.any(|is_there| is_there) || crate::members::may_hold(bytes, internal::TOOL_CALL_ID)
}

/// Marks such members in the texts of a result's parts and in its structured content.
pub(super) fn mark(edits: &mut Edits<'_>, root: Cursor<'_>) {
    if !may_hold(root.raw()) {
        return;
    }
    for part in root.get(CONTENT).into_iter().flat_map(Cursor::items) {
        let held = part.get("resource").and_then(|own| own.get("text"));
        for text in [part.get("text"), held].into_iter().flatten() {
            if let Some(marked) = text.as_str().and_then(|text| marked(&text)) {
                edits.replace(text, quoted(&marked));
            }
        }
    }
    if let Some(own) = root.get(STRUCTURED) {
        mark_members(edits, own);
    }
}

fn mark_members(edits: &mut Edits<'_>, object: Cursor<'_>) {
    if object.kind() != Kind::Object {
        return;
    }
    for member in object.written_members() {
        if is_ours(&member.key.text()) {
            edits.extend_key(&member, MARK);
        }
    }
}

/// A text with such members marked: of the object that it is, or that a line of it is. None where there
/// are none.
pub(super) fn marked(text: &str) -> Option<String> {
    if !may_hold(text.as_bytes()) {
        return None;
    }
    if let Some(marked) = object_marked(text) {
        return marked;
    }
    let lines: Vec<_> = text
        .split_inclusive(['\n', '\r'])
        .map(|line| match object_marked(line).flatten() {
            Some(marked) => Cow::Owned(marked),
            None => Cow::Borrowed(line),
        })
        .collect();
    let is_marked = lines.iter().any(|line| matches!(line, Cow::Owned(_)));
    is_marked.then(|| lines.concat())
}

/// None where the text is no object; nothing where it has no such members.
fn object_marked(text: &str) -> Option<Option<String>> {
    if !text.trim_start().starts_with('{') || !may_hold(text.as_bytes()) {
        return None;
    }
    let document = Document::new(text.to_owned());
    let root = document.root().ok()?;
    let mut edits = Edits::new(document.raw());
    mark_members(&mut edits, root);
    Some(match edits.done() {
        Cow::Borrowed(_) => None,
        Cow::Owned(bytes) => String::from_utf8(bytes).ok(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(marked(text).as_deref().unwrap_or(text), expected);
        // What is marked is not marked again.
        assert_eq!(marked(expected), None);
    }

    #[test]
    fn members_at_the_top_are_marked() {
        check(
            r#"{"_toolCallId":"call_1"}"#,
            r#"{"_toolCallId (written by the server)":"call_1"}"#,
        );
        check(
            r#" { "a" : 1.50, "_tool\u0043allId" : 1, "_structureHints":[], "_id":{} } "#,
            r#" { "a" : 1.50, "_tool\u0043allId (written by the server)" : 1, "_structureHints (written by the server)":[], "_id":{} } "#,
        );
        check(
            "done\n{\"_crossfeedPreview\":1}\r\n{\"a\":1}",
            "done\n{\"_crossfeedPreview (written by the server)\":1}\r\n{\"a\":1}",
        );
        for text in [
            r#"{"a":{"_toolCallId":"call_1"}}"#,
            r#"the call has the `_toolCallId` call_1"#,
            r#"["_toolCallId"]"#,
            r#"{"_id":1,"_toolCall":2}"#,
            r#"{"_toolCallId":"#,
            "",
        ] {
            check(text, text);
        }
    }
}
