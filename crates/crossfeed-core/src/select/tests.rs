use super::{
    readings::strip_prefix,
    {AnsweringView, OFFERED, SelectOptions, Selection, Selector, Selectors},
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
        declared: None,
        outline: &Outline::default(),
        arena: &arena,
        budget: &budget,
        explanations: &Cell::new(1),
        offers: OFFERED,
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
        declared: None,
        outline: &Outline::default(),
        arena: &arena,
        budget: &budget,
        explanations: &left,
        offers: OFFERED,
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
        "found: string(22); paths do not reach into a text\ntry: lines(@)[0], lines(@), @",
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

const USERS: &str = r#"{"users": [
    {"id": 1, "name": "Ada", "status": "active", "score": 0.9, "address": {"city": "Paris"}, "tags": ["a", "b"], "nick": null},
    {"id": 2, "name": "Bob", "status": "done", "score": 0.2, "address": {"city": "Rome"}, "tags": ["b"], "nick": null}
], "total": 2}"#;

/// The reason and the first suggestion for a selector that gives an empty answer, which is none.
fn doubted(json: &str, expression: &str) -> (String, String) {
    select(json, expression, |found| match found {
        Err(SelectError::MatchedNothing { why, nearest, .. }) => (
            why.unwrap_or_default(),
            nearest.into_iter().next().unwrap_or_default(),
        ),
        Err(other) => (other.to_string(), other.advice()),
        Ok(found) => (written(&found.view), String::new()),
    })
}

#[test]
fn an_empty_answer_that_could_not_be_otherwise_is_none() {
    let mut wrong = Vec::new();
    let mut check = |expression, why: &str, first: &str| {
        let found = doubted(USERS, expression);
        if (found.0.as_str(), found.1.as_str()) != (why, first) {
            wrong.push((expression, found));
        }
    };
    check(
        "users[?city=='Paris'].name",
        "no item has `city`; `address.city` exists",
        "users[?address.city=='Paris'].name",
    );
    check(
        "users[?score > '0.5'].name",
        "`score` is a number and is compared with the string '0.5'",
        "users[?score > `0.5`].name",
    );
    check(
        "users[?status == 'Active'].name",
        "`status` is never 'Active'; it is 'active' in 1 item",
        "users[?status == 'active'].name",
    );
    check(
        "users[?name == ' Ada'].id",
        "`name` is never ' Ada'; it is 'Ada' in 1 item",
        "users[?name == 'Ada'].id",
    );
    check(
        "users[?contains(name, 'BO')].id",
        "`name` is never 'BO'; it is 'Bo' in 1 item",
        "users[?contains(name, 'Bo')].id",
    );
    check(
        "users[?contains(tags, 'A')].id",
        "`tags` is never 'A'; it is 'a' in 1 item",
        "users[?contains(tags, 'a')].id",
    );
    check(
        "users[?contains('B', name)].id",
        "`name` is searched for in 'B'; it has 'B' in 1 item",
        "users[?contains(name, 'B')].id",
    );
    check(
        "users[?contains('a', tags)].id",
        "`tags` is searched for in 'a'; it has 'a' in 1 item",
        "users[?contains(tags, 'a')].id",
    );
    check(
        "users[?id == '2'].name",
        "`id` is a number and is compared with the string '2'",
        "users[?id == `2`].name",
    );
    check(
        "users[?tags == 'a'].name",
        "`tags` is an array and is compared with the string 'a'",
        "users[?contains(tags, 'a')].name",
    );
    check(
        "users[*].name[0].x",
        "`[0]` is read from something that is not a list, after a projection from each item",
        "users[*].name",
    );
    check(
        "users[?name == `1`]",
        "`name` is a string and is compared with the number `1`",
        "users[?name == '1']",
    );
    check(
        "users[*].naem",
        "no item has `naem`; `name` exists",
        "users[*].name",
    );
    check(
        "length(users[?status == 'Active'])",
        "`status` is never 'Active'; it is 'active' in 1 item",
        "length(users[?status == 'active'])",
    );
    check(
        "users[?status == 'Done' && score < `0.5`] | [0].name",
        "`status` is never 'Done'; it is 'done' in 1 item",
        "users[?status == 'done' && score < `0.5`] | [0].name",
    );
    check(
        "sort_by(users[?city=='Rome'], &name)[*].id",
        "no item has `city`; `address.city` exists",
        "sort_by(users[?address.city=='Rome'], &name)[*].id",
    );
    assert_eq!(wrong, []);
}

#[test]
fn texts_of_digits_are_read_as_numbers_to_be_compared_by_size() {
    let items = r#"[{"id": "a", "p": {"price": "12.50"}}, {"id": "b", "p": {"price": "9"}}]"#;
    let check = |expression: &str, meant: &str| {
        assert_eq!(doubted(items, expression).1, meant, "{expression}");
    };
    check("[?p.price > `10`].id", "[?to_number(p.price) > `10`].id");
    check("[?p.price<=`10`].id", "[?to_number(p.price)<=`10`].id");
    check(
        "[?id == 'a' && p.price > `10`] | [0].id",
        "[?id == 'a' && to_number(p.price) > `10`] | [0].id",
    );
}

#[test]
fn an_empty_answer_that_could_be_otherwise_is_one() {
    for expression in [
        "users[?score > `1`].name",
        "users[?status == 'open'].name",
        "users[?status == 'open' || state == 'open'].name",
        "users[?nick == 'x'].name",
        "users[*].nick",
        "users[?address.city == 'Oslo'].name",
        "users[?status == 'open' && !missing].name",
        "users[?!score].name",
        "users[?tags[?@ == 'z']].name",
        "users[5:].name",
    ] {
        select(USERS, expression, |found| {
            assert_eq!(written(&found.unwrap().view), "[]", "{expression}");
        });
    }
    for (expression, expected) in [
        ("users[*].{n: nick}", r#"[{"n":null},{"n":null}]"#),
        ("users[*].{n: naem || name}", r#"[{"n":"Ada"},{"n":"Bob"}]"#),
        (
            "users[0].{n: missing || `null`, id: id}",
            r#"{"n":null,"id":1}"#,
        ),
        ("length(users[?status == 'open'])", "0"),
        (".users | .[0] | .link // .tags | .[0]", r#""a""#),
        ("users[0]?.active ?? true", "true"),
        ("users[?id == `2`][0].name", r#""Bob""#),
    ] {
        select(USERS, expression, |found| {
            assert_eq!(written(&found.unwrap().view), expected, "{expression}");
        });
    }
}

#[test]
fn a_notice_offers_projections_where_a_filter_refused_all() {
    for (expression, expected) in [
        ("users[?score > `1`].name", "users[*].name"),
        ("users[?score > `1`]", "users"),
        ("users[*].nick", "users[0].nick"),
    ] {
        select(USERS, expression, |found| {
            let notice = found.unwrap().report.notice.unwrap();
            assert_eq!(notice.nearest[0], expected, "{expression}");
        });
    }
}

#[test]
fn nulls_are_counted_in_one_walk() {
    let row = format!("[{}null]", "null,".repeat(99_999));
    let json = format!(r#"{{"rows": [{row}, {row}]}}"#);
    select(&json, "[rows[0], rows[1]]", |found| {
        assert_eq!(found.unwrap().view.len(), Some(2));
    });
}

/// What becomes of an expression: the value and its notice, or the code and the reason.
fn outcome(json: &str, expression: &str) -> String {
    select(json, expression, |found| match found {
        Ok(found) => {
            let notice = found.report.notice.map(|notice| format!(" ({notice})"));
            format!("{}{}", written(&found.view), notice.unwrap_or_default())
        }
        Err(SelectError::MatchedNothing { why, .. }) => {
            format!("nothing: {}", why.unwrap_or_default())
        }
        Err(error) => error.code().as_str().to_owned(),
    })
}

#[test]
fn what_is_empty_within_a_value_is_no_answer_if_it_could_not_have_been_otherwise() {
    let json = r#"{"items": [{"id": 1, "kind": "Open", "tags": [{"n": 1}]}, {"id": 2, "kind": "done", "tags": []}], "total": 2}"#;
    for (expression, expected) in [
        // No item has that kind: an answer.
        ("{a: items[?kind=='new'].id, t: total}", r#"{"a":[],"t":2}"#),
        (
            "{a: items[?kind=='open'].id, t: total}",
            "nothing: `kind` is never 'open'; it is 'Open' in 1 item",
        ),
        (
            "{a: items[?zz=='open'].id, t: total}",
            "nothing: no item has `zz`",
        ),
        ("[items[*].zz, total]", "nothing: no item has `zz`"),
        ("items[*].tags[?zz=='x']", "nothing: there is no `zz`"),
        (
            "items[*].{i: id, t: tags[*].zz}",
            "nothing: there is no `zz`",
        ),
        (
            "items[*].{i: id, t: length(tags[?zz])}",
            "nothing: there is no `zz`",
        ),
        ("map(&zz, items)", "nothing: no item has `zz`"),
        ("to_string(items[*].zz)", "nothing: no item has `zz`"),
        ("length(items[?zz=='x'])", "nothing: no item has `zz`"),
        ("length(items[?zz=='x']) > `0`", "nothing: no item has `zz`"),
        ("length(items[?kind=='new']) > `0`", "false"),
        (
            "items[?id=='1' || kind=='new']",
            "nothing: `id` is a number and is compared with the string '1'",
        ),
        (
            "{a: items[?zz=='x'] || `[]`, t: total}",
            r#"{"a":[],"t":2}"#,
        ),
        ("{a: items[?zz=='x' || id==`1`].id}", r#"{"a":[1]}"#),
    ] {
        assert_eq!(outcome(json, expression), expected, "{expression}");
    }
}

#[test]
fn what_holds_a_null_is_an_answer_with_a_notice() {
    let json = r#"{"items": [{"id": 1}], "first": 2, "result": {"items": [3]}}"#;
    for (expression, expected) in [
        (
            "result.{a: items, total: first}",
            r#"{"a":[3],"total":null} (there is no `first`)"#,
        ),
        // It holds nothing.
        (
            "items[*].{i: idd}",
            "nothing: there is no `idd`; `id` exists",
        ),
        (
            "items[*].[id, zz]",
            "[[1,null]] (there is no `zz`; try: items[*].[id, id])",
        ),
        (
            "items[0].{i: idd, f: id}",
            r#"{"i":null,"f":1} (there is no `idd`; `id` exists; try: items[0].{i: id, f: id})"#,
        ),
        ("items[*].{z: zz || `null`}", r#"[{"z":null}]"#),
    ] {
        assert_eq!(outcome(json, expression), expected, "{expression}");
    }
}

#[test]
fn a_field_in_place_of_a_text_is_told() {
    let json = r#"{"items": [{"id": 1, "status": "closed"}, {"id": 2}]}"#;
    assert_eq!(
        outcome(json, "items[?status == \"closed\"].id"),
        "[2] (it compares with a field that no item has; try: items[?status == 'closed'].id)"
    );
    // A field that is there.
    assert_eq!(outcome(json, "items[?id == id].id"), "[1,2]");
}

/// The selectors offered.
fn offered(json: &str, expression: &str) -> Vec<String> {
    select(json, expression, |found| match found {
        Err(mut error) => error.nearest_mut().cloned().unwrap_or_default(),
        Ok(found) => vec![format!("selected {}", written(&found.view))],
    })
}

/// The first selectors offered.
fn check_offered(cases: &[(&str, &str, &[&str])]) {
    let mut wrong = Vec::new();
    for (json, expression, expected) in cases {
        let found = offered(json, expression);
        let first: Vec<_> = found.iter().take(expected.len()).collect();
        if first != *expected {
            wrong.push((*expression, found));
        }
    }
    assert_eq!(wrong, []);
}

#[test]
fn advice_has_the_shape_of_what_was_written() {
    let wrapped = r#"{"data": {"items": [{"id": 1, "url": "u"}], "next": null}}"#;
    let list = r#"[{"id": 1, "url": "u"}, {"id": 2, "url": "v"}]"#;
    check_offered(&[
        (USERS, "users.name", &["users[*].name", "users[0].name"]),
        (USERS, "user[*].name", &["users[*].name"]),
        (USERS, "usrs[*].naem", &["users[*].name"]),
        (USERS, "length(usrs)", &["length(users)"]),
        (
            USERS,
            "users[?scor > `0.5`].naem",
            &["users[?score > `0.5`].name"],
        ),
        (USERS, "data.users[*].name", &["users[*].name"]),
        (USERS, "data.users[0].name", &["users[0].name"]),
        (USERS, "response.results[*].name", &["users[*].name"]),
        (USERS, "items[*].id", &["users[*].id"]),
        (USERS, "items[?id == `2`].name", &["users[?id == `2`].name"]),
        (USERS, "name", &["users[*].name", "users[0].name"]),
        (
            USERS,
            "join(', ', users.name)",
            &["join(', ', users[*].name)"],
        ),
        (
            USERS,
            "sort_by(usrs, &scor)[0].name",
            &["sort_by(users, &score)[0].name"],
        ),
        (USERS, "[*].name", &["users[*].name"]),
        (USERS, "[0].name", &["users[0].name"]),
        (USERS, "users[0].city", &["users[0].address.city"]),
        (USERS, "users[*].city", &["users[*].address.city"]),
        (USERS, "users[0].Address.City", &["users[0].address.city"]),
        (wrapped, "items[*].url", &["data.items[*].url"]),
        (wrapped, "data[*].url", &["data.items[*].url"]),
        (
            wrapped,
            "data.url",
            &["data.items[*].url", "data.items[0].url"],
        ),
        (wrapped, "response.results[*].url", &["data.items[*].url"]),
        (list, "items[*].url", &["[*].url"]),
        (list, "url", &["[*].url", "[0].url"]),
        (list, "items[1].url", &["[1].url"]),
    ]);
}

#[test]
fn a_selector_in_quotes_is_the_selector() {
    check("'items[0].name'", "\"n1\"");
    check("`\"items[0].name\"`", "\"n1\"");
    check("'some text'", "\"some text\"");
    check("'example.com'", "\"example.com\"");
    check_offered(&[(ITEMS, "'itms[0].name'", &["items[0].name"])]);
}

#[test]
fn advice_finds_what_is_near_by_its_words_and_places() {
    let json = r#"{"total_count": 2, "items": [{"id": 1, "html_url": "h", "user": {"login": "ada", "id": 7}, "labels": [{"name": "bug"}], "comments": 3, "title": "A"}, {"id": 2, "html_url": "i", "user": {"login": "bob", "id": 8}, "labels": [], "comments": 0, "title": "B"}]}"#;
    check_offered(&[
        (json, "items[*].author.name", &["items[*].user.login"]),
        (json, "items[*].userLogin", &["items[*].user.login"]),
        (
            json,
            "sum(items[*].comment_count)",
            &["sum(items[*].comments)"],
        ),
        (json, "length(issues)", &["length(items)"]),
        (
            json,
            "items[?user == 'ada'].title",
            &["items[?user.login == 'ada'].title"],
        ),
        (
            json,
            "items[?labels == 'bug'].id",
            &["items[?labels[?name == 'bug']].id"],
        ),
        (
            json,
            "items[?contains(labels, 'bug')].id",
            &["items[?contains(labels[*].name, 'bug')].id"],
        ),
        (
            json,
            "items[*].{t: name, l: link}",
            &["items[*].{t: title, l: html_url}"],
        ),
        (json, "data.item[*].titel", &["items[*].title"]),
        (
            json,
            "items.{i: id, t: title}",
            &["items[*].{i: id, t: title}"],
        ),
        (json, "total_count[1].title", &["items[1].title"]),
    ]);
}
