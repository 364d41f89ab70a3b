use super::super::tests::answer;
use crossfeed_json::Document;
use serde_json::{Value, json};

#[track_caller]
fn check(given: &Value, rows: &[(&str, Option<Value>)]) {
    let document = Document::new(given.to_string());
    let rows = rows.iter();
    let wrong: Vec<_> = rows
        .filter_map(|(expression, expected)| {
            let found = answer(expression, &document);
            (found != *expected).then_some((expression, found, expected))
        })
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn functions_and_texts_of_jq_are_no_fields() {
    check(
        &json!({"nums": [1, 2, 3], "t": "a,b", "length": 7, "closed": 1, "rows": [[1, 2], [3, 4]], "obj": {"b": 1, "a": 2}}),
        &[
            (".nums | length == 3", Some(json!(true))),
            (".nums | length > 3", Some(json!(false))),
            (".nums | max == 3", Some(json!(true))),
            ("nums | max == 3", Some(json!(true))),
            (".nums | length", Some(json!(3))),
            (".t == \"a,b\"", Some(json!(true))),
            (".t == \"closed\"", Some(json!(false))),
            (".rows[] | .[1]", Some(json!([2, 4]))),
            (".rows[][1]", Some(json!([2, 4]))),
            (".rows[] | .[5]", Some(json!([]))),
            ("[.rows[] | .[1]] | .[0]", Some(json!(2))),
            (".rows | map(.[1])", Some(json!([2, 4]))),
            (".rows | map(length)", Some(json!([2, 2]))),
            (".rows[0] | add", Some(json!(3))),
            (".nums | nonsense", None),
            (".nums | length + 1", Some(json!(4))),
            (".nums | length - 1", None),
            (".obj | values", None),
            (".obj | keys", Some(json!(["a", "b"]))),
            (
                "if .t == \"a,b\" then \"yes\" else \"no\" end",
                Some(json!("yes")),
            ),
            ("\"\\(.t): \\(.length)\"", Some(json!("a,b: 7"))),
        ],
    );
}

#[test]
fn what_is_true_is_so_for_the_dialect() {
    let given = json!({"items": [
        {"id": 1, "n": 0, "y": "a"}, {"id": 2, "n": "", "y": "b"}, {"id": 3, "n": [], "y": "c"},
        {"id": 4, "n": {}, "y": "d"}, {"id": 5, "n": null, "y": "e"}, {"id": 6, "n": false, "y": "f"},
        {"id": 7, "n": 5, "y": "g"}, {"id": 8, "y": "h"},
    ]});
    let ids = |ids: &[i32]| Some(json!(ids));
    check(
        &given,
        &[
            (".items[] | select(.n) | .id", ids(&[1, 2, 3, 4, 7])),
            (".items[] | select(.n | not) | .id", ids(&[5, 6, 8])),
            (
                "[.items[] | select(.n and .y) | .id]",
                ids(&[1, 2, 3, 4, 7]),
            ),
            ("items.filter(x => x.n).map(x => x.id)", ids(&[3, 4, 7])),
            (
                "items.filter(x => !x.n).map(x => x.id)",
                ids(&[1, 2, 5, 6, 8]),
            ),
            ("items.filter(x => !!x.n).map(x => x.id)", ids(&[3, 4, 7])),
            ("_.filter(items, 'n').map(x => x.id)", ids(&[3, 4, 7])),
            (
                "_.map(_.reject(items, x => x.n), 'id')",
                ids(&[1, 2, 5, 6, 8]),
            ),
            ("[x['id'] for x in items if x.get('n')]", ids(&[7])),
            (
                "[x['id'] for x in items if not x.get('n')]",
                ids(&[1, 2, 3, 4, 5, 6, 8]),
            ),
            ("items.some(x => x.n === 0 && x.n)", Some(json!(false))),
            // This is JMESPath.
            ("items[0].n || items[0].y", Some(json!(0))),
            ("items[0]?.n || items[0].y", Some(json!("a"))),
            ("items[2]?.n || items[2].y", Some(json!([]))),
            ("items[6]?.n && items[6].y", Some(json!("g"))),
            ("items[0]?.n && items[0].y", Some(json!(0))),
            ("items[0]?.n ? 'yes' : 'no'", Some(json!("no"))),
            ("items[3]?.n ? 'yes' : 'no'", Some(json!("yes"))),
            (
                "'yes' if items[3]['n'] is not None and items[3]['n'] else 'no'",
                Some(json!("no")),
            ),
            (".items[0] | .n // .y", Some(json!(0))),
            (".items[5] | .n // .y", Some(json!("f"))),
            (".items[4].n // false // \"x\"", Some(json!("x"))),
            (".items[0].n or false", Some(json!(true))),
            (".items[0].y // empty", Some(json!("a"))),
            (".items[5].n // empty", None),
            (".items[] | select(.y == closed)", None),
            // Some ask whether it is there, others whether it is true.
            ("$.items[?(@.n)].id", None),
            ("$.items[?(@.y)].id", ids(&[1, 2, 3, 4, 5, 6, 7, 8])),
        ],
    );
}

#[test]
fn nulls_are_counted_where_the_dialect_has_them() {
    check(
        &json!({"items": [{"id": 1}, {"id": 2, "a": 5}, {"id": 3, "a": 7}]}),
        &[
            ("items.map(x => x.a)[1]", Some(json!(5))),
            ("items.map(x => x.a).length", Some(json!(3))),
            ("items.map(x => x.a).at(-1)", Some(json!(7))),
            ("items.map(x => x.a).slice(1)", Some(json!([5, 7]))),
            ("items.map(x => x.a)", Some(json!([5, 7]))),
            (".items | map(.a) | length", Some(json!(3))),
            ("[.items[].a] | length", Some(json!(3))),
            ("[.items[] | .a] | .[1]", Some(json!(5))),
            (".items | map(.a) | last", Some(json!(7))),
            ("[.items[].a] | add", Some(json!(12))),
            ("[x.get('a') for x in items][1]", Some(json!(5))),
            ("len([x.get('a') for x in items])", Some(json!(3))),
            ("_.map(items, 'a').length", Some(json!(3))),
            ("items.map(x => x.a).join(',')", None),
            ("$.items[*].a.length()", None),
            ("items[*].a | length(@)", Some(json!(2))),
        ],
    );
}

#[test]
fn numbers_and_texts_are_those_of_the_dialect() {
    check(
        &json!({"a": "3.7", "b": "-3.7", "c": "12", "t": "x\ny\n", "u": "x\ny", "body": "{\"y\": [1]}", "d": {"p": 1, "q": 2},
            "flag": true, "n": 5, "name": "Ada", "last": "L", "list": [1, null, 3]}),
        &[
            ("parseInt(a)", Some(json!(3))),
            ("parseInt(b, 10)", Some(json!(-3))),
            ("int(c)", Some(json!(12))),
            ("parseFloat(a)", Some(json!(3.7))),
            ("JSON.parse(body).y[0]", Some(json!(1))),
            ("JSON.parse(body)", None),
            ("JSON.parse(body).length", None),
            (".body | fromjson | .y", Some(json!([1]))),
            ("JSON.stringify(d)", Some(json!("{\"p\":1,\"q\":2}"))),
            ("JSON.stringify(name)", None),
            ("[k for k in d]", Some(json!(["p", "q"]))),
            ("list(d)", Some(json!(["p", "q"]))),
            ("list(d.keys())", Some(json!(["p", "q"]))),
            ("'p' in d", Some(json!(true))),
            ("[x for x in list]", Some(json!([1, null, 3]))),
            ("str(flag)", None),
            ("str(n)", Some(json!("5"))),
            ("[str(x) for x in [n, name]]", Some(json!(["5", "Ada"]))),
            ("name + ' ' + last", Some(json!("Ada L"))),
            ("`${name} ${last}`", Some(json!("Ada L"))),
            ("`${name}: ${n}`", Some(json!("Ada: 5"))),
            ("f\"{name}: {last}\"", Some(json!("Ada: L"))),
            ("f'{name} ({flag})'", None),
            (".name + \" \" + .last", Some(json!("Ada L"))),
            (".t | split(\"\\n\") | .[1]", Some(json!("y"))),
            (".u | split(\"\\n\") | length", Some(json!(2))),
            (".t | split(\"\\n\") | length", Some(json!(3))),
            ("t.splitlines()", Some(json!(["x", "y"]))),
        ],
    );
}

#[test]
fn of_equals_the_dialect_takes_one() {
    check(
        &json!({"items": [{"s": 2, "i": 1}, {"s": 2, "i": 2}, {"s": 1, "i": 3}], "tags": ["foobar", "x"], "deep": [1, [2, [3]]]}),
        &[
            (".items | max_by(.s) | .i", Some(json!(2))),
            (".items | min_by(.s) | .i", Some(json!(3))),
            ("max(items, key=lambda x: x['s'])['i']", Some(json!(1))),
            (
                "items.reduce((a, b) => a.s > b.s ? a : b).i",
                Some(json!(2)),
            ),
            (
                "items.reduce((a, b) => a.s >= b.s ? a : b).i",
                Some(json!(1)),
            ),
            (".tags | contains([\"bar\"])", Some(json!(true))),
            (".tags | contains([\"baz\"])", Some(json!(false))),
            (".deep | flatten", Some(json!([1, 2, 3]))),
        ],
    );
}

#[test]
fn what_was_read_as_something_else() {
    check(
        &json!({"items": [{"n": 1, "name": "abcd", "tags": ["x"]}, {"n": 5, "name": "a", "tags": [], "meta": {"length": 9}}, {"n": 2, "name": "ab"}],
            "length": 3, "none": [], "n": 2, "obj": {"b": [{"a": 1}]}}),
        &[
            (
                "items.filter(x => x.name.length > 3).map(x => x.n)",
                Some(json!([1])),
            ),
            ("items[1]?.meta.length", Some(json!(9))),
            ("!none.length", Some(json!(true))),
            ("!items.length", Some(json!(false))),
            ("not len(none)", Some(json!(true))),
            (".[\"none\"]", Some(json!([]))),
            (".[\"items\"][0].n", Some(json!(1))),
            ("items[0].name === 'abcd' && items[0].n", Some(json!(1))),
            ("$.items[?(@.n > $.n)].n", None),
            ("$.items[?(match(@.name, 'a'))].n", Some(json!([5]))),
            ("$.items[?(search(@.name, 'b'))].n", Some(json!([1, 2]))),
            (
                "$.items[*]['n','name']",
                Some(json!([1, "abcd", 5, "a", 2, "ab"])),
            ),
            ("[.items[].tags | length]", None),
            (".obj | map(.a, .b)", None),
        ],
    );
}

#[test]
fn people_sort_texts_in_another_order() {
    let sort = "items.sort((a, b) => a.t.localeCompare(b.t)).map(x => x.t)";
    for (texts, expected) in [
        (["b", "a", "c"], Some(json!(["a", "b", "c"]))),
        (["Bob", "Ada", "Eve"], Some(json!(["Ada", "Bob", "Eve"]))),
        (["B", "a", "c"], None),
        (["b d", "b-c", "a"], None),
    ] {
        let items = texts.map(|text| json!({"t": text}));
        check(&json!({"items": items}), &[(sort, expected)]);
    }
}

#[test]
fn signs_of_several_languages() {
    check(
        &json!({"a": null, "b": 2, "rows": [[1, 2], [3, 4], [5, 6]], "items": [{"n": "1", "k": "x"}, {"n": "2", "k": "y"}]}),
        &[
            ("a ?? b", Some(json!(2))),
            (".a ?? .b", Some(json!(2))),
            (".rows[1:][0]", Some(json!([3, 4]))),
            (".rows[1:] | .[0] | .[1]", Some(json!(4))),
            ("items.map(x => x.n).map(Number)", Some(json!([1, 2]))),
            (
                "[x['n'] for x in items if x['k'] in ('x', 'z')]",
                Some(json!(["1"])),
            ),
        ],
    );
}

#[test]
fn a_step_behind_a_stage_is_on_each_item() {
    check(
        &json!({"issues": [
            {"title": "one two", "a": 1, "b": 2, "user": {"x": 1, "w": 2}, "labels": [{"x": 1}, {"x": 2}]},
            {"title": "three four", "a": 3, "b": 4, "user": {"q": 1, "p": 2}, "labels": [{"x": 5}], "flag": false},
        ]}),
        &[
            (
                ".issues[] | .title | split(\" \") | .[0]",
                Some(json!(["one", "three"])),
            ),
            (
                ".issues[] | .title | split(\" \") | first",
                Some(json!(["one", "three"])),
            ),
            (
                ".issues[] | .title | split(\" \") | .[0:1]",
                Some(json!([["one"], ["three"]])),
            ),
            (
                "[.issues[] | .title | split(\" \") | last]",
                Some(json!(["two", "four"])),
            ),
            (
                "[.issues[] | .title | split(\" \")] | .[0]",
                Some(json!(["one", "two"])),
            ),
            (".issues[] | [.a, .b] | .[1]", Some(json!([2, 4]))),
            (".issues[] | [.a, .b] | last", Some(json!([2, 4]))),
            (".issues[] | .user | keys | .[0]", Some(json!(["w", "p"]))),
            (
                ".issues[] | .labels | map(select(.x > 1) | .x) | length",
                Some(json!([1, 1])),
            ),
            (
                ".issues[] | .labels | map(.x) | length",
                Some(json!([2, 1])),
            ),
            ("[.issues[] | .labels | map(.x) | add]", Some(json!([3, 5]))),
            (".issues[] | .labels | map(.x) | .[0]", Some(json!([1, 5]))),
            (".issues[] | .labels | .[0:1] | .[0].x", Some(json!([1, 5]))),
            (".issues[].labels[0:1][0].x", Some(json!([1, 5]))),
            (
                ".issues[] | .labels | map(select(.x > 1)) | .[0].x",
                Some(json!([2, 5])),
            ),
            (
                ".issues[] | .labels | sort_by(-.x) | .[0].x",
                Some(json!([2, 5])),
            ),
            (
                ".issues[] | .labels | map(.x) | .[]",
                Some(json!([1, 2, 5])),
            ),
            (
                ".issues[] | .labels | map(.x) | select(length > 1)",
                Some(json!([[1, 2]])),
            ),
            (
                ".issues[] | if .a > 1 then .b else empty end",
                Some(json!([4])),
            ),
            (
                ".issues | map(if .a > 1 then empty else .b end)",
                Some(json!([2])),
            ),
            (
                ".issues[] | if .a > 5 then .a elif .a > 2 then .b else empty end",
                Some(json!([4])),
            ),
            (".issues[] | (.flag // empty)", Some(json!([]))),
            ("[.issues[] | .flag // empty] | length", Some(json!(0))),
            (".issues | map(.flag // empty)", Some(json!([]))),
            (".issues | map(.flag // .a // empty)", Some(json!([1, 3]))),
            ("[.issues[].flag // empty]", Some(json!([]))),
            (".issues[] | {n: (.flag // empty)}", None),
        ],
    );
}

#[test]
fn what_is_missing_is_not_null_for_javascript() {
    check(
        &json!({"items": [{"i": 1, "n": null}, {"i": 2}, {"i": 3, "n": 4}], "scores": [10, 9, 1], "names": ["b", "a"]}),
        &[
            (
                "items.filter(x => x.n === undefined).map(x => x.i)",
                Some(json!([2])),
            ),
            (
                "items.filter(x => x.n !== undefined).map(x => x.i)",
                Some(json!([1, 3])),
            ),
            (
                "items.filter(x => x.n === null).map(x => x.i)",
                Some(json!([1])),
            ),
            (
                "items.filter(x => x.n == null).map(x => x.i)",
                Some(json!([1, 2])),
            ),
            // As texts, 10 is before 9.
            ("scores.sort()", None),
            ("[...scores].sort()[0]", None),
            ("scores.sort((a, b) => a - b)", Some(json!([1, 9, 10]))),
            ("names.sort()", Some(json!(["a", "b"]))),
            ("sorted(scores)", Some(json!([1, 9, 10]))),
        ],
    );
}

/// Rows with values of several kinds in a column.
fn rows() -> Value {
    json!({"rows": [
        {"id": 1, "n": 0, "s": "", "b": false, "l": [], "price": "9", "u": {"name": "Zed", "k": null}},
        {"id": 2, "n": 5, "s": "Abc", "b": true, "l": [3, 1, 2], "price": "10", "u": {"name": "amy", "k": 0}},
        {"id": 3, "n": null, "s": null, "b": null, "l": [0], "price": "100", "u": null},
        {"id": "4", "n": -1.5, "s": "abc", "b": false, "l": [null, 1], "price": "5", "extra": 1, "u": {"name": "Bob"}},
        {"id": 5, "n": 5, "s": "5", "b": true, "l": [2, 2], "price": "7", "u": {"name": "amy", "k": ""}},
    ]})
}

#[test]
fn a_list_of_one_number_is_no_index() {
    check(
        &rows(),
        &[
            (
                ".rows[] | select(.l | contains([2])) | .id",
                Some(json!([2, 5])),
            ),
            ("[.rows[].b] | contains([5])", Some(json!(false))),
            ("[r['n'] for r in rows if r['id'] in [5]]", Some(json!([5]))),
            (
                "rows.filter(r => [5].includes(r.id)).map(r => r.n)",
                Some(json!([5])),
            ),
            (
                "rows.map(r => [5].includes(r.id))",
                Some(json!([false, false, false, false, true])),
            ),
            (".rows | .[1] | .id", Some(json!(2))),
            ("rows[1].l.map(x => x)", Some(json!([3, 1, 2]))),
        ],
    );
}

#[test]
fn differences_and_math_are_of_numbers() {
    check(
        &rows(),
        &[
            ("rows.sort((a,b)=>b.price-a.price)[0].id", Some(json!(3))),
            ("rows.map(r=>r.price).sort((a,b)=>a-b)[0]", Some(json!("5"))),
            ("Math.max(...rows.map(r=>r.price))", Some(json!(100))),
            ("Math.min(...rows.map(r=>r.price))", Some(json!(5))),
            (
                "Math.max.apply(null, rows.map(r=>r.price))",
                Some(json!(100)),
            ),
            ("Math.max(rows[0].price, rows[1].price)", Some(json!(10))),
            (
                "rows.map(r=>r.price).sort((a,b)=>a<b?-1:1)[0]",
                Some(json!("10")),
            ),
            ("Math.max(...rows.map(r=>r.s))", None),
            ("rows.sort((a,b)=>a.s-b.s)[0].id", None),
        ],
    );
}

#[test]
fn nulls_stay_between_stages() {
    check(
        &rows(),
        &[
            (
                ".rows | map(.s) | map(select(. == null)) | length",
                Some(json!(1)),
            ),
            ("rows.map(r=>r.s).filter(x=>!x).length", Some(json!(2))),
            ("[.rows[].extra] | all", Some(json!(false))),
            ("rows.map(r=>r.extra).every(x=>x)", Some(json!(false))),
            ("rows.map(r=>r.extra).some(x=>x)", Some(json!(true))),
            (
                "[.rows[].n] | map(. // \"d\")",
                Some(json!([0, 5, "d", -1.5, 5])),
            ),
            (
                "rows.map(r=>r.s).map(x => x||\"d\")",
                Some(json!(["d", "Abc", "d", "abc", "5"])),
            ),
            (
                "rows.map(r=>r.s).map(x => x ? 1 : 0)",
                Some(json!([0, 1, 0, 1, 1])),
            ),
            (
                "rows.map(r=>r.s).map(x => !!x)",
                Some(json!([false, true, false, true, true])),
            ),
            ("[.rows[].l] | flatten | length", None),
            ("rows.map(r=>r.b).flat().length", None),
            ("rows.map(r=>r.s).filter(x=>!x)[1]", None),
            ("rows.map(r=>r.s).filter(x=>x)[1]", Some(json!("abc"))),
            (
                "rows.map(r=>r.u).map(u => u.name)",
                Some(json!(["Zed", "amy", "Bob", "amy"])),
            ),
        ],
    );
}

#[test]
fn values_are_ordered_as_in_the_dialect() {
    check(
        &rows(),
        &[
            ("rows.map(r => r.price > 10)", None),
            (
                ".rows | map(.price <= 0)",
                Some(json!([false, false, false, false, false])),
            ),
            (
                ".rows[] | select(.extra <= 0) | .id",
                Some(json!([1, 2, 3, 5])),
            ),
            (".rows[] | select(.extra > 0) | .id", Some(json!(["4"]))),
            ("rows.filter(r=>r.n<=0).map(r=>r.id)", None),
            ("rows.filter(r=>r.n>0).map(r=>r.id)", Some(json!([2, 5]))),
            (
                "rows.filter(r=>r.extra<=1).map(r=>r.id)",
                Some(json!(["4"])),
            ),
            ("rows.every(r=>r.n>=-2)", None),
            ("rows.every(r=>r.extra>=1)", Some(json!(false))),
            (
                "[r['id'] for r in rows if r['price'] > '10']",
                Some(json!([1, 3, "4", 5])),
            ),
            ("all(r['n'] >= -2 for r in rows)", None),
        ],
    );
}

#[test]
fn equality_of_javascript_is_loose() {
    check(
        &rows(),
        &[
            ("rows.map(r=>r.id==4)", None),
            ("rows.filter(r=>r.id==\"5\").length", None),
            ("rows.filter(r=>r.s!=0).length", None),
            ("rows.filter(r=>r.id===5).length", Some(json!(1))),
            ("rows.filter(r=>r.n==5).length", Some(json!(2))),
            ("rows.filter(r=>r.s!='abc').length", Some(json!(4))),
            ("rows.filter(r=>r.s==null).length", Some(json!(1))),
            ("rows.filter(r=>r.u.name=='amy').length", Some(json!(2))),
            ("rows.find(r=>r.price=='100').id", Some(json!(3))),
            (
                ".rows | map(.id == 4)",
                Some(json!([false, false, false, false, false])),
            ),
        ],
    );
}

#[test]
fn texts_and_properties_of_javascript() {
    check(
        &rows(),
        &[
            ("rows[0]?.u?.length", None),
            ("rows[1]?.l?.length", Some(json!(3))),
            ("String(rows[1].l)", None),
            ("String(rows[1]?.n)", Some(json!("5"))),
            ("$.rows[*]~", None),
            (
                "$.rows[0]~",
                Some(json!(["id", "n", "s", "b", "l", "price", "u"])),
            ),
        ],
    );
}

#[test]
fn texts_are_split_and_searched_with_any_quotes() {
    check(
        &json!({"title": "a new item", "time": "10:42", "items": [{"title": "one two three"}], "content": [{"text": "x\ny\nz"}]}),
        &[
            ("split(time, \":\")[1]", Some(json!("42"))),
            ("match(title, \"n[a-z]w\")[0]", Some(json!("new"))),
            ("items[0].title.split(\" \")[2]", Some(json!("three"))),
            ("items[0].title.split(' ')[2]", Some(json!("three"))),
            ("content[0].text.split(\"\\n\")[1]", Some(json!("y"))),
            ("content[0].text.split('\\n')[1]", Some(json!("y"))),
            (
                ".items[0].title | split(\" \") | .[2]",
                Some(json!("three")),
            ),
        ],
    );
}
