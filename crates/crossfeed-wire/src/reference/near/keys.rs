//! Keys that are near those of a reference, and what they probably mean.

use crate::internal::is_internal;

/// The probable meaning of a key beside the id of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyMeaning {
    /// The selector: `path`, `$selct`.
    Select,
    /// Another key of a reference: `default`, `artifact`.
    Default,
    /// What no reference has, and another notation does: `$limit`, `join`.
    Option,
    /// A remark, or a field of our own.
    Nothing,
    Unknown,
}

const SELECT_KEYS: [&str; 43] = [
    "fieldpath",
    "fieldname",
    "keypath",
    "valuepath",
    "datapath",
    "resultpath",
    "outputpath",
    "jqfilter",
    "jmespathquery",
    "xpath",
    "transform",
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

/// The keys of edits.
pub(crate) const EDIT_WORDS: [&str; 5] = ["patch", "merge", "edit", "edits", "digest"];

/// Keys that other notations have for edits.
const EDIT_LIKE_KEYS: [&str; 29] = [
    "change",
    "changes",
    "delete",
    "diff",
    "editing",
    "find",
    "insert",
    "modify",
    "new",
    "newstr",
    "newstring",
    "newtext",
    "old",
    "oldstr",
    "oldstring",
    "oldtext",
    "operations",
    "ops",
    "overwrite",
    "remove",
    "replace",
    "replacement",
    "replacements",
    "replacewith",
    "search",
    "set",
    "substitute",
    "update",
    "updates",
];

/// What would change the value.
const OPTION_KEYS: [&str; 24] = [
    "append",
    "as",
    "concat",
    "count",
    "first",
    "flatten",
    "format",
    "head",
    "join",
    "last",
    "length",
    "limit",
    "map",
    "offset",
    "orderby",
    "prefix",
    "separator",
    "skip",
    "slice",
    "sort",
    "sortby",
    "suffix",
    "take",
    "where",
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
const CALL_KEYS: [&str; 33] = [
    "tooloutput",
    "toolresponse",
    "callresult",
    "resultfrom",
    "outputfrom",
    "calloutput",
    "previouscall",
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

fn plain_chars(key: &str) -> impl Iterator<Item = char> + '_ {
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
    } else if OPTION_KEYS.contains(&plain.as_str())
        || EDIT_WORDS.contains(&plain.as_str())
        || EDIT_LIKE_KEYS.contains(&plain.as_str())
        || has_sign(key) && !names_call(&plain)
    {
        KeyMeaning::Option
    } else {
        KeyMeaning::Unknown
    }
}

/// Whether a plain key is one for the id of a call, or for the name of its tool.
fn names_call(plain: &str) -> bool {
    CALL_KEYS.contains(&plain) || SIGIL_CALL_KEYS.contains(&plain) || plain == "name"
}

/// Whether a key beside the id of a call is probably that of the selector: `path`, `$selct`.
pub fn is_near_select(key: &str) -> bool {
    meaning_of(key) == KeyMeaning::Select
}

/// Whether a key beside the id of a call probably holds an edit: `old`, `$edits`, `replacements`.
pub fn is_near_edit(key: &str) -> bool {
    let plain = plain_key(key);
    let is_word = EDIT_WORDS.contains(&plain.as_str()) && plain != "digest";
    is_word || EDIT_LIKE_KEYS.contains(&plain.as_str())
}

/// Whether two words differ by one character, or by two that are swapped.
fn is_slip(written: &str, meant: &str) -> bool {
    let common = |both: &mut dyn Iterator<Item = (char, char)>| -> usize {
        let common = both.take_while(|(a, b)| a == b);
        common.map(|(sign, _)| sign.len_utf8()).sum()
    };
    let before = common(&mut written.chars().zip(meant.chars()));
    let (a, b) = (&written[before..], &meant[before..]);
    let behind = common(&mut a.chars().rev().zip(b.chars().rev()));
    let mut a = a[..a.len() - behind].chars();
    let mut b = b[..b.len() - behind].chars();
    match (
        [a.next(), a.next(), a.next()],
        [b.next(), b.next(), b.next()],
    ) {
        ([Some(_), None, _], [Some(_), None, _])
        | ([None, ..], [Some(_), None, _])
        | ([Some(_), None, _], [None, ..]) => true,
        ([a, Some(b), None], [c, Some(d), None]) => a == Some(d) && c == Some(b),
        _ => false,
    }
}

/// The most members of an object that may be meant as a reference.
pub(super) const MAX_MEMBERS: usize = 8;

/// Whether a key is one for the id of a call; `is_signed`: where a sign at another key says so.
pub(crate) fn is_call_key(key: &str, is_signed: bool) -> bool {
    is_call_key_as_it_is(key)
        || (is_signed || has_sign(key))
            && (is_one_of(key, &SIGIL_CALL_KEYS) || is_slip(&plain_key(key), "tool"))
}

/// Whether a key is one for the id of a call, with a sign or without.
pub(super) fn is_call_key_as_it_is(key: &str) -> bool {
    is_one_of(key, &CALL_KEYS)
}

/// Whether a key is one of these but for its case, signs and separators.
pub(crate) fn is_one_of(key: &str, keys: &[&str]) -> bool {
    let Some(first) = plain_chars(key).next() else {
        return false;
    };
    let begins = |known: &&&str| known.bytes().next().map(char::from) == Some(first);
    let mut begun = keys.iter().filter(begins);
    begun.any(|known| plain_chars(key).eq(known.chars()))
}
