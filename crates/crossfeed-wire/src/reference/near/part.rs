//! Parts of a text that may be meant as references.

use super::{
    MAX_ID_BYTES, MAX_PATH_BYTES, NearReference,
    id::{Head, ROOTS, is_compound, is_distinctive, is_id_byte, word_of},
    loose::serialised,
    path::{Path, readings},
    scan::{closing, is_one_expression},
};
use std::ops::Range;

/// A part of a text that may be meant as a reference.
pub(super) struct Part {
    pub(super) place: Range<usize>,
    pub(super) near: NearReference,
    /// Whether it stands in JSON that was written as a text, where a literal may be around it.
    pub(super) is_in_json: bool,
}

impl Part {
    /// The part that begins at this byte, or has its path there.
    pub(super) fn read(text: &str, at: usize) -> Option<Self> {
        const DELIMITERS: [(&str, &str); 8] = [
            ("${{", "}}"),
            ("${", "}"),
            ("$(", ")"),
            ("{{{", "}}}"),
            ("{{", "}}"),
            ("{", "}"),
            ("<<", ">>"),
            ("<", ">"),
        ];
        let rest = text.get(at..)?;
        if rest.starts_with(['.', '[']) {
            return Self::bare(text, at);
        }
        if rest.starts_with('{')
            && let Some(part) = Self::serialised(text, at)
        {
            return Some(part);
        }
        let delimiters = DELIMITERS.iter().find(|(open, _)| rest.starts_with(open));
        let Some((open, close)) = delimiters else {
            return Self::with_dollar(text, at);
        };
        let inner = &rest[open.len()..];
        let head = inner.trim_start_matches([' ', '%', '=']);
        let has_sign = head.starts_with(['$', '@', '#']);
        let head = head.strip_prefix(['$', '@', '#']).unwrap_or(head);
        let start = rest.len() - head.len();
        let named = Head::read(head)?;
        let is_clear = matches!(*open, "{{" | "${" | "${{" | "{{{");
        let is_distinct = is_distinctive(named.id);
        let is_tool = !is_distinct && is_clear && !has_sign && is_compound(named.id);
        if !is_distinct && !is_tool {
            return None;
        }
        let behind = &head[named.end..];
        let length = closing(behind, open, close)?;
        let path = behind[..length].trim_end_matches('%').trim();
        let end = at + start + named.end + length + close.len();
        // `{{call_1}}.items[0].url`
        let outside = if path.is_empty() {
            Path::read(&text[end..]).1
        } else {
            0
        };
        let outer = &text[end..end + outside];
        if path.is_empty() && outer.is_empty() && (!is_clear || is_tool) {
            return None;
        }
        // Code compares: `a <b_1.x && c > d`.
        let is_tight = inner.len() == head.len() || inner.starts_with(['%', '$', '@', '#', '=']);
        if !(is_clear || is_tight && is_one_expression(path)) {
            return None;
        }
        let path = if outer.is_empty() { path } else { outer };
        let mut selects = match readings(path) {
            Some(selects) => selects,
            None if is_clear && !is_tool => Vec::new(),
            None => return None,
        };
        let end = end + outside;
        // `{call_1.url}}`
        if text[end..].starts_with(&close[..1]) && matches!(*close, "}" | ">") {
            selects.clear();
        }
        // `#{call_1.url}`
        let is_signed = rest.starts_with('{') && text[..at].ends_with(['#', '@', '%']);
        let place = at - usize::from(is_signed)..end;
        Some(Self {
            near: NearReference::new(named.id, selects, &text[place.clone()]),
            place,
            is_in_json: false,
        })
    }

    /// `{"$tool": "call_1"}`, amid text.
    fn serialised(text: &str, at: usize) -> Option<Self> {
        let inner = text.get(at + 1..)?.trim_start();
        let inner = inner.trim_start_matches(['"', '\'', '“', '\\']);
        let inner = inner.strip_prefix("&quot;").unwrap_or(inner);
        if !["$tool", "_tool"].iter().any(|key| inner.starts_with(key)) {
            return None;
        }
        let end = match closing(text.get(at + 1..)?, "{", "}") {
            Some(length) => at + 2 + length,
            // The end is missing.
            None if text.len() - at <= MAX_PATH_BYTES => text.len(),
            None => return None,
        };
        let mut near = serialised(&text[at..end])?;
        // A brace too many.
        let end = end
            + text[end..]
                .bytes()
                .take(2)
                .take_while(|byte| *byte == b'}')
                .count();
        // In JSON that was written as a text, a value would have to be JSON.
        let mut signs = text.bytes().take(MAX_PATH_BYTES);
        let first = signs.find(|byte| !byte.is_ascii_whitespace());
        let is_in_json =
            matches!(first, Some(b'[' | b'{')) && text[..at].trim_end().ends_with([':', ',', '[']);
        if is_in_json {
            near.selects.clear();
        }
        Some(Self {
            place: at..end,
            near,
            is_in_json,
        })
    }

    /// `$call_1.items[0].url`
    fn with_dollar(text: &str, at: usize) -> Option<Self> {
        if !text.get(at..)?.starts_with('$') {
            return None;
        }
        let before = text[..at].chars().next_back();
        if before.is_some_and(|sign| sign.is_alphanumeric() || matches!(sign, '$' | '\\')) {
            return None;
        }
        Self::open(text, at, at + 1)
    }

    /// `call_1.items[0].url`, whose path begins at this byte.
    fn bare(text: &str, at: usize) -> Option<Self> {
        let before = text.as_bytes()[..at].iter().rev();
        let length = before
            .take(MAX_ID_BYTES)
            .take_while(|byte| is_id_byte(**byte))
            .count();
        let start = at - length;
        let id = text.get(start..at)?;
        if !is_distinctive(id) || id.starts_with('-') {
            return None;
        }
        // `results.call_1.items`
        let start = match text[..start].strip_suffix('.') {
            Some(before) => {
                let is_root = |root: &&&str| {
                    before.len() >= root.len()
                        && before.is_char_boundary(before.len() - root.len())
                        && before[before.len() - root.len()..].eq_ignore_ascii_case(root)
                };
                let root = ROOTS.iter().filter(is_root).max_by_key(|root| root.len())?;
                before.len() - root.len()
            }
            None => start,
        };
        let before = text[..start].chars().next_back();
        match before {
            Some('$' | '/' | '\\' | '.') => return None,
            Some(sign) if sign.is_alphanumeric() => return None,
            // A mail address.
            Some('@') if text[..start - 1].ends_with(char::is_alphanumeric) => return None,
            _ => {}
        }
        let mut part = Self::open(text, start, start)?;
        const AROUND: [(&str, &str); 14] = [
            ("%(", ")s"),
            ("\\(", ")"),
            ("((", "))"),
            ("{", "}"),
            ("[", "]"),
            ("<", ">"),
            ("%", "%"),
            ("@", "@"),
            ("#", "#"),
            ("~", "~"),
            ("|", "|"),
            ("^", "^"),
            ("«", "»"),
            ("‹", "›"),
        ];
        for _ in 0..3 {
            let Range { start, end } = part.place;
            let around = AROUND.iter().find(|(open, close)| {
                text[..start].ends_with(open) && text[end..].starts_with(close)
            });
            let Some((open, close)) = around else { break };
            part.place = start - open.len()..end + close.len();
        }
        // A sign before it only.
        let before = &text[..part.place.start];
        if let Some(rest) = before.strip_suffix(['@', '#', '%', '&', '~', '^'])
            && !rest.ends_with(|sign: char| sign.is_alphanumeric() || sign.is_ascii_punctuation())
        {
            part.place.start -= 1;
        } else if before.ends_with(['{', '<', '[', '%']) {
            // A delimiter is not closed.
            part.near.selects.clear();
        }
        Some(part)
    }

    /// An id with a path that begins at `from`, without an end; the part begins at `start`.
    fn open(text: &str, start: usize, from: usize) -> Option<Self> {
        let rest = text.get(from..)?;
        let named = Head::read(rest).filter(|head| is_distinctive(head.id))?;
        let behind = &rest[named.end..];
        let (path, length) = Path::read(behind);
        if path.steps.is_empty() || path.is_name_of_file() {
            return None;
        }
        let end = from + named.end + length;
        let mut selects = readings(&behind[..length])?;
        // More of an expression follows than can be told from text: `call_1.items.map(`
        let behind = &behind[length..];
        let method = behind.strip_prefix('.').and_then(word_of);
        let is_joined = |behind: &str, sign: char| {
            let behind = behind.trim_matches(' ').strip_prefix(sign);
            behind.is_some_and(|behind| behind.trim_start().starts_with(['"', '\'', '`']))
        };
        let before: String = text[..start].chars().rev().take(8).collect();
        if is_joined(behind, '+') || is_joined(&before, '+') {
            selects.clear();
        }
        if behind.starts_with(['(', '[']) || method.is_some() || behind.starts_with(".{") {
            selects.clear();
        }
        Some(Self {
            near: NearReference::new(named.id, selects, &text[start..end]),
            place: start..end,
            is_in_json: false,
        })
    }
}
