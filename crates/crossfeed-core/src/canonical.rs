//! The canonical value of a recorded result, which references and selectors see, by the rules of
//! `specs/canonical-value.md`.

use crate::error::LimitError;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use crossfeed_jmespath::{Arena, Budget, Cost, Kind, View};
use crossfeed_json::{Cursor, Document};
use crossfeed_store::{ResultKind, StoredArtifact, StoredResult};
use crossfeed_wire::{
    TraceContext,
    internal::{FIELDS, is_internal},
};
use data_encoding::HEXLOWER;
use sha2::{Digest as _, Sha256};
use std::{borrow::Cow, sync::Arc};

/// The media type of bytes of an unknown kind.
pub(crate) const UNKNOWN_MEDIA: &str = "application/octet-stream";

/// A stored result, or an artifact of one: the target of a reference.
#[derive(Clone, Debug)]
pub(crate) enum StoredItem {
    Result(Arc<StoredResult>),
    Artifact(Arc<StoredArtifact>),
}

/// Calls a method that results and artifacts both have.
macro_rules! either {
    ($stored:expr, $method:ident) => {
        match $stored {
            Self::Result(result) => result.$method(),
            Self::Artifact(artifact) => artifact.$method(),
        }
    };
}

impl StoredItem {
    pub(crate) fn document(&self) -> &Document {
        either!(self, document)
    }

    pub(crate) fn resident_bytes(&self) -> usize {
        either!(self, resident_bytes)
    }

    /// Whether the call may be made again without harm.
    pub(crate) fn repeatable(&self) -> bool {
        either!(self, repeatable)
    }

    pub(crate) fn tool(&self) -> Option<&str> {
        either!(self, tool)
    }

    /// The length of the recorded document, of which this may be an excerpt.
    pub(crate) fn recorded_bytes(&self) -> usize {
        let length = self.document().raw().len();
        match self {
            Self::Result(result) => result.excerpt_of().unwrap_or(length),
            Self::Artifact(_) => length,
        }
    }

    /// The place of its call in a trace.
    pub(crate) fn trace(&self) -> Option<&TraceContext> {
        either!(self, trace)
    }

    /// Where its data came from, as far as the host said it.
    pub(crate) fn sources(&self) -> Option<&Arc<str>> {
        match self {
            Self::Result(result) => result.sources(),
            Self::Artifact(_) => None,
        }
    }

    /// Whether parts of it were left out.
    pub(crate) fn is_excerpt(&self) -> bool {
        matches!(self, Self::Result(result) if result.excerpt_of().is_some())
    }

    /// The SHA-256 digest of its bytes, in hexadecimal.
    pub(crate) fn digest(&self) -> String {
        digest(self.document().raw())
    }

    /// The message of a failed call; `None` if the call succeeded.
    pub(crate) fn failure(&self) -> Option<String> {
        match self {
            Self::Result(result) => failure(result),
            Self::Artifact(_) => None,
        }
    }

    /// The views; `arena` owns the JSON that is opened for them.
    pub(crate) fn views<'a>(
        &'a self,
        arena: &'a Arena,
        budget: &Budget,
    ) -> Result<Views<'a>, LimitError> {
        match self {
            Self::Result(result) => Views::from_result(result, arena, budget),
            Self::Artifact(artifact) => Views::from_json(artifact.document(), arena, budget),
        }
    }
}

/// The digits of a digest that are shown: as many as tell the results of a session apart.
const SHOWN_DIGITS: usize = 12;

/// The beginning of a digest, as it is shown.
pub(crate) fn shown_digits(digest: &str) -> &str {
    digest.get(..SHOWN_DIGITS).unwrap_or(digest)
}

/// The digits that are shown of the digest of a result, by the bytes of it that a model may see.
pub fn shown_digest(shown: &[u8]) -> String {
    shown_digits(&digest(shown)).to_owned()
}

fn digest(json: &[u8]) -> String {
    HEXLOWER.encode(&Sha256::digest(json))
}

/// Whether a text is the beginning of a digest, at least as long as it is shown.
pub(crate) fn is_beginning(text: &str, digest: &str) -> bool {
    let beginning = digest.as_bytes().get(..text.len());
    text.len() >= SHOWN_DIGITS
        && beginning.is_some_and(|own| own.eq_ignore_ascii_case(text.as_bytes()))
}

/// The most parts of a tool result that are looked at for JSON.
const MAX_SHOWN_PARTS: usize = 8;

/// The views of one result.
#[derive(Clone, Debug)]
pub(crate) struct Views<'a> {
    /// The value for hints and selectors: JSON in a text is opened.
    pub(crate) canonical: View<'a>,
    /// The value that a reference without a selector passes on: text stays text.
    pub(crate) bare: View<'a>,
    /// The envelope around the canonical value, if there is one.
    pub(crate) envelope: Option<View<'a>>,
}

impl<'a> Views<'a> {
    fn alone(view: View<'a>) -> Self {
        Self {
            bare: view.clone(),
            canonical: view,
            envelope: None,
        }
    }

    /// The JSON in the texts that a model was shown in place of the canonical value: in the text parts beside structured
    /// content, and in the one member of the canonical value.
    pub(crate) fn shown_json(&self, arena: &'a Arena, budget: &Budget) -> Vec<View<'a>> {
        let (mut shown, member) = self.shown_cursors(arena, budget);
        let is_new = |member: &Cursor<'a>| shown.iter().all(|part| part.raw() != member.raw());
        let member = member.filter(is_new);
        shown.extend(member);
        let views = shown.into_iter();
        views
            .filter_map(|json| without_internal(json, arena).ok())
            .collect()
    }

    /// The JSON in text parts, and in the one member.
    fn shown_cursors(
        &self,
        arena: &'a Arena,
        budget: &Budget,
    ) -> (Vec<Cursor<'a>>, Option<Cursor<'a>>) {
        let open = |text: View<'a>| {
            let text = text
                .as_cursor()
                .filter(|text| text.kind() == Kind::String)?;
            arena.open(text, budget).ok()?
        };
        let content = self.envelope.as_ref().and_then(|envelope| {
            let content = envelope.get("content")?;
            // Without structured content one part alone is the canonical value.
            let is_beside = envelope.get("structuredContent").is_some();
            (is_beside || content.len() > Some(1)).then_some(content)
        });
        let parts = content.iter().flat_map(View::items).take(MAX_SHOWN_PARTS);
        let parts = parts.filter_map(|part| open(part.get("text")?)).collect();
        (parts, self.only_member().and_then(|(_, text)| open(text)))
    }

    /// The value that paths are offered on, which is what a model was shown: the JSON within the canonical value, else the
    /// canonical value.
    pub(crate) fn offered(&self, arena: &'a Arena, budget: &Budget) -> View<'a> {
        let inner = self.inner(arena, budget);
        inner.unwrap_or_else(|| self.canonical.clone())
    }

    /// The JSON within the canonical value that paths are offered on: an object, or the list that the only part with JSON
    /// holds.
    pub(crate) fn inner(&self, arena: &'a Arena, budget: &Budget) -> Option<View<'a>> {
        self.within(arena, budget).or_else(|| {
            let is_parts = self.only_member().is_none() && self.is_parts();
            let (parts, _) = self.shown_cursors(arena, budget);
            let list = (is_parts && parts.len() == 1).then(|| parts[0])?;
            (list.kind() == Kind::Array).then(|| View::from(list))
        })
    }

    /// Whether the canonical value lists several parts.
    fn is_parts(&self) -> bool {
        self.canonical.kind() == Kind::Array && self.canonical.as_cursor().is_none()
    }

    /// The object whose JSON is the one member of the canonical value, or the one part of several that holds JSON, if no
    /// name in it is that of something else there. In a list `@` would be something else.
    pub(crate) fn within(&self, arena: &'a Arena, budget: &Budget) -> Option<View<'a>> {
        let member = self.only_member();
        let is_parts = self.is_parts();
        if member.is_none() && !is_parts {
            return None;
        }
        let (parts, inner) = self.shown_cursors(arena, budget);
        // The first reading of a path.
        let first = parts.first().copied().or(inner)?;
        let is_only = match inner {
            Some(inner) => inner.raw() == first.raw(),
            None => is_parts && parts.len() == 1,
        };
        if !is_only || first.kind() != Kind::Object {
            return None;
        }
        let within = without_internal(first, arena).ok()?;
        let is_other = |name: &str| {
            let envelope = self.envelope.as_ref();
            member.as_ref().is_some_and(|(key, _)| key == name)
                || envelope.is_some_and(|envelope| envelope.get(name).is_some())
        };
        let is_plain = !within.members().any(|(name, _)| is_other(&name));
        is_plain.then_some(within)
    }

    /// Whether the canonical value is a text with a name, or several parts: what a model was shown is within.
    pub(crate) fn is_wrapped(&self) -> bool {
        self.only_member().is_some() || self.is_parts()
    }

    /// The only member of the canonical value, if that is a text.
    fn only_member(&self) -> Option<(String, View<'a>)> {
        if self.canonical.kind() != Kind::Object || self.canonical.len() != Some(1) {
            return None;
        }
        let mut members = self.canonical.members();
        let (key, text) = members.next()?;
        (text.kind() == Kind::String).then(|| (key.into_owned(), text.clone()))
    }

    /// The views of a text, and of the JSON that it holds.
    fn from_text(
        bare: View<'a>,
        opened: Option<Cursor<'a>>,
        arena: &Arena,
    ) -> Result<Self, LimitError> {
        Ok(Self {
            canonical: match opened {
                Some(opened) => without_internal(opened, arena)?,
                None => bare.clone(),
            },
            bare,
            envelope: None,
        })
    }

    /// The views of JSON without an envelope.
    pub(crate) fn from_json(
        document: &'a Document,
        arena: &'a Arena,
        budget: &Budget,
    ) -> Result<Self, LimitError> {
        let root = document.root().map_err(LimitError::Unreadable)?;
        plain(root, arena, budget)
    }

    fn from_result(
        result: &'a StoredResult,
        arena: &'a Arena,
        budget: &Budget,
    ) -> Result<Self, LimitError> {
        let (document, kind) = (result.document(), result.kind());
        let binary = || binary(document.raw(), result.media_type(), arena);
        if kind == ResultKind::Bytes {
            return Ok(Self::alone(binary()?));
        }
        let text = || std::str::from_utf8(document.raw());
        let root = match document.root() {
            Ok(root) => root,
            Err(error) if error.is_limit() && kind != ResultKind::Text => {
                return Err(LimitError::Unreadable(error));
            }
            Err(_) => {
                let text = text().map(View::borrowed);
                return Ok(Self::alone(text.or_else(|_| binary())?));
            }
        };
        match kind {
            ResultKind::Text => {
                let opened = matches!(root.kind(), Kind::Array | Kind::Object).then_some(root);
                Self::from_text(View::borrowed(text().unwrap_or_default()), opened, arena)
            }
            ResultKind::Mcp | ResultKind::Undeclared => {
                match enveloped(root, kind == ResultKind::Mcp, arena, budget)? {
                    Some(views) => Ok(views),
                    None => plain(root, arena, budget),
                }
            }
            _ => plain(root, arena, budget),
        }
    }
}

/// The views of a value without an envelope.
fn plain<'a>(root: Cursor<'a>, arena: &'a Arena, budget: &Budget) -> Result<Views<'a>, LimitError> {
    if root.kind() != Kind::String {
        return Ok(Views::alone(without_internal(root, arena)?));
    }
    Views::from_text(View::from(root), arena.open(root, budget)?, arena)
}

/// An object without its internal fields; anything else unchanged.
fn without_internal<'a>(cursor: Cursor<'a>, arena: &Arena) -> Result<View<'a>, Cost> {
    let internal =
        cursor.may_have_underscored_key() && FIELDS.iter().any(|field| cursor.get(field).is_some());
    if !internal {
        return Ok(View::from(cursor));
    }
    let mut members = Vec::new();
    for (key, value) in cursor.members() {
        let key = key.text();
        if is_internal(&key) {
            continue;
        }
        arena.reservation().grow_by(&mut members, 1)?;
        if let Cow::Owned(key) = &key {
            arena.reservation().reserve(key.capacity())?;
        }
        members.push((key, View::from(value)));
    }
    Ok(View::object(members))
}

fn binary<'a>(bytes: &[u8], media_type: Option<&str>, arena: &Arena) -> Result<View<'a>, Cost> {
    // Base64, and one copy of it.
    arena
        .reservation()
        .reserve(bytes.len().saturating_mul(8) / 3)?;
    let data = View::text(STANDARD.encode(bytes));
    let media_type = View::text(media_type.unwrap_or(UNKNOWN_MEDIA));
    Ok(encoded(data, media_type))
}

fn encoded<'a>(data: View<'a>, media_type: View<'a>) -> View<'a> {
    View::object(vec![
        (Cow::Borrowed("data"), data),
        (Cow::Borrowed("encoding"), View::text("base64")),
        (Cow::Borrowed("mimeType"), media_type),
    ])
}

/// The views of an MCP tool result or of a `{"type": "text", "value": …}` wrapper; `None` for
/// anything else.
fn enveloped<'a>(
    root: Cursor<'a>,
    declared: bool,
    arena: &'a Arena,
    budget: &Budget,
) -> Result<Option<Views<'a>>, LimitError> {
    let is_result = || is_mcp(root) || declared && root.kind() == Kind::Object;
    let mut views = if let Some(value) = wrapped_value(root) {
        plain(value, arena, budget)?
    } else if !is_result() {
        return Ok(None);
    } else if let Some(structured) = root.get("structuredContent") {
        plain(structured, arena, budget)?
    } else if let Some(content) = root.get("content") {
        content_views(content, arena, budget)?
    } else {
        return Ok(None);
    };
    views.envelope = Some(without_internal(root, arena)?);
    Ok(Some(views))
}

/// Whether an excerpt with what the roots of canonical values lead to has the views of the whole, but for what was left
/// out: items of a list are left out whatever they are, so that of content only one part alone tells.
pub(crate) fn shows_as_whole(result: &StoredResult) -> bool {
    let Ok(root) = result.document().root() else {
        return false;
    };
    if !matches!(result.kind(), ResultKind::Mcp | ResultKind::Undeclared) {
        return true;
    }
    let Some(content) = root.get("content") else {
        return true;
    };
    let is_text =
        |part: Cursor<'_>| part.get("type").and_then(Cursor::as_str).as_deref() == Some("text");
    match content.len().filter(|_| content.kind() == Kind::Array) {
        Some(0) => true,
        Some(1) => root.get("structuredContent").is_some() || content.at(0).is_some_and(is_text),
        _ => false,
    }
}

/// The views of MCP content: of its one part, or lists of all parts.
fn content_views<'a>(
    content: Cursor<'a>,
    arena: &'a Arena,
    budget: &Budget,
) -> Result<Views<'a>, LimitError> {
    if content.kind() == Kind::Array
        && content.len() == Some(1)
        && let Some(part) = content.at(0)
    {
        return part_views(part, arena, budget);
    }
    let (mut canonical, mut bare) = (Vec::new(), Vec::new());
    for part in content.items() {
        budget.spend(4)?;
        let views = part_views(part, arena, budget)?;
        arena.reservation().grow_by(&mut canonical, 1)?;
        arena.reservation().grow_by(&mut bare, 1)?;
        canonical.push(views.canonical);
        bare.push(views.bare);
    }
    Ok(Views {
        canonical: View::list(canonical),
        bare: View::list(bare),
        envelope: None,
    })
}

/// Whether a result of this kind is a tool result of MCP, which is shown as its envelope.
pub(crate) fn is_enveloped(root: Cursor<'_>, kind: ResultKind) -> bool {
    let has = |key: &str| root.get(key).is_some();
    match kind {
        ResultKind::Mcp => {
            wrapped_value(root).is_none() && (has("structuredContent") || has("content"))
        }
        ResultKind::Undeclared => is_mcp(root),
        _ => false,
    }
}

/// The value of `{"type": "text", "value": …}` with no other key.
pub(crate) fn wrapped_value(root: Cursor<'_>) -> Option<Cursor<'_>> {
    let wrapper = root.len() == Some(2) && root.get("type")?.as_str()? == "text";
    wrapper.then(|| root.get("value"))?
}

/// Whether an undeclared result is an MCP tool result: `content` is a list of parts, and all keys are those of a
/// tool result. An empty list needs another of these keys beside it, because other documents may have an empty
/// `content` as well.
fn is_mcp(root: Cursor<'_>) -> bool {
    // Five keys, and the internal ones: reading those of a large map would take long.
    if root.len().is_none_or(|keys| keys > 5 + FIELDS.len()) {
        return false;
    }
    let Some(content) = root.get("content").filter(|c| c.kind() == Kind::Array) else {
        return false;
    };
    let mut other_keys = 0;
    let own_keys = root.members().all(|(key, _)| match &*key.text() {
        "content" => true,
        "structuredContent" | "isError" | "_meta" | "resultType" => {
            other_keys += 1;
            true
        }
        other => is_internal(other),
    });
    own_keys && (!content.is_empty() || other_keys > 0) && content.items().all(is_part)
}

/// Whether a value is a part of MCP content.
fn is_part(part: Cursor<'_>) -> bool {
    let has = |key: &str, kind: Kind| part.get(key).is_some_and(|value| value.kind() == kind);
    let kind = part.get("type").and_then(|kind| kind.as_str());
    match kind.as_deref() {
        Some("text") => has("text", Kind::String),
        Some("image" | "audio") => has("data", Kind::String),
        Some("resource") => has("resource", Kind::Object),
        Some("resource_link") => has("uri", Kind::String),
        _ => false,
    }
}

/// The views of one part of MCP content.
fn part_views<'a>(
    part: Cursor<'a>,
    arena: &'a Arena,
    budget: &Budget,
) -> Result<Views<'a>, LimitError> {
    let kind = part.get("type").and_then(|kind| kind.as_str());
    let (text, data, of) = match kind.as_deref() {
        Some("text") => (part.get("text"), None, part),
        Some("image" | "audio") => (None, part.get("data"), part),
        Some("resource") => match part.get("resource") {
            Some(resource) => (resource.get("text"), resource.get("blob"), resource),
            None => (None, None, part),
        },
        _ => (None, None, part),
    };
    if let Some(text) = text {
        return plain(text, arena, budget);
    }
    if let Some(data) = data {
        let media_type = of.get("mimeType").map(View::from);
        let media_type = media_type.unwrap_or_else(|| View::text(UNKNOWN_MEDIA));
        return Ok(Views::alone(encoded(View::from(data), media_type)));
    }
    Ok(Views::alone(without_internal(part, arena)?))
}

/// The most characters of a failure's own message that are passed on.
const MAX_FAILURE_CHARS: usize = 500;

/// The message of a failed call: recorded as failed, or an MCP result with `isError: true`. `None` if the call
/// succeeded.
pub(crate) fn failure(result: &StoredResult) -> Option<String> {
    let document = result.document();
    let is_error = || {
        let root = document.root().ok()?;
        let is_mcp = match result.kind() {
            ResultKind::Mcp => true,
            kind => kind == ResultKind::Undeclared && is_mcp(root),
        };
        // Looking for a key in a large map takes long: only where it may be one of MCP's.
        is_mcp.then(|| root.get("isError"))??.as_bool()
    };
    if !result.failed() && is_error() != Some(true) {
        return None;
    }
    let line = document.root().ok().and_then(failure_line);
    let line = line.unwrap_or_else(|| one_line([String::from_utf8_lossy(document.raw())]));
    Some(if line.is_empty() {
        "no message".to_owned()
    } else {
        line
    })
}

/// The most bytes of a result that is read when it is recorded.
const MAX_MARKED_BYTES: usize = 4 << 10;

/// A result as it is recorded: marked as failed if its content says so, so that look-ups need not read it. Long
/// results are not read; they are rarely errors.
pub(crate) fn marked(result: StoredResult) -> StoredResult {
    let raw = result.document().raw();
    let may_fail = raw.len() <= MAX_MARKED_BYTES && memchr::memmem::find(raw, b"isError").is_some();
    if !may_fail || result.failed() {
        return result;
    }
    // Read on a copy: the stored document is indexed when it is used.
    let copy = StoredResult::new(Document::new(raw.clone()), result.kind());
    result.with_failed(failure(&copy).is_some())
}

/// The text of a failure, at any of its usual places, as one line.
fn failure_line(root: Cursor<'_>) -> Option<String> {
    if let Some(text) = root.as_str() {
        return Some(one_line([text]));
    }
    if is_mcp(root) {
        let parts = root.get("content")?.items();
        return Some(one_line(
            parts.filter_map(|part| part.get("text")?.as_str()),
        ));
    }
    ["error", "message"].iter().find_map(|key| {
        let found = root.get(key)?;
        let text = found.as_str().or_else(|| found.get("message")?.as_str());
        text.map(|text| one_line([text]))
    })
}

/// The words of texts with one blank between them, cut to the length of a failure's message; the rest is not read.
fn one_line<'t>(texts: impl IntoIterator<Item = Cow<'t, str>>) -> String {
    let mut line = String::new();
    let mut room = MAX_FAILURE_CHARS;
    for text in texts {
        for word in text.split_whitespace() {
            let blank = if line.is_empty() { "" } else { " " };
            for c in blank.chars().chain(word.chars()) {
                if room == 0 {
                    line.push('…');
                    return line;
                }
                line.push(c);
                room -= 1;
            }
        }
    }
    line
}
