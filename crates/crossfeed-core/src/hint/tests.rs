//! The laws of hints over generated values, then examples.

use super::{HintDetail, StructureHints};
use crate::{Engine, EngineOptions, SelectOptions, ToolResult};
use crossfeed_jmespath::{Arena, Budget, Expression, Limits, SpineStep, View, guard::Patterns};
use crossfeed_json::Document;
use crossfeed_wire::{CallId, Scope};
use proptest::{prelude::*, sample::select, test_runner::Config};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

fn hints(json: &str, detail: HintDetail) -> Value {
    hints_under(json, detail, &SelectOptions::default())
}

fn hints_under(json: &str, detail: HintDetail, options: &SelectOptions) -> Value {
    let document = Document::new(json.to_owned());
    hints_of(&View::from(document.root().unwrap()), detail, options)
}

fn hints_of(view: &View<'_>, detail: HintDetail, options: &SelectOptions) -> Value {
    let arena = Arena::new();
    let values = view.as_cursor().map_or(0, |root| root.value_count());
    let budget = Budget::new(&options.limits, values);
    let hints = StructureHints::new(view, detail, options, &arena, &budget);
    let value = hints.to_value();
    assert_eq!(hints.is_sampled(), value.get("sampled").is_some());
    let mut listed = offered(&value);
    let mut named: Vec<_> = hints.selectors().map(str::to_owned).collect();
    listed.sort();
    named.sort();
    assert_eq!(listed, named, "{value}");
    value
}

const LIMITS: [(&str, usize); 8] = [
    ("terminalPaths", 30),
    ("arrayPaths", 15),
    ("objectPaths", 15),
    ("commonFields", 15),
    ("exampleSelectors", 15),
    ("deepStructureExamples", 8),
    ("ambiguousFields", 15),
    ("recommendedBaseSelectors", 6),
];
const TYPED: [&str; 3] = ["terminalPaths", "arrayPaths", "objectPaths"];

fn texts(hints: &Value, member: &str) -> Vec<String> {
    let list = hints.get(member).and_then(Value::as_array);
    let list = list.into_iter().flatten();
    list.map(|text| text.as_str().unwrap().to_owned()).collect()
}

/// The selector of a typed path.
fn untyped(path: &str) -> &str {
    path.rsplit_once('[').unwrap().0
}

/// Every selector in hints, without its type.
fn offered(hints: &Value) -> Vec<String> {
    let typed = TYPED.iter().flat_map(|member| texts(hints, member));
    let mut found: Vec<_> = typed.map(|path| untyped(&path).to_owned()).collect();
    for member in [
        "exampleSelectors",
        "deepStructureExamples",
        "recommendedBaseSelectors",
    ] {
        found.extend(texts(hints, member));
    }
    for (name, _) in hints["ambiguousFields"].as_object().unwrap() {
        found.extend(texts(&hints["ambiguousFields"], name));
    }
    found
}

/// What a session selects; repairs and notices are none of it.
fn selected(json: &str, selectors: &[String]) -> Vec<Value> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(async {
        let engine = Engine::in_memory(EngineOptions::default());
        let session = engine.session(Scope::parse("t", "p", "s").unwrap());
        let call = CallId::parse("call_1").unwrap();
        let result = ToolResult::json(json.to_owned());
        session.record(&call, result).await.unwrap();
        let mut values = Vec::new();
        for selector in selectors {
            let found = session.select(&call, selector).await;
            let found = found.unwrap_or_else(|failure| panic!("{selector} on {json}: {failure}"));
            assert!(found.report.repairs.is_empty(), "{selector}");
            assert!(found.report.notice.is_none(), "{selector}");
            assert_eq!(found.report.evaluated, *selector);
            values.push(serde_json::from_slice(&found.json).unwrap());
        }
        values
    })
}

/// The type of a value as paths spell it.
fn kind(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(_) => "boolean".to_owned(),
        Value::Number(_) => "number".to_owned(),
        Value::String(_) => "string".to_owned(),
        Value::Array(items) => format!("array-{}-items", items.len()),
        Value::Object(_) => "object".to_owned(),
    }
}

/// Law 8, and everything else that holds for the hints of any value.
fn check_laws(json: &str) {
    for detail in [HintDetail::Compact, HintDetail::Full] {
        let hints = hints(json, detail);
        assert_eq!(hints.to_string(), self::hints(json, detail).to_string());
        for (member, most) in LIMITS {
            let list = hints.get(member);
            let len = list.and_then(|list| match list {
                Value::Object(names) => Some(names.len()),
                list => Some(list.as_array()?.len()),
            });
            assert!(len.unwrap_or_default() <= most, "{member}: {hints}");
            assert!(detail == HintDetail::Compact || len.is_some(), "{member}");
        }
        for (_, paths) in hints["ambiguousFields"].as_object().unwrap() {
            let paths = paths.as_array().unwrap();
            assert!((2..=8).contains(&paths.len()), "{hints}");
            let distinct: BTreeSet<_> = paths.iter().map(Value::to_string).collect();
            assert_eq!(distinct.len(), paths.len(), "{hints}");
        }
        if detail == HintDetail::Compact {
            assert!(hints.to_string().len() <= 600, "{hints}");
        }
        let selectors = offered(&hints);
        let values = selected(json, &selectors);
        let is_plain = |text: &str| Expression::parse(text).unwrap().is_plain_path() || text == "@";
        for (selector, value) in selectors.iter().zip(&values) {
            assert!(selector.chars().count() <= 200);
            let is_something = !value.is_null() && *value != json!([]);
            assert!(is_plain(selector) || is_something, "{selector}: {value}");
        }
        let of = |selector: &str| {
            let at = selectors.iter().position(|other| other == selector);
            &values[at.unwrap()]
        };
        for path in TYPED.iter().flat_map(|member| texts(&hints, member)) {
            let selector = untyped(&path);
            // A whole text that holds JSON is selected as what it holds.
            if selector != "@" {
                assert_eq!(path, format!("{selector}[{}]", kind(of(selector))));
            }
        }
        for base in texts(&hints, "recommendedBaseSelectors") {
            assert!(of(&base).is_object(), "{base}");
        }
        if hints.get("sampled").is_none() {
            let naive = Naive::of(&serde_json::from_str(json).unwrap());
            let terminals = texts(&hints, "terminalPaths");
            let is_ambiguous = |path: &String| naive.is_ambiguous(untyped(path));
            assert!(
                terminals
                    .iter()
                    .is_sorted_by_key(|path| !is_ambiguous(path)),
                "{hints}"
            );
        }
    }
}

/// What a walk over everything finds: distinct paths, and how often each name occurs.
#[derive(Default)]
struct Naive {
    paths: BTreeSet<Vec<Option<String>>>,
    counts: BTreeMap<String, usize>,
}

impl Naive {
    fn of(value: &Value) -> Self {
        let mut naive = Self::default();
        naive.walk(value, &[]);
        naive
    }

    /// Whether other paths end with the last name of this one.
    fn is_ambiguous(&self, selector: &str) -> bool {
        let expression = Expression::parse(selector).unwrap();
        let Some(SpineStep::Field(name)) = expression.spine().last().copied() else {
            return false;
        };
        let last = self.paths.iter().filter_map(|path| path.last()?.as_deref());
        last.filter(|last| *last == name).count() > 1
    }

    fn walk(&mut self, value: &Value, path: &[Option<String>]) {
        self.paths.insert(path.to_vec());
        let opened = value
            .as_str()
            .and_then(|text| serde_json::from_str::<Value>(text).ok());
        let opened = opened.filter(|opened| opened.is_array() || opened.is_object());
        match opened.as_ref().unwrap_or(value) {
            Value::Array(items) => {
                for item in items {
                    self.walk(item, &[path, &[None]].concat());
                }
            }
            Value::Object(members) => {
                for (key, member) in members {
                    *self.counts.entry(key.clone()).or_default() += 1;
                    self.walk(member, &[path, &[Some(key.clone())]].concat());
                }
            }
            _ => {}
        }
    }
}

/// Full hints of a small value say what is true of all of it.
fn check_totals(value: &Value) {
    let hints = hints(&value.to_string(), HintDetail::Full);
    assert_eq!(hints.get("sampled"), None);
    let naive = Naive::of(value);
    let root_is_listed = usize::from(!value.is_object());
    let paths = &naive.paths;
    assert_eq!(
        hints["totalPathsFound"],
        json!(paths.len() - 1 + root_is_listed),
        "{value}"
    );
    assert_eq!(
        hints["maxDepthFound"],
        json!(paths.iter().map(Vec::len).max()),
        "{value}"
    );
    let mut counts: Vec<usize> = naive.counts.values().copied().collect();
    counts.sort_unstable_by(|a, b| b.cmp(a));
    let common = texts(&hints, "commonFields");
    let common: Vec<usize> = common.iter().map(|name| naive.counts[name]).collect();
    assert_eq!(common, counts.into_iter().take(15).collect::<Vec<_>>());
    for (name, _) in hints["ambiguousFields"].as_object().unwrap() {
        for path in texts(&hints["ambiguousFields"], name) {
            assert!(naive.is_ambiguous(&path), "{path}");
        }
    }
}

fn key() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => "[a-c]{1,2}",
        3 => select(vec!["id", "title", "name", "url", "user_id", "status", "created_at", "text"])
            .prop_map(str::to_owned),
        1 => select(vec![
            "", " ", "a b", "a.b", "a-b", "1", "é", "\"", "'", "\\", "`", "[0]", "@", "*", "result", "value",
            "text", "${x}", "__proto__", "constructor", "\u{0}", "\u{1f600}", "true", "a\nb", "_id",
        ])
        .prop_map(str::to_owned),
    ]
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        2 => Just(Value::Null),
        1 => any::<bool>().prop_map(Value::from),
        1 => any::<i64>().prop_map(Value::from),
        1 => (-1e6f64..1e6).prop_map(Value::from),
        3 => "[a-z' ]{0,6}".prop_map(Value::from),
        1 => select(vec!["it's", "\\", "\\'", "`", "a\nb", "${x}", "[1", "{", " [1, 2] ", "[]", "{}", "12", "\u{0}"])
            .prop_map(Value::from),
    ]
}

fn data() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(5, 60, 6, |inner| {
        let object = prop::collection::vec((key(), inner.clone()), 0..6);
        let object = object
            .prop_map(|m| Value::Object(m.into_iter().collect::<Map<_, _>>()))
            .boxed();
        let list = prop::collection::vec(inner, 0..6)
            .prop_map(Value::from)
            .boxed();
        // Lists of alike objects, as tools return them.
        let records = (prop::collection::vec(key(), 1..4), 1..5usize, scalar());
        let records = records.prop_map(|(keys, len, value)| {
            let record = |at: usize| -> Value {
                let members = keys.iter().map(|key| (key.clone(), json!(format!("{at}"))));
                Value::Object(members.chain([("k".to_owned(), value.clone())]).collect())
            };
            Value::from((0..len).map(record).collect::<Vec<_>>())
        });
        prop_oneof![
            3 => object.clone(),
            2 => list.clone(),
            2 => records,
            1 => prop_oneof![object, list].prop_map(|value| Value::from(value.to_string())),
        ]
    })
}

proptest! {
    #![proptest_config(Config { failure_persistence: None, ..Config::with_cases(300) })]

    #[test]
    fn every_selector_works(value in data()) {
        check_laws(&value.to_string());
    }

    #[test]
    fn totals_are_true(value in data()) {
        check_totals(&value);
    }
}

fn check(json: &str, expected: Value) {
    let found = hints(json, HintDetail::Full);
    assert_eq!(
        serde_json::to_string_pretty(&found).unwrap(),
        serde_json::to_string_pretty(&expected).unwrap(),
        "{json}"
    );
    check_laws(json);
}

fn check_compact(json: &str, expected: Value) {
    let found = hints(json, HintDetail::Compact);
    assert_eq!(found.to_string(), expected.to_string(), "{json}");
    check_laws(json);
}

/// The entries of one member of full hints.
fn check_list(json: &str, member: &str, expected: &[&str]) {
    assert_eq!(
        texts(&hints(json, HintDetail::Full), member),
        expected,
        "{json}"
    );
    check_laws(json);
}

#[test]
fn a_list_of_records() {
    check(
        r#"{"items": [{"id": 7, "title": "it's", "tags": ["x"]}, {"id": 8, "title": "b", "tags": []}], "total": 2}"#,
        json!({
            "terminalPaths": ["items[0].id[number]", "items[0].title[string]", "total[number]", "items[0].tags[0][string]"],
            "arrayPaths": ["items[array-2-items]", "items[0].tags[array-1-items]"],
            "objectPaths": ["items[0][object]"],
            "commonFields": ["id", "title", "tags", "items", "total"],
            "exampleSelectors": [
                "items[0]", r"items[?title=='it\'s'] | [0]", "items[*].id", "items[*].title", "items[0].tags[0]",
                "items[0].id", "items[0].title", "total",
            ],
            "deepStructureExamples": ["items[0].tags[0]"],
            "ambiguousFields": {},
            "recommendedBaseSelectors": ["items[0]", r"items[?title=='it\'s'] | [0]"],
            "maxDepthFound": 4,
            "totalPathsFound": 7,
        }),
    );
}

#[test]
fn a_list_at_the_root() {
    check(
        r#"[{"name": "a"}, {"name": "b"}]"#,
        json!({
            "terminalPaths": ["[0].name[string]"],
            "arrayPaths": ["@[array-2-items]"],
            "objectPaths": ["[0][object]"],
            "commonFields": ["name"],
            "exampleSelectors": ["[0]", "[?name=='a'] | [0]", "[*].name", "[0].name"],
            "deepStructureExamples": [],
            "ambiguousFields": {},
            "recommendedBaseSelectors": ["[0]", "[?name=='a'] | [0]"],
            "maxDepthFound": 2,
            "totalPathsFound": 3,
        }),
    );
}

#[test]
fn what_holds_nothing() {
    let nothing = |json: &str, terminals: &[&str], arrays: &[&str]| {
        check_list(json, "terminalPaths", terminals);
        check_list(json, "arrayPaths", arrays);
        check_list(json, "exampleSelectors", &[]);
        check_list(json, "recommendedBaseSelectors", &[]);
    };
    nothing("{}", &[], &[]);
    nothing("[]", &[], &["@[array-0-items]"]);
    nothing("null", &["@[null]"], &[]);
    nothing("7", &["@[number]"], &[]);
    nothing(r#""text""#, &["@[string]"], &[]);
    check_compact("{}", json!({"ambiguousFields": {}}));
    check_compact(
        r#"{"a": null}"#,
        json!({"terminalPaths": ["a[null]"], "ambiguousFields": {}}),
    );
}

#[test]
fn odd_keys_are_quoted() {
    check_list(
        r#"{"a b": {"c.d": 1}, "x-y": "", "q\"": true, "": 0}"#,
        "terminalPaths",
        &[
            r#""q\""[boolean]"#,
            r#"""[number]"#,
            r#""a b"."c.d"[number]"#,
            r#""x-y"[string]"#,
        ],
    );
}

#[test]
fn what_guards_refuse_is_not_offered() {
    check_list(
        r#"{"__proto__": 1, "${x}": 2, "constructor": {"id": 3}, "constructorStandings": 4}"#,
        "terminalPaths",
        &["constructorStandings[number]"],
    );
    let options = SelectOptions::default()
        .with_patterns(Patterns::default().with_identifiers(vec!["secret".to_owned()]))
        .with_max_chars(8);
    let hints = hints_under(
        r#"{"secret": 1, "a_long_name": 2, "short": 3}"#,
        HintDetail::Full,
        &options,
    );
    assert_eq!(texts(&hints, "terminalPaths"), ["short[number]"]);
}

#[test]
fn a_real_key_that_is_called_like_a_prefix() {
    check_list(
        r#"{"result": {"x": 1}, "x": 2}"#,
        "terminalPaths",
        &["x[number]", "result.x[number]"],
    );
}

#[test]
fn mixed_items_are_looked_at_beyond_the_first() {
    let json = r#"[1, null, {"a": null}, {"a": "x", "extra": {"k": true}}, [[]]]"#;
    check_list(
        json,
        "terminalPaths",
        &["[0][number]", "[3].a[string]", "[3].extra.k[boolean]"],
    );
    check_list(json, "objectPaths", &["[2][object]", "[3].extra[object]"]);
    check_list(
        json,
        "arrayPaths",
        &[
            "@[array-5-items]",
            "[4][array-1-items]",
            "[4][0][array-0-items]",
        ],
    );
}

#[test]
fn names_at_several_paths_are_ambiguous() {
    let json = r#"{"id": 1, "owner": {"id": 2}, "items": [{"id": 3}, {"id": 4}], "only": 5}"#;
    assert_eq!(
        hints(json, HintDetail::Full)["ambiguousFields"],
        json!({"id": ["id", "owner.id", "items[0].id"]})
    );
    check_list(
        json,
        "terminalPaths",
        &[
            "id[number]",
            "owner.id[number]",
            "items[0].id[number]",
            "only[number]",
        ],
    );
}

#[test]
fn json_in_strings_is_opened() {
    let json = r#"{"payload": "{\"items\": [{\"id\": \"a\", \"more\": \"[{\\\"url\\\": 1}]\"}]}", "log": "[INFO] x"}"#;
    check_list(
        json,
        "terminalPaths",
        &[
            "payload.items[0].id[string]",
            "payload.items[0].more[0].url[number]",
            "payload[string]",
            "log[string]",
            "payload.items[0].more[string]",
        ],
    );
    check_list(
        json,
        "recommendedBaseSelectors",
        &[
            "payload.items[0]",
            "payload.items[?id=='a'] | [0]",
            "payload.items[0].more[0]",
        ],
    );
}

#[test]
fn maps_are_gone_over() {
    let json = r#"{"users": {"u1": {"id": 1}, "u2": {"id": 2}, "u3": {"id": 3}, "u4": {"id": 4}}}"#;
    check_list(
        json,
        "exampleSelectors",
        &[
            "users.*.id",
            "users.u1.id",
            "users.u2.id",
            "users.u3.id",
            "users.u4.id",
        ],
    );
}

#[test]
fn the_deepest_paths_come_first() {
    check_list(
        r#"{"a": {"b": {"c": {"d": 1, "e": {"f": [2]}}}}, "x": {"y": {"z": {"w": 3}}}, "s": {"t": {"u": 4}}}"#,
        "deepStructureExamples",
        &["a.b.c.e.f[0]", "a.b.c.d", "x.y.z.w"],
    );
}

fn check_sampled(value: &Value, expected: &str) {
    let json = value.to_string();
    let hints = hints(&json, HintDetail::Full);
    assert_eq!(hints["sampled"], expected);
    check_laws(&json);
}

#[test]
fn what_was_looked_at_is_said() {
    let records: Vec<Value> = (0..20_000).map(|n| json!({"id": n, "url": "u"})).collect();
    check_sampled(&json!({"items": records}), "17 of 20000 items of `items`");
    check_sampled(&json!(vec![json!([1, 2]); 30_000]), "17 of 30000 items");
    let wide: Map<String, Value> = (0..20_000).map(|n| (format!("k{n}"), json!(n))).collect();
    check_sampled(&Value::Object(wide), "first 500 of 20000 keys");
    check_sampled(&json!({"k".repeat(300): 1, "a": 2}), "1 long keys left out");
    check_sampled(&json!({"t": vec!["[]"; 1003]}), "3 texts not opened");
}

#[test]
fn what_a_large_text_holds_is_looked_at() {
    let records: Vec<Value> = (0..5000)
        .map(|n| json!({"id": n, "url": "u".repeat(250)}))
        .collect();
    let text = json!({"items": records}).to_string();
    assert!(text.len() > 1 << 20);
    let hints = hints(&json!({"content": text}).to_string(), HintDetail::Compact);
    let paths = hints["terminalPaths"].to_string();
    assert!(paths.contains("content.items[0].id[number]"), "{paths}");
    assert_eq!(hints["sampled"], "17 of 5000 items of `content.items`");
}

#[test]
fn a_filter_gives_the_item_that_was_looked_at() {
    // The walk looks at item 16, and at none of those before it that have a title.
    let records = |from: usize| {
        let record = |n: usize| match n {
            _ if n < from => json!({"id": n, "url": "u"}),
            _ => json!({"id": n, "url": "u", "title": "A"}),
        };
        Value::from((0..5000).map(record).collect::<Vec<_>>()).to_string()
    };
    for (from, is_offered) in [(9, false), (16, true)] {
        let examples = texts(&hints(&records(from), HintDetail::Full), "exampleSelectors");
        let filter = "[?title=='A'] | [0]".to_owned();
        assert_eq!(examples.contains(&filter), is_offered, "{examples:?}");
    }
}

#[test]
fn long_lists_get_bounded_selectors() {
    let records: Vec<Value> = (0..30_000)
        .map(|n| json!({"title": format!("t{n}")}))
        .collect();
    let hints = hints(&json!({"items": records}).to_string(), HintDetail::Compact);
    assert_eq!(
        hints,
        json!({
            "terminalPaths": ["items[0].title[string]"],
            "arrayPaths": ["items[array-30000-items]"],
            "exampleSelectors": ["items[0]", "items[0:10].title"],
            "ambiguousFields": {},
            "sampled": "17 of 30000 items of `items`",
        })
    );
}

#[test]
fn selectors_of_over_200_characters_are_not_offered() {
    let (fits, long) = ("k".repeat(200), "l".repeat(99));
    let json =
        json!({fits.clone(): 1, long.clone(): {long.clone(): {long.clone(): 2}}}).to_string();
    check_list(&json, "terminalPaths", &[&format!("{fits}[number]")]);
    check_list(&json, "deepStructureExamples", &[]);
    assert_eq!(hints(&json, HintDetail::Full)["totalPathsFound"], 4);
}

#[test]
fn json_in_json_ends() {
    let mut value = json!({"id": 1});
    for _ in 0..14 {
        value = json!([value.to_string()]);
    }
    check_laws(&value.to_string());
    let deep = format!("{}1{}", "[".repeat(120), "]".repeat(120));
    check_laws(&json!([json!([deep]).to_string()]).to_string());
}

#[test]
fn a_value_that_was_put_together_is_as_one_that_was_read() {
    let json = r#"{"items": [{"id": 1, "text": "{\"url\": \"u\"}"}], "total": {"n": null}}"#;
    let document = Document::new(json.to_owned());
    let members = document.root().unwrap().members();
    let members = members.map(|(key, value)| (key.text(), View::from(value)));
    let view = View::object(members.collect());
    let options = SelectOptions::default();
    for detail in [HintDetail::Compact, HintDetail::Full] {
        assert_eq!(hints_of(&view, detail, &options), hints(json, detail));
    }
    // The parts of a tool result: each a value of its own.
    let parts = View::list(vec![view.clone(), View::text("[text]"), view]);
    let found = hints_of(&parts, HintDetail::Full, &options);
    assert_eq!(
        texts(&found, "terminalPaths"),
        [
            "[0].items[0].id[number]",
            "[0].items[0].text.url[string]",
            "[1][string]",
            "[0].items[0].text[string]",
            "[0].total.n[null]",
        ]
    );
}

#[test]
fn a_wide_object_that_was_put_together_is_looked_into() {
    let members = (0..100_000).map(|n| (format!("k{n}").into(), View::text("x")));
    let view = View::object(members.collect());
    let found = hints_of(&view, HintDetail::Compact, &SelectOptions::default());
    assert_eq!(found["sampled"], "first 500 of 100000 keys");
    assert_eq!(texts(&found, "terminalPaths")[0], "k0[string]");
}

#[test]
fn a_budget_that_ends_is_said() {
    let limits = Limits::default().with_base_steps(3).with_steps_per_value(0);
    let options = SelectOptions::default().with_limits(limits);
    let json = r#"{"a": 1, "b": {"c": 2, "d": 3}}"#;
    let found = hints_under(json, HintDetail::Compact, &options);
    assert_eq!(
        found,
        json!({"ambiguousFields": {}, "sampled": "first 3 values"})
    );
}
