//! Sets aside the parts of JSON that nest too deep to parse, and puts them back as text. A list of tools so passes through
//! whole, even with a schema of a thousand levels.

use bytes::Bytes;
use serde_json::{Value, value::RawValue};

/// The depth at which parts are set aside.
const LEVELS: usize = crossfeed::json::MAX_DEPTH;

/// The parts that were set aside, and the mark that replaces them.
#[derive(Debug, Default)]
pub(crate) struct SetAside {
    mark: String,
    parts: Vec<String>,
}

impl SetAside {
    /// The document without the parts that are too deep; `None` where it is not valid JSON.
    pub(crate) fn of(document: &[u8]) -> Option<(Bytes, Self)> {
        let text = std::str::from_utf8(document).ok()?;
        // The check reads any depth, and builds nothing.
        serde_json::from_str::<&RawValue>(text).ok()?;
        let mut aside = Self {
            mark: mark(text),
            parts: Vec::new(),
        };
        let mut rest = Vec::with_capacity(document.len());
        let mut part = Vec::new();
        let (mut open, mut in_string, mut escaped) = (0_usize, false, false);
        for &byte in document {
            let blank = !in_string && byte.is_ascii_whitespace();
            let before = open;
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_string = !in_string,
                b'{' | b'[' if !in_string => open += 1,
                b'}' | b']' if !in_string => open = open.checked_sub(1)?,
                _ => {}
            }
            if before.max(open) <= LEVELS {
                rest.push(byte);
            } else if !blank {
                part.push(byte);
            }
            if before > LEVELS && open == LEVELS {
                let place = Value::String(format!("{}{}.", aside.mark, aside.parts.len()));
                rest.extend(place.to_string().bytes());
                aside
                    .parts
                    .push(String::from_utf8(std::mem::take(&mut part)).ok()?);
            }
        }
        Some((rest.into(), aside))
    }

    /// Whether a part of this value was set aside.
    pub(crate) fn is_part_of(&self, value: &Value) -> bool {
        !self.parts.is_empty() && value.to_string().contains(&self.mark)
    }

    /// The text with the parts where they were.
    pub(crate) fn put_back(&self, text: &str) -> String {
        if self.parts.is_empty() {
            return text.to_owned();
        }
        let mut out = String::with_capacity(text.len());
        let opening = format!("\"{}", self.mark);
        let mut pieces = text.split(opening.as_str());
        out.push_str(pieces.next().unwrap_or_default());
        for piece in pieces {
            let part = piece.split_once(".\"").and_then(|(index, rest)| {
                let index: usize = index.parse().ok()?;
                Some((self.parts.get(index)?, rest))
            });
            match part {
                Some((part, rest)) => {
                    out.push_str(part);
                    out.push_str(rest);
                }
                // A text of the document itself, written with escapes.
                None => {
                    out.push_str(&opening);
                    out.push_str(piece);
                }
            }
        }
        out
    }
}

/// A text that the document does not contain.
fn mark(document: &str) -> String {
    let mut mark = "too-deep:".to_owned();
    while document.contains(&mark) {
        mark.push(':');
    }
    mark
}

#[cfg(test)]
mod tests {
    use super::{LEVELS, SetAside};
    use serde_json::Value;

    fn check(document: &str, parts: usize) {
        let (rest, aside) = SetAside::of(document.as_bytes()).unwrap();
        assert_eq!(aside.parts.len(), parts);
        let value: Value = serde_json::from_slice(&rest).unwrap();
        assert_eq!(aside.is_part_of(&value), parts > 0);
        assert_eq!(aside.put_back(&value.to_string()), document);
    }

    #[test]
    fn what_is_set_aside_is_put_back() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        check("{\"a\":[1,\"]\\\"[\"]}", 0);
        check(&nested(LEVELS), 0);
        check(&nested(LEVELS + 1), 1);
        check(&nested(10_000), 1);
        check(
            &format!("[{},\"too-deep:0.\",{}]", nested(500), nested(300)),
            2,
        );
        assert!(SetAside::of(b"[[]").is_none());
        assert!(SetAside::of(b"]").is_none());
    }
}
