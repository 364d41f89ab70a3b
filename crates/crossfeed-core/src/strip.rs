//! Strips the fields that the engine added to a result.

use crossfeed_json::{Cursor, Document, Prune, RawString, cuts, without};
use crossfeed_wire::internal::is_internal;

/// Which top-level keys are stripped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum StripPolicy {
    /// The named internal fields. Every other key is domain data.
    #[default]
    Internal,
    /// Every key that begins with `_`, data included.
    AllUnderscore,
}

impl StripPolicy {
    pub(crate) fn strips(self, key: &str) -> bool {
        match self {
            Self::Internal => is_internal(key),
            Self::AllUnderscore => key.starts_with('_'),
        }
    }

    /// Whether it strips a member of an object. The first byte of the key decides for most, since objects can be
    /// wide.
    pub(crate) fn strips_member(self, member: Cursor<'_>) -> bool {
        let key = member.key();
        matches!(key.raw().first(), Some(b'_' | b'\\')) && self.strips(&key.text())
    }

    /// Whether it strips a member that is the result's own data.
    pub(crate) fn strips_data(self, member: Cursor<'_>) -> bool {
        self.strips_member(member) && !is_internal(&member.key().text())
    }
}

/// The bytes of `result` without the top-level members that the policy strips; every other byte stays. `None` if
/// there is nothing to strip, or the result is not a JSON object.
///
/// ```
/// use crossfeed_core::{StripPolicy, strip};
/// use crossfeed_json::Document;
///
/// let result = Document::new(r#"{ "_toolCallId": "c1", "_id": 7 }"#);
/// assert_eq!(strip(&result, StripPolicy::Internal).as_deref(), Some(&br#"{ "_id": 7 }"#[..]));
/// assert_eq!(strip(&Document::new("[1]"), StripPolicy::Internal), None);
/// ```
pub fn strip(result: &Document, policy: StripPolicy) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(result.raw()).ok()?;
    let value = text.strip_prefix('\u{feff}').unwrap_or(text);
    if !value.trim_start().starts_with('{') {
        return None;
    }
    let cuts = cuts(text, &mut TopLevel(policy)).ok()?;
    (!cuts.is_empty()).then(|| without(text, &cuts).into_bytes())
}

/// Strips every occurrence of a key, at any depth of nesting: even a result that cannot be indexed is stripped.
struct TopLevel(StripPolicy);

impl Prune for TopLevel {
    fn member(&mut self, key: RawString<'_>, depth: usize) -> bool {
        // The first byte decides for most keys.
        depth == 1
            && matches!(key.raw().as_bytes().first(), Some(b'_' | b'\\'))
            && self.0.strips(&key.text())
    }
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
        check(r#"{"a":1 , "_toolCallId":2}"#, Some(r#"{"a":1}"#));
        check(
            r#"{"a":1 , "b":2, "_toolCallId":3}"#,
            Some(r#"{"a":1 , "b":2}"#),
        );
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
