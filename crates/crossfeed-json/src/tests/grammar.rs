//! What is accepted, and where the rest stops being JSON.

use super::{blanks, json};
use crate::{Document, JsonErrorKind, MAX_DEPTH};
use proptest::{collection::vec, prelude::*, sample::Index};
use serde::de::IgnoredAny;

/// serde_json accepts lone surrogates and numbers of any size where it ignores a value, as we do;
/// but there it checks neither UTF-8 nor depth.
fn is_json(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_ok()
        && serde_json::from_slice::<IgnoredAny>(bytes).is_ok()
        && depth(bytes) <= MAX_DEPTH
}

/// Depth of valid JSON.
pub(super) fn depth(bytes: &[u8]) -> usize {
    let (mut now, mut most, mut quoted) = (0_usize, 0, false);
    let mut bytes = bytes.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' => _ = bytes.next(),
            b'"' => quoted = !quoted,
            b'[' | b'{' if !quoted => now += 1,
            b']' | b'}' if !quoted => now -= 1,
            _ => {}
        }
        most = most.max(now);
    }
    most
}

fn agrees(bytes: &[u8]) {
    let document = Document::new(bytes.to_vec());
    let outcome = document.root().map(|_| ());
    let text = String::from_utf8_lossy(bytes);
    assert_eq!(outcome.is_ok(), is_json(bytes), "{outcome:?}: {text:?}");
    match (outcome, std::str::from_utf8(bytes)) {
        (Err(error), Err(utf8)) => {
            assert_eq!(error.kind, JsonErrorKind::NotUtf8, "{text:?}");
            assert_eq!(error.offset, utf8.valid_up_to(), "{text:?}");
        }
        (Err(error), Ok(_)) => assert!(error.offset <= bytes.len(), "{text:?}"),
        (Ok(()), _) => {}
    }
}

fn check(text: &str, kind: JsonErrorKind, offset: usize) {
    agrees(text.as_bytes());
    let document = Document::new(text.to_owned());
    let error = document.root().expect_err(text);
    assert_eq!((error.kind, error.offset), (kind, offset), "{text:?}");
}

#[test]
fn says_what_is_wrong_and_where() {
    use JsonErrorKind::{InvalidString, Syntax, UnexpectedEnd};
    for text in [
        "",
        " ",
        "\n\t\r ",
        "[",
        "[1",
        "[1,",
        "{",
        "{\"a\"",
        "{\"a\":",
        "{\"a\":1,",
        "\"",
        "\"a",
        "\"\\",
        "\"\\u12",
        "-",
        "1.",
        "1e",
        "1e+",
    ] {
        check(text, UnexpectedEnd, text.len());
    }
    for (text, offset) in [("tru", 0), ("[nul", 1)] {
        check(text, UnexpectedEnd, offset);
    }
    for (text, offset) in [
        ("01", 1),
        ("-01", 2),
        ("1.x", 2),
        ("1 2", 2),
        ("1,2", 1),
        ("[1,]", 3),
        ("[,1]", 1),
        ("[1 2]", 3),
        ("[1}", 2),
        ("{]", 1),
        ("{a:1}", 1),
        ("{\"a\" 1}", 5),
        ("{\"a\":1,}", 7),
        ("{\"a\":}", 5),
        ("{\"a\":1]", 6),
        ("{1:2}", 1),
        ("nulL", 0),
        ("truex", 4),
        ("]", 0),
        ("}", 0),
        (",", 0),
        ("+1", 0),
        (".5", 0),
        ("\u{feff}1", 0),
        ("1\0", 1),
        ("\0", 0),
        ("\u{a0}1", 0),
        ("1\u{b}", 1),
        ("[1\0]", 2),
        ("é", 0),
        ("[é]", 1),
        ("{é:1}", 1),
        ("[1]]", 3),
        ("{}{}", 2),
    ] {
        check(text, Syntax, offset);
    }
    for (text, offset) in [
        ("\"\n\"", 1),
        ("\"a\0\"", 2),
        ("\"\\x\"", 2),
        ("\"\\u12g4\"", 5),
        ("\"\\u\"", 3),
        ("{\"\t\":1}", 2),
    ] {
        check(text, InvalidString, offset);
    }
}

#[test]
fn accepts_what_serde_json_cannot_hold() {
    for text in [
        "1e400",
        "-1e-99999999999",
        "\"\\ud800\"",
        "{\"\\ud800\":1,\"\\ud801\":2}",
        "\"\\ude00\\ud83d\"",
    ] {
        agrees(text.as_bytes());
        assert!(Document::new(text).root().is_ok(), "{text}");
    }
}

#[test]
fn depth_ends_where_serde_json_ends() {
    for (open, close) in [("[", "]"), ("{\"a\":", "}"), (" [ ", " ] ")] {
        for (depth, good) in [
            (1, true),
            (MAX_DEPTH, true),
            (MAX_DEPTH + 1, false),
            (1000, false),
        ] {
            let text = format!("{}1{}", open.repeat(depth), close.repeat(depth));
            assert_eq!(
                serde_json::from_str::<serde_json::Value>(&text).is_ok(),
                good
            );
            let document = Document::new(text);
            match document.root() {
                Ok(_) => assert!(good, "{depth}"),
                Err(error) => {
                    assert!(!good && error.is_limit(), "{depth}: {error}");
                    let before = open.len() * MAX_DEPTH + open.find(['[', '{']).unwrap();
                    assert_eq!(error.offset, before);
                }
            }
        }
    }
}

#[test]
fn a_hundred_thousand_brackets_are_refused_at_once() {
    for open in ["[", "{\"a\":", "[{\"a\":"] {
        let error = Document::new(open.repeat(100_000))
            .root()
            .map(|_| ())
            .unwrap_err();
        assert_eq!(error.kind, JsonErrorKind::TooDeep);
    }
}

#[test]
fn every_truncation_ends_too_early() {
    let text = "{\"a\": [1.5e+3, -20, true, false, null, \"x\\n\\u00e9é\u{1f600}\"], \"\\u0061\": {\"b\": {}, \"c\": [[]]}}";
    let padded = [text.to_owned(), format!("[\"{}\",{text}]", "x".repeat(50))];
    for text in padded {
        agrees(text.as_bytes());
        for end in 0..text.len() {
            let part = &text.as_bytes()[..end];
            agrees(part);
            let error = Document::new(part.to_vec()).root().map(|_| ()).unwrap_err();
            assert!(
                matches!(
                    error.kind,
                    JsonErrorKind::UnexpectedEnd | JsonErrorKind::NotUtf8
                ),
                "{end}: {error}"
            );
        }
    }
}

#[test]
fn strings_of_all_lengths_at_all_offsets() {
    for offset in 0..70 {
        for length in (0..70).chain([126, 127, 128, 129, 192]) {
            let blanks = " ".repeat(offset);
            let plain = "x".repeat(length);
            for text in [
                format!("{blanks}\"{plain}\""),
                format!("{blanks}{{\"{plain}\":1}}"),
                format!("{blanks}[\"\\u00e9{plain}\\n\"]"),
                format!("{blanks}\"{plain}"),
                format!("{blanks}\"{plain}\n\""),
                format!("{blanks}\"{plain}\\"),
            ] {
                agrees(text.as_bytes());
            }
            agrees(&[blanks.as_bytes(), b"\"", plain.as_bytes(), b"\xc3\""].concat());
        }
    }
}

proptest! {
    #[test]
    fn agrees_on_arbitrary_bytes(bytes in vec(any::<u8>(), 0..40)) {
        agrees(&bytes);
    }

    #[test]
    fn agrees_on_shuffled_tokens(
        tokens in vec(proptest::sample::select([
            "{", "}", "[", "]", ",", ":", "\"a\"", "\"", "1", "-", "0", ".5", "e9", "true", "null", " ", "\n", "\\", "\\u", "00e9", "é",
        ].as_slice()), 0..12),
    ) {
        agrees(tokens.concat().as_bytes());
    }

    #[test]
    fn agrees_on_mutated_json(
        json in json(),
        blanks in blanks(),
        changes in vec((any::<Index>(), any::<u8>(), 0..4), 0..3),
    ) {
        let mut bytes = json.text(blanks).into_bytes();
        for (place, byte, change) in changes {
            let place = place.index(bytes.len());
            match change {
                0 => bytes[place] = byte,
                1 => bytes.insert(place, byte),
                2 if bytes.len() > 1 => _ = bytes.remove(place),
                _ => bytes[place] = b"\"\\{}[],:01-.e "[usize::from(byte) % 14],
            }
        }
        agrees(&bytes);
    }
}
