use super::{rules, run, tree};
use crate::Projection;

fn include(paths: &str, json: &str, expected: &str) {
    let projection = Projection::new().with_include(tree(paths));
    assert_eq!(
        run(&projection, json).0,
        expected,
        "include {paths} of {json}"
    );
}

fn exclude(paths: &str, json: &str, expected: &str) {
    let projection = Projection::new().with_exclude(tree(paths));
    assert_eq!(
        run(&projection, json).0,
        expected,
        "exclude {paths} of {json}"
    );
}

/// Include, exclude, always and never, as comma lists.
fn check(asked: [&str; 4], json: &str, expected: &str) {
    let [include, exclude, always, never] = asked;
    let projection = Projection::new()
        .with_include(tree(include))
        .with_exclude(tree(exclude))
        .with_rules(rules(always, never));
    assert_eq!(run(&projection, json).0, expected, "{asked:?} of {json}");
}

#[test]
fn an_empty_list_filters_nothing() {
    include("", r#"{ "a": [1, 2] }"#, r#"{ "a": [1, 2] }"#);
    exclude("", r#"{ "a": [1, 2] }"#, r#"{ "a": [1, 2] }"#);
}

#[test]
fn structure_and_order_are_the_sources() {
    let json = r#"{"b":1.50,"a":{"y":"\u00e9","x":[1, 2]},"c":1e400}"#;
    include("a.x,c,b", json, r#"{"b":1.50,"a":{"x":[1, 2]},"c":1e400}"#);
    include("a.y,a", json, r#"{"a":{"y":"\u00e9","x":[1, 2]}}"#);
    include("z", json, "{}");
    include("a.z", json, r#"{"a":{}}"#);
    exclude("a.y,c", json, r#"{"b":1.50,"a":{"x":[1, 2]}}"#);
}

#[test]
fn lists_are_crossed_item_by_item() {
    let json = r#"{"rows":[{"id":1,"x":2},{"id":3},[{"id":4,"x":5}],6,null,"s",{}]}"#;
    let expected = r#"{"rows":[{"id":1},{"id":3},[{"id":4}],6,null,"s",{}]}"#;
    include("rows.id", json, expected);
    include(
        "rows[].id",
        r#"{"rows":[{"id":1,"x":2}]}"#,
        r#"{"rows":[{"id":1}]}"#,
    );
    include("rows[0]", json, r#"{"rows":[{"id":1,"x":2}]}"#);
    include(
        "rows[0].x,rows[2][0].id",
        json,
        r#"{"rows":[{"x":2},[{"id":4}]]}"#,
    );
    include("id", r#"[{"id":1,"x":2},{"x":2}]"#, r#"[{"id":1},{}]"#);
    include("[1]", "[1,2,3]", "[2]");
    include("[].*", r#"[{"a":1}]"#, r#"[{"a":1}]"#);
    exclude(
        "rows.id",
        json,
        r#"{"rows":[{"x":2},{},[{"x":5}],6,null,"s",{}]}"#,
    );
    exclude("[0]", "[1,2,3]", "[2,3]");
    exclude("rows[]", json, r#"{"rows":[]}"#);
}

#[test]
fn each_key_and_a_name_act_together() {
    let json = r#"{"a":{"x":1,"y":2,"z":3},"b":{"x":1,"y":2}}"#;
    include("*.x,a.y", json, r#"{"a":{"x":1,"y":2},"b":{"x":1}}"#);
    exclude("*.x,a.y", json, r#"{"a":{"z":3},"b":{"y":2}}"#);
    include("*", "[[{}],1]", "[[{}],1]");
}

#[test]
fn what_ends_a_path_early_is_kept() {
    include("a.b.c", r#"{"a":{"b":null}}"#, r#"{"a":{"b":null}}"#);
    include("a.b", r#"{"a":"text","x":1}"#, r#"{"a":"text"}"#);
    include("a[].b", r#"{"a":{"b":1,"c":2}}"#, r#"{"a":{"b":1,"c":2}}"#);
    exclude("a[].b", r#"{"a":{"b":1,"c":2}}"#, r#"{"a":{"b":1,"c":2}}"#);
    include("a", "7", "7");
    include("a", "[]", "[]");
}

#[test]
fn odd_keys_are_keys() {
    let json = r#"{"__proto__":1,"":2,"a.b":3,"\u0061":4,"constructor":5}"#;
    include("__proto__", json, r#"{"__proto__":1}"#);
    include(r#""","a.b""#, json, r#"{"":2,"a.b":3}"#);
    include("a", json, r#"{"\u0061":4}"#);
    include("toString,hasOwnProperty", json, "{}");
    exclude("a", r#"{"x":1,"\u0061":4}"#, r#"{"x":1}"#);
}

#[test]
fn duplicate_keys_are_written_once() {
    let json = r#"{"a": {"x": 1}, "b": [ {"c":1,"c":2} ], "a": {"x": 2, "y": 3}}"#;
    include("a.x", json, r#"{"a":{"x":2}}"#);
    include("b,a", json, r#"{"a":{"x":2,"y":3},"b":[{"c":2}]}"#);
    exclude("a", json, r#"{"b":[{"c":2}]}"#);
    // The last value of a hidden key is as hidden as the first.
    check(["", "", "", "a"], json, r#"{"b":[{"c":2}]}"#);
}

#[test]
fn exclude_counts_what_is_kept() {
    let json = r#"[{"n":0},{"n":1},{"n":2},{"n":3}]"#;
    check(["[1],[3]", "[1]", "", ""], json, r#"[{"n":1}]"#);
    check(["[1].n,[3]", "[0].n", "", ""], json, r#"[{},{"n":3}]"#);
}

#[test]
fn what_is_always_kept_is_kept() {
    let json = r#"{"id":1,"name":"n","page":{"next":2,"size":9},"items":[{"id":3,"x":4,"sub":{"id":5,"y":6}}]}"#;
    check(["name", "", "id", ""], json, r#"{"id":1,"name":"n"}"#);
    let items = r#"{"id":1,"items":[{"id":3,"sub":{"id":5,"y":6}}]}"#;
    check(["items.sub.y", "", "id", ""], json, items);
    check(
        ["name", "id", "id,page.next", ""],
        json,
        r#"{"id":1,"name":"n","page":{"next":2}}"#,
    );
    let rest = r#"{"id":1,"name":"n","page":{"next":2},"items":[{"id":3,"x":4,"sub":{"id":5}}]}"#;
    check(
        ["", "page,items.sub.y,items.sub.id", "id,page.next", ""],
        json,
        rest,
    );
    check(
        ["", "items", "id", ""],
        json,
        r#"{"id":1,"name":"n","page":{"next":2,"size":9}}"#,
    );
}

#[test]
fn what_is_never_shown_is_nowhere() {
    let json =
        r#"{"id":1,"pw":"x","user":{"pw":"y","mail":"m","name":"n"},"log":"{\"pw\":1,\"n\":[2]}"}"#;
    let rest = r#"{"id":1,"user":{"name":"n"},"log":"{\"n\":[2]}"}"#;
    check(["", "", "", "pw,user.mail"], json, rest);
    check(
        ["pw,user.pw,id", "", "pw", "pw"],
        json,
        r#"{"id":1,"user":{}}"#,
    );
    check(
        ["", "", "", "user"],
        r#"[{"user":1,"a":2}]"#,
        r#"[{"a":2}]"#,
    );
    check(
        ["", "", "", "rows[].s"],
        r#"{"rows":{"s":1,"t":2}}"#,
        r#"{"rows":{"t":2}}"#,
    );
    check(
        ["", "", "", "rows.s"],
        r#"{"rows":[{"s":1,"t":2}]}"#,
        r#"{"rows":[{"t":2}]}"#,
    );
    // A path goes on into JSON within a string.
    check(
        ["", "", "", "a.s"],
        r#"{"a":"{\"s\":1,\"t\":2}"}"#,
        r#"{"a":"{\"t\":2}"}"#,
    );
    check(["", "", "", "[0]"], "[1,2]", "[2]");
}

#[test]
fn an_envelope_keeps_the_rest() {
    let page = r#"{"total":2,"edges":[{"cursor":"c","node":{"id":1,"x":2}}],"next":null}"#;
    let edges = tree("edges[].node.id");
    let steps = super::paths("edges[]").remove(0);
    let tree = edges.with_rest_at(&[]).with_rest_at(steps.steps());
    let projection = Projection::new().with_include(tree);
    let expected = r#"{"total":2,"edges":[{"cursor":"c","node":{"id":1}}],"next":null}"#;
    assert_eq!(run(&projection, page).0, expected);
}

#[test]
fn ten_thousand_paths_on_a_wide_object() {
    let members: Vec<String> = (0..100_000)
        .map(|n| format!("\"k{n}\":{{\"a\":{n}}}"))
        .collect();
    let json = format!("{{{}}}", members.join(","));
    let names: Vec<String> = (0..10_000).map(|n| format!("k{}.a", n * 10)).collect();
    let (out, notes) = run(
        &Projection::new().with_include(tree(&names.join(","))),
        &json,
    );
    assert!(notes.is_empty());
    assert_eq!(out.matches("\"a\"").count(), 10_000);
    let (out, notes) = run(
        &Projection::new().with_exclude(tree(&names.join(","))),
        &json,
    );
    assert!(notes.is_empty());
    assert_eq!(out.matches("\"a\"").count(), 90_000);
}

#[test]
fn paths_that_fan_out_stay_cheap() {
    // Every word of `a` and `*`: 4,096 nodes hold at the last place.
    let words: Vec<String> = (0..4096_u32)
        .map(|n| {
            let steps = (0..12).map(|bit| if n >> bit & 1 == 1 { "a" } else { "*" });
            steps.collect::<Vec<_>>().join(".")
        })
        .collect();
    let deep = format!("{}1{}", r#"{"a":"#.repeat(12), "}".repeat(12));
    let json = format!("[{}]", vec![deep; 2000].join(","));
    let (out, _) = run(
        &Projection::new().with_include(tree(&words.join(","))),
        &json,
    );
    assert_eq!(out, json);
}

#[test]
fn paths_deeper_than_the_data_and_data_deeper_than_the_paths() {
    let deep = vec!["a"; 127].join(".");
    include(&deep, r#"{"a":{"a":{"b":1}}}"#, r#"{"a":{"a":{}}}"#);
    let json = format!("{}1{}", r#"{"a":"#.repeat(127), "}".repeat(127));
    include(&deep, &json, &json);
    exclude(&deep, &json, &json.replace("\"a\":1", ""));
}

#[test]
fn ways_for_items_are_told_to_a_bound() {
    let list = |name: &str, count: usize| {
        let paths: Vec<String> = (0..count).map(|n| format!("[{n}].{name}{n}")).collect();
        tree(&paths.join(","))
    };
    let ways = |include: usize, exclude: usize| {
        let projection = Projection::new().with_include(list("a", include));
        let projection = projection.with_exclude(list("b", exclude));
        projection.root().item_places().map(|places| places.len())
    };
    // Those that are named, each with and without what is excluded; and those that go.
    assert_eq!(ways(3, 0), Some(4));
    assert_eq!(ways(3, 2), Some(10));
    assert_eq!(ways(4000, 4000), None);
}
