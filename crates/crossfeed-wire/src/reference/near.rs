//! What models write in place of references: `{{call_1.items[0].url}}`, `{"$call": "call_1", "path": "url"}`.
//!
//! Reads what such a text or object would mean. It counts only where the id in it is one of a call of the session,
//! which the engine asks for; otherwise it is data.

use super::{Malformed, Reading, Reference, Repair, read_object, shortened};
use crate::{CallId, internal::is_internal};
use serde_json::{Map, Value, json};
use std::{borrow::Cow, ops::Range};

/// The most bytes of a path behind an id.
const MAX_PATH_BYTES: usize = 1000;
/// The most bytes of an id, as a call id has.
const MAX_ID_BYTES: usize = 256;
/// The most bytes of a text that is a reference as a whole.
const MAX_WHOLE_BYTES: usize = 4000;

/// Words before the id of a call in templates of other systems: `{{steps.call_1.output}}`.
const ROOTS: [&str; 22] = [
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
    "tool_results",
    "tool_result",
    "tool_calls",
    "tool_call",
    "toolresults",
    "toolcalls",
    "nodes",
    "tasks",
    "ref",
    "refs",
];
/// Words behind the id of a call for what it returned, which may not be keys of the result.
const WRAPPERS: [&str; 10] = [
    "output", "outputs", "result", "results", "response", "value", "data", "content", "json",
    "body",
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

const SELECT_KEYS: [&str; 22] = [
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
const REMARK_KEYS: [&str; 8] = [
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
const CALL_KEYS: [&str; 11] = [
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
];
/// The same, only with a sigil.
const SIGIL_CALL_KEYS: [&str; 6] = ["id", "source", "toolid", "output", "use", "step"];

/// The beginning of a key in lower case, without sigils and separators.
fn plain_key(key: &str) -> String {
    plain_chars(key).take(32).collect()
}

fn plain_chars(key: &str) -> impl Iterator<Item = char> + '_ {
    let plain = key
        .chars()
        .filter(|sign| !matches!(sign, '$' | '_' | '@' | '-' | ' ' | '.'));
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
            repair: Some(Repair {
                written: self.written,
                others: selects.collect(),
            }),
        })
    }

    /// What a text means where only a reference can stand: an id, and a path in the result.
    pub fn from_entry(text: &str) -> Option<Self> {
        let text = text.trim();
        if text.len() > MAX_WHOLE_BYTES {
            return None;
        }
        whole_text(text).or_else(|| {
            let head = Head::read(text)?;
            let selects = readings(&text[head.end..])?;
            Some(Self::new(head.id, selects, text))
        })
    }

    /// Whether the id is hardly anything but one.
    pub(super) fn is_distinctive(&self) -> bool {
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
/// assert_eq!(near_text("See {{item.url}} and call_1.items.", 10), None);
/// ```
pub fn near_text(text: &str, most: usize) -> Option<NearText> {
    let trimmed = text.trim();
    let start = text.len() - text.trim_start().len();
    if trimmed.len() <= MAX_WHOLE_BYTES
        && let Some(whole) = whole_text(trimmed)
    {
        return Some(NearText {
            parts: vec![(start..start + trimmed.len(), whole)],
            has_more: false,
        });
    }
    let mut found = NearText {
        parts: Vec::new(),
        has_more: false,
    };
    let mut end = 0;
    let mut has_literal = None;
    let openings = text.bytes().enumerate();
    for (at, _) in openings.filter(|(_, byte)| matches!(byte, b'{' | b'$' | b'<')) {
        if at < end {
            continue;
        }
        let Some(part) = Part::read(text, at).filter(|part| part.is_distinct) else {
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
    (!found.parts.is_empty()).then_some(found)
}

/// Whether [`near_text`] finds a part that begins at this byte, which is `{`, `$` or `<`.
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
    match text.bytes().next()? {
        b'{' | b'$' | b'<' => {
            let part = Part::read(text, 0).filter(|part| part.place.end == text.len());
            if let Some(part) = part {
                return Some(part.near);
            }
        }
        b'[' | b'(' | b'%' | b'@' | b'`' | b'\'' | b'"' | b'#' | b'=' => {}
        first if first.is_ascii_alphanumeric() || first == b'_' => return bare(text, text),
        _ => return None,
    }
    if let Some(near) = serialised(text) {
        return Some(near);
    }
    const AROUND: [(&str, &str); 9] = [
        ("[[", "]]"),
        ("(", ")"),
        ("%", "%"),
        ("`", "`"),
        ("'", "'"),
        ("\"", "\""),
        ("#{", "}"),
        ("@", ""),
        ("=", ""),
    ];
    AROUND.iter().find_map(|(open, close)| {
        let inner = text.strip_prefix(open)?.strip_suffix(close)?;
        bare(inner.trim(), text)
    })
}

/// An id with a path, without delimiters.
fn bare(text: &str, written: &str) -> Option<NearReference> {
    let head = Head::read(text).filter(|head| is_distinctive(head.id))?;
    let rest = &text[head.end..];
    if !rest.starts_with(['.', '[', '#']) || rest.len() > MAX_PATH_BYTES || !is_one_expression(rest)
    {
        return None;
    }
    let (path, _) = Path::read(rest);
    let ending = match path.steps.as_slice() {
        [Step::Key(only)] => Some(only.to_ascii_lowercase()),
        [] if rest.starts_with('.') => return None,
        _ => None,
    };
    if ending.is_some_and(|ending| FILE_ENDINGS.contains(&ending.as_str())) {
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
    has(u8::is_ascii_digit)
        && has(u8::is_ascii_alphabetic)
        && (id.len() >= 8 || id.get(1..).is_some_and(|rest| rest.contains(['_', '-'])))
}

/// The id of a call at the beginning of a text, with words of other systems before it.
struct Head<'t> {
    id: &'t str,
    /// The end of what names the call.
    end: usize,
    has_root: bool,
}

impl<'t> Head<'t> {
    fn read(text: &'t str) -> Option<Self> {
        let mut at = 0;
        let mut has_root = false;
        // `$.tool_results.call_1`
        for _ in 0..3 {
            let rest = &text[at..];
            let word = word_of(rest)?;
            let behind = &rest[word.len()..];
            let is_root = ROOTS.iter().any(|root| root.eq_ignore_ascii_case(word));
            let separator = ["[\"", "['", "(\"", "('", "(", "[", ".", ":", "/"];
            let separator = separator.into_iter().find(|sign| behind.starts_with(sign));
            let (true, Some(separator)) = (is_root, separator) else {
                return Some(Self {
                    id: word,
                    end: at + word.len(),
                    has_root,
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
                            has_root,
                        });
                    }
                    (at, has_root) = (inner, true);
                    continue;
                }
            };
            let id = word_of(next)?;
            return next[id.len()..].starts_with(close).then_some(Self {
                id,
                end: inner + id.len() + close.len(),
                has_root: true,
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

/// A part of a text that is in delimiters.
struct Part {
    place: Range<usize>,
    near: NearReference,
    /// Whether it counts amid text.
    is_distinct: bool,
    /// Whether it stands in JSON that was written as a text, where a literal may be around it.
    is_in_json: bool,
}

impl Part {
    /// The part that begins at this byte.
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
        let head = inner.trim_start();
        let head = head.strip_prefix(['$', '@', '=', '#']).unwrap_or(head);
        let start = rest.len() - head.len();
        let named = Head::read(head)?;
        let is_distinct = is_distinctive(named.id);
        let is_clear = matches!(*open, "{{" | "${" | "${{" | "{{{");
        let is_number = named.id.bytes().all(|byte| byte.is_ascii_digit());
        if !is_distinct && (!is_clear || is_number) {
            return None;
        }
        let behind = &head[named.end..];
        let length = closing(behind, close)?;
        let path = behind[..length].trim();
        if path.is_empty() && (!is_clear || !is_distinct && !named.has_root) {
            return None;
        }
        // Code compares: `a <b_1.x && c > d`.
        if !is_clear && (inner.len() != head.len() || !is_one_expression(path)) {
            return None;
        }
        let selects = readings(path)?;
        let end = at + start + named.end + length + close.len();
        Some(Self {
            near: NearReference::new(named.id, selects, &text[at..end]),
            place: at..end,
            is_distinct,
            is_in_json: false,
        })
    }

    /// `{"$tool": "call_1"}`, amid text.
    fn serialised(text: &str, at: usize) -> Option<Self> {
        let inner = text.get(at + 1..)?.trim_start();
        let inner = inner.strip_prefix(['"', '\'', '“']).unwrap_or(inner);
        if !["$tool", "_tool"].iter().any(|key| inner.starts_with(key)) {
            return None;
        }
        let end = at + 2 + closing(text.get(at + 1..)?, "}")?;
        let mut near = serialised(&text[at..end])?;
        // In JSON that was written as a text, a value would have to be JSON.
        let is_in_json = text[..at].trim_end().ends_with([':', ',', '[']);
        if is_in_json {
            near.selects.clear();
        }
        Some(Self {
            place: at..end,
            near,
            is_distinct: true,
            is_in_json,
        })
    }

    /// `$call_1.items[0].url`
    fn with_dollar(text: &str, at: usize) -> Option<Self> {
        let rest = text.get(at..)?.strip_prefix('$')?;
        let before = text[..at].chars().next_back();
        if before.is_some_and(|sign| sign.is_alphanumeric() || sign == '$' || sign == '\\') {
            return None;
        }
        let named = Head::read(rest).filter(|head| is_distinctive(head.id))?;
        let behind = &rest[named.end..];
        let (path, length) = Path::read(behind);
        if path.steps.is_empty() {
            return None;
        }
        let end = at + 1 + named.end + length;
        let selects = readings(&behind[..length])?;
        Some(Self {
            near: NearReference::new(named.id, selects, &text[at..end]),
            place: at..end,
            is_distinct: true,
            is_in_json: false,
        })
    }
}

/// The bytes before the closing delimiter, in one line.
fn closing(text: &str, close: &str) -> Option<usize> {
    let mut scan = Scan::default();
    for (at, byte) in text.bytes().enumerate().take(MAX_PATH_BYTES) {
        if byte == b'\n' {
            return None;
        }
        if !scan.is_inside() && text.as_bytes()[at..].starts_with(close.as_bytes()) {
            // `call_1->items` in angle brackets
            let is_arrow = close == ">" && text.as_bytes()[..at].ends_with(b"-");
            if !is_arrow {
                return Some(at);
            }
        }
        scan.take(byte);
    }
    None
}

/// A step of a path.
enum Step {
    Key(String),
    Index(i64),
    /// All items.
    Each,
}

/// The beginning of an expression that is a path, in one of several notations.
struct Path {
    steps: Vec<Step>,
}

impl Path {
    /// The path at the beginning of a text, and its length.
    fn read(text: &str) -> (Self, usize) {
        let mut steps = Vec::new();
        let mut at = 0;
        while let Some((step, length)) = Step::read(&text[at..]) {
            steps.push(step);
            at += length;
        }
        (Self { steps }, at)
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
            }
        }
        text
    }
}

impl Step {
    fn read(text: &str) -> Option<(Self, usize)> {
        if let Some(inner) = text.strip_prefix('[') {
            let quote = inner.chars().next()?;
            if quote == '"' || quote == '\'' {
                let key = inner[1..].split_once(quote)?.0;
                let is_plain = !key.contains('\\') && inner[key.len() + 2..].starts_with(']');
                return is_plain.then(|| (Self::Key(key.to_owned()), key.len() + 4));
            }
            let inner = inner.get(..inner.len().min(12).min(inner.find(']')? + 1))?;
            let index = inner.strip_suffix(']')?.trim();
            let step = match index {
                "*" => Self::Each,
                index => Self::Index(index.parse().ok()?),
            };
            return Some((step, inner.len() + 1));
        }
        let separators = ["?.", "->", "::", ".", "/", "#/", "#", ":"];
        let separator = separators.into_iter().find(|sign| text.starts_with(sign))?;
        let rest = &text[separator.len()..];
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
            Err(_) => Self::Key(word.to_owned()),
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

/// The selectors that a text behind an id may mean; `None` if it is not a path.
fn readings(rest: &str) -> Option<Vec<Option<String>>> {
    let rest = rest.trim();
    if rest.is_empty() {
        return Some(vec![None]);
    }
    if let Some(piped) = rest.strip_prefix('|') {
        return Some(vec![Some(piped.trim().to_owned())]);
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
    if let Some(Step::Key(first)) = path.steps.first()
        && WRAPPERS.contains(&first.to_ascii_lowercase().as_str())
    {
        readings.push(reading(1));
    }
    // Nothing that can be read, such as `[`.
    (readings[0].is_some()).then_some(readings)
}

/// What an object may mean as a reference; `None` if it is data. `declared` is as for [`read_object`].
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
    let has_sigil = |key: &str| key.starts_with(['$', '_']);
    // `{"$call_1": "items[0]"}`
    if let (Some((key, Value::String(select))), None) = (members.next(), members.next())
        && has_sigil(key)
        && word_of(&key[1..]).is_some_and(|id| id.len() + 1 == key.len() && is_distinctive(id))
    {
        let written = written_of(object);
        let selects = vec![Some(select.clone()).filter(|select| !select.trim().is_empty())];
        let mut near = NearReference::new(&key[1..], selects, &written);
        near.has_sigil = true;
        return Some(near);
    }
    let mut calls = object
        .iter()
        .filter(|(key, value)| value.is_string() && is_call_key(key));
    let (call_key, id) = calls.next()?;
    if calls.next().is_some() || declared(call_key) {
        return None;
    }
    let head = Head::read(id.as_str()?)?;
    let has_sigil = has_sigil(call_key);
    let is_meant = has_sigil || is_certain;
    if !is_meant && !is_distinctive(head.id) {
        return None;
    }
    let behind = &id.as_str()?[head.end..];
    let mut selects = readings(behind)?;
    let mut default = None;
    let mut is_selected = !behind.is_empty();
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
                selects = vec![Some(text.clone()).filter(|text| !text.trim().is_empty())];
                is_selected = true;
            }
            (KeyMeaning::Default, _)
                if plain_key(key) == "default" && !value.is_array() && !value.is_object() =>
            {
                default = Some(value.clone());
            }
            (KeyMeaning::Select | KeyMeaning::Default, _) => is_unclear = true,
            (KeyMeaning::Nothing, _) => {}
            (KeyMeaning::Unknown, _) if is_meant => is_unclear = true,
            (KeyMeaning::Unknown, _) => return None,
        }
    }
    if is_unclear {
        selects.clear();
    }
    let written = written_of(object);
    let mut near = NearReference::new(head.id, selects, &written);
    near.default = default;
    near.has_sigil = has_sigil;
    Some(near)
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

/// Whether a key may be one for the id of a call. For most keys the first byte decides.
pub fn may_name_a_call(key: &[u8]) -> bool {
    match key.first() {
        Some(b'$' | b'_') => true,
        Some(b'c' | b'C' | b'f' | b'F' | b'r' | b'R' | b't' | b'T') => {
            key.len() <= 16 && std::str::from_utf8(key).is_ok_and(is_call_key)
        }
        _ => false,
    }
}

/// Whether a key is one for the id of a call.
fn is_call_key(key: &str) -> bool {
    let is_key = |keys: &[&str]| keys.iter().any(|known| plain_chars(key).eq(known.chars()));
    is_key(&CALL_KEYS) || key.starts_with(['$', '_']) && is_key(&SIGIL_CALL_KEYS)
}

/// An object that was written as a text, as a reference or near one.
fn near_or_exact(object: &Map<String, Value>) -> Option<NearReference> {
    match read_object(object, &|_| false) {
        Ok(Reading::Reference(reference)) => {
            let mut near =
                NearReference::new(reference.call_id.as_str(), vec![reference.select], "");
            near.default = reference.default;
            Some(near)
        }
        Err(Malformed::UnknownKey { .. }) => {
            let tool = ["$tool", "_tool"]
                .iter()
                .find_map(|key| object.get(*key)?.as_str())?;
            Some(NearReference::new(tool, Vec::new(), ""))
        }
        Ok(Reading::Data) | Err(Malformed::NoTool) => near_object(object, &|_| false),
        _ => None,
    }
}

/// A reference that was written as a text: as JSON, or as Python or JavaScript write it, in a fence or quotes or not. Of
/// a list of references the meaning is unclear.
fn serialised(written: &str) -> Option<NearReference> {
    let text = fenced(written);
    let mut near = if text.starts_with('[') && text.contains("tool\"") {
        let items: Vec<Map<String, Value>> = serde_json::from_str(text).ok()?;
        let mut near = items.iter().find_map(near_or_exact)?;
        near.selects.clear();
        near
    } else if text.starts_with('"') {
        serialised(&serde_json::from_str::<String>(text).ok()?)?
    } else {
        near_or_exact(&loose_object(text)?)?
    };
    near.written = shortened(written);
    Some(near)
}

/// A flat object, as JSON, Python or JavaScript write it.
fn loose_object(text: &str) -> Option<Map<String, Value>> {
    if !(text.starts_with('{') && text.ends_with('}') && text.len() <= MAX_PATH_BYTES) {
        return None;
    }
    if let Ok(json) = serde_json::from_str(text) {
        return Some(json).filter(|object: &Map<String, Value>| !object.is_empty());
    }
    let mut rest = text.strip_prefix('{')?.strip_suffix('}')?.trim();
    let mut object = Map::new();
    while !rest.is_empty() {
        let (key, behind) = loose_word(rest)?;
        let (value, behind) =
            loose_word(behind.trim_start().strip_prefix([':', '='])?.trim_start())?;
        let value = match value.as_str() {
            "None" | "null" | "undefined" => Value::Null,
            _ => json!(value),
        };
        object.insert(key, value);
        let behind = behind.trim_start();
        rest = match behind.strip_prefix(',') {
            Some(next) => next.trim_start(),
            None if behind.is_empty() => behind,
            None => return None,
        };
    }
    Some(object).filter(|object| !object.is_empty())
}

/// A text without the fence around it: ` ```json … ``` `.
fn fenced(text: &str) -> &str {
    let inner = text
        .strip_prefix("```")
        .and_then(|text| text.strip_suffix("```"));
    let Some(inner) = inner else { return text };
    let inner = inner.trim_start_matches(|sign: char| sign.is_ascii_alphanumeric());
    inner.trim()
}

/// A word or quoted text, and what is behind it.
fn loose_word(text: &str) -> Option<(String, &str)> {
    const QUOTES: [(char, char); 4] = [('"', '"'), ('\'', '\''), ('“', '”'), ('‘', '’')];
    let first = text.chars().next()?;
    if let Some((_, close)) = QUOTES.iter().find(|(open, _)| *open == first) {
        let inner = &text[first.len_utf8()..];
        let mut word = String::new();
        let mut signs = inner.char_indices();
        while let Some((at, sign)) = signs.next() {
            if sign == '\\' {
                word.push(signs.next()?.1);
            } else if sign == *close {
                return Some((word, &inner[at + sign.len_utf8()..]));
            } else {
                word.push(sign);
            }
        }
        return None;
    }
    let end = text.find([',', ':', '}', '\n']).unwrap_or(text.len());
    let word = text[..end].trim();
    (!word.is_empty()).then(|| (word.to_owned(), &text[end..]))
}

#[cfg(test)]
mod tests;
