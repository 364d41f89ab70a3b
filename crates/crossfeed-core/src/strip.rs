//! Stripping: a result without the fields that the engine added to it.

use crossfeed_json::{Cursor, Document, is_number};
use crossfeed_wire::internal::is_internal;
use std::borrow::Cow;

/// Which top-level keys are stripped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum StripPolicy {
    /// The named internal fields. Every other key is domain data.
    #[default]
    Internal,
    /// Every key that begins with `_`: for places where law and order outweigh completeness.
    AllUnderscore,
}

impl StripPolicy {
    pub(crate) fn strips(self, key: &str) -> bool {
        match self {
            Self::Internal => is_internal(key),
            Self::AllUnderscore => key.starts_with('_'),
        }
    }

    /// Whether a member of an object goes. Most are told by the first byte of their key: wide objects
    /// are walked over for this.
    pub(crate) fn strips_member(self, member: Cursor<'_>) -> bool {
        let key = member.key();
        matches!(key.raw().first(), Some(b'_' | b'\\')) && self.strips(&key.text())
    }

    /// Whether what goes is data of the result's own.
    pub(crate) fn strips_data(self, member: Cursor<'_>) -> bool {
        self.strips_member(member) && !is_internal(&member.key().text())
    }
}

/// The bytes of `result` without the top-level members that the policy strips; every other byte as
/// it was. `None` when there is nothing to strip, or the result is no JSON object.
///
/// ```
/// use crossfeed_core::{StripPolicy, strip};
/// use crossfeed_json::Document;
///
/// let result = Document::new(r#"{ "_toolCallId": "c1", "_id": 7 }"#);
/// assert_eq!(strip(&result, StripPolicy::Internal).as_deref(), Some(&br#"{ "_id": 7 }"#[..]));
/// assert_eq!(strip(&Document::new("[1]"), StripPolicy::Internal), None);
/// ```
#[must_use]
pub fn strip(result: &Document, policy: StripPolicy) -> Option<Vec<u8>> {
    let raw = result.raw();
    // Every occurrence of a key goes, so members are taken as they stand, duplicates included.
    let (open, members) = members(raw, policy)?;
    if !members.iter().any(|member| member.goes) {
        return None;
    }
    let mut out = Vec::with_capacity(raw.len());
    out.extend_from_slice(&raw[..open]);
    let mut kept = 0;
    let mut from = open;
    for member in &members {
        // From behind the bracket or comma before the member to the end of its value.
        let until = member.end;
        if !member.goes {
            if kept > 0 {
                out.push(b',');
            }
            out.extend_from_slice(&raw[from..until]);
            kept += 1;
        }
        from = blanks(raw, until) + 1;
    }
    let end = members.last().map_or(open, |member| member.end);
    out.extend_from_slice(&raw[end..]);
    Some(out)
}

/// A member of the whole object.
struct Member {
    goes: bool,
    /// Where its value ends.
    end: usize,
}

/// What may stand next.
enum Next {
    Key,
    KeyOrEnd,
    Value,
    ValueOrEnd,
    CommaOrEnd,
}

/// Where the whole object's members begin, and the members; `None` where the bytes are no JSON
/// object. A byte order mark may stand before it, and it may nest as deep as it will: what cannot be
/// indexed must be stripped, too.
fn members(raw: &[u8], policy: StripPolicy) -> Option<(usize, Vec<Member>)> {
    let text = std::str::from_utf8(raw).ok()?;
    let mark = text.len() - text.trim_start_matches('\u{feff}').len();
    let begin = blanks(raw, mark.min(3));
    if raw.get(begin) != Some(&b'{') {
        return None;
    }
    let mut members: Vec<Member> = Vec::new();
    // The brackets that close what is open.
    let mut open = vec![b'}'];
    let mut next = Next::KeyOrEnd;
    let mut at = begin + 1;
    loop {
        at = blanks(raw, at);
        let byte = *raw.get(at)?;
        let may_end = matches!(next, Next::KeyOrEnd | Next::ValueOrEnd | Next::CommaOrEnd);
        match next {
            _ if may_end && open.last() == Some(&byte) => {
                open.pop();
                at += 1;
                next = Next::CommaOrEnd;
                if open.is_empty() {
                    break;
                }
            }
            Next::CommaOrEnd => {
                if byte != b',' {
                    return None;
                }
                at += 1;
                next = if open.last() == Some(&b'}') {
                    Next::Key
                } else {
                    Next::Value
                };
            }
            Next::Key | Next::KeyOrEnd => {
                let end = string_end(raw, at)?;
                if open.len() == 1 {
                    let goes = policy.strips(&key(&text[at..end]));
                    members.push(Member { goes, end });
                }
                at = blanks(raw, end);
                if raw.get(at) != Some(&b':') {
                    return None;
                }
                at += 1;
                next = Next::Value;
            }
            Next::Value | Next::ValueOrEnd => match byte {
                b'{' => {
                    open.push(b'}');
                    at += 1;
                    next = Next::KeyOrEnd;
                }
                b'[' => {
                    open.push(b']');
                    at += 1;
                    next = Next::ValueOrEnd;
                }
                _ => {
                    at = scalar_end(text, at)?;
                    next = Next::CommaOrEnd;
                }
            },
        }
        if let (1, Next::CommaOrEnd, Some(member)) = (open.len(), &next, members.last_mut()) {
            member.end = at;
        }
    }
    (blanks(raw, at) == raw.len()).then_some((begin + 1, members))
}

/// The first place from `at` on where no blank stands.
fn blanks(raw: &[u8], at: usize) -> usize {
    let blank = |byte: &&u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
    at + raw.iter().skip(at).take_while(blank).count()
}

/// Behind the string that begins at `at`.
fn string_end(raw: &[u8], at: usize) -> Option<usize> {
    if raw.get(at) != Some(&b'"') {
        return None;
    }
    let mut at = at + 1;
    loop {
        match *raw.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => match *raw.get(at + 1)? {
                b'u' => {
                    let code = raw.get(at + 2..at + 6)?;
                    if !code.iter().all(u8::is_ascii_hexdigit) {
                        return None;
                    }
                    at += 6;
                }
                b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => at += 2,
                _ => return None,
            },
            0..=0x1f => return None,
            _ => at += 1,
        }
    }
}

/// Behind the string, number or word that begins at `at`.
fn scalar_end(text: &str, at: usize) -> Option<usize> {
    if text.as_bytes().get(at) == Some(&b'"') {
        return string_end(text.as_bytes(), at);
    }
    let rest = text.get(at..)?;
    let end = rest.find([' ', '\t', '\n', '\r', ',', ']', '}']);
    let scalar = &rest[..end.unwrap_or(rest.len())];
    let fits = matches!(scalar, "true" | "false" | "null") || is_number(scalar);
    fits.then_some(at + scalar.len())
}

/// The text of a key as it is written.
fn key(written: &str) -> Cow<'_, str> {
    if !written.contains('\\') {
        return Cow::Borrowed(&written[1..written.len() - 1]);
    }
    let document = Document::new(written.to_owned());
    let text = document
        .root()
        .ok()
        .and_then(|key| key.as_str().map(Cow::into_owned));
    Cow::Owned(text.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::{StripPolicy, strip};
    use crossfeed_json::Document;

    fn check(json: &str, expected: Option<&str>) {
        let found = strip(&Document::new(json.to_owned()), StripPolicy::Internal);
        let found = found.map(|bytes| String::from_utf8(bytes).unwrap());
        assert_eq!(found.as_deref(), expected, "{json}");
    }

    #[test]
    fn no_depth_and_no_mark_hides_a_field() {
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        check(
            &format!("{{\"_toolCallId\":\"c\",\"a\":{deep}}}"),
            Some(&format!("{{\"a\":{deep}}}")),
        );
        check(
            "\u{feff} {\"a\":1, \"_toolCallId\":\"c\"}\n",
            Some("\u{feff} {\"a\":1}\n"),
        );
        check(
            r#"{"_toolCallId": {"a": [1, "]}"]} , "a":1,"_tool\u0043allId":2}"#,
            Some(r#"{ "a":1}"#),
        );
        check("{\"_toolCallId\":1}", Some("{}"));
        check("{}", None);
    }

    #[test]
    fn what_is_no_json_stays() {
        for text in [
            r#"{"_toolCallId":1"#,
            r#"{"_toolCallId":1,}"#,
            r#"{"_toolCallId":01}"#,
            r#"{"_toolCallId":1}}"#,
            r#"{"_toolCallId":[1}"#,
            r#"{"_toolCallId":[1,]}"#,
            r#"{"_toolCallId" 1}"#,
            r#"{"_toolCallId":"\x"}"#,
            r#"{"_toolCallId":"\u12g4"}"#,
            "{\"_toolCallId\":\"\u{1}\"}",
            r#"{"_toolCallId":tru}"#,
            r#"{_toolCallId:1}"#,
            r#"x{"_toolCallId":1}"#,
            "\u{feff}\u{feff}{\"_toolCallId\":1}",
            r#"[{"_toolCallId":1}]"#,
            "{",
            "",
        ] {
            check(text, None);
        }
    }
}
