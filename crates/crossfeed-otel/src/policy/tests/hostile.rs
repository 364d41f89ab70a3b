//! Texts that nobody writes by mistake.

use super::keys_at_all_levels;
use crate::{Outcome, Policy};
use crossfeed_json::quoted;

const RESULT: &str = "gen_ai.tool.call.result";

fn check(text: &str, expected: &str) {
    let found = match Policy::default().strip(RESULT, text) {
        Outcome::Unchanged => text.to_owned(),
        Outcome::Text(found) => found,
        Outcome::Dropped => panic!("dropped"),
    };
    // What differs may be long.
    assert!(
        found == expected,
        "{} bytes, expected {}",
        found.len(),
        expected.len()
    );
}

#[test]
fn depth_is_no_limit() {
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        let around =
            |inner: &str| format!("{}{inner}{}", open.repeat(100_000), close.repeat(100_000));
        check(&around(r#"{"_toolCallId":1,"b":2}"#), &around(r#"{"b":2}"#));
        check(&format!(r#"{{"_x":{},"b":1}}"#, around("1")), r#"{"b":1}"#);
        let embedded = |inner: &str| format!("[{}]", quoted(inner));
        check(
            &embedded(&around(r#"{"_toolCallId":1,"b":2}"#)),
            &embedded(&around(r#"{"b":2}"#)),
        );
        let unclosed = open.repeat(100_000) + r#"{"_toolCallId":1}"#;
        check(&unclosed, &unclosed);
    }
}

#[test]
fn size_is_no_limit() {
    let prose = "and so on; ".repeat(200);
    let many = |field: &str, inner: &str| {
        let item = format!(r#"{{{field}"a":"{{{inner}}}","b":"{prose}"}},"#);
        item.repeat(25_000)
    };
    let left = many("", "");
    let many = many(r#""_toolCallId":1,"#, r#"\"_toolCallId\":2"#);
    assert!(many.len() > 50_000_000);
    check(&format!("[{many}0]"), &format!("[{left}0]"));
}

#[test]
fn levels_of_strings_are_opened_until_they_are_too_many() {
    // Backslashes double at each level.
    let mut text = r#"{"_toolCallId":1}"#.to_owned();
    let mut left = "{}".to_owned();
    for _ in 0..9 {
        (text, left) = (
            format!("[{}]", quoted(&text)),
            format!("[{}]", quoted(&left)),
        );
        check(&text, &left);
    }
    // Written like this, they do not: levels beyond those that are opened are withheld.
    let mut text = r#"{"_toolCallId":1}"#.to_owned();
    for level in 1..40 {
        text = format!(
            "[\"{}\"]",
            text.replace('\\', r"\u005c").replace('"', r"\u0022")
        );
        let Outcome::Text(left) = Policy::default().strip(RESULT, &text) else {
            panic!("{level} levels were not opened");
        };
        assert!(
            !keys_at_all_levels(&left)
                .iter()
                .any(|key| key == "_toolCallId")
        );
        assert_eq!(left.contains("[withheld]"), level > 32, "{level}: {left}");
    }
}

#[test]
fn a_long_text_in_many_levels_is_withheld() {
    let mut text = format!(r#"{{"_toolCallId":1,"a":"{}"}}"#, "x".repeat(100_000));
    for level in 1..14 {
        text = format!("[{}]", quoted(&text));
        let found = Policy::default().strip(RESULT, &text);
        let Outcome::Text(left) = found else {
            panic!("{level} levels were not opened");
        };
        assert!(!left.contains("_toolCallId"));
        assert_eq!(left.contains("[withheld]"), level > 8, "{level}");
    }
}

#[test]
fn what_cannot_hold_an_internal_field_is_not_opened() {
    let mut text = format!(r#"{{"a":"{}"}}"#, "x".repeat(100_000));
    for _ in 0..12 {
        text = format!("[{}]", quoted(&text));
    }
    check(
        &format!(r#"{{"_toolCallId":1,"b":{text}}}"#),
        &format!(r#"{{"b":{text}}}"#),
    );
}

#[test]
fn odd_strings_are_read() {
    check(r#"{"\ud800":1,"_toolCallId":"\udc00"}"#, r#"{"\ud800":1}"#);
    check(
        r#"["{\"\\ud800\":1,\"_toolCallId\":2}"]"#,
        r#"["{\"\\ud800\":1}"]"#,
    );
    check(
        r#"["\ud800{\"_toolCallId\":2}"]"#,
        r#"["\ud800{\"_toolCallId\":2}"]"#,
    );
    check(r#"{"\u0000":1,"_toolCallId":1}"#, r#"{"\u0000":1}"#);
    for none in [
        "{\"a\":\"\0\",\"_toolCallId\":1}",
        r#"{"a":"\x","_toolCallId":1}"#,
        r#"{"a":"\u12","_toolCallId":1}"#,
    ] {
        check(none, none);
    }
}

#[test]
fn every_truncation_is_left_alone() {
    let text =
        r#"{"a":[1.5e3,"é\u00e9\n",{"_toolCallId":"{\"_toolCallId\":1}"}],"_toolCallId":null}"#;
    check(text, r#"{"a":[1.5e3,"é\u00e9\n",{}]}"#);
    for (end, _) in text.char_indices() {
        check(&text[..end], &text[..end]);
    }
}
