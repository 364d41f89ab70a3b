//! The id of a request.

use bytes::Bytes;
use std::fmt;

/// The id of a request: a JSON string or number, as its bytes.
///
/// Two ids are the same if their bytes are.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Id(Bytes);

impl Id {
    /// A number of the gateway's own.
    pub fn number(number: u64) -> Self {
        Self(number.to_string().into())
    }

    /// A text of the gateway's own.
    pub(crate) fn text(text: &str) -> Self {
        Self(crossfeed_json::quoted(text).into())
    }

    /// An id by its JSON; none where the JSON is neither a string nor a number.
    pub fn parse(json: Bytes) -> Option<Self> {
        matches!(json.first(), Some(b'"' | b'-' | b'0'..=b'9')).then_some(Self(json))
    }

    /// The number that [`number`](Self::number) made this of, if it is one.
    pub fn as_number(&self) -> Option<u64> {
        std::str::from_utf8(&self.0).ok()?.parse().ok()
    }

    /// The JSON.
    pub fn raw(&self) -> &Bytes {
        &self.0
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.0))
    }
}
