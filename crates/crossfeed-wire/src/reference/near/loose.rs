//! References that were written as a text: as JSON, or as Python or JavaScript write it, in a fence, quotes or escapes or not,
//! with an end or not.

use super::{
    MAX_WHOLE_BYTES, NearReference,
    id::{is_distinctive, word_of},
    near_object,
    scan::Scan,
    shortened,
};
use crate::reference::{Malformed, Reading, read_object};
use serde_json::{Map, Value};

/// The most layers of quotes, fences and escapes around a text.
const MAX_LAYERS: usize = 6;

/// A reference that was written as a text. Of a list, and of one that breaks off within a value, the meaning is
/// unclear.
pub(super) fn serialised(written: &str) -> Option<NearReference> {
    if written.len() > MAX_WHOLE_BYTES {
        return None;
    }
    let mut text = written.trim().to_owned();
    let mut near = None;
    for _ in 0..MAX_LAYERS {
        near = read(&text);
        if near.is_some() {
            break;
        }
        text = peeled(&text)?;
    }
    let mut near = near?;
    near.written = shortened(written);
    Some(near)
}

/// Members without braces: `tool: call_1, select: items[0].url`.
pub(super) fn members(written: &str) -> Option<NearReference> {
    let is_short = written.len() <= MAX_WHOLE_BYTES && !written.contains('{');
    let members = is_short.then(|| members_of(written))??;
    let mut near = read(&format!("{{{members}}}"))?;
    near.written = shortened(written);
    Some(near)
}

fn read(text: &str) -> Option<NearReference> {
    match text.bytes().next()? {
        b'[' if text.contains("tool") => {
            let items: Vec<Map<String, Value>> = serde_json::from_str(text).ok()?;
            let mut near = items.iter().find_map(near_or_exact)?;
            near.make_unclear();
            Some(near)
        }
        b'{' => {
            let (object, is_whole) = loose_object(text)?;
            let mut near = near_or_exact(&object)?;
            // `{"call_1": "x"}` may be a record of its own.
            near.or_data = object.len() == 1 && !near.has_sigil;
            if !is_whole {
                near.make_unclear();
            }
            Some(near)
        }
        _ => None,
    }
}

/// An object that was written as a text, as a reference or near one.
fn near_or_exact(object: &Map<String, Value>) -> Option<NearReference> {
    match read_object(object, &|_| false) {
        Ok(Reading::Reference(reference)) => {
            let selects = match reference.artifact_id {
                None => vec![reference.select],
                Some(_) => Vec::new(),
            };
            let mut near = NearReference::new(reference.call_id.as_str(), selects, "");
            near.default = reference.default;
            Some(near)
        }
        Ok(Reading::Data) | Err(Malformed::NoTool) => near_object(object, &|_| false),
        Err(_) => {
            let keys = ["$tool", "_tool"];
            let tool = keys.iter().find_map(|key| object.get(*key)?.as_str())?;
            Some(NearReference::new(tool, Vec::new(), ""))
        }
        Ok(_) => None,
    }
}

/// Members without braces around them, as of an object.
fn members_of(text: &str) -> Option<String> {
    let inner = text.strip_prefix("dict").unwrap_or(text);
    let inner = inner
        .strip_prefix('(')
        .and_then(|inner| inner.strip_suffix(')'));
    let inner = inner.unwrap_or(text);
    let plain = inner.trim_start_matches(['"', '\'', '-', ' ']);
    let begins = |key: &str| {
        let behind = plain
            .strip_prefix(key)
            .map(|behind| behind.trim_start_matches(['"', '\'', ' ']));
        behind.is_some_and(|behind| behind.starts_with([':', '=']))
    };
    if ["$tool", "_tool", "tool"].iter().any(|key| begins(key)) {
        return Some(inner.replace(['\n', '&', ';'], ", "));
    }
    // The attributes of an element.
    let element = text.strip_prefix('<')?.replace('\'', "\"");
    let element = element.trim_end_matches('>').trim_end_matches('/');
    let (name, mut rest) = element.split_once(' ')?;
    let mut members = Vec::new();
    if word_of(name) == Some(name) && is_distinctive(name) {
        members.push(format!("\"tool\": {}", Value::from(name)));
    }
    while let Some((key, value)) = rest.trim_start().split_once("=\"") {
        let (value, behind) = value.split_once('"')?;
        members.push(format!(
            "{}: {}",
            Value::from(key.trim()),
            Value::from(value)
        ));
        rest = behind;
    }
    let is_whole = rest.trim().is_empty() && !members.is_empty() && members.len() <= 4;
    is_whole.then(|| members.join(", "))
}

/// A text without the outermost fence, quotes or escapes.
fn peeled(text: &str) -> Option<String> {
    // `$tool: call_1`, `"$tool": "call_1", "$select": "a"`, `<ref tool="call_1" path="a"/>`
    if let Some(members) = members_of(text) {
        return Some(format!("{{{members}}}"));
    }
    const QUOTES: [(char, char); 5] =
        [('`', '`'), ('\'', '\''), ('“', '”'), ('‘', '’'), ('(', ')')];
    if let Some(inner) = text.strip_prefix("```") {
        let inner = inner.strip_suffix("```").unwrap_or(inner);
        let inner = inner.trim_start_matches(|sign: char| sign.is_ascii_alphanumeric());
        return Some(inner.trim().to_owned());
    }
    if text.starts_with('"') {
        let inner = serde_json::from_str(text).ok();
        let inner = inner.or_else(|| Some(text.strip_prefix('"')?.strip_suffix('"')?.to_owned()));
        return inner.map(|inner: String| inner.trim().to_owned());
    }
    let first = text.chars().next()?;
    if let Some((open, close)) = QUOTES.iter().find(|(open, _)| *open == first) {
        let inner = text.strip_prefix(*open)?.strip_suffix(*close)?;
        return Some(inner.trim().to_owned());
    }
    if first != '{' {
        return None;
    }
    if text.contains("&quot;") || text.contains("&#") || text.contains("&apos;") {
        const ENTITIES: [(&str, &str); 6] = [
            ("&quot;", "\""),
            ("&#34;", "\""),
            ("&#39;", "'"),
            ("&apos;", "'"),
            ("&lt;", "<"),
            ("&gt;", ">"),
        ];
        let mut plain = text.to_owned();
        for (entity, sign) in ENTITIES {
            plain = plain.replace(entity, sign);
        }
        return Some(plain.replace("&amp;", "&")).filter(|plain| plain != text);
    }
    // `{\"$tool\": \"call_1\"}`
    let inner = text[1..].trim_start();
    if inner.starts_with("\\") {
        let mut plain = String::with_capacity(text.len());
        let mut signs = text.chars();
        while let Some(sign) = signs.next() {
            plain.extend(if sign == '\\' {
                signs.next()
            } else {
                Some(sign)
            });
        }
        return Some(plain);
    }
    // `{{"$tool": "call_1"}}`
    let inner = inner.strip_suffix('}')?.trim();
    inner.starts_with('{').then(|| inner.to_owned())
}

/// An object without objects in it, as JSON, Python or JavaScript write it, and whether no value breaks off.
fn loose_object(text: &str) -> Option<(Map<String, Value>, bool)> {
    if let Ok(object) = serde_json::from_str::<Map<String, Value>>(text) {
        return (!object.is_empty()).then_some((object, true));
    }
    let mut rest = text.strip_prefix('{')?.trim_start();
    let mut object = Map::new();
    let mut is_whole = true;
    loop {
        // The end, or none.
        if let Some(behind) = rest.strip_prefix('}') {
            if !behind.trim().is_empty() {
                return None;
            }
            break;
        }
        if rest.is_empty() {
            break;
        }
        let (key, _, behind) = Word::read(rest)?.parts();
        let behind = behind.trim_start();
        let behind = behind
            .strip_prefix("=>")
            .or_else(|| behind.strip_prefix([':', '=']));
        let Some(behind) = behind else {
            // Without an end, the last key may have no value.
            if object.is_empty() || text.ends_with('}') {
                return None;
            }
            is_whole = false;
            break;
        };
        let Some(word) = Word::read(behind.trim_start()) else {
            if object.is_empty() || text.ends_with('}') {
                return None;
            }
            is_whole = false;
            break;
        };
        is_whole &= word.is_closed;
        let (value, is_quoted, behind) = word.parts();
        let value = match value.as_str() {
            _ if is_quoted => Value::String(value),
            "None" | "null" | "undefined" | "nil" => Value::Null,
            "True" => Value::Bool(true),
            "False" => Value::Bool(false),
            plain => match serde_json::from_str(plain) {
                Ok(scalar @ (Value::Bool(_) | Value::Number(_))) => scalar,
                _ => Value::String(value),
            },
        };
        object.insert(key, value);
        let behind = behind.trim_start();
        rest = match behind.strip_prefix([',', ';']) {
            Some(next) => next.trim_start(),
            None if behind.is_empty() || behind.starts_with('}') => behind,
            // The comma is missing.
            None if is_quoted && behind.starts_with(['"', '\'', '“', '$', '_']) => behind,
            None => return None,
        };
    }
    (!object.is_empty()).then_some((object, is_whole))
}

/// A word or quoted text, and what is behind it.
pub(crate) struct Word<'t> {
    pub(crate) word: String,
    is_quoted: bool,
    is_closed: bool,
    pub(crate) behind: &'t str,
}

impl<'t> Word<'t> {
    fn parts(self) -> (String, bool, &'t str) {
        (self.word, self.is_quoted, self.behind)
    }

    pub(crate) fn read(text: &'t str) -> Option<Self> {
        const QUOTES: [(char, &[char]); 6] = [
            ('"', &['"']),
            ('\'', &['\'']),
            ('`', &['`']),
            ('“', &['”', '“']),
            ('”', &['”']),
            ('‘', &['’', '‘']),
        ];
        let first = text.chars().next()?;
        let Some((_, closes)) = QUOTES.iter().find(|(open, _)| *open == first) else {
            let mut scan = Scan::default();
            let end = text.bytes().position(|byte| {
                let is_end = !scan.is_inside() && matches!(byte, b',' | b':' | b'}' | b'\n' | b'=');
                scan.take(byte);
                is_end
            });
            let end = end.unwrap_or(text.len());
            let word = text[..end].trim();
            return (!word.is_empty()).then(|| Self {
                word: word.to_owned(),
                is_quoted: false,
                is_closed: true,
                behind: &text[end..],
            });
        };
        let inner = &text[first.len_utf8()..];
        let mut word = String::new();
        let mut signs = inner.char_indices();
        while let Some((at, sign)) = signs.next() {
            if sign == '\\' {
                word.extend(signs.next().map(|(_, sign)| sign));
            } else if closes.contains(&sign) && ends(&inner[at + sign.len_utf8()..]) {
                return Some(Self {
                    word,
                    is_quoted: true,
                    is_closed: true,
                    behind: &inner[at + sign.len_utf8()..],
                });
            } else {
                word.push(sign);
            }
        }
        Some(Self {
            word,
            is_quoted: true,
            is_closed: false,
            behind: "",
        })
    }
}

/// Whether a quoted text may end before this: other quotes within it, as in `'a[?b == 'c']'`, were not escaped.
fn ends(behind: &str) -> bool {
    let behind = behind.trim_start();
    let is_next = ["\"$", "'$", "\"_", "'_", "\"select", "'select"]
        .iter()
        .any(|key| behind.starts_with(key));
    // `ref(tool='call_1', select='items')`, `<ref select="items"/>`
    let is_last = || {
        let rest = behind
            .strip_prefix(')')
            .or_else(|| behind.strip_prefix('>'));
        let rest = rest.map(str::trim_start);
        rest.is_some_and(|rest| {
            rest.is_empty() || rest.starts_with([';', ',', '\n', '}']) || rest.starts_with(".$")
        })
    };
    let is_end = behind.is_empty() || behind.starts_with([',', ':', '}', '=', ';']);
    is_end || behind.starts_with("/>") || behind.starts_with("</") || is_next || is_last()
}
