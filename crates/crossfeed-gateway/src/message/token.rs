//! Progress tokens.

use bytes::Bytes;
use crossfeed_json::{Cursor, Document};

/// A progress token: as it came, and as it is compared.
///
/// Two that are strings are the same if their texts are: servers spell them in other ways than clients.
#[derive(Clone, Debug)]
pub(crate) struct Token {
    raw: Bytes,
    text: Bytes,
}

impl Token {
    /// A token by the JSON that it is.
    pub(crate) fn new(raw: Bytes) -> Self {
        let text = text(&raw);
        Self { raw, text }
    }

    /// The JSON.
    pub(crate) fn raw(&self) -> &Bytes {
        &self.raw
    }

    /// What it is compared by.
    pub(crate) fn text(&self) -> &[u8] {
        &self.text
    }
}

impl PartialEq for Token {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

/// Of a string its text; the quote before it tells it from a number.
fn text(raw: &Bytes) -> Bytes {
    let Some((b'"', text)) = raw.split_last() else {
        return raw.clone();
    };
    if !text.contains(&b'\\') {
        return raw.slice(..text.len());
    }
    let document = Document::new(raw.clone());
    let text = document.root().ok().and_then(Cursor::string_bytes);
    text.map_or_else(|| raw.clone(), |text| [b"\"", &*text].concat().into())
}
