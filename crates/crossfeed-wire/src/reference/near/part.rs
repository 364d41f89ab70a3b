//! Parts of a text that may be meant as references.

use super::{
    MAX_ID_BYTES, MAX_PATH_BYTES, NearReference,
    id::{Head, ROOTS, glued, is_compound, is_distinctive, is_id_byte, word_of},
    keys::is_call_key,
    loose::serialised,
    path::{Path, is_ending, readings},
    region::{expression, holds_id, names_a_call, template},
    scan::{closing, is_one_expression},
    shortened,
};
use std::ops::Range;

/// Signs of other systems behind an opening delimiter: `{{- call_1.items -}}`.
const SIGNS: [char; 8] = [' ', '%', '=', '!', ':', '&', '~', '-'];

/// The most signs before an escaped delimiter that are looked at.
const MAX_ESCAPES: usize = 16;

/// The most encoded signs on each side of a path.
const MAX_AROUND: usize = 4;

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
            return Self::bare(text, at).or_else(|| Self::link(text, at));
        }
        if is_escaped(&text[..at]) {
            return None;
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
        let direct = Self::direct(text, at, (open, close));
        if direct
            .as_ref()
            .is_some_and(|part| !part.near.selects.is_empty())
        {
            return direct;
        }
        let within = || {
            let (length, inner) = template(rest)?;
            // `${"$tool": "call_1"}`
            if is_object(inner) {
                return None;
            }
            let near = expression(inner, &rest[..length])?;
            // `$(ls call_1.txt)`
            let is_name = near.guess.as_deref().is_some_and(is_ending);
            if is_name && rest.starts_with("$(") {
                return None;
            }
            Some(Self {
                near,
                place: at..at + length,
                is_in_json: false,
            })
        };
        direct.or_else(within).or_else(|| Self::element(text, at))
    }

    /// A path in delimiters.
    fn direct(text: &str, at: usize, (open, close): (&str, &str)) -> Option<Self> {
        let rest = text.get(at..)?;
        let inner = &rest[open.len()..];
        // `{{#call_1.items}}` begins a block.
        if open == "{{" && inner.starts_with(['#', '/', '^']) {
            return None;
        }
        let head = inner.trim_start_matches(SIGNS);
        let has_sign = head.starts_with(['$', '@', '#']);
        let head = head.strip_prefix(['$', '@', '#']).unwrap_or(head);
        let start = rest.len() - head.len();
        let named = Head::read(head)?;
        let is_clear = matches!(open, "{{" | "${" | "${{" | "{{{");
        let is_distinct = is_distinctive(named.id);
        let is_tool = !is_distinct && is_clear && !has_sign && is_compound(named.id);
        if !is_distinct && !is_tool {
            return None;
        }
        let behind = &head[named.end..];
        let length = closing(behind, open, close)?;
        let path = behind[..length].trim_end_matches(['%', '-', '~']).trim();
        // `{{ task_instance.xcom_pull('call_1') }}`
        if names_a_call(path) || is_tool && holds_id(path) {
            return None;
        }
        let end = at + start + named.end + length + close.len();
        // `{{call_1}}.items[0].url`
        let outside = if path.is_empty() {
            Path::read(&text[end..]).1
        } else {
            0
        };
        let outer = &text[end..end + outside];
        // `{call_1}` amid text
        let is_lone = path.is_empty() && outer.is_empty() && !is_clear;
        let is_tight_id = open == "{" && start == 1 && length == 0;
        if path.is_empty() && outer.is_empty() && is_tool || is_lone && !is_tight_id {
            return None;
        }
        // Code compares: `a <b_1.x && c > d`.
        let is_tight = inner.len() == head.len() || !inner.starts_with(' ');
        if !(is_clear || is_tight && is_one_expression(path)) {
            return None;
        }
        let path = if outer.is_empty() { path } else { outer };
        // `{{call_1__items__0}}`
        let joined = glued(named.id).filter(|_| path.is_empty());
        if let Some((id, steps)) = joined {
            let selects = readings(&format!(".{}", steps.replace("__", ".")))?;
            let place = at..end;
            let near = NearReference::new(id, selects, &text[place.clone()]);
            return Some(Self {
                near,
                place,
                is_in_json: false,
            });
        }
        let selects = match readings(path) {
            Some(selects) => selects,
            None if is_clear && !is_tool => Vec::new(),
            None => return None,
        };
        let end = end + outside;
        let mut is_open = is_lone && (at > 0 || end < text.len());
        // `{call_1.url}}`
        if text[end..].starts_with(&close[..1]) && matches!(close, "}" | ">") {
            is_open = true;
        }
        // `#{call_1.url}`
        let signs = ["$!", "#", "@", "%"].into_iter();
        let is_single = rest.starts_with('{') && !rest.starts_with("{{");
        let mut signs = signs.filter(|sign| is_single && text[..at].ends_with(sign));
        let place = at - signs.next().map_or(0, str::len)..end;
        let mut near = NearReference::new(named.id, selects, &text[place.clone()]);
        // `#include <call_1.h>`, `${{ steps.call_1.outputs.x }}` of a workflow
        let is_name = || open == "<" && Path::read(path).0.is_name_of_file();
        near.or_data = open == "${{" || is_name();
        Some(Self {
            near: if is_open { near.unclear() } else { near },
            place,
            is_in_json: false,
        })
    }

    /// `<call_1>items[0].url</call_1>`, `<ref id="call_1">items[0].url</ref>`
    fn element(text: &str, at: usize) -> Option<Self> {
        let inner = text.get(at..)?.strip_prefix('<')?;
        // Up to the next sign of an element, so that many of them are looked at once.
        let find = |text: &str, sign: u8| {
            let mut bytes = text.bytes().take(MAX_PATH_BYTES);
            let at = bytes.position(|byte| matches!(byte, b'<' | b'>'))?;
            (text.as_bytes()[at] == sign).then_some(at)
        };
        let name = word_of(inner)?;
        let rest = &inner[name.len()..];
        let (attributes, content) = rest.split_at(find(rest, b'>')?);
        // `<ref id="call_1" path="items[0].url"/>`
        if attributes.ends_with('/') {
            let length = 1 + name.len() + attributes.len() + 1;
            let near = serialised(&text[at..at + length]).filter(NearReference::is_distinctive)?;
            return Some(Self {
                near,
                place: at..at + length,
                is_in_json: false,
            });
        }
        let (path, end) = content[1..].split_at(find(&content[1..], b'<')?);
        let end = end
            .strip_prefix("</")?
            .strip_prefix(name)?
            .strip_prefix('>')?;
        let mut words = attributes.split(['"', '\'', '=', ' ']);
        let id = std::iter::once(name).find(|name| attributes.is_empty() && is_distinctive(name));
        let id =
            id.or_else(|| words.find(|word| word_of(word) == Some(word) && is_distinctive(word)))?;
        let place = at..text.len() - end.len();
        let select = Some(path.trim().to_owned()).filter(|path| !path.is_empty());
        Some(Self {
            near: NearReference::new(id, vec![select], &text[place.clone()]),
            place,
            is_in_json: false,
        })
    }

    /// `[call_1](items[0].url)`
    fn link(text: &str, at: usize) -> Option<Self> {
        let inner = text.get(at..)?.strip_prefix('[')?;
        let id = word_of(inner).filter(|id| is_distinctive(id))?;
        let path = inner[id.len()..].strip_prefix("](")?;
        let length = closing(path, "(", ")")?;
        let selects = readings(&format!(".{}", path[..length].trim())).filter(|_| length > 0)?;
        let place = at..at + id.len() + length + 4;
        Some(Self {
            near: NearReference::new(id, selects, &text[place.clone()]),
            place,
            is_in_json: false,
        })
    }

    /// `{"$tool": "call_1"}`, amid text, or an object near it.
    fn serialised(text: &str, at: usize) -> Option<Self> {
        let inner = text.get(at + 1..)?.trim_start();
        let inner = inner.trim_start_matches(['"', '\'', '“', '\\']);
        let inner = inner.strip_prefix("&quot;").unwrap_or(inner);
        let is_exact = ["$tool", "_tool"].iter().any(|key| inner.starts_with(key));
        let is_near = || word_of(inner).is_some_and(|key| is_call_key(key, false));
        if !is_exact && !is_near() {
            return None;
        }
        let end = match closing(text.get(at + 1..)?, "{", "}") {
            Some(length) => at + 2 + length,
            // The end is missing.
            None if is_exact && text.len() - at <= MAX_PATH_BYTES => text.len(),
            None => return None,
        };
        let near = serialised(&text[at..end]);
        let mut near = near.filter(|near| is_exact || near.is_distinctive())?;
        // A brace too many, or more around it.
        let closing = text[end..].bytes().take(2);
        let closing = closing.take_while(|byte| *byte == b'}').count();
        let opening = text[..at].bytes().rev().take(closing);
        let opening = opening.take_while(|byte| *byte == b'{').count();
        let (at, end) = (at - opening, end + closing);
        // In JSON that was written as a text, a value would have to be JSON.
        let mut signs = text.bytes().take(MAX_PATH_BYTES);
        let first = signs.find(|byte| !byte.is_ascii_whitespace());
        let is_in_json =
            matches!(first, Some(b'[' | b'{')) && text[..at].trim_end().ends_with([':', ',', '[']);
        // `${"$tool": "call_1"}` may be an amount of money.
        let is_signed = text[..at].ends_with('$');
        if is_in_json || is_signed {
            near.make_unclear();
        }
        Some(Self {
            place: at - usize::from(is_signed)..end,
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
        // `%7B%7Bcall_1.items%7D%7D`: the value would have to be encoded, too.
        let bytes = text.as_bytes();
        // `\u007bcall_1.items\u007d`
        if let Some(length) = before.filter(|sign| *sign == '\\').and_then(|_| escape(id)) {
            let mut part = Self::open(text, start + length, start + length)?;
            part.place.start = start - 1;
            part.near.or_data = false;
            part.near.make_unclear();
            return Some(part);
        }
        let encoded = start
            .checked_sub(1)
            .filter(|sign| is_encoded(&bytes[*sign..]));
        if let Some(mut begin) = encoded.filter(|_| id.get(2..).is_some_and(is_distinctive)) {
            let mut part = Self::open(text, start + 2, start + 2)?;
            let mut end = part.place.end;
            for _ in 0..MAX_AROUND {
                let before = begin.checked_sub(3);
                begin = before
                    .filter(|it| is_encoded(&bytes[*it..]))
                    .unwrap_or(begin);
                end += if is_encoded(&bytes[end..]) { 3 } else { 0 };
            }
            part.place = begin..end;
            part.near.written = shortened(&text[part.place.clone()]);
            part.near.or_data = false;
            part.near.make_unclear();
            return Some(part);
        }
        let outside = text[..start].trim_end_matches(['%', '=', ' ']);
        if outside.ends_with(['{', '$', '<', '#']) && is_escaped(outside) {
            return None;
        }
        match before {
            Some('$' | '/' | '\\' | '.') => return None,
            Some(sign) if sign.is_alphanumeric() => return None,
            // A mail address.
            Some('@') if text[..start - 1].ends_with(char::is_alphanumeric) => return None,
            _ => {}
        }
        let mut part = Self::open(text, start, start)?;
        const AROUND: [(&str, &str); 17] = [
            ("@(", ")"),
            ("[% ", " %]"),
            ("!", "!"),
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
        if let Some(rest) = before.strip_suffix("$!") {
            part.place.start = rest.len();
        } else if let Some(rest) = before.strip_suffix(['@', '#', '%', '&', '~', '^', ':'])
            && !rest.ends_with(|sign: char| sign.is_alphanumeric() || sign.is_ascii_punctuation())
        {
            part.place.start -= 1;
            // `Fixes #call_1.number`: the sign may be of the text.
            if !before.ends_with('@') {
                part.near.make_unclear();
            }
        } else if before.ends_with(['{', '<', '[', '%']) {
            // A delimiter is not closed.
            part.near.make_unclear();
        }
        Some(part)
    }

    /// An id with a path that begins at `from`, without an end; the part begins at `start`.
    fn open(text: &str, start: usize, from: usize) -> Option<Self> {
        let rest = text.get(from..)?;
        let named = Head::read(rest).filter(|head| is_distinctive(head.id))?;
        let behind = &rest[named.end..];
        let (path, length) = Path::read(behind);
        let next = behind[length..].strip_prefix('.');
        if path.steps.is_empty() || path.is_name_of_file() {
            return None;
        }
        // A mail address.
        let domain = behind[length..].strip_prefix('@');
        if domain.is_some_and(|domain| domain.starts_with(char::is_alphanumeric)) {
            return None;
        }
        let end = from + named.end + length;
        let selects = readings(&behind[..length])?;
        // More of an expression follows than can be told from text: `call_1.items.map(`
        let behind = &behind[length..];
        let has_more = next.and_then(word_of).is_some();
        let is_joined = |behind: &str, sign: char| {
            let behind = behind.trim_start_matches(' ').strip_prefix(sign);
            behind.is_some_and(|behind| behind.trim_start().starts_with(['"', '\'', '`']))
        };
        let before = &text[..start];
        let back: String = before.chars().rev().take(8).collect();
        // `length(call_1.items)`, `"%s" % call_1.x`
        let is_argument = before
            .strip_suffix('(')
            .is_some_and(|name| name.ends_with(|sign: char| sign.is_alphanumeric() || sign == '_'));
        let is_unclear = is_joined(behind, '+')
            || is_joined(&back, '+')
            || is_joined(&back, '%')
            || is_argument
            || behind.starts_with(['(', '['])
            || has_more
            || behind.starts_with(".{");
        let mut near = NearReference::new(named.id, selects, &text[start..end]);
        near.or_data = true;
        if is_unclear {
            near.make_unclear();
        }
        Some(Self {
            near,
            place: start..end,
            is_in_json: false,
        })
    }
}

/// The length of a brace that is escaped, before an id, without its backslash.
fn escape(id: &str) -> Option<usize> {
    let escapes = ["u007b", "x7b"];
    let mut escapes = escapes.iter().map(|escape| escape.len()).zip(escapes);
    escapes.find_map(|(length, escape)| {
        let is_one = id.get(..length)?.eq_ignore_ascii_case(escape);
        (is_one && is_distinctive(&id[length..])).then_some(length)
    })
}

/// Whether what is within delimiters is an object: `${"$tool": "call_1"}`.
pub(super) fn is_object(inner: &str) -> bool {
    ["tool\"", "tool'", "tool:"]
        .iter()
        .any(|key| inner.contains(key))
}

/// Whether a delimiter is escaped by a backslash before it: `\{{call_1.items}}`.
fn is_escaped(before: &str) -> bool {
    let is_sign = |byte: &u8| matches!(byte, b'{' | b'$' | b'<' | b'#');
    let mut behind = before.bytes().rev().take(MAX_ESCAPES).peekable();
    while behind.next_if(is_sign).is_some() {}
    behind.take_while(|byte| *byte == b'\\').count() % 2 == 1
}

/// Whether a sign of an address stands here, encoded: `%7B`.
fn is_encoded(text: &[u8]) -> bool {
    matches!(text, [b'%', b'2'..=b'7', last, ..] if last.is_ascii_hexdigit())
}
