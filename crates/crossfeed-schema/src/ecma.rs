//! Spells `\d` and `\w` of regular expressions out as the ASCII characters that they mean in ECMA-262.
//!
//! The validator does so itself, but not in expressions with look-arounds or references back: there these
//! classes would hold all of Unicode, and `\w{1,128}` would take megabytes compiled.

use crate::{
    index::{self, Index, Target},
    keywords,
};
use serde_json::{Map, Value};
use std::borrow::Cow;

/// A schema in whose regular expressions these classes are ASCII everywhere. A key of `patternProperties`
/// stays as it is where a reference leads through it.
pub(crate) fn with_ascii_classes<'s>(schema: &'s Value, index: &Index) -> Cow<'s, Value> {
    let mut places = Vec::new();
    index::visit_all(schema, index, &mut |object, at| {
        let pattern = object.get("pattern").and_then(Value::as_str);
        let named = keywords::members(object.get("patternProperties"));
        let mut all = pattern
            .into_iter()
            .chain(named.map(|(key, _)| key.as_str()));
        if all.any(|pattern| matches!(ascii_classes(pattern), Cow::Owned(_))) {
            places.push(at.to_owned());
        }
    });
    if places.is_empty() {
        return Cow::Borrowed(schema);
    }
    let mut spelled = schema.clone();
    // Deeper places come first, because changed keys are parts of places.
    places.sort_unstable_by_key(|at| std::cmp::Reverse(at.len()));
    for at in places {
        let Some(Value::Object(object)) = spelled.pointer_mut(&at) else {
            continue;
        };
        if let Some(Value::String(pattern)) = object.get_mut("pattern") {
            *pattern = ascii_classes(pattern).into_owned();
        }
        let within = format!("{at}/patternProperties/");
        let is_referred_to = index.links().any(|(.., target)| match target {
            Target::Here { at, .. } => at.starts_with(&within),
            _ => false,
        });
        if let Some(Value::Object(named)) = object.get_mut("patternProperties")
            && !is_referred_to
        {
            let renamed = named
                .iter()
                .map(|(pattern, schema)| (ascii_classes(pattern).into_owned(), schema.clone()));
            let renamed: Map<String, Value> = renamed.collect();
            if renamed.len() == named.len() {
                *named = renamed;
            }
        }
    }
    Cow::Owned(spelled)
}

/// A regular expression with these classes spelled out; borrowed where nothing changes.
pub(crate) fn ascii_classes(pattern: &str) -> Cow<'_, str> {
    if !goes_around(pattern) {
        return Cow::Borrowed(pattern);
    }
    let mut spelled = String::with_capacity(pattern.len());
    let mut is_changed = false;
    let mut is_in_brackets = false;
    // Whether a hyphen that is not escaped was last.
    let mut is_hyphen = false;
    let mut characters = pattern.chars().peekable();
    while let Some(character) = characters.next() {
        let follows_hyphen = std::mem::replace(&mut is_hyphen, character == '-');
        match character {
            '\\' => {
                let Some(escaped) = characters.next() else {
                    spelled.push(character);
                    break;
                };
                let Some((within, alone)) = class(escaped) else {
                    spelled.extend([character, escaped]);
                    continue;
                };
                is_changed = true;
                if !is_in_brackets {
                    spelled.push_str(alone);
                    continue;
                }
                // A hyphen beside a class is itself; beside a character it would be a range.
                if follows_hyphen {
                    spelled.pop();
                    spelled.push_str("\\-");
                }
                spelled.push_str(within);
                if characters.next_if_eq(&'-').is_some() {
                    spelled.push_str("\\-");
                }
                continue;
            }
            '[' => is_in_brackets = true,
            ']' => is_in_brackets = false,
            _ => {}
        }
        spelled.push(character);
    }
    if is_changed {
        Cow::Owned(spelled)
    } else {
        Cow::Borrowed(pattern)
    }
}

/// Whether a regular expression may have a look-around or a reference back.
fn goes_around(pattern: &str) -> bool {
    const AROUND: [&str; 5] = ["(?=", "(?!", "(?<=", "(?<!", "\\k<"];
    let bytes = pattern.as_bytes();
    let refers_back = |pair: &[u8]| matches!(pair, [b'\\', b'1'..=b'9']);
    AROUND.iter().any(|sign| pattern.contains(sign)) || bytes.windows(2).any(refers_back)
}

/// The characters of a class, within brackets and alone.
fn class(letter: char) -> Option<(&'static str, &'static str)> {
    Some(match letter {
        'd' => ("0-9", "[0-9]"),
        'w' => ("A-Za-z0-9_", "[A-Za-z0-9_]"),
        'D' => (r"\x00-\x2F\x3A-\x{10FFFF}", "[^0-9]"),
        'W' => (
            r"\x00-\x2F\x3A-\x40\x5B-\x5E\x60\x7B-\x{10FFFF}",
            "[^A-Za-z0-9_]",
        ),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::{ascii_classes, with_ascii_classes};
    use crate::compile;
    use serde_json::json;

    fn check(pattern: &str, expected: &str) {
        assert_eq!(ascii_classes(pattern), expected, "{pattern}");
    }

    #[test]
    fn classes_are_spelled_out_where_the_validator_leaves_them() {
        check(
            r"^(?!.*\.\.)[\w./-]{1,128}$",
            r"^(?!.*\.\.)[A-Za-z0-9_./-]{1,128}$",
        );
        check(r"(?=\d)\W\\w\D", r"(?=[0-9])[^A-Za-z0-9_]\\w[^0-9]");
        check(r"(a)\1\w", r"(a)\1[A-Za-z0-9_]");
        check(r"(?!a)[\w-z]", r"(?!a)[A-Za-z0-9_\-z]");
        check(r"(?!a)[+-\d]", r"(?!a)[+\-0-9]");
        check(r"(?!a)[+\-\d]", r"(?!a)[+\-0-9]");
        check(r"(?!a)[^\d-]", r"(?!a)[^0-9\-]");
        // The validator does these itself.
        check(r"^[\w./-]{1,128}$", r"^[\w./-]{1,128}$");
        check(r"(?!a)b\", r"(?!a)b\");
        check(r"(?!a)\u0064", r"(?!a)\u0064");
    }

    #[test]
    fn classes_hold_ascii_only() {
        for (pattern, fits, fits_not) in [
            (r"^(?!x)\w+$", "a_9", "é"),
            (r"^(?!x)[\d.]+$", "1.5", "\u{663}"),
            (r"^(?!x)\W+$", "é-", "a"),
            (r"^(?!x)[\W_]+$", "é_ ", "a"),
            (r"^(?!x)[\D]+$", "a\u{663}", "7"),
            (r"^(?!x)[\w-]+$", "a-b", "a+b"),
            (r"^(?!x)[^\w]+$", "é", "a"),
        ] {
            for schema in [
                json!({"additionalProperties": {"pattern": pattern}}),
                json!({"patternProperties": {(pattern): {}, "^(k)\\1$": {"pattern": pattern}}, "additionalProperties": false}),
            ] {
                let validator = compile(&schema).unwrap_or_else(|why| panic!("{pattern}: {why}"));
                let of = |text: &str| match schema.get("patternProperties") {
                    Some(_) => json!({(text): 1}),
                    None => json!({"k": text}),
                };
                assert!(validator.is_valid(&of(fits)), "{pattern}: {fits}");
                assert!(!validator.is_valid(&of(fits_not)), "{pattern}: {fits_not}");
            }
        }
    }

    #[test]
    fn references_through_a_pattern_lead_where_they_did() {
        let schema = json!({
            "patternProperties": {r"^(?!x)\w+$": {"type": "string"}},
            "properties": {"a": {"$ref": r"#/patternProperties/%5E(%3F!x)%5Cw%2B%24"}},
        });
        let validator = compile(&schema).unwrap();
        assert!(validator.is_valid(&json!({"a": "x"})) && !validator.is_valid(&json!({"a": 1})));
    }

    #[test]
    fn a_schema_without_such_expressions_is_not_copied() {
        let schema = json!({"pattern": r"^\w+$", "properties": {"pattern": {"pattern": "(?!a)b"}}});
        let (_, index) = crate::check::checked(&schema).unwrap();
        let same = with_ascii_classes(&schema, &index);
        assert!(matches!(same, std::borrow::Cow::Borrowed(_)));
    }
}
