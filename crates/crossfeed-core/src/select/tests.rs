use super::{
    readings::strip_prefix,
    {AnsweringView, SelectOptions, Selection, Selector, Selectors},
};
use crate::{canonical::Views, error::SelectError, paths::Outline};
use crossfeed_jmespath::{Arena, Budget, View};
use crossfeed_json::Document;
use std::{cell::Cell, num::NonZeroUsize};

/// Selects from a value and gives what `see` makes of the outcome.
fn select<T>(
    json: &str,
    expression: &str,
    see: impl FnOnce(Result<Selection<'_>, SelectError>) -> T,
) -> T {
    let document = Document::new(json.to_owned());
    let root = document.root().unwrap();
    let view = View::from(root);
    let views = Views {
        canonical: view.clone(),
        bare: view,
        envelope: None,
    };
    let options = SelectOptions::default();
    let arena = Arena::new();
    let budget = Budget::new(&options.limits, root.value_count());
    let selector = Selector {
        options: &options,
        compiled: &Selectors::new(NonZeroUsize::MIN),
        views: &views,
        outline: &Outline::default(),
        arena: &arena,
        budget: &budget,
        explanations: &Cell::new(1),
        telemetry: None,
    };
    see(selector.select(expression))
}

fn written(view: &View<'_>) -> String {
    let mut json = Vec::new();
    view.write(&mut json, usize::MAX).unwrap();
    String::from_utf8(json).unwrap()
}

const ITEMS: &str = r#"{"items": [{"name": "n1", "status": "active", "score": 0.9}, {"name": "n2", "status": "done", "score": 0.2}], "x-y": 1}"#;

fn check(expression: &str, expected: &str) {
    select(ITEMS, expression, |found| {
        assert_eq!(written(&found.unwrap().view), expected, "{expression}");
    });
}

fn check_error(expression: &str, code: &str) {
    select(ITEMS, expression, |found| {
        assert_eq!(found.unwrap_err().code().as_str(), code, "{expression}");
    });
}

#[test]
fn what_parses_is_evaluated_as_written() {
    check("items[0].name", "\"n1\"");
    check("items[?status == name].name", "[]");
    check("items[?status != active].name", r#"["n1","n2"]"#);
}

#[test]
fn what_selects_nothing_is_repaired() {
    check("items[?status == \"active\"].name", r#"["n1"]"#);
    check("items[?score > 0.5].name", r#"["n1"]"#);
    check("$.x-y", "1");
    check(" result.items[-1].name ", "\"n2\"");
}

#[test]
fn each_error_has_its_code() {
    check_error(" ", "select.invalid");
    check_error("items[", "select.invalid");
    check_error("sum(items)", "select.invalid");
    check_error("nope", "select.matched_nothing");
    check_error("items[0].__proto__", "select.forbidden");
    check_error(&"a".repeat(1001), "select.too_long");
    check_error(&"(".repeat(200), "select.too_costly");
}

#[test]
fn a_repair_that_is_too_long_or_forbidden_is_no_error_of_what_parses() {
    // Each word gains two quotes by its repair, which makes it longer than 1,000 characters.
    let words = vec!["status==nope"; 70].join("||");
    let long = format!("items[?{words}].name");
    assert!(long.len() < 1000 && long.len() + 140 > 1000);
    check(&long, "[]");
}

#[test]
fn the_length_of_an_error_quotes_what_was_written() {
    let long = format!("result.{}", "a".repeat(1001));
    select(ITEMS, &long, |found| {
        let error = found.unwrap_err().to_string();
        assert!(error.starts_with("selector `result.aaa"), "{error}");
        assert!(
            error.ends_with("has 1001 characters, the limit is 1000"),
            "{error}"
        );
    });
}

#[test]
fn a_prefix_is_stripped() {
    assert_eq!(strip_prefix("result.a"), Some("a"));
    assert_eq!(strip_prefix("result [0]"), Some("[0]"));
    assert_eq!(strip_prefix("result"), Some("@"));
    assert_eq!(strip_prefix("results"), None);
    assert_eq!(strip_prefix("result | a"), None);
}

#[test]
fn only_so_many_misses_are_explained() {
    let document = Document::new(ITEMS.to_owned());
    let view = View::from(document.root().unwrap());
    let views = Views {
        canonical: view.clone(),
        bare: view,
        envelope: None,
    };
    let options = SelectOptions::default();
    let (arena, left) = (Arena::new(), Cell::new(1));
    let budget = Budget::new(&options.limits, 10);
    let selector = Selector {
        options: &options,
        compiled: &Selectors::new(NonZeroUsize::MIN),
        views: &views,
        outline: &Outline::default(),
        arena: &arena,
        budget: &budget,
        explanations: &left,
        telemetry: None,
    };
    let nearest = |expression| match selector.select(expression).unwrap_err() {
        SelectError::MatchedNothing { nearest, .. } => nearest,
        other => panic!("{other}"),
    };
    assert_eq!(nearest("item"), ["items"]);
    assert_eq!(nearest("item"), [] as [&str; 0]);
}

fn check_advice(json: &str, expression: &str, advice: &str) {
    select(json, expression, |found| {
        let error = found.unwrap_err();
        assert!(
            error.advice().ends_with(advice),
            "{expression}: {}",
            error.advice()
        );
    });
}

#[test]
fn a_step_too_far_is_taken_back() {
    let json = r#"{"total": 5, "items": [{"url": "u"}, {"url": "v"}], "a": {"b": null}}"#;
    check_advice(json, "total.value", "try: total");
    check_advice(json, "items[0].url.href", "try: items[0].url");
    check_advice(json, "a.b.c", "try: a.b");
}

#[test]
fn positions_are_those_of_what_was_written() {
    for (expression, position) in [
        ("items[", 7),
        ("result.items[", 14),
        (" result . items[", 17),
        ("  items[", 9),
    ] {
        select(ITEMS, expression, |found| {
            let text = found.unwrap_err().to_string();
            assert!(
                text.ends_with(&format!("at character {position}")),
                "{text}"
            );
        });
    }
}

#[test]
fn a_text_is_named_as_what_no_selector_reaches_into() {
    check_advice(
        r#""commit 4b1\nAuthor: Ada""#,
        "commits[0]",
        "found: string(22); selectors do not reach into a text\ntry: @",
    );
}

#[test]
fn no_long_selector_is_offered() {
    let key = "q".repeat(300);
    check_advice(&format!("{{\"{key}\": 1}}"), "qq", "try: @");
}

/// What a selector gives on a value that a model is shown within an object, and whether that object
/// answered.
fn check_shown(json: &str, expression: &str, expected: &str, shown: bool) {
    select(json, expression, |found| {
        let found = found.unwrap();
        assert_eq!(written(&found.view), expected, "{expression} on {json}");
        let answered = found.report.view == AnsweringView::Shown;
        assert_eq!(answered, shown, "{expression} on {json}");
    });
}

#[test]
fn what_is_shown_within_an_object_is_found_by_its_name() {
    let list = r#"[{"title": "a", "score": 0.9}, {"title": "b", "score": 0.2}]"#;
    check_shown(list, "value[0].title", "\"a\"", true);
    check_shown(list, "result.value[1].title", "\"b\"", true);
    check_shown(list, "value[?score > 0.5].title", "[\"a\"]", true);
    check_shown(list, "length(value)", "2", true);
    check_shown(list, "value[?score > `1`]", "[]", true);
    check_shown(list, "join(', ', value[*].title)", "\"a, b\"", true);
    check_shown(list, "map(&title, value)", "[\"a\",\"b\"]", true);
    check_shown(list, "\"value\"[0].title", "\"a\"", true);
    check_shown(list, "value[array-2-items][0].title[string]", "\"a\"", true);
    check_shown("5", "value", "5", true);
    check_shown("null", "value", "null", true);
    check_shown("\"a text\"", "text", "\"a text\"", true);
}

#[test]
fn what_was_found_before_is_found_as_before() {
    check_shown(r#"[{"value": 1}]"#, "[0].value", "1", false);
    check_shown(r#"[{"value": 1}]"#, "[?value > `5`]", "[]", false);
    check_shown(r#"{"value": [1]}"#, "value[0]", "1", false);
    check_shown(r#"[1]"#, "[0]", "1", false);
    // Nothing that the model may have been shown has these names.
    for (json, expression) in [
        ("[1]", "keys(@)"),
        ("[1]", "values(@)"),
        ("5", "values(@)"),
        ("[1]", "keys(@)[?@=='value']"),
        ("[1]", "keys(@)[?value]"),
        ("[1]", "keys(@) | [value]"),
        ("[1]", "contains(values(@), value)"),
        ("\"x\"", "values(@) | [0].text"),
        ("[1]", "values(value"),
        ("[1]", "values"),
        ("[1]", "'value'.x"),
        ("[1]", "*"),
        ("[1]", "text"),
        ("\"x\"", "value"),
        ("{\"a\": 1}", "value.a"),
    ] {
        select(json, expression, |found| {
            assert!(found.is_err(), "{expression}")
        });
    }
}

#[test]
fn a_miss_on_what_is_shown_is_the_miss_on_the_value() {
    let list = r#"[{"title": "a"}]"#;
    check_advice(list, "value[0].titel", "try: [0].title");
    select(list, "value[", |found| {
        let error = found.unwrap_err().to_string();
        assert!(error.ends_with("at character 7"), "{error}");
    });
}

#[test]
fn no_selector_is_offered_that_is_refused() {
    let json = r#"{"constructor": 1, "constructors": 2}"#;
    check_advice(json, "construktor", "try: constructors");
}
