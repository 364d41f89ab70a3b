//! Our evaluation against the interpreter of the `jmespath` crate, on generated expressions and documents.
//!
//! Documented differences, kept out of what is generated or of what is compared:
//!
//! - Order of keys: theirs is sorted, ours the source's. Objects are compared without order, `keys`, `values`, `*` on objects and
//!   `to_string` of objects are not generated.
//! - `avg` of an empty list is `null` here and an error or no number there.
//! - `<`, `<=`, `>`, `>=` on two strings order them here and are `null` there.
//! - Numbers: theirs are 64-bit floats where ours are exact, so sums stay small and no number is beyond 2^53.
//! - `reverse` and `length` of texts count code points in both; combining characters are left out.
//! - `not_null` evaluates its arguments up to the first that is not null here, and all of them there: an error may stand in the rest.
//! - Strings that hold JSON are opened here; none of the texts generated does.

use crate::support::same_json;
use crossfeed_jmespath::{Arena, Budget, Expression, Limits, View, evaluate};
use crossfeed_json::Document;
use jmespath::Variable;
use proptest::{prelude::*, sample::select, test_runner::Config};
use serde_json::{Map, Value};

pub(crate) fn document() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-9i64..10).prop_map(Value::from),
        select(vec![0.5, -1.25, 2.75]).prop_map(Value::from),
        select(vec!["", "x", "xy", "z", "10", "é"]).prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 30, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((select(vec!["a", "b", "c", "d"]), inner), 0..4).prop_map(
                |members| {
                    let members = members
                        .into_iter()
                        .map(|(key, value)| (key.to_owned(), value));
                    Value::Object(members.collect::<Map<_, _>>())
                }
            ),
        ]
    })
}

pub(crate) fn expression() -> impl Strategy<Value = String> {
    let leaf = select(vec![
        "@",
        "a",
        "b",
        "c",
        "a.b",
        "a[0]",
        "[0]",
        "[-1]",
        "[]",
        "[*]",
        "a[]",
        "b[*].a",
        "[*].c",
        "[1:]",
        "[::-1]",
        "[:2]",
        "[::2]",
        "`1`",
        "`\"x\"`",
        "'x'",
        "`null`",
        "`[]`",
        "`true`",
        "`[1, 2]`",
        "a.b.c",
        "[?a]",
        "[?b == 'x']",
        "[?c > `0`]",
        "[?!a].b",
        "\"a\"",
    ])
    .prop_map(str::to_owned);
    leaf.prop_recursive(4, 24, 3, |inner| {
        let pair = (inner.clone(), inner.clone());
        let comparison = select(vec!["==", "!=", "&&", "||"]);
        let ordering = select(vec!["<", "<=", ">", ">="]);
        let unary = select(vec![
            "abs",
            "ceil",
            "floor",
            "length",
            "max",
            "min",
            "not_null",
            "reverse",
            "sort",
            "sum",
            "to_array",
            "to_number",
            "type",
        ]);
        let number = select(vec!["length", "sum", "abs", "floor"]);
        prop_oneof![
            pair.clone().prop_map(|(a, b)| format!("{a} | {b}")),
            pair.clone().prop_map(|(a, b)| format!("[{a}, {b}]")),
            pair.clone()
                .prop_map(|(a, b)| format!("{{a: {a}, b: {b}}}")),
            (inner.clone(), comparison, inner.clone())
                .prop_map(|(a, op, b)| format!("({a}) {op} ({b})")),
            (number, inner.clone(), ordering).prop_map(|(f, a, op)| format!("{f}({a}) {op} `1`")),
            (unary, inner.clone()).prop_map(|(f, a)| format!("{f}({a})")),
            inner.clone().prop_map(|a| format!("!({a})")),
            inner.clone().prop_map(|a| format!("[?{a}]")),
            inner.clone().prop_map(|a| format!("[*].[{a}]")),
            inner
                .clone()
                .prop_map(|a| format!("map(&({a}), to_array(@))")),
            inner
                .clone()
                .prop_map(|a| format!("sort_by(to_array(@), &type({a}))")),
            inner
                .clone()
                .prop_map(|a| format!("max_by(to_array(@), &length(to_array({a})))")),
            inner
                .clone()
                .prop_map(|a| format!("contains(to_array({a}), @)")),
            inner
                .clone()
                .prop_map(|a| format!("join('-', [type({a}), 'x'])")),
            inner
                .clone()
                .prop_map(|a| format!("starts_with(type({a}), 'n')")),
            inner
                .clone()
                .prop_map(|a| format!("avg([length(to_array({a})), `3`])")),
            pair.prop_map(|(a, b)| format!("not_null({a}, {b})")),
            inner.prop_map(|a| format!("merge({{a: {a}}}, {{b: @, a: b}})")),
        ]
    })
}

/// The value as JSON, or that there is none.
pub(crate) fn ours(text: &str, document: &Document) -> Result<String, String> {
    let expression = Expression::parse(text).map_err(|error| error.to_string())?;
    let root = document.root().unwrap();
    let budget = Budget::new(&Limits::default(), root.value_count());
    let arena = Arena::new();
    let found = evaluate(&expression, &View::from(root), &arena, &budget);
    let view = found
        .map_err(|error| error.to_string())?
        .unwrap_or(View::null());
    let mut json = Vec::new();
    view.write(&mut json, usize::MAX).unwrap();
    Ok(String::from_utf8(json).unwrap())
}

fn theirs(text: &str, data: &Value) -> Result<String, String> {
    let expression = jmespath::compile(text).map_err(|error| error.to_string())?;
    let data = Variable::from_json(&data.to_string()).unwrap();
    let found = expression.search(data).map_err(|error| error.to_string())?;
    serde_json::to_string(&*found).map_err(|error| error.to_string())
}

proptest! {
    #![proptest_config(Config { failure_persistence: None, ..Config::with_cases(1500) })]

    #[test]
    fn evaluations_agree(data in document(), text in expression()) {
        let document = Document::new(data.to_string());
        match (ours(&text, &document), theirs(&text, &data)) {
            (Ok(ours), Ok(theirs)) => prop_assert!(same_json(&ours, &theirs), "{text} on {data}: {ours}, not {theirs}"),
            (Err(_), Err(_)) => {}
            // Ours looks no further than the first value that is not null, as `||` does.
            (Ok(_), Err(_)) if text.contains("not_null") => {}
            (ours, theirs) => prop_assert!(false, "{text} on {data}: {ours:?}, not {theirs:?}"),
        }
    }
}

/// What is left out above, so that the list stays true.
#[test]
fn documented_differences_are_there() {
    let check = |text: &str, json: &str, expected: Result<&str, ()>, other: Result<&str, ()>| {
        let document = Document::new(json.to_owned());
        let data: Value = serde_json::from_str(json).unwrap();
        assert_eq!(
            ours(text, &document).map_err(|_| ()).as_deref(),
            expected.as_deref(),
            "{text}"
        );
        assert_eq!(
            theirs(text, &data).map_err(|_| ()).as_deref(),
            other.as_deref(),
            "{text}"
        );
    };
    check(
        "keys(@)",
        r#"{"b": 1, "a": 2}"#,
        Ok(r#"["b","a"]"#),
        Ok(r#"["a","b"]"#),
    );
    check("'a' < 'b'", "1", Ok("true"), Ok("null"));
    check(
        "[0] == [1]",
        "[9007199254740993, 9007199254740992]",
        Ok("false"),
        Ok("true"),
    );
    check("not_null(@, length(@))", "1", Ok("1"), Err(()));
    check("sum(@)", "[1, 2]", Ok("3"), Ok("3.0"));
    check("a.b", r#"{"a": "{\"b\": 1}"}"#, Ok("1"), Ok("null"));
}
