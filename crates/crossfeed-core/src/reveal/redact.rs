//! A result without what may never be revealed.
//!
//! What comes in: a stored result or artifact, and rules that hide something. What goes out: what may
//! be shown of it, of the same kind, or that it is all of it. A path of a rule begins at the value
//! that selectors run on and at the root of what is stored, so that it holds whether or not there is
//! an envelope.

use super::RevealError;
use crate::canonical::{failure, is_enveloped, wrapped_value};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use crossfeed_json::{Cursor, Document, Kind, quoted};
use crossfeed_projection::{RevealRules, WITHHELD};
use crossfeed_store::{ResultKind, StoredArtifact, StoredResult};

/// What of a result may be shown; `None` where that is all of it.
pub(super) fn result(
    result: &StoredResult,
    rules: &RevealRules,
) -> Result<Option<StoredResult>, RevealError> {
    let (document, kind) = (result.document(), result.kind());
    let raw = document.raw();
    let shown = match (kind, document.root()) {
        (ResultKind::Bytes, _) => is_hidden_in(raw, rules).then(Redacted::withheld),
        (_, Ok(root)) => json(root, kind, rules),
        (_, Err(error)) if error.is_limit() => return Err(RevealError::Unjudged(error)),
        (_, Err(_)) => is_hidden_in(raw, rules).then(Redacted::withheld),
    };
    let made = shown.map(|shown| {
        let kind = if shown.is_text {
            ResultKind::Text
        } else {
            kind
        };
        let mut made = StoredResult::new(Document::new(shown.bytes), kind);
        if let Some(media_type) = result.media_type().filter(|_| !shown.is_text) {
            made = made.with_media_type(media_type);
        }
        described_as(made, result)
    });
    // A call that failed says so itself, and its message is passed on.
    let message = failure(made.as_ref().unwrap_or(result));
    if message.is_some_and(|message| rules.mentions_never(&message)) {
        let withheld = StoredResult::new(Document::new(WITHHELD), ResultKind::Text);
        return Ok(Some(described_as(withheld, result)));
    }
    Ok(made)
}

/// With the tool and the failure of the whole result, also if what said that it failed is hidden.
fn described_as(made: StoredResult, whole: &StoredResult) -> StoredResult {
    let made = made.with_failed(whole.failed() || failure(whole).is_some());
    match whole.tool() {
        Some(tool) => made.with_tool(tool),
        None => made,
    }
}

/// What of an artifact may be shown; `None` where that is all of it.
pub(super) fn artifact(
    artifact: &StoredArtifact,
    rules: &RevealRules,
) -> Result<Option<StoredArtifact>, RevealError> {
    let data = shown_json(artifact.document(), rules)?;
    let summary = match artifact.summary() {
        Some(summary) => shown_json(summary, rules)?,
        None => None,
    };
    if data.is_none() && summary.is_none() {
        return Ok(None);
    }
    let of = |shown: Option<Vec<u8>>, whole: &Document| match shown {
        Some(shown) => Document::new(shown),
        None => Document::new(whole.raw().clone()),
    };
    let (artifact_id, call_id) = (artifact.artifact_id().clone(), artifact.call_id().clone());
    let mut made = StoredArtifact::new(artifact_id, call_id, of(data, artifact.document()))
        .with_retrieval_blocked(artifact.retrieval_blocked());
    if let Some(whole) = artifact.summary() {
        made = made.with_summary(of(summary, whole));
    }
    Ok(Some(match artifact.tool() {
        Some(tool) => made.with_tool(tool),
        None => made,
    }))
}

/// What of a document without an envelope may be shown; `None` where that is all of it.
pub(super) fn shown_json(
    document: &Document,
    rules: &RevealRules,
) -> Result<Option<Vec<u8>>, RevealError> {
    match document.root() {
        Ok(root) => Ok(value(root, rules)),
        Err(error) if error.is_limit() => Err(RevealError::Unjudged(error)),
        Err(_) => Ok(is_hidden_in(document.raw(), rules).then(withheld)),
    }
}

/// What may be shown.
struct Redacted {
    bytes: Vec<u8>,
    /// Whether it is the note that all is withheld.
    is_text: bool,
}

impl Redacted {
    fn withheld() -> Self {
        Self {
            bytes: WITHHELD.into(),
            is_text: true,
        }
    }

    fn json(bytes: Vec<u8>) -> Self {
        Self {
            bytes,
            is_text: false,
        }
    }
}

/// What of JSON may be shown; `None` where that is all of it.
fn json(root: Cursor<'_>, kind: ResultKind, rules: &RevealRules) -> Option<Redacted> {
    let declared = matches!(kind, ResultKind::Undeclared | ResultKind::Mcp);
    if !declared || wrapped_value(root).is_none() && !is_enveloped(root, kind) {
        return value(root, rules).map(Redacted::json);
    }
    // Once as it is stored, once as selectors see it.
    let outer = redact(root, rules).map(Document::new);
    let seen = match outer.as_ref().map(Document::root) {
        None => root,
        Some(Ok(seen)) => seen,
        // What is written of a document is one. If it were not, nothing could be judged.
        Some(Err(_)) => return Some(Redacted::withheld()),
    };
    let mut envelope = Envelope {
        rules,
        has_paths: rules.never().iter().any(|path| path.as_name().is_none()),
        is_cut: false,
    };
    envelope.is_cut = match (root.get(STRUCTURED), seen.get(STRUCTURED)) {
        (Some(_), None) => true,
        (Some(own), Some(seen)) => {
            outer.is_some() && compact(own) != compact(seen) || envelope.value(seen).is_some()
        }
        (None, _) => false,
    };
    match (envelope.shown(seen), &outer) {
        (Some(shown), _) => Some(Redacted::json(shown)),
        (None, Some(outer)) => Some(Redacted::json(outer.raw().to_vec())),
        (None, None) => None,
    }
}

const STRUCTURED: &str = "structuredContent";

/// What is around the values that selectors run on, each of which is judged from its own root. Names
/// were taken out before, wherever they stood.
struct Envelope<'r> {
    rules: &'r RevealRules,
    has_paths: bool,
    /// Whether something of the structured content is hidden: a text beside it that is no JSON may say
    /// the same, and cannot be judged.
    is_cut: bool,
}

impl Envelope<'_> {
    /// What of the envelope may be shown; `None` where that is all of it.
    fn shown(&self, root: Cursor<'_>) -> Option<Vec<u8>> {
        members(root, |key, member| match key {
            STRUCTURED | "value" => self.value(member),
            "content" if member.kind() == Kind::Array => {
                let (mut parts, mut is_cut) = (Vec::new(), false);
                for part in member.items() {
                    let shown = members(part, |key, member| match key {
                        "text" => self.text(member),
                        "resource" => members(member, |key, member| match key {
                            "text" => self.text(member),
                            "blob" => self.blob(member),
                            _ => None,
                        }),
                        _ => None,
                    });
                    is_cut |= shown.is_some();
                    parts.push(shown.unwrap_or_else(|| compact(part)));
                }
                let joined = || [b"[", parts.join(&b',').as_slice(), b"]"].concat();
                is_cut.then(joined)
            }
            _ => None,
        })
    }

    fn value(&self, cursor: Cursor<'_>) -> Option<Vec<u8>> {
        let is_judged = !self.has_paths && cursor.kind() != Kind::String;
        (!is_judged).then(|| value(cursor, self.rules))?
    }

    /// What of the text of a part may be shown; `None` where that is all of it.
    fn text(&self, text: Cursor<'_>) -> Option<Vec<u8>> {
        let held = text.as_str()?;
        match opened(&held) {
            Opened::Container(document) => inner(&document, self.rules),
            Opened::Text => (self.is_cut || self.rules.mentions_never(&held)).then(withheld),
            Opened::Unjudged => Some(withheld()),
        }
    }

    /// The same of bytes that may be a text.
    fn blob(&self, blob: Cursor<'_>) -> Option<Vec<u8>> {
        let bytes = STANDARD.decode(blob.as_str()?.as_bytes()).ok()?;
        let names = is_hidden_in(&bytes, self.rules);
        names.then(|| quoted(&STANDARD.encode(WITHHELD)).into_bytes())
    }
}

fn withheld() -> Vec<u8> {
    quoted(WITHHELD).into_bytes()
}

/// Whether bytes, read as a text, name what is never revealed: also a text of two bytes a character.
fn is_hidden_in(bytes: &[u8], rules: &RevealRules) -> bool {
    let text = String::from_utf8_lossy(bytes);
    rules.mentions_never(&text)
        || text.contains('\0') && rules.mentions_never(&text.replace('\0', ""))
}

/// An object with some of its members in another form; `None` where all are as they were, and of what
/// is no object.
fn members(
    object: Cursor<'_>,
    mut shown: impl FnMut(&str, Cursor<'_>) -> Option<Vec<u8>>,
) -> Option<Vec<u8>> {
    if object.kind() != Kind::Object {
        return None;
    }
    let mut json = vec![b'{'];
    let mut is_cut = false;
    for (key, member) in object.members() {
        if json.len() > 1 {
            json.push(b',');
        }
        json.extend_from_slice(quoted(&key.text()).as_bytes());
        json.push(b':');
        match shown(&key.text(), member) {
            Some(shown) => {
                json.extend_from_slice(&shown);
                is_cut = true;
            }
            None => member.write_compact(&mut json),
        }
    }
    json.push(b'}');
    is_cut.then_some(json)
}

fn compact(cursor: Cursor<'_>) -> Vec<u8> {
    let mut json = Vec::new();
    cursor.write_compact(&mut json);
    json
}

/// What of a value may be shown, the JSON that a text holds judged from its own root, and a text that
/// is all there is by what it names; `None` where that is all of it.
fn value(cursor: Cursor<'_>, rules: &RevealRules) -> Option<Vec<u8>> {
    let Some(text) = cursor.as_str() else {
        return redact(cursor, rules);
    };
    match opened(&text) {
        Opened::Container(document) => inner(&document, rules),
        Opened::Text => {
            let shown = redact(cursor, rules);
            // It may be the JSON of a text that holds JSON.
            let left = shown.as_ref().map(|shown| Document::new(shown.clone()));
            let left = left.as_ref().and_then(|left| left.root().ok()?.as_str());
            match rules.mentions_never(left.as_ref().unwrap_or(&text)) {
                true => Some(withheld()),
                false => shown,
            }
        }
        Opened::Unjudged => Some(withheld()),
    }
}

/// What a text holds.
enum Opened {
    /// A list or an object.
    Container(Document),
    /// JSON beyond a limit.
    Unjudged,
    /// Anything else.
    Text,
}

fn opened(text: &str) -> Opened {
    if !text.trim_start().starts_with(['{', '[']) {
        return Opened::Text;
    }
    let document = Document::new(text.as_bytes().to_vec());
    match document.root() {
        Ok(_) => Opened::Container(document),
        Err(error) if error.is_limit() => Opened::Unjudged,
        Err(_) => Opened::Text,
    }
}

/// What of the JSON that a text holds may be shown, as a JSON string; `None` where that is all of it.
fn inner(document: &Document, rules: &RevealRules) -> Option<Vec<u8>> {
    let shown = redact(document.root().ok()?, rules)?;
    Some(quoted(&String::from_utf8_lossy(&shown)).into_bytes())
}

/// A value by the engine's own redaction; `None` where it is as it came. It is not, too, where what is
/// hidden stands under a key that stands again behind it.
fn redact(cursor: Cursor<'_>, rules: &RevealRules) -> Option<Vec<u8>> {
    let mut json = Vec::new();
    let redacted = rules.redact(cursor, &mut json);
    let is_other = || cursor.document_has_duplicates() && json != cursor.raw();
    (redacted.any() || is_other()).then_some(json)
}
