//! What stands around a path amid text and belongs to it: `[insert call_1.url here]`, `<ref>call_1.url</ref>`,
//! `ref:call_1.url`. A value in place of the path alone would leave it there.

use super::scattered::is_around;
use std::ops::Range;

/// The most bytes that are looked at on either side of a path.
const MAX_BYTES: usize = 64;

const BRACKETS: [(char, char); 6] = [
    ('[', ']'),
    ('{', '}'),
    ('<', '>'),
    ('⟦', '⟧'),
    ('«', '»'),
    ('‹', '›'),
];

/// The place of all that belongs to the path at `path`; `None` if nothing does.
pub(super) fn enclosing(text: &str, path: &Range<usize>) -> Option<Range<usize>> {
    let is_boundary = |at: &usize| text.is_char_boundary(*at);
    let from = (path.start.saturating_sub(MAX_BYTES)..path.start).find(is_boundary)?;
    let to = (path.end..=text.len().min(path.end + MAX_BYTES)).rfind(is_boundary)?;
    let (before, behind) = (&text[from..path.start], &text[path.end..to]);
    let (start, end) = within_element(before, behind)
        .or_else(|| within_brackets(before, behind))
        .or_else(|| within_call(before, behind))
        .or_else(|| behind_colon(before, behind))?;
    Some(from + start..path.end + end)
}

/// `<ref>call_1.url</ref>`
fn within_element(before: &str, behind: &str) -> Option<(usize, usize)> {
    let before = before.trim_end().strip_suffix('>')?;
    let close = behind.trim_start();
    let close_at = behind.len() - close.len();
    let (name, _) = close.strip_prefix("</")?.split_once('>')?;
    let open = before.rfind('<')?;
    let opened = &before[open + 1..];
    (opened.split(' ').next() == Some(name) && is_notation(name))
        .then_some((open, close_at + "</".len() + name.len() + ">".len()))
}

/// `[insert call_1.url here]`, `{"ref": "call_1.url"}`
fn within_brackets(before: &str, behind: &str) -> Option<(usize, usize)> {
    let is_bracket = |sign: char| {
        BRACKETS
            .iter()
            .any(|(open, close)| [*open, *close].contains(&sign))
    };
    let (at, open) = before
        .char_indices()
        .rev()
        .find(|(_, sign)| is_bracket(*sign) || *sign == '\n')?;
    let (_, close) = BRACKETS.into_iter().find(|(known, _)| *known == open)?;
    let (end, found) = behind
        .char_indices()
        .find(|(_, sign)| is_bracket(*sign) || *sign == '\n')?;
    let inside = [&before[at + open.len_utf8()..], &behind[..end]];
    if found != close
        || !inside.into_iter().all(is_notation)
        || inside.iter().all(|text| text.trim().is_empty())
    {
        return None;
    }
    // `[[`, `%{`, `$<`
    let before = before[..at]
        .trim_end_matches(['[', '{', '<', '⟦', '«', '‹', '$', '@', '#', '%', '!', '\\']);
    let rest = &behind[end + close.len_utf8()..];
    let closes = rest.len()
        - rest
            .trim_start_matches([']', '}', '>', '⟧', '»', '›', '%', '#'])
            .len();
    Some((before.len(), end + close.len_utf8() + closes))
}

/// `$ref(call_1.url)`
fn within_call(before: &str, behind: &str) -> Option<(usize, usize)> {
    let inner = before.trim_end_matches(['"', '\'', '`', ' ']);
    let name = inner.strip_suffix('(')?;
    let rest = behind.trim_start_matches(['"', '\'', '`', ' ']);
    let end = behind.len() - rest.len() + 1;
    let start = word_start(name);
    (rest.starts_with(')') && is_word(&name[start..])).then(|| (signed(name, start), end))
}

/// `ref:call_1.url`
fn behind_colon(before: &str, behind: &str) -> Option<(usize, usize)> {
    let quote = before
        .chars()
        .next_back()
        .filter(|sign| matches!(sign, '"' | '\'' | '`'));
    let quote = quote.filter(|quote| behind.starts_with(*quote));
    let before = quote.map_or(before, |_| &before[..before.len() - 1]);
    let name = before.strip_suffix([':', '='])?;
    let start = word_start(name);
    is_word(&name[start..]).then(|| (signed(name, start), usize::from(quote.is_some())))
}

fn word_start(text: &str) -> usize {
    text.trim_end_matches(|sign: char| sign.is_ascii_alphanumeric() || sign == '_')
        .len()
}

/// Where a word with the signs before it begins.
fn signed(text: &str, word: usize) -> usize {
    text[..word]
        .trim_end_matches(['$', '@', '!', '#', '&', '%', '\\'])
        .len()
}

fn is_word(word: &str) -> bool {
    word.len() > 1 && is_around(word)
}

/// Whether a text within a placeholder is of words and signs of notations only.
fn is_notation(text: &str) -> bool {
    let is_sign = |sign: char| sign.is_ascii_punctuation() || sign == ' ';
    let of_placeholders = ["here", "your", "a", "an", "with", "put", "replace", "fill"];
    text.split(is_sign).all(|word| {
        is_around(word) || of_placeholders.contains(&word.to_ascii_lowercase().as_str())
    })
}

#[cfg(test)]
mod tests {
    use crate::reference::near_text;

    #[test]
    fn what_belongs_to_a_path_is_part_of_it() {
        for placeholder in [
            "[insert call_1.items[0].url here]",
            "[[ value of call_1.items[0].url ]]",
            "<value of call_1.items[0].url>",
            "<ref>call_1.items[0].url</ref>",
            "<ref path=\"call_1.items[0].url\"/>",
            "{\"ref\": \"call_1.items[0].url\"}",
            "$ref(call_1.items[0].url)",
            "ref:call_1.items[0].url",
            "ref:\"call_1.items[0].url\"",
        ] {
            let found = near_text(&format!("See {placeholder} now"), 5).unwrap();
            let (place, near) = &found.parts[0];
            assert_eq!(*place, 4..4 + placeholder.len(), "{placeholder}");
            assert!(near.is_guess, "{placeholder}");
        }
    }

    #[test]
    fn prose_around_a_path_is_not() {
        for (before, behind) in [
            ("See (the list in ", ") now"),
            ("{\"title\": \"", "\", \"size\": 1}"),
            ("url:", " is it"),
            ("[the second of ", " was lost]"),
        ] {
            let text = format!("{before}call_1.items[0].url{behind}");
            let found = near_text(&text, 5).unwrap();
            let place = before.len()..text.len() - behind.len();
            assert_eq!(found.parts[0].0, place, "{text}");
        }
    }
}
