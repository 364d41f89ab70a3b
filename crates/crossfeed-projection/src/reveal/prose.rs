//! Texts that are no JSON: which names of what is never shown stand in them.
//!
//! What comes in: names, and texts of any size. What goes out: the names that are words of a text.
//! One automaton holds all names, so a text is read once however many there are.

use aho_corasick::AhoCorasick;
use std::{borrow::Cow, collections::HashSet};

/// Times that codes are read as characters: as deep as strings are looked into.
const LEVELS: usize = 16;

/// Names that are looked for as words of a text, whatever their case.
#[derive(Clone, Debug, Default)]
pub(super) struct Words {
    /// The name of each pattern.
    names: Vec<Box<str>>,
    search: Option<AhoCorasick>,
}

impl Words {
    pub(super) fn of<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let mut words = Self::default();
        let mut patterns = Vec::new();
        for name in names {
            let forms = match name {
                // Only quotes show that it is there.
                "" => vec!["\"\"".into(), "''".into()],
                _ => forms(name),
            };
            for form in forms {
                patterns.push(folded(&form).into_owned());
                words.names.push(name.into());
            }
        }
        words.search = automaton(&patterns);
        words
    }

    /// The names that are words of a text.
    pub(super) fn found_in(&self, text: &str) -> HashSet<&str> {
        let Some(search) = &self.search else {
            // What cannot be searched may hold them all.
            return self.names.iter().map(|name| &**name).collect();
        };
        let mut found = HashSet::new();
        let mut look = |text: &str| {
            let text = folded(text);
            let hits = search.find_overlapping_iter(&*text);
            let words = hits.filter(|hit| is_word(&text, hit.start(), hit.end()));
            found.extend(words.map(|hit| &*self.names[hit.pattern().as_usize()]));
        };
        look(text);
        if let Cow::Owned(plain) = unescaped(text) {
            look(&plain);
        }
        found
    }
}

/// The search for all of these at once; `None` where there are none, or more than it can hold.
pub(super) fn automaton(patterns: &[String]) -> Option<AhoCorasick> {
    if patterns.is_empty() {
        return None;
    }
    AhoCorasick::new(patterns).ok()
}

/// Whether nothing that belongs to a word stands around these bytes of a text.
fn is_word(text: &str, start: usize, end: usize) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let before = text.get(..start).and_then(|text| text.chars().next_back());
    let after = text.get(end..).and_then(|text| text.chars().next());
    !(before.is_some_and(is_word) || after.is_some_and(is_word))
}

/// A name as it is found in a text, and in one that was [`unescaped`].
pub(super) fn forms(name: &str) -> Vec<Cow<'_, str>> {
    let quoted = crossfeed_json::quoted(name);
    let escaped = quoted.get(1..quoted.len() - 1).unwrap_or_default();
    let plain = unescaped(escaped);
    match plain == name {
        true => vec![name.into()],
        false => vec![name.into(), plain.into_owned().into()],
    }
}

/// The text without case.
fn folded(text: &str) -> Cow<'_, str> {
    if !text.is_ascii() {
        // There and back: some letters have two small forms.
        let upper = text.chars().flat_map(char::to_uppercase);
        return upper.flat_map(char::to_lowercase).collect();
    }
    match text.bytes().any(|byte| byte.is_ascii_uppercase()) {
        true => text.to_ascii_lowercase().into(),
        false => text.into(),
    }
}

/// The text without escapes of any level: `\"a\":` reads as `"a":`, `\u0061` as `a`, and `\n` as a
/// blank. What needs none is borrowed.
pub(super) fn unescaped(text: &str) -> Cow<'_, str> {
    let mut text = Cow::Borrowed(text);
    for _ in 0..LEVELS {
        match without_codes(&text) {
            Some(plain) => text = Cow::Owned(plain),
            None => break,
        }
    }
    if text.contains('\\') {
        text = Cow::Owned(without_backslashes(&text));
    }
    text
}

/// The text with each `\uXXXX` as its character, however many backslashes are before it; `None` where
/// there is none.
fn without_codes(text: &str) -> Option<String> {
    let mut rest = text;
    let mut out = None;
    let mut from = 0;
    while let Some(at) = rest.get(from..).and_then(|rest| rest.find("\\u")) {
        let at = from + at;
        let Some((c, len)) = coded(&rest[at..]) else {
            from = at + 2;
            continue;
        };
        let out = out.get_or_insert_with(|| String::with_capacity(text.len()));
        out.push_str(rest[..at].trim_end_matches('\\'));
        out.push(c);
        rest = &rest[at + len..];
        from = 0;
    }
    let mut out = out?;
    out.push_str(rest);
    Some(out)
}

/// The character that a text begins with as `\uXXXX`, or as two of them, and how long that is.
fn coded(text: &str) -> Option<(char, usize)> {
    let code = |text: &str| -> Option<u32> {
        let digits = text.strip_prefix("\\u")?.get(..4)?;
        u32::from_str_radix(digits, 16).ok()
    };
    let first = code(text)?;
    if !(0xD800..0xDC00).contains(&first) {
        return Some((char::from_u32(first)?, 6));
    }
    let behind = text.get(6..)?;
    let slashes = behind.len() - behind.trim_start_matches('\\').len();
    let second = code(behind.get(slashes.checked_sub(1)?..)?)?;
    let low = second.checked_sub(0xDC00).filter(|low| *low < 0x400)?;
    let c = char::from_u32(0x10000 + ((first - 0xD800) << 10) + low)?;
    Some((c, 6 + slashes + 5))
}

/// The text without backslashes; those that write a control character leave a blank, so that what was
/// apart does not become one word.
fn without_backslashes(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = rest[at..].trim_start_matches('\\');
        if let Some(behind) = rest.strip_prefix(['b', 'f', 'n', 'r', 't']) {
            out.push(' ');
            rest = behind;
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::{folded, unescaped};

    fn check(text: &str, expected: &str) {
        assert_eq!(unescaped(text), expected, "{text}");
    }

    #[test]
    fn escapes_of_all_levels_are_read() {
        check("plain", "plain");
        check(r#"{\"a\": \\\"b\\\"}"#, r#"{"a": "b"}"#);
        check(r"a\nb\\tc\\\\rd\be\f", "a b c d e ");
        check(r"\u0070in \\u0070in \\\\u0070in", "pin pin pin");
        check(r"\u005cu0070in \u005cu005cu0070in", "pin pin");
        check(r"\u005cnpin", " pin");
        check(r"\\u006eame", "name");
        check(r"\ud83d\ude00 \\ud83d\\ude00", "😀 😀");
        check(r"\u00 \ud83d \ud83dx \u00zz \u", "u00 ud83d ud83dx u00zz u");
        check(r"\u\u0070", "up");
    }

    #[test]
    fn case_is_folded_both_ways() {
        for (text, expected) in [
            ("pin", "pin"),
            ("PiN", "pin"),
            ("GRÖSSE", "grösse"),
            ("größe", "grösse"),
            ("ΟΔΟΣ", "οδοσ"),
            ("οδος", "οδοσ"),
        ] {
            assert_eq!(folded(text), expected, "{text}");
        }
    }
}
