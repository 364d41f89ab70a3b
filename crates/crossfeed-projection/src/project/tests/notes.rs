use super::{rules, run, tree};
use crate::{DiagnosticKind as Kind, MAX_DIAGNOSTICS, Projection};

/// The notes of a run, each as `kind path nearest`.
fn check(projection: &Projection, json: &str, expected: &[&str]) {
    let (_, notes) = run(projection, json);
    let notes: Vec<String> = notes
        .iter()
        .map(|note| {
            let nearest = note.nearest.join(",");
            format!("{} {} {nearest}", note.kind.as_str(), note.path)
                .trim_end()
                .to_owned()
        })
        .collect();
    assert_eq!(notes, expected, "{json}");
}

fn include(paths: &str) -> Projection {
    Projection::new().with_include(tree(paths))
}

fn exclude(paths: &str) -> Projection {
    Projection::new().with_exclude(tree(paths))
}

#[test]
fn a_field_that_no_object_has_is_noted_once() {
    let json = r#"{"items":[{"title":1,"other":2,"name":3},{"title":4}]}"#;
    check(
        &include("items.titel"),
        json,
        &["unknown_field items.titel title"],
    );
    check(&include("items.name"), json, &[]);
    check(
        &include("x.y,x.z"),
        json,
        &["unknown_field x.y", "unknown_field x.z"],
    );
    check(
        &exclude("items.titel,Items"),
        json,
        &[
            "unknown_field items.titel title",
            "unknown_field Items items",
        ],
    );
    check(&include("items.a"), r#"{"items":[]}"#, &[]);
    check(
        &include("items[9].a,items[0]"),
        json,
        &["unknown_field items[9].a"],
    );
    check(&include("*.q"), r#"{"a":{"b":1}}"#, &["unknown_field *.q"]);
}

#[test]
fn what_ends_a_path_is_noted() {
    check(&include("a.b"), r#"{"a":1}"#, &["met_scalar a.b"]);
    check(&include("a.b"), r#"{"a":null}"#, &["met_null a.b"]);
    check(
        &include("a.b"),
        r#"{"a":[{"b":1},null,2]}"#,
        &["met_scalar a.b"],
    );
    check(&include("a[].b"), r#"{"a":{"b":1}}"#, &["not_a_list a[].b"]);
    check(&include("a[0]"), r#"{"a":"s"}"#, &["not_a_list a[0]"]);
    check(&exclude("a.b"), r#"{"a":1}"#, &["met_scalar a.b"]);
    check(&include("a"), "null", &["met_null a"]);
}

#[test]
fn excluding_what_is_not_included_is_noted() {
    let projection = include("a").with_exclude(tree("a.x,b"));
    check(&projection, r#"{"a":{"x":1},"b":2}"#, &["unknown_field b"]);
}

#[test]
fn a_path_that_begins_as_in_jsonpath_is_told_how_it_is_written() {
    let message = |paths: &str| {
        let (_, notes) = run(&include(paths), r#"{"a":1}"#);
        notes
            .iter()
            .map(|note| note.message.clone())
            .collect::<Vec<_>>()
    };
    let hint = "no object has `$` at the value itself; paths begin there: `a.b`";
    assert_eq!(message("$.a.b"), [hint]);
    assert_eq!(message("$"), ["no object has `$` at the value itself"]);
    let (_, notes) = run(&include("$.a"), r#"{"$":{"a":1}}"#);
    assert!(notes.is_empty(), "{notes:?}");
}

/// What a request is told of a value with something hidden is what it is told of the same without.
fn check_hidden(never: &str, paths: &str, json: &str, without: &str) {
    let hiding = rules("", never);
    for projection in [include(paths), exclude(paths)] {
        let (_, notes) = run(&projection.clone().with_rules(hiding.clone()), json);
        let (_, expected) = run(&projection, without);
        let request = crate::ProjectionRequest::new().with_include([paths]);
        let said = hiding.scrubbed_diagnostics(notes, &request);
        assert_eq!(said, expected, "{never}: {paths} of {json}");
    }
}

#[test]
fn what_is_hidden_is_said_to_be_absent() {
    let json = r#"{"id":1,"pin":{"pan":1,"x":2},"pit":[{"pin":3,"q":4},{"q":5}]}"#;
    let without = r#"{"id":1,"pit":[{"q":4},{"q":5}]}"#;
    for paths in [
        "pin",
        "pin.x",
        "pin.pin",
        "pin[]",
        "pin[0].x",
        "nope",
        "nope.x",
        "pit.pin",
        "pit[].pin",
        "pit.pin.x",
        "pit[0].pin",
        "*.pin",
        "*.pan",
        "pan",
        "*.q",
        "id.pin",
        "pin,pin.x,id",
        "*",
    ] {
        check_hidden("pin", paths, json, without);
    }
    let without = r#"{"id":1,"pin":{"pan":1},"pit":[{"pin":3},{}]}"#;
    for paths in [
        "pin.x", "pin.x.y", "pit.q", "pit[].q", "pit[1].q", "*.x", "*.y", "*.qq",
    ] {
        check_hidden("pin.x,pit.q", paths, json, without);
    }
    let without = r#"{"id":1,"pin":{"pan":1,"x":2},"pit":[]}"#;
    for paths in ["pit", "pit[]", "pit[0]", "pit[0].q", "pit.q", "pit[].q"] {
        check_hidden("pit[]", paths, json, without);
    }
    let without = r#"{"id":1,"pin":{},"pit":[{"pin":3,"q":4},{"q":5}]}"#;
    for paths in ["pin", "pin.x", "pin.pam", "*.pam", "pin.*"] {
        check_hidden("pin.*", paths, json, without);
    }
}

#[test]
fn rules_say_that_they_held() {
    let json = r#"{"id":1,"pw":2,"u":{"m":3}}"#;
    let withheld = Projection::new().with_rules(rules("id", "pw,u.m,zz"));
    check(&withheld, json, &["withheld pw", "withheld u.m"]);
    let kept = exclude("id").with_rules(rules("id", ""));
    check(&kept, json, &["always_kept id"]);
    // Names that are never shown are not suggested.
    check(
        &include("pv").with_rules(rules("", "pw")),
        json,
        &["unknown_field pv"],
    );
}

#[test]
fn notes_are_bounded() {
    let names: Vec<String> = (0..10_000).map(|n| format!("k{n}")).collect();
    let (_, notes) = run(&include(&names.join(",")), r#"{"k":1}"#);
    assert_eq!(notes.iter().count(), MAX_DIAGNOSTICS);
    assert_eq!(notes.more(), 10_000 - MAX_DIAGNOSTICS);
    let list = notes.to_value();
    assert_eq!(list[MAX_DIAGNOSTICS]["count"], 10_000 - MAX_DIAGNOSTICS);
    assert!(notes.iter().all(|note| note.kind == Kind::UnknownField));
}

#[test]
fn messages_hold_no_values() {
    let json = r#"{"a":"secret","b":{"c":"secret"},"d":[1]}"#;
    let (_, notes) = run(&include("a.x,b.x,d[3],b[0]").with_exclude(tree("zz")), json);
    assert!(!notes.to_value().to_string().contains("secret"));
}
