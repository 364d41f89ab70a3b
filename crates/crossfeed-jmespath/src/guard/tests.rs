use proptest::prelude::*;

use super::{MAX_NESTING, MAX_OPERATORS, Patterns, is_bounded, nesting, operators};
use crate::token::Tokens;

#[track_caller]
fn check_nesting(input: &str, expected: usize) {
    assert_eq!(nesting(input), expected, "{input}");
}

#[test]
fn brackets_and_prefixes_nest() {
    check_nesting("", 0);
    check_nesting("a", 0);
    check_nesting("((a))", 2);
    check_nesting("(a) || (b)", 2);
    check_nesting("!!a", 2);
    check_nesting("f(&a)", 2);
    check_nesting("[a, b, [c]]", 2);
    check_nesting("{a: {b: c}}", 2);
    check_nesting("[!a, !b, !c]", 2);
    check_nesting("'((('", 0);
    check_nesting("\"(((\" || `\"(((\"`", 1);
}

#[test]
fn chains_do_not_nest() {
    for (unit, expected) in [
        (".b", 1),
        ("|b", 1),
        ("||b", 1),
        ("&&b", 1),
        ("==b", 1),
        ("[0]", 0),
        ("[]", 1),
        ("[].b", 2),
        ("[0].b", 1),
        ("[*].b|c", 3),
        ("[?b]|c", 3),
    ] {
        check_nesting(&format!("a{}", unit.repeat(500)), expected);
    }
}

#[test]
fn list_projections_nest() {
    check_nesting("a[*][*][*]", 3);
    check_nesting("a[*].b[*].c", 4);
    check_nesting("a.*.*", 3);
    check_nesting("a[:][:]", 4);
    check_nesting("a[?b][?c]", 3);
    check_nesting("a[?b[?c]]", 4);
    check_nesting("items[?score > `0.8` && name == 'x'].url", 4);
}

#[test]
fn hostile_nesting_is_seen() {
    for unit in [
        "(", "[", "[?", "{a:", "f(", "!", "& ", "a[*].", "a[*]", "a.*.", "a[:].", "[[?",
    ] {
        let text = unit.repeat(5000);
        assert!(nesting(&format!("{text}a")) > MAX_NESTING, "{unit}");
    }
    for text in [
        "]]]])))}}}",
        "::::,,,,",
        "[[[]]]]]]",
        "&&&||!",
        "\0🦀[?\"",
        "[1",
        "[:",
        "[*",
    ] {
        let _ = nesting(text);
    }
}

#[test]
fn operators_are_counted() {
    assert_eq!(operators("a"), 0);
    assert_eq!(operators("a.b[0] | c[*].d || !e"), 8);
    assert_eq!(operators("f(a, b)"), 1);
    assert_eq!(operators("'a.b.c'"), 0);
}

/// Parses and drops on a small stack; what overflows it ends the process.
fn parse_on_small_stack(texts: Vec<String>) {
    let thread = std::thread::Builder::new().stack_size(1024 * 1024);
    let run = move || {
        for text in texts {
            drop(jmespath::parse(&text));
        }
    };
    thread.spawn(run).unwrap().join().unwrap();
}

/// `before`, then `unit` as often as the limits allow, then a field where there was nothing before, and what closes the units.
fn as_deep_as_allowed(before: &str, unit: &str, closing: &str) -> String {
    let build = |count: usize| {
        let inner = if before.is_empty() { "a" } else { "" };
        before.to_owned() + &unit.repeat(count) + inner + &closing.repeat(count)
    };
    let (mut fits, mut too_many) = (0, MAX_OPERATORS + 1);
    while fits + 1 < too_many {
        let middle = (fits + too_many) / 2;
        if is_bounded(&Tokens::new(&build(middle))) {
            fits = middle;
        } else {
            too_many = middle;
        }
    }
    build(fits)
}

#[test]
fn the_limits_fit_a_small_stack() {
    let shapes = [
        ("(", ")"),
        ("[?", "]"),
        ("{a:", "}"),
        ("[", "]"),
        ("f(", ")"),
        ("!", ""),
        ("& ", ""),
        ("f(&", ")"),
        ("b.c[?", "]"),
        ("b.{a:", "}"),
        ("b.[", "]"),
        ("b==[?", "]"),
        ("b.f(", ")"),
        ("(b[?", "])"),
        ("b.[c[?", "]]"),
        ("b[:].", ""),
        ("b[*].", ""),
        ("b[?c].", ""),
        ("b[].", ""),
        ("*.", ""),
        ("b[:].{a:", "}"),
        ("b[:].f(", ")"),
        ("b||c&&d==!(", ")"),
        ("b|", ""),
        ("b.", ""),
        ("b==", ""),
        ("b||", ""),
        ("b[0].", ""),
        ("[:].c[?", "]"),
    ];
    let mut texts: Vec<String> = shapes
        .iter()
        .map(|(unit, closing)| as_deep_as_allowed("", unit, closing))
        .collect();
    for unit in [
        "[*]", "[:]", "[]", "[0]", "[?b]", ".*", "[][0]", "[?b][:]", "[?b][*]", "[:][*].*",
        "[][?b]", "[]|[?b]", ".b[]", "[:].b",
    ] {
        texts.push(as_deep_as_allowed("a", unit, ""));
    }
    parse_on_small_stack(texts);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_shape_within_the_limits_fits_a_small_stack(
        units in prop::collection::vec(prop::sample::select(vec![
            ("(", ")"), ("[?", "]"), ("{a:", "}"), ("[", "]"), ("f(", ")"), ("!", ""), ("& ", ""), ("b[?", "]"), ("b.c[?", "]"),
            ("b.{a:", "}"), ("b.[", "]"), ("b==", ""), ("b||", ""), ("b&&", ""), ("b|", ""), ("b[:].", ""), ("b[*].", ""),
            ("b[?c].", ""), ("b[].", ""), ("*.", ""), ("b.*.", ""), ("b.", ""), ("b[0].", ""), ("[:][?", "]"), ("[*][?", "]"),
            ("b.c[:].", ""), ("b[:].c[?", "]"), ("[b,", "]"), ("{k:v,a:", "}"), ("b[?c][:].", ""),
        ]), 1..6),
    ) {
        let opening: String = units.iter().map(|(open, _)| *open).collect();
        let closing: String = units.iter().rev().map(|(_, close)| *close).collect();
        let text = as_deep_as_allowed("", &opening, &closing);
        prop_assert!(nesting(&text) <= MAX_NESTING);
        parse_on_small_stack(vec![text]);
    }

    #[test]
    fn the_guard_survives_any_text(text in "[\\PC\u{0}]{0,64}") {
        let _ = (nesting(&text), operators(&text), Patterns::default().check(&text));
        let tokens = Tokens::new(&text);
        let mut at = 0;
        for index in 0..tokens.len() {
            let token = tokens.get(index).unwrap();
            prop_assert!(token.start >= at && token.end > token.start);
            prop_assert!(text[at..token.start].trim().is_empty());
            at = token.end;
        }
        prop_assert!(text[at..].trim().is_empty());
    }
}

/// The pattern found and its place.
#[track_caller]
fn check_pattern(input: &str, expected: Option<(&str, usize)>) {
    let found = Patterns::default().check(input).err();
    let found = found
        .as_ref()
        .map(|found| (found.pattern.as_str(), found.offset));
    assert_eq!(found, expected, "{input}");
}

#[test]
fn forbidden_identifiers() {
    check_pattern("a.__proto__", Some(("__proto__", 2)));
    check_pattern("constructor", Some(("constructor", 0)));
    check_pattern("a[*].prototype.b", Some(("prototype", 5)));
    check_pattern("{constructor: a}", Some(("constructor", 1)));
    check_pattern("a.\"__proto__\"", Some(("__proto__", 2)));
    check_pattern("\"\\u005f_proto__\"", Some(("__proto__", 0)));
    check_pattern("a . constructor", Some(("constructor", 4)));
    check_pattern("\"constructor", Some(("constructor", 0)));
    check_pattern("constructorStandings[0].constructor_name", None);
    check_pattern("my-constructor", None);
    check_pattern("[?a == 'constructor']", None);
    check_pattern("[?a == `\"__proto__\"`]", None);
}

#[test]
fn forbidden_calls() {
    check_pattern("eval(a)", Some(("eval", 0)));
    check_pattern("a | function \n (b)", Some(("function", 4)));
    check_pattern("eval", None);
    check_pattern("a.function.b", None);
    check_pattern("evaluate(a)", None);
    check_pattern("'eval(a)'", None);
}

#[test]
fn template_injection() {
    check_pattern("${a}", Some(("${", 0)));
    check_pattern("a.${b", Some(("${", 2)));
    check_pattern("a[?b == '${c}']", None);
    check_pattern("\"${a}\"", Some(("${", 0)));
    check_pattern("{\"${x}\": a}", Some(("${", 1)));
    check_pattern("a.\"\\u0024{x\"", Some(("${", 2)));
    check_pattern("[?a == \"x${y}\"]", Some(("${", 7)));
    check_pattern("`\"${a}\"`", None);
    check_pattern("{a: $}", None);
}

#[test]
fn patterns_can_be_chosen() {
    let patterns = Patterns::default()
        .with_identifiers(vec!["secret".to_owned()])
        .with_calls(vec!["map".to_owned()])
        .with_template_injection(false);
    assert_eq!(patterns.check("constructor | eval(${a})"), Ok(()));
    let found = patterns.check("a.secret").unwrap_err();
    assert_eq!(
        found.to_string(),
        "`secret` at byte 2 of the expression is forbidden"
    );
    assert!(patterns.check("map(&a, b)").is_err());
}
