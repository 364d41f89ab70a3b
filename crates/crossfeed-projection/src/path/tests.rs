use super::{MAX_PATH_CHARS, MAX_PATH_STEPS, MAX_PATHS, Path, PathErrorKind as Kind, Step};
use crossfeed_wire::ErrorCode;
use proptest::{collection::vec, prelude::*};

/// Reads `text` and prints it; for an error its kind and offset.
fn check(text: &str, expected: &str) {
    let outcome = match Path::parse(text) {
        Ok(path) => path.to_string(),
        Err(error) => format!("{:?} {}", error.kind, error.offset),
    };
    assert_eq!(outcome, expected, "{text:?}");
}

fn check_list(text: &str, expected: &[&str]) {
    let outcome: Vec<String> = match Path::parse_list(text) {
        Ok(paths) => paths.iter().map(ToString::to_string).collect(),
        Err(error) => vec![format!("{:?} {}", error.kind, error.offset)],
    };
    assert_eq!(outcome, expected, "{text:?}");
}

#[test]
fn names_are_bare_where_they_can_be() {
    check("a.b", "a.b");
    check(
        "$ref.@type.foo-bar.ünï.0.__proto__",
        "$ref.@type.foo-bar.ünï.0.__proto__",
    );
    check("a\\b.{x}.c:d", "a\\b.{x}.c:d");
    check(r#""a"."b c"."d.e""#, r#"a."b c"."d.e""#);
    check(r#""""#, r#""""#);
    check(r#"a."".b"#, r#"a."".b"#);
    check(r#""\u0061\n\"\\""#, r#""a\n\"\\""#);
    check("  a.b ", "a.b");
}

#[test]
fn brackets_stand_anywhere_but_behind_a_dot() {
    check("rows[][0].id", "rows[][0].id");
    check("[*].id", "[].id");
    check("[0]", "[0]");
    check("*.x[]", "*.x[]");
    check("[][*][7]", "[][][7]");
    check("a.[0]", "EmptySegment 2");
}

#[test]
fn faults_are_named_at_their_byte() {
    check("", "Empty 0");
    check("   ", "Empty 3");
    check(".a", "EmptySegment 0");
    check("a.", "EmptySegment 2");
    check("a..b", "EmptySegment 2");
    check("a.\"b", "UnclosedQuote 2");
    check("\"a\\\"", "UnclosedQuote 0");
    check(r#""\x""#, "InvalidQuotedName 0");
    check(r#""\ud800""#, "InvalidQuotedName 0");
    check("\"a\nb\"", "InvalidQuotedName 0");
    check("a[", "UnclosedBracket 1");
    check("a[0", "UnclosedBracket 1");
    check("a[0.b]", "UnclosedBracket 1");
    check("a[-1]", "NegativeIndex 1");
    check("a[99999999999]", "HugeIndex 1");
    check("a[9999999999]", "a[9999999999]");
    check("a[x]", "InvalidIndex 1");
    check(r#"b["c"]"#, "InvalidIndex 1");
    check("b['c.d']", "InvalidIndex 1");
    check(r#"b["c"#, "InvalidIndex 1");
    check("a[01]", "InvalidIndex 1");
    check("a[ 0 ]", "InvalidIndex 1");
    check("a[-]", "InvalidIndex 1");
    check("a b", "Unexpected 1");
    check("a]", "Unexpected 1");
    check("a*", "Unexpected 1");
    check("**", "Unexpected 1");
    check("a[0]b", "Unexpected 4");
    check("\"a\"b", "Unexpected 3");
    check("a,b", "Unexpected 1");
    check("ü\u{7f}", "Unexpected 2");
}

#[test]
fn a_comma_splits_outside_quotes() {
    check_list("", &[]);
    check_list(" \t", &[]);
    check_list("a, b.c ,\"d,e\",[0]", &["a", "b.c", "\"d,e\"", "[0]"]);
    check_list("a,,b", &["Empty 2"]);
    check_list(",", &["Empty 0"]);
    check_list("a,", &["Empty 2"]);
    check_list("a,b c", &["Unexpected 3"]);
    check_list("a[0,1]", &["UnclosedBracket 1"]);
}

#[test]
fn limits_have_their_own_code() {
    let fault = |text: &str| Path::parse(text).map_err(|error| (error.kind, error.code()));
    let name = "ü".repeat(MAX_PATH_CHARS);
    assert!(fault(&name).is_ok());
    let limit = ErrorCode::LimitExceeded;
    assert_eq!(fault(&format!("{name}ü")), Err((Kind::TooLong, limit)));
    let deep = vec!["a"; MAX_PATH_STEPS].join(".");
    assert!(fault(&deep).is_ok());
    assert_eq!(
        fault(&format!("{deep}[]")),
        Err((Kind::TooManySteps, limit))
    );
    let many = vec!["a"; MAX_PATHS].join(",");
    assert_eq!(
        Path::parse_list(&many).map(|paths| paths.len()),
        Ok(MAX_PATHS)
    );
    let error = Path::parse_list(&format!("{many},a")).unwrap_err();
    assert_eq!((error.kind, error.code()), (Kind::TooManyPaths, limit));
    assert!(error.to_string().len() < 300);
    assert_eq!(
        fault("a..b"),
        Err((Kind::EmptySegment, ErrorCode::ProjectionInvalid))
    );
}

#[test]
fn a_long_text_is_refused_at_once() {
    let names = format!("\"{}\"", "\\".repeat(10_000_000));
    assert!(Path::parse(&names).is_err());
    assert!(Path::parse(&"[".repeat(1_000_000)).is_err());
    assert!(Path::parse(&"[0]".repeat(1_000_000)).is_err());
}

#[test]
fn names_in_brackets_are_told_how_they_are_written() {
    for text in [r#"b["c"]"#, "b['c']", "b[c]"] {
        let advice = Path::parse(text).unwrap_err().advice();
        assert!(advice.contains("`b.c`"), "{text}: {advice}");
    }
}

#[test]
fn steps_make_paths() {
    assert_eq!(Path::from_steps([]).map_err(|e| e.kind), Err(Kind::Empty));
    let long = Step::Key("x".repeat(MAX_PATH_CHARS + 1));
    assert_eq!(
        Path::from_steps([long]).map_err(|e| e.kind),
        Err(Kind::TooLong)
    );
    let deep = vec![Step::EachKey; MAX_PATH_STEPS + 1];
    assert_eq!(
        Path::from_steps(deep).map_err(|e| e.kind),
        Err(Kind::TooManySteps)
    );
    assert_eq!(Path::key("a.b").to_string(), "\"a.b\"");
    assert_eq!(Path::key("a.b").as_name(), Some("a.b"));
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        any::<String>().prop_map(Step::Key),
        "[a-c.*\"\\\\, \\[\\]]{0,4}".prop_map(Step::Key),
        Just(Step::EachKey),
        Just(Step::EachItem),
        (0..10_000_000_000_usize).prop_map(Step::Index),
    ]
}

proptest! {
    #[test]
    fn what_is_printed_reads_back(steps in vec(step(), 1..8)) {
        let path = Path::from_steps(steps).unwrap();
        prop_assert_eq!(Path::parse(&path.to_string()), Ok(path));
    }

    #[test]
    fn a_printed_list_reads_back(paths in vec(vec(step(), 1..4), 0..6)) {
        let paths: Vec<Path> = paths.into_iter().map(|p| Path::from_steps(p).unwrap()).collect();
        let texts: Vec<String> = paths.iter().map(ToString::to_string).collect();
        prop_assert_eq!(Path::parse_list(&texts.join(" , ")), Ok(paths));
    }

    #[test]
    fn any_text_is_read_or_refused_at_a_byte_of_it(text in any::<String>()) {
        judge(&text)?;
    }

    #[test]
    fn any_likely_text_too(text in "[ab.*\"\\\\,\\[\\]0-9é -]{0,12}") {
        judge(&text)?;
    }
}

/// Reading gives a path whose print is stable, or an error that points into the text.
fn judge(text: &str) -> Result<(), TestCaseError> {
    match Path::parse(text) {
        Ok(path) => {
            let printed = path.to_string();
            prop_assert!(printed.chars().count() <= text.chars().count());
            prop_assert_eq!(Path::parse(&printed), Ok(path.clone()));
            prop_assert_eq!(Path::parse_list(text), Ok(vec![path]));
        }
        Err(error) => {
            prop_assert!(text.is_char_boundary(error.offset));
            prop_assert!(!error.advice().is_empty());
        }
    }
    if let Err(error) = Path::parse_list(text) {
        prop_assert!(text.is_char_boundary(error.offset));
    }
    Ok(())
}
