//! Keys that are near those of a reference, and what they probably mean.

use super::id::is_distinctive;
use crate::internal::is_internal;
use std::ops::Deref;

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
    } else {
        KeyMeaning::Unknown
    }
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

/// What a member of an object holds, as far as it matters to what the object may mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a text, nothing, or anything else")]
pub enum Held {
    /// A text.
    Text,
    /// `null`.
    Null,
    /// Another value.
    Other,
}

/// Whether an object may be meant as a reference, by its keys and what they hold. For most objects the lengths and
/// first letters of their keys decide.
///
/// ```
/// use crossfeed_wire::reference::{Held, may_be_near_object};
///
/// let keys = [("id", Held::Text), ("title", Held::Text)];
/// assert!(!may_be_near_object(keys.into_iter()));
/// let keys = [("id", Held::Text), ("path", Held::Text)];
/// assert!(may_be_near_object(keys.into_iter()));
/// ```
pub fn may_be_near_object<K>(members: impl Iterator<Item = (K, Held)>) -> bool
where
    K: Deref<Target: AsRef<[u8]>>,
{
    let (mut count, mut filled) = (0, 0);
    let (mut has_call, mut has_select, mut has_signs, mut is_keyed) = (false, false, false, false);
    for (key, held) in members {
        count += 1;
        if count > MAX_MEMBERS {
            return false;
        }
        let key = (*key).as_ref();
        let is_signed = [key.first(), key.last()]
            .into_iter()
            .any(|sign| sign.is_some_and(u8::is_ascii_punctuation));
        has_signs |= is_signed;
        has_select |= may_be_of(key, &SELECT_SHAPES, b"select");
        filled += usize::from(held != Held::Null);
        if held == Held::Text {
            has_call |= is_signed || key.len() <= 16 && may_be_of(key, &CALL_SHAPES, b"tool");
            let may_be_id = key.last().is_some_and(u8::is_ascii_digit) || key.len() > 16;
            is_keyed |= may_be_id && std::str::from_utf8(key).is_ok_and(is_distinctive);
        }
    }
    has_call && (has_signs || has_select || count == 1) || is_keyed && filled == 1
}

/// Whether a key may be one of a list of keys, by its first letter and length, or a slip of one of them.
fn may_be_of(key: &[u8], shapes: &Shapes, slip_of: &[u8]) -> bool {
    let Some(first) = key.first() else {
        return false;
    };
    let shapes = shapes[usize::from(first & 31)];
    let plain = key.iter().filter(|byte| byte.is_ascii_alphanumeric());
    let length = plain.count();
    if length < 64 && shapes >> length & 1 == 1 {
        return true;
    }
    // With signs or other letters in it, what stands side by side says nothing.
    let most = slip_of.len() + 1;
    if key.len() != length {
        return length <= most && key.len() >= slip_of.len() - 1;
    }
    (slip_of.len() - 1..=most).contains(&length) && shares_a_pair(key, slip_of)
}

/// Whether two letters of one word stand side by side in the other, too, in any case: so they do after a slip.
fn shares_a_pair(key: &[u8], word: &[u8]) -> bool {
    key.windows(2)
        .any(|pair| word.windows(2).any(|of| of.eq_ignore_ascii_case(pair)))
}

/// The lengths of words by their first letters, a bit each.
type Shapes = [u64; 32];

const CALL_SHAPES: Shapes = with_shapes(with_shapes([0; 32], &CALL_KEYS), &SIGIL_CALL_KEYS);
const SELECT_SHAPES: Shapes = with_shapes([0; 32], &SELECT_KEYS);

const fn with_shapes(mut shapes: Shapes, words: &[&str]) -> Shapes {
    let mut at = 0;
    while at < words.len() {
        let word = words[at].as_bytes();
        shapes[(word[0] & 31) as usize] |= 1 << word.len();
        at += 1;
    }
    shapes
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

/// Whether a key is one of these but for its case, signs and separators.
pub(super) fn is_one_of(key: &str, keys: &[&str]) -> bool {
    keys.iter().any(|known| plain_chars(key).eq(known.chars()))
}
