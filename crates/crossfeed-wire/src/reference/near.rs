//! What models write in place of references: `{{call_1.items[0].url}}`, `{"$call": "call_1", "path": "url"}`.
//!
//! Reads what such a text or object would mean. It counts only where the id in it is one of a call of the session,
//! which the engine asks for; otherwise it is data.

mod loose;

use loose::serialised;

use super::{Reference, Repair, shortened};
use crate::{CallId, internal::is_internal};
use serde_json::{Map, Value};
use std::{borrow::Cow, ops::Range};

/// The most bytes of a path behind an id.
const MAX_PATH_BYTES: usize = 1000;
/// The most bytes of an id, as a call id has.
const MAX_ID_BYTES: usize = 256;
/// The most bytes of a text that is a reference as a whole.
const MAX_WHOLE_BYTES: usize = 4000;

/// Words before the id of a call in templates of other systems, without separators: `{{steps.call_1.output}}`.
const ROOTS: [&str; 47] = [
    "steps",
    "step",
    "results",
    "result",
    "outputs",
    "output",
    "tools",
    "tool",
    "functions",
    "function",
    "calls",
    "call",
    "toolresults",
    "toolresult",
    "toolcalls",
    "toolcall",
    "tooloutputs",
    "tooloutput",
    "toolresponses",
    "functionresults",
    "functioncalls",
    "nodes",
    "node",
    "tasks",
    "task",
    "jobs",
    "actions",
    "action",
    "ref",
    "refs",
    "responses",
    "response",
    "context",
    "ctx",
    "state",
    "memory",
    "vars",
    "var",
    "variables",
    "data",
    "previous",
    "history",
    "session",
    "inputs",
    "id",
    "callid",
    "toolcallid",
];
/// Words behind the id of a call for what it returned, which may not be keys of the result.
const WRAPPERS: [&str; 17] = [
    "output",
    "outputs",
    "result",
    "results",
    "response",
    "responses",
    "value",
    "data",
    "content",
    "contents",
    "json",
    "body",
    "return",
    "returned",
    "payload",
    "structuredContent",
    "text",
];
/// Filters of templates for how a value is written: `{{call_1.items | json}}`.
const FILTERS: [&str; 14] = [
    "json",
    "tojson",
    "to_json",
    "string",
    "str",
    "safe",
    "raw",
    "trim",
    "escape",
    "e",
    "dump",
    "jsonify",
    "stringify",
    "text",
];
/// Endings of names of files, which are not paths into results.
const FILE_ENDINGS: [&str; 36] = [
    "json", "jsonl", "txt", "md", "csv", "tsv", "xml", "html", "htm", "yaml", "yml", "toml", "py",
    "js", "ts", "rs", "go", "c", "h", "cpp", "java", "sh", "log", "pdf", "png", "jpg", "jpeg",
    "gif", "svg", "zip", "gz", "ini", "cfg", "sql", "css", "com",
];

/// The probable meaning of a key beside the id of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyMeaning {
    /// The selector: `path`, `$selct`.
    Select,
    /// Another key of a reference: `default`, `artifact`.
    Default,
    /// A remark, or a field of our own.
    Nothing,
    Unknown,
}

const SELECT_KEYS: [&str; 32] = [
    "at",
    "index",
    "fields",
    "keys",
    "subpath",
    "accessor",
    "projection",
    "pathexpression",
    "jsonquery",
    "jmes",
    "select",
    "selector",
    "selection",
    "path",
    "jsonpath",
    "jmespath",
    "jmespathexpression",
    "query",
    "expression",
    "expr",
    "filter",
    "field",
    "key",
    "property",
    "prop",
    "pointer",
    "jsonpointer",
    "get",
    "pick",
    "extract",
    "attribute",
    "jq",
];
const DEFAULT_KEYS: [&str; 7] = [
    "default",
    "defaultvalue",
    "fallback",
    "otherwise",
    "orelse",
    "artifact",
    "artifactid",
];
const REMARK_KEYS: [&str; 9] = [
    "kind",
    "type",
    "comment",
    "note",
    "notes",
    "description",
    "reason",
    "explanation",
    "title",
];
/// Keys for the id of a call, with a sigil or without.
const CALL_KEYS: [&str; 26] = [
    "tool",
    "toolcallid",
    "callid",
    "toolcall",
    "call",
    "ref",
    "reference",
    "result",
    "resultof",
    "toolresult",
    "from",
    "fromcall",
    "fromtool",
    "fromresult",
    "toolref",
    "callref",
    "resultid",
    "resultref",
    "refid",
    "refto",
    "tooluseid",
    "tooluse",
    "functioncallid",
    "functioncall",
    "toolresultid",
    "function",
];
/// The same, only with a sigil, or beside a key with one or a key for a selector.
const SIGIL_CALL_KEYS: [&str; 20] = [
    "id",
    "source",
    "sourceid",
    "sourcecall",
    "toolid",
    "toolname",
    "output",
    "outputof",
    "use",
    "step",
    "stepid",
    "var",
    "variable",
    "value",
    "valuefrom",
    "node",
    "data",
    "input",
    "invocation",
    "handle",
];

/// Whether a key has a sign at its beginning or end: `$tool`, `@tool`, `tool$`.
fn has_sign(key: &str) -> bool {
    let is_sign = |byte: &u8| byte.is_ascii_punctuation();
    key.len() > 1
        && (key.as_bytes().first().is_some_and(is_sign)
            || key.as_bytes().last().is_some_and(is_sign))
}

/// The beginning of a key in lower case, without sigils and separators.
fn plain_key(key: &str) -> String {
    plain_chars(key).take(32).collect()
}

fn plain_chars(key: &str) -> impl Iterator<Item = char> + '_ {
    let plain = key
        .chars()
        .filter(|sign| !sign.is_ascii_punctuation() && *sign != ' ');
    plain.map(|sign| sign.to_ascii_lowercase())
}

/// What `key` beside the id of a call probably means.
pub(super) fn meaning_of(key: &str) -> KeyMeaning {
    let plain = plain_key(key);
    if SELECT_KEYS.contains(&plain.as_str()) || is_slip(&plain, "select") {
        KeyMeaning::Select
    } else if DEFAULT_KEYS.contains(&plain.as_str()) || is_slip(&plain, "default") {
        KeyMeaning::Default
    } else if REMARK_KEYS.contains(&plain.as_str()) || is_internal(key) {
        KeyMeaning::Nothing
    } else {
        KeyMeaning::Unknown
    }
}

/// Whether two words differ by one character, or by two that are swapped.
fn is_slip(written: &str, meant: &str) -> bool {
    let common = |(a, b): &(char, char)| a == b;
    let before = written
        .chars()
        .zip(meant.chars())
        .take_while(common)
        .count();
    let (a, b): (Vec<char>, Vec<char>) = (
        written.chars().skip(before).collect(),
        meant.chars().skip(before).collect(),
    );
    let behind = a
        .iter()
        .rev()
        .zip(b.iter().rev())
        .take_while(|(a, b)| a == b)
        .count();
    let (a, b) = (&a[..a.len() - behind], &b[..b.len() - behind]);
    matches!((a, b), ([_], [_]) | ([], [_]) | ([_], []))
        || matches!((a, b), ([a, b], [c, d]) if a == d && b == c)
}

/// What may have been meant as a reference.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct NearReference {
    /// The id of the call, as it was written.
    pub id: String,
    /// The selectors that may be meant, the most probable first; `None` is the whole result. Without any, the
    /// meaning is unclear.
    pub selects: Vec<Option<String>>,
    /// The default.
    pub default: Option<Value>,
    /// The reference as it was written, cut if it is long.
    pub written: String,
    /// Whether a key names the call that begins with `$` or `_`.
    pub has_sigil: bool,
}

impl NearReference {
    /// The reference that is meant; `None` if that is unclear.
    pub fn into_reference(self) -> Option<Reference> {
        let call_id = CallId::parse(&self.id).ok()?;
        let mut selects = self.selects.into_iter();
        Some(Reference {
            call_id,
            artifact_id: None,
            select: selects.next()?,
            default: self.default,
            ignored: Vec::new(),
            repair: Some(Box::new(Repair {
                written: self.written,
                others: selects.collect(),
            })),
        })
    }

    /// What a text means where only a reference can stand: an id, and a path in the result.
    pub fn from_entry(text: &str) -> Option<Self> {
        let text = text.trim();
        if text.len() > MAX_WHOLE_BYTES {
            return None;
        }
        whole_text(text).or_else(|| {
            // `#/call_1/items/0`, `"call_1"`
            let signed = text.trim_start_matches(['#', '/', '$', '@', '.']);
            let inner = within_signs(signed).unwrap_or(signed);
            // `call_1 (search)`
            let inner = match inner.split_once(" (") {
                Some((id, name)) if name.ends_with(')') => id,
                _ => inner,
            };
            let head = Head::read(inner)
                .filter(|head| inner.len() == text.len() || is_distinctive(head.id))?;
            let selects = readings(&inner[head.end..])?;
            Some(Self::new(head.id, selects, text))
        })
    }

    /// Whether the id is hardly anything but one.
    pub fn is_distinctive(&self) -> bool {
        is_distinctive(&self.id)
    }

    fn new(id: &str, selects: Vec<Option<String>>, written: &str) -> Self {
        Self {
            id: id.to_owned(),
            selects,
            default: None,
            written: shortened(written),
            has_sigil: false,
        }
    }
}

/// The parts of a text that may be meant as references.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct NearText {
    /// Each part, and its place in the text.
    pub parts: Vec<(Range<usize>, NearReference)>,
    /// Whether there are more than were asked for.
    pub has_more: bool,
}

/// The parts of a text that may be meant as references, at most `most`; `None` if there are none. If one is the
/// whole text but for blanks, it is the only one.
///
/// ```
/// use crossfeed_wire::reference::near_text;
///
/// let near = near_text("See {{call_1.items[0].url}}.", 10).expect("a part");
/// let (place, reference) = &near.parts[0];
/// assert_eq!((place.clone(), reference.id.as_str()), (4..27, "call_1"));
/// assert_eq!(reference.selects[0].as_deref(), Some("items[0].url"));
/// assert_eq!(near_text("See {{item.url}} and call_1.", 10), None);
/// ```
pub fn near_text(text: &str, most: usize) -> Option<NearText> {
    let trimmed = text.trim();
    let start = text.len() - text.trim_start().len();
    let mut found = NearText {
        parts: Vec::new(),
        has_more: false,
    };
    if trimmed.len() <= MAX_WHOLE_BYTES
        && let Some(whole) = whole_text(trimmed)
    {
        if most == 0 {
            found.has_more = true;
        } else {
            found.parts.push((start..start + trimmed.len(), whole));
        }
        return Some(found);
    }
    let mut end = 0;
    let mut has_literal = None;
    let openings = text.bytes().enumerate();
    for (at, _) in openings.filter(|(_, byte)| matches!(byte, b'{' | b'$' | b'<' | b'.' | b'[')) {
        if at < end {
            continue;
        }
        let Some(part) = Part::read(text, at).filter(|part| part.place.start >= end) else {
            continue;
        };
        if part.is_in_json && *has_literal.get_or_insert_with(|| text.contains("literal")) {
            continue;
        }
        if found.parts.len() == most {
            found.has_more = true;
            break;
        }
        end = part.place.end;
        found.parts.push((part.place, part.near));
    }
    let inside = |open: char, close: char| trimmed.strip_prefix(open)?.strip_suffix(close);
    let is_object = inside('{', '}').is_some_and(|members| {
        let members = members.trim_start();
        members.starts_with(['"', '\''])
    });
    let begins = found.parts.first().map(|(place, _)| place.start);
    let is_json = begins != Some(start) && (is_object || inside('[', ']').is_some());
    if let [(place, near)] = found.parts.as_mut_slice()
        && !is_json
    {
        let (before, behind) = (text[..place.start].trim(), text[place.end..].trim());
        // Delimiters of another system, around everything: `{% print call_1.url %}`.
        let is_open = before.len() <= 16
            && before.contains(['{', '<'])
            && !before.ends_with('>')
            && before.split_whitespace().count() <= 2
            && before.starts_with(|sign: char| sign.is_ascii_punctuation());
        let is_close =
            behind.ends_with(['}', '>']) && behind.bytes().all(|byte| byte.is_ascii_punctuation());
        if is_open && is_close {
            place.start = start;
            place.end = start + trimmed.len();
            near.written = shortened(trimmed);
        }
    }
    // The quotes of another language would stay, and in JSON what a value holds could end a text.
    let is_quoted = |open: &str, close: char| {
        let inner = trimmed
            .strip_prefix(open)
            .and_then(|inner| inner.strip_suffix(close));
        inner.is_some_and(|inner| !inner.contains(close))
    };
    if is_json || is_quoted("f\"", '"') || is_quoted("f'", '\'') || is_quoted("`", '`') {
        for (_, near) in found
            .parts
            .iter_mut()
            .filter(|(place, _)| place.len() < trimmed.len())
        {
            near.selects.clear();
        }
    }
    (!found.parts.is_empty() || found.has_more).then_some(found)
}

/// Whether [`near_text`] finds a part at this byte, which is `{`, `$`, `<`, `.` or `[`.
pub fn opens_near_text(text: &str, at: usize) -> bool {
    Part::read(text, at).is_some()
}

/// Whether [`near_text`] reads the whole text as one part.
pub fn is_near_text(text: &str) -> bool {
    let text = text.trim();
    text.len() <= MAX_WHOLE_BYTES && whole_text(text).is_some()
}

/// A text that is a reference as a whole: serialised, in delimiters, or an id with a path.
fn whole_text(text: &str) -> Option<NearReference> {
    let first = text.chars().next()?;
    if first.is_ascii_alphanumeric() || first == '_' {
        return bare(text, text)
            .or_else(|| called(text, text))
            .or_else(|| spoken(text, text))
            .or_else(|| introduced(text))
            .or_else(|| loose::members(text));
    }
    if matches!(first, '{' | '$' | '<') {
        let part = Part::read(text, 0).filter(|part| part.place == (0..text.len()));
        if let Some(part) = part {
            return Some(part.near);
        }
    }
    if let Some(near) = introduced(text) {
        return Some(near);
    }
    if let Some(near) = serialised(text.trim_end_matches([';', ','])) {
        return Some(near);
    }
    let inner = within_signs(text);
    let within = inner.and_then(|inner| {
        bare(inner, text)
            .or_else(|| called(inner, text))
            .or_else(|| spoken(inner, text))
    });
    // `#/call_1/items/0`
    let rooted = text.trim_start_matches(['$', '#', '/', '.']);
    let rooted = || bare(rooted, text).filter(|_| rooted.len() < text.len());
    within.or_else(rooted).or_else(|| {
        // `[call_1].items[0].url`
        let start = text.find(|sign: char| sign.is_ascii_alphanumeric())?;
        let id = word_of(&text[start..])?;
        let behind = &text[start + id.len()..];
        let path = behind.find(['.', '['])?;
        within_signs(&text[..start + id.len() + path]).filter(|inner| *inner == id)?;
        bare(&format!("{id}{}", &behind[path..]), text)
    })
}

/// A serialised reference behind a word for one: `Reference: {"$tool": "call_1"}`.
fn introduced(text: &str) -> Option<NearReference> {
    const WORDS: [&str; 18] = [
        "reference",
        "ref",
        "the reference",
        "json",
        "value",
        "the value",
        "result",
        "tool result",
        "tool reference",
        "output",
        "use",
        "insert",
        "argument",
        "crossfeed",
        "using",
        "from",
        "see",
        "here",
    ];
    let (word, object) = text.split_at(text.find(['{', '`'])?);
    let word = word.trim().trim_end_matches([':', '=']).trim_end();
    let is_word = WORDS.iter().any(|known| known.eq_ignore_ascii_case(word));
    let is_object = is_word && (object.starts_with('`') || object.contains("tool"));
    is_object.then(|| serialised(object.trim_end_matches('.')))?
}

/// A text without the quotes, brackets and signs around it.
fn within_signs(text: &str) -> Option<&str> {
    const AROUND: [(char, char); 13] = [
        ('‹', '›'),
        ('⟨', '⟩'),
        ('【', '】'),
        ('{', '}'),
        ('[', ']'),
        ('(', ')'),
        ('<', '>'),
        ('"', '"'),
        ('\'', '\''),
        ('`', '`'),
        ('“', '”'),
        ('‘', '’'),
        ('«', '»'),
    ];
    const MOST: usize = 8;
    let mut inner = text;
    for _ in 0..MOST {
        let Some(first) = inner.chars().next() else {
            break;
        };
        let rest = &inner[first.len_utf8()..];
        inner = match AROUND.iter().find(|(open, _)| *open == first) {
            Some((_, close)) => rest.strip_suffix(*close)?,
            None if matches!(
                first,
                '%' | '@' | '#' | '=' | '$' | '~' | '&' | '!' | '*' | '^' | '|' | ':'
            ) =>
            {
                rest.strip_suffix(first).unwrap_or(rest)
            }
            None => break,
        }
        .trim();
    }
    (inner.len() < text.len()).then_some(inner)
}

/// `items[0].url of call_1`, `call_1: items[0].url`
fn spoken(text: &str, written: &str) -> Option<NearReference> {
    const JOINTS: [&str; 8] = [
        " of ", " from ", " in ", " @ ", "@", " on ", " <- ", " for ",
    ];
    let is_path = |path: &str| {
        let (first, rest) = match path.strip_prefix('[') {
            Some(_) => ("", path),
            None => word_of(path).map(|word| path.split_at(word.len()))?,
        };
        let (_, length) = Path::read(rest);
        let is_whole = length == rest.len() && (length > 0 || first.is_empty());
        (is_whole && !is_distinctive(first)).then(|| path.to_owned())
    };
    let near = |id: &str, path: &str| {
        let is_id = word_of(id) == Some(id) && is_distinctive(id);
        let path = is_path(path.trim().trim_matches('`')).filter(|_| is_id)?;
        Some(NearReference::new(id, vec![Some(path)], written))
    };
    let joints = JOINTS.iter().filter_map(|joint| text.rsplit_once(joint));
    let mut joints = joints.filter_map(|(path, id)| {
        let path = path.strip_prefix("the ").unwrap_or(path);
        near(id.trim_matches('`'), path)
    });
    joints.next().or_else(|| {
        let id = word_of(text)?;
        let behind = &text[id.len()..];
        let path = behind.strip_prefix([':', ',', ';']).unwrap_or(behind);
        let path = path
            .strip_prefix("?select=")
            .or_else(|| path.strip_prefix("?path="))
            .unwrap_or(path);
        near(id, path).filter(|_| path.len() < behind.len() || path.starts_with(' '))
    })
}

/// `ref(call_1, 'items[0].url')`
fn called(text: &str, written: &str) -> Option<NearReference> {
    let name = word_of(text)?;
    let inner = text[name.len()..].strip_prefix('(')?.strip_suffix(')')?;
    let is_quote = |sign: char| matches!(sign, '"' | '\'' | '`' | ' ');
    let (id, select) = match inner.split_once(',') {
        Some((id, select)) => (id, Some(select.trim().trim_matches(is_quote))),
        None => return bare(inner.trim_matches(is_quote), written),
    };
    let id = id.trim_matches(is_quote);
    if word_of(id) != Some(id) || !is_distinctive(id) {
        return None;
    }
    let select = select.filter(|select| !select.is_empty() && select.len() <= MAX_PATH_BYTES);
    Some(NearReference::new(
        id,
        vec![select.map(str::to_owned)],
        written,
    ))
}

/// An id with a path, without delimiters.
fn bare(text: &str, written: &str) -> Option<NearReference> {
    let is_call = |head: &Head<'_>| is_distinctive(head.id) || is_compound(head.id);
    let head = Head::read(text).filter(is_call)?;
    let rest = behind_root(text[head.end..].trim_start());
    // `call_1 -> items`
    let arrow = rest
        .strip_prefix("-> ")
        .or_else(|| rest.strip_prefix("=>"))
        .or_else(|| rest.strip_prefix('!'));
    let piped = arrow.map(|path| format!("| {}", path.trim_start()));
    let rest = piped.as_deref().unwrap_or(rest);
    let is_path = rest.starts_with(['.', '[', '#', ':', '/', '|'])
        || rest.starts_with("->")
        || rest.starts_with("?.");
    if !is_path || rest.len() > MAX_PATH_BYTES || !is_one_expression(rest) {
        return None;
    }
    let (path, length) = Path::read(rest);
    // The name of a tool in place of an id needs more: `search_issues.items[0]`.
    let is_short = path.steps.len() < 2 && !rest.starts_with('[');
    if path.is_name_of_file() || !is_distinctive(head.id) && is_short {
        return None;
    }
    // Text that follows is not of the expression: `call_1.url/comments`.
    let behind = rest[length..].trim_start();
    let is_operator =
        behind.is_empty() || behind.starts_with(['|', '.', '[', '=', '!', '&', '<', '>', '(', '?']);
    if !is_operator
        || path.steps.is_empty() && !rest.starts_with(['[', '|']) && !rest.starts_with(".{")
    {
        return None;
    }
    Some(NearReference::new(head.id, readings(rest)?, written))
}

/// Whether blanks are only in brackets and quotes, or around pipes: prose is not an expression.
fn is_one_expression(text: &str) -> bool {
    let mut scan = Scan::default();
    let mut last = b' ';
    let mut open = false;
    for byte in text.bytes() {
        scan.take(byte);
        if scan.is_inside() || byte == b']' {
            (last, open) = (byte, false);
            continue;
        }
        if byte.is_ascii_whitespace() {
            open = last != b'|';
            continue;
        }
        if open && byte != b'|' || matches!(byte, b',' | b';') {
            return false;
        }
        (last, open) = (byte, false);
    }
    true
}

/// Follows brackets and quotes.
#[derive(Default)]
struct Scan {
    depth: usize,
    quote: Option<u8>,
    is_escaped: bool,
}

impl Scan {
    fn take(&mut self, byte: u8) {
        if let Some(quote) = self.quote {
            if self.is_escaped {
                self.is_escaped = false;
            } else if byte == b'\\' {
                self.is_escaped = true;
            } else if byte == quote {
                self.quote = None;
            }
            return;
        }
        match byte {
            b'\'' | b'"' | b'`' => self.quote = Some(byte),
            b'[' | b'(' | b'{' => self.depth += 1,
            b']' | b')' | b'}' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
    }

    fn is_inside(&self) -> bool {
        self.depth > 0 || self.quote.is_some()
    }
}

/// Whether a text is hardly anything but the id of a call: `call_1`, `toolu_01AbC`, not `search` or `1`.
fn is_distinctive(id: &str) -> bool {
    let has = |is: fn(&u8) -> bool| id.as_bytes().iter().any(is);
    let begins = |word: &str| {
        id.get(..word.len())
            .is_some_and(|it| it.eq_ignore_ascii_case(word))
    };
    has(u8::is_ascii_digit)
        && has(u8::is_ascii_alphabetic)
        && (id.len() >= 8
            || id.get(1..).is_some_and(|rest| rest.contains(['_', '-']))
            || begins("call"))
}

/// Whether a text may be the name of a tool in place of an id: `search_issues`.
fn is_compound(id: &str) -> bool {
    let is_word =
        |word: &str| word.len() > 1 && word.bytes().all(|byte| byte.is_ascii_alphanumeric());
    id.contains(['_', '-']) && id.split(['_', '-']).all(is_word)
}

/// The id of a call at the beginning of a text, with words of other systems before it.
struct Head<'t> {
    id: &'t str,
    /// The end of what names the call.
    end: usize,
}

impl<'t> Head<'t> {
    fn read(text: &'t str) -> Option<Self> {
        let mut at = 0;
        // `$.tool_results.call_1`
        for _ in 0..3 {
            let rest = &text[at..];
            let word = word_of(rest)?;
            let behind = &rest[word.len()..];
            let separator = [
                "[\"", "['", "(\"", "('", "(", "[", ".", "://", ":", "=", "/",
            ];
            let separator = separator.into_iter().find(|sign| behind.starts_with(sign));
            let is_root =
                separator.is_some() && ROOTS.iter().any(|root| plain_chars(word).eq(root.chars()));
            let (true, Some(separator)) = (is_root, separator) else {
                return Some(Self {
                    id: word,
                    end: at + word.len(),
                });
            };
            let inner = at + word.len() + separator.len();
            let next = text.get(inner..)?;
            let close = match separator {
                "[\"" => "\"]",
                "['" => "']",
                "(\"" => "\")",
                "('" => "')",
                "(" => ")",
                "[" => "]",
                _ => {
                    // A word that only looks like a root is an id.
                    if word_of(next).is_none() {
                        return Some(Self {
                            id: word,
                            end: at + word.len(),
                        });
                    }
                    at = inner;
                    continue;
                }
            };
            let id = word_of(next)?;
            return next[id.len()..].starts_with(close).then_some(Self {
                id,
                end: inner + id.len() + close.len(),
            });
        }
        None
    }
}

/// A word that may be an id, at the beginning of a text.
fn word_of(text: &str) -> Option<&str> {
    let is_sign = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let end = text
        .bytes()
        .take(MAX_ID_BYTES + 1)
        .take_while(|byte| is_sign(*byte))
        .count();
    let word = text.get(..end)?;
    // `call_1->items`
    let word = match text.as_bytes().get(end) {
        Some(b'>') => word.strip_suffix('-').unwrap_or(word),
        _ => word,
    };
    let is_word = !word.is_empty() && word.len() <= MAX_ID_BYTES && !word.starts_with('-');
    is_word.then_some(word)
}

/// A part of a text that may be meant as a reference.
struct Part {
    place: Range<usize>,
    near: NearReference,
    /// Whether it stands in JSON that was written as a text, where a literal may be around it.
    is_in_json: bool,
}

impl Part {
    /// The part that begins at this byte, or has its path there.
    fn read(text: &str, at: usize) -> Option<Self> {
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
        let is_sign = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        let before = text.as_bytes()[..at].iter().rev();
        let length = before
            .take(MAX_ID_BYTES)
            .take_while(|byte| is_sign(byte))
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

/// The bytes before the closing delimiter, in one line and before another opening one.
fn closing(text: &str, open: &str, close: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut scan = Scan::default();
    for (at, byte) in text.bytes().enumerate().take(MAX_PATH_BYTES) {
        if byte == b'\n' {
            return None;
        }
        let rest = &bytes[at..];
        if !scan.is_inside() && rest.starts_with(close.as_bytes()) {
            // `call_1->items` in angle brackets
            let is_arrow = close == ">" && bytes[..at].ends_with(b"-");
            if !is_arrow {
                return Some(at);
            }
        }
        // `<` and `{` are of expressions, too.
        let is_opening = open.len() > 1 && rest.starts_with(open.as_bytes())
            || open.len() == 1
                && rest.starts_with(open.as_bytes())
                && Head::read(text.get(at + 1..)?).is_some_and(|head| is_distinctive(head.id));
        if is_opening {
            return None;
        }
        scan.take(byte);
    }
    None
}

/// A step of a path.
enum Step<'t> {
    Key(&'t str),
    Index(i64),
    /// All items.
    Each,
    /// A slice.
    Slice(&'t str),
    /// A filter, with its brackets.
    Filter(&'t str),
}

/// The beginning of an expression that is a path, in one of several notations.
struct Path<'t> {
    steps: Vec<Step<'t>>,
}

impl<'t> Path<'t> {
    /// The path at the beginning of a text, and its length.
    fn read(text: &'t str) -> (Self, usize) {
        let has_slashes = text.starts_with(['/', '#']);
        let mut steps = Vec::new();
        let mut at = 0;
        while let Some((step, length)) = Step::read(&text[at..], at == 0, has_slashes) {
            steps.push(step);
            at += length;
        }
        (Self { steps }, at)
    }

    /// Whether it is only the ending of the name of a file.
    fn is_name_of_file(&self) -> bool {
        let is_ending = |key: &str| FILE_ENDINGS.iter().any(|it| it.eq_ignore_ascii_case(key));
        matches!(self.steps.as_slice(), [Step::Key(only)] if is_ending(only))
    }

    /// The path as JMESPath, without its first steps.
    fn from(&self, first: usize) -> String {
        let mut text = String::new();
        for step in self.steps.iter().skip(first) {
            match step {
                Step::Key(key) => {
                    if !text.is_empty() {
                        text.push('.');
                    }
                    text.push_str(&quoted(key));
                }
                Step::Index(index) => text.push_str(&format!("[{index}]")),
                Step::Each => text.push_str("[*]"),
                Step::Slice(slice) => text.push_str(&format!("[{slice}]")),
                Step::Filter(brackets) => text.push_str(brackets),
            }
        }
        text
    }
}

impl<'t> Step<'t> {
    fn read(text: &'t str, is_first: bool, has_slashes: bool) -> Option<(Self, usize)> {
        // `items.[0]`
        if text.starts_with(".[") {
            let (step, length) = Self::read(&text[1..], false, has_slashes)?;
            return matches!(step, Self::Index(_) | Self::Each).then_some((step, length + 1));
        }
        if let Some(inner) = text.strip_prefix('[') {
            let quote = inner.chars().next()?;
            if quote == '"' || quote == '\'' {
                let within = &inner[1..];
                let length = within
                    .bytes()
                    .take(MAX_ID_BYTES)
                    .position(|byte| byte == quote as u8)?;
                let key = &within[..length];
                let is_plain = !key.contains('\\') && within[length + 1..].starts_with(']');
                return is_plain.then_some((Self::Key(key), length + 4));
            }
            let length = closing(inner, "[[", "]")?;
            let brackets = inner[..length].trim();
            let is_slice = |sign: char| sign.is_ascii_digit() || matches!(sign, '-' | ':' | ' ');
            let step = match brackets {
                "*" => Self::Each,
                index if index.parse::<i64>().is_ok() => Self::Index(index.parse().ok()?),
                slice
                    if slice.chars().all(is_slice) && (slice.is_empty() || slice.contains(':')) =>
                {
                    Self::Slice(slice)
                }
                key if word_of(key) == Some(key) => Self::Key(key),
                filter if filter.starts_with('?') => Self::Filter(&text[..length + 2]),
                _ => return None,
            };
            return Some((step, length + 2));
        }
        let separators: &[&str] = match (is_first, has_slashes) {
            (true, _) => &["?.", "->", "::", ".", "/", "#/", "#", ":"],
            (false, true) => &["/", "."],
            (false, false) => &["?.", "->", "::", "."],
        };
        let separator = separators.iter().find(|sign| text.starts_with(**sign))?;
        let rest = &text[separator.len()..];
        let is_pointer = separator.ends_with('/');
        // `/items/*/url`, `/items/:2`
        if is_pointer && rest.starts_with('*') {
            return Some((Self::Each, separator.len() + 1));
        }
        let is_slice = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b':' | b'-');
        let slice = rest.bytes().take(24).take_while(is_slice).count();
        if is_pointer && rest[..slice].contains(':') {
            return Some((Self::Slice(&rest[..slice]), separator.len() + slice));
        }
        if is_pointer
            && rest.starts_with('-')
            && let Ok(index) = rest[..slice].parse()
        {
            return Some((Self::Index(index), separator.len() + slice));
        }
        let is_sign = |sign: char| sign.is_alphanumeric() || matches!(sign, '_' | '-');
        let end = rest.find(|sign| !is_sign(sign)).unwrap_or(rest.len());
        let word = rest
            .get(..end)
            .filter(|word| !word.is_empty() && !word.starts_with('-'))?;
        // A method is not a key.
        if rest[end..].starts_with('(') {
            return None;
        }
        let step = match word.parse() {
            Ok(index) => Self::Index(index),
            Err(_) => Self::Key(word),
        };
        Some((step, separator.len() + end))
    }
}

/// A key as JMESPath spells it.
fn quoted(key: &str) -> Cow<'_, str> {
    let mut bytes = key.bytes();
    let is_first = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
    let is_plain = bytes.next().is_some_and(is_first)
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if is_plain {
        Cow::Borrowed(key)
    } else {
        Cow::Owned(Value::from(key).to_string())
    }
}

/// A path without the root of a JSONPath before it: `:$.items`.
fn behind_root(rest: &str) -> &str {
    let root = rest.trim_start_matches([':', '#', '.', ' ', '/']);
    let path = root.strip_prefix('$');
    path.filter(|path| path.starts_with(['.', '[']))
        .unwrap_or(rest)
}

/// The selectors that a text behind an id may mean; `None` if it is not a path.
fn readings(rest: &str) -> Option<Vec<Option<String>>> {
    let rest = rest.trim();
    // `call_1:$.items`
    let rest = behind_root(rest);
    if rest.is_empty() {
        return Some(vec![None]);
    }
    // `| json`
    if let Some((path, filter)) = rest.rsplit_once('|')
        && !path.ends_with('|')
        && FILTERS.contains(&filter.split('(').next()?.trim())
    {
        let mut found = readings(path)?;
        found.push(
            found
                .first()?
                .as_deref()
                .map(|first| format!("{first} | {}", filter.trim())),
        );
        return Some(found);
    }
    if let Some(piped) = rest.strip_prefix(['|', ',']) {
        let piped = piped.trim();
        let words = [
            "jq -r ",
            "jq ",
            "jmespath ",
            "jsonpath ",
            "select ",
            "get ",
            "path ",
        ];
        let bare = words.iter().find_map(|word| piped.strip_prefix(word));
        let is_quote = |sign: char| matches!(sign, '"' | '\'');
        let piped = bare.map_or(piped, |bare| bare.trim().trim_matches(is_quote));
        return Some(vec![Some(piped.to_owned())]);
    }
    if !rest.starts_with(['.', '[', '#', '/', ':'])
        && !rest.starts_with("->")
        && !rest.starts_with("?.")
    {
        return None;
    }
    let (path, length) = Path::read(rest);
    let behind = &rest[length..];
    let reading = |first: usize| {
        let path = path.from(first);
        let behind = if path.is_empty() {
            behind.trim_start_matches(['.', '|', ' ', '#', '/', ':'])
        } else {
            behind
        };
        Some(format!("{path}{behind}")).filter(|text| !text.is_empty())
    };
    let mut readings = vec![reading(0)];
    for (index, step) in path.steps.iter().take(3).enumerate() {
        match step {
            Step::Key(key) if WRAPPERS.iter().any(|it| it.eq_ignore_ascii_case(key)) => {
                readings.push(reading(index + 1));
            }
            _ => break,
        }
    }
    // Nothing that can be read, such as `[`.
    (readings[0].is_some()).then_some(readings)
}

/// What an object may mean as a reference; `None` if it is data. `declared` is as for [`read_object`](super::read_object).
///
/// ```
/// use crossfeed_wire::reference::near_object;
/// use serde_json::json;
///
/// let object = json!({"$toolCallId": "call_1", "path": "items[0].url"});
/// let near = near_object(object.as_object().unwrap(), &|_| false).expect("near a reference");
/// assert_eq!(near.id, "call_1");
/// assert_eq!(near.selects, [Some("items[0].url".to_owned())]);
/// assert_eq!(near_object(json!({"tool": "hammer"}).as_object().unwrap(), &|_| false), None);
/// ```
pub fn near_object(
    object: &Map<String, Value>,
    declared: &impl Fn(&str) -> bool,
) -> Option<NearReference> {
    read_near(object, declared, false)
}

/// [`near_object`]; `is_certain`: only a reference can stand there, so any word is an id.
pub(super) fn read_near(
    object: &Map<String, Value>,
    declared: &impl Fn(&str) -> bool,
    is_certain: bool,
) -> Option<NearReference> {
    const MAX_MEMBERS: usize = 8;
    if object.len() > MAX_MEMBERS {
        return None;
    }
    let mut members = object.iter().filter(|(_, value)| !value.is_null());
    // `{"$call_1": "items[0]"}`
    if let (Some((key, Value::String(select))), None) = (members.next(), members.next())
        && let Some(near) = keyed(key, select, object)
    {
        return Some(near);
    }
    let (call_key, mut near) = call_of(object, is_certain)?;
    if declared(call_key) {
        return None;
    }
    // `{"_id": "1"}` is a record; `{"$id": "1"}` is not.
    let is_signed = has_sign(call_key.trim_matches('_'))
        || has_sign(call_key) && (near.is_distinctive() || is_call_key_as_it_is(call_key));
    let has_sigil = is_signed || object.keys().any(|key| super::is_sentinel(key));
    let is_meant = has_sigil || is_certain;
    let has_select = || {
        let mut keys = object.keys();
        keys.any(|key| key != call_key && meaning_of(key) == KeyMeaning::Select)
    };
    if !(is_meant || near.is_distinctive() || is_compound(&near.id) && has_select()) {
        return None;
    }
    // Without a sign or a selector it is a record that names a call: `{"call_id": "call_1", "comment": "good"}`.
    let is_lone = || object.len() == 1 && plain_key(call_key).contains("tool");
    if !is_meant && !has_select() && !is_lone() {
        return None;
    }
    let is_known = is_call_key(call_key, true);
    let mut is_selected = near.selects != [None];
    let mut is_unclear = false;
    for (key, value) in object
        .iter()
        .filter(|(key, value)| *key != call_key && !value.is_null())
    {
        if declared(key) {
            return None;
        }
        match (meaning_of(key), value) {
            (KeyMeaning::Select, Value::String(text)) if !is_selected => {
                near.selects = vec![Some(text.clone()).filter(|text| !text.trim().is_empty())];
                is_selected = true;
            }
            // The path in both.
            (KeyMeaning::Select, Value::String(text))
                if near.selects.contains(&Some(text.clone())) =>
            {
                near.selects = vec![Some(text.clone())];
            }
            (KeyMeaning::Default, _)
                if plain_key(key) == "default" && !value.is_array() && !value.is_object() =>
            {
                near.default = Some(value.clone());
            }
            (KeyMeaning::Select | KeyMeaning::Default, _) => is_unclear = true,
            (KeyMeaning::Nothing, _) => {}
            // The target of a list's entry, in a map.
            (KeyMeaning::Unknown, Value::String(_)) if is_certain && key == "to" => {}
            // The name of a tool beside the id of the call.
            (KeyMeaning::Unknown, Value::String(_))
                if is_call_key(key, true) || plain_key(key) == "name" => {}
            // The only other text can only be the selector.
            (KeyMeaning::Unknown, Value::String(text)) if is_meant && is_known && !is_selected => {
                near.selects = vec![Some(text.clone())];
                is_selected = true;
            }
            (KeyMeaning::Unknown, _) if is_meant && is_known => is_unclear = true,
            (KeyMeaning::Unknown, _) => return None,
        }
    }
    if is_unclear {
        near.selects.clear();
    }
    near.written = shortened(&written_of(object));
    near.has_sigil = has_sigil;
    Some(near)
}

/// A selector behind a key that is the id of a call with a sign: `{"$call_1": "items[0]"}`.
fn keyed(key: &str, select: &str, object: &Map<String, Value>) -> Option<NearReference> {
    let id = key.trim_matches(|sign: char| sign.is_ascii_punctuation());
    if word_of(id) != Some(id) || !is_distinctive(id) {
        return None;
    }
    let select = Some(select.to_owned()).filter(|select| !select.trim().is_empty());
    let mut near = NearReference::new(id, vec![select], &written_of(object));
    near.has_sigil = has_sign(key);
    Some(near)
}

/// The key that names a call, and what its text means. Where there are several, only one names a call beyond doubt.
fn call_of(object: &Map<String, Value>, is_certain: bool) -> Option<(&String, NearReference)> {
    let is_signed = is_certain
        || object
            .keys()
            .any(|key| super::is_sentinel(key) || meaning_of(key) == KeyMeaning::Select);
    let read = |known: bool| {
        let texts = object
            .iter()
            .filter_map(|(key, value)| Some((key, value.as_str()?)));
        let calls = texts.filter(move |(key, _)| {
            is_call_key(key, is_signed)
                || !known
                    && has_sign(key)
                    && (object.len() == 1 || meaning_of(key) == KeyMeaning::Unknown)
        });
        calls.filter_map(move |(key, text)| {
            let near = NearReference::from_entry(text)?;
            (known || near.is_distinctive()).then_some((key, near))
        })
    };
    let mut calls: Vec<_> = read(true).collect();
    if calls.is_empty() {
        calls = read(false).collect();
    }
    if calls.len() > 1 {
        calls.retain(|(_, near)| near.is_distinctive());
    }
    let call = calls.pop()?;
    calls.is_empty().then_some(call)
}

/// An object as it was written, without what is in its lists and objects.
fn written_of(object: &Map<String, Value>) -> String {
    let outside = |value: &Value| match value {
        Value::Array(_) | Value::Object(_) => Value::from("…"),
        scalar => scalar.clone(),
    };
    let members = object.iter();
    let members = members.map(|(key, value)| (key.clone(), outside(value)));
    Value::Object(members.collect()).to_string()
}

/// Whether a key may be one for the id of a call, or such an id. For most keys the first byte decides.
pub fn may_name_a_call(key: &[u8]) -> bool {
    let is_sign = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_punctuation);
    if is_sign(key.first()) || is_sign(key.last()) {
        return true;
    }
    let is_first = matches!(
        key.first().map(u8::to_ascii_lowercase),
        Some(b'c' | b'd' | b'f' | b'h' | b'i' | b'n' | b'o' | b'r' | b's' | b't' | b'u' | b'v')
    );
    let has_digit = || key.last().is_some_and(u8::is_ascii_digit) || key.len() > 16;
    std::str::from_utf8(key).is_ok_and(|key| {
        is_first && key.len() <= 16 && is_call_key(key, true) || has_digit() && is_distinctive(key)
    })
}

/// Whether a key is one for the id of a call; `is_signed`: where a sign at another key says so.
fn is_call_key(key: &str, is_signed: bool) -> bool {
    is_call_key_as_it_is(key)
        || (is_signed || has_sign(key))
            && (is_one_of(key, &SIGIL_CALL_KEYS) || is_slip(&plain_key(key), "tool"))
}

/// Whether a key is one for the id of a call, with a sign or without.
fn is_call_key_as_it_is(key: &str) -> bool {
    is_one_of(key, &CALL_KEYS)
}

fn is_one_of(key: &str, keys: &[&str]) -> bool {
    keys.iter().any(|known| plain_chars(key).eq(known.chars()))
}

#[cfg(test)]
mod tests;
