//! A large result shown as a preview: the engine's text in place of its content, and no structured content, so
//! that no program can take it for the data.
//!
//! Images and sounds stay, since a model sees or hears them. Other binary data is described, and can be referred to.

use super::{
    Show, foreign, has_failed,
    whole::{CONTENT, Clean, META, meta_with_notices, notices_part, text_part, withheld_note},
};
use crate::{members::object, tools::builtin::READ};
use crossfeed_json::Cursor;
use crossfeed_wire::internal;
use serde_json::json;

/// Images and sounds that are kept beside a preview.
const MAX_MEDIA: usize = 16;

/// The result as it is shown; `text` is the engine's preview.
pub(super) fn preview(clean: &Clean<'_>, text: &str, show: &Show) -> Option<Vec<u8>> {
    let root = clean.document().root().ok()?;
    // Nothing of the server's own passes for the gateway's. The lines around it are the engine's, which has
    // marked those of the server in what stands between.
    let marked = foreign::marked_keys(text);
    let text = marked.as_deref().unwrap_or(text);
    let failed = has_failed(root);
    let said = failed.then(|| said_by_server(text)).flatten();
    let mut parts = vec![text_part(said.as_deref().unwrap_or(text))];
    parts.extend(media(root));
    parts.extend(withheld_note(root, show).map(text_part));
    if let Some(call_id) = show.said.call_id.as_deref().filter(|_| failed) {
        let how =
            format!("the call failed: no reference takes its result, and `{READ}` reads all of it");
        let said = json!({internal::TOOL_CALL_ID: call_id, "_crossfeedNote": how});
        parts.push(text_part(&said.to_string()));
    }
    if let Some(note) = &show.said.note {
        let said = json!({"_crossfeedNote": note});
        parts.push(text_part(&said.to_string()));
    }
    parts.extend(notices_part(show));
    let content = format!("[{}]", parts.join(","));
    // Of all others the preview says that they are not shown.
    let meta = meta_with_notices(root, show);
    let own = |key| Some(root.get(key)?.raw());
    let kept = [
        (META, meta.as_deref().or_else(|| own(META))),
        ("resultType", own("resultType")),
        ("isError", own("isError")),
    ];
    let mut members = vec![(CONTENT, content.as_bytes())];
    members.extend(kept.into_iter().filter_map(|(key, own)| Some((key, own?))));
    Some(object(&members).into())
}

/// A preview whose data begins as the gateway's own failures do says that it is the server's.
fn said_by_server(text: &str) -> Option<String> {
    let (notice, data) = text.split_once('\n')?;
    let data = foreign::said_by_server(data)?;
    Some(format!("{notice}\n{data}"))
}

/// The images and sounds of a result, as they came; none where there are too many, since some of them could be
/// taken for all.
fn media(root: Cursor<'_>) -> impl Iterator<Item = String> {
    let content = root.get(CONTENT);
    let items = content.into_iter().flat_map(Cursor::items);
    let media = items.filter(|part| {
        let kind = part.get("type").and_then(Cursor::as_str);
        matches!(kind.as_deref(), Some("image" | "audio"))
    });
    let media: Vec<_> = media.take(MAX_MEDIA + 1).collect();
    let kept = media.len() <= MAX_MEDIA;
    let media = media.into_iter().filter(move |_| kept);
    media.map(|part| String::from_utf8_lossy(part.raw()).into_owned())
}
