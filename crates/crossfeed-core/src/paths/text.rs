//! How selectors are written.

use crossfeed_json::quoted;

/// `prefix.key`, the key quoted if the grammar requires it.
pub(crate) fn member(prefix: &str, key: &str) -> String {
    let mut selector = prefix.to_owned();
    push_member(&mut selector, key);
    selector
}

/// Appends the step to a member.
pub(super) fn push_member(selector: &mut String, key: &str) {
    if !selector.is_empty() {
        selector.push('.');
    }
    let mut chars = key.chars();
    let plain = chars
        .next()
        .is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_');
    if plain {
        selector.push_str(key);
    } else {
        selector.push_str(&quoted(key));
    }
}

/// A raw string with this content: `'it\'s'`. `None` for control characters, which a model cannot copy, and
/// for backslashes, which the grammar reads differently.
pub(crate) fn raw_string(text: &str) -> Option<String> {
    let odd = |c: char| c == '\\' || c.is_control();
    (!text.contains(odd)).then(|| format!("'{}'", text.replace('\'', r"\'")))
}

/// The rest of a path that goes through the text of a part: `items[0]` for `content[0].text.items[0]`.
pub(crate) fn in_part(text: &str) -> Option<&str> {
    let digits = text.strip_prefix("content[")?;
    let rest = digits.trim_start_matches(|c: char| c.is_ascii_digit());
    let rest = rest.strip_prefix("].text")?;
    let rest = rest
        .strip_prefix('.')
        .or(rest.starts_with('[').then_some(rest))?;
    (!rest.is_empty()).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::{member, raw_string};
    use crossfeed_jmespath::Expression;

    fn check(key: &str, expected: &str) {
        let selector = member("a", key);
        assert_eq!(selector, expected);
        assert!(Expression::parse(&selector).is_ok(), "{selector}");
    }

    #[test]
    fn odd_keys_are_quoted() {
        check("b_1", "a.b_1");
        check("b c", r#"a."b c""#);
        check("1", r#"a."1""#);
        check("", r#"a."""#);
        check("é\"\\", r#"a."é\"\\""#);
    }

    #[test]
    fn texts_are_raw_strings_where_they_can_be() {
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(raw_string(text).as_deref(), expected, "{text}");
        };
        check("it's", Some(r"'it\'s'"));
        check("", Some("''"));
        check("a\\", None);
        check("a\nb", None);
    }
}
