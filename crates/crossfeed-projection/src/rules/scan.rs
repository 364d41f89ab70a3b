//! Searches bytes for places where keys of hidden fields could stand, so that the rest is copied whole.
//!
//! A name is found in whatever case, unless some of it is written as an escape: where a `\u` stands for
//! printable ASCII, and where a string holds a backslash of its own, the place is suspect, too. One
//! automaton holds all names, so bytes are read once however many there are.

use super::prose::{automaton, forms};
use crate::fold::{FOLDING_TO_ASCII, fold_case};
use aho_corasick::AhoCorasick;
use crossfeed_json::Cursor;
use memchr::memmem;
use std::borrow::Cow;

/// How many offsets are kept; if there are more, everything is suspect.
const MAX_OFFSETS: usize = 1 << 20;
/// Bytes of a comment between a key and its colon; behind a longer one a colon is taken for granted.
const MAX_COMMENT: usize = 1024;

/// Quotes that may stand around a key, each with the one that ends it.
const QUOTES: [(char, char); 7] = [
    ('"', '"'),
    ('\'', '\''),
    ('`', '`'),
    ('“', '”'),
    ('„', '“'),
    ('‘', '’'),
    ('«', '»'),
];

/// The search for the keys of never-rules.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scan {
    /// The key of each pattern, folded, and whether it is never shown wherever it stands. Patterns
    /// beyond these are characters that fold to ASCII.
    keys: Vec<(Box<str>, bool)>,
    /// Finds each, whatever the case of its ASCII letters.
    search: Option<AhoCorasick>,
    /// Whether a search over JSON is impossible.
    blind: bool,
}

/// Where a never-name could stand in some bytes.
#[derive(Debug)]
pub(crate) enum Suspects {
    Nowhere,
    Everywhere,
    /// Sorted offsets in the document, and the first one that the last query did not pass.
    At(Vec<u32>, usize),
}

impl Scan {
    /// A search for these folded keys, each with whether never-rules hide it wherever it stands.
    pub(crate) fn new<'a>(keys: impl IntoIterator<Item = (Cow<'a, str>, bool)>) -> Self {
        let mut scan = Self::default();
        let mut patterns = Vec::new();
        for (key, anywhere) in keys {
            // These are written with a backslash or in other cases, or can be.
            let special =
                |c: char| matches!(c, '"' | '\\' | '/') || c.is_control() || !c.is_ascii();
            scan.blind |= anywhere && (key.is_empty() || key.contains(special));
            for form in forms(&key) {
                patterns.push(form.into_owned());
                scan.keys.push((key.as_ref().into(), anywhere));
            }
        }
        if !patterns.is_empty() {
            patterns.extend(FOLDING_TO_ASCII.map(String::from));
        }
        scan.search = automaton(patterns);
        scan
    }

    /// Where to look in `raw`, which begins at `base` of its document.
    pub(crate) fn suspects(&self, raw: &[u8], base: usize) -> Suspects {
        let Some(search) = self.search.as_ref().filter(|_| !self.blind) else {
            return Suspects::Everywhere;
        };
        let found = search.find_overlapping_iter(raw).filter(|hit| {
            let key = self.keys.get(hit.pattern().as_usize());
            key.is_none_or(|(_, anywhere)| {
                let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
                *anywhere && !raw.get(hit.end()).is_some_and(is_word)
            })
        });
        let escapes = memmem::find_iter(raw, b"\\u").filter(|&at| is_suspect_escape(raw, at));
        let backslashes = memmem::find_iter(raw, br"\\");
        let offsets = found.map(|hit| hit.start());
        let offsets = offsets.chain(escapes).chain(backslashes);
        // Documents are below 4 GiB.
        let offsets = offsets.map(|at| (base + at) as u32);
        let mut offsets: Vec<u32> = offsets.take(MAX_OFFSETS + 1).collect();
        if offsets.len() > MAX_OFFSETS {
            return Suspects::Everywhere;
        }
        offsets.sort_unstable();
        Suspects::At(offsets, 0)
    }

    /// Whether `is_meant` holds for a key that stands in a text: within quotes, or bare in braces, and
    /// before what separates a key from its value. It gets the key folded.
    pub(crate) fn has_key(&self, text: &str, is_meant: impl Fn(&str) -> bool) -> bool {
        let Some(search) = &self.search else {
            // Without a search, the text may hold them all.
            return self.keys.iter().any(|(key, _)| is_meant(key));
        };
        let text = fold_case(text);
        let brace = text.find('{').unwrap_or(text.len());
        search.find_overlapping_iter(&*text).any(|hit| {
            let key = self.keys.get(hit.pattern().as_usize());
            let around = text.get(..hit.start()).zip(text.get(hit.end()..));
            key.zip(around).is_some_and(|((key, _), (before, behind))| {
                is_meant(key) && is_key(before, behind, brace < hit.start() && !key.is_empty())
            })
        })
    }
}

/// Whether the text around a name makes it a key; `in_braces` if a brace was opened before it.
fn is_key(before: &str, behind: &str, in_braces: bool) -> bool {
    let quote = before.chars().next_back();
    let quoted = QUOTES.iter().find_map(|(open, close)| {
        let behind = behind.strip_prefix(*close)?;
        (quote == Some(*open)).then_some(behind)
    });
    if let Some(behind) = quoted {
        return is_separated(behind);
    }
    if !in_braces {
        return false;
    }
    // Of a language with symbols: `{:key => 1}`.
    let before = before.strip_suffix(':').unwrap_or(before);
    let blank = |c: char| c.is_whitespace() && !matches!(c, '\n' | '\r');
    let before = before.trim_end_matches(blank);
    let opens = before.ends_with(['{', ',', '\n', '\r']) || before.ends_with("*/");
    opens && is_separated(behind)
}

/// Whether a text goes on with a separator of key and value, perhaps after comments.
fn is_separated(mut behind: &str) -> bool {
    let blank = |c: char| c.is_whitespace() || matches!(c, '\u{feff}' | ']' | ')');
    loop {
        behind = behind.trim_start_matches(blank);
        let Some(comment) = behind.strip_prefix("/*") else {
            break;
        };
        let bytes = comment.as_bytes();
        let near = bytes.get(..MAX_COMMENT).unwrap_or(bytes);
        match memmem::find(near, b"*/") {
            Some(end) => behind = comment.get(end + 2..).unwrap_or_default(),
            None => return true,
        }
    }
    // Once escapes are decoded, the end of a comment's line is unknown.
    behind.starts_with([':', '=', '：', '#']) || behind.starts_with("//")
}

/// Whether the escape at `at` could be a part of a name, or of what stands around one. Escapes
/// that write an escape's own characters are such themselves.
fn is_suspect_escape(raw: &[u8], at: usize) -> bool {
    let digits = raw.get(at + 2..at + 6).unwrap_or_default();
    let digits = std::str::from_utf8(digits).unwrap_or_default();
    match u32::from_str_radix(digits, 16) {
        Ok(code) if digits.len() == 4 => {
            let folds = || char::from_u32(code).is_some_and(|c| FOLDING_TO_ASCII.contains(&c));
            (0x20..0x80).contains(&code) || folds()
        }
        _ => false,
    }
}

impl Suspects {
    /// Whether a name could stand in a value of the document.
    pub(crate) fn may_stand_in(&mut self, value: Cursor<'_>) -> bool {
        match self {
            Self::Nowhere => false,
            Self::Everywhere => true,
            Self::At(offsets, next) => {
                let start = value.offset();
                let end = start + value.raw().len();
                let before = |offset: &u32| (*offset as usize) < start;
                // Queries mostly follow the order of the document.
                let behind = *next > 0 && offsets.get(*next - 1).is_some_and(|at| !before(at));
                if behind || offsets.get(*next).is_some_and(before) {
                    *next = offsets.partition_point(before);
                }
                offsets.get(*next).is_some_and(|&at| (at as usize) < end)
            }
        }
    }
}
