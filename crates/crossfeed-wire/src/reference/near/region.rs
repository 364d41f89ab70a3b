//! Expressions of other systems around the id of a call: `{{ length(call_1.items) }}`, `<% for x in call_1.items %>`.

use super::{
    MAX_ID_BYTES, MAX_PATH_BYTES, NearReference,
    id::{is_distinctive, is_id_byte, word_of},
    path::{Path, quoted, readings},
    whole::called,
};
use std::ops::Range;

/// The end of a template that opens at the beginning of a text, and what is within it. Line breaks may be.
pub(super) fn template(text: &str) -> Option<(usize, &str)> {
    const DELIMITERS: [(&str, &str); 9] = [
        ("<?", "?>"),
        ("{{{", "}}}"),
        ("{{", "}}"),
        ("{%", "%}"),
        ("${{", "}}"),
        ("${", "}"),
        ("$(", ")"),
        ("<%", "%>"),
        ("#{", "}"),
    ];
    let mut delimiters = DELIMITERS.iter();
    let (open, close) = delimiters.find(|(open, _)| text.starts_with(open))?;
    let behind = &text[open.len()..];
    let mut end = None;
    for (at, _) in behind.bytes().enumerate().take(MAX_PATH_BYTES) {
        let rest = &behind.as_bytes()[at..];
        if rest.starts_with(close.as_bytes()) {
            end = Some(at);
            break;
        }
        if rest.starts_with(open.as_bytes()) {
            return None;
        }
    }
    let end = end?;
    Some((open.len() + end + close.len(), &behind[..end]))
}

/// Words that begin a block of a template or a statement.
const KEYWORDS: [&str; 16] = [
    "for", "foreach", "if", "elif", "unless", "set", "each", "with", "assign", "range", "let",
    "const", "import", "include", "end", "return",
];

/// Words that only put the value there.
const OUTPUTS: [&str; 9] = [
    "print", "echo", "json", "tojson", "toJson", "raw", "get", "use", "value",
];

/// Functions that only make a text of a value.
const TEXTS: [&str; 5] = ["str", "string", "String", "repr", "to_string"];

/// What an expression of another system may mean that has the id of a call in it. It is unclear where it is more
/// than an expression around paths in one result.
pub(super) fn expression(inner: &str, written: &str) -> Option<NearReference> {
    let mut inner = inner.trim_matches(['-', '=', '~']).trim();
    let word = word_of(inner).unwrap_or_default();
    let output = inner[word.len()..].trim_start();
    if OUTPUTS.contains(&word) && output.len() + word.len() < inner.len() {
        inner = output;
    }
    // `str(call_1.x)`, `[call_1.x]`
    let function = inner[word_of(inner).unwrap_or_default().len()..].strip_prefix('(');
    let argument = function.and_then(|argument| argument.strip_suffix(')'));
    let is_output = argument.is_some_and(|it| !it.contains(['(', ',', ')'])) && {
        let name = word_of(inner).unwrap_or_default();
        name.is_empty() || OUTPUTS.contains(&name) || TEXTS.contains(&name)
    };
    let listed = inner
        .strip_prefix('[')
        .and_then(|inner| inner.strip_suffix(']'));
    let listed = listed.filter(|inner| word_of(inner).is_some_and(is_distinctive));
    inner = argument.filter(|_| is_output).or(listed).unwrap_or(inner);
    let mut named = Named::all(inner);
    let first = named.next()?;
    // Texts to compare with, and keys, are none.
    let others: Vec<_> = named.filter(|other| other.counts(inner, &first)).collect();
    let id = &inner[first.id.clone()];
    let rest = &inner[first.end..];
    let guess = readings(&rest[..Path::read(rest).1]);
    let guess = guess.and_then(|guess| guess.into_iter().next()?);
    let near = |selects| NearReference::new(id, selects, written);
    // `{{ index .call_1.items 0 "url" }}`
    if matches!(word, "index" | "lookup")
        && let Some(select) = indexed(rest)
    {
        return Some(near(vec![Some(select)]).guessing(guess));
    }
    let is_block = inner.starts_with(['#', '/', '^', '>', '!', '&'])
        || KEYWORDS.contains(&word)
        || inner.contains(';');
    let is_first = inner[..first.start].trim().is_empty();
    if !is_block && is_first && others.is_empty() {
        if let Some(near) = called(inner, written) {
            return Some(near);
        }
        if first.is_alone
            && let Some(selects) = readings(rest)
        {
            return Some(near(selects).guessing(guess));
        }
    }
    let is_one = |other: &Named| inner[other.id.clone()] == *id;
    if is_block || first.is_argument || !others.iter().all(is_one) {
        return Some(near(vec![guess]).unclear());
    }
    let mut select = String::with_capacity(inner.len());
    let mut end = 0;
    for named in std::iter::once(&first).chain(&others) {
        select.push_str(inner.get(end..named.start)?);
        let rest = &inner[named.end..];
        let path = rest.strip_prefix('.').or_else(|| rest.strip_prefix("?."));
        end = named.end;
        match path.filter(|path| !path.starts_with('[')) {
            Some(path) => end = inner.len() - path.len(),
            None => select.push('@'),
        }
    }
    select.push_str(inner.get(end..)?);
    Some(near(vec![Some(select)]).guessing(guess))
}

/// A path and further steps behind it, divided by blanks.
fn indexed(rest: &str) -> Option<String> {
    let (path, more) = rest.split_at(rest.find(' ')?);
    let mut select = readings(path)?.into_iter().next()??;
    for step in more.split_whitespace() {
        let key = step.trim_matches(['"', '\'']);
        match key.parse::<i64>() {
            Ok(index) => select.push_str(&format!("[{index}]")),
            Err(_) if word_of(key) == Some(key) && key.len() < step.len() => {
                select.push_str(&format!(".{}", quoted(key)));
            }
            Err(_) => return None,
        }
    }
    Some(select)
}

/// Whether the id of a call stands in an expression.
pub(super) fn holds_id(expression: &str) -> bool {
    Named::all(expression).next().is_some()
}

/// Whether another call has a path in an expression behind a path.
pub(super) fn names_a_call(behind: &str) -> bool {
    let nothing = Named {
        id: 0..0,
        start: 0,
        end: 0,
        is_argument: false,
        is_quoted: false,
        is_alone: true,
    };
    let (_, path) = Path::read(behind);
    let behind = &behind[path..];
    Named::all(behind).any(|named| named.counts(behind, &nothing))
}

/// The id of a call in an expression.
struct Named {
    id: Range<usize>,
    /// The beginning of what names the call: `$steps.call_1`.
    start: usize,
    end: usize,
    /// Whether it is an argument of a function, in quotes: `ref('call_1', 2)`.
    is_argument: bool,
    is_quoted: bool,
    /// Whether it has no other arguments beside it.
    is_alone: bool,
}

impl Named {
    /// The ids in an expression that are hardly anything else, and are not keys of something else.
    fn all(inner: &str) -> impl Iterator<Item = Self> + '_ {
        let mut at = 0;
        std::iter::from_fn(move || {
            loop {
                let rest = inner.get(at..)?;
                let start = at + rest.bytes().position(is_id_byte)?;
                let length = inner[start..]
                    .bytes()
                    .take_while(|byte| is_id_byte(*byte))
                    .count();
                at = start + length;
                let word = &inner[start..at];
                let word = word_of(&inner[start..]).filter(|it| word.starts_with(it));
                if let Some(word) = word.filter(|word| is_distinctive(word)) {
                    return Some(Self::around(inner, start..start + word.len()));
                }
            }
        })
    }

    /// Whether another id stands behind the first, rather than a key or a text that looks like one.
    fn counts(&self, inner: &str, first: &Self) -> bool {
        let is_path = !self.is_quoted && inner[self.end..].starts_with(['.', '[', '-', '?']);
        let is_same = inner[self.id.clone()] == inner[first.id.clone()];
        self.start >= first.end && (is_path || is_same && !self.is_quoted)
    }

    fn around(inner: &str, id: Range<usize>) -> Self {
        let (before, behind) = (&inner[..id.start], &inner[id.end..]);
        let quote = before.chars().next_back();
        let quote = quote.filter(|sign| matches!(sign, '"' | '\'') && behind.starts_with(*sign));
        let Some(quote) = quote else {
            let start = chain(before);
            return Self {
                start,
                end: id.end,
                id,
                is_argument: false,
                is_quoted: false,
                is_alone: true,
            };
        };
        let outer = &before[..before.len() - 1];
        let rest = &behind[quote.len_utf8()..];
        let end = id.end + quote.len_utf8();
        if let (Some(outer), true) = (outer.strip_suffix('['), rest.starts_with(']')) {
            return Self {
                start: chain(outer),
                end: end + 1,
                id,
                is_argument: false,
                is_quoted: true,
                is_alone: true,
            };
        }
        // The function, and its other arguments.
        let open = outer.rfind('(');
        let close = rest.find(')');
        match open.zip(close) {
            Some((open, close)) => Self {
                start: chain(&outer[..open]),
                end: end + close + 1,
                id,
                is_argument: true,
                is_quoted: true,
                is_alone: rest[..close].trim().is_empty(),
            },
            None => Self {
                start: outer.len(),
                end,
                id,
                is_argument: false,
                is_quoted: true,
                is_alone: true,
            },
        }
    }
}

/// The beginning of the words, with dots and signs between them, at the end of a text: `$.steps.`.
fn chain(before: &str) -> usize {
    let bytes = before.bytes().rev().take(MAX_ID_BYTES);
    let is_sign = |byte: u8| matches!(byte, b'.' | b'$' | b'@' | b'#');
    let length = bytes.take_while(|byte| is_id_byte(*byte) || is_sign(*byte));
    before.len() - length.count()
}
