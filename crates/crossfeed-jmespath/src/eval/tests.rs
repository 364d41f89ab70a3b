//! Side tables change nothing: neither what an evaluation gives nor what it costs.

use super::{EvalError, evaluate};
use crate::{Arena, Budget, Expression, Limits, View};
use crossfeed_json::{Document, Tables};
use proptest::{collection::vec, prelude::*, sample::select};
use std::time::{Duration, Instant};

/// What came out, and the steps that are left; after one step too many, how many were left is
/// nobody's concern.
type Outcome = Result<(Option<Vec<u8>>, u64), EvalError>;

fn outcome(document: &Document, expression: &Expression, tables: Tables, steps: u64) -> Outcome {
    let limits = Limits::default()
        .with_steps_per_value(0)
        .with_base_steps(steps)
        .with_time(Duration::from_secs(3600))
        .with_tables(tables);
    let (arena, budget) = (Arena::new(), Budget::new(&limits, 0));
    let root = View::from(document.root().unwrap());
    let found = evaluate(expression, &root, &arena, &budget)?;
    let json = found.map(|view| {
        let mut json = Vec::new();
        view.write(&mut json, usize::MAX).unwrap();
        json
    });
    Ok((json, budget.steps_left()))
}

/// Evaluates with and without tables, on documents of its own and on shared ones.
fn check(raw: &str, texts: &[&str], steps: u64) {
    let shared = [Document::new(raw.to_owned()), Document::new(raw.to_owned())];
    let without = Document::new(raw.to_owned());
    let mut least = 0;
    for text in texts {
        let expression = Expression::parse(text).unwrap();
        let expected = outcome(&without, &expression, Tables::Never, steps);
        for tables in [Tables::WherePaying, Tables::Always] {
            let fresh = Document::new(raw.to_owned());
            let found = outcome(&fresh, &expression, tables, steps);
            assert_eq!(found, expected, "{text}, fresh, {tables:?}");
        }
        for _ in 0..3 {
            for (document, tables) in shared.iter().zip([Tables::WherePaying, Tables::Always]) {
                let found = outcome(document, &expression, tables, steps);
                assert_eq!(found, expected, "{text}, shared, {tables:?}");
                let kept = document.resident_bytes();
                assert!(least <= kept || tables == Tables::WherePaying);
            }
        }
        least = shared[1].resident_bytes();
    }
    let bare = Document::new(raw.to_owned());
    bare.root().unwrap();
    assert_eq!(without.resident_bytes(), bare.resident_bytes());
    // A large part of it, as the bytes of small documents are few.
    assert!(shared[0].resident_bytes() <= bare.resident_bytes() * 2 + 4096);
}

const NUMBERS: [&str; 12] = [
    "0",
    "1",
    "-1",
    "1.0",
    "0.5",
    "7",
    "2e0",
    "1e400",
    "9007199254740993",
    "12345678901234567890123",
    "0.10",
    "-0",
];

fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => select(&NUMBERS[..]).prop_map(str::to_owned),
        1 => select(vec![
            "null", "true", "false", "\"\"", "\"x\"", "\"x y\"", "\"\\u0078\"", "[]", "{}", "[1]",
            "{\"a\":1}", "{\"a\":{\"b\":2}}", "[{\"a\":3}]", "\"{\\\"a\\\":1}\"", "\"[1,2]\"",
            "\"  {\"", "{\"a\":1,\"a\":2}",
        ]).prop_map(str::to_owned),
    ]
}

fn item() -> impl Strategy<Value = String> {
    let member = (
        select(vec!["a", "b", "c", "\\u0061", "id", "long"]),
        value(),
    );
    let object = vec(member, 0..6).prop_map(|members| {
        let members: Vec<_> = members
            .into_iter()
            .map(|(key, value)| format!("\"{key}\":{value}"))
            .collect();
        format!("{{{}}}", members.join(","))
    });
    prop_oneof![
        1 => value(),
        12 => object,
        8 => value().prop_map(|a| format!("{{\"id\":1,\"a\":{a},\"b\":{{\"a\":{a}}}}}")),
    ]
}

/// An object of more members than are walked over.
fn wide(members: usize) -> String {
    let members: Vec<_> = (0..members)
        .map(|n| format!("\"key{n}\":{n},\"k\\u0065y_{n}\":\"{n}\""))
        .collect();
    format!("{{{},\"a\":7}}", members.join(","))
}

fn document() -> impl Strategy<Value = String> {
    let large = prop_oneof![
        20 => Just(None),
        1 => Just(Some(wide(300))),
        1 => Just(Some(format!("{{\"text\":\"{}\",\"a\":1,\"b\":{{\"a\":1}}}}", "x".repeat(5000)))),
        1 => Just(Some(format!("\"{{\\\"a\\\":[{}1]}}\"", "1,".repeat(100)))),
    ];
    let list = prop_oneof![vec(item(), 0..8), vec(item(), 60..120)];
    (list, large, any::<bool>(), 0..200_usize).prop_map(|(mut items, large, alike, at)| {
        if alike && let Some(first) = items.first().cloned() {
            items.iter_mut().for_each(|item| item.clone_from(&first));
        }
        if let Some(large) = &large {
            items.insert(at.min(items.len()), large.clone());
        }
        let large = large.unwrap_or_else(|| "1".to_owned());
        format!("{{\"l\":[{}],\"w\":{large},\"n\":{at}}}", items.join(","))
    })
}

const EXPRESSIONS: [&str; 44] = [
    "l[*].a",
    "l[*].b.a",
    "l[?a > `0`]",
    "l[?a > `0.5`].{a: a, c: c}",
    "l[?a == `1`].[a, @, b]",
    "l[?a != `1`].b.a",
    "l[?`1` < a].a",
    "l[?a < `9007199254740993`].a",
    "l[?a >= `1e400`].a",
    "l[?b.a].a",
    "l[?!b.a].id",
    "l[?a && b].c",
    "l[?a > `0` && b.a < `3`].a",
    "l[?a > `0` || c == 'x'].id",
    "l[?c == 'x'].a",
    "l[?c < 'y'].a",
    "l[?a == b.a].a",
    "l[?a > b.a].id",
    "l[?a == `null`]",
    "l[?@.a > `0`].a",
    "l[?a].a | [0]",
    "l[?id].l[?a].a",
    "l[*].[a, b.a][]",
    "l[*].{x: a, y: @, z: length(to_array(a))}",
    "l[?a > `0`].length(a)",
    "l[?a > `0`].abs(a)",
    "l[?length(a) > `0`]",
    "max_by(l, &a)",
    "min_by(l, &a).id",
    "sort_by(l, &a)[*].id",
    "sort_by(l, &b.a)",
    "max_by(l, &b.a).a",
    "sort_by(l, &c)",
    "max(l[*].a)",
    "sum(l[?a > `0`].a)",
    "l[70]",
    "l[33].a",
    "l[-30].a",
    "l[20:70:3].a",
    "l[80::-7].b",
    "w.key299",
    "[w.a, w.key7, w.key7, w.key_8, w.nothing, w.key299]",
    "l[*].key7",
    "[l, l][].[@, @][].a",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]
    #[test]
    fn tables_change_neither_answers_nor_costs(
        raw in document(),
        texts in vec(select(&EXPRESSIONS[..]), 1..8),
        steps in prop_oneof![3 => Just(1_000_000), 1 => 0..3000_u64],
    ) {
        check(&raw, &texts, steps);
    }
}

#[test]
fn all_expressions_agree_on_lists_of_one_shape() {
    let items: Vec<_> = (0..200)
        .map(|n| {
            format!(
                "{{\"id\":{n},\"a\":{}.5,\"b\":{{\"a\":{n}}},\"c\":\"x\"}}",
                n % 17
            )
        })
        .collect();
    let raw = format!("{{\"l\":[{}],\"w\":{}}}", items.join(","), wide(300));
    check(&raw, &EXPRESSIONS, 1_000_000);
    for steps in [10, 100, 500, 1000, 1300, 1999] {
        check(&raw, &EXPRESSIONS, steps);
    }
}

/// The laws above would hold without any table, too.
#[test]
fn tables_are_built_where_they_pay() {
    let items: Vec<_> = (0..1000)
        .map(|n| {
            format!(
                "{{\"id\":{n},\"a\":{}.5,\"text\":\"{}\"}}",
                n % 17,
                "x".repeat(100)
            )
        })
        .collect();
    let raw = format!("{{\"l\":[{}],\"w\":{}}}", items.join(","), wide(300));
    let grows = |text: &str, at: &[bool]| {
        let document = Document::new(raw.clone());
        let mut held = document.root().map(|_| document.resident_bytes()).unwrap();
        let expression = Expression::parse(text).unwrap();
        let found: Vec<_> = (0..at.len())
            .map(|_| {
                outcome(&document, &expression, Tables::WherePaying, 1_000_000).unwrap();
                let before = std::mem::replace(&mut held, document.resident_bytes());
                held > before + 300
            })
            .collect();
        assert_eq!(found, at, "{text}");
    };
    grows("l[?a > `3`].id", &[true, true, false]);
    // What is after the first is for later, unless a walk would look at it anyway.
    grows("l[?z && id]", &[true, true, false]);
    grows("l[?z || !(id && a)]", &[true, true, false]);
    grows("l[?(z && id) && a > `3`].a", &[true, true, false]);
    grows("l[?[z, id]]", &[true, false]);
    grows("max_by(l, &a).id", &[true, false]);
    grows("l[*].id", &[false, true, false]);
    grows("l[500]", &[true, false]);
    grows("l[-1]", &[false, false]);
    grows("w.key299", &[false, true, false]);
    grows("w", &[false, false]);
}

/// A walk ends where the first name is missing; columns would follow all of them to nowhere, past
/// hundreds of keys that are decoded each.
#[test]
fn names_that_are_nowhere_make_no_columns() {
    let members: Vec<_> = (0..255).map(|n| format!("\"\\u0041{n}\":0")).collect();
    let row = format!("{{{}}}", members.join(","));
    let lists: Vec<_> = [100, 200, 400]
        .map(|rows| format!("[{}]", vec![row.as_str(); rows].join(",")))
        .into();
    let raw = format!("[{}]", lists.join(","));
    let names: Vec<_> = (0..64).map(|n| format!("a{n}")).collect();
    let text = format!("[*][?z&&({})]", names.join("&&"));
    check(&raw, &[&text, &text], 1_000_000);

    let document = Document::new(raw);
    let before = document.root().map(|_| document.resident_bytes()).unwrap();
    let expression = Expression::parse(&text).unwrap();
    for _ in 0..3 {
        outcome(&document, &expression, Tables::WherePaying, 1_000_000).unwrap();
    }
    // Some bytes for each name, to know that it was asked for; none for the rows.
    let held = document.resident_bytes() - before;
    assert!(held < 3 * 65 * 200, "{held}");
}

/// Time that is over ends a walk, not a build: what was known stays so.
#[test]
fn building_takes_half_of_the_time() {
    let budget = |millis| {
        let limits = Limits::default().with_time(Duration::from_millis(millis));
        Budget::new(&limits, 0)
    };
    let (none, enough) = (budget(0), budget(3_600_000));
    let mut building = none.building();
    building();
    std::thread::sleep(Duration::from_millis(1));
    assert!(!building());
    let mut building = enough.building();
    assert!(building() && building());
}

#[test]
fn threads_share_tables() {
    let items: Vec<_> = (0..500)
        .map(|n| {
            // Long enough that there is room for all tables, whoever asks first.
            let text = "x".repeat(400);
            let a = n % 17;
            format!("{{\"id\":{n},\"a\":{a}.5,\"b\":{{\"a\":{n}}},\"text\":\"{text}\"}}")
        })
        .collect();
    let raw = format!("{{\"l\":[{}],\"w\":{}}}", items.join(","), wide(300));
    let (shared, alone) = (Document::new(raw.clone()), Document::new(raw.clone()));
    let run = |document: &Document, first: usize, tables| -> Vec<(usize, Outcome)> {
        let places = (first..EXPRESSIONS.len()).chain(0..first);
        let mut all: Vec<_> = places
            .map(|at| {
                let expression = Expression::parse(EXPRESSIONS[at]).unwrap();
                (at, outcome(document, &expression, tables, 1_000_000))
            })
            .collect();
        all.sort_by_key(|(at, _)| *at);
        all
    };
    let expected = run(&Document::new(raw), 0, Tables::Never);
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let (shared, expected) = (&shared, &expected);
            scope.spawn(move || {
                for _ in 0..3 {
                    assert_eq!(&run(shared, thread * 5, Tables::WherePaying), expected);
                }
            });
        }
    });
    // Whoever was quicker, everything is counted once.
    for _ in 0..3 {
        run(&alone, 0, Tables::WherePaying);
    }
    assert_eq!(shared.resident_bytes(), alone.resident_bytes());
}

#[test]
fn a_look_up_in_a_wide_object_costs_four_steps_more() {
    let spent = |raw: &str, text: &str| {
        let (document, expression) = (
            Document::new(raw.to_owned()),
            Expression::parse(text).unwrap(),
        );
        let left = [Tables::Never, Tables::WherePaying, Tables::Always]
            .map(|tables| outcome(&document, &expression, tables, 1000).unwrap().1);
        assert!(left.iter().all(|one| *one == left[0]), "{text}: {left:?}");
        1000 - left[0]
    };
    let item = wide(300);
    assert_eq!(spent(&item, "key7"), 5);
    assert_eq!(spent(&item, "key299"), 5);
    assert_eq!(spent(&item, "nothing"), 5);
    assert_eq!(spent(&wide(100), "key99"), 1);
    // Where it stood in the item before, it costs the same.
    let small = format!("[{0},{0},{0}]", wide(1));
    let large = format!("[{item},{item},{item}]");
    let more = spent(&large, "[*].key0") - spent(&small, "[*].key0");
    assert_eq!(more, 3 * 4);
}

#[test]
fn json_in_a_text_costs_what_json_beside_it_costs() {
    let records: Vec<_> = (0..2000)
        .map(|n| format!(r#"{{"id":{n},"name":"{}"}}"#, "x".repeat(40)))
        .collect();
    let json = format!(r#"{{"users":[{}]}}"#, records.join(","));
    let beside = format!(r#"{{"content":{json}}}"#);
    let in_text = serde_json::json!({ "content": json }).to_string();
    let in_texts = serde_json::json!({ "content": serde_json::json!([json]).to_string() });
    // Fewer steps than the text has words.
    let limits = Limits::default()
        .with_base_steps(100)
        .with_time(Duration::from_secs(3600));
    let select = |raw: &str, text: &str| {
        let document = Document::new(raw.to_owned());
        let root = document.root().unwrap();
        let expression = Expression::parse(text).unwrap();
        let (arena, budget) = (Arena::new(), Budget::new(&limits, root.value_count()));
        let found = evaluate(&expression, &View::from(root), &arena, &budget);
        let mut json = Vec::new();
        found
            .unwrap()
            .unwrap()
            .write(&mut json, usize::MAX)
            .unwrap();
        json
    };
    for path in ["users[1999].id", "users[?id > `1997`].id"] {
        let expected = select(&beside, &format!("content.{path}"));
        assert_eq!(select(&in_text, &format!("content.{path}")), expected);
        let nested = select(&in_texts.to_string(), &format!("content[0].{path}"));
        assert_eq!(nested, expected);
    }
}

#[test]
fn reading_a_text_takes_none_of_the_time() {
    let slow = Duration::from_millis(5);
    let later = |latest: Instant| {
        let budget = Budget::new(&Limits::default(), 0).until(latest);
        let before = budget.deadline(Instant::now());
        budget.untimed(1 << 20, || std::thread::sleep(slow));
        budget.deadline(Instant::now()) - before
    };
    let now = Instant::now();
    assert!(later(now + Duration::from_secs(3600)) >= slow);
    // Whoever waits for the selection waits no longer for that.
    assert_eq!(later(now), Duration::ZERO);
}

#[test]
fn all_arguments_are_evaluated_before_one_is_refused() {
    for (text, function) in [
        ("contains(&a, abs('x'))", "abs"),
        ("contains(&a, 'x')", "contains"),
    ] {
        let (document, expression) = (Document::new("{}"), Expression::parse(text).unwrap());
        match outcome(&document, &expression, Tables::WherePaying, 1_000) {
            Err(EvalError::Type(mismatch)) => assert_eq!(mismatch.function, function, "{text}"),
            other => panic!("{text}: {other:?}"),
        }
    }
}
