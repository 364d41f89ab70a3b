//! Variables in the texts of a configuration: `${VAR}`, `${VAR:-default}` or `${env:VAR}`. Errors never show a value.

use std::collections::BTreeMap;

/// Puts the values of variables into a text. `$${` stands for `${`; what a value holds is not looked at
/// again.
pub(crate) fn expand(text: &str, environment: &BTreeMap<String, String>) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    for part in parts(text)? {
        match part {
            Part::Text(text) => out.push_str(text),
            Part::Variable { name, default } => match (environment.get(name), default) {
                (Some(value), None) => out.push_str(value),
                (Some(value), Some(_)) if !value.is_empty() => out.push_str(value),
                (_, Some(default)) => out.push_str(default),
                (None, None) => return Err(format!("the variable `{name}` is not set")),
            },
        }
    }
    Ok(out)
}

/// Whether a text holds a variable.
pub(crate) fn has_variable(text: &str) -> bool {
    let parts = parts(text).unwrap_or_default();
    parts
        .iter()
        .any(|part| matches!(part, Part::Variable { .. }))
}

/// Whether a variable stands in the query of an address, or brings one.
pub(crate) fn has_variable_in_query(text: &str, environment: &BTreeMap<String, String>) -> bool {
    let mut is_query = false;
    for part in parts(text).unwrap_or_default() {
        match part {
            Part::Text(text) => is_query |= text.contains('?'),
            Part::Variable { name, default } => {
                let value = environment.get(name).map(String::as_str).or(default);
                if is_query || value.unwrap_or_default().contains('?') {
                    return true;
                }
            }
        }
    }
    false
}

/// A part of a text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Part<'t> {
    Text(&'t str),
    Variable {
        name: &'t str,
        default: Option<&'t str>,
    },
}

/// The parts of a text, in order.
pub(crate) fn parts(text: &str) -> Result<Vec<Part<'_>>, String> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        let (before, from) = rest.split_at(at);
        let after = from.get(2..).unwrap_or_default();
        if let Some(plain) = before.strip_suffix('$') {
            parts.push(Part::Text(plain));
            parts.push(Part::Text("${"));
            rest = after;
            continue;
        }
        parts.push(Part::Text(before));
        let Some((inside, behind)) = after.split_once('}') else {
            return Err("`${` has no `}`: write `$${` for the characters themselves".to_owned());
        };
        let inside = inside.strip_prefix("env:").unwrap_or(inside);
        let (name, default) = match inside.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (inside, None),
        };
        if !is_name(name) {
            // What stands there may be a secret that was pasted at the wrong place.
            return Err(
                "`${…}` has no valid name of a variable: write `${VAR}` or `${VAR:-default}`"
                    .to_owned(),
            );
        }
        if default.is_some_and(|default| default.contains("${")) {
            return Err(format!(
                "the default of `{name}` contains a variable, which is not supported"
            ));
        }
        parts.push(Part::Variable { name, default });
        rest = behind;
    }
    parts.push(Part::Text(rest));
    Ok(parts)
}

/// Whether a variable can be called so.
pub(crate) fn is_name(name: &str) -> bool {
    let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    !name.is_empty() && !name.as_bytes()[0].is_ascii_digit() && name.bytes().all(word)
}

#[cfg(test)]
mod tests {
    use super::{expand, has_variable, has_variable_in_query};
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn environment() -> BTreeMap<String, String> {
        let pairs = [
            ("A", "1"),
            ("EMPTY", ""),
            ("NESTED", "${A}"),
            ("_b2", "two"),
        ];
        pairs.map(|(k, v)| (k.to_owned(), v.to_owned())).into()
    }

    fn check(text: &str, expected: Result<&str, &str>) {
        match (expand(text, &environment()), expected) {
            (Ok(read), Ok(expected)) => assert_eq!(read, expected, "{text}"),
            (Err(error), Err(says)) => assert!(error.contains(says), "{text}: {error}"),
            (read, _) => panic!("{text}: {read:?}"),
        }
    }

    #[test]
    fn variables_are_put_in() {
        check("", Ok(""));
        check("plain $A {A} $", Ok("plain $A {A} $"));
        check("${A}", Ok("1"));
        check("x${A}y${_b2}z", Ok("x1ytwoz"));
        check("${env:A}", Ok("1"));
        check("${EMPTY}", Ok(""));
        check("${EMPTY:-d}", Ok("d"));
        check("${A:-d}", Ok("1"));
        check("${NONE:-d e}", Ok("d e"));
        check("${NONE:-}", Ok(""));
        check("${NESTED}", Ok("${A}"));
        check("$${A}", Ok("${A}"));
        check("é${A}é", Ok("é1é"));
    }

    #[test]
    fn variables_are_found() {
        for (text, expected) in [
            ("a${A}", true),
            ("${NONE:-d}", true),
            ("$${A}", false),
            ("a", false),
        ] {
            assert_eq!(has_variable(text), expected, "{text}");
        }
        let environment = [("Q".to_owned(), "http://a/?k=1".to_owned())].into();
        for (text, expected) in [
            ("http://${A}/b?c=1", false),
            ("http://a/?k=${A}", true),
            ("http://a/?k=${A:-x}", true),
            ("${Q}", true),
            ("${A}/?k=$${A}", false),
        ] {
            assert_eq!(
                has_variable_in_query(text, &environment),
                expected,
                "{text}"
            );
        }
    }

    #[test]
    fn what_cannot_be_put_in_is_said_without_values() {
        check("${NONE}", Err("`NONE` is not set"));
        check("${A", Err("has no `}`"));
        check("${}", Err("no valid name of a variable"));
        check("${input:key}", Err("no valid name of a variable"));
        check("${sk-12345}", Err("no valid name of a variable"));
        check("${A:-${B}}", Err("default of `A`"));
    }

    proptest! {
        /// A text without `${` is left alone, and no text makes it fail in another way than by an error.
        #[test]
        fn other_texts_stay(text in "[^$]*", any in "\\PC*") {
            prop_assert_eq!(expand(&text, &environment()), Ok(text));
            let _ = expand(&any, &environment());
        }

        /// A value comes through as it is, whatever it holds.
        #[test]
        fn values_stay(value in "\\PC*") {
            let environment = [("V".to_owned(), value.clone())].into();
            prop_assert_eq!(expand("<${V}>", &environment), Ok(format!("<{value}>")));
        }
    }
}
