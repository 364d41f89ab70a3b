use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::{Candidate, Rule, candidates, repair};
use crate::guard;
use crate::token::{Kind, Tokens};

/// The keys of the value that the tables below are about.
const KEYS: [&str; 9] = [
    "content-type",
    "x-id",
    "größe",
    "status",
    "@type",
    "$ref",
    "2024",
    "limit",
    "limits",
];

fn has_key(key: &str) -> bool {
    KEYS.contains(&key)
}

fn expressions(input: &str) -> Vec<String> {
    candidates(input, &has_key)
        .into_iter()
        .map(|candidate| candidate.expression)
        .collect()
}

/// The readings that are offered for `input`, in order.
#[track_caller]
fn check(input: &str, expected: &[&str]) {
    let found = candidates(input, &has_key);
    let texts: Vec<&str> = found.iter().map(|c| c.expression.as_str()).collect();
    assert_eq!(texts, expected, "{input}");
    for candidate in &found {
        check_candidate(input, candidate);
    }
}

/// What holds for every candidate.
#[track_caller]
fn check_candidate(input: &str, candidate: &Candidate) {
    let mut at = input;
    for repair in &candidate.repairs {
        assert_eq!(repair.before, at);
        assert_ne!(repair.before, repair.after);
        at = &repair.after;
    }
    assert_eq!(candidate.expression, at);
    assert_ne!(candidate.expression, input);
    assert!(guard::nesting(at) <= guard::MAX_NESTING);
    assert!(jmespath::parse(at).is_ok(), "{at}");
    let first = super::Reading {
        choice: super::Choice::of(true, false),
        has_key: &has_key,
    };
    let (again, _) = repair(at, &first);
    assert_eq!(again.expression, at, "not idempotent: {input}");
}

/// The rules that lead to the first reading.
#[track_caller]
fn check_rules(input: &str, expected: &[Rule]) {
    let found = candidates(input, &has_key);
    let rules: Vec<Rule> = found
        .first()
        .map(|first| first.repairs.iter().map(|repair| repair.rule).collect())
        .unwrap_or_default();
    assert_eq!(rules, expected, "{input}");
}

#[test]
fn the_type_that_hints_say_is_no_part_of_a_path() {
    check("[0].id[number]", &["[0].id"]);
    check("items[array-60-items]", &["items"]);
    check("@[array-2-items]", &["@"]);
    check("o[object].a[0][string]", &["o.a[0]"]);
    check("items[array-2-items][0].id[number]", &["items[0].id"]);
    check("\"x y\"[null]", &["\"x y\""]);
    check("a[string][string] == 'x'", &["a == 'x'"]);
    check("headers['x-id'][string]", &["headers.\"x-id\""]);
    check("$[array-2-items]", &["@"]);
    check("[?a[number] > 5].b[boolean]", &["[?a > `5`].b"]);
    // What may be meant as a list of fields, or is not a type.
    for other in [
        "[number]",
        "items[*].[number]",
        "items[*][string]",
        "items[][object]",
        "a[array-items]",
        "a[array--items]",
        "a[integer]",
        "'a[number]'",
    ] {
        assert!(
            candidates(other, &has_key)
                .iter()
                .flat_map(|found| &found.repairs)
                .all(|repair| repair.rule != Rule::TypeSuffix),
            "{other}"
        );
    }
    check_rules("o[object]", &[Rule::TypeSuffix]);
}

#[test]
fn a_quoted_word_in_a_filter_is_a_string() {
    check("[?kind == \"active\"]", &["[?kind == 'active']"]);
    check("[?kind==\"active\"]", &["[?kind=='active']"]);
    check("[?kind != \"active\"]", &["[?kind != 'active']"]);
    check("[?kind!=\"active\"]", &["[?kind!='active']"]);
    check(
        "[?kind < \"m\" || kind >= \"x\"]",
        &["[?kind < 'm' || kind >= 'x']"],
    );
    check("[?\"active\" == kind]", &["[?'active' == kind]"]);
    check("[?\"kind\" == \"active\"]", &["[?\"kind\" == 'active']"]);
    check(
        "[?\"active\" == \"status\"]",
        &["[?'active' == \"status\"]"],
    );
    check("[?\"status\" == active]", &["[?\"status\" == 'active']"]);
    check("[?a.b == \"x\"]", &["[?a.b == 'x']"]);
    check("[?\"x\" == a.b]", &["[?'x' == a.b]"]);
    check("[?a[0] == \"x\"]", &["[?a[0] == 'x']"]);
    check("[?length(a) == \"x\"]", &["[?length(a) == 'x']"]);
    check("[?@ == \"x\"]", &["[?@ == 'x']"]);
    check(
        "[?(kind == \"x\" && !(kind == \"y\"))].id",
        &["[?(kind == 'x' && !(kind == 'y'))].id"],
    );
    check("[?kind == \"\"]", &["[?kind == '']"]);
    check("[?kind == \"two words\"]", &["[?kind == 'two words']"]);
    check(
        "items[?kind == \"x\"] | [0].name",
        &["items[?kind == 'x'] | [0].name"],
    );
}

#[test]
fn converted_text_is_decoded_and_escaped() {
    check(r#"[?a == "it's"]"#, &[r"[?a == 'it\'s']"]);
    check(r#"[?a == "say \"x\""]"#, &[r#"[?a == 'say "x"']"#]);
    check(r#"[?a == "\u00e9"]"#, &["[?a == 'é']"]);
    check(r#"[?a == "C:\\dir"]"#, &[r"[?a == 'C:\dir']"]);
    check(r#"[?a == "dir\\"]"#, &[r#"[?a == `"dir\\"`]"#]);
    check(r#"[?a == "\\'`"]"#, &[r#"[?a == `"\\'\u0060"`]"#]);
    check(r#"[?a == "\\\\'"]"#, &[r"[?a == '\\\'']"]);
    check(r#"[?a == "\q"]"#, &[]);
}

#[test]
fn a_bare_word_in_a_filter_is_a_string() {
    check(
        "[?status == active]",
        &["[?status == 'active']", "[?'status' == active]"],
    );
    check(
        "[?status==active].id",
        &["[?status=='active'].id", "[?'status'==active].id"],
    );
    check(
        "[?kind != active]",
        &["[?kind != 'active']", "[?'kind' != active]"],
    );
    check(
        "[?active == status]",
        &["[?'active' == status]", "[?active == 'status']"],
    );
    check("[?kind == in-progress]", &["[?kind == 'in-progress']"]);
    check("[?kind==in-progress]", &["[?kind=='in-progress']"]);
    check("[?in-progress == kind]", &["[?'in-progress' == kind]"]);
    check("[?day >= 2024-01-01]", &["[?day >= '2024-01-01']"]);
    check("[?zip == 01234]", &["[?zip == '01234']"]);
    check("[?city == Zürich]", &["[?city == 'Zürich']"]);
    check("[?kind == 3d]", &["[?kind == '3d']"]);
    check("[?active == a.b]", &["[?'active' == a.b]"]);
    check("[?active == length(a)]", &["[?'active' == length(a)]"]);
    check("[?active == @]", &["[?'active' == @]"]);
    check("[?a.b == active]", &["[?a.b == 'active']"]);
    check(
        "[?a[?b == x].c == y]",
        &["[?a[?b == 'x'].c == 'y']", "[?a[?'b' == x].c == 'y']"],
    );
    check("a[?b[?c == x]]", &["a[?b[?c == 'x']]", "a[?b[?'c' == x]]"]);
    check(
        "a[?c(b, d == x)]",
        &["a[?c(b, d == 'x')]", "a[?c(b, 'd' == x)]"],
    );
    check(
        "[?a == b == c]",
        &["[?a == 'b' == c]", "[?'a' == 'b' == c]"],
    );
}

#[test]
fn two_fields_that_differ_are_not_read_as_strings() {
    check("[?limit != limits]", &[]);
    check("[?limit != a.b]", &[]);
    check("[?status != active]", &["[?status != 'active']"]);
    check(
        "[?limit == limits]",
        &["[?limit == 'limits']", "[?'limit' == limits]"],
    );
}

#[test]
fn what_is_right_in_a_filter_stays() {
    check("[?status == 'active']", &[]);
    check("[?'active' == status]", &[]);
    check("[?\"content-type\" == 'json']", &[]);
    check("[?\"status\" == 'active']", &[]);
    check("[?active == `true`]", &[]);
    check("[?a.b == c.d]", &[]);
    check("[?a == 'x == \"y\"']", &[]);
    check("[?a == '[?b == c]' && d == '~ $.x .y']", &[]);
    check("[?a == `\"b == c\"`]", &[]);
    check("[?active]", &[]);
    check("[?length(a) == length(b)]", &[]);
    check("a == b", &[]);
    check("a == \"b\"", &[]);
    check("items[0].\"content-type\"", &[]);
}

#[test]
fn numbers_and_constants_are_literals() {
    check("[?score > 0.8]", &["[?score > `0.8`]"]);
    check("[?score>0.8]", &["[?score>`0.8`]"]);
    check("[?score >= -3.2]", &["[?score >= `-3.2`]"]);
    check("[?score<1e5]", &["[?score<`1e5`]"]);
    check("[?5 < score]", &["[?`5` < score]"]);
    check("length(items) > 5", &["length(items) > `5`"]);
    check("[?active == true]", &["[?active == `true`]"]);
    check("[?active==false].id", &["[?active==`false`].id"]);
    check("[?null != a.b]", &["[?`null` != a.b]"]);
    check("a.b == null", &["a.b == `null`"]);
    check(
        "[?score > 0.8 && status == active]",
        &[
            "[?score > `0.8` && status == 'active']",
            "[?score > `0.8` && 'status' == active]",
        ],
    );
    check("[?a.true == 'x']", &[]);
    check("items[0:2]", &[]);
    check("items[-1]", &[]);
}

#[test]
fn equals_signs() {
    check("[?kind = 'x']", &["[?kind == 'x']"]);
    check("[?kind='x']", &["[?kind=='x']"]);
    check("[?kind = \"x\"]", &["[?kind == 'x']"]);
    check("[?kind === 'x']", &["[?kind == 'x']"]);
    check("[?kind!=='x']", &["[?kind!= 'x']"]);
    check("[?score=5]", &["[?score==`5`]"]);
    check("kind = 'x'", &[]);
}

#[test]
fn word_operators() {
    check("[?a == 'x' and b == 'y']", &["[?a == 'x' && b == 'y']"]);
    check("[?a == 'x' OR (b)]", &["[?a == 'x' || (b)]"]);
    check(
        "[?a == x and b == y]",
        &["[?a == 'x' && b == 'y']", "[?'a' == x && 'b' == y]"],
    );
    check("[?and && or]", &[]);
    check("[?and == 'x']", &[]);
    check("[?a and(b)]", &[]);
}

#[test]
fn tildes() {
    check("name ~ contains(@, \"x\")", &["contains(name, 'x')"]);
    check("name~contains(@,'x')", &["contains(name, 'x')"]);
    check(
        "items[?name ~ contains(@, \"x\")].id",
        &["items[?contains(name, 'x')].id"],
    );
    check(
        "[?a.b ~ starts_with(@, 'x')]",
        &["[?starts_with(a.b, 'x')]"],
    );
    check(
        "[?a[0].\"b\" ~ ends_with(@, 'x')]",
        &["[?ends_with(a[0].\"b\", 'x')]"],
    );
    check(
        "[?tags[*] ~ contains(@, 'x')]",
        &["[?contains(tags[*], 'x')]"],
    );
    check(
        "[?@.a ~ contains(@, 'x') && b]",
        &["[?contains(@.a, 'x') && b]"],
    );
    check("[?.a ~ contains(@, \"x\")]", &["[?contains(a, 'x')]"]);
    check("~items[0]", &["items[0]"]);
    check("items ~ [0]", &["items [0]"]);
    check("[?~kind == 'x']", &["[?kind == 'x']"]);
    check("[?kind ~= \"x\"]", &["[?kind == 'x']"]);
    check("[?kind =~ \"x\"]", &["[?match(kind, 'x')]"]);
    check("a~b", &[]);
    check("[?a == '~']", &[]);
}

#[test]
fn literals_that_are_words() {
    check("[?status == `active`]", &["[?status == 'active']"]);
    check("[?status==`active`]", &["[?status=='active']"]);
    check(
        "[?status == `in progress`]",
        &["[?status == 'in progress']"],
    );
    check("[?status == `'active'`]", &["[?status == 'active']"]);
    check("[?status == `it's`]", &[r"[?status == 'it\'s']"]);
    check("contains(name, `x`)", &["contains(name, 'x')"]);
    check(r"[?a == `x\`y`]", &["[?a == 'x`y']"]);
    check("[?a == ``]", &["[?a == '']"]);
    check(
        "[?a == `true` || a == `5` || a == `\"x\"` || a == `[1]`]",
        &[],
    );
    check("[?a == `{x: 1}`]", &[]);
    check("[?a == `active]", &[]);
}

#[test]
fn jsonpath() {
    check("$.items[0].name", &["items[0].name"]);
    check("$[0].name", &["[0].name"]);
    check("$[*].name", &["[*].name", "*.name"]);
    check("$[?kind == 'x']", &["[?kind == 'x']"]);
    check("$", &["@"]);
    check("$.", &["@"]);
    check("length($)", &["length(@)"]);
    check("items | $.a", &["items | a"]);
    check("join(',', $.names)", &["join(',', names)"]);
    check("[?$.a == $.b]", &["[?@.a == @.b]"]);
    check("[?$.a == \"b\"]", &["[?a == 'b']"]);
    check("$.items[?(@.price < 10)]", &["items[?(@.price < `10`)]"]);
    check("$['store']['x-id'][0]", &["store.\"x-id\"[0]"]);
    check("headers[\"x-id\"]", &["headers.\"x-id\""]);
    check("items[0]['name']", &["items[0].name"]);
    check("[?@['price'] < 10]", &["[?@.price < `10`]"]);
    check("items[*]['name']", &[]);
    check("$..author", &[]);
    check("a.$.b", &[]);
    check("${a}", &[]);
    check("'$.items'", &[]);
}

#[test]
fn jq() {
    check(".items[0]", &["items[0]"]);
    check(".", &["@"]);
    check(".[0]", &["[0]"]);
    check(".[]", &["[*]", "*"]);
    check(".\"x-id\"", &["\"x-id\""]);
    check(".items | .[0] | .name", &["items | [0] | name"]);
    check("length(.items)", &["length(items)"]);
    check("join(',', .names)", &["join(',', names)"]);
    check("items[?.a > `1`]", &["items[?a > `1`]"]);
    check("[?.a == .b]", &["[?@.a == @.b]"]);
    check("[?.a==`1`]", &["[?a==`1`]"]);
    check("[?.a.b == .c]", &["[?a.b == @.c]"]);
    check("[?.a == length(.b)]", &["[?@.a == length(b)]"]);
    check("{a: .x, b: .y}", &["{a: x, b: y}"]);
    check(".a || .b && !.c", &["a || b && !c"]);
    check("items.[0].name", &["items[0].name"]);
    check("items.[?a]", &["items[?a]"]);
    check("items.[a, b]", &[]);
    check("..", &[]);
    check("a..b", &["a.b"]);
}

#[test]
fn jq_pipes_over_a_list() {
    check(".items[] | .name", &["items[*].name", "items.*.name"]);
    check(
        "$.items[*]|.a|.b",
        &["items[*]|a|b", "items.* | a | b", "items[*].a.b"],
    );
    check(
        ".items[] | .tags[0]",
        &["items[*].tags[0]", "items.*.tags[0]"],
    );
    check("items[?a] | .b", &["items[?a] | b", "items[?a].b"]);
    check("items[1:] | .b", &["items[1:].b"]);
    check(
        "items[?status == active] | .b",
        &[
            "items[?status == 'active'] | b",
            "items[?'status' == active] | b",
            "items[?status == 'active'].b",
            "items[?'status' == active].b",
        ],
    );
    check("items | .name", &["items | name"]);
    check("(items[]) | .name", &["items[*].name", "items.*.name"]);
    check("items[] | name", &[]);
}

#[test]
fn keys_that_need_quotes() {
    check("headers.content-type", &["headers.\"content-type\""]);
    check("content-type", &["\"content-type\""]);
    check("headers.no-such-key", &[]);
    check("a.größe", &["a.\"größe\""]);
    check("a.@type", &["a.\"@type\""]);
    check("$ref", &["\"$ref\""]);
    check("years.2024.sum", &["years.\"2024\".sum"]);
    check(
        "{my-name: a, b: c.content-type}",
        &["{\"my-name\": a, b: c.\"content-type\"}"],
    );
    check(
        "[?content-type == 'json']",
        &["[?\"content-type\" == 'json']"],
    );
    check("[?content-type==json]", &["[?\"content-type\"=='json']"]);
    check(
        "[?headers.content-type == \"json\"]",
        &["[?headers.\"content-type\" == 'json']"],
    );
    check("[?a.b == content-type]", &["[?a.b == \"content-type\"]"]);
    check(
        "[?status == content-type]",
        &[
            "[?status == 'content-type']",
            "[?'status' == \"content-type\"]",
        ],
    );
    check(
        "[?x-id != content-type]",
        &["[?\"x-id\" != \"content-type\"]"],
    );
    check("[?@type == Person]", &["[?\"@type\" == 'Person']"]);
    check("content-type(a)", &[]);
}

#[test]
fn quoted_arguments() {
    check("contains(name, \"x\")", &["contains(name, 'x')"]);
    check("[?starts_with(name,\"x\")]", &["[?starts_with(name,'x')]"]);
    check("ends_with(\"name\", \"x\")", &["ends_with(\"name\", 'x')"]);
    check(
        "join(\", \", items[*].name)",
        &["join(', ', items[*].name)"],
    );
    check(
        "contains(f(\"a\", b), \"x\")",
        &["contains(f(\"a\", b), 'x')"],
    );
    check(
        "contains(tags, in-progress)",
        &["contains(tags, 'in-progress')"],
    );
    check("contains(name, \"x\".y)", &[]);
    check("sort_by(items, \"x\")", &["sort_by(items, &\"x\")"]);
    check("contains(name, x)", &[]);
    check("contains(name, '\"x\"')", &[]);
    // The key needs its quotes.
    check("join(größe)", &["join(\"größe\")"]);
    check("join(\"größe\")", &[]);
}

#[test]
fn calls_stay() {
    check("[?eval (a) == b(c)]", &[]);
    check("[?active(a) == x.y]", &[]);
    check("[?status == active(a)]", &["[?'status' == active(a)]"]);
}

#[test]
fn repairs_are_named_in_order() {
    check_rules(
        "$.items[?status = active and score > 0.8] | .x-id",
        &[
            Rule::RootSign,
            Rule::LeadingDot,
            Rule::EqualsSign,
            Rule::WordOperator,
            Rule::BareConstant,
            Rule::ComparedWord,
            Rule::UnquotedKey,
        ],
    );
    check_rules("name ~ contains(@, \"x\")", &[Rule::Tilde]);
    check_rules("a == `b`", &[Rule::BareLiteral]);
    check_rules("contains(a, \"b\")", &[Rule::QuotedArgument]);
    check_rules("a['b']", &[Rule::StringSubscript]);
    let found = candidates("a[*] | .b", &has_key);
    assert_eq!(found[1].repairs[0].rule.as_str(), "jq-pipe");
}

#[test]
fn hostile_texts_are_quick() {
    let units = [
        "\"",
        "'",
        "`",
        "[?",
        "~",
        "\0",
        "🦀",
        "(",
        "[",
        "]",
        "$.",
        ".",
        "a==",
        "[?a==",
        "[?a==b ",
        "\\",
        "\"\\",
        "a ~ contains(@, 'x') ",
        "[0]",
        "a[0].b~",
        ".a",
        "|.",
        "[]|.a",
        "-",
        "1-",
        "[?a=",
        "${",
        "!",
        "a and ",
        "contains(a,\"b\"",
        "{a-b:",
        "[1:",
        "==",
        "é",
        "['a']",
        "$",
        "@a",
        "`a`",
        "1e",
        "a.",
        "\u{a0}",
        "[?a==1.",
        "[?a==b]",
        "&",
        "[*].a",
        "x[?\"a\"==b]||",
    ];
    for unit in units {
        let text = unit.repeat(100_000 / unit.len());
        let started = Instant::now();
        for candidate in candidates(&text, &has_key) {
            check_candidate(&text, &candidate);
        }
        guard::nesting(&text);
        guard::operators(&text);
        let _ = guard::Patterns::default().check(&text);
        // Work in proportion to the square of the length would take far longer, and a busy machine does not.
        assert!(started.elapsed() < Duration::from_secs(60), "{unit:?}");
    }
}

/// Every raw string that is no key, and every literal that is JSON, in order.
fn untouchable(text: &str) -> Vec<String> {
    let tokens = Tokens::new(text);
    let is_key = |index: usize| index + 1 < tokens.len() && tokens.text(index + 1) == ":";
    (0..tokens.len())
        .filter(|index| match tokens.kind(*index) {
            Kind::Raw => !is_key(*index),
            Kind::Literal => tokens.content(*index).is_some_and(|content| {
                jmespath::Variable::from_json(&content.replace("\\`", "`")).is_ok()
            }),
            _ => false,
        })
        .map(|index| tokens.text(index).to_owned())
        .collect()
}

/// Whether `part` is `whole` with some entries left out.
fn is_subsequence(part: &[String], whole: &[String]) -> bool {
    let mut whole = whole.iter();
    part.iter().all(|entry| whole.any(|other| other == entry))
}

fn fragment() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => prop::sample::select(vec![
            "a", "status", "active", "content-type", "in-progress", "x-id", "\"b\"", "\"content-type\"", "\"x y\"", "'s'", "'a == b'",
            "'[?a == \"x\"] ~ $.'", "`1`", "`word`", "`\"x == y\"`", "5", "-3.2", "01", "true", "null", "@", "$", "größe", "limit",
            "limits", "status == active", "kind != \"x\"", "a = b", "a.b", "a[0]", "@type", "2024", "\"it's\"", "\"\\\\\"",
        ]),
        6 => prop::sample::select(vec![
            ".", "..", "[?", "]", "[]", "[*]", "[0]", "[1:]", "[", "(", ")", "{", "}", ",", ":", "|", "||", "&&", "&", "!", "==", "!=", "<",
            "<=", ">", ">=", "=", "~", "*", "contains(", "join(", "f(", " and ", " or ", "{k:", "~ contains(@, \"x\")", "| .", "['k']", "[number]", "[array-2-items]",
        ]),
        2 => Just(" "),
    ]
    .prop_map(str::to_owned)
}

/// Expressions that are right or wrong in ways that repairs are about.
fn expression() -> impl Strategy<Value = String> {
    let operand = prop::sample::select(vec![
        "a",
        "status",
        "active",
        "content-type",
        "in-progress",
        "\"b\"",
        "\"content-type\"",
        "'s'",
        "'a == \"b\"'",
        "`1`",
        "`word`",
        "`\"x\"`",
        "5",
        "-3.2",
        "01",
        "true",
        "@",
        "$.a",
        ".b",
        "a.b",
        "a[0]",
        "a['k']",
        "a[0][number]",
        "a[array-2-items]",
        "f(a)",
        "limit",
        "limits",
        "status",
        "contains(a, \"b\")",
        "join(\", \", a)",
        "a ~ contains(@, \"x\")",
        "\"it's\"",
        "a.content-type",
        ".x[].y",
        "items[]",
    ])
    .prop_map(str::to_owned);
    operand.prop_recursive(4, 24, 4, |inner| {
        let operator = prop::sample::select(vec![
            " == ", "==", " != ", "!=", " < ", ">=", " = ", " && ", " || ", " and ", " | ", " | .",
            "|", "===",
        ]);
        prop_oneof![
            (inner.clone(), operator, inner.clone()).prop_map(|(l, o, r)| format!("{l}{o}{r}")),
            inner.clone().prop_map(|e| format!("items[?{e}]")),
            inner.clone().prop_map(|e| format!("[?{e}].x")),
            inner.clone().prop_map(|e| format!("({e})")),
            inner.clone().prop_map(|e| format!("!{e}")),
            (inner.clone(), inner.clone()).prop_map(|(l, r)| format!("{{k: {l}, my-key: {r}}}")),
            (inner.clone(), inner).prop_map(|(l, r)| format!("[{l}, {r}]")),
        ]
    })
}

fn check_laws(text: &str) -> Result<(), TestCaseError> {
    let before = untouchable(text);
    let found = candidates(text, &has_key);
    prop_assert!(found.len() <= super::MAX_CANDIDATES);
    for candidate in &found {
        check_candidate(text, candidate);
        prop_assert!(
            is_subsequence(&before, &untouchable(&candidate.expression)) || text.contains("['"),
            "{}",
            candidate.expression
        );
    }
    prop_assert_eq!(candidates(text, &has_key), found);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2048))]

    #[test]
    fn laws_hold_for_expressions(text in expression()) {
        check_laws(&text)?;
    }

    #[test]
    fn laws_hold_for_fragments(parts in prop::collection::vec(fragment(), 1..24)) {
        check_laws(&parts.concat())?;
    }

    #[test]
    fn laws_hold_for_any_text(text in "\\PC{0,64}") {
        check_laws(&text)?;
        check_laws(&format!("[?a == {text}]"))?;
    }

    #[test]
    fn what_a_string_says_is_kept(content in "[a'`\\\\\"\u{0}é]{0,12}") {
        let spelled = super::edit::string(&content);
        let found = jmespath::compile(&spelled).unwrap().search(()).unwrap();
        prop_assert_eq!(found.as_string(), Some(&content));
    }

    #[test]
    fn strings_are_never_changed(content in "[a-z=~$.|\" \\[\\]?]{0,24}") {
        let text = format!("[?a == '{content}' && b == `\"{}\"`]", content.replace('"', ""));
        prop_assert_eq!(expressions(&text), Vec::<String>::new());
    }
}

#[test]
fn a_negation_takes_its_whole_path() {
    check("[?!a.b]", &["[?!(a.b)]"]);
    check(
        "items[?ok && !status.deprecated].name",
        &["items[?ok && !(status.deprecated)].name"],
    );
    check("!a[0].\"b c\"", &["!(a[0].\"b c\")"]);
    check("!@.a", &["!(@.a)"]);
    check("!!a.b", &["!!(a.b)"]);
    check("!a", &[]);
    check("!(a.b)", &[]);
    check("!contains(a.b, 'x')", &[]);
    check("'!a.b'", &[]);
    check_rules("[?!a.b]", &[Rule::NegatedPath]);
}

/// The readings that are evaluated instead of an expression.
fn evaluated(text: &str) -> Vec<String> {
    let keys = [
        "items", "kind", "status", "name", "url", "score", "tags", "total",
    ];
    candidates(text, &|key| keys.contains(&key))
        .into_iter()
        .filter(|candidate| !candidate.is_doubtful)
        .map(|candidate| candidate.expression)
        .collect()
}

/// Whether an expression holds each of some words as often as at least once.
fn holds(expression: &str, words: &[&str]) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let found: Vec<&str> = expression.split(|c| !is_word(c)).collect();
    words.iter().all(|word| found.contains(word))
}

/// Two parts of a selector in any way that a model puts them together, and the words in it.
fn put_together() -> impl Strategy<Value = (String, Vec<&'static str>)> {
    type Part = (&'static str, &'static [&'static str]);
    let first: Vec<Part> = vec![
        ("items", &["items"]),
        ("items[*]", &["items"]),
        ("items[?kind == 'x']", &["items", "kind", "x"]),
        ("items[?\"kind\" == x]", &["items", "kind", "x"]),
        ("items[kind = x]", &["items", "kind", "x"]),
        ("items.filter(i => i.kind === 'x')", &["items", "kind", "x"]),
        (
            "[i for i in items if i['kind'] == 'x']",
            &["items", "kind", "x"],
        ),
        (".items[] | select(.kind == \"x\")", &["items", "kind", "x"]),
        ("$.items[?(@.kind=='x')]", &["items", "kind", "x"]),
        ("items where kind == x", &["items", "kind", "x"]),
        ("sort_by(items, score)", &["items", "score"]),
        ("let v = 'x'; items[?kind == v]", &["items", "kind", "x"]),
        (
            "SELECT name AS label FROM items",
            &["items", "name", "label"],
        ),
    ];
    let sign = [
        " ", ".", " . ", " -> ", "->", " => ", " | ", ", ", "; ", " : ", " and ", " where ",
        " then ", " >> ", "\n",
    ];
    let second: Vec<Part> = vec![
        ("name", &["name"]),
        ("{name, url}", &["name", "url"]),
        ("{label: name}", &["label", "name"]),
        ("[name, url]", &["name", "url"]),
        ("['name', 'url']", &["name", "url"]),
        ("(label: name)", &["label", "name"]),
        ("map({label: .name})", &["label", "name"]),
        ("map(i => ({label: i.name}))", &["label", "name"]),
        ("[0:20]", &["20"]),
        ("[7]", &["7"]),
        ("slice(0, 20)", &["20"]),
        ("name[0:20]", &["name", "20"]),
        ("name.slice(0, 20)", &["name", "20"]),
        ("[?status == 'done']", &["status", "done"]),
        ("[status == done]", &["status", "done"]),
        ("filter(i => i.status === 'done')", &["status", "done"]),
        ("select(.status == \"done\")", &["status", "done"]),
        ("status == 'done'", &["status", "done"]),
        ("sort_by(@, &score)", &["score"]),
        ("contains(tags, \"t\")", &["tags", "t"]),
        ("name AS label", &["name", "label"]),
        ("total", &["total"]),
    ];
    let (first, sign) = (
        prop::sample::select(first),
        prop::sample::select(sign.to_vec()),
    );
    (first, sign, prop::sample::select(second)).prop_map(|(first, sign, second)| {
        let words = first.1.iter().chain(second.1).copied();
        (format!("{}{sign}{}", first.0, second.0), words.collect())
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn no_repair_loses_what_was_written((text, words) in put_together()) {
        for expression in evaluated(&text) {
            prop_assert!(holds(&expression, &words), "{text} -> {expression}");
        }
    }
}

#[test]
fn what_loses_a_part_is_doubtful() {
    for text in [
        "items[*] -> {name, url}",
        "items -> {label: name}",
        "items[*].{label: name} -> [0]",
        "let x = 'a'; items[?kind == x].url",
        "SELECT name AS label FROM items",
        "items[?kind == 'x' or 'y'].name",
        "items[?kind == 'x' || `word`].name",
    ] {
        assert_eq!(evaluated(text), Vec::<String>::new(), "{text}");
    }
    for (text, expected) in [
        ("items[*] | {label: name}", "items[*].{label: name}"),
        (
            "items.filter(x => x.kind === 'x').length",
            "length(items[?kind == 'x'])",
        ),
        (
            "items[?kind == x and status == 'done'].name",
            "items[?kind == 'x' && status == 'done'].name",
        ),
    ] {
        assert_eq!(
            evaluated(text).first().map(String::as_str),
            Some(expected),
            "{text}"
        );
    }
}

#[test]
fn of_two_texts_that_are_compared_the_key_is_a_field() {
    check("[?'status' == 'active'].x", &["[?status == 'active'].x"]);
    check("[?`status` == 'active'].x", &["[?status == 'active'].x"]);
    check("[?`\"x-id\"` != 'a'].x", &["[?\"x-id\" != 'a'].x"]);
    check("[?'active' == 'status'].x", &["[?'active' == status].x"]);
    check("[?'limit' > `5`].x", &["[?limit > `5`].x"]);
    check(
        "[?kind == 'x' && 'status' == 'active'].x",
        &["[?kind == 'x' && status == 'active'].x"],
    );
    check("[?'kind' == 'active'].x", &[]);
    check("[?a == 'status'].x", &[]);
    check_rules("[?'status' == 'active'].x", &[Rule::QuotedField]);
}
