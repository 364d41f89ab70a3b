//! Redacts texts, and bytes that may be texts.

use super::{Envelope, redact};
use crate::rules::{RevealRules, WITHHELD};
use base64::{
    Engine as _, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig, general_purpose::STANDARD},
};
use crossfeed_json::{Cursor, Document, quoted};

impl RevealRules {
    /// Redacts a value that stands alone; `None` if all of it may be shown. For JSON in a text, paths begin
    /// at the root of that JSON. Any other text is withheld if it names a hidden field.
    ///
    /// ```
    /// use crossfeed_json::Document;
    /// use crossfeed_projection::RevealRules;
    ///
    /// let rules = RevealRules::parse([""; 0], ["pin"])?;
    /// let shown = |json: &str| {
    ///     let shown = rules.redact_value(Document::new(json.to_owned()).root().ok()?)?;
    ///     String::from_utf8(shown).ok()
    /// };
    /// assert_eq!(shown(r#""the pin is 7""#).as_deref(), Some(r#""[withheld]""#));
    /// assert_eq!(shown(r#"{"pin":7,"n":1}"#).as_deref(), Some(r#"{"n":1}"#));
    /// assert_eq!(shown(r#""hello""#), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn redact_value(&self, value: Cursor<'_>) -> Option<Vec<u8>> {
        let Some(text) = value.as_str() else {
            return redact(self, value);
        };
        match TextContent::parse(&text) {
            TextContent::Container(document) => {
                let shown = redact(self, document.root().ok()?)?;
                Some(string(&String::from_utf8_lossy(&shown)))
            }
            TextContent::Text => {
                let shown = redact(self, value);
                // It may be the JSON of a text that holds JSON.
                let left = shown.as_ref().map(|shown| Document::new(shown.clone()));
                let left = left.as_ref().and_then(|left| left.root().ok()?.as_str());
                if self.mentions_never(left.as_ref().unwrap_or(&text)) {
                    Some(withheld())
                } else {
                    shown
                }
            }
            TextContent::Unjudged => Some(withheld()),
        }
    }

    /// Whether bytes, read as text, name a hidden field; UTF-16 is read, too.
    pub fn mentions_never_in(&self, bytes: &[u8]) -> bool {
        let text = String::from_utf8_lossy(bytes);
        self.mentions_never(&text)
            || text.contains('\0') && self.mentions_never(&text.replace('\0', ""))
    }
}

/// The content of a text.
enum TextContent {
    /// A list or an object.
    Container(Document),
    /// JSON beyond a limit.
    Unjudged,
    /// Anything else.
    Text,
}

impl TextContent {
    fn parse(text: &str) -> Self {
        if !text.trim_start().starts_with(['{', '[']) {
            return Self::Text;
        }
        let document = Document::new(text.as_bytes().to_vec());
        match document.root() {
            Ok(_) => Self::Container(document),
            Err(error) if error.is_limit() => Self::Unjudged,
            Err(_) => Self::Text,
        }
    }
}

impl Envelope<'_> {
    /// Redacts the text that the part at `at` stands for; `None` if all of it may be shown.
    pub(super) fn text(&mut self, at: usize, text: &str) -> Option<String> {
        let document = match TextContent::parse(text) {
            TextContent::Container(document) => document,
            TextContent::Unjudged => return Some(WITHHELD.to_owned()),
            TextContent::Text => {
                let goes = self.beside.any || self.rules.mentions_never(text);
                return goes.then(|| WITHHELD.to_owned());
            }
        };
        let root = document.root().ok()?;
        let shown = self.whole(root);
        match self.as_item(at, root, shown) {
            Some(shown) if shown == withheld() => Some(WITHHELD.to_owned()),
            Some(shown) => Some(String::from_utf8_lossy(&shown).into_owned()),
            None => self.beside.structured.then(|| WITHHELD.to_owned()),
        }
    }

    /// Redacts a text that only describes a part.
    pub(super) fn prose(&self, value: Cursor<'_>) -> Option<Vec<u8>> {
        let goes = self.beside.any || self.rules.mentions_never(&value.as_str()?);
        goes.then(withheld)
    }

    /// Redacts bytes in base64. Bytes of media are checked only for the names in them.
    pub(super) fn bytes(
        &mut self,
        at: usize,
        encoded: &str,
        media_type: Option<&str>,
    ) -> Option<Vec<u8>> {
        let encode = |text: &str| string(&STANDARD.encode(text));
        let Some(bytes) = decoded(encoded) else {
            return Some(encode(WITHHELD));
        };
        let text = std::str::from_utf8(&bytes).ok();
        if let Some(shown) = text.and_then(|text| self.text(at, text)) {
            return Some(encode(&shown));
        }
        let is_json =
            text.is_some_and(|text| matches!(TextContent::parse(text), TextContent::Container(_)));
        let may_repeat = self.beside.any && !is_media(media_type);
        let goes = !is_json && (may_repeat || self.rules.mentions_never_in(&bytes));
        goes.then(|| encode(WITHHELD))
    }

    /// Withholds an address whose base64 bytes would change: `data:text/plain;base64,…`.
    pub(super) fn address(&mut self, at: usize, address: &str) -> Option<Vec<u8>> {
        const BASE64: &str = ";base64,";
        let plain = without_percents(address);
        let ends = plain.to_ascii_lowercase().find(BASE64)?;
        let (head, encoded) = (plain.get(..ends)?, plain.get(ends + BASE64.len()..)?);
        let media_type = head.split_once(':').map(|(_, media_type)| media_type);
        self.bytes(at, encoded, media_type).map(|_| withheld())
    }
}

/// An address with its percent-encoding (`%3D`) decoded, and without blanks.
fn without_percents(address: &str) -> String {
    let mut pieces = address.split('%');
    let mut plain = pieces.next().unwrap_or_default().as_bytes().to_vec();
    for piece in pieces {
        let coded = piece.split_at_checked(2);
        match coded.map(|(code, rest)| (u8::from_str_radix(code, 16), rest)) {
            Some((Ok(byte), rest)) => {
                plain.push(byte);
                plain.extend_from_slice(rest.as_bytes());
            }
            _ => {
                plain.push(b'%');
                plain.extend_from_slice(piece.as_bytes());
            }
        }
    }
    plain.retain(|byte| !byte.is_ascii_whitespace());
    String::from_utf8_lossy(&plain).into_owned()
}

/// Whether bytes of a type are pictures, sound or the like. An `svg` is text.
pub(super) fn is_media(media_type: Option<&str>) -> bool {
    let kinds = ["image/", "audio/", "video/", "font/"];
    media_type.is_some_and(|media_type| {
        let media_type = media_type.to_ascii_lowercase();
        let is_text = ["+xml", "+json"]
            .iter()
            .any(|text| media_type.contains(text));
        let mut kinds = kinds.iter();
        !is_text && kinds.any(|kind| media_type.trim_start().starts_with(kind))
    })
}

/// Decodes base64 as lenient readers do: either alphabet, padded or not, with blanks between.
fn decoded(encoded: &str) -> Option<Vec<u8>> {
    const READER: GeneralPurpose = GeneralPurpose::new(
        &alphabet::STANDARD,
        GeneralPurposeConfig::new()
            .with_decode_allow_trailing_bits(true)
            .with_decode_padding_mode(DecodePaddingMode::Indifferent),
    );
    let plain: Vec<u8> = encoded
        .bytes()
        .filter(|byte| !byte.is_ascii_whitespace())
        .map(|byte| match byte {
            b'-' => b'+',
            b'_' => b'/',
            other => other,
        })
        .collect();
    READER.decode(plain).ok()
}

/// A text as JSON.
pub(super) fn string(text: &str) -> Vec<u8> {
    quoted(text).into_bytes()
}

pub(super) fn withheld() -> Vec<u8> {
    string(WITHHELD)
}
