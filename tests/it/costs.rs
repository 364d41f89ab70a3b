//! What one step may hide: every evaluation is charged by the work it does, before it is done.

use crate::support::{block_on, call, scope, within};
use crossfeed_core::{Engine, EngineOptions, ToolResult};
use crossfeed_jmespath::{Arena, Budget, Cost, EvalError, Expression, Limits, View, evaluate};
use crossfeed_json::Document;
use std::{
    fmt::Write,
    time::{Duration, Instant},
};

/// What an evaluation comes to.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    /// The value, as JSON.
    Value(String),
    Nothing,
    TooManySteps,
    TooMuchText,
}
use Outcome::{Nothing, TooManySteps, TooMuchText, Value};

fn value(json: &str) -> Outcome {
    Value(json.to_owned())
}

/// A list of 2^n items, each of them the value itself.
fn repeated(doublings: usize) -> String {
    "[@,@]".to_owned() + &"|[@,@]|[]".repeat(doublings - 1)
}

/// Evaluates without a limit of time, so that steps or text are what ends it.
fn outcome(document: &Document, expression: &str) -> Outcome {
    let root = document.root().unwrap();
    let limits = Limits::default()
        .with_steps_per_value(0)
        .with_time(Duration::from_secs(3600));
    let budget = Budget::new(&limits, root.value_count());
    let (arena, expression) = (Arena::new(), Expression::parse(expression).unwrap());
    let found = within(30, || {
        evaluate(&expression, &View::from(root), &arena, &budget)
    });
    match found {
        Ok(Some(view)) => {
            let mut json = Vec::new();
            view.write(&mut json, 1 << 20).unwrap();
            Value(String::from_utf8(json).unwrap())
        }
        Ok(None) => Nothing,
        Err(EvalError::TooCostly(Cost::Steps { .. })) => TooManySteps,
        Err(EvalError::TooCostly(Cost::Text { .. })) => TooMuchText,
        Err(error) => panic!("{error}"),
    }
}

/// Evaluates each on 4,096 times the value.
fn check(raw: String, cases: &[(&str, Outcome)]) {
    let document = Document::new(raw);
    for (expression, expected) in cases {
        let whole = format!("{}|{expression}", repeated(12));
        assert_eq!(outcome(&document, &whole), *expected, "{expression}");
    }
}

const MANY: usize = 300_000;

/// A string whose every second character is written as an escape.
fn escaped(len: usize) -> String {
    format!("\"{}\"", "a\\n".repeat(len / 3))
}

#[test]
fn long_strings_are_paid_for_by_length() {
    let text = escaped(MANY);
    check(
        text.clone(),
        &[
            // One place is one value: nothing is read.
            ("[?@==@]|length(@)", value("4096")),
            ("[?@>@]|length(@)", value("0")),
            ("[?@=='a']|length(@)", value("0")),
            ("max(@)|length(@)", value("200000")),
            ("[*].length(@)", TooManySteps),
            ("[*].reverse(@)|length(@)", TooManySteps),
            ("[*].to_number(@)", TooManySteps),
            ("[?contains(@,'x')]", TooManySteps),
            ("[?starts_with(@,'x')]", TooManySteps),
            ("[?ends_with('x',@)]", TooManySteps),
            ("[?contains('x',@)]", TooManySteps),
            ("[?@=='a\n']|length(@)", TooManySteps),
        ],
    );
    check(
        format!("[{text},{text}]"),
        &[
            ("[?@[0]==@[1]]|length(@)", TooManySteps),
            ("[?@[0]<@[1]]", TooManySteps),
            ("[?contains(@,'a\n')]", TooManySteps),
            ("[].[@]|max_by(@,&[0])|length(@)", TooManySteps),
        ],
    );
}

#[test]
fn long_strings_that_differ_early_cost_nothing() {
    let text = |first: char| format!("\"{first}{}\"", "a".repeat(MANY));
    check(
        format!("[{},{}]", text('x'), text('y')),
        &[
            ("[?@[0]==@[1]]|length(@)", value("0")),
            ("[?@[0]<@[1]]|length(@)", value("4096")),
            ("[?@[0]=='x']|length(@)", value("0")),
            ("[?@[0]>'x']|length(@)", value("4096")),
            ("[?@[0]<'xb']|length(@)", value("4096")),
        ],
    );
}

#[test]
fn blanks_are_looked_through_once() {
    let blank = " ".repeat(MANY);
    check(
        format!("\"{blank}\""),
        &[
            ("[*].a|length(@)", value("0")),
            ("[*].b[0]|length(@)", value("0")),
        ],
    );
    check(
        format!("\"{blank}{{\\\"a\\\":1}}\""),
        &[("[*].a|length(@)", value("4096"))],
    );
}

/// A value that occurs 2^15 times: its bytes are counted no further than text may be built.
#[test]
fn texts_are_not_measured_each_time_that_they_occur() {
    let check = |raw: String, begin: &str, expected: Outcome| {
        let nested = "|[@,@]".repeat(15);
        let found = outcome(
            &Document::new(raw),
            &format!("{begin}{nested}|to_string(@)"),
        );
        assert_eq!(found, expected, "{begin}");
    };
    let text = escaped(MANY);
    check(text.clone(), "@", TooMuchText);
    check(text.clone(), "to_string([@])", TooMuchText);
    check(text, "{a: to_string([@])}", TooMuchText);
    // Blanks are left out, but looked through.
    check(format!("[{}]", " ".repeat(MANY)), "@", TooManySteps);
    let document = Document::new(format!("[{}]", " ".repeat(MANY)));
    let some = format!("{}|to_string(@)|length(@)", repeated(7));
    assert_eq!(outcome(&document, &some), value("385"));
}

#[test]
fn long_numbers_are_paid_for_by_length() {
    let number = "7".repeat(MANY);
    check(
        number.clone(),
        &[
            ("[?@==@]|length(@)", value("4096")),
            ("sum(@)", TooManySteps),
            ("avg(@)", TooManySteps),
            ("[?@>`5`]", TooManySteps),
            ("[*].ceil(@)", TooManySteps),
            ("[*].abs(@)|length(@)", TooManySteps),
            ("sort(@)|length(@)", TooManySteps),
        ],
    );
    check(
        format!("[{number},{number}]"),
        &[("[?@[0]==@[1]]", TooManySteps)],
    );
}

#[test]
fn walks_over_items_are_paid_for() {
    let zeros = format!("[{}0]", "0,".repeat(999_999));
    check(
        format!("{{\"l\":{zeros}}}"),
        &[
            ("[*].l[500000]|length(@)", TooManySteps),
            ("[*].l[-1]|length(@)", value("4096")),
            ("[*].l[0]|length(@)", value("4096")),
            ("[*].l[1000000]|length(@)", value("0")),
        ],
    );
}

#[test]
fn a_wide_object_is_walked_over_once() {
    let mut members = String::from("{\"first\":0");
    for number in 0..100_000 {
        write!(members, ",\"k{number}\":0").unwrap();
    }
    members.push('}');
    check(
        members,
        &[
            ("[*].zz|length(@)", value("0")),
            ("[*].[zz, k99999, k7][]|length(@)", value("8192")),
            ("[*].k99999|length(@)", value("4096")),
            ("[*].first|length(@)", value("4096")),
        ],
    );
}

#[test]
fn long_keys_are_not_read_for_short_names() {
    let key = escaped(MANY);
    check(
        format!("{{{key}:1,\"b\":2}}"),
        &[
            ("[*].zz|length(@)", value("0")),
            ("[*].b|length(@)", value("4096")),
            ("[*][*]|length(@)", value("0")),
            ("[*].values(@)[]|sum(@)", value("12288")),
            ("[*].keys(@)|length(@)", TooManySteps),
        ],
    );
}

/// Each decoded copy counts as text that is built, and one place is decoded once.
#[test]
fn sorting_holds_no_more_than_the_limit() {
    let sorted = |raw: String, expression: &str| outcome(&Document::new(raw), expression);
    let text = escaped(12_000_000);
    let same = sorted(
        escaped(30_000),
        &format!("{}|sort(@)|length(@)", repeated(8)),
    );
    assert_eq!(same, value("256"));
    assert_eq!(
        sorted(text.clone(), &format!("{}|sort(@)|length(@)", repeated(8))),
        TooManySteps
    );
    // Texts of their own that differ at once are no work to sort, but are held decoded.
    let different: Vec<_> = (b'a'..b'k')
        .map(|first| text.replacen('a', char::from(first).encode_utf8(&mut [0; 4]), 1))
        .collect();
    let raw = format!("[{}]", different.join(","));
    assert_eq!(sorted(raw.clone(), "length(sort(@))"), TooManySteps);
    let generous = Limits::default().with_base_steps(u64::MAX / 2);
    let document = Document::new(raw);
    let root = document.root().unwrap();
    let budget = Budget::new(&generous.with_time(Duration::from_secs(3600)), 11);
    let expression = Expression::parse("length(sort(@))").unwrap();
    let arena = Arena::new();
    let found = evaluate(&expression, &View::from(root), &arena, &budget);
    assert!(
        matches!(found, Err(EvalError::TooCostly(Cost::Text { .. }))),
        "{found:?}"
    );
}

#[test]
fn long_texts_are_sorted_to_their_ends() {
    let text = |end: &str| format!("\"{}{end}\"", "a".repeat(100));
    let parts = [
        text("c"),
        text(""),
        "\"b\"".to_owned(),
        text("\\u0062"),
        text("a"),
        "\"a\"".to_owned(),
    ];
    let document = Document::new(format!("[{}]", parts.join(",")));
    let expected = [
        &parts[5], &parts[1], &parts[4], &parts[3], &parts[0], &parts[2],
    ];
    let expected: Vec<_> = expected.into_iter().cloned().collect();
    let expected = format!("[{}]", expected.join(","));
    assert_eq!(outcome(&document, "sort(@)"), value(&expected));
    assert_eq!(outcome(&document, "sort_by(@,&@)"), value(&expected));
}

#[test]
fn what_the_parser_cannot_hold_is_read_all_the_same() {
    let document = Document::new(r#"{"a":[1,2,3],"n":1e400,"s":"\ud800"}"#);
    let check = |expression: &str, expected: Outcome| {
        assert_eq!(outcome(&document, expression), expected, "{expression}");
    };
    check("a[3000000000]", Nothing);
    check("a[-3000000000]", Nothing);
    check("a[99999999999999999999999]", Nothing);
    check("a[1:3000000000]", value("[2,3]"));
    check("a[-2147483648:]", value("[1,2,3]"));
    check("a[::-3000000000]", value("[3]"));
    check("n == `1e400`", value("true"));
    check("n > ` 1e399 `", value("true"));
    check("`1e400`", value("1e400"));
    check("[`[1e400, \"\\`\"]`, a[0]]", value("[[1e400, \"`\"],1]"));
    check("s == `\"\\ud800\"`", value("true"));
    check("s == `\"\\ud801\"`", value("false"));
    let position = |text: &str| Expression::parse(text).unwrap_err().to_string();
    assert_eq!(
        position("a[3000000000] == `1e400` ]"),
        "unexpected `]` at character 26"
    );
    assert!(Expression::parse("`1e`").is_err());
}

/// How long resolving takes, the shorter of two times.
fn resolving(result: &str, arguments: &str) -> Duration {
    block_on(async {
        let session = Engine::in_memory(EngineOptions::default()).session(scope("s"));
        let recorded = ToolResult::json(result.to_owned());
        session.record(&call("c"), recorded).await.unwrap();
        let mut took = Duration::MAX;
        for _ in 0..2 {
            let begin = Instant::now();
            let resolved = session.resolve_json(arguments.to_owned(), None).await;
            took = took.min(begin.elapsed());
            assert!(resolved.is_ok(), "{resolved:?}");
        }
        took
    })
}

/// Checks that one thing takes no more than many times what another of the same size does.
fn check_alike(one: Duration, other: Duration) {
    assert!(one < other * 10, "{one:?}, and the other {other:?}");
}

#[test]
fn defaults_are_found_without_a_walk_to_where_they_stand() {
    let reference = r#"{"_tool":"c","_select":"nope","_default":1}"#;
    let references = vec![reference; 1000].join(",");
    let zeros = vec!["0"; 500_000].join(",");
    let before = resolving("{}", &format!(r#"{{"x":[{references},{zeros}]}}"#));
    let behind = resolving("{}", &format!(r#"{{"x":[{zeros},{references}]}}"#));
    check_alike(behind, before);
}

#[test]
fn members_of_a_built_object_are_found_as_fast_as_those_of_a_result() {
    let members: Vec<_> = (0..50_000).map(|key| format!("\"k{key}\":0")).collect();
    let result = format!("{{{}}}", members.join(","));
    let puts = |whole: &str| {
        let mut entries = format!(r#"{{"to":"/x","tool":"c","select":"{whole}"}}"#);
        for key in 48_000..50_000 {
            write!(entries, r#",{{"to":"/x/k{key}","tool":"c","select":"k7"}}"#).unwrap();
        }
        format!(r#"{{"_refs":[{entries}]}}"#)
    };
    let came = resolving(&result, &puts("@"));
    let built = resolving(&result, &puts("merge(@, {z: `1`})"));
    check_alike(built, came);
}
