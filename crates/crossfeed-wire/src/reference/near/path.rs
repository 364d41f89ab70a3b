//! Paths into results, in the notations of models, and the selectors that they mean.

use super::{
    MAX_ID_BYTES, MAX_PATH_BYTES,
    id::word_of,
    keys::{KeyMeaning, meaning_of},
    scan::closing,
};
use serde_json::Value;
use std::borrow::Cow;

/// Words behind the id of a call for what it returned, which may not be keys of the result.
pub(super) const WRAPPERS: [&str; 17] = [
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
const FILTERS: [&str; 18] = [
    "default",
    "d",
    "from_json",
    "fromjson",
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

/// What stands before such an ending: `min.js`.
const INNER_ENDINGS: [&str; 8] = ["tar", "min", "d", "test", "spec", "bak", "old", "new"];

/// The most steps of a path that is written as a list.
const MAX_STEPS: usize = 32;

/// A step of a path.
pub(super) enum Step<'t> {
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
pub(super) struct Path<'t> {
    pub(super) steps: Vec<Step<'t>>,
}

impl<'t> Path<'t> {
    /// The path at the beginning of a text, and its length.
    pub(super) fn read(text: &'t str) -> (Self, usize) {
        let mut has_slashes = text.starts_with(['/', '#']);
        let mut steps = Vec::new();
        let mut at = 0;
        while let Some((step, length)) = Step::read(&text[at..], at == 0, has_slashes) {
            steps.push(step);
            at += length;
            // `body#/items/0`
            if text[at..].starts_with("#/") {
                has_slashes = true;
                at += 1;
            }
        }
        (Self { steps }, at)
    }

    /// Whether it is only the ending of the name of a file: `tar.gz`.
    pub(super) fn is_name_of_file(&self) -> bool {
        let is_ending = |step: &Step<'_>, endings: &[&str]| match step {
            Step::Key(key) => is_one_of(key, endings),
            _ => false,
        };
        match self.steps.as_slice() {
            [only] => is_ending(only, &FILE_ENDINGS),
            [first, last] => {
                is_ending(last, &FILE_ENDINGS)
                    && (is_ending(first, &FILE_ENDINGS) || is_ending(first, &INNER_ENDINGS))
            }
            _ => false,
        }
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
        // `items.[0]`, `items->[0]`
        let joints = [".", "?.", "->"].into_iter();
        let mut joints = joints.filter(|sign| text.starts_with(sign));
        if let Some(joint) = joints.find(|sign| text[sign.len()..].starts_with('[')) {
            let (step, length) = Self::read(&text[joint.len()..], false, has_slashes)?;
            return matches!(step, Self::Index(_) | Self::Each)
                .then_some((step, length + joint.len()));
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
                // `[items]`, `[:items]`
                key if word_of(key.trim_start_matches(':'))
                    == Some(key.trim_start_matches(':')) =>
                {
                    Self::Key(key.trim_start_matches(':'))
                }
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
        // `call_1."a/b"`
        if let Some(within) = rest.strip_prefix('"') {
            let mut quoted = within.bytes().take(MAX_ID_BYTES);
            let length = quoted.position(|byte| byte == b'"')?;
            let key = &within[..length];
            let is_plain = !key.is_empty() && !key.contains(['\\', '\n']);
            return is_plain.then_some((Self::Key(key), separator.len() + length + 2));
        }
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
        // `items->url`
        let end = end - usize::from(rest[..end].ends_with('-') && rest[end..].starts_with('>'));
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

fn is_one_of(word: &str, words: &[&str]) -> bool {
    words.iter().any(|it| it.eq_ignore_ascii_case(word))
}

/// Whether a selector is only the ending of the name of a file.
pub(super) fn is_ending(select: &str) -> bool {
    is_one_of(select, &FILE_ENDINGS)
}

/// A key as JMESPath spells it.
pub(super) fn quoted(key: &str) -> Cow<'_, str> {
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

/// The selector that a list of steps means: `["items", 0, "url"]`. A text alone is a selector.
pub(crate) fn steps(list: &[Value]) -> Option<String> {
    if let [Value::String(only)] = list {
        return Some(only.clone());
    }
    let step = |step: &'_ Value| match step {
        Value::Number(index) => Some(format!("[{}]", index.as_i64()?)),
        Value::String(each) if each == "*" || each == "[*]" => Some("[*]".to_owned()),
        Value::String(key) if !key.contains(['[', ']', '(', '|']) => {
            Some(format!(".{}", quoted(key)))
        }
        _ => None,
    };
    let path = list
        .iter()
        .take(MAX_STEPS + 1)
        .map(step)
        .collect::<Option<String>>();
    let path = path.filter(|path| list.len() <= MAX_STEPS && !path.is_empty())?;
    Some(path.strip_prefix('.').map_or(path.clone(), str::to_owned))
}

/// A path without the root of a JSONPath before it: `:$.items`.
pub(super) fn behind_root(rest: &str) -> &str {
    let root = rest.trim_start_matches([':', '#', '.', ' ', '/']);
    let path = root.strip_prefix('$');
    path.filter(|path| path.starts_with(['.', '[']))
        .unwrap_or(rest)
}

/// The text that is all that a function for selectors is given: `jmespath('items[0].url')`.
fn quoted_argument(call: &str) -> Option<&str> {
    let name = word_of(call)?;
    let argument = call[name.len()..]
        .strip_prefix('(')?
        .strip_suffix(')')?
        .trim();
    let quote = argument
        .chars()
        .next()
        .filter(|sign| matches!(sign, '"' | '\''))?;
    let text = argument[1..].strip_suffix(quote)?;
    let is_select = meaning_of(name) == KeyMeaning::Select && name != "get" || name == "json_query";
    (is_select && !text.contains(quote)).then_some(text)
}

/// The selectors that a text behind an id may mean; `None` if it is not a path.
pub(super) fn readings(rest: &str) -> Option<Vec<Option<String>>> {
    let rest = rest.trim();
    // `call_1:$.items`
    let rest = behind_root(rest);
    if rest.len() > MAX_PATH_BYTES {
        return None;
    }
    if rest.is_empty() {
        return Some(vec![None]);
    }
    // `| json`
    if let Some((path, filter)) = rest.rsplit_once('|')
        && !path.ends_with('|')
        && FILTERS.contains(&filter.split('(').next()?.trim())
    {
        let mut found = readings(path)?;
        let filter = filter.trim();
        let first = found.first()?.as_deref();
        let piped = first.map(|first| format!("{first} | {filter}"));
        // A field of that name comes first.
        let is_name = word_of(filter) == Some(filter);
        let at = if is_name && piped.is_some() {
            0
        } else {
            found.len()
        };
        found.insert(at, piped);
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
        let bare = bare.or_else(|| quoted_argument(piped));
        let is_quote = |sign: char| matches!(sign, '"' | '\'');
        let piped = bare.map_or(piped, |bare| bare.trim().trim_matches(is_quote));
        return Some(vec![Some(piped.to_owned())]);
    }
    // `.select("items[0].url")`
    if let Some(select) = rest.strip_prefix('.').and_then(quoted_argument) {
        return Some(vec![Some(select.to_owned())]);
    }
    // `.first().json.items`
    if let Some(path) = rest
        .strip_prefix(".first()")
        .filter(|path| path.starts_with('.'))
    {
        return readings(path);
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
