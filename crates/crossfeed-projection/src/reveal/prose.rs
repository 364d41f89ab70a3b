//! Texts that are no JSON: whether they name what is never shown.

use std::borrow::Cow;

/// Times that a text is unescaped: as deep as strings are looked into.
const LEVELS: usize = 16;

/// Whether `name` is in `text` as a word of its own.
pub(super) fn mentions(text: &str, name: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    occurrences(text, name).any(|at| {
        let before = text[..at].chars().next_back();
        let after = text[at + name.len()..].chars().next();
        !(before.is_some_and(is_word) || after.is_some_and(is_word))
    })
}

/// Whether `name` stands in `text` as a JSON key: within quotes and before a colon.
pub(super) fn holds_key(text: &str, name: &str) -> bool {
    let quoted = format!("\"{name}\"");
    occurrences(text, &quoted).any(|at| {
        let after = text[at + quoted.len()..].trim_start();
        after.starts_with(':')
    })
}

/// Where `needle` begins in `text`; an empty one nowhere.
fn occurrences(text: &str, needle: &str) -> impl Iterator<Item = usize> {
    let mut from = 0;
    std::iter::from_fn(move || {
        if needle.is_empty() {
            return None;
        }
        let at = from + text.get(from..)?.find(needle)?;
        from = at + text[at..].chars().next().map_or(1, char::len_utf8);
        Some(at)
    })
}

/// The text without escapes of any level: `\"a\":` reads as `"a":`, and `\u0061` as `a`.
pub(super) fn unescaped(text: &str) -> Cow<'_, str> {
    let mut text = Cow::Borrowed(text);
    for _ in 0..LEVELS {
        if !text.contains("\\u") {
            break;
        }
        match without_codes(&text) {
            Some(plain) => text = Cow::Owned(plain),
            None => break,
        }
    }
    if text.contains('\\') {
        text = Cow::Owned(text.replace('\\', ""));
    }
    text
}

/// The text with each `\uXXXX` as its character; `None` where there is none.
fn without_codes(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut any = false;
    while let Some(at) = rest.find("\\u") {
        let code = rest.get(at + 2..at + 6);
        let code = code.and_then(|code| u32::from_str_radix(code, 16).ok());
        match code.and_then(char::from_u32) {
            Some(c) => {
                out.push_str(&rest[..at]);
                out.push(c);
                rest = &rest[at + 6..];
                any = true;
            }
            None => {
                out.push_str(&rest[..at + 2]);
                rest = &rest[at + 2..];
            }
        }
    }
    out.push_str(rest);
    any.then_some(out)
}
