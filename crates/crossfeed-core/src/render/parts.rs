//! The parts of a tool result of MCP: texts, and descriptions in place of binary data.

use super::{
    copy::is_copy,
    plan::{Body, Id, PathStep, Plan},
    subject::{RenderContext, is_metadata},
    text::{Chars, SHORT},
};
use crate::canonical::UNKNOWN_MEDIA;
use crossfeed_json::{Cursor, Kind};

/// The most characters of a media type.
const MEDIA_CHARS: usize = 80;
/// The penalty of content beside structured content, which it mostly repeats.
pub(super) const BESIDE_PENALTY: u32 = 8;

/// Facts about the envelope that its parts depend on.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct EnvelopeInfo {
    /// Whether there is structured content, so that only the envelope leads to the parts.
    pub(super) structured: bool,
    /// Whether it is the only part, so that it is the canonical value.
    pub(super) single: bool,
    /// The index of the first shown part, if there are several and each is an item of the canonical value.
    several_from: Option<usize>,
}

impl EnvelopeInfo {
    pub(super) fn new<'a>(root: Cursor<'a>, known: &RenderContext<'a, '_>) -> Self {
        let content = root.get("content");
        let content = content.filter(|content| content.kind() == Kind::Array);
        let parts = content.and_then(Cursor::len);
        let structured = root.get("structuredContent").is_some();
        let is_ours = || content?.at(0).map(|part| is_metadata(part, known));
        Self {
            structured,
            single: parts == Some(1),
            several_from: (!structured && parts > Some(1))
                .then(|| usize::from(is_ours() == Some(true))),
        }
    }

    /// Tells the model how to select the parts, which it sees after one of ours.
    pub(super) fn legend(self, known: &RenderContext<'_, '_>) -> Option<String> {
        let first = self.several_from.filter(|_| known.referable)?;
        let next = first + 1;
        Some(format!(
            "refer to the parts below as [{first}], [{next}], …"
        ))
    }

    /// The selector of a part's value.
    pub(super) fn select(self, index: usize) -> String {
        match self {
            Self {
                structured: true, ..
            } => format!("content[{index}]"),
            Self { single: true, .. } => String::new(),
            _ => format!("[{index}]"),
        }
    }
}

/// The binary data of a part, and its media type; `None` for any other part. Data that is not a string is not
/// valid base64, and shown like any other value.
fn data_of(part: Cursor<'_>) -> Option<(&'static str, Cursor<'_>, Option<Cursor<'_>>)> {
    let kind = part.get("type")?.as_str()?;
    let (kind, data, media_type) = match &*kind {
        "image" => ("image", part.get("data")?, part.get("mimeType")),
        "audio" => ("audio", part.get("data")?, part.get("mimeType")),
        "resource" => {
            let resource = part.get("resource")?;
            ("resource", resource.get("blob")?, resource.get("mimeType"))
        }
        _ => return None,
    };
    (data.kind() == Kind::String).then_some((kind, data, media_type))
}

/// The binary data in the parts of a tool result.
pub(super) fn binary_data<'a>(root: Cursor<'a>) -> impl Iterator<Item = Cursor<'a>> {
    let content = root.get("content");
    let content = content.filter(|content| content.kind() == Kind::Array);
    let parts = content.into_iter().flat_map(Cursor::items);
    parts.filter_map(|part| data_of(part).map(|(_, data, _)| data))
}

/// The most bytes of the address of a resource that is shown.
const MAX_ADDRESS_BYTES: usize = 200;

/// The description in place of a part with binary data; `None` for any other part.
pub(super) fn description(
    part: Cursor<'_>,
    index: usize,
    around: EnvelopeInfo,
    known: &RenderContext<'_, '_>,
) -> Option<String> {
    let (kind, data, media_type) = data_of(part)?;
    let media_type = media_type.and_then(Cursor::as_str);
    let media_type: String = media_type
        .as_deref()
        .unwrap_or(UNKNOWN_MEDIA)
        .chars()
        .take(MEDIA_CHARS)
        .collect();
    let mut text = format!("{kind} ({media_type}, {}), not shown", size_of(data));
    let select = around.select(index);
    let reaches = |select: &str| select.is_empty() || (known.reaches)(select, Some(data));
    if known.referable && reaches(&select) {
        let select = Some(select.as_str()).filter(|select| !select.is_empty());
        text.push_str("; to pass it on: ");
        text.push_str(&known.reference(select));
    }
    Some(text)
}

/// The size of base64 data.
fn size_of(data: Cursor<'_>) -> String {
    let Chars::Quoted(text) = Chars::from_string(data.raw()) else {
        return String::new();
    };
    if memchr::memchr2(b'\\', b'\n', text).is_some() {
        // Unusual base64, whose size is unknown without decoding.
        return format!("{} characters of base64", Chars::Quoted(text).count());
    }
    let end = text.iter().rev().take(2);
    let padding = end.filter(|byte| **byte == b'=').count();
    let bytes = (text.len() - padding) * 3 / 4;
    format!("{bytes} bytes")
}

/// The value of a part, and its selector within the part; `None` for a part that is its own value.
pub(super) fn said<'a>(part: Cursor<'a>) -> Option<(Cursor<'a>, &'static str)> {
    match &*part.get("type")?.as_str()? {
        "text" => Some((part.get("text")?, ".text")),
        "resource" => Some((part.get("resource")?.get("text")?, ".resource.text")),
        _ => None,
    }
}

impl<'a> Plan<'a, '_> {
    /// Adds a part of content by its value.
    pub(super) fn add_part(
        &mut self,
        part: Cursor<'a>,
        index: usize,
        hop: PathStep<'a>,
        penalty: u32,
    ) -> Id {
        let around = self.around;
        if let Some(description) = description(part, index, around, self.known) {
            return self.add(Body::Described(description), None, hop);
        }
        let select = around.select(index);
        let Some((said, place)) = said(part) else {
            return self.add_whole_part(part, PathStep::Select(select), penalty);
        };
        let (select, penalty) = match self.structured {
            None => (select, penalty),
            Some(structured) => {
                if is_copy(said, structured, index, self.known) {
                    let aside = "… the same data as text".to_owned();
                    return self.add(Body::Aside(aside), Some(part), hop);
                }
                (
                    format!("{select}{place}"),
                    penalty.saturating_add(BESIDE_PENALTY),
                )
            }
        };
        let id = self.add_said(said, PathStep::Select(select), penalty);
        let address = part
            .get("resource")
            .and_then(|resource| resource.get("uri"));
        let Some(address) = address.filter(|address| {
            address.kind() == Kind::String && address.raw().len() <= MAX_ADDRESS_BYTES
        }) else {
            return id;
        };
        let label = format!("resource {}: ", String::from_utf8_lossy(address.raw()));
        self.add(Body::Row(vec![(label, id)]), Some(part), hop)
    }

    /// Adds a part that is its own value.
    pub(super) fn add_whole_part(
        &mut self,
        part: Cursor<'a>,
        hop: PathStep<'a>,
        penalty: u32,
    ) -> Id {
        if part.kind() != Kind::Object || part.is_empty() {
            return self.add_wanted(part, hop, penalty);
        }
        self.add_opened(part, hop, penalty)
    }

    /// Adds the value of a part: the JSON in its text, or the text.
    fn add_said(&mut self, text: Cursor<'a>, hop: PathStep<'a>, penalty: u32) -> Id {
        let opened = (self.known.open)(text).filter(|opened| !opened.is_empty());
        if let Some(opened) = opened.filter(|_| text.raw().len() > SHORT) {
            return self.add_opened(opened, hop, penalty);
        }
        self.add_wanted(text, hop, penalty)
    }
}
