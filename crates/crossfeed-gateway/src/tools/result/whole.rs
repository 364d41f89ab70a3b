//! A result shown whole, with its call id in every copy that a model may be shown.
//!
//! The id stands in a part behind the others and in the structured content, so that every part keeps its place.
//! Structured content that does not conform to what is listed becomes a text.

use super::{Show, foreign, has_failed};
use crate::{
    members::{may_hold, object, with_members},
    withhold::WITHHELD_MARK,
};
use bytes::Bytes;
use crossfeed_core::Notices;
use crossfeed_json::{Cursor, Document, Edits, Kind, quoted};
use crossfeed_wire::internal;
use serde_json::{Map, Value, json};
use std::borrow::Cow;

pub(super) const CONTENT: &str = "content";
pub(super) const STRUCTURED: &str = "structuredContent";
pub(super) const META: &str = "_meta";
/// Keys of `_meta` that only a gateway may write.
pub(super) const OURS: &str = "dev.crossfeed/";
/// What the gateway says beside a result, in its `_meta`.
pub(super) const NOTICES: &str = "dev.crossfeed/notices";
/// What it says of the call, where a model reads it.
const SHOWN_NOTICES: &str = "_crossfeedNotices";

/// Whether only the gateway may say a member of `_meta`, and did not. That something was withheld, it
/// said before the result came here, of servers with `withholds`.
pub(super) fn is_claim(key: &str, withholds: bool) -> bool {
    key.starts_with(OURS) && !(withholds && key == WITHHELD_MARK)
}

/// Takes out what another says under our keys, in the `_meta` of a result and of everything in it but
/// structured content, which is data.
pub(super) fn take_claims(
    edits: &mut Edits<'_>,
    root: Cursor<'_>,
    withholds: bool,
    keeps: Option<&str>,
) {
    if !may_hold(root.raw(), META) || !may_hold(root.raw(), OURS) {
        return;
    }
    if let Some(meta) = root.get(META) {
        edits.remove_members(meta, |key| is_claim(key, withholds) && keeps != Some(key));
    }
    // Of the result of a task the gateway says in it that something was withheld.
    let task = root.get("task").unwrap_or(root);
    let of_task = task.get("result").filter(|_| withholds);
    let of_task = of_task.and_then(|result| result.get(META));
    let of_task = of_task.map(Cursor::offset);
    let members = root.members();
    let parts = members.filter(|(key, _)| !matches!(&*key.text(), META | STRUCTURED));
    let mut open: Vec<_> = parts.map(|(_, value)| value).collect();
    while let Some(value) = open.pop() {
        if let Some(meta) = value.get(META) {
            let is_own = of_task == Some(meta.offset());
            edits.remove_members(meta, |key| is_claim(key, is_own));
        }
        open.extend(value.items());
    }
}

/// A result without what must not be passed on.
pub(super) struct Clean<'d> {
    came: &'d Document,
    /// What it was changed to, if it was.
    changed: Option<Document>,
    /// What was structured content, and cannot be for this client: its text has to be there.
    pub(super) text: Option<String>,
}

impl Clean<'_> {
    pub(super) fn document(&self) -> &Document {
        self.changed.as_ref().unwrap_or(self.came)
    }
}

/// Takes out or marks what another said under our keys, and takes out structured content that the client refuses: before
/// 2026-07-28 it is an object or nothing, and nothing else could carry the call id.
pub(super) fn clean<'d>(document: &'d Document, show: &Show) -> Option<Clean<'d>> {
    let root = document
        .root()
        .ok()
        .filter(|root| root.kind() == Kind::Object)?;
    let mut edits = Edits::new(document.raw());
    take_claims(&mut edits, root, show.passing.withholds, show.said.keeps);
    foreign::mark(&mut edits, root);
    let is_kept = |own: &Cursor<'_>| {
        own.kind() == Kind::Object || (show.offered.has_page && show.passing.is_stateless)
    };
    let refused = root.get(STRUCTURED).filter(|own| !is_kept(own));
    let mut text = None;
    if let Some(own) = refused {
        edits.remove_members(root, |key| key == STRUCTURED);
        if own.kind() != Kind::Null {
            let own = String::from_utf8_lossy(own.raw());
            text = Some(foreign::marked(&own).unwrap_or_else(|| own.into_owned()));
        }
    }
    let changed = match edits.done() {
        Cow::Borrowed(_) => None,
        Cow::Owned(bytes) => Some(Document::new(bytes)),
    };
    Some(Clean {
        came: document,
        changed,
        text,
    })
}

/// The result as it is shown.
pub(super) fn whole(clean: &Clean<'_>, show: &Show) -> Option<Vec<u8>> {
    let root = clean.document().root().ok()?;
    let mut edits = Edits::new(clean.document().raw());
    let own = root.get(STRUCTURED);
    let mut text = clean.text.clone();
    let mut put = Vec::new();
    // What a call failed with keeps its structure as it came.
    let is_ours = |own: &Cursor<'_>| {
        own.kind() == Kind::Object && !show.offered.has_page && !has_failed(root)
    };
    if let Some(own) = own.filter(is_ours) {
        let id = show.said.call_id.as_deref().map(quoted);
        let said = [(internal::TOOL_CALL_ID, id), (SHOWN_NOTICES, notices(show))];
        let said: Vec<_> = said
            .into_iter()
            .filter_map(|(key, own)| Some((key, own?)))
            .collect();
        edits.set_members(own, &said);
    }
    let content = root.get(CONTENT).filter(|own| own.kind() == Kind::Array);
    let parts = content.and_then(Cursor::len).unwrap_or_default();
    if parts == 0 {
        // Every result has content: for clients that read nothing else.
        text = text.or_else(|| own.map(|own| String::from_utf8_lossy(own.raw()).into_owned()));
    } else if let Some(own) = &text
        && content.is_some_and(|content| says(content, own))
    {
        text = None;
    }
    let mut added: Vec<String> = text.as_deref().map(text_part).into_iter().collect();
    let note = show
        .said
        .note
        .as_deref()
        .or_else(|| withheld_note(root, show));
    let said = said(show, note, parts + added.len(), own.is_some());
    added.extend(said.map(|said| text_part(&said)));
    if !added.is_empty() || content.is_none() {
        let added = added.join(",");
        match (content, content.and_then(|content| content.items().last())) {
            (_, Some(last)) => edits.insert_behind(last, format!(",{added}")),
            (Some(content), None) => edits.replace(content, format!("[{added}]")),
            (None, None) => put.push((CONTENT, format!("[{added}]").into())),
        }
    }
    if let Some(meta) = meta_with_notices(root, show) {
        put.push((META, meta));
    }
    edits.set_members(root, &put);
    Some(edits.done().into_owned())
}

/// What the gateway says of the call, as JSON.
fn notices(show: &Show) -> Option<String> {
    let notices = &show.said.notices;
    (!notices.is_empty()).then(|| json!(notices.to_lines()).to_string())
}

/// The `_meta` of a result with notices in it; none where there are none.
pub(super) fn meta_with_notices(root: Cursor<'_>, show: &Show) -> Option<Bytes> {
    let ours = [(NOTICES, Bytes::from(notices(show)?))];
    let own = root.get(META).filter(|own| own.kind() == Kind::Object);
    Some(match own {
        Some(own) => with_members(&Bytes::copy_from_slice(own.raw()), &ours),
        None => object(&ours),
    })
}

/// The part of content that says notices, where nothing else is said.
pub(super) fn notices_part(show: &Show) -> Option<String> {
    let notices = notices(show)?;
    Some(text_part(&format!("{{\"{SHOWN_NOTICES}\":{notices}}}")))
}

/// A result of the gateway's own, and what is to be said of its call: behind it for a model, in `_meta` for all.
pub(in crate::tools) fn with_notices(result: &mut Value, notices: &Notices, is_model: bool) {
    if notices.is_empty() {
        return;
    }
    let notices = notices.to_lines();
    if let Some(parts) = result[CONTENT].as_array_mut().filter(|_| is_model) {
        let text = json!({SHOWN_NOTICES: notices}).to_string();
        parts.push(json!({"type": "text", "text": text}));
    }
    result[META][NOTICES] = json!(notices);
}

/// Whether a text part repeats the structured content, as the protocol asks servers to.
fn says(content: Cursor<'_>, structured: &str) -> bool {
    let mut texts = content.items().filter_map(|part| {
        let kind = part.get("type").and_then(Cursor::as_str);
        kind.filter(|kind| kind == "text")?;
        part.get("text")?.as_str()
    });
    let is_same = |text: &str| {
        let read = |text: &str| serde_json::from_str::<Value>(text).ok();
        text.trim() == structured.trim()
            || read(text).is_some_and(|own| Some(own) == read(structured))
    };
    texts.any(|text| is_same(&text))
}

/// A part of content.
pub(super) fn text_part(text: &str) -> String {
    format!("{{\"type\":\"text\",\"text\":{}}}", quoted(text))
}

/// The note for a model that something of a result was withheld.
pub(super) fn withheld_note(result: Cursor<'_>, show: &Show) -> Option<&'static str> {
    let is_cut = show.passing.withholds && result.get(META)?.get(WITHHELD_MARK).is_some();
    is_cut.then_some("the gateway's configuration withholds parts of this result")
}

/// What the gateway says in a part of its own.
fn said(show: &Show, note: Option<&str>, parts: usize, is_structured: bool) -> Option<String> {
    let mut said = Map::new();
    if let Some(id) = &show.said.call_id {
        said.insert(internal::TOOL_CALL_ID.to_owned(), json!(id));
        let digest = show.said.digest.iter();
        said.extend(digest.map(|own| (internal::RESULT_DIGEST.to_owned(), json!(own))));
        if parts > 1 && !is_structured {
            let how = "refer to the parts above as [0], [1], …";
            said.insert(internal::PARTS.to_owned(), json!(how));
        }
    }
    if let Some(note) = note {
        said.insert("_crossfeedNote".to_owned(), json!(note));
    }
    if !show.said.notices.is_empty() {
        said.insert(
            SHOWN_NOTICES.to_owned(),
            json!(show.said.notices.to_lines()),
        );
    }
    (!said.is_empty()).then(|| Value::Object(said).to_string())
}
