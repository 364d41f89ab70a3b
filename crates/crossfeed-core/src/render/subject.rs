//! The kind of a result, as a rendering sees it.
//!
//! The kinds are those of the canonical value, except that a tool result of MCP is shown as its envelope.

use super::{notice::put_replaced, parts::binary_data, text::Chars};
use crate::{
    canonical::{StoredItem, UNKNOWN_MEDIA, is_enveloped},
    error::LimitError,
    strip::{StripPolicy, strip},
};
use crossfeed_json::{Cursor, Document, Kind, quoted};
use crossfeed_store::ResultKind;
use crossfeed_tokens::TokenCounter;
use crossfeed_tools::{Spelling, Style};
use crossfeed_wire::{CallId, internal::is_internal};

/// Facts about a result that its bytes do not say.
pub(crate) struct RenderContext<'a, 'v> {
    pub(crate) call_id: &'v CallId,
    /// The first digits of its digest, where results may be changed.
    pub(crate) digest: Option<String>,
    /// Whether it can be referred to: the call did not fail.
    pub(crate) referable: bool,
    /// Whether the host's rules withhold some of it.
    pub(crate) withheld: bool,
    pub(crate) spelling: Spelling,
    pub(crate) style: Style,
    pub(crate) strip: StripPolicy,
    /// Parses the object or list in a string.
    pub(crate) open: &'v dyn Fn(Cursor<'a>) -> Option<Cursor<'a>>,
    /// Whether a selector gives a value, at that place if one is given.
    pub(crate) reaches: &'v dyn Fn(&str, Option<Cursor<'_>>) -> bool,
}

impl RenderContext<'_, '_> {
    /// A reference to the result, as JSON.
    pub(super) fn reference(&self, select: Option<&str>) -> String {
        let key = |name: &str| match self.style {
            Style::RefsList => quoted(name),
            _ => quoted(&self.spelling.key(name)),
        };
        let select = select.map(|select| format!(",{}:{}", key("select"), quoted(select)));
        let (tool, call_id) = (key("tool"), quoted(self.call_id.as_str()));
        format!("{{{tool}:{call_id}{}}}", select.unwrap_or_default())
    }

    /// Where a reference stands, if that is not in place of any value.
    pub(super) fn place(&self) -> String {
        match self.style {
            Style::Inline => String::new(),
            _ => format!(" in `{}`", self.spelling.key("refs")),
        }
    }
}

/// The part of a result that is shown.
#[derive(Clone, Copy, Debug)]
pub(super) enum Subject<'a> {
    /// Any value but a string.
    Value(Cursor<'a>),
    Text(Chars<'a>),
    /// A text that holds JSON.
    Opened(Chars<'a>, Cursor<'a>),
    /// Bytes: their media type and number.
    Bytes(&'a str, usize),
    /// A tool result of MCP.
    Mcp(Cursor<'a>),
}

impl<'a> Subject<'a> {
    /// The part of a result that is shown.
    pub(super) fn new(
        stored: &'a StoredItem,
        known: &RenderContext<'a, '_>,
    ) -> Result<Self, LimitError> {
        let document = stored.document();
        let raw = document.raw();
        let (kind, media_type) = match stored {
            StoredItem::Result(result) => (result.kind(), result.media_type()),
            StoredItem::Artifact(_) => (ResultKind::Json, None),
        };
        let bytes = Self::Bytes(media_type.unwrap_or(UNKNOWN_MEDIA), raw.len());
        if kind == ResultKind::Bytes {
            return Ok(bytes);
        }
        let root = match document.root() {
            Ok(root) => root,
            Err(error) if error.is_limit() && kind != ResultKind::Text => {
                return Err(LimitError::Unreadable(error));
            }
            Err(_) => {
                let text = std::str::from_utf8(raw).map(Chars::Plain);
                return Ok(text.map_or(bytes, Self::Text));
            }
        };
        let is_container = matches!(root.kind(), Kind::Array | Kind::Object);
        if kind == ResultKind::Text {
            // JSON is UTF-8.
            let text = Chars::Plain(std::str::from_utf8(raw).unwrap_or_default());
            return Ok(if is_container {
                Self::Opened(text, root)
            } else {
                Self::Text(text)
            });
        }
        if is_enveloped(root, kind) {
            return Ok(Self::Mcp(root));
        }
        Ok(match root.kind() {
            Kind::String => {
                let text = Chars::from_string(root.raw());
                match (known.open)(root) {
                    Some(opened) => Self::Opened(text, opened),
                    None => Self::Text(text),
                }
            }
            _ => Self::Value(root),
        })
    }
}

/// The description of bytes, as members of an object.
pub(super) fn described(media_type: &str, bytes: usize) -> String {
    format!("\"mimeType\":{},\"bytes\":{bytes}", quoted(media_type))
}

/// The tokens that a whole result would take in a model's context. Binary data is not text to a model, so
/// only its description counts.
pub(crate) fn whole_tokens(stored: &StoredItem, tokens: &TokenCounter) -> usize {
    let document = stored.document();
    let raw: &[u8] = document.raw();
    let StoredItem::Result(result) = stored else {
        return tokens.count_bytes(raw);
    };
    let kind = result.kind();
    let root = match kind {
        ResultKind::Bytes => None,
        ResultKind::Text => return tokens.count_bytes(raw),
        _ => document.root().ok(),
    };
    let Some(root) = root else {
        let media_type = result.media_type().unwrap_or(UNKNOWN_MEDIA);
        let is_text = kind != ResultKind::Bytes && std::str::from_utf8(raw).is_ok();
        let bytes = format!("{{{}}}", described(media_type, raw.len()));
        return tokens.count_bytes(if is_text { raw } else { bytes.as_bytes() });
    };
    let enveloped = is_enveloped(root, kind).then(|| binary_data(root));
    let mut binary = enveloped.into_iter().flatten().peekable();
    if binary.peek().is_none() {
        return tokens.count_bytes(raw);
    }
    // Parts are in the order of their bytes.
    let cuts = binary.map(|data| (data.offset()..data.offset() + data.raw().len(), &[][..]));
    let mut texts = Vec::new();
    put_replaced(raw, cuts, &mut texts);
    tokens.count_bytes(&texts)
}

/// A text that holds JSON, as a JSON string without the stripped fields of its JSON.
pub(super) fn text_of(chars: Chars<'_>, opened: Cursor<'_>, policy: StripPolicy) -> Vec<u8> {
    let strips = |member: Cursor<'_>| policy.strips_member(member);
    if opened.kind() == Kind::Object && opened.items().any(strips) {
        let stripped = strip(&Document::new(opened.raw().to_vec()), policy);
        if let Some(text) = stripped.and_then(|bytes| String::from_utf8(bytes).ok()) {
            return quoted(&text).into_bytes();
        }
    }
    let mut json = Vec::with_capacity(chars.len() + 2);
    chars.write(&mut json);
    json
}

/// Whether a part is the one that the engine put first when it rendered the result: a text that holds
/// internal fields only.
pub(super) fn is_metadata<'a>(part: Cursor<'a>, known: &RenderContext<'a, '_>) -> bool {
    /// The most bytes of such a part: as many as hints take.
    const MOST: usize = 64 << 10;
    let Some(text) = part.get("text").filter(|text| text.raw().len() <= MOST) else {
        return false;
    };
    let opened = (known.open)(text).filter(|opened| opened.kind() == Kind::Object);
    opened.is_some_and(|opened| {
        let mut members = opened.items();
        !opened.is_empty() && members.all(|member| is_internal(&member.key().text()))
    })
}
