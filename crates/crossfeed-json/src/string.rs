//! The text of JSON strings: decoding, escaping.

use crate::scan::{Scanner, plain_len};
use std::borrow::Cow;

/// The inside of the string without escapes that ends with these bytes, its closing quote excluded.
#[inline]
pub(crate) fn before_closing_quote(bytes: &[u8]) -> &[u8] {
    // Eight bytes at a time: most keys are that short.
    let mut len = 0;
    while let Some(word) = bytes[..bytes.len() - len].last_chunk() {
        let quotes = quotes(u64::from_le_bytes(*word));
        if quotes != 0 {
            return &bytes[bytes.len() - len - (quotes.leading_zeros() / 8) as usize..];
        }
        len += 8;
    }
    let quote = bytes.iter().rposition(|&byte| byte == b'"');
    &bytes[quote.map_or(0, |quote| quote + 1)..]
}

/// The highest bit of each byte that is a quote, and of no other.
#[inline(always)]
fn quotes(word: u64) -> u64 {
    const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    let others = word ^ (u64::from(b'"') * 0x0101_0101_0101_0101);
    !((others & LOW).wrapping_add(LOW) | others | LOW)
}

/// Whether two texts of one length are the same and hold no quote. Most are shorter than a call of
/// `memcmp` is worth.
#[inline(always)]
pub(crate) fn is_unquoted(a: &[u8], b: &[u8]) -> bool {
    if let (Some(first), Some(other)) = (a.first_chunk(), b.first_chunk())
        && let (Some(last), Some(other_last)) = (a.last_chunk(), b.last_chunk())
        && a.len() <= 16
    {
        let first = u64::from_le_bytes(*first);
        let last = u64::from_le_bytes(*last);
        return first == u64::from_le_bytes(*other)
            && last == u64::from_le_bytes(*other_last)
            && quotes(first) | quotes(last) == 0;
    }
    if a.len() > 16 {
        return a == b && !a.contains(&b'"');
    }
    if let (Some(first), Some(other)) = (a.first_chunk(), b.first_chunk())
        && let (Some(last), Some(other_last)) = (a.last_chunk(), b.last_chunk())
    {
        let all = |first: &[u8; 4], last: &[u8; 4]| {
            u64::from(u32::from_le_bytes(*first)) | u64::from(u32::from_le_bytes(*last)) << 32
        };
        let text = all(first, last);
        return text == all(other, other_last) && quotes(text) == 0;
    }
    let pairs = a.iter().zip(b);
    pairs.fold(true, |same, (a, b)| same & (a == b) & (*a != b'"'))
}

/// The decoded bytes of a checked string. A lone surrogate gives its three bytes in the generalised UTF-8 of
/// WTF-8, so that different strings stay different.
pub(crate) fn decode(raw: &[u8], escaped: bool) -> Cow<'_, [u8]> {
    if !escaped {
        return Cow::Borrowed(raw);
    }
    // Nothing grows. Short runs are copied as if they were long ones.
    let mut out = vec![0; raw.len() + STEP];
    let mut scanner = Scanner::new(raw);
    let (mut at, mut len) = (0, 0);
    loop {
        let end = scanner.special(raw, at);
        match step(raw, at) {
            Some(step) if end - at <= STEP => out[len..len + STEP].copy_from_slice(step),
            _ => out[len..len + (end - at)].copy_from_slice(&raw[at..end]),
        }
        len += end - at;
        let Some((bytes, count, behind)) = special(raw, end) else {
            break;
        };
        out[len..len + bytes.len()].copy_from_slice(&bytes);
        len += count;
        at = behind;
    }
    out.truncate(len);
    Cow::Owned(out)
}

/// The decoded bytes of the special byte or escape at `at`, their number, and the offset after it; `None` at
/// the end.
#[inline(always)]
fn special(raw: &[u8], at: usize) -> Option<([u8; 4], usize, usize)> {
    Some(match (raw.get(at)?, raw.get(at + 1)) {
        (b'\\', Some(&quoted @ (b'"' | b'\\' | b'/'))) => ([quoted, 0, 0, 0], 1, at + 2),
        (b'\\', _) => {
            let (code, behind) = escape(raw, at);
            let (bytes, count) = code_point(code);
            (bytes, count, behind.min(raw.len()))
        }
        (&other, _) => ([other, 0, 0, 0], 1, at + 1),
    })
}

/// More bytes than most runs between the escapes of JSON in a string.
const STEP: usize = 16;

#[inline(always)]
fn step(raw: &[u8], at: usize) -> Option<&[u8; STEP]> {
    raw.get(at..)?.first_chunk()
}

/// The text of the inside of a JSON string; a lone surrogate is U+FFFD. The string must be valid: an invalid
/// escape may read as anything.
pub fn unescape(raw: &str) -> Cow<'_, str> {
    if raw.contains('\\') {
        to_text(decode(raw.as_bytes(), true))
    } else {
        Cow::Borrowed(raw)
    }
}

/// Maps offsets in the [unescaped](unescape) text of a JSON string to offsets in its raw inside.
///
/// ```
/// use crossfeed_json::{Origins, unescape};
///
/// let raw = r"a\n\u0062\u0063d";
/// let text = unescape(raw);
/// let mut origins = Origins::new(raw);
/// let (c, d) = (origins.raw_offset(3), origins.raw_offset(4));
/// assert_eq!((&text[3..4], &raw[c..d]), ("c", r"\u0063"));
/// ```
#[derive(Clone, Debug)]
pub struct Origins<'a> {
    raw: &'a [u8],
    scanner: Scanner,
    at: usize,
    /// The offset in the text that corresponds to `at`.
    text: usize,
}

impl<'a> Origins<'a> {
    /// The origins of the inside of a JSON string.
    pub fn new(raw: &'a str) -> Self {
        Self {
            raw: raw.as_bytes(),
            scanner: Scanner::new(raw.as_bytes()),
            at: 0,
            text: 0,
        }
    }

    /// The raw offset of the character at `offset` of the text, or of the end. Offsets must not decrease from
    /// call to call.
    pub fn raw_offset(&mut self, offset: usize) -> usize {
        while self.text < offset {
            let plain = self.scanner.special(self.raw, self.at) - self.at;
            let plain = plain.min(offset - self.text);
            self.at += plain;
            self.text += plain;
            if self.text == offset {
                break;
            }
            let Some((_, count, behind)) = special(self.raw, self.at) else {
                break;
            };
            self.text += count;
            self.at = behind;
        }
        self.at
    }
}

/// The decoded bytes of a member's key: the UTF-8 of its text. Keys that read as the same text are one key,
/// so a lone surrogate is U+FFFD here.
pub(crate) fn decode_key(raw: &[u8], escaped: bool) -> Cow<'_, [u8]> {
    if !escaped {
        return Cow::Borrowed(raw);
    }
    Cow::Owned(to_text(decode(raw, true)).into_owned().into_bytes())
}

/// Whether a checked key reads as `text`, as [`decode_key`] reads it; reading stops at the first difference.
pub(crate) fn is_key(raw: &[u8], text: &[u8]) -> bool {
    let mut rest = text;
    let mut at = 0;
    while let Some(&byte) = raw.get(at) {
        let left = if byte == b'\\' {
            let (code, next) = escape(raw, at);
            at = next;
            let is_surrogate = (0xd800..0xe000).contains(&code);
            let (bytes, count) = code_point(if is_surrogate { 0xfffd } else { code });
            rest.strip_prefix(&bytes[..count])
        } else {
            at += 1;
            rest.strip_prefix(&[byte])
        };
        match left {
            Some(left) => rest = left,
            None => return false,
        }
    }
    rest.is_empty()
}

/// The code point of the escape at `at`, and the offset after it.
fn escape(raw: &[u8], at: usize) -> (u32, usize) {
    let letter = raw.get(at + 1).copied().unwrap_or(b'\\');
    let at = at + 2;
    let code = match letter {
        b'b' => 0x08,
        b'f' => 0x0c,
        b'n' => u32::from(b'\n'),
        b'r' => u32::from(b'\r'),
        b't' => u32::from(b'\t'),
        b'u' => {
            let unit = hex4(raw, at);
            let at = at + 4;
            if (0xd800..0xdc00).contains(&unit) && raw.get(at..at + 2) == Some(b"\\u") {
                let low = hex4(raw, at + 2);
                if (0xdc00..0xe000).contains(&low) {
                    return (0x1_0000 + ((unit - 0xd800) << 10) + (low - 0xdc00), at + 6);
                }
            }
            return (unit, at);
        }
        other => u32::from(other),
    };
    (code, at)
}

fn hex4(raw: &[u8], at: usize) -> u32 {
    raw.iter().skip(at).take(4).fold(0, |unit, &digit| {
        unit * 16 + (digit as char).to_digit(16).unwrap_or(0)
    })
}

/// The bytes of a code point, and how many there are. A lone surrogate has three, as UTF-8 would have it if it allowed
/// surrogates.
fn code_point(code: u32) -> ([u8; 4], usize) {
    let mut bytes = [0; 4];
    if let Some(c) = char::from_u32(code) {
        let count = c.encode_utf8(&mut bytes).len();
        return (bytes, count);
    }
    bytes[0] = 0xe0 | (code >> 12) as u8;
    bytes[1] = 0x80 | ((code >> 6) & 0x3f) as u8;
    bytes[2] = 0x80 | (code & 0x3f) as u8;
    (bytes, 3)
}

/// Decoded bytes as text; a lone surrogate, which no Rust string can hold, becomes U+FFFD.
pub(crate) fn to_text(bytes: Cow<'_, [u8]>) -> Cow<'_, str> {
    match bytes {
        Cow::Borrowed(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => Cow::Borrowed(text),
            Err(_) => Cow::Owned(replace_surrogates(bytes)),
        },
        Cow::Owned(bytes) => {
            let text = String::from_utf8(bytes);
            Cow::Owned(text.unwrap_or_else(|error| replace_surrogates(error.as_bytes())))
        }
    }
}

fn replace_surrogates(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        out.push_str(chunk.valid());
        // Bytes that are not UTF-8 are surrogates of three bytes, each of which is invalid alone.
        if chunk.invalid().first() == Some(&0xed) {
            out.push('\u{fffd}');
        }
    }
    out
}

/// Appends `text` as the inside of a JSON string, escaping only what RFC 8259 demands.
pub fn escape_into(out: &mut Vec<u8>, text: &str) {
    let bytes = text.as_bytes();
    let mut at = 0;
    loop {
        let plain = plain_len(&bytes[at..]);
        out.extend_from_slice(&bytes[at..at + plain]);
        at += plain;
        let Some(&byte) = bytes.get(at) else { return };
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            0x08 => out.extend_from_slice(b"\\b"),
            0x0c => out.extend_from_slice(b"\\f"),
            other => {
                const HEX: &[u8; 16] = b"0123456789abcdef";
                out.extend_from_slice(b"\\u00");
                out.push(HEX[usize::from(other >> 4)]);
                out.push(HEX[usize::from(other & 15)]);
            }
        }
        at += 1;
    }
}

/// `text` as a JSON string, quotes included.
pub fn quoted(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len() + 2);
    out.push(b'"');
    escape_into(&mut out, text);
    out.push(b'"');
    // Escaping keeps UTF-8.
    String::from_utf8(out).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{
        Origins, before_closing_quote, decode, decode_key, escape_into, is_key, is_unquoted,
        to_text, unescape,
    };
    use proptest::{collection::vec, prelude::*, sample::select};

    fn check(raw: &str, expected: &str) {
        assert_eq!(to_text(decode(raw.as_bytes(), true)), expected, "{raw}");
    }

    #[test]
    fn decodes_escapes() {
        check(r"a\nb\u0041\/", "a\nbA/");
        check(r"\ud83d\ude00", "\u{1f600}");
        check(r"x\ud83dy", "x\u{fffd}y");
        check(r"\ud800\ud800", "\u{fffd}\u{fffd}");
        check(r"\ude00\ud83d\ude00", "\u{fffd}\u{1f600}");
        check(r"\u0000", "\0");
    }

    #[test]
    fn lone_surrogates_stay_different() {
        assert_ne!(decode(br"\ud800", true), decode(br"\ud801", true));
    }

    /// Pieces of checked strings, alike at their beginnings and ends.
    fn written() -> impl Strategy<Value = String> {
        let pieces = [
            "a",
            "b",
            "\\\\",
            "\\\"",
            "\\n",
            "\\/",
            "/",
            "\\u0061",
            "é",
            "\\u00e9",
            "\\ud83d",
            "\\ude00",
            "\\ud800",
            "\u{1f600}",
        ];
        vec(select(pieces.to_vec()), 0..5).prop_map(|pieces| pieces.concat())
    }

    /// What the text between two of its offsets came from stands for the same.
    fn traces_back(raw: &str) {
        let text = unescape(raw);
        let mut origins = Origins::new(raw);
        let (mut before, mut came) = (0, 0);
        for (at, _) in text.char_indices().chain([(text.len(), ' ')]) {
            let from = origins.raw_offset(at);
            assert_eq!(unescape(&raw[came..from]), text[before..at], "{raw}");
            (before, came) = (at, from);
        }
        assert_eq!(came, raw.len(), "{raw}");
    }

    proptest! {
        #[test]
        fn knows_where_characters_came_from(raw in written(), more in written()) {
            traces_back(&raw);
            traces_back(&format!("a rather long text {more} of many bytes {raw}"));
        }

        #[test]
        fn what_is_no_string_does_no_harm(parts in vec(select(["\\", "\\u", "d83d", "de", "é", "\"", "a", "\n"].to_vec()), 0..30)) {
            let raw = parts.concat();
            let text = unescape(&raw);
            prop_assert!(Origins::new(&raw).raw_offset(text.len()) <= raw.len());
        }

        #[test]
        fn decodes_at_all_offsets(texts in vec("[a-z\"\\\\/\nü\u{1f600}]{0,20}", 0..8)) {
            let text = texts.concat();
            let mut raw = Vec::new();
            escape_into(&mut raw, &text);
            let raw = String::from_utf8(raw).unwrap();
            prop_assert_eq!(unescape(&raw), text.as_str());
            traces_back(&raw);
        }

        #[test]
        fn tells_keys_apart_like_decoded_ones(a in written(), b in written()) {
            let (a, b) = (a.as_bytes(), b.as_bytes());
            prop_assert!(is_key(a, &decode_key(a, true)));
            prop_assert_eq!(is_key(a, &decode_key(b, true)), decode_key(a, true) == decode_key(b, true));
        }

        #[test]
        fn reads_keys_backwards(before in "[a\"]{0,20}", key in "[a-zé\u{a2}!#]{0,40}") {
            let text = format!("{before}\"{key}");
            prop_assert_eq!(before_closing_quote(text.as_bytes()), key.as_bytes());
        }

        #[test]
        fn compares_like_slices(a in "[ab\"]{0,20}", change in any::<proptest::sample::Index>()) {
            prop_assert_eq!(is_unquoted(a.as_bytes(), a.as_bytes()), !a.contains('"'));
            if !a.is_empty() {
                let mut b = a.clone().into_bytes();
                b[change.index(a.len())] ^= 1;
                prop_assert!(!is_unquoted(a.as_bytes(), &b));
            }
        }

        #[test]
        fn escaping_round_trips(text in any::<String>()) {
            let mut out = Vec::new();
            escape_into(&mut out, &text);
            prop_assert_eq!(to_text(decode(&out, true)), text.as_str());
            out.insert(0, b'"');
            out.push(b'"');
            prop_assert_eq!(serde_json::from_slice::<String>(&out).unwrap(), text);
        }
    }
}
