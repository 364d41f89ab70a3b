//! Ids of calls beside a path, joined as no notation that is read has it: `get call_1 items[0].url`,
//! `$(jq -r .items[0].url call_1)`, `[call_1: total]`. What it selects is not put in, only offered.

use super::{
    NearReference,
    id::{is_distinctive, is_id_byte, word_of},
    path::{Path, readings},
    scattered::is_around,
};
use std::ops::Range;

/// The most bytes that are looked at on either side of an id.
const MAX_BYTES: usize = 64;

/// The most words between an id and a path.
const MAX_WORDS: usize = 5;

/// Words of commands before an id and a path.
const COMMANDS: [&str; 10] = [
    "jq",
    "yq",
    "cat",
    "echo",
    "printf",
    "get",
    "select",
    "crossfeed",
    "call",
    "tool",
];

const BRACKETS: [(&str, &str); 13] = [
    ("{", "}"),
    ("<", ">"),
    ("[", "]"),
    ("(", ")"),
    ("«", "»"),
    ("‹", "›"),
    ("【", "】"),
    ("⟦", "⟧"),
    ("⟨", "⟩"),
    ("\"", "\""),
    ("'", "'"),
    ("`", "`"),
    ("%", "%"),
];

/// The ids in a text that have a path beside them.
pub(super) fn mentions(text: &str) -> impl Iterator<Item = (Range<usize>, NearReference)> + '_ {
    let bytes = text.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            // Each id has a digit.
            at += bytes.get(at..)?.iter().position(u8::is_ascii_digit)?;
            let is_id = |byte: &&u8| is_id_byte(**byte);
            let before = bytes[..at].iter().rev().take(super::MAX_ID_BYTES);
            let start = at - before.take_while(is_id).count();
            at += bytes[at..].iter().take_while(is_id).count();
            if let Some(found) = mention(text, start..at) {
                at = at.max(found.0.end);
                return Some(found);
            }
        }
    })
}

/// The id in this word, if a path stands beside it.
pub(super) fn mention(text: &str, word: Range<usize>) -> Option<(Range<usize>, NearReference)> {
    let id = word_of(text.get(word.start..)?).filter(|id| is_distinctive(id))?;
    let place = word.start..word.start + id.len();
    let (place, path) = path_behind(text, &place).or_else(|| path_before(text, &place))?;
    let selects = readings(&path)?;
    let place = with_signs(text, place);
    let near = NearReference::new(id, selects, &text[place.clone()]).doubtful();
    Some((place, near))
}

/// The path behind a placeholder for a whole result, and the place of both: `{{call_1}} | items[0].url`.
pub(super) fn path_outside(text: &str, whole: &Range<usize>) -> Option<(Range<usize>, String)> {
    let (place, path) = path_behind(text, whole)?;
    let place = with_signs(text, place);
    let select = readings(&path)?.into_iter().next()??;
    // `{{call_1}}{{items[0].url}}`
    let closes = text[place.end..]
        .bytes()
        .take(2)
        .take_while(|sign| *sign == b'}');
    Some((place.start..place.end + closes.count(), select))
}

/// `call_1 -> items[0].url`
fn path_behind(text: &str, id: &Range<usize>) -> Option<(Range<usize>, String)> {
    let to = boundary(text, (id.end + MAX_BYTES).min(text.len()));
    let rest = &text[id.end..];
    let joints = starts(&rest[..to - id.end])
        .filter(|at| *at > 0)
        .take_while(|at| is_joint(&rest[..*at]));
    let mut found = joints.filter_map(|at| {
        let (length, path, is_plain) = path_at(&rest[at..])?;
        let place = id.start..id.end + at + length;
        let joint = &rest[..at];
        let is_in_address = joint == "/" && text[..id.start].ends_with(['/', '\\']);
        let is_element = joint == ">" && text[..id.start].ends_with('<');
        let is_told = is_plain
            || is_tight(joint)
            || is_element
            || is_named(joint)
            || is_argument(text, &place)
            || is_bracketed(text, &place);
        (is_told && !is_in_address).then_some((place, path))
    });
    found.next()
}

/// `items[0].url of call_1`
fn path_before(text: &str, id: &Range<usize>) -> Option<(Range<usize>, String)> {
    let from = boundary(text, id.start.saturating_sub(MAX_BYTES));
    let window = &text[from..id.start];
    let is_closed = || text[id.end..].starts_with(|sign: char| sign.is_ascii_punctuation());
    if !window.contains(['.', '[']) && !is_closed() {
        return None;
    }
    let mut found = starts(window).filter_map(|at| {
        let (length, path, is_plain) = path_at(&window[at..])?;
        let place = from + at..id.end;
        let is_told = is_plain || is_bracketed(text, &place);
        let joint = &window[at + length..];
        // What goes before in an address or a path is none.
        (is_told && !matches!(joint, "/" | ".") && is_joint(joint)).then_some((place, path))
    });
    found.next()
}

fn boundary(text: &str, at: usize) -> usize {
    (0..=at)
        .rev()
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or_default()
}

/// Where a path may begin.
fn starts(text: &str) -> impl Iterator<Item = usize> + '_ {
    let mut last = ' ';
    text.char_indices().filter_map(move |(at, sign)| {
        let before = std::mem::replace(&mut last, sign);
        let is_start = sign.is_ascii_alphabetic() || matches!(sign, '_' | '[' | '.');
        // `[call_1].items`, but not the end of `items[0].url`
        let is_inside = before.is_alphanumeric()
            || matches!(before, '_' | '-' | '.')
            || before == ']' && at > 2;
        (is_start && !is_inside).then_some(at)
    })
}

/// The path at the beginning of a text: its length, how it follows an id, and whether it is plainly one.
fn path_at(text: &str) -> Option<(usize, String, bool)> {
    let rest = text.strip_prefix('.').unwrap_or(text);
    let is_dotted = rest.len() < text.len();
    let word = if rest.starts_with('[') {
        ""
    } else {
        word_of(rest).filter(|word| !is_distinctive(word))?
    };
    let (more, length) = Path::read(&rest[word.len()..]);
    let path = &rest[..word.len() + length];
    let path = if word.is_empty() {
        path.to_owned()
    } else {
        format!(".{path}")
    };
    let (read, _) = Path::read(&path);
    let is_plain = is_dotted || !more.steps.is_empty();
    let length = text.len() - rest.len() + word.len() + length;
    // A function.
    if text[length..].starts_with('(') {
        return None;
    }
    (!read.steps.is_empty() && !read.is_name_of_file()).then_some((length, path, is_plain))
}

/// Whether only words of notations and signs stand between an id and a path.
fn is_joint(joint: &str) -> bool {
    let mut words = joint.split(|sign: char| !sign.is_alphanumeric());
    !joint.is_empty()
        && !joint.contains(['\n', ';'])
        && !joint.starts_with(". ")
        && words.all(|word| is_around(word) || word == "cat")
        && joint.split_whitespace().count() <= MAX_WORDS
}

/// Whether signs join one word to an id as in a path.
fn is_tight(joint: &str) -> bool {
    matches!(
        joint,
        "->" | "#" | "::" | ":" | "/" | "|" | "!" | "]." | ")." | "'." | "\"." | "`."
    ) || matches!(joint.trim(), "->" | "=>" | "→" | "»" | "{{" | "{")
}

/// Whether a key for a selector stands before a path: `tool=call_1 select=total`.
fn is_named(joint: &str) -> bool {
    const KEYS: [&str; 6] = [
        "select", "selector", "path", "jmespath", "jsonpath", "query",
    ];
    let key = joint.trim_end_matches([' ', '"', '\'']);
    let key = key.strip_suffix(['=', ':']);
    key.is_some_and(|key| {
        KEYS.iter()
            .any(|known| key.trim_end_matches('"').ends_with(known))
    })
}

/// Whether an id and a path are the arguments of a function: `f(call_1, 'total')`.
fn is_argument(text: &str, place: &Range<usize>) -> bool {
    let quotes = ['"', '\'', '`', ' '];
    let before = text[..place.start]
        .trim_end_matches(quotes)
        .strip_suffix('(');
    let is_name = |sign: char| sign.is_ascii_alphanumeric() || sign == '_';
    before.is_some_and(|before| before.ends_with(is_name))
        && text[place.end..]
            .trim_start_matches(quotes)
            .starts_with(')')
}

/// Whether brackets stand around an id and a path, with a word at most: `[ref: call_1 total]`.
fn is_bracketed(text: &str, place: &Range<usize>) -> bool {
    let before = text[..place.start].trim_end_matches([' ', ':', '=']);
    let is_word = |byte: &u8| byte.is_ascii_alphabetic();
    let word = before
        .bytes()
        .rev()
        .take(MAX_BYTES)
        .take_while(is_word)
        .count();
    let word = before.len() - word;
    let starts = [place.start, word];
    starts.into_iter().any(|start| {
        (start == place.start || is_around(&before[word..]))
            && around(text, &(start..place.end))
                .is_some_and(|(open, _)| !matches!(open, "(" | "\"" | "'" | "`"))
    })
}

fn around(text: &str, place: &Range<usize>) -> Option<(&'static str, &'static str)> {
    let (before, behind) = (&text[..place.start], &text[place.end..]);
    let mut brackets = BRACKETS.into_iter();
    brackets.find(|(open, close)| before.ends_with(open) && behind.starts_with(close))
}

/// The place with the signs and words of its notation.
fn with_signs(text: &str, mut place: Range<usize>) -> Range<usize> {
    const MAX_LAYERS: usize = 8;
    if text[place.end..].starts_with(".json") {
        place.end += ".json".len();
    }
    for _ in 0..MAX_LAYERS {
        if let Some((open, close)) = around(text, &place) {
            place = place.start - open.len()..place.end + close.len();
            continue;
        }
        // A quote that is opened within, and `$(jq -r .items call_1)`.
        let inside = &text[place.clone()];
        let behind = &text[place.end..];
        let closes = ["'", "\"", "`", ")", "]", "}"]
            .iter()
            .find(|sign| behind.starts_with(**sign) && is_open(inside, sign));
        if let Some(sign) = closes {
            place.end += sign.len();
            continue;
        }
        let before = text[..place.start].trim_end_matches(['$', '@', '#', '\'', '"', '-']);
        let outer = before.trim_end_matches(' ');
        let word = outer
            .bytes()
            .rev()
            .take(MAX_BYTES)
            .take_while(|byte| is_id_byte(*byte))
            .count();
        let word_at = outer.len() - word;
        let word = outer[word_at..].trim_start_matches('-');
        let is_command = COMMANDS.contains(&word) || outer[word_at..].starts_with('-');
        place.start = if is_command && word.len() <= 9 && outer.len() < before.len() {
            word_at
        } else if before.len() < place.start && !text[before.len()..].starts_with('-') {
            before.len()
        } else {
            break;
        };
    }
    place
}

/// Whether a bracket or quote is open at the end of a text.
fn is_open(text: &str, close: &str) -> bool {
    let open = match close {
        ")" => "(",
        "]" => "[",
        "}" => "{",
        _ => return text.matches(close).count() % 2 == 1,
    };
    text.matches(open).count() > text.matches(close).count()
}
