//! Keys that are near those of a reference, and what they probably mean.

use super::id::is_distinctive;
use crate::internal::is_internal;

/// The probable meaning of a key beside the id of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyMeaning {
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
pub(super) fn has_sign(key: &str) -> bool {
    let is_sign = |byte: &u8| byte.is_ascii_punctuation();
    key.len() > 1
        && (key.as_bytes().first().is_some_and(is_sign)
            || key.as_bytes().last().is_some_and(is_sign))
}

/// The beginning of a key in lower case, without sigils and separators.
pub(super) fn plain_key(key: &str) -> String {
    plain_chars(key).take(32).collect()
}

pub(super) fn plain_chars(key: &str) -> impl Iterator<Item = char> + '_ {
    let plain = key
        .chars()
        .filter(|sign| !sign.is_ascii_punctuation() && *sign != ' ');
    plain.map(|sign| sign.to_ascii_lowercase())
}

/// What `key` beside the id of a call probably means.
pub(crate) fn meaning_of(key: &str) -> KeyMeaning {
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
pub(super) fn is_call_key(key: &str, is_signed: bool) -> bool {
    is_call_key_as_it_is(key)
        || (is_signed || has_sign(key))
            && (is_one_of(key, &SIGIL_CALL_KEYS) || is_slip(&plain_key(key), "tool"))
}

/// Whether a key is one for the id of a call, with a sign or without.
pub(super) fn is_call_key_as_it_is(key: &str) -> bool {
    is_one_of(key, &CALL_KEYS)
}

fn is_one_of(key: &str, keys: &[&str]) -> bool {
    keys.iter().any(|known| plain_chars(key).eq(known.chars()))
}
