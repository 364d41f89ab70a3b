//! Ids of calls, as they stand in texts.

use super::{MAX_ID_BYTES, keys::is_one_of};

/// Words before the id of a call in templates of other systems, without separators: `{{steps.call_1.output}}`.
pub(super) const ROOTS: [&str; 63] = [
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
    "crossfeed",
    "mcp",
    "resource",
    "resources",
    "cache",
    "store",
    "artifact",
    "artifacts",
    "value",
    "values",
    "source",
    "from",
    "observation",
    "observations",
    "events",
    "messages",
];

/// Words for what gives a result: `ref(call_1, 'items')`.
pub(super) const GETTERS: [&str; 12] = [
    "get",
    "getresult",
    "gettoolresult",
    "read",
    "use",
    "select",
    "from",
    "fetch",
    "lookup",
    "load",
    "outputof",
    "resultof",
];

/// Whether a text is hardly anything but the id of a call: `call_1`, `toolu_01AbC`, not `search` or `1`.
pub(super) fn is_distinctive(id: &str) -> bool {
    let has = |is: fn(&u8) -> bool| id.as_bytes().iter().any(is);
    let begins = |word: &str| {
        id.get(..word.len())
            .is_some_and(|it| it.eq_ignore_ascii_case(word))
    };
    !is_date(id)
        && has(u8::is_ascii_digit)
        && has(u8::is_ascii_alphabetic)
        && (id.len() >= 8
            || id.get(1..).is_some_and(|rest| rest.contains(['_', '-']))
            || begins("call"))
}

/// Whether a word begins like a date: `2025-03-31T08`, of `2025-03-31T08:30:00Z`.
pub(super) fn is_date(word: &str) -> bool {
    let is_like = |(byte, like): (u8, u8)| match like {
        b'0' => byte.is_ascii_digit(),
        like => byte == like,
    };
    word.len() >= 10 && word.bytes().zip(*b"0000-00-00").all(is_like)
}

/// An id and the steps of a path that are joined to it: `call_1__items__0`.
pub(super) fn glued(word: &str) -> Option<(&str, &str)> {
    let (id, steps) = word.split_once("__")?;
    (is_distinctive(id) && !steps.is_empty()).then_some((id, steps))
}

/// Whether a text may be the name of a tool in place of an id: `search_issues`.
pub(super) fn is_compound(id: &str) -> bool {
    let is_word =
        |word: &str| word.len() > 1 && word.bytes().all(|byte| byte.is_ascii_alphanumeric());
    id.contains(['_', '-'])
        && id.starts_with(|sign: char| sign.is_ascii_alphabetic())
        && id.split(['_', '-']).all(is_word)
}

/// The id of a call at the beginning of a text, with words of other systems before it.
pub(super) struct Head<'t> {
    pub(super) id: &'t str,
    /// The end of what names the call.
    pub(super) end: usize,
}

impl<'t> Head<'t> {
    pub(super) fn read(text: &'t str) -> Option<Self> {
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
            let is_getter = |sign: &str| sign.starts_with('(') && is_one_of(word, &GETTERS);
            let is_root = separator.is_some_and(|sign| is_one_of(word, &ROOTS) || is_getter(sign));
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

/// Whether a byte may be one of an id in a text: a letter, a digit, `_` or `-`.
pub fn is_id_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

/// A word that may be an id, at the beginning of a text.
pub(super) fn word_of(text: &str) -> Option<&str> {
    let end = text
        .bytes()
        .take(MAX_ID_BYTES + 1)
        .take_while(|byte| is_id_byte(*byte))
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
