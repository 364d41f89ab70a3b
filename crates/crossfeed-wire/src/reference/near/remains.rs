//! Signs of a placeholder that would be left in a text beside the value: `{{call_1.x}} | upper`, `{{call_1.x}`.

use super::{MAX_PATH_BYTES, id::word_of, scan::closing};
use std::ops::Range;

/// Filters and functions behind a placeholder that change its value.
const FUNCTIONS: [&str; 24] = [
    "upper",
    "uppercase",
    "lower",
    "lowercase",
    "capitalize",
    "title",
    "trim",
    "strip",
    "replace",
    "default",
    "first",
    "last",
    "length",
    "count",
    "json",
    "tojson",
    "from_json",
    "to_json",
    "join",
    "split",
    "string",
    "int",
    "truncate",
    "urlencode",
];

/// Brackets of placeholders.
const BRACKETS: [(char, char); 6] = [
    ('{', '}'),
    ('<', '>'),
    ('[', ']'),
    ('【', '】'),
    ('⟦', '⟧'),
    ('⟨', '⟩'),
];

/// The place of a placeholder with the signs of it that would be left; `None` if none would.
pub(super) fn remains(text: &str, place: &Range<usize>) -> Option<Range<usize>> {
    let (before, behind) = (&text[..place.start], &text[place.end..]);
    let end = place.end + function(before, behind).unwrap_or_default();
    let signs = signs(before, &text[place.clone()]);
    let (open, close) = entities(before, behind)
        .or_else(|| brackets(before, behind))
        .unwrap_or_default();
    let all = place.start - signs.max(open)..end.max(place.end + close);
    (all != *place).then_some(all)
}

/// The length of what would change the value behind it: `.trim()`, `[0:3]`, `|upper`.
fn function(before: &str, behind: &str) -> Option<usize> {
    let arguments = |text: &str, open: &str, close: &str| {
        Some(open.len() + closing(text.strip_prefix(open)?, open, close)? + close.len())
    };
    if behind.starts_with('[') {
        let length = arguments(behind, "[", "]")?;
        let inner = behind[1..length - 1].trim_start_matches('-');
        let is_link = behind[length..].starts_with(['(', '[']);
        let rest = &inner[word_of(inner).unwrap_or_default().len()..];
        let is_path = rest.len() < inner.len() && rest.starts_with(['.', '[']);
        let is_index = is_path
            || inner.starts_with(['*', ':', '?', '"', '\''])
            || !inner.is_empty()
                && inner
                    .bytes()
                    .all(|byte| byte.is_ascii_digit() || byte == b':');
        return (is_index && !is_link).then_some(length);
    }
    if let Some(rest) = behind.strip_prefix('.') {
        let word = word_of(rest)?;
        let length = arguments(&rest[word.len()..], "(", ")")?;
        return Some(1 + word.len() + length);
    }
    let rest = behind.trim_start_matches(' ').strip_prefix('|')?;
    let filter = rest.trim_start_matches(' ');
    let word = word_of(filter).unwrap_or_default();
    let is_index = filter.starts_with('[') && !filter[1..].starts_with(']');
    let is_selector = is_index || !word.is_empty() && filter[word.len()..].starts_with('(');
    if !is_selector && !FUNCTIONS.contains(&word) {
        return None;
    }
    // The cells of a table.
    let line = before.rsplit('\n').next().unwrap_or_default();
    if line.trim_start().starts_with('|') {
        return None;
    }
    let (open, close) = if is_index { ("[", "]") } else { ("(", ")") };
    let more = arguments(&filter[word.len()..], open, close).unwrap_or_default();
    Some(behind.len() - filter.len() + word.len() + more)
}

/// A sign before a bracket that belongs to it: `&{call_1.x}`.
fn signs(before: &str, placeholder: &str) -> usize {
    let Some(rest) = before.strip_suffix(['&', '!', '~', '^', '*', '?']) else {
        return 0;
    };
    let is_first = rest.is_empty()
        || rest.ends_with(|sign: char| sign.is_whitespace() || "([\"'>=:".contains(sign));
    usize::from(placeholder.starts_with('{') && !placeholder.starts_with("{{") && is_first)
}

/// Brackets that are written as entities: `&lt;call_1.x&gt;`.
fn entities(before: &str, behind: &str) -> Option<(usize, usize)> {
    const ENTITIES: [(&str, &str); 4] = [
        ("&lt;", "&gt;"),
        ("&lbrace;", "&rbrace;"),
        ("&lcub;", "&rcub;"),
        ("&#123;", "&#125;"),
    ];
    let mut entities = ENTITIES.iter();
    let around = entities.find(|(open, close)| before.ends_with(open) && behind.starts_with(close));
    around.map(|(open, close)| (open.len(), close.len()))
}

/// The brackets on either side, if they are of other kinds than text would have, or one is missing.
fn brackets(before: &str, behind: &str) -> Option<(usize, usize)> {
    let (mut open, mut close) = (0, 0);
    loop {
        let opened = before[..before.len() - open].chars().next_back();
        let closed = behind[close..].chars().next();
        let opening = opened.and_then(|sign| BRACKETS.iter().find(|(open, _)| *open == sign));
        let closing = closed.and_then(|sign| BRACKETS.iter().find(|(_, close)| *close == sign));
        match (opening, closing) {
            // Of both kinds, as text may have them.
            (Some(one), Some(other)) if one == other && one.0.is_ascii() => return None,
            (Some((sign, _)), _) if !sign.is_ascii() || is_unclosed(behind, *sign) => {
                open += sign.len_utf8();
            }
            (_, Some((_, sign))) if !sign.is_ascii() || is_unopened(before, *sign) => {
                close += sign.len_utf8();
            }
            _ => {
                // `$(call_1.x`, `${{call_1.x}`
                let outer = &before[..before.len() - open];
                let is_shell = open == 0 && outer.ends_with("$(") && !behind.contains(')');
                open += if is_shell { 2 } else { 0 };
                open += usize::from(open > 0 && !is_shell && outer.ends_with(['$', '%', '#', '@']));
                return (open > 0 || close > 0).then_some((open, close));
            }
        }
    }
}

/// Whether a bracket just before a placeholder is not closed behind it.
fn is_unclosed(behind: &str, open: char) -> bool {
    let Some((_, close)) = BRACKETS.iter().find(|(known, _)| *known == open) else {
        return false;
    };
    let mut depth = 0_usize;
    for sign in behind.chars().take(MAX_PATH_BYTES) {
        if sign == open {
            depth += 1;
        } else if sign == *close {
            match depth.checked_sub(1) {
                Some(less) => depth = less,
                None => return false,
            }
        }
    }
    true
}

/// Whether a bracket just behind a placeholder is not opened before it.
fn is_unopened(before: &str, close: char) -> bool {
    let Some((open, _)) = BRACKETS.iter().find(|(_, known)| *known == close) else {
        return false;
    };
    let mut depth = 0_usize;
    for sign in before.chars().rev().take(MAX_PATH_BYTES) {
        if sign == close {
            depth += 1;
        } else if sign == *open {
            match depth.checked_sub(1) {
                Some(less) => depth = less,
                None => return false,
            }
        }
    }
    true
}
