//! Whether a text can hold a key that begins with `_`, at any level: told by two scans of its bytes.
//!
//! # Why two scans are enough
//!
//! Let a text hold neither `"_` nor a *written character* `\u00` followed by a digit from 2 to 7 (that is
//! every escape of four digits for ASCII beyond the controls). Then:
//!
//! - None of its keys begins with `_`: the key would be written `"_…`, or with an escape of four digits,
//!   `"\u005f…`.
//! - The text of each of its strings holds neither of the two as well. A quote in it can only come from
//!   `\"`, since `\u0022` is not there, and `_` only from itself, since `\u005f` is not: together `\"_`,
//!   which holds `"_`. And a written character in it begins with a backslash, which can only come from
//!   `\\`, as `\u005c` is not there, and goes on with `u`, `00` and a digit, of which no escape without
//!   four digits is one: together `\\u00` and the digit, which holds a written character.
//!
//! So nothing is there at any level of JSON within strings of JSON, by induction over the levels.
//! Control characters and characters beyond ASCII may be written as escapes: they are in neither.

use memchr::memmem::Finder;
use std::sync::LazyLock;

static QUOTED: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\"_"));
static WRITTEN: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\\u00"));

/// Whether a key that begins with `_` could stand in a text, or in JSON in its strings.
#[inline]
pub(crate) fn is_suspect(text: &str) -> bool {
    let text = text.as_bytes();
    QUOTED.find(text).is_some()
        || WRITTEN
            .find(text)
            .is_some_and(|first| holds_written(&text[first..]))
}

fn holds_written(text: &[u8]) -> bool {
    let mut found = WRITTEN.find_iter(text);
    found.any(|at| matches!(text.get(at + 4), Some(b'2'..=b'7')))
}

#[cfg(test)]
mod tests {
    use super::is_suspect;
    use crate::policy::tests::{keys_at_all_levels, nesting};
    use proptest::prelude::*;

    fn check(text: &str, expected: bool) {
        assert_eq!(is_suspect(text), expected, "{text}");
    }

    #[test]
    fn quotes_and_escapes_are_suspect() {
        check(r#"{"a_":"é\u00e9\n\u001f_"}"#, false);
        check(r#"{"_a":1}"#, true);
        check(r#"{"\u005fa":1}"#, true);
        check(r#"{"\u005Fa":1}"#, true);
        check(r#""{\"_a\":1}""#, true);
        check(r#""{\u0022_a\u0022:1}""#, true);
        check(r#""{\"\\u005fa\":1}""#, true);
        check(r#""{\"\u005cu005fa\":1}""#, true);
        check(r#""{\"\\u\u00305fa\":1}""#, true);
        check(r#""{\"\\\u0075005fa\":1}""#, true);
        check("\\u00", false);
        check("", false);
    }

    proptest! {
        #[test]
        fn what_is_not_suspect_has_no_such_key(nesting in nesting()) {
            let text = nesting.text;
            if keys_at_all_levels(&text).iter().any(|key| key.starts_with('_')) {
                prop_assert!(is_suspect(&text), "{}", text);
            }
        }
    }
}
