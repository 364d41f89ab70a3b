//! The length of a value's JSON in characters.

use crate::cursor::Cursor;

impl Cursor<'_> {
    /// The characters of the value's original JSON, each escape counted as one. For a whole document they are
    /// counted once, and never for a plain one.
    pub fn decoded_chars(self) -> usize {
        let raw = self.raw();
        if self.document_is_plain() {
            return raw.len();
        }
        match self.ordinal() {
            0 => *self.tape.root_chars.get_or_init(|| decoded_chars(raw)),
            _ => decoded_chars(raw),
        }
    }
}

/// The number of characters in UTF-8: all bytes but continuation bytes.
pub fn count_chars(utf8: &[u8]) -> usize {
    bytecount::num_chars(utf8)
}

/// The most bytes of memory that the index of some JSON takes while it is made: two words for each value and
/// key, of which it keeps one. Text within strings that looks like JSON counts as well.
///
/// ```
/// assert!(crossfeed_json::indexing_bytes(b"[0,0,0]") > crossfeed_json::indexing_bytes(b"12345678"));
/// ```
pub fn indexing_bytes(json: &[u8]) -> usize {
    let before_values = b",:[{".iter().map(|&sign| bytecount::count(json, sign));
    2 * size_of::<u64>() * (before_values.sum::<usize>() + 1)
}

/// The characters of JSON, each escape counted as one.
fn decoded_chars(json: &[u8]) -> usize {
    let mut chars = count_chars(json);
    let mut rest = json;
    while let Some(at) = rest.iter().position(|byte| *byte == b'\\') {
        let escape = rest.get(at..).unwrap_or_default();
        let (length, further) = match escape {
            [_, b'u', code @ ..] if is_low_surrogate(code) => (6, 6),
            [_, b'u', ..] => (6, 5),
            _ => (2, 1),
        };
        chars -= further.min(chars);
        rest = escape.get(length..).unwrap_or_default();
    }
    chars
}

/// Whether an escape's code is the second half of a character, whose first half counted for it.
fn is_low_surrogate(code: &[u8]) -> bool {
    matches!(code, [b'd' | b'D', b'c'..=b'f' | b'C'..=b'F', ..])
}

#[cfg(test)]
mod tests {
    use crate::Document;
    use proptest::prelude::*;
    use serde_json::Value;

    /// Judges the characters of a document, and those of it as an item.
    fn check(json: &str, expected: usize) {
        for (json, further) in [(json.to_owned(), 0), (format!("[{json}]"), 2)] {
            let document = Document::new(json);
            let root = document.root().unwrap();
            assert_eq!(root.decoded_chars(), expected + further);
            assert_eq!(root.decoded_chars(), expected + further);
            if further > 0 {
                assert_eq!(root.at(0).unwrap().decoded_chars(), expected);
            }
        }
    }

    #[test]
    fn escapes_count_as_what_they_stand_for() {
        check(r#""\ud83d\ude00""#, 3);
        check(r#""\\u00e9\n\"""#, 10);
        check(r#"{"é": "\u00e9", "n": 1}"#, 18);
        check("12", 2);
    }

    proptest! {
        #[test]
        fn decoded_characters_are_those_of_the_strings(text in any::<String>()) {
            let spelled: String = text
                .encode_utf16()
                .map(|unit| format!("\\u{unit:04x}"))
                .collect();
            check(&format!("\"{spelled}\""), text.chars().count() + 2);
            let json = Value::from(text.as_str()).to_string();
            check(&json, text.chars().count() + 2);
        }
    }
}
