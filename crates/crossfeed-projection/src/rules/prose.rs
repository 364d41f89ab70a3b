//! Finds names of hidden fields in texts that are not valid JSON.
//!
//! One automaton holds all names, so a text is read once however many there are.

use crate::fold_case;
use aho_corasick::AhoCorasick;
use std::{borrow::Cow, collections::HashSet, sync::LazyLock};

/// How many times escapes are decoded: as often as the engine reads strings within strings.
const LEVELS: usize = 16;

/// Searches for names as words of a text, whatever their case.
#[derive(Clone, Debug, Default)]
pub(super) struct Words {
    /// The name of each pattern.
    names: Vec<Box<str>>,
    search: Option<AhoCorasick>,
}

impl Words {
    pub(super) fn new<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let mut words = Self::default();
        let mut patterns = Vec::new();
        for name in names {
            let forms = match name {
                // Only quotes show that it is there.
                "" => vec!["\"\"".into(), "''".into()],
                _ => forms(name),
            };
            for form in forms {
                patterns.push(fold_case(&form).into_owned());
                words.names.push(name.into());
            }
        }
        words.search = automaton(patterns);
        words
    }

    /// The names that are words of a text.
    pub(super) fn found_in(&self, text: &str) -> HashSet<&str> {
        let Some(search) = &self.search else {
            // Without a search, the text may hold them all.
            return self.names.iter().map(|name| &**name).collect();
        };
        let mut found = HashSet::new();
        let mut look = |text: &str| {
            let text = fold_case(text);
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

/// A search for all patterns at once, whatever the case of their ASCII letters; `None` if there are none, or
/// more than it can hold.
pub(super) fn automaton<P: AsRef<[u8]>>(
    patterns: impl IntoIterator<Item = P>,
) -> Option<AhoCorasick> {
    let mut search = AhoCorasick::builder();
    let search = search.ascii_case_insensitive(true).build(patterns).ok();
    search.filter(|search| search.patterns_len() > 0)
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
    if plain == name {
        vec![name.into()]
    } else {
        vec![name.into(), plain.into_owned().into()]
    }
}

/// The text without escapes of any level: `\"a\":` reads as `"a":`, `\u0061`, `\x61` and `\141` as `a`,
/// and `\n` as a blank. Decodes quotes and colons that HTML or an address encodes, too. A text without
/// any is borrowed.
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
    if let Some(signs) = CODED_SIGNS.as_ref().filter(|_| text.contains(['&', '%'])) {
        text = Cow::Owned(signs.replace_all(&text, &SIGNS.map(|(_, sign)| sign)));
    }
    text
}

/// How HTML and addresses encode the signs around a key.
const SIGNS: [(&str, &str); 14] = [
    ("&quot;", "\""),
    ("&#34;", "\""),
    ("&#x22;", "\""),
    ("&apos;", "'"),
    ("&#39;", "'"),
    ("&#x27;", "'"),
    ("&colon;", ":"),
    ("&#58;", ":"),
    ("&#x3a;", ":"),
    ("%22", "\""),
    ("%27", "'"),
    ("%3a", ":"),
    ("%20", " "),
    ("%7b", "{"),
];

static CODED_SIGNS: LazyLock<Option<AhoCorasick>> =
    LazyLock::new(|| automaton(SIGNS.map(|(code, _)| code)));

/// The text with each escape decoded, however many backslashes are before it; `None` for a text without
/// escapes.
fn without_codes(text: &str) -> Option<String> {
    let mut rest = text;
    let mut out: Option<String> = None;
    let mut from = 0;
    while let Some(at) = rest.get(from..).and_then(|rest| rest.find('\\')) {
        let start = from + at;
        let slashes = rest[start..].bytes().take_while(|byte| *byte == b'\\');
        let end = start + slashes.count();
        let Some((c, len)) = coded(&rest[end..]) else {
            from = end;
            continue;
        };
        let out = out.get_or_insert_with(|| String::with_capacity(text.len()));
        out.push_str(&rest[..start]);
        out.push(c);
        rest = &rest[end + len..];
        from = 0;
    }
    let mut out = out?;
    out.push_str(rest);
    Some(out)
}

/// The character that a code behind a backslash stands for, in JSON or a programming language, and how
/// long the code is.
fn coded(text: &str) -> Option<(char, usize)> {
    let digits = |from: usize, most: usize, radix: u32| {
        let digits = text.get(from..).unwrap_or_default();
        let digits = digits.chars().take(most);
        digits.take_while(move |c| c.is_digit(radix)).count()
    };
    let code = |from: usize, count: usize, radix: u32| {
        let digits = text.get(from..from + count)?;
        char::from_u32(u32::from_str_radix(digits, radix).ok()?)
    };
    match text.bytes().next()? {
        b'u' | b'x' if text[1..].starts_with('{') => {
            let count = digits(2, 8, 16);
            let end = text.get(2 + count..)?;
            end.strip_prefix('}')?;
            Some((code(2, count, 16)?, count + 3))
        }
        b'u' => unit(text),
        b'U' if digits(1, 8, 16) == 8 => Some((code(1, 8, 16)?, 9)),
        b'x' if digits(1, 2, 16) == 2 => Some((code(1, 2, 16)?, 3)),
        b'0'..=b'7' => {
            let count = digits(0, 3, 8);
            Some((code(0, count, 8)?, count))
        }
        b'N' => named(text),
        _ => None,
    }
}

/// The character that a text begins with as `uXXXX`, or as two of them, and how long that is.
fn unit(text: &str) -> Option<(char, usize)> {
    let code = |text: &str| -> Option<u32> {
        let digits = text.strip_prefix('u')?.get(..4)?;
        u32::from_str_radix(digits, 16).ok()
    };
    let first = code(text)?;
    if !(0xD800..0xDC00).contains(&first) {
        return Some((char::from_u32(first)?, 5));
    }
    let behind = text.get(5..)?;
    let slashes = behind.len() - behind.trim_start_matches('\\').len();
    if slashes == 0 {
        return None;
    }
    let second = code(behind.get(slashes..)?)?;
    let low = second.checked_sub(0xDC00).filter(|low| *low < 0x400)?;
    let c = char::from_u32(0x10000 + ((first - 0xD800) << 10) + low)?;
    Some((c, 5 + slashes + 5))
}

/// The character that Python names as `N{LATIN SMALL LETTER A}`, of those that names are mostly made
/// of, and how long that is.
fn named(text: &str) -> Option<(char, usize)> {
    const DIGITS: [&str; 10] = [
        "ZERO", "ONE", "TWO", "THREE", "FOUR", "FIVE", "SIX", "SEVEN", "EIGHT", "NINE",
    ];
    let (name, _) = text.strip_prefix("N{")?.split_once('}')?;
    let length = name.len() + 3;
    let upper = name.to_ascii_uppercase();
    let letter = |prefix: &str| upper.strip_prefix(prefix)?.parse::<char>().ok();
    let c = if let Some(c) = letter("LATIN SMALL LETTER ") {
        c.to_ascii_lowercase()
    } else if let Some(c) = letter("LATIN CAPITAL LETTER ") {
        c
    } else if let Some(digit) = upper.strip_prefix("DIGIT ") {
        let digit = DIGITS.iter().position(|name| *name == digit)?;
        char::from_digit(u32::try_from(digit).ok()?, 10)?
    } else {
        match upper.as_str() {
            "LOW LINE" => '_',
            "HYPHEN-MINUS" => '-',
            "FULL STOP" => '.',
            "QUOTATION MARK" => '"',
            "APOSTROPHE" => '\'',
            "COLON" => ':',
            _ => return None,
        }
    };
    Some((c, length))
}

/// The text without backslashes. Escapes of control characters leave a blank, so that separate words stay
/// separate; a backslash before the end of a line goes with it, because the line continues.
fn without_backslashes(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = rest[at..].trim_start_matches('\\');
        if let Some(behind) = rest.strip_prefix(['b', 'f', 'n', 'r', 't', 'v']) {
            out.push(' ');
            rest = behind;
        } else if let Some(behind) = rest.strip_prefix("\r\n") {
            rest = behind;
        } else if let Some(behind) = rest.strip_prefix(['\n', '\r', '\u{2028}', '\u{2029}']) {
            rest = behind;
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::unescaped;

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
        // As programming languages write them.
        check(
            r"p\x61ss p\\x61ss p\141ss p\u{61}ss p\U00000061ss",
            "pass pass pass pass pass",
        );
        check(
            r"p\N{LATIN SMALL LETTER A}ss\N{low line}\N{DIGIT SEVEN}",
            "pass_7",
        );
        check(
            r"\x6 \xzz \u{} \u{61 \U0061 \N{NO SUCH} \8",
            "x6 xzz u{} u{61 U0061 N{NO SUCH} 8",
        );
        check("pa\\\nss pa\\\r\nss", "pass pass");
        check(
            "{&quot;p&QUOT;: 1, %22p%22%3A 2, &#39;, a & b, 5 %}",
            "{\"p\": 1, \"p\": 2, ', a & b, 5 %}",
        );
    }
}
