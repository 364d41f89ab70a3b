//! Text edits.

use crate::{code, edited};
use crossfeed_edit::{EditErrorKind, NearestPassage};
use proptest::{collection::vec, prelude::*, sample::select};
use serde_json::{Value, json};

/// The kind of error of an edit of a text, and its message with the advice.
fn refuse(text: &str, edits: Value) -> (String, String) {
    let error = edited(&json!(text).to_string(), &edits).unwrap_err();
    (code(&error.kind), format!("{error} | {}", error.advice()))
}

fn nearest(text: &str, old: &str) -> Option<NearestPassage> {
    let error = edited(
        &json!(text).to_string(),
        &json!([{"old": old, "new": "\u{1}"}]),
    )
    .unwrap_err();
    match error.kind {
        EditErrorKind::NoOccurrence { nearest } => nearest,
        other => panic!("{other:?}"),
    }
}

#[test]
fn errors_say_what_to_do() {
    let cases = [
        (
            json!({"old": "a"}),
            "WrongType",
            "the edit must be a list of text edits, not an object | write a list of text edits there",
        ),
        (
            json!([5]),
            "WrongType",
            "operation 0: a text edit must be an object, not a number | write an object there",
        ),
        (
            json!([{"old": "a"}]),
            "MissingMember",
            "operation 0: `new` is missing | add `new`",
        ),
        (
            json!([{"old": "a", "new": 1}]),
            "WrongType",
            "operation 0: new must be a string, not a number | write a string there",
        ),
        (
            json!([{"old": "a", "new": "b", "all": "yes"}]),
            "WrongType",
            "operation 0: all must be a boolean, not a string | write a boolean there",
        ),
        (
            json!([{"old": "a", "new": "b", "each": true}]),
            "UnknownMember",
            "operation 0: unknown member `each` | a text edit has `old`, `new` and, if wanted, `all`",
        ),
        (
            json!([{"old": "", "new": "b"}]),
            "EmptyOld",
            "operation 0: `old` is empty | `old` must quote the passage that changes",
        ),
        (
            json!([{"old": "b", "new": "b"}]),
            "SameText",
            "operation 0: `old` and `new` are the same | `new` must differ from `old`; leave out edits that change nothing",
        ),
        (
            json!([{"old": "one", "new": "two"}, {"old": "one", "new": "x"}]),
            "NoOccurrence",
            "operation 1: `old` does not occur in the text | quote the passage exactly as it is in the text",
        ),
        (
            json!([{"old": "a", "new": "b"}]),
            "ManyOccurrences",
            "operation 0: `old` occurs 2 times in the text | make `old` longer until it occurs once, or set `all`; it occurs in line 1, between \"one\\t\" and \" l\\nand \"; line 2, between \"one\\ta l\\n\" and \"nd \"",
        ),
    ];
    for (edits, kind, message) in cases {
        assert_eq!(
            refuse("one\ta l\nand ", edits),
            (kind.to_owned(), message.to_owned())
        );
    }
    let error = edited("[1]", &json!([])).unwrap_err();
    assert_eq!(error.to_string(), "text edits need a string, not a list");
}

#[test]
fn escapes_outside_stay_as_they_are_spelled() {
    let cases = [
        (
            r#""\u00e9\/ tea \u0041\n""#,
            json!([{"old": "tea", "new": "\"\n"}]),
            r#""\u00e9\/ \"\n \u0041\n""#,
        ),
        (
            r#""\u0061\u0062\u0063""#,
            json!([{"old": "b", "new": "x"}]),
            r#""\u0061x\u0063""#,
        ),
        (
            r#""\u0061\u0062\u0063""#,
            json!([{"old": "b", "new": ""}, {"old": "ac", "new": "ca"}]),
            r#""ca""#,
        ),
        (
            r#""aXbXc\t""#,
            json!([{"old": "X", "new": "XX", "all": true}, {"old": "bX", "new": "y"}]),
            r#""aXXyXc\t""#,
        ),
        (
            r#""\ud83d\ude00 \ud800""#,
            json!([{"old": " ", "new": "-"}]),
            r#""\ud83d\ude00-\ud800""#,
        ),
        // Two halves that were apart do not become one character.
        (
            r#""\ud83dX\ude00""#,
            json!([{"old": "X", "new": ""}]),
            "\"\\ud83d\u{fffd}\"",
        ),
        (
            r#""\\ud83dX\ude00""#,
            json!([{"old": "X", "new": ""}]),
            r#""\\ud83d\ude00""#,
        ),
        (r#""aaa""#, json!([{"old": "aa", "new": "b"}]), r#""ba""#),
        (r#" "a" "#, json!([]), r#""a""#),
    ];
    for (json, edits, expected) in cases {
        assert_eq!(edited(json, &edits).unwrap(), expected, "{json} {edits}");
    }
}

/// Characters with their spelling in JSON.
fn spelled() -> impl Strategy<Value = Vec<(char, &'static str)>> {
    let one = select(vec![
        ('a', "a"),
        ('a', "\\u0061"),
        ('b', "b"),
        ('\n', "\\n"),
        ('\n', "\\u000A"),
        ('é', "é"),
        ('é', "\\u00E9"),
        ('/', "\\/"),
        ('"', "\\\""),
        ('😀', "\\ud83d\\ude00"),
        ('😀', "😀"),
    ]);
    vec(one, 0..40)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Edits do to the text what `str::replace` does, and all other characters keep their spelling.
    #[test]
    fn edits_replace(spelled in spelled(), edits in vec(("[abé\n/]{1,2}", "[ab\"é\n]{0,3}", any::<bool>()), 1..4)) {
        let mut text: String = spelled.iter().map(|(c, _)| c).collect();
        let raw: String = spelled.iter().map(|(_, raw)| *raw).collect();
        // Each character with its spelling; characters that an edit brings have that of `escape_into`.
        let mut pieces: Vec<(char, String)> = spelled.iter().map(|(c, raw)| (*c, (*raw).to_owned())).collect();
        let mut fails = false;
        let edits: Vec<_> = edits.into_iter().filter(|(old, new, _)| old != new).collect();
        for (old, new, all) in &edits {
            let count = text.matches(old.as_str()).count();
            fails |= count == 0 || (count > 1 && !all);
            if fails {
                break;
            }
            text = text.replace(old.as_str(), new);
            let old: Vec<char> = old.chars().collect();
            let mut next = Vec::new();
            let mut at = 0;
            while at < pieces.len() {
                let is_here = pieces.len() - at >= old.len() && old.iter().zip(&pieces[at..]).all(|(c, piece)| *c == piece.0);
                if is_here {
                    next.extend(new.chars().map(|c| (c, json!(c.to_string()).to_string().trim_matches('"').replace("\\\\\"", "\\\""))));
                    at += old.len();
                } else {
                    next.push(pieces[at].clone());
                    at += 1;
                }
            }
            for piece in &mut next {
                if piece.0 == '"' && piece.1 == "\\" {
                    piece.1.push('"');
                }
            }
            pieces = next;
        }
        let edits: Vec<_> = edits.iter().map(|(old, new, all)| json!({"old": old, "new": new, "all": all})).collect();
        let found = edited(&format!("\"{raw}\""), &json!(edits));
        if fails {
            prop_assert!(found.is_err());
        } else {
            let found = found.unwrap();
            prop_assert_eq!(serde_json::from_str::<String>(&found).unwrap(), text);
            let expected: String = pieces.iter().map(|(_, raw)| raw.as_str()).collect();
            prop_assert_eq!(found, format!("\"{expected}\""));
        }
    }

    /// The same where each character has one spelling: escapes and what follows them are not taken for one another.
    #[test]
    fn edits_replace_where_nothing_is_escaped_in_vain(text in "[anbu/\\\\\"\n\t]{0,40}", edits in vec(("[anbu\\\\\"\n\t]{1,3}", "[anu\\\\\"\n\u{1}]{0,3}", any::<bool>()), 1..4)) {
        let before = json!(text).to_string();
        let mut after = Some(text);
        let edits: Vec<_> = edits.into_iter().filter(|(old, new, _)| old != new).collect();
        for (old, new, all) in &edits {
            after = after.filter(|text| {
                let count = text.matches(old.as_str()).count();
                count == 1 || count > 1 && *all
            });
            after = after.map(|text| text.replace(old.as_str(), new));
        }
        let edits: Vec<_> = edits.iter().map(|(old, new, all)| json!({"old": old, "new": new, "all": all})).collect();
        let found = edited(&before, &json!(edits));
        prop_assert_eq!(found.ok(), after.map(|text| json!(text).to_string()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// A miss says nothing that is not in the text, at most 200 characters of it.
    #[test]
    fn what_is_shown_is_of_the_text(text in "[a-d \n’'é\\\\]{0,600}", old in "[a-d \n’'é\\\\]{1,500}", repeat in 1..8_usize) {
        let (text, old) = (text.repeat(repeat), old.repeat(repeat));
        let Err(error) = edited(&json!(text).to_string(), &json!([{"old": old, "new": "\u{1}"}])) else {
            return Ok(());
        };
        match error.kind {
            EditErrorKind::NoOccurrence { nearest: Some(nearest) } => {
                prop_assert!(text.contains(&nearest.passage));
                prop_assert!(!nearest.passage.is_empty() && nearest.passage.chars().count() <= 200);
                prop_assert!(nearest.line <= text.lines().count().max(1));
            }
            EditErrorKind::NoOccurrence { nearest: None } => {}
            EditErrorKind::ManyOccurrences { count, first } => {
                prop_assert_eq!(count, text.matches(old.as_str()).count());
                let shown: usize = first.iter().map(|place| place.before.chars().count() + place.after.chars().count()).sum();
                prop_assert!(shown <= 200 && !first.is_empty());
                for place in first {
                    let around = format!("{}{old}{}", place.before, place.after);
                    prop_assert!(text.contains(&around));
                }
            }
            other => prop_assert!(false, "{:?}", other),
        }
    }
}

/// A page of prose with a line for each number.
fn page(lines: usize) -> String {
    let line = |n: usize| {
        format!(
            "Line {n}: the quick brown fox jumps over dog number {}.\n",
            n * 7919 % 104_729
        )
    };
    (0..lines).map(line).collect()
}

#[test]
fn the_nearest_passage_is_found() {
    let text = format!(
        "{}He said: “It’s   done —\n\tat last”, she wrote.\nfn main() {{\n    let total_count = compute(items);\n    return total_count;\n}}\n{}",
        page(40),
        page(30)
    );
    let cases = [
        // Quotes, blanks, dashes.
        ("\"It's done - at last\"", "“It’s   done —\n\tat last”"),
        // Case.
        ("HE SAID:", "He said:"),
        // Escapes that were written out.
        ("fn main() {\\n    let total", "fn main() {\n    let total"),
        // Indentation.
        (
            "fn main() {\n  let total_count = compute(items);",
            "fn main() {\n    let total_count = compute(items);",
        ),
        // A word is another.
        (
            "let total_sum = compute(items);",
            "let total_count = compute(items);",
        ),
        // A word is missing.
        (
            "He said: It’s done at last",
            "He said: “It’s   done —\n\tat last",
        ),
        // A wrong ending.
        ("return total_count }", "return total_count;\n}"),
        // Most lines are alike: the one with that number is the nearest.
        (
            "Line 7: the quick brown cat jumps over dog number 55433.",
            "Line 7: the quick brown fox jumps over dog number 55433.",
        ),
    ];
    for (old, expected) in cases {
        let found = nearest(&text, old).unwrap_or_else(|| panic!("{old}"));
        assert_eq!(found.passage, expected);
        let at = text.find(expected).unwrap();
        assert_eq!(found.line, text[..at].matches('\n').count() + 1, "{old}");
    }
    for old in [
        "nothing that is like anything in this story about ships",
        "§",
        "zzzzzz",
        " \n ",
    ] {
        assert_eq!(nearest("some text, and more of it", old), None, "{old}");
    }
}

/// Who quotes a part of a word would keep the rest of it.
#[test]
fn a_passage_is_of_whole_words() {
    let text = "Boats:\nThe ferry to the island leaves at eight. No other does.\n";
    let whole = "The ferry to the island leaves at eight.";
    for (old, expected) in [
        ("The ferry to the island leaves at 8.", whole),
        ("A ferry to the island leaves at eight.", whole),
        ("island leaves at eigth", "island leaves at eight"),
        ("isle leaves at eight", "island leaves at eight"),
    ] {
        assert_eq!(nearest(text, old).unwrap().passage, expected, "{old}");
    }
}

#[test]
fn of_a_long_passage_the_first_difference_is_shown() {
    let text = page(400);
    let start = text.find("Line 20:").unwrap();
    let end = text.find("Line 300:").unwrap();
    let old = text[start..end].replace("Line 222: the quick", "Line 222: the slow");
    let found = nearest(&text, &old).unwrap();
    assert!(
        found.passage.contains("Line 222: the quick brown"),
        "{found:?}"
    );
    assert!(found.passage.chars().count() <= 200);
    // Blanks at the ends of lines.
    let old = text[start..end].replace(".\n", ". \n");
    assert!(
        nearest(&text, &old)
            .unwrap()
            .passage
            .starts_with("Line 20:")
    );
    let old = text[start..end].replace("Line 222:", "Line  222:");
    let found = nearest(&text, &old).unwrap();
    assert!(
        found.passage.contains("Line 222: the quick brown"),
        "{found:?}"
    );
}
