//! Texts that are shown by their beginning and their length.
//!
//! A text is read only as far as it is shown, except for one pass that counts its characters.

use crossfeed_json::{escape_into, unescape};
use crossfeed_tokens::count_chars;
use serde_json::Value;
use std::borrow::Cow;

/// The most characters of a text that its first step shows whole.
pub(super) const SHORT: usize = 64;
/// How many characters of a longer text its first step shows: so few that, with the mark, it is no longer
/// than a short text.
pub(super) const BEGINNING: usize = 48;
/// The approximate length of the mark after the beginning of a text.
const MARK: usize = 20;
/// How many characters of a text are searched for JSON.
const MAX_JSON_CHARS: usize = 1 << 16;

/// The characters of a text, and how they are written.
#[derive(Clone, Copy, Debug)]
pub(super) enum Chars<'a> {
    /// As it is.
    Plain(&'a str),
    /// The inside of a JSON string.
    Quoted(&'a [u8]),
    /// The digits of a number, which are shown like a text if there are many.
    Digits(&'a [u8]),
}

impl<'a> Chars<'a> {
    /// The text of a JSON string, from its bytes with quotes.
    pub(super) fn from_string(raw: &'a [u8]) -> Self {
        let inside = raw.get(1..raw.len().saturating_sub(1));
        Self::Quoted(inside.unwrap_or_default())
    }

    fn bytes(self) -> &'a [u8] {
        match self {
            Self::Plain(text) => text.as_bytes(),
            Self::Quoted(bytes) | Self::Digits(bytes) => bytes,
        }
    }

    /// Its length in bytes, as it is written.
    pub(super) fn len(self) -> usize {
        self.bytes().len()
    }

    /// Its length in characters.
    pub(super) fn count(self) -> usize {
        let bytes = self.bytes();
        let Self::Quoted(_) = self else {
            return count_chars(bytes);
        };
        let mut count = count_chars(bytes);
        let mut at = 0;
        while let Some(next) = bytes.get(at..).and_then(|rest| memchr::memchr(b'\\', rest)) {
            let escape = escape_len(bytes, at + next);
            // An escape is ASCII and stands for one character.
            count -= escape - 1;
            at += next + escape;
        }
        count
    }

    /// The offset after `chars` more characters from `at`, which is between two characters.
    pub(super) fn advance(self, from: usize, chars: usize) -> usize {
        let bytes = self.bytes();
        let mut at = from;
        for _ in 0..chars {
            at += match bytes.get(at) {
                None => return bytes.len(),
                Some(b'\\') if matches!(self, Self::Quoted(_)) => escape_len(bytes, at),
                Some(first) => char_len(*first),
            };
        }
        at.min(bytes.len())
    }

    /// Appends the part before `end`, as the inside of a JSON string.
    pub(super) fn write_until(self, end: usize, out: &mut Vec<u8>) {
        match self {
            Self::Plain(text) => escape_into(out, text.get(..end).unwrap_or(text)),
            Self::Quoted(bytes) | Self::Digits(bytes) => {
                out.extend_from_slice(bytes.get(..end).unwrap_or(bytes));
            }
        }
    }

    /// Appends the part before `end`, as JSON.
    pub(super) fn write_begin(self, end: usize, out: &mut Vec<u8>) {
        let quote: &[u8] = match self {
            Self::Digits(_) => b"",
            _ => b"\"",
        };
        out.extend_from_slice(quote);
        self.write_until(end, out);
        out.extend_from_slice(quote);
    }

    /// Appends all of it as JSON.
    pub(super) fn write(self, out: &mut Vec<u8>) {
        self.write_begin(self.len(), out);
    }

    /// Whether a text that is not valid JSON as a whole begins like it, or has lines that are lists or objects
    /// (JSON Lines): a program that takes such lines and leaves out others would read a part as all.
    pub(super) fn has_json_lines(self) -> bool {
        let text = self.begin(self.advance(0, MAX_JSON_CHARS));
        let begins = |line: &str| {
            let rest = line.trim_start();
            let inside = rest.strip_prefix(['{', '[']).map(str::trim_start);
            inside.is_some_and(|inside| inside.starts_with(['{', '[', '"']))
        };
        let is_json = |line: &str| {
            let line = line.trim();
            line.starts_with(['{', '[']) && serde_json::from_str::<Value>(line).is_ok()
        };
        begins(&text) || text.lines().any(is_json)
    }

    /// The part before `end`, as a text; a lone surrogate is U+FFFD.
    pub(super) fn begin(self, end: usize) -> Cow<'a, str> {
        let bytes = self.bytes();
        // It is cut between characters, and JSON is UTF-8.
        let text = std::str::from_utf8(bytes.get(..end).unwrap_or(bytes)).unwrap_or_default();
        match self {
            Self::Quoted(_) => unescape(text),
            Self::Plain(_) | Self::Digits(_) => Cow::Borrowed(text),
        }
    }
}

/// The length of the escape at `at` in the inside of a JSON string; a pair of surrogates is one.
fn escape_len(bytes: &[u8], at: usize) -> usize {
    match escaped_unit(bytes, at) {
        None => 2,
        Some(0xd800..0xdc00) if matches!(escaped_unit(bytes, at + 6), Some(0xdc00..0xe000)) => 12,
        Some(_) => 6,
    }
}

/// The UTF-16 unit of an escape such as `\u0041`.
pub(super) fn escaped_unit(bytes: &[u8], at: usize) -> Option<u16> {
    let digits = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// The length of the UTF-8 character that begins with this byte.
pub(super) fn char_len(first: u8) -> usize {
    match first {
        0..0x80 => 1,
        0x80..0xe0 => 2,
        0xe0..0xf0 => 3,
        _ => 4,
    }
}

/// A text that is shown from its beginning on.
#[derive(Debug)]
pub(super) struct Text<'a> {
    pub(super) chars: Chars<'a>,
    /// Whether it is the whole result, shown raw rather than within JSON.
    pub(super) is_raw: bool,
    /// Its length in characters.
    pub(super) count: usize,
    /// The lengths that it is shown up to, each with its step.
    ends: Vec<(usize, usize)>,
    /// The characters that are shown after the last of them.
    shown: usize,
}

impl<'a> Text<'a> {
    /// A text of which nothing is shown.
    pub(super) fn new(chars: Chars<'a>, is_raw: bool) -> Self {
        Self {
            chars,
            is_raw,
            count: chars.count(),
            ends: Vec::new(),
            shown: 0,
        }
    }

    /// Shows the beginning from a step on; returns whether there is more.
    pub(super) fn begin(&mut self, step: usize) -> bool {
        let chars = if self.count <= SHORT {
            self.count
        } else {
            BEGINNING
        };
        self.ends.push((step, self.chars.advance(0, chars)));
        self.shown = chars;
        chars < self.count
    }

    /// Shows more from a step on; returns how many bytes more, and whether there is still more.
    pub(super) fn lengthen(&mut self, step: usize) -> (usize, bool) {
        let from = self.ends.last().map_or(0, |(_, end)| *end);
        let mut target = match self.shown {
            0..12 => 12,
            12..24 => 24,
            24..BEGINNING => BEGINNING,
            BEGINNING..300 => self.shown + self.shown / 2,
            more => more + more / 5,
        };
        if self.count <= target + MARK {
            target = self.count;
        }
        let end = self.chars.advance(from, target.saturating_sub(self.shown));
        self.ends.push((step, end));
        self.shown = target;
        (end - from, target < self.count)
    }

    /// Where the text is cut after `steps` steps.
    pub(super) fn end(&self, steps: usize) -> usize {
        let before = self.ends.partition_point(|(step, _)| *step < steps);
        before.checked_sub(1).map_or(0, |last| self.ends[last].1)
    }
}

#[cfg(test)]
mod tests {
    use super::Chars;
    use proptest::prelude::*;

    fn check(inside: &str, count: usize) {
        let chars = Chars::Quoted(inside.as_bytes());
        assert_eq!(chars.count(), count, "{inside}");
        assert_eq!(chars.advance(0, count), inside.len(), "{inside}");
        assert_eq!(chars.advance(0, count + 1), inside.len(), "{inside}");
    }

    #[test]
    fn escapes_are_characters() {
        check("", 0);
        check(r"a\nb\u0041\/é", 6);
        check(r"\\\\n\\u0041", 9);
        check(r"\ud83d\ude00x", 2);
        check(r"\ud83dx\ude00", 3);
        check(r"\ud83d\ud83d\ude00", 2);
    }

    #[test]
    fn lines_that_are_json_are_found() {
        for (text, expected) in [
            ("{\"id\":0}\n{\"id\":1}\n", true),
            ("Found 2:\r\n  [{\"id\":0}] \r\nthe end", true),
            ("[{\"id\":0}, {\"id\"", true),
            ("numbers:\n[1, 2]\n[3]", true),
            ("", false),
            ("a [link](x)\n[2026] started\n{\n}\n{'a': 1}", false),
        ] {
            let json = serde_json::to_string(text).unwrap();
            for chars in [Chars::Plain(text), Chars::from_string(json.as_bytes())] {
                assert_eq!(chars.has_json_lines(), expected, "{text}");
            }
        }
    }

    proptest! {
        #[test]
        fn a_text_is_cut_between_characters(text in any::<String>(), at in 0..20_usize) {
            let json = serde_json::to_string(&text).unwrap();
            let total = text.chars().count();
            let begin: String = text.chars().take(at).collect();
            for chars in [Chars::Plain(&text), Chars::from_string(json.as_bytes())] {
                prop_assert_eq!(chars.count(), total);
                let half = chars.advance(0, at / 2);
                let end = chars.advance(half, at - at / 2);
                let mut out = b"\"".to_vec();
                chars.write_until(end, &mut out);
                out.push(b'"');
                prop_assert_eq!(&serde_json::from_slice::<String>(&out).unwrap(), &begin);
                prop_assert_eq!(chars.begin(end), begin.as_str());
                let mut all = Vec::new();
                chars.write(&mut all);
                prop_assert_eq!(&serde_json::from_slice::<String>(&all).unwrap(), &text);
            }
        }
    }
}
